#!/usr/bin/env bats
#
# The decisions and the parsers, walked through tables: tests/unit/*.c, each
# compiled with the sources that it is about.

load helper

@test "durations are read, refused and written as the manual says" {
	"$PROGRAMS/unit-duration"
}

@test "a run in any state, after any news, does what the table of states says" {
	"$PROGRAMS/unit-judge"
}

@test "a process's name cannot confuse what is read of its stat line" {
	"$PROGRAMS/unit-procfs"
}

@test "what is a PID in a lock file, and whose it is, goes by a table" {
	"$PROGRAMS/unit-lockowner"
}

@test "a line of /proc/PID/syscall is read as it is, or refused" {
	"$PROGRAMS/unit-systemcall"
}

@test "an entry of the registry is read as it was written, or refused as a whole" {
	"$PROGRAMS/unit-entry"
}

@test "text is put together as printf(3) does it" {
	"$PROGRAMS/unit-text"
}

@test "a command line without even a name is refused" {
	"$PROGRAMS/unit-options"
}
