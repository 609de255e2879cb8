#include "tests/sim/switch/switch_mib.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "tests/sim/switch/switch_like.h"
#include "tests/sim/switch/switch_mib_private.h"
#include "tests/sim/switch/switch_sflow.h"

LEAKS_LEFT_TO_SANITIZER

#define SWITCH_MIB_ROWS_MAX ((size_t)1 << 20)

/* --- a list under construction --- */

static struct switch_mib_row *switch_mib_row_add(struct switch_mib *mib, const oid *prefix,
						 size_t length, u_char type)
{
	struct switch_mib_row *row;

	if (mib->count == mib->room) {
		size_t room = mib->room * 2 + 256;
		struct switch_mib_row *rows = room <= SWITCH_MIB_ROWS_MAX
						      ? realloc(mib->rows, room * sizeof(*rows))
						      : NULL;

		if (!rows) {
			mib->failed = true;
			return NULL;
		}
		mib->rows = rows;
		mib->room = room;
	}
	row = &mib->rows[mib->count++];
	*row = (struct switch_mib_row){.length = length, .type = type};
	memcpy(row->name, prefix, length * sizeof(*prefix));
	return row;
}

static void row_bytes(struct switch_mib *mib, struct switch_mib_row *row, const void *bytes,
		      size_t size)
{
	if (mib->byte_room - mib->byte_count < size) {
		size_t room = mib->byte_room * 2 + size + 4096;
		uint8_t *grown = realloc(mib->bytes, room);

		if (!grown) {
			mib->failed = true;
			return;
		}
		mib->bytes = grown;
		mib->byte_room = room;
	}
	memcpy(mib->bytes + mib->byte_count, bytes, size);
	row->at = mib->byte_count;
	row->size = size;
	mib->byte_count += size;
}

struct place mib_place(struct switch_mib *mib, const oid *root, size_t size)
{
	struct place place = {.mib = mib, .length = size};

	memcpy(place.name, root, size * sizeof(*root));
	return place;
}

struct place mib_under(const struct place *place, oid number)
{
	struct place longer = *place;

	longer.name[longer.length++] = number;
	return longer;
}

struct place mib_under_mac(const struct place *place, struct mac mac, size_t octets)
{
	struct place longer = *place;

	for (size_t i = 0; i < octets; i++)
		longer.name[longer.length++] = mac.bytes[i];
	return longer;
}

void mib_put(const struct place *place, u_char type, uint32_t number)
{
	struct switch_mib_row *row =
		switch_mib_row_add(place->mib, place->name, place->length, type);

	if (row)
		row->number = number;
}

void mib_put_bytes(const struct place *place, u_char type, const void *bytes, size_t size)
{
	struct switch_mib_row *row =
		switch_mib_row_add(place->mib, place->name, place->length, type);

	if (row)
		row_bytes(place->mib, row, bytes, size);
}

void mib_put_cell(const struct place *entry, oid column, oid index, u_char type, uint32_t number)
{
	struct place cell = mib_under(entry, column);

	cell = mib_under(&cell, index);
	mib_put(&cell, type, number);
}

void mib_put_scalar(const struct place *parent, oid object, u_char type, uint32_t number)
{
	mib_put_cell(parent, object, 0, type, number);
}

static struct place table_at(struct switch_mib *mib, const oid *path, size_t length)
{
	static const oid bridge[] = {1, 3, 6, 1, 2, 1, 17};
	struct place place = mib_place(mib, bridge, COUNT_OF(bridge));

	for (size_t i = 0; i < length; i++)
		place.name[place.length++] = path[i];
	return place;
}
#define TABLE(mib, ...) \
	table_at(mib, (const oid[]){__VA_ARGS__}, COUNT_OF(((const oid[]){__VA_ARGS__})))

/* --- BRIDGE-MIB --- */

