/* Carries PDCIs from the request to the release: chooses nodes, queues their deployments, follows
 * them, and takes all of it back. All that it knows is in rows; one PDCI is claimed at a time, so a
 * kill costs a claim's time and nothing else. Also answers, without writing anything, whether a
 * request could be met now. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/http/json_reader.h"
#include "common/http/server.h"
#include "common/io/loop.h"

struct pdci_runner;

struct pdci_runner_options {
	struct db *db;
	const char *owner; /* of claims; borrowed */
	int64_t claim_ms;
	void (*changed)(void *context); /* deployments were made or asked to cancel */
	void *context;
};

struct pdci_runner_stats {
	uint64_t claimed, allocated, infeasible, races, released, replaced;
};

MUST_USE int pdci_runner_new(struct loop *loop, const struct pdci_runner_options *options,
			     struct pdci_runner **ret);
/* After db_free. */
void pdci_runner_free(struct pdci_runner *runner);
void pdci_runner_wake(struct pdci_runner *runner);
void pdci_runner_db_state(struct pdci_runner *runner, bool connected);
const struct pdci_runner_stats *pdci_runner_stats(const struct pdci_runner *runner);

/* POST /feasibility {"tenant": NAME, "request": {...}, "names": bool, "links": networks that its
 * volumes would need}: answers {"feasible", "groups": [{"class", "wanted", "possible", "why",
 * "refused": [{"node", "why", "detail"}]}], "nodes", "racks", "leaves", "reason"}; why and refused
 * of groups that fall short. `names`: reasons name nodes, also other tenants', so only for
 * operators. */
void pdci_feasibility(struct pdci_runner *runner, struct http_request *request);
