#include "bampi/relay/cache/name_record_wire.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define HEAD "haas-relay-file 1"

/* Printable, so that it ends no line and means nothing to a log or a header. */
static bool name_record_wire_is_line(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	}
	return true;
}

int name_record_encode(const struct name_record *record, char ret[NAME_RECORD_MAX],
		       size_t *ret_size)
{
	if (!name_record_wire_is_line(record->name) || !name_record_wire_is_line(record->tag) ||
	    !name_record_wire_is_line(record->type))
		return E_MALFORMED;
	if (!text_format(ret, NAME_RECORD_MAX, HEAD "\n%s\n%s\n%" PRIu64 "\n%s\n%s\n", record->name,
			 record->digest, record->size, record->tag, record->type))
		return E_LIMIT;
	*ret_size = strlen(ret);
	return 0;
}

/* Copies a line, moves past it. False when there is none, or it is too long or not printable. */
static bool name_record_wire_take_line(const char **at, char *ret, size_t room)
{
	size_t length = strcspn(*at, "\n");

	if ((*at)[length] != '\n' || length >= room)
		return false;
	memcpy(ret, *at, length);
	ret[length] = '\0';
	*at += length + 1;
	return name_record_wire_is_line(ret);
}

static bool parse_size(const char *text, uint64_t *ret)
{
	char again[24];

	*ret = strtoull(text, NULL, 10);
	return text_format(again, sizeof(again), "%" PRIu64, *ret) && strcmp(again, text) == 0;
}

int name_record_decode(const char *text, struct name_record *ret)
{
	struct name_record record = {0};
	uint8_t digest[DIGEST_SIZE];
	char head[32];
	char size[24];

	if (!name_record_wire_take_line(&text, head, sizeof(head)) || strcmp(head, HEAD) != 0 ||
	    !name_record_wire_take_line(&text, record.name, sizeof(record.name)) ||
	    !name_record_wire_take_line(&text, record.digest, sizeof(record.digest)) ||
	    !name_record_wire_take_line(&text, size, sizeof(size)) ||
	    !name_record_wire_take_line(&text, record.tag, sizeof(record.tag)) ||
	    !name_record_wire_take_line(&text, record.type, sizeof(record.type)) || *text)
		return E_MALFORMED;
	if (!record.name[0] || hex_decode(record.digest, digest, sizeof(digest)) ||
	    !parse_size(size, &record.size))
		return E_MALFORMED;
	*ret = record;
	return 0;
}
