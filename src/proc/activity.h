#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tree;

/*
 * How much the processes of a tree do. A program that waits in vain still
 * ticks: so progress is 2 % of a processor, or 1 KiB read or written a second;
 * or a thread that could run for half of the time, but got no processor.
 */
struct activity {
	int64_t since; /* the first sample; 0: there is none */
	int64_t last;  /* the last one */
	int64_t cpu;   /* the tree's CPU time at the last sample */
	/* Since the first: CPU time; and of the threads that were alive at two
	 * samples in a row the I/O, and the time of those that could run. */
	int64_t work;
	uint64_t bytes;
};

/* Takes a sample of the present members of TREE at NOW, the first or another.
 * Returns whether there was progress, on the whole, since the first. recv(2)
 * and send(2) are not counted by the kernel. */
bool activity_sample(struct activity *activity, const struct tree *tree,
                     int64_t now);
