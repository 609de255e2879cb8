#include "common/net/http_wire.h"

#include <string.h>
#include <strings.h>

#include "common/base/error.h"

/* RFC 9110 5.6.2. */
static bool is_token_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(const char *text)
{
	size_t length = 0;

	while (is_token_char(text[length]))
		length++;
	return length > 0 && text[length] == '\0';
}

/* Visible, blank, tab or above ASCII (RFC 9110 5.5). */
static bool is_value(const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

size_t http_head_size(const char *data, size_t size)
{
	const char *end = memmem(data, size, "\r\n\r\n", 4);

	return end ? (size_t)(end - data) + 4 : 0;
}

/* Cuts the next line off; NULL when none is left. NULs inside would hide bytes from us, so they are
 * refused. */
static char *http_wire_next_line(char **at, const char *end)
{
	char *line = *at;
	char *stop = memmem(line, (size_t)(end - line), "\r\n", 2);

	if (!stop)
		return NULL;
	*stop = '\0';
	*at = stop + 2;
	return strlen(line) == (size_t)(stop - line) ? line : NULL;
}

static int parse_field(char *line, struct http_field *ret)
{
	char *colon = strchr(line, ':');
	char *value;
	char *end;

	if (!colon)
		return E_MALFORMED;
	*colon = '\0';
	value = colon + 1 + strspn(colon + 1, " \t");
	end = value + strlen(value);
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	if (!is_token(line) || !is_value(value))
		return E_MALFORMED;
	*ret = (struct http_field){.name = line, .value = value};
	return 0;
}

static int parse_fields(char *at, const char *end, struct http_head *head)
{
	char *line;

	while ((line = http_wire_next_line(&at, end)) != NULL && *line) {
		int rc;

		if (head->field_count == HTTP_FIELD_LIMIT)
			return E_LIMIT;
		rc = parse_field(line, &head->fields[head->field_count]);
		if (rc != 0)
			return rc;
		head->field_count++;
	}
	return line && at == end ? 0 : E_MALFORMED;
}

/* "HTTP/1.0" or "HTTP/1.1" at the start of `text`. */
static int parse_version(const char *text, int *ret_minor)
{
	if (strncmp(text, "HTTP/", 5) != 0)
		return E_MALFORMED;
	if (text[5] != '1' || text[6] != '.' || (text[7] != '0' && text[7] != '1'))
		return E_UNSUPPORTED;
	*ret_minor = text[7] - '0';
	return 0;
}

static bool http_wire_is_target(const char *text)
{
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f)
			return false;
	}
	return *text != '\0';
}

int http_head_request(char *data, size_t size, struct http_head *ret)
{
	struct http_head head = {0};
	char *at = data;
	char *line = http_wire_next_line(&at, data + size);
	char *target = line ? strchr(line, ' ') : NULL;
	char *version = target ? strchr(target + 1, ' ') : NULL;
	int rc;

	if (!version)
		return E_MALFORMED;
	*target++ = '\0';
	*version++ = '\0';
	rc = parse_version(version, &head.minor);
	if (rc != 0)
		return rc;
	if (!is_token(line) || !http_wire_is_target(target) || version[8] != '\0')
		return E_MALFORMED;
	head.method = line;
	head.target = target;
	rc = parse_fields(at, data + size, &head);
	if (rc == 0)
		*ret = head;
	return rc;
}

int http_head_response(char *data, size_t size, struct http_head *ret)
{
	struct http_head head = {0};
	char *at = data;
	const char *line = http_wire_next_line(&at, data + size);
	int rc;

	if (!line)
		return E_MALFORMED;
	rc = parse_version(line, &head.minor);
	if (rc != 0)
		return rc;
	if (line[8] != ' ')
		return E_MALFORMED;
	for (size_t i = 9; i < 12; i++) {
		if (line[i] < '0' || line[i] > '9')
			return E_MALFORMED;
		head.status = head.status * 10 + (line[i] - '0');
	}
	if (head.status < 100 || head.status > 599 || (line[12] != '\0' && line[12] != ' '))
		return E_MALFORMED;
	rc = parse_fields(at, data + size, &head);
	if (rc == 0)
		*ret = head;
	return rc;
}

const char *http_head_field(const struct http_head *head, const char *name)
{
	for (size_t i = 0; i < head->field_count; i++) {
		if (strcasecmp(head->fields[i].name, name) == 0)
			return head->fields[i].value;
	}
	return NULL;
}

size_t http_head_count(const struct http_head *head, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < head->field_count; i++)
		count += strcasecmp(head->fields[i].name, name) == 0;
	return count;
}

