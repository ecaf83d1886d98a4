/* Finishes runs whose watchers both died before the teardown: kills what is
 * left of their processes, and removes their files. */
#include "registry/registry.h"

#include <sys/prctl.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/message.h"
#include "base/status.h"
#include "proc/tree.h"

#define RUNS_MAX    100 /* in one search: each has its entry open */
#define SCANS_EMPTY 10  /* in a row: nobody is left, who might fork and exit */
#define SCANS_MAX   100 /* no time: under load, a scan may take long */
#define PAUSE       (10 * MILLISECOND)
#define BOUND       (10 * SECOND) /* of each wait for others */

#define NAMED_MAX     8 /* killed processes that a message names */
#define COMMAND_WIDTH 60

/* A run whose watchers are dead. */
struct lost_run {
	uint64_t since; /* clock ticks: no process of the run is older */
	size_t killed;
	size_t left;               /* for which the run stays on record */
	struct strbuf line;        /* the message */
	struct registry_walk walk; /* at its entry, which is open */
	pid_t session;             /* that the supervisor has led; 0: none */
	/* A proven process was in that session: then all of it is the run's. No
	 * other session gets its number while one of them lives. */
	bool session_is_proven;
	char word[RUNID_SIZE + 2]; /* "/ID/" */
};

/* A process that is proven to be of RUN, and is killed. */
struct process {
	struct procid id;
	struct lost_run *run;
	int dir; /* in /proc: of this process, whoever has its PID later */
};

/* The search for the processes of runs, in one scan of /proc after another. */
struct search {
	struct lost_run *runs;
	size_t run_count;
	int empty;    /* scans in a row that have found nobody new to kill */
	bool is_last; /* the scan that only tells who is left */
	struct process *processes; /* dead or not */
	size_t count;
	size_t killed; /* of these */
};

/* Adds "; VERB 4711 sleep 9" to the message. */
static void
add_process(struct strbuf *line, const char *verb, pid_t pid, int width)
{
	strbuf_addf(line, "; %s %d ", verb, pid);
	cmdline_add(line, pid, width);
}

/* Adds the WDRUN_ID of the process at DIR to PATH, as "/OUTER/INNER/"; nothing
 * for a moment within execve(2). Returns whether that may be read. */
static bool
add_path(struct strbuf *path, int dir)
{
	const int fd = openat(dir, "environ", O_RDONLY | O_CLOEXEC);
	FILE *const environment = fd == -1 ? NULL : fdopen(fd, "r");
	char *variable = NULL;
	size_t size = 0;

	if (environment == NULL) {
		fds_close(fd);
		return errno != EACCES;
	}
	while (getdelim(&variable, &size, '\0', environment) > 0) {
		if (strncmp(variable, RUNID_VARIABLE "=",
		            strlen(RUNID_VARIABLE "=")) == 0)
			strbuf_addf(path, "/%s/", strchr(variable, '=') + 1);
	}
	free(variable);
	(void)fclose(environment);
	return true;
}

/* Notes PROCESS, which is to be killed, unless that was done. */
static void
note(struct search *search, const struct process *process)
{
	struct process *at = search->processes;

	for (size_t i = 0; i < search->count; i++, at++) {
		if (at->id.pid == process->id.pid &&
		    at->id.start == process->id.start &&
		    at->run == process->run)
			return;
	}
	at = realloc(search->processes, (search->count + 1) * sizeof(*at));
	if (at == NULL)
		return; /* the last scan finds it */
	search->processes = at;
	search->empty = 0;
	at[search->count] = *process;
	at[search->count].dir = fcntl(process->dir, F_DUPFD_CLOEXEC, 0);
	if (at[search->count].dir != -1) /* else the next scan finds it */
		search->count++;
}

/* Whether the process at DIR of /proc is there, a zombie or not. */
static bool
is_there(int dir)
{
	return procfs_kill(dir, 0) == 0 || errno != ESRCH;
}

/* Whether PID, or an ancestor that is no older than RUN, bears a name of --keep
 * and leads a session. */
