/* The name by which the processes of a run are known as such. */
#include "runid.h"

#include <stdint.h>
#include <string.h>

#include "duration.h"

static const char start[] = RUNID_VARIABLE "=";

static char *
add_number(char *end, uint64_t number, unsigned base)
{
	char digits[24];
	size_t count = 0;

	do
		digits[count++] = "0123456789abcdef"[number % base];
	while ((number /= base) > 0);
	while (count > 0)
		*end++ = digits[--count];
	return end;
}

/* By hand: at this point, what snprintf(3) touches of memory is a measurable
 * part of all that a short run costs. */
void
runid_make(char variable[RUNID_SIZE], pid_t front)
{
	char *end = variable + sizeof(start) - 1;

	memcpy(variable, start, sizeof(start) - 1);
	end = add_number(end, (uint64_t)front, 10);
	*end++ = '-';
	end = add_number(end, (uint64_t)duration_since_epoch(), 16);
	*end = '\0';
}

const char *
runid_of(const char *variable)
{
	return variable + sizeof(start) - 1;
}
