#include "portal/server/conflict.h"

#include <string.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/db/db.h"

/* clang-format off */
static const struct {
	const char *constraint;
	int status;
	const char *message, *hint;
} conflict_rows[] = {
	{"account_name_key", 409, "an account of this name exists", "haasctl account list shows the accounts"},
	{"account_name_check", 422, "the name is not one of an account", "small letters, digits and . _ @ -, a letter or digit first; at most 63"},
	{"account_os_user_key", 409, "another account is this user of the machine", "haasctl account list shows the accounts"},
	{"account_os_user_check", 422, "os_user is no name of a user of this machine", "as in /etc/passwd"},
	{"login_code_state", 409, "this login was finished before", "begin it again"},
	{"api_token_name", 409, "you have a token of this name", "haasctl token list shows them; end it, or choose another name"},
	{"tenant_name_key", 409, "a tenant of this name exists", "haasctl tenant list shows the tenants"},
	{"image_name_version_key", 409, "an image of this name and version exists", "repeat the import to continue its upload, or choose a new version"},
	{"public_is_the_operators", 422, "only an image of the operator can be public", "leave out public, or tenant"},
	{"subnets_are_disjoint", 409, "the prefix overlaps that of another subnet", "haasctl subnet list shows the subnets"},
	{"pool_in_prefix", 422, "the pool is not inside of the prefix", "give both its ends, the low one first, inside of the prefix"},
	{"lease_subnet_id_fkey", 409, "the subnet has leases", "reclaim them first: haasctl lease list"},
	{"reservation_subnet_id_fkey", 409, "the subnet has reservations", "delete them first: haasctl reservation list"},
	{"reservation_address_key", 409, "the address is kept for another MAC", "haasctl reservation list shows them"},
	{"reservation_pkey", 409, "the MAC got a reservation at the same time", "haasctl reservation list shows it; then repeat"},
	{"port_address_key", 409, "another port gives this address", "haasctl port list shows the ports"},
	{"switch_ports_in_order", 422, "port_low is above port_high", "the two are the first and the last port that gives an address"},
	{"nic_pkey", 409, "a MAC belongs to another node", "haasctl node list shows the nodes"},
	{"nic_node_id_name_key", 422, "two NICs have the same name", "give each its own"},
	{"nic_one_boot", 422, "the node can boot from one NIC only", "set boot for one of them"},
	{"bmc_address_port_key", 409, "another node has this BMC address and port", "haasctl node list shows the nodes"},
	{"deployment_one_active", 409, "a node got another deployment at the same time", "haasctl deployment list --active shows it; then repeat"},
	{"node_name_key", 409, "a node of this name exists", "import its row again to change it: haasctl node import"},
	{"health_label_label_check", 422, "a health label is one word", "small letters, digits and _, a letter first; at most 48"},
	{"node_tenant_id_fkey", 404, "the tenant does not exist", "haasctl tenant list shows the tenants"},
	{"package_name_version_key", 409, "a package of this name and version exists", "repeat the import to continue its upload, or choose a new version"},
	{"public_package_is_the_operators", 422, "only a package of the operator can be public", "leave out public, or tenant"},
	{"pdci_name", 409, "the tenant has a PDCI of this name", "haasctl pdci list shows the PDCIs; choose another name"},
	{"network_name", 409, "a network of this name exists", "haasctl network list shows the networks; choose another name"},
	{"volume_name", 409, "the tenant has a volume of this name", "haasctl volume list shows the volumes; choose another name"},
	{"archive_name", 409, "the tenant has an archive of this name", "haasctl archive list shows the archives; choose another name"},
	{"fabric_vlans_in_order", 422, "the VLANs are not in order, or the parking VLAN is one of them", "give the lowest VLAN first, and a parking VLAN outside of them"},
	{"fabric_parking_is_apart", 422, "the parking VLANs overlap the others", "give parking VLANs outside of the others"},
	{"fabric_parking_ends", 422, "the parking VLANs go beyond 4094", "give fewer, or begin lower"},
	{"switch_endpoint_address_key", 409, "another switch has this address", "haasctl switch list shows the switches"},
	{"attachment_one_untagged", 409, "the port has an untagged network already", "detach that one first: haasctl network detach"},
	{"node_network_one_untagged", 409, "the NIC has an untagged network already", "use mode tagged for one of them"},
	{"circuit_rule_name_key", 409, "a rule of this name exists", "haasctl circuit list shows the rules"},
	{"bmc_way_in", 422, "the BMC lacks its address or URI", "ipmi, redfish and sim need an address, libvirt needs a URI"},
	{"only_nodes_have_classes", 422, "only nodes are limited by class", "leave out class, or say kind nodes"},
	{"tenant_limit_tenant_id_kind_class_key", 422, "a limit is given twice", "name each kind, and each class of nodes, once"},
	{"webhook_name", 409, "a webhook of this name exists", "haasctl webhook list shows the webhooks; choose another name"},
	{"webhook_url_check", 422, "the URL is not one of a receiver", "https://HOST/PATH, without a user in it; at most 1000 characters"},
	{"silence_is_of_something", 422, "a silence of all alerts is not possible", "name a kind, a subject, or the begin of one"},
};

