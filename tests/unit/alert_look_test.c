// links: peregrine_alert
/* Which values one second has: of ports, aggregates, a switch's uplinks and agents, from samples
 * and counters as the daemon keeps them; and the alerts that become of them. */
#include <string.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#include "peregrine/flowd/alert/alert_look.h"
#include "peregrine/flowd/alert/alert_text.h"
#include "tests/support/cmocka.h"

#define SECOND INT64_C(1000000)
#define BEGIN  INT64_C(1000)

/* leaf1 (agent 1): up0 and up1 to spines, p4 of acme, m7 and m8 the members of lag1; spine1 (agent
 * 2) has no traffic. All ports have 8 Mbit/s: a percent is 10,000 bytes a second. */
static const struct switch_row switches[] = {
	{.id = 1, .name = "leaf1", .fabric = 1, .agent = 1},
	{.id = 2, .name = "spine1", .fabric = 1, .agent = 2},
};
#define PERCENT 10000
#define SPEED   8000000
static const struct port_row ports[] = {
	{1, "up0", "", 1, PORT_KIND_UPLINK, SPEED},  {1, "up1", "", 2, PORT_KIND_UPLINK, SPEED},
	{1, "p4", "", 4, PORT_KIND_EDGE, SPEED},     {1, "m7", "lag1", 7, PORT_KIND_EDGE, SPEED},
	{1, "m8", "lag1", 8, PORT_KIND_EDGE, SPEED}, {1, "lag1", "", 1000, PORT_KIND_EDGE, 0},
};
enum { UP0 = 1, UP1 = 2, P4 = 4, M7 = 7, M8 = 8 };
static const struct network_row networks[] = {
	{.id = 21, .name = "red", .tenant = 5, .tenant_name = "acme"}};
static const struct port_binding_row bindings[] = {
	{.switch_id = 1, .port = "p4", .network = 21, .to_us = BINDING_ENDLESS}};
static const struct attribution_rows rows = {
	.switches = switches,
	.switch_count = COUNT_OF(switches),
	.ports = ports,
	.port_count = COUNT_OF(ports),
	.networks = networks,
	.network_count = COUNT_OF(networks),
	.port_bindings = bindings,
	.port_binding_count = COUNT_OF(bindings),
};

struct site {
	struct attribution_index *index;
	struct rollup *rollup;
	struct port_counters *counters;
	struct alert_look *look;
	struct alert_watch *watch;
	struct agent_facts agents[COUNT_OF(switches)];
	struct flow_table flows;
	struct text said;
	int64_t last_tenant; /* of what was told last */
	int64_t now_s;
};

static void on_alert(void *context, enum alert_event event, const struct alert_entry *entry)
{
	CLEANUP(text_done) struct text message = {0};
	struct site *site = context;

	if (event != ALERT_EVENT_RAISED && event != ALERT_EVENT_OVER)
		return;
	alert_message(entry, &message);
	text_addf(&site->said, "%s %s: %s\n", event == ALERT_EVENT_RAISED ? "raised" : "over",
		  entry->key, text_get(&message));
	site->last_tenant = entry->tenant;
}

static void on_bucket(void *context, enum traffic_step step, int64_t at_s, bool partial,
		      const struct traffic_set *set)
{
	(void)context;
	(void)step;
	(void)at_s;
	(void)partial;
	(void)set;
}

static void on_second(void *context, int64_t at_s, double seconds, const struct traffic_set *set)
{
	struct site *site = context;
	const struct alert_second second = {
		.at_us = (at_s + 1) * SECOND,
		.seconds = seconds,
		.set = set,
		.rollup = site->rollup,
		.index = site->index,
		.counters = site->counters,
		.agents = site->agents,
	};

	alert_look_at(site->look, &second, site->watch);
}

