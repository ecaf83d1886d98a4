/* What wdrun says of a change of the run's state, and at its end. */
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "proc/signals.h"
#include "run/run.h"

static bool
is_until(enum reason why)
{
	return why == REASON_UNTIL || why == REASON_UNTIL_FAILURE;
}

/* How the change for the reason WHY is told. Not if the caller expects it: with
 * --until-grace=0 one waits for a line of a log. timeout(1) tells little. */
static enum telling
telling_of(const struct run *run, enum reason why)
{
	const struct options *const options = run->options;
	const enum telling telling = reasons[why].telling;

	if (options->is_timeout && why == REASON_LAST_BOUND)
		return TELL_LINE;
	if ((options->until_grace == 0 && is_until(why)) ||
	    (why == REASON_CANCELLED && !run->facts->cancelled_by.is_told) ||
	    (options->is_timeout &&
	     (telling > TELL_LINE || why == REASON_CANCELLED)))
		return TELL_NOTHING;
	return telling;
}

size_t
tell_look(struct supervisor *self, enum reason why)
{
	struct run *const run = self->run;
	const int64_t until = duration_now() + LOOK_BOUND;
	struct look *const look = &run->facts->look;

	if (telling_of(run, why) < TELL_NAMES ||
	    (run->options->quiet && run->options->report == NULL))
		return 0;
	/* Half of the time is for what the reading has found. */
	tree_read(&self->tree, until - LOOK_BOUND / 2);
	look_glance(look, &self->tree);
	if (reasons[why].telling != TELL_TREE)
		return self->tree.count;
	look->tells_holders = run->target->exited_by_itself;
	look->target = run->target->pid;
	look->stop_signal = self->target_stop;
	look_take(look, until);
	if (run->facts->first_look.count == 0)
		run->facts->first_look = *look;
	return self->tree.count;
}

void
tell_signal(const struct run *run, int signal)
{
	if (run->options->is_timeout && run->options->verbose)
		message("sending signal %s to command '%s'",
		        signal_name(signal) + strlen("SIG"),
		        run->options->command[0]);
}

static void
add_count(struct strbuf *line, const struct supervisor *self, size_t count)
{
	const pid_t target = self->run->target->pid;

	if (procfs_self() == 0 && target != 0)
		strbuf_addf(line,
		            "process group %d (without a usable /proc no "
		            "other process is reached)",
		            target);
	else if (count == 0) /* they may have been too fast to be read */
		strbuf_addf(line, "its processes");
	else
		strbuf_addf(line, "%s%zu process%s",
		            self->tree.is_partial ? "at least " : "", count,
		            count == 1 ? "" : "es");
}

/* " by SIGTERM from 4711 (pkill -f server)" */
static void
add_sender(struct strbuf *line, const struct sender *by)
{
	const char *const of_run =
	    by->is_of_run ? ", a process of the run" : "";

	strbuf_addf(line, " by %s", signal_name(by->signal));
	if (by->pid == 0)
		strbuf_addf(line, " from outside this PID namespace");
	else if (*by->command == '\0')
		strbuf_addf(line, " from %d%s", by->pid, of_run);
	else
		strbuf_addf(line, " from %d (%s%s)", by->pid, by->command,
		            of_run);
}

/* " after 30m" */
static void
add_time(struct strbuf *line, const struct supervisor *self, enum reason why)
{
	const struct options *const options = self->run->options;
	const struct reason_row *const row = &reasons[why];
	const char *preposition = row->preposition;
	const int64_t now = duration_now();
	char text[DURATION_TEXT_SIZE];
	int64_t time;

	memcpy(&time, (const char *)options + row->time, sizeof(time));
	if (is_until(why) && now >= self->due[CLOCK_UNTIL_MAX]) {
		time *= UNTIL_GRACES;
	} else if (is_until(why) && now < self->due[CLOCK_UNTIL]) {
		time = options->timeout;
		preposition = " before the timeout of ";
	}
	strbuf_addf(line, "%s%s", preposition, duration_format(time, text));
}

