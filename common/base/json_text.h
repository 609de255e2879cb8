/* A streaming JSON writer into a text: commas and escapes are ours, nesting is checked in debug
 * builds. json_begin_object(&t, NULL); json_string(&t, "name", "n1"); json_end_object(&t);   key
 * NULL = array element or root. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/text.h"

void json_begin_object(struct text *text, const char *key);
void json_end_object(struct text *text);
void json_begin_array(struct text *text, const char *key);
void json_end_array(struct text *text);
/* jansson has functions of the names json_string and json_null: ours have other names for the
 * linker, and common/http/json_reader.h hides jansson's from the compiler. Include that, never
 * <jansson.h>. */
/* NULL value writes null. Bytes that are not UTF-8 are replaced by U+FFFD. */
void json_string(struct text *text, const char *key, const char *value) __asm__("haas_json_string");
void json_int(struct text *text, const char *key, int64_t value);
void json_double(struct text *text, const char *key, double value);
void json_bool(struct text *text, const char *key, bool value);
void json_null(struct text *text, const char *key) __asm__("haas_json_null");
/* `json` is already JSON (a jsonb column); NULL or "" writes null. */
void json_raw(struct text *text, const char *key, const char *json);
