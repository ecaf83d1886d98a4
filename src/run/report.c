/* How a run ended, for other programs to read. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/message.h"
#include "base/path.h"
#include "base/text.h"
#include "proc/signals.h"
#include "run/run.h"

/* Returns the number of the descriptor that PATH names, or -1 for a file. */
static int
descriptor_of(const char *path)
{
	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	if (strncmp(path, "/dev/fd/", strlen("/dev/fd/")) != 0)
		return -1;

	char *end;
	const unsigned long fd = strtoul(path + strlen("/dev/fd/"), &end, 10);

	/* No descriptor has the number INT_MAX. */
	return *end == '\0' && fd < INT_MAX ? (int)fd : INT_MAX;
}

/* Looks whether a file may have the report; opens one that is a FIFO. */
static enum refusal
open_place(struct report *report)
{
	const char *const place = path_resolve(report->path);
	struct stat file = { .st_uid = geteuid() };
	struct stat above;

	if (place == NULL)
		return REFUSAL_ERRNO;

	const int directory_fd = path_open_directory(place, O_PATH);

	report->directory_fd = directory_fd;
	if (directory_fd == -1)
		return REFUSAL_ERRNO;
	report->path = place;
	report->file = strrchr(place, '/') + 1;
	/* There may be none. The name is empty where PATH is "/". */
	(void)fstatat(directory_fd, report->file, &file,
	              AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);

	if (S_ISFIFO(file.st_mode)) {
		if (pidfile_check(directory_fd, &file) == REFUSAL_ANOTHERS)
			return REFUSAL_ANOTHERS;
		/* For reading, too: then it opens without a reader, and what is
		 * written waits for one as long as this process has it open. */
		report->stream_fd =
		    openat(directory_fd, report->file,
		           O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
		if (report->stream_fd == -1 ||
		    fstat(report->stream_fd, &file) == -1)
			return REFUSAL_ERRNO;
		/* As opened: another file may have come there since. */
		return pidfile_check(directory_fd, &file) == REFUSAL_NO_FILE
		           ? REFUSAL_NONE
		           : REFUSAL_ANOTHERS;
	}
	/* rename(2) would also replace a device or a symbolic link. */
	if (file.st_mode != 0 && !S_ISREG(file.st_mode))
		return REFUSAL_NO_FILE;
	/* In a directory like /tmp, rename(2) replaces another user's file only
	 * for root, or the directory's owner: sticky_bit in inode(7). */
	if (file.st_uid != geteuid() && geteuid() != 0 &&
	    fstat(directory_fd, &above) == 0 &&
	    (above.st_mode & S_ISVTX) != 0 && above.st_uid != geteuid())
		return REFUSAL_ANOTHERS;
	return faccessat(directory_fd, ".", W_OK | X_OK, 0) == -1
	           ? REFUSAL_ERRNO
	           : REFUSAL_NONE;
}

int
report_open(struct report *report, const char *path)
{
	const int fd = descriptor_of(path);
	enum refusal why = REFUSAL_ERRNO;

	report->path = path;
	report->directory = getcwd(NULL, 0);
	errno = EBADF;
	/* What wdrun has opened itself is close-on-exec. */
	if (fcntl(fd, F_GETFD) == 0 &&
	    (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
		report->stream_fd =
		    fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (report->stream_fd != -1 ||
	    (fd == -1 && (why = open_place(report)) == REFUSAL_NONE))
		return 0;
	message("--report: '%s': %s", report->path, refusal_words(why));
	report->path = NULL;
	return -1;
}

static const char *
signal_of(const struct outcome *outcome)
{
	return outcome->kind == OUTCOME_SIGNAL ? signal_name(outcome->value)
	                                       : NULL;
}

/* How the run ended, and why: words, and a code for programs. */
static void
add_end(struct strbuf *line, const struct facts *facts)
{
	const struct reason_row *const reason = &reasons[facts->reason];
	const struct outcome *const target = &facts->target.outcome;
	const struct outcome *const own = &facts->outcome;
	const bool is_refused = facts->refusal != NULL;
	const char *outcome = target->kind == OUTCOME_EXIT     ? "exited"
	                      : target->kind == OUTCOME_SIGNAL ? "killed"
	                                                       : "unknown";

	if (facts->is_locked_out)
		outcome = "locked out";
	else if (is_refused || facts->target.pid == 0)
		outcome = "not executed";
	/* A target with an exit status has ended before the take-over. */
	else if (!facts->target.exited_by_itself &&
	         facts->reason != REASON_NONE &&
	         (facts->reason != REASON_SUPERVISOR_LOST ||
	          target->kind != OUTCOME_EXIT))
		outcome = "stopped";
	json_add_text(line, "outcome", outcome);
	json_add_text(line, "reason",
	              is_refused ? facts->refusal : reason->words);
	json_add_text(line, "reason_code",
	              facts->is_locked_out ? "locked"
	              : is_refused         ? "exec"
	                                   : reason->code);
	json_add_number(line, "status", outcome_status(own));
	json_add_text(line, "signal", signal_of(own));
	strbuf_addf(line, ",\"target\":{");
	json_add_number(line, "pid",
	                facts->target.pid == 0 ? JSON_NULL : facts->target.pid);
	json_add_number(line, "status",
	                target->kind == OUTCOME_EXIT ? target->value
	                                             : JSON_NULL);
	json_add_text(line, "signal", signal_of(target));
	strbuf_addf(line, "}");
}

static void
add_cancelled_by(struct strbuf *line, const struct facts *facts)
{
	const struct sender *const by = &facts->cancelled_by;

	if (facts->cancels == 0 || by->signal == 0) {
		json_add_text(line, "cancelled_by", NULL);
		return;
	}
	strbuf_addf(line, ",\"cancelled_by\":{");
	json_add_text(line, "signal", signal_name(by->signal));
	json_add_number(line, "pid", by->pid == 0 ? JSON_NULL : by->pid);
	json_add_text(line, "command",
	              *by->command == '\0' ? NULL : by->command);
	strbuf_addf(line, ",\"is_of_run\":%s}",
	            by->is_of_run ? "true" : "false");
}

static void
add_all(struct strbuf *line, const struct run *run)
{
	const struct facts *const facts = run->facts;
	const struct output_facts *const output = &facts->output;
	const struct options *const options = run->options;
	const int64_t elapsed =
	    output->started == 0 ? 0 : facts->ended - output->started;

	strbuf_addf(line, "{\"version\":1");
	json_add_text(line, "id", facts->id);
	json_add_text(line, "name", options->name);
	json_add_strings(line, "command",
	                 (const char *const *)options->command);
	json_add_text(line, "directory", run->report.directory);
	json_add_number(line, "started", facts->started_at / SECOND);
	json_add_number(line, "elapsed_ms", elapsed / MILLISECOND);
	add_end(line, facts);
	add_cancelled_by(line, facts);
	json_add_number(line, "cpu_ms", facts->cpu / MILLISECOND);
	json_add_number(line, "peak_memory_kib", facts->memory);
	if (run->output.count == 0) {
		json_add_text(line, "output", NULL);
	} else {
		strbuf_addf(line, ",\"output\":{\"relayed\":%" PRIu64,
		            output->relayed);
		/* What a killed front had under way, nobody knows. */
		json_add_number(line, "undelivered",
		                facts->reason == REASON_FRONT_LOST
		                    ? JSON_NULL
		                    : (int64_t)output->undelivered);
		strbuf_addf(line, "}");
	}
	strbuf_addf(line,
	            ",\"processes\":{\"stopped\":%" PRIu64
	            ",\"killed\":%" PRIu64 ",\"left\":",
	            facts->signalled, facts->killed);
	if (nobody_is_awaited(run))
		strbuf_addf(line, "[]");
	else
		look_add_json(line, &facts->look);
	strbuf_addf(line, "},\"tree\":"); /* as it was printed */
	if (facts->first_look.count == 0)
		strbuf_addf(line, "null");
	else
		look_add_json(line, &facts->first_look);
	json_add_strings(line, "locks", options->locks.paths);
	json_add_strings(line, "cleanup", options->cleanups.paths);
	strbuf_addf(line, "}\n");
}

/* Replaces the file. Returns whether it could, if not with errno. */
static bool
write_file(const struct run *run, const struct strbuf *line)
{
	const struct report *const report = &run->report;
	char unfinished[RUNID_SIZE + sizeof(".-0123456789abcdef.new")];

	/* The report's own name may be as long as a name can be. And COMMAND,
	 * which knows the ID, could make a file of that name in /tmp. */
	(void)snprintf(unfinished, sizeof(unfinished), ".%s-%" PRIx64 ".new",
	               run->facts->id, (uint64_t)duration_now());

	const int fd = openat(report->directory_fd, unfinished,
	                      O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);

	if (fd == -1)
		return false;

	/* No fsync(2): a crash also ends all that the report tells of. */
	const bool is_written = fds_write(fd, line->text, line->length, -1);

	/* NFS may report a full disk only here: ENOSPC in close(2). */
	if (close(fd) == 0 && is_written &&
	    renameat(report->directory_fd, unfinished, report->directory_fd,
	             report->file) == 0)
		return true;

	const int why = errno;

	(void)unlinkat(report->directory_fd, unfinished, 0);
	errno = why;
	return false;
}

void
report_write(const struct run *run)
{
	const struct report *const report = &run->report;
	struct strbuf line = { .grows = true };

	if (report->path == NULL)
		return;
	add_all(&line, run);
	if (line.is_cut || /* then errno is ENOMEM */
	    !(report->stream_fd == -1
	          ? write_file(run, &line)
	          : fds_write(report->stream_fd, line.text, line.length,
	                      READER_PATIENCE / MILLISECOND)))
		message("--report: cannot write '%s': %s", report->path,
		        strerror(errno));
	free(line.text);
}
