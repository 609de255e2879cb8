// links: bampi_agent
/* An image on its way to a disk (a sparse file): digests, sizes, holes, the first MiB; manifests
 * and signatures. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"

#include "bampi/agent/disk_writer.h"
#include "bampi/agent/image_manifest.h"
#include "bampi/agent/image_stream.h"
#include "bampi/agent/task.h"
#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

#define MIB       ((size_t)1 << 20)
#define RAW_SIZE  (6 * MIB + 512)
#define DISK_SIZE (9 * MIB)

struct fixture {
	char root[SCRATCH_SIZE];
	char disk_path[96];
	struct agent_env env;
	struct disk disk;
	uint8_t *raw;
	uint8_t *stored;
	size_t stored_size;
	struct image_manifest manifest;
	struct disk_writer *writer;
};

static void hash(const void *data, size_t size, uint8_t ret[DIGEST_SIZE])
{
	(void)crypto_generichash(ret, DIGEST_SIZE, data, size, NULL, 0);
}

/* First MiB random, second zero, third random, two zero, the rest random. */
static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	uint8_t *former;
	FILE *file;

	assert_non_null(f);
	assert_true(sodium_init() >= 0);
	f->raw = calloc(1, RAW_SIZE);
	f->stored = malloc(ZSTD_compressBound(RAW_SIZE));
	former = malloc(DISK_SIZE);
	assert_non_null(f->raw);
	assert_non_null(f->stored);
	assert_non_null(former);
	randombytes_buf(f->raw, MIB);
	randombytes_buf(f->raw + 2 * MIB, MIB);
	randombytes_buf(f->raw + 5 * MIB, MIB + 512);
	f->stored_size =
		ZSTD_compress(f->stored, ZSTD_compressBound(RAW_SIZE), f->raw, RAW_SIZE, 1);
	assert_false(ZSTD_isError(f->stored_size));
	f->manifest = (struct image_manifest){.name = "demo",
					      .version = "1",
					      .size_bytes = RAW_SIZE,
					      .stored_bytes = f->stored_size};
	hash(f->raw, RAW_SIZE, f->manifest.digest);
	hash(f->stored, f->stored_size, f->manifest.stored_digest);

	scratch_make(f->root, "agent-image");
	(void)text_format(f->disk_path, sizeof(f->disk_path), "%s/dev", f->root);
	assert_int_equal(mkdir(f->disk_path, 0700), 0);
	(void)text_format(f->disk_path, sizeof(f->disk_path), "%s/dev/vda", f->root);
	memset(former, 'T', DISK_SIZE); /* what the tenant before left */
	file = fopen(f->disk_path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(former, 1, DISK_SIZE, file), DISK_SIZE);
	assert_int_equal(fclose(file), 0);
	free(former);
	f->env = (struct agent_env){.root = f->root, .sandbox = true};
	f->disk = (struct disk){.name = "vda", .size_bytes = DISK_SIZE, .sector_bytes = 512};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	disk_writer_free(f->writer);
	scratch_remove(f->root);
	free(f->raw);
	free(f->stored);
	free(f);
	return 0;
}

static uint8_t *read_disk(const struct fixture *f)
{
	uint8_t *bytes = malloc(DISK_SIZE);
	FILE *file = fopen(f->disk_path, "rb");

	assert_true(bytes && file);
	assert_int_equal(fread(bytes, 1, DISK_SIZE, file), DISK_SIZE);
	assert_int_equal(fclose(file), 0);
	return bytes;
}

static int to_disk(void *context, uint64_t offset, const void *data, size_t size,
		   struct problem *problem)
{
	struct fixture *f = context;

	return disk_writer_block(f->writer, offset, data, size, problem);
}

/* The image in pieces of `piece` bytes. */
static int stream(struct fixture *f, size_t piece, struct problem *problem)
{
	CLEANUP(image_stream_freep) struct image_stream *stream = NULL;
	int rc;

	assert_int_equal(disk_writer_new(&f->env, &f->disk, &f->writer, problem), 0);
	assert_int_equal(disk_writer_begin(f->writer, problem), 0);
	assert_int_equal(image_stream_new(&f->manifest, to_disk, f, &stream), 0);
	for (size_t at = 0; at < f->stored_size; at += piece) {
		size_t size = f->stored_size - at < piece ? f->stored_size - at : piece;

		rc = image_stream_feed(stream, f->stored + at, size, problem);
		if (rc)
			return rc;
	}
	rc = image_stream_finish(stream, problem);
	if (!rc)
		rc = disk_writer_flush(f->writer, problem);
	return rc;
}

