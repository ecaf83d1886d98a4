/* What is typed, on its way to a pseudo-terminal. */
#include "keyboard.h"

#include <sys/eventfd.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "duration.h"
#include "helper.h"
#include "signals.h"
#include "terminal.h"

#define CHUNK_SIZE  512
#define KERNEL_NCCS 19 /* of what the C library has room for */
/* A shell that brings a running job to the foreground may tell nobody. */
#define BACKGROUND_INTERVAL (500 * MILLISECOND)

struct typing {
	char text[CHUNK_SIZE];
	size_t length; /* of what was typed and not yet taken */
	size_t taken;
	bool is_over;
};

static volatile sig_atomic_t is_to_give_up;

static const struct keyboard *served; /* for a handler */

static void
make_raw(const struct keyboard *keyboard)
{
	struct keyboard_page *const page = keyboard->page;
	struct termios raw;

	if (tcgetattr(keyboard->terminal_fd, &page->modes) == -1)
		return;
	raw = page->modes;
	cfmakeraw(&raw);
	/* If the command's output goes elsewhere, there are others who write
	 * on this terminal. */
	if (!keyboard->is_screen)
		raw.c_oflag = page->modes.c_oflag;
	page->raw = raw;
	page->is_raw = true; /* first: whoever comes after us is to know */
	(void)tcsetattr(keyboard->terminal_fd, TCSANOW, &raw);
}

/* Whether both are raw in the same way: with or without OPOST, as another run
 * on the same terminal may have it. */
static bool
is_same(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag &&
	       (a->c_oflag | OPOST) == (b->c_oflag | OPOST) &&
	       a->c_cflag == b->c_cflag && a->c_lflag == b->c_lflag &&
	       memcmp(a->c_cc, b->c_cc, KERNEL_NCCS) == 0;
}

void
keyboard_put_back(int fd, struct keyboard_page *page)
{
	struct termios now;

	if (!page->is_raw)
		return;
	/* Who comes after us tries again what failed. */
	if (tcgetattr(fd, &now) == -1 ||
	    (is_same(&now, &page->raw) &&
	     tcsetattr(fd, TCSANOW, &page->modes) == -1))
		return;
	page->is_raw = false;
}

static void
note_give_up(int signal)
{
	(void)signal;
	is_to_give_up = 1;
}

/*
 * The parent may be dead, and the other watcher have ended before: then nobody
 * else is left to put the terminal back. Here and now, as a read(2) whose byte
 * another one took would wait for the next. It calls what is async-signal-safe:
 * tcgetattr(3), tcsetattr(3), getppid(2), _exit(2).
 */
static void
look_after_parent(int signal)
{
	const pid_t parent = getppid();

	(void)signal;
	/* One in another PID namespace has no number here. */
	if (parent == served->parent || parent == 0)
		return;
	keyboard_put_back(served->terminal_fd, served->page);
	_exit(0);
}

/* Makes the terminal raw, or what it was. Returns whether it may be read. */
static bool
take_terminal(const struct keyboard *keyboard)
{
	const bool is_ours = keyboard->page->is_wanted &&
	                     terminal_is_ours(keyboard->terminal_fd);

	if (is_ours && !keyboard->page->is_raw)
		make_raw(keyboard);
	if (!is_ours)
		keyboard_put_back(keyboard->terminal_fd, keyboard->page);
	return is_ours;
}

static void
read_typed(const struct keyboard *keyboard, struct typing *typing)
{
	/* It may have gone to another job since: then this would be EIO, as
	 * SIGTTIN is blocked. */
	if (!terminal_is_ours(keyboard->terminal_fd))
		return;

	const ssize_t length =
	    read(keyboard->terminal_fd, typing->text, sizeof(typing->text));

	typing->taken = 0;
	typing->length = length > 0 ? (size_t)length : 0;
	typing->is_over =
	    length == 0 || (length == -1 && errno != EINTR && errno != EAGAIN &&
	                    terminal_is_ours(keyboard->terminal_fd));
}

static void
pass_on(const struct keyboard *keyboard, struct typing *typing)
{
	const ssize_t written =
	    write(keyboard->master_fd, typing->text + typing->taken,
	          typing->length - typing->taken);

	if (written > 0)
		typing->taken += (size_t)written;
	else if (written == -1 && errno != EINTR && errno != EAGAIN)
		typing->is_over = true;
}

/* The terminal is gone. Who reads lines is told so as a terminal tells it. */
static void
pass_on_end(const struct keyboard *keyboard)
{
	struct termios modes;

	if (tcgetattr(keyboard->master_fd, &modes) == -1 ||
	    (modes.c_lflag & ICANON) == 0 ||
	    write(keyboard->master_fd, &modes.c_cc[VEOF], 1) == -1)
		return;
}

static void
go_on(const struct keyboard *keyboard, struct typing *typing)
{
	const bool is_ours = take_terminal(keyboard);
	const bool is_full = typing->taken < typing->length;
	struct pollfd fds[] = {
		{ .fd = keyboard->orders_fd, .events = POLLIN },
		{ .fd = keyboard->terminal_fd,
		  .events = is_ours && !is_full ? POLLIN : 0 },
		{ .fd = is_full ? keyboard->master_fd : -1, .events = POLLOUT },
	};
	const struct timespec interval = { .tv_nsec = BACKGROUND_INTERVAL };
	const bool looks_again = !is_ours && keyboard->page->is_wanted;
	sigset_t mask;
	eventfd_t times;

	/* Open to the signal only in the one call that waits, so that it cannot
	 * come a moment too early. */
	(void)sigfillset(&mask);
	(void)sigdelset(&mask, HELPER_GIVE_UP);
	(void)sigdelset(&mask, SIGCONT);
	if (ppoll(fds, sizeof(fds) / sizeof(fds[0]),
	          looks_again ? &interval : NULL, &mask) == -1)
		return;
	if (fds[0].revents != 0)
		(void)eventfd_read(keyboard->orders_fd, &times);
	if ((fds[1].revents & POLLIN) != 0)
		read_typed(keyboard, typing);
	else if (fds[1].revents != 0)
		typing->is_over = true; /* the terminal is gone */
	if (fds[2].revents != 0)
		pass_on(keyboard, typing);
}

_Noreturn void
keyboard_run(const struct keyboard *keyboard)
{
	const struct sigaction give_up = { .sa_handler = note_give_up };
	const struct sigaction look = { .sa_handler = look_after_parent,
		                        .sa_flags = SA_RESTART };
	struct typing typing = { .length = 0 };

	served = keyboard;
	(void)sigaction(HELPER_GIVE_UP, &give_up, NULL);
	(void)sigaction(SIGCONT, &look, NULL);
	(void)signals_set_mask(~(UINT64_C(1) << (SIGCONT - 1)));
	while (!is_to_give_up && !typing.is_over)
		go_on(keyboard, &typing);
	if (typing.is_over)
		pass_on_end(keyboard);
	keyboard_put_back(keyboard->terminal_fd, keyboard->page);
	keyboard->page->is_done = true;
	_exit(0);
}
