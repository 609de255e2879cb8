#include "peregrine/switch/ovsdb/ovsdb_wire.h"

#include <errno.h>
#include <string.h>

#include "common/base/error.h"

LEAKS_LEFT_TO_SANITIZER

/* --- framing --- */

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* One byte of a message that has begun. Whether braces and brackets pair is the parser's to say. */
static int scan_byte(struct ovsdb_stream *stream, char byte)
{
	if (stream->quoted) {
		if (stream->escaped || byte == '\\')
			stream->escaped = !stream->escaped;
		else
			stream->quoted = byte != '"';
		return 0;
	}
	if (byte == '"') {
		stream->quoted = true;
	} else if (byte == '{' || byte == '[') {
		if (++stream->depth > OVSDB_MESSAGE_DEPTH)
			return E_LIMIT;
	} else if (byte == '}' || byte == ']') {
		stream->whole = --stream->depth == 0;
	}
	return 0;
}

static int ovsdb_wire_scan(struct ovsdb_stream *stream)
{
	while (!stream->whole && stream->seen < stream->bytes.size) {
		char byte = stream->bytes.data[stream->seen++];
		int rc;

		if (stream->depth == 0 && is_blank(byte))
			continue;
		if (stream->depth == 0 && byte != '{')
			return E_MALFORMED;
		rc = scan_byte(stream, byte);
		if (rc)
			return rc;
	}
	/* Blanks between messages are not kept; a message may only be so long. */
	if (stream->depth == 0 && !stream->whole) {
		text_clear(&stream->bytes);
		stream->seen = 0;
	}
	return stream->seen > OVSDB_MESSAGE_SIZE ? E_LIMIT : 0;
}

int ovsdb_stream_add(struct ovsdb_stream *stream, const char *bytes, size_t size)
{
	if (size == 0)
		return 0;
	text_add_bytes(&stream->bytes, bytes, size);
	if (stream->bytes.failed)
		return -ENOMEM;
	return ovsdb_wire_scan(stream);
}

const char *ovsdb_stream_message(const struct ovsdb_stream *stream, size_t *ret_size)
{
	*ret_size = stream->whole ? stream->seen : 0;
	return stream->whole ? stream->bytes.data : NULL;
}

int ovsdb_stream_drop(struct ovsdb_stream *stream)
{
	size_t rest = stream->bytes.size - stream->seen;

	if (!stream->whole)
		return 0;
	memmove(stream->bytes.data, stream->bytes.data + stream->seen, rest);
	stream->bytes.size = rest;
	stream->seen = 0;
	stream->whole = false;
	return ovsdb_wire_scan(stream);
}

void ovsdb_stream_done(struct ovsdb_stream *stream)
{
	text_done(&stream->bytes);
	*stream = (struct ovsdb_stream){0};
}
