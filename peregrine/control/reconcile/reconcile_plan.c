#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/log.h"

#include "peregrine/control/reconcile/reconcile_private.h"

LEAKS_LEFT_TO_SANITIZER

/* --- batches --- */

static void on_batch_end(void *context, const struct batch_end *end)
{
	struct engine_fabric *fabric = context;
	struct reconcile *reconcile = fabric->reconcile;
	struct batch *batch = end->batch;

	switch (end->outcome) {
	case BATCH_DONE: reconcile->stats.applied++; break;
	case BATCH_UNDONE: reconcile->stats.undone++; break;
	case BATCH_FAILED: reconcile->stats.failed++; break;
	case BATCH_LOST: break;
	}
	for (size_t b = 0; b < fabric->batch_count; b++) {
		if (fabric->batches[b] == batch)
			fabric->batches[b] = fabric->batches[--fabric->batch_count];
	}
	if (end->outcome == BATCH_LOST)
		fabric_lost(fabric, end->overtaken);
	else
		fabric_tell_batch(fabric, batch, end);
	batch_free(batch);
	reconcile_wake(reconcile);
}

static struct batch_share reconcile_plan_share(void *context, int64_t switch_id, const char *port)
{
	const struct engine_fabric *fabric = context;
	struct batch_share all = {0};

	for (size_t b = 0; b < fabric->batch_count; b++) {
		struct batch_share one = batch_share(fabric->batches[b], switch_id, port);

		all.brought = vlan_set_union(&all.brought, &one.brought);
		all.taken_back = vlan_set_union(&all.taken_back, &one.taken_back);
	}
	return all;
}

static bool start_batch(struct engine_fabric *fabric, const struct batch_source *source,
			const char *reason)
{
	struct reconcile *reconcile = fabric->reconcile;
	const struct batch_options options = {
		.loop = reconcile->loop,
		.db = reconcile->options.db,
		.access = reconcile->options.access,
		.key = fabric_key(fabric),
		.claim_until_ms = fabric->claim_until_ms,
		.fence = fabric->fence,
		.call_ms = reconcile->options.call_ms,
		.read_ms = reconcile->options.read_ms,
		.again_ms = reconcile->options.again_ms,
		.book = &reconcile->book,
		.stats = &reconcile->stats,
		.reason = reason,
		.fn = on_batch_end,
		.share = reconcile_plan_share,
		.context = fabric,
	};
	struct batch **batches =
		realloc(fabric->batches, (fabric->batch_count + 1) * sizeof(struct batch *));

	if (!batches)
		return false;
	fabric->batches = batches;
	if (batch_new(&options, source, &batches[fabric->batch_count]))
		return false;
	fabric->batch_count++;
	fabric->settled = false;
	reconcile->stats.batches++;
	if (fabric->batch_count > reconcile->stats.most_batches)
		reconcile->stats.most_batches = fabric->batch_count;
	return true;
}

static const char *reconcile_plan_reason_of(const struct pass *pass,
					    const struct batch_source *source, bool drift)
{
	for (size_t i = 0; i < source->count && !drift; i++) {
		if (!pass->drifted[pass->plan.edits[source->edits[i]].at])
			return "intent";
	}
	return "drift";
}

/* Edits by part, in their order. */
static int start_batches(struct engine_fabric *fabric, const struct pass *pass,
			 const struct proof *proof)
{
	const struct parts *parts = &proof->parts;
	CLEANUP(freep) size_t *first = calloc(parts->count + (size_t)2, sizeof(*first));
	CLEANUP(freep) uint32_t *order = calloc(pass->plan.count + 1, sizeof(*order));
	struct batch_source source = {
		.scene = &pass->scene, .wanted = &pass->wanted, .plan = &pass->plan};
	bool drift = pass_is_drift(fabric, pass);

	if (!first || !order)
		return -ENOMEM;
	for (size_t i = 0; i < pass->plan.count; i++)
		first[parts->of[i] + 1]++;
	for (uint32_t p = 1; p <= parts->count; p++)
		first[p] += first[p - 1];
	for (size_t i = 0; i < pass->plan.count; i++)
		order[first[parts->of[i]]++] = (uint32_t)i;
	for (uint32_t p = 0; p < parts->count && fabric->batch_count < BATCHES_MAX; p++) {
		size_t from = p ? first[p - 1] : 0;

		if (!proof->going[p] || first[p] == from)
			continue;
		source.edits = &order[from];
		source.count = first[p] - from;
		if (!start_batch(fabric, &source, reconcile_plan_reason_of(pass, &source, drift)))
			return -ENOMEM;
	}
	return 0;
}

/* --- the pass --- */

/* Who has to wait because what was planned cannot be proven, and why. */
static void blame_refused(const struct proof *proof, struct pass *pass,
			  const struct problem *refusal)
{
	for (size_t i = 0; i < pass->plan.count; i++) {
		uint32_t port = pass->plan.edits[i].port;

		if (port == MODEL_NONE || !proof->staged[proof->parts.of[i]])
			continue;
		for (uint32_t k = 0; k < pass->scene.intent_count; k++) {
			uint32_t own = pass->scene.intents[k].port;

			if (own != MODEL_NONE && pass->faults[k].code == 0 &&
			    pass->scene.model.ports[own].carrier == port)
				pass->faults[k] = *refusal;
		}
	}
}

static int reconcile_plan_prove(struct engine_fabric *fabric, struct pass *pass, struct proof *ret)
{
	const struct proof_ground ground = {.model = &pass->scene.model,
					    .observed = pass->scene.observed,
					    .applied = pass->scene.applied,
					    .wanted = &pass->wanted,
					    .plan = &pass->plan,
					    .flux = &pass->scene.flux,
					    .waits = pass->scene.waits,
					    .now = pass_now(pass)};
	struct reconcile_stats *stats = &fabric->reconcile->stats;
	int rc = proof_make(&ground, ret);

	if (rc)
		return rc;
	stats->proofs += ret->checks;
	if (!ret->refused)
		return 0;
	stats->proofs_failed++;
	isolation_problem(ground.model, &ret->fault, ISOLATION_WOULD_BE, &fabric->refusal);
	blame_refused(ret, pass, &fabric->refusal);
	return 0;
}

void fabric_plan(struct engine_fabric *fabric, size_t place)
{
	struct reconcile *reconcile = fabric->reconcile;
	struct pass pass = {0};
	struct proof proof = {0};
	int rc = pass_make(reconcile, fabric, place, &pass);

	if (rc) {
		log_error("reconcile", "no plan could be made: %s", error_text(rc));
		fabric->retry_ms = clock_monotonic_ms() + 5000;
		return;
	}
	fabric->refusal = (struct problem){0};
	if (fabric_number(fabric, &pass)) {
		pass_done(&pass);
		return;
	}
	if (pass.plan.count > 0 && !pass_only_tells(fabric, &pass))
		rc = reconcile_plan_prove(fabric, &pass, &proof);
	fabric_judge_bonds(fabric, &pass);
	/* What was found is told beside the batches; each tells how it ended. */
	fabric_tell(fabric, &pass);
	if (rc == 0 && proof.any && fabric->claimed)
		rc = start_batches(fabric, &pass, &proof);
	if (rc == 0 && fabric->claimed)
		fabric_bond(fabric, &pass);
	if (rc) {
		log_error("reconcile", "a plan could not be begun: %s", error_text(rc));
		fabric->retry_ms = clock_monotonic_ms() + 5000;
	}
	proof_done(&proof);
	pass_done(&pass);
}
