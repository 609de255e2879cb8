#include "tests/sim/switch/switch_like.h"

#include "tests/sim/switch/switch_dnos.h"
#include "tests/sim/switch/switch_mib_private.h"

#define RESOURCE_UNAVAILABLE ((enum switch_error)SNMP_ERR_RESOURCEUNAVAILABLE)

static const struct switch_like_save *
save_of(const struct switch_like *like, const netsnmp_variable_list *varbind, uint32_t *ret_row)
{
	for (size_t i = 0; i < SWITCH_LIKE_SAVES && like->saves[i].length; i++) {
		const struct switch_like_save *save = &like->saves[i];
		size_t length = varbind->name_length - save->row;

		if (snmp_oid_compare(varbind->name, length, save->name, save->length) != 0)
			continue;
		*ret_row = save->row ? (uint32_t)varbind->name[length] : 0;
		return save;
	}
	return NULL;
}

static uint32_t *row_find(struct switch_likeness *likeness, uint32_t number)
{
	for (size_t i = 0; i < SWITCH_LIKE_ROWS; i++) {
		if (likeness->rows[i] == number)
			return &likeness->rows[i];
	}
	return NULL;
}

static enum switch_error save_row(struct switch_likeness *likeness, uint32_t row, bool now)
{
	uint32_t *place = row_find(likeness, 0);

	if (row_find(likeness, row))
		return SWITCH_INCONSISTENT_VALUE;
	if (!place)
		return RESOURCE_UNAVAILABLE; /* nobody cleared up behind himself */
	if (now)
		*place = row;
	return SWITCH_OK;
}

static enum switch_error destroy_row(struct switch_likeness *likeness, uint32_t row, bool now)
{
	uint32_t *place = row_find(likeness, row);

	if (place && now)
		*place = 0;
	return SWITCH_OK;
}

/* --- modes --- */

static bool is_mode(const struct switch_like *like, const netsnmp_variable_list *varbind)
{
	return like->mode_length && varbind->name_length == like->mode_length + 1 &&
	       snmp_oid_compare(varbind->name, like->mode_length, like->mode, like->mode_length) ==
		       0;
}

/* A port that becomes an access port keeps the VLAN of its PVID, and no other. */
static void keep_pvid(struct switch_model *model, const struct switch_port *port)
{
	for (size_t i = 0; i < model->vlan_count; i++) {
		struct switch_vlan *vlan = &model->vlans[i];
		bool is = vlan->vid == port->pvid;

		switch_portlist_set(&vlan->egress, port->number, is);
		switch_portlist_set(&vlan->untagged, port->number, is);
	}
}

static enum switch_error set_modes(const struct switch_like *like, struct switch_device *device,
				   const netsnmp_variable_list *const varbinds[], size_t count,
				   bool now)
{
	struct switch_model model;
	enum switch_error error = SWITCH_OK;

	if (device->faults.refuse & (1U << SWITCH_FRAMES))
		return SWITCH_INCONSISTENT_VALUE;
	if (device->faults.lost & (1U << SWITCH_FRAMES))
		return SWITCH_OK;
	if (switch_model_copy(&device->running, &model) != 0)
		return SWITCH_GENERAL;
	for (size_t i = 0; i < count && error == SWITCH_OK; i++) {
		long value = *varbinds[i]->val.integer;
		struct switch_port *port =
			switch_model_port(&model, (uint32_t)varbinds[i]->name[like->mode_length]);

		if (!is_mode(like, varbinds[i]))
			error = SWITCH_NOT_WRITABLE;
		else if (!port)
			error = SWITCH_INCONSISTENT_NAME;
		else if (value != like->access && value != like->hybrid)
			error = SWITCH_WRONG_VALUE;
		else if (value == like->access)
			keep_pvid(&model, port);
		if (error == SWITCH_OK && now)
			device->access[port->number] = value == like->access;
	}
	if (error == SWITCH_OK && now)
		return switch_device_replace(device, &model);
	switch_model_done(&model);
	return error;
}

void switch_like_show(const struct switch_like *like, const struct switch_device *device,
		      struct switch_mib *mib)
{
	struct place place = mib_place(mib, like->mode, like->mode_length);

	if (device->dnos)
		switch_dnos_show(device, mib);
	for (size_t i = 0; like->mode_length && i < device->running.port_count; i++) {
		uint32_t number = device->running.ports[i].number;
		struct place cell = mib_under(&place, number);

		mib_put(&cell, ASN_INTEGER,
			(uint32_t)(device->access[number] ? like->access : like->hybrid));
	}
}

/* --- saving --- */

enum switch_error switch_like_set(struct switch_likeness *likeness, struct switch_device *device,
				  const netsnmp_variable_list *const varbinds[], size_t count,
				  bool now)
{
	const struct switch_like *like = likeness->like;
	size_t wanted = 0;
	uint32_t row = 0;
	bool rows = false;

	if (device->faults.read_only)
		return SWITCH_NOT_WRITABLE;
	if (count > 0 && device->dnos && switch_dnos_has(varbinds[0]))
		return switch_dnos_set(device, varbinds, count, now);
	if (count > 0 && is_mode(like, varbinds[0]))
		return set_modes(like, device, varbinds, count, now);
	while (wanted < SWITCH_LIKE_SAVES && like->saves[wanted].length)
		wanted++;
	for (size_t i = 0; i < count; i++) {
		uint32_t own = 0;
		const struct switch_like_save *save = save_of(like, varbinds[i], &own);

		if (!save)
			return SWITCH_NOT_WRITABLE;
		if (varbinds[i]->type != ASN_INTEGER)
			return (enum switch_error)SNMP_ERR_WRONGTYPE;
		if (save->row && count == 1 && *varbinds[i]->val.integer == SWITCH_ROW_DESTROY)
			return destroy_row(likeness, own, now);
		if (*varbinds[i]->val.integer != save->value)
			return SWITCH_WRONG_VALUE;
		if (save->row && (own == 0 || (rows && own != row)))
			return SWITCH_INCONSISTENT_NAME;
		row = own;
		rows |= save->row;
	}
	/* Half of them says neither from where nor to where. */
	if (count != wanted || (device->faults.refuse & (1U << SWITCH_SAVE)))
		return SWITCH_INCONSISTENT_VALUE;
	if (rows) {
		enum switch_error error = save_row(likeness, row, now);

		if (error != SWITCH_OK)
			return error;
	}
	return !now || switch_device_save(device) == 0 ? SWITCH_OK : SWITCH_COMMIT_FAILED;
}
