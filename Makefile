PREFIX ?= /usr/local
CFLAGS ?= -O2 -g
BUILD  ?= build/default
ifeq ($(origin CC),default)
CC := $(shell command -v musl-gcc || echo cc)
endif

STANDARD := -std=c11 -D_GNU_SOURCE
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla -Wswitch-enum -Wimplicit-fallthrough -Wnull-dereference

ifneq (,$(findstring musl,$(CC)))
PLACING := -fno-pie
LINKING := -static -no-pie -Wl,-z,norelro -Wl,-z,noseparate-code -Wl,--build-id=none
endif

SOURCES := watchdog.c $(wildcard src/*.c)
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)

all: wdrun
wdrun: $(BUILD)/wdrun
	cp $< $@
$(BUILD)/wdrun: $(OBJECTS)
	$(CC) $(CFLAGS) $(LINKING) $(LDFLAGS) -o $@ $(OBJECTS)
$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(STANDARD) $(WARNINGS) $(PLACING) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
-include $(OBJECTS:.o=.d)
