#include "peregrine/control/fabric/wiring_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/control/fabric/fabric_index.h"

enum { WIRING_POLICY_SURE = 50 }; /* a place less certain than that accuses nobody */

struct wiring_policy_work {
	const struct fabric_facts *facts;
	struct fabric_conclusion *conclusion;
	const struct wiring_row *rows;
	size_t count;
	const struct fabric_source *here; /* the switch of the row that is looked at */
	struct wiring_found *ret;
	struct key_map rows_at;      /* switch and port -> row */
	struct key_map rows_of_node; /* node -> row */
	struct key_map switches;     /* that something is planned for -> a row */
	struct key_map nics_of_node; /* node -> NIC */
	struct key_map places_at;    /* port -> place */
};

static uint64_t key_of_row(int64_t switch_id, const char *port)
{
	return key_of_text((uint64_t)switch_id, port, strlen(port));
}

/* All from the last: the first of a key comes first. */
static int look_up_by(struct wiring_policy_work *work)
{
	int rc = 0;

	for (size_t i = work->count; i-- > 0 && rc == 0;) {
		const struct wiring_row *row = &work->rows[i];

		rc = key_map_add(&work->rows_at, key_of_row(row->switch_id, row->port),
				 (uint32_t)i);
		if (rc == 0 && row->node_id)
			rc = key_map_add(&work->rows_of_node, (uint64_t)row->node_id, (uint32_t)i);
		if (rc == 0 && key_map_first(&work->switches, (uint64_t)row->switch_id) == KEY_NONE)
			rc = key_map_add(&work->switches, (uint64_t)row->switch_id, (uint32_t)i);
	}
	for (size_t i = work->facts->nic_count; i-- > 0 && rc == 0;)
		rc = key_map_add(&work->nics_of_node, (uint64_t)work->facts->nics[i].node_id,
				 (uint32_t)i);
	for (size_t i = work->conclusion->place_count; i-- > 0 && rc == 0;)
		rc = key_map_add(&work->places_at, key_of_port(work->conclusion->places[i].at),
				 (uint32_t)i);
	return rc;
}

static void wiring_policy_work_done(struct wiring_policy_work *work)
{
	struct key_map *const maps[] = {&work->rows_at, &work->rows_of_node, &work->switches,
					&work->nics_of_node, &work->places_at};

	for (size_t i = 0; i < COUNT_OF(maps); i++) {
		work->conclusion->compared += maps[i]->compared;
		key_map_done(maps[i]);
	}
}

static const struct fabric_source *wiring_policy_source_of(const struct wiring_policy_work *work,
							   int64_t id)
{
	uint32_t found = fabric_source_find(work->facts, id);

	return found == UINT32_MAX ? NULL : &work->facts->sources[found];
}

static bool is_readable(const struct fabric_source *source)
{
	return source && source->reading && source->fresh;
}

/* The port of a row, and the aggregate that it is a member of: the FDB knows the aggregate only.
 * Returns how many there are. */
static size_t wiring_policy_ports_of(const struct wiring_policy_work *work,
				     const struct wiring_row *row, struct port_ref ret[2])
{
	const struct switch_port *port;
	const struct switch_port *lag;

	if (!fabric_port_find(work->facts, row->switch_id, row->port, &ret[0]))
		return 0;
	port = fabric_port(work->facts, ret[0]);
	lag = port->lag ? switch_reading_port(work->here->reading, port->lag) : NULL;
	if (!lag)
		return 1;
	ret[1] = (struct port_ref){ret[0].source, (uint32_t)(lag - work->here->reading->ports)};
	return 2;
}

