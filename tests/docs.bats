#!/usr/bin/env bats
#
# What is written about wdrun is what wdrun does: manual, README and --help
# know the same options, the messages of the manual exist, and the commands of
# the README run.
#
# In the README, `<!-- run: STATUS -->` before a ```sh block says that the block
# runs, and that its last command ends with STATUS; a ```text block right after
# it is what is printed, digits apart.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load helper

manual=$root/man/wdrun.1
readme=$root/README.md

# section NAME: its lines, with mdoc's escapes undone.
section() {
	sed -n "/^\.Sh $1\$/,/^\.Sh /p" "$manual" |
		sed -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\(dq/"/g'
}

# options_in_help: of lines as --help has them, "-t, --timeout", one a line.
options_in_help() {
	sed -nE 's/^ +((-[a-zA-Z], )?--[a-z-]+).*/\1/p' | sort
}

# The same of lines like ".It Fl t Ar DUR , Fl -timeout Ns = Ns Ar DUR".
options_in_manual() {
	sed -nE -e 's/^\.It Fl ([a-zA-Z])( Ar [A-Z]+)? , Fl (-[a-z-]+).*/-\1, -\3/p' \
		-e 's/^\.It Fl (-[a-z-]+).*/-\1/p' | sort
}

@test "the manual describes the options of --help, all of them and no other" {
	"$WDRUN" --help | options_in_help >of-help
	section OPTIONS | options_in_manual >of-manual

	[ "$(wc -l <of-help)" -ge 31 ]
	diff of-help of-manual
}

@test "the manual has its options in alphabetical order" {
	section OPTIONS | sed -nE 's/^\.It Fl .*Fl -([a-z-]+).*/\1/p
		t
		s/^\.It Fl -([a-z-]+).*/\1/p' >order

	[ "$(wc -l <order)" -ge 31 ]
	LC_ALL=C sort -c order
}

@test "each option of the manual is taken, with an argument where it shows one" {
	local - option partner expected command
	set +T
	section OPTIONS | sed -nE 's/^\.It .*Fl (-[a-z-]+)( Ns = Ns .*)?$/-\1\2/p' |
		sed -e 's/ Ns = Ns .*/=/' | grep -vE 'help|version' >taken
	[ "$(wc -l <taken)" -ge 29 ]
	export WDRUN_REGISTRY=$PWD/record

	while read -r option; do
		expected=0
		command=true
		case $option in
		--list | --json | --reap) command='' ;;
		--cancel=) # which needs somebody to be stopped
			option+=nobody
			command=''
			expected=1
			;;
		--signal=) option+=TERM ;;
		--survivors=) option+='kill' ;;
		--lock-exit=) option+=99 ;;
		--until= | --tee= | --lock= | --cleanup= | --name=)
			option+=text
			;;
		--registry=) option+=record ;;
		*=) option+=never ;;
		esac
		case $option in # what it says nothing without
		--idle-unless-busy) partner=--idle-timeout=never ;;
		--until-grace=*) partner=--until=text ;;
		--lock-*) partner=--lock=text ;;
		--json) partner=--list ;;
		*) partner='' ;;
		esac
		status=0
		"$WDRUN" ${partner:+"$partner"} "$option" ${command:+"$command"} \
			</dev/null >out 2>err || status=$?
		[ "$status" -eq "$expected" ] || {
			echo "$option: $status" && cat err
			return 1
		}
	done <taken
}

@test "the README lists the options of --help, all of them and no other" {
	"$WDRUN" --help | options_in_help >of-help
	sed -n '/^Usage: wdrun/,/^```/p' "$readme" | options_in_help >of-readme

	diff of-help of-readme
}

