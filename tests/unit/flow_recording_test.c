// links: peregrine_flow lib::jansson
/* Whose traffic it is on the recorded fabric (tests/data/sflow-lab.*), whose truth is known to the
 * byte. */
#include <arpa/inet.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/model/estimate_policy.h"
#include "common/net/mac.h"

#include "peregrine/flowd/flow/attribution_policy.h"
#include "peregrine/flowd/flow/rollup.h"
#include "peregrine/flowd/sample/sample_reader.h"
#include "tests/support/cmocka.h"

#define ALWAYS .from_us = 0, .to_us = BINDING_ENDLESS
#define SECOND 1000000LL

struct lab {
	json_t *truth;
	struct switch_row switches[8];
	struct agent_row agents[8];
	struct port_row ports[128];
	struct port_binding_row bindings[128];
	struct nic_binding_row nics[32];
	struct network_row networks[4];
	struct vlan_binding_row vlans[4];
	struct attribution_rows rows;
};

static int64_t switch_number(const struct lab *lab, const char *name)
{
	for (size_t i = 0; i < lab->rows.switch_count; i++)
		if (!strcmp(lab->switches[i].name, name))
			return lab->switches[i].id;
	fail();
	return 0;
}

static void load_ports(struct lab *lab)
{
	json_t *port;
	size_t i;

	json_array_foreach(json_object_get(lab->truth, "ports"), i, port)
	{
		bool access = !strcmp(json_string_value(json_object_get(port, "mode")), "access");
		const char *name = json_string_value(json_object_get(port, "port"));
		int64_t id = switch_number(lab, json_string_value(json_object_get(port, "switch")));
		json_t *port_vlans = json_object_get(port, "vlans");

		lab->ports[lab->rows.port_count++] = (struct port_row){
			.switch_id = id,
			.name = name,
			.lag = "",
			.if_index = (uint32_t)json_integer_value(json_object_get(port, "ifindex")),
			.kind = access ? PORT_KIND_EDGE : PORT_KIND_UPLINK,
		};
		if (access)
			lab->bindings[lab->rows.port_binding_count++] = (struct port_binding_row){
				.switch_id = id,
				.port = name,
				.network = json_integer_value(json_array_get(port_vlans, 0)),
				ALWAYS};
	}
}

static void lab_load(struct lab *lab)
{
	static const char *const names[] = {"net0", "net1", "net2", "net3"};
	static const char *const tenants[] = {"t0", "t1", "t2", "t3"};
	const char *name;
	json_t *value;
	uint16_t number = 0;

	*lab = (struct lab){0};
	lab->truth = json_load_file(TEST_SOURCE_DIR "/data/sflow-lab.truth.json", 0, NULL);
	assert_non_null(lab->truth);
	json_object_foreach(json_object_get(lab->truth, "agents"), name, value)
	{
		struct agent_row *agent = &lab->agents[number];

		agent->agent[10] = agent->agent[11] = 0xff;
		assert_int_equal(inet_pton(AF_INET, json_string_value(value), agent->agent + 12),
				 1);
		memcpy(agent->source, agent->agent, sizeof(agent->source));
		agent->number = number;
		lab->switches[number] = (struct switch_row){
			.id = number + 1, .name = name, .fabric = 1, .agent = number};
		number++;
	}
	lab->rows.switch_count = number;
	for (unsigned i = 0; i < 4; i++) {
		lab->networks[i] = (struct network_row){.id = 100 + i,
							.name = names[i],
							.tenant = i + 1,
							.tenant_name = tenants[i]};
		lab->vlans[i] = (struct vlan_binding_row){
			.fabric = 1, .vlan = (uint16_t)(100 + i), .network = 100 + i, ALWAYS};
	}
	lab->rows.network_count = lab->rows.vlan_count = 4;
	load_ports(lab);
	json_object_foreach(json_object_get(lab->truth, "host_counters_delta"), name, value)
	{
		struct nic_binding_row *nic = &lab->nics[lab->rows.nic_count++];
		struct mac mac;

		*nic = (struct nic_binding_row){.node = (int64_t)lab->rows.nic_count,
						.node_name = name,
						.port = "",
						ALWAYS};
		assert_int_equal(mac_parse(json_string_value(json_object_get(value, "mac")), &mac),
				 0);
		memcpy(nic->mac, mac.bytes, sizeof(nic->mac));
	}
	lab->rows.switches = lab->switches;
	lab->rows.ports = lab->ports;
	lab->rows.networks = lab->networks;
	lab->rows.port_bindings = lab->bindings;
	lab->rows.vlans = lab->vlans;
	lab->rows.nics = lab->nics;
}

