/* The last line of --verbose: how the run ended, and what it used. */
#include "run/summary.h"

#include <sys/resource.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/strbuf.h"
#include "proc/signals.h"
#include "run/reason.h"
#include "run/run.h"

#define LINE_SIZE 256

static int64_t
time_of(const struct timeval *time)
{
	return time->tv_sec * SECOND + time->tv_usec * (MILLISECOND / 1000);
}

struct usage
summary_measure(const struct run *run)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage) == -1)
		return (struct usage){ .elapsed = 0 };
	return (struct usage){
		.elapsed = duration_now() - run->target.started,
		.cpu = time_of(&usage.ru_utime) + time_of(&usage.ru_stime),
		.peak_memory = usage.ru_maxrss,
	};
}

void
summary_print(const struct run *run, const struct usage *usage,
              struct outcome outcome)
{
	char text[LINE_SIZE];
	char elapsed[DURATION_TEXT_SIZE];
	char cpu[DURATION_TEXT_SIZE];
	struct strbuf line = { .text = text, .size = sizeof(text) };

	if (!run->options.verbose || run->options.is_timeout ||
	    usage->elapsed == 0)
		return;
	if (outcome.kind == OUTCOME_SIGNAL) {
		char name[SIGNAL_NAME_SIZE];

		strbuf_addf(&line, "by %s", signal_name(outcome.value, name));
	} else {
		strbuf_addf(&line, "with status %d", outcome.value);
	}
	if (run->stop != REASON_NONE)
		strbuf_addf(&line, " (%s)", reason_row(run->stop)->words);
	strbuf_addf(
	    &line, " after %s; %s of CPU time, at most %lld KiB of memory",
	    duration_format(usage->elapsed, elapsed),
	    duration_format(usage->cpu, cpu), (long long)usage->peak_memory);
	if (run->output.channel_count > 0)
		strbuf_addf(
		    &line, ", %llu bytes of output",
		    (unsigned long long)output_read_progress(&run->output, 0)
		        .relayed);
	message("ended %s", text);
}
