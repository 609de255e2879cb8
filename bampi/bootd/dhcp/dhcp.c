#include "bampi/bootd/dhcp/dhcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "bampi/bootd/dhcp/binding.h"
#include "bampi/bootd/dhcp/dhcp_counters.h"
#include "bampi/bootd/dhcp/dhcp_policy.h"
#include "bampi/bootd/dhcp/dhcp_report.h"
#include "bampi/bootd/dhcp/dhcp_server.h"
#include "bampi/bootd/dhcp/lease_store.h"
#include "bampi/bootd/dhcp/reply_policy.h"
#include "bampi/bootd/dhcp/subnet_policy.h"
#include "bampi/bootd/dhcp/throttle.h"

#define OFFER_NODE_MS  40000 /* EDK2 collects offers for up to 32 s before it asks for one */
#define OFFER_OTHER_MS 5000  /* a flood of made-up MACs must not hold a pool for long */
#define OFFERS_MAX     16384
#define OFFER_SWEEP_MS 10000
#define SEARCH_GAP_MS  1000 /* between two searches of an exhausted pool */
#define EXHAUSTED_MAX  16
#define SUBJECT        "dhcp"

struct exhausted_pool {
	int64_t subnet_id;
	int64_t until_ms;
};

struct dhcp {
	struct loop *loop;
	struct dhcp_options options;
	struct dhcp_server *server;
	struct bindings bindings;
	struct dhcp_report *report;
	struct loop_timer *sweep;
	struct throttle throttle;
	struct exhausted_pool exhausted[EXHAUSTED_MAX];
	size_t exhausted_next;
	int64_t started_ms;
	struct dhcp_counters counters;
	/* Kept here because they are large and one packet is handled at a time. */
	struct dhcp_message request, reply;
};

/* An ACK that waits for its commit. */
struct waiting_ack {
	struct dhcp_departure departure;
	struct dhcp_client who;
	size_t size;
	uint8_t data[];
};

/* One request on its way through the policies. */
struct handling {
	const struct dhcp_arrival *arrival;
	struct dhcp_client who;
	const struct inventory_node *node;
	const struct inventory_subnet *subnet;
	struct identity identity;
	uint32_t server; /* option 54 */
	struct dhcp_facts facts;
	struct dhcp_decision decision;
};

static struct binding_key key_of(const struct handling *handling)
{
	return (struct binding_key){handling->who.mac, handling->subnet->id};
}

static int64_t wall_s(void)
{
	return clock_wall_us() / 1000000;
}

static bool search_in_vain(const struct dhcp *dhcp, int64_t subnet_id)
{
	for (size_t i = 0; i < EXHAUSTED_MAX; i++) {
		if (dhcp->exhausted[i].subnet_id == subnet_id &&
		    dhcp->exhausted[i].until_ms > loop_now_ms(dhcp->loop))
			return true;
	}
	return false;
}

static void remember_exhausted(struct dhcp *dhcp, int64_t subnet_id)
{
	dhcp->exhausted[dhcp->exhausted_next] =
		(struct exhausted_pool){subnet_id, loop_now_ms(dhcp->loop) + SEARCH_GAP_MS};
	dhcp->exhausted_next = (dhcp->exhausted_next + 1) % EXHAUSTED_MAX;
}

static void gather_facts(struct dhcp *dhcp, struct handling *handling)
{
	const struct inventory *inventory = dhcp->options.inventory;
	const struct inventory_subnet *subnet = handling->subnet;
	int64_t now_ms = loop_now_ms(dhcp->loop);
	struct address_facts facts = {
		.inventory = inventory,
		.subnet = subnet,
		.leases = dhcp->bindings.leases,
		.offers = dhcp->bindings.offers,
		.cable = identities_cable(dhcp->options.identities),
		.mac = handling->who.mac,
		.located = handling->identity.place.port[0] != '\0',
		.port_address = handling->identity.address,
		.requested = dhcp_claimed_address(&dhcp->request),
		.now_s = wall_s(),
		.now_ms = now_ms,
	};
	bool known = handling->node != NULL;

	handling->facts = (struct dhcp_facts){
		.ready = inventory_ready(inventory) && lease_store_ready(dhcp->bindings.store),
		.database = lease_store_connected(dhcp->bindings.store),
		.subnet = subnet,
		.server = handling->server,
	};
	if (!subnet || !handling->facts.ready)
		return;
	known = known || inventory_reservation(inventory, subnet->id, handling->who.mac) != 0 ||
		(handling->identity.address &&
		 ipv4_in_prefix(handling->identity.address, subnet->prefix));
	handling->facts.known = known;
	handling->facts.conflict = handling->identity.decision.answer == IDENTITY_ANSWER_NOTHING;
	if (handling->facts.conflict)
		return; /* it gets nothing, so nothing is searched for it */
	if (subnet->reserved_only && !known)
		return; /* it gets nothing, so nothing is searched for it */

	facts.may_reclaim = now_ms - dhcp->started_ms >= (int64_t)subnet->lease_s * 1000;
	facts.exhausted = search_in_vain(dhcp, subnet->id);
	handling->facts.choice = address_policy(&facts);
	if (handling->facts.choice.refusal == ADDRESS_EXHAUSTED && !facts.exhausted)
		remember_exhausted(dhcp, subnet->id);
	if (handling->facts.choice.port_taken) {
		identity_taken(dhcp->options.identities, &handling->identity,
			       handling->facts.choice.holder);
		handling->facts.conflict = true;
	}
}

