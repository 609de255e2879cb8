/* One request: sent, and what comes of it: an answer, a report of USM (RFC 3414 section 3.2),
 * silence. What is due after is snmp_peer_turn.c's. */
#include "common/base/clock.h"
#include "common/base/error.h"

#include "peregrine/switch/snmp/snmp_peer_private.h"

static void snmp_exchange_publish(struct exchange *exchange, struct snmp_answer *answer)
{
	if (exchange->state == EXCHANGE_GONE)
		return;
	exchange->state = EXCHANGE_GONE;
	answer->tries = exchange->tries;
	answer->sends = exchange->sends;
	if (exchange->fn)
		exchange->fn(exchange->context, answer);
}

/* RFC 6298 2, with the round trip of that copy which was answered. */
static void exchange_measure(struct exchange *exchange, int id)
{
	struct snmp_peer *peer = exchange->peer;
	unsigned rtt;
	unsigned mean;
	unsigned off;
	unsigned i = 0;

	while (i < exchange->copied && exchange->ids[i] != id)
		i++;
	if (i == exchange->copied)
		return;
	/* The answer to a copy that comes after the first one's: that copy was not needed. */
	if (exchange->state != EXCHANGE_GONE)
		peer->requests += i;
	rtt = (unsigned)(clock_monotonic_ms() - exchange->copied_ms[i]) + 1;
	mean = peer->rtt_8 / 8;
	off = rtt > mean ? rtt - mean : mean - rtt;
	if (!peer->rtt_8) {
		peer->rtt_8 = 8 * rtt;
		peer->spread_4 = 2 * rtt;
		return;
	}
	peer->spread_4 = peer->spread_4 - peer->spread_4 / 4 + off;
	peer->rtt_8 = peer->rtt_8 - mean + rtt;
}

uint32_t peer_overdue_ms(const struct snmp_peer *peer)
{
	unsigned spread =
		peer->spread_4 > OVERDUE_LEAST_MS ? peer->spread_4 : (unsigned)OVERDUE_LEAST_MS;

	return peer->rtt_8 ? peer->rtt_8 / 8 + spread : 0;
}

static void on_response(struct exchange *exchange, netsnmp_pdu *pdu)
{
	struct snmp_answer answer = {.status = (int)pdu->errstat, .at = pdu->variables};

	if (pdu->errindex > 0)
		answer.index = (size_t)pdu->errindex;
	for (const netsnmp_variable_list *at = pdu->variables; at; at = at->next_variable)
		answer.count++;
	exchange->peer->engine_tries = 0;
	exchange->peer->silences = 0;
	exchange->peer->answered_ms = clock_monotonic_ms();
	if (exchange->peer->window < WINDOW_LIMIT)
		exchange->peer->window++;
	snmp_exchange_publish(exchange, &answer);
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
	default:
		/* The next try looks for the engine anew: the key may be of another that had this id. */
		peer->has_engine = false;
		peer->stale = true;
		exchange->failure = E_AUTHENTICATION;
		break;
	}
}

