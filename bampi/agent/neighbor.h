/* LLDP neighbours of the node's NICs: listens from the program's start, so that an inventory that
 * is asked for later has them at hand. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/io/loop.h"

#include "bampi/agent/lldp_wire.h"

struct neighbor_table;

/* Needs CAP_NET_RAW; -errno without. */
MUST_USE int neighbor_table_new(struct loop *loop, struct neighbor_table **ret);
void neighbor_table_free(struct neighbor_table *table);
/* From any thread. False when nothing was heard on that interface. */
bool neighbor_find(struct neighbor_table *table, const char *interface, struct lldp_neighbor *ret);
/* When the table began to listen (monotonic). */
int64_t neighbor_table_since_ms(const struct neighbor_table *table);
