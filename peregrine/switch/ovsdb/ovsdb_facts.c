#include "peregrine/switch/ovsdb/ovsdb_facts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/text.h"

LEAKS_LEFT_TO_SANITIZER

enum { ROW_LIMIT = 4096 }; /* ports, interfaces: each */
enum { ASK_SYSTEM, ASK_BRIDGES, ASK_PORTS, ASK_INTERFACES, ASK_COUNT };

/* --- asking --- */

static const struct {
	const char *table, *columns; /* a word each */
} ovsdb_facts_selects[] = {
	[ASK_SYSTEM] = {"Open_vSwitch",
			"next_cfg cur_cfg ovs_version db_version system_type system_version "
			"external_ids"},
	[ASK_BRIDGES] = {"Bridge",
			 "_uuid name ports mirrors flood_vlans external_ids controller stp_enable "
			 "rstp_enable"},
	[ASK_PORTS] = {"Port",
		       "_uuid name interfaces tag trunks vlan_mode protected external_ids status "
		       "rstp_status"},
	[ASK_INTERFACES] = {"Interface", "_uuid name type ifindex ofport mac_in_use admin_state "
					 "link_state link_resets link_speed lacp_current error"},
};
static const char *const links_only = "_uuid name link_state link_resets";

static json_t *select_of(const char *table, const char *words)
{
	json_t *columns = json_array();

	while (*words) {
		size_t length = strcspn(words, " ");

		(void)json_array_append_new(columns, json_stringn(words, length));
		words += length + (words[length] == ' ');
	}
	return json_pack("{s:s,s:s,s:[],s:o}", "op", "select", "table", table, "where", "columns",
			 columns);
}

json_t *ovsdb_facts_ask(enum ovsdb_facts_kind kind)
{
	json_t *params = json_pack("[s]", "Open_vSwitch");
	size_t count = kind == FACTS_VLANS ? ASK_INTERFACES : ASK_COUNT;

	for (size_t i = 0; params && i < count; i++) {
		bool few = i == ASK_INTERFACES && kind == FACTS_LOOK;

		if (json_array_append_new(
			    params, select_of(ovsdb_facts_selects[i].table,
					      few ? links_only : ovsdb_facts_selects[i].columns)) !=
		    0) {
			json_decref(params);
			return NULL;
		}
	}
	return params;
}

/* --- VLANs of a port --- */

__attribute__((format(printf, 3, 4))) static void
ovsdb_facts_odd(struct ovsdb_facts *facts, const char *name, const char *format, ...)
{
	va_list list;
	char what[80];

	va_start(list, format);
	(void)vsnprintf(what, sizeof(what), format, list);
	va_end(list);
	if (facts->odd++ == 0)
		text_format(facts->odd_text, sizeof(facts->odd_text), "%s: %s", name, what);
}

struct trunks {
	struct vlan_set set;
	bool any, zero; /* a list is there; VLAN 0 (frames without a tag, or with priority only) */
};

static struct trunks trunks_of(struct ovsdb_facts *facts, const struct ovsdb_port *port)
{
	const json_t *value = json_object_get(port->row, "trunks");
	struct trunks trunks = {0};
	const json_t *vid;

	for (size_t i = 0; (vid = ovsdb_element(value, i)) && i < VLAN_LIMIT; i++) {
		json_int_t number = json_integer_value(vid);

		trunks.any = true;
		if (!json_is_integer(vid) || number < 0 || number >= VLAN_LIMIT) {
			ovsdb_facts_odd(facts, port->name, "a VLAN of its trunks is out of range");
			continue;
		}
		trunks.zero |= number == 0;
		vlan_set_add(&trunks.set, (unsigned)number);
	}
	/* No list is every VLAN. */
	if (!trunks.any) {
		trunks.zero = true;
		vlan_set_add_range(&trunks.set, VLAN_FIRST, VLAN_LAST);
	}
	return trunks;
}

/* Open vSwitch's VLAN 0, where frames without a tag are that nobody gave a VLAN to, is the default
 * VLAN of other switches. */
static uint16_t vlan_of_tag(json_int_t tag)
{
	return tag >= VLAN_FIRST && tag <= VLAN_LAST ? (uint16_t)tag : 1;
}

