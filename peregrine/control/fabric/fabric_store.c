#include "peregrine/control/fabric/fabric_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
/* NICs that were declared, and those that an agent found besides; the declared name wins. */
const struct db_query fabric_store_nics = {"fabric_nics",
	"with reported as (select distinct on (1) (e ->> 'mac')::macaddr as mac, i.node_id, e ->> 'name' as name, e -> 'lldp' as lldp, i.at"
	" from haas.node_inventory i cross join lateral jsonb_array_elements(case when jsonb_typeof(i.data -> 'nics') = 'array'"
	" then i.data -> 'nics' else '[]' end) e where e ->> 'mac' ~* '^([0-9a-f]{2}:){5}[0-9a-f]{2}$' order by 1, i.at desc)"
	" select coalesce(d.mac, r.mac), coalesce(d.node_id, r.node_id), n.name, coalesce(d.name, r.name), r.lldp ->> 'chassis', r.lldp ->> 'port',"
	" r.lldp ->> 'system', (extract(epoch from r.at) * 1e6)::bigint, coalesce(n.tenant_id, 0), coalesce(b.observed_power, 'unknown'), n.tenant_id is null or n.state = 'reserved' from haas.nic d full join reported r on r.mac = d.mac"
	" join haas.node n on n.id = coalesce(d.node_id, r.node_id) left join haas.bmc b on b.node_id = n.id", 0};

const struct db_query fabric_store_sightings = {"fabric_sightings",
	"select s.mac, s.switch, s.port, (extract(epoch from s.seen_at) * 1e6)::bigint from haas.sighting s where s.port <> ''", 0};

const struct db_query fabric_store_wiring = {"fabric_wiring",
	"select w.switch_id, w.port, w.node_id, n.name, w.nic, w.peer_switch_id, p.name, w.peer_port from haas.wiring w"
	" left join haas.node n on n.id = w.node_id left join haas.switch p on p.id = w.peer_switch_id order by w.switch_id, w.port", 0};

/* Sorted as guard_port_find() looks. */
const struct db_query fabric_store_guards = {"fabric_guards",
	"select i.switch_id, i.port, i.wanted_version, coalesce(max(n.tenant_id), 0), string_agg(n.name, ', ' order by n.name)"
	" from haas.port_intent i join haas.attachment a on a.switch_id = i.switch_id and a.port = i.port"
	" join haas.network n on n.id = a.network_id where n.kind = 'tenant' group by i.switch_id, i.port, i.wanted_version"
	" order by i.switch_id, i.port collate \"C\"", 0};

const struct db_query fabric_store_given = {"fabric_given", 
	"select i.switch_id, i.port, coalesce(g.number, 0),"
	" coalesce(haas.port_holder(i.switch_id, i.port), 0)"
	" from haas.port_intent i left join ("
	"select distinct on (a.switch_id, m.port) a.switch_id, m.port, a.number from (select *, row_number() over (order by switch_id, name) as number"
	" from haas.switch_aggregate) a cross join unnest(a.members) as m (port) order by a.switch_id, m.port, a.made_at desc) g"
	" on g.switch_id = i.switch_id and g.port = i.port", 0};

/* A cable is gone when neither end tells of it, also while one is asked in vain. A lie (10, see
 * link_private.h) is none. */
const struct db_query fabric_store_ends = {"fabric_ends",
	"select e.switch_id, e.port, e.peer_id from (select a_switch as switch_id, a_port as port, b_switch as peer_id, state, since, certainty from haas.link"
	" union all select b_switch, b_port, a_switch, state, since, certainty from haas.link) e left join haas.switch_observed o on o.switch_id = e.peer_id"
	" where e.certainty > 10 and (e.state in ('confirmed', 'claimed') or e.state = 'gone' and (o.read_at is null or o.read_at < e.since))", 0};

const struct db_query fabric_store_blocks = {"fabric_blocks",
	"select switch_id, port, kind, mac, wanted_version from haas.port_block", 0};

const struct db_query fabric_store_places = {"fabric_places",
	"select mac, switch_id, port, (extract(epoch from seen_at) * 1e6)::bigint from haas.nic_location", 0};