/* Reads the recording into one harvest of `seconds`. */
static void lab_harvest(const struct lab *lab, struct harvest *harvest, struct source_book **ret)
{
	FILE *file = fopen(TEST_SOURCE_DIR "/data/sflow-lab.pcap", "rb");
	uint8_t head[24];
	uint8_t record[16];
	uint8_t packet[2048];
	struct agent_directory *directory = NULL;
	struct sample_reader reader = {.harvest = harvest};
	size_t count;

	assert_non_null(file);
	*harvest = (struct harvest){.from_us = 100 * SECOND, .until_us = 100 * SECOND + 1};
	assert_int_equal(flow_table_init(&harvest->flows, 14, 0), 0);
	harvest->counters = calloc(HARVEST_COUNTERS, sizeof(*harvest->counters));
	harvest->discards = calloc(HARVEST_DISCARDS, sizeof(*harvest->discards));
	assert_int_equal(source_book_new(64, ret), 0);
	assert_int_equal(agent_directory_new(lab->agents, lab->rows.switch_count, &directory), 0);
	reader.book = *ret;
	reader.directory = directory;
	assert_int_equal(fread(head, 1, sizeof(head), file), sizeof(head));
	while (fread(record, 1, sizeof(record), file) == sizeof(record)) {
		uint32_t size;
		uint8_t source[16] = {[10] = 0xff, [11] = 0xff};

		memcpy(&size, record + 8, 4);
		assert_true(size > 42 && size <= sizeof(packet));
		assert_int_equal(fread(packet, 1, size, file), size);
		memcpy(source + 12, packet + 26, 4);
		sample_reader_take(&reader, packet + 42, size - 42, source);
	}
	(void)fclose(file);
	sample_reader_flush(&reader);
	harvest->sources = source_book_harvest(*ret, &count);
	harvest->source_count = count;
	agent_directory_free(directory);
}

struct seen {
	struct lab *lab;
	struct rollup *rollup;
	unsigned minutes, partial;
	uint64_t flow_bytes,
		odd_bytes; /* of the truth's flows; of these to a wrong tenant or VLAN */
	uint64_t tenant_bytes[5], nobody_bytes;
	struct traffic_sums flow_sums[8]; /* of the flows A.. of the truth, where they entered */
};

static size_t truth_flow(const struct lab *lab, const struct conversation_key *flow)
{
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(lab->truth, "flows"), i, row)
	{
		uint8_t address[4];

		(void)inet_pton(AF_INET, json_string_value(json_object_get(row, "src_ip")),
				address);
		if (!memcmp(flow->source + 12, address, 4) &&
		    flow->source_port == json_integer_value(json_object_get(row, "src_port")))
			return i;
	}
	return SIZE_MAX;
}

/* Sums agree at every level: what children have is no more than their parent has. */
static void check_tree(const struct traffic_set *set)
{
	uint64_t *pairs = calloc(set->share_table.count + 1, sizeof(*pairs));
	uint64_t *flows = calloc(set->pair_table.count + 1, sizeof(*flows));

	if (!pairs || !flows)
		abort();
	for (uint32_t i = 0; i < set->pair_table.count; i++)
		pairs[set->pairs[i].key.share] += set->pairs[i].sums.bytes;
	for (uint32_t i = 0; i < set->flow_table.count; i++)
		flows[set->flows[i].key.pair] += set->flows[i].sums.bytes;
	for (uint32_t i = 0; i < set->share_table.count; i++)
		assert_true(pairs[i] <= set->shares[i].sums.bytes);
	for (uint32_t i = 0; i < set->pair_table.count; i++)
		assert_true(flows[i] <= set->pairs[i].sums.bytes);
	free(pairs);
	free(flows);
}

static void on_bucket(void *context, enum traffic_step step, int64_t at_s, bool partial,
		      const struct traffic_set *set)
{
	struct seen *seen = context;
	const struct traffic_names *names = rollup_names(seen->rollup);

	assert_int_equal(at_s % traffic_step_seconds[step], 0);
	check_tree(set);
	if (step != STEP_MINUTE || !set->share_table.count)
		return;
	seen->minutes++;
	seen->partial += partial;
	for (uint32_t i = 0; i < set->share_table.count; i++) {
		const struct traffic_share *share = &set->shares[i];
		const struct traffic_group *group = traffic_group_get(names, share->key.group);

		if (share->key.direction != TRAFFIC_IN)
			continue;
		if (group->reason)
			seen->nobody_bytes += share->sums.bytes;
		else
			seen->tenant_bytes[group->tenant] += share->sums.bytes;
	}
	for (uint32_t i = 0; i < set->flow_table.count; i++) {
		const struct traffic_flow *flow = &set->flows[i];
		const struct traffic_share *share =
			&set->shares[set->pairs[flow->key.pair].key.share];
		const struct traffic_group *group = traffic_group_get(names, share->key.group);
		size_t number = truth_flow(seen->lab, &flow->key);
		json_t *row = json_array_get(json_object_get(seen->lab->truth, "flows"), number);

		if (number == SIZE_MAX)
			continue;
		seen->flow_bytes += flow->sums.bytes;
		if (group->tenant - 1 != json_integer_value(json_object_get(row, "tenant")) ||
		    group->vlan != json_integer_value(json_object_get(row, "vlan")))
			seen->odd_bytes += flow->sums.bytes;
		if (share->key.direction == TRAFFIC_IN)
			traffic_sums_add(&seen->flow_sums[number], &flow->sums);
	}
}

