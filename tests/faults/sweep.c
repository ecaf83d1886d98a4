/*
 * sweep [-n CASES] [-s SEED] [-j WORKERS] [-m TEXT] [-v] [CASE]...: has each
 * system call of $WDRUN fail once, in each way that fits it, and kills front
 * and supervisor with SIGKILL at each of their calls, in the runs of
 * scenario.c. After each case nothing may be left, and the status has to be
 * true. Prints what it finds, and a table. Exits with 1 if there was a finding.
 *
 * The calls are those of a few runs without a fault; of a call that a process
 * makes very often, the first, the last and some others. -n tries so many of
 * the cases, which SEED chooses. A CASE is the name of a case that was printed,
 * or of a scenario, which is then run without a fault. -v shows the calls, and
 * without a CASE how each case went. -m tries the cases with TEXT in their
 * name. Each worker has a directory in the working directory.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include "../programs/bounded.h"
#include "../programs/trial.h"
#include "scenario.h"
#include "table.h"

#define RECORDINGS 3 /* some runs make more calls than others */
#define OTHERS_MAX 256
#define FIRST      48 /* calls of a kind: all are tried */
#define LAST       8  /* calls of a kind: all are tried */
#define SOME       8  /* every eighth of the calls between */
#define TRIES      3  /* for a case whose call a run did not make */

struct plan {
	size_t limit; /* of cases */
	uint64_t seed;
	int workers;
	bool is_verbose;
	const char *text; /* a part of the cases' names, or NULL */
};

/* Shared by all workers. The cases are in shared memory. */
static struct one_case *cases;
static size_t case_count;
static size_t cases_max = 65536;
static size_t *next_case;

/* --- the cases ----------------------------------------------------------- */

static void
enter_directory(const char *name)
{
	if ((mkdir(name, 0777) == -1 && errno != EEXIST) || chdir(name) == -1)
		give_up(name);
}

static void
add_case(const struct scenario *scenario, struct fault fault)
{
	if (case_count == cases_max)
		give_up("too many cases");
	cases[case_count++] = (struct one_case){ scenario, fault, 0 };
}

static void
add_call(const struct scenario *scenario, struct fault fault, bool is_early)
{
	const struct call *call = call_of(fault.call);
	const bool is_watcher = strcmp(fault.role, ROLE_FRONT) == 0 ||
	                        strcmp(fault.role, "supervisor") == 0;

	fault.kind = FAULT_ERROR;
	for (int i = 0; i < ERRORS_MAX && call->errors[i] != 0; i++) {
		fault.error = call->errors[i];
		add_case(scenario, fault);
	}
	fault.kind = is_early ? FAULT_KILL_SOON : FAULT_KILL;
	add_case(scenario, fault);
	fault.kind = FAULT_KILL_BOTH;
	if (is_watcher && scenario->is_registered)
		add_case(scenario, fault);
}

static bool
is_tried(int number, int count)
{
	return number <= FIRST || number > count - LAST || number % SOME == 0;
}

static void
add_role(const struct scenario *scenario, const struct role *role,
         const uint16_t early[CALLS_MAX])
{
	for (long call = 0; call < CALLS_MAX; call++) {
		struct fault fault = { .call = call };

		memcpy(fault.role, role->name, sizeof(fault.role));
		if (role->counts[call] > 0 && call_of(call)->name == NULL) {
			dprintf(STDERR_FILENO,
			        "sweep: calls.c does not know system call "
			        "%ld\n",
			        call);
			exit(99);
		}
		for (int i = 1; i <= role->counts[call]; i++) {
			fault.count = i;
			if (is_tried(i, role->counts[call]))
				add_call(scenario, fault, i <= early[call]);
		}
	}
}

/* Raises the counts of ALL to those of ONE. */
static void
merge(struct trace *all, const struct trace *one)
{
	for (int i = 0; i < one->role_count; i++) {
		const struct role *from = &one->roles[i];
		struct role *to = NULL;

		for (int j = 0; j < all->role_count; j++) {
			if (strcmp(all->roles[j].name, from->name) == 0)
				to = &all->roles[j];
		}
		if (to == NULL) {
			if (all->role_count == ROLES_MAX)
				give_up("too many roles");
			to = &all->roles[all->role_count++];
			memcpy(to->name, from->name, sizeof(to->name));
		}
		for (long call = 0; call < CALLS_MAX; call++) {
			if (from->counts[call] > to->counts[call])
				to->counts[call] = from->counts[call];
		}
	}
}

/* Returns whether SCENARIO goes well without a fault. */
static bool
record(const struct scenario *scenario)
{
	static struct trace all;
	static const uint16_t none_early[CALLS_MAX];
	const struct fault none = { .kind = FAULT_NONE };

	all.role_count = 0;
	memset(&all, 0, sizeof(all));
	for (int i = 0; i < RECORDINGS; i++) {
		static struct trace trace;

		trace = (struct trace){ .role_count = 0 };
		if (scenario_try(scenario, &none, &trace) != VERDICT_TRUE)
			return false;
		merge(&all, &trace);
		memcpy(all.early, trace.early, sizeof(all.early));
	}
	for (int i = 0; i < all.role_count; i++)
		add_role(scenario, &all.roles[i],
		         strcmp(all.roles[i].name, ROLE_FRONT) == 0
		             ? all.early
		             : none_early);
	return true;
}

/* Moves LIMIT random cases to the front. */
static void
draw(size_t limit, uint64_t seed)
{
	for (size_t i = 0; i < limit; i++) {
		const size_t other =
		    i + (size_t)(random_number(&seed) % (case_count - i));
		const struct one_case one = cases[i];

		cases[i] = cases[other];
		cases[other] = one;
	}
	case_count = limit;
}

