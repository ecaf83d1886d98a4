#pragma once

/* Lets this process run before the tree that it is about to stop, as far as it
 * may: by a real-time priority, a nice value, or a short time slice. Only the
 * first call does anything. A process that it forks later is scheduled as
 * before. */
void priority_take(void);
