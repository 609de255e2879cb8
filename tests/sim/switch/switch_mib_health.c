/* What a lab switch says of its own health: dot1dStp (RFC 4188, 4318) and dot3adAggPort
 * (IEEE8023-LAG-MIB) of what Open vSwitch knows. It has no sensors: the two of ENTITY-SENSOR-MIB
 * (RFC 3433) are made up and are called "emulated". */
#include <string.h>

#include "tests/sim/switch/switch_mib_private.h"

enum { TEMPERATURE = 11, SWITCH_MIB_HEALTH_PORT = 20, RX_POWER = 21 };

static void switch_mib_health_put_text(const struct place *entry, oid column, oid index,
				       const char *text)
{
	struct place cell = mib_under(entry, column);

	cell = mib_under(&cell, index);
	mib_put_bytes(&cell, ASN_OCTET_STR, text, strlen(text));
}

static void switch_mib_health_put_octets(const struct place *entry, oid column, oid index,
					 const void *bytes, size_t size)
{
	struct place cell = mib_under(entry, column);

	cell = mib_under(&cell, index);
	mib_put_bytes(&cell, ASN_OCTET_STR, bytes, size);
}

static void put_tree(struct switch_mib *mib, const struct switch_plane_health *health)
{
	static const oid root[] = {1, 3, 6, 1, 2, 1, 17, 2};
	struct place stp = mib_place(mib, root, COUNT_OF(root));
	struct place ports = mib_under(&stp, 15);

	if (!health->rstp)
		return;
	ports = mib_under(&ports, 1);
	mib_put_scalar(&stp, 1, ASN_INTEGER, 3); /* ieee8021d */
	mib_put_scalar(&stp, 2, ASN_INTEGER,
		       (uint32_t)(health->bridge[0] << 8 | health->bridge[1]));
	switch_mib_health_put_octets(&stp, 5, 0, health->root, sizeof(health->root));
	mib_put_scalar(&stp, 6, ASN_INTEGER, health->root_cost);
	mib_put_scalar(&stp, 7, ASN_INTEGER, health->root_port);
	mib_put_scalar(&stp, 16, ASN_INTEGER, 2); /* rstp */
	for (size_t i = 0; i < health->port_count; i++)
		switch_mib_health_put_octets(&ports, 8, health->ports[i].number,
					     health->ports[i].designated,
					     sizeof(health->ports[i].designated));
}

static void put_members(struct switch_mib *mib, const struct switch_plane_health *health)
{
	static const oid root[] = {SWITCH_LAG_OID, 1, 2, 1, 1};
	struct place entry = mib_place(mib, root, COUNT_OF(root));

	for (size_t i = 0; i < health->member_count; i++) {
		oid index = health->members[i].if_index;

		switch_mib_health_put_octets(&entry, 9, index, health->members[i].partner_system,
					     6);
		mib_put_cell(&entry, 12, index, ASN_INTEGER, health->members[i].lag);
		mib_put_cell(&entry, 13, index, ASN_INTEGER, health->members[i].lag);
		switch_mib_health_put_octets(&entry, 21, index, &health->members[i].actor, 1);
		switch_mib_health_put_octets(&entry, 23, index, &health->members[i].partner, 1);
	}
}

static void put_sensor(struct switch_mib *mib, oid index, uint32_t type, uint32_t precision,
		       uint32_t value)
{
	static const oid root[] = {SWITCH_SENSOR_OID, 1, 1};
	struct place entry = mib_place(mib, root, COUNT_OF(root));

	mib_put_cell(&entry, 1, index, ASN_INTEGER, type);
	mib_put_cell(&entry, 2, index, ASN_INTEGER, 9); /* units */
	mib_put_cell(&entry, 3, index, ASN_INTEGER, precision);
	mib_put_cell(&entry, 4, index, ASN_INTEGER, value);
	mib_put_cell(&entry, 5, index, ASN_INTEGER, 1); /* ok */
}

/* The second one is inside of the first port. */
static void put_sensors(struct switch_mib *mib, const struct switch_device *device)
{
	static const oid root[] = {SWITCH_ENTITY_OID, 1, 1, 1};
	static const oid alias[] = {SWITCH_ENTITY_OID, 3, 2, 1, 2};
	oid if_index[] = {1, 3, 6, 1, 2, 1, 2, 2, 1, 1, 0};
	struct place entry = mib_place(mib, root, COUNT_OF(root));
	struct place mapping = mib_place(mib, alias, COUNT_OF(alias));

	put_sensor(mib, TEMPERATURE, 8, 1, 215);
	switch_mib_health_put_text(&entry, 7, TEMPERATURE, "emulated temperature");
	mib_put_cell(&entry, 4, TEMPERATURE, ASN_INTEGER, 0);
	if (device->plane.port_count == 0)
		return;
	put_sensor(mib, RX_POWER, 14, 2, (uint32_t)-312);
	switch_mib_health_put_text(&entry, 7, RX_POWER, "emulated receive power");
	mib_put_cell(&entry, 4, RX_POWER, ASN_INTEGER, SWITCH_MIB_HEALTH_PORT);
	switch_mib_health_put_text(&entry, 7, SWITCH_MIB_HEALTH_PORT, device->plane.ports[0].name);
	mib_put_cell(&entry, 4, SWITCH_MIB_HEALTH_PORT, ASN_INTEGER, 0);
	if_index[COUNT_OF(if_index) - 1] = device->plane.ports[0].if_index;
	mapping = mib_under(&mapping, SWITCH_MIB_HEALTH_PORT);
	mapping = mib_under(&mapping, 0);
	mib_put_bytes(&mapping, ASN_OBJECT_ID, if_index, sizeof(if_index));
}

void mib_put_health(struct switch_mib *mib, const struct switch_device *device)
{
	put_tree(mib, &device->health);
	put_members(mib, &device->health);
	put_sensors(mib, device);
}
