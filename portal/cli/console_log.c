/* haasctl node console --log: what is kept of a node's serial console, with the times of its
 * connections. The node may be dead, or hostile: escape sequences do not reach the terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portal/cli/listing.h"

#define CLI_CONSOLE_LOG_PIECE_SIZE ((size_t)8192)

/* Where an escape sequence stands (ECMA-48); it may go on in the next piece. */
enum escape { ESCAPE_NONE, ESCAPE_STARTED, ESCAPE_CONTROL, ESCAPE_STRING };

struct page {
	enum escape escape;
	bool in_line;
};

static enum escape cli_console_log_after(enum escape escape, unsigned char byte)
{
	switch (escape) {
	case ESCAPE_NONE: return byte == 0x1b ? ESCAPE_STARTED : ESCAPE_NONE;
	case ESCAPE_STARTED:
		if (byte == '[')
			return ESCAPE_CONTROL;
		if (byte == ']' || byte == 'P' || byte == '^' || byte == '_')
			return ESCAPE_STRING;
		return byte >= 0x20 && byte <= 0x2f ? ESCAPE_STARTED : ESCAPE_NONE;
	case ESCAPE_CONTROL:
		return (byte >= 0x40 && byte <= 0x7e) || byte == '\n' ? ESCAPE_NONE
								      : ESCAPE_CONTROL;
	case ESCAPE_STRING:
		return byte == '\a' || byte == '\n' || byte == '\\' ? ESCAPE_NONE : ESCAPE_STRING;
	}
	return ESCAPE_NONE;
}

static void print_byte(struct page *page, unsigned char byte)
{
	enum escape before = page->escape;

	page->escape = cli_console_log_after(before, byte);
	if (before != ESCAPE_NONE || page->escape != ESCAPE_NONE) {
		if (byte != '\n')
			return;
		page->escape = ESCAPE_NONE;
	}
	if (byte == '\n' || byte == '\t' || (byte >= 0x20 && byte < 0x7f))
		putchar(byte);
	else if (byte >= 0x80)
		putchar('?');
	else
		return;
	page->in_line = byte != '\n';
}

static void print_output(struct page *page, const char *base64)
{
	unsigned char bytes[CLI_CONSOLE_LOG_PIECE_SIZE];
	size_t size = 0;

	if (!haasctl_from_base64(base64, bytes, sizeof(bytes), &size))
		return;
	for (size_t i = 0; i < size; i++)
		print_byte(page, bytes[i]);
}

static void print_record(struct page *page, const json_t *record)
{
	const char *kind = haasctl_word(record, "kind");
	CLEANUP(text_done) struct text at = {0};

	if (strcmp(kind, "output") == 0) {
		print_output(page, haasctl_word(record, "bytes"));
		return;
	}
	printf("%s--- %s %s%s%s\n", page->in_line ? "\n" : "",
	       listing_text(json_object_get(record, "at"), "at", &at), kind,
	       haasctl_word(record, "reason")[0] ? ": " : "", haasctl_word(record, "reason"));
	*page = (struct page){0};
}

int console_log_show(struct haasctl *haasctl, const struct command_input *input, const char *node)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text at = {0};
	struct haasctl_reply reply = {0};
	struct page page = {0};
	const json_t *record = NULL;
	size_t i;

	haasctl_path(&target, "/nodes/", node, "/console/log");
	int status = haasctl_get(haasctl, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	if (!listing_json(input, reply.json)) {
		const json_t *records = json_object_get(reply.json, "items");

		json_array_foreach(records, i, record) print_record(&page, record);
		if (page.in_line)
			printf("\n");
		if (json_array_size(records) == 0)
			fprintf(stderr, "no console log of %s is stored\n", node);
		else
			printf("--- %s end of the stored log\n",
			       listing_text(
				       json_object_get(json_array_get(records,
								      json_array_size(records) - 1),
						       "at"),
				       "at", &at));
	}
	haasctl_reply_done(&reply);
	return EXIT_OK;
}
