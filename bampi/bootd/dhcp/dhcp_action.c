/* What is done about a decision: replies, offers, leases, what is told. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "bampi/bootd/dhcp/dhcp_private.h"
#include "bampi/bootd/dhcp/reply_policy.h"
#include "bampi/bootd/identify/target_policy.h"

#define OFFER_NODE_MS  40000 /* EDK2 collects offers for up to 32 s before it asks for one */
#define OFFER_OTHER_MS 5000  /* a flood of made-up MACs must not hold a pool for long */

/* An ACK that waits for its commit. */
struct waiting_ack {
	struct dhcp_departure departure;
	struct dhcp_client who;
	size_t size;
	uint8_t data[];
};

static struct binding_key dhcp_action_key_of(const struct handling *handling)
{
	return (struct binding_key){handling->who.mac, handling->subnet->id};
}

/* How long nobody else gets the address that a client leaves: its row may be confirmed while its
 * timer runs, for one more lease time. */
static int64_t left_until_s(const struct dhcp *dhcp, const struct handling *handling)
{
	const struct lease *bound = handling->facts.choice.bound;
	const struct inventory_subnet *left =
		bound ? inventory_subnet_by_id(dhcp->options.inventory, bound->subnet_id) : NULL;
	int64_t now_s = handling->facts.now_s;

	if (!left)
		return now_s;
	return (bound->expires_at > now_s ? bound->expires_at : now_s) + left->lease_s;
}

/* Builds the reply into dhcp->reply and its bytes into `data`. */
static size_t build_reply(struct dhcp *dhcp, const struct handling *handling, enum dhcp_type type,
			  uint8_t data[DHCP_PACKET_MAX])
{
	struct reply_facts facts = {
		.type = type,
		.address = handling->decision.verdict == VERDICT_INFORM
				   ? 0
				   : handling->decision.address,
		.subnet = handling->subnet,
		.server = handling->facts.server,
		.answer = {.client = handling->who.kind,
			   .family = client_family(&dhcp->request),
			   .boot_file = handling->boot_file,
			   .node = handling->node != NULL,
			   .secure_boot =
				   handling->node && handling->node->secure_boot != SECURE_BOOT_OFF,
			   .disk = target_policy(handling->node).target == BOOT_TARGET_DISK,
			   .mac = handling->who.mac,
			   .server = handling->subnet->boot_server,
			   .http_port = dhcp->options.http_port,
			   .https_port = dhcp->options.https_port},
		.message = type == DHCP_NAK ? dhcp_reason_text(handling->decision.reason) : NULL,
	};
	size_t size = 0;

	(void)reply_build(&dhcp->request, &facts, &dhcp->reply);
	if (dhcp_encode(&dhcp->reply, data, reply_room(&dhcp->request), &size)) {
		dhcp->counters.reply_too_large++;
		return 0;
	}
	return size;
}

static struct dhcp_departure departure_of(const struct dhcp *dhcp, const struct handling *handling)
{
	const struct dhcp_arrival *arrival = handling->arrival;
	struct reply_target target = reply_target(&dhcp->request, &dhcp->reply);

	if (arrival->port == DHCP_PXE_PORT) /* a plain question: back to where it came from */
		target = (struct reply_target){arrival->source, arrival->source_port, false};
	return (struct dhcp_departure){
		.interface = arrival->interface,
		.local = arrival->local,
		.target = target.address,
		.port = target.port,
		.local_port = arrival->port,
		.to_mac = target.to_mac,
		.mac = handling->who.mac,
	};
}

static void dhcp_action_send_reply(struct dhcp *dhcp, const struct handling *handling,
				   enum dhcp_type type)
{
	uint8_t data[DHCP_PACKET_MAX];
	size_t size = build_reply(dhcp, handling, type, data);
	struct dhcp_departure departure;

	if (size == 0)
		return;
	departure = departure_of(dhcp, handling);
	(void)dhcp_server_send(dhcp->server, &departure, data, size);
}

static void do_silence(struct dhcp *dhcp, struct handling *handling)
{
	enum dhcp_reason reason = handling->decision.reason;

	dhcp->counters.silent[reason]++;
	if (reason == REASON_OTHER_SERVER)
		binding_offer_over(&dhcp->bindings, dhcp_action_key_of(handling));
	dhcp_report_silence(dhcp->report, &handling->who, handling->subnet, reason,
			    handling->facts.choice.refusal);
}

static void do_offer(struct dhcp *dhcp, struct handling *handling)
{
	const struct lease *bound = handling->facts.choice.bound;
	uint32_t address = handling->decision.address;
	int64_t held_ms = handling->node ? OFFER_NODE_MS : OFFER_OTHER_MS;

	if (!bound || bound->address != address)
		binding_offer(&dhcp->bindings, dhcp_action_key_of(handling), address,
			      loop_now_ms(dhcp->loop) + held_ms);
	dhcp_action_send_reply(dhcp, handling, DHCP_OFFER);
	dhcp->counters.offers++;
	dhcp_report_offer(dhcp->report, &handling->who, address);
}

static void dhcp_action_renew(struct dhcp *dhcp, const struct handling *handling,
			      struct lease *lease)
{
	binding_renew(&dhcp->bindings, lease, handling->who.text,
		      dhcp_wall_s() + handling->subnet->lease_s);
}

static void do_ack(struct dhcp *dhcp, struct handling *handling)
{
	dhcp_action_renew(dhcp, handling, handling->facts.choice.bound);
	dhcp_action_send_reply(dhcp, handling, DHCP_ACK);
	dhcp->counters.acks++;
	dhcp_report_ack(dhcp->report, &handling->who, handling->decision.address, false);
}

