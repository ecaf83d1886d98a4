#ifndef WDRUN_VALUES_H
#define WDRUN_VALUES_H

#include "../watchdog.h"

/*
 * Each of these reads optarg, the argument of an option, into where it belongs.
 * Returns OPTIONS_ARE_COMPLETE; or the status to end with, having told which
 * option it was, what was given and what is accepted.
 */
int value_read_duration(int id, int64_t *ns);
int value_read_signal(struct options *options);
int value_read_survivors(struct options *options);
int value_read_until(struct options *options);
int value_read_tee(struct options *options);
int value_read_file(int id, struct files *files);
int value_read_lock_exit(struct options *options);
int value_read_name(struct options *options);
int value_read_report(struct options *options);
int value_read_registry(struct options *options);

#endif
