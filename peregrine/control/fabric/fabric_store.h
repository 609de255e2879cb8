/* SQL of the fabric: reads the rows that the conclusions need, and passes the conclusions to the
 * functions of fabric.sql and port.sql. One statement per table, all rows in one parameter. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/db/db.h"

#include "peregrine/control/fabric/cable_model.h"
#include "peregrine/control/fabric/guard_policy.h"
#include "peregrine/control/fabric/wiring_policy.h"

struct nic_row {
	char node[64], name[16], chassis[64], port[64], system[64];
};
struct sighting_row {
	char switch_name[64], port[64];
};
struct plan_row {
	char port[64], node[64], nic[16], peer[64], peer_port[64];
};

/* A port with an intent of any network. */
struct given_port {
	int64_t switch_id;
	char port[64];
	uint32_t bundle; /* fabric_source.bundle */
	int64_t holder;  /* fabric_source.holder */
};

struct guard_row {
	char port[64], networks[128];
};

/* A former cable: the switch at the other end of a port. */
struct former_end {
	int64_t switch_id, peer_id;
	char port[64];
};

/* Rows as structs of the model; it also owns the texts that they point to. */
struct fact_rows {
	struct fabric_nic *nics;
	struct nic_row *nic_texts;
	size_t nic_count;
	struct fabric_sighting *sightings;
	struct sighting_row *sighting_texts;
	size_t sighting_count;
	struct wiring_row *wiring;
	struct plan_row *wiring_texts;
	size_t wiring_count;
	struct guard_port *guards;
	struct guard_row *guard_texts;
	size_t guard_count;
	struct given_port *given;
	size_t given_count;
	struct former_end *ends;
	size_t end_count;
};
void fact_rows_done(struct fact_rows *rows);

/* Each replaces its rows by those of a result. -ENOMEM. */
MUST_USE int fabric_rows_nics(const PGresult *result, struct fact_rows *ret);
MUST_USE int fabric_rows_sightings(const PGresult *result, struct fact_rows *ret);
MUST_USE int fabric_rows_wiring(const PGresult *result, struct fact_rows *ret);
MUST_USE int fabric_rows_guards(const PGresult *result, struct fact_rows *ret);
MUST_USE int fabric_rows_given(const PGresult *result, struct fact_rows *ret);
MUST_USE int fabric_rows_ends(const PGresult *result, struct fact_rows *ret);
/* A new array, owned by the caller. */
MUST_USE int fabric_rows_blocks(const PGresult *result, struct guard_block **ret,
				size_t *ret_count);