static bool is_behind(const struct wiring_policy_work *work, struct port_ref at,
		      const struct wiring_row *row)
{
	struct port_ref ports[2];
	size_t count = wiring_policy_ports_of(work, row, ports);

	for (size_t i = 0; i < count; i++) {
		if (port_ref_equal(ports[i], at))
			return true;
	}
	/* Some agents name a member for what was learned behind its aggregate, whichever it came
	 * by. */
	return count == 2 && at.source == ports[0].source &&
	       fabric_port(work->facts, at)->lag == fabric_port(work->facts, ports[0])->lag;
}

static bool wiring_policy_is_meant(const struct wiring_row *row, const struct fabric_nic *nic)
{
	return row->node_id == nic->node_id && (!row->nic[0] || strcmp(row->nic, nic->name) == 0);
}

/* Who was found at the port of a row; NULL = nobody that we know. */
static const struct fabric_nic *who_is_at(struct wiring_policy_work *work,
					  const struct wiring_row *row)
{
	struct port_ref ports[2];
	size_t count = wiring_policy_ports_of(work, row, ports);

	for (size_t i = 0; i < count; i++) {
		for (uint32_t entry = key_map_first(&work->places_at, key_of_port(ports[i]));
		     entry != KEY_NONE; entry = key_map_next(&work->places_at, entry)) {
			const struct fabric_place *place =
				&work->conclusion->places[key_map_value(&work->places_at, entry)];
			const struct fabric_nic *nic =
				place->certainty < WIRING_POLICY_SURE
					? NULL
					: fabric_nic_find(work->facts, place->mac);

			if (nic)
				return nic;
		}
	}
	return NULL;
}

/* Where a NIC that the row means was found, at its port first; NULL = nowhere. */
static const struct fabric_place *where_is(struct wiring_policy_work *work,
					   const struct wiring_row *row)
{
	const struct fabric_place *elsewhere = NULL;

	for (uint32_t entry = key_map_first(&work->nics_of_node, (uint64_t)row->node_id);
	     entry != KEY_NONE; entry = key_map_next(&work->nics_of_node, entry)) {
		const struct fabric_nic *nic =
			&work->facts->nics[key_map_value(&work->nics_of_node, entry)];
		const struct fabric_place *place =
			wiring_policy_is_meant(row, nic)
				? fabric_place_find(work->conclusion, nic->mac)
				: NULL;

		if (!place || place->certainty < WIRING_POLICY_SURE)
			continue;
		if (is_behind(work, place->at, row))
			return place;
		if (!elsewhere)
			elsewhere = place;
	}
	return elsewhere;
}

static const struct wiring_row *wiring_policy_row_at(struct wiring_policy_work *work,
						     int64_t switch_id, const char *port)
{
	for (uint32_t entry = key_map_first(&work->rows_at, key_of_row(switch_id, port));
	     entry != KEY_NONE; entry = key_map_next(&work->rows_at, entry)) {
		const struct wiring_row *row = &work->rows[key_map_value(&work->rows_at, entry)];

		if (row->switch_id == switch_id && strcmp(row->port, port) == 0)
			return row;
	}
	return NULL;
}

static struct wiring_difference *wiring_policy_add(struct wiring_policy_work *work,
						   const char *kind, const char *switch_name,
						   const char *port)
{
	struct wiring_difference *item =
		fabric_array_add(&work->ret->items, &work->ret->count, sizeof(*item));

	if (!item)
		return NULL;
	item->kind = kind;
	item->warning = strcmp(kind, "wiring.miscabled") == 0;
	(void)text_copy(item->switch_name, sizeof(item->switch_name), switch_name);
	(void)text_copy(item->port, sizeof(item->port), port);
	return item;
}

/* --- nodes --- */

static void wiring_policy_describe(const struct wiring_row *row, char *ret, size_t room)
{
	if (row->node_id)
		(void)text_format(ret, room, "node %s%s%s", row->node, row->nic[0] ? ":" : "",
				  row->nic);
	else
		(void)text_format(ret, room, "switch %s port %s", row->peer, row->peer_port);
}

/* A row whose node may be behind several ports (any NIC) is content with one of them: a place that
 * another row of the same node claims is not this row's to move. */
