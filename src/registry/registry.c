/* The directory of the registry, the entries in it, and their text. */
#include "registry/registry.h"

#include <dirent.h>
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

#define VERSION   "wdrun 4" /* the first line of an entry */
#define SUFFIX    ".run"
#define FILE_SIZE (RUNID_SIZE + sizeof(SUFFIX))
#define WORD_SIZE 64 /* of a boot's or machine's ID */
#define PAUSE     (10 * MILLISECOND)
#define FILE_LINE "file %" PRId64 " %s%c"

/* --- the text of an entry ------------------------------------------------- */

const char *
entry_value(const struct entry *entry, const char *key, const char *value)
{
	const char *const end = entry->text + entry->size;
	const size_t length = strlen(key);
	const char *line =
	    value == NULL ? entry->text : value + strlen(value) + 1;
	const char *next;

	/* The writer's death, or a full disk, may cut off the last line. */
	for (; (next = line + strlen(line) + 1) <= end; line = next) {
		if (strncmp(line, key, length) == 0 && line[length] == ' ')
			return line + length + 1;
	}
	return NULL;
}

/* Numbers are not checked: only this user can have written them. */
bool
entry_parse(struct entry *entry)
{
	const char *const front = entry_value(entry, "front", NULL);
	const char *const supervisor = entry_value(entry, "supervisor", NULL);

	if (strcmp(entry->text, VERSION) != 0 || front == NULL ||
	    entry_value(entry, "host", NULL) == NULL ||
	    entry_value(entry, "arg", NULL) == NULL)
		return false;
	/* NOLINTBEGIN(cert-err34-c) */
	(void)sscanf(front, "%d %" SCNu64 " %" SCNd64 " %" SCNd64,
	             &entry->front.pid, &entry->front.start, &entry->until,
	             &entry->kill_after);
	if (supervisor != NULL)
		(void)sscanf(supervisor, "%d %" SCNu64 " %" SCNd64,
		             &entry->supervisor.pid, &entry->supervisor.start,
		             &entry->until);
	/* NOLINTEND(cert-err34-c) */
	entry->keep = entry_value(entry, "keep", NULL);
	return entry->front.pid > 0;
}

/* --- the directory -------------------------------------------------------- */

/* Writes the default directory into PATH. Returns false after a message. */
static bool
find_directory(char path[PATH_MAX])
{
	const char *base = getenv("XDG_STATE_HOME");
	const char *end = "/wdrun";
	struct stat last = { .st_uid = 0 }; /* directory of BASE that exists */
	char *slash;

	/* XDG Base Directory Specification: a relative path is ignored. */
	if (base == NULL || *base != '/') {
		base = getenv("HOME");
		end = "/.local/state/wdrun";
	}
	(void)snprintf(path, PATH_MAX, "%s", base == NULL ? "" : base);
	while (stat(path, &last) == -1 && (slash = strrchr(path, '/')) != NULL)
		*slash = '\0';
	/* In a home that sudo(8) has kept, root makes nothing. */
	if (base == NULL || *base != '/' ||
	    (geteuid() == 0 && last.st_uid != 0)) {
		message("no registry: $XDG_STATE_HOME or $HOME has to be an "
		        "absolute path and, for root, root's: use --registry");
		return false;
	}
	(void)snprintf(path, PATH_MAX, "%s%s", base, end);
	return true;
}

/* Writes into HOST what tells this machine, boot and PID namespace from others,
 * and so where PIDs mean something. Returns false after a message. */
static bool
read_host(char host[REGISTRY_HOST_SIZE])
{
	static const char *const files[] = {
		"/etc/machine-id", "/proc/sys/kernel/random/boot_id"
	};
	struct strbuf text = { .text = host, .size = REGISTRY_HOST_SIZE };
	struct stat namespace;

	/* stat(2) follows the link to the namespace: namespaces(7). */
	if (!procfs_is_ours() || stat("/proc/self/ns/pid", &namespace) == -1) {
		message("registry: cannot tell which runs live: /proc is not "
		        "of this PID namespace");
		return false;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		FILE *const file = fopen(files[i], "re");
		char word[WORD_SIZE];

		if (file == NULL || fscanf(file, "%63s", word) != 1)
			(void)snprintf(word, sizeof(word), "-");
		if (file != NULL)
			(void)fclose(file);
		strbuf_addf(&text, "%s ", word);
	}
	strbuf_addf(&text, "%" PRIu64, (uint64_t) namespace.st_ino);
	return true;
}