static const struct rollup_options small = {
	.ring_seconds = 60,
	.ring_bytes = 16 << 20,
	.route_bits = 12,
	.kept = {.shares = 4096, .pairs = 1024, .flows = 1024, .pairs_kept = 16, .flows_kept = 16},
	.bucket =
		{.shares = 4096, .pairs = 8192, .flows = 16384, .pairs_kept = 64, .flows_kept = 64},
};

/* Nothing is given to the wrong tenant, the same-leaf flow without any tag and the tenants with the
 * same addresses included; each flow is counted once for its tenant though three switches saw it.
 */
static void the_recording_is_attributed_without_a_mistake(void **state)
{
	/* Bytes that the sending nodes' own counters say, by tenant: A+B, C+D, E, F and what came
	 * back. */
	static const double left_nodes[4] = {130774925 + 51499680 + 1338026 + 1327,
					     78549023 + 52370641 + 1379838, 27052376 + 1327,
					     52367126 + 585504};
	static const uint64_t flows[] = {130774925, 51499680, 78549023, 26185320,
					 26185320,  27052376, 52367126};
	struct lab lab;
	struct seen seen = {.lab = &lab};
	struct attribution_index *index = NULL;
	struct source_book *book = NULL;
	struct rollup_counts counts;
	struct harvest harvest;
	unsigned outside = 0;

	(void)state;
	lab_load(&lab);
	lab_harvest(&lab, &harvest, &book);
	assert_int_equal(attribution_index_new(&lab.rows, &index), 0);
	assert_int_equal(rollup_new(&small, 90, on_bucket, &seen, &seen.rollup), 0);
	assert_int_equal(rollup_use(seen.rollup, index), 0);
	rollup_take(seen.rollup, &harvest);
	rollup_tick(seen.rollup, 125);
	assert_int_equal(seen.minutes, 1);
	assert_int_equal(seen.partial, 1);
	print_message("bytes: flows=%llu misattributed=%llu nobodys=%llu\n",
		      (unsigned long long)seen.flow_bytes, (unsigned long long)seen.odd_bytes,
		      (unsigned long long)seen.nobody_bytes);
	assert_true(seen.flow_bytes > 0);
	assert_int_equal(seen.odd_bytes, 0);
	assert_int_equal(seen.nobody_bytes, 0);
	for (size_t i = 0; i < 4; i++) {
		double ratio = (double)seen.tenant_bytes[i + 1] / left_nodes[i];

		print_message("tenant %zu: %.3f of what its nodes sent\n", i, ratio);
		assert_true(ratio > 0.7 && ratio < 1.3);
	}
	for (size_t i = 0; i < COUNT_OF(flows); i++) {
		struct estimate e = estimate_of(&seen.flow_sums[i], 0);

		print_message("flow %zu: %llu <= %llu <= %llu\n", i, (unsigned long long)e.low,
			      (unsigned long long)flows[i], (unsigned long long)e.high);
		outside += flows[i] < e.low || flows[i] > e.high;
		assert_true(flows[i] > e.low - e.low / 10 && flows[i] < e.high + e.high / 10);
	}
	/* One in twenty may be; flow B was drawn 109 times where 89 were to be expected. */
	assert_true(outside <= 1);
	counts = rollup_counts(seen.rollup);
	assert_int_equal(counts.bytes_for[REASON_FOREIGN_VLAN] + counts.bytes_for[REASON_UNTAGGED] +
				 counts.bytes_for[REASON_UNKNOWN_PORT] +
				 counts.bytes_for[REASON_PORT_UNBOUND],
			 0);
	assert_true(counts.bytes_by[BY_PORT] > 0 && counts.bytes_by[BY_TAG] > 0);

	rollup_free(seen.rollup);
	attribution_index_free(index);
	source_book_free(book);
	flow_table_done(&harvest.flows);
	free(harvest.counters);
	free(harvest.discards);
	json_decref(lab.truth);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_recording_is_attributed_without_a_mistake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
