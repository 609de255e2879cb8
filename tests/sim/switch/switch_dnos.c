#include "tests/sim/switch/switch_dnos.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/sim/switch/switch_mib_private.h"

#define SWITCH_DNOS_WRONG_TYPE ((enum switch_error)SNMP_ERR_WRONGTYPE)

enum { MODE_ACCESS = 1, MODE_TRUNK = 2, MODE_GENERAL = 3 };
enum { COLUMN_MODE = 26, COLUMN_ACCESS = 43, COLUMN_NATIVE = 46 };

static const oid port_entry[] = {SWITCH_DNOS_OID, 2, 13, 1};
static const oid trunk_column[] = {SWITCH_DNOS_OID, 2, 23, 1, 1, 1};

int switch_dnos_new(struct switch_dnos **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void switch_dnos_follow(struct switch_device *device, const struct switch_port *port)
{
	struct switch_dnos *dnos = device->dnos;
	const struct switch_model *model = &device->running;
	struct switch_tagging tagging = switch_model_tagging(model, port);
	bool access = tagging.mode == SWITCH_ACCESS;

	dnos->mode[port->number] = access ? MODE_ACCESS : MODE_TRUNK;
	dnos->access[port->number] = access ? port->pvid : 1;
	dnos->native[port->number] = access ? 1 : port->pvid;
	for (size_t i = 0; i < model->vlan_count && !access; i++)
		switch_portlist_set(&dnos->trunk[model->vlans[i].vid], port->number,
				    switch_portlist_has(&model->vlans[i].egress, port->number));
}

void switch_dnos_show(const struct switch_device *device, struct switch_mib *mib)
{
	const struct switch_dnos *dnos = device->dnos;
	const struct switch_model *model = &device->running;
	struct place entry = mib_place(mib, port_entry, COUNT_OF(port_entry));
	struct place column = mib_place(mib, trunk_column, COUNT_OF(trunk_column));

	for (size_t i = 0; i < model->port_count; i++) {
		uint32_t number = model->ports[i].number;

		mib_put_cell(&entry, COLUMN_MODE, number, ASN_INTEGER, dnos->mode[number]);
		mib_put_cell(&entry, COLUMN_ACCESS, number, ASN_INTEGER, dnos->access[number]);
		mib_put_cell(&entry, COLUMN_NATIVE, number, ASN_INTEGER, dnos->native[number]);
	}
	for (size_t i = 0; i < model->vlan_count; i++) {
		uint16_t vid = model->vlans[i].vid;
		struct place cell = mib_under(&column, vid);

		mib_put_bytes(&cell, ASN_OCTET_STR, dnos->trunk[vid].octets,
			      SWITCH_PORTLIST_OCTETS);
	}
}

/* --- set --- */

static void make_port(const struct switch_dnos *dnos, struct switch_model *model,
		      struct switch_port *port)
{
	uint8_t mode = dnos->mode[port->number];

	if (mode == MODE_GENERAL)
		return;
	port->pvid = mode == MODE_ACCESS ? dnos->access[port->number] : dnos->native[port->number];
	port->frames = SWITCH_ADMIT_ALL;
	port->filters = true;
	for (size_t i = 0; i < model->vlan_count; i++) {
		struct switch_vlan *vlan = &model->vlans[i];
		bool is = mode == MODE_ACCESS
				  ? vlan->vid == port->pvid
				  : switch_portlist_has(&dnos->trunk[vlan->vid], port->number);

		switch_portlist_set(&vlan->egress, port->number, is);
		switch_portlist_set(&vlan->untagged, port->number, is && vlan->vid == port->pvid);
	}
}

bool switch_dnos_has(const netsnmp_variable_list *varbind)
{
	return snmp_oid_compare(varbind->name,
				varbind->name_length < COUNT_OF(port_entry) - 2
					? varbind->name_length
					: COUNT_OF(port_entry) - 2,
				port_entry, COUNT_OF(port_entry) - 2) == 0;
}

static enum switch_error set_port(struct switch_dnos *dnos, const struct switch_model *model,
				  const netsnmp_variable_list *varbind, enum switch_verb *ret_verb)
{
	oid column = varbind->name[COUNT_OF(port_entry)];
	uint32_t number = (uint32_t)varbind->name[COUNT_OF(port_entry) + 1];
	long value = varbind->type == ASN_INTEGER ? *varbind->val.integer : 0;

	*ret_verb = column == COLUMN_MODE ? SWITCH_FRAMES : SWITCH_PVID;
	if (varbind->type != ASN_INTEGER)
		return SWITCH_DNOS_WRONG_TYPE;
	if (!switch_model_port(model, number) || number > SWITCH_PORT_MAX)
		return SWITCH_NO_CREATION;
	if (column == COLUMN_MODE) {
		if (value < MODE_ACCESS || value > MODE_GENERAL)
			return SWITCH_WRONG_VALUE;
		dnos->mode[number] = (uint8_t)value;
		return SWITCH_OK;
	}
	if (column != COLUMN_ACCESS && column != COLUMN_NATIVE)
		return SWITCH_NOT_WRITABLE;
	if (value < 1 || value > SWITCH_VID_MAX || !switch_model_vlan(model, (uint32_t)value))
		return SWITCH_INCONSISTENT_VALUE;
	if (column == COLUMN_ACCESS)
		dnos->access[number] = (uint16_t)value;
	else
		dnos->native[number] = (uint16_t)value;
	return SWITCH_OK;
}

static enum switch_error set_list(struct switch_dnos *dnos, const struct switch_model *model,
				  const netsnmp_variable_list *varbind, enum switch_verb *ret_verb)
{
	oid vid = varbind->name[COUNT_OF(trunk_column)];

	*ret_verb = SWITCH_EGRESS;
	if (varbind->type != ASN_OCTET_STR)
		return SWITCH_DNOS_WRONG_TYPE;
	if (vid > SWITCH_VID_MAX || !switch_model_vlan(model, (uint32_t)vid))
		return SWITCH_NO_CREATION;
	return switch_portlist_read(varbind->val.string, varbind->val_len, &dnos->trunk[vid]) == 0
		       ? SWITCH_OK
		       : SWITCH_WRONG_VALUE;
}

/* One varbind, unless a fault refuses or loses it. */
static enum switch_error switch_dnos_set_one(const struct switch_device *device,
					     struct switch_dnos *dnos,
					     const netsnmp_variable_list *varbind)
{
	static const size_t list_length = COUNT_OF(trunk_column) + 1;
	const struct switch_dnos before = *dnos;
	enum switch_verb verb = SWITCH_FRAMES;
	enum switch_error error = SWITCH_NOT_WRITABLE;

	if (varbind->name_length == COUNT_OF(port_entry) + 2 &&
	    snmp_oid_compare(varbind->name, COUNT_OF(port_entry), port_entry,
			     COUNT_OF(port_entry)) == 0)
		error = set_port(dnos, &device->running, varbind, &verb);
	else if (varbind->name_length == list_length &&
		 snmp_oid_compare(varbind->name, COUNT_OF(trunk_column), trunk_column,
				  COUNT_OF(trunk_column)) == 0)
		error = set_list(dnos, &device->running, varbind, &verb);
	if (error == SWITCH_OK && (device->faults.refuse & (1U << verb)))
		error = SWITCH_INCONSISTENT_VALUE;
	if (error != SWITCH_OK || (device->faults.lost & (1U << verb)))
		*dnos = before;
	return error;
}

/* The data plane as these settings have it. */
static enum switch_error switch_dnos_make(struct switch_device *device,
					  const struct switch_dnos *dnos)
{
	struct switch_model model;
	enum switch_error error;

	if (switch_model_copy(&device->running, &model) != 0)
		return SWITCH_GENERAL;
	for (size_t i = 0; i < model.port_count; i++)
		make_port(dnos, &model, &model.ports[i]);
	error = switch_device_replace(device, &model);
	switch_model_done(&model);
	if (error == SWITCH_OK)
		*device->dnos = *dnos;
	return error;
}

/* Object by object, as they come: what is in between is on the wire. */
static enum switch_error set_all(struct switch_device *device, struct switch_dnos *after,
				 const netsnmp_variable_list *const varbinds[], size_t count,
				 bool now)
{
	enum switch_error error = SWITCH_OK;
	size_t end = now && device->faults.partial ? count / 2 : count;

	for (size_t i = 0; i < end && error == SWITCH_OK; i++) {
		error = switch_dnos_set_one(device, after, varbinds[i]);
		if (error == SWITCH_OK && now)
			error = switch_dnos_make(device, after);
	}
	return error == SWITCH_OK && end < count ? SWITCH_COMMIT_FAILED : error;
}

enum switch_error switch_dnos_set(struct switch_device *device,
				  const netsnmp_variable_list *const varbinds[], size_t count,
				  bool now)
{
	struct switch_dnos *after = malloc(sizeof(*after));
	enum switch_error error = SWITCH_GENERAL;

	if (after) {
		*after = *device->dnos;
		error = set_all(device, after, varbinds, count, now);
	}
	free(after);
	return error;
}
