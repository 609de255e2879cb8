/* haasctl pdci sheet: what the OS at each place of a PDCI is told. portald reads the CSV
 * (portal/server/pdci_sheet_csv.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/count_text.h"
#include "common/io/file.h"

#include "portal/cli/listing.h"

#define PDCI_SHEET_LIMIT ((size_t)8 << 20)

static void pdci_sheet_target(struct text *target, const struct command_input *input,
			      const char *after)
{
	haasctl_path(target, "/pdcis/", input->words[1], after);
	haasctl_query(target, input, "--tenant");
}

static void pdci_sheet_on_data(void *context, const void *data, size_t size)
{
	(void)fwrite(data, 1, size, context);
}

/* As portald writes it: to edit, and to set again. */
static int pdci_sheet_csv(struct haasctl *haasctl, const struct command_input *input,
			  const char *target)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};

	return haasctl_call(haasctl, input,
			    &(struct haasctl_call){.method = "GET",
						   .target = target,
						   .accept = "text/csv",
						   .on_data = pdci_sheet_on_data,
						   .context = stdout},
			    &reply);
}

/* Counts stand for what has no place in a table. */
static void pdci_sheet_for_people(json_t *row)
{
	const json_t *data = json_object_get(row, "user_data");
	const json_t *keys = json_object_get(row, "ssh_keys");
	char count[COUNT_TEXT_SIZE];

	if (json_is_array(keys))
		(void)json_object_set_new(
			row, "ssh_keys",
			json_string(count_text(count, (int64_t)json_array_size(keys), "key")));
	if (json_is_string(data))
		(void)json_object_set_new(
			row, "user_data",
			json_string(count_text(count, (int64_t)json_string_length(data), "byte")));
}

static int pdci_sheet_show(struct haasctl *haasctl, const struct command_input *input)
{
	static const struct output_column columns[] = {
		NUMBER("place"),     COLUMN("class"),     COLUMN("node"),
		COLUMN("hostname"),  COLUMN("addresses"), COLUMN("ssh_keys"),
		COLUMN("user_data"), COLUMN("packages"),  COLUMN("disk")};
	const char *output = command_option(input, "--output");
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	CLEANUP(text_done) struct text target = {0};
	json_t *rows;
	json_t *row;
	size_t i;
	int status;

	pdci_sheet_target(&target, input, "/sheet");
	if (output && strcmp(output, "csv") == 0)
		return pdci_sheet_csv(haasctl, input, text_get(&target));
	status = haasctl_get(haasctl, input, text_get(&target), &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	rows = json_object_get(reply.json, "rows");
	json_array_foreach(rows, i, row) pdci_sheet_for_people(row);
	return listing_rows(input, rows, COLUMNS(columns));
}

static int pdci_sheet_send(struct haasctl *haasctl, const struct command_input *input,
			   const char *sheet, size_t size)
{
	static const struct output_column columns[] = {NUMBER("place"), COLUMN("member"),
						       COLUMN("from"), COLUMN("to")};
	bool dry_run = command_option(input, "--dry-run") != NULL;
	CLEANUP(haasctl_reply_done) struct haasctl_reply before = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	CLEANUP(text_done) struct text target = {0};
	json_t *changes;
	int status;

	pdci_sheet_target(&target, input, "/sheet");
	status = haasctl_get(haasctl, input, text_get(&target), &before);
	if (status != EXIT_OK)
		return status;
	text_clear(&target);
	pdci_sheet_target(&target, input, "/sheet/import");
	if (dry_run)
		text_addf(&target, "%cdry_run=true", strchr(text_get(&target), '?') ? '&' : '?');
	status = haasctl_call(haasctl, input,
			      &(struct haasctl_call){.method = "POST",
						     .target = text_get(&target),
						     .body = sheet,
						     .body_size = size,
						     .content_type = "text/csv",
						     .if_match = before.etag,
						     .once = true},
			      &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	changes = json_object_get(reply.json, "changes");
	status = listing_rows(input, changes, COLUMNS(columns));
	fprintf(stderr, "%s%zu cells %s\n", dry_run ? "dry run, nothing written: " : "",
		json_array_size(changes), dry_run ? "would change" : "changed");
	return status;
}

static int pdci_sheet_set(struct haasctl *haasctl, const struct command_input *input)
{
	const char *path = input->word_count > 2 ? input->words[2] : NULL;
	CLEANUP(freep) char *sheet = NULL;
	size_t size = 0;
	int rc;

	if (!path)
		return haasctl_usage("which sheet? pdci sheet set %s FILE, or - for stdin; "
				     "pdci sheet show %s -o csv prints one to begin with",
				     input->words[1], input->words[1]);
	rc = file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, PDCI_SHEET_LIMIT, &sheet,
		       &size);
	if (rc < 0)
		return haasctl_cannot("read", path, rc);
	return pdci_sheet_send(haasctl, input, sheet, size);
}

int haasctl_pdci_sheet(void *context, const struct command_input *input)
{
	bool set = strcmp(input->words[0], "set") == 0;

	if (!set && strcmp(input->words[0], "show") != 0)
		return haasctl_usage("%s: choose from show set", input->words[0]);
	if (!set && input->word_count > 2)
		return haasctl_usage("%s is too much: pdci sheet show PDCI", input->words[2]);
	return set ? pdci_sheet_set(context, input) : pdci_sheet_show(context, input);
}