static void put_bridge(struct switch_mib *mib, const struct switch_device *device)
{
	struct place base = TABLE(mib, 1);
	struct place ports = TABLE(mib, 1, 4, 1);
	struct place stp = TABLE(mib, 2, 15, 1);
	struct place tp = TABLE(mib, 4);
	struct place address = mib_under(&base, 1);
	const oid zero[] = {0, 0};

	address = mib_under(&address, 0);
	mib_put_bytes(&address, ASN_OCTET_STR, device->plane.mac.bytes, 6);
	mib_put_scalar(&base, 2, ASN_INTEGER, (uint32_t)device->plane.port_count);
	mib_put_scalar(&base, 3, ASN_INTEGER, 2); /* transparent only */
	mib_put_scalar(&tp, 2, ASN_INTEGER, 300);
	for (size_t i = 0; i < device->plane.port_count; i++) {
		const struct switch_plane_port *port = &device->plane.ports[i];
		struct place circuit = mib_under(&ports, 3);

		circuit = mib_under(&circuit, port->number);
		mib_put_cell(&ports, 1, port->number, ASN_INTEGER, port->number);
		mib_put_cell(&ports, 2, port->number, ASN_INTEGER, port->if_index);
		mib_put_bytes(&circuit, ASN_OBJECT_ID, zero, sizeof(zero));
		mib_put_cell(&ports, 4, port->number, ASN_COUNTER, 0);
		mib_put_cell(&ports, 5, port->number, ASN_COUNTER, 0);
		mib_put_cell(&stp, 1, port->number, ASN_INTEGER, port->number);
		mib_put_cell(&stp, 2, port->number, ASN_INTEGER, 128);
		mib_put_cell(&stp, 3, port->number, ASN_INTEGER, port->stp_state);
		mib_put_cell(&stp, 4, port->number, ASN_INTEGER, port->enabled ? 1 : 2);
	}
}

static uint32_t fdb_id_of(const struct switch_device *device, const struct switch_vlan *vlan)
{
	return device->faults.fdb_id_counts ? vlan->number : vlan->vid;
}

static void put_fdb(struct switch_mib *mib, const struct switch_device *device)
{
	struct place old = TABLE(mib, 4, 3, 1);
	struct place new = TABLE(mib, 7, 1, 2, 2, 1);
	size_t octets = device->faults.fdb == SWITCH_FDB_BROKEN ? 5 : 6;

	for (size_t i = 0; i < device->fdb_count; i++) {
		struct switch_fdb_row row = device->fdb[i];
		const struct switch_vlan *vlan = switch_model_vlan(&device->running, row.vid);
		uint32_t status = row.port == 0 ? 4 : 3; /* self, learned */

		if (device->faults.fdb == SWITCH_FDB_ZERO_MAC)
			row.mac = (struct mac){{0}};
		for (oid column = 1; column <= 3; column++) {
			struct place a = mib_under(&old, column);
			struct place b = mib_under(&new, column);

			a = mib_under_mac(&a, row.mac, octets);
			b = mib_under(&b, vlan ? fdb_id_of(device, vlan) : row.vid);
			b = mib_under_mac(&b, row.mac, octets);
			if (column == 1) {
				mib_put_bytes(&a, ASN_OCTET_STR, row.mac.bytes, 6);
				continue;
			}
			mib_put(&a, ASN_INTEGER, column == 2 ? row.port : status);
			if (vlan)
				mib_put(&b, ASN_INTEGER, column == 2 ? row.port : status);
		}
	}
}

/* --- Q-BRIDGE-MIB --- */

static size_t portlist_octets(const struct switch_device *device)
{
	size_t count = device->running.port_count;
	uint32_t last = count > 0 ? device->running.ports[count - 1].number : 0;

	return device->faults.portlist > 0 ? device->faults.portlist : (last + 7) / 8;
}

static void put_ports(const struct place *entry, oid column, oid mark, oid index,
		      const struct switch_device *device, const struct switch_portlist *list)
{
	uint8_t octets[512] = {0};
	size_t size = portlist_octets(device);
	struct place cell = mib_under(entry, column);

	memcpy(octets, list->octets, sizeof(list->octets));
	if (device->faults.portlist_short)
		size = switch_portlist_size(list);
	if (mark != (oid)-1)
		cell = mib_under(&cell, mark);
	cell = mib_under(&cell, index);
	mib_put_bytes(&cell, ASN_OCTET_STR, octets, size < sizeof(octets) ? size : sizeof(octets));
}
#define NO_MARK ((oid)-1)

static void put_current(struct switch_mib *mib, const struct switch_device *device,
			const struct switch_vlan *vlan, oid mark)
{
	struct place entry = TABLE(mib, 7, 1, 4, 2, 1);
	const struct {
		oid column;
		u_char type;
		uint32_t value;
	} cells[] = {
		{3, ASN_UNSIGNED, fdb_id_of(device, vlan)},
		{6, ASN_INTEGER, 2}, /* permanent */
		{7, ASN_TIMETICKS, vlan->changed},
	};

	for (size_t i = 0; i < COUNT_OF(cells); i++) {
		struct place cell = mib_under(&entry, cells[i].column);

		mib_put_cell(&cell, mark, vlan->vid, cells[i].type, cells[i].value);
	}
	put_ports(&entry, 4, mark, vlan->vid, device, &vlan->egress);
	put_ports(&entry, 5, mark, vlan->vid, device, &vlan->untagged);
}