static void test_whole(void **state)
{
	static const size_t pieces[] = {1000, 65536, (size_t)1 << 30};
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT_OF(pieces); i++) {
		struct problem problem = {0};
		uint8_t *bytes;

		assert_int_equal(stream(f, pieces[i], &problem), 0);
		/* not bootable before the proof: the first MiB is still zeros */
		bytes = read_disk(f);
		assert_true(disk_is_zero(bytes, MIB));
		assert_memory_equal(bytes + MIB, f->raw + MIB, RAW_SIZE - MIB);
		free(bytes);
		assert_int_equal(disk_writer_commit(f->writer, &problem), 0);
		bytes = read_disk(f);
		assert_memory_equal(bytes, f->raw, RAW_SIZE);
		/* beyond the image only the last MiB is touched */
		assert_int_equal(bytes[RAW_SIZE], 'T');
		assert_true(disk_is_zero(bytes + DISK_SIZE - MIB, MIB));
		free(bytes);
		disk_writer_free(TAKE(f->writer));
	}
}

static void test_broken(void **state)
{
	struct fixture *f = *state;
	struct image_manifest good = f->manifest;
	uint8_t *bytes;

	for (int i = 0; i < 6; i++) {
		struct problem problem = {0};
		uint8_t *flipped = &f->stored[f->stored_size / 2];

		f->manifest = good;
		if (i == 0)
			f->manifest.digest[3] ^= 1;
		if (i == 1)
			f->manifest.stored_digest[3] ^= 1;
		if (i == 2)
			f->manifest.size_bytes -= 512;
		if (i == 3)
			f->manifest.size_bytes += 512;
		if (i == 4)
			f->manifest.stored_bytes--;
		if (i == 5)
			*flipped ^= 0x55;
		assert_int_equal(stream(f, 50000, &problem), E_DIGEST);
		assert_true(problem.message[0] != '\0');
		bytes = read_disk(f);
		assert_true(disk_is_zero(bytes, MIB));
		free(bytes);
		disk_writer_free(TAKE(f->writer));
		if (i == 5)
			*flipped ^= 0x55;
	}
}

static void test_garbage(void **state)
{
	struct fixture *f = *state;
	struct problem problem = {0};

	randombytes_buf(f->stored, f->stored_size);
	assert_int_equal(stream(f, 4096, &problem), E_DIGEST);
	assert_non_null(strstr(problem.detail, "zstd"));
}

/* --- manifests --- */

static const char manifest_text[] =
	"{\"name\":\"demo\",\"version\":\"1.0\",\"arch\":\"x86_64\",\"format\":\"raw+zstd\",\"digest\":"
	"\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\",\"size_bytes\":1048576,"
	"\"stored_digest\":\"ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100\","
	"\"stored_bytes\":4096,\"root_partition\":2,\"firmware\":[\"bios\",\"uefi\"],"
	"\"created\":\"2026-11-21T00:00:00Z\"}\n";

static json_t *parse(const char *text)
{
	struct problem problem = {0};
	json_t *json = NULL;

	assert_int_equal(json_read(text, strlen(text), JSON_LIMIT_DEFAULT, &json, &problem), 0);
	return json;
}