/* Tokens of a comma list, blanks around them ignored. */
static bool list_has(const char *list, const char *token)
{
	size_t wanted = strlen(token);

	while (*list) {
		size_t length;

		list += strspn(list, ", \t");
		length = strcspn(list, ", \t;");
		if (length == wanted && strncasecmp(list, token, length) == 0)
			return true;
		list += strcspn(list, ",");
	}
	return false;
}

bool http_head_has_token(const struct http_head *head, const char *name, const char *token)
{
	for (size_t i = 0; i < head->field_count; i++) {
		if (strcasecmp(head->fields[i].name, name) == 0 &&
		    list_has(head->fields[i].value, token))
			return true;
	}
	return false;
}

static int parse_number(const char *text, size_t length, uint64_t *ret)
{
	uint64_t value = 0;

	if (length == 0 || length > 18) /* 18 digits never overflow */
		return E_MALFORMED;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return E_MALFORMED;
		value = value * 10 + (uint64_t)(text[i] - '0');
	}
	*ret = value;
	return 0;
}

/* Length or chunked, from all fields; neither leaves *ret alone. */
static int find_length(const struct http_head *head, enum http_framing *ret, uint64_t *ret_length)
{
	bool coded = false;
	bool sized = false;

	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];

		if (strcasecmp(field->name, "Transfer-Encoding") == 0) {
			if (coded || strcasecmp(field->value, "chunked") != 0)
				return E_UNSUPPORTED;
			coded = true;
		} else if (strcasecmp(field->name, "Content-Length") == 0) {
			if (sized ||
			    parse_number(field->value, strlen(field->value), ret_length) != 0)
				return E_MALFORMED;
			sized = true;
		}
	}
	if (coded && (sized || head->minor == 0))
		return E_MALFORMED;
	if (coded)
		*ret = HTTP_FRAMING_CHUNKED;
	else if (sized)
		*ret = HTTP_FRAMING_LENGTH;
	return 0;
}

int http_framing_request(const struct http_head *head, enum http_framing *ret, uint64_t *ret_length)
{
	*ret = HTTP_FRAMING_NONE;
	*ret_length = 0;
	return find_length(head, ret, ret_length);
}

int http_framing_response(const struct http_head *head, bool head_only, enum http_framing *ret,
			  uint64_t *ret_length)
{
	*ret = HTTP_FRAMING_CLOSE;
	*ret_length = 0;
	if (head_only || head->status < 200 || head->status == 204 || head->status == 304) {
		*ret = HTTP_FRAMING_NONE;
		return 0;
	}
	return find_length(head, ret, ret_length);
}

#define CHUNK_LINE_LIMIT    256
#define CHUNK_TRAILER_LIMIT 4096

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The line with the size has ended. */
static void begin_chunk(struct http_chunks *chunks)
{
	chunks->state = chunks->left > 0 ? HTTP_CHUNKS_DATA : HTTP_CHUNKS_TRAILER;
	chunks->count = 0;
	chunks->digits = false;
}

static int take_size_char(struct http_chunks *chunks, char c)
{
	int digit = hex_value(c);

	if (++chunks->count > CHUNK_LINE_LIMIT)
		return E_MALFORMED;
	if (chunks->carriage) {
		chunks->carriage = false;
		if (c != '\n')
			return E_MALFORMED;
		begin_chunk(chunks);
	} else if (chunks->state == HTTP_CHUNKS_SIZE && digit >= 0) {
		if (chunks->left >> 56)
			return E_MALFORMED;
		chunks->left = chunks->left << 4 | (uint64_t)digit;
		chunks->digits = true;
	} else if (chunks->digits && c == '\r') {
		chunks->carriage = true;
	} else if (chunks->digits && c != '\n' &&
		   (c == ';' || chunks->state == HTTP_CHUNKS_EXTENSION)) {
		chunks->state = HTTP_CHUNKS_EXTENSION;
	} else {
		return E_MALFORMED;
	}
	return 0;
}

/* CRLF after the data of a chunk. */
static int take_data_end(struct http_chunks *chunks, char c)
{
	if (c != (chunks->carriage ? '\n' : '\r'))
		return E_MALFORMED;
	chunks->carriage = !chunks->carriage;
	if (!chunks->carriage)
		chunks->state = HTTP_CHUNKS_SIZE;
	return 0;
}

/* Trailer lines are dropped; an empty one ends the body. `digits` says that this line has
 * something. */
static int take_trailer_char(struct http_chunks *chunks, char c)
{
	if (++chunks->count > CHUNK_TRAILER_LIMIT)
		return E_MALFORMED;
	if (chunks->carriage) {
		chunks->carriage = false;
		if (c != '\n')
			return E_MALFORMED;
		if (!chunks->digits)
			chunks->state = HTTP_CHUNKS_DONE;
		chunks->digits = false;
	} else if (c == '\r') {
		chunks->carriage = true;
	} else if (c == '\n') {
		return E_MALFORMED;
	} else {
		chunks->digits = true;
	}
	return 0;
}

