#pragma once

/* From now on this process comes before a tree that may leave it a thousandth
 * of a processor, as far as it is permitted; what it forks does not, unless
 * that process calls this too. */
void priority_take(void);
