/* haasctl image: catalogue, upload in parts, and the signer's side (keygen, sign), which needs no
 * server. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/json_text.h"
#include "common/http/json_reader.h"
#include "common/io/file.h"

#include "portal/cli/haasctl.h"

#define MANIFEST_LIMIT      ((size_t)64 << 10)
#define PART_SIZE           ((size_t)4 << 20)
#define SECRET_TEXT_SIZE    (2 * crypto_sign_SECRETKEYBYTES + 1)
#define PUBLIC_TEXT_SIZE    (2 * crypto_sign_PUBLICKEYBYTES + 1)
#define SIGNATURE_TEXT_SIZE (2 * crypto_sign_BYTES + 1)

static const struct output_column image_columns[] = {
	COLUMN("name"),       COLUMN("version"),      COLUMN("state"),
	COLUMN("tenant"),     COLUMN("public"),       COLUMN("firmware"),
	NUMBER("size_bytes"), NUMBER("stored_bytes"), WIDE_NUMBER("received_bytes"),
	WIDE("digest"),       WIDE("stored_digest"),  WIDE("key_id"),
	WIDE("grants"),       WIDE("created_at"),
};

static int fail(const char *what, const char *path, int rc)
{
	fprintf(stderr, "haasctl: cannot %s %s: %s\n", what, path, error_text(rc));
	return EXIT_FAILED;
}

static int image_list(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/images");
	haasctl_query(&target, input, "--name", "name");
	haasctl_query(&target, input, "--state", "state");
	return haasctl_list(context, input, text_get(&target), image_columns,
			    COUNT_OF(image_columns));
}

/* NAME:VERSION -> /images/NAME/VERSION */
static int image_target(struct text *target, const char *word)
{
	CLEANUP(freep) char *name = strdup(word);
	char *colon = name ? strchr(name, ':') : NULL;

	if (!colon)
		return haasctl_usage("say NAME:VERSION, not %s", word);
	*colon = '\0';
	text_add(target, "/images/");
	haasctl_escape(target, name);
	text_add(target, "/");
	haasctl_escape(target, colon + 1);
	return EXIT_OK;
}

static int image_show(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	int status = image_target(&target, input->words[0]);

	return status == EXIT_OK ? haasctl_show(context, input, text_get(&target)) : status;
}

/* --- import --- */

static int send_part(void *context, const struct command_input *input, const char *target, int fd,
		     int64_t offset, struct haasctl_reply *ret)
{
	CLEANUP(freep) char *part = malloc(PART_SIZE);
	CLEANUP(text_done) struct text place = {0};

	if (!part)
		return EXIT_FAILED;
	ssize_t size = pread(fd, part, PART_SIZE, offset);
	if (size <= 0) {
		fprintf(stderr, "haasctl: the image file is shorter than its manifest says\n");
		return EXIT_FAILED;
	}
	text_addf(&place, "%s/content?offset=%" PRId64, target, offset);
	return haasctl_call(context, input,
			    &(struct haasctl_call){.method = "PUT",
						   .target = text_get(&place),
						   .body = part,
						   .body_size = (size_t)size,
						   .content_type = "application/octet-stream"},
			    ret);
}

/* Goes on where the server's copy ends, so an interrupted import is simply repeated. */
static int send_content(void *context, const struct command_input *input, const char *target,
			const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct haasctl_reply reply = {0};

	if (fd < 0)
		return fail("read", path, -errno);
	int status = haasctl_get(context, input, target, &reply);
	while (status == EXIT_OK &&
	       strcmp(json_string_value(json_object_get(reply.json, "state")), "uploading") == 0) {
		int64_t received =
			json_integer_value(json_object_get(reply.json, "received_bytes"));
		int64_t whole = json_integer_value(json_object_get(reply.json, "stored_bytes"));

		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%s %3" PRId64 " %%", path,
				whole > 0 ? received * 100 / whole : 0);
		haasctl_reply_done(&reply);
		status = send_part(context, input, target, fd, received, &reply);
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	if (status == EXIT_OK) {
		printf("image %s:%s is %s\n",
		       json_string_value(json_object_get(reply.json, "name")),
		       json_string_value(json_object_get(reply.json, "version")),
		       json_string_value(json_object_get(reply.json, "state")));
		haasctl_reply_done(&reply);
	}
	return status;
}

