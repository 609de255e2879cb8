/* An object from its first byte to its last. Bytes are written as they come; a worker reads them
 * back behind the writer and hashes what is really there, then makes the file durable and gives it
 * its name. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"
#include "common/io/transfer.h"

#include "bampi/relay/cache/cache_private.h"

#define CACHE_OBJECT_PIECE   ((size_t)256 << 10)
#define WORK_MAX             ((uint64_t)32 << 20) /* one turn of a worker: others wait for theirs */
#define WORK_WORTH           ((uint64_t)4 << 20)
#define CACHE_OBJECT_SUBJECT "cache"

LEAKS_LEFT_TO_SANITIZER

/* What one turn of a worker needs; the object itself belongs to the loop. */
struct object_turn {
	struct object *object;
	int fd;
	uint64_t first, size;
	bool last;
	char from[CACHE_PATH_MAX]; /* with `last`: "" = it has its name already */
	char folder[CACHE_PATH_MAX];
	char path[CACHE_PATH_MAX]; /* where it has its name */
	char wanted[DIGEST_TEXT_SIZE];
	char digest[DIGEST_TEXT_SIZE];
	bool ran;
	int rc;
};

void object_ref(struct object *object)
{
	object->refs++;
}

void object_unref(struct object *object)
{
	struct cache *cache = object->cache;

	if (--object->refs > 0)
		return;
	if (object->fd >= 0)
		close(object->fd);
	/* One that was given up by everybody before it was whole, or a stop in the middle. */
	if (object->state == OBJECT_FILLING)
		(void)unlink(object->path);
	cache->used -= object->size;
	DL_DELETE(cache->objects, object);
	free(object->hash);
	free(object);
}

void object_tell(struct object *object)
{
	struct object_reader *reader;
	struct object_reader *next;

	DL_FOREACH_SAFE(object->readers, reader, next)
	{
		reader->fn(reader->context);
	}
}

void object_attach(struct object *object, struct object_reader *reader)
{
	object_ref(object);
	DL_APPEND(object->readers, reader);
}

void object_detach(struct object *object, struct object_reader *reader)
{
	DL_DELETE(object->readers, reader);
	if (!object->readers && object->state == OBJECT_READY && object->fd >= 0) {
		close(object->fd);
		object->fd = -1;
	}
	object_unref(object);
}

void object_fail(struct object *object)
{
	bool listed = object->listed;

	if (object->state == OBJECT_FAILED)
		return;
	/* Of one that is not listed any more the name may be another's. */
	if (listed || object->state == OBJECT_FILLING)
		(void)unlink(object->path);
	object->state = OBJECT_FAILED;
	if (listed)
		cache_unlist(object);
	object_tell(object);
	if (listed)
		object_unref(object);
}

void object_stall(struct object *object)
{
	object->stalled = true;
	object_tell(object);
}

void object_resume(struct object *object)
{
	object->stalled = false;
}

int object_write(struct object *object, const void *data, size_t size)
{
	int rc;

	if (object->state != OBJECT_FILLING)
		return -ESTALE;
	if (size > object->size - object->have)
		return E_LIMIT;
	rc = write_whole_at(object->fd, data, size, object->have);
	if (rc)
		return rc;
	object->have += size;
	object_work(object);
	object_tell(object);
	return 0;
}

/* --- on a worker's thread --- */

static int hash_range(struct object_turn *turn, crypto_generichash_state *state)
{
	CLEANUP(freep) uint8_t *piece = malloc(CACHE_OBJECT_PIECE);
	uint64_t at = turn->first;
	uint64_t left = turn->size;

	if (!piece)
		return -ENOMEM;
	while (left > 0) {
		size_t size = left < CACHE_OBJECT_PIECE ? (size_t)left : CACHE_OBJECT_PIECE;
		int rc = read_whole_at(turn->fd, piece, size, at);

		if (rc)
			return rc;
		(void)crypto_generichash_update(state, piece, size);
		at += size;
		left -= size;
	}
	return 0;
}

