#include "bampi/bmc/rmcp_session.h"

#include <assert.h>
#include <errno.h>
#include <freeipmi/freeipmi.h>
#include <sodium.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/bmc/ipmi_failure_table.h"
#include "bampi/bmc/ipmi_wire.h"

enum {
	PORT = 623,
	NETFN_APP = IPMI_NETFN_APP,
	GET_DEVICE_ID = 0x01,
	SET_SESSION_PRIVILEGE = 0x3b,
	CLOSE_SESSION = 0x3c,
};
enum { COMPLETION_DENIED = 0xd4 };

int rmcp_session_init(struct rmcp_session *session, const struct bmc_endpoint *endpoint,
		      uint8_t privilege, int64_t keep_ms, struct problem *problem)
{
	const struct ipmi_failure *row =
		ipmi_failure_find(IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE, true);

	*session = (struct rmcp_session){
		.port = endpoint->port ? endpoint->port : PORT,
		.login = {.suite_id = endpoint->cipher_suite,
			  .privilege = privilege,
			  .workarounds = endpoint->workarounds},
		.timeout_ms = endpoint->timeout_ms ? endpoint->timeout_ms : RMCP_TIMEOUT_MS,
		.again_ms = endpoint->retransmit_ms,
		.keep_ms = keep_ms,
	};
	(void)text_copy(session->node, sizeof(session->node), endpoint->node);
	(void)text_copy(session->address, sizeof(session->address), endpoint->address);
	(void)text_copy(session->login.username, sizeof(session->login.username),
			endpoint->username);
	(void)text_copy(session->login.password, sizeof(session->login.password),
			endpoint->password);
	if (rmcp_suite_find(endpoint->cipher_suite, &session->login.suite) == 0)
		return 0;
	problem_set(problem, row->code, "node %s: cipher suite %u cannot be used", endpoint->node,
		    (unsigned)endpoint->cipher_suite);
	problem_hint(problem, "%s", row->hint);
	return row->code;
}

void rmcp_session_done(struct rmcp_session *session)
{
	sodium_memzero(session, sizeof(*session));
}

/* --- packets out --- */

static bool in_setup(const struct rmcp_session *session)
{
	return session->state == RMCP_OPENING || session->state == RMCP_PROVING ||
	       session->state == RMCP_KEYING;
}

/* The message that serves this purpose. */
static struct rmcp_message message_of(const struct rmcp_session *session)
{
	struct rmcp_message message = {.netfn = NETFN_APP, .size = 1, .data = {GET_DEVICE_ID}};
	uint32_t id = session->exchange.bmc_id;
	uint8_t wanted = session->ask.privilege;

	switch (session->purpose) {
	case RMCP_FOR_ASK:
		message.netfn = session->ask.netfn;
		message.lun = session->ask.lun;
		message.size = session->ask.size;
		memcpy(message.data, session->ask.data, session->ask.size);
		break;
	case RMCP_FOR_PRIVILEGE:
		message.size = 2;
		message.data[0] = SET_SESSION_PRIVILEGE;
		message.data[1] = wanted;
		break;
	case RMCP_FOR_CLOSING:
		message.size = 5;
		message.data[0] = CLOSE_SESSION;
		for (unsigned i = 0; i < 4; i++)
			message.data[1 + i] = (uint8_t)(id >> (8 * i));
		break;
	case RMCP_FOR_PROOF:
	case RMCP_FOR_KEEPING:
	case RMCP_FOR_NOTHING: break;
	}
	return message;
}

static int rmcp_session_encode(struct rmcp_session *session, const struct rmcp_io *io,
			       uint8_t ret[RMCP_PACKET_MAX])
{
	const struct rmcp_login *login = &session->login;
	const struct rmcp_exchange *exchange = &session->exchange;
	struct rmcp_message message;
	int size = E_PROTOCOL;

	switch (session->state) {
	case RMCP_OPENING:
		return rmcp_open_encode(io->wire, login, session->tag, exchange->console_id, ret);
	case RMCP_PROVING: return rmcp_rakp1_encode(io->wire, login, session->tag, exchange, ret);
	case RMCP_KEYING: return rmcp_rakp3_encode(io->wire, login, session->tag, 0, exchange, ret);
	case RMCP_ACTIVE:
	case RMCP_CLOSING:
		message = message_of(session);
		/* Each packet has its own number, 0 is none; what is sent again is the same request
		 * [13.8, 6.12.13]. */
		if (++session->sequence == 0)
			session->sequence = 1;
		message.sequence = session->sequence;
		message.request = session->request;
		size = rmcp_message_encode(io->wire, login, exchange, &message, ret);
		sodium_memzero(&message, sizeof(message));
		break;
	case RMCP_CLOSED:
	case RMCP_STATE_COUNT: break;
	}
	return size;
}

