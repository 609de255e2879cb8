/* Reading JSON: jansson with duplicate keys rejected and a size limit, plus typed look-ups whose
 * errors name the member. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define JSON_LIMIT_DEFAULT ((size_t)1 << 20)

/* *ret is a new reference (json_decref, or jansson's CLEANUP(json_decrefp)). E_MALFORMED with line
 * and column, E_LIMIT. */
MUST_USE int json_read(const char *data, size_t size, size_t limit, json_t **ret,
		       struct problem *problem);

/* For answers of peers that may be broken or hostile. Small JSON can become large memory: a
 * megabyte of "{}," is a hundred of objects. So nesting and number of values are counted before
 * anything is made of them. */
struct json_bounds {
	size_t size;    /* bytes */
	unsigned depth; /* of arrays and objects */
	size_t values;  /* members and elements in all */
};
/* As json_read; E_LIMIT names the bound that was passed. */
MUST_USE int json_read_bounded(const char *data, size_t size, const struct json_bounds *bounds,
			       json_t **ret, struct problem *problem);

/* A straight-down reader with a sticky problem: json_get_* record the first failure and give a
 * default. */
struct json_reader {
	const json_t *object;
	struct problem problem;
};
struct json_reader json_reader(const json_t *object);
/* required: absent is a problem. Returned strings are borrowed from the json. */
const char *json_get_string(struct json_reader *reader, const char *key, bool required);
int64_t json_get_int(struct json_reader *reader, const char *key, int64_t min, int64_t max,
		     int64_t fallback, bool required);
bool json_get_bool(struct json_reader *reader, const char *key, bool fallback);
const json_t *json_get(struct json_reader *reader, const char *key, bool required);
/* Any member not in `keys` (NULL-ended) is a problem. */
void json_only(struct json_reader *reader, const char *const keys[]);
