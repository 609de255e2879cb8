/* Rows of a table found by another field than their key. The work of a reading grows with its rows,
 * and not with their square. An order is made when all rows are read; until then, and without
 * memory, rows are looked through one by one. */
#pragma once

#include "peregrine/switch/snmp/snmp_facts.h"

/* The orders of a reading up to `last`. Without memory the facts have failed. */
void fact_orders_make(struct snmp_facts *facts, enum fact_order_kind last);
void fact_orders_drop(struct snmp_facts *facts);
/* The next row of `kind` with this hash, after `*at` (0 at first); NULL at the end. Other values may
 * have the same hash: the caller compares. */
void *fact_order_next(const struct snmp_facts *facts, enum fact_order_kind kind, uint64_t hash,
		      uint32_t *at);

/* Hashes of what is searched. */
uint64_t fact_hash_text(const char *text);
uint64_t fact_hash_spelling(const char *text); /* as port_name_same() */
uint64_t fact_hash_mac(const uint8_t mac[6]);
