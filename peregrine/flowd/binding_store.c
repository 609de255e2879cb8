#include "peregrine/flowd/binding_store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/http/json_reader.h"
#include "common/net/mac.h"

/* Ten thousand switches of 48 ports with a NIC each are about 200 MB of text; more is no site. */
#define JSON_SIZE_MAX ((size_t)512 << 20)
/* Samples come late by seconds; a binding that ended before this is of no use any more. */
#define ENDED_KEPT "interval '10 minutes'"
#define US(column) "(extract(epoch from " column ") * 1000000)::bigint"
#define HOLDS      "(b.valid_to is null or b.valid_to > now() - " ENDED_KEPT ")"

/* clang-format off */
/* Ports and switches have no history: their state is a part of the mark. */
static const struct db_query mark_query = {"binding_mark",
	"select concat_ws(':', (select last_value from haas.binding_change), (select count(*) from haas.switch_endpoint),"
	" (select coalesce(sum(hashtextextended(switch_id || ':' || address || ':' || fabric_id, 0) % 1000000007), 0) from haas.switch_endpoint),"
	" (select coalesce(sum(hashtextextended(switch_id || ':' || agent || ':' || source, 0) % 1000000007), 0) from haas.flow_agent),"
	" (select count(*) || '.' || coalesce(sum(hashtextextended(switch_id || ':' || name || ':' || if_index || kind || lag || speed_bps, 0) % 1000000007), 0)"
	"  from haas.port_index), (select count(*) from haas.network))", 0};

static const struct db_query binding_store_read_query = {"binding_read",
	"select jsonb_build_object("
	"'switches', (select coalesce(jsonb_agg(jsonb_build_array(s.id, s.name, e.fabric_id) order by s.id), '[]')"
	"  from haas.switch_endpoint e join haas.switch s on s.id = e.switch_id),"
	"'agents', (select coalesce(jsonb_agg(jsonb_build_array(switch_id, host(agent), host(source)) order by switch_id), '[]') from"
	"  (select switch_id, agent, source from haas.flow_agent union select switch_id, address, address from haas.switch_endpoint) x),"
	"'ports', (select coalesce(jsonb_agg(jsonb_build_array(p.switch_id, p.name, p.lag, p.if_index, p.kind, p.speed_bps) order by p.switch_id, p.if_index), '[]')"
	"  from haas.port_index p where p.if_index > 0 or (p.switch_id, p.name) in (select m.switch_id, m.lag from haas.port_index m where m.if_index > 0 and m.lag <> '')),"
	"'networks', (select coalesce(jsonb_agg(jsonb_build_array(n.id, n.name, coalesce(n.tenant_id, 0), coalesce(t.name, '')) order by n.id), '[]') from"
	"  (select id, name, tenant_id from haas.network union select network_id, network, tenant_id from haas.vlan_history b where " HOLDS
	"   and not exists (select from haas.network x where x.id = b.network_id)) n left join haas.tenant t on t.id = n.tenant_id),"
	"'port_bindings', (select coalesce(jsonb_agg(jsonb_build_array(b.switch_id, b.port, b.tag, b.network_id, " US("b.valid_from") ", " US("b.valid_to") ")), '[]')"
	"  from haas.port_binding b where " HOLDS "),"
	"'vlans', (select coalesce(jsonb_agg(jsonb_build_array(b.fabric_id, b.vlan, b.network_id, " US("b.valid_from") ", " US("b.valid_to") ")), '[]')"
	"  from haas.vlan_history b where " HOLDS "),"
	"'vnis', (select coalesce(jsonb_agg(jsonb_build_array(b.vni, b.network_id, " US("b.valid_from") ", " US("b.valid_to") ")), '[]')"
	"  from haas.vni_binding b where " HOLDS "),"
	"'nics', (select coalesce(jsonb_agg(jsonb_build_array(b.mac, b.switch_id, b.port, coalesce(b.node_id, 0), b.node, " US("b.valid_from") ", " US("b.valid_to") ")), '[]')"
	"  from haas.nic_binding b where " HOLDS "))", 0};
/* clang-format on */

enum list {
	LIST_SWITCHES,
	LIST_PORTS,
	LIST_NETWORKS,
	LIST_BINDINGS,
	LIST_VLANS,
	LIST_VNIS,
	LIST_NICS
};

void bindings_done(struct bindings *bindings)
{
	json_decref(bindings->json);
	for (size_t i = 0; i < COUNT_OF(bindings->memory); i++)
		free(bindings->memory[i]);
	free(bindings->agents);
	*bindings = (struct bindings){0};
}

/* --- members of one row; what is missing or of another kind makes it odd --- */

struct row {
	const json_t *array;
	size_t at;
	bool odd;
};

static int64_t row_int(struct row *row, int64_t low, int64_t high)
{
	const json_t *value = json_array_get(row->array, row->at++);
	int64_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < low || number > high)
		row->odd = true;
	return number;
}

static const char *row_text(struct row *row)
{
	const char *text = json_string_value(json_array_get(row->array, row->at++));

	if (!text)
		row->odd = true;
	return text ? text : "";
}

