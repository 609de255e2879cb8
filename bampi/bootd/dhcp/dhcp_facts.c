/* From a message to the facts of its decision: client, link, limits, address. */
#include "common/base/clock.h"
#include "common/io/log.h"

#include "bampi/bootd/dhcp/dhcp_private.h"
#include "bampi/bootd/dhcp/subnet_policy.h"

#define SEARCH_GAP_MS 1000 /* between two searches of exhausted pools */

int64_t dhcp_wall_s(void)
{
	return clock_wall_us() / 1000000;
}

void dhcp_find_client(struct dhcp *dhcp, struct handling *handling)
{
	const struct dhcp_message *request = &dhcp->request;
	const struct inventory *inventory = dhcp->options.inventory;

	handling->who.kind = client_policy(request);
	if (handling->who.kind == CLIENT_IPXE && dhcp->options.https_only)
		handling->who.kind = client_loader_policy(request);
	handling->who.architecture = architecture_of(request);
	handling->boot_file =
		boot_file_find(dhcp->options.boot_files, dhcp->options.boot_file_count, request);
	handling->who.without_file =
		handling->who.kind == CLIENT_UNSUPPORTED && !handling->boot_file;
	(void)dhcp_option_text(request, DHCP_OPTION_VENDOR_CLASS, handling->who.text,
			       sizeof(handling->who.text));
	handling->link = subnet_policy(inventory, request, handling->arrival->local);
	handling->subnet = handling->link;
	handling->node = inventory_by_mac(inventory, handling->who.mac);
	handling->who.node_id = handling->node ? handling->node->id : 0;
	handling->facts.known = handling->node ||
				(handling->link &&
				 address_is_reserved(inventory, handling->link, handling->who.mac));
}

/* A relay, or a link that we are on, as the key of its limit. */
static uint64_t relay_key(const struct dhcp *dhcp, const struct handling *handling)
{
	return dhcp->request.giaddr ? dhcp->request.giaddr
				    : (uint64_t)(uint32_t)handling->arrival->interface << 32;
}

enum dhcp_reason dhcp_admit(struct dhcp *dhcp, const struct handling *handling)
{
	const struct inventory *inventory = dhcp->options.inventory;
	const struct dhcp_message *request = &dhcp->request;
	int64_t now_ms = loop_now_ms(dhcp->loop);

	if (request->hops > RELAY_HOPS_MAX)
		return REASON_RELAY_LOOP;
	if (!inventory_ready(inventory))
		return REASON_OK; /* the policy is silent about it */
	if (request->giaddr &&
	    (!handling->link || !relay_policy(inventory, handling->link, request->giaddr)))
		return REASON_UNKNOWN_RELAY;
	if (request->giaddr &&
	    !relay_source_policy(inventory, request->giaddr, handling->arrival->source))
		return REASON_FORGED_RELAY;
	if (!throttle_allows(&dhcp->clients, mac_key(handling->who.mac), now_ms))
		return REASON_CLIENT_RATE;
	/* Made-up MACs are all strangers: what they may cost is bounded per relay, and nobody whom
	 * we know waits behind them. */
	if (!handling->facts.known && handling->link &&
	    !address_bound(inventory, handling->link, dhcp->bindings.leases, handling->who.mac) &&
	    !throttle_allows(&dhcp->relays, relay_key(dhcp, handling), now_ms))
		return REASON_RELAY_RATE;
	return REASON_OK;
}

/* A BMC may share the cable of its node, and says no UUID of its own: it is known by its MAC
 * alone. The MAC of a node's NIC is no BMC's, whatever vendor class it names (S9). */