static bool
is_kept(const struct lost_run *run, pid_t pid)
{
	const char *const names = run->walk.entry.keep;
	struct procstat stat;

	while (names != NULL && procstat_read(pid, &stat) == 0 &&
	       stat.start >= run->since) {
		if (stat.session == pid && procfs_bears(pid, names))
			return true;
		pid = stat.parent;
	}
	return false;
}

/* Reads the process PID at DIR, which no other had as its PID meanwhile.
 * Returns whether it is alive. */
static bool
read_stat(pid_t pid, int dir, struct procstat *stat)
{
	return procstat_read(pid, stat) == 0 && !stat->is_dead && is_there(dir);
}

/* Looks for which runs the process PID is. The proof is the run's ID, a session
 * or PARENT, a proven process or NULL, which is alive after the child was read:
 * so it is the parent that the child has shown. Another user's memory is not
 * read: that could hang (userfaultfd(2)). */
static void
look_at(struct search *search, pid_t pid, const struct process *parent)
{
	char text[2 * RUNID_PATH_SIZE] = "";
	struct strbuf path = { .text = text, .size = sizeof(text) };
	const int dir = procfs_dir(pid);
	struct procstat stat;
	const bool is_alive = read_stat(pid, dir, &stat);
	const bool is_read =
	    !is_alive || stat.user != geteuid() || add_path(&path, dir);
	const bool is_child = is_alive && parent != NULL &&
	                      stat.parent == parent->id.pid &&
	                      is_there(parent->dir);

	for (size_t i = 0; is_alive && i < search->run_count; i++) {
		struct lost_run *const run = &search->runs[i];
		const bool is_member = run->session != 0 &&
		                       stat.session == run->session &&
		                       pid != run->session;
		bool is_proven = (is_child && parent->run == run) ||
		                 strstr(text, run->word) != NULL;
		const bool is_known = is_proven || is_member;
		bool is_spared = stat.user != geteuid();

		if (stat.start < run->since || (!is_known && is_read) ||
		    is_kept(run, pid))
			continue;
		run->session_is_proven |= is_proven && is_member;
		is_proven |= run->session_is_proven && is_member;
		is_spared |= procfs_descends(procfs_self(), pid);
		if (search->is_last) {
			run->left += is_known;
			add_process(&run->line,
			            is_known ? "left" : "cannot look into", pid,
			            is_spared || !is_read ? 0 : COMMAND_WIDTH);
		} else if (is_proven && !is_spared) {
			note(search, &(struct process){
			                 { pid, stat.start }, run, dir });
		}
	}
	fds_close(dir);
}

/* Kills what was noted since the last time; look_at() notes its children. */
static void
kill_noted(struct search *search)
{
	static struct procfs_list children;

	for (; search->killed < search->count; search->killed++) {
		/* A copy, as what note() has moves. */
		const struct process process =
		    search->processes[search->killed];
		struct lost_run *const run = process.run;
		const pid_t pid = process.id.pid;
		const int dir = process.dir;

		if (procid_is_alive(&process.id)) {
			/* Stopped, it has no more children; dead, it would
			 * prove nothing, and have no words. */
			(void)procfs_kill(dir, SIGSTOP);
			procfs_list_children(dir, pid, &children);
			for (size_t i = 0; i < children.count; i++)
				look_at(search, children.numbers[i], &process);
			if (run->killed++ < NAMED_MAX)
				add_process(&run->line, "killed", pid,
				            COMMAND_WIDTH);
			(void)procfs_kill(dir, SIGKILL);
		}
		fds_close(dir);
	}
}

/* Looks at all processes, the youngest first: of a chain, in which each forks
 * the next and exits, only that lives. The proven are killed at once, so that
 * none goes on forking. */
static void
scan(struct search *search)
{
	static struct procfs_list all;

	procfs_list_names(procfs_fd(), ".", &all);
	while (all.count-- > 0) {
		look_at(search, all.numbers[all.count], NULL);
		kill_noted(search);
	}
}

