# wdrun. Users own CC, CPPFLAGS, CFLAGS, LDFLAGS, DESTDIR, PREFIX and
# TIMEOUT_LINK; what the code itself needs is in STANDARD, WARNINGS, PLACING and
# LINKING.

PREFIX ?= /usr/local
BUILD  ?= build/default
ifeq ($(origin CC),default) # "CC ?=" would never take: make predefines cc
CC := $(shell command -v musl-gcc || echo cc)
endif
ifeq ($(origin CFLAGS),undefined) # gcc knows -Oz from version 12 on
CFLAGS := $(shell $(CC) -Oz -E -x c /dev/null >/dev/null 2>&1 && echo -Oz || echo -Os)
endif

STANDARD := -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 -I. -Isrc
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wcast-qual \
	-Wwrite-strings -Wformat=2 -Wundef -Wvla -Wswitch-enum \
	-Wimplicit-fallthrough -Wnull-dereference -Wunused-macros

# Static, at a fixed address, in two segments: exec has fewer mappings to make, and
# fork fewer pages to copy, which are most of the cost of a run. libc comes first:
# its variables are then in the page in which .data ends, and not behind our lists.
ifneq (,$(findstring musl,$(CC)))
PLACING := -flto -fno-pie -fno-asynchronous-unwind-tables
LINKING := -flto -flto-partition=one -static -no-pie -Wl,-z,norelro -Wl,-z,noseparate-code \
	-Wl,--build-id=none -Wl,--gc-sections -Wl,-u,__stack_chk_fail,-u,getopt_long,-u,sigaction -lc
endif

# Without symbols, unless CFLAGS have -g.
STRIPPED := $(if $(filter -g%,$(CFLAGS)),,-s)

