#include "peregrine/switch/snmp/snmp_oid.h"

#include <stdio.h>
#include <string.h>

struct snmp_oid snmp_oid_with(const struct snmp_oid *oid, uint32_t arc)
{
	struct snmp_oid longer = *oid;

	if (longer.count < SNMP_OID_LIMIT)
		longer.ids[longer.count++] = arc;
	return longer;
}

bool snmp_oid_is_below(const struct snmp_oid *oid, const struct snmp_oid *root)
{
	return oid->count > root->count &&
	       memcmp(oid->ids, root->ids, root->count * sizeof(oid->ids[0])) == 0;
}

int snmp_oid_order(const struct snmp_oid *a, const struct snmp_oid *b)
{
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		if (a->ids[i] != b->ids[i])
			return a->ids[i] < b->ids[i] ? -1 : 1;
	}
	return (a->count > b->count) - (a->count < b->count);
}

size_t snmp_oid_size(const struct snmp_oid *oid)
{
	size_t size = 1; /* the first two arcs are one octet */

	for (size_t i = 2; i < oid->count; i++) {
		uint32_t arc = oid->ids[i];

		for (size++; arc >= 0x80; arc >>= 7)
			size++;
	}
	return size;
}

bool snmp_oid_text(const struct snmp_oid *oid, char *ret, size_t room)
{
	size_t used = 0;

	if (room)
		ret[0] = '\0';
	for (size_t i = 0; i < oid->count; i++) {
		char arc[16];
		size_t size = (size_t)snprintf(arc, sizeof(arc), ".%u", oid->ids[i]);

		if (size >= room - used)
			return false;
		memcpy(ret + used, arc, size + 1);
		used += size;
	}
	return true;
}
