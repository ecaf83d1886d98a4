/* Finishes runs whose watchers both died before the teardown: kills what is
 * left of their processes, and removes their files. */
#include "registry/registry.h"

#include <sys/prctl.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/message.h"
#include "base/status.h"
#include "proc/signals.h"

#define SCANS_EMPTY 10  /* in a row: then nobody is left who forks and exits */
#define SCANS_MAX   100 /* no time: under load, a scan may take long */
#define PAUSE       (10 * MILLISECOND)
#define BOUND       (10 * SECOND) /* of each wait for others */
#define EXEC_BOUND  (5 * SECOND)  /* of all waits for an execve(2) */
#define SPARE_FDS   20            /* for all but the runs that are taken */

#define NAMED_MAX     8 /* killed processes that a message names */
#define COMMAND_WIDTH 60

/* A process that is proven to be of RUN. */
struct process {
	struct procid id;
	struct entry *run;
};

/* What was read of a process that may be of a run. */
struct suspect {
	struct procid id;
	struct procstat stat;
	const struct process *parent;   /* if that was noted */
	bool is_own;                    /* of this user */
	bool is_read;                   /* or another user's: not looked into */
	char path[2 * RUNID_PATH_SIZE]; /* WDRUN_ID, as "/OUTER/INNER/" */
};

/* The search for the processes of the runs that are taken, in one scan of /proc
 * after another. */
struct search {
	const struct registry *registry;
	bool is_last;              /* the scan that only tells who is left */
	int64_t exec_until;        /* the end of the waits for an execve(2) */
	int64_t dead_until;        /* the end of the waits for a death */
	struct process *processes; /* that were stopped */
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

/* Reads WDRUN_ID of SUSPECT, which is empty for a moment in execve(2). Returns
 * whether this process may read it. */
static bool
read_path(struct suspect *suspect)
{
	struct strbuf path = { .text = suspect->path,
		               .size = sizeof(suspect->path) };
	const int dir = procfs_dir(suspect->id.pid);
	const int fd = openat(dir, "environ", O_RDONLY | O_CLOEXEC);
	FILE *const environment = fd == -1 ? NULL : fdopen(fd, "r");
	char *variable = NULL;
	size_t size = 0;

	fds_close(dir); /* keeps errno */
	if (environment == NULL) {
		fds_close(fd);
		return errno == ENOENT || errno == ESRCH;
	}
	while (getdelim(&variable, &size, '\0', environment) > 0) {
		if (strncmp(variable, RUNID_VARIABLE "=",
		            strlen(RUNID_VARIABLE "=")) == 0)
			strbuf_addf(&path, "/%s/", strchr(variable, '=') + 1);
	}
	free(variable);
	(void)fclose(environment);
	return true;
}

/* As procstat_read(), but waits longer for the end of an execve(2), which hides
 * all but the status. If that hangs, the start is UINT64_MAX. Returns whether
 * the process PID is there. */
static bool
read_stat(const struct search *search, pid_t pid, struct procstat *stat)
{
	int result;

	do
		result = procstat_read(pid, stat);
	while (stat->is_in_exec && duration_now() < search->exec_until);
	if (stat->is_in_exec)
		stat->start = UINT64_MAX;
	return result == 0 || stat->is_in_exec;
}

/* Waits for the death of the process ID, until UNTIL. Whether it lives on. */
static bool
lives_on(const struct search *search, const struct procid *id, int64_t until)
{
	struct procstat stat;

	while (read_stat(search, id->pid, &stat) && stat.start == id->start &&
	       !stat.is_dead) {
		if (duration_now() >= until)
			return true;
		duration_sleep(MILLISECOND);
	}
	return false;
}

/* Returns what was noted of the process PID, which is alive; or NULL. */
static const struct process *
find_noted(const struct search *search, pid_t pid)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct process *const process = &search->processes[i];

		if (process->id.pid == pid && lives_on(search, &process->id, 0))
			return process;
	}
	return NULL;
}

/* Whether PID, or an ancestor below the front of RUN, which may be dead, bears
 * a name of --keep and leads a session. */