static void take_native(struct ovsdb_facts *facts, struct ovsdb_port *port, const char *mode,
			json_int_t tag)
{
	struct trunks trunks = trunks_of(facts, port);
	struct port_vlans *vlans = &port->vlans;

	vlans->trunk = true;
	vlans->native = vlan_of_tag(tag);
	vlans->tagged = trunks.set;
	if (strcmp(mode, "native-untagged") == 0) {
		vlan_set_remove(&vlans->tagged, vlans->native);
		port->exact = tag >= VLAN_FIRST && trunks.any;
		return;
	}
	/* native-tagged takes frames without a tag and sends them with one, dot1q-tunnel takes
	 * those of a tenant with his own tags in them: a VLAN both ways is what nobody wants. */
	vlan_set_add(&vlans->tagged, vlans->native);
	port->tunnel = strcmp(mode, "dot1q-tunnel") == 0;
	ovsdb_facts_odd(facts, port->name, "vlan_mode %s is not supported", mode);
}

static void ovsdb_facts_take_vlans(struct ovsdb_facts *facts, struct ovsdb_port *port)
{
	const char *mode = ovsdb_string(port->row, "vlan_mode");
	json_int_t tag = ovsdb_integer(port->row, "tag", -1);
	struct port_vlans *vlans = &port->vlans;
	struct trunks trunks;

	if (strcmp(mode, "access") == 0 || (!mode[0] && tag >= 0)) {
		vlans->native = vlan_of_tag(tag);
		vlans->apart = ovsdb_boolean(port->row, "protected");
		port->exact = tag >= VLAN_FIRST;
	} else if (!mode[0] || strcmp(mode, "trunk") == 0) {
		trunks = trunks_of(facts, port);
		vlans->trunk = true;
		vlans->native = trunks.zero ? 1 : 0;
		vlans->tagged = trunks.set;
		vlan_set_remove(&vlans->tagged, vlans->native);
		port->exact = trunks.any && !trunks.zero;
	} else {
		take_native(facts, port, mode, tag);
	}
}

/* The VLANs that it names: all of them are named by nobody. */
static void note_used(struct ovsdb_facts *facts, const struct ovsdb_port *port)
{
	const json_t *trunks = json_object_get(port->row, "trunks");

	if (port->local)
		return;
	if (port->vlans.native)
		vlan_set_add(&facts->used, port->vlans.native);
	if (port->vlans.trunk && ovsdb_element(trunks, 0))
		facts->used = vlan_set_union(&facts->used, &port->vlans.tagged);
}

/* --- rows --- */

static const json_t *ovsdb_facts_rows_of(const json_t *result, size_t i)
{
	const json_t *rows = json_object_get(json_array_get(result, i), "rows");

	return json_is_array(rows) ? rows : NULL;
}

static int no_sense(struct problem *problem, const char *what)
{
	problem_set(problem, E_PROTOCOL, "the answer of its OVSDB cannot be parsed");
	problem_detail(problem, "%s", what);
	return E_PROTOCOL;
}

static int find_bridge(struct ovsdb_facts *facts, struct problem *problem)
{
	const json_t *rows = ovsdb_facts_rows_of(facts->answer, ASK_BRIDGES);
	size_t count = json_array_size(rows);
	size_t marked = 0;

	for (size_t i = 0; i < count; i++) {
		const json_t *row = json_array_get(rows, i);

		if (count == 1 ||
		    strcmp(ovsdb_map_value(row, "external_ids", "haas"), "switch") == 0) {
			facts->bridge = row;
			marked++;
		}
	}
	if (marked != 1) {
		problem_set(problem, E_UNSUPPORTED, "%s",
			    count == 0 ? "it has no bridge" : "which of its bridges is ours?");
		problem_detail(problem, "%zu bridges, %zu with external_ids:haas=switch", count,
			       marked);
		problem_hint(problem, "ovs-vsctl br-set-external-id BRIDGE haas switch");
		return E_UNSUPPORTED;
	}
	facts->bridge_uuid = ovsdb_uuid(json_object_get(facts->bridge, "_uuid"));
	return facts->bridge_uuid[0] ? 0 : no_sense(problem, "a bridge without a UUID");
}

static int compare_uuids(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_printable(const char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			return false;
	}
	return true;
}

