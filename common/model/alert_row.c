#include "common/model/alert_row.h"

#include "common/base/json_text.h"

void alert_row_key(const struct alert_row *row, struct text *ret)
{
	if (row->key)
		text_add(ret, row->key);
	else
		text_addf(ret, "%s:%s", row->kind, row->subject);
}

void json_put_alert(struct text *json, const struct alert_row *row)
{
	CLEANUP(text_done) struct text key = {0};

	alert_row_key(row, &key);
	json_put_string(json, "key", text_get(&key));
	json_put_string(json, "kind", row->kind);
	json_put_string(json, "severity", row->severity);
	json_put_string(json, "subject_kind", row->subject_kind);
	json_put_string(json, "subject", row->subject);
	json_put_string(json, "message", row->message);
	if (row->hint)
		json_put_string(json, "hint", row->hint);
	if (row->detail)
		json_put_raw(json, "detail", text_get(row->detail));
}