static bool
is_kept(const struct search *search, const struct entry *run, pid_t pid)
{
	struct procstat stat;

	while (run->keep != NULL && pid != run->front.pid &&
	       read_stat(search, pid, &stat) &&
	       stat.start >= run->front.start) {
		if (stat.session == pid && procfs_bears(pid, run->keep))
			return true;
		pid = stat.parent;
	}
	return false;
}

/* Whether the process of SUSPECT is to be killed, since it is of RUN. The proof
 * is the run's ID, or a proven session or parent. A noted parent that lives on
 * after the child was read has kept its PID: so it is the parent. The last scan
 * only names the process, if it outlives the bound. */
static bool
judge(const struct search *search, struct entry *run,
      const struct suspect *suspect)
{
	const struct procstat *const stat = &suspect->stat;
	const pid_t session = run->supervisor.pid;
	struct procstat leader;
	char word[RUNID_SIZE + 2];

	/* Of an earlier boot nobody lives. */
	if (run->is_elsewhere || stat->start < run->front.start)
		return false;
	(void)snprintf(word, sizeof(word), "/%s/", run->id);

	bool is_proven =
	    (suspect->parent != NULL && suspect->parent->run == run) ||
	    strstr(suspect->path, word) != NULL;
	/* While a session lives, no new process gets its number. So if another
	 * process has it, the session has ended. */
	const bool is_member = session != 0 && stat->session == session &&
	                       (procstat_read(session, &leader) == -1 ||
	                        leader.start == run->supervisor.start);
	const bool is_known = is_proven || is_member;

	if ((!is_known && suspect->is_read) ||
	    is_kept(search, run, suspect->id.pid))
		return false;
	run->session_is_proven |= is_proven && is_member;
	is_proven |= run->session_is_proven && is_member;
	if (!search->is_last)
		return is_proven && suspect->is_own;
	if (stat->is_exiting &&
	    !lives_on(search, &suspect->id, search->dead_until))
		return false;
	run->left += is_known || stat->is_in_exec;
	add_process(&run->line, is_known ? "left" : "cannot look into",
	            suspect->id.pid,
	            suspect->is_own && suspect->is_read ? COMMAND_WIDTH : 0);
	return false;
}

/* Looks whether the process PID is of a run. If so, notes it, and stops it: so
 * it has no more children. Another user's memory is not read: that could hang
 * (userfaultfd(2)). */
static void
look_at(struct search *search, pid_t pid)
{
	struct suspect suspect = { .id.pid = pid };
	struct procstat *const stat = &suspect.stat;
	struct entry *owner = NULL;

	if ((!search->is_last && find_noted(search, pid) != NULL) ||
	    !read_stat(search, pid, stat) || stat->is_dead ||
	    (stat->is_in_exec && !search->is_last))
		return;
	suspect.id.start = stat->start;
	suspect.is_own = stat->user == geteuid();
	suspect.is_read =
	    !suspect.is_own || (!stat->is_in_exec && read_path(&suspect));
	suspect.parent = find_noted(search, stat->parent);
	/* All that was read is of one process, whoever has its PID later. */
	if (!read_stat(search, pid, stat) || stat->start != suspect.id.start ||
	    stat->is_dead)
		return;
	for (size_t i = 0; i < search->registry->count; i++) {
		struct entry *const run = &search->registry->entries[i];

		if (run->is_taken && judge(search, run, &suspect))
			owner = run;
	}
	if (owner == NULL || procfs_descends(procfs_self(), pid))
		return;

	struct process *const all =
	    realloc(search->processes, (search->count + 1) * sizeof(*all));

	if (all == NULL)
		return; /* the last scan finds it */
	search->processes = all;
	all[search->count++] = (struct process){ suspect.id, owner };
	procid_kill(&suspect.id, SIGSTOP);
}

/* Looks at all processes, the highest PID first: in a chain, each forks the
 * next and exits, so that only the youngest lives. */
