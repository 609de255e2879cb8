/* The socket of peregrine-flowd: what is only in memory, for portald; metrics and health for
 * whoever watches. */
#include <stddef.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/local_server.h"
#include "common/http/metrics.h"

#include "peregrine/flowd/flowd_private.h"

/* An agent that has been silent for so long is said to be. */
#define SILENT_US (60 * 1000000LL)

struct numbers {
	struct receive_counts received;
	struct rollup_counts rollup;
	struct traffic_writer_counts writer, exporter;
	struct flowd_totals totals;
	struct alert_watch_counts alerts;
	struct alert_store_counts alert_rows;
	uint64_t thin;
	uint64_t database_up, ring_bytes, receivers_behind, export_up;
};

#define FLOWD_SERVE_AT(member) offsetof(struct numbers, member)

/* clang-format off */
static const struct metric_row metric_rows[] = {
	{"haas_flow_datagrams_total",            METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.datagrams),     "datagrams received"},
	{"haas_flow_bytes_total",                METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.bytes),         "bytes of datagrams received"},
	{"haas_flow_samples_total",              METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.samples),       "sampled frames"},
	{"haas_flow_kernel_drops_total",         METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.kernel_drops),  "datagrams that did not fit into the sockets' queues; their agents' pools compensate for them"},
	{"haas_flow_unknown_agent_total",        METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.unknown_agent), "datagrams of agents without a switch"},
	{"haas_flow_spoofed_total",              METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.spoofed),       "datagrams that name an agent but come from elsewhere: refused"},
	{"haas_flow_limited_total",              METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.limited),       "datagrams of agents that send more than agent_datagrams: refused"},
	{"haas_flow_malformed_total",            METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.malformed),     "datagrams that could not be read to their end"},
	{"haas_flow_other_version_total",        METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.other_version), "datagrams that are not sFlow version 5, NetFlow 9 or IPFIX"},
	{"haas_flow_oversized_total",            METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.oversized),     "datagrams longer than any switch sends"},
	{"haas_flow_zero_rate_total",            METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.zero_rate),     "samples that stand for nothing"},
	{"haas_flow_no_header_total",            METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.no_header),     "samples without an Ethernet header"},
	{"haas_flow_thinned_samples_total",      METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.thinned),       "of them those not used: there were too many, others stand for them"},
	{"haas_flow_thin_factor",                METRIC_GAUGE,   NULL, FLOWD_SERVE_AT(thin),                   "one of so many samples is used; 1 = each"},
	{"haas_flow_late_seconds_total",         METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.late_harvests), "seconds that went on because the one before was not summed up"},
	{"haas_flow_records_lost_total",         METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.records_lost),  "counters and discards that did not fit"},
	{"haas_flow_records_total",              METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.records),         "flows told by NetFlow and IPFIX"},
	{"haas_flow_records_missing_total",      METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.records_missing), "of them those (NetFlow: messages) that never came"},
	{"haas_flow_records_odd_total",          METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.records_odd),     "and those without a count, or with an impossible one"},
	{"haas_flow_records_twice_total",        METRIC_COUNTER, NULL, FLOWD_SERVE_AT(rollup.records_ignored),   "and those of switches that send sFlow as well, which is counted instead"},
	{"haas_flow_no_template_total",          METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.no_template),     "sets of records that came before their template: not read"},
	{"haas_flow_sets_unread_total",          METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.sets_unread),     "sets with octets that gave no record: their shape is not read"},
	{"haas_flow_totals_total",               METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.totals),          "records with totals alone: their growth is counted"},
	{"haas_flow_totals_first_total",         METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.totals_first),    "first records of flows that began before: nothing is counted yet"},
	{"haas_flow_totals_forgotten_total",     METRIC_COUNTER, NULL, FLOWD_SERVE_AT(received.totals_forgotten), "flows whose totals were dropped for want of room"},
	{"haas_flow_discards_total",             METRIC_COUNTER, NULL, FLOWD_SERVE_AT(totals.discards),        "packets that switches reported as discarded"},
	{"haas_flow_vlan_readings_total",        METRIC_COUNTER, NULL, FLOWD_SERVE_AT(totals.vlan_readings),   "readings of counters of VLANs"},
	{"haas_flow_snmp_rates_total",           METRIC_COUNTER, NULL, FLOWD_SERVE_AT(totals.snmp_rates), "intervals of interface counters by SNMP, of ports without readings of their own"},
	{"haas_flow_snmp_sums_total",            METRIC_COUNTER, NULL, FLOWD_SERVE_AT(totals.snmp_sums), "of these summed up beside the samples of the same seconds"},
	{"haas_flow_counter_readings_total",     METRIC_COUNTER, NULL, FLOWD_SERVE_AT(totals.counter_readings), "readings of interface counters"},
	{"haas_flow_counter_gaps_total",         METRIC_COUNTER, NULL, FLOWD_SERVE_AT(totals.counter_gaps),    "of them those that did not follow another"},
	{"haas_flow_sampled_bytes_total",        METRIC_COUNTER, "by=\"port\"",    FLOWD_SERVE_AT(rollup.bytes_by[BY_PORT]), "bytes of samples anywhere on their path, by the source of attribution; nobody = not attributed"},
	{"haas_flow_sampled_bytes_total",        METRIC_COUNTER, "by=\"mac\"",     FLOWD_SERVE_AT(rollup.bytes_by[BY_MAC]), NULL},
	{"haas_flow_sampled_bytes_total",        METRIC_COUNTER, "by=\"vni\"",     FLOWD_SERVE_AT(rollup.bytes_by[BY_VNI]), NULL},
	{"haas_flow_sampled_bytes_total",        METRIC_COUNTER, "by=\"tag\"",     FLOWD_SERVE_AT(rollup.bytes_by[BY_TAG]), NULL},
	{"haas_flow_sampled_bytes_total",        METRIC_COUNTER, "by=\"nobody\"",  FLOWD_SERVE_AT(rollup.bytes_by[BY_NOBODY]), NULL},
	{"haas_flow_nobodys_bytes_total",        METRIC_COUNTER, "reason=\"control\"",       FLOWD_SERVE_AT(rollup.bytes_for[REASON_CONTROL]), "of them those not attributed, by the reason"},
	{"haas_flow_nobodys_bytes_total",        METRIC_COUNTER, "reason=\"switch_itself\"", FLOWD_SERVE_AT(rollup.bytes_for[REASON_SWITCH_ITSELF]), NULL},
	{"haas_flow_nobodys_bytes_total",        METRIC_COUNTER, "reason=\"unknown_port\"",  FLOWD_SERVE_AT(rollup.bytes_for[REASON_UNKNOWN_PORT]), NULL},
	{"haas_flow_nobodys_bytes_total",        METRIC_COUNTER, "reason=\"port_unbound\"",  FLOWD_SERVE_AT(rollup.bytes_for[REASON_PORT_UNBOUND]), NULL},
	{"haas_flow_nobodys_bytes_total",        METRIC_COUNTER, "reason=\"foreign_vlan\"",  FLOWD_SERVE_AT(rollup.bytes_for[REASON_FOREIGN_VLAN]), NULL},
	{"haas_flow_nobodys_bytes_total",        METRIC_COUNTER, "reason=\"untagged\"",      FLOWD_SERVE_AT(rollup.bytes_for[REASON_UNTAGGED]), NULL},
	{"haas_flow_nobodys_bytes_total",        METRIC_COUNTER, "reason=\"folded\"",        FLOWD_SERVE_AT(rollup.bytes_for[REASON_FOLDED]), NULL},
	{"haas_flow_egress_ignored_total",       METRIC_COUNTER, NULL, FLOWD_SERVE_AT(rollup.egress_ignored),  "samples of frames that were sampled where they came in, too"},
	{"haas_flow_late_total",                 METRIC_COUNTER, NULL, FLOWD_SERVE_AT(rollup.late),            "harvests counted in a later second"},
	{"haas_flow_clock_jumps_total",          METRIC_COUNTER, NULL, FLOWD_SERVE_AT(rollup.clock_jumps),     "times that the clock was set back"},
	{"haas_flow_lost_bytes_total",           METRIC_COUNTER, NULL, FLOWD_SERVE_AT(rollup.lost_bytes),      "bytes at ports that did not fit into memory"},
	{"haas_flow_prunes_total",               METRIC_COUNTER, NULL, FLOWD_SERVE_AT(rollup.prunes),          "times that small pairs and flows became \"other\" for want of room"},
	{"haas_flow_buckets_total",              METRIC_COUNTER, NULL, FLOWD_SERVE_AT(writer.batches),         "buckets written"},
	{"haas_flow_bucket_failures_total",      METRIC_COUNTER, NULL, FLOWD_SERVE_AT(writer.failures),        "attempts to write that failed"},
	{"haas_flow_buckets_waiting",            METRIC_GAUGE,   NULL, FLOWD_SERVE_AT(writer.waiting),         "buckets that wait for PostgreSQL"},
	{"haas_flow_buckets_waiting_bytes",      METRIC_GAUGE,   NULL, FLOWD_SERVE_AT(writer.waiting_bytes),   "their bytes"},
	{"haas_flow_buckets_thinned_total",      METRIC_COUNTER, NULL, FLOWD_SERVE_AT(writer.thinned),         "buckets that lost pairs and flows while they waited"},
	{"haas_flow_buckets_dropped_total",      METRIC_COUNTER, NULL, FLOWD_SERVE_AT(writer.dropped),         "buckets given up"},
	{"haas_flow_export_up",                  METRIC_GAUGE,   NULL, FLOWD_SERVE_AT(export_up),              "1 = the last bucket for Kafka was taken, or none is to be; 0 = attempts fail"},
	{"haas_flow_export_buckets_total",       METRIC_COUNTER, NULL, FLOWD_SERVE_AT(exporter.batches),       "buckets that Kafka has"},
	{"haas_flow_export_failures_total",      METRIC_COUNTER, NULL, FLOWD_SERVE_AT(exporter.failures),      "attempts that failed"},
	{"haas_flow_export_waiting",             METRIC_GAUGE,   NULL, FLOWD_SERVE_AT(exporter.waiting),       "buckets that wait for Kafka"},
	{"haas_flow_export_waiting_bytes",       METRIC_GAUGE,   NULL, FLOWD_SERVE_AT(exporter.waiting_bytes), "their bytes"},
	{"haas_flow_export_thinned_total",       METRIC_COUNTER, NULL, FLOWD_SERVE_AT(exporter.thinned),       "buckets that lost pairs and flows while they waited"},
	{"haas_flow_export_dropped_total",       METRIC_COUNTER, NULL, FLOWD_SERVE_AT(exporter.dropped),       "buckets that Kafka will never have"},
	{"haas_flow_binding_reads_total",        METRIC_COUNTER, NULL, FLOWD_SERVE_AT(totals.binding_reads),   "times that bindings were read"},
	{"haas_flow_binding_failures_total",     METRIC_COUNTER, NULL, FLOWD_SERVE_AT(totals.binding_failures), "times that they could not be"},
	{"haas_flow_receivers_behind",           METRIC_GAUGE,   NULL, FLOWD_SERVE_AT(receivers_behind),       "receivers that have yet to take the switches read last"},
	{"haas_flow_bindings_odd",               METRIC_GAUGE,   NULL, FLOWD_SERVE_AT(totals.bindings_odd),    "bindings that refer to a missing row"},
	{"haas_flow_ring_bytes",                 METRIC_GAUGE,   NULL, FLOWD_SERVE_AT(ring_bytes),             "memory of the last seconds"},
	{"haas_flow_alerts_open",                METRIC_GAUGE,   NULL, FLOWD_SERVE_AT(alerts.open),            "alerts that are open"},
	{"haas_flow_alerts_raised_total",        METRIC_COUNTER, NULL, FLOWD_SERVE_AT(alerts.raised),          "alerts raised"},
	{"haas_flow_alerts_cleared_total",       METRIC_COUNTER, NULL, FLOWD_SERVE_AT(alerts.cleared),         "alerts that are over"},
	{"haas_flow_alerts_refused_total",       METRIC_COUNTER, NULL, FLOWD_SERVE_AT(alerts.refused),         "times that there was no room for another"},
	{"haas_flow_alert_rows_waiting",         METRIC_GAUGE,   NULL, FLOWD_SERVE_AT(alert_rows.waiting),     "rows about alerts that wait for PostgreSQL"},
	{"haas_flow_alert_rows_dropped_total",   METRIC_COUNTER, NULL, FLOWD_SERVE_AT(alert_rows.dropped),     "of them those dropped"},
	{"haas_database_up",                     METRIC_GAUGE,   NULL, FLOWD_SERVE_AT(database_up),            "1 = PostgreSQL is there"},
};
/* clang-format on */