static void on_message(struct exchange *exchange, netsnmp_pdu *pdu, int id)
{
	if (pdu->command != SNMP_MSG_REPORT) {
		exchange_measure(exchange, id);
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

/* Its place in the window is free when it is answered, or nothing of it is under way. */
static void exchange_release(struct exchange *exchange)
{
	if (!exchange->under_way || (exchange->state == EXCHANGE_SENT && exchange->copies > 0))
		return;
	exchange->under_way = false;
	exchange->peer->under_way--;
}

/* All copies of this try were in vain. */
static void exchange_lost(struct exchange *exchange)
{
	struct snmp_peer *peer = exchange->peer;

	if (exchange->state == EXCHANGE_SENT)
		exchange->state = EXCHANGE_AGAIN;
	exchange->failure = E_TIMEOUT;
	peer->requests += exchange->copied - 1;
	/* One that is lost among answers says nothing of the agent's load. */
	if (peer->answered_ms < exchange->sent_ms)
		peer->window = 1;
}

static int exchange_on_netsnmp(int operation, netsnmp_session *handle, int id, netsnmp_pdu *pdu,
			       void *magic)
{
	struct exchange *exchange = magic;

	(void)handle;
	switch (operation) {
	case NETSNMP_CALLBACK_OP_RECEIVED_MESSAGE:
		on_message(exchange, pdu, id);
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
	default: /* no answer; or the route to it is gone, which is as good, and perhaps back soon
		  */
		if (exchange->copies == 1)
			exchange_lost(exchange);
		break;
	}
	exchange->copies -= exchange->copies > 0;
	exchange_release(exchange);
	return 1;
}

/* --- sending --- */

void exchange_fail(struct exchange *exchange, int rc)
{
	struct snmp_answer answer = {.rc = rc};

	snmp_exchange_publish(exchange, &answer);
}

/* A reading asks for nothing twice that must not be done twice. */
static bool may_copy(const struct exchange *exchange)
{
	return !exchange->probe && !exchange->once && exchange->pdu->command != SNMP_MSG_SET &&
	       exchange->copied < COPY_LIMIT;
}

void exchange_copy(struct snmp_peer *peer, struct exchange *exchange)
{
	int64_t now_ms = clock_monotonic_ms();
	int64_t left_ms = exchange->expires_ms - now_ms;
	int64_t overdue_ms = (int64_t)peer_overdue_ms(peer) << exchange->copied;
	netsnmp_session *handle = snmp_sess_session(peer->handle);
	netsnmp_pdu *pdu;
	unsigned held;

	/* Its answer was lost twice: it may be too large for what lies between. */
	if (exchange->sends >= 2 && exchange->pdu->command == SNMP_MSG_GETBULK &&
	    exchange->pdu->max_repetitions > 1)
		exchange->pdu->max_repetitions /= 2;
	pdu = exchange->probe ? exchange->pdu : snmp_clone_pdu(exchange->pdu);
	if (!pdu) {
		exchange_fail(exchange, E_LIMIT);
		return;
	}
	pdu->reqid = snmp_get_next_reqid();
	pdu->msgid = snmp_get_next_msgid();
	handle->timeout = (long)(left_ms > 1 ? left_ms : 1) * 1000;
	handle->s_snmp_errno = 0;
	exchange->ids[exchange->copied] = (int)pdu->reqid;
	exchange->copied_ms[exchange->copied++] = now_ms;
	exchange->early_ms =
		may_copy(exchange) && overdue_ms && overdue_ms < left_ms ? now_ms + overdue_ms : 0;
	if (exchange->probe)
		exchange->pdu = NULL;
	exchange->sends++;
	held = ++exchange->copies;
	peer->requests += exchange->copied == 1;
	if (!exchange->under_way) {
		exchange->under_way = true;
		peer->under_way++;
	}
	if (!exchange->probe)
		snmp_engine_take(peer);
	if (snmp_sess_async_send(peer->handle, pdu, exchange_on_netsnmp, exchange))
		return;
	snmp_free_pdu(pdu);
	/* It was told to on_netsnmp, but for an encoding that failed for want of room. */
	if (exchange->copies == held) {
		exchange->copies--;
		exchange_release(exchange);
	}
	if (handle->s_snmp_errno == SNMPERR_BAD_SENDTO) {
		/* No route now: the time-out runs all the same, so that this is no busy loop. */
		exchange->state = EXCHANGE_SENT;
		return;
	}
	exchange_fail(exchange, exchange->failure == E_AUTHENTICATION ? E_AUTHENTICATION : E_LIMIT);
}

void exchange_send(struct snmp_peer *peer, struct exchange *exchange)
{
	if (!fence_holds(exchange->fence)) {
		exchange_fail(exchange, E_LAPSED);
		return;
	}
	exchange->sent_ms = clock_monotonic_ms();
	exchange->expires_ms = exchange->sent_ms + exchange->timeout_ms;
	exchange->tries++;
	exchange->copied = 0;
	exchange->report = 0;
	exchange->state = EXCHANGE_SENT;
	exchange_copy(peer, exchange);
}
