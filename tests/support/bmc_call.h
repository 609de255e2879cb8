/* For tests of drivers of BMCs: one call of a driver, without the queue, which would refuse a late
 * one before the driver is asked. */
#pragma once

#include <string.h>

#include "common/base/clock.h"
#include "common/io/loop.h"
#include "common/io/worker.h"

#include "bampi/bmc/bmc_driver.h"
#include "bampi/bmc/rmcp_client.h"
#include "tests/support/cmocka.h"

struct bmc_caller {
	struct bmc_host host;
	const struct bmc_driver *driver;
	void *session;
	unsigned count;
	int rc;
	struct bmc_result result; /* rows are not kept */
	struct problem problem;
};

static inline void bmc_caller_open(struct bmc_caller *caller, struct loop *loop,
				   const struct bmc_endpoint *endpoint)
{
	*caller =
		(struct bmc_caller){.host.loop = loop, .driver = bmc_driver_find(endpoint->driver)};
	assert_non_null(caller->driver);
	assert_int_equal(worker_new(loop, 2, 8, &caller->host.worker), 0);
	assert_int_equal(rmcp_client_new(loop, 60000, &caller->host.rmcp), 0);
	assert_int_equal(
		caller->driver->open(endpoint, &caller->host, &caller->session, &caller->problem),
		0);
}

static inline void bmc_caller_close(struct bmc_caller *caller)
{
	caller->driver->close(caller->session);
	worker_free(caller->host.worker);
	rmcp_client_free(caller->host.rmcp);
}

static inline void bmc_caller_take(void *context, int rc, struct bmc_result *result,
				   const struct problem *problem)
{
	struct bmc_caller *caller = context;

	caller->count++;
	caller->rc = rc;
	if (result) {
		caller->result = *result;
		bmc_result_done(result);
	}
	if (problem)
		caller->problem = *problem;
	loop_stop(caller->host.loop);
}

static inline void bmc_caller_wait(struct bmc_caller *caller)
{
	while (caller->count == 0)
		loop_run(caller->host.loop);
	assert_int_equal(caller->count, 1);
}

static inline void bmc_caller_start(struct bmc_caller *caller, const struct bmc_request *request)
{
	caller->count = 0;
	caller->problem = (struct problem){0};
	assert_int_equal(caller->driver->start(caller->session, request,
					       clock_monotonic_ms() + 30000, bmc_caller_take,
					       caller),
			 0);
}

/* Asks for `op` under a claim that ends in `left_ms`, and waits for the answer. */
static inline int bmc_caller_ask(struct bmc_caller *caller, enum bmc_op op, int64_t left_ms)
{
	struct bmc_request request = {.op = op};

	assert_int_equal(fence_new(clock_boot_ms() + left_ms, &request.fence), 0);
	bmc_caller_start(caller, &request);
	bmc_caller_wait(caller);
	fence_unref(request.fence);
	return caller->rc;
}
