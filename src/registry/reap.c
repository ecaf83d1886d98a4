/* Finishes runs whose watchers both died before the teardown: kills what is
 * left of their processes, and removes their files. */
#include "registry/registry.h"

#include <sys/prctl.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/message.h"
#include "base/status.h"
#include "proc/tree.h"

#define SCANS_EMPTY 10  /* in a row: nobody is left, who might fork and exit */
#define SCANS_MAX   100 /* no time: under load, a scan may take long */
#define PAUSE       (10 * MILLISECOND)
#define BOUND       (10 * SECOND) /* of each wait for others */

#define NAMED_MAX     8 /* killed processes that a message names */
#define COMMAND_WIDTH 60

struct process {
	struct procid id;
	pid_t parent;
	bool is_in_session; /* that the supervisor leads; not the supervisor */
	bool is_proven;     /* to be of the run */
	bool is_spared;     /* another user's, or this process's ancestor */
};

/* The search for the processes of a run, in one scan of /proc after another. */
struct search {
	const struct registry_walk *walk;
	pid_t session; /* that the supervisor has led; 0: none */
	/* A proven process was in the supervisor's session: then all of it is
	 * the run's. No other session gets its number while one lives. */
	bool session_is_proven;
	size_t count;              /* of those that may be of the run */
	size_t seen;               /* of these, by end_proven() */
	struct process *processes; /* dead or not */
	size_t killed;
	size_t left;        /* for which the run stays on record */
	struct strbuf line; /* the message */
};

/* Whether PID is this process, or an ancestor of it that /proc shows. */
static bool
is_ancestor(pid_t pid)
{
	struct procstat stat = { .parent = getpid() };

	do {
		if (stat.parent == pid)
			return true;
	} while (stat.parent > 0 && procstat_read(stat.parent, &stat) == 0);
	return false;
}

/* Adds "; VERB 4711 sleep 9" to the message. */
static void
add_process(struct search *search, const char *verb,
            const struct process *process)
{
	strbuf_addf(&search->line, "; %s %d ", verb, process->id.pid);
	cmdline_add(&search->line, process->id.pid,
	            process->is_spared ? 0 : COMMAND_WIDTH);
}

/* Whether PID has ID in its WDRUN_ID; false for a moment within execve(2). */
static bool
has_id(pid_t pid, const char *id)
{
	char path[32];
	char *variable = NULL;
	size_t size = 0;
	bool is_found = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", pid);

	FILE *const environment = fopen(path, "re");

	if (environment == NULL)
		return false;
	while (!is_found && getdelim(&variable, &size, '\0', environment) > 0) {
		const char *word = strtok(variable, "=");

		if (word == NULL || strcmp(word, RUNID_VARIABLE) != 0)
			continue;
		while (!is_found && (word = strtok(NULL, "/")) != NULL)
			is_found = strcmp(word, id) == 0;
	}
	free(variable);
	(void)fclose(environment);
	return is_found;
}

/* Reads PID into PROCESS. Returns false where PID is dead, or older than the
 * run. Another user's memory is not read: that could hang (userfaultfd(2)). */
static bool
read_process(const struct search *search, pid_t pid, struct process *process)
{
	const struct entry *const entry = &search->walk->entry;
	const pid_t session = search->session;
	struct procstat stat;

	if (procstat_read(pid, &stat) == -1 || stat.is_dead ||
	    stat.start < entry->front.start ||
	    procstat_read_status(pid, &stat) == -1)
		return false;
	*process = (struct process){
		.id = { pid, stat.start },
		.parent = stat.parent,
		.is_in_session =
		    session != 0 && stat.session == session && pid != session,
		.is_spared = stat.user != geteuid(),
	};
	process->is_proven =
	    !process->is_spared && has_id(pid, search->walk->id);
	return true;
}