/* Who asks, by all that it claims. A BMC may share the cable of its node, and says no UUID of its
 * own: it is known by its MAC alone. */
static void conclude(struct dhcp *dhcp, struct handling *handling)
{
	const struct dhcp_message *request = &dhcp->request;
	struct identity_evidence evidence = {.mac = handling->who.mac, .relay = request->giaddr};

	handling->node = inventory_by_mac(dhcp->options.inventory, handling->who.mac);
	handling->identity.decision.answer = IDENTITY_ANSWER_NODE;
	if (handling->subnet && handling->who.kind != CLIENT_BMC &&
	    inventory_ready(dhcp->options.inventory)) {
		evidence.sample.circuit = dhcp_relay_option(request, DHCP_RELAY_CIRCUIT_ID,
							    &evidence.sample.circuit_size);
		evidence.sample.remote = dhcp_relay_option(request, DHCP_RELAY_REMOTE_ID,
							   &evidence.sample.remote_size);
		evidence.uuid = dhcp_option(request, DHCP_OPTION_UUID, &evidence.uuid_size);
		identify(dhcp->options.identities, &evidence, &handling->identity);
		handling->node = handling->identity.node;
		dhcp->counters.identities[handling->identity.decision.outcome]++;
	}
	handling->who.node_id = handling->node ? handling->node->id : 0;
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
		.server = handling->server,
		.answer = {.client = handling->who.kind,
			   .node = handling->node != NULL,
			   .mac = handling->who.mac,
			   .server = handling->subnet->boot_server,
			   .http_port = dhcp->options.http_port},
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

static void send_reply(struct dhcp *dhcp, const struct handling *handling, enum dhcp_type type)
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
		binding_offer_over(&dhcp->bindings, key_of(handling));
	dhcp_report_silence(dhcp->report, &handling->who, handling->subnet, reason,
			    handling->facts.choice.refusal);
}

static void do_offer(struct dhcp *dhcp, struct handling *handling)
{
	const struct lease *bound = handling->facts.choice.bound;
	uint32_t address = handling->decision.address;
	int64_t held_ms = handling->node ? OFFER_NODE_MS : OFFER_OTHER_MS;

	if (!bound || bound->address != address)
		binding_offer(&dhcp->bindings, key_of(handling), address,
			      loop_now_ms(dhcp->loop) + held_ms);
	send_reply(dhcp, handling, DHCP_OFFER);
	dhcp->counters.offers++;
	dhcp_report_offer(dhcp->report, &handling->who, address);
}

static void renew(struct dhcp *dhcp, const struct handling *handling, struct lease *lease)
{
	binding_renew(&dhcp->bindings, lease, handling->who.text,
		      wall_s() + handling->subnet->lease_s);
}

static void do_ack(struct dhcp *dhcp, struct handling *handling)
{
	renew(dhcp, handling, handling->facts.choice.bound);
	send_reply(dhcp, handling, DHCP_ACK);
	dhcp->counters.acks++;
	dhcp_report_ack(dhcp->report, &handling->who, handling->decision.address, false);
}

static void do_ack_committed(struct dhcp *dhcp, struct handling *handling)
{
	uint8_t data[DHCP_PACKET_MAX];
	size_t size = build_reply(dhcp, handling, DHCP_ACK, data);
	struct waiting_ack *ack = size > 0 ? malloc(sizeof(*ack) + size) : NULL;
	struct lease *lease =
		ack ? binding_make(&dhcp->bindings, key_of(handling), &handling->facts.choice)
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
	renew(dhcp, handling, lease);
}

static void on_commit(void *context, struct lease *lease, void *waiter, int rc)
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
		dhcp_report_conflict(dhcp->report, &ack->who, lease->address);
	}
	free(ack);
}

