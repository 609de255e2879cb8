#include "bampi/relay/cache/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"
#include "common/io/log.h"

#include "bampi/relay/cache/cache_private.h"

#define THREADS        2
#define QUEUE_LIMIT    4096
#define TICK_MS        1000
#define TOUCH_EVERY_MS 60000
#define STALLED_MAX_MS ((int64_t)10 * 60 * 1000)
#define CACHE_SUBJECT  "cache"

LEAKS_LEFT_TO_SANITIZER

int cache_path(const struct cache *cache, const char *kind, const char *name,
	       char ret[CACHE_PATH_MAX])
{
	return text_format(ret, CACHE_PATH_MAX, "%s/%s/%s", cache->folder, kind, name)
		       ? 0
		       : -ENAMETOOLONG;
}

int object_new(struct cache *cache, const char *digest, uint64_t size, enum object_state state,
	       struct object **ret)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object)
		return -ENOMEM;
	object->hash = calloc(1, sizeof(*object->hash));
	if (!object->hash) {
		free(object);
		return -ENOMEM;
	}
	(void)crypto_generichash_init(&object->hash->state, NULL, 0, DIGEST_SIZE);
	object->cache = cache;
	object->state = state;
	object->size = size;
	object->fd = -1;
	object->refs = 1;
	object->used_ms = loop_now_ms(cache->loop);
	(void)text_copy(object->digest, sizeof(object->digest), digest);
	DL_APPEND(cache->objects, object);
	cache->used += size;
	*ret = object;
	return 0;
}

/* The list holds what it lists. */
void cache_list(struct object *object)
{
	object->listed = true;
	object_ref(object);
	HASH_ADD_STR(object->cache->listed, digest, object);
}

void cache_unlist(struct object *object)
{
	object->listed = false;
	HASH_DEL(object->cache->listed, object);
}

struct object *cache_find(struct cache *cache, const char *digest)
{
	struct object *object = NULL;

	HASH_FIND_STR(cache->listed, digest, object);
	if (!object)
		return NULL;
	/* The order of use outlives a restart as the order of the files' times. */
	if (object->state == OBJECT_READY &&
	    loop_now_ms(cache->loop) - object->used_ms > TOUCH_EVERY_MS)
		(void)utimensat(AT_FDCWD, object->path, NULL, 0);
	object->used_ms = loop_now_ms(cache->loop);
	return object;
}

/* The one that was not used for the longest time, of those that nobody holds but the list. */
static struct object *cache_oldest(struct cache *cache)
{
	struct object *found = NULL;

	for (struct object *each = cache->listed; each; each = each->hh.next) {
		if (each->state == OBJECT_READY && each->refs == 1 &&
		    (!found || each->used_ms < found->used_ms))
			found = each;
	}
	return found;
}

static int cache_make_room(struct cache *cache, uint64_t size)
{
	while (size > cache->limit || cache->used > cache->limit - size) {
		struct object *object = size > cache->limit ? NULL : cache_oldest(cache);

		if (!object) {
			cache->counters->crowded++;
			return E_LIMIT;
		}
		log_info(CACHE_SUBJECT, "%.12s removed to make room (bytes=%" PRIu64 ")",
			 object->digest, object->size);
		cache->counters->evicted++;
		(void)unlink(object->path);
		cache_unlist(object);
		object_unref(object);
	}
	return 0;
}

struct cache_counters *object_counters(const struct object *object)
{
	return object->cache->counters;
}

int cache_begin(struct cache *cache, const char *digest, uint64_t size, struct object **ret)
{
	struct object *object = NULL;
	char name[24];
	int rc = cache_make_room(cache, size);

	if (rc == 0)
		rc = object_new(cache, digest, size, OBJECT_FILLING, &object);
	if (rc)
		return rc;
	(void)text_format(name, sizeof(name), "%" PRIu64, ++cache->next_partial);
	rc = cache_path(cache, "partial", name, object->path);
	if (rc == 0)
		object->fd = open(object->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	if (rc == 0 && object->fd < 0)
		rc = -errno;
	/* A full disk is better known now than in the middle. Where it cannot be asked for, then.
	 */
	if (rc == 0 && size > 0 && fallocate(object->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)size) &&
	    errno == ENOSPC)
		rc = -ENOSPC;
	if (rc) {
		object_fail(object);
		object_unref(object);
		return rc;
	}
	if (object->digest[0])
		cache_list(object);
	object_work(object); /* an empty one is whole already */
	*ret = object;
	return 0;
}

static bool is_digest(const char *name)
{
	uint8_t bytes[DIGEST_SIZE];

	return strlen(name) == DIGEST_TEXT_SIZE - 1 && hex_decode(name, bytes, DIGEST_SIZE) == 0;
}

