// links: common_io common_base
/* The key file and what is sealed to it. */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/agent_key.h"
#include "common/io/key_file.h"
#include "common/io/seal_key.h"

#include "tests/support/cmocka.h"

struct folder {
	char dir[64];
	char path[128];
};

static int start(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	assert_non_null(folder);
	(void)text_copy(folder->dir, sizeof(folder->dir), "/tmp/seal_key.XXXXXX");
	assert_non_null(mkdtemp(folder->dir));
	assert_true(text_format(folder->path, sizeof(folder->path), "%s/seal.key", folder->dir));
	*state = folder;
	return 0;
}

static int stop(void **state)
{
	struct folder *folder = *state;

	(void)unlink(folder->path);
	assert_int_equal(rmdir(folder->dir), 0); /* nothing else was left */
	free(folder);
	return 0;
}

static int load_path(const char *path, struct seal_key **ret, struct problem *problem)
{
	const struct seal_key_file file = {path, "test key", "chmod 600 it"};

	return seal_key_load(&file, ret, problem);
}

static struct seal_key *load(const struct folder *folder)
{
	struct seal_key *secret = NULL;
	struct problem problem = {0};

	assert_int_equal(load_path(folder->path, &secret, &problem), 0);
	return secret;
}

static void sealed_and_opened(void **state)
{
	struct seal_key *secret = load(*state);
	struct seal_key *again;
	uint8_t sealed[SEAL_SIZE_MAX];
	char password[21];
	char tight[6];
	size_t size;

	assert_int_equal(seal_key_seal(seal_key_public_key(secret), "secret", sealed, &size), 0);
	assert_int_equal(size, 48 + 6);
	assert_null(memmem(sealed, size, "secret", 6));
	assert_int_equal(seal_key_open(secret, sealed, size, password, sizeof(password)), 0);
	assert_string_equal(password, "secret");
	assert_int_equal(seal_key_open(secret, sealed, size, tight, sizeof(tight)), E_LIMIT);
	assert_int_equal(seal_key_open(secret, sealed, 47, password, sizeof(password)),
			 E_MALFORMED);
	assert_int_equal(seal_key_open(secret, sealed, 3000, password, sizeof(password)), E_LIMIT);
	sealed[50] ^= 1;
	assert_int_equal(seal_key_open(secret, sealed, size, password, sizeof(password)), E_DENIED);
	sealed[50] ^= 1;
	seal_key_free(secret);

	/* The next start has the same key. */
	again = load(*state);
	assert_int_equal(seal_key_open(again, sealed, size, password, sizeof(password)), 0);
	seal_key_free(again);
}

static void another_key_opens_nothing(void **state)
{
	const struct folder *folder = *state;
	struct seal_key *first = load(folder);
	struct seal_key *second;
	uint8_t sealed[SEAL_SIZE_MAX];
	char password[21];
	size_t size;

	assert_int_equal(seal_key_seal(seal_key_public_key(first), "", sealed, &size), 0);
	assert_int_equal(seal_key_open(first, sealed, size, password, sizeof(password)), 0);
	assert_string_equal(password, "");
	assert_int_equal(unlink(folder->path), 0);
	second = load(folder);
	assert_int_equal(seal_key_open(second, sealed, size, password, sizeof(password)), E_DENIED);
	seal_key_free(first);
	seal_key_free(second);
}