static void flowd_serve_get_metrics(void *context, struct http_request *request)
{
	const struct flowd *flowd = context;
	CLEANUP(text_done) struct text body = {0};
	struct numbers numbers = {
		.received = flowd_received(flowd),
		.rollup = rollup_counts(flowd->rollup),
		.writer = traffic_writer_counts(flowd->writer),
		.totals = flowd->totals,
		.thin = flowd->thin > 1 ? flowd->thin : 1,
		.database_up = db_connected(flowd->db),
		.ring_bytes = traffic_ring_bytes(rollup_ring(flowd->rollup)),
	};

	for (size_t i = 0; i < INLET_COUNT; i++)
		if (flowd->inlets[i].receivers)
			numbers.receivers_behind += receivers_behind(flowd->inlets[i].receivers);
	numbers.export_up = !flowd->exporter || !traffic_writer_problem(flowd->exporter);
	if (flowd->exporter)
		numbers.exporter = traffic_writer_counts(flowd->exporter);
	flowd_alerts_counts(flowd->alerts, &numbers.alerts, &numbers.alert_rows);
	metrics_write(&body, metric_rows, COUNT_OF(metric_rows), &numbers);
	local_server_answer_metrics(request, &body);
}

static void flowd_serve_get_health(void *context, struct http_request *request)
{
	const struct flowd *flowd = context;

	local_server_answer_health(request, db_connected(flowd->db) || db_stands_by(flowd->db));
}

