/* One switch: a socket, a line of requests that wait, a window of those under way. Net-SNMP builds,
 * signs, sends and matches answers; when to send again is decided here, so its own retries are
 * off (what it repeats by itself is a request that the agent found outside its time window, with
 * the time that the agent's authentic report told). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/control/driver/snmp/snmp_client.h"
#include "peregrine/control/driver/snmp/snmp_client_private.h"

LEAKS_LEFT_TO_SANITIZER

enum exchange_state {
	EXCHANGE_WAITING,
	EXCHANGE_SENT,
	EXCHANGE_AGAIN, /* its time is over, or the engine is another: next turn decides */
	EXCHANGE_GONE   /* answered or forgotten */
};

struct exchange {
	struct exchange *next;
	struct snmp_peer *peer;
	enum exchange_state state;
	netsnmp_pdu *pdu; /* ours; a copy is sent each time */
	bool under_way;   /* Net-SNMP holds a request that will call us */
	bool probe, once;
	int failure; /* of the last try, for EXCHANGE_AGAIN */
	unsigned tries;
	uint32_t timeout_ms;
	int64_t sent_ms, expires_ms;
	int report; /* SNMPERR_* of a report, 0 = none */
	snmp_answer_fn fn;
	void *context;
};

struct snmp_peer {
	struct snmp_client *client;
	struct switch_endpoint endpoint;
	char where[96];
	void *handle; /* of Net-SNMP; NULL until something is asked */
	bool has_engine;
	bool stale; /* the engine that we remember is not the one that answers */
	struct loop_watch *watch;
	struct loop_timer *timer;
	struct exchange *first, **end;
	unsigned under_way, window;
	unsigned depth; /* of calls of ours on the stack that look at the peer after */
	bool closed;
	int64_t answered_ms;
	unsigned engine_tries; /* probes without a good answer since */
	uint32_t timeout_ms, requests;
	uint16_t repetitions, good;
};

static void peer_turn(struct snmp_peer *peer);
static int on_netsnmp(int operation, netsnmp_session *handle, int id, netsnmp_pdu *pdu,
		      void *magic);

/* --- making and ending ---------------------------------------------------- */

static void handle_close(struct snmp_peer *peer)
{
	loop_watch_free(peer->watch);
	peer->watch = NULL;
	/* Calls on_netsnmp for what was under way. */
	if (peer->handle)
		snmp_sess_close(peer->handle);
	peer->handle = NULL;
}

static void peer_destroy(struct snmp_peer *peer)
{
	peer->depth++; /* nothing is sent or freed from the callbacks of closing */
	handle_close(peer);
	while (peer->first) {
		struct exchange *exchange = peer->first;

		peer->first = exchange->next;
		snmp_free_pdu(exchange->pdu);
		free(exchange);
	}
	loop_timer_free(peer->timer);
	switch_endpoint_wipe(&peer->endpoint);
	free(peer);
}

static void peer_enter(struct snmp_peer *peer)
{
	peer->depth++;
}

/* Every way out of a callback: a peer that was freed on the way goes now. */
static void peer_leave(struct snmp_peer *peer)
{
	if (--peer->depth == 0 && peer->closed)
		peer_destroy(peer);
}

static void on_readable(void *context, int events)
{
	struct snmp_peer *peer = context;
	netsnmp_large_fd_set set;
	int fd = snmp_sess_transport(peer->handle)->sock;

	(void)events;
	peer_enter(peer);
	netsnmp_large_fd_set_init(&set, fd + 1);
	NETSNMP_LARGE_FD_SET(fd, &set);
	(void)snmp_sess_read2(peer->handle, &set);
	netsnmp_large_fd_set_cleanup(&set);
	peer_turn(peer);
	peer_leave(peer);
}

static void on_timer(void *context)
{
	struct snmp_peer *peer = context;

	peer_enter(peer);
	if (peer->handle)
		snmp_sess_timeout(peer->handle);
	peer_turn(peer);
	peer_leave(peer);
}

