/* Finishes runs whose watchers both died before the teardown: kills what is
 * left of their processes, and removes their files. */
#include "registry/commands.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/status.h"
#include "base/text.h"
#include "lock/cleanup.h"
#include "lock/lock.h"
#include "proc/cmdline.h"
#include "proc/helper.h"
#include "proc/procfs.h"
#include "proc/procid.h"
#include "proc/procstat.h"
#include "proc/runid.h"
#include "registry/registry.h"

#define SCANS_EMPTY 3   /* in a row: nobody is left */
#define SCANS_MAX   100 /* no time: under load, a scan may take long */
#define PAUSE       (10 * MILLISECOND)
#define DEATH_BOUND (10 * SECOND) /* for processes that got SIGKILL */
#define START_BOUND (10 * SECOND) /* for all runs, before a run starts */
#define DYING_BOUND (10 * SECOND) /* for the lock of a run without a front */

#define NAMED_MAX     8  /* processes that a message names */
#define COMMAND_WIDTH 60 /* of their command lines */

struct process {
	struct procid id;
	pid_t parent;
	bool is_in_session; /* that the run's supervisor made */
	bool is_own;        /* this user's */
	bool is_proven;     /* to be of the run */
};

struct names {
	size_t count;
	struct strbuf text; /* "4711 sleep 9, 4712 ...", or NULL */
};

/* The search for the processes of a run, in one scan of /proc after another. */
struct search {
	const struct entry *entry;
	const char *id;
	/* A proven process was in the run's session. Later scans go by that: as
	 * long as a session has members, no process gets its number. */
	bool session_is_proven;
	bool session_is_strangers; /* another process has got its number */
	int proc_fd;
	size_t count; /* of the processes that may be of the run, dead or not */
	size_t seen;  /* of these, to which end_proven() has come */
	struct process *processes;
	struct names killed;
	struct names left; /* on record */
};

/* --- the processes of a run ----------------------------------------------- */

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

static void
add_name(struct names *names, pid_t pid)
{
	if (names->count < NAMED_MAX) {
		strbuf_addf(&names->text, "%s%d ",
		            names->count == 0 ? "" : ", ", pid);
		cmdline_add(&names->text, pid, COMMAND_WIDTH);
	} else if (names->count == NAMED_MAX) {
		strbuf_addf(&names->text, ", ...");
	}
	names->count++;
}

/* Notes PROCESS, unless that was done. */
static void
note(struct search *search, const struct process *process)
{
	struct process *processes = search->processes;

	for (size_t i = 0; i < search->count; i++) {
		if (processes[i].id.pid == process->id.pid &&
		    processes[i].id.start == process->id.start &&
		    processes[i].is_proven == process->is_proven)
			return;
	}
	processes = realloc(processes, (search->count + 1) * sizeof(*process));
	if (processes == NULL)
		return;
	processes[search->count++] = *process;
	search->processes = processes;
	search->session_is_proven |=
	    process->is_proven && process->is_in_session;
}

/* Reads PID into PROCESS. Returns 1; 0 where PID cannot be of the run, as it is
 * older, or the supervisor: that lets go of the lock on its entry shortly
 * before it is dead; or -1 where PID is dead. Memory of another user's process
 * is not read: that user could make the reader wait (userfaultfd(2), a file
 * system that does not answer). */
static int
read_process(struct search *search, pid_t pid, struct process *process)
{
	const struct entry *const entry = search->entry;
	struct procstat stat;
	struct procfs_status status;

	if (procstat_read(pid, &stat) == -1)
		return -1;
	if (stat.start < entry->front.start)
		return 0;
	if (pid == entry->supervisor.pid) {
		if (stat.start == entry->supervisor.start)
			return 0;
		search->session_is_strangers = true;
	}
	if (procstat_is_dead(&stat) || procfs_read_status(pid, &status) == -1)
		return -1;
	*process = (struct process){
		.id = { pid, stat.start },
		.parent = stat.parent,
		.is_in_session = stat.session == entry->session &&
		                 entry->session != 0 &&
		                 !search->session_is_strangers,
		.is_own = status.user == geteuid(),
	};
	process->is_proven = process->is_own && runid_has(pid, search->id);
	return 1;
}

struct parent {
	struct search *search;
	pid_t pid;
};

/* A child of a proven process is proven. */
static int
note_child(pid_t pid, void *context)
{
	const struct parent *const parent = context;
	struct process child;

	if (read_process(parent->search, pid, &child) == 1 &&
	    child.parent == parent->pid) {
		child.is_proven = true;
		note(parent->search, &child);
	}
	return 0;
}

