/* The call that a session with a switch has under way. The session of each transport begins with
 * it: its endpoint, the request, its deadline, and the one way in which the call ends. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/switch_driver.h"

struct loop;
struct loop_timer;

/* A transport's part. `session` is the structure that begins with the call. */
struct switch_call_row {
	/* Frees the memory and stops the work of the call under way. */
	void (*forget)(void *session);
	/* The deadline has passed. NULL: the transport keeps the deadline itself. */
	void (*late)(void *session);
};

struct switch_call {
	const struct switch_call_row *row;
	struct switch_endpoint endpoint;
	const struct switch_family *family;
	struct loop_timer *timer;

	/* The call under way; `fn` NULL: none. */
	const struct switch_request *request;
	switch_call_fn fn;
	void *context;
	int64_t deadline_ms;      /* clock_monotonic_ms */
	struct problem early;     /* known at the start, told in the next turn of the loop */
	uint32_t requests_before; /* that the session had sent when the call began */
	bool again; /* the session is of an earlier call and may be dead: one more try is left */
};

/* Fills the call of a new session. -ENOMEM with a problem. */
MUST_USE int switch_call_open(struct switch_call *call, const struct switch_call_row *row,
			      struct loop *loop, const struct switch_endpoint *endpoint,
			      const struct switch_family *family, struct problem *problem);
/* Forgets the call under way, wipes the endpoint's secrets. Of a session that was not opened:
 * nothing. */
void switch_call_close(struct switch_call *call);

/* Around a transport's start of a call: takes the request, whose edits and mirrors are not tried
 * yet, then says what became of the start. `rc`
 * with call->early set is told like an answer, in the next turn. -ENOMEM ends the call at once. Any
 * other rc is -EAGAIN. */
void switch_call_begin(struct switch_call *call, const struct switch_request *request,
		       int64_t deadline_ms, switch_call_fn fn, void *context);
MUST_USE int switch_call_begun(struct switch_call *call, int rc);
/* Ends the call with rc 0 in the next turn: there is nothing to do. */
void switch_call_end_soon(struct switch_call *call);
/* Ends the call. `reading` may be NULL. The callee may start the next call or close the session. */
void switch_call_end(struct switch_call *call, int rc, struct switch_reading *reading,
		     const struct problem *problem);
/* Ends the call without telling anybody. False: there was none. */
bool switch_call_forget(struct switch_call *call);
/* May a request that only reads be sent again after `rc`? Once per call: the session of an earlier
 * call was dead. */
bool switch_call_may_repeat(struct switch_call *call, int rc);
/* The time that the switch has for one answer: its own, else its family's. */
uint32_t switch_call_timeout_ms(const struct switch_call *call);