static int64_t again_after_ms(const struct rmcp_session *session)
{
	bool ask = session->purpose == RMCP_FOR_ASK;
	uint32_t first_ms = session->again_ms;

	if (ask && session->ask.once)
		return INT64_MAX / 2;
	if (first_ms == 0)
		first_ms = ask && session->ask.changes ? RMCP_COMMAND_AGAIN_MS : RMCP_AGAIN_MS;
	return rmcp_again_ms(first_ms, session->sends);
}

struct fence *rmcp_session_fence(const struct rmcp_session *session)
{
	return session->purpose == RMCP_FOR_ASK ? session->ask.fence : NULL;
}

/* What cannot be encoded (no memory) counts as lost on the way. */
static void rmcp_session_transmit(struct rmcp_session *session, const struct rmcp_io *io)
{
	uint8_t packet[RMCP_PACKET_MAX];
	int size;

	if (!fence_holds(rmcp_session_fence(session))) {
		session->lapsed = true;
		session->again_at_ms = io->now_ms;
		return;
	}
	session->ask_sends += session->purpose == RMCP_FOR_ASK;
	size = rmcp_session_encode(session, io, packet);
	if (size > 0)
		io->send(io->context, packet, (size_t)size);
	session->sent++;
	session->resent += session->sends > 0;
	session->sends++;
	session->again_at_ms = io->now_ms + again_after_ms(session);
}

void rmcp_session_unsent(struct rmcp_session *session, int64_t now_ms)
{
	if (session->purpose != RMCP_FOR_ASK || session->sends == 0)
		return;
	session->sends--;
	session->sent--;
	session->ask_sends--;
	session->lapsed = true;
	session->again_at_ms = now_ms;
}

/* The one door to another state. */
static void rmcp_session_enter(struct rmcp_session *session, const struct rmcp_io *io,
			       enum rmcp_state state, enum rmcp_purpose purpose)
{
	session->state = state;
	session->purpose = purpose;
	session->sends = 0;
	if (in_setup(session))
		session->tag++;
	else if (purpose != RMCP_FOR_NOTHING)
		session->request = (session->request + 1) & 0x3f;
	if (in_setup(session) || purpose != RMCP_FOR_NOTHING)
		rmcp_session_transmit(session, io);
}

static void rmcp_session_drop(struct rmcp_session *session, const struct rmcp_io *io)
{
	sodium_memzero(&session->exchange, sizeof(session->exchange));
	session->privilege = 0;
	rmcp_session_enter(session, io, RMCP_CLOSED, RMCP_FOR_NOTHING);
}

/* Leaves without waiting: says goodbye once, as far as there is somebody to say it to. */
static void rmcp_session_leave(struct rmcp_session *session, const struct rmcp_io *io)
{
	uint8_t packet[RMCP_PACKET_MAX];
	int size;

	if (session->state == RMCP_PROVING || session->state == RMCP_KEYING) {
		size = rmcp_rakp3_encode(io->wire, &session->login, ++session->tag,
					 RMCPPLUS_STATUS_INVALID_INTEGRITY_CHECK_VALUE,
					 &session->exchange, packet);
		if (size > 0)
			io->send(io->context, packet, (size_t)size);
	} else if (session->state == RMCP_ACTIVE) {
		rmcp_session_enter(session, io, RMCP_CLOSING, RMCP_FOR_CLOSING);
	}
	rmcp_session_drop(session, io);
}