/* "timed out after 30m, stopping 2 processes with SIGTERM: …" */
static void
print_change(const struct supervisor *self, enum reason why, size_t count)
{
	const struct run *const run = self->run;
	const struct reason_row *const row = &reasons[why];
	const enum state next = row->next;
	const struct output_facts *const output = &run->facts->output;
	struct strbuf lines = { .grows = true };

	if (next != STATE_DONE)
		strbuf_addf(&lines, "%s", row->words);
	if (row->time != 0)
		add_time(&lines, self, why);
	if (why == REASON_TIMEOUT && run->target->exited_by_itself) {
		strbuf_addf(&lines, " (the command has exited)");
	} else if (why == REASON_TIMEOUT && output->found != 0) {
		char after[DURATION_TEXT_SIZE];

		strbuf_addf(
		    &lines,
		    " (TEXT came after %s, and output went on; "
		    "--until-grace=0 stops at once)",
		    duration_format(output->found_at - output->started, after));
	}
	if (why == REASON_CANCELLED)
		add_sender(&lines, &run->facts->cancelled_by);
	strbuf_addf(&lines, next == STATE_STOPPING  ? ", stopping "
	                    : next == STATE_KILLING ? ", killing "
	                    : run->has_taken_over && run->had_children
	                        ? "left what may be of the run: "
	                        : "could not kill ");
	add_count(&lines, self, count);
	if (next == STATE_STOPPING && why != REASON_CANCELLED)
		strbuf_addf(&lines, " with %s",
		            signal_name(run->options->signal));
	if (why == REASON_SURVIVORS_IDLE || why == REASON_SURVIVORS_BUSY)
		strbuf_addf(&lines, " (--keep=NAME or --survivors=leave lets "
		                    "them live)");
	if (telling_of(run, why) >= TELL_NAMES)
		look_add(&lines, &run->facts->look,
		         next == STATE_KILLING ? ',' : '\0');
	strbuf_addf(&lines, "%c", '\0');
	message_lines(&lines);
	free(lines.text);
}

void
tell_change(const struct supervisor *self, enum reason why, size_t count)
{
	const struct options *const options = self->run->options;
	const bool by_signal = why == REASON_CANCELLED;

	if (!options->quiet && telling_of(self->run, why) != TELL_NOTHING)
		print_change(self, why, count);
	else if (options->verbose && !options->is_timeout)
		message("%s%s%s", reasons[why].words, by_signal ? " by " : "",
		        by_signal ? signal_name(self->cancel_signal) : "");
}

void
tell_kept(const struct supervisor *self)
{
	const struct run *const run = self->run;
	struct strbuf line = { .grows = true };

	if (!run->options->verbose || run->options->is_timeout ||
	    self->tree.count == 0)
		return;
	for (size_t i = 0; i < self->tree.count; i++) {
		strbuf_addf(&line, "%s %d ", i == 0 ? "" : ",",
		            self->tree.members[i].pid);
		cmdline_add(&line, self->tree.members[i].pid, 0);
	}
	message("--keep: kept%s", line.text);
	free(line.text);
}

/* Formats NS in whole seconds, if there are any. */
static const char *
format_seconds(int64_t ns, char text[DURATION_TEXT_SIZE])
{
	const int64_t unit = ns < SECOND ? MILLISECOND : SECOND;

	return duration_format((ns + unit / 2) / unit * unit, text);
}

void
tell_heartbeat(struct supervisor *self, int64_t now)
{
	struct run *const run = self->run;
	const struct options *const options = run->options;
	const int64_t end = self->due[CLOCK_TIMEOUT];
	int64_t *const due = &self->due[CLOCK_HEARTBEAT];
	char time[DURATION_TEXT_SIZE];
	struct strbuf line = { .grows = true };

	if (now < *due || self->paused_at != NEVER)
		return;

	*due = duration_add(run->facts->output.heard, options->heartbeat);
	if (*due > now)
		return;
	*due = duration_add(now, options->heartbeat);
	strbuf_addf(&line, "%.255s: %s elapsed",
	            options->name != NULL ? options->name : options->command[0],
	            format_seconds(now - run->facts->output.started, time));
	if (end != NEVER && end > now)
		strbuf_addf(&line, ", %s left",
		            format_seconds(end - now, time));
	tree_read(&self->tree, NEVER);
	strbuf_addf(&line, ", %zu process%s", self->tree.count,
	            self->tree.count == 1 ? "" : "es");
	message("%s", line.text);
	free(line.text);
}

void
tell_end(const struct run *run)
{
	const struct facts *const facts = run->facts;
	char elapsed[DURATION_TEXT_SIZE];
	char cpu[DURATION_TEXT_SIZE];

	if (run->options->is_timeout && run->target->dumped_core)
		message("the monitored command dumped core");
	if (!run->options->verbose || run->options->is_timeout ||
	    facts->output.started == 0)
		return;
	message("ended with status %d after %s; %s of CPU time, at most %ld "
	        "KiB of memory",
	        outcome_status(&facts->outcome),
	        duration_format(facts->ended - facts->output.started, elapsed),
	        duration_format(facts->cpu, cpu), facts->memory);
}
