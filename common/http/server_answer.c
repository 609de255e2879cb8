/* Answers: whole, files by sendfile, streams. */
#include <errno.h>
#include <event2/buffer.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/server_private.h"

/* A stream's client that acknowledges nothing for so long is gone. The kernel alone would wait a quarter of an hour. */
#define STREAM_SILENT_MS 20000

/* Of a body that somebody else has too. */
struct http_answer_hold {
	loop_fn done;
	void *context;
};

static struct evbuffer *output_of(const struct http_request *request)
{
	return bufferevent_get_output(request->connection->bev);
}

void http_answer_header(struct http_request *request, const char *name, const char *value)
{
	text_addf(&request->headers, "%s: ", name);
	for (; *value; value++) { /* a line break would end the header, and ours with it */
		unsigned char c = (unsigned char)*value;

		text_add_bytes(&request->headers, c < 0x20 || c == 0x7f ? " " : value, 1);
	}
	text_add(&request->headers, "\r\n");
}

/* IMF-fixdate of RFC 9110 5.6.7; strftime's names follow no locale because no program of ours sets
 * one. */
static void add_date(struct text *head)
{
	time_t now = (time_t)(clock_wall_us() / 1000000);
	struct tm tm;
	char date[40];

	if (gmtime_r(&now, &tm) &&
	    strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm) > 0)
		text_addf(head, "Date: %s\r\n", date);
}

/* Lines that all answers have, without those that this answer says itself. */
static void add_common(struct text *head, const char *lines, const char *own)
{
	while (lines && *lines) {
		size_t length = strcspn(lines, "\n") + 1;
		size_t name = strcspn(lines, ":") + 1;
		const char *at = own;

		while (at && *at && strncasecmp(at, lines, name) != 0)
			at += strcspn(at, "\n") + 1;
		if (!at || !*at)
			text_add_bytes(head, lines, length);
		lines += length;
	}
}

static bool has_body(int status)
{
	return status >= 200 && status != 204 && status != 304;
}

/* Writes the head; `length` < 0: not known. False when memory ran out: the connection is given up
 * then. */
static bool send_head(struct http_request *request, int status, const char *content_type,
		      int64_t length)
{
	struct http_connection *connection = request->connection;
	struct text head = {0};
	bool sent;

	request->status = status;
	if (length < 0 && request->head.minor == 0)
		connection->close = true; /* its end is the only end that HTTP/1.0 knows */
	request->chunked = length < 0 && request->head.minor == 1;
	text_addf(&head, "HTTP/1.1 %d %s\r\n", status, http_reason(status));
	add_date(&head);
	if (content_type)
		text_addf(&head, "Content-Type: %s\r\n", content_type);
	if (length >= 0 && has_body(status))
		text_addf(&head, "Content-Length: %" PRId64 "\r\n", length);
	if (request->chunked)
		text_add(&head, "Transfer-Encoding: chunked\r\n");
	if (connection->close)
		text_add(&head, "Connection: close\r\n");
	else if (request->head.minor == 0)
		text_add(&head, "Connection: keep-alive\r\n");
	add_common(&head, connection->server->options.headers, text_get(&request->headers));
	text_add_bytes(&head, text_get(&request->headers), request->headers.size);
	text_add(&head, "\r\n");
	sent = !head.failed && !request->headers.failed &&
	       evbuffer_add(output_of(request), text_get(&head), head.size) == 0;
	text_done(&head);
	if (!sent)
		http_connection_abort(connection);
	return sent;
}

