/* Every BMC operation of bampid goes through here, on the loop. Each BMC has one line of waiting
 * operations, one session, and one call in flight at most. Blocking calls share a bounded worker
 * pool fairly. Each operation has retries with back-off and a deadline; each BMC has a circuit
 * breaker. Effects are confirmed by reading back (confirm_policy.h). Single-threaded like the loop;
 * callbacks come from the loop, never from inside the call that asked. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/call_queue.h"
#include "common/io/loop.h"

#include "bampi/bmc/bmc_driver.h"
#include "bampi/bmc/rmcp_client.h"

struct bmc_queue;
struct sim_rack;

struct bmc_queue_options {
	unsigned workers;         /* threads, for what blocks; 0 = 16 */
	unsigned failing_workers; /* of them at most so many for BMCs that failed last time; 0 = a
				     quarter, at least 1 */
	int64_t session_keep_ms;  /* an unused session at a BMC is kept so long; 0 = it is closed
				     after each call */
	const char *ca_file;      /* who vouches for Redfish BMCs; NULL or "" = the system's */
	struct sim_rack *sim; /* what driver "sim" speaks to; borrowed, NULL = no simulated nodes */
};

MUST_USE int bmc_queue_new(struct loop *loop, const struct bmc_queue_options *options,
			   struct bmc_queue **ret);
/* What still waits is answered with E_UNAVAILABLE; waits for calls in flight (at most one call's
 * timeout); closes all sessions. */
void bmc_queue_free(struct bmc_queue *queue);

/* Adds a BMC, or replaces the endpoint of endpoint->id (copied). A changed address, name, password,
 * suite or workaround closes the old session and the breaker. It forgets a refused password. An
 * unchanged endpoint is a no-op. -EINVAL: unknown driver. */
MUST_USE int bmc_queue_put(struct bmc_queue *queue, const struct bmc_endpoint *endpoint,
			   struct problem *problem);
/* Waiting operations are answered with E_NOT_FOUND. Unknown ids are fine. */
void bmc_queue_remove(struct bmc_queue *queue, int64_t bmc_id);

struct bmc_ask {
	int64_t bmc_id;
	const struct bmc_request *request; /* copied, its fence kept */
	enum call_priority priority;       /* CALL_CHANGE: an action of a user or a deployment */
	bool person; /* a person asks: one try in BREAKER_PERSON_MS is let through although the BMC
			refused the password, for it may have been corrected there */
	uint32_t deadline_ms; /* from now, for the whole operation with its retries and read-backs;
				 0 = bmc_op_table */
};

/* rc 0: result is set (borrowed for the call). Else problem is set and result NULL. Besides the
 * driver's errors: E_UNAVAILABLE  the breaker is open: the problem says since when, why, and when
 * it will be tried again E_TIMEOUT      the deadline passed; the problem says whether a command had
 * been sent E_NOT_FOUND    the BMC is not (or no more) known. E_LAPSED       the request's fence is
 * over, and what changes something was still to be sent */
typedef void (*bmc_done_fn)(void *context, int rc, const struct bmc_result *result,
			    const struct problem *problem);

/* Always calls `done` exactly once, unless cancelled. *ret_ticket (may be NULL) names it for
 * bmc_queue_cancel. -ENOMEM. */
MUST_USE int bmc_queue_submit(struct bmc_queue *queue, const struct bmc_ask *ask, bmc_done_fn done,
			      void *context, uint64_t *ret_ticket);
/* `done` will not be called any more. A call in flight is not recalled, but no further one is made
 * for this ticket. Unknown is fine. */
void bmc_queue_cancel(struct bmc_queue *queue, uint64_t ticket);

enum bmc_breaker_state { BMC_BREAKER_CLOSED, BMC_BREAKER_OPEN, BMC_BREAKER_HALF_OPEN };

/* The latest that is known of one BMC. Times: wall clock in us, 0 = never. */
struct bmc_observation {
	bool power_known, power_on;
	int64_t power_at_us;
	enum bmc_op power_by; /* the operation that read it */
	bool boot_known;
	struct bmc_boot boot;
	int64_t boot_at_us;
	int64_t answered_at_us; /* the last answer of any kind */
	int64_t problem_at_us;
	struct problem problem; /* the last failed call; cleared by the next good one */
	enum bmc_breaker_state breaker;
	int64_t retry_at_us; /* breaker open: when it will be probed */
	uint64_t version;    /* grows with each change; bmc_store.h writes what changed */
};

/* False when the BMC is not known. */
bool bmc_observation(const struct bmc_queue *queue, int64_t bmc_id, struct bmc_observation *ret);
/* Calls fn for each BMC whose observation is newer than `since` (0 = all) and returns the newest
 * version. */
typedef void (*bmc_observation_fn)(void *context, int64_t bmc_id,
				   const struct bmc_observation *observation);
uint64_t bmc_queue_each_changed(const struct bmc_queue *queue, uint64_t since,
				bmc_observation_fn fn, void *context);

/* For /metrics. */
struct bmc_queue_stats {
	uint64_t calls, failed_calls, retries, merged, refused_open;
	uint64_t thread_calls; /* of them those that held a thread */
	unsigned waiting, in_flight, breakers_open, bmcs;
	struct rmcp_client_stats rmcp; /* of the sessions of driver "ipmi" */
};
void bmc_queue_stats(const struct bmc_queue *queue, struct bmc_queue_stats *ret);
