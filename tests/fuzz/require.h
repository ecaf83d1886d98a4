#pragma once

#include <stdbool.h>
#include <stdlib.h>

/* Ends the process where CLAIM does not hold: a crash, with its input. */
static inline void
require(bool claim)
{
	if (!claim)
		abort();
}
