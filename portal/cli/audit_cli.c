/* haasctl audit: sealed events. `verify` needs no server: a file of `export`, keys that a person trusts,
 * and the head that was kept elsewhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/count_text.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/file.h"

#include "portal/cli/audit_check.h"
#include "portal/cli/audit_syslog.h"
#include "portal/cli/listing.h"

#define AUDIT_CLI_HEAD_LIMIT ((size_t)64 << 10)

static int audit_head(void *context, const struct command_input *input)
{
	static const char *const order[] = {"block",     "body",       "hash", "previous_hash",
					    "signature", "public_key", NULL};
	static const struct output_column columns[] = {NUMBER("block"),      COLUMN("hash"),
						       COLUMN("public_key"), WIDE("previous_hash"),
						       WIDE("signature"),    WIDE("body")};
	struct haasctl_reply reply = {0};
	int status = haasctl_get(context, input, "/audit/head", &reply);

	if (status == EXIT_OK)
		status = listing_object(input, reply.json, &(struct show){order, COLUMNS(columns)});
	haasctl_reply_done(&reply);
	return status;
}

/* --- export --- */

struct audit_export {
	struct haasctl *haasctl;
	const struct command_input *input;
	const char *after; /* position, or NULL */
	bool syslog;
	char position[64]; /* of the last event; "" = none */
};

static int audit_cli_line(const char *text)
{
	return fputs(text, stdout) < 0 || fputc('\n', stdout) == EOF
		       ? haasctl_cannot("write", "the export", E_UNAVAILABLE)
		       : EXIT_OK;
}

/* A haasctl_row_fn, as the next. */
static int audit_cli_put_block(void *context, const json_t *row)
{
	CLEANUP(freep) char *line = json_dumps(row, JSON_COMPACT | JSON_PRESERVE_ORDER);

	(void)context;
	return line ? audit_cli_line(line) : EXIT_FAILED;
}

static int audit_cli_put_event(void *context, const json_t *row)
{
	struct audit_export *export = context;
	const char *text = haasctl_word(row, "text");
	CLEANUP(text_done) struct text line = {0};
	CLEANUP(json_decrefp) json_t *event = NULL;
	struct problem problem = {0};

	(void)text_copy(export->position, sizeof(export->position), haasctl_word(row, "position"));
	if (!export->syslog)
		return audit_cli_line(text);
	if (json_read(text, strlen(text), JSON_LIMIT_DEFAULT, &event, &problem) < 0) {
		haasctl_problem(&problem);
		return EXIT_FAILED;
	}
	audit_syslog_add(event, export->position, &line);
	return audit_cli_line(text_get(&line));
}

/* All of a list, what is after the position alone. */
static int audit_cli_pages(struct audit_export *export, const char *list, const char *limit,
			   haasctl_row_fn put)
{
	CLEANUP(text_done) struct text target = {0};

	text_addf(&target, "/audit/%s?limit=%s", list, limit);
	if (export->after) {
		text_add(&target, "&after=");
		text_add_percent(&target, export->after);
	}
	return haasctl_pages(export->haasctl, export->input, text_get(&target), put, export);
}

static int audit_cli_mark(const char *format, const char *member, const char *value)
{
	CLEANUP(text_done) struct text line = {0};

	json_begin_object(&line, NULL);
	json_put_string(&line, "format", format);
	json_put_string(&line, member, value ? value : "");
	json_end_object(&line);
	return audit_cli_line(text_get(&line));
}

/* Blocks before events: what a block has is in the file then, whatever is sealed meanwhile. The end is
 * marked, so that a file that was cut is seen. */
static int audit_export(void *context, const struct command_input *input)
{
	const char *format = command_option(input, "--format");
	struct audit_export export = {
		.haasctl = context, .input = input, .after = command_option(input, "--after")};
	const char *position;
	int status = EXIT_OK;

	export.syslog = format && strcmp(format, "syslog") == 0;
	if (!export.syslog)
		status = audit_cli_mark("haas-audit-1", "after", export.after);
	if (status == EXIT_OK && !export.syslog)
		status = audit_cli_pages(&export, "blocks", "100", audit_cli_put_block);
	if (status == EXIT_OK)
		status = audit_cli_pages(&export, "events", "500", audit_cli_put_event);
	position = export.position[0] || !export.after ? export.position : export.after;
	if (status == EXIT_OK && !export.syslog)
		status = audit_cli_mark("haas-audit-end-1", "position", position);
	if (status == EXIT_OK && position[0])
		fprintf(stderr, "haasctl: next time: --after %s\n", position);
	return status;
}

