/* Buckets into PostgreSQL, each as one transaction of COPYs. The connection is its own and may
 * block: COPY does not go with the pipeline of common/db. The transaction marks the bucket with its
 * writer and number (traffic_bucket). So a bucket whose commit is in doubt is recognised when it is
 * sent again. */
#pragma once

#include "peregrine/flowd/traffic_writer.h"

/* Borrowed until the sink is freed. */
struct traffic_store_options {
	const char *conninfo;
	const char *name; /* of this collector's life: the begin of traffic_bucket.writer */
	const char *lead,
		*life; /* nothing is written unless it leads (lead.h); NULL = it need not */
};

MUST_USE int traffic_store_new(const struct traffic_store_options *options,
			       struct traffic_sink *ret);
