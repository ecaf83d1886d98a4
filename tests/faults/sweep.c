/*
 * sweep [-j WORKERS] [-m TEXT] [-v] [CASE]...: has each system call of $WDRUN
 * fail once, and kills front and supervisor with SIGKILL at each of their
 * calls, one or both, in the runs of scenario.c. After each case nothing may be
 * left, and the status has to be true. Prints what it finds, and a table. Exits
 * with 1 if there was a finding.
 *
 * The calls are those of a few runs without a fault; of a call that a process
 * makes often, the first three and the last. They return their errors in turn.
 * SIGKILL comes where it matters: what a process did since its last call of
 * which others see anything, nobody misses. All cases are tried, none is drawn;
 * but how often a process makes a call depends a little on the scheduler, so
 * one case in a hundred comes and goes between runs, and some are not met:
 * UNMET_MAX of a hundred may be. -m tries the cases with TEXT in their name. A
 * CASE is a name that was printed, or a scenario's, which is then run without a
 * fault. -v shows its calls, or without a CASE the names of all cases. Each
 * worker has a directory in the working directory.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include "scenario.h"
#include "trial.h"

#define FIRST        3 /* calls of a kind, */
#define LAST         1 /* that are tried */
#define UNMET_MAX    5 /* of a hundred cases */
#define CASES_MAX    8192
#define FINDINGS_MAX 20 /* no more cases are tried after that many */
#define SCENARIOS    16 /* at most */

struct one_case {
	const struct scenario *scenario;
	struct fault fault;
	bool is_tried;
	enum verdict verdict;
};

/* Shared by all workers. */
static struct shared {
	size_t next; /* case or recording */
	size_t case_count;
	int findings;
	struct record records[SCENARIOS];
	bool is_recorded[SCENARIOS];
	struct one_case cases[CASES_MAX];
} * shared;

static bool is_verbose;

/* --- names --------------------------------------------------------------- */

static const char *const who_names[] = { "front", "supervisor", "target" };

static const char *
fault_name(const struct fault *fault)
{
	switch (fault->kind) {
	case FAULT_NONE:
		return "none";
	case FAULT_ERROR:
		return strerrorname_np(fault->error);
	case FAULT_KILL:
		return "KILL";
	case FAULT_BOTH:
		return "BOTH";
	}
	return "?";
}

void
fault_write(const struct scenario *scenario, const struct fault *fault,
            char text[CASE_NAME_MAX])
{
	if (fault->kind == FAULT_NONE)
		(void)snprintf(text, CASE_NAME_MAX, "%s", scenario->name);
	else
		(void)snprintf(text, CASE_NAME_MAX, "%s:%s:%s#%d:%s",
		               scenario->name, who_names[fault->who],
		               call_of(fault->call).name, fault->count,
		               fault_name(fault));
}

/* Sets FAULT->kind and error. Returns whether there is a fault of that NAME. */
static bool
read_fault(const char *name, struct fault *fault)
{
	for (fault->kind = FAULT_KILL; fault->kind <= FAULT_BOTH;
	     fault->kind++) {
		if (strcmp(fault_name(fault), name) == 0)
			return true;
	}
	fault->kind = FAULT_ERROR;
	for (fault->error = 1; fault->error < 200; fault->error++) {
		const char *error = strerrorname_np(fault->error);

		if (error != NULL && strcmp(error, name) == 0)
			return true;
	}
	return false;
}

const struct scenario *
fault_read(const char *text, struct fault *fault)
{
	char name[16];
	char who[16];
	char call[32];
	char kind[16];
	const int fields = sscanf(text, "%15[^:]:%15[^:]:%31[^#]#%d:%15s", name,
	                          who, call, &fault->count, kind);

	fault->kind = FAULT_NONE;
	if (fields == 5) {
		fault->call = call_number(call);
		for (fault->who = FRONT; fault->who < WHO_COUNT; fault->who++) {
			if (strcmp(who_names[fault->who], who) == 0)
				break;
		}
		if (fault->call == -1 || fault->who == WHO_COUNT ||
		    !read_fault(kind, fault))
			return NULL;
	} else if (fields != 1) {
		return NULL;
	}
	for (size_t i = 0; i < scenario_count; i++) {
		if (strcmp(scenarios[i].name, name) == 0)
			return &scenarios[i];
	}
	return NULL;
}

