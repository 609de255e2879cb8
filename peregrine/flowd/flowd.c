#include "peregrine/flowd/flowd.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/db/db_state.h"
#include "common/io/daemon.h"
#include "common/io/log.h"
#include "common/io/process.h"

#include "peregrine/flowd/flowd_private.h"
#include "peregrine/flowd/flowd_sql.h"
#include "peregrine/flowd/traffic_store.h"

#define FLOWD_SUBJECT "flowd"

enum {
	LOOK_MS = 2000,
	TICK_MS = 250,
	TURN_MS = 10 * 60 * 1000,
	FLOWD_RETRY_MS = 2000,
	/* A second is closed this long after its end: every receiver has told by then. */
	LATE_S = 1,
	FLOWD_STOP_MS = 5000,
	RECORD_BITS = 16, /* different flows of exporters in one second: 65536 */
};

/* --- bindings --- */

static void use_bindings(struct flowd *flowd, const struct bindings *bindings)
{
	struct attribution_index *index = NULL;
	struct agent_directory *directory = NULL;
	int rc = attribution_index_new(&bindings->rows, &index);

	if (!rc)
		rc = rollup_use(flowd->rollup, index);
	if (rc) {
		attribution_index_free(index);
	} else {
		attribution_index_free(flowd->index);
		flowd->index = index;
		flowd->totals.bindings_odd = bindings->odd + index->left_out;
	}
	for (size_t i = 0; i < INLET_COUNT && !rc; i++) {
		if (!flowd->inlets[i].receivers)
			continue;
		rc = agent_directory_new(bindings->agents, bindings->agent_count, &directory);
		if (!rc)
			rc = receivers_use(flowd->inlets[i].receivers, directory);
	}
	if (rc) {
		log_error(FLOWD_SUBJECT, "bindings could not be used: %s", error_text(rc));
		flowd->mark[0] = 0; /* again at the next look */
	}
}

static void on_bindings(void *context, int rc, struct bindings *bindings,
			const struct problem *problem)
{
	struct flowd *flowd = context;

	flowd->reading = false;
	if (rc) {
		flowd->totals.binding_failures++;
		flowd->mark[0] = 0;
		if (rc != E_UNAVAILABLE)
			log_error(FLOWD_SUBJECT, "bindings could not be read: %s (detail=\"%s\")",
				  problem->message, problem->detail);
		return;
	}
	flowd->totals.binding_reads++;
	use_bindings(flowd, bindings);
	bindings_done(bindings);
}

static void flowd_on_mark(void *context, int rc, const char *mark)
{
	struct flowd *flowd = context;

	flowd->reading = false;
	if (rc || !strcmp(mark, flowd->mark))
		return;
	(void)text_copy(flowd->mark, sizeof(flowd->mark), mark);
	if (!binding_read(flowd->db, on_bindings, flowd))
		flowd->reading = true;
	else
		flowd->mark[0] = 0;
}

static void flowd_look(void *context)
{
	struct flowd *flowd = context;

	loop_timer_arm(flowd->look, LOOK_MS);
	if (!flowd->reading && db_connected(flowd->db))
		flowd->reading = !binding_mark(flowd->db, flowd_on_mark, flowd);
}

/* --- time --- */

static void flowd_tick(void *context)
{
	struct flowd *flowd = context;

	loop_timer_arm(flowd->tick, TICK_MS);
	rollup_tick(flowd->rollup, clock_wall_us() / 1000000 - LATE_S);
	flowd_sum_counters(flowd);
}

static void flowd_turn(void *context)
{
	struct flowd *flowd = context;

	loop_timer_arm(flowd->turn, TURN_MS);
	if (db_submit(flowd->db, &traffic_turn_query, NULL, NULL, NULL))
		log_warn(FLOWD_SUBJECT, "partitions are not created and dropped: no memory");
}

static void flowd_on_db_state(void *context, bool connected)
{
	struct flowd *flowd = context;

	db_log_state(flowd->db, FLOWD_SUBJECT, connected, "bindings stay as last read, sums wait");
	if (!connected || !flowd->turn)
		return;
	flowd_alerts_connected(flowd->alerts);
	loop_timer_arm(flowd->turn, 0);
	loop_timer_arm(flowd->look, 0);
}

