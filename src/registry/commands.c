/* What --list prints, and --cancel stops. */
#include "registry/registry.h"

#include <sys/ioctl.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/status.h"

#define WIDTH_MAX  8192 /* of a row that does not go to a terminal */
#define HEAD       "NAME              ID       STATE         AGE    LEFT  COMMAND"
#define ROW        "%-16s  %-7.*s  %-9s  %6s  %6s "
#define AFTER_KILL (10 * SECOND)
#define GRACE      (5 * SECOND) /* of a run that would wait for ever */
#define PAUSE      (10 * MILLISECOND)

static int64_t
seconds_between(int64_t from, int64_t to)
{
	return to > from ? (to - from) / SECOND : 0;
}

/* Appends a row that fits into WIDTH columns. */
static void
add_row(struct strbuf *text, const struct registry_walk *walk, int64_t now,
        size_t width)
{
	const struct entry *const entry = &walk->entry;
	const int64_t age = seconds_between(walk->started_at, now);
	const int64_t left = seconds_between(now, entry->until);
	char line[WIDTH_MAX + 1];
	struct strbuf row = { .text = line, .size = width + 1 };
	char texts[2][DURATION_TEXT_SIZE];

	strbuf_addf(&row, ROW, entry->name == NULL ? "-" : entry->name,
	            (int)strcspn(walk->id, "-"), walk->id, walk->state,
	            duration_format(age * SECOND, texts[0]),
	            entry->until == NEVER
	                ? "-"
	                : duration_format(left * SECOND, texts[1]));
	for (const char *word = entry->command; word != NULL;
	     word = entry_next_word(word))
		strbuf_addf(&row, " %s", word);
	utf8_make_printable(line);
	strbuf_addf(text, "%s\n", line);
}

static void
add_object(struct strbuf *text, const struct registry_walk *walk, int64_t now)
{
	const struct entry *const entry = &walk->entry;

	strbuf_addf(text, text->length == 0 ? "[\n{" : ",\n{");
	json_add_text(text, "id", walk->id);
	json_add_text(text, "name", entry->name);
	json_add_text(text, "state", walk->state);
	json_add_number(text, "pid", entry->front.pid);
	json_add_number(text, "age", seconds_between(walk->started_at, now));
	json_add_number(text, "left",
	                entry->until == NEVER
	                    ? JSON_NULL
	                    : seconds_between(now, entry->until));
	json_add_key(text, "command");
	strbuf_addf(text, "[");
	for (const char *word = entry->command; word != NULL;
	     word = entry_next_word(word))
		json_add_string(text, word);
	strbuf_addf(text, "]}");
}

int
list_print(const char *registry, bool as_json, bool is_quiet)
{
	struct registry_walk walk = { .count = 0 };
	struct winsize size;
	size_t width = WIDTH_MAX;
	struct strbuf text = { .grows = true };
	const int64_t now = duration_of_clock(CLOCK_REALTIME);
	size_t count = 0;
	int status = STATUS_FAILED;

	registry_begin(&walk, registry);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
	    size.ws_col < width)
		width = size.ws_col;
	if (!as_json)
		strbuf_addf(&text, "%.*s\n", (int)width, HEAD);
	for (; registry_next(&walk); count++) {
		if (as_json)
			add_object(&text, &walk, now);
		else
			add_row(&text, &walk, now, width);
	}
	if (as_json)
		strbuf_addf(&text, count == 0 ? "[]\n" : "\n]\n");
	/* Nothing is printed but a complete list. */
	if (walk.is_read)
		status =
		    as_json || count > 0 ? message_print(&text) : EXIT_SUCCESS;
	if (walk.is_read && !as_json && count == 0 && !is_quiet)
		message("no runs on record in %s", walk.path);
	free(text.text);
	registry_end(&walk);
	return status;
}

/* Waits for the run's end, or DEADLINE. Returns whether the front is dead. */
static bool
await_end(const struct registry_walk *walk, int64_t deadline)
{
	while (registry_is_held(walk) || procid_is_alive(&walk->entry.front)) {
		if (duration_now() >= deadline)
			return false;
		duration_sleep(PAUSE);
	}
	return true;
}

