// links: peregrine_fabric peregrine_switch common_net common_base
/* 1,000 switches of 48 ports, each with as many cables as it has ports: what a conclusion costs is
 * counted in looks at entries, which is the same on every machine. The count may grow with the
 * cables and not with their square. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#include "peregrine/control/fabric/fabric_index.h"
#include "peregrine/control/fabric/link_policy.h"
#include "peregrine/control/fabric/place_policy.h"
#include "peregrine/control/fabric/wiring_policy.h"
#include "tests/support/cmocka.h"

enum { PORTS = 48, UPLINKS = 8, NODES = PORTS - UPLINKS };

struct site {
	unsigned switches;
	struct switch_reading *readings;
	struct fabric_source *sources;
	char (*names)[16];
	struct fabric_nic *nics;
	char (*nodes)[16];
	struct fabric_prior *priors;
	struct wiring_row *rows;
	size_t row_count;
	struct fabric_facts facts;
	struct fabric_index index;
	struct fabric_conclusion conclusion;
	struct wiring_found wiring;
};

static struct mac nic_mac(size_t nic)
{
	return (struct mac){
		{0x52, 0x54, 0, (uint8_t)(nic >> 16), (uint8_t)(nic >> 8), (uint8_t)nic}};
}

/* Port p < UPLINKS of switch i is cabled to the same port of the switch beside it: i ^ (1 << p). */
static unsigned peer_of(const struct site *site, unsigned i, unsigned p)
{
	unsigned peer = i ^ (1U << p);

	return peer < site->switches ? peer : i;
}

static void make_ports(struct switch_reading *reading, unsigned i)
{
	struct switch_port *ports = calloc(PORTS, sizeof(*ports));

	if (!ports)
		abort();
	reading->ports = ports;
	reading->port_count = PORTS;
	for (unsigned p = 0; p < PORTS; p++) {
		struct switch_port *port = &ports[p];

		(void)text_format(port->name, sizeof(port->name), "Ethernet1/%u", p + 1);
		(void)text_copy(port->alias, sizeof(port->alias), "cabled");
		port->if_index = 10 * p + 7;
		port->base_port = PORTS - p;
		port->admin_up = port->up = true;
		/* One MAC for all ports, as many chassis have it. */
		memcpy(port->mac, (uint8_t[]){2, 0, 0, 0, (uint8_t)(i >> 8), (uint8_t)i}, 6);
	}
}

static void make_heard(struct site *site, unsigned i)
{
	struct switch_reading *reading = &site->readings[i];

	reading->neighbors = calloc(UPLINKS, sizeof(*reading->neighbors));
	reading->fdb = calloc(PORTS, sizeof(*reading->fdb));
	assert_true(reading->neighbors && reading->fdb);
	for (unsigned p = 0; p < UPLINKS; p++) {
		unsigned peer = peer_of(site, i, p);
		struct switch_neighbor *neighbor = &reading->neighbors[reading->neighbor_count];

		if (peer == i)
			continue;
		reading->neighbor_count++;
		neighbor->if_index = reading->ports[p].if_index;
		(void)text_copy(neighbor->chassis, sizeof(neighbor->chassis),
				site->readings[peer].identity.chassis);
		(void)text_copy(neighbor->system, sizeof(neighbor->system), site->names[peer]);
		(void)text_format(neighbor->port, sizeof(neighbor->port), "Eth1/%u", p + 1);
	}
	for (unsigned p = UPLINKS; p < PORTS; p++) {
		struct switch_fdb_entry *entry = &reading->fdb[reading->fdb_count++];

		memcpy(entry->mac, nic_mac((size_t)i * NODES + p - UPLINKS).bytes, 6);
		entry->vlan = 100;
		entry->if_index = reading->ports[p].if_index;
	}
}

static void make_nodes(struct site *site)
{
	size_t count = (size_t)site->switches * NODES;

	for (size_t n = 0; n < count; n++) {
		unsigned i = (unsigned)(n / NODES);
		unsigned p = UPLINKS + (unsigned)(n % NODES);

		(void)text_format(site->nodes[n], sizeof(site->nodes[n]), "n%zu", n);
		site->nics[n] = (struct fabric_nic){.mac = nic_mac(n),
						    .node_id = (int64_t)n + 1,
						    .node = site->nodes[n],
						    .name = "eth0",
						    .heard_chassis = "",
						    .heard_port = "",
						    .heard_system = ""};
		site->priors[n] = (struct fabric_prior){.mac = nic_mac(n), .at = {i, p}};
		site->rows[site->row_count++] =
			(struct wiring_row){.switch_id = 10 + (int64_t)i,
					    .port = site->readings[i].ports[p].name,
					    .node_id = (int64_t)n + 1,
					    .node = site->nodes[n],
					    .nic = "eth0",
					    .peer = "",
					    .peer_port = ""};
	}
	site->facts.nic_count = site->facts.prior_count = count;
}

