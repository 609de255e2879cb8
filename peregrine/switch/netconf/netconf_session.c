#include "peregrine/switch/netconf/netconf_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/netconf/netconf_wire.h"

LEAKS_LEFT_TO_SANITIZER

/* HELLO_MS: some start a process for each session. */
enum { HELLO_MS = 30000 };

enum netconf_session_stage {
	NETCONF_SESSION_STAGE_CLOSED,
	NETCONF_SESSION_STAGE_OPENING,
	NETCONF_SESSION_STAGE_GREETING,
	NETCONF_SESSION_STAGE_READY,
	STAGE_RUNNING
};

struct netconf_session {
	struct loop *loop;
	const struct switch_stream_row *row;
	const struct switch_endpoint *endpoint;
	const char *needs;
	void *stream;
	enum netconf_session_stage stage;
	struct netconf_frames frames;
	struct loop_timer *timer;
	unsigned capabilities;
	uint32_t last_id, requests;

	struct text operation; /* waiting or under way; fn NULL: none */
	struct netconf_ask ask;
	bool sent;
	netconf_answer_fn fn;
	void *context;

	/* How it ended, told in the next turn of the loop: the callee may free all of this. */
	bool is_ended;
	int rc;
	struct problem problem;
	struct netconf_message reply;
};

static void netconf_session_stream_end(struct netconf_session *session)
{
	session->row->close(session->stream);
	session->stream = NULL;
	session->stage = NETCONF_SESSION_STAGE_CLOSED;
	loop_timer_disarm(session->timer);
	netconf_frames_done(&session->frames);
}

static void netconf_session_end(struct netconf_session *session, int rc,
				const struct problem *problem)
{
	if (!session->fn || session->is_ended)
		return;
	session->is_ended = true;
	session->rc = rc;
	session->problem = problem ? *problem : (struct problem){0};
	loop_timer_arm(session->timer, 0);
}

static void netconf_session_fail(struct netconf_session *session, int rc,
				 const struct problem *problem)
{
	netconf_session_stream_end(session);
	netconf_session_end(session, rc, problem);
}

static void netconf_session_tell(struct netconf_session *session)
{
	struct netconf_message reply = session->reply;
	struct problem problem = session->problem;
	const struct netconf_answer what = {
		.rc = session->rc,
		.problem = session->rc ? &problem : NULL,
		.refused = reply.doc && session->rc,
		.sent = session->sent,
		.data = reply.data,
	};
	netconf_answer_fn fn = session->fn;

	session->reply = (struct netconf_message){0};
	session->is_ended = session->sent = false;
	session->fn = NULL;
	fn(session->context, &what);
	netconf_message_done(&reply);
}

static void netconf_session_fail_text(struct netconf_session *session, int rc, const char *message,
				      const char *detail, const char *hint)
{
	struct problem problem;

	problem_set(&problem, rc, "switch %s %s", session->endpoint->name, message);
	problem_detail(&problem, "%s", detail);
	problem_hint(&problem, "%s", hint);
	netconf_session_fail(session, rc, &problem);
}

/* --- sending --- */

/* Patience from now on. */
static void netconf_session_arm(struct netconf_session *session)
{
	int64_t left = session->ask.deadline_ms - clock_monotonic_ms();
	int64_t patience = session->ask.silence_ms;

	if (session->stage < NETCONF_SESSION_STAGE_READY && patience < HELLO_MS)
		patience = HELLO_MS;
	if (left > patience)
		left = patience;
	if (!session->is_ended)
		loop_timer_arm(session->timer, left > 0 ? left : 0);
}

static bool netconf_session_send_message(struct netconf_session *session,
					 const struct text *message)
{
	CLEANUP(text_done) struct text framed = {0};
	int rc;

	netconf_frame(session->frames.framing, text_get(message), message->size, &framed);
	rc = framed.failed || message->failed
		     ? -ENOMEM
		     : session->row->write(session->stream, framed.data, framed.size);
	if (rc)
		netconf_session_fail_text(session, rc, "cannot be written to", error_text(rc), "");
	return rc == 0;
}

static void send_operation(struct netconf_session *session)
{
	CLEANUP(text_done) struct text message = {0};

	if (!fence_holds(session->ask.fence)) {
		netconf_session_fail_text(
			session, E_LAPSED, "is not told more", "the claim ran out",
			"whoever claims the fabric next reads the switch and goes on");
		return;
	}
	session->stage = STAGE_RUNNING;
	session->sent = true;
	session->requests++;
	text_addf(
		&message,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rpc message-id=\"%u\" xmlns=\"%s\">",
		++session->last_id, NETCONF_BASE);
	text_add_bytes(&message, text_get(&session->operation), session->operation.size);
	text_add(&message, "</rpc>");
	netconf_session_arm(session);
	(void)netconf_session_send_message(session, &message);
}

