/* SWITCH_SAVE: one SET, and where the dialect says so a row to be watched until the copy has ended.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/loop.h"

#include "peregrine/switch/snmp/snmp_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum { SAVE_TIMEOUT_MS = 20000, LOOK_MS = 250 }; /* flash is slow */
enum { SNMP_SAVE_ROW_DESTROY = 6 };
enum { OWN_ROW = 1961, FIRST_ROW = 1000 }; /* rows of others are named by small numbers */

struct snmp_saving {
	struct snmp_switch *one;
	const struct snmp_save *sets;
	uint32_t row;
	struct loop_timer *timer; /* until the next look; owned */
};

void snmp_save_cancel(struct snmp_saving *saving)
{
	if (!saving)
		return;
	snmp_peer_forget(saving->one->peer, saving);
	loop_timer_free(saving->timer);
	free(saving);
}

static int ask_set(struct snmp_saving *saving);

static void on_destroyed(void *context, struct snmp_answer *answer)
{
	struct snmp_saving *saving = context;

	(void)answer; /* it ages out */
	switch_call_end(&saving->one->call, 0, NULL, NULL);
}

static void snmp_save_on_state(void *context, struct snmp_answer *answer)
{
	struct snmp_saving *saving = context;
	const struct snmp_save_end *end = &saving->one->dialect->save_end;
	struct snmp_binding status = {
		snmp_oid_with(&end->status, saving->row),
		{.type = SNMP_INTEGER, .number = SNMP_SAVE_ROW_DESTROY},
	};
	struct snmp_ask ask = {.kind = SNMP_SET,
			       .bindings = &status,
			       .count = 1,
			       .once = true,
			       .fence = saving->one->call.request->fence};
	struct snmp_binding state;

	if (answer->rc || answer->status || !snmp_answer_next(answer, &state) ||
	    state.value.type != SNMP_INTEGER)
		snmp_switch_fail(saving->one, answer->rc ? answer->rc : E_PROTOCOL, "saving",
				 "the result is not known");
	else if (state.value.number > end->good)
		snmp_switch_fail(saving->one, E_CONFLICT, "saving",
				 "the switch says that it failed");
	else if (state.value.number < end->good)
		loop_timer_arm(saving->timer, LOOK_MS);
	else if (snmp_peer_ask(saving->one->peer, &ask, on_destroyed, saving))
		switch_call_end(&saving->one->call, 0, NULL, NULL);
}

/* Until the call's deadline. */
static void snmp_save_look(void *context)
{
	struct snmp_saving *saving = context;
	struct snmp_binding state = {
		snmp_oid_with(&saving->one->dialect->save_end.state, saving->row), {0}};
	struct snmp_ask ask = {.kind = SNMP_GET, .bindings = &state, .count = 1};

	if (snmp_peer_ask(saving->one->peer, &ask, snmp_save_on_state, saving))
		snmp_switch_fail(saving->one, -ENOMEM, "saving", "");
}

static void snmp_save_on_set(void *context, struct snmp_answer *answer)
{
	struct snmp_saving *saving = context;
	struct snmp_switch *one = saving->one;
	const struct snmp_dialect *dialect = one->dialect;

	if (answer->status && saving->sets == dialect->save && dialect->save_else[0].name.count) {
		saving->sets = dialect->save_else;
		if (ask_set(saving) == 0)
			return;
	}
	if (answer->rc)
		snmp_switch_fail(one, answer->rc, "saving", "");
	else if (answer->status)
		snmp_switch_fail(one, snmp_status_code(answer->status), "saving",
				 snmp_status_text(answer->status));
	else if (saving->sets == dialect->save && dialect->save_end.state.count)
		snmp_save_look(saving);
	else
		switch_call_end(&one->call, 0, NULL, NULL);
}

