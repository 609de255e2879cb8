// links: common_http
/* The client against our server, and against servers that behave oddly. */
#include "common/http/client.h"

#include "tests/unit/http_fixture.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_client, start, stop),
		cmocka_unit_test_setup_teardown(test_client_unix, start, stop),
		cmocka_unit_test_setup_teardown(test_client_large, start, stop),
		cmocka_unit_test_setup_teardown(test_client_odd_servers, start, stop),
		cmocka_unit_test_setup_teardown(test_client_reuse, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