static void open_begin(struct rmcp_session *session, const struct rmcp_io *io)
{
	session->exchange = (struct rmcp_exchange){0};
	session->window = (struct rmcp_window){0};
	session->sequence = 0;
	session->repeated = false;
	session->fresh = true;
	session->setups++;
	while (session->exchange.console_id == 0)
		io->random(&session->exchange.console_id, sizeof(session->exchange.console_id));
	io->random(session->exchange.console_random, RMCP_RANDOM_SIZE);
	rmcp_session_enter(session, io, RMCP_OPENING, RMCP_FOR_NOTHING);
}

/* --- ends --- */

static const char *stage_text(const struct rmcp_session *session)
{
	static const char *const setup[RMCP_STATE_COUNT] = {
		[RMCP_OPENING] = "opening a session",
		[RMCP_PROVING] = "opening a session (RAKP 1)",
		[RMCP_KEYING] = "opening a session (RAKP 3)",
	};

	if (setup[session->state])
		return setup[session->state];
	return session->purpose == RMCP_FOR_PRIVILEGE ? "asking for the privilege"
						      : "asking in a session";
}

/* `theirs`: a row of ipmi_failure_table; `why` may be NULL. */
static void rmcp_session_fail(struct rmcp_session *session, int theirs, const char *why,
			      struct rmcp_outcome *ret)
{
	const struct ipmi_failure *row = ipmi_failure_find(theirs, in_setup(session));

	if (!session->asked)
		return;
	session->asked = false;
	ret->event = RMCP_FAILED;
	problem_set(&ret->problem, row->code, "node %s: the BMC %s", session->node, row->message);
	problem_detail(&ret->problem, "%s at %s port %u, user '%s', cipher suite %u%s%s",
		       stage_text(session), session->address, session->port,
		       session->login.username, session->login.suite_id, why ? ": " : "",
		       why ? why : "");
	if (row->hint)
		problem_hint(&ret->problem, "%s", row->hint);
}

/* The BMC forgot the session, or never knew it: another one. */
static void rmcp_session_open_again(struct rmcp_session *session, const struct rmcp_io *io,
				    const char *why, struct rmcp_outcome *ret)
{
	if (session->asked && session->setups < RMCP_SETUPS_MAX) {
		open_begin(session, io);
		return;
	}
	rmcp_session_fail(session, IPMI_ERR_SUCCESS, why, ret);
	rmcp_session_drop(session, io);
}

/* --- what is next --- */

static void rmcp_session_next(struct rmcp_session *session, const struct rmcp_io *io)
{
	if (!session->asked) {
		rmcp_session_enter(session, io, RMCP_ACTIVE, RMCP_FOR_NOTHING);
	} else if (session->ask.privilege > session->privilege) {
		rmcp_session_enter(session, io, RMCP_ACTIVE, RMCP_FOR_PRIVILEGE);
	} else if (session->ask.once && io->now_ms - session->heard_ms > RMCP_PROVEN_MS) {
		rmcp_session_enter(session, io, RMCP_ACTIVE, RMCP_FOR_PROOF);
	} else {
		rmcp_session_enter(session, io, RMCP_ACTIVE, RMCP_FOR_ASK);
	}
}

void rmcp_session_ask(struct rmcp_session *session, const struct rmcp_io *io,
		      const struct rmcp_ask *ask, int64_t deadline_ms)
{
	assert(!session->asked && ask->size > 0 && ask->size <= RMCP_DATA_MAX);
	session->asked = true;
	session->ask_sends = 0;
	session->lapsed = false;
	session->ask = *ask;
	session->deadline_ms = deadline_ms;
	session->silent_ms = io->now_ms;
	session->setups = 0;
	session->fresh = false;
	if (session->state == RMCP_CLOSED || session->state == RMCP_CLOSING)
		open_begin(session, io);
	else if (session->state == RMCP_ACTIVE && session->purpose != RMCP_FOR_KEEPING)
		rmcp_session_next(session, io);
}

void rmcp_session_forget(struct rmcp_session *session)
{
	session->asked = false;
	sodium_memzero(&session->ask, sizeof(session->ask));
	if (session->state == RMCP_ACTIVE)
		session->purpose = RMCP_FOR_NOTHING;
}

