/* The relay's boot HTTP server: the routes of bampi-bootd. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/http/tls.h"
#include "common/io/loop.h"

#include "bampi/relay/cache/cache.h"
#include "bampi/relay/cache/fetch.h"
#include "bampi/relay/cache/file_book.h"
#include "bampi/relay/cache/upstream.h"

struct cache_server;

/* All borrowed. */
struct cache_server_options {
	struct loop *loop;
	struct cache *cache;
	struct upstream *upstream;
	struct fetches *fetches;
	struct file_book *book;
	struct cache_counters *counters;
	uint32_t address; /* 0 = any */
	uint16_t port;
	const struct tls *tls; /* NULL = no HTTPS */
	uint16_t https_port;
	bool https_only; /* scripts too */
};

MUST_USE int cache_server_new(const struct cache_server_options *options, struct cache_server **ret,
			      struct problem *problem);
void cache_server_free(struct cache_server *server);
