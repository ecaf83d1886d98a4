#pragma once

/* A fuzz target: the unit tests replay its corpus, tests/unit/replay.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Gives the parser SIZE bytes of DATA. Aborts where it reads them wrongly. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process where CLAIM does not hold: a crash, with its input. */
static inline void
require(bool claim)
{
	if (!claim)
		abort();
}