static void ovsdb_facts_add_port(struct ovsdb_facts *facts, const json_t *row)
{
	struct ovsdb_port *port = &facts->ports[facts->port_count];
	const char *name = ovsdb_string(row, "name");

	*port = (struct ovsdb_port){.row = row, .uuid = ovsdb_uuid(json_object_get(row, "_uuid"))};
	if (!name[0] || !is_printable(name) || ovsdb_facts_port(facts, name) ||
	    !text_copy(port->name, sizeof(port->name), name)) {
		ovsdb_facts_odd(facts, "a port",
				"its name is empty, too long, there twice, or does not print");
		return;
	}
	port->local = strcmp(name, ovsdb_string(facts->bridge, "name")) == 0;
	ovsdb_facts_take_vlans(facts, port);
	note_used(facts, port);
	facts->port_count++;
}

/* The rows of Port that belong to the bridge. */
static int find_ports(struct ovsdb_facts *facts, struct problem *problem)
{
	const json_t *rows = ovsdb_facts_rows_of(facts->answer, ASK_PORTS);
	const json_t *members = json_object_get(facts->bridge, "ports");
	size_t count = json_array_size(rows);
	CLEANUP(freep) const char **uuids = NULL;
	size_t uuid_count = 0;
	const json_t *member;

	if (count > ROW_LIMIT)
		return problem_set(problem, E_LIMIT, "it has more than %d ports", ROW_LIMIT);
	facts->ports = calloc(count + 1, sizeof(*facts->ports));
	uuids = calloc(ROW_LIMIT, sizeof(*uuids));
	if (!facts->ports || !uuids)
		return problem_set(problem, -ENOMEM, "no memory for its ports");
	while (uuid_count < ROW_LIMIT && (member = ovsdb_element(members, uuid_count)))
		uuids[uuid_count++] = ovsdb_uuid(member);
	qsort(uuids, uuid_count, sizeof(*uuids), compare_uuids);
	for (size_t i = 0; i < count; i++) {
		const json_t *row = json_array_get(rows, i);
		const char *uuid = ovsdb_uuid(json_object_get(row, "_uuid"));

		if (bsearch(&uuid, uuids, uuid_count, sizeof(*uuids), compare_uuids))
			ovsdb_facts_add_port(facts, row);
	}
	return 0;
}

/* --- interfaces --- */

struct named_row {
	const char *uuid;
	const json_t *row;
};

static int find_interfaces(struct ovsdb_facts *facts, struct problem *problem)
{
	const json_t *rows = ovsdb_facts_rows_of(facts->answer, ASK_INTERFACES);
	size_t count = json_array_size(rows);
	CLEANUP(freep) struct named_row *named = calloc(count + 1, sizeof(*named));
	size_t used = 0;

	if (!rows)
		return no_sense(problem, "no rows of Interface");
	if (count > ROW_LIMIT)
		return problem_set(problem, E_LIMIT, "it has more than %d interfaces", ROW_LIMIT);
	facts->interfaces = calloc(count + 1, sizeof(const json_t *));
	if (!named || !facts->interfaces)
		return problem_set(problem, -ENOMEM, "no memory for its interfaces");
	for (size_t i = 0; i < count; i++) {
		const json_t *row = json_array_get(rows, i);

		named[i] = (struct named_row){ovsdb_uuid(json_object_get(row, "_uuid")), row};
	}
	qsort(named, count, sizeof(*named), compare_uuids); /* the key is the first member */
	for (size_t i = 0; i < facts->port_count; i++) {
		struct ovsdb_port *port = &facts->ports[i];
		const json_t *value = json_object_get(port->row, "interfaces");
		const json_t *one;

		port->interfaces = &facts->interfaces[used];
		/* An interface is one port's only; a database that says otherwise is cut off. */
		for (size_t k = 0; (one = ovsdb_element(value, k)) && used < count; k++) {
			const struct named_row key = {.uuid = ovsdb_uuid(one)};
			const struct named_row *found =
				bsearch(&key, named, count, sizeof(*named), compare_uuids);

			if (found && key.uuid[0])
				facts->interfaces[used++] = found->row;
		}
		port->interface_count = (size_t)(&facts->interfaces[used] - port->interfaces);
	}
	return 0;
}

/* --- the table and the digest --- */

uint16_t ovsdb_facts_vlan(const char *key)
{
	char *end;
	long number;

	if (strncmp(key, "vlan-", 5) != 0 || key[5] < '1' || key[5] > '9')
		return 0;
	number = strtol(key + 5, &end, 10);
	return *end == '\0' && number <= VLAN_LAST ? (uint16_t)number : 0;
}