static void netconf_session_say_hello(struct netconf_session *session)
{
	CLEANUP(text_done) struct text message = {0};

	text_addf(&message,
		  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<hello xmlns=\"%s\"><capabilities>"
		  "<capability>urn:ietf:params:netconf:base:1.0</capability>"
		  "<capability>urn:ietf:params:netconf:base:1.1</capability>"
		  "</capabilities></hello>",
		  NETCONF_BASE);
	(void)netconf_session_send_message(session, &message);
}

/* --- hearing --- */

static const struct {
	const char *tag;
	int rc;
} tag_rows[] = {
	{"lock-denied", -EBUSY},
	{"in-use", -EBUSY},
	{"resource-denied", -EBUSY},
	{"access-denied", E_DENIED},
	{"operation-not-supported", E_UNSUPPORTED},
	{"unknown-element", E_UNSUPPORTED},
	{"unknown-namespace", E_UNSUPPORTED},
};

static int rc_of_tag(const char *tag)
{
	for (size_t i = 0; i < COUNT_OF(tag_rows); i++) {
		if (strcmp(tag_rows[i].tag, tag) == 0)
			return tag_rows[i].rc;
	}
	return E_CONFLICT;
}

static int netconf_session_describe(const struct netconf_session *session,
				    const struct netconf_error *error, struct problem *ret)
{
	const char *name = session->endpoint->name;
	int rc = rc_of_tag(error->tag);

	if (rc == -EBUSY) {
		problem_set(ret, rc, "the configuration of switch %s is locked by another session",
			    name);
		problem_hint(ret, "see who is logged in there; it is tried again");
	} else if (rc == E_DENIED) {
		problem_set(ret, rc, "switch %s does not let user %s do that", name,
			    session->endpoint->ssh_user);
		problem_hint(ret, "give the user the right to configure VLANs and ports");
	} else if (rc == E_UNSUPPORTED) {
		problem_set(ret, rc, "switch %s does not know this NETCONF request", name);
		problem_hint(ret, "its software may have another data model: choose the command "
				  "line for it");
	} else {
		problem_set(ret, rc, "switch %s refused a change", name);
		problem_hint(ret, "try it by hand on the switch, it may say more");
	}
	problem_detail(ret, "%s: %s%s%s%s%s", session->ask.what, error->tag,
		       error->message[0] ? ": " : "", error->message, error->path[0] ? " at " : "",
		       error->path);
	return rc;
}

static bool is_expected(const struct netconf_session *session,
			const struct netconf_message *message)
{
	switch (session->ask.expect) {
	case NETCONF_EXPECT_OK: return message->verdict == NETCONF_SAYS_OK;
	case NETCONF_EXPECT_DATA: return message->verdict == NETCONF_SAYS_DATA;
	case NETCONF_EXPECT_ANY: break;
	}
	return true;
}

static void hear_reply(struct netconf_session *session, struct netconf_message *message)
{
	struct problem problem;
	int rc = 0;

	if (message->id != session->last_id || session->stage != STAGE_RUNNING) {
		/* An error without an id is about a message that it could not read: ours. */
		netconf_session_fail_text(session, E_PROTOCOL, "sends an answer without a request",
					  message->verdict == NETCONF_SAYS_REFUSED
						  ? message->error.message
						  : "another message-id",
					  "");
		return;
	}
	session->stage = NETCONF_SESSION_STAGE_READY;
	if (message->verdict == NETCONF_SAYS_REFUSED) {
		rc = netconf_session_describe(session, &message->error, &problem);
	} else if (!is_expected(session, message)) {
		netconf_session_fail_text(session, E_PROTOCOL,
					  "sends an answer without ok or error", session->ask.what,
					  "");
		return;
	}
	session->reply = *message;
	*message = (struct netconf_message){0};
	netconf_session_end(session, rc, rc ? &problem : NULL);
}

static void hear_hello(struct netconf_session *session, const struct netconf_message *hello)
{
	if (session->stage != NETCONF_SESSION_STAGE_GREETING) {
		netconf_session_fail_text(session, E_PROTOCOL, "greets twice", "", "");
		return;
	}
	session->capabilities = hello->capabilities;
	if (session->needs && netconf_hello_offers(hello, "") &&
	    !netconf_hello_offers(hello, session->needs)) {
		netconf_session_fail_text(
			session, E_UNSUPPORTED, "does not offer the data model of its family",
			session->needs, "check its family, and that the model is switched on");
		return;
	}
	if (hello->capabilities & NETCONF_BASE_11)
		session->frames.framing = NETCONF_CHUNKED;
	session->stage = NETCONF_SESSION_STAGE_READY;
	send_operation(session);
}

/* One whole message. */
static void netconf_session_hear(struct netconf_session *session, const struct text *bytes)
{
	struct netconf_message message = {0};
	int rc = netconf_message_parse(text_get(bytes), bytes->size, &message);

	if (rc) {
		netconf_session_fail_text(session, rc == E_MALFORMED ? E_PROTOCOL : rc,
					  "sends no valid NETCONF message", error_text(rc), "");
		return;
	}
	switch (message.kind) {
	case NETCONF_HELLO: hear_hello(session, &message); break;
	case NETCONF_REPLY: hear_reply(session, &message); break;
	case NETCONF_NOTIFICATION: break;
	}
	netconf_message_done(&message);
}

