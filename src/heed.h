#ifndef WDRUN_HEED_H
#define WDRUN_HEED_H

struct run;
struct news;

/* Does what the signal in NEWS asks for: begins a stop, stops or continues the
 * tree with its terminal, or passes the signal on to the target. */
void heed(struct run *run, const struct news *news);

#endif
