/* A NETCONF session with one switch: opens the SSH subsystem, exchanges hellos, and then runs one
 * operation at a time. The session stays for the next call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/fence.h"
#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/netconf/netconf_xml_wire.h"
#include "peregrine/switch/stream/switch_stream.h"

struct netconf_session;

/* What an operation must be answered with; anything else is an error. */
enum netconf_expect { NETCONF_EXPECT_OK, NETCONF_EXPECT_DATA, NETCONF_EXPECT_ANY };

/* How an operation ended; all is borrowed for the call of the callback. rc: 0; -EBUSY, E_DENIED,
 * E_UNSUPPORTED, E_CONFLICT: the switch said no (`refused`), by its <rpc-error>; E_UNAVAILABLE no
 * connection, or it was lost; E_AUTHENTICATION; E_TIMEOUT; E_LIMIT; E_PROTOCOL. After an error that
 * is not the switch's no, the session is closed, and the next operation opens another. */
struct netconf_answer {
	int rc;
	const struct problem *problem; /* with rc != 0 */
	bool refused;
	bool sent;           /* the operation may have reached the switch */
	const xmlNode *data; /* <data>, with NETCONF_EXPECT_DATA */
};
typedef void (*netconf_answer_fn)(void *context, const struct netconf_answer *answer);

/* `what` is a word for problems, constant. */
struct netconf_ask {
	const char *what;
	enum netconf_expect expect;
	int64_t deadline_ms; /* clock_monotonic_ms */
	uint32_t silence_ms;
	struct fence *fence; /* not sent after its end: E_LAPSED. NULL = always. Borrowed */
};

/* `endpoint` is borrowed. `needs`: the namespace that must be among the models that a hello names,
 * if it names any; NULL: any. `title`: what to call it. */
MUST_USE int netconf_session_new(struct loop *loop, const struct switch_stream_row *row,
				 const struct switch_endpoint *endpoint, const char *needs,
				 struct netconf_session **ret);
/* Ends the session; no callback comes after. NULL is fine. */
void netconf_session_free(struct netconf_session *session);

/* Runs one operation, the XML within <rpc>, which is copied; never two at once. `fn` is called from
 * the loop, never from inside. */
void netconf_session_run(struct netconf_session *session, const struct netconf_ask *ask,
			 const char *operation, netconf_answer_fn fn, void *context);
/* Forgets the operation and ends the session: what the switch does with it is not known, its locks
 * are gone. */
void netconf_session_break(struct netconf_session *session);
bool netconf_session_is_open(const struct netconf_session *session);
/* Bits of enum netconf_capability; 0 before the first operation. */
unsigned netconf_session_capabilities(const struct netconf_session *session);
/* Operations sent so far. */
uint32_t netconf_session_requests(const struct netconf_session *session);
