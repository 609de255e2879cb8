/* JSON-RPC 1.0 as OVSDB speaks it (RFC 7047, 4): JSON objects on a stream, nothing between two but
 * blanks. Here messages are cut out of it, bounded in bytes and depth before a parser sees them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/text.h"

enum {
	OVSDB_MESSAGE_SIZE = 8 << 20, /* 2,000 trunks of 500 VLANs are 5 MB */
	OVSDB_MESSAGE_DEPTH = 16,     /* "transact" needs 9 */
};

/* What has come of a stream and was not taken yet. Zero bytes are a new one. */
struct ovsdb_stream {
	struct text bytes;
	size_t seen; /* of them, by the scanner */
	unsigned depth;
	bool quoted, escaped, whole;
};

/* -ENOMEM; E_LIMIT: one message is too large or too deep; E_MALFORMED: something that no object
 * begins with. The stream is of no more use then. */
MUST_USE int ovsdb_stream_add(struct ovsdb_stream *stream, const char *bytes, size_t size);
/* The bytes of the first message, borrowed until the next change; NULL: not whole yet. Quotes and
 * the depth are right, the rest is the parser's to say. */
const char *ovsdb_stream_message(const struct ovsdb_stream *stream, size_t *ret_size);
/* On to the next. As ovsdb_stream_add. */
MUST_USE int ovsdb_stream_drop(struct ovsdb_stream *stream);
void ovsdb_stream_done(struct ovsdb_stream *stream);