static void
print_name(const char *what, const struct one_case *one)
{
	char name[CASE_NAME_MAX];

	fault_write(one->scenario, &one->fault, name);
	printf("%s: '%s'\n", what, name);
}

/* --- the cases ----------------------------------------------------------- */

static void
add_case(const struct scenario *scenario, struct fault fault,
         enum fault_kind kind)
{
	if (shared->case_count == CASES_MAX)
		give_up("too many cases");
	fault.kind = kind;
	shared->cases[shared->case_count++] =
	    (struct one_case){ .scenario = scenario, .fault = fault };
}

static void
add_call(const struct scenario *scenario, struct fault fault)
{
	const struct call call = call_of(fault.call);
	int errors = 0;

	while (errors < ERRORS_MAX && call.errors[errors] != 0)
		errors++;
	if (errors > 0) {
		fault.error = call.errors[(fault.count - 1) % errors];
		add_case(scenario, fault, FAULT_ERROR);
	}
	if (!call.is_seen || fault.who == TARGET)
		return;
	add_case(scenario, fault, FAULT_KILL);
	if (strstr(scenario->words, "--registry") != NULL)
		add_case(scenario, fault, FAULT_BOTH);
}

/* Adds the cases of a process. Returns whether calls.c knows all its calls. */
static bool
add_process(const struct scenario *scenario, const struct record *record,
            enum who who)
{
	bool is_known = true;

	for (long call = 0; call < CALLS_MAX; call++) {
		const int few = record->few[who][call];
		const int many = record->many[who][call];

		if (many > 0 && call_of(call).name == NULL) {
			printf("found: calls.c does not know system call %ld\n",
			       call);
			is_known = false;
			continue;
		}
		for (int i = 1; i <= many; i++) {
			const struct fault fault = { .who = who,
				                     .call = call,
				                     .count = i };

			if (i <= FIRST || (i > few - LAST && i <= few))
				add_call(scenario, fault);
		}
	}
	return is_known;
}

/* Keeps the cases that have TEXT in their name. */
static void
choose(const char *text)
{
	size_t count = 0;

	for (size_t i = 0; i < shared->case_count; i++) {
		const struct one_case one = shared->cases[i];
		char name[CASE_NAME_MAX];

		fault_write(one.scenario, &one.fault, name);
		if (strstr(name, text) != NULL)
			shared->cases[count++] = one;
	}
	shared->case_count = count;
}

/* --- the work ------------------------------------------------------------ */

static bool
record_next(void)
{
	const size_t number =
	    __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);

	if (number >= scenario_count)
		return false;
	shared->is_recorded[number] =
	    scenario_record(&scenarios[number], &shared->records[number]);
	return true;
}

static bool
try_next(void)
{
	const size_t number =
	    __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);

	if (number >= shared->case_count || shared->findings >= FINDINGS_MAX)
		return false;

	struct one_case *const one = &shared->cases[number];

	one->verdict =
	    scenario_try(one->scenario, &one->fault,
	                 &shared->records[one->scenario - scenarios], false);
	one->is_tried = true;
	if (one->verdict >= VERDICT_LEAK)
		(void)__atomic_add_fetch(&shared->findings, 1,
		                         __ATOMIC_RELAXED);
	return true;
}

/* Has WORKERS processes call NEXT, each until it returns false. */
static bool
work(int workers, bool (*next)(void))
{
	bool is_fine = true;
	int status;

	shared->next = 0;
	for (int i = 0; i < workers; i++) {
		const pid_t pid = fork();
		char name[32];

		if (pid == -1)
			give_up("fork");
		if (pid != 0)
			continue;
		(void)snprintf(name, sizeof(name), "worker-%d", i);
		if ((mkdir(name, 0777) == -1 && errno != EEXIST) ||
		    chdir(name) == -1)
			give_up(name);
		scenario_prepare();
		while (next())
			continue;
		_exit(0);
	}
	while (wait(&status) != -1)
		is_fine = is_fine && status == 0;
	return is_fine;
}

