#include "bampi/agent/image_manifest.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"
#include "common/io/file.h"

#include "bampi/agent/sysfs.h"
#include "bampi/agent/task.h"

#define IMAGE_MANIFEST_LIMIT ((size_t)64 << 10)
#define IMAGE_SIZE_LIMIT     ((int64_t)1 << 44) /* 16 TiB */

/* The order in which docs/architecture.md lists them. */
static const char *const image_manifest_members[] = {
	"name",          "version",      "arch",           "format",   "digest",  "size_bytes",
	"stored_digest", "stored_bytes", "root_partition", "firmware", "created",
};

static bool image_manifest_verify(const char *bytes, size_t size,
				  const uint8_t signature[IMAGE_SIGNATURE_SIZE],
				  const struct image_keys *keys)
{
	for (size_t i = 0; i < keys->count; i++)
		if (crypto_sign_verify_detached(signature, (const unsigned char *)bytes, size,
						keys->keys[i]) == 0)
			return true;
	return false;
}

/* With and without the newline that a text file ends in. */
static bool verify_text(const json_t *object, size_t flags,
			const uint8_t signature[IMAGE_SIGNATURE_SIZE],
			const struct image_keys *keys)
{
	CLEANUP(freep) char *compact = json_dumps(object, JSON_COMPACT | flags);
	CLEANUP(text_done) struct text line = {0};

	if (!compact)
		return false;
	text_addf(&line, "%s\n", compact);
	if (line.failed)
		return false;
	return image_manifest_verify(line.data, line.size, signature, keys) ||
	       image_manifest_verify(line.data, line.size - 1, signature, keys);
}

static bool verify_object(json_t *object, const uint8_t signature[IMAGE_SIGNATURE_SIZE],
			  const struct image_keys *keys)
{
	CLEANUP(json_decrefp) json_t *ordered = json_object();
	const char *key;
	json_t *value;

	if (!ordered)
		return false;
	for (size_t i = 0; i < COUNT_OF(image_manifest_members); i++) {
		value = json_object_get(object, image_manifest_members[i]);
		if (value && json_object_set(ordered, image_manifest_members[i], value) < 0)
			return false;
	}
	json_object_foreach(object, key, value)
	{
		if (json_object_set(ordered, key, value) < 0)
			return false;
	}
	return verify_text(ordered, 0, signature, keys) ||
	       verify_text(object, JSON_SORT_KEYS, signature, keys);
}

static int check_signature(json_t *manifest, const char *signature, const struct image_keys *keys,
			   struct problem *problem)
{
	uint8_t bytes[IMAGE_SIGNATURE_SIZE];
	bool good;

	if (!signature || hex_decode(signature, bytes, sizeof(bytes)) != 0) {
		(void)problem_set(problem, E_DIGEST, "the image's manifest carries no signature");
		problem_hint(problem,
			     "sign the image with a key whose public half is in the ramdisk");
		return problem->code;
	}
	good = json_is_string(manifest)
		       ? image_manifest_verify(json_string_value(manifest),
					       json_string_length(manifest), bytes, keys)
		       : verify_object(manifest, bytes, keys);
	if (good)
		return 0;
	(void)problem_set(problem, E_DIGEST, "the signature of the image's manifest is not valid");
	problem_detail(problem, "tried %zu keys of the ramdisk", keys->count);
	problem_hint(problem,
		     "sign the image again, or build the ramdisk with the signer's public key");
	return problem->code;
}

static void read_digest(struct json_reader *reader, const char *key, uint8_t ret[DIGEST_SIZE])
{
	const char *text = json_get_string(reader, key, true);

	if (text && !problem_is_set(&reader->problem) && hex_decode(text, ret, DIGEST_SIZE) != 0)
		(void)problem_set(&reader->problem, E_MALFORMED,
				  "the manifest's %s is not a BLAKE2b-256 digest in hex", key);
}

static int image_manifest_read_object(const json_t *object, struct image_manifest *ret,
				      struct problem *problem)
{
	struct json_reader reader = json_reader(object);
	struct image_manifest manifest = {0};
	const char *name = json_get_string(&reader, "name", true);
	const char *version = json_get_string(&reader, "version", true);
	const char *format = json_get_string(&reader, "format", true);

