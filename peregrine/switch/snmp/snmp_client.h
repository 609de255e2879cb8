/* SNMP v2c and v3 (RFC 3416, 3412, 3414, 3826) over Net-SNMP's single-session calls, on the loop
 * and never blocking. Each switch has one socket, and at most `window` requests under way, each
 * with a time-out and retries of ours. Net-SNMP reads no files, writes none and logs nothing. Its
 * users and engine times are process-wide, so a program makes one client.
 *
 * A request of our own asks for the engine id of a v3 agent (RFC 3414 section 4; Net-SNMP's own
 * probe blocks). The id is remembered per address, and asked for again when the agent says that it
 * is another now. Boots and time follow from the agent's authentic reports. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/fence.h"
#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/snmp/snmp_oid.h"
#include "peregrine/switch/switch_driver.h"

struct loop;
struct snmp_client;
struct snmp_peer;

MUST_USE int snmp_client_new(struct loop *loop, struct snmp_client **ret);
/* After the last session; NULL is fine. */
void snmp_client_free(struct snmp_client *client);

enum snmp_type {
	SNMP_NULL,
	SNMP_INTEGER,
	SNMP_OCTETS,
	SNMP_OBJECT_ID,
	SNMP_COUNTER32,
	SNMP_GAUGE32, /* and Unsigned32 */
	SNMP_TICKS,
	SNMP_COUNTER64,
	SNMP_NO_OBJECT, /* noSuchObject, noSuchInstance: the agent has no such thing */
	SNMP_END_OF_VIEW,
	SNMP_OTHER /* IpAddress and what is rarer: bytes */
};

/* Octets and object ids are borrowed, from the answer or the caller. */
struct snmp_value {
	enum snmp_type type;
	int64_t number;
	const uint8_t *bytes;
	size_t size;
	const struct snmp_oid *object; /* SNMP_OBJECT_ID */
};

struct snmp_binding {
	struct snmp_oid name;
	struct snmp_value value; /* SNMP_NULL to ask */
};

/* The statuses that callers tell apart (RFC 3416 section 3). */
enum snmp_status {
	SNMP_STATUS_OK = 0,
	SNMP_STATUS_TOO_BIG = 1,
	SNMP_STATUS_NO_SUCH_NAME = 2,
	SNMP_STATUS_GENERAL = 5,
	SNMP_STATUS_WRONG_TYPE = 7,
	SNMP_STATUS_LAST = 18
};

/* "noAccess"; "?" for a number that the RFC does not have. */
const char *snmp_status_text(int status);
/* The contract's code of a status other than 0: E_DENIED, E_CONFLICT, E_UNSUPPORTED, -EBUSY,
 * E_PROTOCOL. */
int snmp_status_code(int status);

enum snmp_kind { SNMP_GET, SNMP_GETNEXT, SNMP_GETBULK, SNMP_SET };

struct snmp_ask {
	enum snmp_kind kind;
	const struct snmp_binding *bindings; /* borrowed for the call of snmp_peer_ask */
	size_t count;                        /* 1..SNMP_BINDING_LIMIT */
	uint16_t repetitions; /* SNMP_GETBULK; halved with each message after the second */
	uint16_t vlan;        /* community@vlan, context vlan-N; 0 = none */
	uint32_t timeout_ms;  /* 0 = the session's */
	uint8_t tries;        /* 0 = the session's */
	bool once;            /* not sent a second time: a SET that cannot be repeated */
	struct fence *fence;  /* of a SET: not sent after its end. NULL = always. Kept */
};

enum { SNMP_BINDING_LIMIT = 128, SNMP_WALK_COLUMNS = 12 };

/* Borrowed for the call of the function. */
struct snmp_answer {
	int rc;       /* 0, E_TIMEOUT, E_AUTHENTICATION, E_PROTOCOL, E_LIMIT (we could not send it),
		   E_LAPSED (its fence is over) */
	int status;   /* rc 0: error-status */
	size_t index; /* the binding that it is about, from 1; 0 = none */
	size_t count; /* bindings in it */
	unsigned tries,
		sends; /* time-outs and one; messages, overdue ones that were sent again included */
	const void *at; /* of snmp_answer_next */
	struct snmp_oid object;
};

/* The next binding, in the answer's order; false at the end. */
bool snmp_answer_next(struct snmp_answer *answer, struct snmp_binding *ret);

/* Never from inside snmp_peer_ask. */
typedef void (*snmp_answer_fn)(void *context, struct snmp_answer *answer);

/* No I/O to the agent yet. -EINVAL with a problem: no community and no user, a secret shorter than
 * RFC 3414's eight characters, an address that is not one. */
MUST_USE int snmp_peer_new(struct snmp_client *client, const struct switch_endpoint *endpoint,
			   uint32_t timeout_ms, struct snmp_peer **ret, struct problem *problem);
/* Forgets what is under way. May be called from inside an answer. NULL is fine. */
void snmp_peer_free(struct snmp_peer *peer);
/* Queues; `fn` is called once, unless forgotten. -ENOMEM, -EINVAL (count, an object id that cannot
 * be sent). */
MUST_USE int snmp_peer_ask(struct snmp_peer *peer, const struct snmp_ask *ask, snmp_answer_fn fn,
			   void *context);
/* All asks with this context: `fn` is not called any more, what waits is not sent. */
void snmp_peer_forget(struct snmp_peer *peer, const void *context);
/* The name of another switch that answers with the same SNMPv3 engine id, as far as both answered
 * last; "" = none. One's configuration is a copy of the other's. Borrowed until that one is freed.
 */
const char *snmp_peer_twin(const struct snmp_peer *peer);
/* SNMPv1 instead of v2c, said before anything is asked: for GET alone. */
void snmp_peer_speak_v1(struct snmp_peer *peer);
/* Has it ever answered? */
bool snmp_peer_has_answered(const struct snmp_peer *peer);
/* Messages that were needed so far, retries and engine probes included: not those that were sent
 * early for an answer that came after all. */
uint32_t snmp_peer_requests(const struct snmp_peer *peer);
/* GETBULK rows that this agent is asked for at once; it learns. */
uint16_t snmp_peer_repetitions(const struct snmp_peer *peer);
void snmp_peer_repetitions_good(struct snmp_peer *peer);
void snmp_peer_repetitions_bad(struct snmp_peer *peer);
/* Is this agent asked by GETNEXT, as it refused GETBULK? It learns. */
bool snmp_peer_bulk_refused(const struct snmp_peer *peer);
void snmp_peer_bulk_taken(struct snmp_peer *peer);
/* GETBULK was refused, and the same by GETNEXT was not. */
void snmp_peer_bulk_bad(struct snmp_peer *peer);
/* Values that this agent is asked for in one GET; it learns. */
size_t snmp_peer_bindings(const struct snmp_peer *peer);
/* An answer to `asked` of them was too big. */
void snmp_peer_bindings_bad(struct snmp_peer *peer, size_t asked);
