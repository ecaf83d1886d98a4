#pragma once

#include <stdbool.h>
#include <stdint.h>

struct run;
struct order;

/* Orders and job control, in the supervisor: the front stops and goes on with
 * the command; the clocks stand still only while a terminal has stopped both.
 */

/* Does at NOW what ORDER asks for. */
void job_obey(struct run *run, const struct order *order, int64_t now);

/* If the target was stopped or continued, has the front stop or go on too, so
 * that the caller's shell sees its job stop. */
void job_follow(struct run *run, int64_t now);

/* The target goes on, or is dead: clocks and front go on as well. */
void job_end(struct run *run, int64_t now);

/* CLOCK_CONTINUE: continues a front that has not answered yet. */
void job_continue_front(struct run *run, int64_t now);

/* Whether tree or output were active since the last call. */
bool job_is_active(struct run *run);
