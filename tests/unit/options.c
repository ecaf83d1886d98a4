/* A command line as only an old kernel lets it be. */
#include "../../src/options.h"

#include <stdlib.h>

#include "../../watchdog.h"
#include "check.h"

int
main(void)
{
	/* On the heap: it is seen if more is touched. */
	char **const argv = calloc(1, sizeof(*argv));
	struct options options;

	CHECK(options_read(&options, 0, argv) == STATUS_FAILED, "no name");
	free(argv);
	return failures != 0;
}