/* --- events of the stream --- */

static void netconf_session_on_opened(void *context)
{
	struct netconf_session *session = context;

	session->stage = NETCONF_SESSION_STAGE_GREETING;
	netconf_session_arm(session);
	netconf_session_say_hello(session);
}

/* For the switch: not for our own next turn, which the timer is then armed for. */
static bool netconf_session_is_waiting(const struct netconf_session *session)
{
	return session->fn && !session->is_ended &&
	       session->stage != NETCONF_SESSION_STAGE_CLOSED &&
	       session->stage != NETCONF_SESSION_STAGE_READY;
}

static void netconf_session_fail_late(struct netconf_session *session)
{
	netconf_session_fail_text(session, E_TIMEOUT, "does not answer by NETCONF",
				  session->stage == STAGE_RUNNING ? session->ask.what : "no hello",
				  "it may be busy; check its NETCONF server");
}

static void netconf_session_on_data(void *context, const char *bytes, size_t size)
{
	struct netconf_session *session = context;

	if (netconf_session_is_waiting(session))
		netconf_session_arm(session);
	while (size > 0 && session->stage != NETCONF_SESSION_STAGE_CLOSED) {
		struct text message = {0};
		bool whole = false;
		size_t used = 0;
		int rc = netconf_frames_feed(&session->frames, bytes, size, &used, &whole);

		if (rc) {
			netconf_session_fail_text(session, rc,
						  rc == E_LIMIT ? "sends a message without end"
								: "sends no valid NETCONF message",
						  error_text(rc), "");
			return;
		}
		bytes += used;
		size -= used;
		if (!whole)
			continue;
		/* What is heard may end the session, and its frames with it. */
		message = session->frames.message;
		session->frames.message = (struct text){0};
		netconf_session_hear(session, &message);
		text_done(&message);
	}
	/* Whoever goes on talking puts the timer off each time before it can run. */
	if (netconf_session_is_waiting(session) && clock_monotonic_ms() >= session->ask.deadline_ms)
		netconf_session_fail_late(session);
}

static void netconf_session_on_ended(void *context, int rc, const struct problem *problem)
{
	netconf_session_fail(context, rc, problem);
}

static void netconf_session_begin(struct netconf_session *session)
{
	const struct switch_stream_events events = {netconf_session_on_opened,
						    netconf_session_on_data,
						    netconf_session_on_ended, session};
	struct problem problem = {0};
	int rc;

	netconf_frames_done(&session->frames);
	session->capabilities = 0;
	session->last_id = 0;
	session->stage = NETCONF_SESSION_STAGE_OPENING;
	rc = session->row->open(session->loop, session->endpoint, "netconf", &events,
				&session->stream, &problem);
	if (rc)
		netconf_session_fail(session, rc, &problem);
	else
		netconf_session_arm(session);
}

static void netconf_session_on_timer(void *context)
{
	struct netconf_session *session = context;

	if (session->is_ended)
		netconf_session_tell(session);
	else if (session->stage == NETCONF_SESSION_STAGE_CLOSED)
		netconf_session_begin(session);
	else if (session->stage == NETCONF_SESSION_STAGE_READY)
		send_operation(session);
	else
		netconf_session_fail_late(session);
}

/* --- outside --- */

int netconf_session_new(struct loop *loop, const struct switch_stream_row *row,
			const struct switch_endpoint *endpoint, const char *needs,
			struct netconf_session **ret)
{
	struct netconf_session *session = calloc(1, sizeof(*session));
	int rc;

	if (!session)
		return -ENOMEM;
	session->loop = loop;
	session->row = row;
	session->endpoint = endpoint;
	session->needs = needs;
	rc = loop_timer_new(loop, netconf_session_on_timer, session, &session->timer);
	if (rc) {
		free(session);
		return rc;
	}
	*ret = session;
	return 0;
}

void netconf_session_free(struct netconf_session *session)
{
	if (!session)
		return;
	netconf_session_break(session);
	loop_timer_free(session->timer);
	text_done(&session->operation);
	free(session);
}

void netconf_session_run(struct netconf_session *session, const struct netconf_ask *ask,
			 const char *operation, netconf_answer_fn fn, void *context)
{
	text_clear(&session->operation);
	text_add(&session->operation, operation);
	session->ask = *ask;
	session->fn = fn;
	session->context = context;
	session->sent = false;
	loop_timer_arm(session->timer, 0);
}

void netconf_session_break(struct netconf_session *session)
{
	session->fn = NULL;
	session->is_ended = false;
	netconf_message_done(&session->reply);
	netconf_session_stream_end(session);
}

bool netconf_session_is_open(const struct netconf_session *session)
{
	return session->stage == NETCONF_SESSION_STAGE_READY;
}

unsigned netconf_session_capabilities(const struct netconf_session *session)
{
	return session->capabilities;
}

uint32_t netconf_session_requests(const struct netconf_session *session)
{
	return session->requests;
}