/* Notes PROCESS, unless that was done. */
static void
note(struct search *search, const struct process *process)
{
	struct process *at = search->processes;

	for (size_t i = 0; i < search->count; i++, at++) {
		if (at->id.pid == process->id.pid &&
		    at->id.start == process->id.start &&
		    at->is_proven == process->is_proven)
			return;
	}
	at = realloc(search->processes, (search->count + 1) * sizeof(*at));
	if (at == NULL) {
		search->left++;
		return;
	}
	search->processes = at;
	at += search->count++;
	*at = *process;
	at->is_spared |= is_ancestor(at->id.pid);
	search->session_is_proven |= at->is_proven && at->is_in_session;
}

/* A child of a proven process is proven, if its parent is alive after the child
 * was read: then it is the parent that the child has shown. Those that do not
 * fit in the list are proven by the run's ID alone. */
static void
note_children(struct search *search, const struct procid *parent)
{
	static struct procfs_list children;
	const int dir = procfs_dir(parent->pid);
	struct process child;

	procfs_list_children(dir, parent->pid, &children);
	fds_close(dir);
	for (size_t i = 0; i < children.count; i++) {
		if (read_process(search, children.numbers[i], &child) &&
		    child.parent == parent->pid && procid_is_alive(parent)) {
			child.is_proven = true;
			note(search, &child);
		}
	}
}

/* Kills the proven processes that were noted since the last time. */
static void
end_proven(struct search *search)
{
	for (; search->seen < search->count; search->seen++) {
		/* A copy, as what note() has moves. */
		const struct process process = search->processes[search->seen];

		if (!process.is_proven || process.is_spared)
			continue;
		/* First: a dead parent proves nothing, and has no words. */
		note_children(search, &process.id);
		if (search->killed++ < NAMED_MAX)
			add_process(search, "killed", &process);
		procid_kill(&process.id, SIGKILL);
	}
}

/* Looks at all processes, and kills the proven at once, so that none goes on
 * forking: children have the run's ID. Returns how many were noted, or -1. */
static int
scan(struct search *search)
{
	DIR *const directory = opendir("/proc");
	const size_t before = search->count;
	const struct dirent *file;
	struct process process;

	if (directory == NULL)
		return -1;
	while ((file = readdir(directory)) != NULL) {
		const pid_t pid = (pid_t)strtol(file->d_name, NULL, 10);

		if (!read_process(search, pid, &process) ||
		    (!process.is_proven && !process.is_in_session))
			continue;
		process.is_proven |= search->session_is_proven;
		note(search, &process);
		end_proven(search);
	}
	(void)closedir(directory);
	return (int)(search->count - before);
}

/* Kills the processes of the run until nobody is left, and waits for them. */
static void
end_all(struct search *search)
{
	const struct procid *const leader = &search->walk->entry.supervisor;
	struct procstat stat;
	int empty = 0; /* scans in a row that have found nobody new */

	/* The kernel gives a PID to no other process while it is the number of
	 * a session: if it did, the session has ended. */
	if (procstat_read(leader->pid, &stat) == -1 ||
	    stat.start == leader->start)
		search->session = leader->pid;
	for (int i = 0; i < SCANS_MAX && empty < SCANS_EMPTY; i++) {
		empty = scan(search) == 0 ? empty + 1 : 0;
		duration_sleep(PAUSE);
	}
	if (empty < SCANS_EMPTY) {
		search->left++;
		strbuf_addf(&search->line, "; left what goes on forking");
	}

	const int64_t deadline = duration_now() + BOUND;

	/* From the last one on: a process that was proven late is listed twice,
	 * first without a proof. It is waited for at its later place. */
	for (; search->count > 0; search->count--) {
		const struct process *const last =
		    &search->processes[search->count - 1];

		while (last->is_proven && !last->is_spared &&
		       procid_is_alive(&last->id) && duration_now() < deadline)
			duration_sleep(MILLISECOND);
		if (procid_is_alive(&last->id)) {
			add_process(search, "left", last);
			search->left++;
		}
	}
}