/* --- the table ----------------------------------------------------------- */

static void
print_row(const char *name, const int row[VERDICT_COUNT])
{
	printf("%-8s", name);
	for (int i = 0; i < VERDICT_COUNT; i++)
		printf(" %6d", row[i]);
	printf("\n");
}

/* Prints how the cases went. Returns whether all went well. */
static bool
conclude(void)
{
	int sum[VERDICT_COUNT] = { 0 };
	int findings = 0;

	printf("          unmet   true    125 killed   told   LEAK   FILE   "
	       "LOST   LOCK STATUS   HANG\n");
	for (size_t i = 0; i < scenario_count; i++) {
		int row[VERDICT_COUNT] = { 0 };

		for (size_t j = 0; j < shared->case_count; j++) {
			const struct one_case *const one = &shared->cases[j];

			if (one->scenario != &scenarios[i] || !one->is_tried)
				continue;
			row[one->verdict]++;
			sum[one->verdict]++;
			if (one->verdict == VERDICT_UNMET)
				print_name("unmet", one);
		}
		print_row(scenarios[i].name, row);
	}
	print_row("all", sum);
	for (int i = VERDICT_LEAK; i < VERDICT_COUNT; i++)
		findings += sum[i];
	if (sum[VERDICT_UNMET] * 100 > UNMET_MAX * (int)shared->case_count) {
		printf("found: more than %d %% were not met\n", UNMET_MAX);
		findings++;
	}
	printf("sweep: %zu cases, %d unmet, %d findings\n", shared->case_count,
	       sum[VERDICT_UNMET], findings);
	return findings == 0 && shared->case_count > 0;
}

/* --- what is asked for --------------------------------------------------- */

/* Runs one case after the other, to look into a finding. */
static int
try_named(char *const names[])
{
	struct fault fault;

	if (mkdir("named", 0777) == -1 || chdir("named") == -1)
		give_up("named");
	scenario_prepare();
	for (; *names != NULL; names++) {
		const struct scenario *scenario = fault_read(*names, &fault);

		if (scenario == NULL) {
			dprintf(STDERR_FILENO, "sweep: no case: '%s'\n",
			        *names);
			return 99;
		}
		printf("%s: verdict %d\n", *names,
		       (int)scenario_try(scenario, &fault,
		                         &shared->records[scenario - scenarios],
		                         is_verbose));
	}
	return 0;
}

static int
sweep(int workers, const char *text, char *const names[])
{
	bool is_fine = work(workers, record_next);

	for (size_t i = 0; i < scenario_count; i++) {
		is_fine = shared->is_recorded[i] && is_fine;
		for (enum who who = FRONT; who < WHO_COUNT; who++)
			is_fine = add_process(&scenarios[i],
			                      &shared->records[i], who) &&
			          is_fine;
	}
	if (!is_fine)
		return 1;
	if (*names != NULL) {
		const pid_t pid = fork();
		int status = 99;

		if (pid == 0)
			exit(try_named(names));
		(void)waitpid(pid, &status, 0);
		return WEXITSTATUS(status);
	}
	if (text != NULL)
		choose(text);
	if (is_verbose) {
		for (size_t i = 0; i < shared->case_count; i++)
			print_name("case", &shared->cases[i]);
		return 0;
	}
	is_fine = work(workers, try_next);
	return conclude() && is_fine ? 0 : 1;
}

int
main(int argc, char *argv[])
{
	int workers = 4 * (int)sysconf(_SC_NPROCESSORS_ONLN);
	const char *text = NULL;
	int option;

	while ((option = getopt(argc, argv, "j:m:v")) != -1) {
		if (option == 'j')
			workers = atoi(optarg);
		else if (option == 'm')
			text = optarg;
		else if (option == 'v')
			is_verbose = true;
		else
			return 99;
	}
	if (workers < 1 || getenv("WDRUN") == NULL ||
	    getenv("PROGRAMS") == NULL)
		return 99;
	/* Descriptors that the caller has left open are no leak of wdrun's. */
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
	setlinebuf(stdout);
	shared = share(sizeof(*shared));
	return sweep(workers, text, &argv[optind]);
}
