# wdrun. Users own CC, CPPFLAGS, CFLAGS, LDFLAGS, DESTDIR, PREFIX and
# TIMEOUT_LINK; what the code itself needs is in STANDARD, WARNINGS, PLACING and
# LINKING.

PREFIX ?= /usr/local
BUILD  := build/default
CFLAGS ?= -Os
ifeq ($(origin CC),default) # "CC ?=" would never take: make predefines cc
CC := $(shell command -v musl-gcc || echo cc)
endif

STANDARD := -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 -I. -Isrc
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wcast-qual \
	-Wwrite-strings -Wformat=2 -Wundef -Wvla -Wswitch-enum \
	-Wimplicit-fallthrough -Wnull-dereference -Wunused-macros

# Static, at a fixed address, in two segments: exec has fewer mappings to make, and
# fork fewer pages to copy, which are most of the cost of a run.
ifneq (,$(findstring musl,$(CC)))
PLACING := -flto -fno-pie -fno-asynchronous-unwind-tables
LINKING := -flto -flto-partition=one -static -no-pie -Wl,-z,norelro -Wl,-z,noseparate-code \
	-Wl,--build-id=none -Wl,--gc-sections
endif

# Without symbols, unless CFLAGS have -g.
STRIPPED := $(if $(filter -g%,$(CFLAGS)),,-s)

SOURCES  := watchdog.c $(wildcard src/*/*.c)
HEADERS  := watchdog.h $(wildcard src/*/*.h)
OBJECTS  := $(SOURCES:%.c=$(BUILD)/%.o)
ROOMS    := $(filter-out $(BUILD)/watchdog.o,$(OBJECTS))
BIN       = $(DESTDIR)$(PREFIX)/bin
QUIET    := $(if $(V),,@)# "make V=1" shows the commands
VERSION   = $(shell sed -n 's/^.define WDRUN_VERSION "\(.*\)"/\1/p' src/cli/options.h)

.PHONY: all debug demo test deps install uninstall dist deb is-static clean

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

demo: wdrun
	@tests/demo ./wdrun

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

# Checks, benchmarks, test programs. A release without tests has none of these.
-include tests/tests.mk
