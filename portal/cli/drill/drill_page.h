/* One level of traffic as the API answered it (openapi.yaml, Drill). */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"

/* A row, what is left ("other"), or the total. Texts are borrowed from the page's JSON. */
struct drill_part {
	const char *path; /* NULL: it cannot be asked for */
	const char *name, *network;
	double bytes, low, high; /* the truth is between the last two in 95 of 100 cases */
	double bits_per_second;
	double share; /* of the total, 0..1 */
	int64_t samples;
	int64_t exact_bytes;  /* what the interface counted; -1 = not known */
	double exact_seconds; /* in so many */
};

struct drill_page {
	json_t *json; /* all of it, as it came */
	const char *path, *url, *from, *to;
	double seconds; /* of it that were collected */
	struct drill_part total, other;
	struct drill_part *rows; /* largest first */
	size_t count;
	const json_t *notes; /* an array of texts */
};

/* Keeps a reference of `json`. -ENOMEM; members that are not there are empty or 0. */
MUST_USE int drill_page_new(json_t *json, struct drill_page **ret);
void drill_page_free(struct drill_page *page);

struct drill_part drill_part_of(const json_t *row);
/* "412.5 Mbit/s", or with `in_bytes` "51.6 MB/s". */
void drill_part_rate(const struct drill_part *part, bool in_bytes, char ret[32]);
/* "the interface counted 29 GiB in 290 of 300 s", or "2.4 GiB in 60 s around it" */
void drill_part_exact(const struct drill_part *part, double of_s, struct text *out);
/* The larger half of the interval in percent of the estimate; negative without traffic. */
double drill_part_bound(const struct drill_part *part);
/* It as "3.1", "27", or "-" without traffic. */
void drill_part_bound_text(const struct drill_part *part, char ret[16]);