/* --- start --- */

/* As many as the receivers' tables together. */
static unsigned route_bits(const struct flowd_conf *conf)
{
	unsigned bits = (unsigned)conf->flow_slots;

	while (bits < 24 && (1LL << bits) < conf->receivers << conf->flow_slots)
		bits++;
	return bits;
}

static int start_rollup(struct flowd *flowd)
{
	const struct flowd_conf *conf = flowd->conf;
	uint32_t shares = (uint32_t)conf->shares;
	uint32_t pairs = (uint32_t)conf->pairs;
	uint32_t flows = (uint32_t)conf->flows;
	uint32_t pairs_kept = (uint32_t)conf->pairs_kept;
	uint32_t flows_kept = (uint32_t)conf->flows_kept;
	const struct rollup_options options = {
		.harvests = (unsigned)(conf->receivers + (conf->ipfix_port > 0) +
				       (conf->netflow_port > 0)),
		.samplers = (unsigned)conf->receivers,
		.on_second = flowd_alerts_second,
		.ring_seconds = (unsigned)conf->ring_seconds,
		.ring_bytes = (size_t)conf->ring_bytes,
		.kept = {shares, pairs / 32, flows / 32, pairs_kept, flows_kept, 0},
		.bucket = {shares, pairs, flows, pairs_kept, flows_kept, flowd->hash_seed},
		.route_bits = route_bits(conf),
	};
	int rc = rollup_new(&options, flowd->started_s, flowd_bucket, flowd, &flowd->rollup);

	if (!rc)
		rc = discard_book_new(&flowd->discards);
	if (!rc)
		rc = vlan_book_new(&flowd->vlans);
	return rc ? rc : port_counters_new(options.ring_seconds, &flowd->counters);
}

/* A thread of its own: PostgreSQL does not wait for Kafka. */
static int start_exporter(struct flowd *flowd, struct problem *problem)
{
	struct traffic_writer_options options = {.waiting_max =
							 (size_t)flowd->conf->kafka.waiting_bytes,
						 .retry_ms = FLOWD_RETRY_MS};
	int rc;

	if (!flowd->conf->kafka.brokers[0])
		return 0;
	rc = worker_new(flowd->loop, 1, 4, &flowd->export_worker);
	if (!rc)
		rc = kafka_sink_new(&flowd->conf->kafka, flowd->name, &options.sink, problem);
	return rc ? rc
		  : traffic_writer_new(flowd->loop, flowd->export_worker, &options,
				       &flowd->exporter);
}

static int start_writer(struct flowd *flowd)
{
	struct traffic_writer_options options = {.waiting_max = (size_t)flowd->conf->waiting_bytes,
						 .retry_ms = FLOWD_RETRY_MS,
						 .copy_to = flowd->exporter};
	int rc = worker_new(flowd->loop, 1, 4, &flowd->worker);

	if (!rc)
		rc = traffic_store_new(
			&(struct traffic_store_options){.conninfo = flowd->conf->database,
							.name = flowd->name,
							.lead = flowd->lead,
							.life = flowd->life},
			&options.sink);
	return rc ? rc : traffic_writer_new(flowd->loop, flowd->worker, &options, &flowd->writer);
}

