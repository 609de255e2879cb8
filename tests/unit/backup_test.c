// links: portal_cli
/* S15: an encrypted backup comes back byte for byte, and nothing else does: damage anywhere, a cut, another's key, a chunk out of place. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"

#include "portal/cli/backup_stream.h"
#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

struct keys {
	char folder[SCRATCH_SIZE];
	struct backup_key backup, restore, foreign;
};

static void load(const struct keys *keys, const char *name, enum backup_key_half half,
		 struct backup_key *ret)
{
	struct problem problem = {0};
	char path[128];

	assert_true(text_format(path, sizeof(path), "%s/%s", keys->folder, name));
	assert_int_equal(backup_key_load(path, half, ret, &problem), 0);
}

static int keys_make(void **state)
{
	struct keys *keys = calloc(1, sizeof(*keys));
	struct problem problem = {0};
	char path[128];

	assert_non_null(keys);
	scratch_make(keys->folder, "backup");
	assert_true(text_format(path, sizeof(path), "%s/ours", keys->folder));
	assert_int_equal(backup_key_make(path, &problem), 0);
	assert_int_equal(backup_key_make(path, &problem), E_CONFLICT);
	assert_true(text_format(path, sizeof(path), "%s/other", keys->folder));
	assert_int_equal(backup_key_make(path, &problem), 0);
	load(keys, "ours.backup", BACKUP_KEY_BACKUP, &keys->backup);
	load(keys, "ours.restore", BACKUP_KEY_RESTORE, &keys->restore);
	load(keys, "other.restore", BACKUP_KEY_RESTORE, &keys->foreign);
	*state = keys;
	return 0;
}

static int keys_free(void **state)
{
	struct keys *keys = *state;

	scratch_remove(keys->folder);
	free(keys);
	return 0;
}

/* A file in memory with these bytes, at its begin. */
static int file_of(const void *data, size_t size)
{
	int fd = memfd_create("backup", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static uint8_t *bytes_of(int fd, size_t *ret_size)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	uint8_t *bytes = malloc((size_t)status.st_size + 1);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, (size_t)status.st_size, 0), status.st_size);
	*ret_size = (size_t)status.st_size;
	return bytes;
}

static uint8_t *plain_of(size_t size)
{
	uint8_t *plain = malloc(size + 1);

	assert_non_null(plain);
	for (size_t i = 0; i < size; i++)
		plain[i] = (uint8_t)(i * 7 + i / 251);
	return plain;
}

static uint8_t *sealed_of(const struct keys *keys, size_t size, size_t *ret_size)
{
	struct backup_header header = {.schema = 3, .made_s = 1795712593, .maker = "c1"};
	struct problem problem = {0};
	uint8_t *plain = plain_of(size);
	int from = file_of(plain, size);
	int to = file_of("", 0);

	assert_int_equal(backup_seal(&keys->backup, &header, from, to, &problem), 0);
	uint8_t *sealed = bytes_of(to, ret_size);
	close(from);
	close(to);
	free(plain);
	return sealed;
}

/* Open and check; *ret_plain (free it) with what was decrypted on success. */
static int check(const struct backup_key *key, const uint8_t *sealed, size_t size,
		 uint8_t **ret_plain, size_t *ret_size, struct problem *problem)
{
	struct backup backup;
	int fd = file_of(sealed, size);
	int to = file_of("", 0);
	int rc = backup_open("the file", fd, key, &backup, problem);

	if (rc == 0)
		rc = backup_read(&backup, -1, problem);
	if (rc == 0 && ret_plain) {
		assert_int_equal(backup_read(&backup, to, problem), 0);
		assert_string_equal(backup.header.maker, "c1");
		assert_int_equal(backup.header.schema, 3);
		*ret_plain = bytes_of(to, ret_size);
	}
	close(fd);
	close(to);
	return rc;
}

static void refuse(const struct backup_key *key, const uint8_t *sealed, size_t size, int code)
{
	struct problem problem = {0};

	assert_int_equal(check(key, sealed, size, NULL, NULL, &problem), code);
	assert_int_equal(problem.code, code);
	assert_true(problem.message[0] && problem.hint[0]);
}

static void every_length_comes_back(void **state)
{
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 131072, 200000};

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		struct problem problem = {0};
		size_t size;
		size_t again_size = 1;
		uint8_t *plain = plain_of(sizes[i]);
		uint8_t *sealed = sealed_of(*state, sizes[i], &size);
		uint8_t *again = NULL;

		assert_int_equal(check(&((struct keys *)*state)->restore, sealed, size, &again,
				       &again_size, &problem),
				 0);
		assert_int_equal(again_size, sizes[i]);
		assert_memory_equal(again, plain, sizes[i]);
		if (sizes[i] > 64)
			assert_null(memmem(sealed, size, plain, 64));
		free(again);
		free(sealed);
		free(plain);
	}
}

