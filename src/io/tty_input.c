/* Copies what is typed at the parent's terminal to a pseudo-terminal. */
#include "io/tty_input.h"

#include <sys/eventfd.h>
#include <sys/mman.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/message.h"
#include "io/tty.h"
#include "proc/helper.h"
#include "proc/procfs.h"
#include "proc/signals.h"

#define CHUNK_SIZE  512
#define KERNEL_NCCS 19 /* of the kernel's c_cc; libc's is longer */
#define PATIENCE_MS 200
/* From Ctrl-Z to the stop of the command, which may have to be swapped in. */
#define SUSPEND_TIME (10 * SECOND)
/* Polled, as a shell may continue a job in the foreground without a signal. */
#define BACKGROUND_INTERVAL_MS 500

/* Memory that the helper shares with front and supervisor. */
struct tty_input_page {
	_Atomic bool is_wanted; /* by the front: the terminal is to be raw */
	_Atomic bool is_raw;    /* so `modes` and `raw` are set */
	struct termios modes;   /* the terminal's modes before raw mode */
	struct termios raw;     /* the terminal's raw modes */
	_Atomic bool is_over;   /* the command has exited */
	_Atomic bool is_done;   /* the helper ended without being killed */
	_Atomic int64_t suspended_at; /* when VSUSP (Ctrl-Z) was typed, or 0:
	                               * termios(3) */
	_Atomic bool stops_job;       /* VSUSP has stopped the command */
	_Atomic pid_t group;          /* the target's; 0: input has not begun */
};

/* What was read from the terminal. */
struct typing {
	char text[CHUNK_SIZE];
	size_t length;
	size_t written; /* so much of text is written */
	bool is_over;   /* the terminal or the pseudo-terminal is gone */
};

static const struct tty_input *handlers_input; /* for end_without_front() */

static void
make_raw(const struct tty_input *input)
{
	struct tty_input_page *const page = input->page;
	struct termios raw;

	if (tcgetattr(input->terminal_fd, &page->modes) == -1)
		return;
	raw = page->modes;
	cfmakeraw(&raw);
	/* If the command's output goes elsewhere, other programs that write to
	 * this terminal still need the output modes. */
	if (!input->shows_output)
		raw.c_oflag = page->modes.c_oflag;
	page->raw = raw;
	/* Before tcsetattr(3): if the helper is killed in between, a watcher
	 * restores the terminal's modes. */
	page->is_raw = true;
	(void)tcsetattr(input->terminal_fd, TCSANOW, &raw);
}

/* Whether A and B are the same but for OPOST, which another run on the same
 * terminal may have changed. */
static bool
is_same(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag &&
	       (a->c_oflag | OPOST) == (b->c_oflag | OPOST) &&
	       a->c_cflag == b->c_cflag && a->c_lflag == b->c_lflag &&
	       memcmp(a->c_cc, b->c_cc, KERNEL_NCCS) == 0;
}

void
tty_input_restore(const struct tty_input *input)
{
	struct tty_input_page *const page = input->page;
	struct termios now;

	if (!input->is_used || !page->is_raw)
		return;
	/* After a failure is_raw stays true: the next process tries again. */
	if (tcgetattr(input->terminal_fd, &now) == -1 ||
	    (is_same(&now, &page->raw) &&
	     tcsetattr(input->terminal_fd, TCSANOW, &page->modes) == -1))
		return;
	page->is_raw = false;
}

/* Handles SIGCONT, which the kernel sends when the front is dead
 * (helper_fork()). If the supervisor is dead too, only the helper is left to
 * restore the terminal's modes: in the handler, since the helper may be in a
 * read(2) whose byte another process took. All calls are async-signal-safe. */
static void
end_without_front(int signal)
{
	const pid_t parent = getppid();

	(void)signal;
	/* 0: the front is in another PID namespace, without a number here. */
	if (parent == handlers_input->front || parent == 0)
		return;
	tty_input_restore(handlers_input);
	_exit(0);
}

/* Makes the terminal raw, or restores it. Returns whether to read input. */
static bool
update_modes(const struct tty_input *input)
{
	const bool is_ours = input->page->is_wanted &&
	                     input->page->group != 0 &&
	                     tty_is_ours(input->terminal_fd);

	if (is_ours && !input->page->is_raw)
		make_raw(input);
	if (is_ours)
		return true;
	tty_input_restore(input);
	if (atomic_exchange(&input->page->stops_job, false))
		(void)kill(0, SIGTSTP);
	return false;
}

