/* The bytes of HTTP/1.1 for both ends: head, framing, chunks, percent encoding, ranges. No I/O. RFC
 * 9110, RFC 9112, RFC 3986. Strict where leniency lets two readers see two messages (request
 * smuggling): CRLF only, no folding, no blank before the colon, never both lengths, no transfer
 * coding but chunked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define HTTP_HEAD_LIMIT  16384 /* bytes of a head, blank line included */
#define HTTP_FIELD_LIMIT 64

struct http_field {
	const char *name, *value;
};

/* All strings lie in the parsed buffer. */
struct http_head {
	const char *method; /* request */
	const char *target;
	int status; /* response */
	int minor;  /* HTTP/1.minor: 0 or 1 */
	size_t field_count;
	struct http_field fields[HTTP_FIELD_LIMIT];
};

/* Size of the head at the start of `data`, its blank line included; 0 when it is not whole yet. */
size_t http_head_size(const char *data, size_t size);
/* Parses a whole head in place (NULs are written into `data`). E_MALFORMED, E_UNSUPPORTED (not
 * HTTP/1.x), E_LIMIT (fields). */
MUST_USE int http_head_request(char *data, size_t size, struct http_head *ret);
MUST_USE int http_head_response(char *data, size_t size, struct http_head *ret);
/* The first field of that name (any case); NULL when absent. */
const char *http_head_field(const struct http_head *head, const char *name);
/* How many fields of that name (any case). */
size_t http_head_count(const struct http_head *head, const char *name);
/* Whether a comma list of a field holds the token (any case). */
bool http_head_has_token(const struct http_head *head, const char *name, const char *token);

enum http_framing {
	HTTP_FRAMING_NONE,
	HTTP_FRAMING_LENGTH,
	HTTP_FRAMING_CHUNKED,
	HTTP_FRAMING_CLOSE
};

/* How long the body is (RFC 9112 6.3). A request without a length has none. E_MALFORMED,
 * E_UNSUPPORTED (other transfer coding). */
MUST_USE int http_framing_request(const struct http_head *head, enum http_framing *ret,
				  uint64_t *ret_length);
MUST_USE int http_framing_response(const struct http_head *head, bool head_only,
				   enum http_framing *ret, uint64_t *ret_length);

/* Chunked coding (RFC 9112 7.1); a zeroed decoder is at the start. Extensions and trailers are
 * skipped, bounded. */
struct http_chunks {
	enum {
		HTTP_CHUNKS_SIZE,
		HTTP_CHUNKS_EXTENSION,
		HTTP_CHUNKS_DATA,
		HTTP_CHUNKS_DATA_END,
		HTTP_CHUNKS_TRAILER,
		HTTP_CHUNKS_DONE
	} state;
	uint64_t left;  /* of this chunk */
	unsigned count; /* bytes of the line so far, or of all trailers */
	bool carriage;  /* CR was seen, LF must follow */
	bool digits;
};

/* Takes bytes up to the end of one piece of data (which may be empty). Returns how many were used;
 * *ret_piece lies in `data`. E_MALFORMED. Call again while bytes are left and the state is not
 * DONE. */
MUST_USE int http_chunks_take(struct http_chunks *chunks, const char *data, size_t size,
			      size_t *ret_used, const char **ret_piece, size_t *ret_piece_size);

/* Percent decoding in place; `query`: '+' is a blank. E_MALFORMED for a bad escape or a NUL. */
MUST_USE int http_decode(char *text, bool query);

/* "bytes=a-b", "bytes=a-", "bytes=-n" of a file of `size` bytes. E_MALFORMED: ignore the field
 * (other unit, several ranges, nonsense). E_NOT_FOUND: 416. RFC 9110 14.1.2. */
MUST_USE int http_range(const char *value, uint64_t size, uint64_t *ret_first,
			uint64_t *ret_length);

/* The reason phrase of a status. */
const char *http_reason(int status);