void dhcp_conclude(struct dhcp *dhcp, struct handling *handling)
{
	const struct dhcp_message *request = &dhcp->request;
	struct identity *identity = &handling->identity;
	struct identity_evidence evidence = {.mac = handling->who.mac, .relay = request->giaddr};

	identity->decision.answer = IDENTITY_ANSWER_NODE;
	if (!handling->link || (handling->who.kind == CLIENT_BMC && !handling->node) ||
	    !inventory_ready(dhcp->options.inventory))
		return;
	evidence.sample.circuit =
		dhcp_relay_option(request, DHCP_RELAY_CIRCUIT_ID, &evidence.sample.circuit_size);
	evidence.sample.remote =
		dhcp_relay_option(request, DHCP_RELAY_REMOTE_ID, &evidence.sample.remote_size);
	evidence.uuid = dhcp_option(request, DHCP_OPTION_UUID, &evidence.uuid_size);
	identify(dhcp->options.identities, &evidence, identity);
	dhcp->counters.identities[identity->decision.outcome]++;
	handling->node = identity->node;
	handling->who.node_id = handling->node ? handling->node->id : 0;
	handling->facts.conflict = identity->decision.answer == IDENTITY_ANSWER_NOTHING;
	handling->facts.known =
		handling->node ||
		address_is_reserved(dhcp->options.inventory, handling->link, handling->who.mac) ||
		(identity->address &&
		 address_on_link(dhcp->options.inventory, handling->link, identity->address));
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
		(struct exhausted_link){subnet_id, loop_now_ms(dhcp->loop) + SEARCH_GAP_MS};
	dhcp->exhausted_next = (dhcp->exhausted_next + 1) % EXHAUSTED_MAX;
}

/* Option 54: how this client knows us. A relay may stand in for us (RFC 5107): then the client's
 * unicasts pass it too. */
static uint32_t server_of(const struct dhcp *dhcp, const struct handling *handling)
{
	const struct dhcp_message *request = &dhcp->request;
	uint32_t relay = request->giaddr ? dhcp_relay_address(request, DHCP_RELAY_SERVER_ID) : 0;

	if (relay)
		return relay;
	return dhcp->options.server_address ? dhcp->options.server_address
					    : handling->link->boot_server;
}

void dhcp_gather_facts(struct dhcp *dhcp, struct handling *handling)
{
	const struct inventory *inventory = dhcp->options.inventory;
	struct dhcp_facts *facts = &handling->facts;
	struct address_facts wanted = {
		.inventory = inventory,
		.subnet = handling->link,
		.leases = dhcp->bindings.leases,
		.offers = dhcp->bindings.offers,
		.cable = identities_cable(dhcp->options.identities),
		.located = handling->identity.place.port[0] != '\0',
		.port_address = handling->identity.address,
		.mac = handling->who.mac,
		.requested = dhcp_claimed_address(&dhcp->request),
		.now_s = dhcp_wall_s(),
		.now_ms = loop_now_ms(dhcp->loop),
		.known = facts->known,
	};

	facts->ready = inventory_ready(inventory) && lease_store_ready(dhcp->bindings.store);
	facts->database = lease_store_connected(dhcp->bindings.store);
	facts->subnet = handling->link;
	facts->now_s = wanted.now_s;
	if (!handling->link || !facts->ready)
		return;
	facts->server = server_of(dhcp, handling);
	facts->on_link = address_on_link(inventory, handling->link, wanted.requested);
	if (facts->conflict)
		return; /* it gets nothing, so nothing is searched for it */
	wanted.exhausted = !facts->known && search_in_vain(dhcp, handling->link->id);
	facts->choice = address_policy(&wanted);
	wanted.inherits = facts->choice.port_taken &&
			  identity_inherits(dhcp->options.identities, &handling->identity,
					    facts->choice.holder);
	if (wanted.inherits)
		facts->choice = address_policy(&wanted);
	handling->subnet = facts->choice.subnet;
	if (facts->choice.port_taken) {
		identity_taken(dhcp->options.identities, &handling->identity, facts->choice.holder);
		facts->conflict = true;
	}
	if (facts->choice.refusal == ADDRESS_EXHAUSTED && !facts->known && !wanted.exhausted)
		remember_exhausted(dhcp, handling->link->id);
}
