/* The members that every alert has, as the functions of db/schema/alert.sql read them. */
#pragma once

#include "common/base/text.h"

struct alert_row {
	const char *key; /* unique among open alerts */
	const char *kind, *severity;
	const char *subject_kind, *subject;
	const char *message;
};

/* Into the object that is open. */
void json_put_alert(struct text *json, const struct alert_row *row);