/* Kills the proven processes that were noted since the last time. */
static void
end_proven(struct search *search)
{
	for (; search->seen < search->count; search->seen++) {
		/* A copy, as what note() has moves. */
		const struct process process = search->processes[search->seen];
		struct parent parent = { search, process.id.pid };
		const size_t length = search->killed.text.length;

		if (!process.is_proven || !process.is_own ||
		    is_ancestor(process.id.pid))
			continue;
		/* Before SIGKILL: a dead parent proves no child, and a zombie
		 * has no command line. */
		(void)procfs_visit_children(search->proc_fd, process.id.pid,
		                            note_child, &parent);
		add_name(&search->killed, process.id.pid);
		if (procid_kill(&process.id, SIGKILL) == -1) { /* is dead */
			search->killed.count--;
			search->killed.text.length = length;
		}
	}
}

/* Looks at PID, and kills it if it is proven to be of the run: at once, so that
 * processes that go on forking are gone when the scan is done; their children
 * have the run's ID, too. Returns -1 where PID is dead. */
static int
look(struct search *search, pid_t pid)
{
	struct process process;
	const int result = read_process(search, pid, &process);

	if (result == 1 && (process.is_proven || process.is_in_session)) {
		process.is_proven |= search->session_is_proven;
		note(search, &process);
		end_proven(search);
	}
	return result;
}

/* Looks at all processes. Returns 0, or -1 with errno. */
static int
scan(struct search *search)
{
	DIR *const directory = opendir("/proc");
	const struct dirent *file;
	long place = 0; /* of FILE in DIRECTORY */
	pid_t gone = 0;

	if (directory == NULL)
		return -1;
	search->proc_fd = dirfd(directory);
	while ((file = readdir(directory)) != NULL) {
		const pid_t pid = (pid_t)strtol(file->d_name, NULL, DECIMAL);

		/* readdir(3) has read ahead: where PID is dead, a child that it
		 * has left may be missing there. */
		if (pid > 0 && look(search, pid) == -1 && pid != gone) {
			gone = pid;
			seekdir(directory, place);
		} else {
			place = telldir(directory);
		}
	}
	(void)closedir(directory);
	return 0;
}

/* Waits until the killed are dead, and names those that are not, or were not to
 * be killed. From the last one on: what was proven late was noted before. */
static void
await_deaths(struct search *search)
{
	const int64_t deadline = duration_now() + DEATH_BOUND;

	for (size_t i = search->count; i-- > 0;) {
		const struct process *const process = &search->processes[i];
		const bool is_killed = process->is_proven && process->is_own &&
		                       !is_ancestor(process->id.pid);
		bool is_alive;

		while ((is_alive =
		            procid_state_of(&process->id) == PROCID_ALIVE) &&
		       is_killed && duration_now() < deadline)
			duration_sleep(MILLISECOND);
		if (is_alive)
			add_name(&search->left, process->id.pid);
	}
}

/* Kills the processes of the run until nobody is left to be killed. */
static void
end_all(struct search *search)
{
	int scans = 0;
	int empty = 0; /* scans in a row that have found nobody new */

	while (empty < SCANS_EMPTY) {
		const size_t before = search->count;

		if (scans++ == SCANS_MAX || scan(search) == -1) {
			search->left.count++;
			strbuf_addf(&search->left.text,
			            "processes that go on forking, or a /proc "
			            "that cannot be read");
			return;
		}
		empty = search->count == before ? empty + 1 : 0;
		duration_sleep(PAUSE);
	}
	await_deaths(search);
}

/* --- one run -------------------------------------------------------------- */

/* Removes FILE, and appends that to LINE. No watcher saw the end of the run, so
 * another process may have made a file without a PID since: one with content is
 * removed only if IS_CERTAIN, and an empty one is no loss. */
static void
remove_file(struct strbuf *line, const struct cleanup *file, bool is_certain)
{
	static const pid_t nobody[2];
	struct stat status;
	const bool is_left = !is_certain && lstat(file->path, &status) == 0 &&
	                     S_ISREG(status.st_mode) && status.st_size > 0;
	const int result = cleanup_end(file, nobody, !is_left);

	if (result == 1)
		strbuf_addf(line, "; removed '%s'", file->path);
	else if (result == -1 && errno != ENODATA)
		strbuf_addf(line, "; cannot remove '%s': %s", file->path,
		            lock_error(errno));
	else if (result == 0 && is_left && file->before == 0)
		strbuf_addf(line,
		            "; left '%s', which another process may have made",
		            file->path);
}

/* Removes the files and the entry of the run at WALK, whose processes are dead.
 * Returns 0, or -1; LINE says what was done, and what was not. */
static int
remove_all(const struct registry_walk *walk, bool is_certain,
           struct strbuf *line)
{
	const struct entry *const entry = &walk->entry;