const struct db_query fabric_store_observed = {"fabric_observed", "select haas.switch_observed_put($1::jsonb)", 1};
const struct db_query fabric_store_ports = {"fabric_ports", "select haas.port_observed_put($1::bigint[], $2::jsonb, $3::int)", 3};
const struct db_query fabric_store_links = {"fabric_links", "select haas.link_put($1::bigint[], $2::jsonb, $3::int)", 3};
const struct db_query fabric_store_located = {"fabric_located", "select haas.nic_location_put($1::jsonb, $2::int)", 2};
const struct db_query fabric_store_alerts = {"fabric_alerts", "select haas.fabric_alert_put($1::jsonb, $2::int)", 2};
const struct db_query fabric_store_blocked = {"fabric_blocked", "select haas.port_block_put($1::jsonb)", 1};
const struct db_query fabric_store_notify = {"fabric_notify", "select pg_notify('event', '')", 0};
/* clang-format on */

static void done_nics(struct fact_rows *rows)
{
	free(rows->nics);
	free(rows->nic_texts);
	rows->nics = NULL;
	rows->nic_texts = NULL;
	rows->nic_count = 0;
}

static void done_sightings(struct fact_rows *rows)
{
	free(rows->sightings);
	free(rows->sighting_texts);
	rows->sightings = NULL;
	rows->sighting_texts = NULL;
	rows->sighting_count = 0;
}

static void done_wiring(struct fact_rows *rows)
{
	free(rows->wiring);
	free(rows->wiring_texts);
	rows->wiring = NULL;
	rows->wiring_texts = NULL;
	rows->wiring_count = 0;
}

static void done_guards(struct fact_rows *rows)
{
	free(rows->guards);
	free(rows->guard_texts);
	rows->guards = NULL;
	rows->guard_texts = NULL;
	rows->guard_count = 0;
}

static void done_given(struct fact_rows *rows)
{
	free(rows->given);
	rows->given = NULL;
	rows->given_count = 0;
}

static void done_ends(struct fact_rows *rows)
{
	free(rows->ends);
	rows->ends = NULL;
	rows->end_count = 0;
}

void fact_rows_done(struct fact_rows *rows)
{
	done_ends(rows);
	done_given(rows);
	done_guards(rows);
	done_nics(rows);
	done_sightings(rows);
	done_wiring(rows);
}

#define TAKE_TEXT(array, result, row, column) \
	((void)text_copy((array), sizeof(array), db_text((result), (row), (column), "")), (array))

static int fabric_store_compare_nics(const void *left, const void *right)
{
	uint64_t a = mac_key(((const struct fabric_nic *)left)->mac);
	uint64_t b = mac_key(((const struct fabric_nic *)right)->mac);

	return a < b ? -1 : a > b;
}

int fabric_rows_nics(const PGresult *result, struct fact_rows *ret)
{
	int rows = PQntuples(result);

	done_nics(ret);
	ret->nics = calloc((size_t)rows + 1, sizeof(*ret->nics));
	ret->nic_texts = calloc((size_t)rows + 1, sizeof(*ret->nic_texts));
	if (!ret->nics || !ret->nic_texts)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		struct nic_row *text = &ret->nic_texts[i];
		struct fabric_nic *nic = &ret->nics[ret->nic_count];

		if (mac_parse(db_text(result, i, 0, ""), &nic->mac) != 0)
			continue;
		nic->node_id = db_int(result, i, 1, 0);
		nic->node = TAKE_TEXT(text->node, result, i, 2);
		nic->name = TAKE_TEXT(text->name, result, i, 3);
		nic->heard_chassis = TAKE_TEXT(text->chassis, result, i, 4);
		nic->heard_port = TAKE_TEXT(text->port, result, i, 5);
		nic->heard_system = TAKE_TEXT(text->system, result, i, 6);
		nic->heard_us = db_int(result, i, 7, 0);
		nic->tenant_id = db_int(result, i, 8, 0);
		nic->off = strcmp(db_text(result, i, 9, ""), "off") == 0;
		nic->on = strcmp(db_text(result, i, 9, ""), "on") == 0;
		nic->idle = strcmp(db_text(result, i, 10, ""), "t") == 0;
		ret->nic_count++;
	}
	qsort(ret->nics, ret->nic_count, sizeof(*ret->nics), fabric_store_compare_nics);
	return 0;
}

int fabric_rows_sightings(const PGresult *result, struct fact_rows *ret)
{
	int rows = PQntuples(result);

	done_sightings(ret);
	ret->sightings = calloc((size_t)rows + 1, sizeof(*ret->sightings));
	ret->sighting_texts = calloc((size_t)rows + 1, sizeof(*ret->sighting_texts));
	if (!ret->sightings || !ret->sighting_texts)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		struct sighting_row *text = &ret->sighting_texts[i];
		struct fabric_sighting *sighting = &ret->sightings[ret->sighting_count];

		if (mac_parse(db_text(result, i, 0, ""), &sighting->mac) != 0)
			continue;
		sighting->switch_name = TAKE_TEXT(text->switch_name, result, i, 1);
		sighting->port = TAKE_TEXT(text->port, result, i, 2);
		sighting->seen_us = db_int(result, i, 3, 0);
		ret->sighting_count++;
	}
	return 0;
}

