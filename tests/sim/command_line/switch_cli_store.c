#include "tests/sim/command_line/switch_cli_store.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/sim/command_line/switch_cli_copies.h"
#include "tests/sim/command_line/switch_cli_samples.h"

#define NOWHERE 4095 /* the one VLAN that a port in no VLAN lets through: none (802.1Q) */

void cli_ports_add(struct cli_ports *ports, unsigned number)
{
	if (number >= 1 && number <= CLI_PORTS_MAX)
		ports->words[number / 64] |= 1ULL << (number % 64);
}

bool cli_ports_has(const struct cli_ports *ports, unsigned number)
{
	return number >= 1 && number <= CLI_PORTS_MAX &&
	       (ports->words[number / 64] >> (number % 64) & 1) != 0;
}

unsigned cli_ports_next(const struct cli_ports *ports, unsigned from)
{
	for (unsigned number = from; number <= CLI_PORTS_MAX; number++) {
		if (cli_ports_has(ports, number))
			return number;
	}
	return 0;
}

unsigned cli_lag_port(unsigned number)
{
	return number >= 1 && number <= CLI_LAGS ? CLI_LAG_FIRST + number - 1 : 0;
}

unsigned cli_lag_number(unsigned port)
{
	return port >= CLI_LAG_FIRST ? port - CLI_LAG_FIRST + 1 : 0;
}

struct cli_ports cli_lag_members(const struct cli_config *config, unsigned number)
{
	struct cli_ports members = {{0}};

	for (unsigned port = 1; port < CLI_LAG_FIRST; port++) {
		if (number && config->ports[port].lag == number)
			cli_ports_add(&members, port);
	}
	return members;
}

struct cli_port cli_port_new(const struct cli_port *model)
{
	struct cli_port port = *model;

	if (port.is_allowed_all)
		vlan_set_add_range(&port.allowed, VLAN_FIRST, VLAN_LAST);
	return port;
}

int cli_store_new(unsigned port_count, const struct cli_port *port, struct cli_store **ret)
{
	struct cli_store *store = calloc(1, sizeof(*store));

	if (port_count < 1 || port_count >= CLI_LAG_FIRST) {
		free(store);
		return E_INVALID;
	}
	if (!store)
		return -ENOMEM;
	store->running = calloc(1, sizeof(*store->running));
	store->startup = calloc(1, sizeof(*store->startup));
	if (!store->running || !store->startup) {
		cli_store_free(store);
		return -ENOMEM;
	}
	store->port_count = port_count;
	vlan_set_add(&store->running->vlans, 1);
	for (unsigned i = 1; i <= port_count; i++)
		store->running->ports[i] = cli_port_new(port);
	cli_store_save(store);
	*ret = store;
	return 0;
}

void cli_store_free(struct cli_store *store)
{
	if (!store)
		return;
	switch_plane_done(&store->plane);
	switch_ovs_free(store->ovs);
	for (size_t i = 0; i < COUNT_OF(store->files); i++)
		free(store->files[i].text);
	free(store->running);
	free(store->startup);
	free(store);
}

void cli_store_freep(struct cli_store **store)
{
	cli_store_free(*store);
}

void cli_store_create(struct cli_store *store, unsigned vid, const char *name)
{
	if (vid < VLAN_FIRST || vid > VLAN_LAST)
		return;
	vlan_set_add(&store->running->vlans, vid);
	(void)text_copy(store->running->names[vid], sizeof(store->running->names[vid]), name);
}

void cli_store_save(struct cli_store *store)
{
	*store->startup = *store->running;
	store->is_saved = true;
}

void cli_store_reboot(struct cli_store *store)
{
	*store->running = *store->startup;
	store->is_saved = true;
	for (size_t i = 0; i < COUNT_OF(store->files); i++) {
		if (strncmp(store->files[i].path, "/etc/", 5) == 0)
			continue;
		free(store->files[i].text);
		store->files[i] = (struct cli_file){0};
	}
}

/* --- the seed --- */

static bool seed_lag(struct cli_store *store, unsigned aggregate, unsigned a, unsigned b)
{
	unsigned high = store->port_count;

	if (aggregate < 1 || a < 1 || b < 1 || aggregate > high || a > high || b > high ||
	    aggregate == a || aggregate == b || a == b)
		return false;
	store->is_aggregate[aggregate] = true;
	store->member_of[a] = store->member_of[b] = (uint8_t)aggregate;
	return true;
}

