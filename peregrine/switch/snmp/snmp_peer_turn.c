/* What is due at a switch: tried again or given up, the engine asked for, sent, waited for. */
#include <errno.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "peregrine/switch/snmp/snmp_peer_private.h"

LEAKS_LEFT_TO_SANITIZER

/* True: it may be tried again. */
static bool may_repeat(const struct exchange *exchange)
{
	if (exchange->failure == E_AUTHENTICATION)
		return false;
	if (exchange->failure == E_TIMEOUT && exchange->once)
		return false;
	if (exchange->failure == E_PROTOCOL) /* a report: nothing was done, so ask again, once */
		return exchange->tries < 3;
	return exchange->tries < exchange->tries_limit;
}

static void snmp_peer_turn_try_again(struct snmp_peer *peer, struct exchange *exchange)
{
	if (!may_repeat(exchange)) {
		exchange_fail(exchange, exchange->failure);
		return;
	}
	if (exchange->failure == E_TIMEOUT) {
		/* Silence may be another engine's: Net-SNMP drops the report that would say so. */
		if (peer->endpoint.snmp_user[0] && peer->answered_ms < exchange->sent_ms) {
			peer->has_engine = false;
			peer->stale = true;
			peer->silences++;
		}
		exchange->timeout_ms += exchange->timeout_ms / 2;
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
	peer_append(peer, exchange);
	exchange_send(peer, exchange);
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
		exchange_fail(exchange, rc);
		if (&exchange->next == stop)
			break;
	}
}

/* Drops what is gone and decides about what must be tried again. True: something waits. */
static bool snmp_peer_turn_sweep(struct snmp_peer *peer)
{
	struct exchange **at = &peer->first;
	int64_t now = clock_monotonic_ms();
	bool waiting = false;

	while (*at) {
		struct exchange *exchange = *at;

		if (exchange->state == EXCHANGE_SENT && !exchange->copies &&
		    exchange->expires_ms <= now) {
			exchange->state = EXCHANGE_AGAIN;
			exchange->failure = E_TIMEOUT;
		}
		if (exchange->state == EXCHANGE_AGAIN && exchange->probe)
			exchange->state = EXCHANGE_GONE;
		if (exchange->state == EXCHANGE_AGAIN)
			snmp_peer_turn_try_again(peer, exchange);
		if (exchange->state == EXCHANGE_GONE && !exchange->copies) {
			*at = exchange->next;
			if (peer->end == &exchange->next)
				peer->end = at;
			snmp_free_pdu(exchange->pdu);
			fence_unref(exchange->fence);
			free(exchange);
			continue;
		}
		waiting |= exchange->state == EXCHANGE_WAITING;
		at = &exchange->next;
	}
	return waiting;
}

/* True: ready to send. */
static bool snmp_peer_turn_prepare(struct snmp_peer *peer)
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
		peer_close_handle(peer);
	if (peer_open_handle(peer)) {
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

static void snmp_peer_turn_arm(struct snmp_peer *peer)
{
	int64_t now = clock_monotonic_ms();
	int64_t next = INT64_MAX;

	for (const struct exchange *exchange = peer->first; exchange; exchange = exchange->next) {
		if (exchange->state == EXCHANGE_SENT || exchange->copies) {
			if (exchange->expires_ms < next)
				next = exchange->expires_ms;
			if (exchange->state == EXCHANGE_SENT && exchange->early_ms &&
			    exchange->early_ms < next)
				next = exchange->early_ms;
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

/* What is overdue is sent once more, while its first copy may still be answered. */
static void snmp_peer_turn_early(struct snmp_peer *peer)
{
	int64_t now = clock_monotonic_ms();

	for (struct exchange *exchange = peer->first;
	     exchange && peer->handle && peer->has_engine && !peer->closed;
	     exchange = exchange->next) {
		if (exchange->state == EXCHANGE_SENT && exchange->early_ms &&
		    exchange->early_ms <= now)
			exchange_copy(peer, exchange);
	}
}

void peer_turn(struct snmp_peer *peer)
{
	if (snmp_peer_turn_sweep(peer) && !peer->closed && snmp_peer_turn_prepare(peer)) {
		for (struct exchange *exchange = peer->first;
		     exchange && peer->under_way < peer->window && !peer->closed;
		     exchange = exchange->next) {
			if (exchange->state == EXCHANGE_WAITING)
				exchange_send(peer, exchange);
		}
	}
	snmp_peer_turn_early(peer);
	if (!peer->closed)
		snmp_peer_turn_arm(peer);
}