static void site_start(struct site *site)
{
	static const struct rollup_options rollup = {
		.harvests = 1,
		.samplers = 1,
		.on_second = on_second,
		.ring_seconds = 5,
		.ring_bytes = 1 << 20,
		.route_bits = 8,
		.kept = {.shares = 64, .pairs = 16, .flows = 16, .pairs_kept = 4, .flows_kept = 4},
		.bucket =
			{.shares = 64, .pairs = 16, .flows = 16, .pairs_kept = 4, .flows_kept = 4},
	};
	const struct alert_watch_options watch = {
		.rules = {[ALERT_UTILISATION] = {94, 80, 1, 1},
			  [ALERT_ERRORS] = {5, 1, 1, 1},
			  [ALERT_DISCARDS] = {50, 10, 1, 1},
			  [ALERT_IMBALANCE] = {30, 20, 1, 1},
			  [ALERT_GAP] = {5, 2, 1, 1},
			  [ALERT_SILENT] = {60, 10, 1, 1}},
		.again_us = 30 * SECOND,
		.lost_us = 900 * SECOND,
		.limit = 100,
		.fn = on_alert,
		.context = site,
	};

	*site = (struct site){.now_s = BEGIN};
	assert_int_equal(attribution_index_new(&rows, &site->index), 0);
	assert_int_equal(rollup_new(&rollup, BEGIN, on_bucket, site, &site->rollup), 0);
	assert_int_equal(rollup_use(site->rollup, site->index), 0);
	assert_int_equal(port_counters_new(300, &site->counters), 0);
	assert_int_equal(alert_look_new(&site->look), 0);
	assert_int_equal(alert_watch_new(&watch, &site->watch), 0);
	assert_int_equal(flow_table_init(&site->flows, 8, 0), 0);
}

static void site_end(struct site *site)
{
	flow_table_done(&site->flows);
	alert_watch_free(site->watch);
	alert_look_free(site->look);
	port_counters_free(site->counters);
	rollup_free(site->rollup);
	attribution_index_free(site->index);
	text_done(&site->said);
}

/* What so many percent of a port are, in frames that have 100 bytes there, each of them sampled:
 * towards a spine they get a tag of 4. */
static void load(struct site *site, uint32_t port, unsigned percent)
{
	const struct flow_key key = {.agent = 1, .input = P4, .output = port};
	uint64_t frames = (uint64_t)percent * PERCENT / 100;
	uint64_t sampled = port == UP0 || port == UP1 ? 96 : 100;

	if (frames)
		flow_table_add_sum(&site->flows, &key, 0, frames, frames * sampled, 1);
	site->agents[0].samples = true;
	site->agents[0].came += frames;
}

/* One second goes by in which leaf1 was heard and had those loads. */
static void pass(struct site *site, bool heard)
{
	struct harvest harvest = {.of_samples = true,
				  .from_us = site->now_s * SECOND,
				  .until_us = site->now_s * SECOND + SECOND - 1};

	if (heard)
		site->agents[0].heard_us = site->agents[0].silent_us = harvest.until_us;
	harvest.flows = site->flows;
	rollup_take(site->rollup, &harvest);
	rollup_tick(site->rollup, ++site->now_s);
	flow_table_clear(&site->flows);
}

static void expect(struct site *site, const char *text)
{
	assert_string_equal(text_get(&site->said), text);
	text_clear(&site->said);
}

static void uplinks_out_of_balance(void **state)
{
	struct site site;

	(void)state;
	site_start(&site);
	load(&site, UP0, 40);
	load(&site, UP1, 40);
	pass(&site, true);
	expect(&site, "");
	load(&site, UP0, 80);
	pass(&site, true);
	expect(&site, "raised traffic.imbalance:leaf1:uplinks: the uplinks of leaf1 are loaded "
		      "unevenly: one has 40 % of its speed more than their mean\n");
	/* An edge port as busy as that is nobody's imbalance. */
	load(&site, UP0, 40);
	load(&site, UP1, 40);
	load(&site, P4, 90);
	pass(&site, true);
	expect(&site, "over traffic.imbalance:leaf1:uplinks: the uplinks of leaf1 are loaded "
		      "unevenly: one has 0.0 % of its speed more than their mean, 40 % at most\n");
	site_end(&site);
}

static void members_out_of_balance(void **state)
{
	struct site site;

	(void)state;
	site_start(&site);
	load(&site, M8, 90);
	load(&site, M7, 20);
	pass(&site, true);
	expect(&site, "raised traffic.imbalance:leaf1:lag1: the members of leaf1:lag1 are loaded "
		      "unevenly: one has 35 % of its speed more than their mean\n");
	load(&site, M8, 60);
	load(&site, M7, 50);
	pass(&site, true);
	expect(&site, "over traffic.imbalance:leaf1:lag1: the members of leaf1:lag1 are loaded "
		      "unevenly: one has 5.0 % of its speed more than their mean, 35 % at most\n");
	site_end(&site);
}

