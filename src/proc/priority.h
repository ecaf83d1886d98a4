#pragma once

/* Lets this process run before the tree that it is about to stop, as far as it
 * may: by a real-time priority, or a short time slice. A process that it forks
 * later is scheduled as before. */
void priority_take(void);
