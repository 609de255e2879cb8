#include "bampi/bootd/identify/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

#define FRESH_S  600 /* a node seen at a port so lately must be thought there still */
#define TOLD_MAX 256
#define HOUR_MS  INT64_C(3600000)
#define DAY_MS   (24 * HOUR_MS)

/* A client that gets no answer asks for ever: it is told of once an hour. */
struct told {
	struct mac mac;
	struct uuid uuid;
	enum identity_reason reason;
	struct circuit_place place;
	int64_t at_ms; /* 0 = free */
};

struct identities {
	struct loop *loop;
	struct identities_options options;
	struct told told[TOLD_MAX];
	size_t told_next; /* the oldest, which makes room */
};

/* What there is to tell, and how long it is not told again. A stranger is told of by those who
 * refuse it. */
static const int64_t told_for_ms[IDENTITY_REASONS] = {
	[IDENTITY_NEW_BOARD] = HOUR_MS,       [IDENTITY_NEW_NIC] = HOUR_MS,
	[IDENTITY_NEW_PORT] = HOUR_MS,        [IDENTITY_UNDECLARED_NIC] = HOUR_MS,
	[IDENTITY_UNKNOWN_AT_PORT] = HOUR_MS, [IDENTITY_PORT_OF_OTHER] = HOUR_MS,
	[IDENTITY_UUID_OF_OTHER] = HOUR_MS,   [IDENTITY_UUID_SHARED] = HOUR_MS,
	[IDENTITY_UUID_NO_EVIDENCE] = DAY_MS, [IDENTITY_TWO_AT_PORT] = HOUR_MS,
	[IDENTITY_NIC_IN_STRANGER] = HOUR_MS, [IDENTITY_ADDRESS_TAKEN] = HOUR_MS,
};

static bool identity_same_place(const struct circuit_place *a, const struct circuit_place *b)
{
	return strcmp(a->port, b->port) == 0 && strcmp(a->switch_name, b->switch_name) == 0;
}

/* A UUID that a whole delivery has is one thing to tell, not one for each NIC. */
static bool same_subject(const struct told *told, const struct identity *identity)
{
	if (told->reason == IDENTITY_UUID_NO_EVIDENCE)
		return uuid_equal(told->uuid, identity->uuid);
	return mac_equal(told->mac, identity->mac) &&
	       identity_same_place(&told->place, &identity->place);
}

/* True = now. */
static bool identity_tell(struct identities *identities, const struct identity *identity)
{
	enum identity_reason reason = identity->decision.reason;
	int64_t now_ms = loop_now_ms(identities->loop);

	if (told_for_ms[reason] == 0)
		return false;
	for (size_t i = 0; i < TOLD_MAX; i++) {
		const struct told *told = &identities->told[i];

		if (told->at_ms > 0 && now_ms - told->at_ms < told_for_ms[reason] &&
		    told->reason == reason && same_subject(told, identity))
			return false;
	}
	identities->told[identities->told_next] =
		(struct told){identity->mac, identity->uuid, reason, identity->place, now_ms};
	identities->told_next = (identities->told_next + 1) % TOLD_MAX;
	return true;
}

/* --- facts --- */

static bool has_nics(const struct identities *identities, int64_t node_id)
{
	const struct inventory_node *node = inventory_by_id(identities->options.inventory, node_id);

	return node && node->nic_count > 0;
}

static void identity_locate(struct identities *identities, const struct identity_evidence *evidence,
			    struct identity *identity)
{
	const struct circuit_sample *sample = &evidence->sample;

	if (!evidence->relay || (sample->circuit_size == 0 && sample->remote_size == 0))
		return;
	if (cable_locate(identities->options.cable, evidence->relay, sample, &identity->place))
		return;
	identity->place = (struct circuit_place){0};
	identity->unknown_circuit = unknown_circuit_record(identities->options.circuits,
							   evidence->relay, sample, evidence->mac);
}

static void gather_uuid(const struct identities *identities, struct uuid uuid,
			const struct sighting *seen, struct identity_facts *facts)
{
	const struct identities_options *options = &identities->options;
	struct uuid known = seen ? seen->uuid : (struct uuid){0};
	int64_t declared = 0;
	int64_t observed = 0;
	size_t declared_count = cable_nodes_of_uuid(options->cable, uuid, facts->by_mac, &declared);
	size_t observed_count =
		sighting_nodes_of_uuid(options->sightings, uuid, facts->by_mac, &observed);

	facts->uuid_shared = declared_count > 1 || observed_count > 1 ||
			     (declared && observed && declared != observed);
	facts->uuid_declared = declared_count > 0;
	facts->uuid_other = declared && declared != facts->by_mac ? declared
			    : observed != facts->by_mac           ? observed
								  : 0;
	if (!facts->uuid_shared)
		facts->by_uuid = declared ? declared : observed;
	/* A NIC that was seen is one too, while the picture does not hold it yet. */
	facts->uuid_node_nics =
		facts->by_uuid && (has_nics(identities, facts->by_uuid) || (observed && !seen));
	if (!facts->by_mac)
		return;
	(void)cable_uuid_of_node(options->cable, facts->by_mac, &known);
	facts->uuid_changed = !uuid_none(known) && !uuid_equal(known, uuid);
}