/* By the begin of a SQLSTATE (PostgreSQL 15, appendix A), the first row that fits. Those of class 23 are about a field:
 * "the name of the pdci is taken". */
static const struct conflict_class {
	const char *state;
	int status; /* 0: that of the code */
	const char *message, *hint;
} conflict_classes[] = {
	{"23505", 409, "is taken", "choose another, or change the one that has it"},
	{"23503", 409, "does not exist, or is in use", "create it first, or remove what uses it"},
	{"23514", 422, "is not allowed", "correct it, then repeat"},
	{"23502", 422, "is needed", "give it, then repeat"},
	{"23", 409, "is at odds with another one", "change one of the two"},
	{"22", 422, "a value of the request cannot be stored", "it is too long, too large or malformed: correct it, then repeat"},
	{"42501", 403, "this is not allowed", "ask an operator of the site"},
	{"40", 0, "another request changed the same rows at the same time", "repeat it: nothing was changed"},
	{"53", 0, "the database has no room or no connection left", "look at its disk and its log, then repeat"},
	{"57", 0, "the database ends or begins", "repeat it in a moment"},
	{"08", 0, "the database is away", "repeat it in a moment"},
	{"", 500, "the database did not understand portald", "is its schema of this version? haasctl db status; journalctl -u portald"},
};
/* clang-format on */

/* What db_problem() put before PostgreSQL's words. */
struct conflict_place {
	char state[8], table[64], constraint[64];
};

/* Takes what stands before `end`; returns what stands behind it. */
static const char *conflict_take(const char *at, char end, char ret[], size_t room)
{
	char ends[] = {end, '\0'};
	size_t length = strcspn(at, ends);

	(void)text_format(ret, room, "%.*s", (int)length, at);
	return at[length] ? at + length + 1 : at + length;
}

static bool conflict_place_of(const struct problem *problem, struct conflict_place *ret)
{
	const char *at = problem->message;

	if (strncmp(at, DB_STRANGE, sizeof(DB_STRANGE) - 1) != 0)
		return false;
	at = conflict_take(at + sizeof(DB_STRANGE) - 1, ' ', ret->state, sizeof(ret->state));
	at = conflict_take(at, '.', ret->table, sizeof(ret->table));
	(void)conflict_take(at, ':', ret->constraint, sizeof(ret->constraint));
	return true;
}

bool conflict_is_strange(const struct problem *problem)
{
	struct conflict_place place;

	return conflict_place_of(problem, &place);
}

int conflict_explain(struct problem *problem)
{
	struct conflict_place place;

	if (!conflict_place_of(problem, &place))
		return 0;
	for (size_t i = 0; i < COUNT_OF(conflict_rows); i++) {
		if (strcmp(place.constraint, conflict_rows[i].constraint) != 0)
			continue;
		(void)problem_set(problem, problem->code, "%s", conflict_rows[i].message);
		problem_hint(problem, "%s", conflict_rows[i].hint);
		return conflict_rows[i].status;
	}
	return 0;
}

/* "node_tenant_id_fkey" of node -> "tenant": without the table before and the kind behind. */
static void conflict_field(const struct conflict_place *place, char ret[64])
{
	static const char *const ends[] = {"_check", "_key", "_fkey", "_pkey", "_excl", "_id"};
	size_t table = strlen(place->table);
	const char *name = place->constraint;

	if (strncmp(name, place->table, table) == 0 && name[table] == '_')
		name += table; /* its _ stays, so that "nic_pkey" has its end as well */
	(void)text_copy(ret, 64, name);
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		size_t length = strcspn(ret, "0123456789");
		size_t end = strlen(ends[i]);

		if (length >= end && strncmp(ret + length - end, ends[i], end) == 0)
			ret[length - end] = '\0';
	}
	if (ret[0] == '_')
		memmove(ret, ret + 1, strlen(ret));
	if (ret[0] == '\0')
		(void)text_copy(ret, 64, "name");
	for (char *at = strchr(ret, '_'); at; at = strchr(at, '_'))
		*at = ' ';
}

int conflict_generic(struct problem *problem)
{
	const struct conflict_class *class = conflict_classes;
	struct conflict_place place;
	char field[64];

	if (!conflict_place_of(problem, &place))
		return 0;
	while (strncmp(place.state, class->state, strlen(class->state)) != 0)
		class ++;
	conflict_field(&place, field);
	for (char *at = strchr(place.table, '_'); at; at = strchr(at, '_'))
		*at = ' ';
	if (strncmp(class->state, "23", 2) == 0)
		(void)problem_set(problem, problem->code, "the %s of the %s %s", field,
				  place.table[0] ? place.table : "request", class->message);
	else
		(void)problem_set(problem, problem->code, "%s", class->message);
	problem_hint(problem, "%s", class->hint);
	return class->status;
}