/* Announces it unless it is there already with the same content. */
static int announce(void *context, const struct command_input *input, const char *target,
		    const char *manifest, const char *signature, const char *stored_digest)
{
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(text_done) struct text list = {0};
	struct haasctl_reply reply = {0};
	const json_t *image;
	bool there = false;
	size_t i;

	text_add(&list, "/images?limit=1000&name=");
	text_add_bytes(&list, target + strlen("/images/"),
		       strcspn(target + strlen("/images/"), "/"));
	int status = haasctl_get(context, input, text_get(&list), &reply);
	if (status != EXIT_OK)
		return status;
	json_array_foreach(json_object_get(reply.json, "items"), i, image)
	{
		CLEANUP(text_done) struct text same = {0};

		text_addf(&same, "/images/%s/%s", json_string_value(json_object_get(image, "name")),
			  json_string_value(json_object_get(image, "version")));
		const char *digest = json_string_value(json_object_get(image, "stored_digest"));
		there = there || (strcmp(text_get(&same), target) == 0 && digest &&
				  strcmp(digest, stored_digest) == 0);
	}
	haasctl_reply_done(&reply);
	if (there)
		return EXIT_OK;
	json_begin_object(&body, NULL);
	json_string(&body, "manifest", manifest);
	json_string(&body, "signature", signature);
	json_bool(&body, "public", command_option(input, "--public") != NULL);
	if (command_option(input, "--tenant"))
		json_string(&body, "tenant", command_option(input, "--tenant"));
	json_end_object(&body);
	status = haasctl_post(context, input, "/images", &body, &reply);
	haasctl_reply_done(&reply);
	return status;
}

/* The image file lies beside its manifest: X.manifest.json -> X.img.zst; the signature is
 * X.manifest.json.sig. */
static int beside(const char *manifest, char *ret, size_t room)
{
	static const char suffix[] = ".manifest.json";
	size_t length = strlen(manifest);

	if (length <= strlen(suffix) || strcmp(manifest + length - strlen(suffix), suffix) != 0)
		return haasctl_usage("%s does not end in %s", manifest, suffix);
	return text_format(ret, room, "%.*s.img.zst", (int)(length - strlen(suffix)), manifest)
		       ? EXIT_OK
		       : EXIT_FAILED;
}

static int image_import(void *context, const struct command_input *input)
{
	const char *path = input->words[0];
	CLEANUP(json_decrefp) json_t *json = NULL;
	CLEANUP(freep) char *manifest = NULL;
	CLEANUP(freep) char *signature = NULL;
	CLEANUP(text_done) struct text target = {0};
	char content[PATH_MAX];
	char signature_path[PATH_MAX];
	struct problem problem = {0};
	size_t size = 0;
	int status = beside(path, content, sizeof(content));

	if (status != EXIT_OK)
		return status;
	text_format(signature_path, sizeof(signature_path), "%s.sig", path);
	int rc = file_read(path, MANIFEST_LIMIT, &manifest, &size);
	if (rc < 0)
		return fail("read", path, rc);
	rc = json_read(manifest, size, MANIFEST_LIMIT, &json, &problem);
	if (rc < 0) {
		haasctl_problem(&problem);
		return EXIT_FAILED;
	}
	rc = file_read(signature_path, SIGNATURE_TEXT_SIZE + 8, &signature, &size);
	if (rc < 0) {
		fprintf(stderr,
			"haasctl: no signature in %s: %s\n  hint: haasctl image sign %s --key FILE\n",
			signature_path, error_text(rc), path);
		return EXIT_FAILED;
	}
	signature[strcspn(signature, "\r\n \t")] = '\0';
	const char *name = json_string_value(json_object_get(json, "name"));
	const char *version = json_string_value(json_object_get(json, "version"));
	const char *digest = json_string_value(json_object_get(json, "stored_digest"));
	if (!name || !version || !digest)
		return haasctl_usage("%s has no name, version or stored_digest", path);
	text_add(&target, "/images/");
	haasctl_escape(&target, name);
	text_add(&target, "/");
	haasctl_escape(&target, version);
	status = announce(context, input, text_get(&target), manifest, signature, digest);
	return status == EXIT_OK ? send_content(context, input, text_get(&target), content)
				 : status;
}

