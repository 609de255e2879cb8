// links: peregrine_switch common_io common_base
/* What needs no agent: bad endpoints, silence, forgetting, and ends from inside callbacks. Agents
 * are the story's (tests/story/switch_snmp). */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/snmp/snmp_client.h"
#include "peregrine/switch/snmp/snmp_driver.h"
#include "peregrine/switch/switch_family_table.h"
#include "tests/support/cmocka.h"

struct world {
	struct loop *loop;
	struct snmp_client *client;
	struct switch_endpoint endpoint;
	int silent; /* a socket that hears and never answers */
	struct snmp_peer *peer;
	unsigned answers, good;
	int rc;
	unsigned tries;
};

/* One client per process: Net-SNMP's state is the process's. */
static struct world only;

static int group_up(void **state)
{
	(void)state;
	assert_int_equal(loop_new(&only.loop), 0);
	assert_int_equal(snmp_client_new(only.loop, &only.client), 0);
	return 0;
}

static int group_down(void **state)
{
	(void)state;
	snmp_client_free(only.client);
	loop_free(only.loop);
	return 0;
}

static int world_up(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	only = (struct world){.loop = only.loop,
			      .client = only.client,
			      .silent = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)};
	assert_int_equal(bind(only.silent, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(only.silent, (struct sockaddr *)&address, &size), 0);
	only.endpoint = (struct switch_endpoint){.name = "s1",
						 .address = "127.0.0.1",
						 .snmp_port = ntohs(address.sin_port),
						 .snmp_community = "public",
						 .timeout_ms = 30,
						 .retries = 2};
	*state = &only;
	return 0;
}

static int world_down(void **state)
{
	(void)state;
	snmp_peer_free(only.peer);
	close(only.silent);
	return 0;
}

static void on_answer(void *context, struct snmp_answer *answer)
{
	struct world *world = context;

	world->answers++;
	world->rc = answer->rc;
	world->tries = answer->tries;
	loop_stop(world->loop);
}

static void ask(struct world *world, bool once, snmp_answer_fn fn)
{
	const struct snmp_binding binding = {.name = OID(1, 3, 6, 1, 2, 1, 1, 3, 0)};
	struct snmp_ask ask = {.kind = SNMP_GET, .bindings = &binding, .count = 1, .once = once};

	assert_int_equal(snmp_peer_ask(world->peer, &ask, fn, world), 0);
}

static void open_peer(struct world *world)
{
	struct problem problem = {0};

	assert_int_equal(
		snmp_peer_new(world->client, &world->endpoint, 1000, &world->peer, &problem), 0);
}

static unsigned heard(const struct world *world)
{
	char bytes[2048];
	unsigned count = 0;

	while (recv(world->silent, bytes, sizeof(bytes), 0) > 0)
		count++;
	return count;
}

