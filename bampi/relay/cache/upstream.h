/* The controller, as the relay asks it: always in the name of a node, or in its own for what it
 * keeps ready. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/http/client.h"
#include "common/io/loop.h"
#include "common/net/result_wire.h"

#include "bampi/relay/cache/cache_counters.h"

#define UPSTREAM_TAG_MAX    127
#define UPSTREAM_TYPE_MAX   63
#define UPSTREAM_TARGET_MAX 1024
#define UPSTREAM_BEARER_MAX 255

struct upstream;

/* For whom. Copied by what is given it. */
struct upstream_asker {
	uint32_t client;                             /* 0 = for the relay itself */
	char authorization[UPSTREAM_BEARER_MAX + 1]; /* "" = none */
	char agent_key[DIGEST_TEXT_SIZE];            /* of an agent, hex; "" = none */
	char signature[RESULT_SIGNATURE_TEXT_SIZE];  /* of its result; "" = none */
};

/* What a HEAD tells. */
struct upstream_head {
	int status;
	uint64_t size;
	char tag[UPSTREAM_TAG_MAX + 1]; /* ETag, "" = none */
	char type[UPSTREAM_TYPE_MAX + 1];
};

/* Exactly once, from the loop; rc 0: `head` is there. */
typedef void (*upstream_head_fn)(void *context, int rc, const struct upstream_head *head);

/* url: "http://10.0.0.1:8080", or "https:" with `tls`, which is borrowed. */
MUST_USE int upstream_new(struct loop *loop, const char *url, const struct tls *tls,
			  struct cache_counters *counters, struct upstream **ret);
/* Heads under way are told -ECANCELED; other calls must be over. */
void upstream_free(struct upstream *upstream);

/* A call failed a moment ago: what can do without asks later. */
bool upstream_is_away(const struct upstream *upstream);
/* To be told of each call's end; `problem` may be NULL. */
void upstream_note(struct upstream *upstream, int rc, const struct problem *problem);

MUST_USE int upstream_head(struct upstream *upstream, const char *target,
			   const struct upstream_asker *asker, upstream_head_fn fn, void *context);
/* Tells the controller what a node was given: HEAD with Haas-Fetched. Nobody waits for it. */
void upstream_tell(struct upstream *upstream, const char *target,
		   const struct upstream_asker *asker, uint64_t bytes);
/* A call with the asker's headers; the others of `options` are the caller's, headers excepted. */
MUST_USE int upstream_call(struct upstream *upstream, const struct upstream_asker *asker,
			   const struct http_header *more, size_t more_count,
			   const struct http_call_options *options, struct http_call **ret);