SOURCES  := watchdog.c $(wildcard src/*/*.c)
HEADERS  := watchdog.h $(wildcard src/*/*.h)
OBJECTS  := $(SOURCES:%.c=$(BUILD)/%.o)
ROOMS    := $(filter-out $(BUILD)/watchdog.o,$(OBJECTS))
FORKS    := $(addprefix build/tests/,crowd chain storm hydra bomb successor threads)
PROGRAMS := $(addprefix build/tests/,$(basename $(notdir $(wildcard tests/programs/*.c tests/programs/*.py)))) \
	build/tests/escape $(FORKS)
UNITS    := $(patsubst tests/unit/%.c,$(BUILD)/unit-%,$(wildcard tests/unit/*.c))
FUZZERS  := $(BUILD)/entry $(BUILD)/procfs
BENCHES  := $(patsubst bench/%.c,build/bench/%,$(wildcard bench/*.c))
C_FILES  := $(SOURCES) $(HEADERS) $(wildcard tests/*/*.[ch] bench/*.[ch])
SCRIPTS  := .ci/run tests/run tests/find-bats \
	tests/install-tools tests/check tests/lint tests/demo tests/fuzz/run \
	tests/faults/run tests/mutants $(wildcard examples/*.sh) completions/wdrun.bash
HOST_CC  := cc
BIN       = $(DESTDIR)$(PREFIX)/bin
QUIET    := $(if $(V),,@)# "make V=1" shows the commands
VERSION   = $(shell sed -n 's/^.define WDRUN_VERSION "\(.*\)"/\1/p' src/cli/options.h)

# The build with sanitizers, and the build for the fuzzers.
ASAN := BUILD=build/asan CC=$(HOST_CC) CFLAGS="-O1 -g1 -fsanitize=address,undefined \
	-fno-sanitize-recover=all -fno-omit-frame-pointer"
FUZZ := BUILD=build/fuzz CC=clang CPPFLAGS=-DFUZZ CFLAGS="-O1 -g -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=all"

.PHONY: all debug demo deps test dist deb is-static lint check asan fuzz faults soak differential mutants model bench format install uninstall \
	clean programs units fuzzers

all: wdrun

# Moved into place, since a running binary cannot be written to.
wdrun: build/default/wdrun
	@cp $< $@.new && mv -f $@.new $@

# With symbols, for a debugger: build/debug/wdrun.
debug:
	@$(MAKE) --no-print-directory BUILD=build/debug CFLAGS="-Og -g" build/debug/wdrun

$(BUILD)/wdrun: $(OBJECTS)
	@echo '  link    $@'
	$(QUIET)$(CC) $(CFLAGS) $(PLACING) $(LINKING) $(STRIPPED) $(LDFLAGS) -o $@ $(OBJECTS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo '  compile $@'
	$(QUIET)$(CC) $(STANDARD) $(WARNINGS) $(PLACING) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(OBJECTS:.o=.d)

# Unit tests and fuzzers are linked with the rooms of their build, which are
# compiled once for all of them.
units: $(UNITS)
fuzzers: $(FUZZERS)
units fuzzers:
	@: # keeps make from saying that there is nothing to do

$(UNITS): $(BUILD)/unit-%: $(BUILD)/tests/unit/%.o $(ROOMS)
$(FUZZERS): $(BUILD)/%: $(BUILD)/tests/unit/%.o $(ROOMS)
$(UNITS) $(FUZZERS):
	@echo '  link    $@'
	$(QUIET)$(CC) $(CFLAGS) $(PLACING) $(LINKING) $(LDFLAGS) -o $@ $^

$(BUILD)/tests/%.o: WARNINGS := -Wall -Wextra

-include $(patsubst %.c,$(BUILD)/%.d,$(wildcard tests/unit/*.c))

demo: wdrun
	@tests/demo ./wdrun

programs: $(PROGRAMS)

# Static, where libc.a is there: they start in half the time.
# Asked once, where the first of them is compiled.
STATIC = $(eval STATIC := $(shell echo 'int main(void){}' | $(HOST_CC) -static -x c -o /dev/null - 2>/dev/null && echo -static))$(STATIC)

build/tests/%: tests/programs/%.c $(wildcard tests/programs/*.h)
	@mkdir -p $(@D)
	@echo '  compile $@'
	$(QUIET)$(HOST_CC) -O1 $(STATIC) $(STANDARD) -Wall -Wextra -pthread -o $@ $< -lrt

build/tests/%: tests/programs/%.py
	@install -D $< $@

# A program does what its name says.
build/tests/escape: build/tests/act
$(FORKS): build/tests/forks
build/tests/escape $(FORKS):
	@ln -f $< $@

# Installs what "make test" skips tests without.
deps:
	@tests/install-tools test

# On all processors, unless make was told on how many.
ALL_CORES = $(if $(findstring -j,$(MAKEFLAGS)),,-j $(shell nproc))

# The promises. Only "make check" also runs the unit tests, and the tests of what is
# written (words), of the programs of others (programs), and those that are slow: they
# add load, or a corner, to what a quicker test shows, or sit a deadline out.
test:
	@$(MAKE) --no-print-directory $(ALL_CORES) wdrun programs
	@WDRUN="$$PWD/wdrun" PROGRAMS="$$PWD/build/tests" TAGS='!words,!programs,!slow' tests/run

lint:
	@tests/install-tools lint
	@STANDARD="$(STANDARD)" WARNINGS="$(WARNINGS)" tests/lint "$(SOURCES)" "$(HEADERS)" "$(C_FILES)" "$(SCRIPTS)"

# Everything: lint, then the tests on each build.
check:
	@tests/check

# The build with sanitizers, and its unit tests.
asan:
	@$(MAKE) --no-print-directory $(ASAN) build/asan/wdrun units

# Fuzzes each parser of text from outside for FUZZ_SECONDS.
fuzz:
	@tests/install-tools fuzz
	@$(MAKE) --no-print-directory $(FUZZ) fuzzers
	@FUZZ_SECONDS="$(FUZZ_SECONDS)" tests/fuzz/run $(FUZZERS:$(BUILD)/%=build/fuzz/%)

# Makes each system call of wdrun fail once, and kills it at its calls: all cases,
# or those with MATCH in their name.
faults: wdrun build/faults/native.so build/tests/act
	@! readelf -lW wdrun | grep -q INTERP || { echo 'make faults: needs a static wdrun' \
		'(musl-gcc, or LDFLAGS=-static): faults of the loader count, too' >&2; exit 1; }
	@tests/faults/run ./wdrun tests/faults/sweep.py $(if $(MATCH),-m $(MATCH))

# Storms, then RUNS (1000) runs, AT_ONCE (100) side by side, killed at the moments
# that SEED (1) makes.
soak: wdrun build/faults/native.so $(patsubst %,build/tests/%,act crowd chain storm hydra)
	@tests/faults/run ./wdrun tests/faults/soak.py $(if $(RUNS),-n $(RUNS)) $(if $(AT_ONCE),-p $(AT_ONCE)) $(if $(SEED),-s $(SEED))

build/faults/%.so: tests/faults/%.c
	@mkdir -p $(@D)
	@echo '  compile $@'
	$(QUIET)$(HOST_CC) -O1 -g -shared -fPIC $(STANDARD) -Wall -Wextra -o $@ $<

# CASES (300) random callers and commands, bare and below wdrun, from SEED (1).
differential: wdrun build/differential/probe
	@tests/differential/run ./wdrun build/differential/probe $(if $(CASES),-n $(CASES)) $(if $(SEED),-s $(SEED))

build/differential/%: tests/differential/%.c
	@mkdir -p $(@D)
	@echo '  compile $@'
	$(QUIET)$(HOST_CC) -O1 -g $(STANDARD) -Wall -Wextra -o $@ $<

# Breaks each sentence of the promises in the sources, one after the other, or those
# that MATCH: a test has to fail for each.
mutants:
	@tests/mutants '$(MATCH)'

# Orders, facts and the two deaths as a model: each state of it. Needs spin(1).
model:
	@mkdir -p build/model
	@cd build/model && spin -a ../../tests/model/run.pml && $(HOST_CC) -O2 -DSAFETY -DCOLLAPSE -o pan pan.c
	@cd build/model && ./pan -m200000 -w24 | grep -E 'errors|states, stored' | tee result
	@grep -q 'errors: 0' build/model/result

bench: wdrun
	@tests/install-tools bench
	@$(MAKE) --no-print-directory --silent $(BENCHES)
	@bench/run ./wdrun build/bench

build/bench/%: bench/%.c
	@mkdir -p $(@D)
	@echo '  compile $@'
	$(QUIET)$(CC) -static -O2 $(STANDARD) -Wall -Wextra -o $@ $<

format:
	clang-format -i $(C_FILES)

# The usual directories. Each shell searches these for PREFIX=/usr, and for
# /usr/local where XDG_DATA_DIRS or the shell's own list has it.
SHARE    = $(DESTDIR)$(PREFIX)/share
MAN_DIR  = $(SHARE)/man/man1
BASH_DIR = $(SHARE)/bash-completion/completions
ZSH_DIR  = $(SHARE)/zsh/site-functions
FISH_DIR = $(SHARE)/fish/vendor_completions.d

# Users' words stand between the quotes below, so they cannot have a quote.
CHECKED = $(if $(findstring ',$(DESTDIR)$(PREFIX)$(TIMEOUT_LINK)),$(error \
	DESTDIR, PREFIX and TIMEOUT_LINK: no quote (') can be in them))

# TIMEOUT_LINK=timeout (or wdrun-timeout) also makes a link that replaces
# timeout(1), but not over an existing file that is not such a link.
install: wdrun
	$(CHECKED)install -d '$(BIN)' '$(MAN_DIR)' '$(BASH_DIR)' '$(ZSH_DIR)' '$(FISH_DIR)'
	install -m 755 wdrun '$(BIN)/wdrun'
	install -m 644 man/wdrun.1 '$(MAN_DIR)/wdrun.1'
	install -m 644 completions/wdrun.bash '$(BASH_DIR)/wdrun'
	install -m 644 completions/_wdrun '$(ZSH_DIR)/_wdrun'
	install -m 644 completions/wdrun.fish '$(FISH_DIR)/wdrun.fish'
	@case '$(TIMEOUT_LINK)' in '') exit 0 ;; *timeout) ;; \
		*) echo 'TIMEOUT_LINK: has to end with timeout' >&2; exit 1 ;; esac; \
	link='$(BIN)/$(TIMEOUT_LINK)'; \
	if { [ -e "$$link" ] || [ -L "$$link" ]; } && [ "$$(readlink "$$link")" != wdrun ]; then \
		echo "$$link is there, and is not wdrun's: left alone" >&2; exit 1; \
	fi; \
	echo "ln -sf wdrun $$link" && ln -sf wdrun "$$link"

uninstall:
	@$(CHECKED)for link in '$(BIN)'/*timeout; do \
		[ "$$(readlink "$$link")" != wdrun ] || rm -f "$$link"; done
	rm -f '$(BIN)/wdrun' '$(MAN_DIR)/wdrun.1' '$(BASH_DIR)/wdrun' '$(ZSH_DIR)/_wdrun' '$(FISH_DIR)/wdrun.fish'

# build/dist/wdrun-VERSION-linux-ARCH.tar.gz: the static binary, manual and
# completions below bin and share, and SHA256SUMS. The same compiler makes the same
# bytes from the same sources: files are sorted, have no owner, and are as old as
# the release in CHANGELOG.md.
RELEASE   = wdrun-$(VERSION)-linux-$(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
RELEASED  = $(shell sed -n '/^\#\# .* (\(.*\))$$/{s//\1/p;q}' CHANGELOG.md)
TAR_FLAGS = --format=ustar --sort=name --owner=0 --group=0 --numeric-owner \
	--mode=u=rwX,go=rX --mtime='$(RELEASED) 00:00:00 UTC'

is-static: wdrun
	@! readelf -lW wdrun | grep -q INTERP || \
		{ echo 'wdrun is not static: use musl-gcc, or LDFLAGS=-static' >&2; exit 1; }

dist: is-static
	@rm -rf build/dist
	@$(MAKE) --no-print-directory install DESTDIR='build/dist/$(RELEASE)' PREFIX= TIMEOUT_LINK= >/dev/null
	@cd build/dist && tar $(TAR_FLAGS) -cf '$(RELEASE).tar' '$(RELEASE)' && gzip -n9 '$(RELEASE).tar'
	@cd build/dist && sha256sum '$(RELEASE).tar.gz' >SHA256SUMS
	@echo 'build/dist/$(RELEASE).tar.gz' && cat build/dist/SHA256SUMS

# build/deb/wdrun_VERSION_ARCH.deb, a Debian package with the same: the same bytes
# from the same binary.
DEB_ARCH   = $(subst aarch64,arm64,$(subst x86_64,amd64,$(lastword $(subst -, ,$(RELEASE)))))
DEB        = build/deb/wdrun_$(VERSION)_$(DEB_ARCH)
MAINTAINER ?= wdrun maintainers <maintainers@wdrun.example>
define DEB_CONTROL
Package: wdrun
Version: $(VERSION)
Architecture: $(DEB_ARCH)
Maintainer: $(MAINTAINER)
Section: utils
Priority: optional
Description: run a command that cannot hang or leak processes
 wdrun runs a command, bounds how long it may take, and returns its exit status
 when every process that the command started is dead.
endef
define DEB_CHANGELOG
wdrun ($(VERSION)) unstable; urgency=medium

  * The changes are in CHANGELOG.md of the sources.

 -- $(MAINTAINER)  $(shell LC_ALL=C date -ud '$(RELEASED)' -R)
endef
export DEB_CONTROL DEB_CHANGELOG

deb: is-static
	@rm -rf build/deb
	@$(MAKE) --no-print-directory install DESTDIR='$(DEB)' PREFIX=/usr TIMEOUT_LINK= \
		ZSH_DIR='$(DEB)/usr/share/zsh/vendor-completions' >/dev/null
	@gzip -n9 '$(DEB)/usr/share/man/man1/wdrun.1'
	@cd '$(DEB)' && install -d DEBIAN usr/share/doc/wdrun usr/share/lintian/overrides
	@cd '$(DEB)' && echo "$$DEB_CONTROL" >DEBIAN/control
	@cd '$(DEB)/usr/share' && echo "$$DEB_CHANGELOG" | gzip -n9 >doc/wdrun/changelog.gz && \
		echo 'Copyright 2026 the wdrun authors' >doc/wdrun/copyright && \
		echo 'wdrun: statically-linked-binary' >lintian/overrides/wdrun
	@chmod -R u=rwX,go=rX '$(DEB)'
	@SOURCE_DATE_EPOCH=$$(date -ud '$(RELEASED)' +%s) \
		dpkg-deb --root-owner-group -Zgzip --build '$(DEB)' >/dev/null
	@echo '$(DEB).deb' && sha256sum '$(DEB).deb'

clean:
	rm -rf build wdrun