static void do_ack_committed(struct dhcp *dhcp, struct handling *handling)
{
	uint8_t data[DHCP_PACKET_MAX];
	size_t size = build_reply(dhcp, handling, DHCP_ACK, data);
	struct waiting_ack *ack = size > 0 ? malloc(sizeof(*ack) + size) : NULL;
	struct lease *lease =
		ack ? binding_make(&dhcp->bindings, dhcp_action_key_of(handling),
				   &handling->facts.choice, left_until_s(dhcp, handling))
		    : NULL;

	if (!lease) {
		free(ack);
		return;
	}
	ack->departure = departure_of(dhcp, handling);
	ack->who = handling->who;
	ack->size = size;
	memcpy(ack->data, data, size);
	free(lease->waiter); /* the client asked again meanwhile: it waits for this one now */
	lease->waiter = ack;
	dhcp_action_renew(dhcp, handling, lease);
}

/* The database gave the address to another while this client waited: it starts again at once. The
 * ACK that it does not get holds all that a NAK needs. */
static void send_refusal(struct dhcp *dhcp, const struct waiting_ack *ack)
{
	struct reply_facts facts = {.type = DHCP_NAK,
				    .message = dhcp_reason_text(REASON_WRONG_ADDRESS)};
	struct dhcp_departure departure = ack->departure;
	uint8_t data[DHCP_PACKET_MAX];
	size_t size = 0;

	if (dhcp_decode(ack->data, ack->size, &dhcp->request))
		return;
	facts.server = dhcp_option_address(&dhcp->request, DHCP_OPTION_SERVER_ID);
	dhcp->request.ciaddr = 0;
	(void)reply_build(&dhcp->request, &facts, &dhcp->reply);
	if (dhcp_encode(&dhcp->reply, data, sizeof(data), &size))
		return;
	if (!dhcp->request.giaddr) {
		struct reply_target target = reply_target(&dhcp->request, &dhcp->reply);

		departure.target = target.address;
		departure.port = target.port;
		departure.to_mac = target.to_mac;
	}
	(void)dhcp_server_send(dhcp->server, &departure, data, size);
	dhcp->counters.naks++;
}

void dhcp_committed(void *context, struct lease *lease, void *waiter, int rc)
{
	struct dhcp *dhcp = context;
	struct waiting_ack *ack = waiter;

	if (rc == 0) {
		(void)dhcp_server_send(dhcp->server, &ack->departure, ack->data, ack->size);
		dhcp->counters.acks_committed++;
		binding_offer_over(&dhcp->bindings,
				   (struct binding_key){lease->mac, lease->subnet_id});
		dhcp_report_ack(dhcp->report, &ack->who, lease->address, true);
	} else if (rc == E_CONFLICT) {
		dhcp->counters.conflicts++;
		binding_offer_over(&dhcp->bindings,
				   (struct binding_key){lease->mac, lease->subnet_id});
		send_refusal(dhcp, ack);
		dhcp_report_conflict(dhcp->report, &ack->who, lease->address);
	}
	free(ack);
}

static void do_nak(struct dhcp *dhcp, struct handling *handling)
{
	dhcp_action_send_reply(dhcp, handling, DHCP_NAK);
	dhcp->counters.naks++;
	dhcp_report_nak(dhcp->report, &handling->who, dhcp_claimed_address(&dhcp->request),
			handling->decision.reason);
}

static void do_inform(struct dhcp *dhcp, struct handling *handling)
{
	dhcp_action_send_reply(dhcp, handling, DHCP_ACK);
	dhcp->counters.informs++;
}

static void do_quarantine(struct dhcp *dhcp, struct handling *handling)
{
	if (!binding_quarantine(&dhcp->bindings, handling->facts.choice.bound,
				dhcp_wall_s() + dhcp->options.quarantine_s))
		return;
	dhcp->counters.quarantined++;
	dhcp_report_decline(dhcp->report, &handling->who, handling->decision.address);
}

/* The client is done with its address for now; the binding stays, and its timer too: another server
 * may just have promised it. */
static void do_release(struct dhcp *dhcp, struct handling *handling)
{
	(void)handling;
	dhcp->counters.released++;
}

static void (*const dhcp_action_actions[])(struct dhcp *, struct handling *) = {
	[VERDICT_SILENCE] = do_silence,
	[VERDICT_OFFER] = do_offer,
	[VERDICT_ACK] = do_ack,
	[VERDICT_ACK_COMMITTED] = do_ack_committed,
	[VERDICT_NAK] = do_nak,
	[VERDICT_INFORM] = do_inform,
	[VERDICT_QUARANTINE] = do_quarantine,
	[VERDICT_RELEASE] = do_release,
};

void dhcp_act(struct dhcp *dhcp, struct handling *handling)
{
	dhcp_action_actions[handling->decision.verdict](dhcp, handling);
}

void dhcp_act_pxe(struct dhcp *dhcp, struct handling *handling)
{
	enum dhcp_type type = dhcp_type(&dhcp->request);

	dhcp->counters.pxe_requests++;
	if (!handling->node || !handling->link || !handling->facts.ready ||
	    (type != DHCP_REQUEST && type != DHCP_INFORM))
		return;
	handling->decision = (struct dhcp_decision){.verdict = VERDICT_INFORM};
	dhcp_action_send_reply(dhcp, handling, DHCP_ACK);
}