/* Durable first, then under its name. */
static int cache_object_publish(struct object_turn *turn)
{
	CLEANUP(closep) int folder = -1;

	if (!text_format(turn->path, sizeof(turn->path), "%s%s", turn->folder, turn->digest))
		return -ENAMETOOLONG;
	if (fdatasync(turn->fd))
		return -errno;
	folder = open(turn->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || rename(turn->from, turn->path) || fsync(folder))
		return -errno;
	return 0;
}

static void cache_object_work(void *context)
{
	struct object_turn *turn = context;
	struct object_hash *hash = turn->object->hash; /* nobody else's during a turn */
	uint8_t bytes[DIGEST_SIZE];

	turn->ran = true;
	turn->rc = hash_range(turn, &hash->state);
	if (turn->rc || !turn->last)
		return;
	(void)crypto_generichash_final(&hash->state, bytes, sizeof(bytes));
	hex_encode(bytes, sizeof(bytes), turn->digest);
	if (turn->wanted[0] && strcmp(turn->wanted, turn->digest) != 0)
		turn->rc = E_DIGEST;
	else if (turn->from[0])
		turn->rc = cache_object_publish(turn);
}

/* --- back in the loop --- */

/* Another object may have come to the same content by another name. Its file is ours now. */
static void cache_object_take_name(struct object *object, const char *digest)
{
	struct object *same = NULL;

	if (object->listed)
		return;
	HASH_FIND_STR(object->cache->listed, digest, same);
	if (same) {
		cache_unlist(same);
		object_unref(same);
	}
	(void)text_copy(object->digest, sizeof(object->digest), digest);
	cache_list(object);
}

static void become_ready(struct object *object, const struct object_turn *turn)
{
	if (turn->from[0]) {
		object->cache->counters->published++;
		(void)text_copy(object->path, sizeof(object->path), turn->path);
		log_info(CACHE_OBJECT_SUBJECT, "%.12s is whole and verified (bytes=%" PRIu64 ")",
			 turn->digest, object->size);
	}
	object->state = OBJECT_READY;
	cache_object_take_name(object, turn->digest);
	if (!object->readers) {
		close(object->fd);
		object->fd = -1;
	}
	object_tell(object);
}

static void cache_object_worked(void *context)
{
	CLEANUP(freep) struct object_turn *turn = context;
	struct object *object = turn->object;

	object->working = false;
	if (!turn->ran || object->state == OBJECT_FAILED) {
		object_unref(object); /* a stop, or given up meanwhile */
		return;
	}
	if (turn->rc) {
		if (turn->rc == E_DIGEST)
			object->cache->counters->digest_failures++;
		log_error(CACHE_OBJECT_SUBJECT, "%.12s is thrown away: %s (bytes=%" PRIu64 ")",
			  turn->wanted[0] ? turn->wanted : object->path, error_text(turn->rc),
			  object->size);
		object_fail(object);
	} else {
		object->hashed += turn->size;
		if (turn->last)
			become_ready(object, turn);
		else
			object_work(object);
	}
	object_unref(object);
}

void object_work(struct object *object)
{
	struct cache *cache = object->cache;
	uint64_t there = object->have - object->hashed;
	struct object_turn *turn;

	if (object->working || !cache->worker ||
	    (object->state != OBJECT_FILLING && object->state != OBJECT_CHECKING) ||
	    (there < WORK_WORTH && object->have < object->size))
		return;
	turn = calloc(1, sizeof(*turn));
	if (!turn)
		return; /* the cache's tick tries again */
	if (object->state == OBJECT_FILLING && cache_path(cache, "objects", "", turn->folder)) {
		free(turn);
		return;
	}
	turn->object = object;
	turn->fd = object->fd;
	turn->first = object->hashed;
	turn->size = there < WORK_MAX ? there : WORK_MAX;
	turn->last = turn->first + turn->size == object->size;
	(void)text_copy(turn->wanted, sizeof(turn->wanted), object->digest);
	if (object->state == OBJECT_FILLING)
		(void)text_copy(turn->from, sizeof(turn->from), object->path);
	if (worker_submit(cache->worker, cache_object_work, cache_object_worked, turn)) {
		free(turn);
		return;
	}
	object->working = true;
	object_ref(object);
}
