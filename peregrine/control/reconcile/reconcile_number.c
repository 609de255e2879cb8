/* Numbers of networks: given, taken back, and in use again when their rest is over. A number rests
 * also while a switch may start with a port in it (known_may_start_with): that port would be back
 * among those of whoever has the number by then, from its first second on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/log.h"

#include "peregrine/control/reconcile/reconcile_private.h"

LEAKS_LEFT_TO_SANITIZER

/* --- what a number waits for --- */

/* A switch of the fabric that we write, and that may start otherwise than it is. Most of the time
 * there is none. */
struct doubted {
	int64_t id;
	const char *name;
	struct known_switch *known;
};

struct doubts {
	struct doubted *items;
	size_t count;
};

static bool is_doubted(const struct known_switch *known)
{
	return !known || !known->read || known->doubtful ||
	       !vlan_set_is_empty(&known->left_vlans) || !vlan_set_is_empty(&known->leaving);
}

/* In the order of their ids, as the rows are. */
static int find_doubted(const struct reconcile *reconcile, const struct scene *scene,
			struct doubts *ret)
{
	const json_t *switches = json_object_get(scene->rows, "switches");
	const json_t *row;
	size_t i;

	ret->items = calloc(json_array_size(switches) + 1, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	json_array_foreach(switches, i, row)
	{
		int64_t id = json_integer_value(json_object_get(row, "id"));
		struct known_switch *known = book_find(&reconcile->book, id);

		if (json_integer_value(json_object_get(row, "fabric")) == scene->fabric_id &&
		    json_is_true(json_object_get(row, "managed")) && is_doubted(known))
			ret->items[ret->count++] = (struct doubted){
				id, json_string_value(json_object_get(row, "name")), known};
	}
	return 0;
}

static bool reconcile_number_is_listed(const json_t *ids, int64_t id)
{
	for (size_t i = 0; i < json_array_size(ids); i++) {
		if (json_integer_value(json_array_get(ids, i)) == id)
			return true;
	}
	return false;
}

/* Of one that was not read yet in this life an earlier one said whether it matters; for a number
 * that is just given back nobody did. `before`: NULL = just given back. */
static bool holds_back(const struct doubted *one, unsigned vlan, const json_t *before)
{
	if (!one->known || !one->known->read)
		return !before || reconcile_number_is_listed(before, one->id);
	return known_may_start_with(one->known, vlan);
}

/* It would say so by itself only if something else were changed there. */
static void ask_to_save(struct reconcile *reconcile, struct known_switch *known)
{
	if (!known || !known->read || known->failures > 0)
		return;
	known->awaited = true;
	if (!known->saving && !known->unsaved)
		reconcile_save(reconcile, known->id);
}

/* The first of those for which the number waits; NULL. True: `json`, when there is one, says other
 * ids than `before`. */
static bool say_waits(struct reconcile *reconcile, const struct doubts *doubts, unsigned vlan,
		      const json_t *before, struct text *json, const char **ret_name)
{
	size_t count = 0;
	bool same = true;

	*ret_name = NULL;
	json_begin_array(json, "waits");
	for (size_t i = 0; i < doubts->count; i++) {
		const struct doubted *one = &doubts->items[i];

		if (!holds_back(one, vlan, before))
			continue;
		ask_to_save(reconcile, one->known);
		if (!*ret_name)
			*ret_name = one->name;
		same &= reconcile_number_is_listed(before, one->id);
		json_put_int(json, NULL, one->id);
		count++;
	}
	json_end_array(json);
	return !same || count != json_array_size(before);
}

/* What resting numbers wait for by now; told where it is not as written. */
static unsigned judge_rests(struct reconcile *reconcile, struct scene *scene,
			    const struct doubts *doubts, struct text *json)
{
	unsigned count = 0;

	for (size_t i = 0; i < scene->pool.row_count; i++) {
		struct number_row *row = &scene->numbers[i];
		CLEANUP(text_done) struct text change = {0};

		if (row->state != NUMBER_RESTING)
			continue;
		json_begin_object(&change, NULL);
		json_put_string(&change, "op", "waits");
		json_put_int(&change, "vlan", row->vlan);
		if (say_waits(reconcile, doubts, row->vlan, scene->waits_for[i], &change,
			      &row->waits)) {
			json_end_object(&change);
			json_put_raw(json, NULL, text_get(&change));
			json->failed |= change.failed;
			count++;
		}
	}
	return count;
}

/* --- given and taken back --- */

static void reconcile_number_say_number(struct text *json, const char *op, unsigned vlan)
{
	json_begin_object(json, NULL);
	json_put_string(json, "op", op);
	json_put_int(json, "vlan", vlan);
}

static unsigned assign_numbers(struct engine_fabric *fabric, struct pass *pass, struct text *json)
{
	const struct scene *scene = &pass->scene;
	int64_t now_ms = json_integer_value(json_object_get(scene->rows, "now_ms"));
	struct vlan_set taken = {0};
	struct problem problem = {0};
	unsigned count = 0;

	fabric->short_of = false;
	for (uint32_t n = 0; n < scene->model.network_count; n++) {
		uint16_t vlan;

		if (scene->gone[n] || !(scene->attached[n] || scene->meant[n]) ||
		    scene->model.networks[n].vlan)
			continue;
		if (number_assign(&scene->pool, &taken, now_ms, &vlan, &problem)) {
			fabric->short_of = true;
			break;
		}
		vlan_set_add(&taken, vlan);
		reconcile_number_say_number(json, "assign", vlan);
		json_put_int(json, "network", scene->model.networks[n].id);
		json_end_object(json);
		count++;
	}
	for (uint32_t i = 0; fabric->short_of && i < scene->intent_count; i++) {
		uint32_t p = scene->intents[i].port;

		if (p != MODEL_NONE && pass->wanted.faults[p] == WANTED_NO_VLAN)
			pass->faults[i] = problem;
	}
	return count;
}

/* A number goes back when its network is to go and no switch that we can read shows it; it comes
 * back into use when its rest is over. */
static unsigned return_numbers(struct reconcile *reconcile, const struct pass *pass,
			       const struct doubts *doubts, struct text *json)
{
	const struct scene *scene = &pass->scene;
	int64_t now_ms = json_integer_value(json_object_get(scene->rows, "now_ms"));
	struct vlan_set rested = number_rested(&scene->pool, now_ms);
	const char *ignored;
	unsigned count = 0;

	for (uint32_t n = 0; n < scene->model.network_count; n++) {
		uint16_t vlan = scene->model.networks[n].vlan;

		if (!scene->gone[n])
			continue;
		if (vlan && !scene->attached[n] && !vlan_set_has(&scene->pool.seen, vlan)) {
			reconcile_number_say_number(json, "release", vlan);
			json_put_int(json, "rest_s", scene->quarantine_s);
			(void)say_waits(reconcile, doubts, vlan, NULL, json, &ignored);
			json_end_object(json);
			count++;
		}
	}
	for (unsigned v = vlan_set_next(&rested, VLAN_FIRST); v;
	     v = vlan_set_next(&rested, v + 1)) {
		reconcile_number_say_number(json, "rested", v);
		json_end_object(json);
		count++;
	}
	return count;
}

static bool has_orphan(const struct scene *scene)
{
	for (uint32_t n = 0; n < scene->model.network_count; n++) {
		if (scene->gone[n] && !scene->attached[n] && scene->model.networks[n].vlan == 0)
			return true;
	}
	return false;
}

static void on_numbers(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct engine_fabric *fabric = context;

	/* Two fabrics' numbers, a network deleted meanwhile: the rows are read anew. */
	if (rc == E_CONFLICT || rc == E_INVALID) {
		log_problem(LOG_LEVEL_WARN, "reconcile", problem);
		fabric->retry_ms = clock_monotonic_ms() + 1000;
		fabric_done(fabric, false);
		return;
	}
	if (rc || PQntuples(result) == 0) {
		fabric_lost(fabric, rc == 0);
		return;
	}
	fabric_done(fabric, true);
}

bool fabric_number(struct engine_fabric *fabric, struct pass *pass)
{
	struct reconcile *reconcile = fabric->reconcile;
	const struct claim_key key = fabric_key(fabric);
	CLEANUP(text_done) struct text json = {0};
	struct doubts doubts = {0};
	unsigned count;

	if (find_doubted(reconcile, &pass->scene, &doubts))
		return false;
	json_begin_array(&json, NULL);
	count = judge_rests(reconcile, &pass->scene, &doubts, &json);
	count += assign_numbers(fabric, pass, &json);
	count += return_numbers(reconcile, pass, &doubts, &json);
	json_end_array(&json);
	free(doubts.items);
	if (count == 0 && !has_orphan(&pass->scene))
		return false;
	fabric->step = FABRIC_NUMBERS;
	if (json.failed ||
	    intent_store_numbers(reconcile->options.db, &key, text_get(&json), on_numbers, fabric))
		fabric_lost(fabric, false);
	return true;
}