/* One file that was published before; it is believed after it was read again. */
static int find_object(struct cache *cache, const char *name)
{
	struct object *object;
	char path[CACHE_PATH_MAX];
	struct stat status;
	int rc = cache_path(cache, "objects", name, path);

	if (rc)
		return rc;
	if (!is_digest(name) || lstat(path, &status) || !S_ISREG(status.st_mode)) {
		log_warn(CACHE_SUBJECT, "%s is not of this cache and is left alone", path);
		return 0;
	}
	rc = object_new(cache, name, (uint64_t)status.st_size, OBJECT_CHECKING, &object);
	if (rc)
		return rc;
	(void)text_copy(object->path, sizeof(object->path), path);
	object->have = object->size;
	/* In the order of their use, all before now. */
	object->used_ms = loop_now_ms(cache->loop) -
			  (clock_wall_us() / 1000 - (int64_t)status.st_mtim.tv_sec * 1000);
	object->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (object->fd < 0)
		object_fail(object);
	else
		cache_list(object);
	object_work(object);
	object_unref(object);
	return 0;
}

static int forget_partial(struct cache *cache, const char *name)
{
	char path[CACHE_PATH_MAX];
	int rc = cache_path(cache, "partial", name, path);

	return rc == 0 && unlink(path) ? -errno : rc;
}

static int each_file(struct cache *cache, const char *kind,
		     int (*fn)(struct cache *cache, const char *name))
{
	char path[CACHE_PATH_MAX];
	int rc = cache_path(cache, kind, "", path);
	DIR *folder;

	if (rc == 0)
		rc = file_make_folder(path, 0750);
	if (rc)
		return rc;
	folder = opendir(path);
	if (!folder)
		return -errno;
	while (rc == 0) {
		// NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
		const struct dirent *entry = readdir(folder);

		if (!entry)
			break;
		if (entry->d_name[0] != '.')
			rc = fn(cache, entry->d_name);
	}
	(void)closedir(folder);
	return rc;
}

int cache_open(struct cache *cache, struct problem *problem)
{
	int rc = each_file(cache, "partial", forget_partial);

	if (rc == 0)
		rc = each_file(cache, "objects", find_object);
	if (rc) {
		(void)problem_set(problem, rc, "the cache cannot be used: %s", error_text(rc));
		problem_detail(problem, "%s", cache->folder);
		problem_hint(problem, "the folder must belong to the user of the program");
		return rc;
	}
	rc = cache_make_room(cache, 0); /* the limit may be lower than it was */
	if (rc)
		log_warn(CACHE_SUBJECT, "holds more than its limit, until it is checked");
	log_info(CACHE_SUBJECT, "%u objects found (bytes=%" PRIu64 " limit=%" PRIu64 ")",
		 HASH_COUNT(cache->listed), cache->used, cache->limit);
	return 0;
}

static void cache_tick(void *context)
{
	struct cache *cache = context;
	int64_t now_ms = loop_now_ms(cache->loop);
	struct object *object;
	struct object *next;

	cache->counters->objects = HASH_COUNT(cache->listed);
	cache->counters->bytes = cache->used;
	cache->counters->limit = cache->limit;
	cache->counters->filling = 0;
	DL_FOREACH_SAFE(cache->objects, object, next)
	{
		cache->counters->filling += object->state == OBJECT_FILLING;
		if (object->state == OBJECT_FILLING && object->stalled && object->refs == 1 &&
		    now_ms - object->used_ms > STALLED_MAX_MS)
			object_fail(object);
		else
			object_work(object); /* where the workers' queue was full */
	}
	loop_timer_arm(cache->tick, TICK_MS);
}

int cache_new(struct loop *loop, const char *folder, uint64_t limit,
	      struct cache_counters *counters, struct cache **ret, struct problem *problem)
{
	struct cache *cache = calloc(1, sizeof(*cache));
	int rc;

	if (!cache)
		return problem_set(problem, -ENOMEM, "out of memory");
	cache->loop = loop;
	cache->limit = limit;
	cache->counters = counters;
	rc = text_copy(cache->folder, sizeof(cache->folder), folder) ? 0 : -ENAMETOOLONG;
	if (rc == 0)
		rc = worker_new(loop, THREADS, QUEUE_LIMIT, &cache->worker);
	if (rc == 0)
		rc = loop_timer_new(loop, cache_tick, cache, &cache->tick);
	if (rc) {
		cache_free(cache);
		return problem_set(problem, rc, "cannot start the cache: %s", error_text(rc));
	}
	loop_timer_arm(cache->tick, 0);
	*ret = cache;
	return 0;
}

void cache_free(struct cache *cache)
{
	struct object *object;
	struct object *next;

	if (!cache)
		return;
	worker_free(TAKE(cache->worker)); /* its work is done or told to be dropped */
	loop_timer_free(cache->tick);
	HASH_ITER(hh, cache->listed, object, next)
	{
		cache_unlist(object);
		object_unref(object);
	}
	free(cache);
}
