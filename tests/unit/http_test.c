// links: common_http
/* The server against raw bytes: honest and dishonest requests; slow, vanishing and too many
 * clients. */
#include <pwd.h>
#include <sys/wait.h>

#include "common/net/http_wire.h"

#include "tests/unit/http_fixture.h"

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
	assert_int_equal(f->after, 10);
	assert_int_equal(f->last_status, 409);
}

static void test_malformed(void **state)
{
	static const struct {
		const char *bytes, *status;
	} rows[] = {
		{"GET /nodes/a HTTP/1.1\r\nConnection: close\r\n\r\n", "400"}, /* no Host */
		/* wire 8: two of them, alike or not, in either version */
		{"GET /nodes/a HTTP/1.1\r\n" CLOSE "host: x\r\n\r\n", "400"},
		{"GET /nodes/a HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", "400"},
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
	assert_int_equal(f->over, 1);
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
	assert_in_range(sent, 2, 40);
	assert_true(raw_read(f, silent, NULL, answer, sizeof(answer)));
	assert_string_equal(answer, "");
	close(fd);
	close(silent);
}

/* S11: who takes a byte now and then is closed; who takes it all is not, however long it is. */
static void test_slow_reader(void **state)
{
	struct fixture *f = *state;
	static char chunk[65536];
	char path[160];
	int64_t start_ms = clock_monotonic_ms();
	size_t got = 0;
	int file;
	int fd;

	(void)text_format(path, sizeof(path), "%s/large", f->folder);
	file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(file, 64 << 20), 0);
	close(file);
	fd = raw_connect(f);
	raw_send(fd, "GET /file/large HTTP/1.1\r\nHost: x\r\n\r\n");
	while (f->counters.late_answer == 0 && clock_monotonic_ms() - start_ms < 20000) {
		(void)recv(fd, chunk, 1, MSG_DONTWAIT);
		turn_for(f, 20);
	}
	assert_int_equal(f->counters.late_answer, 1);
	close(fd);
	/* 1 MiB in each fifth of the time. */
	fd = raw_connect(f);
	raw_send(fd, "GET /file/large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	start_ms = clock_monotonic_ms();
	while (got < (size_t)12 << 20 && clock_monotonic_ms() - start_ms < 20000) {
		size_t before = got;

		while (got - before < (size_t)1 << 20) {
			ssize_t some = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);

			if (some > 0)
				got += (size_t)some;
			else
				turn(f);
			if (some == 0 || clock_monotonic_ms() - start_ms > 20000)
				break;
		}
		turn_for(f, 200);
	}
	assert_true(got >= (size_t)12 << 20);
	assert_int_equal(f->counters.late_answer, 1);
	assert_int_equal(f->over, 1); /* of two: this one has not taken all */
	close(fd);
	turn_for(f, 50);
	assert_int_equal(f->over, 2);
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

static void count_drain(void *context)
{
	(*(unsigned *)context)++;
}

static void test_sized_stream(void **state)
{
	struct fixture *f = *state;
	char answer[4096];
	char path[256];
	unsigned drained = 0;
	int fd = raw_connect(f);
	int file;

	write_file(f, "small", 10, NULL);
	(void)text_format(path, sizeof(path), "%s/small", f->folder);
	file = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	raw_send(fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
	while (!f->waiting)
		turn(f);
	http_stream_begin_sized(f->waiting, 206, "a/b", 6);
	http_stream_on_drain(f->waiting, count_drain, &drained);
	assert_int_equal(http_stream_send_file(f->waiting, file, 2, 3), 0);
	assert_true(raw_read(f, fd, "\r\n\r\novc", answer, sizeof(answer)));
	assert_holds(answer, "Content-Length: 6\r\n");
	assert_null(strstr(answer, "chunked"));
	assert_true(drained >= 1);
	assert_int_equal(http_stream_send(f->waiting, "xyz", 3), 0);
	http_stream_end(f->waiting);
	assert_true(raw_read(f, fd, "xyz", answer, sizeof(answer)));
	/* The connection goes on; a stream that ends short does not. */
	f->waiting = NULL;
	raw_send(fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
	while (!f->waiting)
		turn(f);
	http_stream_begin_sized(f->waiting, 200, "a/b", 6);
	assert_int_equal(http_stream_send_file(f->waiting, file, 0, 5), 0);
	http_stream_end(f->waiting);
	assert_true(raw_read(f, fd, NULL, answer, sizeof(answer)));
	assert_holds(answer, "Content-Length: 6\r\n");
	assert_null(strstr(answer, "ahovc"));
	assert_int_equal(f->closed, 0);
	close(fd);
	/* More than was announced would be read as the next answer. */
	f->waiting = NULL;
	fd = raw_connect(f);
	raw_send(fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
	while (!f->waiting)
		turn(f);
	http_stream_begin_sized(f->waiting, 200, "a/b", 6);
	assert_int_equal(http_stream_send_file(f->waiting, file, 0, 7), -EPIPE);
	assert_true(raw_read(f, fd, NULL, answer, sizeof(answer)));
	close(fd);
	close(file);
	f->waiting = NULL;
}

/* wire 7: a client that goes on where it stopped gets a part of the same file, or all of another. */
static void test_if_range(void **state)
{
	static const struct {
		const char *before, *after; /* around the ETag that was told */
		const char *status, *body;
	} rows[] = {
		{"", "", "206", "\r\n\r\novc"},
		{"W/", "", "200", "\r\n\r\nahovcjqxel"},
		{"", "x", "200", "\r\n\r\nahovcjqxel"},
		{"\"another\" ", "", "200", "\r\n\r\nahovcjqxel"},
		{"Tue, 24 Nov 2026 08:00:00 GMT ", "", "200", "\r\n\r\nahovcjqxel"},
	};
	struct fixture *f = *state;
	char request[512];
	char tag[128];
	const char *at;

	write_file(f, "small", 10, NULL);
	at = strstr(raw(f, "HEAD /file/small HTTP/1.1\r\n" CLOSE "\r\n"), "ETag: ");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "ETag: %127s", tag), 1);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		(void)text_format(request, sizeof(request),
				  "GET /file/small HTTP/1.1\r\n" CLOSE
				  "Range: bytes=2-4\r\nIf-Range: %s%s%s\r\n\r\n",
				  rows[i].before, tag, rows[i].after);
		at = raw(f, request);
		assert_starts(at + 9, rows[i].status);
		assert_holds(at, rows[i].body);
	}
	/* Outside the file counts of the same file alone. */
	(void)text_format(request, sizeof(request),
			  "GET /file/small HTTP/1.1\r\n" CLOSE
			  "Range: bytes=99-\r\nIf-Range: %s\r\n\r\n",
			  tag);
	assert_starts(raw(f, request) + 9, "416");
	assert_starts(raw(f, "GET /file/small HTTP/1.1\r\n" CLOSE
			     "Range: bytes=99-\r\nIf-Range: \"x\"\r\n\r\n") +
			      9,
		      "200");
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
		assert_holds(answer, "ETag: \"");
	}
	answer = raw(f, "HEAD /file/small HTTP/1.1\r\n" CLOSE "\r\n");
	assert_holds(answer, "Content-Length: 10\r\n");
	assert_null(strstr(answer, "ahov"));
	assert_holds(raw(f, "GET /file/empty HTTP/1.1\r\n" CLOSE "\r\n"), "Content-Length: 0\r\n");
	assert_starts(raw(f, "GET /file/none HTTP/1.1\r\n" CLOSE "\r\n"), "HTTP/1.1 404 ");
	assert_starts(raw(f, "GET /file/s HTTP/1.1\r\n" CLOSE "\r\n"),
		      "HTTP/1.1 404 "); /* a socket */
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

/* user 20: a name with a slash in it ("s1/nvme0n1") was malformed. Who asks for it gets the name as
 * one segment; what would climb stays refused. */
static void test_slash_in_names(void **state)
{
	struct fixture *f = *state;
	struct http_server *plain = f->server;
	const struct http_server_options options = {.routes = routes,
						    .route_count = COUNT_OF(routes),
						    .context = f,
						    .slash_in_names = true};
	struct problem problem = {0};

	assert_int_equal(http_server_new(f->loop, &options, &f->server), 0);
	assert_int_equal(http_server_listen_tcp(f->server, INADDR_LOOPBACK, 0, &problem), 0);
	assert_holds(raw(f, "GET /nodes/s1%2Fnvme0n1 HTTP/1.1\r\n" CLOSE "\r\n"),
		     "\"node\":\"s1/nvme0n1\"");
	assert_starts(raw(f, "GET /nodes/s1%2F..%2Fx HTTP/1.1\r\n" CLOSE "\r\n"), "HTTP/1.1 400 ");
	assert_starts(raw(f, "GET /nodes/%2F. HTTP/1.1\r\n" CLOSE "\r\n"), "HTTP/1.1 400 ");
	http_server_free(f->server);
	f->server = plain;
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
	assert_int_equal(http_server_listen_unix(other, f->path, 0600, &problem), -EADDRINUSE);
	assert_int_equal(http_server_listen_tcp(other, INADDR_LOOPBACK, http_server_port(f->server),
						&problem),
			 -EADDRINUSE);
	assert_holds(problem.message, "cannot listen on 127.0.0.1:");
	(void)text_format(path, sizeof(path), "%s/plain", f->folder);
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
	assert_int_equal(http_server_listen_unix(other, path, 0600, &problem), -EEXIST);
	/* What a killed server left behind is replaced. */
	(void)text_format(path, sizeof(path), "%s/stale", f->folder);
	{
		struct sockaddr_un name = {.sun_family = AF_UNIX};
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		(void)text_copy(name.sun_path, sizeof(name.sun_path), path);
		assert_int_equal(bind(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
		close(fd);
	}
	assert_int_equal(http_server_listen_unix(other, path, 0600, &problem), 0);
	http_server_free(other);
	assert_int_not_equal(access(path, F_OK), 0);
}

/* What a user of `uid` is told on a socket that anybody may connect to; an exit status: 200 - 200. */
static int ask_as(struct fixture *f, const char *path, uid_t uid, const char *what)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	char text[160] = "";
	int status = 0;
	pid_t child;

	(void)text_copy(name.sun_path, sizeof(name.sun_path), path);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		(void)text_format(text, sizeof(text), "GET %s HTTP/1.1\r\n" CLOSE "\r\n", what);
		if (setresuid(uid, uid, uid) != 0 ||
		    connect(fd, (const struct sockaddr *)&name, sizeof(name)) != 0 ||
		    write(fd, text, strlen(text)) < 0 || read(fd, text, 12) != 12)
			_exit(255);
		text[12] = '\0';
		_exit((int)strtol(text + 9, NULL, 10) - 200);
	}
	while (waitpid(child, &status, WNOHANG) == 0)
		turn(f);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 255);
	return WEXITSTATUS(status) + 200;
}