static void endpoints_that_cannot_be_are_refused(void **state)
{
	struct world *world = *state;
	static const struct {
		const char *address, *community, *user;
		enum snmp_auth auth;
		enum snmp_priv priv;
		const char *auth_secret, *why;
	} rows[] = {
		{"127.0.0.1", "", "", 0, 0, "", "no SNMP community and no SNMP user"},
		{"localhost", "public", "", 0, 0, "", "\"localhost\" is not an address"},
		{"127.0.0.1", "", "u", SNMP_AUTH_SHA, 0, "short", "too short"},
		{"127.0.0.1", "", "u", SNMP_AUTH_NONE, SNMP_PRIV_AES, "", "needs authentication"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct switch_endpoint endpoint = world->endpoint;
		struct problem problem = {0};

		text_copy(endpoint.address, sizeof(endpoint.address), rows[i].address);
		text_copy(endpoint.snmp_community, sizeof(endpoint.snmp_community),
			  rows[i].community);
		text_copy(endpoint.snmp_user, sizeof(endpoint.snmp_user), rows[i].user);
		text_copy(endpoint.snmp_auth_secret, sizeof(endpoint.snmp_auth_secret),
			  rows[i].auth_secret);
		endpoint.snmp_auth = rows[i].auth;
		endpoint.snmp_priv = rows[i].priv;
		assert_int_equal(
			snmp_peer_new(world->client, &endpoint, 100, &world->peer, &problem),
			-EINVAL);
		assert_non_null(strstr(problem.message, rows[i].why));
		assert_null(world->peer);
	}
}

static void silence_is_tried_again_and_ends(void **state)
{
	struct world *world = *state;
	int64_t began = clock_monotonic_ms();

	open_peer(world);
	ask(world, false, on_answer);
	assert_int_equal(world->answers, 0); /* never from inside */
	loop_run(world->loop);
	assert_int_equal(world->rc, E_TIMEOUT);
	assert_int_equal(world->tries, 3);
	assert_int_equal(heard(world), 3);
	assert_int_equal(snmp_peer_requests(world->peer), 3);
	/* 30, 45 and 67 ms */
	assert_in_range(clock_monotonic_ms() - began, 140, 20000);
}

struct agent {
	struct world *world;
	bool silent;
	unsigned deaf; /* so many messages of newer versions are dropped */
	unsigned newer;
	int rc;
	struct problem problem;
};

/* An agent that answers a GET: it becomes its response by its tag, with NULL as the value. */
static void agent_hears(void *context, int events)
{
	struct agent *agent = context;
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	uint8_t bytes[2048];
	ssize_t count = recvfrom(agent->world->silent, bytes, sizeof(bytes), 0,
				 (struct sockaddr *)&from, &size);

	(void)events;
	if (count < 8)
		return;
	if (bytes[4] != 0 && agent->newer++ < agent->deaf) /* SEQUENCE, INTEGER version */
		return;
	bytes[7 + bytes[6]] = 0xa2; /* behind the community: GET is 0xa0 */
	if (!agent->silent)
		(void)sendto(agent->world->silent, bytes, (size_t)count, 0,
			     (struct sockaddr *)&from, size);
}

static void on_read(void *context, int rc, struct switch_reading *reading,
		    const struct problem *problem)
{
	struct agent *agent = context;

	assert_null(reading);
	agent->rc = rc;
	agent->problem = *problem;
	loop_stop(agent->world->loop);
}

/* Switches 11: silence by v2c alone is not the community's fault, and not that of a slow agent. */
static void an_agent_of_v1_alone_is_told_from_silence(void **state)
{
	static const struct {
		struct agent agent;
		int rc;
		const char *words;
		unsigned newer;
	} cases[] = {
		{{.deaf = UINT32_MAX}, E_UNSUPPORTED, "SNMPv1", 3},
		{{.deaf = UINT32_MAX, .silent = true}, E_TIMEOUT, "community", 2},
		{{.deaf = 2}, E_TIMEOUT, "community", 3}, /* both tries came too early */
	};
	struct world *world = *state;
	const struct switch_request request = {.op = SWITCH_READ, .parts = PART_ALL};
	const struct switch_host host = {.loop = world->loop, .snmp = world->client};

	world->endpoint.retries = 1;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct agent agent = cases[i].agent;
		struct loop_watch *watch = NULL;
		struct problem problem = {0};
		void *session = NULL;

		agent.world = world;
		assert_int_equal(loop_watch_new(world->loop, world->silent, LOOP_READ, agent_hears,
						&agent, &watch),
				 0);
		assert_int_equal(snmp_switch_driver.open(&world->endpoint,
							 switch_family_find("generic"), &host,
							 &session, &problem),
				 0);
		assert_int_equal(snmp_switch_driver.start(session, &request,
							  clock_monotonic_ms() + 5000, on_read,
							  &agent),
				 0);
		loop_run(world->loop);
		assert_int_equal(agent.newer, cases[i].newer);
		assert_int_equal(agent.rc, cases[i].rc);
		assert_non_null(
			strstr(agent.rc == E_TIMEOUT ? agent.problem.hint : agent.problem.message,
			       cases[i].words));
		snmp_switch_driver.close(session);
		loop_watch_free(watch);
	}
}

static void what_must_not_be_repeated_is_sent_once(void **state)
{
	struct world *world = *state;

	open_peer(world);
	ask(world, true, on_answer);
	loop_run(world->loop);
	assert_int_equal(world->rc, E_TIMEOUT);
	assert_int_equal(heard(world), 1);
}

static void on_late(void *context, struct snmp_answer *answer)
{
	struct world *world = context;

	world->answers++;
	world->rc = answer->rc;
	world->tries = answer->sends;
}

/* Neither at first nor again: a SET that is late for its claim, or whose first try was lost. */
static void nothing_is_set_after_the_claim(void **state)
{
	const struct snmp_binding binding = {.name = OID(1, 3, 6, 1, 2, 1, 1, 6, 0),
					     .value = {.type = SNMP_OCTETS}};
	struct snmp_ask ask = {.kind = SNMP_SET, .bindings = &binding, .count = 1};
	struct world *world = *state;

	(void)text_copy(world->endpoint.snmp_write_community,
			sizeof(world->endpoint.snmp_write_community), "private");
	open_peer(world);
	for (unsigned sent = 0; sent < 3; sent++) {
		unsigned count = 0;

		assert_int_equal(fence_new(INT64_MAX, &ask.fence), 0);
		world->answers = 0;
		assert_int_equal(snmp_peer_ask(world->peer, &ask, on_late, world), 0);
		while (!world->answers) {
			if (count >= sent)
				fence_drop(ask.fence);
			loop_run_once(world->loop);
			count += heard(world);
		}
		assert_int_equal(world->rc, E_LAPSED);
		assert_int_equal(count, sent);
		assert_int_equal(world->tries, sent);
		fence_unref(ask.fence);
	}
}