static bool belongs_elsewhere(struct wiring_policy_work *work, const struct wiring_row *row,
			      const struct fabric_place *place)
{
	const struct fabric_source *source = &work->facts->sources[place->at.source];
	const struct wiring_row *other =
		wiring_policy_row_at(work, source->id, fabric_port(work->facts, place->at)->name);
	const struct fabric_nic *nic = fabric_nic_find(work->facts, place->mac);

	return other && other != row && nic && wiring_policy_is_meant(other, nic);
}

/* The difference at the row's port; `ret_what` names what belongs there. NULL: no memory. */
static struct wiring_difference *wiring_policy_add_miscabled(struct wiring_policy_work *work,
							     const struct wiring_row *row,
							     char ret_what[128])
{
	wiring_policy_describe(row, ret_what, 128);
	return wiring_policy_add(work, "wiring.miscabled", work->here->name, row->port);
}

static int wiring_policy_miscabled(struct wiring_policy_work *work, const struct wiring_row *row,
				   const struct fabric_place *place, const struct fabric_nic *guest)
{
	const char *name = work->here->name;
	const char *found_switch = work->facts->sources[place->at.source].name;
	const char *found_port = fabric_port(work->facts, place->at)->name;
	const struct wiring_row *there =
		wiring_policy_row_at(work, work->facts->sources[place->at.source].id, found_port);
	char what[128];
	struct wiring_difference *item = wiring_policy_add_miscabled(work, row, what);

	if (!item)
		return -ENOMEM;
	(void)text_format(item->message, sizeof(item->message),
			  "%s belongs into %s:%s and is in %s:%s", what, name, row->port,
			  found_switch, found_port);
	if (guest && there && wiring_policy_is_meant(there, guest))
		(void)text_format(item->hint, sizeof(item->hint),
				  "swap the cables in %s:%s and %s:%s", name, row->port,
				  found_switch, found_port);
	else if (guest)
		(void)text_format(
			item->hint, sizeof(item->hint),
			"free %s:%s (node %s:%s is in it), then move the cable there from "
			"%s:%s",
			name, row->port, guest->node, guest->name, found_switch, found_port);
	else
		(void)text_format(item->hint, sizeof(item->hint),
				  "move the cable from %s:%s to %s:%s", found_switch, found_port,
				  name, row->port);
	return 0;
}

static int wiring_policy_intruder(struct wiring_policy_work *work, const struct wiring_row *row,
				  const struct fabric_nic *guest)
{
	const char *name = work->here->name;
	char what[128];
	struct wiring_difference *item = wiring_policy_add_miscabled(work, row, what);

	if (!item)
		return -ENOMEM;
	(void)text_format(item->message, sizeof(item->message),
			  "%s:%s is planned for %s, but node %s:%s is plugged in there", name,
			  row->port, what, guest->node, guest->name);
	(void)text_format(item->hint, sizeof(item->hint),
			  "find where node %s:%s belongs: haasctl wiring list --node %s",
			  guest->node, guest->name, guest->node);
	return 0;
}

/* What is known of the NICs that a row means. */
struct meant {
	bool off; /* their node is switched off */
	bool on;
	bool starting; /* it was switched on or declared just now */
	bool ever;     /* one of them was seen, anywhere */
};

static int wiring_policy_compare_prior(const void *key, const void *item)
{
	uint64_t a = *(const uint64_t *)key;
	uint64_t b = mac_key(((const struct fabric_prior *)item)->mac);

	return a < b ? -1 : a > b;
}

static struct meant what_is_meant(struct wiring_policy_work *work, const struct wiring_row *row)
{
	const struct fabric_facts *facts = work->facts;
	struct meant meant = {0};