int http_chunks_take(struct http_chunks *chunks, const char *data, size_t size, size_t *ret_used,
		     const char **ret_piece, size_t *ret_piece_size)
{
	size_t used = 0;
	int rc = 0;

	*ret_piece_size = 0;
	*ret_piece = data;
	while (rc == 0 && used < size && chunks->state != HTTP_CHUNKS_DONE) {
		if (chunks->state == HTTP_CHUNKS_DATA) {
			size_t piece =
				size - used < chunks->left ? size - used : (size_t)chunks->left;

			*ret_piece = data + used;
			*ret_piece_size = piece;
			used += piece;
			chunks->left -= piece;
			if (chunks->left == 0)
				chunks->state = HTTP_CHUNKS_DATA_END;
			break;
		}
		if (chunks->state == HTTP_CHUNKS_DATA_END)
			rc = take_data_end(chunks, data[used++]);
		else if (chunks->state == HTTP_CHUNKS_TRAILER)
			rc = take_trailer_char(chunks, data[used++]);
		else
			rc = take_size_char(chunks, data[used++]);
	}
	*ret_used = used;
	return rc;
}

int http_decode(char *text, bool query)
{
	char *out = text;

	for (const char *in = text; *in; in++) {
		int high;
		int low;

		if (*in != '%') {
			*out++ = (char)(query && *in == '+' ? ' ' : *in);
			continue;
		}
		high = hex_value(in[1]);
		low = high < 0 ? -1 : hex_value(in[2]);
		if (low < 0 || (high == 0 && low == 0))
			return E_MALFORMED;
		*out++ = (char)(unsigned char)((unsigned)high << 4 | (unsigned)low);
		in += 2;
	}
	*out = '\0';
	return 0;
}

int http_range(const char *value, uint64_t size, uint64_t *ret_first, uint64_t *ret_length)
{
	static const char unit[] = "bytes=";
	const char *first_text;
	const char *dash;
	const char *last_text;
	uint64_t first = 0;
	uint64_t last = 0;

	if (strncasecmp(value, unit, strlen(unit)) != 0)
		return E_MALFORMED;
	first_text = value + strlen(unit);
	dash = strchr(first_text, '-');
	if (!dash)
		return E_MALFORMED;
	last_text = dash + 1;
	if (dash > first_text && parse_number(first_text, (size_t)(dash - first_text), &first) != 0)
		return E_MALFORMED;
	if (*last_text && parse_number(last_text, strlen(last_text), &last) != 0)
		return E_MALFORMED;
	if (dash == first_text) { /* the last n bytes */
		if (!*last_text)
			return E_MALFORMED;
		first = last < size ? size - last : 0;
		if (last == 0 || size == 0)
			return E_NOT_FOUND;
		last = size - 1;
	} else {
		if (*last_text && last < first)
			return E_MALFORMED;
		if (first >= size)
			return E_NOT_FOUND;
		if (!*last_text || last >= size)
			last = size - 1;
	}
	*ret_first = first;
	*ret_length = last - first + 1;
	return 0;
}

const char *http_reason(int status)
{
	static const struct {
		int status;
		const char *reason;
	} rows[] = {
		/* clang-format off */
		{100, "Continue"}, {200, "OK"}, {201, "Created"}, {202, "Accepted"}, {204, "No Content"},
		{206, "Partial Content"}, {301, "Moved Permanently"}, {302, "Found"}, {303, "See Other"},
		{304, "Not Modified"}, {307, "Temporary Redirect"}, {308, "Permanent Redirect"},
		{400, "Bad Request"}, {401, "Unauthorized"}, {403, "Forbidden"}, {404, "Not Found"},
		{405, "Method Not Allowed"}, {406, "Not Acceptable"}, {408, "Request Timeout"}, {409, "Conflict"},
		{410, "Gone"}, {411, "Length Required"}, {412, "Precondition Failed"}, {413, "Content Too Large"},
		{414, "URI Too Long"}, {415, "Unsupported Media Type"}, {416, "Range Not Satisfiable"},
		{417, "Expectation Failed"}, {421, "Misdirected Request"}, {422, "Unprocessable Content"},
		{428, "Precondition Required"}, {429, "Too Many Requests"}, {431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"}, {501, "Not Implemented"}, {502, "Bad Gateway"},
		{503, "Service Unavailable"}, {504, "Gateway Timeout"}, {505, "HTTP Version Not Supported"},
		{507, "Insufficient Storage"},
		/* clang-format on */
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].status == status)
			return rows[i].reason;
	}
	return "Unknown";
}
