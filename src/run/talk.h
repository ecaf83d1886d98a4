#pragma once

#include <stdbool.h>

struct run;
struct order;
struct news;

/* What front and supervisor tell each other: one pipe each way. */

/* From the front. Lost if the supervisor is dead. */
void talk_order(const struct run *run, struct order order);

/* From the supervisor, not in a take-over: the front reads NEWS at the next
 * SIGCHLD, which comes along if IS_URGENT. */
void talk_news(const struct run *run, const struct news *news, bool is_urgent);

/* Sends SIGNAL from the supervisor to the front, if there is one. */
void talk_signal_front(const struct run *run, int signal);
