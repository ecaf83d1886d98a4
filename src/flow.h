#ifndef WDRUN_FLOW_H
#define WDRUN_FLOW_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay.h"

#define FLOW_EVERYTHING SIZE_MAX

/* The bytes that go through one relay. */
struct flow {
	struct relay *relay;
	const volatile sig_atomic_t *gives_up; /* the relay was told to */
	size_t left;      /* bytes that are still to be carried */
	size_t filled;    /* bytes of the chunk */
	size_t held;      /* bytes of the chunk that were not taken yet */
	int64_t found_at; /* when the text had come, or 0 */
	int64_t hang_up;  /* when a terminal nobody reads is closed, or NEVER */
	enum relay_order order;
	bool can_splice;
	bool is_bulk;    /* the last chunk was a large one */
	bool is_widened; /* the pipe was made larger */
	bool has_failed; /* and that was told */
	bool is_detached;
	bool is_over;
};

/* Prepares FLOW, whose relay is set. */
void flow_begin(struct flow *flow);

/* Carries one chunk of what there is to be read, and waits for whoever takes
 * it. Sets flow->is_over at the end of the output. */
void flow_carry(struct flow *flow);

/*
 * Nobody reads any more. A pipe is closed, and its writers get the SIGPIPE that
 * they would have had. Closing a terminal makes a SIGHUP instead: so the
 * command gets its SIGPIPE from the supervisor first, and time to die of it.
 */
void flow_lose_reader(struct flow *flow);

/* Counts what will not be delivered, and ends this process; or detaches it,
 * where that was the order. */
void flow_give_up(struct flow *flow);

/*
 * Lets the relay go on by itself, for those who still have its pipe or
 * terminal open: from here on nobody watches it, and nobody is told anything.
 */
void flow_detach(struct flow *flow);

/*
 * Gives the command's terminal the size of the caller's. Where it is nobody's
 * controlling terminal, the kernel tells nobody that it changed: those who were
 * told of the caller's have asked too early, and are told again.
 */
void flow_follow_size(const struct relay *relay);

/* Tells the watchers to look at the relay's state. */
void flow_tell_news(const struct flow *flow);

#endif
