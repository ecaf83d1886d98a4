/* What the output says of the command, and when undelivered output is given
 * up. */
#include "listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "../watchdog.h"
#include "duration.h"
#include "judge.h"
#include "output.h"
#include "supervisor.h"

#define READER_PATIENCE (2 * SECOND)
#define ANSWER_INTERVAL (100 * MILLISECOND)

void
listener_note_output(struct run *run)
{
	const struct output *const output = &run->output;
	const int fd = output->channel_count > 0
	                   ? output->channels[0].command_fd
	                   : STDOUT_FILENO;
	struct stat file;
	int type;
	socklen_t size = sizeof(type);

	if ((output->channel_count == 0 && fcntl(fd, F_GETPIPE_SZ) == -1 &&
	     getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == -1) ||
	    fstat(fd, &file) == -1)
		return;
	run->output_type = file.st_mode;
	run->output_inode =
	    S_ISCHR(file.st_mode) ? minor(file.st_rdev) : file.st_ino;
}

void
listener_begin(struct run *run, int64_t now)
{
	run->clocks.idle = duration_add(now, run->options.idle_timeout);
	if (run->options.idle_unless_busy)
		supervisor_sample(run, now);
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Whether the tree has computed, read or written since the last look. */
static bool
is_busy(struct run *run, int64_t now)
{
	const uint64_t before = run->activity;

	if (!run->options.idle_unless_busy)
		return false;
	supervisor_sample(run, now);
	return run->activity != before;
}

/*
 * The silence clock has run out. If it was no silence all the time, it is set
 * again from when that began. And a relay that was kept from reading may not
 * have heard yet: so it is asked first.
 */
static void
look_for_silence(struct run *run, int64_t now)
{
	const int64_t since =
	    later(output_heard_at(&run->output, now), run->resumed_at);
	const int64_t due = duration_add(since, run->options.idle_timeout);
	const bool was_asked = run->is_asked;

	run->is_asked = false;
	if (due > now) {
		run->clocks.idle = due;
	} else if (is_busy(run, now)) {
		run->clocks.idle = duration_add(now, run->options.idle_timeout);
	} else if (!was_asked) {
		output_ask(&run->output);
		run->is_asked = true;
		run->clocks.idle = duration_add(now, ANSWER_INTERVAL);
	} else if (!output_has_answered(&run->output)) {
		run->is_asked = true;
		run->clocks.idle = duration_add(now, ANSWER_INTERVAL);
	} else {
		run->clocks.idle = now;
	}
}

/* After the result, silence is what is expected. */
static void
look_for_text(struct run *run)
{
	const int64_t found_at = output_found_at(&run->output);

	if (found_at == NEVER || run->is_complete)
		return;
	run->is_complete = true;
	run->clocks.until = duration_add(found_at, run->options.until_grace);
	run->clocks.idle = NEVER;
}

/*
 * Until when undelivered output is waited for, when nobody is left to write
 * any. A reader has all the time there is; but once the run is to end, only as
 * long as it takes something every now and then, and as the stop may take.
 */
static int64_t
end_of_drain(const struct run *run, int64_t now)
{
	/* A stop that began at the timeout has not had its own time yet. */
	if (!judge_is_hurried(run) &&
	    (run->state < STATE_STOPPING || now < run->clocks.timeout))
		return run->clocks.timeout;

	const int64_t end =
	    run->state == STATE_KILLING ? run->clocks.last : run->clocks.kill;
	const int64_t patience = duration_add(
	    output_stuck_since(&run->output, now), READER_PATIENCE);

	return end < patience ? end : patience;
}

static void
drain(struct run *run, int64_t now)
{
	if (!run->is_finishing)
		output_finish(run, !run->tree_is_empty);
	run->is_finishing = true;
	/* Nobody was there to be stopped, but it is to end all the same. */
	if (judge_is_hurried(run) && run->state < STATE_STOPPING &&
	    run->clocks.kill == NEVER)
		run->clocks.kill = duration_add(now, run->options.kill_after);
	run->clocks.drain = end_of_drain(run, now);
}

void
listener_attend(struct run *run, int64_t now)
{
	if (run->output.channel_count == 0)
		return;
	if (output_has_lost_reader(&run->output))
		supervisor_forward(run, SIGPIPE);
	if (run->state == STATE_RUNNING && !run->target_exited) {
		look_for_text(run);
		if (now >= run->clocks.idle ||
		    (run->is_asked && output_has_answered(&run->output)))
			look_for_silence(run, now);
	}
	if (run->output.is_open && judge_is_over(run))
		drain(run, now);
}
