/* One switch: a socket, a line of requests that wait, a window of those under way. Net-SNMP builds,
 * signs, sends and matches answers; when to send again is decided here, so its own retries are
 * off (what it repeats by itself is a request that the agent found outside its time window, with
 * the time that the agent's authentic report told). */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"

#include "peregrine/switch/snmp/snmp_client.h"
#include "peregrine/switch/snmp/snmp_peer_private.h"

LEAKS_LEFT_TO_SANITIZER

/* --- making and ending --- */

static void peer_destroy(struct snmp_peer *peer)
{
	peer->depth++; /* nothing is sent or freed from the callbacks of closing */
	peer_close_handle(peer);
	while (peer->first) {
		struct exchange *exchange = peer->first;

		peer->first = exchange->next;
		snmp_free_pdu(exchange->pdu);
		fence_unref(exchange->fence);
		free(exchange);
	}
	for (struct snmp_peer **at = &peer->client->peers; *at; at = &(*at)->next_peer) {
		if (*at == peer) {
			*at = peer->next_peer;
			break;
		}
	}
	loop_timer_free(peer->timer);
	switch_endpoint_wipe(&peer->endpoint);
	free(peer);
}

void peer_enter(struct snmp_peer *peer)
{
	peer->depth++;
}

/* Every way out of a callback: a peer that was freed on the way goes now. */
void peer_leave(struct snmp_peer *peer)
{
	if (--peer->depth == 0 && peer->closed)
		peer_destroy(peer);
}

static void snmp_peer_on_timer(void *context)
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

static int snmp_peer_check_endpoint(const struct switch_endpoint *endpoint, struct problem *problem)
{
	bool v3 = endpoint->snmp_user[0] != '\0';

	if (!v3 && !endpoint->snmp_community[0]) {
		problem_set(problem, -EINVAL, "switch %s has no SNMP community and no SNMP user",
			    endpoint->name);
		problem_hint(
			problem,
			"give it one with haasctl switch add; without one its counters are not read, nor the ifIndexes that its command line does not show");
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
	int rc = snmp_peer_check_endpoint(endpoint, problem);

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
	peer->bindings = BINDINGS_FIRST;
	if (!peer_text(peer)) {
		rc = problem_set(problem, -EINVAL, "switch %s: \"%s\" is not an address",
				 endpoint->name, endpoint->address);
	} else {
		rc = loop_timer_new(client->loop, snmp_peer_on_timer, peer, &peer->timer);
		if (rc)
			problem_set(problem, rc, "no timer for an SNMP peer");
	}
	if (rc) {
		peer_destroy(peer);
		return rc;
	}
	peer->next_peer = client->peers;
	client->peers = peer;
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

/* --- asking --- */

void peer_append(struct snmp_peer *peer, struct exchange *exchange)
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
	if (peer->v1)
		exchange->pdu->version = SNMP_VERSION_1;
	exchange->timeout_ms = ask->timeout_ms ? ask->timeout_ms : peer->timeout_ms;
	exchange->once = ask->once;
	exchange->fence = fence_ref(ask->fence);
	exchange->tries_limit = ask->tries ? ask->tries : 1U + peer->endpoint.retries;
	exchange->fn = fn;
	exchange->context = context;
	peer_append(peer, exchange);
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

void snmp_peer_speak_v1(struct snmp_peer *peer)
{
	peer->v1 = true;
}

bool snmp_peer_has_answered(const struct snmp_peer *peer)
{
	return peer->answered_ms != 0;
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

bool snmp_peer_bulk_refused(const struct snmp_peer *peer)
{
	return peer->bulk_refused;
}

void snmp_peer_bulk_taken(struct snmp_peer *peer)
{
	peer->bulk_taken = true;
}

/* One table may have refused it for reasons of its own. */
void snmp_peer_bulk_bad(struct snmp_peer *peer)
{
	peer->bulk_refused = !peer->bulk_taken;
}

size_t snmp_peer_bindings(const struct snmp_peer *peer)
{
	return peer->bindings;
}

void snmp_peer_bindings_bad(struct snmp_peer *peer, size_t asked)
{
	size_t fewer = asked / 2 > BINDINGS_LEAST ? asked / 2 : BINDINGS_LEAST;

	if (fewer < peer->bindings)
		peer->bindings = fewer;
}
