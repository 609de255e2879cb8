// links: control_deploy bampi_bmc control_image control_inventory common_model common_http
// common_io common_base
/* Bodies, signatures and the chain; what a forger may try. */
#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/http/json_reader.h"

#include "bampi/control/deploy/certificate.h"
#include "tests/support/scratch.h"
#include "tests/unit/deploy_facts.h"

#define LENGTH 3

struct chain {
	struct certificate_key key;
	json_t *rows[LENGTH];
};

static void make(struct chain *ret)
{
	char previous[DIGEST_TEXT_SIZE] = CERTIFICATE_FIRST_HASH;
	uint8_t public_key[32];
	struct problem problem = {0};
	static const char results[] =
		"{\"erase\":{\"drives\":[{\"serial\":\"A\",\"name\":\"nvme0n1\",\"model\":\"m \\\"q\\\"\",\"size_bytes\":77,\"method\":\"overwrite\","
		"\"verdict\":\"erased\",\"reason\":\"\"}]},\"verify_erased\":{\"drives\":[{\"serial\":\"A\",\"samples\":1026,\"nonzero\":0,"
		"\"verdict\":\"verified\"}]}}";
	json_t *json = NULL;

	assert_true(sodium_init() >= 0);
	(void)crypto_sign_keypair(public_key, ret->key.secret);
	hex_encode(public_key, sizeof(public_key), ret->key.public_text);
	assert_int_equal(json_read(results, strlen(results), 65536, &json, &problem), 0);
	for (int i = 0; i < LENGTH; i++) {
		struct facts facts = test_facts(PLAN_RELEASE);

		facts.deployment.id = i + 1;
		facts.results = json;
		ret->rows[i] = certificate_row(&facts, NOW, previous, &ret->key);
		assert_non_null(ret->rows[i]);
		(void)text_copy(previous, sizeof(previous),
				json_string_value(json_object_get(ret->rows[i], "hash")));
	}
	json_decref(json);
}

static void drop(struct chain *chain)
{
	for (int i = 0; i < LENGTH; i++)
		json_decref(chain->rows[i]);
}

static const char *member(const json_t *row, const char *key)
{
	return json_string_value(json_object_get(row, key));
}

static struct certificate row(const struct chain *chain, int i)
{
	const json_t *r = chain->rows[i];

	return (struct certificate){member(r, "body"),       member(r, "previous_hash"),
				    member(r, "hash"),       member(r, "signature"),
				    member(r, "public_key"), NULL};
}

static void good_chain(void **state)
{
	struct certificate_chain chain = certificate_chain();
	struct problem problem = {0};
	struct chain made;

	(void)state;
	make(&made);
	for (int i = 0; i < LENGTH; i++) {
		const struct certificate next = row(&made, i);
		const struct certificate_signer keys[] = {{.public_key = made.key.public_text},
							  {0}};

		assert_int_equal(certificate_chain_next(&chain, &next, keys, &problem), 0);
	}
	assert_int_equal(chain.count, LENGTH);
	assert_non_null(strstr(member(made.rows[0], "body"), "\"samples\":1026"));
	assert_non_null(strstr(member(made.rows[0], "body"), "\"verified\":\"verified\""));
	assert_non_null(strstr(member(made.rows[0], "body"), "m \\\"q\\\""));
	drop(&made);
}