/* Whether a signal typed at the pseudo-terminal is for the command itself, and
 * so for the parent's job, too. Not where the command is a shell: then the
 * foreground group is a job of the shell, or is the shell, which ignores
 * SIGTSTP. */
static bool
is_for_job(const struct tty_input *input)
{
	const pid_t group = input->page->group;
	struct procfs_status target;

	return tcgetpgrp(input->master_fd) == group &&
	       procfs_read_status(group, &target) == 0 &&
	       (target.ignored & UINT64_C(1) << (SIGTSTP - 1)) == 0;
}

/*
 * Returns the signal that the parent's terminal would send to the parent's job
 * for the typed text if the terminal were not raw: SIGINT for Ctrl-C, SIGQUIT,
 * or 0. Also 0 if the command reads such characters itself (no ISIG). After
 * Ctrl-Z, only sets suspended_at: vi(1) reads Ctrl-Z as a character, and then
 * stops itself, so SIGTSTP has to wait until the command has stopped.
 */
static int
signal_for_job(const struct tty_input *input, const struct typing *typing)
{
	struct termios modes;
	int signal = 0;

	if (tcgetattr(input->master_fd, &modes) == -1)
		return 0;
	for (size_t i = 0; i < typing->length; i++) {
		const cc_t typed = (cc_t)typing->text[i];

		if (typed == _POSIX_VDISABLE)
			continue;
		if (typed == modes.c_cc[VSUSP])
			input->page->suspended_at = duration_now();
		if (typed == modes.c_cc[VINTR])
			signal = SIGINT;
		if (typed == modes.c_cc[VQUIT])
			signal = SIGQUIT;
	}
	return (modes.c_lflag & ISIG) != 0 && signal != 0 && is_for_job(input)
	           ? signal
	           : 0;
}

/* Sends SIGNAL to the parent's job after the command has got SIGNAL: otherwise
 * the command might see the end of its input first, and not die by SIGNAL. */
static void
signal_job(const struct tty_input *input, int signal)
{
	struct pollfd slave = { .fd = input->slave_fd, .events = POLLIN };

	/* poll(2) waits until a worker of the kernel has processed what was
	 * written: n_tty_poll(), tty_buffer_flush_work(). */
	(void)poll(&slave, 1, 0);
	(void)kill(0, signal);
}

static void
write_typed(const struct tty_input *input, struct typing *typing)
{
	const ssize_t written =
	    write(input->master_fd, typing->text + typing->written,
	          typing->length - typing->written);

	if (written > 0)
		typing->written += (size_t)written;
	else if (written == -1 && errno != EINTR && errno != EAGAIN)
		typing->is_over = true;
}

static void
read_typed(const struct tty_input *input, struct typing *typing)
{
	/* EIO: the terminal is gone; or another job has the foreground, since
	 * SIGTTIN is blocked. tty_is_ours() tells which. */
	if (!tty_is_ours(input->terminal_fd))
		return;

	const ssize_t length =
	    read(input->terminal_fd, typing->text, sizeof(typing->text));

	typing->written = 0;
	typing->length = length > 0 ? (size_t)length : 0;
	typing->is_over =
	    length == 0 || (length == -1 && errno != EINTR && errno != EAGAIN &&
	                    tty_is_ours(input->terminal_fd));
	if (typing->length == 0)
		return;

	const int signal = signal_for_job(input, typing);

	write_typed(input, typing);
	if (signal != 0)
		signal_job(input, signal);
}

/* The terminal is gone: writes the pseudo-terminal's VEOF, so that a command
 * that reads lines gets end-of-file. */
static void
write_end(const struct tty_input *input)
{
	struct termios modes;

	if (tcgetattr(input->master_fd, &modes) == -1 ||
	    (modes.c_lflag & ICANON) == 0 ||
	    write(input->master_fd, &modes.c_cc[VEOF], 1) == -1)
		return;
}