static void site_make(struct site *site, unsigned switches)
{
	size_t nodes = (size_t)switches * NODES;

	*site = (struct site){.switches = switches};
	site->readings = calloc(switches, sizeof(*site->readings));
	site->sources = calloc(switches, sizeof(*site->sources));
	site->names = calloc(switches, sizeof(*site->names));
	site->nics = calloc(nodes, sizeof(*site->nics));
	site->nodes = calloc(nodes, sizeof(*site->nodes));
	site->priors = calloc(nodes, sizeof(*site->priors));
	site->rows = calloc(nodes, sizeof(*site->rows));
	assert_true(site->readings && site->sources && site->names && site->nics && site->nodes &&
		    site->priors && site->rows);
	for (unsigned i = 0; i < switches; i++) {
		struct switch_reading *reading = &site->readings[i];

		(void)text_format(site->names[i], sizeof(site->names[i]), "s%u", i);
		(void)text_format(reading->identity.chassis, 64, "02:00:00:00:%02x:%02x", i >> 8,
				  i & 0xffU);
		(void)text_copy(reading->identity.system, 64, site->names[i]);
		reading->parts = PART_ALL;
		make_ports(reading, i);
		site->sources[i] = (struct fabric_source){.id = 10 + i,
							  .fabric_id = 1,
							  .name = site->names[i],
							  .reading = reading,
							  .fresh = true};
	}
	for (unsigned i = 0; i < switches; i++)
		make_heard(site, i);
	site->facts = (struct fabric_facts){.sources = site->sources,
					    .source_count = switches,
					    .nics = site->nics,
					    .priors = site->priors};
	make_nodes(site);
}

static void site_done(struct site *site)
{
	for (unsigned i = 0; i < site->switches; i++)
		switch_reading_done(&site->readings[i]);
	fabric_conclusion_done(&site->conclusion);
	fabric_index_done(&site->index);
	free(site->wiring.items);
	free(site->readings);
	free(site->sources);
	free(site->names);
	free(site->nics);
	free(site->nodes);
	free(site->priors);
	free(site->rows);
}

/* Returns how many entries were looked at for all of it. */
static uint64_t conclude(struct site *site)
{
	struct fabric_conclusion *conclusion = &site->conclusion;

	assert_int_equal(fabric_index_make(&site->facts, &site->index), 0);
	assert_int_equal(link_policy_conclude(&site->facts, conclusion), 0);
	assert_int_equal(place_policy_conclude(&site->facts, 1, conclusion), 0);
	assert_int_equal(wiring_policy_compare(&site->facts, conclusion, site->rows,
					       site->row_count, &site->wiring),
			 0);
	/* As conclude_facts.c does for everything that is remembered. */
	for (size_t i = 0; i < site->row_count; i++) {
		struct port_ref at;

		assert_true(fabric_port_find(&site->facts, site->rows[i].switch_id,
					     site->rows[i].port, &at));
	}
	return conclusion->compared + conclusion->link_ends.compared +
	       fabric_index_compared(&site->index);
}

static void the_cost_grows_with_the_cables(void **state)
{
	static const unsigned sizes[] = {125, 1000};
	double each[COUNT_OF(sizes)];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		struct site site;
		uint64_t compared;
		size_t cables;

		site_make(&site, sizes[i]);
		compared = conclude(&site);
		cables = site.conclusion.link_count + site.conclusion.place_count;
		each[i] = (double)compared / (double)cables;
		print_message("%u switches: %zu cables, %llu looks, %.1f each\n", sizes[i], cables,
			      (unsigned long long)compared, each[i]);
		assert_int_equal(site.conclusion.place_count, (size_t)sizes[i] * NODES);
		assert_int_equal(site.conclusion.conflict_count, 0);
		assert_int_equal(site.wiring.count, 0);
		for (size_t link = 0; link < site.conclusion.link_count; link++)
			assert_int_equal(site.conclusion.links[link].state, LINK_CONFIRMED);
		site_done(&site);
	}
	/* Every link looked at by every other would be thousands each. */
	assert_true(each[1] < 40);
	assert_true(each[1] < 1.5 * each[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cost_grows_with_the_cables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
