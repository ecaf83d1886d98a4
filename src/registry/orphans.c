/* Finds the processes of a run whose watchers are dead, and kills them. */
#include "registry/orphans.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/duration.h"
#include "proc/cmdline.h"
#include "proc/procfs.h"
#include "proc/procstat.h"
#include "proc/runid.h"
#include "registry/entry.h"

#define KTHREADD      2 /* parent of kernel threads, which have no environment */
#define DEATH_BOUND   (10 * SECOND)
#define PAUSE         (10 * MILLISECOND) /* between scans */
#define SCANS_EMPTY   2                  /* in a row: nobody is left */
#define SCANS_MAX     100 /* no time: under load, a scan may take long */
#define READS_MAX     4   /* of an environment */
#define NAMED_MAX     8   /* processes that a message names */
#define COMMAND_WIDTH 60  /* of their command lines */
#define LINE_SIZE     256

enum standing {
	NOBODYS,  /* as far as is known */
	PROVEN,   /* of the run, and to be killed */
	UNPROVEN, /* in the run's session, and no more is known */
	ANCESTOR, /* of the run, but this process or an ancestor of it */
	ANOTHERS, /* of the run, but another user's */
};

struct process {
	struct procid id;
	pid_t parent;
	pid_t session;
	bool is_own; /* this user's */
	bool has_id; /* the run's, in WDRUN_ID */
	bool got_kill;
	enum standing standing;
};

/* The search for the processes of a run, in one scan of /proc after another. */
struct search {
	const struct entry *entry;
	const char *id;
	struct orphans *orphans;
	int scans;
	/* A proven process was in the run's session. Later scans go by that: as
	 * long as a session has members, no process gets its number. */
	bool session_is_proven;
	bool session_is_strangers; /* another process has got its number */
	size_t count;              /* of the processes of the last scan */
	struct process *processes; /* by PID */
};

/* Whether PID is this process, or an ancestor of it that /proc shows. */
static bool
is_ancestor(pid_t pid)
{
	struct procstat stat;

	for (pid_t at = getpid(); at > 0; at = stat.parent) {
		if (at == pid)
			return true;
		if (procstat_read(at, &stat) == -1)
			return false;
	}
	return false;
}

/* Notes that PROCESS belongs to the run. */
static void
admit(struct search *search, struct process *process)
{
	process->standing = !process->is_own               ? ANOTHERS
	                    : is_ancestor(process->id.pid) ? ANCESTOR
	                                                   : PROVEN;
	search->session_is_proven |= process->standing == PROVEN &&
	                             process->session == search->entry->session;
}

/* Appends "4711 COMMAND" to LINE, which has COUNT processes. */
static void
add_name(struct strbuf *line, size_t count, pid_t pid, const char *command)
{
	if (count < NAMED_MAX)
		strbuf_addf(line, "%s%d %s", count == 0 ? "" : ", ", pid,
		            command);
	else if (count == NAMED_MAX)
		strbuf_addf(line, ", ...");
}

/* Sends SIGKILL to PROCESS, which is proven. */
static void
end(struct search *search, struct process *process)
{
	struct orphans *const orphans = search->orphans;
	const pid_t pid = process->id.pid;
	char text[LINE_SIZE] = "";
	struct strbuf command = { .text = text, .size = sizeof(text) };

	/* Before SIGKILL: a zombie has no command line. */
	if (orphans->killed < NAMED_MAX)
		cmdline_add(&command, pid, COMMAND_WIDTH);
	process->got_kill = procid_kill(&process->id, SIGKILL) == 0;
	if (process->got_kill)
		add_name(&orphans->text, orphans->killed++, pid, text);
}

/* --- one scan of /proc ---------------------------------------------------- */

/* Whether PID has the run's ID. Within execve(2) the environment is empty for a
 * moment: looks again. */
static bool
has_id(const struct search *search, pid_t pid, pid_t parent)
{
	for (int i = 0; i < READS_MAX; i++) {
		if (runid_has(pid, search->id))
			return true;
		if (errno != EAGAIN || parent == KTHREADD)
			return false;
		duration_sleep(MILLISECOND);
	}
	return false;
}