/* What the switch says it threw away: in all, and where and why as far as that is kept. */
static void write_discards(struct text *body, const struct flowd *flowd, uint32_t switch_index)
{
	const struct attribution_index *index = flowd->index;
	uint16_t agent = (uint16_t)index->switches[switch_index].id;
	const struct discard_row *row;
	size_t at = 0;

	json_put_int(body, "discards", (int64_t)discard_book_total(flowd->discards, agent));
	json_begin_array(body, "discarded");
	while ((row = discard_book_next(flowd->discards, agent, &at))) {
		uint32_t port = index_port_find(index, switch_index, row->port);

		json_begin_object(body, NULL);
		json_put_string(body, "port", port == INDEX_NONE ? NULL : index->ports[port].name);
		json_put_int(body, "if_index", row->port);
		json_put_string(body, "reason", sflow_reason_text(row->reason));
		json_put_int(body, "reason_number", row->reason);
		json_put_int(body, "packets", (int64_t)row->packets);
		json_end_object(body);
	}
	json_end_array(body);
}

/* What the switch counted on its VLANs, whatever the port. */
static void flowd_serve_write_vlans(struct text *body, const struct flowd *flowd, uint16_t agent)
{
	const struct vlan_row *row;
	size_t at = 0;

	json_begin_array(body, "vlans");
	while ((row = vlan_book_next(flowd->vlans, agent, &at))) {
		json_begin_object(body, NULL);
		json_put_int(body, "vlan", row->vlan);
		json_put_int(body, "bytes", (int64_t)row->bytes);
		json_put_int(body, "packets", (int64_t)row->packets);
		json_put_int(body, "discards", (int64_t)row->discards);
		json_put_double(body, "seconds", row->seconds);
		json_put_int(body, "bits_per_second", (int64_t)row->bits_per_second);
		json_end_object(body);
	}
	json_end_array(body);
}

