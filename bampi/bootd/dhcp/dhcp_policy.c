#include "bampi/bootd/dhcp/dhcp_policy.h"

#include "common/base/enum_text.h"

static const char *const reason_words[DHCP_REASONS] = {
	[REASON_OK] = "ok",
	[REASON_NOT_READY] = "not ready",
	[REASON_NO_SUBNET] = "no subnet",
	[REASON_UNKNOWN_CLIENT] = "unknown client",
	[REASON_NO_ADDRESS] = "no address",
	[REASON_DATABASE_AWAY] = "database away",
	[REASON_OTHER_SERVER] = "other server",
	[REASON_WRONG_NETWORK] = "wrong network",
	[REASON_WRONG_ADDRESS] = "wrong address",
	[REASON_NO_BINDING] = "no binding",
	[REASON_MALFORMED] = "malformed",
	[REASON_CONFLICT] = "conflict",
	[REASON_NOT_FOR_SERVERS] = "not for servers",
	[REASON_RELAY_LOOP] = "relay loop",
	[REASON_UNKNOWN_RELAY] = "unknown relay",
	[REASON_FORGED_RELAY] = "forged relay",
	[REASON_CLIENT_RATE] = "client rate",
	[REASON_RELAY_RATE] = "relay rate",
};

typedef struct dhcp_decision (*decide_fn)(const struct dhcp_message *, const struct dhcp_facts *);

const char *dhcp_reason_text(enum dhcp_reason reason)
{
	return enum_text(reason_words, COUNT_OF(reason_words), (int)reason);
}

uint32_t dhcp_claimed_address(const struct dhcp_message *request)
{
	return request->ciaddr ? request->ciaddr
			       : dhcp_option_address(request, DHCP_OPTION_REQUESTED_ADDRESS);
}

static struct dhcp_decision dhcp_policy_silence(enum dhcp_reason reason)
{
	return (struct dhcp_decision){VERDICT_SILENCE, reason, 0};
}

static struct dhcp_decision dhcp_policy_nak(enum dhcp_reason reason)
{
	return (struct dhcp_decision){VERDICT_NAK, reason, 0};
}

/* The binding is, or was, in PostgreSQL. */
static bool is_bound(const struct dhcp_facts *facts, uint32_t address)
{
	const struct lease *bound = facts->choice.bound;

	return bound && bound->committed && bound->address == address;
}

/* From memory: while the row's own timer runs no other server gives the address away (see
 * is_spent). After that the row is asked; when the database is away only for who has an identity,
 * because its address is given to nobody else. */
static bool may_confirm(const struct dhcp_facts *facts, uint32_t address)
{
	return is_bound(facts, address) && (facts->now_s < facts->choice.bound->sure_until ||
					    (facts->known && !facts->database));
}

/* ACK for the chosen address: at once when it is bound already, else after the commit. */
static struct dhcp_decision dhcp_policy_acknowledge(const struct dhcp_facts *facts)
{
	uint32_t address = facts->choice.address;

	if (may_confirm(facts, address))
		return (struct dhcp_decision){VERDICT_ACK, REASON_OK, address};
	if (!facts->database)
		return dhcp_policy_silence(REASON_DATABASE_AWAY);
	return (struct dhcp_decision){VERDICT_ACK_COMMITTED, REASON_OK, address};
}

static struct dhcp_decision on_discover(const struct dhcp_message *request,
					const struct dhcp_facts *facts)
{
	(void)request;
	if (facts->choice.source == ADDRESS_NONE)
		return dhcp_policy_silence(facts->choice.refusal == ADDRESS_STRANGER
						   ? REASON_UNKNOWN_CLIENT
						   : REASON_NO_ADDRESS);
	/* An offer that could not be kept would make the client wait for its ACK instead of another
	 * server. */
	if (!facts->database && !may_confirm(facts, facts->choice.address))
		return dhcp_policy_silence(REASON_DATABASE_AWAY);
	return (struct dhcp_decision){VERDICT_OFFER, REASON_OK, facts->choice.address};
}

/* 4.3.2 SELECTING: the answer to an OFFER. */
static struct dhcp_decision on_selecting(const struct dhcp_message *request,
					 const struct dhcp_facts *facts)
{
	uint32_t requested = dhcp_option_address(request, DHCP_OPTION_REQUESTED_ADDRESS);

	if (dhcp_option_address(request, DHCP_OPTION_SERVER_ID) != facts->server)
		return dhcp_policy_silence(REASON_OTHER_SERVER);
	if (!requested || request->ciaddr)
		return dhcp_policy_silence(REASON_MALFORMED);
	if (facts->choice.source == ADDRESS_NONE || facts->choice.address != requested)
		return dhcp_policy_nak(REASON_WRONG_ADDRESS);
	return dhcp_policy_acknowledge(facts);
}