void rmcp_session_end(struct rmcp_session *session, const struct rmcp_io *io)
{
	if (session->state == RMCP_CLOSED || session->state == RMCP_CLOSING)
		return;
	session->asked = false;
	if (session->state == RMCP_ACTIVE)
		rmcp_session_enter(session, io, RMCP_CLOSING, RMCP_FOR_CLOSING);
	else
		rmcp_session_leave(session, io);
}

/* --- packets in --- */

static void rmcp_session_refused(struct rmcp_session *session, const struct rmcp_io *io,
				 uint8_t status, struct rmcp_outcome *ret)
{
	const struct rmcp_status *row = rmcp_status_find(status);

	/* A BMC that takes a repeated packet for a new one answers with new numbers, and refuses
	 * what follows from the old ones. */
	if (row->stale || session->repeated) {
		rmcp_session_open_again(session, io, row->text, ret);
		return;
	}
	rmcp_session_fail(session, row->theirs, row->text, ret);
	rmcp_session_drop(session, io);
}

static void setup_heard(struct rmcp_session *session, const struct rmcp_io *io)
{
	session->silent_ms = io->now_ms;
	session->heard_ms = io->now_ms;
}

static void heard_open(struct rmcp_session *session, const struct rmcp_io *io, const void *data,
		       size_t size, struct rmcp_outcome *ret)
{
	const struct rmcp_suite *suite = &session->login.suite;
	struct rmcp_open_answer answer;

	if (rmcp_open_decode(io->wire, data, size, &answer) || answer.tag != session->tag) {
		session->late++;
		return;
	}
	setup_heard(session, io);
	if (answer.status) {
		rmcp_session_refused(session, io, answer.status, ret);
	} else if (answer.suite.authentication != suite->authentication ||
		   answer.suite.integrity != suite->integrity ||
		   answer.suite.confidentiality != suite->confidentiality) {
		rmcp_session_fail(session, IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE,
				  "it chose other algorithms", ret);
		rmcp_session_drop(session, io);
	} else {
		session->exchange.bmc_id = answer.bmc_id;
		rmcp_session_enter(session, io, RMCP_PROVING, RMCP_FOR_NOTHING);
	}
}

/* Does the answer, which was read with `rc`, let the set-up go on? */
static bool rmcp_session_agreed(struct rmcp_session *session, const struct rmcp_io *io, int rc,
				const struct rmcp_rakp_answer *answer, struct rmcp_outcome *ret)
{
	if (rc || answer->tag != session->tag) {
		session->late++;
		return false;
	}
	setup_heard(session, io);
	if (answer->status)
		rmcp_session_refused(session, io, answer->status, ret);
	return answer->status == 0;
}

static void heard_rakp2(struct rmcp_session *session, const struct rmcp_io *io, const void *data,
			size_t size, struct rmcp_outcome *ret)
{
	struct rmcp_exchange *exchange = &session->exchange;
	struct rmcp_rakp_answer answer;
	int rc = rmcp_rakp2_decode(io->wire, &session->login, exchange, data, size, &answer);

	if (!rmcp_session_agreed(session, io, rc, &answer, ret))
		return;
	if (!answer.genuine) {
		rmcp_session_fail(session, IPMI_ERR_PASSWORD_INVALID,
				  "its proof of the password does not match", ret);
		rmcp_session_leave(session, io);
		return;
	}
	memcpy(exchange->bmc_random, answer.bmc_random, RMCP_RANDOM_SIZE);
	memcpy(exchange->guid, answer.guid, RMCP_GUID_SIZE);
	if (rmcp_keys_make(&session->login, exchange)) {
		rmcp_session_fail(session, IPMI_ERR_OUT_OF_MEMORY, NULL, ret);
		rmcp_session_leave(session, io);
		return;
	}
	rmcp_session_enter(session, io, RMCP_KEYING, RMCP_FOR_NOTHING);
}

