/* Contents on disk, named by their BLAKE2b-256 and bounded in size; the least recently used go
 * first. An object appears under its name only when it is whole, verified and durable, so kill -9
 * leaves no wrong bytes. Before that it can be followed while it comes (stream.h), but never to its
 * last byte.
 *
 *	FOLDER/objects/DIGEST   whole and verified once; verified again after a start
 *	FOLDER/partial/N        on its way; thrown away at a start
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hash_table.h"
#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"

#include "bampi/relay/cache/cache_counters.h"

#define CACHE_PATH_MAX 512

struct cache;

enum object_state {
	OBJECT_FILLING,  /* bytes come */
	OBJECT_CHECKING, /* was on disk when we started */
	OBJECT_READY,
	OBJECT_FAILED, /* out of the cache; whoever still holds it lets go */
};

/* Told about every change of an object until it is removed. */
struct object_reader {
	void (*fn)(void *context);
	void *context;
	struct object_reader *prev, *next;
};

struct object {
	struct cache *cache;
	enum object_state state;
	char digest[DIGEST_TEXT_SIZE]; /* "" = not known before it is whole */
	char path[CACHE_PATH_MAX];
	int fd; /* -1 when it is ready and nobody follows it */
	uint64_t size;
	uint64_t have; /* from the start */
	uint64_t hashed;
	bool stalled; /* FILLING, and nobody brings more for now */
	bool listed;  /* found by its digest */
	bool working; /* a worker has it */
	unsigned refs;
	int64_t used_ms;
	struct object_hash *hash;
	struct object_reader *readers;
	struct object *prev, *next; /* all objects of the cache */
	UT_hash_handle hh;
};

/* The folder is made when it is missing. `limit`: bytes. */
MUST_USE int cache_new(struct loop *loop, const char *folder, uint64_t limit,
		       struct cache_counters *counters, struct cache **ret,
		       struct problem *problem);
/* When nobody holds an object any more. */
void cache_free(struct cache *cache);
/* Finds what is on disk and begins to verify it. After privileges are dropped, so that files have
 * their owner. -errno. */
MUST_USE int cache_open(struct cache *cache, struct problem *problem);

/* Borrowed; NULL when it is not there. A use of it. */
struct object *cache_find(struct cache *cache, const char *digest);
/* A new object to be filled; the caller holds it. digest "" = not known yet. E_LIMIT: no room even
 * without all that is not in use; -errno. */
MUST_USE int cache_begin(struct cache *cache, const char *digest, uint64_t size,
			 struct object **ret);

struct cache_counters *object_counters(const struct object *object);
void object_ref(struct object *object);
void object_unref(struct object *object);
void object_attach(struct object *object, struct object_reader *reader);
void object_detach(struct object *object, struct object_reader *reader);
/* The next bytes. E_LIMIT: more than its size; -errno of the disk. */
MUST_USE int object_write(struct object *object, const void *data, size_t size);
/* Nobody brings more for now: followers that have all that is there leave. */
void object_stall(struct object *object);
void object_resume(struct object *object);
/* It will never be whole: out of the cache. */
void object_fail(struct object *object);
