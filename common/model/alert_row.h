/* An alert as the functions of db/schema/alert.sql read it. */
#pragma once

#include "common/base/text.h"

struct alert_row {
	const char *kind, *severity;
	const char *subject_kind, *subject;
	const char *message;
	const char *hint;          /* NULL = none */
	const char *key;           /* unique among open alerts; NULL = KIND:SUBJECT */
	const struct text *detail; /* JSON; NULL = none */
};

void alert_row_key(const struct alert_row *row, struct text *ret);
/* Into the object that is open. */
void json_put_alert(struct text *json, const struct alert_row *row);
