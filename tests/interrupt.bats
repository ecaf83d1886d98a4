#!/usr/bin/env bats
#
# At a real prompt: Ctrl-C and Ctrl-Z are for the command, for each process of
# its pipeline, and for its survivors.
#
# Starts first: its tests take long, one after the other.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper
load prompt
load relays

# pipeline_is_interrupted SHELL
pipeline_is_interrupted() {
	local left=20
	at_prompt "$1"
	while ((left-- > 0)); do
		enter 'yes | wdrun cat >/dev/null'
		wait_until target_runs
		press C-c
		wait_until no_front
		last_is 130
		wipe '^last'
	done
}

@test "Ctrl-C in a pipeline is the command's death, 20 times of 20, in bash" {
	pipeline_is_interrupted bash
}

@test "Ctrl-C in a pipeline is the command's death, 20 times of 20, in zsh" {
	pipeline_is_interrupted zsh
}

@test "Ctrl-C in a pipeline is the command's death, 20 times of 20, in dash" {
	pipeline_is_interrupted dash
}

@test "Ctrl-C in a pipeline is the command's death, 20 times of 20, in fish" {
	pipeline_is_interrupted fish
}

@test "Ctrl-C in a pipeline ends the loop of a shell around it" {
	local shell
	for shell in bash zsh; do
		at_prompt "$shell"
		enter 'while :; do yes | wdrun cat >/dev/null; done; echo "over"'
		wait_until target_runs
		press C-c

		wait_until shows '^prompt>$'
		wait_until no_front
		usable
		close_prompt
		rm -rf ./* .zshrc
	done
}

# own_group_is_interrupted SHELL
own_group_is_interrupted() {
	at_prompt "$1"
	enter 'wdrun timeout 900 escape'
	see_ready
	press C-c

	wait_until is_dead "$ready"
	wait_until no_front
	last_is 130
	wipe '^ready'

	enter 'wdrun timeout 900 escape'
	wait_until shows '^ready [0-9]+$'
	see_ready
	press C-z
	wait_until is_stopped "$ready"
	wait_until shows '[Ss](topped|uspended)'
	usable
	enter fg
	wait_until no is_stopped "$ready"
	one_front
	kill -TERM "$front"
	wait_until no_front
	usable
}

@test "Ctrl-C and Ctrl-Z reach a command that made a process group of its own, in bash" {
	own_group_is_interrupted bash
}

@test "Ctrl-C and Ctrl-Z reach a command that made a process group of its own, in zsh" {
	own_group_is_interrupted zsh
}

@test "Ctrl-C and Ctrl-Z reach a command that made a process group of its own, in dash" {
	own_group_is_interrupted dash
}

@test "Ctrl-C and Ctrl-Z reach a command that made a process group of its own, in fish" {
	own_group_is_interrupted fish
}

@test "Ctrl-C ends the wait for survivors, and the survivors" {
	at_prompt
	enter 'wdrun --survivors=wait sh -c "setsid escape & exit 0"'
	see_ready
	wait_until target_runs
	wait_until is_zombie "$target"
	press C-c

	wait_until is_dead "$ready"
	wait_until no_front
	last_is 0
}

@test "Ctrl-Z stops the wait for survivors, and fg goes on with it" {
	at_prompt
	enter 'wdrun --survivors=wait sh -c "setsid escape & exit 0"'
	see_ready
	wait_until target_runs
	wait_until is_zombie "$target"
	press C-z
	wait_until shows 'Stopped'
	usable
	enter fg
	wait_until no is_stopped "$front"
	press C-c

	wait_until is_dead "$ready"
	wait_until no_front
	usable
}