/* Its renewals come past the relay, so its port may not have heard of it for long: nobody else
 * takes its place before it is given back. */
static bool identity_rented(const struct inventory_node *node)
{
	return node && (node->state == NODE_RESERVED || node->state == NODE_ACTIVE ||
			node->state == NODE_SCRUBBING);
}

static void gather_port(const struct identities *identities, const struct circuit_place *place,
			struct mac mac, int64_t now_s, struct identity_facts *facts)
{
	const struct identities_options *options = &identities->options;
	const struct cable_port *port = cable_port(options->cable, place);
	const struct cable_switch *row = cable_switch(options->cable, place->switch_name);
	const struct sighting *last = sighting_at(options->sightings, place);

	facts->located = true;
	facts->moved_silent = row && row->moved_silent;
	facts->swapped_silent = row && row->swapped_silent;
	facts->port_node = port ? port->node_id : 0;
	facts->port_node_nics =
		facts->port_node &&
		(has_nics(identities, facts->port_node) ||
		 (last && last->node_id == facts->port_node && !mac_equal(last->mac, mac)));
	facts->last_node = last ? last->node_id : 0;
	facts->last_fresh =
		last && (now_s - last->seen_s < FRESH_S ||
			 identity_rented(inventory_by_id(options->inventory, last->node_id)));
}

/* --- what follows --- */

/* A node is seen where it was concluded to be, and never where somebody only may be it. */
static void identity_record(struct identities *identities, const struct identity *identity,
			    int64_t now_s)
{
	struct sighting seen = {.mac = identity->mac,
				.node_id = identity->decision.node_id,
				.place = identity->place,
				.uuid = identity->uuid,
				.since_s = now_s,
				.seen_s = now_s};
	bool adopting = identity->decision.reason == IDENTITY_BY_PORT ||
			identity->decision.reason == IDENTITY_BY_UUID;

	if (!identity->node || (!identity->place.port[0] && !adopting))
		return;
	sighting_record(identities->options.sightings, &seen, adopting);
}

void identify(struct identities *identities, const struct identity_evidence *evidence,
	      struct identity *ret)
{
	const struct identities_options *options = &identities->options;
	const struct inventory_node *node = inventory_by_mac(options->inventory, evidence->mac);
	const struct sighting *seen = sighting_of(options->sightings, evidence->mac);
	struct identity_facts facts = {.by_mac = node ? node->id : 0};
	int64_t now_s = clock_wall_us() / 1000000;
	struct identity identity = {.mac = evidence->mac, .relay = evidence->relay};

	identity_locate(identities, evidence, &identity);
	if (uuid_decode(evidence->uuid, evidence->uuid_size, &identity.uuid))
		gather_uuid(identities, identity.uuid, seen, &facts);
	if (identity.place.port[0])
		gather_port(identities, &identity.place, evidence->mac, now_s, &facts);
	if (seen && seen->place.port[0] && identity.place.port[0] &&
	    !identity_same_place(&seen->place, &identity.place)) {
		facts.seen_elsewhere = true;
		identity.before = seen->place;
	}
	identity.decision = identity_policy(&facts);
	identity.about = inventory_by_id(options->inventory, identity.decision.node_id);
	identity.other = inventory_by_id(options->inventory, identity.decision.other_id);
	if (identity.decision.answer == IDENTITY_ANSWER_NODE)
		identity.node = identity.about;
	if (identity.place.port[0])
		identity.address = cable_address(options->cable, &identity.place);
	else if (seen && seen->place.port[0]) /* a renewal comes past the relay */
		identity.address = cable_address(options->cable, &seen->place);
	identity.telling = identity_tell(identities, &identity);
	identity_record(identities, &identity, now_s);
	*ret = identity;
}

bool identity_inherits(const struct identities *identities, const struct identity *identity,
		       struct mac holder)
{
	const struct sighting *seen = sighting_of(identities->options.sightings, holder);

	return identity->decision.outcome == IDENTITY_SWAPPED && seen &&
	       seen->node_id == identity->decision.node_id &&
	       identity_same_place(&seen->place, &identity->place);
}

void identity_taken(struct identities *identities, struct identity *identity, struct mac holder)
{
	identity->decision.outcome = IDENTITY_CONFLICT;
	identity->decision.reason = IDENTITY_ADDRESS_TAKEN;
	identity->decision.answer = IDENTITY_ANSWER_NOTHING;
	identity->holder = holder;
	identity->other = inventory_by_mac(identities->options.inventory, holder);
	identity->telling = identity_tell(identities, identity);
}

const struct cable *identities_cable(const struct identities *identities)
{
	return identities->options.cable;
}

uint64_t identities_dropped(const struct identities *identities)
{
	return unknown_circuits_dropped(identities->options.circuits);
}

size_t identities_sightings(const struct identities *identities)
{
	return sightings_count(identities->options.sightings);
}

int identities_new(struct loop *loop, const struct identities_options *options,
		   struct identities **ret)
{
	struct identities *identities = calloc(1, sizeof(*identities));

	if (!identities)
		return -ENOMEM;
	identities->loop = loop;
	identities->options = *options;
	*ret = identities;
	return 0;
}

void identities_free(struct identities *identities)
{
	free(identities);
}