static void key_file_is_private(void **state)
{
	const struct folder *folder = *state;
	struct seal_key *secret = load(folder);
	struct problem problem = {0};
	struct stat status;

	assert_int_equal(stat(folder->path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(status.st_size, 32);
	seal_key_free(secret);
	assert_int_equal(chmod(folder->path, 0640), 0);
	assert_int_equal(load_path(folder->path, &secret, &problem), E_DENIED);
	assert_non_null(strstr(problem.hint, "chmod 600"));
	assert_int_equal(chmod(folder->path, 0600), 0);
	if (geteuid() == 0) { /* of somebody else: he may read it, and put another one there */
		assert_int_equal(chown(folder->path, 1, (gid_t)-1), 0);
		assert_int_equal(load_path(folder->path, &secret, &problem), E_DENIED);
		assert_non_null(strstr(problem.detail, "user 1"));
		assert_int_equal(key_file_private(folder->path, "key", "", &problem), E_DENIED);
		assert_int_equal(chown(folder->path, 0, (gid_t)-1), 0);
	}
	assert_int_equal(key_file_private(folder->path, "key", "", &problem), 0);
	assert_int_equal(key_file_private("/nonexistent/x.key", "key", "", &problem), -ENOENT);
	assert_int_equal(truncate(folder->path, 31), 0);
	assert_int_equal(load_path(folder->path, &secret, &problem), E_MALFORMED);
	assert_int_equal(load_path("/nonexistent/seal.key", &secret, &problem), -ENOENT);
	assert_true(problem.message[0]);
}

/* Old and new open together; what is sealed is sealed to the new one, and the old one goes last. */
static void a_key_is_exchanged(void **state)
{
	const struct folder *folder = *state;
	const struct seal_key_file file = {.path = folder->path, .what = "key", .exposed_hint = ""};
	struct seal_key *key = load(folder);
	struct problem problem = {0};
	uint8_t before[SEAL_SIZE_MAX];
	uint8_t after[SEAL_SIZE_MAX];
	uint8_t derived[SEAL_KEY_SIZE];
	uint8_t former[SEAL_KEY_SIZE];
	size_t before_size;
	size_t after_size;
	char plain[21];

	assert_int_equal(seal_key_settle(&file, &problem), 0); /* nothing to settle */
	assert_int_equal(seal_key_seal(seal_key_public_key(key), "one", before, &before_size), 0);
	assert_true(seal_key_is_current(key, before, before_size));
	seal_key_derive(key, "targets", derived);
	assert_false(seal_key_derive_former(key, "targets", former));
	seal_key_free(key);
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(seal_key_rotate(&file, &problem), 0);
		key = load(folder);
		assert_true(seal_key_has_former(key));
		assert_int_equal(seal_key_open(key, before, before_size, plain, sizeof(plain)), 0);
		assert_string_equal(plain, "one");
		assert_true(seal_key_derive_former(key, "targets", former));
		assert_memory_equal(former, derived, SEAL_KEY_SIZE);
		seal_key_derive(key, "targets", former);
		assert_memory_not_equal(former, derived, SEAL_KEY_SIZE);
		assert_false(seal_key_is_current(key, before, before_size));
		if (twice) /* the same new key */
			assert_true(seal_key_is_current(key, after, after_size));
		assert_int_equal(seal_key_seal(seal_key_public_key(key), "two", after, &after_size),
				 0);
		seal_key_free(key);
	}
	assert_int_equal(seal_key_settle(&file, &problem), 0);
	key = load(folder);
	assert_false(seal_key_has_former(key));
	assert_false(seal_key_derive_former(key, "targets", former));
	assert_int_equal(seal_key_open(key, after, after_size, plain, sizeof(plain)), 0);
	assert_int_equal(seal_key_open(key, before, before_size, plain, sizeof(plain)), E_DENIED);
	seal_key_free(key);
}

/* Eight daemons start for the first time at once: they end with one key. */
static void first_starts_agree(void **state)
{
	const struct folder *folder = *state;
	struct seal_key *mine;
	uint8_t sealed[SEAL_SIZE_MAX];
	size_t size;
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	for (int i = 0; i < 8; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0) {
			struct seal_key *secret = NULL;
			struct problem problem;
			int rc = load_path(folder->path, &secret, &problem);

			if (rc == 0 &&
			    write(pipes[1], seal_key_public_key(secret), SEAL_KEY_SIZE) < 0)
				rc = 1;
			_exit(rc ? 1 : 0);
		}
	}
	mine = load(folder);
	for (int i = 0; i < 8; i++) {
		uint8_t theirs[SEAL_KEY_SIZE];
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
		assert_int_equal(read(pipes[0], theirs, sizeof(theirs)), sizeof(theirs));
		assert_memory_equal(theirs, seal_key_public_key(mine), sizeof(theirs));
	}
	assert_int_equal(seal_key_seal(seal_key_public_key(mine), "x", sealed, &size), 0);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
	seal_key_free(mine);
}

static int seal_key_test_make(struct seal_key **ret)
{
	uint8_t secret[SEAL_KEY_SIZE];

	key_file_draw(secret, sizeof(secret));
	return seal_key_of(secret, ret);
}

/* Kept nowhere: two are different, and one opens what is sealed to it. */
static void made_in_memory(void **state)
{
	struct seal_key *keys[2] = {NULL, NULL};
	uint8_t sealed[SEAL_SIZE_MAX];
	char opened[16];
	size_t size = 0;

	(void)state;
	assert_int_equal(seal_key_test_make(&keys[0]), 0);
	assert_int_equal(seal_key_test_make(&keys[1]), 0);
	assert_memory_not_equal(seal_key_public_key(keys[0]), seal_key_public_key(keys[1]),
				SEAL_KEY_SIZE);
	assert_int_equal(seal_key_seal(seal_key_public_key(keys[0]), "secret", sealed, &size), 0);
	assert_int_equal(seal_key_open(keys[1], sealed, size, opened, sizeof(opened)), E_DENIED);
	assert_int_equal(seal_key_open(keys[0], sealed, size, opened, sizeof(opened)), 0);
	assert_string_equal(opened, "secret");
	seal_key_free(keys[0]);
	seal_key_free(keys[1]);
}

static void seal_key_test_zeros(void *const bytes, const size_t size)
{
	memset(bytes, 0, size);
}