	for (uint32_t entry = key_map_first(&work->nics_of_node, (uint64_t)row->node_id);
	     entry != KEY_NONE; entry = key_map_next(&work->nics_of_node, entry)) {
		const struct fabric_nic *nic =
			&facts->nics[key_map_value(&work->nics_of_node, entry)];
		uint64_t key = mac_key(nic->mac);

		if (!wiring_policy_is_meant(row, nic))
			continue;
		meant.off |= nic->off;
		meant.on |= nic->on;
		meant.starting |= nic->starting;
		meant.ever |= facts->prior_count &&
			      bsearch(&key, facts->priors, facts->prior_count,
				      sizeof(*facts->priors), wiring_policy_compare_prior);
	}
	return meant;
}

/* A node that is off says nothing, nor does firmware in its first minutes. One that was never heard
 * of and has no link may not be there yet. That is expected, and no alarm. */
static int wiring_policy_silent(struct wiring_policy_work *work, const struct wiring_row *row,
				const struct meant *meant)
{
	struct wiring_difference *item =
		wiring_policy_add(work, "wiring.silent", work->here->name, row->port);
	char what[128];

	if (!item)
		return -ENOMEM;
	wiring_policy_describe(row, what, sizeof(what));
	(void)text_format(item->message, sizeof(item->message), "%s is expected and silent: %s",
			  what,
			  meant->off        ? "it is switched off"
			  : meant->starting ? "it was switched on or declared a few minutes ago"
					    : "no link, and it was never seen");
	return 0;
}

/* What a person does next, as a whole command where there is one. */
static void wiring_policy_missing_hint(const struct wiring_row *row, const char *name,
				       const struct switch_port *port, bool on,
				       struct wiring_difference *item)
{
	char *hint = item->hint;

	if (!port)
		(void)text_format(hint, sizeof(item->hint),
				  "the switch has no such port; drop the row of the plan: "
				  "haasctl wiring delete %s %s",
				  name, row->port);
	else if (!port->up && on)
		(void)text_copy(hint, sizeof(item->hint),
				"the node is on and the port has no link: plug the cable in");
	else if (!port->up)
		(void)text_copy(hint, sizeof(item->hint),
				"the port has no link: plug the cable in, or switch the other end "
				"on");
	else if (!row->node_id)
		(void)text_format(hint, sizeof(item->hint),
				  "the port has a link: switch on LLDP at its other end; "
				  "haasctl switch ports %s shows who speaks there",
				  name);
	else if (!on)
		(void)text_format(hint, sizeof(item->hint),
				  "the port has a link: start the node, so that it sends: "
				  "haasctl node power on %s",
				  row->node);
	else
		(void)text_format(hint, sizeof(item->hint),
				  "the node is on and the port has a link: see which MAC sends "
				  "there: haasctl nic list --switch %s --port %s",
				  name, row->port);
}

static int wiring_policy_missing(struct wiring_policy_work *work, const struct wiring_row *row)
{
	const struct fabric_source *source = work->here;
	struct port_ref at;
	const struct switch_port *port =
		fabric_port_find(work->facts, row->switch_id, row->port, &at)
			? fabric_port(work->facts, at)
			: NULL;
	struct meant meant = row->node_id ? what_is_meant(work, row) : (struct meant){0};
	struct wiring_difference *item;
	char what[128];

	if (port && row->node_id &&
	    (meant.off || meant.starting || (!port->up && !meant.on && !meant.ever)))
		return wiring_policy_silent(work, row, &meant);
	item = wiring_policy_add(work, "wiring.missing", source->name, row->port);
	if (!item)
		return -ENOMEM;
	/* Without a link, and nobody knows whether the node is on: worth knowing, no alarm. Two
	 * switches that answer are on. */
	item->warning = !port || port->up || meant.on || !row->node_id;
	wiring_policy_describe(row, what, sizeof(what));
	(void)text_format(item->message, sizeof(item->message), "%s is not found at %s:%s", what,
			  source->name, row->port);
	wiring_policy_missing_hint(row, source->name, port, meant.on, item);
	return 0;
}

