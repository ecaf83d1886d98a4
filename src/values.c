/* The arguments of options: each is read, or refused in one line. */
#include "values.h"

#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "help.h"
#include "message.h"
#include "options.h"
#include "optiontable.h"
#include "search.h"
#include "signals.h"

#define STATUS_MAX      255
#define NAME_LENGTH_MAX 255

static int
refuse_value(int id, const char *value, const char *accepted)
{
	const struct help_row *const row = help_find(id);

	message("--%s: '%s' is not %s", row == NULL ? "?" : row->name, value,
	        accepted);
	return STATUS_FAILED;
}

int
value_read_duration(int id, int64_t *ns)
{
	if (duration_parse(optarg, ns) == 0)
		return OPTIONS_ARE_COMPLETE;
	return refuse_value(id, optarg, "a duration (" ACCEPTED_DURATIONS ")");
}

int
value_read_signal(struct options *options)
{
	options->signal = signal_parse(optarg);
	if (options->signal != -1)
		return OPTIONS_ARE_COMPLETE;
	return refuse_value('s', optarg, "a signal (TERM, SIGINT, 9, RTMIN+1)");
}

int
value_read_survivors(struct options *options)
{
	static const char *const words[] = {
		[SURVIVORS_KILL] = "kill",
		[SURVIVORS_WAIT] = "wait",
		[SURVIVORS_LEAVE] = "leave",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(optarg, words[i]) == 0) {
			options->survivors = (enum survivors)i;
			return OPTIONS_ARE_COMPLETE;
		}
	}
	return refuse_value(ID_SURVIVORS, optarg, "one of kill, wait, leave");
}

int
value_read_until(struct options *options)
{
	const size_t length = strlen(optarg);

	if (length == 0 || length > SEARCH_TEXT_MAX)
		return refuse_value('u', length == 0 ? "" : "(too long)",
		                    "a text (1 to " SEARCH_TEXT_MAX_WORD
		                    " bytes)");
	options->until = optarg;
	return OPTIONS_ARE_COMPLETE;
}

int
value_read_tee(struct options *options)
{
	if (*optarg == '\0')
		return refuse_value(ID_TEE, optarg, "a file name");
	options->tee = optarg;
	return OPTIONS_ARE_COMPLETE;
}

int
value_read_file(int id, struct files *files)
{
	if (*optarg == '\0')
		return refuse_value(id, optarg, "a file name");
	if (files->count == FILES_MAX)
		return refuse_value(id, optarg,
		                    "one of 16: more cannot be had");
	files->paths[files->count++] = optarg;
	return OPTIONS_ARE_COMPLETE;
}

int
value_read_lock_exit(struct options *options)
{
	char *end;
	const long code = strtol(optarg, &end, 10);

	if (!isdigit((unsigned char)*optarg) || *end != '\0' ||
	    code > STATUS_MAX)
		return refuse_value('E', optarg, "a status (0 to 255)");
	options->lock_exit = (int)code;
	return OPTIONS_ARE_COMPLETE;
}

int
value_read_name(struct options *options)
{
	const size_t length = strlen(optarg);

	if (length == 0 || length > NAME_LENGTH_MAX)
		return refuse_value('n', length == 0 ? "" : "(too long)",
		                    "a name (1 to 255 bytes)");
	options->name = optarg;
	return OPTIONS_ARE_COMPLETE;
}

int
value_read_report(struct options *options)
{
	if (*optarg == '\0')
		return refuse_value(ID_REPORT, optarg, "a file name");
	options->report = optarg;
	return OPTIONS_ARE_COMPLETE;
}

int
value_read_registry(struct options *options)
{
	if (*optarg == '\0')
		return refuse_value(ID_REGISTRY, optarg, "a directory");
	options->registry = optarg;
	return OPTIONS_ARE_COMPLETE;
}