static void samples_that_do_not_come(void **state)
{
	struct site site;

	(void)state;
	site_start(&site);
	/* A datagram of a quiet switch is no gap. */
	site.agents[0].missing += 7;
	load(&site, UP0, 1);
	pass(&site, true);
	expect(&site, "");
	/* With nine tenths of the second before: 170 came, 46.3 did not. */
	site.agents[0].came += 80;
	site.agents[0].missing += 40;
	pass(&site, true);
	expect(&site, "raised traffic.gap:leaf1: 21 % of the samples of leaf1 are missing\n");
	assert_int_equal(site.last_tenant, 0);
	for (unsigned i = 0; i < 10; i++) {
		site.agents[0].came += 200;
		pass(&site, true);
	}
	assert_non_null(strstr(text_get(&site.said), "over traffic.gap:leaf1: "));
	site_end(&site);
}

/* Silence is of a switch that was heard in this life; one that never was has nothing to be missed.
 */
static void a_switch_that_falls_silent(void **state)
{
	struct site site;

	(void)state;
	site_start(&site);
	for (unsigned i = 0; i < 61; i++)
		pass(&site, i == 0);
	expect(&site, "raised traffic.silent:leaf1: leaf1 has sent no sFlow for 60 s\n");
	pass(&site, true);
	expect(&site,
	       "over traffic.silent:leaf1: leaf1 has sent no sFlow for 0.0 s, 60 s at most\n");
	site_end(&site);
}

/* A reading of p4's counters at the end of the second under way. */
static void count(struct site *site, uint32_t errors, uint32_t discards)
{
	const struct port_reading reading = {
		.speed_bps = SPEED, .up = true, .in_errors = errors, .out_discards = discards};
	uint32_t port = index_port_find(site->index, 0, P4);

	(void)port_counters_note(site->counters, rollup_place(site->rollup, port),
				 site->now_s * SECOND + SECOND - 1, &reading);
}

static void counters_that_say_errors_and_discards(void **state)
{
	struct site site;

	(void)state;
	site_start(&site);
	count(&site, UINT32_MAX, 4000000000);
	pass(&site, true);
	count(&site, 3, 4000000040); /* four more, through 2^32 */
	pass(&site, true);
	expect(&site, "");
	count(&site, 10, 4000000100);
	pass(&site, true);
	expect(&site,
	       "raised traffic.errors:leaf1:p4: leaf1:p4 has 7.0 errors/s (mean of 1 s)\n"
	       "raised traffic.discards:leaf1:p4: leaf1:p4 discards 60 frames/s (mean of 1 s)\n");
	/* Whose port it is may see them. */
	assert_int_equal(site.last_tenant, 5);
	count(&site, 10, 4000000100);
	pass(&site, true);
	expect(&site,
	       "over traffic.errors:leaf1:p4: leaf1:p4 has 0.0 errors/s (mean of 1 s), 7.0 "
	       "frames/s at most\n"
	       "over traffic.discards:leaf1:p4: leaf1:p4 discards 0.0 frames/s (mean of 1 s), 60 "
	       "frames/s at most\n");
	site_end(&site);
}

/* A minute's counters of p4, as SNMP tells them of it: that much of its speed left there. */
static void count_slowly(struct site *site, unsigned percent)
{
	const struct port_rates rates = {
		.at_us = site->now_s * SECOND,
		.seconds = 60,
		.speed_bps = SPEED,
		.per_second = {[COUNTER_OUT_BYTES] = (double)percent * PERCENT}};
	uint32_t port = index_port_find(site->index, 0, P4);

	assert_true(port_counters_tell(site->counters, rollup_place(site->rollup, port), &rates));
}

/* What was sampled once is not taken for what is now: a switch that was told to send no samples any
 * more is not silent, and its ports are as full as its counters say. */
static void samples_that_were_switched_off(void **state)
{
	struct site site;

	(void)state;
	site_start(&site);
	load(&site, P4, 10);
	pass(&site, true);
	for (unsigned i = 0; i < 60; i++) {
		site.agents[0].silent_us = (site.now_s + 1) * SECOND;
		pass(&site, false);
	}
	count_slowly(&site, 95);
	site.agents[0].silent_us = (site.now_s + 1) * SECOND;
	pass(&site, false);
	expect(&site,
	       "raised traffic.utilisation:leaf1:p4: leaf1:p4 is used to 95 % (mean of 60 s)\n");
	site_end(&site);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(uplinks_out_of_balance),
		cmocka_unit_test(members_out_of_balance),
		cmocka_unit_test(samples_that_do_not_come),
		cmocka_unit_test(a_switch_that_falls_silent),
		cmocka_unit_test(counters_that_say_errors_and_discards),
		cmocka_unit_test(samples_that_were_switched_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