static void damage_is_found_wherever_it_is(void **state)
{
	const struct keys *keys = *state;
	size_t size;
	uint8_t *sealed = sealed_of(keys, 100000, &size);
	static const struct {
		size_t at;
		bool from_end;
		int code;
	} places[] = {
		{0, false, E_MALFORMED},        /* magic */
		{9, false, E_UNSUPPORTED},      /* format */
		{13, false, E_DIGEST},          /* schema */
		{21, false, E_DIGEST},          /* time */
		{22, false, E_DIGEST},          /* maker: another letter */
		{86, false, E_DENIED},          /* key ids */
		{94, false, E_DENIED},          /* key ids */
		{102, false, E_DIGEST},         /* sealed key */
		{182, false, E_DIGEST},         /* the stream's header */
		{206, false, E_DIGEST},         /* the first tag */
		{206 + 65553, false, E_DIGEST}, /* the second chunk */
		{73, true, E_DIGEST},           /* the last byte of the last chunk */
		{72, true, E_DIGEST},           /* the trailer's mark */
		{1, true, E_DIGEST},            /* the signature */
	};

	for (size_t i = 0; i < COUNT_OF(places); i++) {
		size_t at = places[i].from_end ? size - places[i].at : places[i].at;

		sealed[at] ^= 1;
		refuse(&keys->restore, sealed, size, places[i].code);
		sealed[at] ^= 1;
	}
	refuse(&keys->foreign, sealed, size, E_DENIED);
	free(sealed);
}

static void a_cut_or_a_chunk_out_of_place_is_found(void **state)
{
	const struct keys *keys = *state;
	size_t size;
	uint8_t *sealed = sealed_of(keys, 300000, &size);
	static const size_t chunk = 65553;

	for (size_t left = 0; left < size; left += left < 300 ? 1 : 7919)
		refuse(&keys->restore, sealed, left, left < 206 ? E_MALFORMED : E_DIGEST);
	/* A chunk is left out, and the trailer stands where it belongs. */
	uint8_t *other = malloc(size);
	assert_non_null(other);
	memcpy(other, sealed, 206 + chunk);
	memcpy(other + 206 + chunk, sealed + 206 + 2 * chunk, size - 206 - 2 * chunk);
	refuse(&keys->restore, other, size - chunk, E_DIGEST);
	/* Two chunks change places. */
	memcpy(other, sealed, size);
	memcpy(other + 206, sealed + 206 + chunk, chunk);
	memcpy(other + 206 + chunk, sealed + 206, chunk);
	refuse(&keys->restore, other, size, E_DIGEST);
	/* The last chunk is left out. */
	memcpy(other, sealed, 206 + 4 * chunk);
	memcpy(other + 206 + 4 * chunk, sealed + size - 72, 72);
	refuse(&keys->restore, other, 206 + 4 * chunk + 72, E_DIGEST);
	free(other);
	free(sealed);
}

static void who_can_open_cannot_forge(void **state)
{
	struct keys *keys = *state;
	struct keys forger = *keys;
	size_t size;

	/* The seal's public key is known to who restores; the signing key is not. */
	randombytes_buf(forger.backup.sign, sizeof(forger.backup.sign));
	uint8_t *sealed = sealed_of(&forger, 1000, &size);
	refuse(&keys->restore, sealed, size, E_DENIED);
	struct backup_key_ids ids;
	backup_key_ids(&keys->restore, &ids);
	memcpy(sealed + 94, ids.sign, sizeof(ids.sign)); /* it claims to be of the controller */
	refuse(&keys->restore, sealed, size, E_DIGEST);
	free(sealed);
}

static void a_key_is_its_owners_and_one_half(void **state)
{
	const struct keys *keys = *state;
	struct problem problem = {0};
	struct backup_key key;
	struct stat status;
	char path[128];

	assert_true(text_format(path, sizeof(path), "%s/ours.backup", keys->folder));
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(backup_key_load(path, BACKUP_KEY_RESTORE, &key, &problem), E_DENIED);
	assert_non_null(strstr(problem.hint, ".restore"));
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(backup_key_load(path, BACKUP_KEY_BACKUP, &key, &problem), E_DENIED);
	assert_non_null(strstr(problem.detail, "0640"));
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(backup_key_load(path, BACKUP_KEY_BACKUP, &key, &problem), E_MALFORMED);
	assert_true(text_format(path, sizeof(path), "%s/none", keys->folder));
	assert_int_equal(backup_key_load(path, BACKUP_KEY_BACKUP, &key, &problem), E_NOT_FOUND);
	assert_non_null(strstr(problem.hint, "backup-key"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_comes_back),
		cmocka_unit_test(damage_is_found_wherever_it_is),
		cmocka_unit_test(a_cut_or_a_chunk_out_of_place_is_found),
		cmocka_unit_test(who_can_open_cannot_forge),
		cmocka_unit_test(a_key_is_its_owners_and_one_half),
	};

	assert_true(sodium_init() >= 0);
	return cmocka_run_group_tests(tests, keys_make, keys_free);
}
