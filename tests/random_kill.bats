#!/usr/bin/env bats
#
# kill -9 at random moments of a run: before it has begun, while it begins, in
# the middle, and while it ends. programs/random_kill.c kills, and looks for
# what is left. A finding names the seed that repeats it.
#
# shellcheck disable=SC2154

load helper

# The end of the output tells how many runs were killed while they had a
# supervisor and were not over. If these are few, the machine is slow, and the
# times are stretched.
survive() {
	local factor counts
	for factor in 1 5 25; do
		mkdir "$factor"
		cd "$factor" || return
		complete "$PROGRAMS/random_kill" -m "$factor" 200 "$1"
		cd ..

		[ "$status" -eq 0 ]
		counts=${output##*$'\n'}
		[[ $counts == *": 200 runs, "*": 0 findings" ]]
		[[ $counts =~ ([0-9]+)" killed before "[^,]*", "([0-9]+)" when" ]]
		((BASH_REMATCH[1] + BASH_REMATCH[2] >= 150)) || return 0
	done
	return 1
}

@test "kill -9 of the front at 200 random moments leaves no process, lock, file or entry" {
	survive front
}

@test "kill -9 of the supervisor at 200 random moments leaves no process, lock, file or entry" {
	survive supervisor
}

@test "kill -9 of both at 200 random moments leaves nothing that --reap does not end, and no held lock" {
	survive both
}
