/* Watches output and activity, and sets the timers that depend on them. */
#include "run/output_watch.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/duration.h"
#include "io/output.h"
#include "io/output_setup.h"
#include "io/search.h"
#include "run/decide.h"
#include "run/jobcontrol.h"
#include "run/run.h"
#include "run/target.h"

#define READER_PATIENCE (2 * SECOND)
#define SAMPLE_INTERVAL (250 * MILLISECOND)
#define ANSWER_INTERVAL (100 * MILLISECOND)

int
output_watch_prepare(struct run *run)
{
	const struct options *const options = &run->options;

	_Static_assert(UNTIL_MAX <= SEARCH_TEXT_MAX, "the text has room");
	run->output.config = (struct output_config){
		.until = options->until,
		.tee = options->tee,
		.is_timed = options->idle_timeout != NEVER,
		.pty = options->pty,
		.stays = options->foreground || options->setsid,
		.no_stdin = options->no_stdin,
		.quiet = options->quiet,
		.null_fd = run->watchers.null_fd,
	};
	return output_setup(&run->output);
}

/* Notes the file of FD, if it is a pipe, a socket or a relay's end. Of a
 * regular file, fstat(2) may hang in the file system. */
static void
note_output(struct run *run, int i, int fd)
{
	const struct output *const output = &run->output;
	struct stat file;
	int type;
	socklen_t size = sizeof(type);

	if ((output->channel_count == 0 && fcntl(fd, F_GETPIPE_SZ) == -1 &&
	     getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == -1) ||
	    fstat(fd, &file) == -1)
		return;
	run->output_watch.files[i].type = file.st_mode;
	run->output_watch.files[i].inode =
	    S_ISCHR(file.st_mode) ? minor(file.st_rdev) : file.st_ino;
}

void
output_watch_note_output(struct run *run)
{
	const struct output *const output = &run->output;

	_Static_assert(RELAYS_MAX <= 2, "each channel is noted");
	for (size_t i = 0; i < output->channel_count; i++)
		note_output(run, (int)i, output->channels[i].command_fd);
	if (output->channel_count > 0)
		return;
	note_output(run, 0, STDOUT_FILENO);
	note_output(run, 1, STDERR_FILENO);
}

/* Samples the activity of tree and output. Returns whether it has changed since
 * the last sample. */
static bool
sample(struct run *run)
{
	const uint64_t before = run->output_watch.activity;

	tree_read(&run->tree, NEVER);
	run->output_watch.activity =
	    tree_activity(&run->tree) +
	    output_read_progress(&run->output, 0).relayed;
	return run->output_watch.activity != before;
}

void
output_watch_begin(struct run *run, int64_t now)
{
	run->timers.due[TIMER_IDLE] =
	    duration_add(now, run->options.idle_timeout);
	if (run->options.idle_unless_busy)
		(void)sample(run);
}

void
output_watch_begin_lingering(struct run *run, int64_t now)
{
	int64_t *const due = run->timers.due;

	/* Other survivors end without a timer or by --timeout, or are let
	 * go. */
	if (run->options.survivors != SURVIVORS_KILL || run->tree_is_empty)
		return;
	due[TIMER_IDLE_AFTER_EXIT] =
	    duration_add(now, run->options.idle_after_exit);
	due[TIMER_MAX_AFTER_EXIT] =
	    duration_add(now, run->options.max_after_exit);
	if (due[TIMER_IDLE_AFTER_EXIT] == NEVER)
		return; /* no option asks for progress */
	due[TIMER_SAMPLE] = duration_add(now, SAMPLE_INTERVAL);
	(void)sample(run);
}

static void
look_for_progress(struct run *run, int64_t now)
{
	int64_t *const due = run->timers.due;

	if (due[TIMER_IDLE_AFTER_EXIT] == NEVER ||
	    (now < due[TIMER_SAMPLE] && now < due[TIMER_IDLE_AFTER_EXIT]))
		return;
	if (sample(run))
		due[TIMER_IDLE_AFTER_EXIT] =
		    duration_add(now, run->options.idle_after_exit);
	due[TIMER_SAMPLE] = duration_add(now, SAMPLE_INTERVAL);
}

