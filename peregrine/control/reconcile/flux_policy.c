#include "peregrine/control/reconcile/flux_policy.h"

#include <errno.h>
#include <stdlib.h>

LEAKS_LEFT_TO_SANITIZER

/* --- edits --- */

bool edit_is_uplink(const struct fabric_model *model, const struct plan_edit *edit)
{
	return edit->port != MODEL_NONE && model->ports[edit->port].role != PORT_EDGE;
}

struct vlan_set edit_touches(const struct fabric_model *model, const struct plan_edit *edit)
{
	struct vlan_set before = port_vlans_all(&edit->edit.before);
	struct vlan_set after = port_vlans_all(&edit->edit.after);
	struct vlan_set lost = vlan_set_minus(&before, &after);
	struct vlan_set gained = vlan_set_minus(&after, &before);
	struct vlan_set touched = {0};

	if (edit->port == MODEL_NONE) {
		vlan_set_add(&touched, edit->edit.vlan);
		return touched;
	}
	if (!edit_is_uplink(model, edit))
		return vlan_set_union(&before, &after);
	touched = vlan_set_union(&lost, &gained);
	if (edit->edit.before.native != edit->edit.after.native) {
		vlan_set_add(&touched, edit->edit.before.native);
		vlan_set_add(&touched, edit->edit.after.native);
	}
	return touched;
}

struct vlan_set edit_gains(const struct switch_edit *edit)
{
	struct vlan_set before = port_vlans_all(&edit->before);
	struct vlan_set after = port_vlans_all(&edit->after);

	return vlan_set_minus(&after, &before);
}

bool edit_grows(const struct switch_edit *edit)
{
	struct vlan_set lost = vlan_set_minus(&edit->before.tagged, &edit->after.tagged);

	return edit->kind == EDIT_PORT && edit->after.trunk &&
	       edit->before.native == edit->after.native && vlan_set_is_empty(&lost);
}

/* --- the worst --- */

struct port_vlans uplink_worst(const struct port_vlans *a, const struct port_vlans *b)
{
	struct vlan_set tagged_a = a->trunk ? a->tagged : (struct vlan_set){0};
	struct vlan_set tagged_b = b->trunk ? b->tagged : (struct vlan_set){0};
	struct port_vlans worst = {.trunk = a->trunk || b->trunk,
				   .native = a->native ? a->native : b->native,
				   .tagged = vlan_set_union(&tagged_a, &tagged_b)};

	/* A plan only ever takes a native VLAN off; what is off may also come with its tag. */
	if (a->native != b->native && (a->native || b->native)) {
		worst.trunk = true;
		vlan_set_add(&worst.tagged, a->native);
		vlan_set_add(&worst.tagged, b->native);
	}
	return worst;
}

port_state *flux_state(const struct flux *flux, const struct fabric_model *model,
		       const port_state observed[])
{
	port_state *state = malloc((model->port_count + (size_t)1) * sizeof(port_state));

	for (uint32_t p = 0; state && p < model->port_count; p++)
		state[p] = flux->worst[p] ? flux->worst[p] : observed[p];
	return state;
}

/* --- one edit --- */

static void lay_vlan(struct flux *flux, const struct flux_ground *ground,
		     const struct flux_change *change)
{
	struct fabric_switch *sw = &ground->model->switches[change->at];
	bool there = (change->edit->kind == EDIT_VLAN_CREATE) != change->undoes;

	vlan_set_add(&flux->making[change->at], change->edit->vlan);
	vlan_set_add(&flux->touched, change->edit->vlan);
	if (there)
		vlan_set_add(&sw->vlans, change->edit->vlan);
	else
		vlan_set_remove(&sw->vlans, change->edit->vlan);
}

static int lay_uplink(struct flux *flux, const struct flux_ground *ground,
		      const struct flux_change *change)
{
	const struct plan_edit edit = {.port = change->port, .edit = *change->edit};
	struct vlan_set touched = edit_touches(ground->model, &edit);
	struct port_vlans worst = uplink_worst(&change->edit->before, &change->edit->after);
	port_state *at = &flux->worst[change->port];

	if (*at)
		worst = uplink_worst(&worst, *at);
	*at = state_pool_add(ground->pool, &worst, NULL);
	if (!*at)
		return -ENOMEM;
	flux->making[change->at] = vlan_set_union(&flux->making[change->at], &touched);
	flux->uplinks = vlan_set_union(&flux->uplinks, &touched);
	flux->touched = vlan_set_union(&flux->touched, &touched);
	return 0;
}

static int lay_port(struct flux *flux, const struct flux_ground *ground,
		    const struct flux_change *change)
{
	struct fabric_port *port = &ground->model->ports[change->port];
	struct fabric_switch *sw = &ground->model->switches[change->at];
	const struct port_vlans *leads =
		change->undoes ? &change->edit->before : &change->edit->after;
	struct vlan_set before = port_vlans_all(&change->edit->before);
	struct vlan_set after = port_vlans_all(&change->edit->after);
	struct vlan_set both = vlan_set_union(&before, &after);
	bool grows = port->role != PORT_EDGE && edit_grows(change->edit);
	struct port_vlans grown;

	if (port->role != PORT_EDGE)
		flux->only_grows[change->port] =
			grows && !change->undoes && (!port->busy || flux->only_grows[change->port]);
	if (grows && ground->observed[change->port]) {
		/* About its own VLANs alone, beside what was read and what others bring. */
		struct vlan_set gains = edit_gains(change->edit);

		grown = *ground->observed[change->port];
		grown.trunk = true;
		grown.tagged = change->undoes ? vlan_set_minus(&grown.tagged, &gains)
					      : vlan_set_union(&grown.tagged, &gains);
		grown = port_vlans_plain(&grown);
		leads = &grown;
	}
	sw->moving = vlan_set_union(&sw->moving, &both);
	if (!change->undoes || !port->busy) {
		ground->observed[change->port] = state_pool_add(ground->pool, leads, NULL);
		if (!ground->observed[change->port])
			return -ENOMEM;
	}
	port->busy = true;
	if (port->role != PORT_EDGE)
		return lay_uplink(flux, ground, change);
	ground->applied[change->port] = ground->observed[change->port];
	flux->touched = vlan_set_union(&flux->touched, &both);
	return 0;
}

int flux_lay(struct flux *flux, const struct flux_ground *ground, const struct flux_change *change)
{
	flux->any = flux->changing[change->at] = true;
	if (change->port != MODEL_NONE)
		return lay_port(flux, ground, change);
	lay_vlan(flux, ground, change);
	return 0;
}

/* --- life --- */

int flux_init(const struct fabric_model *model, struct flux *ret)
{
	struct flux flux = {
		.changing = calloc(model->switch_count + (size_t)1, sizeof(*flux.changing)),
		.making = calloc(model->switch_count + (size_t)1, sizeof(*flux.making)),
		.worst = calloc(model->port_count + (size_t)1, sizeof(port_state)),
		.only_grows = calloc(model->port_count + (size_t)1, sizeof(*flux.only_grows)),
	};

	if (!flux.changing || !flux.making || !flux.worst || !flux.only_grows) {
		flux_done(&flux);
		return -ENOMEM;
	}
	*ret = flux;
	return 0;
}

void flux_done(struct flux *flux)
{
	free(flux->changing);
	free(flux->making);
	free(flux->worst);
	free(flux->only_grows);
	*flux = (struct flux){0};
}
