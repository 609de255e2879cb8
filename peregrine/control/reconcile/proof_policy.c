#include "peregrine/control/reconcile/proof_policy.h"

#include <errno.h>
#include <stdlib.h>

LEAKS_LEFT_TO_SANITIZER

struct prover {
	const struct proof_ground *ground;
	struct proof *proof;
	struct state_pool pool;
	bool any; /* something new in the last look */
};

/* `state` becomes the worst that may be while the chosen parts are done: uplinks carry all that
 * they ever carry, ports of nodes what they have before, or after. */
static int state_worst(struct prover *prover, const bool chosen[], bool after, port_state state[])
{
	const struct fabric_model *model = prover->ground->model;
	const struct plan *plan = prover->ground->plan;
	const struct parts *parts = &prover->proof->parts;

	for (size_t i = 0; chosen && i < plan->count; i++) {
		const struct plan_edit *edit = &plan->edits[i];
		struct port_vlans worst;

		if (!chosen[parts->of[i]] || edit->port == MODEL_NONE)
			continue;
		if (!edit_is_uplink(model, edit)) {
			if (after)
				state[edit->port] = edit->after;
			continue;
		}
		worst = uplink_worst(state[edit->port], &edit->edit.before);
		worst = uplink_worst(&worst, edit->after);
		state[edit->port] = state_pool_add(&prover->pool, &worst, state[edit->port]);
		if (!state[edit->port])
			return -ENOMEM;
	}
	return 0;
}

/* Are the chosen parts free to be done in any order, by halves, beside what is under way? Ports of
 * nodes before and after, uplinks at their worst. `ret`: VLANs of what is wrong. */
static int prove_any_order(struct prover *prover, const bool chosen[], struct vlan_set *ret)
{
	const struct proof_ground *ground = prover->ground;
	const struct fabric_model *model = ground->model;
	int rc = 0;

	*ret = (struct vlan_set){0};
	prover->any = false;
	for (int after = 0; rc == 0 && after < 2; after++) {
		CLEANUP(freep)
		port_state *state = flux_state(ground->flux, model, ground->observed);
		CLEANUP(isolation_report_done) struct isolation_report report = {0};
		struct vlan_set vlans;

		if (!state)
			return -ENOMEM;
		rc = state_worst(prover, chosen, after > 0, state);
		if (rc)
			return rc;
		prover->proof->checks++;
		rc = isolation_check(model, state, ground->wanted->ports, ground->applied, &report);
		if (rc)
			return rc;
		prover->any |= isolation_news(model, ground->now, &report, &vlans,
					      prover->any ? NULL : &prover->proof->fault);
		*ret = vlan_set_union(ret, &vlans);
	}
	return rc;
}

/* What an edit leaves behind. A port of a node that is parked, as it is on its way from one network
 * to another, is nowhere: nothing to be found fault with. NULL: no memory. */
static port_state state_left(struct prover *prover, const struct plan_edit *edit)
{
	const struct fabric_model *model = prover->ground->model;
	struct port_vlans left = *edit->after;

	if (!edit_is_uplink(model, edit) && model_vlan_is_parking(model, left.native))
		left.native = 0;
	return state_pool_add(&prover->pool, &left, edit->after);
}

/* Nothing that a stage leaves behind may be worse than what is there now. */
static int prove_stages(struct prover *prover, const bool others[])
{
	const struct proof_ground *ground = prover->ground;
	const struct fabric_model *model = ground->model;
	CLEANUP(freep) port_state *state = flux_state(ground->flux, model, ground->observed);
	int rc = state ? 0 : -ENOMEM;

	if (rc == 0)
		rc = state_worst(prover, others, true, state);
	prover->any = false;
	for (int stage = 0; rc == 0 && !prover->any && stage < PLAN_STAGE_COUNT; stage++) {
		CLEANUP(isolation_report_done) struct isolation_report report = {0};
		struct vlan_set vlans;

		for (size_t i = 0; i < ground->plan->count; i++) {
			const struct plan_edit *edit = &ground->plan->edits[i];

			if (edit->stage != (enum plan_stage)stage || edit->port == MODEL_NONE ||
			    !prover->proof->staged[prover->proof->parts.of[i]])
				continue;
			state[edit->port] = state_left(prover, edit);
			if (!state[edit->port])
				return -ENOMEM;
		}
		prover->proof->checks++;
		rc = isolation_check(model, state, ground->wanted->ports, ground->applied, &report);
		if (rc == 0)
			prover->any = isolation_news(model, ground->now, &report, &vlans,
						     &prover->proof->fault);
	}
	return rc;
}