static void put_vlan(struct switch_mib *mib, const struct switch_device *device,
		     const struct switch_vlan *vlan)
{
	struct place entry = TABLE(mib, 7, 1, 4, 3, 1);
	struct place name = mib_under(&entry, 1);
	oid index = vlan->vid + device->faults.index_offset;

	name = mib_under(&name, index);
	mib_put_bytes(&name, ASN_OCTET_STR, vlan->name, strlen(vlan->name));
	put_ports(&entry, 2, NO_MARK, index, device, &vlan->egress);
	put_ports(&entry, 3, NO_MARK, index, device, &vlan->forbidden);
	put_ports(&entry, 4, NO_MARK, index, device, &vlan->untagged);
	mib_put_cell(&entry, 5, index, ASN_INTEGER, vlan->status);
	if (vlan->status != SWITCH_ROW_ACTIVE)
		return;
	if (device->faults.time_mark != SWITCH_MARK_CHANGE)
		put_current(mib, device, vlan, 0);
	if (device->faults.time_mark != SWITCH_MARK_ZERO)
		put_current(mib, device, vlan, vlan->changed);
}

static void put_q_bridge(struct switch_mib *mib, const struct switch_device *device)
{
	struct place base = TABLE(mib, 7, 1, 1);
	struct place vlans = TABLE(mib, 7, 1, 4);
	struct place ports = TABLE(mib, 7, 1, 4, 5, 1);
	const struct switch_model *model = &device->running;

	mib_put_scalar(&base, 1, ASN_INTEGER, 1);
	mib_put_scalar(&base, 2, ASN_INTEGER, SWITCH_VID_MAX);
	mib_put_scalar(&base, 3, ASN_UNSIGNED, SWITCH_VID_MAX);
	mib_put_scalar(&base, 4, ASN_UNSIGNED, (uint32_t)model->vlan_count);
	mib_put_scalar(&base, 5, ASN_INTEGER, 2);
	mib_put_scalar(&vlans, 1, ASN_COUNTER, model->deletes);
	mib_put_scalar(&vlans, 4, ASN_INTEGER, 0);
	for (size_t i = 0; i < model->vlan_count; i++)
		put_vlan(mib, device, &model->vlans[i]);
	for (size_t i = 0; i < model->port_count; i++) {
		const struct switch_port *port = &model->ports[i];

		mib_put_cell(&ports, 1, port->number, ASN_UNSIGNED, port->pvid);
		mib_put_cell(&ports, 2, port->number, ASN_INTEGER, port->frames);
		mib_put_cell(&ports, 3, port->number, ASN_INTEGER, port->filters ? 1 : 2);
		mib_put_cell(&ports, 4, port->number, ASN_INTEGER, 2);
	}
}

/* --- our own, and what is broken on purpose --- */

static void put_own(struct switch_mib *mib, const struct switch_device *device,
		    const struct switch_save_object *saves, size_t save_count)
{
	static const oid own[] = {SWITCH_OWN_OID};
	struct place place = mib_place(mib, own, COUNT_OF(own));

	mib_put_scalar(&place, 1, ASN_INTEGER, device->is_saved ? 1 : 2);
	mib_put_scalar(&place, 2, ASN_COUNTER, device->configurations);
	mib_put_scalar(&place, 3, ASN_COUNTER, device->saves);
	for (size_t i = 0; i < save_count; i++) {
		place = mib_place(mib, saves[i].name, saves[i].length);
		mib_put(&place, ASN_INTEGER, device->is_saved ? 1 : 2);
	}
}

static void put_broken_lldp(struct switch_mib *mib, const struct switch_device *device)
{
	static const oid rem[] = {1, 0, 8802, 1, 1, 2, 1, 4, 1, 1};
	struct place entry = mib_place(mib, rem, COUNT_OF(rem));

	for (size_t i = 0; i < device->plane.port_count && device->lldp_broken; i++) {
		struct place cell = mib_under(&entry, 9);

		cell = mib_under(&cell, 0);
		cell = mib_under(&cell, device->plane.ports[i].if_index);
		mib_put_bytes(&cell, ASN_OCTET_STR, "broken", 6);
	}
}