/* Goes to FILE of WALK, as it is now. Returns false where it is gone. */
static bool
go_to(struct registry_walk *walk, int file)
{
	walk->next = file;
	return registry_next(walk) && walk->next == file + 1;
}

/* Stops the run at WALK. Returns 0, or -1 after a message. */
static int
stop(struct registry_walk *walk, bool is_quiet)
{
	const struct entry *const entry = &walk->entry;
	const int64_t grace = duration_add(
	    duration_now() + AFTER_KILL,
	    entry->kill_after == NEVER ? GRACE : entry->kill_after);

	if (walk->is_orphaned)
		return reap_entry(walk, is_quiet);
	if (walk->is_elsewhere) {
		message("--cancel: run %s is of another machine, boot or PID "
		        "namespace",
		        walk->id);
		return -1;
	}
	/* From the run's own command, the front could take a signal for one to
	 * the job. It is alone as long as it waits for a lock. */
	const struct procid *const watcher =
	    entry->supervisor.pid != 0 ? &entry->supervisor : &entry->front;

	procid_kill(watcher, SIGTERM);
	procid_kill(watcher, SIGCONT);
	procid_kill(&entry->front, SIGCONT);
	if (!await_end(walk, grace)) {
		procid_kill(&entry->front, SIGKILL);
		if (!await_end(walk, duration_now() + AFTER_KILL)) {
			message("--cancel: run %s survives SIGKILL", walk->id);
			return -1;
		}
	}
	/* If the entry is still there, the watchers were killed, or a process
	 * has survived. The target may have added its lines to it since. */
	if (!go_to(walk, walk->next - 1))
		return 0;
	/* A run that waited for a lock had no processes to tell of. */
	is_quiet |= entry->supervisor.pid == 0;
	return reap_entry(walk, is_quiet);
}

/* Goes to the run that WHICH means, for --OPTION. Returns the exit status. */
static int
find(struct registry_walk *walk, const char *option, const char *which,
     bool is_quiet)
{
	int last = 0; /* the file of the last run that is meant */
	const size_t length = strlen(which);
	size_t count = 0;

	while (registry_next(walk)) {
		const char *const name = walk->entry.name;

		/* By name, ID, or the front's PID, up to the "-" in the ID. */
		if ((name != NULL && strcmp(name, which) == 0) ||
		    (strncmp(walk->id, which, length) == 0 &&
		     strchr("-", walk->id[length]) != NULL)) {
			last = walk->next - 1;
			count++;
		}
	}
	if (count > 1) {
		message("--%s: '%s' means %zu runs: name one by its ID, which "
		        "--list shows",
		        option, which, count);
		return STATUS_FAILED;
	}
	if (!walk->is_read)
		return STATUS_FAILED;
	if (count == 1 && go_to(walk, last))
		return EXIT_SUCCESS;
	if (!is_quiet)
		message("--%s: nothing in flight: no run '%s' in %s", option,
		        which, walk->path);
	return STATUS_NOT_HAD;
}

int
cancel_run(const char *registry, const char *which, bool is_quiet)
{
	struct registry_walk walk = { .count = 0 };

	registry_begin(&walk, registry);

	int status = find(&walk, "cancel", which, is_quiet);

	if (status == EXIT_SUCCESS && stop(&walk, is_quiet) == -1)
		status = STATUS_FAILED;
	registry_end(&walk);
	return status;
}

int
explain_run(const char *registry, const char *which, pid_t *root)
{
	struct registry_walk walk = { .count = 0 };

	registry_begin(&walk, registry);

	const int status = find(&walk, "explain", which, false);

	if (status == EXIT_SUCCESS && !walk.is_elsewhere)
		*root = walk.entry.supervisor.pid != 0
		            ? walk.entry.supervisor.pid
		            : walk.entry.front.pid;
	registry_end(&walk);
	return status;
}