/* TIMER_IDLE is due: sets it again, from the start of the silence. A relay that
 * was stopped, or had no processor, may not have read yet what the command
 * wrote: so all relays are asked first, and have to answer. */
static void
look_for_silence(struct run *run, int64_t now)
{
	struct output_watch *const watch = &run->output_watch;
	int64_t *const idle = &run->timers.due[TIMER_IDLE];
	const struct output_progress progress =
	    output_read_progress(&run->output, now);
	const int64_t since = progress.heard_at > run->timers.resumed_at
	                          ? progress.heard_at
	                          : run->timers.resumed_at;
	const int64_t due = duration_add(since, run->options.idle_timeout);
	const bool was_asked = watch->is_asked;

	watch->is_asked = false;
	if (due > now) {
		*idle = due;
	} else if (run->options.idle_unless_busy && sample(run)) {
		*idle = duration_add(now, run->options.idle_timeout);
	} else if (was_asked && progress.has_answered) {
		*idle = now;
	} else {
		if (!was_asked)
			output_ask(&run->output);
		else
			jobcontrol_continue_relays(run);
		watch->is_asked = true;
		*idle = duration_add(now, ANSWER_INTERVAL);
	}
}

/* A command is expected to be silent after the text of --until. */
static void
look_for_text(struct run *run)
{
	const int64_t found_at = output_read_progress(&run->output, 0).found_at;

	if (found_at == NEVER || run->output_watch.is_complete)
		return;
	run->output_watch.is_complete = true;
	run->timers.due[TIMER_UNTIL] =
	    duration_add(found_at, run->options.until_grace);
	run->timers.due[TIMER_IDLE] = NEVER;
}

/* Until when the relays may deliver the rest of the output, with no process
 * left to write more. A reader has all the time that --timeout leaves. Once the
 * run is to end, the reader has to take something every READER_PATIENCE, and
 * has no more time than the stop itself. */
static int64_t
end_of_drain(const struct run *run, int64_t now)
{
	const int64_t *const due = run->timers.due;

	if (!state_output_is_bounded(run) &&
	    (run->state < STATE_STOPPING || now < due[TIMER_TIMEOUT]))
		return due[TIMER_TIMEOUT];

	const int64_t patience =
	    duration_add(output_read_progress(&run->output, now).stuck_since,
	                 READER_PATIENCE);

	return due[TIMER_KILL] < patience ? due[TIMER_KILL] : patience;
}

static void
drain(struct run *run, int64_t now)
{
	if (!run->output_watch.is_finishing)
		output_finish(&run->output, !run->tree_is_empty);
	run->output_watch.is_finishing = true;
	/* No process was left to stop, so no stop has set TIMER_KILL, which
	 * bounds the drain. */
	if (state_output_is_bounded(run) && run->state < STATE_STOPPING &&
	    run->timers.due[TIMER_KILL] == NEVER)
		run->timers.due[TIMER_KILL] =
		    duration_add(now, run->options.kill_after);
	run->timers.due[TIMER_DRAIN] = end_of_drain(run, now);
}

void
output_watch_update(struct run *run, int64_t now)
{
	const bool has_relays = run->output.channel_count > 0;

	if (has_relays && output_has_lost_reader(&run->output))
		target_signal(&run->target, SIGPIPE);
	if (has_relays && run->state == STATE_RUNNING &&
	    !run->target.has_exited) {
		look_for_text(run);
		if (timers_is_due(&run->timers, TIMER_IDLE, now) ||
		    (run->output_watch.is_asked &&
		     output_read_progress(&run->output, now).has_answered))
			look_for_silence(run, now);
	}
	if (run->output.is_open && state_nobody_left(run))
		drain(run, now);
	if (run->state == STATE_LINGERING && !run->tree_is_empty &&
	    run->timers.paused_at == NEVER)
		look_for_progress(run, now);
}