static void choose_staged(struct prover *prover, const struct vlan_set *vlans)
{
	const struct proof_ground *ground = prover->ground;

	for (size_t i = 0; i < ground->plan->count; i++) {
		struct vlan_set touched = edit_touches(ground->model, &ground->plan->edits[i]);
		struct vlan_set bad = vlan_set_intersection(&touched, vlans);

		if (prover->proof->going[prover->proof->parts.of[i]] && !vlan_set_is_empty(&bad))
			prover->proof->staged[prover->proof->parts.of[i]] = true;
	}
}

/* First all at once, as if there were no order; then what fails for it by stages. */
static int proof_policy_prove(struct prover *prover)
{
	struct proof *proof = prover->proof;
	CLEANUP(freep) bool *others = calloc(proof->parts.count + (size_t)1, sizeof(*others));
	struct vlan_set vlans;
	int rc = others ? prove_any_order(prover, proof->going, &vlans) : -ENOMEM;

	if (rc || !prover->any)
		return rc;
	choose_staged(prover, &vlans);
	for (uint32_t p = 0; p < proof->parts.count; p++)
		others[p] = proof->going[p] && !proof->staged[p];
	rc = prove_any_order(prover, others, &vlans);
	for (uint32_t p = 0; rc == 0 && prover->any && p < proof->parts.count; p++) {
		proof->staged[p] = proof->going[p];
		others[p] = false;
	}
	if (rc == 0)
		rc = prove_stages(prover, others);
	if (rc)
		return rc;
	proof->refused = prover->any;
	proof->any = false;
	for (uint32_t p = 0; p < proof->parts.count; p++) {
		proof->going[p] = proof->going[p] && !(proof->refused && proof->staged[p]);
		proof->any |= proof->going[p];
	}
	parts_merge(&proof->parts, prover->ground->plan, proof->staged);
	return 0;
}

static int proof_policy_choose(const struct proof_ground *ground, struct proof *proof)
{
	uint32_t count;
	int rc = parts_make(ground->model, ground->plan, &ground->now->tainted, &proof->parts);

	if (rc)
		return rc;
	count = proof->parts.count;
	proof->going = calloc(count + (size_t)1, sizeof(*proof->going));
	proof->staged = calloc(count + (size_t)1, sizeof(*proof->staged));
	if (!proof->going || !proof->staged)
		return -ENOMEM;
	parts_waiting(ground->model, ground->plan, &proof->parts,
		      &(struct part_holds){.flux = ground->flux,
					   .waits = ground->waits,
					   .tainted = &ground->now->tainted},
		      proof->going);
	for (uint32_t p = 0; p < count; p++) {
		proof->going[p] = !proof->going[p];
		proof->any |= proof->going[p];
	}
	return 0;
}

int proof_make(const struct proof_ground *ground, struct proof *ret)
{
	struct proof proof = {0};
	struct prover prover = {.ground = ground, .proof = &proof};
	int rc = proof_policy_choose(ground, &proof);

	if (rc == 0 && proof.any)
		rc = proof_policy_prove(&prover);
	state_pool_done(&prover.pool);
	if (rc) {
		proof_done(&proof);
		return rc;
	}
	*ret = proof;
	return 0;
}

void proof_done(struct proof *proof)
{
	parts_done(&proof->parts);
	free(proof->going);
	free(proof->staged);
	*proof = (struct proof){0};
}