/* Removes the files of ENTRY, and appends that to LINE. */
static void
remove_files(struct strbuf *line, const struct entry *entry)
{
	static const pid_t nobody[2];

	for (size_t i = 0; i < entry->file_count; i++) {
		const struct cleanup *const file = &entry->files[i];
		const int result = cleanup_end(file, nobody, true);

		if (result == 1)
			strbuf_addf(line, "; removed '%s'", file->path);
		else if (result == -1 && errno != ENODATA) /* of a --lock */
			strbuf_addf(line, "; cannot remove '%s': %s",
			            file->path, lock_error(errno));
	}
}

int
reap_entry(const struct registry_walk *walk, bool is_requested, bool is_quiet)
{
	const struct entry *const entry = &walk->entry;
	struct search search = { .walk = walk, .line.grows = true };
	struct strbuf *const line = &search.line;
	int result = -1;

	if (!registry_take(walk))
		return 0;
	strbuf_addf(line, "reaped run %s", walk->id);
	if (entry->name != NULL)
		strbuf_addf(line, " (%s)", entry->name);
	if (!walk->is_elsewhere)
		end_all(&search);
	if (search.killed > NAMED_MAX)
		strbuf_addf(line, "; killed %zu in all", search.killed);
	if (search.left > 0) {
		strbuf_addf(line, "; it stays on record");
	} else {
		remove_files(line, entry);
		/* Last: if SIGKILL comes before, all can be done again. */
		result = registry_remove(walk->directory_fd, walk->id);
		if (result == -1)
			strbuf_addf(line, "; cannot remove '%s': %s",
			            walk->file, strerror(errno));
	}

	const bool has_done = result == 0 || search.killed > 0;

	if (has_done ? !is_quiet : is_requested)
		message("%s", line->text);
	free(line->text);
	free(search.processes);
	return result;
}

/* Waits until the run is not locked, unless the front sleeps or is stopped, and
 * so is not dying. Returns whether the run is orphaned now, or over. */
static bool
becomes_orphaned(const struct registry_walk *walk)
{
	const int64_t deadline = duration_now() + BOUND;
	struct procstat stat;

	while (registry_is_held(walk)) {
		if (duration_now() >= deadline ||
		    (procstat_read(walk->entry.front.pid, &stat) == 0 &&
		     strchr("STt", stat.state) != NULL))
			return false;
		duration_sleep(PAUSE);
	}
	return true;
}

int
reap_all(const char *registry, bool is_quiet)
{
	struct registry_walk walk = { .count = 0 };
	bool is_left = false;

	registry_begin(&walk, registry);
	while (registry_next(&walk)) {
		if (walk.is_orphaned)
			is_left |= reap_entry(&walk, true, is_quiet) == -1;
		else if (!walk.is_elsewhere && becomes_orphaned(&walk))
			walk.next--; /* to read its entry again */
	}
	registry_end(&walk);
	return !walk.is_read ? STATUS_FAILED
	       : is_left     ? STATUS_NOT_HAD
	                     : EXIT_SUCCESS;
}

int
reap_before_run(const char *registry, bool is_quiet)
{
	struct registry_walk walk = { .count = 0 };
	pid_t helper = -1;
	siginfo_t info;

	registry_begin(&walk, registry);

	const int result = walk.is_read ? 0 : -1;

	/* A read of a process, or a file system, may hang; the run shall not.
	 * What is left may be the reason why fork(2) fails. */
	while (helper <= 0 && registry_next(&walk)) {
		if (!walk.is_orphaned)
			continue;
		if (helper == -1)
			helper = plain_fork();
		if (helper == 0) /* it ends with this process */
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (helper <= 0) /* in the helper, or without it */
			(void)reap_entry(&walk, false, is_quiet);
	}
	if (helper == 0)
		_exit(0);
	registry_end(&walk);
	wait_or_kill(helper, duration_now() + BOUND);
	(void)wait_peek(helper, WEXITED, &info); /* reaps it */
	return result;
}