/* Kills the processes of the COUNT RUNS, waits for them, and names the left. */
static void
end_all(struct lost_run runs[], size_t count)
{
	struct search search = { .runs = runs, .run_count = count };

	for (int i = 0; i < SCANS_MAX && search.empty < SCANS_EMPTY; i++) {
		search.empty++;
		scan(&search);
		duration_sleep(PAUSE);
	}
	for (size_t i = 0; i < count && search.empty < SCANS_EMPTY; i++) {
		if (runs[i].killed > 0 && ++runs[i].left > 0)
			strbuf_addf(&runs[i].line,
			            "; left what goes on forking");
	}

	const int64_t deadline = duration_now() + BOUND;

	for (size_t i = 0; i < search.count; i++) {
		while (procid_is_alive(&search.processes[i].id) &&
		       duration_now() < deadline)
			duration_sleep(MILLISECOND);
	}
	search.is_last = true;
	scan(&search);
	free(search.processes);
}

/* Removes the files of ENTRY, and appends that to LINE. */
static void
remove_files(struct strbuf *line, const struct entry *entry)
{
	static const pid_t nobody[2];

	for (size_t i = 0; i < entry->file_count; i++) {
		const struct cleanup *const file = &entry->files[i];
		const enum refusal why = cleanup_end(file, nobody, true);

		if (why == REFUSAL_NONE)
			strbuf_addf(line, "; removed '%s'", file->path);
		else if (why != REFUSAL_UNTOLD &&
		         why != REFUSAL_UNKNOWN) /* of a --lock */
			strbuf_addf(line, "; cannot remove '%s': %s",
			            file->path, refusal_words(why));
	}
}

/* Makes RUN of the present entry of WALK, which it takes along. */
static void
begin(struct lost_run *run, struct registry_walk *walk)
{
	const struct entry *const entry = &walk->entry;
	struct procstat stat;

	*run = (struct lost_run){ .walk = *walk, .line.grows = true };
	walk->fd = -1;
	walk->text = NULL;
	(void)snprintf(run->word, sizeof(run->word), "/%s/", walk->id);
	strbuf_addf(&run->line, "reaped run %s", walk->id);
	if (entry->name != NULL)
		strbuf_addf(&run->line, " (%s)", entry->name);
	/* Nobody lives who is of an earlier boot. */
	run->since = walk->is_elsewhere ? UINT64_MAX : entry->front.start;
	/* The kernel gives a PID to no other process while it is the number of
	 * a session: if it did, the session has ended. */
	if (procstat_read(entry->supervisor.pid, &stat) == -1 ||
	    stat.start == entry->supervisor.start)
		run->session = entry->supervisor.pid;
}

/* Takes RUN off the record if nobody is left. Returns whether it is off. */
static bool
finish(struct lost_run *run, bool is_requested, bool is_quiet)
{
	const struct registry_walk *const walk = &run->walk;
	struct strbuf *const line = &run->line;
	int result = -1;

	if (run->killed > NAMED_MAX)
		strbuf_addf(line, "; killed %zu in all", run->killed);
	if (run->left > 0) {
		strbuf_addf(line, "; it stays on record");
	} else {
		remove_files(line, &walk->entry);
		/* Last: if SIGKILL comes before, all can be done again. */
		result = registry_remove(walk->directory_fd, walk->id);
		if (result == -1)
			strbuf_addf(line, "; cannot remove '%s': %s",
			            walk->file, strerror(errno));
	}
	if (result == 0 || run->killed > 0 ? !is_quiet : is_requested)
		message("%s", line->text);
	free(line->text);
	free(walk->text);
	fds_close(walk->fd);
	return result == 0;
}

int
reap_entry(struct registry_walk *walk, bool is_quiet)
{
	struct lost_run run;

	if (!registry_take(walk))
		return 0;
	begin(&run, walk);
	end_all(&run, 1);
	return finish(&run, true, is_quiet) ? 0 : -1;
}