/* What came and was not taken, whoever sent it. */
static void flowd_serve_write_refused(struct text *body, const struct flowd *flowd)
{
	struct receive_counts counts = flowd_received(flowd);

	json_put_int(body, "datagrams_dropped", (int64_t)counts.kernel_drops);
	json_begin_object(body, "refused");
	json_put_int(body, "spoofed", (int64_t)counts.spoofed);
	json_put_int(body, "unknown_agent", (int64_t)counts.unknown_agent);
	json_put_int(body, "limited", (int64_t)counts.limited);
	json_put_int(body, "malformed", (int64_t)counts.malformed);
	json_put_int(body, "oversized", (int64_t)counts.oversized);
	json_put_int(body, "other_version", (int64_t)counts.other_version);
	json_end_object(body);
}

/* Which switches sample, how densely, what of it was lost, and what they threw away. */
static void get_agents(void *context, struct http_request *request)
{
	const struct flowd *flowd = context;
	CLEANUP(text_done) struct text body = {0};
	int64_t now_us = clock_wall_us();
	char time[CLOCK_TEXT_SIZE];

	json_begin_object(&body, NULL);
	json_begin_array(&body, "agents");
	for (size_t i = 0; flowd->index && i < flowd->index->switch_count; i++) {
		const struct index_switch *owner = &flowd->index->switches[i];
		const struct agent_state *agent = &flowd->agents[(uint16_t)owner->id];

		json_begin_object(&body, NULL);
		json_put_string(&body, "switch", owner->name);
		json_put_string(&body, "heard_at",
				agent->heard_us ? clock_text(agent->heard_us, time) : NULL);
		json_put_bool(&body, "silent", now_us - agent->heard_us > SILENT_US);
		json_put_bool(&body, "numbered", owner->port_count > 0);
		json_put_int(&body, "sampling_rate", agent->rate);
		json_put_int(&body, "datagrams", (int64_t)agent->datagrams);
		json_put_int(&body, "datagrams_missing", (int64_t)agent->datagrams_missing);
		json_put_int(&body, "datagrams_dropped", (int64_t)agent->datagrams_dropped);
		json_put_int(&body, "samples", (int64_t)agent->samples);
		json_put_int(&body, "samples_missing", (int64_t)agent->missing);
		json_put_int(&body, "samples_dropped", (int64_t)agent->drops);
		json_put_int(&body, "seconds_limited", (int64_t)agent->loud_seconds);
		json_put_int(&body, "sets_unread", (int64_t)agent->unread);
		json_put_double(&body, "factor", agent->factor);
		json_put_int(&body, "restarts", agent->restarts);
		write_discards(&body, flowd, (uint32_t)i);
		flowd_serve_write_vlans(&body, flowd, (uint16_t)owner->id);
		json_end_object(&body);
	}
	json_end_array(&body);
	json_put_int(&body, "thin_factor", flowd->thin > 1 ? flowd->thin : 1);
	flowd_serve_write_refused(&body, flowd);
	json_end_object(&body);
	http_answer_json(request, 200, &body);
}