static void test_signature(void **state)
{
	struct public_keys keys = {.count = 2};
	struct public_keys others = {.count = 1};
	struct image_manifest manifest;
	struct problem problem = {0};
	uint8_t secret[crypto_sign_SECRETKEYBYTES];
	uint8_t signature[PUBLIC_SIGNATURE_SIZE];
	char signature_text[2 * PUBLIC_SIGNATURE_SIZE + 1];
	/* as jsonb gives it back: the members in an order of its own */
	json_t *object = parse(
		"{\"arch\":\"x86_64\",\"name\":\"demo\",\"digest\":"
		"\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\","
		"\"format\":\"raw+zstd\",\"created\":\"2026-11-21T00:00:00Z\",\"version\":\"1.0\","
		"\"firmware\":[\"bios\",\"uefi\"],\"size_bytes\":1048576,\"stored_bytes\":4096,"
		"\"stored_digest\":\"ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100\","
		"\"root_partition\":2}");
	json_t *text;
	json_t *changed = json_deep_copy(object);

	(void)state;
	assert_true(sodium_init() >= 0);
	assert_int_equal(crypto_sign_keypair(keys.keys[1], secret), 0);
	assert_int_equal(crypto_sign_detached(signature, NULL, (const uint8_t *)manifest_text,
					      sizeof(manifest_text) - 1, secret),
			 0);
	hex_encode(signature, sizeof(signature), signature_text);
	text = json_loads("[\"\"]", 0, NULL);
	assert_int_equal(json_string_set(json_array_get(text, 0), manifest_text), 0);

	/* the exact bytes, and the same members as an object */
	assert_int_equal(image_manifest_read(json_array_get(text, 0), signature_text, &keys,
					     &manifest, &problem),
			 0);
	assert_int_equal(manifest.size_bytes, 1048576);
	assert_int_equal(manifest.root_partition, 2);
	assert_int_equal(manifest.digest[1], 0x11);
	assert_int_equal(image_manifest_read(object, signature_text, &keys, &manifest, &problem),
			 0);

	/* another key, another content, no signature, half a signature */
	assert_int_equal(image_manifest_read(object, signature_text, &others, &manifest, &problem),
			 E_DIGEST);
	assert_int_equal(json_object_set_new(changed, "size_bytes", json_integer(2097152)), 0);
	assert_int_equal(image_manifest_read(changed, signature_text, &keys, &manifest, &problem),
			 E_DIGEST);
	assert_int_equal(image_manifest_read(object, NULL, &keys, &manifest, &problem), E_DIGEST);
	signature_text[64] = '\0';
	assert_int_equal(image_manifest_read(object, signature_text, &keys, &manifest, &problem),
			 E_DIGEST);
	/* what it says can be read without believing it */
	assert_int_equal(image_manifest_decode(object, &manifest, &problem), 0);
	json_decref(object);
	json_decref(changed);
	json_decref(text);
}

static void test_bad_manifest(void **state)
{
	static const char *const patches[] = {
		"{\"format\":\"qcow2\"}",   "{\"size_bytes\":1000}",
		"{\"size_bytes\":0}",       "{\"size_bytes\":-512}",
		"{\"digest\":\"0011\"}",    "{\"stored_digest\":7}",
		"{\"root_partition\":999}", "{\"stored_bytes\":99999999999999999}",
		"{\"name\":null}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(patches); i++) {
		json_t *manifest = parse(manifest_text);
		json_t *patch = parse(patches[i]);
		struct image_manifest read;
		struct problem problem = {0};

		assert_int_equal(json_object_update(manifest, patch), 0);
		assert_int_not_equal(image_manifest_decode(manifest, &read, &problem), 0);
		assert_true(problem.message[0] != '\0');
		json_decref(manifest);
		json_decref(patch);
	}
}

static void put(const char *root, const char *name, const void *data, size_t size)
{
	char path[160];
	FILE *file;

	(void)text_format(path, sizeof(path), "%s/etc/haas/%s", root, name);
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void test_keys(void **state)
{
	static const uint8_t raw[PUBLIC_KEY_SIZE] = {1, 2, 3};
	static const char hex[] =
		"0405060000000000000000000000000000000000000000000000000000000000\n";
	char root[SCRATCH_SIZE];
	struct agent_env env = {.root = root};
	struct public_keys keys;
	struct problem problem = {0};

	(void)state;
	scratch_make(root, "agent-keys");
	assert_int_equal(public_keys_load(&env, PUBLIC_KEYS_OF_IMAGES, &keys, &problem), 0);
	assert_int_equal(keys.count, 0);
	assert_int_equal(shell("mkdir -p %s/etc/haas/image-keys", root), 0);
	put(root, "image-keys/a.pub", raw, sizeof(raw));
	put(root, "image-keys/README", "no key", 6);
	put(root, "image-keys/c.pub", hex, sizeof(hex) - 1);
	assert_int_equal(public_keys_load(&env, PUBLIC_KEYS_OF_IMAGES, &keys, &problem), 0);
	assert_int_equal(keys.count, 2);
	assert_int_equal(keys.keys[0][2], 3);
	assert_int_equal(keys.keys[1][0], 4);
	/* a key file that holds no key is not passed over */
	put(root, "image-keys/b.pub", "ssh-ed25519 AAAA", 16);
	assert_int_equal(public_keys_load(&env, PUBLIC_KEYS_OF_IMAGES, &keys, &problem),
			 E_MALFORMED);
	scratch_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_broken, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_garbage, set_up, tear_down),
		cmocka_unit_test(test_signature),
		cmocka_unit_test(test_bad_manifest),
		cmocka_unit_test(test_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