/* S3: to reach a daemon's socket is not to be answered there. */
static void test_caller(void **state)
{
	static const struct http_route some[] = {{HTTP_GET, "/nodes/import", on_import},
						 {HTTP_GET, "/", on_import}};
	static const char *const anybody[] = {"/", NULL};
	struct fixture *f = *state;
	struct http_server_options options = {.routes = some,
					      .route_count = COUNT_OF(some),
					      .context = f,
					      .caller = "games",
					      .anybody = anybody};
	const struct passwd *games = getpwnam("games");
	struct problem problem = {0};
	struct http_server *other;
	char path[160];

	if (geteuid() != 0 || !games)
		skip();
	assert_int_equal(chmod(f->folder, 0755), 0);
	(void)text_format(path, sizeof(path), "%s/caller", f->folder);
	assert_int_equal(http_server_new(f->loop, &options, &other), 0);
	assert_int_equal(http_server_listen_unix(other, path, 0666, &problem), 0);
	assert_int_equal(ask_as(f, path, 0, "/nodes/import"), 200);
	assert_int_equal(ask_as(f, path, games->pw_uid, "/nodes/import"), 200);
	assert_int_equal(ask_as(f, path, games->pw_uid + 1, "/nodes/import"), 403);
	assert_int_equal(ask_as(f, path, games->pw_uid + 1, "/"), 200);
	assert_int_equal(ask_as(f, path, games->pw_uid + 1, "/none"), 403);
	http_server_free(other);
	/* A user that is not there is nobody, also not the user without a number. */
	options.caller = "no-such-user";
	assert_int_equal(http_server_new(f->loop, &options, &other), 0);
	assert_int_equal(http_server_listen_unix(other, path, 0666, &problem), 0);
	assert_int_equal(ask_as(f, path, 0, "/nodes/import"), 200);
	assert_int_equal(ask_as(f, path, games->pw_uid, "/nodes/import"), 403);
	http_server_free(other);
}