/* Opens the registry GIVEN, or the default one, and makes it if TO_MAKE. Nobody
 * else may write there: whoever can names any process and file. Returns false
 * after a message. Without TO_MAKE, a registry may be missing. */
static bool
open_registry(struct registry *registry, const char *given, bool to_make)
{
	char slashed[PATH_MAX + 2]; /* so that nothing is cut off */
	struct stat directory;
	int why = ENOENT; /* of the last mkdir(2) that failed */

	registry->directory_fd = -1;
	if (given != NULL)
		(void)snprintf(registry->path, PATH_MAX, "%s", given);
	else if (!find_directory(registry->path))
		return false;
	(void)snprintf(slashed, sizeof(slashed), "%s/", registry->path);
	for (char *at = slashed; to_make && (at = strchr(at + 1, '/')) != NULL;
	     *at = '/') {
		*at = '\0';
		if (mkdir(slashed, S_IRWXU) == -1 && errno != ENOENT &&
		    errno != EEXIST)
			why = errno;
	}

	const int fd = open(slashed, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const bool is_there = fd != -1 && fstat(fd, &directory) == 0;

	registry->directory_fd = fd;
	if (fd == -1 && errno == ENOENT && !to_make)
		return true;
	if (is_there && directory.st_uid == geteuid() &&
	    (directory.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return read_host(registry->host);
	message("registry '%s': %s", registry->path,
	        is_there ? "it has to belong to this user, and be writable by "
	                   "no other (chmod go-w)"
	                 : strerror(errno == ENOENT ? why : errno));
	return false;
}

/* --- one entry ------------------------------------------------------------ */

/* Whether the entry FD is locked after COMMAND, F_OFD_SETLK or its like. */
static bool
entry_lock(int fd, int command)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	/* Without an entry, errno stays that of open_entry(). */
	return fd != -1 && fcntl(fd, command, &whole) == 0 &&
	       whole.l_type != F_UNLCK;
}

/* Appends TEXT to the entry FD, and frees it. Returns 0, or -1 with errno. */
static int
append(int fd, struct strbuf *text)
{
	const bool is_written = !text->is_cut && /* else errno is ENOMEM */
	                        fds_write(fd, text->text, text->length, -1);

	free(text->text); /* keeps errno */
	return is_written ? 0 : -1;
}

/* As openat(2) with FLAGS, for the entry of the run ID. */
static int
open_entry(int directory_fd, const char *id, int flags)
{
	char file[FILE_SIZE];

	(void)snprintf(file, sizeof(file), "%s" SUFFIX, id);
	return openat(directory_fd, file, O_RDWR | O_CLOEXEC | flags, 0600);
}

bool
record_is_wanted(const struct options *options)
{
	return options->name != NULL || options->registry != NULL;
}

int
record_begin(struct record *record, const struct options *options,
             const char *id, int64_t now)
{
	struct registry registry;
	struct strbuf text = { .grows = true };
	struct procid front;
	struct stat status;
	bool is_locked;

	if (!record_is_wanted(options))
		return 0;
	if (!open_registry(&registry, options->registry, true))
		return -1;
	record->directory_fd = registry.directory_fd;
	do { /* again where another wdrun has removed it: read_entry() */
		fds_close(record->fd);
		record->fd = open_entry(record->directory_fd, id,
		                        O_CREAT | O_EXCL | O_APPEND);
		is_locked = entry_lock(record->fd, F_OFD_SETLKW) &&
		            fstat(record->fd, &status) == 0;
	} while (is_locked && status.st_nlink == 0);
	if (is_locked && procid_read(getpid(), &front) == 0) {
		strbuf_addf(&text, VERSION "%chost %s%c", '\0', registry.host,
		            '\0');
		if (options->name != NULL)
			strbuf_addf(&text, "name %s%c", options->name, '\0');
		if (options->keep != NULL)
			strbuf_addf(&text, "keep %s%c", options->keep, '\0');
		for (size_t i = 0; i < options->locks.count; i++)
			strbuf_addf(&text, FILE_LINE, CLEANUP_UNKNOWN,
			            options->locks.paths[i], '\0');
		for (char **word = options->command; *word != NULL; word++)
			strbuf_addf(&text, "arg %s%c", *word, '\0');
		strbuf_addf(&text,
		            "front %d %" PRIu64 " %" PRId64 " %" PRId64 "%c",
		            front.pid, front.start,
		            duration_add(now, options->lock_wait),
		            options->kill_after, '\0');
		if (append(record->fd, &text) == 0)
			return 0;
	}
	message("cannot put the run on record: %s", strerror(errno));
	(void)record_end(record, id);
	return -1;
}

int
record_start(const struct record *record, const struct cleanup cleanups[],
             size_t count, int64_t until)
{
	struct strbuf text = { .grows = true };
	struct procid supervisor;

	if (record->fd == -1)
		return 0;
	if (procid_read(getppid(), &supervisor) == -1)
		return -1;
	for (size_t i = 0; i < count; i++)
		strbuf_addf(&text, FILE_LINE, cleanups[i].before,
		            cleanups[i].path, '\0');
	strbuf_addf(&text, "supervisor %d %" PRIu64 " %" PRId64 "%c",
	            supervisor.pid, supervisor.start, until, '\0');
	return append(record->fd, &text);
}

int
record_end(const struct record *record, const char *id)
{
	char file[FILE_SIZE];

	(void)snprintf(file, sizeof(file), "%s" SUFFIX, id);
	if (record->fd == -1 || unlinkat(record->directory_fd, file, 0) == 0 ||
	    errno == ENOENT)
		return 0;
	message("the registry: cannot remove the entry of run %s: %s", id,
	        strerror(errno));
	return -1;
}

/* --- all entries ---------------------------------------------------------- */

bool
registry_await(const struct registry *registry, const struct entry *entry,
               int64_t deadline, bool only_if_dying)
{
	const struct procid *const front = &entry->front;
	struct procstat stat;

	for (;;) {
		const int fd = open_entry(registry->directory_fd, entry->id, 0);
		const bool is_held = entry_lock(fd, F_OFD_GETLK);
		const bool is_alive = procstat_read(front->pid, &stat) == 0 &&
		                      stat.start == front->start &&
		                      !stat.is_dead;

		fds_close(fd);
		if (!is_held && !is_alive)
			return true;
		if (duration_now() >= deadline ||
		    (only_if_dying && is_alive &&
		     strchr("STt", stat.state) != NULL))
			return false;
		duration_sleep(PAUSE);
	}
}

/* Fills in the state and start of the run, HERE being the host. The
 * supervisor's name tells whether a stop has begun. */
static void
find_state(struct entry *entry, const char *here)
{
	const char *const host = entry_value(entry, "host", NULL);
	const size_t machine = strcspn(here, " ") + 1;
	const size_t boot = machine + strcspn(here + machine, " ") + 1;
	const bool is_before_boot = *here != '-' &&
	                            strncmp(host, here, machine) == 0 &&
	                            strncmp(host, here, boot) != 0;
	const pid_t supervisor = entry->supervisor.pid;
	struct procstat stat;
	char name[WORD_SIZE] = ""; /* of the supervisor, if alive */

	if (procstat_read_status(supervisor, &stat) == 0 && !stat.is_dead)
		(void)procfs_read(name, sizeof(name), "%d/comm", supervisor);
	entry->started = strtoll(strchr(entry->id, '-') + 1, NULL, 16);
	entry->is_elsewhere = strcmp(host, here) != 0;
	entry->is_orphaned =
	    !entry->is_held && (!entry->is_elsewhere || is_before_boot);
	entry->state = entry->is_orphaned                        ? "orphaned"
	               : entry->is_elsewhere                     ? "elsewhere"
	               : supervisor == 0                         ? "waiting"
	               : strcmp(name, SUPERVISOR_NAME "\n") == 0 ? "running"
	               : strcmp(name, SUPERVISOR_STOPPED "\n") == 0
	                   ? "stopped"
	                   : "stopping";
}

/* Reads ENTRY, which has its ID. Returns whether there is such a run. */
static bool
read_entry(struct registry *registry, struct entry *entry)
{
	const int fd =
	    open_entry(registry->directory_fd, entry->id, O_NOFOLLOW);
	struct stat status = { .st_nlink = 0 };
	bool is_read = false;

	/* The target may append meanwhile: not more than is there now. */
	if (fd != -1 && fstat(fd, &status) == 0 &&
	    (entry->text = calloc(1, (size_t)status.st_size + 1)) != NULL) {
		entry->size = (size_t)status.st_size;
		is_read = read(fd, entry->text, entry->size) == status.st_size;
	}
	if (!is_read && errno != ENOENT) {
		registry->is_read = false;
		message("registry: cannot read '%s/%s" SUFFIX "': %s",
		        registry->path, entry->id, strerror(errno));
	}

	/* Last: a run that begins between this test and a later read would be
	 * read whole, but seem unlocked, that is orphaned. */
	entry->is_held = entry_lock(fd, F_OFD_GETLK);
	(void)fstat(fd, &status);
	/* What a front has left that was killed before it wrote. */
	if (is_read && status.st_size == 0 && entry_lock(fd, F_OFD_SETLK))
		(void)record_end(&(struct record){ registry->directory_fd, fd },
		                 entry->id);
	fds_close(fd);
	if (!is_read || status.st_nlink == 0)
		return false;
	if (entry_parse(entry)) {
		find_state(entry, registry->host);
		return true;
	}
	if (registry->is_requested && !registry->is_quiet && !entry->is_held &&
	    strncmp(entry->text, VERSION, strlen("wdrun")) == 0)
		message("registry: '%s/%s" SUFFIX "' is half written, or of "
		        "another version of wdrun: rm it",
		        registry->path, entry->id);
	return false;
}

void
registry_begin(struct registry *registry, const char *given)
{
	struct dirent **files = NULL;
	int count = 0;

	registry->is_read = open_registry(registry, given, false);
	if (!registry->is_read || registry->directory_fd == -1)
		return;
	count = scandir(registry->path, &files, NULL, versionsort);
	if (count == -1 ||
	    (registry->entries =
	         calloc((size_t)count + 1, sizeof(struct entry))) == NULL) {
		registry->is_read = false;
		message("registry '%s': %s", registry->path, strerror(errno));
		return;
	}
	for (int i = 0; i < count; i++) {
		struct entry *const entry = &registry->entries[registry->count];
		const char *const name = files[i]->d_name;
		struct stat status;
		int length = 0;

		*entry = (struct entry){ .fd = -1, .line.grows = true };
		(void)sscanf(name, "%*[0-9]-%*[0-9a-f]%n", &length);
		(void)snprintf(entry->id, sizeof(entry->id), "%.*s", length,
		               name);
		/* Whatever else is there, or is another user's, stays. */
		if (length > 0 && length < RUNID_SIZE &&
		    strcmp(name + length, SUFFIX) == 0 &&
		    fstatat(registry->directory_fd, name, &status,
		            AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
		    read_entry(registry, entry))
			registry->count++;
		else
			free(entry->text);
		free(files[i]);
	}
	free(files);
}

bool
registry_take(struct registry *registry, struct entry *entry)
{
	fds_close(entry->fd);
	free(entry->text);
	entry->text = NULL;
	entry->fd = open_entry(registry->directory_fd, entry->id, O_NOFOLLOW);
	entry->is_taken =
	    entry_lock(entry->fd, F_OFD_SETLK) && read_entry(registry, entry);
	return entry->is_taken;
}

void
registry_end(struct registry *registry)
{
	for (size_t i = 0; i < registry->count; i++) {
		free(registry->entries[i].text);
		fds_close(registry->entries[i].fd);
	}
	free(registry->entries);
	fds_close(registry->directory_fd);
}
