#pragma once

#include <stdbool.h>

#include "scenario.h"

/* Whether the finding WHAT after FAULT is known: see known.c. */
bool known_is(const struct fault *fault, enum verdict verdict,
              const char *what);
