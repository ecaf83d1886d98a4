#ifndef FRONTLESS_H
#define FRONTLESS_H

#include <stdbool.h>

/* Whether the registry R in the working directory has an entry without a front:
 * see known.c. */
bool frontless_is_there(void);

#endif