/* The handler is done with it; what remains is between us and the client. */
static void end_answer(struct http_request *request)
{
	request->ended = true;
	http_connection_drain(request->connection);
	/* A stream may have nothing on its way any more; then no write would tell us that all is
	 * out. */
	if (http_connection_left(request->connection) == 0)
		bufferevent_trigger(request->connection->bev, EV_WRITE,
				    BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

void http_answer(struct http_request *request, int status, const char *content_type,
		 const void *body, size_t size)
{
	bool sent;

	if (request->status) /* a second answer would be read as the next request's */
		return;
	sent = send_head(request, status, size > 0 ? content_type : NULL, (int64_t)size);
	if (sent && size > 0 && request->method != HTTP_HEAD && has_body(status) &&
	    evbuffer_add(output_of(request), body, size) != 0)
		http_connection_abort(request->connection);
	end_answer(request);
}

static void http_answer_on_taken(const void *data, size_t size, void *extra)
{
	struct http_answer_hold *hold = extra;

	(void)data;
	(void)size;
	hold->done(hold->context);
	free(hold);
}

void http_answer_shared(struct http_request *request, const char *content_type, const void *body,
			size_t size, loop_fn done, void *context)
{
	struct http_answer_hold *hold = malloc(sizeof(*hold));

	if (request->status || !hold || request->method == HTTP_HEAD || size == 0) {
		http_answer(request, 200, content_type, body, size);
		free(hold);
		done(context);
		return;
	}
	*hold = (struct http_answer_hold){.done = done, .context = context};
	if (!send_head(request, 200, content_type, (int64_t)size)) {
		http_answer_on_taken(body, size, hold);
	} else if (evbuffer_add_reference(output_of(request), body, size, http_answer_on_taken,
					  hold) != 0) {
		http_answer_on_taken(body, size, hold);
		http_connection_abort(request->connection);
	}
	end_answer(request);
}

void http_answer_json(struct http_request *request, int status, const struct text *body)
{
	struct problem problem = {0};

	if (body->failed) {
		(void)problem_set(&problem, -ENOMEM, "out of memory");
		http_answer_problem(request, 503, &problem);
		return;
	}
	http_answer(request, status, "application/json", text_get(body), body->size);
}

void http_answer_problem(struct http_request *request, int status, const struct problem *problem)
{
	struct text body = {0};

	json_begin_object(&body, NULL);
	json_put_string(&body, "type", "about:blank");
	json_put_string(&body, "title",
			problem->message[0] ? problem->message : http_reason(status));
	json_put_int(&body, "status", status);
	if (problem->detail[0])
		json_put_string(&body, "detail", problem->detail);
	if (problem->hint[0])
		json_put_string(&body, "hint", problem->hint);
	json_put_string(&body, "code", error_word(problem->code));
	json_end_object(&body);
	http_answer(request, status, "application/problem+json", text_get(&body),
		    body.failed ? 0 : body.size);
	text_done(&body);
}

int http_status_of(int rc)
{
	static const struct {
		int rc;
		int status;
	} rows[] = {
		/* clang-format off */
		{0, 200}, {E_MALFORMED, 400}, {E_NOT_FOUND, 404}, {E_CONFLICT, 409}, {E_DENIED, 403}, {E_UNAVAILABLE, 503},
		{E_DIGEST, 422}, {E_TIMEOUT, 504}, {E_PROTOCOL, 502}, {E_UNSUPPORTED, 501}, {E_AUTHENTICATION, 401},
		{E_LIMIT, 413}, {E_STALE, 412}, {E_INVALID, 422}, {E_UNREAD, 428}, {-ENOSPC, 507}, {-ENOMEM, 503},
		/* clang-format on */
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].rc == rc)
			return rows[i].status;
	}
	return 500;
}

int http_answer_status(const struct http_request *request)
{
	return request->status;
}

int http_request_part(const struct http_request *request, uint64_t size, const char *tag,
		      uint64_t *ret_first, uint64_t *ret_length)
{
	const char *value = http_head_field(&request->head, "Range");
	const char *only_if = http_head_field(&request->head, "If-Range");
	int rc = E_MALFORMED;

	*ret_first = 0;
	*ret_length = size;
	/* A date never fits: no file of ours tells when it was changed. */
	if (value && (request->method & (HTTP_GET | HTTP_HEAD)) &&
	    (!only_if || (tag && strcmp(only_if, tag) == 0)))
		rc = http_range(value, size, ret_first, ret_length);
	if (rc == E_NOT_FOUND)
		return 416;
	return rc == 0 ? 206 : 200;
}

#define TAG_SIZE 80

/* RFC 9110 8.8.3: another file, or other content of it, has another tag. */
static void entity_tag(const struct stat *status, char ret[TAG_SIZE])
{
	(void)text_format(ret, TAG_SIZE, "\"%jx-%jx-%jx.%lx\"", (uintmax_t)status->st_ino,
			  (uintmax_t)status->st_size, (uintmax_t)status->st_mtim.tv_sec,
			  (unsigned long)status->st_mtim.tv_nsec);
}

/* Takes `fd`. */
static void send_file(struct http_request *request, int fd, const struct stat *file,
		      const char *content_type)
{
	uint64_t size = (uint64_t)file->st_size;
	struct problem problem = {0};
	char tag[TAG_SIZE];
	uint64_t first;
	uint64_t length;
	char range[80];
	int status;

	entity_tag(file, tag);
	http_answer_header(request, "ETag", tag);
	http_answer_header(request, "Accept-Ranges", "bytes");
	status = http_request_part(request, size, tag, &first, &length);
	if (status == 416) {
		close(fd);
		(void)text_format(range, sizeof(range), "bytes */%" PRIu64, size);
		http_answer_header(request, "Content-Range", range);
		(void)problem_set(&problem, E_INVALID, "the range is outside the file");
		problem_detail(&problem, "%" PRIu64 " bytes", size);
		http_answer_problem(request, 416, &problem);
		return;
	}
	if (status == 206) {
		(void)text_format(range, sizeof(range), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
				  first, first + length - 1, size);
		http_answer_header(request, "Content-Range", range);
	}
	if (!send_head(request, status, content_type, (int64_t)length) || length == 0 ||
	    request->method == HTTP_HEAD) {
		close(fd);
	} else {
		http_file_add(request->connection, fd, first, length);
	}
	end_answer(request);
}