/* --- verify --- */

static int audit_cli_read_head(const char *path, json_t **ret)
{
	CLEANUP(freep) char *data = NULL;
	struct problem problem = {0};
	size_t size = 0;
	int rc = file_read(path, AUDIT_CLI_HEAD_LIMIT, &data, &size);

	if (rc == 0)
		rc = json_read(data, size, AUDIT_CLI_HEAD_LIMIT, ret, &problem);
	if (rc < 0)
		return haasctl_cannot("read", path, rc);
	return *haasctl_word(*ret, "hash")
		       ? EXIT_OK
		       : haasctl_usage("%s is no head: haasctl audit head -o json", path);
}

static void audit_cli_tell(const struct audit_check *check)
{
	size_t sealed = check->event_count - check->early - check->unsealed;
	char events[COUNT_TEXT_SIZE];
	char blocks[COUNT_TEXT_SIZE];

	if (check->begins[0] != '\0')
		printf("begins after %s: what was before is not checked\n", check->begins);
	if (check->early > 0)
		printf("%s before the first block of this file, not checked\n",
		       count_text(events, (int64_t)check->early, "event"));
	printf("%s in %s, none changed, none missing, none inserted\n",
	       count_text(events, (int64_t)sealed, "event"),
	       count_text(blocks, (int64_t)json_array_size(check->blocks), "block"));
	if (check->unsealed > 0)
		printf("%s after them, not sealed yet\n",
		       count_text(events, (int64_t)check->unsealed, "event"));
	certificate_keys_tell(&check->keys);
}

static int audit_verify(void *context, const struct command_input *input)
{
	const char *const *key_files = command_options(input, "--key");
	const char *list = command_option(input, "--keys");
	const char *head_file = command_option(input, "--head");
	CLEANUP(audit_check_done) struct audit_check check = {0};
	CLEANUP(json_decrefp) json_t *head = NULL;
	int status = EXIT_OK;

	(void)context;
	if (key_files && *key_files)
		status = certificate_keys_read(&check.keys, key_files);
	if (status == EXIT_OK && list)
		status = certificate_keys_read_list(&check.keys, list);
	if (status == EXIT_OK && head_file)
		status = audit_cli_read_head(head_file, &head);
	if (status == EXIT_OK)
		status = audit_check_read(&check, input->words[0]);
	if (status != EXIT_OK)
		return status;
	audit_check_all(&check, head);
	if (check.wrong > 0) {
		char count[COUNT_TEXT_SIZE];

		fprintf(stderr, "haasctl: %s\n",
			count_text(count, (int64_t)check.wrong, "thing that does not fit"));
		return EXIT_FAILED;
	}
	audit_cli_tell(&check);
	return EXIT_OK;
}

static const struct option_row export_options[] = {
	{"--format", 0, OPTION_VALUE, "jsonl|syslog", "default jsonl; syslog: RFC 5424, no blocks"},
	{"--after", 0, OPTION_VALUE, "POSITION", "only what comes after it"},
};
static const struct option_row audit_cli_verify_options[] = {
	{"--head", 0, OPTION_VALUE, "FILE", "audit head -o json, kept elsewhere: no end is cut"},
	{"--key", 0, OPTION_REPEAT, "FILE", "a public key to trust, in hex"},
	{"--keys", 0, OPTION_VALUE, "FILE", "certificate keys -o json: those that follow, too"},
};

static const struct command audit_cli_commands[] = {
	{"audit", "head", "", "the last signed block of events, to be kept elsewhere", NO_OPTIONS,
	 0, 0, audit_head, .example = "audit head -o json"},
	{"audit", "export", "", "all events with their signed blocks, for a SIEM",
	 OPTIONS(export_options), 0, 0, audit_export, .example = "audit export --format syslog"},
	{"audit", "verify", "FILE", "check an export: none changed, missing or inserted",
	 OPTIONS(audit_cli_verify_options), 1, 1, audit_verify,
	 .example = "audit verify audit.jsonl --head head.json --keys keys.json"},
};
const struct command_group audit_group = {audit_cli_commands, COUNT_OF(audit_cli_commands)};
