// links: relay_cache
/* The relay's cache: an object is there when it is whole and verified, and not before; the least
 * recently used makes room; what a crash or rot left is found out. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/relay/cache/cache.h"
#include "bampi/relay/cache/file_book.h"
#include "bampi/relay/cache/name_record_wire.h"
#include "tests/support/cmocka.h"

#define WAIT_MS 60000
#define SIZE    100000U
#define LIMIT   350000U

struct fixture {
	char folder[64];
	struct loop *loop;
	struct cache *cache;
	struct cache_counters counters;
	uint8_t data[SIZE];
	struct object *object; /* the one that `told` counts */
	unsigned told;
};

static void open_cache(struct fixture *f)
{
	struct problem problem = {0};

	assert_int_equal(loop_new(&f->loop), 0);
	memset(&f->counters, 0, sizeof(f->counters));
	assert_int_equal(cache_new(f->loop, f->folder, LIMIT, &f->counters, &f->cache, &problem),
			 0);
	assert_int_equal(cache_open(f->cache, &problem), 0);
}

static void close_cache(struct fixture *f)
{
	cache_free(f->cache);
	loop_free(f->loop);
}

static int start(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	strcpy(f->folder, "/tmp/haas-cache-test-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	open_cache(f);
	*state = f;
	return 0;
}

static int stop(void **state)
{
	struct fixture *f = *state;
	char command[128];

	close_cache(f);
	(void)text_format(command, sizeof(command), "rm -rf %s", f->folder);
	assert_int_equal(system(command), 0);
	free(f);
	return 0;
}

static void turn_until(struct fixture *f, const struct object *object, enum object_state wanted)
{
	int64_t end = clock_monotonic_ms() + WAIT_MS;

	while (object->state != wanted && clock_monotonic_ms() < end) {
		loop_run_once(f->loop);
		usleep(200);
	}
	assert_int_equal(object->state, wanted);
}

static void told(void *context)
{
	struct fixture *f = context;

	f->told++;
}

static unsigned count_files(const struct fixture *f, const char *kind)
{
	char path[128];
	unsigned count = 0;
	const struct dirent *each;
	DIR *folder;

	(void)text_format(path, sizeof(path), "%s/%s", f->folder, kind);
	folder = opendir(path);
	assert_non_null(folder);
	while ((each = readdir(folder)))
		count += each->d_name[0] != '.';
	assert_int_equal(closedir(folder), 0);
	return count;
}

/* Content that differs by `seed`, and its digest. */
static void make(struct fixture *f, unsigned seed, char digest[DIGEST_TEXT_SIZE])
{
	for (unsigned i = 0; i < SIZE; i++)
		f->data[i] = (uint8_t)(i * 7 + i / 251 + seed);
	digest_text(f->data, SIZE, digest);
}

static void put(struct fixture *f, unsigned seed, char digest[DIGEST_TEXT_SIZE])
{
	struct object *object;

	make(f, seed, digest);
	assert_int_equal(cache_begin(f->cache, digest, SIZE, &object), 0);
	assert_int_equal(object_write(object, f->data, SIZE), 0);
	turn_until(f, object, OBJECT_READY);
	object_unref(object);
}

static void test_life(void **state)
{
	struct fixture *f = *state;
	char digest[DIGEST_TEXT_SIZE];
	struct object_reader reader = {.fn = told, .context = f};
	struct object *object;

	make(f, 1, digest);
	assert_null(cache_find(f->cache, digest));
	assert_int_equal(cache_begin(f->cache, digest, SIZE, &object), 0);
	assert_ptr_equal(cache_find(f->cache, digest), object);
	object_attach(object, &reader);
	assert_int_equal(object_write(object, f->data, SIZE - 1), 0);
	assert_int_equal(f->told, 1);
	loop_run_once(f->loop);
	assert_int_equal(object->state, OBJECT_FILLING);
	assert_int_equal(count_files(f, "objects"), 0);
	assert_int_equal(object_write(object, f->data, 2), E_LIMIT);
	assert_int_equal(object_write(object, f->data + SIZE - 1, 1), 0);
	turn_until(f, object, OBJECT_READY);
	assert_true(f->told >= 3);
	assert_int_equal(count_files(f, "objects"), 1);
	assert_int_equal(count_files(f, "partial"), 0);
	assert_true(object->fd >= 0); /* who follows it reads on */
	object_detach(object, &reader);
	assert_int_equal(object->fd, -1);
	assert_int_equal(object_write(object, "x", 1), -ESTALE);
	object_unref(object);

	/* Unknown digest: it gets its name at the end. Nothing at all is content too. */
	assert_int_equal(cache_begin(f->cache, "", 0, &object), 0);
	turn_until(f, object, OBJECT_READY);
	digest_text("", 0, digest);
	assert_string_equal(object->digest, digest);
	object_unref(object);
	assert_non_null(cache_find(f->cache, digest));
}

static void test_wrong(void **state)
{
	struct fixture *f = *state;
	char digest[DIGEST_TEXT_SIZE];
	struct object *object;

	make(f, 1, digest);
	f->data[500] ^= 1;
	assert_int_equal(cache_begin(f->cache, digest, SIZE, &object), 0);
	assert_int_equal(object_write(object, f->data, SIZE), 0);
	turn_until(f, object, OBJECT_FAILED);
	assert_null(cache_find(f->cache, digest));
	assert_int_equal(f->counters.digest_failures, 1);
	assert_int_equal(count_files(f, "objects") + count_files(f, "partial"), 0);
	object_unref(object);
}

static void test_room(void **state)
{
	struct fixture *f = *state;
	char digests[5][DIGEST_TEXT_SIZE];
	struct object *object;

	for (unsigned i = 0; i < 3; i++) {
		put(f, i, digests[i]);
		usleep(3000);
		loop_run_once(f->loop);
	}
	assert_non_null(cache_find(f->cache, digests[0])); /* used just now */
	put(f, 3, digests[3]);
	assert_null(cache_find(f->cache, digests[1]));
	assert_non_null(cache_find(f->cache, digests[0]));
	assert_int_equal(f->counters.evicted, 1);
	/* What somebody holds stays, and then there may be no room. */
	for (unsigned i = 0; i < 4; i++) {
		if (cache_find(f->cache, digests[i]))
			object_ref(cache_find(f->cache, digests[i]));
	}
	assert_int_equal(cache_begin(f->cache, "", SIZE, &object), E_LIMIT);
	assert_int_equal(cache_begin(f->cache, "", LIMIT + 1, &object), E_LIMIT);
	for (unsigned i = 0; i < 4; i++) {
		if (cache_find(f->cache, digests[i]))
			object_unref(cache_find(f->cache, digests[i]));
	}
	assert_int_equal(cache_begin(f->cache, "", LIMIT, &object), 0);
	assert_int_equal(f->counters.evicted, 4);
	object_fail(object);
	object_unref(object);
	assert_int_equal(count_files(f, "objects") + count_files(f, "partial"), 0);
}

static void test_restart(void **state)
{
	struct fixture *f = *state;
	char digests[2][DIGEST_TEXT_SIZE];
	char path[CACHE_PATH_MAX];
	char command[256];
	struct object *object;
	struct object *rotten;

	put(f, 0, digests[0]);
	put(f, 1, digests[1]);
	(void)text_copy(path, sizeof(path), cache_find(f->cache, digests[1])->path);
	close_cache(f);
	/* As kill -9 and a bad disk leave it, and as a stranger might. */
	(void)text_format(command, sizeof(command),
			  "printf x >>%s/partial/7; printf y | dd of=%s bs=1 seek=99 "
			  "conv=notrunc 2>/dev/null; echo >%s/objects/readme",
			  f->folder, path, f->folder);
	assert_int_equal(system(command), 0);
	open_cache(f);
	assert_int_equal(count_files(f, "partial"), 0);
	object = cache_find(f->cache, digests[0]);
	rotten = cache_find(f->cache, digests[1]);
	assert_non_null(object);
	assert_non_null(rotten);
	assert_int_equal(object->state, OBJECT_CHECKING);
	object_ref(rotten);
	turn_until(f, object, OBJECT_READY);
	turn_until(f, rotten, OBJECT_FAILED);
	object_unref(rotten);
	assert_null(cache_find(f->cache, digests[1]));
	assert_int_equal(count_files(f, "objects"), 2); /* the stranger's is left alone */
}

static void test_stop_in_the_middle(void **state)
{
	struct fixture *f = *state;
	char digest[DIGEST_TEXT_SIZE];
	struct object *object;

	make(f, 1, digest);
	assert_int_equal(cache_begin(f->cache, digest, SIZE, &object), 0);
	assert_int_equal(object_write(object, f->data, SIZE), 0);
	object_unref(object);
	close_cache(f); /* perhaps before a worker had it, perhaps behind it */
	open_cache(f);
	assert_int_equal(count_files(f, "partial"), 0);
}

static void test_records(void **state)
{
	struct name_record record = {
		.name = "x64/ipxe.efi", .size = 7, .tag = "\"a\"", .type = "b"};
	struct name_record same;
	char target[UPSTREAM_TARGET_MAX];
	char text[NAME_RECORD_MAX];
	size_t size;

	(void)state;
	memset(record.digest, 'a', DIGEST_TEXT_SIZE - 1);
	assert_int_equal(name_record_encode(&record, text, &size), 0);
	assert_int_equal(name_record_decode(text, &same), 0);
	assert_memory_equal(&same, &record, sizeof(same));
	text[size - 1] = '\0';
	assert_int_equal(name_record_decode(text, &same), E_MALFORMED);
	(void)text_copy(record.tag, sizeof(record.tag), "a\nb");
	assert_int_equal(name_record_encode(&record, text, &size), E_MALFORMED);
	file_book_target("x64/a b%#?.efi", target);
	assert_string_equal(target, "/boot/file/x64/a%20b%25%23%3F.efi");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_life, start, stop),
		cmocka_unit_test_setup_teardown(test_wrong, start, stop),
		cmocka_unit_test_setup_teardown(test_room, start, stop),
		cmocka_unit_test_setup_teardown(test_restart, start, stop),
		cmocka_unit_test_setup_teardown(test_stop_in_the_middle, start, stop),
		cmocka_unit_test(test_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
