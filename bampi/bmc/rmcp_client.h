/* The sockets of all RMCP+ sessions: one per address family for all BMCs, packets sent and taken in
 * batches, one timer per BMC. Nothing here waits for a BMC: a dead one costs its timer. */
#pragma once

#include "common/io/loop.h"

#include "bampi/bmc/rmcp_session.h"

struct rmcp_client;
struct rmcp_peer;

/* `keep_ms`: an unused session is kept so long; 0 = it is closed after each use. -ENOMEM, errno. */
MUST_USE int rmcp_client_new(struct loop *loop, int64_t keep_ms, struct rmcp_client **ret);
/* All peers are freed before. Waits half a second at most for the last goodbyes. */
void rmcp_client_free(struct rmcp_client *client);

struct rmcp_client_stats {
	unsigned peers, sessions; /* sessions: open ones */
	uint64_t packets_out, packets_in;
	uint64_t strange; /* from nobody we know, or malformed */
	uint64_t resent, opened, lost, forged, late;
};
void rmcp_client_stats(const struct rmcp_client *client, struct rmcp_client_stats *ret);

/* Can this address be reached without asking DNS, which blocks? */
bool rmcp_address_is_literal(const char *address);
/* -EINVAL: the address is no literal one. E_UNSUPPORTED: the cipher suite. With a problem. */
MUST_USE int rmcp_peer_new(struct rmcp_client *client, const struct bmc_endpoint *endpoint,
			   struct rmcp_peer **ret, struct problem *problem);
/* Forgets what is under way, says goodbye to the BMC in the background. NULL is fine. */
void rmcp_peer_free(struct rmcp_peer *peer);

/* An answer of any completion code, or a problem; from the loop, never from inside rmcp_peer_ask.
 * May ask again or free the peer. */
typedef void (*rmcp_answer_fn)(void *context, const struct rmcp_message *answer,
			       const struct problem *problem);
/* One at a time. */
void rmcp_peer_ask(struct rmcp_peer *peer, const struct rmcp_ask *ask, int64_t deadline_ms,
		   rmcp_answer_fn fn, void *context);
/* `fn` will not be called. */
void rmcp_peer_forget(struct rmcp_peer *peer);
