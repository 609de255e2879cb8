/* haasctl image keygen, sign: the signer's side, which needs no server. */
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/hex.h"
#include "common/io/file.h"

#include "portal/cli/haasctl.h"

#define IMAGE_SIGN_CLI_MANIFEST_LIMIT ((size_t)64 << 10)
#define SECRET_TEXT_SIZE              (2 * crypto_sign_SECRETKEYBYTES + 1)
#define PUBLIC_TEXT_SIZE              (2 * crypto_sign_PUBLICKEYBYTES + 1)
#define SIGNATURE_TEXT_SIZE           (2 * crypto_sign_BYTES + 1)

static int image_keygen(void *context, const struct command_input *input)
{
	unsigned char public_key[crypto_sign_PUBLICKEYBYTES];
	unsigned char secret[crypto_sign_SECRETKEYBYTES];
	char public_text[PUBLIC_TEXT_SIZE + 1];
	char secret_text[SECRET_TEXT_SIZE + 1];
	char path[PATH_MAX];
	struct stat st;

	(void)context;
	if (!text_format(path, sizeof(path), "%s.pub", input->words[0]) || sodium_init() < 0)
		return EXIT_FAILED;
	if (stat(input->words[0], &st) == 0) {
		fprintf(stderr,
			"haasctl: %s is there already; a signing key is never overwritten\n",
			input->words[0]);
		return EXIT_CONFLICT;
	}
	crypto_sign_keypair(public_key, secret);
	hex_encode(secret, sizeof(secret), secret_text);
	hex_encode(public_key, sizeof(public_key), public_text);
	text_copy(secret_text + SECRET_TEXT_SIZE - 1, 2, "\n");
	text_copy(public_text + PUBLIC_TEXT_SIZE - 1, 2, "\n");
	int rc = file_write_atomic(input->words[0], secret_text, SECRET_TEXT_SIZE, 0600);
	if (rc == 0)
		rc = file_write_atomic(path, public_text, PUBLIC_TEXT_SIZE, 0644);
	sodium_memzero(secret, sizeof(secret));
	sodium_memzero(secret_text, sizeof(secret_text));
	if (rc < 0)
		return haasctl_cannot("write", path, rc);
	printf("%s\n", path);
	return EXIT_OK;
}

static int image_sign(void *context, const struct command_input *input)
{
	const char *key_path = command_option(input, "--key");
	CLEANUP(freep) char *manifest = NULL;
	CLEANUP(freep) char *key_text = NULL;
	unsigned char secret[crypto_sign_SECRETKEYBYTES];
	unsigned char signature[crypto_sign_BYTES];
	char signature_text[SIGNATURE_TEXT_SIZE + 1];
	char path[PATH_MAX];
	size_t size = 0;
	size_t key_size = 0;

	(void)context;
	if (!key_path)
		return haasctl_usage(
			"image sign needs --key FILE (haasctl image keygen FILE makes one)");
	if (!text_format(path, sizeof(path), "%s.sig", input->words[0]) || sodium_init() < 0)
		return EXIT_FAILED;
	int rc = file_read(input->words[0], IMAGE_SIGN_CLI_MANIFEST_LIMIT, &manifest, &size);
	if (rc < 0)
		return haasctl_cannot("read", input->words[0], rc);
	rc = file_read(key_path, SECRET_TEXT_SIZE + 8, &key_text, &key_size);
	if (rc < 0)
		return haasctl_cannot("read", key_path, rc);
	key_text[strcspn(key_text, "\r\n \t")] = '\0';
	rc = hex_decode(key_text, secret, sizeof(secret));
	sodium_memzero(key_text, key_size);
	if (rc < 0)
		return haasctl_cannot("use the key in", key_path, rc);
	crypto_sign_detached(signature, NULL, (const unsigned char *)manifest, size, secret);
	sodium_memzero(secret, sizeof(secret));
	hex_encode(signature, sizeof(signature), signature_text);
	text_copy(signature_text + SIGNATURE_TEXT_SIZE - 1, 2, "\n");
	rc = file_write_atomic(path, signature_text, SIGNATURE_TEXT_SIZE, 0644);
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
