/* state FILE: prints what it sees of how it was started to FILE. */
#include "facts.h"

#define FDS 512 /* that are looked at */

int
main(int argc, char *argv[])
{
	if (argc != 2)
		return 99;
	show_facts(open_facts(argv[1], FDS), FDS);
	return 0;
}
