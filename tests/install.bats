#!/usr/bin/env bats
#
# make install, uninstall and dist, in a copy of this tree with the wdrun under test.
# bats file_tags=words

load helper

setup() {
	common_setup
	unset PREFIX DESTDIR TIMEOUT_LINK MAKEFLAGS MAKELEVEL # perf(1) sets the first
	cp -a "$root"/{Makefile,watchdog.[ch],src,man,completions,CHANGELOG.md} .
	(cd "$root" && find src -type d) | sed "s,^,build/default/," | xargs mkdir -p
	make --touch wdrun >/dev/null
	install -m 755 "$WDRUN" build/default/wdrun
	install -m 755 "$WDRUN" wdrun
}

# makes STATUS ARGUMENT...: make ARGUMENT... ends so.
makes() {
	gives "$1" complete make --no-print-directory "${@:2}"
}

@test "make install puts each file where programs look for it; no other file is replaced or removed" {
	mkdir bystander
	for place in there 'x &&* bystander;touch ran $(touch ran)'; do
		made=(DESTDIR="$PWD/${place//\$/\$\$}" PREFIX='/u s r') # make's dollar sign
		mkdir -p "$place/u s r/bin"
		echo precious >"$place/u s r/bin/gtimeout"
		makes 0 install "${made[@]}" TIMEOUT_LINK=timeout
		makes 0 install "${made[@]}" TIMEOUT_LINK=timeout
		makes 2 install "${made[@]}" TIMEOUT_LINK=gtimeout
		makes 2 install "${made[@]}" TIMEOUT_LINK=nothing
		(
			cd "$place/u s r"
			cmp bin/wdrun "$WDRUN"
			[ "$(readlink bin/timeout)" = wdrun ]
			cd share
			cmp man/man1/wdrun.1 "$root/man/wdrun.1"
			cmp bash-completion/completions/wdrun "$root/completions/wdrun.bash"
			cmp zsh/site-functions/_wdrun "$root/completions/_wdrun"
			cmp fish/vendor_completions.d/wdrun.fish "$root/completions/wdrun.fish"
		)
		makes 0 uninstall "${made[@]}"
		[ "$(find "$place" ! -type d)" = "$place/u s r/bin/gtimeout" ]
		[ "$(<"$place/u s r/bin/gtimeout")" = precious ]
	done
	for target in install uninstall; do
		makes 2 "$target" DESTDIR="$PWD/d'e; touch ran; '"
		[ "$(grep -c . err)" -eq 1 ]
		[[ $stderr == *DESTDIR*PREFIX*TIMEOUT_LINK*quote* ]]
	done
	[ ! -e ran ]
	[ -d bystander ]
}

@test "make dist and make deb make an archive and a package, the same ones each time" {
	need dpkg-deb
	if grep -q INTERP <(readelf -lW wdrun); then
		makes 2 dist # only a static wdrun runs elsewhere
		return
	fi
	makes 0 dist deb
	(cd build/dist && sha256sum --check SHA256SUMS)
	tar -xzf build/dist/wdrun-*-linux-*.tar.gz
	cmp wdrun wdrun-*/bin/wdrun
	cmp man/wdrun.1 wdrun-*/share/man/man1/wdrun.1
	[ "$(find wdrun-*/share -type f | wc -l)" -eq 4 ]
	dpkg-deb -x build/deb/wdrun_*.deb root
	cmp wdrun root/usr/bin/wdrun
	cmp man/wdrun.1 <(gzip -dc root/usr/share/man/man1/wdrun.1.gz)

	sha256sum build/dist/SHA256SUMS build/deb/wdrun_*.deb >first
	touch man/wdrun.1 completions/_wdrun
	makes 0 dist deb
	sha256sum --check first
}