/* 4.3.2 INIT-REBOOT, RENEWING and REBINDING: the client says which address it believes to have. */
static struct dhcp_decision on_confirming(const struct dhcp_message *request,
					  const struct dhcp_facts *facts)
{
	uint32_t claimed = dhcp_claimed_address(request);

	if (!claimed)
		return dhcp_policy_silence(REASON_MALFORMED);
	if (!facts->on_link)
		return dhcp_policy_nak(REASON_WRONG_NETWORK);
	/* "If the DHCP server has no record of this client, then it MUST remain silent." A
	 * reservation is a record; what a pool would give is not, as another server may have bound
	 * the client a moment ago. */
	if (!facts->choice.bound && facts->choice.source != ADDRESS_RESERVED &&
	    !(facts->known && facts->choice.address == claimed))
		return dhcp_policy_silence(REASON_NO_BINDING);
	if (facts->choice.source == ADDRESS_NONE || facts->choice.address != claimed)
		return dhcp_policy_nak(REASON_WRONG_ADDRESS);
	return dhcp_policy_acknowledge(facts);
}

static struct dhcp_decision dhcp_policy_on_request(const struct dhcp_message *request,
						   const struct dhcp_facts *facts)
{
	return dhcp_option_address(request, DHCP_OPTION_SERVER_ID) ? on_selecting(request, facts)
								   : on_confirming(request, facts);
}

/* The address that the client found in use, if it had it from us. */
static struct dhcp_decision on_decline(const struct dhcp_message *request,
				       const struct dhcp_facts *facts)
{
	uint32_t address = dhcp_option_address(request, DHCP_OPTION_REQUESTED_ADDRESS);

	if (dhcp_option_address(request, DHCP_OPTION_SERVER_ID) != facts->server)
		return dhcp_policy_silence(REASON_OTHER_SERVER);
	if (!address || !is_bound(facts, address))
		return dhcp_policy_silence(REASON_NO_BINDING);
	return (struct dhcp_decision){VERDICT_QUARANTINE, REASON_OK, address};
}

static struct dhcp_decision on_release(const struct dhcp_message *request,
				       const struct dhcp_facts *facts)
{
	if (!request->ciaddr || !is_bound(facts, request->ciaddr))
		return dhcp_policy_silence(REASON_NO_BINDING);
	return (struct dhcp_decision){VERDICT_RELEASE, REASON_OK, request->ciaddr};
}

static struct dhcp_decision on_inform(const struct dhcp_message *request,
				      const struct dhcp_facts *facts)
{
	(void)facts;
	if (!request->ciaddr)
		return dhcp_policy_silence(REASON_MALFORMED);
	return (struct dhcp_decision){VERDICT_INFORM, REASON_OK, request->ciaddr};
}

static struct dhcp_decision on_foreign(const struct dhcp_message *request,
				       const struct dhcp_facts *facts)
{
	(void)request;
	(void)facts;
	return dhcp_policy_silence(REASON_NOT_FOR_SERVERS);
}

static struct dhcp_decision on_nothing(const struct dhcp_message *request,
				       const struct dhcp_facts *facts)
{
	(void)request;
	(void)facts;
	return dhcp_policy_silence(REASON_MALFORMED);
}

static const decide_fn by_type[DHCP_TYPES] = {
	[DHCP_NO_TYPE] = on_nothing, /* BOOTP */
	[DHCP_DISCOVER] = on_discover,
	[DHCP_OFFER] = on_foreign,
	[DHCP_REQUEST] = dhcp_policy_on_request,
	[DHCP_DECLINE] = on_decline,
	[DHCP_ACK] = on_foreign,
	[DHCP_NAK] = on_foreign,
	[DHCP_RELEASE] = on_release,
	[DHCP_INFORM] = on_inform,
};

struct dhcp_decision dhcp_policy(const struct dhcp_message *request, const struct dhcp_facts *facts)
{
	if (!facts->ready)
		return dhcp_policy_silence(REASON_NOT_READY);
	if (!facts->subnet)
		return dhcp_policy_silence(REASON_NO_SUBNET);
	if (facts->conflict)
		return dhcp_policy_silence(REASON_CONFLICT);
	if (facts->choice.refusal == ADDRESS_STRANGER)
		return dhcp_policy_silence(REASON_UNKNOWN_CLIENT);
	return by_type[dhcp_type(request)](request, facts);
}
