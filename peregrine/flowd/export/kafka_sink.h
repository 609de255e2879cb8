/* Buckets into Kafka (librdkafka 2.0), for a store that is larger than one PostgreSQL. A bucket's
 * rows go first; when all brokers that must have them said so, its closing row goes. A bucket that
 * was not acknowledged is sent again as a whole, with the same keys and numbers. The idempotent
 * producer keeps librdkafka's own repeats out of the log. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/problem.h"

#include "peregrine/flowd/traffic_writer.h"

enum kafka_sasl { SASL_NONE, SASL_PLAIN, SASL_SCRAM_SHA_256, SASL_SCRAM_SHA_512 };
extern const char *const kafka_sasl_words[];
extern const char *const kafka_compression_words[];

struct kafka_conf {
	char *brokers; /* "" = nothing is exported */
	char *topics;  /* what their names begin with */
	bool tls;
	char *ca_file, *certificate_file, *key_file; /* "" = the system's; none */
	int sasl;                                    /* enum kafka_sasl */
	char *user, *password_file;
	int compression;
	int64_t linger_ms;
	int64_t waiting_bytes;
};

/* What cannot work, or would tell a secret. */
MUST_USE int kafka_conf_check(const struct kafka_conf *conf, struct problem *problem);
/* `conf` and `writer` are borrowed until the sink is freed. No broker need be there. Not where they
 * may be read: E_DENIED. */
MUST_USE int kafka_sink_new(const struct kafka_conf *conf, const char *writer,
			    struct traffic_sink *ret, struct problem *problem);
