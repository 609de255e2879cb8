#include "portal/cli/drill/drill_page.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/text.h"

#include "portal/cli/listing.h"

static const char *drill_page_word(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

static double drill_page_number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

struct drill_part drill_part_of(const json_t *row)
{
	const json_t *exact = json_object_get(row, "exact_bytes");

	return (struct drill_part){
		.path = json_string_value(json_object_get(row, "path")),
		.name = drill_page_word(row, "name"),
		.network = drill_page_word(row, "network"),
		.bytes = drill_page_number(row, "bytes"),
		.low = drill_page_number(row, "bytes_low"),
		.high = drill_page_number(row, "bytes_high"),
		.bits_per_second = drill_page_number(row, "bits_per_second"),
		.share = drill_page_number(row, "share"),
		.samples = json_integer_value(json_object_get(row, "samples")),
		.exact_bytes = json_is_integer(exact) ? json_integer_value(exact) : -1,
		.exact_seconds = drill_page_number(row, "exact_seconds"),
	};
}

int drill_page_new(json_t *json, struct drill_page **ret)
{
	const json_t *rows = json_object_get(json, "rows");
	size_t count = json_array_size(rows);
	struct drill_page *page = calloc(1, sizeof(*page));

	if (!page)
		return -ENOMEM;
	*page = (struct drill_page){
		.json = json_incref(json),
		.path = drill_page_word(json, "path"),
		.url = drill_page_word(json, "url"),
		.from = drill_page_word(json, "from"),
		.to = drill_page_word(json, "to"),
		.seconds = drill_page_number(json, "seconds"),
		.total = drill_part_of(json_object_get(json, "total")),
		.other = drill_part_of(json_object_get(json, "other")),
		.rows = calloc(count + 1, sizeof(*page->rows)),
		.notes = json_object_get(json, "notes"),
	};
	if (!page->rows) {
		drill_page_free(page);
		return -ENOMEM;
	}
	for (; page->count < count; page->count++)
		page->rows[page->count] = drill_part_of(json_array_get(rows, page->count));
	*ret = page;
	return 0;
}

void drill_page_free(struct drill_page *page)
{
	if (!page)
		return;
	json_decref(page->json);
	free(page->rows);
	free(page);
}

void drill_part_rate(const struct drill_part *part, bool in_bytes, char ret[32])
{
	static const char *const units[][5] = {
		{"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"},
		{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"},
	};
	double rate = part->bits_per_second / (in_bytes ? 8 : 1);
	size_t unit = 0;

	while (rate >= 999.95 && unit + 1 < COUNT_OF(units[0])) {
		rate /= 1000;
		unit++;
	}
	(void)text_format(ret, 32, unit ? "%.1f %s" : "%.0f %s", rate, units[in_bytes][unit]);
}

void drill_part_exact(const struct drill_part *part, double of_s, struct text *out)
{
	CLEANUP(json_decrefp) json_t *bytes = json_integer(part->exact_bytes);
	CLEANUP(text_done) struct text scratch = {0};

	text_addf(out, "the interface counted %s in %.0f ",
		  listing_text(bytes, "exact_bytes", &scratch), part->exact_seconds);
	/* Readings need not meet the window: of a short one they are of the minutes around it. */
	if (part->exact_seconds > of_s * 1.1 + 1)
		text_add(out, "s around it");
	else
		text_addf(out, "of %.0f s", of_s);
}

double drill_part_bound(const struct drill_part *part)
{
	return part->bytes > 0
		       ? fmax(part->bytes - part->low, part->high - part->bytes) / part->bytes * 100
		       : -1;
}

void drill_part_bound_text(const struct drill_part *part, char ret[16])
{
	double percent = drill_part_bound(part);

	if (percent < 0)
		(void)text_copy(ret, 16, "-");
	else
		(void)text_format(ret, 16, percent < 10 ? "%.1f" : "%.0f", percent);
}