static void
scan(struct search *search)
{
	static struct procfs_list all;

	procfs_list_names(procfs_fd(), ".", &all);
	while (all.count-- > 0)
		look_at(search, all.numbers[all.count]);
}

/* Kills what was noted since the last time. */
static void
kill_noted(struct search *search)
{
	for (; search->killed < search->count; search->killed++) {
		const struct process *const process =
		    &search->processes[search->killed];
		struct entry *const run = process->run;

		if (!lives_on(search, &process->id, 0))
			continue;
		if (run->killed++ < NAMED_MAX)
			add_process(&run->line, "killed", process->id.pid,
			            COMMAND_WIDTH);
		procid_kill(&process->id, SIGKILL);
	}
}

/* Removes the files of RUN, and tells of that. */
static void
remove_files(struct entry *run)
{
	static const pid_t nobody[2];
	const char *line = NULL;

	while ((line = entry_value(run, "file", line)) != NULL) {
		struct cleanup file = { .path = strchr(line, '/'),
			                .claim_fd = -1 };

		if (file.path == NULL)
			continue;
		/* NOLINTNEXTLINE(cert-err34-c): this user has written it */
		(void)sscanf(line, "%" SCNd64, &file.before);

		const enum refusal why = cleanup_end(&file, nobody, true);

		if (why == REFUSAL_NONE)
			strbuf_addf(&run->line, "; removed '%s'", file.path);
		else if (why != REFUSAL_UNTOLD &&
		         why != REFUSAL_UNKNOWN) /* of a --lock */
			strbuf_addf(&run->line, "; cannot remove '%s': %s",
			            file.path, refusal_words(why));
	}
}

/* Takes RUN off the record if nobody is left. Returns whether it is off. */
static bool
finish_run(struct entry *run, const struct registry *registry)
{
	const struct record record = { registry->directory_fd, run->fd };
	const char *const name = entry_value(run, "name", NULL);
	struct strbuf *const line = &run->line;
	bool is_off = false;

	if (run->killed > NAMED_MAX)
		strbuf_addf(line, "; killed %zu in all", run->killed);
	if (run->left > 0) {
		strbuf_addf(line, "; it stays on record");
	} else {
		remove_files(run);
		/* Last: if SIGKILL comes before, all can be done again. */
		is_off = record_end(&record, run->id) == 0;
	}
	/* --quiet does not hide what --reap could not finish. */
	if (registry->is_requested && !is_off
	        ? line->length > 0
	        : !registry->is_quiet && (is_off || run->killed > 0))
		message("%srun %s%s%s%s%s", is_off ? "reaped " : "", run->id,
		        name == NULL ? "" : " (", name == NULL ? "" : name,
		        name == NULL ? "" : ")",
		        line->length == 0 ? "" : line->text);
	free(line->text);
	return is_off;
}

/* Finishes the runs that are taken: kills their processes, waits for them, and
 * names those that are left. Returns whether all of the runs are over. */
static bool
finish_taken(const struct registry *registry)
{
	struct search search = { .registry = registry,
		                 .exec_until = duration_now() + EXEC_BOUND };
	int empty = 0; /* scans in a row that have found nobody new */
	bool is_done = true;

	for (int i = 0; i < SCANS_MAX && empty < SCANS_EMPTY; i++) {
		const size_t before = search.count;

		scan(&search);
		empty = search.count > before ? 0 : empty + 1;
		/* Not before: a dead parent does not prove whose child a
		 * process is. When nobody is new, all children are stopped. */
		if (empty > 0)
			kill_noted(&search);
		duration_sleep(PAUSE);
	}
	kill_noted(&search);

	search.dead_until = duration_now() + BOUND;
	for (size_t i = 0; i < search.count; i++)
		(void)lives_on(&search, &search.processes[i].id,
		               search.dead_until);
	/* A busy machine may have taken the time for execve(2), too. */
	search.exec_until = duration_now() + EXEC_BOUND;
	search.is_last = true;
	scan(&search);
	free(search.processes);
	for (size_t i = 0; i < registry->count; i++) {
		if (registry->entries[i].is_taken)
			is_done &= finish_run(&registry->entries[i], registry);
	}
	return is_done;
}

