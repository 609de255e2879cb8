// links: peregrine_switch common_io common_base
/* Reads all parts of N switches at 10.66.0.1, 10.66.0.2 ... at once, as peregrined does, and prints
 * seconds, requests and rows: what tests/bench/discover times. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/snmp/snmp_client.h"
#include "peregrine/switch/switch_driver.h"
#include "peregrine/switch/switch_family_table.h"

struct load {
	struct loop *loop;
	unsigned left, failed, good;
	int64_t began_ms, last_good_ms;
	uint64_t requests, ports, fdb, neighbors;
};

static void discover_load_on_read(void *context, int rc, struct switch_reading *reading,
				  const struct problem *problem)
{
	struct load *load = context;

	if (rc) {
		load->failed++;
		(void)fprintf(stderr, "%s: %s\n", problem->message, problem->detail);
	} else {
		load->failed += reading->parts != PART_ALL;
		load->good++;
		load->last_good_ms = clock_monotonic_ms() - load->began_ms;
		load->requests += reading->requests;
		load->ports += reading->port_count;
		load->fdb += reading->fdb_count;
		load->neighbors += reading->neighbor_count;
		switch_reading_done(reading);
	}
	if (--load->left == 0)
		loop_stop(load->loop);
}

int main(int argc, char **argv)
{
	static const struct switch_request request = {.op = SWITCH_READ, .parts = PART_ALL};
	const struct switch_driver *driver = switch_driver_find("snmp");
	const struct switch_family *family = switch_family_find("generic");
	unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 50;
	void **sessions = calloc(count, sizeof(*sessions));
	struct load load = {.left = count};
	struct switch_host host = {0};
	struct problem problem;
	int64_t began;

	if (!sessions || loop_new(&load.loop) || snmp_client_new(load.loop, &host.snmp))
		return 1;
	host.loop = load.loop;
	began = clock_monotonic_ms();
	load.began_ms = began;
	for (unsigned i = 0; i < count; i++) {
		struct switch_endpoint endpoint = {
			.id = i + 1, .snmp_community = "public", .retries = 3};

		text_format(endpoint.name, sizeof(endpoint.name), "s%u", i + 1);
		text_format(endpoint.address, sizeof(endpoint.address), "10.66.%u.%u",
			    (i + 1) / 256, (i + 1) % 256);
		if (driver->open(&endpoint, family, &host, &sessions[i], &problem) ||
		    driver->start(sessions[i], &request, began + 300000, discover_load_on_read,
				  &load))
			return 1;
	}
	loop_run(load.loop);
	(void)printf("seconds=%.3f requests=%.1f ports=%llu fdb=%llu neighbors=%llu failed=%u "
		     "good=%u last_good=%.3f\n",
		     (double)(clock_monotonic_ms() - began) / 1e3, (double)load.requests / count,
		     (unsigned long long)load.ports, (unsigned long long)load.fdb,
		     (unsigned long long)load.neighbors, load.failed, load.good,
		     (double)load.last_good_ms / 1e3);
	for (unsigned i = 0; i < count; i++)
		driver->close(sessions[i]);
	free(sessions);
	snmp_client_free(host.snmp);
	loop_free(load.loop);
	return load.failed ? 1 : 0;
}