/* The aggregate that a port is a member of, or was when it was one of ours; 0 = none. When ours is
 * gone its node goes on for a while: until it is set up anew it sends under one MAC by all of them.
 */
static uint64_t aggregate_at(const struct wiring_policy_work *work, struct port_ref at)
{
	const uint32_t *bundle = work->facts->sources[at.source].bundle;
	uint32_t lag = fabric_port(work->facts, at)->lag;

	if (lag)
		return lag;
	return bundle && bundle[at.port] ? (uint64_t)1 << 32 | bundle[at.port] : 0;
}

static uint64_t aggregate_of(const struct wiring_policy_work *work, const struct wiring_row *row)
{
	struct port_ref at;

	return fabric_port_find(work->facts, row->switch_id, row->port, &at)
		       ? aggregate_at(work, at)
		       : 0;
}

/* It was found at another port of what was its bond, which is planned for its node, too. */
static bool wiring_policy_is_beside(struct wiring_policy_work *work, const struct wiring_row *row,
				    const struct fabric_place *place)
{
	const struct fabric_source *source = &work->facts->sources[place->at.source];
	const struct wiring_row *other =
		wiring_policy_row_at(work, source->id, fabric_port(work->facts, place->at)->name);
	uint64_t aggregate = aggregate_of(work, row);

	return aggregate && other && source->id == row->switch_id &&
	       other->node_id == row->node_id && aggregate_at(work, place->at) == aggregate;
}

/* Is it planned at another member of the same aggregate? A bond speaks with one of its MACs. */
static bool is_sibling(struct wiring_policy_work *work, const struct wiring_row *row,
		       const struct fabric_nic *guest)
{
	uint64_t aggregate = aggregate_of(work, row);
	uint32_t entry = key_map_first(&work->rows_of_node, (uint64_t)guest->node_id);

	for (; aggregate && entry != KEY_NONE; entry = key_map_next(&work->rows_of_node, entry)) {
		const struct wiring_row *other =
			&work->rows[key_map_value(&work->rows_of_node, entry)];

		if (wiring_policy_is_meant(other, guest) && other->switch_id == row->switch_id &&
		    aggregate_of(work, other) == aggregate)
			return true;
	}
	return false;
}

static int compare_node(struct wiring_policy_work *work, const struct wiring_row *row)
{
	const struct fabric_place *place = where_is(work, row);
	const struct fabric_nic *guest = who_is_at(work, row);

	if (place && (is_behind(work, place->at, row) ||
		      (!guest && wiring_policy_is_beside(work, row, place))))
		return 0;
	if (!place && guest && is_sibling(work, row, guest))
		return 0;
	/* The MAC of a BMC is no NIC of ours: its port is planned so that nobody else gets it. */
	if (!place && !guest && strcmp(row->nic, "bmc") == 0)
		return 0;
	if (place && !belongs_elsewhere(work, row, place))
		return wiring_policy_miscabled(work, row, place, guest);
	if (guest)
		return wiring_policy_intruder(work, row, guest);
	return wiring_policy_missing(work, row);
}

/* --- links --- */

static const struct fabric_link *link_there(const struct wiring_policy_work *work,
					    const struct wiring_row *row, struct port_ref *ret_far)
{
	struct port_ref at;
	const struct fabric_link *link =
		fabric_port_find(work->facts, row->switch_id, row->port, &at)
			? fabric_link_at(work->conclusion, at)
			: NULL;

	if (link)
		*ret_far = port_ref_equal(link->a, at) ? link->b : link->a;
	return link;
}

static bool is_at(const struct wiring_policy_work *work, struct port_ref at, int64_t switch_id,
		  const char *port)
{
	return work->facts->sources[at.source].id == switch_id &&
	       strcmp(fabric_port(work->facts, at)->name, port) == 0;
}