/* The kernel's names have no "/": ifName of a switch whose ports are called otherwise. */
static void put_names(struct switch_mib *mib, const struct switch_device *device)
{
	static const oid entry[] = {1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1};
	struct place column = mib_place(mib, entry, COUNT_OF(entry));
	const char *plus = strchr(device->first_port, '+');
	size_t stem = strcspn(device->first_port, "+");
	unsigned long step = plus ? strtoul(plus + 1, NULL, 10) : 1;

	while (stem > 0 && device->first_port[stem - 1] >= '0' &&
	       device->first_port[stem - 1] <= '9')
		stem--;
	for (size_t i = 0; i < device->links.count; i++) {
		uint32_t if_index = device->links.items[i].if_index;
		struct place cell = mib_under(&column, if_index);
		char name[SWITCH_PORT_NAME + IF_NAMESIZE] = "";

		if (!if_indextoname(if_index, name))
			continue;
		for (size_t p = 0; p < device->plane.port_count; p++) {
			if (device->plane.ports[p].if_index == if_index)
				(void)text_format(
					name, sizeof(name), "%.*s%lu", (int)stem,
					device->first_port,
					strtoul(device->first_port + stem, NULL, 10) +
						step * (device->plane.ports[p].number - 1));
		}
		mib_put_bytes(&cell, ASN_OCTET_STR, name, strlen(name));
	}
}

/* Of IF-MIB this alone: the rest is the master's. */
static void put_last_changes(struct switch_mib *mib, const struct switch_device *device)
{
	static const oid entry[] = {1, 3, 6, 1, 2, 1, 2, 2, 1};
	struct place place = mib_place(mib, entry, COUNT_OF(entry));

	for (size_t i = 0; i < device->links.count; i++)
		mib_put_cell(&place, 9, device->links.items[i].if_index, ASN_TIMETICKS,
			     device->links.items[i].ticks);
}

/* --- the list --- */

static int switch_mib_compare_rows(const void *a, const void *b)
{
	const struct switch_mib_row *x = a;
	const struct switch_mib_row *y = b;

	return snmp_oid_compare(x->name, x->length, y->name, y->length);
}

void switch_mib_done(struct switch_mib *mib)
{
	free(mib->rows);
	free(mib->bytes);
	*mib = (struct switch_mib){0};
}

int mib_finish(struct switch_mib *mib)
{
	size_t kept = 0;

	if (mib->failed) {
		switch_mib_done(mib);
		return -ENOMEM;
	}
	if (mib->count == 0)
		return 0;
	qsort(mib->rows, mib->count, sizeof(*mib->rows), switch_mib_compare_rows);
	/* One address in two VLANs is one row of dot1dTpFdbTable. */
	for (size_t i = 0; i < mib->count; i++) {
		if (kept == 0 || switch_mib_compare_rows(&mib->rows[kept - 1], &mib->rows[i]) != 0)
			mib->rows[kept++] = mib->rows[i];
	}
	mib->count = kept;
	return 0;
}

int switch_mib_build(const struct switch_device *device, const struct switch_save_object *saves,
		     size_t save_count, struct switch_mib *ret)
{
	struct switch_mib mib = {0};
	int rc;

	if (device->cisco) {
		mib_put_cisco(&mib, device);
	} else {
		put_bridge(&mib, device);
		if (device->faults.fdb != SWITCH_FDB_EMPTY)
			put_fdb(&mib, device);
		put_q_bridge(&mib, device);
		mib_put_health(&mib, device);
	}
	put_own(&mib, device, saves, save_count);
	put_broken_lldp(&mib, device);
	put_last_changes(&mib, device);
	if (device->first_port)
		put_names(&mib, device);
	if (device->sflow)
		switch_sflow_show(device, &mib);
	if (device->like)
		switch_like_show(device->like, device, &mib);
	rc = mib_finish(&mib);
	if (rc == 0)
		*ret = mib;
	return rc;
}

int switch_mib_build_vlan(const struct switch_device *device, uint16_t vid, struct switch_mib *ret)
{
	struct switch_mib mib = {0};
	int rc;

	mib_put_vlan_bridge(&mib, device, vid);
	rc = mib_finish(&mib);
	if (rc == 0)
		*ret = mib;
	return rc;
}

const struct switch_mib_row *switch_mib_find(const struct switch_mib *mib, const oid *name,
					     size_t length, bool next)
{
	size_t low = 0;
	size_t high = mib->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct switch_mib_row *row = &mib->rows[middle];
		int order = snmp_oid_compare(row->name, row->length, name, length);

		if (order < 0 || (order == 0 && next))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == mib->count)
		return NULL;
	if (!next &&
	    snmp_oid_compare(mib->rows[low].name, mib->rows[low].length, name, length) != 0)
		return NULL;
	return &mib->rows[low];
}