@test "the defaults of --help are those of the manual" {
	"$WDRUN" --help |
		sed -nE -e '/\(repeatable\)$/d' \
			-e 's/^ .*--([a-z-]+)=[^ ]+ .*\(([A-Za-z0-9]+)\)$/\1 \2/p' \
			>of-help
	[ "$(wc -l <of-help)" -ge 10 ]

	section OPTIONS | awk '/^\.It / { sub(/.*Fl -/, ""); name = $1 }
		/^Default:$/ { getline; print name, $2 }' >of-manual
	grep -Fxf of-manual of-help | diff of-help -
}

@test "mandoc finds nothing wrong with the manual" {
	need mandoc

	run ! grep -v 'referenced manual not found' \
		<(mandoc -Tlint "$manual" 2>/dev/null)
}

# The manual as it is read, its paragraphs on one line each.
rendered() {
	mandoc -Tascii -O width=200 "$manual" | col -b
}

@test "the promises of the manual are those of the README" {
	need mandoc
	local promise
	sed -nE 's/^\*\*([^*]+)\.\*\*.*/\1/p' "$readme" | tr -d '`' >promises
	[ "$(wc -l <promises)" -eq 6 ]
	rendered | sed -n '/^DESCRIPTION/,/^OPTIONS/p' >description

	while read -r promise; do
		grep -qixE "[[:blank:]]*$promise" description
	done <promises
}

# Brackets are marks between words for mdoc(7), and stand outside of quotes.
@test "a command with brackets is whole in the manual" {
	need mandoc
	rendered | tr -s ' \t\n' ' ' | grep -qF "\`[ FILE -ef /dev/fd/9 ]'"
}

@test "what the manual says of setsid(1), and of numbers of signals, is so" {
	section CAVEATS | grep -qF '.Ql setsid -w'
	complete "$WDRUN" --idle-after-exit=never --max-after-exit=never \
		setsid sh -c 'touch later; exit 3'
	[ "$status" -eq 0 ]
	[ -e later ]
	complete "$WDRUN" setsid -w sh -c 'exit 3'
	[ "$status" -eq 3 ]
	complete "$WDRUN" --foreground setsid sh -c 'exit 3'
	[ "$status" -eq 3 ]

	ln -s "$WDRUN" timeout
	for number in 65 128 256 265; do
		complete ./timeout -s "$number" 1 true
		[ "$status" -eq 125 ]
	done
	for number in 0 137; do
		complete ./timeout -s "$number" 50 true
		[ "$status" -eq 0 ]
	done
}