/* A binding that has not ended has no end. */
static int64_t row_end(struct row *row)
{
	if (json_is_null(json_array_get(row->array, row->at))) {
		row->at++;
		return BINDING_ENDLESS;
	}
	return row_int(row, 0, INT64_MAX);
}

static bool binding_store_read_switch(struct row *row, void *out)
{
	*(struct switch_row *)out = (struct switch_row){
		.id = row_int(row, 1, INT64_MAX),
		.name = row_text(row),
		.fabric = row_int(row, 1, INT64_MAX),
	};
	/* The number of its agent is its id: it stays the same as long as the switch is there. */
	((struct switch_row *)out)->agent = (uint16_t)((struct switch_row *)out)->id;
	return ((struct switch_row *)out)->id < AGENT_LIMIT;
}

static bool binding_store_read_port(struct row *row, void *out)
{
	struct port_row port = {.switch_id = row_int(row, 1, INT64_MAX),
				.name = row_text(row),
				.lag = row_text(row),
				.if_index = (uint32_t)row_int(row, 0, UINT32_MAX)};
	const char *kind = row_text(row);

	port.speed_bps = (uint64_t)row_int(row, 0, INT64_MAX);
	port.kind = !strcmp(kind, "edge")     ? PORT_KIND_EDGE
		    : !strcmp(kind, "uplink") ? PORT_KIND_UPLINK
					      : PORT_KIND_UNKNOWN;
	/* An aggregate that no sample names, only its members: found by its name. An ifIndex is no
	 * more than 2^31 - 1 (RFC 2863). */
	if (!port.if_index)
		port.if_index = UINT32_MAX;
	*(struct port_row *)out = port;
	return true;
}

static bool binding_store_read_network(struct row *row, void *out)
{
	*(struct network_row *)out = (struct network_row){
		.id = row_int(row, 1, INT64_MAX),
		.name = row_text(row),
		.tenant = row_int(row, 0, INT64_MAX),
		.tenant_name = row_text(row),
	};
	return true;
}

static bool read_binding(struct row *row, void *out)
{
	*(struct port_binding_row *)out = (struct port_binding_row){
		.switch_id = row_int(row, 1, INT64_MAX),
		.port = row_text(row),
		.tag = (uint16_t)row_int(row, 0, 4094),
		.network = row_int(row, 1, INT64_MAX),
		.from_us = row_int(row, 0, INT64_MAX),
		.to_us = row_end(row),
	};
	return true;
}

static bool binding_store_read_vlan(struct row *row, void *out)
{
	*(struct vlan_binding_row *)out = (struct vlan_binding_row){
		.fabric = row_int(row, 1, INT64_MAX),
		.vlan = (uint16_t)row_int(row, 1, 4094),
		.network = row_int(row, 1, INT64_MAX),
		.from_us = row_int(row, 0, INT64_MAX),
		.to_us = row_end(row),
	};
	return true;
}

static bool read_vni(struct row *row, void *out)
{
	*(struct vni_binding_row *)out = (struct vni_binding_row){
		.vni = (uint32_t)row_int(row, 1, 0xffffff),
		.network = row_int(row, 1, INT64_MAX),
		.from_us = row_int(row, 0, INT64_MAX),
		.to_us = row_end(row),
	};
	return true;
}

static bool binding_store_read_nic(struct row *row, void *out)
{
	struct nic_binding_row nic = {0};
	struct mac mac = {0};

	if (mac_parse(row_text(row), &mac))
		row->odd = true;
	memcpy(nic.mac, mac.bytes, sizeof(nic.mac));
	nic.switch_id = row_int(row, 1, INT64_MAX);
	nic.port = row_text(row);
	nic.node = row_int(row, 0, INT64_MAX);
	nic.node_name = row_text(row);
	nic.from_us = row_int(row, 0, INT64_MAX);
	nic.to_us = row_end(row);
	*(struct nic_binding_row *)out = nic;
	return true;
}

static const struct {
	const char *name;
	size_t size;
	bool (*read)(struct row *row, void *out);
} binding_store_lists[] = {
	[LIST_SWITCHES] = {"switches", sizeof(struct switch_row), binding_store_read_switch},
	[LIST_PORTS] = {"ports", sizeof(struct port_row), binding_store_read_port},
	[LIST_NETWORKS] = {"networks", sizeof(struct network_row), binding_store_read_network},
	[LIST_BINDINGS] = {"port_bindings", sizeof(struct port_binding_row), read_binding},
	[LIST_VLANS] = {"vlans", sizeof(struct vlan_binding_row), binding_store_read_vlan},
	[LIST_VNIS] = {"vnis", sizeof(struct vni_binding_row), read_vni},
	[LIST_NICS] = {"nics", sizeof(struct nic_binding_row), binding_store_read_nic},
};

