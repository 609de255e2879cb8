#include "peregrine/flowd/binding_store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/http/json_reader.h"
#include "common/net/mac.h"

#include "peregrine/flowd/binding_store_sql.h"

/* Ten thousand switches of 48 ports with a NIC each are about 200 MB of text; more is no site. */
#define JSON_SIZE_MAX ((size_t)512 << 20)

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
	const json_t *object;
	bool odd;
};

static int64_t row_int(struct row *row, const char *name, int64_t low, int64_t high)
{
	const json_t *value = json_object_get(row->object, name);
	int64_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < low || number > high)
		row->odd = true;
	return number;
}

static const char *row_text(struct row *row, const char *name)
{
	const char *text = json_string_value(json_object_get(row->object, name));

	if (!text)
		row->odd = true;
	return text ? text : "";
}

/* A binding that has not ended has no end. */
static int64_t row_end(struct row *row)
{
	if (json_is_null(json_object_get(row->object, "to_us")))
		return BINDING_ENDLESS;
	return row_int(row, "to_us", 0, INT64_MAX);
}

static bool binding_store_read_switch(struct row *row, void *out)
{
	*(struct switch_row *)out = (struct switch_row){
		.id = row_int(row, "id", 1, INT64_MAX),
		.name = row_text(row, "name"),
		.fabric = row_int(row, "fabric", 1, INT64_MAX),
	};
	/* The number of its agent is its id: it stays the same as long as the switch is there. */
	((struct switch_row *)out)->agent = (uint16_t)((struct switch_row *)out)->id;
	return ((struct switch_row *)out)->id < AGENT_LIMIT;
}

static bool binding_store_read_port(struct row *row, void *out)
{
	struct port_row port = {.switch_id = row_int(row, "switch", 1, INT64_MAX),
				.name = row_text(row, "name"),
				.lag = row_text(row, "lag"),
				.if_index = (uint32_t)row_int(row, "if_index", 0, UINT32_MAX)};
	const char *kind = row_text(row, "kind");

	port.speed_bps = (uint64_t)row_int(row, "speed_bps", 0, INT64_MAX);
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
		.id = row_int(row, "id", 1, INT64_MAX),
		.name = row_text(row, "name"),
		.tenant = row_int(row, "tenant", 0, INT64_MAX),
		.tenant_name = row_text(row, "tenant_name"),
	};
	return true;
}

static bool read_binding(struct row *row, void *out)
{
	*(struct port_binding_row *)out = (struct port_binding_row){
		.switch_id = row_int(row, "switch", 1, INT64_MAX),
		.port = row_text(row, "port"),
		.tag = (uint16_t)row_int(row, "tag", 0, 4094),
		.network = row_int(row, "network", 1, INT64_MAX),
		.from_us = row_int(row, "from_us", 0, INT64_MAX),
		.to_us = row_end(row),
	};
	return true;
}

static bool binding_store_read_vlan(struct row *row, void *out)
{
	*(struct vlan_binding_row *)out = (struct vlan_binding_row){
		.fabric = row_int(row, "fabric", 1, INT64_MAX),
		.vlan = (uint16_t)row_int(row, "vlan", 1, 4094),
		.network = row_int(row, "network", 1, INT64_MAX),
		.from_us = row_int(row, "from_us", 0, INT64_MAX),
		.to_us = row_end(row),
	};
	return true;
}

static bool read_vni(struct row *row, void *out)
{
	*(struct vni_binding_row *)out = (struct vni_binding_row){
		.vni = (uint32_t)row_int(row, "vni", 1, 0xffffff),
		.network = row_int(row, "network", 1, INT64_MAX),
		.from_us = row_int(row, "from_us", 0, INT64_MAX),
		.to_us = row_end(row),
	};
	return true;
}

static bool binding_store_read_nic(struct row *row, void *out)
{
	struct nic_binding_row nic = {0};
	struct mac mac = {0};

	if (mac_parse(row_text(row, "mac"), &mac))
		row->odd = true;
	memcpy(nic.mac, mac.bytes, sizeof(nic.mac));
	nic.switch_id = row_int(row, "switch", 1, INT64_MAX);
	nic.port = row_text(row, "port");
	nic.node = row_int(row, "node", 0, INT64_MAX);
	nic.node_name = row_text(row, "node_name");
	nic.from_us = row_int(row, "from_us", 0, INT64_MAX);
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
		struct row row = {.object = json_array_get(array, i)};
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
		struct row row = {.object = json_array_get(array, i)};
		struct agent_row *agent = &bindings->agents[bindings->agent_count];

		agent->number = (uint16_t)row_int(&row, "switch", 1, AGENT_LIMIT - 1);
		if (binding_store_address_of(row_text(&row, "agent"), agent->agent) &&
		    binding_store_address_of(row_text(&row, "source"), agent->source) && !row.odd)
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
	asked->mark(asked->context, rc, rc ? "" : db_text(result, 0, BINDING_MARK_MARK, ""));
	free(asked);
}

int binding_mark(struct db *db, binding_mark_fn fn, void *context)
{
	return binding_store_ask(db, &binding_mark_query, binding_store_on_mark,
				 &(struct binding_store_asked){.mark = fn, .context = context});
}

static void binding_store_on_read(void *context, int rc, const PGresult *result,
				  const struct problem *problem)
{
	struct binding_store_asked *asked = context;
	struct bindings bindings = {0};
	struct problem wrong = {0};

	if (!rc) {
		const char *text = db_text(result, 0, BINDING_READ_BINDINGS, "");

		rc = bindings_parse(text, strlen(text), &bindings, &wrong);
		problem = &wrong;
	}
	asked->read(asked->context, rc, &bindings, problem);
	free(asked);
}

int binding_read(struct db *db, binding_read_fn fn, void *context)
{
	return binding_store_ask(db, &binding_read_query, binding_store_on_read,
				 &(struct binding_store_asked){.read = fn, .context = context});
}
