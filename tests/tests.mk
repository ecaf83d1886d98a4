# What the tests and tools need beside the Makefile, which includes this file: the
# checks (lint, check, faults, soak, differential, fuzz, mutants, model), the bench,
# and what they are built from. HACKING.md says when to use which.

HOST_CC  := cc
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

# The build with sanitizers, and the build for the fuzzers.
ASAN := BUILD=build/asan CC=$(HOST_CC) CFLAGS="-O1 -g1 -fsanitize=address,undefined \
	-fno-sanitize-recover=all -fno-omit-frame-pointer"
FUZZ := BUILD=build/fuzz CC=clang CPPFLAGS=-DFUZZ CFLAGS="-O1 -g -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=all"

.PHONY: lint check asan fuzz faults soak differential mutants model bench format \
	programs units fuzzers

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

# Links: the program does what the name says by which it is started.
build/tests/escape: build/tests/act
$(FORKS): build/tests/forks
build/tests/escape $(FORKS):
	@ln -f $< $@

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