static void forgeries(void **state)
{
	struct problem problem = {0};
	struct chain made;
	struct chain other;
	struct certificate_chain chain = certificate_chain();
	struct certificate next;
	char hash[DIGEST_TEXT_SIZE];
	char signature[CERTIFICATE_SIGNATURE_TEXT_SIZE];
	char *body;
	char *method;
	struct certificate_signer keys[2] = {0};

	(void)state;
	make(&made);
	make(&other);
	keys[0].public_key = made.key.public_text;
	body = strdup(member(made.rows[0], "body"));
	assert_non_null(body);

	method = strstr(body, "overwrite");
	assert_non_null(method);
	*method = 'O'; /* another method */
	next = row(&made, 0);
	next.body = body;
	assert_int_equal(certificate_chain_next(&chain, &next, keys, &problem), E_DIGEST);
	digest_text(body, strlen(body), hash); /* with its hash put right */
	next.hash = hash;
	assert_int_equal(certificate_chain_next(&chain, &next, keys, &problem), E_DIGEST);
	certificate_sign(body, other.key.secret, hash,
			 signature); /* signed by a stranger who names himself */
	next.signature = signature;
	next.public_key = other.key.public_text;
	assert_int_equal(certificate_chain_next(&chain, &next, keys, &problem), E_DIGEST);
	assert_non_null(strstr(problem.message, "not trusted"));
	next.public_key = made.key.public_text; /* or names us */
	assert_int_equal(certificate_chain_next(&chain, &next, keys, &problem), E_DIGEST);

	next = row(&made, 1); /* the first one removed */
	assert_int_equal(certificate_chain_next(&chain, &next, keys, &problem), E_DIGEST);
	next.previous_hash =
		CERTIFICATE_FIRST_HASH; /* and the column put right: the body still names it */
	assert_int_equal(certificate_chain_next(&chain, &next, keys, &problem), E_DIGEST);
	assert_int_equal(chain.count, 0);
	next = row(&made, 0);
	assert_int_equal(certificate_chain_next(&chain, &next, keys, &problem), 0);
	assert_int_equal(certificate_chain_next(&chain, &next, keys, &problem),
			 E_DIGEST); /* twice */
	next = row(&made, 2);
	assert_int_equal(certificate_chain_next(&chain, &next, keys, &problem),
			 E_DIGEST); /* one left out */
	free(body);
	drop(&made);
	drop(&other);
}

/* A key signs from one time to another; the bounds are part of it. */
static void times_of_keys(void **state)
{
	static const struct {
		const char *since, *until;
		int rc;
	} table[] = {
		{NULL, NULL, 0},
		{"2026-01-01T00:00:00.000Z", NULL, 0},
		{NULL, "2026-01-01T00:00:00.000Z", 0},
		{"2026-01-01T00:00:00.001Z", NULL, E_DIGEST},
		{NULL, "2025-12-31T23:59:59.999Z", E_DIGEST},
	};
	struct chain made;

	(void)state;
	make(&made);
	for (size_t i = 0; i < COUNT_OF(table); i++) {
		const struct certificate_signer keys[] = {
			{made.key.public_text, table[i].since, table[i].until}, {0}};
		struct certificate_chain chain = certificate_chain();
		struct certificate next = row(&made, 0);
		struct problem problem = {0};

		next.issued_at = "2026-01-01T00:00:00.000Z";
		assert_int_equal(certificate_chain_next(&chain, &next, keys, &problem),
				 table[i].rc);
		assert_int_equal(chain.count, table[i].rc == 0);
	}
	drop(&made);
}

static void a_new_key(void **state)
{
	CLEANUP(text_done) struct text statement = {0};
	struct chain made;
	struct chain other;
	char hash[DIGEST_TEXT_SIZE];
	char signature[CERTIFICATE_SIGNATURE_TEXT_SIZE];

	(void)state;
	make(&made);
	make(&other);
	certificate_key_statement(made.key.public_text, other.key.public_text,
				  "2026-01-01T00:00:00.000Z", &statement);
	certificate_sign(text_get(&statement), made.key.secret, hash, signature);
	assert_true(certificate_key_vouched(text_get(&statement), signature, made.key.public_text));
	assert_false(certificate_key_vouched(text_get(&statement), signature,
					     other.key.public_text)); /* by itself */
	statement.data[statement.size - 3] ^= 1;
	assert_false(
		certificate_key_vouched(text_get(&statement), signature, made.key.public_text));
	drop(&made);
	drop(&other);
}

static void key_file(void **state)
{
	char folder[SCRATCH_SIZE];
	struct certificate_key first;
	struct certificate_key second;
	struct problem problem = {0};
	struct stat status;
	char path[SCRATCH_SIZE + 8];

	(void)state;
	scratch_make(folder, "certificate");
	assert_true(text_format(path, sizeof(path), "%s/key", folder));
	assert_int_equal(certificate_key_load(path, &first, &problem), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(certificate_key_load(path, &second, &problem), 0);
	assert_string_equal(first.public_text, second.public_text);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(certificate_key_load(path, &second, &problem), E_DENIED);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(certificate_key_load(path, &second, &problem), E_MALFORMED);
	scratch_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_chain),    cmocka_unit_test(forgeries),
		cmocka_unit_test(times_of_keys), cmocka_unit_test(a_new_key),
		cmocka_unit_test(key_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
