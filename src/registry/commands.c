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
#include "watchdog.h"

#define WIDTH_MAX  8192 /* of a row that does not go to a terminal */
#define HEAD       "NAME              ID       STATE         AGE    LEFT  COMMAND"
#define ROW        "%-16s  %-7.*s  %-9s  %6s  %6s "
#define AFTER_KILL (10 * SECOND)
#define GRACE      (5 * SECOND) /* for -k never */

static int64_t
seconds_between(int64_t from, int64_t to)
{
	return to > from ? (to - from) / SECOND : 0;
}

/* Appends a row that fits into WIDTH columns. */
static void
add_row(struct strbuf *text, const struct entry *entry, int64_t now,
        size_t width)
{
	const char *const name = entry_value(entry, "name", NULL);
	const int64_t age = seconds_between(entry->started, now);
	const int64_t left = seconds_between(now, entry->until);
	char line[WIDTH_MAX + 1];
	struct strbuf row = { .text = line, .size = width + 1 };
	char texts[2][DURATION_TEXT_SIZE];
	const char *word = NULL;

	strbuf_addf(
	    &row, ROW, name == NULL ? "-" : name, (int)strcspn(entry->id, "-"),
	    entry->id, entry->state, duration_format(age * SECOND, texts[0]),
	    entry->until == NEVER ? "-"
	                          : duration_format(left * SECOND, texts[1]));
	while ((word = entry_value(entry, "arg", word)) != NULL)
		strbuf_addf(&row, " %s", word);
	utf8_make_printable(line);
	strbuf_addf(text, "%s\n", line);
}

static void
add_object(struct strbuf *text, const struct entry *entry, int64_t now)
{
	const char *word = NULL;

	strbuf_addf(text, text->length == 0 ? "[\n{" : ",\n{");
	json_add_text(text, "id", entry->id);
	json_add_text(text, "name", entry_value(entry, "name", NULL));
	json_add_text(text, "state", entry->state);
	json_add_number(text, "pid", entry->front.pid);
	json_add_number(text, "age", seconds_between(entry->started, now));
	json_add_number(text, "left",
	                entry->until == NEVER
	                    ? JSON_NULL
	                    : seconds_between(now, entry->until));
	json_add_key(text, "command");
	strbuf_addf(text, "[");
	while ((word = entry_value(entry, "arg", word)) != NULL)
		json_add_string(text, word);
	strbuf_addf(text, "]}");
}

int
list_print(const struct options *options)
{
	struct registry registry = { .count = 0 };
	struct winsize size;
	size_t width = WIDTH_MAX;
	struct strbuf text = { .grows = true };
	const int64_t now = duration_of_clock(CLOCK_REALTIME);

	registry_begin(&registry, options->registry);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
	    size.ws_col < width)
		width = size.ws_col;
	if (!options->as_json)
		strbuf_addf(&text, "%.*s\n", (int)width, HEAD);
	for (size_t i = 0; i < registry.count; i++) {
		if (options->as_json)
			add_object(&text, &registry.entries[i], now);
		else
			add_row(&text, &registry.entries[i], now, width);
	}
	if (options->as_json)
		strbuf_addf(&text, registry.count == 0 ? "[]\n" : "\n]\n");
	/* Nothing is printed but a complete list. */
	if (!registry.is_read)
		return STATUS_FAILED;
	if (options->as_json || registry.count > 0)
		return message_print(&text);
	if (!options->quiet)
		message("no runs on record in %s", registry.path);
	return EXIT_SUCCESS;
}

