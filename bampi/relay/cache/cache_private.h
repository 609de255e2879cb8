/* What the cache's files share: cache.c (folder, room, look-up) and cache_object.c (an object from
 * its first byte to its last). */
#pragma once

#include <sodium.h>

#include "common/io/worker.h"

#include "bampi/relay/cache/cache.h"

struct object_hash {
	crypto_generichash_state state;
	int rc; /* of the last piece of work */
};

struct cache {
	struct loop *loop;
	struct worker *worker;
	struct loop_timer *tick;
	char folder[CACHE_PATH_MAX - 100];
	uint64_t limit, used;
	uint64_t next_partial;
	struct object *listed; /* by digest */
	struct object *objects;
	struct cache_counters *counters;
};

/* cache.c */
MUST_USE int cache_path(const struct cache *cache, const char *kind, const char *name,
			char ret[CACHE_PATH_MAX]);
MUST_USE int object_new(struct cache *cache, const char *digest, uint64_t size,
			enum object_state state, struct object **ret);
void cache_list(struct object *object);
/* Of one that is listed; what the list held is the caller's to let go of. */
void cache_unlist(struct object *object);

/* cache_object.c: lets a worker go on with what is there, if it is worth a turn. */
void object_work(struct object *object);
/* Readers may let go; the caller holds the object. */
void object_tell(struct object *object);
