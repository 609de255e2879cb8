/* The site that unit_http_tls asks: a server with certificates of a CA of its own, and clients of it. */
#pragma once

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <time.h>

#include "common/http/client.h"
#include "common/http/tls.h"

#include "portal/cli/site_ca.h"
#include "tests/unit/http_fixture.h"

#define LARGE_SIZE 3000000

struct answer {
	unsigned done;
	int rc, status;
	char body[512];
	size_t data_size;
	uint32_t data_sum;
	struct problem problem;
};

struct site {
	struct fixture *f;
	char folder[64];
	struct http_server *server;
	struct http_server_counters counters;
	struct tls *tls;
	char url[64];
};

static void on_peer(void *context, struct http_request *request)
{
	const struct http_peer *peer = http_request_peer(request);
	char text[128];

	(void)context;
	(void)text_format(text, sizeof(text), "%s %s/%s", peer->secure ? "tls" : "plain",
			  peer->certified.role, peer->certified.name);
	http_answer(request, 200, "text/plain", text, strlen(text));
}

/* A file in two parts with bytes behind it, as the relay sends what it is still fetching. */
static void on_parts(void *context, struct http_request *request)
{
	const struct fixture *f = context;
	char path[256];
	int fd;

	(void)text_format(path, sizeof(path), "%s/large", f->folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	http_stream_begin_sized(request, 200, "text/plain", LARGE_SIZE + 3);
	assert_int_equal(http_stream_send_file(request, fd, 0, 200000), 0);
	assert_int_equal(http_stream_send_file(request, fd, 200000, LARGE_SIZE - 200000), 0);
	close(fd);
	assert_true(http_stream_waiting(request) > 1000000);
	http_stream_abort(request);
}

#define BLOCK_SIZE  40000
#define BLOCK_COUNT 6

/* Blocks larger than a record of TLS, faster than the client takes them. */
static void on_blocks(void *context, struct http_request *request)
{
	char block[BLOCK_SIZE];

	(void)context;
	http_stream_begin_sized(request, 200, "text/plain", BLOCK_SIZE * BLOCK_COUNT);
	for (unsigned i = 0; i < BLOCK_COUNT; i++) {
		for (unsigned j = 0; j < BLOCK_SIZE; j++)
			block[j] = (char)('a' + (i * 7 + j / 100) % 26);
		assert_int_equal(http_stream_send(request, block, sizeof(block)), 0);
	}
	http_stream_end(request);
}

static const struct http_route site_routes[] = {
	{HTTP_GET, "/peer", on_peer},   {HTTP_GET, "/nodes/{node}", on_node},
	{HTTP_POST, "/echo", on_echo},  {HTTP_GET, "/file/{name}", on_file},
	{HTTP_GET, "/parts", on_parts}, {HTTP_GET, "/blocks", on_blocks},
};

/* --- certificates: made once, for RSA keys take their time --- */

static char made[64]; /* the folder */

static const char *path_of(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *ret = paths[next++ % 4];

	(void)text_format(ret, sizeof(paths[0]), "%s/%s", made, name);
	return ret;
}

static void issue(const char *ca, const char *name, enum site_ca_role role, const char *address,
		  int days)
{
	const char *const addresses[] = {address, NULL};
	char folder[128];
	const struct site_ca_request request = {.ca = folder,
						.name = name,
						.role = role,
						.addresses = addresses,
						.days = days,
						.out = made};
	struct problem problem = {0};

	(void)text_format(folder, sizeof(folder), "%s/%s", made, ca);
	if (site_ca_issue(&request, &problem))
		fail_msg("%s: %s", name, problem.message);
}

static int make_certificates(void **state)
{
	struct problem problem = {0};

	(void)state;
	strcpy(made, "/tmp/haas-tls-test-XXXXXX");
	assert_non_null(mkdtemp(made));
	assert_int_equal(site_ca_create(path_of("ca"), "north", 20, &problem), 0);
	assert_int_equal(site_ca_create(path_of("foreign"), "south", 20, &problem), 0);
	issue("ca", "c1", SITE_CA_CONTROLLER, "127.0.0.1", 30);
	issue("ca", "r1", SITE_CA_RELAY, "10.9.0.2", 30);
	issue("ca", "other", SITE_CA_CONTROLLER, "10.9.0.3", 30);
	issue("foreign", "stranger", SITE_CA_RELAY, "127.0.0.1", 30);
	return 0;
}

static int remove_certificates(void **state)
{
	char command[128];

	(void)state;
	(void)text_format(command, sizeof(command), "rm -rf %s", made);
	return system(command);
}

/* --- server and client --- */

static struct tls *tls_of(enum tls_side side, const char *name, const char *ca)
{
	char certificate[64];
	char key[64];
	struct tls_files files = {.ca = path_of(ca)};
	struct problem problem = {0};
	struct tls *tls = NULL;

	(void)text_format(certificate, sizeof(certificate), "%s.crt", name ? name : "");
	(void)text_format(key, sizeof(key), "%s.key", name ? name : "");
	if (name) {
		files.certificate = path_of(certificate);
		files.key = path_of(key);
	}
	if (tls_new(side, &files, &tls, &problem))
		fail_msg("%s: %s: %s", name ? name : ca, problem.message, problem.detail);
	return tls;
}

static void site_start(struct site *site, struct fixture *f, const char *name)
{
	const struct http_server_options options = {.routes = site_routes,
						    .route_count = COUNT_OF(site_routes),
						    .context = f,
						    .header_timeout_s = 1,
						    .answer_timeout_s = 2,
						    .counters = &site->counters};
	struct problem problem = {0};

	*site = (struct site){.f = f, .tls = tls_of(TLS_SERVER, name, "ca/ca.crt")};
	assert_int_equal(http_server_new(f->loop, &options, &site->server), 0);
	assert_int_equal(
		http_server_listen_tls(site->server, INADDR_LOOPBACK, 0, site->tls, &problem), 0);
	assert_int_equal(http_server_port(site->server), 0);
	(void)text_format(site->url, sizeof(site->url), "https://127.0.0.1:%u",
			  (unsigned)http_server_tls_port(site->server));
}

static void site_stop(struct site *site)
{
	http_server_free(site->server);
	turn_for(site->f, 20); /* what libevent frees later */
	tls_free(site->tls);
}

static int on_data(void *context, const void *data, size_t size)
{
	struct answer *answer = context;

	answer->data_size += size;
	answer->data_sum = add_up(answer->data_sum, data, size);
	return 0;
}

static void on_done(void *context, int rc, const struct http_response *response,
		    const struct problem *problem)
{
	struct answer *answer = context;

	answer->done++;
	answer->rc = rc;
	if (problem)
		answer->problem = *problem;
	if (response)
		answer->status = response->status;
	if (response && response->body)
		(void)text_copy(answer->body, sizeof(answer->body), response->body);
}

static void ask(struct site *site, struct http_client *client, const char *target, bool whole,
		struct answer *ret)
{
	struct http_call_options options = {.method = "GET",
					    .target = target,
					    .timeout_ms = 5000,
					    .on_data = whole ? NULL : on_data,
					    .on_done = on_done,
					    .context = ret};
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;
	struct http_call *call;

	*ret = (struct answer){0};
	assert_int_equal(http_client_call(client, &options, &call), 0);
	while (!ret->done && clock_monotonic_ms() < deadline)
		turn(site->f);
	assert_int_equal(ret->done, 1);
}

static struct http_client *client_of(struct site *site, const struct tls *tls)
{
	struct http_client *client = NULL;

	assert_int_equal(http_client_new_tls(site->f->loop, site->url, tls, &client), 0);
	return client;
}
