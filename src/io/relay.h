#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/search.h"
#include "io/sink.h"

struct tty_input;

/* A relay: a helper that carries what the command writes to the stdout or
 * stderr that wdrun was started with. A relay may block, on a reader that is
 * stuck or in a file system that hangs: front and supervisor keep their timers,
 * and no other process finds O_NONBLOCK on its descriptors. */

#define RELAYS_MAX        2 /* stdout and stderr */
#define RELAY_BUFFER_SIZE (SEARCH_TEXT_MAX + (size_t)128 * 1024)

/* What the relays have to do. Front and supervisor set it. */
enum relay_order {
	RELAY_GO_ON,
	RELAY_FINISH, /* deliver what was written until now, and end */
	RELAY_DETACH, /* the same, but stay for the survivors */
};

/* What front and supervisor learn from a relay. Times are those of
 * duration_now(), or 0. */
struct relay_state {
	_Atomic int64_t active_at;    /* last read or write */
	_Atomic int64_t blocked_at;   /* when the write that goes on began; 0:
	                               * the relay waits for the command */
	_Atomic int64_t found_at;     /* when the text of --until was read */
	_Atomic uint64_t relayed;     /* bytes written */
	_Atomic uint64_t dropped;     /* bytes that a write error has lost */
	_Atomic uint64_t undelivered; /* bytes lost by HELPER_GIVE_UP */
	_Atomic bool lost_reader;     /* of a pseudo-terminal's output */
	_Atomic unsigned answered;    /* the last value of `question` for which
	                               * the relay had nothing left to read */
	_Atomic bool is_done;         /* ended or detached, not killed */
};

/* Memory that relays, front and supervisor share. */
struct relay_page {
	struct relay_state states[RELAYS_MAX];
	_Atomic int order; /* an enum relay_order */
	/* A counter, by which the supervisor asks the relays whether there is
	 * nothing left to be read: each new value is a new question. */
	_Atomic unsigned question;
	_Atomic bool tee_is_over;      /* a relay has ended the copy */
	_Atomic int64_t tee_active_at; /* last write to the copy */
};

struct relay {
	/* Set before relay_run(). A descriptor that is not needed is -1. */
	int in_fd;     /* a pipe's read end, or a pseudo-terminal's master */
	int slave_fd;  /* of that pseudo-terminal */
	int tee_fd;    /* gets a copy; non-blocking */
	int wake_fd;   /* eventfd: look at the page and at size_fd again */
	int notify_fd; /* pipe: a byte for each change that watchers wait for */
	int size_fd;   /* the terminal whose window size the slave gets */
	const char *out_name; /* "stdout" or "stderr", for messages */
	const char *tee_name;
	struct sink out; /* where the output goes; out.fd is set before */
	char *buffer;    /* twice RELAY_BUFFER_SIZE bytes */
	/* Where the command's terminal ends lines with "\r\n", as the parent's
	 * does not while it is raw; else NULL. */
	const struct tty_input *tty_input;
	struct search search; /* text NULL: nothing is searched for */
	struct relay_page *page;
	struct relay_state *state; /* this relay's, in the page */

	/* For relay.c alone. */
	char *text;       /* the chunk, as the command wrote it, */
	size_t text_size; /* and how long it is */
	size_t budget;    /* bytes that are still to be read; SIZE_MAX: all */
	const char *rest; /* of the chunk: what was not written yet, */
	size_t rest_size; /* and how much that is */
	int64_t found_at; /* when the text was read, or 0 */
	int64_t hang_up;  /* when to close the pseudo-terminal, or NEVER */
	bool has_return;  /* "\r" was read last, and may belong to "\n" */
	bool can_splice;
	bool is_bulk;    /* the last chunk was a large one */
	bool is_widened; /* the pipe was made larger */
	bool is_detached;
	bool is_over;
};

/* Carries until there is nothing more to carry, or HELPER_GIVE_UP comes from
 * the front. For a process of its own, in which all signals are blocked. */
_Noreturn void relay_run(struct relay *relay);
