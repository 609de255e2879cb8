/* Running configurations to the ones that switches start with: after each batch, and again until it
 * was done. Where it fails, an alert says so. A port that has left one network for another is not
 * told of as applied before: a reboot would put it back, where the next tenant's frames would meet
 * those of the last one (reconcile_tell). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/fence.h"
#include "common/io/log.h"

#include "peregrine/control/reconcile/reconcile_private.h"

LEAKS_LEFT_TO_SANITIZER

struct saving {
	struct reconcile *reconcile;
	int64_t switch_id;
	uint64_t left; /* known_switch.left when it began */
	bool beside;   /* known_switch.unsaved_beside, then */
};

static void reconcile_save_start(struct reconcile *reconcile, struct known_switch *known);

/* One that we changed is saved whatever happens meanwhile; `beside` never makes less of that. */
static void note_unsaved(struct known_switch *known, bool beside)
{
	known->unsaved_beside = beside && (!known->unsaved || known->unsaved_beside);
	known->unsaved = true;
}

static int64_t reconcile_save_fabric(const struct reconcile *reconcile,
				     const struct known_switch *known)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(reconcile->rows, "switches"), i, row)
	{
		if (json_integer_value(json_object_get(row, "id")) == known->id)
			return json_integer_value(json_object_get(row, "fabric"));
	}
	return 0;
}

/* Nobody else is at it: the fabric is claimed, and that has not run out unheard. Who claims it next
 * finds the switch among those that are not saved. */
static bool reconcile_save_is_ours(const struct reconcile *reconcile,
				   const struct known_switch *known)
{
	const struct fence *fence =
		reconcile_fence(reconcile, reconcile_save_fabric(reconcile, known));

	return fence && fence_holds(fence);
}

static bool may_start(const struct reconcile *reconcile, const struct known_switch *known)
{
	return known->unsaved && !known->saving && known->wanted && reconcile->cycle.connected &&
	       reconcile_save_is_ours(reconcile, known);
}

static void reconcile_save_on_saved(void *context, int rc, struct switch_reading *reading,
				    const struct problem *problem)
{
	struct saving *saving = context;
	struct reconcile *reconcile = saving->reconcile;
	struct known_switch *known = book_find(&reconcile->book, saving->switch_id);
	uint64_t left = saving->left;
	bool beside = saving->beside;
	char subject[80];

	(void)reading;
	free(saving);
	if (!known)
		return;
	known_save_ends(known, rc == 0 || rc == E_UNSUPPORTED);
	/* The next pass tells of the first failure, and of the end of failing. A switch that keeps
	 * no configuration of its own has nothing to save. */
	known->changed |=
		rc != E_LAPSED && (rc == 0 || rc == E_UNSUPPORTED) == (known->save_failures > 0);
	if (rc == 0 || rc == E_UNSUPPORTED) {
		known->save_failures = 0;
		known->saved_ms = clock_monotonic_ms();
		known->left_saved = left;
		known->doubtful = false;
		/* Else it was changed since: its row is of the next saving. */
		if (!known->unsaved && intent_store_saved(reconcile->options.db, known->id))
			log_debug("reconcile", "the saving of a switch is recorded later");
		if (known->awaited)
			reconcile_wake(reconcile);
		known->awaited = false;
		/* Something was changed meanwhile, and somebody may wait for it. */
		if (may_start(reconcile, known))
			reconcile_save_start(reconcile, known);
		return;
	}
	if (rc == E_LAPSED) {
		note_unsaved(known, beside); /* saved by whoever has the fabric then */
		return;
	}
	if (known->save_failures == 0) {
		(void)text_format(subject, sizeof(subject), "switch %s", known->name);
		log_problem(LOG_LEVEL_WARN, subject, problem);
	}
	note_unsaved(known, beside);
	known_save_failed(known, problem, clock_monotonic_ms());
}

static void reconcile_save_start(struct reconcile *reconcile, struct known_switch *known)
{
	const struct switch_request request = {
		.op = SWITCH_SAVE,
		.fence = reconcile_fence(reconcile, reconcile_save_fabric(reconcile, known))};
	struct saving *saving = malloc(sizeof(*saving));
	struct problem problem = {0};
	bool beside = known->unsaved_beside;
	int rc = -ENOMEM;

	known_save_begins(known);
	if (saving) {
		*saving = (struct saving){.reconcile = reconcile,
					  .switch_id = known->id,
					  .left = known->left,
					  .beside = beside};
		reconcile->stats.calls++;
		rc = reconcile->options.access.call(
			reconcile->options.access.context, known->id, &request,
			clock_monotonic_ms() + reconcile->options.call_ms, reconcile_save_on_saved,
			saving);
	}
	if (rc == 0)
		return;
	free(saving);
	(void)problem_set(&problem, rc, "the switch cannot be asked to save: %s", error_text(rc));
	known_save_ends(known, false);
	note_unsaved(known, beside);
	known->changed |= known->save_failures == 0;
	known_save_failed(known, &problem, clock_monotonic_ms());
}

void reconcile_save(struct reconcile *reconcile, int64_t switch_id)
{
	struct known_switch *known = book_find(&reconcile->book, switch_id);

	if (!known)
		return;
	note_unsaved(known, false);
	if (known->save_failures == 0 && may_start(reconcile, known))
		reconcile_save_start(reconcile, known); /* else it is due when it is ours */
}

void reconcile_save_again(struct reconcile *reconcile, int64_t switch_id, int64_t since_ms)
{
	struct known_switch *known = book_find(&reconcile->book, switch_id);

	if (!known || (!known->saving && known->saved_ms < since_ms))
		return;
	note_unsaved(known, true);
	if (known->save_failures == 0 && may_start(reconcile, known))
		reconcile_save_start(reconcile, known); /* else it is due when it is ours */
}

void reconcile_save_due(struct reconcile *reconcile)
{
	int64_t now_ms = clock_monotonic_ms();

	for (uint32_t i = 0; i < reconcile->book.count; i++) {
		struct known_switch *known = &reconcile->book.switches[i];

		if (known->save_retry_ms <= now_ms && known->retry_ms <= now_ms &&
		    may_start(reconcile, known))
			reconcile_save_start(reconcile, known);
	}
}

/* What an earlier life changed just before it ended, or failed to save, and whose alert is open. */
void reconcile_save_adopt(struct reconcile *reconcile)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(reconcile->rows, "unsaved"), i, row)
	{
		struct known_switch *known =
			book_find(&reconcile->book, json_integer_value(json_object_get(row, "id")));

		if (!known || known->save_adopted)
			continue;
		note_unsaved(known, false);
		known->doubtful = true;
		known->save_told =
			json_is_true(json_object_get(row, "told")) ? ALERT_TOLD : ALERT_UNTOLD;
	}
	for (uint32_t k = 0; k < reconcile->book.count; k++)
		reconcile->book.switches[k].save_adopted = true;
}
