/* One RMCP+ session to one BMC as a state machine: packets and times in, packets and outcomes out.
 * No socket, no clock, no chance of its own, so every loss and every refusal can be tested.
 *
 * One exchange (a request, its answer) at a time. The session is opened when one is asked for, and
 * kept alive between them. It is opened anew when the BMC has lost it, and closed at the BMC when
 * it is not needed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/fence.h"
#include "common/base/macros.h"
#include "common/base/problem.h"

#include "bampi/bmc/bmc_driver.h"
#include "bampi/bmc/rmcp_policy.h"
#include "bampi/bmc/rmcp_wire.h"

/* What the machine needs from outside, for one call of it. */
struct rmcp_io {
	struct rmcp_wire *wire;
	int64_t now_ms;
	void (*send)(void *context, const void *data, size_t size);
	void (*random)(void *ret, size_t size);
	void *context;
};

enum rmcp_state {
	RMCP_CLOSED,
	RMCP_OPENING, /* Open Session was sent */
	RMCP_PROVING, /* RAKP 1 was sent */
	RMCP_KEYING,  /* RAKP 3 was sent */
	RMCP_ACTIVE,
	RMCP_CLOSING, /* Close Session was sent */
	RMCP_STATE_COUNT
};

/* What a message under way is for. */
enum rmcp_purpose {
	RMCP_FOR_NOTHING,
	RMCP_FOR_ASK,
	RMCP_FOR_PRIVILEGE, /* to be allowed to ask */
	RMCP_FOR_PROOF,     /* that the session lives, before what must not be sent twice */
	RMCP_FOR_KEEPING,   /* so that the BMC does not end it */
	RMCP_FOR_CLOSING
};

struct rmcp_ask {
	enum bmc_op op; /* for what is told of it */
	uint8_t netfn, lun;
	uint8_t privilege;           /* that the command needs [appendix G] */
	bool changes;                /* sent again slowly only */
	bool once;                   /* not sent again at all */
	struct fence *fence;         /* not sent after its end; NULL = always. Borrowed */
	uint16_t size;               /* of data */
	uint8_t data[RMCP_DATA_MAX]; /* command first */
};

struct rmcp_session {
	/* settings */
	char node[64];
	char address[64];
	unsigned port;
	struct rmcp_login login;
	uint32_t timeout_ms, again_ms; /* again_ms 0: as rmcp_policy.h has them */
	int64_t keep_ms; /* an unused session is closed after so long; 0 = after each exchange */

	/* the session */
	enum rmcp_state state;
	struct rmcp_exchange exchange;
	struct rmcp_window window;
	uint32_t sequence; /* of what was sent last */
	uint8_t request;   /* its number */
	uint8_t tag;       /* the same in set-up */
	uint8_t privilege; /* as it is now */
	bool fresh;        /* something was heard in it since the ask began */
	int64_t heard_ms, used_ms;

	/* the packet under way */
	enum rmcp_purpose purpose;
	unsigned sends;
	int64_t again_at_ms;

	/* the exchange asked for */
	bool asked;
	unsigned ask_sends; /* > 0: the BMC may have executed it */
	bool lapsed;        /* it was to be sent after the end of its fence */
	struct rmcp_ask ask;
	int64_t deadline_ms;
	int64_t silent_ms; /* since then nothing was heard */
	unsigned setups;
	bool repeated; /* a packet of this set-up was sent more than once */

	/* for /metrics and tests */
	uint64_t sent, resent, opened, lost, forged, late;
};

enum rmcp_event { RMCP_NOTHING, RMCP_ANSWERED, RMCP_FAILED };

struct rmcp_outcome {
	enum rmcp_event event;
	struct rmcp_message answer; /* RMCP_ANSWERED: any completion code */
	struct problem problem;     /* RMCP_FAILED: codes of bmc_driver.h */
};

/* E_UNSUPPORTED with a problem: the cipher suite. */
MUST_USE int rmcp_session_init(struct rmcp_session *session, const struct bmc_endpoint *endpoint,
			       uint8_t privilege, int64_t keep_ms, struct problem *problem);
/* Wipes keys and password. */
void rmcp_session_done(struct rmcp_session *session);

/* Not while another one is under way. The outcome comes by heard() or due(), before `deadline_ms`.
 */
void rmcp_session_ask(struct rmcp_session *session, const struct rmcp_io *io,
		      const struct rmcp_ask *ask, int64_t deadline_ms);
/* Forgets the exchange under way. */
void rmcp_session_forget(struct rmcp_session *session);
/* A packet that came from the BMC's address. */
void rmcp_session_heard(struct rmcp_session *session, const struct rmcp_io *io, const void *data,
			size_t size, struct rmcp_outcome *ret);
/* To be called at rmcp_session_due_ms (INT64_MAX: not at all); too early is harmless. */
int64_t rmcp_session_due_ms(const struct rmcp_session *session);
void rmcp_session_due(struct rmcp_session *session, const struct rmcp_io *io,
		      struct rmcp_outcome *ret);
/* Of the packet under way; NULL: it may always be sent. */
struct fence *rmcp_session_fence(const struct rmcp_session *session);
/* The packet given to `send` last was not sent after all: its fence was over by then. To be followed
 * by rmcp_session_due(). */
void rmcp_session_unsent(struct rmcp_session *session, int64_t now_ms);
/* Begins to close; done when the state is RMCP_CLOSED, some seconds later at most. */
void rmcp_session_end(struct rmcp_session *session, const struct rmcp_io *io);