int fabric_rows_wiring(const PGresult *result, struct fact_rows *ret)
{
	int rows = PQntuples(result);

	done_wiring(ret);
	ret->wiring = calloc((size_t)rows + 1, sizeof(*ret->wiring));
	ret->wiring_texts = calloc((size_t)rows + 1, sizeof(*ret->wiring_texts));
	if (!ret->wiring || !ret->wiring_texts)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		struct plan_row *text = &ret->wiring_texts[i];

		ret->wiring[i] = (struct wiring_row){
			.switch_id = db_int(result, i, 0, 0),
			.port = TAKE_TEXT(text->port, result, i, 1),
			.node_id = db_int(result, i, 2, 0),
			.node = TAKE_TEXT(text->node, result, i, 3),
			.nic = TAKE_TEXT(text->nic, result, i, 4),
			.peer_id = db_int(result, i, 5, 0),
			.peer = TAKE_TEXT(text->peer, result, i, 6),
			.peer_port = TAKE_TEXT(text->peer_port, result, i, 7),
		};
	}
	ret->wiring_count = (size_t)rows;
	return 0;
}

int fabric_rows_guards(const PGresult *result, struct fact_rows *ret)
{
	int rows = PQntuples(result);

	done_guards(ret);
	ret->guards = calloc((size_t)rows + 1, sizeof(*ret->guards));
	ret->guard_texts = calloc((size_t)rows + 1, sizeof(*ret->guard_texts));
	if (!ret->guards || !ret->guard_texts)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		struct guard_row *text = &ret->guard_texts[i];

		ret->guards[i] = (struct guard_port){
			.switch_id = db_int(result, i, 0, 0),
			.port = TAKE_TEXT(text->port, result, i, 1),
			.version = db_int(result, i, 2, 0),
			.tenant_id = db_int(result, i, 3, 0),
			.networks = TAKE_TEXT(text->networks, result, i, 4),
		};
	}
	ret->guard_count = (size_t)rows;
	return 0;
}

int fabric_rows_given(const PGresult *result, struct fact_rows *ret)
{
	int rows = PQntuples(result);

	done_given(ret);
	ret->given = calloc((size_t)rows + 1, sizeof(*ret->given));
	if (!ret->given)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		ret->given[i].switch_id = db_int(result, i, 0, 0);
		(void)text_copy(ret->given[i].port, sizeof(ret->given[i].port),
				db_text(result, i, 1, ""));
		ret->given[i].bundle = (uint32_t)db_int(result, i, 2, 0);
		ret->given[i].holder = db_int(result, i, 3, 0);
	}
	ret->given_count = (size_t)rows;
	return 0;
}

int fabric_rows_ends(const PGresult *result, struct fact_rows *ret)
{
	int rows = PQntuples(result);

	done_ends(ret);
	ret->ends = calloc((size_t)rows + 1, sizeof(*ret->ends));
	if (!ret->ends)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		ret->ends[i].switch_id = db_int(result, i, 0, 0);
		(void)text_copy(ret->ends[i].port, sizeof(ret->ends[i].port),
				db_text(result, i, 1, ""));
		ret->ends[i].peer_id = db_int(result, i, 2, 0);
	}
	ret->end_count = (size_t)rows;
	return 0;
}

int fabric_rows_blocks(const PGresult *result, struct guard_block **ret, size_t *ret_count)
{
	int rows = PQntuples(result);
	struct guard_block *blocks = calloc((size_t)rows + 1, sizeof(*blocks));
	size_t count = 0;

	if (!blocks)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		struct guard_block *block = &blocks[count];

		if (mac_parse(db_text(result, i, 3, ""), &block->mac) != 0)
			continue;
		block->switch_id = db_int(result, i, 0, 0);
		(void)text_copy(block->port, sizeof(block->port), db_text(result, i, 1, ""));
		block->kind = strcmp(db_text(result, i, 2, ""), "foreign") == 0 ? GUARD_FOREIGN
										: GUARD_MOVED;
		block->version = db_int(result, i, 4, 0);
		count++;
	}
	*ret = blocks;
	*ret_count = count;
	return 0;
}