static uint32_t seal_key_test_zero(void)
{
	return 0;
}

static const char *seal_key_test_source_name(void)
{
	return "zeros";
}

/* A program may give libsodium a source that is not seeded (bampi-agent does): no key comes of it. */
static void a_key_is_of_the_seeded_generator(void **state)
{
	static randombytes_implementation zeros = {.implementation_name = seal_key_test_source_name,
						   .random = seal_key_test_zero,
						   .buf = seal_key_test_zeros};
	struct seal_key *keys[2] = {NULL, NULL};

	(void)state;
	assert_int_equal(randombytes_set_implementation(&zeros), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(seal_key_test_make(&keys[i]), 0);
	assert_int_equal(randombytes_set_implementation(&randombytes_sysrandom_implementation), 0);
	assert_memory_not_equal(seal_key_public_key(keys[0]), seal_key_public_key(keys[1]),
				SEAL_KEY_SIZE);
	seal_key_free(keys[0]);
	seal_key_free(keys[1]);
}

static void derived_for_a_purpose(void **state)
{
	struct seal_key *key = NULL;
	struct seal_key *other = NULL;
	uint8_t ret[4][SEAL_KEY_SIZE];

	(void)state;
	assert_int_equal(seal_key_test_make(&key), 0);
	assert_int_equal(seal_key_test_make(&other), 0);
	seal_key_derive(key, "targets", ret[0]);
	seal_key_derive(key, "targets", ret[1]);
	seal_key_derive(key, "others", ret[2]);
	seal_key_derive(other, "targets", ret[3]);
	assert_memory_equal(ret[0], ret[1], SEAL_KEY_SIZE);
	assert_memory_not_equal(ret[0], ret[2], SEAL_KEY_SIZE);
	assert_memory_not_equal(ret[0], ret[3], SEAL_KEY_SIZE);
	assert_memory_not_equal(ret[0], seal_key_public_key(key), SEAL_KEY_SIZE);
	seal_key_free(key);
	seal_key_free(other);
}

/* One key of a boot: it opens what is sealed to it, signs results, and is the same from its file. */
static void key_of_an_agent(void **state)
{
	const struct folder *folder = *state;
	struct agent_key *key = NULL;
	struct agent_key *again = NULL;
	struct agent_key *other = NULL;
	uint8_t public_key[AGENT_KEY_SIZE];
	uint8_t sealed[SEAL_SIZE_MAX];
	char statement[RESULT_STATEMENT_SIZE];
	char signature[RESULT_SIGNATURE_TEXT_SIZE];
	char opened[16];
	struct problem problem;
	size_t size = 0;

	assert_int_equal(agent_key_load(folder->path, &key, &problem), 0);
	assert_int_equal(agent_key_load(folder->path, &again, &problem), 0);
	assert_int_equal(agent_key_make(&other), 0);
	assert_string_equal(agent_key_text(key), agent_key_text(again));
	assert_string_not_equal(agent_key_text(key), agent_key_text(other));
	assert_int_equal(hex_decode(agent_key_text(key), public_key, sizeof(public_key)), 0);
	assert_int_equal(agent_key_seal(public_key, "secret", sealed, &size), 0);
	assert_int_equal(agent_key_open(other, sealed, size, opened, sizeof(opened)), E_DENIED);
	assert_int_equal(agent_key_open(again, sealed, size, opened, sizeof(opened)), 0);
	assert_string_equal(opened, "secret");
	memset(public_key, 0xff, sizeof(public_key));
	assert_int_equal(agent_key_seal(public_key, "secret", sealed, &size), E_MALFORMED);
	result_statement(7, "token", "{}", 2, statement);
	agent_key_sign(key, statement, signature);
	assert_true(result_is_signed(agent_key_text(key), signature, 7, "token", "{}", 2));
	assert_false(result_is_signed(agent_key_text(other), signature, 7, "token", "{}", 2));
	assert_false(result_is_signed(agent_key_text(key), signature, 8, "token", "{}", 2));
	assert_false(result_is_signed(agent_key_text(key), signature, 7, "tokem", "{}", 2));
	assert_false(result_is_signed(agent_key_text(key), signature, 7, "token", "{ ", 2));
	assert_false(result_is_signed(agent_key_text(key), NULL, 7, "token", "{}", 2));
	assert_false(result_is_signed(NULL, signature, 7, "token", "{}", 2));
	agent_key_free(key);
	agent_key_free(again);
	agent_key_free(other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(sealed_and_opened),
		TEST(another_key_opens_nothing),
		TEST(key_of_an_agent),
		TEST(key_file_is_private),
		TEST(a_key_is_exchanged),
		TEST(first_starts_agree),
		cmocka_unit_test(made_in_memory),
		cmocka_unit_test(derived_for_a_purpose),
		cmocka_unit_test(a_key_is_of_the_seeded_generator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