/* Waits until the run is not locked, unless the front sleeps or is stopped:
 * then it is not dying. Returns whether the run is orphaned now, or over. */
static bool
becomes_orphaned(const struct registry_walk *walk)
{
	const int64_t deadline = duration_now() + BOUND;
	struct procstat stat;

	while (registry_is_held(walk)) {
		if (duration_now() >= deadline ||
		    (procstat_read_status(walk->entry.front.pid, &stat) == 0 &&
		     strchr("STt", stat.state) != NULL))
			return false;
		duration_sleep(PAUSE);
	}
	return true;
}

/* Finishes the next orphaned runs of WALK. Returns whether they are over. */
static bool
reap_some(struct registry_walk *walk, bool is_requested, bool is_quiet)
{
	static struct lost_run runs[RUNS_MAX];
	bool is_done = true;
	size_t count = 0;

	while (count < RUNS_MAX && registry_next(walk)) {
		if (walk->is_orphaned && registry_take(walk))
			begin(&runs[count++], walk);
		else if (is_requested && !walk->is_orphaned &&
		         !walk->is_elsewhere && becomes_orphaned(walk))
			walk->next--; /* to read its entry again */
		else if (walk->tells_all && walk->is_elsewhere &&
		         !registry_is_held(walk))
			message("run %s is of another machine, boot or PID "
			        "namespace: --reap there finishes it; where "
			        "that is gone, rm '%s/%s'",
			        walk->id, walk->path, walk->file);
	}
	if (count > 0)
		end_all(runs, count);
	for (size_t i = 0; i < count; i++)
		is_done &= finish(&runs[i], is_requested, is_quiet);
	return is_done;
}

int
reap_all(const char *registry, bool is_quiet)
{
	struct registry_walk walk = { .tells_all = !is_quiet };
	bool is_done = true;

	registry_begin(&walk, registry);
	while (walk.next < walk.count)
		is_done &= reap_some(&walk, true, is_quiet);
	registry_end(&walk);
	return !walk.is_read ? STATUS_FAILED
	       : is_done     ? EXIT_SUCCESS
	                     : STATUS_NOT_HAD;
}

/* A read of a process, or a file system, may hang: so a helper finishes the
 * runs of WALK, or ends OWN, for BOUND at most. What is left may be the reason
 * why fork(2) fails: then this process does it. */
static void
reap_in_helper(struct registry_walk *walk, struct lost_run *own, bool is_quiet)
{
	const pid_t helper = plain_fork();
	siginfo_t info;

	if (helper == 0) /* it ends with this process */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (helper <= 0 && own != NULL)
		end_all(own, 1);
	while (helper <= 0 && walk->next < walk->count)
		(void)reap_some(walk, false, is_quiet);
	if (helper == 0)
		_exit(0);
	wait_or_kill(helper, duration_now() + BOUND);
	(void)wait_peek(helper, WEXITED, &info); /* reaps it */
}

int
reap_before_run(const char *registry, bool is_quiet)
{
	struct registry_walk walk = { .count = 0 };

	registry_begin(&walk, registry);

	const int result = walk.is_read ? 0 : -1;

	while (registry_next(&walk) && !walk.is_orphaned)
		;
	if (walk.is_orphaned) {
		walk.next--;
		reap_in_helper(&walk, NULL, is_quiet);
	}
	registry_end(&walk);
	return result;
}

void
reap_own_run(const char *id, pid_t supervisor, const char *keep)
{
	struct registry_walk walk = { .entry.keep = keep }; /* over nothing */
	struct lost_run run;
	const pid_t self = procfs_self();

	(void)snprintf(walk.id, sizeof(walk.id), "%s", id);
	/* In the /proc of another PID namespace, that PID is another's. */
	if (self == getpid())
		walk.entry.supervisor.pid = supervisor;
	(void)procid_read(self, &walk.entry.front);
	begin(&run, &walk);
	reap_in_helper(&walk, &run, true);
	free(run.line.text);
}
