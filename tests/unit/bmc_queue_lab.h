/* The queue of BMCs on a simulated rack: what its tests share. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/bmc/sim_driver.h"
#include "tests/support/bmc_ask.h"

struct lab {
	struct loop *loop;
	struct sim_rack *rack;
	struct bmc_queue *queue;
};

static inline void lab_queue(struct lab *lab, unsigned workers, unsigned failing_workers)
{
	struct bmc_queue_options options = {
		.workers = workers, .failing_workers = failing_workers, .sim = lab->rack};

	bmc_queue_free(lab->queue);
	assert_int_equal(bmc_queue_new(lab->loop, &options, &lab->queue), 0);
}

static inline int start(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	assert_non_null(lab);
	assert_int_equal(loop_new(&lab->loop), 0);
	assert_int_equal(sim_rack_new(&(struct sim_rack_options){.latency_ms = 2}, &lab->rack), 0);
	lab_queue(lab, 8, 2);
	*state = lab;
	return 0;
}

static inline int stop(void **state)
{
	struct lab *lab = *state;

	bmc_queue_free(lab->queue);
	sim_rack_free(lab->rack);
	loop_free(lab->loop);
	free(lab);
	return 0;
}

static inline void sim_address(int64_t id, char ret[64])
{
	assert_true(text_format(ret, 64, "sim-%d", (int)id));
}

static inline void put(struct lab *lab, int64_t id, const char *password)
{
	struct bmc_endpoint endpoint = {.id = id, .driver = "sim", .timeout_ms = 100};
	struct problem problem = {0};

	sim_address(id, endpoint.address);
	(void)text_format(endpoint.node, sizeof(endpoint.node), "n%d", (int)id);
	(void)text_copy(endpoint.password, sizeof(endpoint.password), password);
	assert_int_equal(bmc_queue_put(lab->queue, &endpoint, &problem), 0);
}

/* A copy. */
static inline struct sim_node node_get(struct lab *lab, int64_t id)
{
	struct sim_node node;
	char address[64];

	sim_address(id, address);
	sim_rack_lock(lab->rack);
	node = *sim_rack_node(lab->rack, address, 0);
	sim_rack_unlock(lab->rack);
	return node;
}

static inline void node_fault(struct lab *lab, int64_t id, uint32_t faults)
{
	char address[64];

	sim_address(id, address);
	sim_rack_lock(lab->rack);
	sim_rack_node(lab->rack, address, 0)->faults = faults;
	sim_rack_unlock(lab->rack);
}

/* As those of a library that blocks: its calls hold threads. */
static inline void node_blocks(struct lab *lab, int64_t id)
{
	char address[64];

	sim_address(id, address);
	sim_rack_lock(lab->rack);
	sim_rack_node(lab->rack, address, 0)->blocks = true;
	sim_rack_unlock(lab->rack);
}

static inline void node_slow(struct lab *lab, int64_t id, uint32_t latency_ms,
			     uint32_t power_delay_ms)
{
	struct sim_node *node;
	char address[64];

	sim_address(id, address);
	sim_rack_lock(lab->rack);
	node = sim_rack_node(lab->rack, address, 0);
	node->latency_ms = latency_ms;
	node->power_delay_ms = power_delay_ms;
	sim_rack_unlock(lab->rack);
}

static inline struct bmc_queue_stats stats(const struct lab *lab)
{
	struct bmc_queue_stats stats;

	bmc_queue_stats(lab->queue, &stats);
	return stats;
}
