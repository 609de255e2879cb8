/* A place of the drill with its time, as a reference of the portal (RFC 3986 4.2): one text to mail
 * and to paste, which haasctl takes as well.
 *
 *   /drill?path=link:leaf1:Eth1%252F7/tenant:acme&at=2026-11-22T10:42:00Z&window=5m
 *
 * The path is that of drill_path.h, so a '%' of it is written %25: it is decoded twice, once as a
 * query, once as a path. What is not said is the default of the API: the links, now, 5 minutes. */
#pragma once

#include <stdbool.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"
#include "common/model/drill_path.h"

#define DRILL_TIME_SIZE 40

struct drill_url {
	char path[DRILL_PATH_SIZE];
	char at[DRILL_TIME_SIZE]; /* as the API takes it; "" = now */
	char window[16];
};

void drill_url_print(const struct drill_url *url, struct text *out);
/* Whether this is meant as one: it begins with "/drill" or holds "://". */
bool drill_url_is(const char *text);
/* Of a reference, or of a whole http or https URL: whose host is not looked at. 0, or E_MALFORMED
 * with a problem; *ret is then untouched. The path is checked, at and window only for their
 * characters. */
MUST_USE int drill_url_parse(const char *text, struct drill_url *ret, struct problem *problem);
