#pragma once

struct output;

/* In the front: opens what the helpers of OUTPUT need, if its configuration
 * needs any. Comes after fds_open_null(), and before the first fork. Returns 0,
 * or -1 after a message. */
int output_setup(struct output *output);
