// links: common_http
/* Server and client on one loop: honest exchanges through the client, dishonest ones as raw bytes.
 */
/* cmocka.h wants the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/client.h"
#include "common/http/http_wire.h"
#include "common/http/json_reader.h"
#include "common/http/metrics.h"
#include "common/http/server.h"

#define WAIT_MS    10000
#define LARGE_SIZE ((size_t)20 << 20)

struct answer {
	unsigned done;
	int rc;
	int status;
	char body[4096];
	char header[256];
	size_t data_size;
	uint32_t data_sum;
	int data_rc; /* what on_data gives */
	struct problem problem;
	struct http_call *call;
	bool cancel; /* from inside on_data */
};

struct fixture {
	char folder[64];
	char path[128]; /* of the Unix socket */
	char url[64];
	struct loop *loop;
	struct http_server *server;
	unsigned before, after, closed, handled;
	int last_status;
	struct http_request *waiting; /* of /later and /stream */
	int stream_rc;
};

static uint32_t add_up(uint32_t sum, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

/* Handlers. */

static void on_node(void *context, struct http_request *request)
{
	struct fixture *f = context;
	const char *query = http_request_query(request, "q");
	const char *bearer = http_request_bearer(request);
	struct text body = {0};

	f->handled++;
	json_begin_object(&body, NULL);
	json_string(&body, "node", http_request_param(request, "node"));
	json_string(&body, "query", query);
	json_string(&body, "bearer", bearer);
	json_string(&body, "path", http_request_path(request));
	json_string(&body, "route", http_request_route(request));
	json_bool(&body, "local", http_request_peer(request)->local);
	json_int(&body, "uid", (int64_t)http_request_peer(request)->uid);
	json_end_object(&body);
	http_answer_header(request, "X-Test", "a\r\nInjected: b");
	http_answer_json(request, 200, &body);
	text_done(&body);
}

static void on_import(void *context, struct http_request *request)
{
	struct fixture *f = context;

	f->handled++;
	http_answer(request, 200, "text/plain", "import", 6);
}

static void on_echo(void *context, struct http_request *request)
{
	size_t size;
	const char *body = http_request_body(request, &size);

	(void)context;
	http_answer(request, 201, "application/octet-stream", body, size);
}

static void on_gone(void *context)
{
	struct fixture *f = context;

	f->closed++;
	f->waiting = NULL;
}

static void on_later(void *context, struct http_request *request)
{
	struct fixture *f = context;

	f->waiting = request;
	http_request_on_close(request, on_gone, f);
}

static void on_stream(void *context, struct http_request *request)
{
	struct fixture *f = context;

	f->waiting = request;
	http_request_on_close(request, on_gone, f);
	http_stream_begin(request, 200, "text/event-stream");
	f->stream_rc = http_stream_send(request, "data: 1\n\n", 9);
}

static void on_file(void *context, struct http_request *request)
{
	const struct fixture *f = context;
	char path[256];

	(void)text_format(path, sizeof(path), "%s/%s", f->folder,
			  http_request_param(request, "name"));
	http_answer_file(request, path, "application/octet-stream");
}

static void on_refused(void *context, struct http_request *request)
{
	struct problem problem = {0};

	(void)context;
	(void)problem_set(&problem, E_CONFLICT, "node is not free");
	problem_detail(&problem, "state active");
	problem_hint(&problem, "release it");
	http_answer_problem(request, http_status_of(problem.code), &problem);
}

static bool before(void *context, struct http_request *request)
{
	struct fixture *f = context;

	f->before++;
	if (http_request_query(request, "forbidden")) {
		http_answer(request, 403, NULL, NULL, 0);
		return false;
	}
	return true;
}

static void after(void *context, const struct http_request *request, int status, int64_t elapsed_us)
{
	struct fixture *f = context;

	assert_non_null(http_request_path(request));
	assert_true(elapsed_us >= 0);
	f->after++;
	f->last_status = status;
}

static const struct http_route routes[] = {
	{HTTP_GET, "/nodes/{node}", on_node},    {HTTP_GET, "/nodes/import", on_import},
	{HTTP_DELETE, "/nodes/{node}", on_node}, {HTTP_GET, "/nodes/{node}/events", on_node},
	{HTTP_POST, "/echo", on_echo},           {HTTP_GET, "/later", on_later},
	{HTTP_GET, "/stream", on_stream},        {HTTP_GET, "/file/{name}", on_file},
	{HTTP_GET, "/refused", on_refused},      {HTTP_GET, "/", on_import},
};

static int start(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct http_server_options options = {.routes = routes,
						    .route_count = COUNT_OF(routes),
						    .context = f,
						    .body_limit = 100000,
						    .connection_limit = 8,
						    .header_timeout_s = 1,
						    .before = before,
						    .after = after};
	struct problem problem = {0};

	assert_non_null(f);
	strcpy(f->folder, "/tmp/haas-http-test-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	(void)text_format(f->path, sizeof(f->path), "%s/s", f->folder);
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(http_server_new(f->loop, &options, &f->server), 0);
	assert_int_equal(http_server_listen_tcp(f->server, INADDR_LOOPBACK, 0, &problem), 0);
	assert_int_equal(http_server_listen_unix(f->server, f->path, 0660, NULL, &problem), 0);
	(void)text_format(f->url, sizeof(f->url), "http://127.0.0.1:%u",
			  (unsigned)http_server_port(f->server));
	*state = f;
	return 0;
}

static int stop(void **state)
{
	struct fixture *f = *state;
	char command[128];

	http_server_free(f->server);
	loop_free(f->loop);
	assert_int_not_equal(access(f->path, F_OK), 0);
	(void)text_format(command, sizeof(command), "rm -rf %s", f->folder);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static void turn(struct fixture *f)
{
	loop_run_once(f->loop);
	usleep(200);
}

static void turn_for(struct fixture *f, int64_t ms)
{
	int64_t end = clock_monotonic_ms() + ms;

	while (clock_monotonic_ms() < end)
		turn(f);
}

/* Raw bytes. */

static int raw_connect(const struct fixture *f)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(http_server_port(f->server)),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void raw_send(int fd, const char *bytes)
{
	assert_int_equal(send(fd, bytes, strlen(bytes), MSG_NOSIGNAL), strlen(bytes));
}

/* Everything until the server closes or `until` is there; NULL-ended in `ret`. False when the time
 * was up. */
static bool raw_read(struct fixture *f, int fd, const char *until, char *ret, size_t room)
{
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;
	size_t size = 0;

	ret[0] = '\0';
	while (clock_monotonic_ms() < deadline && size + 1 < room) {
		ssize_t got = recv(fd, ret + size, room - size - 1, MSG_DONTWAIT);

		if (got == 0 || (got < 0 && errno != EAGAIN))
			return until == NULL;
		if (got > 0)
			size += (size_t)got;
		ret[size] = '\0';
		if (until && strstr(ret, until))
			return true;
		turn(f);
	}
	return false;
}

static char *raw(struct fixture *f, const char *bytes)
{
	static char answer[65536];
	int fd = raw_connect(f);

	raw_send(fd, bytes);
	assert_true(raw_read(f, fd, NULL, answer, sizeof(answer)));
	close(fd);
	return answer;
}

static void assert_starts(const char *text, const char *start_text)
{
	if (strncmp(text, start_text, strlen(start_text)) != 0)
		fail_msg("expected \"%s\", got \"%.200s\"", start_text, text);
}

static void assert_holds(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in \"%.600s\"", part, text);
}

#define CLOSE "Host: x\r\nConnection: close\r\n"

static void test_routes(void **state)
{
	struct fixture *f = *state;
	const char *answer;

	answer = raw(f, "GET /nodes/n%20%31?q=a+b%26c HTTP/1.1\r\n" CLOSE
			"Authorization: Bearer t0\r\n\r\n");
	assert_starts(answer, "HTTP/1.1 200 OK\r\n");
	assert_holds(answer, "\"node\":\"n 1\",\"query\":\"a b&c\",\"bearer\":\"t0\",\"path\":"
			     "\"/nodes/n 1\",\"route\":\"/nodes/{node}\",\"local\":false");
	assert_holds(answer, "\r\nX-Test: a  Injected: b\r\n");
	assert_holds(answer, "\r\nContent-Type: application/json\r\n");
	assert_holds(answer, "\r\nDate: ");
	/* A literal beats a parameter, whatever the order of rows. */
	assert_holds(raw(f, "GET /nodes/import HTTP/1.1\r\n" CLOSE "\r\n"), "\r\n\r\nimport");
	assert_holds(raw(f, "GET / HTTP/1.1\r\n" CLOSE "\r\n"), "\r\n\r\nimport");
	assert_holds(raw(f, "GET http://x/nodes/a HTTP/1.1\r\n" CLOSE "\r\n"), "\"node\":\"a\"");

	answer = raw(f, "GET /nothing HTTP/1.1\r\n" CLOSE "\r\n");
	assert_starts(answer, "HTTP/1.1 404 Not Found\r\n");
	assert_holds(answer, "application/problem+json");
	assert_holds(answer, "\"code\":\"not_found\"");
	answer = raw(f, "POST /nodes/a HTTP/1.1\r\n" CLOSE "Content-Length: 0\r\n\r\n");
	assert_starts(answer, "HTTP/1.1 405 ");
	assert_holds(answer, "\r\nAllow: GET, HEAD, DELETE\r\n");
	assert_starts(raw(f, "BREW /nodes/a HTTP/1.1\r\n" CLOSE "\r\n"), "HTTP/1.1 405 ");
	assert_starts(raw(f, "GET /nodes/ HTTP/1.1\r\n" CLOSE "\r\n"), "HTTP/1.1 404 ");
	answer = raw(f, "HEAD /nodes/import HTTP/1.1\r\n" CLOSE "\r\n");
	assert_holds(answer, "\r\nContent-Length: 6\r\n");
	assert_null(strstr(answer, "\r\n\r\nimport"));
	answer = raw(f, "GET /refused HTTP/1.1\r\n" CLOSE "\r\n");
	assert_starts(answer, "HTTP/1.1 409 Conflict\r\n");
	assert_holds(answer,
		     "{\"type\":\"about:blank\",\"title\":\"node is not free\",\"status\":409,"
		     "\"detail\":\"state active\",\"hint\":\"release it\",\"code\":\"conflict\"}");
	assert_starts(raw(f, "GET /nodes/a?forbidden HTTP/1.1\r\n" CLOSE "\r\n"), "HTTP/1.1 403 ");
	assert_int_equal(f->after, 11);
	assert_int_equal(f->last_status, 403);
}

static void test_malformed(void **state)
{
	static const struct {
		const char *bytes, *status;
	} rows[] = {
		{"GET /nodes/a HTTP/1.1\r\nConnection: close\r\n\r\n", "400"}, /* no Host */
		{"GET /nodes/a HTTP/2.0\r\n" CLOSE "\r\n", "505"},
		{"GET  /nodes/a HTTP/1.1\r\n" CLOSE "\r\n", "400"},
		{"GET /nodes/a\r\n\r\n", "400"},
		{"G\x01T / HTTP/1.1\r\n" CLOSE "\r\n", "400"},
		{"GET /%2e%2e/x HTTP/1.1\r\n" CLOSE "\r\n", "400"},
		{"GET /file/a%2Fb HTTP/1.1\r\n" CLOSE "\r\n", "400"},
		{"GET /file/a%00 HTTP/1.1\r\n" CLOSE "\r\n", "400"},
		{"GET /file/a%4 HTTP/1.1\r\n" CLOSE "\r\n", "400"},
		{"GET * HTTP/1.1\r\n" CLOSE "\r\n", "400"},
		{"GET / HTTP/1.1\r\nHost : x\r\n\r\n", "400"},
		{"GET / HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n", "400"},
		{"GET / HTTP/1.1\r\nHost: x\nA: y\r\n\r\n", "400"},
		{"POST /echo HTTP/1.1\r\n" CLOSE
		 "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
		 "400"},
		{"POST /echo HTTP/1.1\r\n" CLOSE "Content-Length: 2\r\nContent-Length: 3\r\n\r\n",
		 "400"},
		{"POST /echo HTTP/1.1\r\n" CLOSE "Content-Length: +2\r\n\r\n", "400"},
		{"POST /echo HTTP/1.1\r\n" CLOSE "Transfer-Encoding: gzip, chunked\r\n\r\n", "501"},
		{"POST /echo HTTP/1.1\r\n" CLOSE "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
		 "400"},
		{"POST /echo HTTP/1.1\r\n" CLOSE "Content-Length: 100001\r\n\r\n", "413"},
		{"POST /echo HTTP/1.1\r\n" CLOSE "Expect: miracles\r\nContent-Length: 1\r\n\r\n",
		 "417"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *answer;

		answer = raw(f, rows[i].bytes);
		if (strncmp(answer, "HTTP/1.1 ", 9) != 0 ||
		    strncmp(answer + 9, rows[i].status, 3) != 0)
			fail_msg("%s: expected %s, got %.80s", rows[i].bytes, rows[i].status,
				 answer);
		assert_holds(answer, "\r\nConnection: close\r\n");
	}
	assert_int_equal(f->handled, 0);
}

static void test_limits(void **state)
{
	struct fixture *f = *state;
	struct text request = {0};

	text_add(&request, "GET / HTTP/1.1\r\nHost: x\r\nA: ");
	while (request.size < 30000)
		text_add(&request, "aaaaaaaaaaaaaaaa");
	assert_starts(raw(f, text_get(&request)), "HTTP/1.1 431 ");
	text_clear(&request);
	text_add(&request, "GET / HTTP/1.1\r\nHost: x\r\n");
	for (unsigned i = 0; i < 80; i++)
		text_addf(&request, "A%u: b\r\n", i);
	text_add(&request, "\r\n");
	assert_starts(raw(f, text_get(&request)), "HTTP/1.1 431 ");
	/* A chunked body grows past the limit. */
	text_clear(&request);
	text_add(&request, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (unsigned i = 0; i < 30; i++) {
		text_add(&request, "1000\r\n");
		for (unsigned j = 0; j < 256; j++)
			text_add(&request, "bbbbbbbbbbbbbbbb");
		text_add(&request, "\r\n");
	}
	assert_starts(raw(f, text_get(&request)), "HTTP/1.1 413 ");
	text_done(&request);
}

static void test_bodies(void **state)
{
	struct fixture *f = *state;
	char answer[2048];
	int fd;

	assert_holds(raw(f, "POST /echo HTTP/1.1\r\n" CLOSE "Transfer-Encoding: chunked\r\n\r\n"
			    "3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n"),
		     "\r\n\r\nabc0123456789");
	assert_holds(raw(f, "POST /echo HTTP/1.0\r\nContent-Length: 4\r\n\r\nabcd"),
		     "\r\n\r\nabcd");
	fd = raw_connect(f);
	raw_send(fd, "POST /echo HTTP/1.1\r\n" CLOSE
		     "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
	assert_true(raw_read(f, fd, "100 Continue\r\n\r\n", answer, sizeof(answer)));
	raw_send(fd, "x");
	turn_for(f, 20);
	raw_send(fd, "yz");
	assert_true(raw_read(f, fd, "\r\n\r\nxyz", answer, sizeof(answer)));
	close(fd);
}

static void test_pipeline(void **state)
{
	struct fixture *f = *state;
	char answer[4096];
	int fd = raw_connect(f);

	/* Three at once, answered in order; the one in the middle late. */
	raw_send(fd, "\r\nGET /nodes/import HTTP/1.1\r\nHost: x\r\n\r\n"
		     "GET /later HTTP/1.1\r\nHost: x\r\n\r\n"
		     "POST /echo HTTP/1.1\r\n" CLOSE "Content-Length: 5\r\n\r\nthird");
	assert_true(raw_read(f, fd, "import", answer, sizeof(answer)));
	turn_for(f, 20);
	assert_non_null(f->waiting);
	http_answer(f->waiting, 200, "text/plain", "second", 6);
	assert_true(raw_read(f, fd, NULL, answer, sizeof(answer)));
	assert_holds(answer, "second");
	assert_holds(answer, "third");
	assert_true(strstr(answer, "second") < strstr(answer, "third"));
	assert_int_equal(f->closed, 0);
	close(fd);
	/* A client that says all it has and shuts its end still gets its answer. */
	fd = raw_connect(f);
	raw_send(fd, "GET /nodes/import HTTP/1.1\r\nHost: x\r\n\r\n");
	(void)shutdown(fd, SHUT_WR);
	assert_true(raw_read(f, fd, NULL, answer, sizeof(answer)));
	assert_holds(answer, "import");
	close(fd);
}

static void test_client_gone(void **state)
{
	const struct linger hard = {.l_onoff = 1, .l_linger = 0};
	struct fixture *f = *state;
	int fd = raw_connect(f);

	raw_send(fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
	turn_for(f, 30);
	assert_non_null(f->waiting);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
	close(fd); /* RST */
	turn_for(f, 30);
	assert_int_equal(f->closed, 1);
	fd = raw_connect(f);
	raw_send(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\nGET /later HTTP/1.1\r\n");
	turn_for(f, 30);
	assert_non_null(f->waiting);
	close(fd);
	turn_for(f, 30);
	assert_int_equal(f->closed, 2);
	/* In the middle of a head, a body, an answer. */
	for (unsigned i = 0; i < 3; i++) {
		static const char *const parts[] = {
			"GET /la", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab",
			"GET /nodes/a HTTP/1.1\r\nHost: x\r\n\r\n"};

		fd = raw_connect(f);
		raw_send(fd, parts[i]);
		turn_for(f, i == 2 ? 0 : 10);
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
		close(fd);
		turn_for(f, 10);
	}
	assert_int_equal(f->closed, 2);
}

static void test_slow_client(void **state)
{
	struct fixture *f = *state;
	char answer[256];
	int64_t start_ms = clock_monotonic_ms();
	int fd = raw_connect(f);
	int silent = raw_connect(f);
	unsigned sent = 0;

	/* One byte at a time never buys more time. */
	raw_send(fd, "GET / HTTP/1.1\r\nA: ");
	while (clock_monotonic_ms() - start_ms < 3000) {
		if (send(fd, "a", 1, MSG_NOSIGNAL) < 0)
			break;
		turn_for(f, 50);
		sent++;
	}
	assert_in_range(sent, 10, 40);
	assert_true(raw_read(f, silent, NULL, answer, sizeof(answer)));
	assert_string_equal(answer, "");
	close(fd);
	close(silent);
}

static void test_stream(void **state)
{
	struct fixture *f = *state;
	char answer[4096];
	char block[1000];
	int fd = raw_connect(f);
	unsigned sent = 0;

	raw_send(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(raw_read(f, fd, "data: 1\n\n\r\n", answer, sizeof(answer)));
	assert_holds(answer, "Transfer-Encoding: chunked\r\n");
	assert_holds(answer, "\r\n\r\n9\r\ndata: 1\n\n\r\n");
	assert_int_equal(http_stream_send(f->waiting, "x", 1), 0);
	http_stream_end(f->waiting);
	assert_true(raw_read(f, fd, "1\r\nx\r\n0\r\n\r\n", answer, sizeof(answer)));
	/* The connection goes on. */
	raw_send(fd, "GET /nodes/import HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(raw_read(f, fd, "import", answer, sizeof(answer)));
	/* A client that does not read is ended after 256 KiB, without on_close. */
	raw_send(fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(raw_read(f, fd, "data: 1\n\n\r\n", answer, sizeof(answer)));
	memset(block, 'b', sizeof(block));
	while (http_stream_send(f->waiting, block, sizeof(block)) == 0)
		sent++;
	assert_in_range(sent, 200, 270);
	http_stream_end(f->waiting);
	turn_for(f, 30);
	assert_int_equal(f->closed, 0);
	close(fd);
	/* HTTP/1.0 has no chunks: the end is the end. */
	fd = raw_connect(f);
	raw_send(fd, "GET /stream HTTP/1.0\r\n\r\n");
	assert_true(raw_read(f, fd, "\r\n\r\ndata: 1\n\n", answer, sizeof(answer)));
	http_stream_end(f->waiting);
	assert_true(raw_read(f, fd, NULL, answer, sizeof(answer)));
	close(fd);
	assert_holds(raw(f, "HEAD /stream HTTP/1.1\r\n" CLOSE "\r\n"), "text/event-stream");
	assert_int_equal(f->stream_rc, -EPIPE);
}

static void write_file(const struct fixture *f, const char *name, size_t size, uint32_t *ret_sum)
{
	char path[256];
	uint8_t *bytes = malloc(size ? size : 1);
	FILE *file;

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)('a' + (i * 7 + i / 251) % 26);
	(void)text_format(path, sizeof(path), "%s/%s", f->folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	if (ret_sum)
		*ret_sum = add_up(0, bytes, size);
	free(bytes);
}

static void test_files(void **state)
{
	static const struct {
		const char *range, *status, *header, *body;
	} rows[] = {
		{"", "200", "Content-Length: 10\r\n", "\r\n\r\nahovcjqxel"},
		{"bytes=0-0", "206", "Content-Range: bytes 0-0/10\r\n", "\r\n\r\na"},
		{"bytes=2-4", "206", "Content-Range: bytes 2-4/10\r\n", "\r\n\r\novc"},
		{"bytes=8-99", "206", "Content-Range: bytes 8-9/10\r\n", "\r\n\r\nel"},
		{"bytes=7-", "206", "Content-Range: bytes 7-9/10\r\n", "\r\n\r\nxel"},
		{"bytes=-2", "206", "Content-Range: bytes 8-9/10\r\n", "\r\n\r\nel"},
		{"bytes=-99", "206", "Content-Range: bytes 0-9/10\r\n", "\r\n\r\nahovcjqxel"},
		{"bytes=10-", "416", "Content-Range: bytes */10\r\n", "problem+json"},
		{"bytes=-0", "416", "Content-Range: bytes */10\r\n", "problem+json"},
		{"bytes=4-2", "200", "Content-Length: 10\r\n", "\r\n\r\nahovcjqxel"},
		{"bytes=1-2,4", "200", "Content-Length: 10\r\n", "\r\n\r\nahovcjqxel"},
		{"lines=1-2", "200", "Content-Length: 10\r\n", "\r\n\r\nahovcjqxel"},
	};
	struct fixture *f = *state;
	char request[256];
	const char *answer;

	write_file(f, "small", 10, NULL);
	write_file(f, "empty", 0, NULL);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		(void)text_format(request, sizeof(request),
				  "GET /file/small HTTP/1.1\r\n" CLOSE "%s%s%s\r\n",
				  *rows[i].range ? "Range: " : "", rows[i].range,
				  *rows[i].range ? "\r\n" : "");
		answer = raw(f, request);
		assert_starts(answer + 9, rows[i].status);
		assert_holds(answer, rows[i].header);
		assert_holds(answer, rows[i].body);
		assert_holds(answer, "Accept-Ranges: bytes\r\n");
	}
	answer = raw(f, "HEAD /file/small HTTP/1.1\r\n" CLOSE "\r\n");
	assert_holds(answer, "Content-Length: 10\r\n");
	assert_null(strstr(answer, "ahov"));
	assert_holds(raw(f, "GET /file/empty HTTP/1.1\r\n" CLOSE "\r\n"), "Content-Length: 0\r\n");
	assert_starts(raw(f, "GET /file/none HTTP/1.1\r\n" CLOSE "\r\n"), "HTTP/1.1 404 ");
	assert_starts(raw(f, "GET /file/s HTTP/1.1\r\n" CLOSE "\r\n"),
		      "HTTP/1.1 404 "); /* a socket */
}

/* Through the client. */

static int on_data(void *context, const void *data, size_t size)
{
	struct answer *answer = context;

	answer->data_size += size;
	answer->data_sum = add_up(answer->data_sum, data, size);
	if (answer->cancel)
		http_call_cancel(answer->call);
	return answer->data_rc;
}

static void on_done(void *context, int rc, const struct http_response *response,
		    const struct problem *problem)
{
	struct answer *answer = context;
	const char *header;

	answer->done++;
	answer->rc = rc;
	http_call_cancel(answer->call); /* nothing is left to cancel */
	if (problem)
		answer->problem = *problem;
	if (!response)
		return;
	answer->status = response->status;
	(void)text_copy(answer->body, sizeof(answer->body), response->body ? response->body : "-");
	header = response->header(response, "x-test");
	(void)text_copy(answer->header, sizeof(answer->header), header ? header : "");
}

static void call(struct http_client *client, const char *method, const char *target,
		 const char *body, struct answer *ret)
{
	const struct http_call_options options = {.method = method,
						  .target = target,
						  .body = body,
						  .body_size = body ? strlen(body) : 0,
						  .timeout_ms = 500,
						  .on_done = on_done,
						  .context = ret};

	*ret = (struct answer){0};
	assert_int_equal(http_client_call(client, &options, &ret->call), 0);
	assert_int_equal(ret->done, 0);
}

static void wait_for(struct fixture *f, const struct answer *answer)
{
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;

	while (!answer->done && clock_monotonic_ms() < deadline)
		turn(f);
	assert_int_equal(answer->done, 1);
}

static void test_client(void **state)
{
	struct fixture *f = *state;
	struct http_client *client;
	struct answer answers[3];

	assert_int_equal(http_client_new(f->loop, f->url, &client), 0);
	for (unsigned i = 0; i < 3; i++) { /* the second and third on the same connection */
		call(client, "GET", "/nodes/a", NULL, &answers[0]);
		wait_for(f, &answers[0]);
		assert_int_equal(answers[0].rc, 0);
		assert_int_equal(answers[0].status, 200);
		assert_holds(answers[0].body, "\"node\":\"a\"");
		assert_string_equal(answers[0].header, "a  Injected: b");
	}
	call(client, "POST", "/echo", "hello", &answers[0]);
	call(client, "GET", "/later", NULL, &answers[1]); /* at the same time */
	call(client, "HEAD", "/nodes/a", NULL, &answers[2]);
	wait_for(f, &answers[0]);
	wait_for(f, &answers[2]);
	assert_int_equal(answers[0].status, 201);
	assert_string_equal(answers[0].body, "hello");
	assert_int_equal(answers[2].status, 200);
	assert_string_equal(answers[2].body, "");
	assert_int_equal(answers[1].done, 0);
	wait_for(f, &answers[1]); /* nobody answers /later */
	assert_int_equal(answers[1].rc, E_TIMEOUT);
	assert_holds(answers[1].problem.message, "does not answer");
	turn_for(f, 20);
	assert_int_equal(f->closed, 1);
	call(client, "GET", "/refused", NULL, &answers[0]);
	wait_for(f, &answers[0]);
	assert_int_equal(answers[0].rc, 0);
	assert_int_equal(answers[0].status, 409);
	http_client_free(client);
}

static void test_client_unix(void **state)
{
	struct fixture *f = *state;
	struct http_client *client;
	struct answer answer;
	char url[160];
	char local[64];

	(void)text_format(url, sizeof(url), "unix:%s", f->path);
	assert_int_equal(http_client_new(f->loop, url, &client), 0);
	call(client, "GET", "/nodes/a", NULL, &answer);
	wait_for(f, &answer);
	(void)text_format(local, sizeof(local), "\"local\":true,\"uid\":%u", (unsigned)getuid());
	assert_holds(answer.body, local);
	call(client, "GET", "/later", NULL, &answer);
	turn_for(f, 20);
	http_client_free(client); /* with a call under way: no on_done */
	assert_int_equal(answer.done, 0);
	turn_for(f, 20);
	assert_int_equal(f->closed, 1);
}

static void test_client_large(void **state)
{
	struct fixture *f = *state;
	struct http_client *client;
	struct answer answer = {0};
	struct http_call_options options = {.method = "GET",
					    .target = "/file/large",
					    .on_data = on_data,
					    .on_done = on_done,
					    .context = &answer};
	uint32_t sum = 0;

	write_file(f, "large", LARGE_SIZE, &sum);
	assert_int_equal(http_client_new(f->loop, f->url, &client), 0);
	assert_int_equal(http_client_call(client, &options, &answer.call), 0);
	wait_for(f, &answer);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.data_size, LARGE_SIZE);
	assert_int_equal(answer.data_sum, sum);
	assert_string_equal(answer.body, "-");
	/* The taker ends it. */
	answer = (struct answer){.data_rc = -ENOSPC};
	assert_int_equal(http_client_call(client, &options, &answer.call), 0);
	wait_for(f, &answer);
	assert_int_equal(answer.rc, -ENOSPC);
	answer = (struct answer){.cancel = true};
	assert_int_equal(http_client_call(client, &options, &answer.call), 0);
	turn_for(f, 50);
	assert_int_equal(answer.done, 0);
	assert_true(answer.data_size > 0 && answer.data_size <= 65536);
	/* Collected answers are bounded. */
	answer = (struct answer){0};
	options.on_data = NULL;
	options.response_limit = 100000;
	assert_int_equal(http_client_call(client, &options, &answer.call), 0);
	wait_for(f, &answer);
	assert_int_equal(answer.rc, E_LIMIT);
	/* Chunks without end reach on_data as they come. */
	answer = (struct answer){0};
	options.on_data = on_data;
	options.target = "/stream";
	assert_int_equal(http_client_call(client, &options, &answer.call), 0);
	turn_for(f, 30);
	assert_int_equal(answer.data_size, 9);
	http_call_cancel(answer.call);
	turn_for(f, 30);
	assert_int_equal(f->closed, 1);
	http_client_free(client);
}

/* A server that answers with `bytes`, then closes. */
static int odd_server(uint16_t *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static void test_client_odd_servers(void **state)
{
	static const struct {
		const char *bytes;
		int rc;
		const char *body;
	} rows[] = {
		{"HTTP/1.1 200 OK\r\n\r\nuntil the end", 0, "until the end"},
		{"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", 0, "ab"},
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 None\r\n\r\n", 0, ""},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", E_UNAVAILABLE, NULL},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab", E_UNAVAILABLE,
		 NULL},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", E_PROTOCOL, NULL},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
		 E_PROTOCOL, NULL},
		{"SSH-2.0-OpenSSH\r\n\r\n", E_PROTOCOL, NULL},
		{"HTTP/1.1 2x0 OK\r\n\r\n", E_PROTOCOL, NULL},
		{"", E_UNAVAILABLE, NULL},
	};
	struct fixture *f = *state;
	struct http_client *client;
	struct answer answer;
	char url[64];
	uint16_t port;
	int listener = odd_server(&port);

	(void)text_format(url, sizeof(url), "http://127.0.0.1:%u", (unsigned)port);
	assert_int_equal(http_client_new(f->loop, url, &client), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char request[512];
		int fd;

		call(client, "GET", "/", NULL, &answer);
		turn_for(f, 5);
		fd = accept(listener, NULL, NULL);
		assert_true(fd >= 0);
		turn_for(f, 5);
		assert_true(recv(fd, request, sizeof(request), 0) > 0);
		raw_send(fd, rows[i].bytes);
		close(fd);
		wait_for(f, &answer);
		if (answer.rc != rows[i].rc)
			fail_msg("%s: expected %d, got %d", rows[i].bytes, rows[i].rc, answer.rc);
		if (rows[i].body)
			assert_string_equal(answer.body, rows[i].body);
	}
	close(listener);
	call(client, "GET", "/", NULL, &answer);
	wait_for(f, &answer);
	assert_int_equal(answer.rc, E_UNAVAILABLE);
	assert_holds(answer.problem.message, "cannot be reached");
	http_client_free(client);
	assert_int_equal(http_client_new(f->loop, "http://localhost:1", &client), E_MALFORMED);
	assert_int_equal(http_client_new(f->loop, "http://127.0.0.1:99999", &client), E_MALFORMED);
	assert_int_equal(http_client_new(f->loop, "https://127.0.0.1", &client), E_MALFORMED);
}

/* The connection that waited was closed just when it is used again: a GET is said twice, a POST is
 * not. */
static void test_client_reuse(void **state)
{
	struct fixture *f = *state;
	struct http_client *client;
	struct answer answer;
	char url[64];
	char request[512];
	uint16_t port;
	int listener = odd_server(&port);
	int fd;

	(void)text_format(url, sizeof(url), "http://127.0.0.1:%u", (unsigned)port);
	assert_int_equal(http_client_new(f->loop, url, &client), 0);
	call(client, "GET", "/", NULL, &answer);
	turn_for(f, 5);
	fd = accept(listener, NULL, NULL);
	turn_for(f, 5);
	assert_true(recv(fd, request, sizeof(request), 0) > 0);
	raw_send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
	wait_for(f, &answer);
	call(client, "GET", "/again", NULL, &answer); /* passes the check of an idle connection */
	close(fd);
	turn_for(f, 20);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	turn_for(f, 5);
	assert_true(recv(fd, request, sizeof(request), 0) > 0);
	assert_memory_equal(request, "GET /again ", 11);
	raw_send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb");
	wait_for(f, &answer);
	assert_string_equal(answer.body, "b");
	call(client, "POST", "/once", "x", &answer);
	close(fd);
	wait_for(f, &answer);
	assert_int_equal(answer.rc, E_UNAVAILABLE);
	http_client_free(client);
	close(listener);
}

static void test_cap(void **state)
{
	struct fixture *f = *state;
	char answer[1024];
	int fds[8];
	int late;

	/* All eight places have a request under way: the ninth waits in the backlog and is served
	 * when one leaves. */
	for (unsigned i = 0; i < 8; i++) {
		fds[i] = raw_connect(f);
		raw_send(fds[i], "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
		turn_for(f, 10);
	}
	late = raw_connect(f);
	raw_send(late, "GET /nodes/import HTTP/1.1\r\nHost: x\r\n\r\n");
	turn_for(f, 50);
	assert_int_equal(recv(late, answer, sizeof(answer), MSG_DONTWAIT), -1);
	close(fds[0]);
	assert_true(raw_read(f, late, "import", answer, sizeof(answer)));
	/* An idle one makes room for a new one. */
	fds[0] = raw_connect(f);
	raw_send(fds[0], "GET /nodes/import HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(raw_read(f, fds[0], "import", answer, sizeof(answer)));
	close(late);
	for (unsigned i = 0; i < 8; i++)
		close(fds[i]);
	turn_for(f, 30);
	assert_holds(raw(f, "GET / HTTP/1.1\r\n" CLOSE "\r\n"), "import");
}

static void test_listen(void **state)
{
	struct fixture *f = *state;
	const struct http_server_options options = {
		.routes = routes, .route_count = 1, .context = f};
	struct http_server *other;
	struct problem problem = {0};
	struct stat status;
	char path[160];

	assert_int_equal(stat(f->path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0660);
	assert_int_equal(http_server_new(f->loop, &options, &other), 0);
	assert_int_equal(http_server_listen_unix(other, f->path, 0600, NULL, &problem),
			 -EADDRINUSE);
	assert_int_equal(http_server_listen_tcp(other, INADDR_LOOPBACK, http_server_port(f->server),
						&problem),
			 -EADDRINUSE);
	assert_holds(problem.message, "cannot listen on 127.0.0.1:");
	assert_int_equal(http_server_listen_unix(other, f->path, 0600, "no-such-group", &problem),
			 E_NOT_FOUND);
	(void)text_format(path, sizeof(path), "%s/plain", f->folder);
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	assert_int_equal(http_server_listen_unix(other, path, 0600, NULL, &problem), -EEXIST);
	/* What a killed server left behind is replaced. */
	(void)text_format(path, sizeof(path), "%s/stale", f->folder);
	{
		struct sockaddr_un name = {.sun_family = AF_UNIX};
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		(void)text_copy(name.sun_path, sizeof(name.sun_path), path);
		assert_int_equal(bind(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
		close(fd);
	}
	assert_int_equal(http_server_listen_unix(other, path, 0600, NULL, &problem), 0);
	http_server_free(other);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void test_status(void **state)
{
	(void)state;
	assert_int_equal(http_status_of(E_NOT_FOUND), 404);
	assert_int_equal(http_status_of(E_STALE), 412);
	assert_int_equal(http_status_of(E_INVALID), 422);
	assert_int_equal(http_status_of(-EIO), 500);
	assert_string_equal(http_reason(428), "Precondition Required");
	assert_string_equal(http_reason(599), "Unknown");
}

static void test_json_reader(void **state)
{
	static const char *const known[] = {"name", "count", "on", "none", NULL};
	const char *data = "{\"name\":\"n1\",\"count\":7,\"on\":true,\"none\":null}";
	struct problem problem = {0};
	struct json_reader reader;
	json_t *json = NULL;

	(void)state;
	assert_int_equal(json_read(data, strlen(data), JSON_LIMIT_DEFAULT, &json, &problem), 0);
	reader = json_reader(json);
	assert_string_equal(json_get_string(&reader, "name", true), "n1");
	assert_int_equal(json_get_int(&reader, "count", 1, 10, 3, true), 7);
	assert_int_equal(json_get_int(&reader, "none", 1, 10, 3, false), 3);
	assert_true(json_get_bool(&reader, "on", false));
	assert_null(json_get_string(&reader, "absent", false));
	json_only(&reader, known);
	assert_false(problem_is_set(&reader.problem));
	(void)json_get_int(&reader, "count", 8, 10, 3, true);
	(void)json_get_string(&reader, "absent", true); /* the first failure stays */
	assert_string_equal(reader.problem.message, "member count is not within 8..10");
	reader = json_reader(json);
	json_only(&reader, known + 1);
	assert_string_equal(reader.problem.message, "member name is not known here");
	json_decref(json);

	assert_int_equal(json_read("{\"a\":1,\"a\":2}", 13, 100, &json, &problem), E_MALFORMED);
	assert_int_equal(json_read("{\"a\":1} x", 9, 100, &json, &problem), E_MALFORMED);
	assert_holds(problem.message, "line 1, column");
	assert_int_equal(json_read(data, strlen(data), 10, &json, &problem), E_LIMIT);
	reader = json_reader(NULL);
	assert_null(json_get_string(&reader, "name", true));
	assert_string_equal(reader.problem.message, "not a JSON object");
}

static void test_metrics(void **state)
{
	static const struct metric_row rows[] = {
		{"haas_packets_total", METRIC_COUNTER, "type=\"a\"", 0, "Packets."},
		{"haas_packets_total", METRIC_COUNTER, "type=\"b\"", sizeof(uint64_t), "Packets."},
		{"haas_open", METRIC_GAUGE, NULL, sizeof(uint64_t), "Open."},
	};
	const uint64_t values[] = {3, 18446744073709551615U};
	struct text text = {0};

	(void)state;
	metrics_write(&text, rows, COUNT_OF(rows), values);
	assert_string_equal(text_get(&text),
			    "# HELP haas_packets Packets.\n# TYPE haas_packets counter\n"
			    "haas_packets_total{type=\"a\"} 3\n"
			    "haas_packets_total{type=\"b\"} 18446744073709551615\n"
			    "# HELP haas_open Open.\n# TYPE haas_open gauge\n"
			    "haas_open 18446744073709551615\n# EOF\n");
	text_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_routes, start, stop),
		cmocka_unit_test_setup_teardown(test_malformed, start, stop),
		cmocka_unit_test_setup_teardown(test_limits, start, stop),
		cmocka_unit_test_setup_teardown(test_bodies, start, stop),
		cmocka_unit_test_setup_teardown(test_pipeline, start, stop),
		cmocka_unit_test_setup_teardown(test_client_gone, start, stop),
		cmocka_unit_test_setup_teardown(test_slow_client, start, stop),
		cmocka_unit_test_setup_teardown(test_stream, start, stop),
		cmocka_unit_test_setup_teardown(test_files, start, stop),
		cmocka_unit_test_setup_teardown(test_client, start, stop),
		cmocka_unit_test_setup_teardown(test_client_unix, start, stop),
		cmocka_unit_test_setup_teardown(test_client_large, start, stop),
		cmocka_unit_test_setup_teardown(test_client_odd_servers, start, stop),
		cmocka_unit_test_setup_teardown(test_client_reuse, start, stop),
		cmocka_unit_test_setup_teardown(test_cap, start, stop),
		cmocka_unit_test_setup_teardown(test_listen, start, stop),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_json_reader),
		cmocka_unit_test(test_metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
