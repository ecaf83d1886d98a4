#!/usr/bin/env bats
#
# The floors of the sources (the table in tests/floors) are seen by a check: in
# a tree with one wrong include, that include is what it names.
#
# shellcheck disable=SC2154

load helper

# A small tree that is as it should be: a lock that looks at processes.
make_tree() {
	mkdir -p src/{base,proc,lock,run}
	echo '#include "base/status.h"' >watchdog.h
	echo '#include "run/run.h"' >watchdog.c
	echo '#include <stdint.h>' >src/base/status.h
	echo '#include "base/status.h"' >src/proc/wait.h
	printf '#include "%s"\n' lock/lockfile.h proc/wait.h >src/lock/lockfile.c
	echo '#include <stdbool.h>' >src/lock/lockfile.h
	printf '#include "%s"\n' watchdog.h run/timers.h >src/run/run.h
	echo '#include "base/status.h"' >src/run/timers.h
	printf '#include "%s"\n' run/timers.h run/run.h >src/run/timers.c
}

@test "a tree in which each include goes down has no finding" {
	make_tree

	complete "$root/tests/floors"

	[ "$status" -eq 0 ]
	[ -z "$output$stderr" ]
}

@test "an include that goes up, sideways or nowhere is named with its line" {
	make_tree
	echo '#include "run/run.h"' >>src/lock/lockfile.c
	echo '  #  include <run/run.h>' >>src/lock/lockfile.h
	echo '#include "lock/lockfile.h"' >>src/proc/wait.h
	echo '#include "run/run.h"' >>watchdog.h
	echo '#include "watchdog.h"' >>src/base/status.h
	echo '#include "lockfile.h"' >src/lock/lockset.h
	mkdir src/io && echo '#include "lock/lockfile.h"' >src/io/relay.c

	complete "$root/tests/floors"

	[ "$status" -eq 1 ]
	diff - <(grep -v '^circle' out) <<-'END'
		src/base/status.h:2: base may not include watchdog.h
		src/io/relay.c:1: io may not include lock/lockfile.h
		src/lock/lockfile.c:3: lock may not include run/run.h
		src/lock/lockfile.h:2: lock may not include run/run.h
		src/lock/lockset.h:1: "lockfile.h" does not begin with a floor
		src/proc/wait.h:2: proc may not include lock/lockfile.h
		watchdog.h:2: watchdog.h may not include run/run.h
	END
}

@test "a folder that is no floor is named" {
	make_tree
	mkdir src/util && echo '#include "base/status.h"' >src/util/misc.h

	complete "$root/tests/floors"

	[ "$status" -eq 1 ]
	[ "$output" = 'src/util/misc.h:1: no floor has this name' ]
}

@test "rooms of a floor that include each other in a circle are named" {
	make_tree
	echo '#include "lock/lockset.h"' >>src/lock/lockfile.c
	echo '#include "lock/cleanup.h"' >src/lock/lockset.c
	echo '#include "lock/lockfile.h"' >src/lock/cleanup.h

	complete "$root/tests/floors"

	[ "$status" -eq 1 ]
	[ "$output" = 'circle of rooms: lock/cleanup -> lock/lockfile -> lock/lockset -> lock/cleanup' ]
}

@test "a header that run.h includes may not include run.h" {
	make_tree
	echo '#include "run/run.h"' >>src/run/timers.h

	complete "$root/tests/floors"

	[ "$status" -eq 1 ]
	[ "$output" = 'circle of headers: run/run.h -> run/timers.h -> run/run.h' ]
}