/* Nobody is known until the bindings were read: what comes before is counted as from nobody. */
static int start_inlet(struct flowd *flowd, enum inlet_kind kind, int64_t port,
		       struct problem *problem)
{
	static const char *const words[INLET_COUNT] = {"sFlow", "IPFIX", "NetFlow"};
	struct flowd_inlet *inlet = &flowd->inlets[kind];
	bool sflow = kind == INLET_SFLOW;
	unsigned bits = (unsigned)flowd->conf->flow_slots;
	const struct receiver_options options = {
		.kind = sflow ? RECEIVE_SFLOW : RECEIVE_FLOWS,
		.address = flowd->conf->listen_address,
		.port = (uint16_t)port,
		.threads = sflow ? (unsigned)flowd->conf->receivers : 1,
		.table_bits = sflow || bits < RECORD_BITS ? bits : RECORD_BITS,
		.hash_seed = flowd->hash_seed,
		.source_limit = (unsigned)flowd->conf->sources,
		.buffer_bytes = (int)flowd->conf->receive_buffer,
		.harvest_ms = 1000,
		.samples_max = (uint64_t)flowd->conf->samples_max,
		.agent_max = (uint32_t)flowd->conf->agent_datagrams,
		.fn = flowd_take,
		.context = inlet,
	};
	struct agent_directory *directory = NULL;
	int rc = agent_directory_new(NULL, 0, &directory);

	*inlet = (struct flowd_inlet){.flowd = flowd,
				      .first = sflow ? 0 : (unsigned)(RECEIVERS_MAX + kind - 1)};
	if (!rc)
		rc = receivers_start(flowd->loop, &options, directory, &inlet->receivers, problem);
	if (!rc)
		log_info(FLOWD_SUBJECT,
			 "listening for %s on %s port %u (receivers=%u queue_bytes=%d)",
			 words[kind], options.address, (unsigned)receivers_port(inlet->receivers),
			 options.threads, receivers_buffer(inlet->receivers));
	return rc;
}

static int start_receivers(struct flowd *flowd, struct problem *problem)
{
	const struct flowd_conf *conf = flowd->conf;
	int rc = start_inlet(flowd, INLET_SFLOW, conf->listen_port, problem);

	if (!rc && conf->ipfix_port)
		rc = start_inlet(flowd, INLET_IPFIX, conf->ipfix_port, problem);
	if (!rc && conf->netflow_port)
		rc = start_inlet(flowd, INLET_NETFLOW, conf->netflow_port, problem);
	return rc;
}

static int start_timers(struct flowd *flowd)
{
	int rc = loop_timer_new(flowd->loop, flowd_look, flowd, &flowd->look);

	if (!rc)
		rc = loop_timer_new(flowd->loop, flowd_tick, flowd, &flowd->tick);
	if (!rc)
		rc = loop_timer_new(flowd->loop, flowd_turn, flowd, &flowd->turn);
	if (!rc)
		loop_timer_arm(flowd->tick, TICK_MS);
	return rc;
}

/* Datagrams come to one machine, so the work is there, too. */
static bool flowd_has_address(void *context)
{
	const struct flowd *flowd = context;
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM};
	struct addrinfo *address = NULL;
	bool here = true;
	int fd = -1;

	if (flowd->conf->shared_address[0] &&
	    getaddrinfo(flowd->conf->shared_address, NULL, &hints, &address) == 0)
		fd = socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		here = bind(fd, address->ai_addr, address->ai_addrlen) == 0;
		(void)close(fd);
	}
	if (address)
		freeaddrinfo(address);
	return here;
}

static int flowd_start_parts(struct flowd *flowd, struct problem *problem)
{
	const struct db_options db = {.conninfo = flowd->conf->database,
				      .application = "peregrine-flowd",
				      .daemon = "peregrine-flowd",
				      .instance = flowd->conf->name,
				      .lead = flowd->lead,
				      .may_lead = flowd_has_address,
				      .on_state = flowd_on_db_state,
				      .context = flowd};
	int rc = start_rollup(flowd);

	if (!rc)
		rc = db_new(flowd->loop, &db, &flowd->db);
	if (!rc)
		(void)text_copy(flowd->life, sizeof(flowd->life), db_life(flowd->db));
	if (!rc)
		rc = flowd_alerts_new(flowd, &flowd->alerts);
	if (!rc)
		rc = start_exporter(flowd, problem);
	if (!rc)
		rc = start_writer(flowd);
	if (!rc)
		rc = start_receivers(flowd, problem);
	if (!rc)
		rc = start_timers(flowd);
	if (!rc)
		rc = sampling_watch_new(flowd->loop, flowd->db, &flowd->sampling);
	if (!rc)
		rc = snmp_counters_new(flowd, &flowd->snmp);
	if (rc && !problem_is_set(problem))
		(void)problem_set(problem, rc, "peregrine-flowd cannot start: %s", error_text(rc));
	return rc;
}

