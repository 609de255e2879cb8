#include "common/model/alert_row.h"

#include "common/base/json_text.h"

void json_put_alert(struct text *json, const struct alert_row *row)
{
	json_put_string(json, "key", row->key);
	json_put_string(json, "kind", row->kind);
	json_put_string(json, "severity", row->severity);
	json_put_string(json, "subject_kind", row->subject_kind);
	json_put_string(json, "subject", row->subject);
	json_put_string(json, "message", row->message);
}