# source_text [BUT]: the source on one line, the parts of its strings joined;
# without the file BUT.
source_text() {
	find "$root"/watchdog.c "$root"/src/*.[ch] ! -name "${1:-}" -exec cat {} + |
		tr -s '\n\t ' ' ' |
		sed -E 's/" PRI[a-z0-9]+ "/u/g; s/" "//g'
}

# said BY...: what the functions BY are given to say, cut at what differs from
# time to time and at parentheses, a fragment a line. What is written into an
# entry of the registry is said to nobody.
said() {
	source_text entry.c |
		grep -oE "\<($(IFS='|' && echo "$*"))\( ?(&?line, )?\"[^\"]*" |
		sed -E -e 's/^[a-z_]+\( ?(&?line, )?"//' \
			-e 's/%[-0-9]*l*(zu|[a-z])|\([^)]*\)?|\)/\n/g' |
		sed -E 's/^[^a-z]+//; s/[^a-z]+$//' | grep '[a-z]...' | sort -u
}

# all_are_in TEXT FRAGMENTS: each line of the file FRAGMENTS is in the file TEXT.
all_are_in() {
	awk -v text="$1" 'FILENAME == text { all = all $0 "\n"; next }
		!index(all, $0) { print "not in the " text ": " $0; bad = 1 }
		END { exit bad }' "$1" "$2"
}

@test "the messages of the manual are in the source" {
	source_text >source
	section DIAGNOSTICS | grep '^\.It' | grep -oE '"[^"]+"' |
		sed -E 's/^"|"$//g' >parts
	[ "$(wc -l <parts)" -ge 60 ]

	all_are_in source parts
}

@test "what wdrun can say is in the manual" {
	said die message refuse refuse_combination line_add >fragments
	[ "$(wc -l <fragments)" -ge 50 ]
	section DIAGNOSTICS >diagnostics

	all_are_in diagnostics fragments
}

@test "the statuses of the manual are those of the README" {
	section 'EXIT STATUS' | sed -nE 's/^\.It ([0-9]+)$/\1/p' >of-manual

	while read -r number; do
		grep -qE "^\| $number " "$readme"
	done <of-manual
	[ "$(wc -l <of-manual)" -ge 7 ]
}

# Two would read the same keys, and set the terminal's modes for one another.
@test "an example with --pty and a pager leaves the terminal to the pager" {
	local example
	{
		section EXAMPLES
		cat "$readme"
	} | grep -E -- '--pty .*\| *(less|more)\>' >examples
	[ "$(wc -l <examples)" -ge 2 ]

	while read -r example; do
		[[ $example == *--no-stdin* ]]
	done <examples
}

# Writes the blocks of the README that are marked: N.sh, N.status and, where it
# is told, N.expected.
take_blocks() {
	awk '
		/^<!-- run: [0-9]+ -->$/ { status = $3; next }
		/^```sh$/ && status != "" {
			file = ++n ".sh"
			print status >(n ".status")
			status = ""
			after = 0
			next
		}
		/^```text$/ && after { file = n ".expected"; after = 0; next }
		/^```$/ { after = file ~ /\.sh$/; file = ""; next }
		file != "" { print >file; next }
		/[^ ]/ && !/^It prints:$/ { after = 0 }
	' "$readme"
}

# run_block N [0]: with its times, or ten times as long ones. In the README, the
# working directory is /srv/review.
run_block() {
	rm -rf "$1.room"
	mkdir "$1.room"
	cd "$1.room" || return
	sed -E -e "s/(-[tk] 1)( [^&])/\1$2\2/g" -e "s/([0-9])ms/\1$2ms/g" \
		-e "${2:+s/\<0[.]5\>/5/g}" "../$1.sh" >"../$1.paced"
	start bash "../$1.paced"
	finish
	cat err out | sed "s|$PWD|/srv/review|g" >../"$1.printed"
	echo "$status" >../"$1.ended"
}

# Digits are PIDs and the like; the order of the lines is that of two streams.
normalised() {
	sed -E -e 's/[0-9]+([.][0-9]+)?(ms|s|m)\>/Ns/g' -e 's/[0-9]+/N/g' "$1" | sort
}

is_as_told() {
	diff "$1.status" "$1.ended" && { [ ! -e "$1.expected" ] ||
		diff <(normalised "$1.expected") <(normalised "$1.printed"); }
}

@test "the commands of the README run, and end and print as it says" {
	local block number zero blocks left pids
	take_blocks
	[ -s 5.sh ]
	mkdir bin
	ln -s "$WDRUN" bin/wdrun
	PATH=$PWD/bin:$PATH

	# On a slow machine, its times are too short to see what it tells of.
	blocks=([0-9]*.sh)
	for zero in '' 0; do
		pids=() left=()
		for block in "${blocks[@]}"; do
			(run_block "${block%.sh}" "$zero") \
				>"${block%.sh}.log" 3>&- &
			pids+=("$!")
		done
		wait "${pids[@]}" # and not for bats's own clock
		for block in "${blocks[@]}"; do
			number=${block%.sh}
			is_as_told "$number" >"$number.diff" || left+=("$block")
		done
		blocks=("${left[@]}")
		((${#left[@]} > 0)) || break
	done

	for block in "${blocks[@]}"; do
		number=${block%.sh}
		echo "--- block $number" &&
			cat "$number.paced" "$number.log" "$number.diff"
	done
	((${#blocks[@]} == 0))
}
