/* peregrine-flowd: receives what switches sample, says whose it is, sums it up and answers for the
 * last minutes. One struct holds all that changes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/problem.h"
#include "common/io/conf.h"
#include "common/io/loop.h"

#include "peregrine/flowd/alert/alert_policy.h"
#include "peregrine/flowd/export/kafka_sink.h"

struct daemon_spec;

/* One kind of alert, in its unit; raise 0 = never. */
struct alert_conf {
	int64_t raise, clear;
	int64_t raise_s, clear_s;
};

struct flowd_conf {
	char *database;
	char *user;
	char *name; /* "" = host name */
	char *socket_path;
	char *socket_caller;
	char *listen_address;
	char *shared_address;
	int64_t listen_port;
	int64_t ipfix_port, netflow_port; /* 0 = not listened on */
	int64_t receivers;
	int64_t receive_buffer;
	int64_t agent_datagrams; /* of one agent in a second; 0 = all */
	int64_t samples_max;     /* in a second, of a receiver; 0 = all that it can */
	int64_t flow_slots;      /* a power of two's exponent */
	int64_t sources;
	int64_t ring_seconds, ring_bytes;
	int64_t shares;                 /* of a bucket, as pairs and flows */
	int64_t pairs, flows;           /* of a bucket */
	int64_t pairs_kept, flows_kept; /* of each parent */
	int64_t waiting_bytes;
	struct kafka_conf kafka;
	struct alert_conf alerts[ALERT_KIND_COUNT];
};

extern const struct conf_table flowd_conf_table;

extern const struct daemon_spec flowd_daemon;