static bool peer_text(struct snmp_peer *peer)
{
	const struct switch_endpoint *endpoint = &peer->endpoint;
	unsigned port = endpoint->snmp_port ? endpoint->snmp_port : 161;
	uint8_t bytes[16];

	if (inet_pton(AF_INET, endpoint->address, bytes) == 1)
		return text_format(peer->where, sizeof(peer->where), "udp:%s:%u", endpoint->address,
				   port);
	if (inet_pton(AF_INET6, endpoint->address, bytes) == 1)
		return text_format(peer->where, sizeof(peer->where), "udp6:[%s]:%u",
				   endpoint->address, port);
	return false;
}

static int check_endpoint(const struct switch_endpoint *endpoint, struct problem *problem)
{
	bool v3 = endpoint->snmp_user[0] != '\0';

	if (!v3 && !endpoint->snmp_community[0]) {
		problem_set(problem, -EINVAL, "switch %s has no SNMP community and no SNMP user",
			    endpoint->name);
		problem_hint(problem, "give it one of them");
		return -EINVAL;
	}
	if (v3 && endpoint->snmp_auth == SNMP_AUTH_NONE && endpoint->snmp_priv != SNMP_PRIV_NONE) {
		problem_set(problem, -EINVAL, "switch %s: SNMP privacy needs authentication",
			    endpoint->name);
		return -EINVAL;
	}
	if (v3 &&
	    ((endpoint->snmp_auth != SNMP_AUTH_NONE && strlen(endpoint->snmp_auth_secret) < 8) ||
	     (endpoint->snmp_priv != SNMP_PRIV_NONE && strlen(endpoint->snmp_priv_secret) < 8))) {
		problem_set(problem, -EINVAL, "switch %s: an SNMP secret is too short",
			    endpoint->name);
		problem_hint(problem, "eight characters at least (RFC 3414)");
		return -EINVAL;
	}
	return 0;
}

int snmp_peer_new(struct snmp_client *client, const struct switch_endpoint *endpoint,
		  uint32_t timeout_ms, struct snmp_peer **ret, struct problem *problem)
{
	struct snmp_peer *peer;
	int rc = check_endpoint(endpoint, problem);

	if (rc)
		return rc;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return problem_set(problem, -ENOMEM, "no memory for an SNMP peer");
	peer->client = client;
	peer->endpoint = *endpoint;
	peer->end = &peer->first;
	peer->timeout_ms = endpoint->timeout_ms ? endpoint->timeout_ms : timeout_ms;
	peer->window = WINDOW_LIMIT;
	peer->repetitions = REPETITIONS_FIRST;
	if (!peer_text(peer)) {
		rc = problem_set(problem, -EINVAL, "switch %s: \"%s\" is not an address",
				 endpoint->name, endpoint->address);
	} else {
		rc = loop_timer_new(client->loop, on_timer, peer, &peer->timer);
		if (rc)
			problem_set(problem, rc, "no timer for an SNMP peer");
	}
	if (rc) {
		peer_destroy(peer);
		return rc;
	}
	*ret = peer;
	return 0;
}

void snmp_peer_free(struct snmp_peer *peer)
{
	if (!peer)
		return;
	for (struct exchange *exchange = peer->first; exchange; exchange = exchange->next)
		exchange->state = EXCHANGE_GONE;
	peer->closed = true;
	if (peer->depth == 0)
		peer_destroy(peer);
}

/* --- opening --------------------------------------------------------------- */

/* Keys may be new while the process still knows the user by the old ones. */
static void user_forget(const struct snmp_engine *engine, const char *name)
{
	struct usmUser *user = usm_get_user(engine->id, engine->size, name);

	if (!user)
		return;
	(void)usm_remove_user(user); /* returns the rest of the list, which may be nobody */
	user->next = NULL;
	user->prev = NULL;
	usm_free_user(user);
}