static void heard_rakp4(struct rmcp_session *session, const struct rmcp_io *io, const void *data,
			size_t size, struct rmcp_outcome *ret)
{
	struct rmcp_rakp_answer answer;
	int rc = rmcp_rakp4_decode(io->wire, &session->login, &session->exchange, data, size,
				   &answer);

	if (!rmcp_session_agreed(session, io, rc, &answer, ret))
		return;
	if (!answer.genuine) {
		rmcp_session_fail(session, IPMI_ERR_K_G_INVALID, "its keys do not match", ret);
		rmcp_session_drop(session, io);
	} else {
		/* A session begins as a user's, or below [22.18]. */
		session->privilege = session->login.privilege < IPMI_PRIVILEGE_LEVEL_USER
					     ? session->login.privilege
					     : IPMI_PRIVILEGE_LEVEL_USER;
		session->opened++;
		session->used_ms = io->now_ms;
		rmcp_session_next(session, io);
	}
}

static void heard_privilege(struct rmcp_session *session, const struct rmcp_io *io,
			    uint8_t completion, struct rmcp_outcome *ret)
{
	const char *text = NULL;
	int rc = ipmi_completion_error(completion, &text);

	if (rc == 0) {
		session->privilege = session->ask.privilege;
		rmcp_session_next(session, io);
		return;
	}
	rmcp_session_fail(session,
			  rc == -EBUSY ? IPMI_ERR_BMC_BUSY : IPMI_ERR_PRIVILEGE_LEVEL_INSUFFICIENT,
			  text, ret);
	rmcp_session_next(session, io);
}

static void heard_answer(struct rmcp_session *session, const struct rmcp_io *io,
			 const struct rmcp_message *message, struct rmcp_outcome *ret)
{
	if (message->data[1] == COMPLETION_DENIED &&
	    session->privilege < session->login.privilege) {
		session->ask.privilege = session->login.privilege;
		rmcp_session_next(session, io);
		return;
	}
	session->asked = false;
	session->used_ms = io->now_ms;
	sodium_memzero(&session->ask, sizeof(session->ask));
	rmcp_session_enter(session, io, RMCP_ACTIVE, RMCP_FOR_NOTHING);
	ret->event = RMCP_ANSWERED;
	ret->answer = *message;
}

static void heard_message(struct rmcp_session *session, const struct rmcp_io *io, const void *data,
			  size_t size, struct rmcp_outcome *ret)
{
	struct rmcp_message wanted = message_of(session);
	struct rmcp_message message;
	int rc = rmcp_message_decode(io->wire, &session->login, &session->exchange, data, size,
				     &message);

	session->forged += rc == E_DENIED;
	session->late += rc == E_PROTOCOL;
	if (rc)
		return;
	if ((session->login.suite.integrity != IPMI_INTEGRITY_ALGORITHM_NONE &&
	     !rmcp_window_take(&session->window, message.sequence)) ||
	    session->purpose == RMCP_FOR_NOTHING || message.request != session->request ||
	    message.netfn != wanted.netfn + 1 || message.data[0] != wanted.data[0]) {
		session->late++;
		return;
	}
	setup_heard(session, io);
	session->fresh = true;
	switch (session->purpose) {
	case RMCP_FOR_ASK: heard_answer(session, io, &message, ret); break;
	case RMCP_FOR_PRIVILEGE: heard_privilege(session, io, message.data[1], ret); break;
	case RMCP_FOR_PROOF:
	case RMCP_FOR_KEEPING: rmcp_session_next(session, io); break;
	case RMCP_FOR_CLOSING: rmcp_session_drop(session, io); break;
	case RMCP_FOR_NOTHING: break;
	}
}

void rmcp_session_heard(struct rmcp_session *session, const struct rmcp_io *io, const void *data,
			size_t size, struct rmcp_outcome *ret)
{
	enum rmcp_kind kind;
	uint32_t console_id;

	ret->event = RMCP_NOTHING;
	if (rmcp_peek(data, size, &kind, &console_id) ||
	    (console_id != 0 && console_id != session->exchange.console_id)) {
		session->late++;
		return;
	}
	if (kind == RMCP_OPEN && session->state == RMCP_OPENING)
		heard_open(session, io, data, size, ret);
	else if (kind == RMCP_RAKP2 && session->state == RMCP_PROVING)
		heard_rakp2(session, io, data, size, ret);
	else if (kind == RMCP_RAKP4 && session->state == RMCP_KEYING)
		heard_rakp4(session, io, data, size, ret);
	else if (kind == RMCP_MESSAGE &&
		 (session->state == RMCP_ACTIVE || session->state == RMCP_CLOSING))
		heard_message(session, io, data, size, ret);
	else
		session->late++;
}

