#ifndef WDRUN_HELP_H
#define WDRUN_HELP_H

#define VERSION "0.1.0"

/* An option, as it is explained. */
struct help_row {
	int id; /* its letter, or ID_FIRST_LONG or above */
	const char *name;
	const char *argument; /* or NULL */
	const char *text;
};

/* The row of option ID, or NULL. */
const struct help_row *help_find(int id);

/* Print to stdout. Return the status to exit with: 0, or 125, having told, if
 * it could not be written. */
int help_print(void);
int help_print_version(void);

#endif