void http_answer_file(struct http_request *request, const char *path, const char *content_type)
{
	struct problem problem = {0};
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc = fd < 0 ? -errno : 0;

	if (request->status) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (rc == 0 && fstat(fd, &status) != 0)
		rc = -errno;
	if (rc == 0 && S_ISREG(status.st_mode)) {
		send_file(request, fd, &status, content_type);
		return;
	}
	if (fd >= 0)
		close(fd);
	if (rc == 0 || rc == -ENOENT || rc == -ENOTDIR || rc == -ENXIO || rc == -ENAMETOOLONG) {
		(void)problem_set(&problem, E_NOT_FOUND, "no such file");
		http_answer_problem(request, 404, &problem);
	} else {
		(void)problem_set(&problem, rc, "the file cannot be read: %s", error_text(rc));
		http_answer_problem(request, 500, &problem);
	}
}

void http_stream_begin(struct http_request *request, int status, const char *content_type)
{
	const unsigned silent_ms = STREAM_SILENT_MS;

	if (request->status)
		return;
	/* Refused by a Unix socket, whose peer cannot vanish. */
	(void)setsockopt(bufferevent_getfd(request->connection->bev), IPPROTO_TCP, TCP_USER_TIMEOUT,
			 &silent_ms, sizeof(silent_ms));
	(void)send_head(request, status, content_type, -1);
	if (request->method == HTTP_HEAD) /* the head was all */
		request->chunked = false;
}

size_t http_stream_waiting(const struct http_request *request)
{
	return request->ended ? 0 : (size_t)http_connection_left(request->connection);
}

/* What the socket takes at once; a failure shows again when the rest is written. */
static size_t stream_write(struct http_connection *connection, struct iovec parts[], size_t count)
{
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
	ssize_t size;

	if (connection->session || http_connection_left(connection) > 0)
		return 0;
	size = sendmsg(bufferevent_getfd(connection->bev), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	return size > 0 ? (size_t)size : 0;
}

static int stream_send(struct http_request *request, const void *data, size_t size, bool now)
{
	const union {
		const void *kept;
		void *plain;
	} bytes = {.kept = data}; /* struct iovec knows no const */
	char chunk[24];
	char end[] = "\r\n";
	struct iovec parts[] = {{NULL, 0}, {bytes.plain, size}, {end, 2}};
	size_t first = 1;
	size_t stop = 2;
	size_t sent;

	if (request->ended || request->connection->abort) {
		request->ended = true;
		return -EPIPE;
	}
	if (request->method == HTTP_HEAD) {
		end_answer(request);
		return -EPIPE;
	}
	if (size == 0) /* an empty chunk would be the end */
		return 0;
	if (http_connection_left(request->connection) + size > STREAM_LIMIT) {
		request->ended = true;
		http_connection_abort(request->connection);
		return -EPIPE;
	}
	if (request->sized && size > request->to_go) {
		http_stream_abort(request); /* it would be read as the next answer */
		return -EPIPE;
	}
	if (request->chunked && text_format(chunk, sizeof(chunk), "%zx\r\n", size)) {
		parts[0] = (struct iovec){chunk, strlen(chunk)};
		first = 0;
		stop = COUNT_OF(parts);
	}
	sent = now ? stream_write(request->connection, parts + first, stop - first) : 0;
	for (; first < stop; first++) {
		size_t whole = parts[first].iov_len;
		size_t skip = sent < whole ? sent : whole;

		sent -= skip;
		if (skip == whole ||
		    http_bytes_add(request->connection, (const char *)parts[first].iov_base + skip,
				   whole - skip) == 0)
			continue;
		request->ended = true;
		http_connection_abort(request->connection);
		return -EPIPE;
	}
	request->to_go -= request->sized ? size : 0;
	return 0;
}

int http_stream_send(struct http_request *request, const void *data, size_t size)
{
	return stream_send(request, data, size, false);
}

int http_stream_send_now(struct http_request *request, const void *data, size_t size)
{
	return stream_send(request, data, size, true);
}

void http_stream_begin_sized(struct http_request *request, int status, const char *content_type,
			     uint64_t length)
{
	if (request->status)
		return;
	request->sized = true;
	request->to_go = length;
	(void)send_head(request, status, content_type, (int64_t)length);
}

int http_stream_send_file(struct http_request *request, int fd, uint64_t first, uint64_t length)
{
	int own = -1;

	if (request->ended || request->connection->abort) {
		request->ended = true;
		return -EPIPE;
	}
	if (length == 0)
		return 0;
	if (request->sized && length <= request->to_go)
		own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0) {
		http_stream_abort(request);
		return -EPIPE;
	}
	request->to_go -= length;
	http_file_add(request->connection, own, first, length);
	return 0;
}

void http_stream_on_drain(struct http_request *request, loop_fn fn, void *context)
{
	request->on_drain = fn;
	request->on_drain_context = context;
}

void http_stream_abort(struct http_request *request)
{
	request->ended = true;
	http_connection_abort(request->connection);
}

void http_stream_end(struct http_request *request)
{
	if (request->ended)
		return;
	if (request->sized && request->to_go > 0) {
		http_stream_abort(request);
		return;
	}
	if (request->chunked && http_bytes_add(request->connection, "0\r\n\r\n", 5) != 0)
		http_connection_abort(request->connection);
	end_answer(request);
}