	for (size_t i = 0; i < entry->file_count; i++)
		remove_file(line, &entry->files[i], is_certain);
	/* Last: if SIGKILL comes before, all can be done again. */
	if (registry_remove(walk->directory_fd, walk->id) == 0)
		return 0;
	strbuf_addf(line, "; cannot remove '%s' from the registry: %s",
	            walk->file, strerror(errno));
	return -1;
}

/* As reap_entry(); tells why the run stays on record only if IS_REQUESTED. */
static int
finish(struct registry_walk *walk, bool is_requested, bool is_quiet)
{
	const struct entry *const entry = &walk->entry;
	const bool is_old = strcmp(entry->host, walk->host) != 0;
	struct strbuf line = { .grows = true };
	struct search search = {
		.entry = entry,
		.id = walk->id,
		.killed.text.grows = true,
		.left.text.grows = true,
	};
	int result = -1;

	if (!registry_take(walk))
		return 0;
	if (!is_old)
		end_all(&search);
	strbuf_addf(&line, entry->name == NULL ? "run %s%s" : "run %s (%s)",
	            walk->id, entry->name == NULL ? "" : entry->name);
	if (search.killed.count > 0)
		strbuf_addf(&line, ": killed %zu process%s: %.*s",
		            search.killed.count,
		            search.killed.count == 1 ? "" : "es",
		            (int)search.killed.text.length,
		            search.killed.text.text);
	else
		strbuf_addf(&line, is_old ? ": began before the last boot"
		                          : ": found no process to kill");
	if (search.left.count == 0)
		result =
		    remove_all(walk, is_old || search.killed.count > 0, &line);
	else
		strbuf_addf(&line, "; the run stays on record because of %s",
		            search.left.text.text);
	if (result == 0 || search.killed.count > 0 ? !is_quiet : is_requested)
		message("%s", line.text);
	strbuf_free(&line);
	strbuf_free(&search.killed.text);
	strbuf_free(&search.left.text);
	free(search.processes);
	return result;
}

int
reap_entry(struct registry_walk *walk, bool is_quiet)
{
	return finish(walk, true, is_quiet);
}

/* --- all runs ------------------------------------------------------------- */

/* Waits for the lock of the present run until its front is asleep, and so is
 * not dying: else either the supervisor ends the run, or was killed as well and
 * is not dead yet, or another wdrun is finishing the run. Returns whether the
 * run is orphaned now. */
static bool
becomes_orphaned(const struct registry_walk *walk)
{
	const struct procid *const front = &walk->entry.front;
	const int64_t deadline = duration_now() + DYING_BOUND;
	struct procstat stat;

	while (registry_is_held(walk)) {
		if (duration_now() >= deadline ||
		    (procstat_read(front->pid, &stat) == 0 &&
		     stat.start == front->start &&
		     strchr("STt", stat.state) != NULL))
			return false;
		duration_sleep(PAUSE);
	}
	return !registry_is_gone(walk);
}

int
reap_all(const char *registry, bool is_quiet)
{
	struct registry_walk walk = { .count = 0 };
	const bool is_read = registry_begin(&walk, registry) == 0;
	bool is_left = false;

	while (is_read && registry_next(&walk)) {
		if (walk.state == RUN_ORPHANED)
			is_left |= finish(&walk, true, is_quiet) == -1;
		else if (walk.state < RUN_ORPHANED && becomes_orphaned(&walk))
			walk.next--; /* to read its entry again */
		else if (walk.state == RUN_NONE && !is_quiet)
			message("registry: left '%s' alone, which is no entry "
			        "of this user",
			        walk.file);
	}
	registry_end(&walk);
	return is_read ? is_left : STATUS_FAILED;
}

int
reap_before_run(const char *registry, bool is_quiet)
{
	struct registry_walk walk = { .count = 0 };
	const int result = registry_begin(&walk, registry);
	pid_t helper = -1;

	while (result == 0 && helper == -1 && registry_next(&walk)) {
		if (walk.state != RUN_ORPHANED)
			continue;
		/* A read of a process, or a file system, may hang; the run
		 * shall not. Without a helper, this process does it: what is
		 * left may be the reason why fork(2) fails. */
		helper = helper_fork(SIGKILL);
		if (helper <= 0)
			(void)finish(&walk, false, is_quiet);
	}
	while (helper == 0 && registry_next(&walk)) {
		if (walk.state == RUN_ORPHANED)
			(void)finish(&walk, false, is_quiet);
	}
	if (helper == 0)
		_exit(0);
	registry_end(&walk);
	(void)helper_await_until(helper, duration_now() + START_BOUND);
	return result;
}