static int ask_set(struct snmp_saving *saving)
{
	struct snmp_binding bindings[SNMP_SAVE_SETS] = {0};
	uint8_t model_at = saving->one->dialect->mode.model_at;
	struct snmp_ask ask = {.kind = SNMP_SET,
			       .bindings = bindings,
			       .timeout_ms = SAVE_TIMEOUT_MS,
			       .once = true};

	for (; ask.count < SNMP_SAVE_SETS && saving->sets[ask.count].name.count; ask.count++) {
		const struct snmp_save *set = &saving->sets[ask.count];

		bindings[ask.count].name =
			set->row ? snmp_oid_with(&set->name, saving->row) : set->name;
		if (model_at)
			bindings[ask.count].name.ids[model_at - 1] = saving->one->model;
		bindings[ask.count].value =
			(struct snmp_value){.type = SNMP_INTEGER, .number = set->value};
	}
	return snmp_peer_ask(saving->one->peer, &ask, snmp_save_on_set, saving);
}

/* Destroying a row that is not there is no error (RFC 2579), and what else is wrong the next SET
 * will say. */
static void on_cleared(void *context, struct snmp_answer *answer)
{
	struct snmp_saving *saving = context;

	if (answer->rc)
		snmp_switch_fail(saving->one, answer->rc, "saving", "");
	else if (ask_set(saving))
		snmp_switch_fail(saving->one, -ENOMEM, "saving", "");
}

static int clear_up(struct snmp_saving *saving)
{
	struct snmp_binding status = {
		snmp_oid_with(&saving->one->dialect->save_end.status, saving->row),
		{.type = SNMP_INTEGER, .number = SNMP_SAVE_ROW_DESTROY},
	};
	struct snmp_ask ask = {.kind = SNMP_SET,
			       .bindings = &status,
			       .count = 1,
			       .fence = saving->one->call.request->fence};

	return snmp_peer_ask(saving->one->peer, &ask, on_cleared, saving);
}

/* sysObjectID, where nothing was read of this switch yet. */
static void on_model(void *context, struct snmp_answer *answer)
{
	struct snmp_saving *saving = context;
	struct snmp_switch *one = saving->one;
	uint8_t model_at = one->dialect->mode.model_at;
	struct snmp_binding binding;

	if (!answer->rc && !answer->status && snmp_answer_next(answer, &binding) &&
	    binding.value.type == SNMP_OBJECT_ID && binding.value.object->count >= model_at)
		one->model = binding.value.object->ids[model_at - 1];
	if (answer->rc)
		snmp_switch_fail(one, answer->rc, "saving", "");
	else if (!one->model)
		snmp_switch_fail(one, E_PROTOCOL, "saving", "its sysObjectID names no model");
	else if (ask_set(saving))
		snmp_switch_fail(one, -ENOMEM, "saving", "");
}

static int ask_model(struct snmp_saving *saving)
{
	struct snmp_binding object = {.name = OID(1, 3, 6, 1, 2, 1, 1, 2, 0)};
	struct snmp_ask ask = {.kind = SNMP_GET, .bindings = &object, .count = 1};

	return snmp_peer_ask(saving->one->peer, &ask, on_model, saving);
}

int snmp_save_start(struct snmp_switch *one)
{
	const struct snmp_save_end *end = &one->dialect->save_end;
	struct snmp_saving *saving;
	int rc;

	if (!one->dialect->save[0].name.count)
		return problem_set(&one->call.early, E_UNSUPPORTED,
				   "switch %s: %s cannot be saved by SNMP", one->call.endpoint.name,
				   one->call.family->title);
	saving = calloc(1, sizeof(*saving));
	if (!saving)
		return -ENOMEM;
	saving->one = one;
	saving->sets = one->dialect->save;
	saving->row = end->state.count ? FIRST_ROW + (uint32_t)(clock_monotonic_ms() / 1000 % 60000)
				       : OWN_ROW;
	rc = loop_timer_new(one->loop, snmp_save_look, saving, &saving->timer);
	if (!rc && end->status.count && !end->state.count)
		rc = clear_up(saving);
	else if (!rc && one->dialect->mode.model_at && !one->model)
		rc = ask_model(saving);
	else if (!rc)
		rc = ask_set(saving);
	if (rc) {
		snmp_save_cancel(saving);
		return rc;
	}
	one->saving = saving;
	return 0;
}
