#include "bampi/bootd/identify/identity_text.h"

#include "common/base/json_text.h"
#include "common/net/ipv4.h"

/* Names for the texts; live as long as the struct. */
struct names {
	char mac[MAC_TEXT_SIZE];
	char holder[MAC_TEXT_SIZE];
	char uuid[UUID_TEXT_SIZE];
	char address[IPV4_TEXT_SIZE];
	char place[2 * CIRCUIT_TEXT_SIZE + 32];
	char before[2 * CIRCUIT_TEXT_SIZE + 32];
	const char *node, *other;
};

static void place_text(const struct circuit_place *place, char *ret, size_t room)
{
	if (place->port[0])
		(void)text_format(ret, room, "port %s of switch %s", place->port,
				  place->switch_name);
	else
		(void)text_copy(ret, room, "a port that is not known");
}

static struct names names_of(const struct identity *identity)
{
	struct names names = {.node = identity->about ? identity->about->name : "nobody",
			      .other = identity->other ? identity->other->name : "a stranger"};

	(void)mac_text(identity->mac, names.mac);
	(void)mac_text(identity->holder, names.holder);
	(void)uuid_text(identity->uuid, names.uuid);
	(void)ipv4_text(identity->address, names.address);
	place_text(&identity->place, names.place, sizeof(names.place));
	place_text(&identity->before, names.before, sizeof(names.before));
	return names;
}

#define SAY(...)  (void)text_format(story->message, sizeof(story->message), __VA_ARGS__)
#define HINT(...) (void)text_format(story->hint, sizeof(story->hint), __VA_ARGS__)

static void tell_nothing(const struct names *n, struct identity_story *story)
{
	SAY("%s at %s is %s", n->mac, n->place, n->node);
}

static void tell_new_board(const struct names *n, struct identity_story *story)
{
	SAY("%s at %s says another UUID than %s had", n->mac, n->place, n->node);
	HINT("if its board was replaced this is right; if a UUID was declared for %s, correct it",
	     n->node);
}

static void tell_new_nic(const struct names *n, struct identity_story *story)
{
	SAY("%s has a new NIC: %s at %s says its UUID", n->node, n->mac, n->place);
	HINT("if the NIC was replaced: haasctl node nic %s eth0 %s (or as the NIC is called); until "
	     "then it boots nothing by network",
	     n->node, n->mac);
}

static void tell_new_port(const struct names *n, struct identity_story *story)
{
	SAY("the cable of %s (%s) was moved from %s to %s", n->node, n->mac, n->before, n->place);
	HINT("if the cable was not moved, check both cables and the rule that reads this circuit: haasctl circuit list");
}

static void tell_undeclared(const struct names *n, struct identity_story *story)
{
	SAY("%s at %s says the UUID of %s, which has no such NIC", n->mac, n->place, n->node);
	HINT("if it is one of its NICs: haasctl node nic %s NAME %s", n->node, n->mac);
}

static void tell_unknown_at_port(const struct names *n, struct identity_story *story)
{
	SAY("%s is not known, and asks at %s, where %s is", n->mac, n->place, n->node);
	HINT("if the NIC of %s was replaced: haasctl node nic %s eth0 %s; if another machine is there "
	     "now: haasctl port set",
	     n->node, n->node, n->mac);
}

static void tell_port_of_other(const struct names *n, struct identity_story *story)
{
	SAY("%s is %s, but %s is meant for %s: no answer", n->mac, n->node, n->place, n->other);
	HINT("see which machine the cable goes to; then correct the port (haasctl port set) or the "
	     "NIC (haasctl node nic)");
}

static void tell_uuid_of_other(const struct names *n, struct identity_story *story)
{
	SAY("%s is a NIC of %s, but at %s it says the UUID of %s: no answer", n->mac, n->node,
	    n->place, n->other);
	HINT("was a NIC moved from %s to %s? give it to the node that has it now: haasctl node nic; "
	     "was the board of %s replaced? correct the UUIDs that were declared",
	     n->node, n->other, n->node);
}

static void tell_uuid_no_evidence(const struct names *n, struct identity_story *story)
{
	SAY("%s (%s) says the UUID %s, which %s has too: it is known by its MAC alone", n->mac,
	    n->node, n->uuid, n->other);
	HINT("some makers give all boards one UUID: then declare none, and ports (haasctl port set) if "
	     "NICs get moved; else one of %s and %s has a wrong one",
	     n->node, n->other);
}

static void tell_uuid_shared(const struct names *n, struct identity_story *story)
{
	SAY("%s at %s is not known, and its UUID is that of several nodes: no answer", n->mac,
	    n->place);
	HINT("boards that share a UUID are told apart by MAC or port: declare the NIC (haasctl node "
	     "import) or the port (haasctl port set)");
}

static void tell_two_at_port(const struct names *n, struct identity_story *story)
{
	SAY("%s (%s) asks at %s, where %s was a moment ago: no answer", n->mac, n->node, n->place,
	    n->other);
	HINT("if cables were exchanged, say so (haasctl port set), or wait ten minutes when %s is not "
	     "rented; if many nodes seem to be at this port, the circuit names no port: haasctl circuit "
	     "set --port -",
	     n->other);
}