static bool
is_same(const struct procid *one, const struct procid *other)
{
	return one->pid == other->pid && one->start == other->start;
}

/* Reads PID into PROCESS. Returns 1; 0 where PID cannot be of the run, as it is
 * older, or is a watcher: it lets go of the lock on its entry shortly before it
 * is dead; or -1 where PID is dead. Memory of another user's process is not
 * read: that user could make the reader wait (userfaultfd(2), a file system
 * that does not answer). */
static int
read_process(const struct search *search, pid_t pid, struct process *process)
{
	const struct entry *const entry = search->entry;
	struct procstat stat;
	struct procfs_status status;

	if (procstat_read(pid, &stat) == -1)
		return -1;
	*process = (struct process){
		.id = { pid, stat.start },
		.parent = stat.parent,
		.session = stat.session,
	};
	if (stat.start < entry->front.start ||
	    is_same(&process->id, &entry->front) ||
	    is_same(&process->id, &entry->supervisor))
		return 0;
	if (procstat_is_dead(&stat) || procfs_read_status(pid, &status) == -1)
		return -1;
	process->is_own = status.user == geteuid();
	process->has_id = process->is_own && has_id(search, pid, stat.parent);
	return 1;
}

/* Adds PROCESS to those of this scan. The first scan looks at all before it
 * kills, as a dead parent proves no child. Later ones are for processes that
 * fork: they are gone when a scan is done, and their children have the run's
 * ID, too. Returns 0, or -1 with errno. */
static int
add(struct search *search, struct process *process)
{
	struct process *const processes =
	    realloc(search->processes, (search->count + 1) * sizeof(*process));

	if (processes == NULL)
		return -1;
	if (process->has_id && search->scans > 1)
		admit(search, process);
	if (process->standing == PROVEN)
		end(search, process);
	search->session_is_strangers |=
	    process->id.pid == search->entry->session;
	search->processes = processes;
	search->processes[search->count++] = *process;
	return 0;
}

/* Adds all processes of DIRECTORY, /proc. Returns 0, or -1 with errno. */
static int
read_all(struct search *search, DIR *directory)
{
	const struct dirent *file;
	struct process process;
	long place = 0; /* of FILE in DIRECTORY */
	pid_t gone = 0;

	while (errno = 0, (file = readdir(directory)) != NULL) {
		const pid_t pid = (pid_t)strtol(file->d_name, NULL, DECIMAL);
		const int result =
		    pid > 0 ? read_process(search, pid, &process) : 0;

		/* readdir(3) has read ahead: where PID is dead, a child that it
		 * has left may be missing there. */
		if (result == -1 && pid != gone) {
			gone = pid;
			seekdir(directory, place);
			continue;
		}
		place = telldir(directory);
		if (result == 1 && add(search, &process) == -1)
			return -1;
	}
	return errno == 0 ? 0 : -1;
}

static int
by_pid(const void *left, const void *right)
{
	const struct process *const a = left;
	const struct process *const b = right;

	return (a->id.pid > b->id.pid) - (a->id.pid < b->id.pid);
}

static bool
has_proven_parent(const struct search *search, const struct process *process)
{
	const struct process key = { .id.pid = process->parent };
	const struct process *const parent = bsearch(
	    &key, search->processes, search->count, sizeof(key), by_pid);

	/* A younger process has the PID of a parent that died meanwhile. */
	return parent != NULL && parent->standing == PROVEN &&
	       parent->id.start <= process->id.start;
}

static bool
is_in_session(const struct search *search, const struct process *process)
{
	return search->entry->session != 0 && !search->session_is_strangers &&
	       process->session == search->entry->session;
}

/* Finds who belongs to the run, until nobody proves another one. */
static void
close_over(struct search *search)
{
	struct process *const end = search->processes + search->count;
	bool is_changed = true;

	while (is_changed) {
		is_changed = false;
		for (struct process *at = search->processes; at < end; at++) {
			if (at->standing != NOBODYS ||
			    (!at->has_id && !has_proven_parent(search, at) &&
			     !(search->session_is_proven &&
			       is_in_session(search, at))))
				continue;
			admit(search, at);
			is_changed = true;
		}
	}
	for (struct process *at = search->processes; at < end; at++) {
		if (at->standing == NOBODYS && is_in_session(search, at))
			at->standing = UNPROVEN;
	}
}

