/* What the database says of switches, ports, networks and NICs, and since when: read whole when it
 * has changed, as the rows that an attribution_index and an agent_directory are made of. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"

#include "peregrine/flowd/flow/attribution_index.h"
#include "peregrine/flowd/sample/agent_directory.h"

/* Texts are borrowed from it. */
struct bindings {
	struct attribution_rows rows;
	struct agent_row *agents;
	size_t agent_count;
	size_t odd; /* rows that made no sense */
	void *json;
	void *memory[7];
};

void bindings_done(struct bindings *bindings);

/* `number`: binding_change and what else may change, as one text; differs = read again. */
typedef void (*binding_mark_fn)(void *context, int rc, const char *mark);
MUST_USE int binding_mark(struct db *db, binding_mark_fn fn, void *context);

/* rc 0: `bindings` passes to the callee. */
typedef void (*binding_read_fn)(void *context, int rc, struct bindings *bindings,
				const struct problem *problem);
MUST_USE int binding_read(struct db *db, binding_read_fn fn, void *context);

/* From the JSON of the query below; tests and the fuzzer call it. -ENOMEM, E_MALFORMED. */
MUST_USE int bindings_parse(const char *data, size_t size, struct bindings *ret,
			    struct problem *problem);
