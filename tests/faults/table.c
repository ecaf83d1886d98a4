/* Prints how all the cases went. */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../programs/bounded.h"

#define ROWS_MAX 512

static const char *const verdict_names[VERDICT_COUNT] = {
	[VERDICT_NOT_MET] = "unmet", [VERDICT_TRUE] = "true",
	[VERDICT_FAILED] = "125",    [VERDICT_KILLED] = "killed",
	[VERDICT_TOLD] = "told",     [VERDICT_KNOWN] = "known",
	[VERDICT_LEAK] = "LEAK",     [VERDICT_FILE] = "FILE",
	[VERDICT_LOST] = "LOST",     [VERDICT_LOCK] = "LOCK",
	[VERDICT_STATUS] = "STATUS", [VERDICT_HANG] = "HANG",
};

/* A system call and its fault, or the sum of a scenario, or the total. */
struct row {
	const char *call;
	const char *fault;
	int count;
	int verdicts[VERDICT_COUNT];
};

static void
print_row(const struct row *row)
{
	printf("%-18s %-9s %6d", row->call, row->fault, row->count);
	for (int i = 0; i < VERDICT_COUNT; i++) {
		if (row->verdicts[i] == 0)
			printf(" %6s", ".");
		else
			printf(" %6d", row->verdicts[i]);
	}
	printf("\n");
}

static void
count_in(struct row *row, const struct one_case *one)
{
	row->count++;
	row->verdicts[one->verdict]++;
}

static void
print_scenario(const struct scenario *scenario, const struct one_case cases[],
               size_t case_count)
{
	struct row row = { .call = scenario->name, .fault = "" };

	for (size_t i = 0; i < case_count; i++) {
		if (cases[i].scenario == scenario)
			count_in(&row, &cases[i]);
	}
	if (row.count > 0)
		print_row(&row);
}

static int
by_name(const void *left, const void *right)
{
	const struct row *a = left;
	const struct row *b = right;
	const int order = strcmp(a->call, b->call);

	return order != 0 ? order : strcmp(a->fault, b->fault);
}

int
table_print(const struct one_case cases[], size_t case_count)
{
	static struct row rows[ROWS_MAX];
	struct row sum = { .call = "all", .fault = "" };
	size_t count = 0;
	int findings = 0;

	for (size_t i = 0; i < case_count; i++) {
		const struct row key = {
			.call = call_of(cases[i].fault.call)->name,
			.fault = fault_name(&cases[i].fault),
		};
		size_t at = 0;

		while (at < count && by_name(&rows[at], &key) != 0)
			at++;
		if (at == ROWS_MAX)
			give_up("too many rows");
		if (at == count)
			rows[count++] = key;
		count_in(&rows[at], &cases[i]);
		count_in(&sum, &cases[i]);
	}
	qsort(rows, count, sizeof(rows[0]), by_name);
	printf("%-18s %-9s %6s", "system call", "fault", "cases");
	for (int i = 0; i < VERDICT_COUNT; i++)
		printf(" %6s", verdict_names[i]);
	printf("\n");
	for (size_t i = 0; i < count; i++)
		print_row(&rows[i]);
	for (size_t i = 0; i < scenario_count; i++)
		print_scenario(&scenarios[i], cases, case_count);
	print_row(&sum);
	for (int i = VERDICT_LEAK; i < VERDICT_COUNT; i++)
		findings += sum.verdicts[i];
	return findings;
}

const char *
verdict_name(enum verdict verdict)
{
	return verdict_names[verdict];
}
