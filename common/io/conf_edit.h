/* Changes single settings of a configuration file and leaves all else as people wrote it: comments,
 * order, blanks. The result is read back: it differs in that setting alone, or there is none. */
#pragma once

#include <stdbool.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"

/* The value of a setting, "http.port", as conf_edit_set takes it: 8080, "text", ["a", "b"]. Nothing is
 * added when it is not set, or is a group. E_MALFORMED: the text is no libconfig. */
MUST_USE int conf_edit_get(const char *text, const char *key, struct text *ret,
			   struct problem *problem);

/* Adds the whole text to `ret` with `key` set to `value`, which is in libconfig's syntax. E_MALFORMED: the
 * text or the value is none. E_UNSUPPORTED: the text is written in a way that only a person can edit. */
MUST_USE int conf_edit_set(const char *text, const char *key, const char *value, struct text *ret,
			   struct problem *problem);
/* `string` as a value: quoted. */
void conf_edit_quote(struct text *ret, const char *string);