static int compare_link(struct wiring_policy_work *work, const struct wiring_row *row)
{
	const struct fabric_source *source = work->here;
	const struct fabric_source *peer = wiring_policy_source_of(work, row->peer_id);
	struct port_ref far;
	const struct fabric_link *link = link_there(work, row, &far);
	struct wiring_difference *item;

	if (link && is_at(work, far, row->peer_id, row->peer_port))
		return 0;
	if (!link)
		return is_readable(peer) ? wiring_policy_missing(work, row) : 0;
	item = wiring_policy_add(work, "wiring.miscabled", source->name, row->port);
	if (!item)
		return -ENOMEM;
	(void)text_format(item->message, sizeof(item->message),
			  "%s:%s belongs to %s:%s and leads to %s:%s", source->name, row->port,
			  row->peer, row->peer_port, work->facts->sources[far.source].name,
			  fabric_port(work->facts, far)->name);
	(void)text_format(item->hint, sizeof(item->hint), "move the end in %s:%s to %s:%s",
			  work->facts->sources[far.source].name,
			  fabric_port(work->facts, far)->name, row->peer, row->peer_port);
	return 0;
}

/* --- what nobody planned --- */

static bool is_planned_switch(struct wiring_policy_work *work, int64_t id)
{
	return key_map_first(&work->switches, (uint64_t)id) != KEY_NONE;
}

/* Is there a row that means this NIC? */
static bool is_planned(struct wiring_policy_work *work, const struct fabric_nic *nic)
{
	for (uint32_t entry = key_map_first(&work->rows_of_node, (uint64_t)nic->node_id);
	     entry != KEY_NONE; entry = key_map_next(&work->rows_of_node, entry)) {
		if (wiring_policy_is_meant(&work->rows[key_map_value(&work->rows_of_node, entry)],
					   nic))
			return true;
	}
	return false;
}

static int wiring_policy_compare_place(struct wiring_policy_work *work,
				       const struct fabric_place *place)
{
	const struct fabric_nic *nic = fabric_nic_find(work->facts, place->mac);
	const struct fabric_source *source = &work->facts->sources[place->at.source];
	const struct switch_port *port = fabric_port(work->facts, place->at);
	struct wiring_difference *item;

	if (!nic || place->certainty < WIRING_POLICY_SURE || !is_planned_switch(work, source->id) ||
	    port->is_lag || wiring_policy_row_at(work, source->id, port->name))
		return 0;
	/* Told already, if it belongs somewhere else. */
	if (is_planned(work, nic))
		return 0;
	item = wiring_policy_add(work, "wiring.unexpected", source->name, port->name);
	if (!item)
		return -ENOMEM;
	(void)text_format(item->message, sizeof(item->message),
			  "node %s:%s is in %s:%s, a port without a plan", nic->node, nic->name,
			  source->name, port->name);
	(void)text_format(item->hint, sizeof(item->hint),
			  "if it is right: haasctl wiring set %s %s --node %s", source->name,
			  port->name, nic->node);
	return 0;
}

int wiring_policy_compare(const struct fabric_facts *facts, struct fabric_conclusion *conclusion,
			  const struct wiring_row rows[], size_t count, struct wiring_found *ret)
{
	struct wiring_policy_work work = {
		.facts = facts, .conclusion = conclusion, .rows = rows, .count = count, .ret = ret};
	int rc = look_up_by(&work);

	for (size_t i = 0; i < count && rc == 0; i++) {
		work.here = wiring_policy_source_of(&work, rows[i].switch_id);
		if (!is_readable(work.here))
			continue;
		rc = rows[i].node_id ? compare_node(&work, &rows[i])
				     : compare_link(&work, &rows[i]);
	}
	for (size_t i = 0; i < conclusion->place_count && rc == 0; i++)
		rc = wiring_policy_compare_place(&work, &conclusion->places[i]);
	wiring_policy_work_done(&work);
	return rc;
}