static bool seed_line(struct cli_store *store, const char *line)
{
	char word[16] = "";
	char mac[32] = "";
	char port_id[CLI_NAME_SIZE] = "";
	char system[CLI_NAME_SIZE] = "";
	unsigned a = 0;
	unsigned b = 0;
	unsigned c = 0;
	int at = 0;

	// NOLINTNEXTLINE(cert-err34-c): the widths bound the numbers
	if (sscanf(line, "vlan %4u %64s", &a, system) >= 1 && a >= VLAN_FIRST && a <= VLAN_LAST) {
		cli_store_create(store, a, system);
		return true;
	}
	// NOLINTNEXTLINE(cert-err34-c): the widths bound the numbers
	if (sscanf(line, "mac %3u %4u %31s", &a, &b, mac) == 3 && a <= store->port_count &&
	    b <= VLAN_LAST && store->learned_count < CLI_FACTS_MAX) {
		struct cli_learned *row = &store->learned[store->learned_count];

		*row = (struct cli_learned){.vid = (uint16_t)b, .port = (uint16_t)a};
		store->learned_count++;
		return mac_parse(mac, &row->mac) == 0;
	}
	// NOLINTNEXTLINE(cert-err34-c): the widths bound the numbers
	if (sscanf(line, "neighbor %3u %31s %64s %64s", &a, mac, port_id, system) == 4 &&
	    a <= store->port_count && store->neighbor_count < CLI_PORTS_MAX) {
		struct cli_neighbor *row = &store->neighbors[store->neighbor_count++];

		row->port = (uint16_t)a;
		(void)text_copy(row->port_id, sizeof(row->port_id), port_id);
		(void)text_copy(row->system, sizeof(row->system), system);
		return mac_parse(mac, &row->chassis) == 0;
	}
	// NOLINTNEXTLINE(cert-err34-c): the widths bound the numbers
	if (sscanf(line, "lag %3u %3u %3u", &a, &b, &c) == 3)
		return seed_lag(store, a, b, c);
	return sscanf(line, " %15s%n", word, &at) != 1 || word[0] == '#';
}

int cli_store_seed(struct cli_store *store, const char *text, char wrong[128])
{
	while (*text) {
		size_t size = strcspn(text, "\n");
		char line[256];

		if (size >= sizeof(line))
			return E_MALFORMED;
		memcpy(line, text, size);
		line[size] = '\0';
		if (!seed_line(store, line)) {
			(void)text_copy(wrong, 128, line);
			return E_MALFORMED;
		}
		text += size + (text[size] == '\n');
	}
	cli_store_save(store);
	return 0;
}

/* --- the data plane --- */

void cli_store_membership(const struct cli_store *store, const struct cli_port *port,
			  unsigned *ret_untagged, struct vlan_set *ret_tagged)
{
	const struct vlan_set *vlans = &store->running->vlans;
	unsigned untagged = 0;

	*ret_tagged = (struct vlan_set){{0}};
	switch (port->mode) {
	case CLI_OFF: break;
	case CLI_ACCESS: untagged = port->access; break;
	case CLI_TRUNK:
		*ret_tagged = vlan_set_intersection(&port->allowed, vlans);
		if (vlan_set_has(ret_tagged, port->native))
			untagged = port->native;
		break;
	case CLI_GENERAL:
		*ret_tagged = vlan_set_intersection(&port->allowed, vlans);
		if (vlan_set_has(&port->untagged, port->native))
			untagged = port->native;
		break;
	case CLI_MEMBER:
		*ret_tagged = vlan_set_intersection(&port->allowed, vlans);
		untagged = port->access;
		break;
	}
	if (untagged != 0 && !vlan_set_has(vlans, untagged))
		untagged = 0;
	if (untagged != 0)
		vlan_set_remove(ret_tagged, untagged);
	*ret_untagged = untagged;
}

static struct switch_tagging switch_cli_store_tagging_of(const struct cli_store *store,
							 const struct cli_port *port)
{
	struct switch_tagging tagging = {.mode = SWITCH_ACCESS};
	struct vlan_set tagged;
	unsigned untagged;

	cli_store_membership(store, port, &untagged, &tagged);
	tagging.tag = (uint16_t)untagged;
	if (vlan_set_is_empty(&tagged)) {
		if (untagged == 0) { /* an empty list would be every VLAN there */
			tagging.mode = SWITCH_TRUNK;
			tagging.trunks[NOWHERE / 8] = 1U << (NOWHERE % 8);
		}
		return tagging;
	}
	tagging.mode = untagged != 0 ? SWITCH_NATIVE_UNTAGGED : SWITCH_TRUNK;
	for (unsigned v = vlan_set_next(&tagged, 1); v; v = vlan_set_next(&tagged, v + 1))
		tagging.trunks[v / 8] = (uint8_t)(tagging.trunks[v / 8] | 1U << (v % 8));
	return tagging;
}

