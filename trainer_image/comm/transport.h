/* How the ranks of a job reach each other: bytes between two of them, in order, in both directions at
 * once. Collectives (collective.h) are made of this one call, so they are the same over each kind of
 * transport. The bytes lie in memory of the transport's place.
 *
 * A call ends with an error `patience_ms` after the last byte moved, and at once when the job was told
 * to stop (transport_stop). Where the place is behind, a call only begins the exchange, and the order of the
 * calls is the order of the device's work: place_wait() is what ends with an error then. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/comm/pace.h"
#include "trainer_image/comm/place.h"

enum { COMM_RANKS_MAX = 64 };

struct transport;

/* Sends `out` to rank `to` and receives `in` from rank `from`, at the same time. A size of 0: not. */
struct transport_exchange {
	int to, from;
	const void *out;
	void *in;
	size_t out_size, in_size;
};

struct transport_kind {
	const char *name; /* "shared" */
	/* -ETIMEDOUT: nothing moved for so long; -ECANCELED: told to stop; -ECONNRESET: the other is
	 * gone. `transport->blamed` is the rank that was waited for. */
	MUST_USE int (*exchange)(struct transport *transport, const struct transport_exchange *is);
	/* NULL: exchanges run one by one. */
	MUST_USE int (*together)(struct transport *transport, bool begins);
	void (*free)(struct transport *transport);
};

/* Each kind begins with this. */
struct transport {
	const struct transport_kind *kind;
	struct place *place;
	int rank, ranks;
	int64_t patience_ms;
	atomic_bool stopped;
	int blamed;                        /* of the last call that failed */
	struct pace paces[COMM_RANKS_MAX]; /* to each rank: as fast as it goes, unless set */
	uint64_t sent[COMM_RANKS_MAX];     /* bytes to each rank */
	int64_t waited_us;                 /* in calls that could not go on yet */
};

MUST_USE static inline int transport_exchange(struct transport *transport,
					      const struct transport_exchange *is)
{
	return transport->kind->exchange(transport, is);
}

/* Exchanges between the two calls may run at the same time: none needs what another brings. The second call also
 * follows a failure of one of them. */
MUST_USE static inline int transport_together(struct transport *transport, bool begins)
{
	return transport->kind->together ? transport->kind->together(transport, begins) : 0;
}

/* From any thread, also from a signal handler. */
static inline void transport_stop(struct transport *transport)
{
	atomic_store(&transport->stopped, true);
}

static inline void transport_free(struct transport *transport)
{
	if (transport)
		transport->kind->free(transport);
}

/* Bytes to all ranks so far. */
uint64_t transport_sent(const struct transport *transport);
/* All links that leave this rank at so many bytes a second from now on; 0 = as fast as it goes. A
 * measurement on such links says that they are emulated. */
void transport_pace(struct transport *transport, double bytes_per_s);

/* --- shared memory: ranks that are processes of one machine --- */

struct shared_memory;

/* Before the ranks are forked: rings of `ring` bytes (a power of two, at least 4096) between each two of
 * them. -EINVAL, -ENOMEM. */
MUST_USE int shared_memory_new(int ranks, size_t ring, struct shared_memory **ret);
void shared_memory_free(struct shared_memory *memory);
/* The transport of one rank, in its process. `memory` outlives it. */
MUST_USE int transport_shared_new(struct shared_memory *memory, int rank, struct transport **ret);

/* --- TCP: ranks on several machines --- */

/* Where a rank listens. */
struct transport_address {
	char host[256];
	char port[8];
};

/* What all ranks of a job know. */
struct transport_job {
	const struct transport_address *addresses; /* of each rank */
	int ranks;
	uint8_t key[32]; /* who does not have it is turned away; random for each job */
};

/* Rank `rank` connects to the ranks below it, and those above connect to `listener`: a listening
 * socket, which stays the caller's. `wait_ms`: so long may it take until all are there. E_TIMEOUT names a
 * rank that is missing; E_AUTHENTICATION one with another key; -errno. */
MUST_USE int transport_tcp_new(const struct transport_job *job, int rank, int listener,
			       int64_t wait_ms, struct transport **ret, struct problem *problem);
