#ifndef WDRUN_RELAY_H
#define WDRUN_RELAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "copy.h"
#include "outlet.h"
#include "search.h"

/*
 * A relay: a process that carries what the command writes to where the caller
 * wanted it, and does nothing else. So it may block, in a reader that is stuck
 * or a file system that hangs, with no trick and no flag of the caller's file
 * descriptions changed, while the watchers keep their clocks.
 */

#define RELAYS_MAX 2
#define RELAY_ROOM (SEARCH_TEXT_MAX + (size_t)128 * 1024)

/* What a relay is to do from now on; each order includes those before it. */
enum relay_order {
	RELAY_GO_ON,
	RELAY_FINISH, /* deliver what was written until now, and end */
	RELAY_DETACH, /* the same, but stay for those who hold the pipe */
};

/* What a relay tells of itself. All time as in duration.h. */
struct relay_state {
	_Atomic int64_t active_at;  /* when something came or went, or 0 */
	_Atomic int64_t blocked_at; /* when a write began, or 0: none goes on */
	_Atomic uint64_t relayed;   /* bytes that were taken */
	_Atomic uint64_t dropped;   /* bytes that could not be written */
	_Atomic uint64_t undelivered; /* bytes that were given up */
	_Atomic int64_t found_at;     /* when the text had come, or 0 */
	_Atomic bool lost_reader;     /* that of a pseudo-terminal's output */
	_Atomic unsigned answered;    /* the latest question */
	_Atomic bool is_done;         /* it ended, or detached, in good order */
};

/* Memory that relays and watchers share. */
struct relay_page {
	struct relay_state states[RELAYS_MAX];
	struct relay_state copy_state; /* of the copyist, see copy.h */
	_Atomic int order;             /* an enum relay_order */
	_Atomic unsigned question; /* counted: is there nothing to be read? */
	_Atomic bool copy_is_over; /* see copy.h */
};

struct relay {
	int in_fd;     /* a pipe's read end, or a pseudo-terminal's master */
	int slave_fd;  /* of the pseudo-terminal, else -1 */
	int orders_fd; /* an eventfd: there is a new order, or window size */
	int news_fd;   /* gets a byte when there is news in the state */
	int size_fd;   /* the terminal whose window size counts, or -1 */
	char *room;    /* RELAY_ROOM bytes to work with */
	struct outlet out; /* where the output goes */
	const char *out_name;
	bool is_copyist; /* what it carries is the copy */
	struct copy copy;
	struct search search; /* its text is NULL where nothing is searched */
	struct relay_page *page;
	struct relay_state *state; /* its own, in the page */
};

/* Carries until there is nothing more to carry, or HELPER_GIVE_UP comes. For a
 * process of its own, in which all signals are blocked. */
_Noreturn void relay_run(struct relay *relay);

#endif
