/* The SNMP driver and an agent that a test fills with rows; what came, and what is told of the rest. */
#pragma once

#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/loop.h"

#include "peregrine/switch/snmp/snmp_client.h"
#include "peregrine/switch/snmp/snmp_driver.h"
#include "peregrine/switch/snmp/snmp_reading.h"
#include "peregrine/switch/snmp/snmp_told.h"
#include "peregrine/switch/snmp/snmp_walk.h"
#include "peregrine/switch/switch_family_table.h"
#include "tests/support/snmp_responder.h"

#define IF_TABLE "1.3.6.1.2.1.2.2.1"
#define IF_X     "1.3.6.1.2.1.31.1.1.1"
#define BRIDGE   "1.3.6.1.2.1.17.1.4.1.2"
#define DOT1Q    "1.3.6.1.2.1.17.7.1"
#define VTP      "1.3.6.1.4.1.9.9.46.1"

struct world {
	struct loop *loop;
	struct snmp_client *client;
	struct responder agent;
	const struct switch_driver *driver;
	void *session;
	struct switch_reading reading;
	struct problem problem;
	int rc;
};

/* One client per process: Net-SNMP's state is the process's. */
static struct world only;

static inline int group_up(void **state)
{
	(void)state;
	assert_int_equal(loop_new(&only.loop), 0);
	assert_int_equal(snmp_client_new(only.loop, &only.client), 0);
	return 0;
}

static inline int group_down(void **state)
{
	(void)state;
	snmp_client_free(only.client);
	loop_free(only.loop);
	return 0;
}

static inline int world_up(void **state)
{
	only = (struct world){
		.loop = only.loop, .client = only.client, .driver = &snmp_switch_driver};
	responder_up(&only.agent, only.loop);
	*state = &only;
	return 0;
}

static inline int world_down(void **state)
{
	struct world *world = *state;

	world->driver->close(world->session);
	switch_reading_done(&world->reading);
	responder_down(&world->agent);
	return 0;
}

static inline void on_done(void *context, int rc, struct switch_reading *reading,
			   const struct problem *problem)
{
	struct world *world = context;

	world->rc = rc;
	switch_reading_done(&world->reading);
	if (rc)
		world->problem = *problem;
	else if (reading) {
		world->reading = *reading;
		*reading = (struct switch_reading){0};
	}
	loop_stop(world->loop);
}

static inline void call(struct world *world, const struct switch_request *request)
{
	assert_int_equal(world->driver->start(world->session, request, clock_monotonic_ms() + 60000,
					      on_done, world),
			 0);
	loop_run(world->loop);
}

static inline void read_all(struct world *world, const char *family, uint32_t timeout_ms)
{
	const struct switch_request request = {.op = SWITCH_READ, .parts = PART_ALL};
	const struct switch_host host = {.loop = world->loop, .snmp = world->client};
	const struct switch_endpoint endpoint = {.name = "s1",
						 .address = "127.0.0.1",
						 .snmp_port = world->agent.port,
						 .snmp_community = "public",
						 .snmp_write_community = "secret",
						 .timeout_ms = timeout_ms,
						 .retries = 2};

	if (!world->session)
		assert_int_equal(world->driver->open(&endpoint, switch_family_find(family), &host,
						     &world->session, &world->problem),
				 0);
	call(world, &request);
}

/* --- what an agent shows --- */

static inline void add_port(struct responder *agent, unsigned if_index, unsigned base_port,
			    const char *name)
{
	responder_bytes(agent, name, strlen(name), IF_TABLE ".2.%u", if_index);
	responder_number(agent, 6, IF_TABLE ".3.%u", if_index);
	responder_number(agent, 1, IF_TABLE ".7.%u", if_index);
	responder_number(agent, 1, IF_TABLE ".8.%u", if_index);
	responder_bytes(agent, name, strlen(name), IF_X ".1.%u", if_index);
	if (base_port)
		responder_number(agent, if_index, BRIDGE ".%u", base_port);
}

static inline void add_switch(struct responder *agent, unsigned ports)
{
	responder_bytes(agent, "a switch", 8, "1.3.6.1.2.1.1.1.0");
	for (unsigned i = 1; i <= ports; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "p%u", i);
		add_port(agent, 100 + i, i, name);
		responder_number(agent, 1, DOT1Q ".4.5.1.1.%u", i);
	}
	responder_bytes(agent, "one", 3, DOT1Q ".4.3.1.1.1");
	responder_bytes(agent, "\xff", 1, DOT1Q ".4.3.1.2.1");
	responder_bytes(agent, "\xff", 1, DOT1Q ".4.3.1.4.1");
	responder_number(agent, 1, DOT1Q ".4.3.1.5.1");
}

static inline void add_address(struct responder *agent, unsigned number, unsigned base_port)
{
	responder_number(agent, base_port, DOT1Q ".2.2.1.2.1.2.0.0.0.%u.%u", number / 256,
			 number % 256);
	responder_number(agent, 3, DOT1Q ".2.2.1.3.1.2.0.0.0.%u.%u", number / 256, number % 256);
}

static inline const struct switch_told *told(const struct world *world, enum told_part part)
{
	return &world->reading.told[part];
}

#define assert_told(world, part, is_state, word)                                        \
	do {                                                                            \
		assert_int_equal(told(world, part)->state, is_state);                   \
		if (!strstr(told(world, part)->why, word))                              \
			fail_msg("\"%s\" has no \"%s\"", told(world, part)->why, word); \
	} while (0)

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_up, world_down)