/* Takes ENTRY, whose run is orphaned; or waits until UNTIL for another wdrun to
 * finish it. Returns whether it is taken, or off the record. */
static bool
take_or_await(struct registry *registry, struct entry *entry, int64_t until)
{
	do {
		if (registry_take(registry, entry) ||
		    (entry->fd == -1 && errno == ENOENT))
			return true;
	} while (registry_await(registry, entry, until, false) &&
	         duration_now() < until);
	if (registry->is_requested)
		message("run %s: another wdrun is still finishing it",
		        entry->id);
	return false;
}

int
reap_entry(struct registry *registry, struct entry *entry)
{
	registry->is_requested = true;
	return take_or_await(registry, entry, duration_now() + 2 * BOUND) &&
	               (!entry->is_taken || finish_taken(registry))
	           ? 0
	           : -1;
}

/* A read of a process, or a file system, may hang: so a helper finishes what is
 * taken, for BOUND at most. fork(2) may fail because of what is left: then this
 * process does it. */
static void
finish_in_helper(const struct registry *registry)
{
	const pid_t helper = plain_fork();
	siginfo_t info;

	if (helper == 0) /* it ends with this process */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (helper <= 0)
		(void)finish_taken(registry);
	if (helper == 0)
		_exit(0);
	wait_or_kill(helper, duration_now() + BOUND);
	wait_or_kill(helper, duration_now() + BOUND); /* until it is dead */
	(void)wait_poll(helper, WEXITED, &info);      /* reaps it */
}

int
reap_orphans(const char *given, bool is_quiet, bool is_requested)
{
	struct registry registry = { .is_requested = is_requested,
		                     .is_quiet = is_quiet };
	const int64_t deadline = duration_now() + BOUND;
	const long most = sysconf(_SC_OPEN_MAX) - SPARE_FDS;
	long taken = 0; /* each has a descriptor */
	bool is_done = true;
	size_t i = 0;

	registry_begin(&registry, given);
	for (; i < registry.count && taken < most; i++) {
		struct entry *const entry = &registry.entries[i];

		if (entry->is_orphaned ||
		    (is_requested && !entry->is_elsewhere &&
		     registry_await(&registry, entry, deadline, true)))
			is_done &= take_or_await(&registry, entry,
			                         is_requested ? deadline : 0);
		else if (is_requested && !is_quiet && entry->is_elsewhere &&
		         !entry->is_held)
			message("run %s is of another machine, boot or PID "
			        "namespace: --reap there finishes it; where "
			        "that is gone, rm '%s/%s.run'",
			        entry->id, registry.path, entry->id);
		taken += entry->is_taken;
	}
	if (taken > 0 && is_requested)
		is_done &= finish_taken(&registry);
	else if (taken > 0)
		finish_in_helper(&registry);
	if (i < registry.count && is_requested) {
		message("--reap: no descriptors (ulimit -n) for more runs at a "
		        "time: run it again");
		is_done = false;
	}
	/* An entry that cannot be read does not keep COMMAND from its run. */
	const bool is_refused =
	    !registry.is_read && (is_requested || registry.entries == NULL);

	registry_end(&registry);
	if (is_refused)
		return STATUS_FAILED;
	return is_done || !is_requested ? EXIT_SUCCESS : STATUS_NOT_HAD;
}

void
reap_own_run(const char *id, pid_t supervisor, const char *keep)
{
	char nothing[1] = "";
	struct entry entry = {
		.text = nothing, .keep = keep, .is_taken = true, .fd = -1
	};
	const struct registry one = { .is_quiet = true,
		                      .directory_fd = -1,
		                      .entries = &entry,
		                      .count = 1 };
	const pid_t self = procfs_self();

	(void)snprintf(entry.id, sizeof(entry.id), "%s", id);
	/* In the /proc of another PID namespace, that PID is another's. */
	if (self == getpid())
		entry.supervisor.pid = supervisor;
	(void)procid_read(self, &entry.front);
	finish_in_helper(&one);
}
