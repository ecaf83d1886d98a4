#!/usr/bin/env bats
#
# The decisions and the parsers, walked through tables: tests/unit/*.c, each
# linked with the sources that it tests.

load helper

@test "durations are read, refused and written as the manual says" {
	"$PROGRAMS/unit-duration"
}

@test "a run in any state, after any event, does what the table of states says" {
	"$PROGRAMS/unit-decide"
}

@test "a process's name cannot change what is read from its stat line" {
	"$PROGRAMS/unit-procfs"
}

@test "the PID in a lock file, and the state of its owner, are read as a table says" {
	"$PROGRAMS/unit-pidfile"
}

@test "a line of /proc/PID/syscall is read as it is, or refused" {
	"$PROGRAMS/unit-systemcall"
}

@test "an entry of the registry is read as it was written, or refused as a whole" {
	"$PROGRAMS/unit-entry"
}

@test "text is formatted as printf(3) does it" {
	"$PROGRAMS/unit-strbuf"
}

@test "a number is read, and a text found in another, as by libc's functions" {
	"$PROGRAMS/unit-text"
}

@test "a command line without a program name is refused" {
	"$PROGRAMS/unit-options"
}
