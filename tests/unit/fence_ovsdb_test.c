// links: peregrine_switch
/* Transactions by OVSDB to a server that the test plays: one that is late for its claim is not sent,
 * whether the connection is open or is made for it. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/loop.h"

#include "peregrine/switch/ovsdb/ovsdb_client.h"
#include "tests/support/cmocka.h"

struct world {
	struct loop *loop;
	int listener, link; /* of the server */
	struct ovsdb_client *client;
	struct fence *fence;
	bool over;
	int rc;
};

static int world_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	static struct switch_endpoint endpoint;
	socklen_t size = sizeof(address);
	struct problem problem;

	assert_non_null(world);
	world->link = -1;
	world->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(world->listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(world->listener, 1), 0);
	assert_int_equal(getsockname(world->listener, (struct sockaddr *)&address, &size), 0);
	endpoint = (struct switch_endpoint){.name = "leaf1",
					    .address = "127.0.0.1",
					    .ovsdb_port = ntohs(address.sin_port),
					    .ovsdb_peer = "plain"};
	assert_int_equal(loop_new(&world->loop), 0);
	assert_int_equal(ovsdb_client_new(world->loop, &endpoint, NULL, &world->client, &problem),
			 0);
	assert_int_equal(fence_new(INT64_MAX, &world->fence), 0);
	ovsdb_client_guard(world->client, world->fence);
	*state = world;
	return 0;
}

static int world_down(void **state)
{
	struct world *world = *state;

	ovsdb_client_free(world->client);
	fence_unref(world->fence);
	loop_free(world->loop);
	if (world->link >= 0)
		close(world->link);
	close(world->listener);
	free(world);
	return 0;
}

static void on_answer(void *context, int rc, json_t *result, const struct problem *problem)
{
	struct world *world = context;

	(void)result;
	(void)problem;
	world->over = true;
	world->rc = rc;
}

static void transact(struct world *world)
{
	world->over = false;
	assert_int_equal(ovsdb_client_transact(world->client, json_pack("[s]", "Open_vSwitch"),
					       5000, clock_monotonic_ms() + 5000, on_answer, world),
			 0);
}

/* What the server has heard; an empty string while nothing came. */
static const char *heard(struct world *world)
{
	static char bytes[4096];
	ssize_t size;

	if (world->link < 0)
		world->link = accept4(world->listener, NULL, NULL, SOCK_NONBLOCK);
	size = world->link < 0 ? 0 : recv(world->link, bytes, sizeof(bytes) - 1, 0);
	bytes[size > 0 ? size : 0] = '\0';
	return bytes;
}

/* Answers one transaction, and returns what it was. */
static void serve(struct world *world)
{
	static const char answer[] = "{\"id\":%d,\"result\":[{}],\"error\":null}";
	const char *bytes = "";
	char text[128];

	while (!*bytes) {
		loop_run_once(world->loop);
		bytes = heard(world);
	}
	assert_non_null(strstr(bytes, "\"transact\""));
	(void)snprintf(text, sizeof(text), answer,
		       (int)strtol(strstr(bytes, "\"id\"") + 5, NULL, 10));
	assert_true(send(world->link, text, strlen(text), 0) > 0);
	while (!world->over)
		loop_run_once(world->loop);
}

static void expect_lapsed(struct world *world)
{
	while (!world->over)
		loop_run_once(world->loop);
	assert_int_equal(world->rc, E_LAPSED);
	assert_false(ovsdb_client_was_sent(world->client));
	assert_string_equal(heard(world), "");
}

static void a_connection_in_time_is_not_enough(void **state)
{
	struct world *world = *state;

	transact(world);
	fence_drop(world->fence); /* while it connects */
	expect_lapsed(world);
}

static void an_open_connection_carries_no_more(void **state)
{
	struct world *world = *state;

	transact(world);
	serve(world);
	assert_int_equal(world->rc, 0);
	fence_drop(world->fence);
	transact(world);
	expect_lapsed(world);
}

static void another_claim_goes_on(void **state)
{
	struct world *world = *state;

	fence_drop(world->fence);
	transact(world);
	expect_lapsed(world);
	ovsdb_client_guard(world->client, NULL);
	if (world->link >= 0)
		close(world->link);
	world->link = -1;
	transact(world);
	serve(world);
	assert_int_equal(world->rc, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_up, world_down)
	const struct CMUnitTest tests[] = {
		TEST(a_connection_in_time_is_not_enough),
		TEST(an_open_connection_carries_no_more),
		TEST(another_claim_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