static void name_life(struct flowd *flowd)
{
	char host[64];

	process_host_name(host, sizeof(host));
	flowd->started_s = clock_wall_us() / 1000000;
	(void)text_format(flowd->name, sizeof(flowd->name), "%s:%" PRId64 ":%d",
			  flowd->conf->name[0] ? flowd->conf->name : host, flowd->started_s,
			  (int)getpid());
	/* Those of one name are one collector, of which one works. */
	(void)text_format(flowd->lead, sizeof(flowd->lead), "peregrine-flowd%s%s",
			  flowd->conf->name[0] ? "/" : "", flowd->conf->name);
}

static int flowd_start(void *state, struct loop *loop, const void *values, struct problem *problem)
{
	const struct flowd_conf *conf = values;
	struct flowd *flowd = state;
	int rc;

	flowd->loop = loop;
	flowd->conf = conf;
	name_life(flowd);
	if (getrandom(&flowd->hash_seed, sizeof(flowd->hash_seed), 0) < 0)
		flowd->hash_seed = (uint64_t)clock_wall_us();
	flowd->agents = calloc(AGENT_LIMIT + 1, sizeof(*flowd->agents));
	rc = flowd->agents ? 0 : problem_set(problem, -ENOMEM, "no memory");
	if (!rc && flowd_drills_new(flowd, &flowd->drills))
		rc = problem_set(problem, -ENOMEM, "no memory");
	if (!rc)
		rc = flowd_serve(flowd, problem);
	if (!rc)
		rc = process_drop_privileges(conf->user, problem);
	if (!rc)
		rc = flowd_start_parts(flowd, problem);
	return rc;
}

static void flowd_reload(void *state)
{
	struct flowd *flowd = state;

	flowd->mark[0] = 0;
	loop_timer_arm(flowd->look, 0);
}

/* What was received is summed up and written before the end, if PostgreSQL is there. */
static void flowd_stop(void *state)
{
	struct flowd *flowd = state;

	/* Writing runs the loop: whatever else could act there goes before. */
	flowd_drills_free(flowd->drills);
	http_server_free(flowd->server);
	loop_timer_free(flowd->look);
	loop_timer_free(flowd->tick);
	loop_timer_free(flowd->turn);
	flowd->look = flowd->tick = flowd->turn = NULL;
	flowd->stood_by = flowd->db && db_stands_by(flowd->db);
	db_free(flowd->db);
	flowd->db = NULL;
	flowd_alerts_free(flowd->alerts);
	flowd->alerts = NULL;
	sampling_watch_free(flowd->sampling);
	flowd->sampling = NULL;
	snmp_counters_free(flowd->snmp);
	flowd->snmp = NULL;
	for (size_t i = 0; i < INLET_COUNT; i++)
		receivers_stop(flowd->inlets[i].receivers);
	if (flowd->inlets[INLET_SFLOW].receivers)
		rollup_flush(flowd->rollup);
	traffic_writer_free(flowd->writer, FLOWD_STOP_MS);
	traffic_writer_free(flowd->exporter, FLOWD_STOP_MS);
	rollup_free(flowd->rollup);
	port_counters_free(flowd->counters);
	discard_book_free(flowd->discards);
	vlan_book_free(flowd->vlans);
	attribution_index_free(flowd->index);
	worker_free(flowd->worker);
	worker_free(flowd->export_worker);
	free(flowd->agents);
}

const struct daemon_spec flowd_daemon = {
	.name = "peregrine-flowd",
	.summary = "traffic: receives sFlow, finds its tenants, sums it up",
	.default_conf = "/etc/haas/peregrine-flowd.conf",
	.conf = &flowd_conf_table,
	.start = flowd_start,
	.stop = flowd_stop,
	.reload = flowd_reload,
	.state_size = sizeof(struct flowd),
};
