#!/usr/bin/env bats
#
# Manual, README and --help say the same of options, defaults and statuses, and
# can be read. walkthrough.bats runs the commands that they show.
#
# bats file_tags=words
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

manual=$root/man/wdrun.1
readme=$root/README.md

# section NAME: prints the lines of that section of the manual, without mdoc's
# escapes.
section() {
	sed -n "/^\.Sh $1\$/,/^\.Sh /p" "$manual" |
		sed -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\(dq/"/g'
}

options_in_help() {
	"$WDRUN" --help | sed -nE 's/^ +((-[a-zA-Z], )?--[a-z-]+).*/\1/p' | sort
}

# For lines like ".It Fl t Ar DUR , Fl -timeout Ns = Ns Ar DUR".
options_in_manual() {
	sed -nE -e 's/^\.It Fl ([a-zA-Z])( Ar [A-Z]+)? , Fl (-[a-z-]+).*/-\1, -\3/p' \
		-e 's/^\.It Fl (-[a-z-]+).*/-\1/p' | sort
}

@test "the manual describes the options of --help, all of them and no other" {
	options_in_help >of-help
	section OPTIONS | options_in_manual >of-manual

	[ "$(wc -l <of-help)" -ge 31 ]
	diff of-help of-manual
}

@test "each option with an argument has its default in the manual, and --help the same" {
	section OPTIONS | awk '/^\.(It|Ss)/ {
			if (option != "" && !told)
				print option
			option = /Ns = Ns/ ? $0 : ""
			told = 0
			count += option != ""
		}
		/^Default:/ { told = 1 }
		END { print count >"count" }' >without
	[ "$(<count)" -ge 18 ]
	run ! grep -v 'Fl -cancel ' without # its argument is never left out

	"$WDRUN" --help | sed -nE \
		's/^ .*--([a-z-]+)=[^ ]+ .*\(([A-Za-z0-9]+)\)$/\1 \2/p' >of-help
	[ "$(wc -l <of-help)" -ge 10 ]
	section OPTIONS | awk '/^\.It / { sub(/.*Fl -/, ""); name = $1 }
		/^Default:$/ { getline; print name, $2 }' >of-manual
	grep -Fxf of-manual of-help | diff of-help -
}

@test "the statuses of the manual are those of README and --help" {
	local number
	section 'EXIT STATUS' | sed -nE 's/^\.It ([0-9]+)$/\1/p' >of-manual
	[ "$(wc -l <of-manual)" -ge 7 ]
	while read -r number; do
		grep -qE "^\| $number " "$readme"
	done <of-manual

	"$WDRUN" --help | sed -n '/^Status:/,/^More:/p' |
		grep -oE '\<[0-9]+\>' >of-help
	[ "$(wc -l <of-help)" -ge 5 ]
	run ! grep -vxFf of-manual of-help
}

# In less, which man(1) starts, a reader searches for /^ *-t.
@test "a reader finds each option of the manual, and the README's promises" {
	need mandoc
	local option promise
	mandoc -Tascii -O width=78 "$manual" | col -b >page
	grep -qx 'EXAMPLES' page

	options_in_help | tr -d , | tr ' ' '\n' >names
	[ "$(wc -l <names)" -ge 40 ]
	while read -r option; do
		case $option in
		--*) grep -qE "^ *(-., )?(-. [A-Z]+, )?$option\\>" page ;;
		*) grep -qE "^ *$option( [A-Z]+)?, " page ;;
		esac
	done <names

	sed -nE 's/^- \*\*([^*]+)\.\*\*.*/\1/p' "$readme" | tr -d '`' >promises
	[ "$(wc -l <promises)" -eq 6 ]
	sed -n '/^DESCRIPTION/,/^EXAMPLES/p' page >description
	while read -r promise; do
		grep -qixE "[[:blank:]]*$promise" description
	done <promises
}

@test "the version stands in the changelog, with a date" {
	local version
	version=$("$WDRUN" --version)
	grep -m 1 '^## ' "$root/CHANGELOG.md" |
		grep -qxE "## ${version#wdrun } \\([0-9]{4}-[0-9]{2}-[0-9]{2}\\)"
}

@test "what the manual says of setsid(1) is so" {
	section LIMITS | grep -qF '.Ql setsid -w'
	complete "$WDRUN" --idle-after-exit=never --max-after-exit=never \
		setsid sh -c 'touch later; exit 3'
	[ "$status" -eq 0 ]
	[ -e later ]
	complete "$WDRUN" setsid -w sh -c 'exit 3'
	[ "$status" -eq 3 ]
}