static int open_handle(struct snmp_peer *peer, netsnmp_session *wish)
{
	struct netsnmp_transport_s *transport;
	int flags;

	peer->handle = snmp_sess_open(wish);
	if (!peer->handle)
		return -EIO;
	/* Opening took the flag away; without it sending would probe, and block. */
	snmp_sess_session(peer->handle)->flags |= SNMP_FLAGS_DONT_PROBE;
	transport = snmp_sess_transport(peer->handle);
	flags = fcntl(transport->sock, F_GETFL);
	/* A datagram with a wrong checksum is readable and then is not there. */
	if (flags < 0 || fcntl(transport->sock, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(transport->sock, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	return loop_watch_new(peer->client->loop, transport->sock, LOOP_READ, on_readable, peer,
			      &peer->watch);
}

static int peer_open(struct snmp_peer *peer)
{
	const struct switch_endpoint *endpoint = &peer->endpoint;
	const struct snmp_engine *engine =
		peer->stale ? NULL : snmp_engine_find(peer->client, peer->where);
	netsnmp_session wish;
	int rc = 0;

	snmp_sess_init(&wish);
	wish.peername = peer->where;
	wish.retries = 0;
	wish.timeout = (long)peer->timeout_ms * 1000;
	wish.flags |= SNMP_FLAGS_DONT_PROBE;
	peer->has_engine = true;
	if (!endpoint->snmp_user[0]) {
		wish.version = SNMP_VERSION_2c;
		/* snmp_sess_open copies what it is given. */
		wish.community = (u_char *)peer->endpoint.snmp_community;
		wish.community_len = strlen(endpoint->snmp_community);
		rc = open_handle(peer, &wish);
	} else {
		wish.version = SNMP_VERSION_3;
		wish.securityName = peer->endpoint.snmp_user;
		wish.securityNameLen = strlen(endpoint->snmp_user);
		peer->has_engine = engine != NULL;
		if (engine) {
			uint8_t id[ENGINE_ID_LIMIT];

			memcpy(id, engine->id, engine->size);
			wish.securityEngineID = id;
			wish.securityEngineIDLen = engine->size;
			wish.contextEngineID = id;
			wish.contextEngineIDLen = engine->size;
			user_forget(engine, endpoint->snmp_user);
			rc = snmp_engine_credentials(peer->client, endpoint, &wish);
			if (!rc)
				rc = open_handle(peer, &wish);
		} else {
			rc = snmp_engine_credentials(peer->client, endpoint, &wish);
			if (!rc)
				rc = open_handle(peer, &wish);
		}
		free(wish.securityAuthProto);
		free(wish.securityPrivProto);
	}
	if (rc)
		handle_close(peer);
	return rc;
}

/* --- asking ---------------------------------------------------------------- */

static void append(struct snmp_peer *peer, struct exchange *exchange)
{
	exchange->peer = peer;
	*peer->end = exchange;
	peer->end = &exchange->next;
}

int snmp_peer_ask(struct snmp_peer *peer, const struct snmp_ask *ask, snmp_answer_fn fn,
		  void *context)
{
	struct exchange *exchange;

	if (ask->count < 1 || ask->count > SNMP_BINDING_LIMIT)
		return -EINVAL;
	exchange = calloc(1, sizeof(*exchange));
	if (!exchange)
		return -ENOMEM;
	exchange->pdu = snmp_pdu_new(&peer->endpoint, ask);
	if (!exchange->pdu) {
		free(exchange);
		return -EINVAL;
	}
	exchange->timeout_ms = ask->timeout_ms ? ask->timeout_ms : peer->timeout_ms;
	exchange->once = ask->once;
	exchange->fn = fn;
	exchange->context = context;
	append(peer, exchange);
	/* The turn sends it: an answer never comes from inside this call. */
	if (peer->depth == 0)
		loop_timer_arm(peer->timer, 0);
	return 0;
}

void snmp_peer_forget(struct snmp_peer *peer, const void *context)
{
	for (struct exchange *exchange = peer->first; exchange; exchange = exchange->next) {
		if (exchange->context == context && !exchange->probe)
			exchange->state = EXCHANGE_GONE;
	}
	if (peer->depth == 0)
		loop_timer_arm(peer->timer, 0);
}

/* --- answers ---------------------------------------------------------------- */

static void publish(struct exchange *exchange, struct snmp_answer *answer)
{
	if (exchange->state == EXCHANGE_GONE)
		return;
	exchange->state = EXCHANGE_GONE;
	answer->tries = exchange->tries;
	if (exchange->fn)
		exchange->fn(exchange->context, answer);
}

static void on_response(struct exchange *exchange, netsnmp_pdu *pdu)
{
	struct snmp_answer answer = {.status = (int)pdu->errstat, .at = pdu->variables};

	if (pdu->errindex > 0)
		answer.index = (size_t)pdu->errindex;
	for (const netsnmp_variable_list *at = pdu->variables; at; at = at->next_variable)
		answer.count++;
	exchange->peer->engine_tries = 0;
	exchange->peer->answered_ms = clock_monotonic_ms();
	if (exchange->peer->window < WINDOW_LIMIT)
		exchange->peer->window++;
	publish(exchange, &answer);
}

/* What a report says (RFC 3414 section 3.2). */
static void on_report(struct exchange *exchange)
{
	struct snmp_peer *peer = exchange->peer;

	exchange->state = exchange->state == EXCHANGE_GONE ? EXCHANGE_GONE : EXCHANGE_AGAIN;
	switch (exchange->report) {
	case SNMPERR_UNKNOWN_ENG_ID:
		/* Another switch, or another engine id, behind this address. */
		peer->has_engine = false;
		peer->stale = true;
		exchange->failure = E_PROTOCOL;
		break;
	case SNMPERR_NOT_IN_TIME_WINDOW: exchange->failure = E_PROTOCOL; break;
	default: exchange->failure = E_AUTHENTICATION; break;
	}
}

static void on_message(struct exchange *exchange, netsnmp_pdu *pdu)
{
	if (pdu->command != SNMP_MSG_REPORT) {
		on_response(exchange, pdu);
		return;
	}
	exchange->report = snmpv3_get_report_type(pdu);
	if (!exchange->probe || !pdu->securityEngineIDLen)
		return;
	snmp_engine_put(exchange->peer->client, exchange->peer->where, pdu->securityEngineID,
			pdu->securityEngineIDLen);
	exchange->peer->stale = false;
}

static int on_netsnmp(int operation, netsnmp_session *handle, int id, netsnmp_pdu *pdu, void *magic)
{
	struct exchange *exchange = magic;

	(void)handle;
	(void)id;
	switch (operation) {
	case NETSNMP_CALLBACK_OP_RECEIVED_MESSAGE:
		on_message(exchange, pdu);
		if (pdu->command == SNMP_MSG_REPORT)
			return 1; /* it is repeated, or ends as a security error: both are told */
		break;
	case NETSNMP_CALLBACK_OP_RESEND: exchange->peer->requests++; return 1;
	case NETSNMP_CALLBACK_OP_SEC_ERROR:
		if (exchange->probe)
			exchange->state = EXCHANGE_GONE;
		else
			on_report(exchange);
		break;
	case NETSNMP_CALLBACK_OP_TIMED_OUT:
		if (exchange->state == EXCHANGE_SENT)
			exchange->state = EXCHANGE_AGAIN;
		exchange->failure = E_TIMEOUT;
		exchange->peer->window = 1;
		break;
	default: /* the route to it is gone: as good as no answer, and perhaps back soon */
		if (exchange->state == EXCHANGE_SENT)
			exchange->state = EXCHANGE_AGAIN;
		exchange->failure = E_TIMEOUT;
		break;
	}
	if (exchange->under_way) {
		exchange->under_way = false;
		exchange->peer->under_way--;
	}
	return 1;
}

/* --- the turn: what is due --------------------------------------------------- */

static void fail(struct exchange *exchange, int rc)
{
	struct snmp_answer answer = {.rc = rc};

	publish(exchange, &answer);
}

static void send_one(struct snmp_peer *peer, struct exchange *exchange)
{
	netsnmp_pdu *pdu = exchange->probe ? exchange->pdu : snmp_clone_pdu(exchange->pdu);
	netsnmp_session *handle = snmp_sess_session(peer->handle);

	if (!pdu) {
		fail(exchange, E_LIMIT);
		return;
	}
	if (exchange->probe)
		exchange->pdu = NULL;
	pdu->reqid = snmp_get_next_reqid();
	pdu->msgid = snmp_get_next_msgid();
	handle->timeout = (long)exchange->timeout_ms * 1000;
	handle->s_snmp_errno = 0;
	exchange->sent_ms = clock_monotonic_ms();
	exchange->expires_ms = exchange->sent_ms + exchange->timeout_ms;
	exchange->tries++;
	exchange->report = 0;
	exchange->state = EXCHANGE_SENT;
	exchange->under_way = true;
	peer->under_way++;
	peer->requests++;
	if (snmp_sess_async_send(peer->handle, pdu, on_netsnmp, exchange))
		return;
	snmp_free_pdu(pdu);
	/* It was told to on_netsnmp, but for an encoding that failed for want of room. */
	if (exchange->under_way) {
		exchange->under_way = false;
		peer->under_way--;
	}
	if (handle->s_snmp_errno == SNMPERR_BAD_SENDTO) {
		/* No route now: the time-out runs all the same, so that this is no busy loop. */
		exchange->state = EXCHANGE_SENT;
		return;
	}
	fail(exchange, exchange->failure == E_AUTHENTICATION ? E_AUTHENTICATION : E_LIMIT);
}

/* True: it may be tried again. */
static bool may_repeat(struct snmp_peer *peer, struct exchange *exchange)
{
	unsigned tries = 1U + peer->endpoint.retries;

	if (exchange->failure == E_AUTHENTICATION)
		return false;
	if (exchange->failure == E_TIMEOUT && exchange->once)
		return false;
	if (exchange->failure == E_PROTOCOL) /* a report: nothing was done, so ask again, once */
		return exchange->tries < 3;
	return exchange->tries < tries;
}

static void try_again(struct snmp_peer *peer, struct exchange *exchange)
{
	if (!may_repeat(peer, exchange)) {
		fail(exchange, exchange->failure);
		return;
	}
	if (exchange->failure == E_TIMEOUT) {
		/* Silence may be another engine's: Net-SNMP drops the report that would say so. */
		if (peer->endpoint.snmp_user[0] && peer->answered_ms < exchange->sent_ms) {
			peer->has_engine = false;
			peer->stale = true;
		}
		exchange->timeout_ms += exchange->timeout_ms / 2;
		/* The answer may have been too large for what lies between. */
		if (exchange->pdu->command == SNMP_MSG_GETBULK &&
		    exchange->pdu->max_repetitions > 1)
			exchange->pdu->max_repetitions /= 2;
	}
	exchange->state = EXCHANGE_WAITING;
}

static int start_probe(struct snmp_peer *peer)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (!exchange)
		return -ENOMEM;
	exchange->pdu = snmp_engine_probe();
	if (!exchange->pdu) {
		free(exchange);
		return -ENOMEM;
	}
	exchange->probe = true;
	exchange->once = true;
	exchange->timeout_ms = peer->timeout_ms;
	peer->engine_tries++;
	append(peer, exchange);
	send_one(peer, exchange);
	return 0;
}

static bool is_probing(const struct snmp_peer *peer)
{
	for (const struct exchange *exchange = peer->first; exchange; exchange = exchange->next) {
		if (exchange->probe && exchange->state == EXCHANGE_SENT)
			return true;
	}
	return false;
}

static void fail_all(struct snmp_peer *peer, int rc)
{
	struct exchange **stop = peer->end; /* what is asked in the meantime waits */

	for (struct exchange *exchange = peer->first; exchange && !peer->closed;
	     exchange = exchange->next) {
		fail(exchange, rc);
		if (&exchange->next == stop)
			break;
	}
}

/* Drops what is gone and decides about what must be tried again. True: something waits. */
static bool sweep(struct snmp_peer *peer)
{
	struct exchange **at = &peer->first;
	int64_t now = clock_monotonic_ms();
	bool waiting = false;

	while (*at) {
		struct exchange *exchange = *at;

		if (exchange->state == EXCHANGE_SENT && !exchange->under_way &&
		    exchange->expires_ms <= now) {
			exchange->state = EXCHANGE_AGAIN;
			exchange->failure = E_TIMEOUT;
		}
		if (exchange->state == EXCHANGE_AGAIN && exchange->probe)
			exchange->state = EXCHANGE_GONE;
		if (exchange->state == EXCHANGE_AGAIN)
			try_again(peer, exchange);
		if (exchange->state == EXCHANGE_GONE && !exchange->under_way) {
			*at = exchange->next;
			if (peer->end == &exchange->next)
				peer->end = at;
			snmp_free_pdu(exchange->pdu);
			free(exchange);
			continue;
		}
		waiting |= exchange->state == EXCHANGE_WAITING;
		at = &exchange->next;
	}
	return waiting;
}

/* True: ready to send. */
static bool prepare(struct snmp_peer *peer)
{
	if (peer->handle && peer->has_engine)
		return true;
	if (is_probing(peer))
		return false;
	/* What is under way to the engine that was ends first. */
	if (peer->under_way)
		return false;
	/* Opened without an engine, or with one that is no more. */
	if (peer->handle)
		handle_close(peer);
	if (peer_open(peer)) {
		fail_all(peer, E_LIMIT);
		return false;
	}
	if (peer->has_engine)
		return true;
	if (peer->engine_tries > peer->endpoint.retries + 1U) {
		peer->engine_tries = 0;
		fail_all(peer, E_TIMEOUT);
		return false;
	}
	if (start_probe(peer))
		fail_all(peer, E_LIMIT);
	return false;
}

static void arm(struct snmp_peer *peer)
{
	int64_t now = clock_monotonic_ms();
	int64_t next = INT64_MAX;

	for (const struct exchange *exchange = peer->first; exchange; exchange = exchange->next) {
		if (exchange->state == EXCHANGE_SENT || exchange->under_way) {
			if (exchange->expires_ms < next)
				next = exchange->expires_ms;
		} else if (exchange->state != EXCHANGE_WAITING) {
			next = now; /* swept in the next turn */
		}
	}
	if (next == INT64_MAX)
		loop_timer_disarm(peer->timer);
	else
		/* Net-SNMP compares microseconds, and strictly. */
		loop_timer_arm(peer->timer, next > now ? next - now + 2 : 2);
}

static void peer_turn(struct snmp_peer *peer)
{
	if (sweep(peer) && !peer->closed && prepare(peer)) {
		for (struct exchange *exchange = peer->first;
		     exchange && peer->under_way < peer->window && !peer->closed;
		     exchange = exchange->next) {
			if (exchange->state == EXCHANGE_WAITING)
				send_one(peer, exchange);
		}
	}
	if (!peer->closed)
		arm(peer);
}

uint32_t snmp_peer_requests(const struct snmp_peer *peer)
{
	return peer->requests;
}

uint16_t snmp_peer_repetitions(const struct snmp_peer *peer)
{
	return peer->repetitions;
}

void snmp_peer_repetitions_good(struct snmp_peer *peer)
{
	if (++peer->good < GOOD_IN_A_ROW)
		return;
	peer->good = 0;
	if (peer->repetitions < REPETITIONS_LIMIT)
		peer->repetitions = (uint16_t)(peer->repetitions + peer->repetitions / 4 + 1);
	if (peer->repetitions > REPETITIONS_LIMIT)
		peer->repetitions = REPETITIONS_LIMIT;
}

void snmp_peer_repetitions_bad(struct snmp_peer *peer)
{
	peer->good = 0;
	if (peer->repetitions > 1)
		peer->repetitions /= 2;
}
