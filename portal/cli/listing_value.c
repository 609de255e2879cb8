/* listing.h: one value of the API as text. People get times with their zone, and sizes, speeds and
 * lengths of time with their units, as the suffix of the key says. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "portal/cli/listing.h"

static bool ends_with(const char *text, const char *suffix)
{
	size_t length = strlen(text);

	return length >= strlen(suffix) && strcmp(text + length - strlen(suffix), suffix) == 0;
}

/* In the largest unit that leaves at least 1 of it. */
static void add_scaled(struct text *ret, double value, double step, const char *const units[],
		       size_t count)
{
	size_t unit = 0;

	while (value >= step && unit + 1 < count) {
		value /= step;
		unit++;
	}
	text_addf(ret, value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void add_size(struct text *ret, double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};

	add_scaled(ret, bytes, 1024, units, COUNT_OF(units));
}

static void add_bits(struct text *ret, double bits)
{
	static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};

	add_scaled(ret, bits, 1000, units, COUNT_OF(units));
}

/* As options take it: "90s", "15m", "2h"; never rounded. */
static void add_duration(struct text *ret, double seconds)
{
	static const struct {
		double seconds;
		const char *unit;
	} units[] = {{86400, "d"}, {3600, "h"}, {60, "m"}};

	for (size_t i = 0; i < COUNT_OF(units); i++) {
		if (seconds >= units[i].seconds && fmod(seconds, units[i].seconds) == 0) {
			text_addf(ret, "%.0f%s", seconds / units[i].seconds, units[i].unit);
			return;
		}
	}
	text_addf(ret, "%.6gs", seconds);
}

static void add_milliseconds(struct text *ret, double ms)
{
	if (ms < 1000)
		text_addf(ret, "%.3g ms", ms);
	else
		text_addf(ret, "%.1f s", ms / 1000);
}

/* What numbers under keys of this end are. */
static const struct listing_unit {
	const char *suffix;
	void (*add)(struct text *ret, double value);
} listing_units[] = {
	{"_bytes", add_size},       {"_bps", add_bits},   {"bits_per_second", add_bits},
	{"_seconds", add_duration}, {"_s", add_duration}, {"_ms", add_milliseconds},
};

/* Numbers that have a name: the privilege of a BMC's user (IPMI 2.0 6.8). */
static const struct {
	const char *key;
	json_int_t value;
	const char *word;
} listing_words[] = {
	{"privilege", 1, "callback"},      {"privilege", 2, "user"}, {"privilege", 3, "operator"},
	{"privilege", 4, "administrator"}, {"privilege", 5, "oem"},  {"privilege", 15, "none"},
};

static void add_number(struct text *ret, const json_t *value, const char *key, bool people)
{
	for (size_t i = 0; people && i < COUNT_OF(listing_words); i++) {
		if (strcmp(key, listing_words[i].key) == 0 &&
		    json_integer_value(value) == listing_words[i].value) {
			text_add(ret, listing_words[i].word);
			return;
		}
	}
	for (size_t i = 0; people && i < COUNT_OF(listing_units); i++) {
		if (ends_with(key, listing_units[i].suffix)) {
			listing_units[i].add(ret, json_number_value(value));
			return;
		}
	}
	if (json_is_integer(value))
		text_addf(ret, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else
		text_addf(ret, "%.6g", json_real_value(value));
}

/* "2026-11-21T04:17:17.240032+00:00" is "2026-11-21 04:17:17Z" for people. */
static void add_time(struct text *ret, const char *time)
{
	const char *zone;

	if (strlen(time) < 19 || (time[10] != 'T' && time[10] != ' ')) {
		text_add(ret, time);
		return;
	}
	zone = time + 19 + strcspn(time + 19, "Z+-");
	text_addf(ret, "%.10s %.8s%s", time, time + 11,
		  strcmp(zone, "+00:00") == 0 || strcmp(zone, "+00") == 0 ? "Z" : zone);
}

static bool is_time(const char *key)
{
	return ends_with(key, "_at") || strcmp(key, "at") == 0 || ends_with(key, "since") ||
	       ends_with(key, "until");
}

static void add_dump(struct text *ret, const json_t *value)
{
	CLEANUP(freep) char *dump = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	text_add(ret, dump ? dump : "");
}

static void add_words(struct text *ret, const json_t *array)
{
	const json_t *element;
	size_t i;

	json_array_foreach(array, i, element)
	{
		if (i > 0)
			text_add(ret, " ");
		if (json_is_string(element))
			text_add(ret, json_string_value(element));
		else
			add_dump(ret, element);
	}
}

void listing_add_value(struct text *ret, const json_t *value, const char *key, bool people)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		if (people && is_time(key))
			add_time(ret, json_string_value(value));
		else
			text_add(ret, json_string_value(value));
		break;
	case JSON_INTEGER:
	case JSON_REAL: add_number(ret, value, key, people); break;
	case JSON_TRUE: text_add(ret, people ? "yes" : "true"); break;
	case JSON_FALSE: text_add(ret, people ? "no" : "false"); break;
	case JSON_NULL: break;
	case JSON_ARRAY: add_words(ret, value); break;
	case JSON_OBJECT:
		if (people && json_is_string(json_object_get(value, "message")))
			text_add(ret, json_string_value(json_object_get(value, "message")));
		else
			add_dump(ret, value);
		break;
	}
}

const char *listing_text(const json_t *value, const char *key, struct text *scratch)
{
	text_clear(scratch);
	if (value)
		listing_add_value(scratch, value, key, true);
	return scratch->size > 0 ? text_get(scratch) : "-";
}

void listing_line(struct text *line)
{
	text_blank_controls(line->data, line->size);
	puts(text_get(line));
}
