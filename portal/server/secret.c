#include "portal/server/secret.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hex.h"

#include "portal/server/exchange.h"

#define SECRET_BYTES 32

/* One password on its way through a thread. */
struct secret_task {
	struct exchange *exchange;
	char password[SECRET_PASSWORD_MAX + 1];
	char hash[SECRET_HASH_SIZE];
	bool make, nobody;
	bool ran, good;
	secret_fn fn;
};

void secret_new(const char *kind, char ret[CREDENTIAL_SIZE])
{
	unsigned char bytes[SECRET_BYTES];
	char text[sodium_base64_ENCODED_LEN(SECRET_BYTES,
					    sodium_base64_VARIANT_URLSAFE_NO_PADDING)];

	randombytes_buf(bytes, sizeof(bytes));
	(void)sodium_bin2base64(text, sizeof(text), bytes, sizeof(bytes),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	(void)text_format(ret, CREDENTIAL_SIZE, "haas_%s_%s", kind, text);
	sodium_memzero(bytes, sizeof(bytes));
	sodium_memzero(text, sizeof(text));
}

void secret_id_new(char ret[9])
{
	static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";

	for (size_t i = 0; i < 8; i++)
		ret[i] = letters[randombytes_uniform(sizeof(letters) - 1)];
	ret[8] = '\0';
}

void secret_csrf(const char *secret, char ret[65])
{
	char text[CREDENTIAL_SIZE + 16];

	(void)text_format(text, sizeof(text), "haas csrf %s", secret);
	digest_text(text, strlen(text), ret);
	sodium_memzero(text, sizeof(text));
}

static void secret_run(void *context)
{
	struct secret_task *task = context;

	task->ran = true;
	if (task->make || task->nobody) { /* an unknown account costs what a known one costs */
		task->good = crypto_pwhash_str(task->hash, task->password, strlen(task->password),
					       crypto_pwhash_OPSLIMIT_INTERACTIVE,
					       crypto_pwhash_MEMLIMIT_INTERACTIVE) == 0 &&
			     task->make;
	} else {
		task->good = crypto_pwhash_str_verify(task->hash, task->password,
						      strlen(task->password)) == 0;
	}
	sodium_memzero(task->password, sizeof(task->password));
}

static void secret_done(void *context)
{
	struct secret_task *task = context;
	struct exchange *exchange = task->exchange;

	if (task->ran)
		task->fn(exchange, task->good, task->hash);
	sodium_memzero(task, sizeof(*task));
	free(task);
	exchange_release(exchange);
}

int secret_work(struct exchange *exchange, const char *password, const char *hash, secret_fn fn)
{
	struct secret_task *task = calloc(1, sizeof(*task));
	int rc;

	if (!task)
		return -ENOMEM;
	task->exchange = exchange;
	task->fn = fn;
	task->make = !hash;
	task->nobody = hash && hash[0] == '\0';
	(void)text_copy(task->password, sizeof(task->password), password);
	(void)text_copy(task->hash, sizeof(task->hash), hash ? hash : "");
	exchange_hold(exchange);
	rc = worker_submit(exchange->portal->hasher, secret_run, secret_done, task);
	if (rc != 0) {
		sodium_memzero(task, sizeof(*task));
		free(task);
		exchange_release(exchange);
	}
	return rc;
}
