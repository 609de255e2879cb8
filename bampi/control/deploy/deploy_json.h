/* Texts on their way into jsonb. */
#pragma once

#include <jansson.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

/* A JSON string of any bytes: what is not UTF-8 (a text cut in the middle, a console) loses its
 * high bytes. NULL = no memory. */
MUST_USE json_t *json_of_text(const char *text);
/* {message, detail, hint, code}; null for no problem. */
MUST_USE json_t *json_of_problem(const struct problem *problem);