/* A name may be longer on a command line than by SNMP: it is cut. */
static int push_vlans(struct cli_store *store)
{
	const struct cli_config *running = store->running;
	struct switch_ovs_vlans *vlans = calloc(1, sizeof(*vlans));
	int rc;

	if (!vlans)
		return -ENOMEM;
	vlans->vids = running->vlans;
	for (unsigned v = vlan_set_next(&vlans->vids, 1); v; v = vlan_set_next(&vlans->vids, v + 1))
		(void)text_format(vlans->names[v], sizeof(vlans->names[v]), "%.*s",
				  (int)sizeof(vlans->names[v]) - 1, running->names[v]);
	rc = switch_ovs_keep_vlans(store->ovs, vlans);
	free(vlans);
	return rc;
}

/* One that has a single member is that port; a bond has two at least. */
static struct cli_ports switch_cli_store_bond_of(const struct cli_store *store, unsigned number)
{
	struct cli_ports members = cli_lag_members(store->running, number);
	unsigned first = cli_ports_next(&members, 1);

	return first && cli_ports_next(&members, first + 1) ? members : (struct cli_ports){{0}};
}

static int push_bond(struct cli_store *store, unsigned number, const struct cli_ports *ports,
		     bool make)
{
	struct switch_ovs_member members[SWITCH_BOND_MAX];
	size_t count = 0;

	for (unsigned port = cli_ports_next(ports, 1); port && count < SWITCH_BOND_MAX;
	     port = cli_ports_next(ports, port + 1))
		members[count++] = (struct switch_ovs_member){store->plane_names[port], port};
	return switch_ovs_bond(store->ovs, number, members, count, make);
}

/* Those that are other than they were go first: a port is in one bond at a time. */
static int push_bonds(struct cli_store *store)
{
	int rc = 0;

	for (size_t i = 0; i < store->plane.port_count; i++) {
		const struct switch_plane_port *at = &store->plane.ports[i];

		if (at->number <= store->port_count && !at->bond)
			(void)text_copy(store->plane_names[at->number], SWITCH_PORT_NAME, at->name);
	}
	for (int make = 0; make < 2; make++) {
		for (unsigned number = 1; number <= CLI_LAGS && rc == 0; number++) {
			struct cli_ports *is = &store->bonds[number];
			struct cli_ports wanted = switch_cli_store_bond_of(store, number);

			if (memcmp(is, &wanted, sizeof(wanted)) == 0 ||
			    cli_ports_next(make ? &wanted : is, 1) == 0)
				continue;
			rc = cli_copies_end(store); /* made anew, with the ports that there are */
			if (rc != 0)
				break;
			rc = push_bond(store, number, make ? &wanted : is, make);
			*is = make ? wanted : (struct cli_ports){{0}};
		}
	}
	return rc;
}

static int push_tagging(struct cli_store *store)
{
	struct switch_ovs_change changes[CLI_PORTS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < store->plane.port_count; i++) {
		const struct switch_plane_port *at = &store->plane.ports[i];
		unsigned number = at->number;
		struct switch_tagging wanted;

		if (number < 1 || number > store->port_count || count == CLI_PORTS_MAX)
			continue;
		if (store->running->ports[number].lag)
			number = cli_lag_port(store->running->ports[number].lag);
		wanted = switch_cli_store_tagging_of(store, &store->running->ports[number]);
		if (!switch_tagging_equal(&wanted, &at->tagging))
			changes[count++] = (struct switch_ovs_change){at->name, wanted};
	}
	return switch_ovs_write(store->ovs, changes, count);
}

static int switch_cli_store_look(struct cli_store *store)
{
	switch_plane_done(&store->plane);
	return switch_ovs_read(store->ovs, &store->plane);
}

int cli_store_push(struct cli_store *store)
{
	int rc;

	if (!store->ovs)
		return 0;
	rc = switch_cli_store_look(store);
	if (rc == 0)
		rc = push_bonds(store);
	if (rc == 0)
		rc = switch_cli_store_look(store);
	if (rc == 0)
		rc = push_tagging(store);
	if (rc == 0)
		rc = cli_copies_push(store);
	if (rc == 0)
		rc = cli_samples_push(store);
	return rc != 0 ? rc : push_vlans(store);
}

void cli_store_learn(struct cli_store *store)
{
	struct switch_fdb_row *rows = NULL;
	size_t count = 0;

	if (!store->ovs || switch_ovs_fdb(store->ovs, &rows, &count) != 0)
		return;
	store->learned_count = 0;
	for (size_t i = 0; i < count && store->learned_count < CLI_FACTS_MAX; i++) {
		if (rows[i].port >= 1 && rows[i].port <= store->port_count) {
			unsigned lag = store->running->ports[rows[i].port].lag;
			unsigned port = lag ? cli_lag_port(lag) : rows[i].port;

			store->learned[store->learned_count++] = (struct cli_learned){
				rows[i].mac, (uint16_t)rows[i].vid, (uint16_t)port};
		}
	}
	free(rows);
}
