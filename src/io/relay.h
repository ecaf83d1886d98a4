#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/search.h"
#include "io/sink.h"

struct tty_input;

/* A relay is a helper that copies what the command writes to wdrun's own stdout
 * or stderr. Only the relay blocks when a reader is stuck or a file system
 * hangs: front and supervisor keep their timers, and no other process finds
 * O_NONBLOCK on its descriptors. */

#define RELAYS_MAX        2 /* stdout and stderr */
#define RELAY_BUFFER_SIZE (SEARCH_TEXT_MAX + (size_t)128 * 1024)

/* Orders of front or supervisor to the relays. */
enum relay_order {
	RELAY_GO_ON,
	RELAY_FINISH, /* deliver what was written until now, and end */
	RELAY_DETACH, /* the same, but go on for the survivors */
};

/* What a relay tells front and supervisor. Times are those of duration_now(),
 * or 0. */
struct relay_state {
	_Atomic int64_t active_at;    /* last read or write */
	_Atomic int64_t blocked_at;   /* when the current write(2) began; 0: the
	                               * relay waits for the command */
	_Atomic int64_t found_at;     /* when the text of --until was read */
	_Atomic uint64_t relayed;     /* bytes written */
	_Atomic uint64_t dropped;     /* bytes lost by write errors */
	_Atomic uint64_t undelivered; /* bytes lost by HELPER_GIVE_UP */
	_Atomic bool lost_reader;     /* reader lost, for a pseudo-terminal */
	_Atomic unsigned answered;    /* last `question` for which the relay had
	                               * nothing left to read */
	_Atomic bool is_done;         /* ended or detached, not killed */
};

/* Memory that relays, front and supervisor share. */
struct relay_page {
	struct relay_state states[RELAYS_MAX];
	_Atomic int order; /* an enum relay_order */
	/* Incremented by output_ask(), to ask the relays whether anything is
	 * left to be read. */
	_Atomic unsigned question;
	_Atomic bool tee_is_over;      /* a relay has ended the copy */
	_Atomic int64_t tee_active_at; /* last write to the copy */
};

struct relay {
	/* Set before relay_run(). A descriptor that is not needed is -1. */
	int in_fd;     /* a pipe's read end, or a pseudo-terminal's master */
	int slave_fd;  /* the pseudo-terminal's slave */
	int tee_fd;    /* gets a copy; non-blocking */
	int wake_fd;   /* eventfd: read `order` and the window size again */
	int notify_fd; /* pipe: a byte for each change that watchers wait for */
	int size_fd;   /* terminal whose window size the slave gets */
	const char *out_name; /* "stdout" or "stderr", for messages */
	const char *tee_name;
	struct sink out; /* destination; only out.fd is set before */
	char *buffer;    /* twice RELAY_BUFFER_SIZE bytes */
	/* Set if the pseudo-terminal turns "\n" into "\r\n", since the parent's
	 * terminal is raw. */
	const struct tty_input *tty_input;
	struct search search; /* text NULL: nothing is searched for */
	struct relay_page *page;
	struct relay_state *state; /* this relay's, in the page */

	/* For relay.c alone. */
	char *text;       /* the chunk, without the terminal's "\r" */
	size_t text_size; /* length of text */
	size_t budget;    /* bytes left to read; SIZE_MAX: no limit */
	const char *rest; /* what is left to write of the chunk */
	size_t rest_size; /* length of rest */
	int64_t found_at; /* when the text was read, or 0 */
	int64_t hang_up;  /* when to close the pseudo-terminal, or NEVER */
	bool has_return;  /* "\r" was read last, and may belong to "\n" */
	bool can_splice;
	bool is_bulk;    /* the last chunk was large */
	bool is_widened; /* the pipe was made larger */
	bool is_detached;
	bool is_over;
};

/* Copies until end-of-file, or until an order or HELPER_GIVE_UP is carried out.
 * Runs in a helper, with all signals blocked. */
_Noreturn void relay_run(struct relay *relay);
