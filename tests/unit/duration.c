/* A table of durations: what is read, what is refused, what is written. */
#include "base/duration.h"

#include "check.h"

/* Texts of the same duration. */
static const struct {
	int64_t ns;
	const char *texts;
} accepted[] = {
	{ 0, "0|0.0|-0.0" },
	{ 1, "0.0000000000000000000000000001|1e-5000|0x1p-9999" },
	{ 500000, "0.5ms" },
	{ 123456789, "0.123456789" },
	{ 250 * MILLISECOND, "250ms" },
	{ 500 * MILLISECOND, ".5" },
	{ SECOND, "1|1s|1." },
	{ 1500 * MILLISECOND, "1.5" },
	{ 10 * SECOND, "10sec" },
	{ 100 * SECOND, " +1e2s" },
	{ 960 * SECOND, "0x10m" },
	{ 1800 * SECOND, "30m" },
	{ 3600 * SECOND + 1, "1h1e-5000s" },
	{ 5400 * SECOND, "1.5h|90min|1h30m" },
	{ 5430 * SECOND, "1.5h.5m" },
	{ 172800 * SECOND, "2d" },
	{ 1209600 * SECOND, "2w" },
	{ INT64_C(788645006) * MILLISECOND, "1w2d3h4m5s6ms" },
	{ NEVER, "never|infinity|inf|9223372037|106752d|15250w10000000s|1e400|"
	         "99999999999999999999999999999999" },
};

static const char *const refused[] = {
	"",           ".",     "s",    "-1",     "nan",   "1 ",   "5x",
	" -1e-10000", "1e",    "0x",   "1secs",  "1.5.5", "1,5",  "Never",
	"1ss",        "ms",    ".s",   "1 s",    "1h30",  "1h m", "1.5.2h",
	"1hm",        "1h-1m", "1h.m", "never0", "5mi",
};

static const struct {
	int64_t ns;
	const char *text;
} written[] = {
	{ 0, "0s" },
	{ 250 * MILLISECOND, "250ms" },
	{ SECOND, "1s" },
	{ 1500 * MILLISECOND, "1.5s" },
	{ 90500 * MILLISECOND, "1m30s" },
	{ 1800 * SECOND, "30m" },
	{ 5400 * SECOND, "1h30m" },
	{ 90061 * SECOND, "1d01h" },
	{ 86401 * SECOND, "1d" },
	{ 1209600 * SECOND, "14d" },
	{ 1234567890, "1.234s" },
	{ 1050 * MILLISECOND, "1.05s" },
	{ 1500000, "1.5ms" },
	{ 1, "1ns" },
	{ 1999, "0.001ms" },
	{ 999999999, "999.999ms" },
	{ 59999999999, "59.999s" },
	{ 303 * SECOND, "5m03s" },
	{ 3599 * SECOND, "59m59s" },
	{ NEVER - 1, "106751d23h" },
};

int
main(void)
{
	for (size_t i = 0; i < COUNT(accepted); i++) {
		char texts[100];

		(void)snprintf(texts, sizeof(texts), "%s", accepted[i].texts);
		for (char *text = strtok(texts, "|"); text != NULL;
		     text = strtok(NULL, "|")) {
			int64_t ns = -1;

			CHECK(duration_parse(text, &ns) == 0, text);
			CHECK(ns == accepted[i].ns, text);
		}
	}
	for (size_t i = 0; i < COUNT(refused); i++) {
		int64_t ns = -1;

		CHECK(duration_parse(refused[i], &ns) == -1, refused[i]);
		CHECK(ns == -1, refused[i]);
	}
	for (size_t i = 0; i < COUNT(written); i++) {
		char text[DURATION_TEXT_SIZE];

		CHECK(strcmp(duration_format(written[i].ns, text),
		             written[i].text) == 0,
		      written[i].text);
	}
	CHECK(duration_add(NEVER, SECOND) == NEVER, "sum");
	CHECK(duration_add(SECOND, NEVER) == NEVER, "sum");
	CHECK(duration_add(SECOND, SECOND) == 2 * SECOND, "sum");
	return failures != 0;
}