static void tell_nic_in_stranger(const struct names *n, struct identity_story *story)
{
	SAY("%s, a NIC of %s, asks at %s from another board; it was at %s: no answer", n->mac,
	    n->node, n->place, n->before);
	HINT("was the NIC put into another machine? declare that machine with it, and the new NIC of "
	     "%s",
	     n->node);
}

static void tell_address_taken(const struct names *n, struct identity_story *story)
{
	SAY("%s, which %s gives to %s, is leased to %s (%s): no answer", n->address, n->place,
	    n->mac, n->holder, n->other);
	HINT("two machines behind one port, or the one before is still alive: haasctl lease list; "
	     "haasctl lease reclaim %s takes it back",
	     n->address);
}

/* clang-format off */
static const struct {
	const char *kind;
	void (*tell)(const struct names *names, struct identity_story *story);
} identity_text_rows[IDENTITY_REASONS] = {
	[IDENTITY_STRANGER] =        {"identity.new",      tell_nothing},
	[IDENTITY_BY_MAC] =          {"identity.known",    tell_nothing},
	[IDENTITY_BY_PORT] =         {"identity.known",    tell_nothing},
	[IDENTITY_BY_UUID] =         {"identity.known",    tell_nothing},
	[IDENTITY_NEW_BOARD] =       {"identity.swapped",  tell_new_board},
	[IDENTITY_NEW_NIC] =         {"identity.swapped",  tell_new_nic},
	[IDENTITY_NEW_PORT] =        {"identity.moved",    tell_new_port},
	[IDENTITY_UNDECLARED_NIC] =  {"identity.new",      tell_undeclared},
	[IDENTITY_UNKNOWN_AT_PORT] = {"identity.new",      tell_unknown_at_port},
	[IDENTITY_PORT_OF_OTHER] =   {"identity.conflict", tell_port_of_other},
	[IDENTITY_UUID_OF_OTHER] =   {"identity.conflict", tell_uuid_of_other},
	[IDENTITY_UUID_SHARED] =     {"identity.conflict", tell_uuid_shared},
	[IDENTITY_UUID_NO_EVIDENCE] = {"identity.uuid_shared", tell_uuid_no_evidence},
	[IDENTITY_TWO_AT_PORT] =     {"identity.conflict", tell_two_at_port},
	[IDENTITY_NIC_IN_STRANGER] = {"identity.conflict", tell_nic_in_stranger},
	[IDENTITY_ADDRESS_TAKEN] =   {"identity.conflict", tell_address_taken},
};
/* clang-format on */

static void identity_text_add_place(struct text *json, const char *name,
				    const struct circuit_place *place)
{
	if (!place->port[0])
		return;
	json_begin_object(json, name);
	json_put_string(json, "switch", place->switch_name);
	json_put_string(json, "port", place->port);
	json_end_object(json);
}

static void add_detail(const struct identity *identity, struct identity_story *story)
{
	struct names names = names_of(identity);
	char relay[IPV4_TEXT_SIZE];
	struct text *json = &story->detail;

	json_begin_object(json, NULL);
	json_put_string(json, "mac", names.mac);
	if (!uuid_none(identity->uuid))
		json_put_string(json, "uuid", names.uuid);
	if (identity->relay)
		json_put_string(json, "relay", ipv4_text(identity->relay, relay));
	identity_text_add_place(json, "location", &identity->place);
	identity_text_add_place(json, "before", &identity->before);
	if (identity->about)
		json_put_string(json, "node", identity->about->name);
	if (identity->other)
		json_put_string(json, "other", identity->other->name);
	json_put_string(json, "hint", story->hint);
	json_end_object(json);
}

/* The node when there is one, so that its trace shows it; else the port, else the MAC. */
static void set_subject(const struct identity *identity, struct identity_story *story)
{
	char mac[MAC_TEXT_SIZE];

	if (identity->about) {
		story->subject_kind = "node";
		(void)text_copy(story->subject, sizeof(story->subject), identity->about->name);
	} else if (identity->place.port[0]) {
		story->subject_kind = "port";
		(void)text_format(story->subject, sizeof(story->subject), "%s:%s",
				  identity->place.switch_name, identity->place.port);
	} else {
		story->subject_kind = "mac";
		(void)text_copy(story->subject, sizeof(story->subject),
				mac_text(identity->mac, mac));
	}
}

void identity_story_done(struct identity_story *story)
{
	text_done(&story->detail);
}

void identity_story(const struct identity *identity, struct identity_story *ret)
{
	struct names names = names_of(identity);
	struct identity_story story = {.kind = identity_text_rows[identity->decision.reason].kind};

	identity_text_rows[identity->decision.reason].tell(&names, &story);
	set_subject(identity, &story);
	add_detail(identity, &story);
	*ret = story;
}

void identity_story_unknown(const struct identity *identity, struct identity_story *ret)
{
	struct identity_story tale = {.kind = "circuit.unknown", .subject_kind = "relay"};
	struct identity_story *story = &tale;
	char mac[MAC_TEXT_SIZE];

	(void)ipv4_text(identity->relay, story->subject);
	SAY("no rule reads the option 82 that relay %s sends for %s", story->subject,
	    mac_text(identity->mac, mac));
	HINT("haasctl circuit unknown shows it; haasctl circuit learn makes a rule of it");
	add_detail(identity, story);
	*ret = tale;
}
