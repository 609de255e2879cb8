/* Buckets into PostgreSQL, each as one transaction of COPYs. The connection is its own and may
 * block: COPY does not go with the pipeline of common/db. The transaction marks the bucket with its
 * writer and number (traffic_bucket). So a bucket whose commit is in doubt is recognised when it is
 * sent again. */
#pragma once

#include "peregrine/flowd/traffic_writer.h"

/* `name` is that of this collector's life: the begin of traffic_bucket.writer. Both are borrowed
 * until the sink is freed. */
MUST_USE int traffic_store_new(const char *conninfo, const char *name, struct traffic_sink *ret);
