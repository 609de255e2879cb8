/* A server of every kind of answer on a loop of its own, and raw bytes to and from it. For
 * http_test.c and http_client_test.c. */
#pragma once

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
#include "common/http/server.h"

#include "tests/support/cmocka.h"

#define WAIT_MS 10000

struct fixture {
	char folder[64];
	char path[128]; /* of the Unix socket */
	char url[64];
	struct loop *loop;
	struct http_server *server;
	struct http_server_counters counters;
	unsigned after, closed, handled;
	unsigned over; /* requests of files and /later: answer taken, or connection gone */
	int last_status;
	struct http_request *waiting; /* of /later and /stream */
	int stream_rc;
};

/* Handlers. */

static inline void on_node(void *context, struct http_request *request)
{
	struct fixture *f = context;
	const char *query = http_request_query(request, "q");
	const char *bearer = http_request_bearer(request);
	struct text body = {0};

	f->handled++;
	json_begin_object(&body, NULL);
	json_put_string(&body, "node", http_request_param(request, "node"));
	json_put_string(&body, "query", query);
	json_put_string(&body, "bearer", bearer);
	json_put_string(&body, "path", http_request_path(request));
	json_put_string(&body, "route", http_request_route(request));
	json_put_bool(&body, "local", http_request_peer(request)->local);
	json_put_int(&body, "uid", (int64_t)http_request_peer(request)->uid);
	json_end_object(&body);
	http_answer_header(request, "X-Test", "a\r\nInjected: b");
	http_answer_json(request, 200, &body);
	text_done(&body);
}

static inline void on_import(void *context, struct http_request *request)
{
	struct fixture *f = context;

	f->handled++;
	http_answer(request, 200, "text/plain", "import", 6);
}

static inline void on_echo(void *context, struct http_request *request)
{
	size_t size;
	const char *body = http_request_body(request, &size);

	(void)context;
	http_answer(request, 201, "application/octet-stream", body, size);
}

static inline void on_gone(void *context)
{
	struct fixture *f = context;

	f->closed++;
	f->waiting = NULL;
}

static inline void on_over(void *context)
{
	struct fixture *f = context;

	f->over++;
}

static inline void on_later(void *context, struct http_request *request)
{
	struct fixture *f = context;

	f->waiting = request;
	http_request_on_close(request, on_gone, f);
	http_request_on_end(request, on_over, f);
}

static inline void on_stream(void *context, struct http_request *request)
{
	struct fixture *f = context;

	f->waiting = request;
	http_request_on_close(request, on_gone, f);
	http_stream_begin(request, 200, "text/event-stream");
	f->stream_rc = http_stream_send(request, "data: 1\n\n", 9);
}

static inline void on_file(void *context, struct http_request *request)
{
	struct fixture *f = context;
	char path[256];

	(void)text_format(path, sizeof(path), "%s/%s", f->folder,
			  http_request_param(request, "name"));
	http_request_on_end(request, on_over, f);
	http_answer_file(request, path, "application/octet-stream");
}

static inline void on_refused(void *context, struct http_request *request)
{
	struct problem problem = {0};

	(void)context;
	(void)problem_set(&problem, E_CONFLICT, "node is not free");
	problem_detail(&problem, "state active");
	problem_hint(&problem, "release it");
	http_answer_problem(request, http_status_of(problem.code), &problem);
}

static inline void after(void *context, const struct http_request *request, int status,
			 int64_t elapsed_us)
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

static inline int start(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct http_server_options options = {.routes = routes,
						    .route_count = COUNT_OF(routes),
						    .context = f,
						    .body_limit = 100000,
						    .connection_limit = 8,
						    .header_timeout_s = 1,
						    .answer_timeout_s = 1,
						    .counters = &f->counters,
						    .after = after};
	struct problem problem = {0};

	assert_non_null(f);
	strcpy(f->folder, "/tmp/haas-http-test-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	(void)text_format(f->path, sizeof(f->path), "%s/s", f->folder);
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(http_server_new(f->loop, &options, &f->server), 0);
	assert_int_equal(http_server_listen_tcp(f->server, INADDR_LOOPBACK, 0, &problem), 0);
	assert_int_equal(http_server_listen_unix(f->server, f->path, 0660, &problem), 0);
	(void)text_format(f->url, sizeof(f->url), "http://127.0.0.1:%u",
			  (unsigned)http_server_port(f->server));
	*state = f;
	return 0;
}

static inline int stop(void **state)
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

static inline void turn(struct fixture *f)
{
	loop_run_once(f->loop);
	usleep(200);
}

static inline void turn_for(struct fixture *f, int64_t ms)
{
	int64_t end = clock_monotonic_ms() + ms;

	while (clock_monotonic_ms() < end)
		turn(f);
}

/* Raw bytes. */

static inline int raw_connect(const struct fixture *f)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(http_server_port(f->server)),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static inline void raw_send(int fd, const char *bytes)
{
	assert_int_equal(send(fd, bytes, strlen(bytes), MSG_NOSIGNAL), strlen(bytes));
}

/* Everything until the server closes or `until` is there; NULL-ended in `ret`. False when the time
 * was up. */
static inline bool raw_read(struct fixture *f, int fd, const char *until, char *ret, size_t room)
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

static inline char *raw(struct fixture *f, const char *bytes)
{
	static char answer[65536];
	int fd = raw_connect(f);

	raw_send(fd, bytes);
	assert_true(raw_read(f, fd, NULL, answer, sizeof(answer)));
	close(fd);
	return answer;
}

static inline void assert_starts(const char *text, const char *start_text)
{
	if (strncmp(text, start_text, strlen(start_text)) != 0)
		fail_msg("expected \"%s\", got \"%.200s\"", start_text, text);
}

static inline void assert_holds(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in \"%.600s\"", part, text);
}

static inline uint32_t add_up(uint32_t sum, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

static inline void write_file(const struct fixture *f, const char *name, size_t size,
			      uint32_t *ret_sum)
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
