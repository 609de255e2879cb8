/* Leases in memory: found by address and, when bound, by (MAC, subnet). Ours, because every packet
 * passes here and a site has 100 thousand: open addressing over stable records, about 80 bytes a
 * lease. Also used for offers, which live a few seconds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/mac.h"

enum lease_state {
	LEASE_BOUND,
	LEASE_DECLINED, /* nobody's until it expires: somebody was already there; the MAC is whose
			   word that was */
	LEASE_RELEASED, /* nobody else's until it expires: its client moved, and another server may
			   have confirmed it just before */
};

/* A record stays where it is until it is removed. */
struct lease {
	uint32_t address;
	struct mac mac;
	uint8_t state;     /* enum lease_state; changes by lease_table_unbind */
	bool committed;    /* the row is in PostgreSQL */
	bool dirty;        /* differs from the row; queued for the next batch */
	bool flying;       /* in a batch under way */
	bool inherits;     /* its victim goes although that one's timer runs */
	uint16_t client;   /* what it said it was, see lease_table_intern */
	struct mac victim; /* whose row at this address goes with the same statement; zero = none */
	uint16_t place;    /* in the batch that it flies in */
	uint32_t old_address; /* the client's row there goes with the same statement; 0 = none */
	uint32_t seen;        /* number of the last full read that knew it */
	uint32_t sure_until;  /* wall clock, seconds: until then its row stands, whoever else writes
			       */
	int64_t subnet_id;
	int64_t expires_at; /* wall clock, seconds; of an offer: monotonic milliseconds */
	struct lease *next; /* in the queue of lease_store */
	void *waiter;       /* of lease_store's user: what to send once it is committed */
};

struct lease_table;

/* limit: most leases it will hold. */
MUST_USE int lease_table_new(size_t limit, struct lease_table **ret);
void lease_table_free(struct lease_table *table);

/* A bound one. Both keys must be free: look first. E_CONFLICT when one is taken, E_LIMIT, -ENOMEM.
 */
MUST_USE int lease_table_add(struct lease_table *table, uint32_t address, struct mac mac,
			     int64_t subnet_id, struct lease **ret);
/* One that is nobody's: only the address must be free. */
MUST_USE int lease_table_add_unbound(struct lease_table *table, uint32_t address, struct mac mac,
				     int64_t subnet_id, enum lease_state state, struct lease **ret);
/* To LEASE_DECLINED or LEASE_RELEASED: the MAC is free for another address from now on,
 * lease_by_mac does not find this one. */
void lease_table_unbind(struct lease_table *table, struct lease *lease, enum lease_state state);
void lease_table_remove(struct lease_table *table, struct lease *lease);
struct lease *lease_by_address(const struct lease_table *table, uint32_t address);
struct lease *lease_by_mac(const struct lease_table *table, struct mac mac, int64_t subnet_id);
size_t lease_table_count(const struct lease_table *table);
/* Bytes held, for metrics and the memory test. */
size_t lease_table_size(const struct lease_table *table);

/* Iteration: start with *cursor = 0; NULL at the end. The lease just given may be removed. */
struct lease *lease_table_next(const struct lease_table *table, size_t *cursor);

/* Client texts are few and repeat: the table keeps each once. Text is cut to 64; the empty number
 * when there are too many. */
uint16_t lease_table_intern(struct lease_table *table, const char *client);
const char *lease_table_client(const struct lease_table *table, const struct lease *lease);