static int binding_store_read_list(struct bindings *bindings, enum list list, size_t *ret_count)
{
	const json_t *array = json_object_get(bindings->json, binding_store_lists[list].name);
	size_t count = 0;

	if (!json_is_array(array))
		return E_MALFORMED;
	bindings->memory[list] = calloc(json_array_size(array) + 1, binding_store_lists[list].size);
	if (!bindings->memory[list])
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(array); i++) {
		struct row row = {.array = json_array_get(array, i)};
		char *out = (char *)bindings->memory[list] + count * binding_store_lists[list].size;

		if (binding_store_lists[list].read(&row, out) && !row.odd)
			count++;
		else
			bindings->odd++;
	}
	*ret_count = count;
	return 0;
}

static bool binding_store_address_of(const char *text, uint8_t ret[16])
{
	if (inet_pton(AF_INET6, text, ret) == 1)
		return true;
	memset(ret, 0, 16);
	ret[10] = ret[11] = 0xff;
	return inet_pton(AF_INET, text, ret + 12) == 1;
}

static int read_agents(struct bindings *bindings)
{
	const json_t *array = json_object_get(bindings->json, "agents");

	if (!json_is_array(array))
		return E_MALFORMED;
	bindings->agents = calloc(json_array_size(array) + 1, sizeof(*bindings->agents));
	if (!bindings->agents)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(array); i++) {
		struct row row = {.array = json_array_get(array, i)};
		struct agent_row *agent = &bindings->agents[bindings->agent_count];

		agent->number = (uint16_t)row_int(&row, 1, AGENT_LIMIT - 1);
		if (binding_store_address_of(row_text(&row), agent->agent) &&
		    binding_store_address_of(row_text(&row), agent->source) && !row.odd)
			bindings->agent_count++;
		else
			bindings->odd++;
	}
	return 0;
}

int bindings_parse(const char *data, size_t size, struct bindings *ret, struct problem *problem)
{
	struct bindings bindings = {0};
	json_t *json = NULL;
	size_t counts[COUNT_OF(binding_store_lists)] = {0};
	int rc = json_read(data, size, JSON_SIZE_MAX, &json, problem);

	if (rc)
		return rc;
	bindings.json = json;
	for (enum list list = 0; list < COUNT_OF(binding_store_lists) && !rc; list++)
		rc = binding_store_read_list(&bindings, list, &counts[list]);
	if (!rc)
		rc = read_agents(&bindings);
	if (rc) {
		bindings_done(&bindings);
		return problem_set(problem, rc, "bindings: %s", error_text(rc));
	}
	bindings.rows = (struct attribution_rows){
		.switches = bindings.memory[LIST_SWITCHES],
		.switch_count = counts[LIST_SWITCHES],
		.ports = bindings.memory[LIST_PORTS],
		.port_count = counts[LIST_PORTS],
		.networks = bindings.memory[LIST_NETWORKS],
		.network_count = counts[LIST_NETWORKS],
		.port_bindings = bindings.memory[LIST_BINDINGS],
		.port_binding_count = counts[LIST_BINDINGS],
		.vlans = bindings.memory[LIST_VLANS],
		.vlan_count = counts[LIST_VLANS],
		.vnis = bindings.memory[LIST_VNIS],
		.vni_count = counts[LIST_VNIS],
		.nics = bindings.memory[LIST_NICS],
		.nic_count = counts[LIST_NICS],
	};
	*ret = bindings;
	return 0;
}

/* --- asking --- */

struct binding_store_asked {
	union {
		binding_mark_fn mark;
		binding_read_fn read;
	};
	void *context;
};

static int binding_store_ask(struct db *db, const struct db_query *query, db_result_fn fn,
			     const struct binding_store_asked *asked)
{
	struct binding_store_asked *kept = malloc(sizeof(*kept));
	int rc;

	if (!kept)
		return -ENOMEM;
	*kept = *asked;
	rc = db_submit(db, query, NULL, fn, kept);
	if (rc)
		free(kept);
	return rc;
}

static void binding_store_on_mark(void *context, int rc, const PGresult *result,
				  const struct problem *problem)
{
	struct binding_store_asked *asked = context;

	(void)problem;
	asked->mark(asked->context, rc, rc ? "" : db_text(result, 0, 0, ""));
	free(asked);
}

int binding_mark(struct db *db, binding_mark_fn fn, void *context)
{
	return binding_store_ask(db, &mark_query, binding_store_on_mark,
				 &(struct binding_store_asked){.mark = fn, .context = context});
}

static void binding_store_on_read(void *context, int rc, const PGresult *result,
				  const struct problem *problem)
{
	struct binding_store_asked *asked = context;
	struct bindings bindings = {0};
	struct problem wrong = {0};

	if (!rc) {
		const char *text = db_text(result, 0, 0, "");

		rc = bindings_parse(text, strlen(text), &bindings, &wrong);
		problem = &wrong;
	}
	asked->read(asked->context, rc, &bindings, problem);
	free(asked);
}

int binding_read(struct db *db, binding_read_fn fn, void *context)
{
	return binding_store_ask(db, &binding_store_read_query, binding_store_on_read,
				 &(struct binding_store_asked){.read = fn, .context = context});
}
