#include "portal/cli/audit_syslog.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portal/cli/haasctl.h"

/* Facility 13 (log audit), severity 6 (informational): RFC 5424, 6.2.1. */
#define AUDIT_SYSLOG_PRIORITY (13 * 8 + 6)
/* MSGID: at most 32 characters (6.2.7). */
#define AUDIT_SYSLOG_ID_SIZE 32
/* 32473 is the enterprise number for documentation (RFC 5612): this project has none. */
#define AUDIT_SYSLOG_SD_ID "haas@32473"
#define AUDIT_SYSLOG_BOM   "\xef\xbb\xbf"

/* A line is a message: what would end it, or steer a terminal, becomes a space. */
static char audit_syslog_plain(char c)
{
	bool steers = (unsigned char)c < ' ' || c == 127;

	return (char)(steers ? ' ' : c);
}

/* PARAM-VALUE: '"', '\' and ']' are escaped (6.3.3). */
static void audit_syslog_param(struct text *ret, const char *name, const char *value)
{
	text_addf(ret, " %s=\"", name);
	for (; *value; value++) {
		char c = audit_syslog_plain(*value);

		if (strchr("\"\\]", c))
			text_add(ret, "\\");
		text_add_bytes(ret, &c, 1);
	}
	text_add(ret, "\"");
}

void audit_syslog_add(const json_t *event, const char *position, struct text *ret)
{
	static const char *const params[] = {"actor",  "subject_kind", "subject",
					     "tenant", "request",      NULL};
	char *detail = json_dumps(json_object_get(event, "detail"), JSON_COMPACT | JSON_ENCODE_ANY);
	const char *message = haasctl_word(event, "message");
	char id[24];

	(void)text_format(id, sizeof(id), "%" JSON_INTEGER_FORMAT,
			  json_integer_value(json_object_get(event, "id")));
	text_addf(ret, "<%d>1 %s - haas - %.*s [" AUDIT_SYSLOG_SD_ID, AUDIT_SYSLOG_PRIORITY,
		  haasctl_word(event, "at"), AUDIT_SYSLOG_ID_SIZE, haasctl_word(event, "kind"));
	audit_syslog_param(ret, "position", position);
	audit_syslog_param(ret, "id", id);
	for (const char *const *name = params; *name; name++) {
		const char *value = haasctl_word(event, *name);

		if (*value)
			audit_syslog_param(ret, *name, value);
	}
	if (detail)
		audit_syslog_param(ret, "detail", detail);
	text_add(ret, "] " AUDIT_SYSLOG_BOM);
	for (; *message; message++) {
		char c = audit_syslog_plain(*message);

		text_add_bytes(ret, &c, 1);
	}
	free(detail);
}