/* Keeps the cases that have TEXT in their name. */
static void
choose(const char *text)
{
	size_t count = 0;

	for (size_t i = 0; i < case_count; i++) {
		char name[CASE_NAME_MAX];

		fault_write(cases[i].scenario, &cases[i].fault, name,
		            sizeof(name));
		if (strstr(name, text) != NULL)
			cases[count++] = cases[i];
	}
	case_count = count;
}

static void
tell_cases(void)
{
	for (size_t i = 0; i < case_count; i++) {
		char name[CASE_NAME_MAX];

		fault_write(cases[i].scenario, &cases[i].fault, name,
		            sizeof(name));
		printf("%s: %s\n", name, verdict_name(cases[i].verdict));
	}
}

/* --- the work ------------------------------------------------------------ */

static void
try_case(struct one_case *one, bool is_verbose)
{
	static struct trace trace;

	for (int i = 0; i < TRIES; i++) {
		trace = (struct trace){ .is_verbose = is_verbose };
		one->verdict = scenario_try(one->scenario, &one->fault, &trace);
		if (one->verdict != VERDICT_NOT_MET)
			return;
	}
}

static _Noreturn void
work(int worker)
{
	char name[32];
	size_t number;

	(void)snprintf(name, sizeof(name), "worker-%d", worker);
	enter_directory(name);
	stage_prepare();
	while ((number = __atomic_fetch_add(next_case, 1, __ATOMIC_RELAXED)) <
	       case_count)
		try_case(&cases[number], false);
	_exit(0);
}

static bool
work_all(int workers)
{
	bool is_fine = true;
	int status;

	for (int i = 0; i < workers; i++) {
		const pid_t pid = fork();

		if (pid == -1)
			give_up("fork");
		if (pid == 0)
			work(i);
	}
	while (wait(&status) != -1)
		is_fine = is_fine && status == 0;
	return is_fine;
}

/* --- what is asked for --------------------------------------------------- */

static struct plan
read_options(int argc, char *argv[])
{
	struct plan plan = {
		.seed = (uint64_t)now() / MICROSECOND % 1000000000,
		.workers = 4 * (int)sysconf(_SC_NPROCESSORS_ONLN),
	};
	int option;

	while ((option = getopt(argc, argv, "n:s:j:m:v")) != -1) {
		if (option == 'n')
			plan.limit = strtoul(optarg, NULL, 10);
		else if (option == 's')
			plan.seed = strtoull(optarg, NULL, 10);
		else if (option == 'j')
			plan.workers = atoi(optarg);
		else if (option == 'm')
			plan.text = optarg;
		else if (option == 'v')
			plan.is_verbose = true;
		else
			exit(99);
	}
	if (plan.workers < 1 || getenv("WDRUN") == NULL ||
	    getenv("PROGRAMS") == NULL)
		exit(99);
	return plan;
}

/* Runs one case after the other, to look into a finding. */
static int
try_named(char *const names[], bool is_verbose)
{
	bool is_fine = true;

	for (; *names != NULL; names++) {
		struct one_case one = { .verdict = VERDICT_NOT_MET };

		one.scenario = fault_read(*names, &one.fault);
		if (one.scenario == NULL) {
			dprintf(STDERR_FILENO, "sweep: no case: '%s'\n",
			        *names);
			return 99;
		}
		try_case(&one, is_verbose);
		printf("%s: %s\n", *names, verdict_name(one.verdict));
		is_fine = is_fine && one.verdict < VERDICT_LEAK;
	}
	return is_fine ? 0 : 1;
}

static int
sweep(const struct plan *plan)
{
	if (plan->text != NULL)
		choose(plan->text);

	const size_t all = case_count;

	if (plan->limit > 0 && plan->limit < case_count)
		draw(plan->limit, plan->seed);
	printf("sweep: %zu of %zu cases, seed %llu\n", case_count, all,
	       (unsigned long long)plan->seed);

	const bool is_fine = work_all(plan->workers);

	if (plan->is_verbose)
		tell_cases();

	const int findings = table_print(cases, case_count);

	printf("sweep: seed %llu: %zu cases, %d findings\n",
	       (unsigned long long)plan->seed, case_count, findings);
	return is_fine && findings == 0 ? 0 : 1;
}

/*
 * Runs everything in a process that leads no process group, as stage_prepare()
 * requires.
 */
static int
begin(const struct plan *plan, char *const names[])
{
	stage_prepare();
	enter_directory("record");
	if (*names != NULL)
		return try_named(names, plan->is_verbose);

	bool is_fine = true;

	for (size_t i = 0; i < scenario_count; i++)
		is_fine = record(&scenarios[i]) && is_fine;
	if (!is_fine || chdir("..") == -1)
		return 1;
	return sweep(plan);
}

int
main(int argc, char *argv[])
{
	const struct plan plan = read_options(argc, argv);
	int status;

	/* Descriptors that the caller has left open are no leak of wdrun's. */
	for (int fd = STDERR_FILENO + 1; fd < OTHERS_MAX; fd++)
		(void)close(fd);
	setlinebuf(stdout);
	cases = share(cases_max * sizeof(*cases));
	next_case = share(sizeof(*next_case));

	const pid_t pid = fork();

	if (pid == 0)
		exit(begin(&plan, &argv[optind]));
	if (pid == -1 || waitpid(pid, &status, 0) == -1)
		give_up("fork");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
