/* For tests of the session machine of RMCP+: a session, a BMC (rmcp_bmc.h), and the line between them, with time as a
 * number. */
#pragma once

#include <freeipmi/freeipmi.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/base/text.h"

#include "bampi/bmc/rmcp_session.h"
#include "tests/support/cmocka.h"
#include "tests/support/rmcp_bmc.h"

enum { FLIGHT_MAX = 16 };

struct packet {
	size_t size;
	uint8_t bytes[RMCP_PACKET_MAX];
};

/* A session, its BMC, and the line between them. */
struct lab {
	struct rmcp_wire *wire;
	struct rmcp_session session;
	struct rmcp_bmc bmc;
	int64_t now_ms;
	struct packet out[FLIGHT_MAX]; /* sent and not yet delivered */
	size_t out_count;
	unsigned seed;
	struct rmcp_outcome outcome;
	unsigned outcomes;
	/* May change or swallow (size 0) what the BMC answers. */
	void (*answer)(struct lab *lab, struct packet *packet);
	unsigned answers; /* so far */
	bool deaf;        /* the BMC hears nothing */
};

static inline void lab_send(void *context, const void *data, size_t size)
{
	struct lab *lab = context;

	assert_true(lab->out_count < FLIGHT_MAX && size <= RMCP_PACKET_MAX);
	lab->out[lab->out_count].size = size;
	memcpy(lab->out[lab->out_count++].bytes, data, size);
}

static inline void lab_random(void *ret, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)ret)[i] = (uint8_t)(rand() >> 4); /* NOLINT */
}

static inline struct rmcp_io io_of(struct lab *lab)
{
	return (struct rmcp_io){.wire = lab->wire,
				.now_ms = lab->now_ms,
				.send = lab_send,
				.random = lab_random,
				.context = lab};
}

static inline void lab_init(struct lab *lab, uint8_t suite)
{
	struct bmc_endpoint endpoint = {.node = "n1",
					.address = "192.0.2.1",
					.username = "admin",
					.password = "secret",
					.cipher_suite = suite};
	struct problem problem = {0};

	*lab = (struct lab){.now_ms = 1000000, .wire = lab->wire};
	lab->bmc = (struct rmcp_bmc){.username = "admin", .password = "secret", .guid = {1, 2, 3}};
	assert_int_equal(rmcp_session_init(&lab->session, &endpoint, RMCP_PRIVILEGE_OPERATOR,
					   150000, &problem),
			 0);
}

static inline int start(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	assert_non_null(lab);
	assert_int_equal(ipmi_rmcpplus_init(), 0);
	assert_int_equal(rmcp_wire_new(&lab->wire), 0);
	lab_init(lab, 3);
	*state = lab;
	return 0;
}

static inline int stop(void **state)
{
	struct lab *lab = *state;

	rmcp_wire_free(lab->wire);
	free(lab);
	return 0;
}

static inline void hear(struct lab *lab, const struct packet *packet)
{
	struct rmcp_io io = io_of(lab);
	struct rmcp_outcome outcome = {0};

	rmcp_session_heard(&lab->session, &io, packet->bytes, packet->size, &outcome);
	if (outcome.event != RMCP_NOTHING) {
		lab->outcome = outcome;
		lab->outcomes++;
	}
}

/* Delivers what is on the line until it is quiet. */
static inline void settle(struct lab *lab)
{
	while (lab->out_count > 0) {
		struct packet request = lab->out[0];
		struct packet answer = {0};

		memmove(lab->out, lab->out + 1, --lab->out_count * sizeof(lab->out[0]));
		if (lab->deaf)
			continue;
		answer.size = rmcp_bmc_answer(&lab->bmc, request.bytes, request.size, answer.bytes);
		if (answer.size == 0)
			continue;
		lab->answers++;
		if (lab->answer)
			lab->answer(lab, &answer);
		if (answer.size)
			hear(lab, &answer);
	}
}

/* Time goes on to the next instant that matters, or to `until_ms`. */
static inline void step(struct lab *lab, int64_t until_ms)
{
	int64_t due_ms = rmcp_session_due_ms(&lab->session);
	struct rmcp_outcome outcome = {0};
	struct rmcp_io io;

	lab->now_ms = due_ms < until_ms ? due_ms : until_ms;
	io = io_of(lab);
	rmcp_session_due(&lab->session, &io, &outcome);
	if (outcome.event != RMCP_NOTHING) {
		lab->outcome = outcome;
		lab->outcomes++;
	}
	settle(lab);
}

static inline void pass(struct lab *lab, int64_t ms)
{
	int64_t until_ms = lab->now_ms + ms;

	while (lab->now_ms < until_ms)
		step(lab, until_ms);
}

static inline void begin(struct lab *lab, const struct rmcp_ask *ask)
{
	struct rmcp_io io = io_of(lab);

	lab->outcomes = 0;
	lab->outcome = (struct rmcp_outcome){0};
	rmcp_session_ask(&lab->session, &io, ask, lab->now_ms + 30000);
	settle(lab);
}

/* Until there is an outcome; the time it took. */
static inline int64_t finish(struct lab *lab)
{
	int64_t began_ms = lab->now_ms;

	while (lab->outcomes == 0) {
		assert_true(lab->now_ms - began_ms < 60000);
		step(lab, lab->now_ms + 60000);
	}
	assert_int_equal(lab->outcomes, 1);
	return lab->now_ms - began_ms;
}

static const struct rmcp_ask status = {.privilege = RMCP_PRIVILEGE_USER, .size = 1, .data = {1}};
static const struct rmcp_ask power_on = {
	.privilege = RMCP_PRIVILEGE_OPERATOR, .changes = true, .size = 2, .data = {2, 1}};
static const struct rmcp_ask reset = {.privilege = RMCP_PRIVILEGE_OPERATOR,
				      .changes = true,
				      .once = true,
				      .size = 2,
				      .data = {2, 3}};

static inline void assert_answered(struct lab *lab, const struct rmcp_ask *ask)
{
	begin(lab, ask);
	(void)finish(lab);
	if (lab->outcome.event != RMCP_ANSWERED)
		fail_msg("%s (%s)", lab->outcome.problem.message, lab->outcome.problem.detail);
	assert_int_equal(lab->outcome.answer.data[0], ask->data[0]);
	assert_int_equal(lab->outcome.answer.data[1], 0);
}

static inline void assert_failed(struct lab *lab, int code)
{
	assert_int_equal(lab->outcome.event, RMCP_FAILED);
	assert_int_equal(lab->outcome.problem.code, code);
	assert_true(lab->outcome.problem.message[0]);
	assert_null(strstr(lab->outcome.problem.detail, "secret"));
}