/* Stops the run of ENTRY. Returns 0, or -1 after a message. */
static int
stop(struct registry *registry, struct entry *entry)
{
	const bool is_waiting = entry->supervisor.pid == 0;
	const int64_t grace =
	    entry->kill_after == NEVER ? GRACE : entry->kill_after;

	if (entry->is_orphaned)
		return reap_entry(registry, entry);
	/* Not the front, unless it is alone and waits for a lock: it could take
	 * a signal from the run's own command for one to the whole job. */
	const struct procid *const watcher =
	    is_waiting ? &entry->front : &entry->supervisor;

	procid_kill(watcher, SIGTERM);
	procid_kill(watcher, SIGCONT);
	procid_kill(&entry->front, SIGCONT);

	/* The supervisor first: where it hangs, the front still kills the tree,
	 * and ends as the command did. */
	const struct procid *const watchers[] = { watcher, &entry->front };
	bool is_over = registry_await(
	    registry, entry, duration_add(duration_now() + AFTER_KILL, grace),
	    false);

	for (size_t i = is_waiting; i < 2 && !is_over; i++) {
		procid_kill(watchers[i], SIGKILL);
		is_over = registry_await(registry, entry,
		                         duration_now() + AFTER_KILL, false);
	}
	if (!is_over) {
		message("--cancel: cannot kill run %s", entry->id);
		return -1;
	}
	/* A run that waited for a lock had no processes to tell of. */
	registry->is_quiet |= is_waiting;
	/* If the entry is still there, the watchers were killed, or a process
	 * has survived. */
	return reap_entry(registry, entry);
}

/* Reads the registry, and stores as *FOUND the run that --cancel or --explain
 * of OPTIONS means. Returns the exit status. */
static int
find_run(struct registry *registry, const struct options *options,
         struct entry **found)
{
	const bool to_cancel = options->cancel != NULL;
	const char *const option = to_cancel ? "--cancel" : "--explain";
	const char *const which =
	    to_cancel ? options->cancel : options->explain;
	const size_t length = strlen(which);
	struct entry *last[2] = { NULL }; /* that is here, elsewhere */
	size_t counts[2] = { 0 };

	registry_begin(registry, options->registry);
	for (size_t i = 0; i < registry->count; i++) {
		struct entry *const entry = &registry->entries[i];
		const char *const name = entry_value(entry, "name", NULL);

		/* By name, ID, or the front's PID, up to the "-" in the ID. */
		if ((name != NULL && strcmp(name, which) == 0) ||
		    (strncmp(entry->id, which, length) == 0 &&
		     strchr("-", entry->id[length]) != NULL)) {
			last[entry->is_elsewhere] = entry;
			counts[entry->is_elsewhere]++;
		}
	}

	/* Those elsewhere, as in a container, count only if none is here. */
	const bool is_elsewhere = counts[false] == 0;
	const size_t count = counts[is_elsewhere];

	*found = last[is_elsewhere];
	if (count == 1 && (!is_elsewhere || (*found)->is_orphaned))
		return EXIT_SUCCESS;
	if (count == 1)
		message("%s: run %s is of another machine, boot or PID "
		        "namespace",
		        option, (*found)->id);
	else if (count > 1)
		message("%s: '%s' means %zu runs: name one by its ID, which "
		        "--list --json shows",
		        option, which, count);
	else if (registry->is_read && !registry->is_quiet)
		message("%s: nothing in flight: no run '%s' in %s", option,
		        which, registry->path);
	return count == 0 && registry->is_read ? STATUS_NOT_HAD : STATUS_FAILED;
}

int
cancel_run(const struct options *options)
{
	struct registry registry = { .is_quiet = options->quiet };
	struct entry *entry;
	const int status = find_run(&registry, options, &entry);

	return status == EXIT_SUCCESS && stop(&registry, entry) == -1
	           ? STATUS_FAILED
	           : status;
}

int
explain_run(const struct options *options, pid_t *root)
{
	struct registry registry = { .is_quiet = options->quiet };
	struct entry *entry;
	const int status = find_run(&registry, options, &entry);

	if (status != EXIT_SUCCESS)
		return status;
	*root = entry->supervisor.pid != 0 ? entry->supervisor.pid
	                                   : entry->front.pid;
	if (!entry->is_orphaned)
		return EXIT_SUCCESS;
	message("--explain: run %s is orphaned: --reap kills what it has left",
	        entry->id);
	return STATUS_NOT_HAD;
}