/* A socket in a setgid folder is its group's, without a right to change owners. */
static void test_group_of_the_folder(void **state)
{
	struct fixture *f = *state;
	const struct http_server_options options = {
		.routes = routes, .route_count = 1, .context = f};
	struct http_server *other;
	struct problem problem = {0};
	struct stat status;
	char path[160];

	if (geteuid() != 0)
		skip();
	(void)text_format(path, sizeof(path), "%s/sockets", f->folder);
	assert_int_equal(mkdir(path, 0750), 0);
	assert_int_equal(chown(path, (uid_t)-1, 4321), 0);
	assert_int_equal(chmod(path, 02750), 0);
	(void)text_format(path, sizeof(path), "%s/sockets/s", f->folder);
	assert_int_equal(http_server_new(f->loop, &options, &other), 0);
	assert_int_equal(http_server_listen_unix(other, path, 0660, &problem), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_gid, 4321);
	assert_int_equal(status.st_mode & 07777, 0660);
	http_server_free(other);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_routes, start, stop),
		cmocka_unit_test_setup_teardown(test_malformed, start, stop),
		cmocka_unit_test_setup_teardown(test_slash_in_names, start, stop),
		cmocka_unit_test_setup_teardown(test_limits, start, stop),
		cmocka_unit_test_setup_teardown(test_bodies, start, stop),
		cmocka_unit_test_setup_teardown(test_pipeline, start, stop),
		cmocka_unit_test_setup_teardown(test_client_gone, start, stop),
		cmocka_unit_test_setup_teardown(test_slow_client, start, stop),
		cmocka_unit_test_setup_teardown(test_slow_reader, start, stop),
		cmocka_unit_test_setup_teardown(test_stream, start, stop),
		cmocka_unit_test_setup_teardown(test_sized_stream, start, stop),
		cmocka_unit_test_setup_teardown(test_if_range, start, stop),
		cmocka_unit_test_setup_teardown(test_files, start, stop),
		cmocka_unit_test_setup_teardown(test_cap, start, stop),
		cmocka_unit_test_setup_teardown(test_listen, start, stop),
		cmocka_unit_test_setup_teardown(test_caller, start, stop),
		cmocka_unit_test_setup_teardown(test_group_of_the_folder, start, stop),
		cmocka_unit_test(test_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
