/* The rows that bampi-bootd would read and write for simulated nodes, with its role and in batches.
 */
#pragma once

#include <libpq-fe.h>
#include <stddef.h>

#include "common/io/agent_key.h"

#include "tests/sim/node/sim_node.h"

struct sim_nodes {
	struct sim_node_state *rows;
	size_t count;
	struct sim_times times;
	const char *folder;
	struct agent_key *key; /* of all agents: what is told of volumes is sealed to it */
	const char *journal;   /* every task that an agent began is a line here */
};

/* Node ids, states and boot intents. -1 when the connection is lost. */
int sim_rows_read(PGconn *connection, struct sim_nodes *nodes);
/* Hands queued tasks to idle agents, ends those that are due. */
int sim_rows_work(PGconn *connection, struct sim_nodes *nodes, int64_t now_ms);
/* Observations, and the deployments they make due. */
int sim_rows_write(PGconn *connection, struct sim_nodes *nodes);
