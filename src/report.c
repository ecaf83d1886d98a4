/* How a run ended, for other programs to read. */
#include "report.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diagnosis.h"
#include "duration.h"
#include "fileinfo.h"
#include "json.h"
#include "judge.h"
#include "procfs.h"
#include "settle.h"
#include "signals.h"
#include "text.h"
#include "wholefile.h"

#define MODE          0666
#define VERSION       1
#define REST_MAX      65536 /* bytes of all but the command */
#define COMMAND_WIDTH 200   /* of a process that is left */
#define MICROSECOND   INT64_C(1000)

static int
refuse(const char *path, const char *why)
{
	message("--report: '%s': %s", path, why);
	return -1;
}

int
report_check(const char *path)
{
	char directory[PATH_MAX];
	struct stat file;

	/* It is replaced by renaming, which neither a device nor whatever a
	 * link leads to would survive as what it is. */
	if (lstat(path, &file) == 0 && !S_ISREG(file.st_mode))
		return refuse(path, "it is there, and no regular file");
	if (access(fileinfo_directory_of(path, directory), W_OK | X_OK) == -1)
		return refuse(path, strerror(errno));
	return 0;
}

int
report_begin(struct run *run)
{
	struct report_facts *const facts =
	    mmap(NULL, sizeof(*facts), PROT_READ | PROT_WRITE,
	         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (facts == MAP_FAILED)
		return -1;
	facts->started_at = run->estate->started_at;
	run->report = facts;
	return 0;
}

void
report_note_start(const struct run *run, int64_t now)
{
	if (run->report == NULL)
		return;
	run->report->started = now;
	run->report->target = run->target;
}

void
report_note_stop(const struct run *run, size_t processes)
{
	/* A front that takes over during the grace finds fewer. */
	if (run->report == NULL || run->report->stopped != 0)
		return;
	run->report->stopped = processes;
	/* Else they are counted when they are swept. */
	if (run->options.signal == SIGKILL && run->stop != REASON_CANCELLED &&
	    !run->is_front && !run->front_is_lost)
		run->report->killed = processes;
}

void
report_note_lockout(const struct run *run)
{
	if (run->report != NULL)
		run->report->is_locked_out = true;
}

void
report_note_kill(const struct run *run, size_t processes)
{
	if (run->report != NULL)
		run->report->killed += processes;
}

void
report_note_exec_failure(const struct run *run, int why)
{
	if (run->report != NULL)
		run->report->exec_errno = why;
}

static int64_t
time_of(const struct timeval *time)
{
	return time->tv_sec * SECOND + time->tv_usec * MICROSECOND;
}

static void
note_left(struct report_facts *facts, const struct process_list *list)
{
	for (size_t i = 0; i < list->count && i < REPORT_LEFT_MAX; i++)
		facts->left[facts->left_count++] = list->entries[i].pid;
}

void
report_note_end(const struct run *run, struct outcome verdict)
{
	struct report_facts *const facts = run->report;
	struct rusage usage;

	if (facts == NULL)
		return;
	facts->left_count = 0;
	if (!judge_is_over(run))
		note_left(facts, &run->tree.list);
	facts->ended = duration_now();
	facts->verdict = verdict;
	facts->target_outcome = run->target_outcome;
	facts->target_left = run->target_left;
	facts->stop = run->stop;
	/* Of all that were reaped here, and below: getrusage(2). Without a
	 * command, those are what the process was before an exec had. */
	if (facts->started != 0 && getrusage(RUSAGE_CHILDREN, &usage) == 0) {
		facts->cpu =
		    time_of(&usage.ru_utime) + time_of(&usage.ru_stime);
		facts->peak_memory = usage.ru_maxrss;
	}
}

void
report_note_verdict(const struct run *run, struct outcome verdict)
{
	if (run->report != NULL)
		run->report->verdict = verdict;
}

static const char *
outcome_of(const struct report_facts *facts)
{
	if (facts->is_locked_out)
		return "locked out";
	if (facts->exec_errno != 0)
		return "not executed";
	/* A front that takes over sends SIGKILL alone: what has a status was
	 * gone before that. */
	if (!facts->target_left && facts->stop != REASON_NONE &&
	    (facts->stop != REASON_SUPERVISOR_LOST ||
	     facts->target_outcome.kind != OUTCOME_EXIT))
		return "stopped";
	switch (facts->target_outcome.kind) {
	case OUTCOME_EXIT:
		return "exited";
	case OUTCOME_SIGNAL:
		return "killed";
	case OUTCOME_UNKNOWN:
		break;
	}
	return "unknown";
}

static const char *
reason_of(const struct report_facts *facts)
{
	if (facts->is_locked_out)
		return "a lock is held by another process";
	if (facts->exec_errno != 0)
		return strerror(facts->exec_errno);
	return facts->stop == REASON_NONE ? NULL
	                                  : diagnosis_reason(facts->stop);
}

static void
add_signal(struct line *line, const struct outcome *outcome)
{
	char name[SIGNAL_NAME_SIZE];

	json_add_text(line, "signal",
	              outcome->kind == OUTCOME_SIGNAL
	                  ? signal_name(outcome->value, name)
	                  : NULL);
}

/* As a shell has it in $?. */
static void
add_verdict(struct line *line, const struct outcome *verdict)
{
	json_add_number(line, "status",
	                verdict->kind == OUTCOME_SIGNAL
	                    ? STATUS_SIGNAL_BASE + verdict->value
	                    : verdict->value);
	add_signal(line, verdict);
}

static void
add_target(struct line *line, const struct report_facts *facts)
{
	const struct outcome *const outcome = &facts->target_outcome;

	json_add_key(line, "target");
	line_add(line, "{");
	json_add_key(line, "pid");
	line_add(line, facts->target == 0 ? "null" : "%d", facts->target);
	json_add_key(line, "status");
	line_add(line, outcome->kind == OUTCOME_EXIT ? "%d" : "null",
	         outcome->value);
	add_signal(line, outcome);
	line_add(line, "}");
}

static size_t
count_of(const char *const strings[])
{
	size_t count = 0;

	while (strings[count] != NULL)
		count++;
	return count;
}

static void
add_output(struct line *line, const struct output *output)
{
	const struct output_sums sums = output_sum(output);

	json_add_key(line, "output");
	if (output->channel_count == 0) {
		line_add(line, "null");
		return;
	}
	line_add(line, "{");
	json_add_number(line, "relayed", (int64_t)sums.relayed);
	json_add_number(line, "dropped", (int64_t)sums.dropped);
	json_add_number(line, "undelivered", (int64_t)sums.undelivered);
	line_add(line, "}");
}

static void
add_left(struct line *line, const struct report_facts *facts)
{
	json_add_key(line, "left");
	line_add(line, "[");
	for (size_t i = 0; i < facts->left_count; i++) {
		char text[COMMAND_WIDTH + 4];
		struct line command = { .text = text, .size = sizeof(text) };

		json_add_comma(line);
		line_add(line, "{");
		json_add_number(line, "pid", facts->left[i]);
		procfs_add_command(&command, facts->left[i], COMMAND_WIDTH);
		json_add_text(line, "command", text);
		line_add(line, "}");
	}
	line_add(line, "]");
}

static void
add_processes(struct line *line, const struct run *run)
{
	json_add_key(line, "processes");
	line_add(line, "{");
	json_add_number(line, "stopped", (int64_t)run->report->stopped);
	json_add_number(line, "killed", (int64_t)run->report->killed);
	add_left(line, run->report);
	line_add(line, "}");
}

static void
add_all(struct line *line, const struct run *run)
{
	const struct report_facts *const facts = run->report;
	const struct options *const options = &run->options;
	const int64_t end = facts->ended != 0 ? facts->ended : duration_now();

	line_add(line, "{");
	json_add_number(line, "version", VERSION);
	json_add_text(line, "id", runid_of(run->id));
	json_add_text(line, "name", options->name);
	json_add_strings(line, "command",
	                 count_of((const char *const *)options->command),
	                 (const char *const *)options->command);
	json_add_text(line, "directory", run->estate->directory);
	json_add_number(line, "started", facts->started_at / SECOND);
	json_add_number(
	    line, "elapsed_ms",
	    facts->started == 0 ? 0 : (end - facts->started) / MILLISECOND);
	json_add_text(line, "outcome", outcome_of(facts));
	json_add_text(line, "reason", reason_of(facts));
	add_verdict(line, &facts->verdict);
	add_target(line, facts);
	json_add_number(line, "cpu_ms", facts->cpu / MILLISECOND);
	json_add_number(line, "peak_memory_kib", facts->peak_memory);
	add_output(line, &run->output);
	add_processes(line, run);
	json_add_strings(line, "locks", options->locks.count,
	                 options->locks.paths);
	json_add_strings(line, "cleanup", options->cleanups.count,
	                 options->cleanups.paths);
	line_add(line, "}\n");
}

/* Room for all of it, whatever the command line is. */
static size_t
size_of(const struct options *options)
{
	size_t size = REST_MAX;

	for (size_t i = 0; options->command[i] != NULL; i++)
		size += JSON_GROWTH * strlen(options->command[i]) + 3;
	for (size_t i = 0; i < options->locks.count; i++)
		size += JSON_GROWTH * strlen(options->locks.paths[i]) + 3;
	for (size_t i = 0; i < options->cleanups.count; i++)
		size += JSON_GROWTH * strlen(options->cleanups.paths[i]) + 3;
	return size;
}

void
report_write(struct run *run)
{
	char directory[PATH_MAX];
	char unfinished[PATH_MAX];
	struct line line = { .size = size_of(&run->options) };
	const struct wholefile file = {
		.directory_fd = AT_FDCWD,
		.directory =
		    fileinfo_directory_of(run->options.report, directory),
		.file = run->options.report,
		.unfinished = unfinished,
		.mode = MODE,
	};

	line.text = malloc(line.size);
	if (line.text != NULL) {
		(void)text_format(unfinished, sizeof(unfinished), "%s.%s.new",
		                  run->options.report, runid_of(run->id));
		add_all(&line, run);
	}
	if (line.text == NULL || wholefile_write(&file, &line) == -1)
		message("--report: cannot write '%s': %s", run->options.report,
		        strerror(errno));
	free(line.text);
}