/* --- time --- */

static int64_t give_up_ms(const struct rmcp_session *session)
{
	int64_t silence_ms = session->silent_ms + session->timeout_ms;

	return silence_ms < session->deadline_ms ? silence_ms : session->deadline_ms;
}

static bool is_idle(const struct rmcp_session *session)
{
	return session->state == RMCP_ACTIVE && session->purpose == RMCP_FOR_NOTHING;
}

int64_t rmcp_session_due_ms(const struct rmcp_session *session)
{
	int64_t due_ms = session->again_at_ms;

	if (session->state == RMCP_CLOSED)
		return INT64_MAX;
	if (is_idle(session)) {
		int64_t end_ms = session->used_ms + session->keep_ms;
		int64_t keep_ms = session->heard_ms + RMCP_KEEP_ALIVE_MS;

		return end_ms < keep_ms ? end_ms : keep_ms;
	}
	if (session->asked && give_up_ms(session) < due_ms)
		due_ms = give_up_ms(session);
	return due_ms;
}

static void rmcp_session_lapse(struct rmcp_session *session, struct rmcp_outcome *ret)
{
	session->asked = false;
	session->lapsed = false;
	ret->event = RMCP_FAILED;
	(void)bmc_lapsed(session->node, session->ask.op, session->ask_sends > 0, &ret->problem);
}

static void given_up(struct rmcp_session *session, const struct rmcp_io *io,
		     struct rmcp_outcome *ret)
{
	int theirs = session->state == RMCP_OPENING ? IPMI_ERR_CONNECTION_TIMEOUT
						    : IPMI_ERR_SESSION_TIMEOUT;

	if (session->ask_sends > 0)
		theirs = IPMI_ERR_MESSAGE_TIMEOUT;
	/* We were stopped for long: how silent the BMC was is not known. */
	if (session->asked && !fence_holds(session->ask.fence))
		rmcp_session_lapse(session, ret);
	else
		rmcp_session_fail(session, theirs, NULL, ret);
	rmcp_session_leave(session, io);
}

/* The session stays; the answer to what was sent before is not waited for. */
static void rmcp_session_stay(struct rmcp_session *session, const struct rmcp_io *io)
{
	sodium_memzero(&session->ask, sizeof(session->ask));
	session->used_ms = io->now_ms;
	rmcp_session_enter(session, io, RMCP_ACTIVE, RMCP_FOR_NOTHING);
}

static void rmcp_session_again(struct rmcp_session *session, const struct rmcp_io *io,
			       struct rmcp_outcome *ret)
{
	bool lost = session->sends >= 2 && !session->fresh;

	if (session->state == RMCP_ACTIVE && session->asked && lost) {
		/* It lived when it was used last: a BMC that started anew, or ended it. */
		session->lost++;
		rmcp_session_leave(session, io);
		rmcp_session_open_again(session, io, "it lost the session", ret);
	} else if (!session->asked && session->sends >= 2) {
		session->lost += session->purpose == RMCP_FOR_KEEPING;
		rmcp_session_drop(session, io);
	} else {
		session->repeated |= in_setup(session);
		rmcp_session_transmit(session, io);
	}
}

void rmcp_session_due(struct rmcp_session *session, const struct rmcp_io *io,
		      struct rmcp_outcome *ret)
{
	ret->event = RMCP_NOTHING;
	if (io->now_ms < rmcp_session_due_ms(session))
		return;
	if (session->asked && session->lapsed) {
		rmcp_session_lapse(session, ret);
		rmcp_session_stay(session, io);
	} else if (session->asked && io->now_ms >= give_up_ms(session)) {
		given_up(session, io, ret);
	} else if (!is_idle(session)) {
		rmcp_session_again(session, io, ret);
	} else if (io->now_ms >= session->used_ms + session->keep_ms) {
		rmcp_session_end(session, io);
	} else {
		rmcp_session_enter(session, io, RMCP_ACTIVE, RMCP_FOR_KEEPING);
	}
}