static void find_table(struct ovsdb_facts *facts)
{
	const char *key;
	const char *name;

	for (size_t i = 0; ovsdb_map_pair(facts->bridge, "external_ids", i, &key, &name); i++) {
		uint16_t vlan = ovsdb_facts_vlan(key);

		if (vlan)
			vlan_set_add(&facts->table, vlan);
	}
	vlan_set_add(&facts->table, 1);
}

static void ovsdb_facts_mix(uint64_t *digest, const void *bytes, size_t size)
{
	*digest = hash_bytes(*digest, bytes, size);
}

/* Rows come in no order: a sum does not mind. */
static void make_digest(struct ovsdb_facts *facts)
{
	uint64_t sum = HASH_START;

	for (size_t i = 0; i < facts->port_count; i++) {
		const struct ovsdb_port *port = &facts->ports[i];
		uint64_t one = HASH_START;

		ovsdb_facts_mix(&one, port->name, strlen(port->name));
		ovsdb_facts_mix(&one, port->uuid, strlen(port->uuid));
		ovsdb_facts_mix(&one, &port->vlans.native, sizeof(port->vlans.native));
		ovsdb_facts_mix(&one, &port->vlans.trunk, sizeof(port->vlans.trunk));
		ovsdb_facts_mix(&one, &port->exact, sizeof(port->exact));
		ovsdb_facts_mix(&one, &port->vlans.tagged, sizeof(port->vlans.tagged));
		sum += one;
	}
	ovsdb_facts_mix(&sum, &facts->table, sizeof(facts->table));
	facts->digest = sum & INT64_MAX ? sum & INT64_MAX : 1; /* a bigint in the database */
}

static void digest_links(struct ovsdb_facts *facts)
{
	uint64_t sum = HASH_START;

	for (size_t i = 0; i < facts->port_count; i++) {
		for (size_t k = 0; k < facts->ports[i].interface_count; k++) {
			const json_t *interface = facts->ports[i].interfaces[k];
			const char *name = ovsdb_string(interface, "name");
			const char *state = ovsdb_string(interface, "link_state");
			json_int_t resets = ovsdb_integer(interface, "link_resets", 0);
			uint64_t one = HASH_START;

			ovsdb_facts_mix(&one, name, strlen(name));
			ovsdb_facts_mix(&one, state, strlen(state));
			ovsdb_facts_mix(&one, &resets, sizeof(resets));
			sum += one;
		}
	}
	facts->links = sum ? sum : 1;
}

/* --- all --- */

static int ovsdb_facts_make_kind(struct ovsdb_facts *facts, enum ovsdb_facts_kind kind,
				 struct problem *problem)
{
	int rc;

	facts->system = json_array_get(ovsdb_facts_rows_of(facts->answer, ASK_SYSTEM), 0);
	if (!facts->system || !ovsdb_facts_rows_of(facts->answer, ASK_BRIDGES) ||
	    !ovsdb_facts_rows_of(facts->answer, ASK_PORTS))
		return no_sense(problem, "no rows of Open_vSwitch, Bridge or Port");
	rc = find_bridge(facts, problem);
	if (rc == 0)
		rc = find_ports(facts, problem);
	if (rc == 0 && kind != FACTS_VLANS)
		rc = find_interfaces(facts, problem);
	if (rc == 0 && kind != FACTS_VLANS)
		digest_links(facts);
	find_table(facts);
	make_digest(facts);
	if (ovsdb_integer(facts->system, "cur_cfg", 0) <
	    ovsdb_integer(facts->system, "next_cfg", 0))
		ovsdb_facts_odd(facts, "ovs-vswitchd",
				"ovs-vswitchd does not follow its database now");
	return rc;
}

int ovsdb_facts_make(json_t *result, enum ovsdb_facts_kind kind, struct ovsdb_facts *ret,
		     struct problem *problem)
{
	struct ovsdb_facts facts = {.answer = json_incref(result)};
	int rc = ovsdb_facts_make_kind(&facts, kind, problem);

	if (rc) {
		ovsdb_facts_done(&facts);
		return rc;
	}
	*ret = facts;
	return 0;
}

void ovsdb_facts_done(struct ovsdb_facts *facts)
{
	free(facts->ports);
	free(facts->interfaces);
	json_decref(facts->answer);
	*facts = (struct ovsdb_facts){0};
}

const struct ovsdb_port *ovsdb_facts_port(const struct ovsdb_facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->port_count; i++) {
		if (strcmp(facts->ports[i].name, name) == 0)
			return &facts->ports[i];
	}
	return NULL;
}
