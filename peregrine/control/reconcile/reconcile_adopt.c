/* Alerts that were open before this life, or before the fabric was ours: somebody raised them, and
 * nobody but us will clear them. They count as told from the first pass on, so that the pass which
 * finds their cause gone ends them. */
#include <stddef.h>
#include <string.h>

#include "peregrine/control/reconcile/reconcile_say.h"

LEAKS_LEFT_TO_SANITIZER

/* Of a fabric as a whole: which flag says that it is open. */
static const struct {
	const char *kind;
	size_t told;
} of_fabric[] = {
	{"fabric.isolation", offsetof(struct engine_fabric, faulty)},
	{"network.vlan_leak", offsetof(struct engine_fabric, leaking)},
	{"network.vlan_short", offsetof(struct engine_fabric, short_told)},
	{"switch.undo_failed", offsetof(struct engine_fabric, undo_failed)},
};

static alert_told *flag_of(struct engine_fabric *fabric, size_t at)
{
	return (alert_told *)((char *)fabric + of_fabric[at].told);
}

static struct known_switch *reconcile_adopt_switch_of(const struct engine_fabric *fabric,
						      const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(fabric->reconcile->rows, "switches"), i, row)
	{
		const char *own = json_string_value(json_object_get(row, "name"));

		if (own && strcmp(own, name) == 0 &&
		    json_integer_value(json_object_get(row, "fabric")) == fabric->id)
			return book_find(&fabric->reconcile->book,
					 json_integer_value(json_object_get(row, "id")));
	}
	return NULL;
}

/* `key` is "KIND:SUBJECT". */
static void reconcile_adopt(struct engine_fabric *fabric, const char *name, const char *key)
{
	size_t length = strcspn(key, ":");
	const char *subject = key[length] ? key + length + 1 : "";
	struct known_switch *known;

	for (size_t i = 0; i < COUNT_OF(of_fabric) && strcmp(subject, name) == 0; i++) {
		if (strlen(of_fabric[i].kind) == length &&
		    memcmp(of_fabric[i].kind, key, length) == 0)
			*flag_of(fabric, i) = ALERT_TOLD;
	}
	known = reconcile_adopt_switch_of(fabric, subject);
	if (!known)
		return;
	if (strncmp(key, "switch.drift:", length + 1) == 0)
		say_drifting(fabric, known->id);
	if (strncmp(key, "switch.tags_unproven:", length + 1) == 0)
		known->unproven_told = ALERT_TOLD;
	if (strncmp(key, "switch.no_parking:", length + 1) == 0)
		known->stuck_told = ALERT_TOLD;
	if (strncmp(key, "switch.provisioning_open:", length + 1) == 0)
		known->open_told = ALERT_TOLD;
	if (strncmp(key, "switch.uplink_refused:", length + 1) == 0)
		known->uplink_told = ALERT_TOLD;
}

void fabric_adopt_alerts(struct engine_fabric *fabric, size_t place)
{
	const json_t *rows = fabric->reconcile->rows;
	const char *name = json_string_value(
		json_object_get(json_array_get(json_object_get(rows, "fabrics"), place), "name"));
	const json_t *row;
	size_t i;

	/* What was on its way when the fabric was lost may not have been written. */
	fabric->drifting_count = 0;
	for (i = 0; i < COUNT_OF(of_fabric); i++)
		*flag_of(fabric, i) = ALERT_UNTOLD;
	json_array_foreach(json_object_get(rows, "alerts"), i, row)
	{
		const char *key = json_string_value(json_object_get(row, "key"));

		if (key && name)
			reconcile_adopt(fabric, name, key);
	}
	fabric->adopted = true;
}

bool reconcile_has_orphans(const struct reconcile *reconcile)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(reconcile->rows, "alerts"), i, row)
	{
		if (json_is_true(json_object_get(row, "orphan")))
			return true;
	}
	return false;
}
