/* Every call to a switch goes through here, on the loop:
 *
 *   - One queue of waiting calls per switch. No switch waits for another.
 *   - At most one call in flight per switch: a change reads a PortList and writes it back, and a
 *     reading beside it would see half of the change.
 *   - A deadline per call.
 *   - A breaker per transport: reading by SNMP may work while the SSH password is wrong.
 *   - A regular poll gives way to a change.
 *
 * Single-threaded like the loop. Callbacks come from the loop, never from inside the call that
 * asked. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/call_queue.h"

#include "peregrine/switch/switch_driver.h"
#include "peregrine/switch/switch_family_table.h"

struct switch_queue;

/* Where drivers and families are looked up; unit tests have their own. */
struct switch_catalog {
	const struct switch_driver *(*find_driver)(const char *name);
	const struct switch_family *(*find_family)(const char *name);
	/* Never NULL; ("", "") gives the family that asks only what all have. */
	const struct switch_family *(*detect_family)(const char *object_id, const char *text);
};

struct switch_queue_options {
	struct switch_host host;       /* copied; what it points to outlives the queue */
	struct switch_catalog catalog; /* copied */
	unsigned failing_calls; /* at once at switches whose last call failed; 0 = 16. So the dead
				   do not hold all threads of drivers that block */
};

MUST_USE int switch_queue_new(const struct switch_queue_options *options,
			      struct switch_queue **ret);
/* Calls that wait or are in flight are answered with E_UNAVAILABLE (edits: EDIT_UNKNOWN). NULL is
 * fine. */
void switch_queue_free(struct switch_queue *queue);

/* Adds a switch, or replaces the endpoint of endpoint->id (copied). A changed address, credential
 * or family ends the sessions and closes the breakers. A reading in flight begins anew. A change in
 * flight is answered E_TIMEOUT with its edits unknown. An unchanged endpoint is a no-op. -EINVAL:
 * no such family. */
MUST_USE int switch_queue_put(struct switch_queue *queue, const struct switch_endpoint *endpoint,
			      struct problem *problem);
/* Calls are answered with E_NOT_FOUND. Unknown ids are fine. */
void switch_queue_remove(struct switch_queue *queue, int64_t switch_id);

struct switch_ask {
	int64_t switch_id;
	/* Copied with all it points to; `results` is not looked at: they come with the answer. */
	const struct switch_request *request;
	enum call_priority priority; /* a look of CALL_POLL is broken off for the others */
	bool person; /* one try is let through although the password was refused before */
	bool now;    /* a person waits for this very call: a switch that was silent is asked all the
		     same, before its back-off ends. Refused credentials are not tried more often where
		     that locks an account (switch_driver.locks_out) */
	uint32_t deadline_ms; /* from now, waiting included; 0 = 60 s; a change: the family's */
};

/* How a call ended; borrowed for the call of the callback. */
struct switch_answer {
	/* 0, what the driver says (switch_driver.h), or of the queue itself:
	 * E_UNAVAILABLE  left alone for a while: the problem says since when, why, until when; or
	 *                to be set, and its family is not known yet
	 * E_DENIED       to be set, and switch_queue_lacks() holds; nothing was sent
	 * E_TIMEOUT      the deadline passed; see the results whether a change had been sent
	 * E_NOT_FOUND    the switch is not (or no more) known
	 * E_LAPSED       the request's fence was over before all of it was sent */
	int rc;
	const struct problem *problem;  /* rc != 0 */
	struct switch_reading *reading; /* of a good SWITCH_READ, _SAMPLING or _HEALTH; its contents
					   may be moved out */
	const enum edit_result *results; /* of a SWITCH_CHANGE or SWITCH_MIRROR: edit_count of them,
					    always */
	size_t edit_count;
	uint32_t waited_ms, took_ms;
};
typedef void (*switch_done_fn)(void *context, const struct switch_answer *answer);

/* Always calls `done` exactly once, unless cancelled. *ret_ticket may be NULL. -ENOMEM. */
MUST_USE int switch_queue_submit(struct switch_queue *queue, const struct switch_ask *ask,
				 switch_done_fn done, void *context, uint64_t *ret_ticket);
/* `done` will not be called any more. A reading under way is broken off, a change goes on unheard.
 * Unknown is fine. */
void switch_queue_cancel(struct switch_queue *queue, uint64_t ticket);

/* What is known of the way to one switch. Times: clock_monotonic_ms as the loop has it, 0 = never.
 */
struct switch_state {
	const struct switch_family *family; /* in use: the row that was named, or found */
	bool open;                          /* it is left alone: reading by its breaker */
	bool refused;                       /* because of the credentials */
	bool may_refuse; /* in some way, perhaps another than reading; or it is silent where that may
			    be a refusal (switch_driver.refuses_mutely) */
	int64_t since_ms; /* of the first failure in the row */
	int64_t retry_ms; /* open: then it is tried again */
	int64_t answered_ms;
	bool busy; /* a call is under way */
	unsigned waiting;
	struct problem problem; /* of the last failed call; cleared by a good one */
};
/* False when the switch is not known. */
bool switch_queue_state(const struct switch_queue *queue, int64_t switch_id,
			struct switch_state *ret);

/* Each switch, in no order; the queue must not be changed meanwhile. */
typedef void (*switch_state_fn)(void *context, int64_t switch_id, const struct switch_state *state);
void switch_queue_each(const struct switch_queue *queue, switch_state_fn fn, void *context);

/* Why a switch that answers is read and not set. The hint is the command that changes this. False
 * while nothing is lacking, or the family is not known yet. */
bool switch_queue_lacks(const struct switch_queue *queue, int64_t switch_id, struct problem *ret);

/* switch_driver.lag_name of the way by which the switch is changed; false also while the switch is
 * not known. */
bool switch_queue_lag_name(const struct switch_queue *queue, int64_t switch_id, unsigned number,
			   char ret[64]);

/* For /metrics. */
struct switch_queue_stats {
	uint64_t calls, failed_calls, preempted, refused_open, expired;
	uint64_t switches, waiting, in_flight, breakers_open;
};
void switch_queue_stats(const struct switch_queue *queue, struct switch_queue_stats *ret);
