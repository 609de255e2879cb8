/* A streaming JSON writer into a text. It sets commas and escapes, and checks nesting in debug builds.
 *     json_begin_object(&t, NULL); json_put_string(&t, "name", "n1"); json_end_object(&t);
 * Key NULL: an element of an array, or the root. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/problem.h"
#include "common/base/text.h"

void json_begin_object(struct text *text, const char *key);
void json_end_object(struct text *text);
void json_begin_array(struct text *text, const char *key);
void json_end_array(struct text *text);
/* NULL value writes null. Bytes that are not UTF-8 are replaced by U+FFFD. */
void json_put_string(struct text *text, const char *key, const char *value);
void json_put_int(struct text *text, const char *key, int64_t value);
void json_put_double(struct text *text, const char *key, double value);
void json_put_bool(struct text *text, const char *key, bool value);
void json_put_null(struct text *text, const char *key);
/* {"code", "message", "detail", "hint"}; the code is error_word's. */
void json_put_problem(struct text *text, const char *key, const struct problem *problem);
/* `json` is already JSON (a jsonb column); NULL or "" writes null. */
void json_put_raw(struct text *text, const char *key, const char *json);
