/* haasctl image keygen, sign: the signer's side, which needs no server. */
#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/io/file.h"

#include "portal/cli/haasctl.h"

#define IMAGE_SIGN_CLI_MANIFEST_LIMIT ((size_t)64 << 10)
#define SECRET_TEXT_SIZE              (2 * crypto_sign_SECRETKEYBYTES + 1)

/* In this order: a secret whose public half is missing is a whole key all the same (site init). */
static int image_sign_cli_write(const char *path, const char *public_path,
				const unsigned char public_key[crypto_sign_PUBLICKEYBYTES],
				const unsigned char secret[crypto_sign_SECRETKEYBYTES])
{
	char public_text[IMAGE_KEY_TEXT_SIZE + 1];
	char secret_text[SECRET_TEXT_SIZE + 1];

	hex_encode(secret, crypto_sign_SECRETKEYBYTES, secret_text);
	hex_encode(public_key, crypto_sign_PUBLICKEYBYTES, public_text);
	text_copy(secret_text + SECRET_TEXT_SIZE - 1, 2, "\n");
	text_copy(public_text + IMAGE_KEY_TEXT_SIZE - 1, 2, "\n");
	int rc = file_write_new(path, secret_text, SECRET_TEXT_SIZE, 0600);
	if (rc == 0)
		rc = file_write_atomic(public_path, public_text, IMAGE_KEY_TEXT_SIZE, 0644);
	sodium_memzero(secret_text, sizeof(secret_text));
	return rc;
}

int haasctl_image_key_make(const char *path, struct problem *problem)
{
	unsigned char public_key[crypto_sign_PUBLICKEYBYTES];
	unsigned char secret[crypto_sign_SECRETKEYBYTES];
	char public_path[PATH_MAX];

	if (!text_format(public_path, sizeof(public_path), "%s.pub", path))
		return problem_set(problem, -ENAMETOOLONG, "the path %s is too long", path);
	crypto_sign_keypair(public_key, secret);
	int rc = image_sign_cli_write(path, public_path, public_key, secret);
	sodium_memzero(secret, sizeof(secret));
	if (rc == -EEXIST)
		return problem_set(problem, E_CONFLICT,
				   "%s is there already; a signing key is never overwritten", path);
	return rc ? problem_set(problem, rc, "cannot write %s: %s", path, error_text(rc)) : 0;
}

int haasctl_image_key_secret(const char *path, unsigned char ret[crypto_sign_SECRETKEYBYTES],
			     struct problem *problem)
{
	CLEANUP(freep) char *text = NULL;
	size_t size = 0;
	int rc = file_read(path, SECRET_TEXT_SIZE + 8, &text, &size);

	if (rc)
		return problem_set(problem, rc, "cannot read %s: %s", path, error_text(rc));
	text[strcspn(text, "\r\n \t")] = '\0';
	if (strlen(text) != SECRET_TEXT_SIZE - 1 ||
	    hex_decode(text, ret, crypto_sign_SECRETKEYBYTES) < 0) {
		rc = problem_set(problem, E_MALFORMED, "%s holds no signing key", path);
		problem_hint(problem, "haasctl image keygen FILE makes one");
	}
	sodium_memzero(text, size);
	return rc;
}

int haasctl_image_key_public(const char *path, char ret[IMAGE_KEY_TEXT_SIZE],
			     struct problem *problem)
{
	unsigned char secret[crypto_sign_SECRETKEYBYTES];
	int rc = haasctl_image_key_secret(path, secret, problem);

	if (rc == 0) /* the second half of the secret is the public key (RFC 8032) */
		hex_encode(secret + sizeof(secret) - crypto_sign_PUBLICKEYBYTES,
			   crypto_sign_PUBLICKEYBYTES, ret);
	sodium_memzero(secret, sizeof(secret));
	return rc;
}

void haasctl_image_signature(const unsigned char secret[crypto_sign_SECRETKEYBYTES],
			     const char *manifest, size_t size,
			     char ret[HAASCTL_IMAGE_SIGNATURE_SIZE])
{
	unsigned char signature[crypto_sign_BYTES];

	crypto_sign_detached(signature, NULL, (const unsigned char *)manifest, size, secret);
	hex_encode(signature, sizeof(signature), ret);
}

static int image_keygen(void *context, const struct command_input *input)
{
	struct problem problem = {0};
	int rc = haasctl_image_key_make(input->words[0], &problem);

	(void)context;
	if (rc)
		return haasctl_told(&problem);
	printf("%s.pub\n", input->words[0]);
	return EXIT_OK;
}

static int image_sign(void *context, const struct command_input *input)
{
	const char *key_path = command_option(input, "--key");
	CLEANUP(freep) char *manifest = NULL;
	unsigned char secret[crypto_sign_SECRETKEYBYTES];
	char signature[HAASCTL_IMAGE_SIGNATURE_SIZE + 1];
	struct problem problem = {0};
	char path[PATH_MAX];
	size_t size = 0;

	(void)context;
	if (!key_path)
		return haasctl_usage(
			"image sign needs --key FILE (haasctl image keygen FILE makes one)");
	if (!text_format(path, sizeof(path), "%s.sig", input->words[0]) || sodium_init() < 0)
		return EXIT_FAILED;
	int rc = file_read(input->words[0], IMAGE_SIGN_CLI_MANIFEST_LIMIT, &manifest, &size);
	if (rc < 0)
		return haasctl_cannot("read", input->words[0], rc);
	rc = haasctl_image_key_secret(key_path, secret, &problem);
	if (rc < 0)
		return haasctl_told(&problem);
	haasctl_image_signature(secret, manifest, size, signature);
	sodium_memzero(secret, sizeof(secret));
	text_copy(signature + HAASCTL_IMAGE_SIGNATURE_SIZE - 1, 2, "\n");
	rc = file_write_atomic(path, signature, HAASCTL_IMAGE_SIGNATURE_SIZE, 0644);
	if (rc < 0)
		return haasctl_cannot("write", path, rc);
	printf("%s\n", path);
	return EXIT_OK;
}

static const struct option_row sign_options[] = {
	{"--key", 0, OPTION_VALUE, "FILE", "the secret key of haasctl image keygen"}};

static const struct command image_sign_cli_commands[] = {
	{"image", "keygen", "FILE", "make a signing key: FILE (secret) and FILE.pub", NO_OPTIONS, 1,
	 1, image_keygen, .example = "image keygen images.key"},
	{"image", "sign", "X.manifest.json", "write X.manifest.json.sig", OPTIONS(sign_options), 1,
	 1, image_sign, .example = "image sign debian.manifest.json --key images.key"},
};
const struct command_group image_sign_group = {image_sign_cli_commands,
					       COUNT_OF(image_sign_cli_commands)};
