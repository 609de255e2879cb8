/* What tags cannot say. A real switch in the middle of a change may send a VLAN's frames to a port
 * that does not belong there, and Open vSwitch by its port settings would hide that: a port that is
 * an untagged member of several VLANs sends out all of them and takes in one; a port that does not
 * filter on ingress puts its frames into VLANs that it is no member of. These rules (ovs-fields(7),
 * ovs-actions(7)) show it on the wire, by a copy of everything rather than of what floods. */
#include "tests/sim/switch/switch_model.h"

enum switch_model_flows_way { NOT, BARE, TAGGED };

/* How frames of `vid` come in at a port by its port settings. */
static enum switch_model_flows_way way_in(const struct switch_tagging *tagging, uint16_t vid)
{
	if (tagging->mode != SWITCH_TRUNK && tagging->tag == vid)
		return BARE;
	return tagging->mode != SWITCH_ACCESS && switch_tagging_has(tagging, vid) ? TAGGED : NOT;
}

static enum switch_model_flows_way way_out(const struct switch_vlan *vlan, uint32_t port)
{
	if (!switch_portlist_has(&vlan->egress, port))
		return NOT;
	return switch_portlist_has(&vlan->untagged, port) ? BARE : TAGGED;
}

static void write_match(struct text *ret, uint32_t port, enum switch_model_flows_way way,
			uint16_t vid)
{
	text_addf(ret, "priority=10,in_port=%u,", port);
	if (way == BARE)
		text_add(ret, "vlan_tci=0x0000/0x1000");
	else
		text_addf(ret, "dl_vlan=%u", vid);
}

/* Ports that send frames of `vlan` bare, though it is not what they take in. */
static bool is_only_outward(const struct switch_model *model, const struct switch_vlan *vlan,
			    const struct switch_port *port)
{
	struct switch_tagging tagging;

	if (way_out(vlan, port->number) != BARE)
		return false;
	tagging = switch_model_tagging(model, port);
	return way_in(&tagging, vlan->vid) == NOT;
}

static void write_outward(const struct switch_model *model, const struct switch_vlan *vlan,
			  struct text *ret)
{
	for (size_t i = 0; i < model->port_count; i++) {
		const struct switch_port *from = &model->ports[i];
		struct switch_tagging tagging = switch_model_tagging(model, from);
		enum switch_model_flows_way way = way_in(&tagging, vlan->vid);
		bool any = false;

		for (size_t j = 0; j < model->port_count && way != NOT; j++) {
			if (j == i || !is_only_outward(model, vlan, &model->ports[j]))
				continue;
			if (!any) {
				write_match(ret, from->number, way, vlan->vid);
				text_add(ret, way == TAGGED ? ",actions=clone(strip_vlan"
							    : ",actions=clone(");
			}
			text_addf(ret, "%soutput:%u", any || way == TAGGED ? "," : "",
				  model->ports[j].number);
			any = true;
		}
		if (any)
			text_add(ret, "),NORMAL\n");
	}
}

/* Frames that come in at `port`, bare or tagged, and belong to `vlan` only because nobody checks.
 */
static void write_inward(const struct switch_model *model, const struct switch_vlan *vlan,
			 const struct switch_port *port, enum switch_model_flows_way way,
			 struct text *ret)
{
	bool any = false;

	for (size_t i = 0; i < model->port_count; i++) {
		uint32_t to = model->ports[i].number;
		enum switch_model_flows_way out = way_out(vlan, to);

		if (out == NOT || to == port->number)
			continue;
		if (!any) {
			write_match(ret, port->number, way, vlan->vid);
			text_add(ret, ",actions=");
		}
		text_add(ret, any ? "," : "");
		if (out == way)
			text_addf(ret, "output:%u", to);
		else if (out == BARE)
			text_addf(ret, "clone(strip_vlan,output:%u)", to);
		else
			text_addf(ret, "clone(push_vlan:0x8100,set_field:%u->vlan_vid,output:%u)",
				  4096U + vlan->vid, to);
		any = true;
	}
	if (any)
		text_add(ret, "\n");
}

void switch_model_flows(const struct switch_model *model, struct text *ret)
{
	text_add(ret, "priority=0,actions=NORMAL\n");
	for (size_t i = 0; i < model->vlan_count; i++) {
		const struct switch_vlan *vlan = &model->vlans[i];

		if (vlan->status != SWITCH_ROW_ACTIVE)
			continue;
		write_outward(model, vlan, ret);
		for (size_t j = 0; j < model->port_count; j++) {
			const struct switch_port *port = &model->ports[j];

			if (port->filters || switch_portlist_has(&vlan->egress, port->number))
				continue;
			if (port->pvid == vlan->vid && port->frames == SWITCH_ADMIT_ALL)
				write_inward(model, vlan, port, BARE, ret);
			write_inward(model, vlan, port, TAGGED, ret);
		}
	}
}
