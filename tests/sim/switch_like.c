#include "tests/sim/switch_like.h"

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

enum switch_error switch_like_set(struct switch_likeness *likeness, struct switch_device *device,
				  const netsnmp_variable_list *const varbinds[], size_t count,
				  bool now)
{
	const struct switch_like *like = likeness->like;
	size_t wanted = 0;
	uint32_t row = 0;
	bool rows = false;

	while (wanted < SWITCH_LIKE_SAVES && like->saves[wanted].length)
		wanted++;
	for (size_t i = 0; i < count; i++) {
		uint32_t own = 0;
		const struct switch_like_save *save = save_of(like, varbinds[i], &own);

		if (!save || device->faults.read_only)
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