/* Nobody behind the address: the engine is asked for, and then it is over. */
static void an_engine_that_is_silent_ends_too(void **state)
{
	struct world *world = *state;

	text_copy(world->endpoint.snmp_user, sizeof(world->endpoint.snmp_user), "u");
	world->endpoint.snmp_auth = SNMP_AUTH_SHA256;
	world->endpoint.snmp_priv = SNMP_PRIV_AES;
	text_copy(world->endpoint.snmp_auth_secret, sizeof(world->endpoint.snmp_auth_secret),
		  "long enough");
	text_copy(world->endpoint.snmp_priv_secret, sizeof(world->endpoint.snmp_priv_secret),
		  "long enough");
	open_peer(world);
	ask(world, false, on_answer);
	ask(world, false, on_answer);
	loop_run(world->loop);
	assert_int_equal(world->rc, E_TIMEOUT);
	assert_int_equal(world->answers, 2);
	assert_in_range(heard(world), 2, 5);
}

static void only_so_many_are_under_way(void **state)
{
	struct world *world = *state;

	world->endpoint.timeout_ms = 5000;
	open_peer(world);
	for (int i = 0; i < 20; i++)
		ask(world, false, on_answer);
	for (int64_t end = clock_monotonic_ms() + 20; clock_monotonic_ms() < end;) {
		loop_run_once(world->loop);
		usleep(1000);
	}
	assert_int_equal(heard(world), 4);
}

static void what_is_forgotten_is_not_told(void **state)
{
	struct world *world = *state;

	open_peer(world);
	ask(world, false, on_answer);
	loop_run_once(world->loop);
	snmp_peer_forget(world->peer, world);
	for (int64_t end = clock_monotonic_ms() + 100; clock_monotonic_ms() < end;) {
		loop_run_once(world->loop);
		usleep(1000);
	}
	assert_int_equal(world->answers, 0);
}

static void free_peer(void *context, struct snmp_answer *answer)
{
	struct world *world = context;

	on_answer(world, answer);
	snmp_peer_free(world->peer);
	world->peer = NULL;
}

static void a_peer_may_be_freed_by_its_answer(void **state)
{
	struct world *world = *state;

	open_peer(world);
	for (int i = 0; i < 3; i++)
		ask(world, false, free_peer);
	loop_run(world->loop);
	assert_int_equal(world->answers, 1);
}

static void what_cannot_be_sent_is_refused(void **state)
{
	struct world *world = *state;
	static struct snmp_binding bindings[SNMP_BINDING_LIMIT + 1];
	struct snmp_ask empty = {.kind = SNMP_GET, .bindings = bindings};
	struct snmp_ask many = {
		.kind = SNMP_GET, .bindings = bindings, .count = COUNT_OF(bindings)};
	struct snmp_binding odd = {.name = OID(1, 3, 6), .value.type = SNMP_OTHER};
	struct snmp_ask strange = {.kind = SNMP_SET, .bindings = &odd, .count = 1};

	open_peer(world);
	assert_int_equal(snmp_peer_ask(world->peer, &empty, on_answer, world), -EINVAL);
	assert_int_equal(snmp_peer_ask(world->peer, &many, on_answer, world), -EINVAL);
	assert_int_equal(snmp_peer_ask(world->peer, &strange, on_answer, world), -EINVAL);
}

static void statuses_have_codes(void **state)
{
	(void)state;
	assert_int_equal(snmp_status_code(6), E_DENIED);
	assert_int_equal(snmp_status_code(17), E_DENIED);
	assert_int_equal(snmp_status_code(12), E_CONFLICT);
	assert_int_equal(snmp_status_code(99), E_PROTOCOL);
	assert_string_equal(snmp_status_text(12), "inconsistentValue");
	assert_string_equal(snmp_status_text(-1), "?");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_up, world_down)
	static const struct CMUnitTest tests[] = {
		TEST(endpoints_that_cannot_be_are_refused),
		TEST(silence_is_tried_again_and_ends),
		TEST(an_agent_of_v1_alone_is_told_from_silence),
		TEST(what_must_not_be_repeated_is_sent_once),
		TEST(nothing_is_set_after_the_claim),
		TEST(an_engine_that_is_silent_ends_too),
		TEST(only_so_many_are_under_way),
		TEST(what_is_forgotten_is_not_told),
		TEST(a_peer_may_be_freed_by_its_answer),
		TEST(what_cannot_be_sent_is_refused),
		TEST(statuses_have_codes),
	};

	return cmocka_run_group_tests(tests, group_up, group_down);
}