static const char *export_state(const struct flowd *flowd, const struct problem *problem)
{
	if (!flowd->exporter)
		return "off";
	return problem ? "failing" : "ok";
}

/* How the export to Kafka stands. */
static void get_export(void *context, struct http_request *request)
{
	const struct flowd *flowd = context;
	CLEANUP(text_done) struct text body = {0};
	struct traffic_writer_counts counts = {0};
	const struct problem *problem = NULL;
	char time[CLOCK_TEXT_SIZE];

	if (flowd->exporter) {
		counts = traffic_writer_counts(flowd->exporter);
		problem = traffic_writer_problem(flowd->exporter);
	}
	json_begin_object(&body, NULL);
	json_put_string(&body, "state", export_state(flowd, problem));
	json_put_string(&body, "brokers", flowd->conf->kafka.brokers);
	json_put_string(&body, "writer", flowd->name);
	json_put_string(&body, "problem", problem ? problem->detail : NULL);
	json_put_string(&body, "written_at",
			counts.written_s ? clock_text(counts.written_s * 1000000, time) : NULL);
	json_put_int(&body, "written", (int64_t)counts.batches);
	json_put_int(&body, "failures", (int64_t)counts.failures);
	json_put_int(&body, "waiting", (int64_t)counts.waiting);
	json_put_int(&body, "waiting_bytes", (int64_t)counts.waiting_bytes);
	json_put_int(&body, "without_flows", (int64_t)counts.thinned);
	json_put_int(&body, "given_up", (int64_t)counts.dropped);
	json_end_object(&body);
	http_answer_json(request, 200, &body);
}

/* What this one knows is known where it works. */
static const struct problem *flowd_serve_refuses(void *context)
{
	const struct flowd *flowd = context;

	return db_stands_by(flowd->db) ? db_away(flowd->db) : NULL;
}

static const struct http_route flowd_serve_routes[] = {
	{HTTP_GET, "/metrics", flowd_serve_get_metrics},
	{HTTP_GET, "/healthz", flowd_serve_get_health},
	{HTTP_GET, "/agents", get_agents},
	{HTTP_GET, "/traffic/agents", get_agents},
	{HTTP_GET, "/traffic/export", get_export},
	{HTTP_GET, "/drill", flowd_drill},
};

int flowd_serve(struct flowd *flowd, struct problem *problem)
{
	const struct http_server_options options = {.routes = flowd_serve_routes,
						    .route_count = COUNT_OF(flowd_serve_routes),
						    .context = flowd,
						    .refuses = flowd_serve_refuses,
						    .caller = flowd->conf->socket_caller};

	return local_server_new(flowd->loop, &options, flowd->conf->socket_path, &flowd->server,
				problem);
}
