#!/usr/bin/env bats
#
# What is written about wdrun is what wdrun does: manual, README and --help
# have the same options, defaults and exit statuses, and the commands of the
# README run. A reader has to get through README and manual, so both have a bound.
#
# In the README, `<!-- run: STATUS -->` before a ```sh block says that the block
# runs, and that its last command ends with STATUS; a ```text block right after
# it is what is printed, digits apart.
#
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

# options_in_help: reads the output of --help, and prints each option as "-t,
# --timeout".
options_in_help() {
	sed -nE 's/^ +((-[a-zA-Z], )?--[a-z-]+).*/\1/p' | sort
}

# The same for lines like ".It Fl t Ar DUR , Fl -timeout Ns = Ns Ar DUR".
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

@test "each option with an argument has its default in the manual" {
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
		--cancel=) # which fails without a run of that name
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
		case $option in # the option without which this option is an error
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

@test "README and manual are short enough to be read" {
	[ "$(wc -l <"$readme")" -le 220 ]
	[ "$(wc -w <"$readme")" -le 1600 ]
	[ "$(wc -l <"$manual")" -le 1400 ]
}

# In less, which man(1) starts, a reader searches for /^ *-t.
@test "a search for the beginning of a line finds each option in the manual" {
	need mandoc
	local option
	mandoc -Tascii -O width=78 "$manual" | col -b >page
	grep -qx 'EXAMPLES' page

	"$WDRUN" --help | options_in_help | tr -d , | tr ' ' '\n' >names
	[ "$(wc -l <names)" -ge 40 ]
	while read -r option; do
		case $option in
		--*) grep -qE "^ *(-., )?(-. [A-Z]+, )?$option\\>" page ;;
		*) grep -qE "^ *$option( [A-Z]+)?, " page ;;
		esac
	done <names
}

@test "the version stands in the changelog, with a date" {
	local version
	version=$("$WDRUN" --version)
	grep -m 1 '^## ' "$root/CHANGELOG.md" |
		grep -qxE "## ${version#wdrun } \\([0-9]{4}-[0-9]{2}-[0-9]{2}\\)"
}

# Wrappers that this machine lacks, or cannot run, have no column in FILE.
columns_of_readme() {
	awk -F ' *[|] *' '
		NR == FNR { if (FNR == 1) for (i = 3; i < NF; i++) measured[$i]; next }
		/^\| still alive / { for (i = 3; i < NF; i++) wanted[i] = $i in measured }
		/^\| a (child|daemon)/ {
			printf "| %s", $2
			for (i = 3; i < NF; i++)
				if (wanted[i])
					printf " | %s", $i
			print " |"
		}' "$1" "$readme"
}

@test "the README's table of survivors is what bench/survivors measures" {
	"$root/bench/survivors" "$WDRUN" "$PROGRAMS" >table 2>said || {
		cat said
		return 1
	}
	[[ $(head -n 1 table) == *timeout*wdrun* ]]
	[ "$(wc -l <table)" -ge 8 ]

	diff <(columns_of_readme table) <(tail -n +3 table)
}

@test "mandoc finds nothing wrong with the manual" {
	need mandoc

	# Which referenced pages exist depends on the machine. EXAMPLES come
	# early on purpose.
	run ! grep -vE 'referenced manual not found|conventional order: Sh ENV' \
		<(mandoc -Tlint "$manual" 2>/dev/null)
}

# Prints the manual as a reader sees it, each paragraph on one line.
rendered() {
	mandoc -Tascii -O width=200 "$manual" | col -b
}

@test "the promises of the manual are those of the README" {
	need mandoc
	local promise
	sed -nE 's/^- \*\*([^*]+)\.\*\*.*/\1/p' "$readme" | tr -d '`' >promises
	[ "$(wc -l <promises)" -eq 6 ]
	rendered | sed -n '/^DESCRIPTION/,/^EXAMPLES/p' >description

	while read -r promise; do
		grep -qixE "[[:blank:]]*$promise" description
	done <promises
}

# In mdoc(7) brackets are delimiters, and are put outside of quotes unless they
# are escaped.
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

@test "the statuses of the manual are those of the README" {
	section 'EXIT STATUS' | sed -nE 's/^\.It ([0-9]+)$/\1/p' >of-manual

	while read -r number; do
		grep -qE "^\| $number " "$readme"
	done <of-manual
	[ "$(wc -l <of-manual)" -ge 7 ]
}

@test "the statuses of --help are in the manual" {
	section 'EXIT STATUS' | sed -nE 's/^\.It ([0-9]+)$/\1/p' >of-manual
	"$WDRUN" --help | sed -n '/^Status:/,/^More:/p' |
		grep -oE '\<[0-9]+\>' >of-help

	[ "$(wc -l <of-help)" -ge 5 ]
	run ! grep -vxFf of-manual of-help
}

# Both programs would read the same keys, and each would set the terminal's
# modes.
@test "an example with --pty and a pager leaves the terminal to the pager" {
	local example
	{
		section EXAMPLES
		cat "$readme"
	} | grep -E -- '--pty .*\| *(less|more)\>' >examples
	[ "$(wc -l <examples)" -ge 1 ]

	while read -r example; do
		[[ $example == *--no-stdin* ]]
	done <examples
}

# Writes the blocks of the README that have a mark: N.sh, N.status and, where
# the README shows the output, N.expected.
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

# run_block N [0]: runs a block with its times, or with times that are ten times
# as long. In the README the working directory is /srv/review.
run_block() {
	rm -rf "$1.dir"
	mkdir "$1.dir"
	cd "$1.dir" || return
	sed -E -e "s/(-[tk] 1)( [^&])/\1$2\2/g" -e "s/([0-9])ms/\1$2ms/g" \
		-e "${2:+s/\<0[.]5\>/5/g}" "../$1.sh" >"../$1.paced"
	start bash "../$1.paced"
	finish
	cat err out | sed "s|$PWD|/srv/review|g" >../"$1.printed"
	echo "$status" >../"$1.ended"
}

# Replaces numbers, which are PIDs and times, and sorts the lines, since two
# streams have no common order.
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
	[ -s 1.sh ]
	mkdir bin
	ln -s "$WDRUN" bin/wdrun
	PATH=$PWD/bin:$PATH

	# On a slow machine the times of the README are too short; then the
	# longer times have to do.
	blocks=([0-9]*.sh)
	for zero in '' 0; do
		pids=() left=()
		for block in "${blocks[@]}"; do
			(run_block "${block%.sh}" "$zero") \
				>"${block%.sh}.log" 3>&- &
			pids+=("$!")
		done
		wait "${pids[@]}" # not for bats's own background process
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