static void do_nak(struct dhcp *dhcp, struct handling *handling)
{
	send_reply(dhcp, handling, DHCP_NAK);
	dhcp->counters.naks++;
	dhcp_report_nak(dhcp->report, &handling->who, dhcp_claimed_address(&dhcp->request),
			handling->decision.reason);
}

static void do_inform(struct dhcp *dhcp, struct handling *handling)
{
	send_reply(dhcp, handling, DHCP_ACK);
	dhcp->counters.informs++;
}

static void do_quarantine(struct dhcp *dhcp, struct handling *handling)
{
	if (!binding_quarantine(&dhcp->bindings, handling->facts.choice.bound,
				wall_s() + dhcp->options.quarantine_s))
		return;
	dhcp->counters.quarantined++;
	dhcp_report_decline(dhcp->report, &handling->who, handling->decision.address);
}

static void do_release(struct dhcp *dhcp, struct handling *handling)
{
	struct lease *lease = handling->facts.choice.bound;

	lease->expires_at = wall_s();
	lease_store_put(dhcp->bindings.store, lease);
	dhcp->counters.released++;
}

static void (*const actions[])(struct dhcp *, struct handling *) = {
	[VERDICT_SILENCE] = do_silence,
	[VERDICT_OFFER] = do_offer,
	[VERDICT_ACK] = do_ack,
	[VERDICT_ACK_COMMITTED] = do_ack_committed,
	[VERDICT_NAK] = do_nak,
	[VERDICT_INFORM] = do_inform,
	[VERDICT_QUARANTINE] = do_quarantine,
	[VERDICT_RELEASE] = do_release,
};

/* Port 4011: firmware that has an address asks which file to boot (PXE 2.1, 2.2.5). */
static void on_pxe(struct dhcp *dhcp, struct handling *handling)
{
	dhcp->counters.pxe_requests++;
	if (!handling->node || !handling->subnet || !handling->facts.ready ||
	    (dhcp_type(&dhcp->request) != DHCP_REQUEST && dhcp_type(&dhcp->request) != DHCP_INFORM))
		return;
	handling->decision = (struct dhcp_decision){.verdict = VERDICT_INFORM};
	send_reply(dhcp, handling, DHCP_ACK);
}

static void on_packet(void *context, const struct dhcp_arrival *arrival)
{
	struct dhcp *dhcp = context;
	struct dhcp_message *request = &dhcp->request;
	struct handling handling = {.arrival = arrival};

	if (dhcp_decode(arrival->data, arrival->size, request) || request->op != DHCP_OP_REQUEST ||
	    !dhcp_client_mac(request, &handling.who.mac)) {
		dhcp->counters.malformed++;
		return;
	}
	dhcp->counters.received[dhcp_type(request)]++;
	if (!throttle_allows(&dhcp->throttle, handling.who.mac, loop_now_ms(dhcp->loop))) {
		dhcp->counters.throttled++;
		return;
	}

	handling.who.kind = client_policy(request);
	(void)dhcp_option_text(request, DHCP_OPTION_VENDOR_CLASS, handling.who.text,
			       sizeof(handling.who.text));
	handling.subnet = subnet_policy(dhcp->options.inventory, request, arrival->local);
	if (handling.subnet) {
		/* A relay may stand in for us (RFC 5107): then the client's unicasts pass it too.
		 */
		handling.server = dhcp_relay_address(request, DHCP_RELAY_SERVER_ID);
		if (!handling.server)
			handling.server = handling.subnet->boot_server;
	}
	conclude(dhcp, &handling);
	gather_facts(dhcp, &handling);
	dhcp_report_identity(dhcp->report, &handling.identity);
	if (arrival->port == DHCP_PXE_PORT) {
		on_pxe(dhcp, &handling);
		return;
	}
	handling.decision = dhcp_policy(request, &handling.facts);
	actions[handling.decision.verdict](dhcp, &handling);
}

/* One commit for what one burst brought. */
static void on_burst(void *context)
{
	struct dhcp *dhcp = context;

	lease_store_flush(dhcp->bindings.store);
}

static void on_batch(void *context)
{
	struct dhcp *dhcp = context;

	dhcp_server_flush(dhcp->server);
}

static void on_state(void *context, bool connected)
{
	struct dhcp *dhcp = context;

	dhcp_report_database(dhcp->report, connected);
}

static void on_sweep(void *context)
{
	struct dhcp *dhcp = context;

	binding_sweep_offers(&dhcp->bindings, loop_now_ms(dhcp->loop));
	loop_timer_arm(dhcp->sweep, OFFER_SWEEP_MS);
}

