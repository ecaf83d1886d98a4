#pragma once

struct output;

/* Opens, in the front, all that the helpers of OUTPUT need; nothing, where
 * OUTPUT's configuration asks for nothing. Comes after fds_open_null(), and
 * before there is a second process. Returns 0, or -1 after a message. */
int output_setup(struct output *output);