static void
carry_once(const struct tty_input *input, struct typing *typing)
{
	const bool is_ours = update_modes(input);
	const bool is_full = typing->written < typing->length;
	struct pollfd fds[] = {
		{ .fd = input->wake_fd, .events = POLLIN },
		{ .fd = input->terminal_fd,
		  .events = is_ours && !is_full ? POLLIN : 0 },
		{ .fd = is_full ? input->master_fd : -1, .events = POLLOUT },
	};
	const bool looks_again = !is_ours && input->page->is_wanted;
	eventfd_t times;

	/* A HELPER_GIVE_UP just before poll(2) does not interrupt poll(2): the
	 * front sends the signal again (helper_await()). */
	if (poll(fds, sizeof(fds) / sizeof(fds[0]),
	         looks_again ? BACKGROUND_INTERVAL_MS : -1) == -1)
		return;
	if (fds[0].revents != 0)
		(void)eventfd_read(input->wake_fd, &times);
	if ((fds[1].revents & POLLIN) != 0)
		read_typed(input, typing);
	else if (fds[1].revents != 0)
		typing->is_over = true; /* POLLHUP: the terminal is gone */
	if (fds[2].revents != 0)
		write_typed(input, typing);
}

/* Copies until the command or the front ends, HELPER_GIVE_UP, or hangup. */
static _Noreturn void
run_helper(const struct tty_input *input, int null_fd)
{
	const struct sigaction look = { .sa_handler = end_without_front,
		                        .sa_flags = SA_RESTART };
	int keep[] = { input->terminal_fd, input->master_fd, input->slave_fd,
		       input->wake_fd, procfs_fd() };
	struct typing typing = { .length = 0 };

	helper_become(RELAY_NAME, null_fd, keep,
	              sizeof(keep) / sizeof(keep[0]));
	handlers_input = input;
	helper_catch_give_up();
	(void)sigaction(SIGCONT, &look, NULL);
	(void)signals_set_mask(~(UINT64_C(1) << (SIGCONT - 1) |
	                         UINT64_C(1) << (HELPER_GIVE_UP - 1)));
	while (!helper_is_to_end() && !typing.is_over && !input->page->is_over)
		carry_once(input, &typing);
	if (typing.is_over)
		write_end(input);
	tty_input_restore(input);
	input->page->is_done = true;
	_exit(0);
}

int
tty_input_setup(struct tty_input *input)
{
	input->page = mmap(NULL, sizeof(*input->page), PROT_READ | PROT_WRITE,
	                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	input->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return input->page == MAP_FAILED || input->wake_fd == -1 ? -1 : 0;
}

int
tty_input_start(struct tty_input *input, int null_fd)
{
	if (!input->is_used)
		return 0;
	input->page->is_wanted = true;
	input->front = getpid();
	/* SIGCONT when the front dies: it also continues a stopped helper. */
	input->pid = helper_fork(SIGCONT);
	if (input->pid == -1)
		return -1;
	if (input->pid == 0)
		run_helper(input, null_fd);
	return 0;
}

void
tty_input_note_group(const struct tty_input *input)
{
	if (!input->is_used)
		return;
	input->page->group = getpid();
	(void)eventfd_write(input->wake_fd, 1);
}

static void
set_wanted(struct tty_input *input, bool is_wanted)
{
	input->page->is_wanted = is_wanted;
	(void)eventfd_write(input->wake_fd, 1);
}

void
tty_input_release(struct tty_input *input)
{
	if (!input->is_used)
		return;
	set_wanted(input, false);
	for (int i = 0; i < PATIENCE_MS && input->page->is_raw; i++)
		duration_sleep(MILLISECOND);
	tty_input_restore(input);
}

void
tty_input_take(struct tty_input *input)
{
	if (input->is_used)
		set_wanted(input, true);
}

void
tty_input_finish(struct tty_input *input)
{
	if (!input->is_used)
		return;
	input->page->is_over = true;
	(void)eventfd_write(input->wake_fd, 1);
}

bool
tty_input_has_stopped(const struct tty_input *input)
{
	if (!input->is_used)
		return false;

	const int64_t at = atomic_exchange(&input->page->suspended_at, 0);

	/* Later, another process has stopped a command that took Ctrl-Z for
	 * text, as ssh(1) does. */
	if (at == 0 || duration_now() - at > SUSPEND_TIME)
		return false;
	input->page->stops_job = true;
	return true;
}

bool
tty_input_is_raw(const struct tty_input *input)
{
	return input->page->is_raw;
}

void
tty_input_note_death(const struct tty_input *input, pid_t pid)
{
	if (pid != input->pid)
		return;
	tty_input_restore(input); /* so that Ctrl-C is a signal again */
	if (!input->page->is_done)
		message("the relay of stdin was killed: what is "
		        "typed does not reach the command");
}

void
tty_input_end(const struct tty_input *input)
{
	(void)helper_end(input->pid, HELPER_GIVE_UP);
	tty_input_restore(input);
}