/* --- grants --- */

static int change_grant(void *context, const struct command_input *input, const char *method)
{
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};
	int status = image_target(&target, input->words[0]);

	if (status != EXIT_OK)
		return status;
	text_add(&target, "/grants/");
	haasctl_escape(&target, input->words[1]);
	status = haasctl_call(context, input,
			      &(struct haasctl_call){.method = method, .target = text_get(&target)},
			      &reply);
	haasctl_reply_done(&reply);
	return status;
}

static int image_grant(void *context, const struct command_input *input)
{
	return change_grant(context, input, "PUT");
}

static int image_revoke(void *context, const struct command_input *input)
{
	return change_grant(context, input, "DELETE");
}

/* --- the signer's side --- */

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
		return fail("write", path, rc);
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
	int rc = file_read(input->words[0], MANIFEST_LIMIT, &manifest, &size);
	if (rc < 0)
		return fail("read", input->words[0], rc);
	rc = file_read(key_path, SECRET_TEXT_SIZE + 8, &key_text, &key_size);
	if (rc < 0)
		return fail("read", key_path, rc);
	key_text[strcspn(key_text, "\r\n \t")] = '\0';
	rc = hex_decode(key_text, secret, sizeof(secret));
	sodium_memzero(key_text, key_size);
	if (rc < 0)
		return fail("use the key in", key_path, rc);
	crypto_sign_detached(signature, NULL, (const unsigned char *)manifest, size, secret);
	sodium_memzero(secret, sizeof(secret));
	hex_encode(signature, sizeof(signature), signature_text);
	text_copy(signature_text + SIGNATURE_TEXT_SIZE - 1, 2, "\n");
	rc = file_write_atomic(path, signature_text, SIGNATURE_TEXT_SIZE, 0644);
	if (rc < 0)
		return fail("write", path, rc);
	printf("%s\n", path);
	return EXIT_OK;
}

static const struct option_row list_options[] = {
	{"--name", 0, OPTION_VALUE, "GLOB", "only names like this"},
	{"--state", 0, OPTION_VALUE, "STATE", "uploading, ready or retired"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row import_options[] = {
	{"--public", 0, OPTION_FLAG, NULL, "every tenant may use it"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "its owner (default: the operator)"},
};
static const struct option_row sign_options[] = {
	{"--key", 0, OPTION_VALUE, "FILE", "the secret key of haasctl image keygen"}};

static const struct command commands[] = {
	{"image", "list", "", "the images that may be used", OPTIONS(list_options), 0, 0,
	 image_list},
	{"image", "show", "NAME:VERSION", "one image", NO_OPTIONS, 1, 1, image_show},
	{"image", "import", "X.manifest.json",
	 "announce and upload a signed image; repeat to resume", OPTIONS(import_options), 1, 1,
	 image_import},
	{"image", "grant", "NAME:VERSION TENANT", "let a tenant use the image", NO_OPTIONS, 2, 2,
	 image_grant},
	{"image", "revoke", "NAME:VERSION TENANT", "take the grant back", NO_OPTIONS, 2, 2,
	 image_revoke},
	{"image", "keygen", "FILE", "make a signing key: FILE (secret) and FILE.pub", NO_OPTIONS, 1,
	 1, image_keygen},
	{"image", "sign", "X.manifest.json", "write X.manifest.json.sig", OPTIONS(sign_options), 1,
	 1, image_sign},
};
const struct command_group image_group = {commands, COUNT_OF(commands)};
