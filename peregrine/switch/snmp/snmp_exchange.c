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

static int exchange_on_netsnmp(int operation, netsnmp_session *handle, int id, netsnmp_pdu *pdu,
			       void *magic)
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

/* --- sending --- */

void exchange_fail(struct exchange *exchange, int rc)
{
	struct snmp_answer answer = {.rc = rc};

	snmp_exchange_publish(exchange, &answer);
}

void exchange_send(struct snmp_peer *peer, struct exchange *exchange)
{
	netsnmp_pdu *pdu = exchange->probe ? exchange->pdu : snmp_clone_pdu(exchange->pdu);
	netsnmp_session *handle = snmp_sess_session(peer->handle);

	if (!pdu) {
		exchange_fail(exchange, E_LIMIT);
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
	if (!exchange->probe)
		snmp_engine_take(peer);
	if (snmp_sess_async_send(peer->handle, pdu, exchange_on_netsnmp, exchange))
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
	exchange_fail(exchange, exchange->failure == E_AUTHENTICATION ? E_AUTHENTICATION : E_LIMIT);
}