static bool mac_of(void *context, uint32_t address, struct mac *ret)
{
	const struct dhcp *dhcp = context;
	const struct lease *lease = lease_by_address(dhcp->bindings.leases, address);

	if (!lease || lease->state != LEASE_BOUND || !lease->committed)
		return false;
	*ret = lease->mac;
	return true;
}

void dhcp_notified(struct dhcp *dhcp, const char *channel)
{
	if (strcmp(channel, "address") == 0)
		lease_store_reload(dhcp->bindings.store);
}

bool dhcp_flush(struct dhcp *dhcp)
{
	lease_store_flush(dhcp->bindings.store);
	dhcp_report_flush(dhcp->report);
	return lease_store_idle(dhcp->bindings.store) ||
	       !lease_store_connected(dhcp->bindings.store);
}

const struct metric_row *dhcp_metric_rows(size_t *ret_count)
{
	*ret_count = dhcp_counter_row_count;
	return dhcp_counter_rows;
}

const void *dhcp_metric_values(struct dhcp *dhcp)
{
	struct dhcp_counters *counters = &dhcp->counters;

	counters->leases = lease_table_count(dhcp->bindings.leases);
	counters->lease_bytes = lease_table_size(dhcp->bindings.leases);
	counters->offers_held = lease_table_count(dhcp->bindings.offers);
	counters->commit_queue = lease_store_queued(dhcp->bindings.store);
	counters->commit_batches = lease_store_batches(dhcp->bindings.store);
	counters->committed_leases = lease_store_written(dhcp->bindings.store);
	counters->database_up = lease_store_connected(dhcp->bindings.store);
	counters->unknown_circuits_dropped = identities_dropped(dhcp->options.identities);
	counters->sightings = identities_sightings(dhcp->options.identities);
	counters->send_failures = dhcp_server_send_failures(dhcp->server);
	return counters;
}

static int open_parts(struct dhcp *dhcp, struct problem *problem)
{
	const struct dhcp_options *options = &dhcp->options;
	const struct dhcp_server_options server = {.interfaces = options->interfaces,
						   .on_packet = on_packet,
						   .on_burst = on_burst,
						   .context = dhcp};
	struct lease_store_options store = {.conninfo = options->conninfo,
					    .on_commit = on_commit,
					    .on_batch = on_batch,
					    .on_state = on_state,
					    .context = dhcp};
	int rc = dhcp_server_new(dhcp->loop, &server, &dhcp->server, problem);

	if (rc)
		return rc;
	rc = lease_table_new(options->lease_limit, &dhcp->bindings.leases);
	if (rc == 0)
		rc = lease_table_new(OFFERS_MAX, &dhcp->bindings.offers);
	if (rc == 0)
		rc = dhcp_report_new(dhcp->loop, options->db, options->inventory,
				     options->observations, &dhcp->report);
	if (rc == 0)
		rc = loop_timer_new(dhcp->loop, on_sweep, dhcp, &dhcp->sweep);
	store.table = dhcp->bindings.leases;
	if (rc == 0)
		rc = lease_store_new(dhcp->loop, &store, &dhcp->bindings.store);
	return rc ? problem_set(problem, rc, "cannot start DHCP: %s", error_text(rc)) : 0;
}

int dhcp_new(struct loop *loop, const struct dhcp_options *options, struct dhcp **ret,
	     struct problem *problem)
{
	struct dhcp *dhcp = calloc(1, sizeof(*dhcp));
	int rc;

	if (!dhcp)
		return problem_set(problem, -ENOMEM, "out of memory");
	dhcp->loop = loop;
	dhcp->options = *options;
	dhcp->started_ms = loop_now_ms(loop);
	rc = open_parts(dhcp, problem);
	if (rc) {
		dhcp_free(dhcp);
		return rc;
	}
	inventory_set_lease_source(options->inventory, mac_of, dhcp);
	loop_timer_arm(dhcp->sweep, OFFER_SWEEP_MS);
	*ret = dhcp;
	return 0;
}

void dhcp_free(struct dhcp *dhcp)
{
	if (!dhcp)
		return;
	inventory_set_lease_source(dhcp->options.inventory, NULL, NULL);
	lease_store_free(dhcp->bindings.store);
	dhcp_report_free(dhcp->report);
	dhcp_server_free(dhcp->server);
	loop_timer_free(dhcp->sweep);
	lease_table_free(dhcp->bindings.offers);
	lease_table_free(dhcp->bindings.leases);
	free(dhcp);
}