/* Reads all processes, and kills those of the run. Returns 0, or -1 with
 * errno. */
static int
scan(struct search *search)
{
	DIR *const directory = opendir("/proc");

	search->scans++;
	search->count = 0;
	if (directory == NULL)
		return -1;

	const int result = read_all(search, directory);
	const int why = errno;

	(void)closedir(directory);
	errno = why;
	if (result == -1 || search->count == 0)
		return result;
	qsort(search->processes, search->count, sizeof(*search->processes),
	      by_pid);
	close_over(search);
	for (size_t i = 0; i < search->count; i++) {
		struct process *const process = &search->processes[i];

		if (process->standing == PROVEN && !process->got_kill)
			end(search, process);
	}
	return 0;
}

/* --- scan after scan ------------------------------------------------------ */

/* Counts the processes that stand from LEAST to MOST. */
static size_t
count(const struct search *search, enum standing least, enum standing most)
{
	size_t found = 0;

	for (size_t i = 0; i < search->count; i++)
		found += search->processes[i].standing >= least &&
		         search->processes[i].standing <= most;
	return found;
}

/* Notes the processes that stand from LEAST to MOST as left. */
static void
add_left(struct search *search, enum standing least, enum standing most)
{
	static const char *const reasons[] = {
		[PROVEN] = "cannot be killed",
		[UNPROVEN] = "may belong to the run: has its session",
		[ANCESTOR] = "is this wdrun or an ancestor of it",
		[ANOTHERS] = "belongs to another user",
	};
	struct orphans *const orphans = search->orphans;

	for (size_t i = 0; i < search->count; i++) {
		const struct process *const process = &search->processes[i];
		const enum standing standing = process->standing;
		char text[LINE_SIZE];
		struct strbuf line = { .text = text, .size = sizeof(text) };

		if (standing < least || standing > most)
			continue;
		cmdline_add(&line, process->id.pid, COMMAND_WIDTH);
		strbuf_addf(&line, " (%s)", reasons[standing]);
		add_name(&orphans->why, orphans->left++, process->id.pid, text);
	}
}

/* Waits until the processes that got SIGKILL are dead. Returns whether they
 * are; those that are not stay PROVEN. */
static bool
await_deaths(struct search *search)
{
	const int64_t deadline = duration_now() + DEATH_BOUND;

	for (size_t i = 0; i < search->count; i++) {
		struct process *const process = &search->processes[i];

		while (process->standing == PROVEN) {
			if (!procid_is_alive(&process->id))
				process->standing = NOBODYS;
			else if (duration_now() >= deadline)
				return false;
			else
				duration_sleep(MILLISECOND);
		}
	}
	return true;
}

/* Scans until nobody is left to be killed. Returns 0, or -1 with errno. */
static int
end_all(struct search *search)
{
	struct orphans *const orphans = search->orphans;
	int empty = 0; /* scans in a row that have found nobody */

	while (empty < SCANS_EMPTY && search->scans < SCANS_MAX) {
		if (search->scans > 0)
			duration_sleep(PAUSE);
		if (scan(search) == -1)
			return -1;
		empty = count(search, PROVEN, PROVEN) == 0 ? empty + 1 : 0;
		/* Of the scan that has found most: what proves a process that
		 * is spared may be dead in the next. */
		if (count(search, UNPROVEN, ANOTHERS) >= orphans->left) {
			orphans->left = orphans->why.length = 0;
			add_left(search, UNPROVEN, ANOTHERS);
		}
		if (!await_deaths(search)) {
			add_left(search, PROVEN, PROVEN);
			return 0;
		}
	}
	if (empty < SCANS_EMPTY && orphans->left++ == 0)
		strbuf_addf(&orphans->why, "processes that go on forking");
	return 0;
}

int
orphans_end(const struct entry *entry, const char *id, struct orphans *orphans)
{
	struct search search = { .entry = entry, .id = id, .orphans = orphans };
	const int result = end_all(&search);
	const int why = errno;

	free(search.processes);
	errno = why;
	return result;
}