	manifest.size_bytes =
		(uint64_t)json_get_int(&reader, "size_bytes", 512, IMAGE_SIZE_LIMIT, 0, true);
	manifest.stored_bytes =
		(uint64_t)json_get_int(&reader, "stored_bytes", 1, IMAGE_SIZE_LIMIT, 0, true);
	manifest.root_partition =
		(uint32_t)json_get_int(&reader, "root_partition", 1, 128, 0, false);
	read_digest(&reader, "digest", manifest.digest);
	read_digest(&reader, "stored_digest", manifest.stored_digest);
	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	if (strcmp(format, "raw+zstd") != 0)
		return problem_set(problem, E_UNSUPPORTED,
				   "the image's format is '%.40s', this agent writes raw+zstd",
				   format);
	if (manifest.size_bytes % 512 != 0)
		return problem_set(problem, E_MALFORMED,
				   "the image's size is not a whole number of sectors");
	if (!text_copy(manifest.name, sizeof(manifest.name), name) ||
	    !text_copy(manifest.version, sizeof(manifest.version), version))
		return problem_set(problem, E_LIMIT, "the image's name or version is too long");

	*ret = manifest;
	return 0;
}

int image_manifest_read(json_t *manifest, const char *signature, const struct image_keys *keys,
			struct image_manifest *ret, struct problem *problem)
{
	CLEANUP(json_decrefp) json_t *parsed = NULL;
	int rc;

	/* First who says it, then what it says. */
	if (keys) {
		rc = check_signature(manifest, signature, keys, problem);
		if (rc)
			return rc;
	}
	if (json_is_string(manifest)) {
		rc = json_read(json_string_value(manifest), json_string_length(manifest),
			       IMAGE_MANIFEST_LIMIT, &parsed, problem);
		if (rc)
			return rc;
		manifest = parsed;
	}
	if (!json_is_object(manifest))
		return problem_set(problem, E_MALFORMED,
				   "the image's manifest is not a JSON object");
	return image_manifest_read_object(manifest, ret, problem);
}

static int image_manifest_load_key(const char *path, struct image_keys *ret,
				   struct problem *problem)
{
	CLEANUP(freep) char *data = NULL;
	size_t size = 0;
	int rc = file_read(path, 256, &data, &size);

	if (rc)
		return problem_set(problem, rc, "image key %s cannot be read: %s", path,
				   error_text(rc));
	if (ret->count == IMAGE_KEY_LIMIT)
		return problem_set(problem, E_LIMIT, "more than %d image keys", IMAGE_KEY_LIMIT);
	if (size == IMAGE_KEY_SIZE) {
		memcpy(ret->keys[ret->count++], data, IMAGE_KEY_SIZE);
		return 0;
	}
	while (size > 0 &&
	       (data[size - 1] == '\n' || data[size - 1] == '\r' || data[size - 1] == ' '))
		data[--size] = '\0';
	if (hex_decode(data, ret->keys[ret->count], IMAGE_KEY_SIZE) != 0) {
		(void)problem_set(problem, E_MALFORMED, "image key %s is not an ed25519 public key",
				  path);
		problem_hint(problem, "32 raw bytes or 64 hex digits are expected");
		return problem->code;
	}
	ret->count++;
	return 0;
}

int image_keys_load(const struct agent_env *env, struct image_keys *ret, struct problem *problem)
{
	char names[IMAGE_KEY_LIMIT + 1][64];
	size_t count = sysfs_names(env, "/etc/haas/image-keys", names, COUNT_OF(names));
	struct image_keys keys = {0};
	char path[SYSFS_PATH_SIZE];
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		size_t size = strlen(names[i]);

		if (size > 4 && strcmp(names[i] + size - 4, ".pub") == 0 &&
		    sysfs_path(env, path, "/etc/haas/image-keys/%s", names[i]))
			rc = image_manifest_load_key(path, &keys, problem);
	}
	if (!rc && sysfs_path(env, path, "/etc/haas/image.pub")) {
		rc = image_manifest_load_key(path, &keys, problem);
		if (rc == -ENOENT) {
			*problem = (struct problem){0};
			rc = 0;
		}
	}
	if (!rc)
		*ret = keys;
	return rc;
}
