/* The one struct of peregrine-flowd, shared by flowd.c (life), flowd_take.c (harvests and buckets)
 * and flowd_serve.c (its socket). */
#pragma once

#include "common/db/db.h"
#include "common/http/server.h"
#include "common/io/worker.h"

#include "peregrine/flowd/binding_store.h"
#include "peregrine/flowd/flow/discard_book.h"
#include "peregrine/flowd/flow/port_counters.h"
#include "peregrine/flowd/flow/rollup.h"
#include "peregrine/flowd/flow/vlan_book.h"
#include "peregrine/flowd/flowd.h"
#include "peregrine/flowd/flowd_alert.h"
#include "peregrine/flowd/gap_policy.h"
#include "peregrine/flowd/sample/receiver.h"
#include "peregrine/flowd/sampling_watch.h"
#include "peregrine/flowd/snmp_counters.h"
#include "peregrine/flowd/traffic_writer.h"

/* What is known of one agent's datagrams, for an operator. */
struct agent_state {
	int64_t heard_us; /* 0 = never */
	uint64_t datagrams, samples, missing, drops;
	uint64_t loud_seconds; /* in which it sent more than one may */
	uint64_t unread;       /* sets of NetFlow or IPFIX that gave nothing */
	/* Of its datagrams of sFlow: those that never were read, of these those that our own queue
	 * had no room for. */
	uint64_t datagrams_missing, datagrams_dropped;
	uint32_t rate; /* as last told */
	double factor; /* of the last second: 1 = nothing was lost */
	uint32_t restarts;
	uint64_t harvest_datagrams; /* of sFlow, in the harvest that is being taken */
	/* It speaks sFlow, and has sent samples in it: each second says what there was. */
	int64_t sflow_us; /* heard; 0 = never */
	bool sampled;
};

struct flowd_totals {
	uint64_t binding_reads, binding_failures, bindings_odd;
	uint64_t counter_readings, counter_gaps, snmp_rates, snmp_sums;
	uint64_t discards, vlan_readings;
};

/* A way in: sFlow's port, IPFIX's, NetFlow's. */
enum inlet_kind { INLET_SFLOW, INLET_IPFIX, INLET_NETFLOW, INLET_COUNT };
struct flowd_inlet {
	struct flowd *flowd;
	struct receivers *receivers; /* NULL = that port is not listened on */
	unsigned first;              /* of its receivers in flowd.received */
};

enum { RECEIVERS_MAX = 64 }; /* of sFlow */

struct flowd {
	struct loop *loop;
	const struct flowd_conf *conf;
	char name[128]; /* name:start, of this life */
	char lead[96];  /* common/db/lead.h */
	char life[40];  /* of it, also when the connection is gone */
	bool stood_by;  /* when the connection went at the end */

	struct db *db;
	struct worker *worker;
	struct traffic_writer *writer;
	struct worker *export_worker;
	struct traffic_writer *exporter; /* NULL = nothing is exported */
	struct flowd_inlet inlets[INLET_COUNT];
	struct rollup *rollup;
	struct port_counters *counters;
	struct discard_book *discards;
	struct vlan_book *vlans;
	struct sampling_watch *sampling;
	struct snmp_counters *snmp;
	struct http_server *server;
	struct flowd_alerts *alerts;
	struct flowd_drills *drills;

	struct attribution_index *index;
	char mark[256]; /* of the bindings that the index was made of */
	bool reading;
	struct loop_timer *look; /* whether bindings have changed */
	struct loop_timer *tick; /* closes seconds when nobody speaks */
	struct loop_timer *turn; /* partitions */

	int64_t started_s;
	uint64_t hash_seed;         /* of flows, in this life */
	struct agent_state *agents; /* AGENT_LIMIT + 1 */
	struct receive_counts
		received[RECEIVERS_MAX + INLET_COUNT]; /* of each receiver, since it started */
	struct gap_owed owed[RECEIVERS_MAX];           /* of each receiver of sFlow */
	struct flowd_totals totals;
	unsigned thin_of[RECEIVERS_MAX]; /* one of so many samples was used by each receiver; 0 =
					    not told yet */
	unsigned thin;                   /* the worst of them */
};

/* flowd_take.c; the context is the inlet. */
void flowd_take(void *context, unsigned receiver, struct harvest *harvest);
void flowd_bucket(void *context, enum traffic_step step, int64_t at_s, bool partial,
		  const struct traffic_set *set);
/* After each second that ended: the counters of it. */
void flowd_sum_counters(struct flowd *flowd);
struct receive_counts flowd_received(const struct flowd *flowd);

/* flowd_drill.c: GET /drill, for portald alone; requests are answered one after another, each a
 * part at a time. */
MUST_USE int flowd_drills_new(struct flowd *flowd, struct flowd_drills **ret);
void flowd_drills_free(struct flowd_drills *drills);
void flowd_drill(void *context, struct http_request *request);

/* Binds the socket. */
MUST_USE int flowd_serve(struct flowd *flowd, struct problem *problem);
