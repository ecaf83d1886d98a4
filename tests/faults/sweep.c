/*
 * sweep [-m TEXT] [-v]: has each system call of $WDRUN fail once, and kills
 * front and supervisor with SIGKILL at each of their calls, one or both, in the
 * runs of scenario.c. After each case nothing may be left, and the status has
 * to be true. Prints what it finds, and a table. Exits with 1 if there was a
 * finding.
 *
 * The calls are those of a few runs without a fault; of a call that a process
 * makes often, the first three and the last. They return their errors in turn.
 * SIGKILL comes where it matters: what a process did since its last call of
 * which others see anything, nobody misses. All cases are tried, none is drawn;
 * but how often a process makes a call depends a little on the scheduler, so
 * one case in a hundred comes and goes between runs, and some are not met:
 * UNMET_MAX of a hundred may be. -m tries the cases with TEXT in their name; -v
 * shows their names, and the calls of their runs. Each worker has a directory
 * in the working directory.
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
#define AT_ONCE      4  /* for each processor */

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

static const char *wanted = ""; /* of -m */
static bool is_verbose;

/* --- the cases ----------------------------------------------------------- */

void
fault_write(const struct scenario *scenario, const struct fault *fault,
            char text[CASE_NAME_MAX])
{
	static const char *const names[] = { "front", "supervisor", "target" };
	const char *const kind = fault->kind == FAULT_KILL ? "KILL"
	                         : fault->kind == FAULT_BOTH
	                             ? "BOTH"
	                             : strerrorname_np(fault->error);

	(void)snprintf(text, CASE_NAME_MAX,
	               fault->kind == FAULT_NONE ? "%s" : "%s:%s:%s#%d:%s",
	               scenario->name, names[fault->who],
	               call_of(fault->call).name, fault->count, kind);
}

static void
print_name(const char *what, const struct one_case *one)
{
	char name[CASE_NAME_MAX];

	fault_write(one->scenario, &one->fault, name);
	printf("%s: '%s'\n", what, name);
}

static void
add_case(const struct scenario *scenario, struct fault fault,
         enum fault_kind kind)
{
	char name[CASE_NAME_MAX];

	fault.kind = kind;
	fault_write(scenario, &fault, name);
	if (strstr(name, wanted) == NULL)
		return;
	if (shared->case_count == CASES_MAX)
		give_up("too many cases");
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

/* --- the work ------------------------------------------------------------ */

static void
record(size_t number)
{
	shared->is_recorded[number] =
	    scenario_record(&scenarios[number], &shared->records[number]);
}

static void
try(size_t number)
{
	struct one_case *const one = &shared->cases[number];

	if (shared->findings >= FINDINGS_MAX)
		return;
	if (is_verbose)
		print_name("case", one);
	one->verdict = scenario_try(one->scenario, &one->fault,
	                            &shared->records[one->scenario - scenarios],
	                            is_verbose);
	one->is_tried = true;
	if (one->verdict == VERDICT_FOUND)
		(void)__atomic_add_fetch(&shared->findings, 1,
		                         __ATOMIC_RELAXED);
}

/* Has processes call DO_ONE for each number below COUNT. */
static bool
work(void (*do_one)(size_t number), size_t count)
{
	const int workers =
	    is_verbose ? 1 : AT_ONCE * (int)sysconf(_SC_NPROCESSORS_ONLN);
	bool is_fine = true;
	int status;

	shared->next = 0;
	for (int i = 0; i < workers; i++) {
		const pid_t pid = fork();
		char name[32];
		size_t number;

		if (pid == -1)
			give_up("fork");
		if (pid != 0)
			continue;
		(void)snprintf(name, sizeof(name), "worker-%d", i);
		if ((mkdir(name, 0777) == -1 && errno != EEXIST) ||
		    chdir(name) == -1)
			give_up(name);
		scenario_prepare();
		while ((number = __atomic_fetch_add(&shared->next, 1,
		                                    __ATOMIC_RELAXED)) < count)
			do_one(number);
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
	int findings = shared->findings;

	printf("          unmet   true    125 killed   told  FOUND\n");
	for (size_t i = 0; i < SCENARIOS; i++) {
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
	if (sum[VERDICT_UNMET] * 100 > UNMET_MAX * (int)shared->case_count) {
		printf("found: more than %d %% were not met\n", UNMET_MAX);
		findings++;
	}
	printf("sweep: %zu cases, %d unmet, %d findings\n", shared->case_count,
	       sum[VERDICT_UNMET], findings);
	return findings == 0 && shared->case_count > 0;
}

int
main(int argc, char *argv[])
{
	bool is_fine;
	int option;

	while ((option = getopt(argc, argv, "m:v")) != -1) {
		if (option == 'm')
			wanted = optarg;
		else if (option == 'v')
			is_verbose = true;
		else
			return 99;
	}
	if (getenv("WDRUN") == NULL || getenv("PROGRAMS") == NULL)
		return 99;
	/* Descriptors that the caller has left open are no leak of wdrun's. */
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
	setlinebuf(stdout);
	shared = share(sizeof(*shared));
	is_fine = work(record, SCENARIOS);
	for (size_t i = 0; i < SCENARIOS; i++) {
		is_fine = shared->is_recorded[i] && is_fine;
		for (enum who who = FRONT; who < WHO_COUNT; who++)
			is_fine = add_process(&scenarios[i],
			                      &shared->records[i], who) &&
			          is_fine;
	}
	if (!is_fine)
		return 1;
	is_fine = work(try, shared->case_count);
	return conclude() && is_fine ? 0 : 1;
}
