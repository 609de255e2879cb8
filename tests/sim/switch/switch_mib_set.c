/* What a varbind of a SET asks for: types, lengths and ranges first (RFC 3416, 4.2.5). */
#include <string.h>

#include "common/base/text.h"

#include "tests/sim/switch/switch_mib.h"

/* Answers of SNMP that the model has no use for. */
#define SWITCH_MIB_SET_WRONG_TYPE ((enum switch_error)SNMP_ERR_WRONGTYPE)

enum switch_mib_set_table { STATIC_VLAN = 3, PORT_VLAN = 5 }; /* under dot1qVlan */

static const struct {
	enum switch_mib_set_table table;
	oid column;
	u_char type;
	enum switch_verb verb;
} switch_mib_set_cells[] = {
	{STATIC_VLAN, 1, ASN_OCTET_STR, SWITCH_NAME},
	{STATIC_VLAN, 2, ASN_OCTET_STR, SWITCH_EGRESS},
	{STATIC_VLAN, 3, ASN_OCTET_STR, SWITCH_FORBIDDEN},
	{STATIC_VLAN, 4, ASN_OCTET_STR, SWITCH_UNTAGGED},
	{STATIC_VLAN, 5, ASN_INTEGER, SWITCH_CREATE},
	{PORT_VLAN, 1, ASN_UNSIGNED, SWITCH_PVID},
	{PORT_VLAN, 2, ASN_INTEGER, SWITCH_FRAMES},
	{PORT_VLAN, 3, ASN_INTEGER, SWITCH_FILTER},
};

static enum switch_error switch_mib_set_read_name(const netsnmp_variable_list *varbind,
						  struct switch_change *ret)
{
	if (varbind->val_len >= sizeof(ret->name))
		return SWITCH_WRONG_LENGTH;
	memcpy(ret->name, varbind->val.string, varbind->val_len);
	ret->name[varbind->val_len] = '\0';
	return SWITCH_OK;
}

static enum switch_error switch_mib_set_read_ports(const struct switch_device *device,
						   const netsnmp_variable_list *varbind,
						   struct switch_change *ret)
{
	size_t count = device->running.port_count;
	uint32_t last = count > 0 ? device->running.ports[count - 1].number : 0;
	size_t wanted = device->faults.portlist > 0 ? device->faults.portlist : (last + 7) / 8;

	if (varbind->val_len > 512 ||
	    (device->faults.portlist_strict && varbind->val_len != wanted))
		return SWITCH_WRONG_LENGTH;
	if (switch_portlist_read(varbind->val.string, varbind->val_len, &ret->ports) != 0)
		return SWITCH_WRONG_VALUE;
	return SWITCH_OK;
}

static enum switch_error read_row_status(struct switch_change *ret)
{
	switch (ret->value) {
	case SWITCH_ROW_DESTROY: ret->verb = SWITCH_DELETE; return SWITCH_OK;
	case SWITCH_ROW_CREATE_AND_WAIT: ret->wait = true; return SWITCH_OK;
	case SWITCH_ROW_CREATE_AND_GO:
	case SWITCH_ROW_ACTIVE:
	case SWITCH_ROW_NOT_IN_SERVICE: return SWITCH_OK;
	default: return SWITCH_WRONG_VALUE;
	}
}

static enum switch_error switch_mib_set_read_value(const struct switch_device *device,
						   const netsnmp_variable_list *varbind,
						   struct switch_change *ret)
{
	if (varbind->type != ASN_OCTET_STR) {
		ret->value = (uint32_t)*varbind->val.integer;
		return ret->verb == SWITCH_CREATE ? read_row_status(ret) : SWITCH_OK;
	}
	return ret->verb == SWITCH_NAME ? switch_mib_set_read_name(varbind, ret)
					: switch_mib_set_read_ports(device, varbind, ret);
}

static bool is_save(const struct switch_save_object *saves, size_t save_count,
		    const netsnmp_variable_list *varbind, int *ret_value)
{
	static const oid own[] = {SWITCH_OWN_OID, 1, 0};

	if (snmp_oid_compare(varbind->name, varbind->name_length, own, OID_LENGTH(own)) == 0) {
		*ret_value = 1;
		return true;
	}
	for (size_t i = 0; i < save_count; i++) {
		if (snmp_oid_compare(varbind->name, varbind->name_length, saves[i].name,
				     saves[i].length) == 0) {
			*ret_value = saves[i].value;
			return true;
		}
	}
	return false;
}

enum switch_error switch_mib_change(const struct switch_device *device,
				    const struct switch_save_object *saves, size_t save_count,
				    const netsnmp_variable_list *varbind, struct switch_change *ret)
{
	static const oid vlan[] = {1, 3, 6, 1, 2, 1, 17, 7, 1, 4};
	const size_t prefix = OID_LENGTH(vlan);
	const oid *name = varbind->name;
	int value = 0;

	*ret = (struct switch_change){.verb = SWITCH_SAVE};
	if (is_save(saves, save_count, varbind, &value)) {
		if (varbind->type != ASN_INTEGER)
			return SWITCH_MIB_SET_WRONG_TYPE;
		return *varbind->val.integer == value ? SWITCH_OK : SWITCH_WRONG_VALUE;
	}
	if (varbind->name_length != prefix + 4 ||
	    snmp_oid_compare(name, prefix, vlan, prefix) != 0 || name[prefix + 1] != 1)
		return SWITCH_NOT_WRITABLE;
	for (size_t i = 0; i < COUNT_OF(switch_mib_set_cells); i++) {
		oid index = name[prefix + 3];

		if (name[prefix] != (oid)switch_mib_set_cells[i].table ||
		    name[prefix + 2] != switch_mib_set_cells[i].column)
			continue;
		if (varbind->type != switch_mib_set_cells[i].type)
			return SWITCH_MIB_SET_WRONG_TYPE;
		if (switch_mib_set_cells[i].table == STATIC_VLAN)
			index -= device->faults.index_offset;
		ret->verb = switch_mib_set_cells[i].verb;
		ret->index = index <= UINT32_MAX ? (uint32_t)index : 0;
		return switch_mib_set_read_value(device, varbind, ret);
	}
	return SWITCH_NOT_WRITABLE;
}
