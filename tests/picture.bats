#!/usr/bin/env bats
#
# The picture that the benchmark draws can be shown by any page: complete XML,
# without references to other places, with the figures that the benchmark
# measured.
#
# shellcheck disable=SC2154

load helper

# elements FILE: prints a line "NAME ATTRIBUTE=VALUE..." for each element, as an
# XML parser finds it, and texts as "TEXT text". Each python3 has this parser.
elements() {
	python3 -c 'if True:
		import pyexpat, sys
		parser = pyexpat.ParserCreate()
		parser.buffer_text = True
		parser.StartElementHandler = lambda name, attributes: print(
			name, *[k + "=" + v for k, v in sorted(attributes.items())])
		parser.CharacterDataHandler = lambda text: print("TEXT", text)
		parser.ParseFile(open(sys.argv[1], "rb"))' "$1"
}

# is_whole FILE: the picture is complete and small, fits light and dark pages,
# and refers to no other place.
is_whole() {
	elements "$1" >found
	grep -q '^svg .*viewBox=' found
	grep -q '^title' found
	[ "$(grep -c '^text .*id=machine' found)" -eq 1 ]
	grep -q 'prefers-color-scheme: dark' "$1"
	run ! grep -qE 'url\(|href|@import|@font-face|<script|<image' "$1"
	[ "$(stat -c %s "$1")" -lt 8192 ]
}

@test "the picture shows the figures of the bench, in bars to scale" {
	need python3
	printf '%s\n' 'wdrun 200.4 0 1000' 'slow 800.6 999 1000' \
		'half 400.0 500 1000' 'unknown ? ? 1000' |
		"$root/bench/picture" 'a <CPU> & more, 2 CPUs' >picture.svg

	is_whole picture.svg
	grep -qx 'TEXT a <CPU> & more, 2 CPUs' found
	diff - <(sed -nE 's/^rect class=(own|peer|left) .* width=([0-9.]+).*/\1 \2/p' \
		found) <<-'END'
		own 57.6
		peer 230.0
		left 229.8
		peer 114.9
		left 115.0
	END
	for text in wdrun slow half unknown 200 801 400 0 999 500 '?'; do
		grep -qxF "TEXT $text" found
	done
}

@test "the picture of the README is there, and is that of the bench" {
	need python3
	grep -qE '^!\[[^]]+\]\(bench/picture\.svg\)$' "$root/README.md"

	is_whole "$root/bench/picture.svg"
	grep -qE '^TEXT .+, [0-9]+ CPUs, Linux [0-9.]+; median of [0-9]+ ' found
	for name in wdrun timeout tini dumb-init catatonit timelimit; do
		grep -qx "TEXT $name" found
	done
}
