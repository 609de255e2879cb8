/* An uplink gets a VLAN for each network that crosses it, and two of them may come at the same
 * time: one whose switches are quick must not wait for one that also needs a slow switch. So an
 * edit that only brings VLANs is about these alone. What it says of the whole port is put together
 * when it is sent: as the port was read last, with all that was sent since. It takes back only what
 * it brought, and only that is looked for when it is read back. */
#include <string.h>

#include "peregrine/control/reconcile/batch_private.h"

bool batch_shares(const struct batch *batch, size_t i)
{
	const struct change *change = &batch->changes[i];

	return !change->edge && change->first && change->last &&
	       edit_grows(&batch->plan.edits[i].edit);
}

struct batch_share batch_share(const struct batch *batch, int64_t switch_id, const char *port)
{
	struct batch_share share = {0};

	for (size_t i = 0; i < batch->plan.count; i++) {
		const struct plan_edit *edit = &batch->plan.edits[i];
		enum change_state state = batch->changes[i].state;
		struct vlan_set gains;
		struct vlan_set *to =
			batch->changes[i].taken_back ? &share.taken_back : &share.brought;

		if (edit->port == MODEL_NONE || batch->parties[edit->at].id != switch_id ||
		    strcmp(edit->edit.port, port) != 0 || !batch_shares(batch, i) ||
		    state == CHANGE_PLANNED || state == CHANGE_REFUSED)
			continue;
		gains = edit_gains(&edit->edit);
		*to = vlan_set_union(to, &gains);
	}
	return share;
}

struct switch_edit batch_edit_now(const struct batch *batch, size_t i, bool undo)
{
	const struct plan_edit *planned = &batch->plan.edits[i];
	struct switch_edit edit = undo ? switch_edit_undo(&planned->edit) : planned->edit;
	int64_t id = batch->parties[planned->at].id;
	const struct known_switch *known = book_find(batch->options.book, id);
	const struct known_port *port;
	struct batch_share share;
	struct vlan_set own;

	if (planned->port == MODEL_NONE || !batch_shares(batch, i) || !batch->options.share)
		return edit;
	port = known ? known_port_named(known, edit.port) : NULL;
	if (!port || !port->vlans)
		return edit;
	share = batch->options.share(batch->options.context, id, edit.port);
	own = edit_gains(&planned->edit);
	edit.before = *port->vlans;
	edit.before.trunk = true;
	edit.before.tagged = vlan_set_union(&edit.before.tagged, &share.brought);
	edit.before.tagged = vlan_set_minus(&edit.before.tagged, &share.taken_back);
	edit.after = edit.before;
	edit.after.native = planned->edit.after.native;
	edit.after.tagged = undo ? vlan_set_minus(&edit.before.tagged, &own)
				 : vlan_set_union(&edit.before.tagged, &own);
	edit.before = port_vlans_plain(&edit.before);
	edit.after = port_vlans_plain(&edit.after);
	return edit;
}

static const struct switch_port *batch_share_port_of(const struct batch *batch, size_t i,
						     const struct switch_reading *reading)
{
	const struct switch_port *port =
		switch_reading_port_named(reading, batch->plan.edits[i].edit.port);

	return port && port->has_vlans ? port : NULL;
}

bool batch_shows_done(const struct batch *batch, size_t i, const struct switch_reading *reading)
{
	const struct switch_edit *edit = &batch->plan.edits[i].edit;
	const struct switch_port *port = batch_share_port_of(batch, i, reading);
	struct vlan_set missing = edit_gains(edit);
	struct port_vlans now;

	if (!port)
		return false;
	now = port_vlans_plain(&port->vlans);
	missing = vlan_set_minus(&missing, &now.tagged);
	return now.trunk && now.native == edit->after.native && vlan_set_is_empty(&missing);
}

bool batch_shows_none(const struct batch *batch, size_t i, const struct switch_reading *reading)
{
	const struct switch_port *port = batch_share_port_of(batch, i, reading);
	struct vlan_set gains = edit_gains(&batch->plan.edits[i].edit);
	struct vlan_set there;

	if (!port)
		return false;
	there = port_vlans_all(&port->vlans);
	there = vlan_set_intersection(&there, &gains);
	return vlan_set_is_empty(&there);
}
