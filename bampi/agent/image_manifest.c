#include "bampi/agent/image_manifest.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"

#define IMAGE_MANIFEST_LIMIT ((size_t)64 << 10)
#define IMAGE_SIZE_LIMIT     ((int64_t)1 << 44) /* 16 TiB */

/* The order in which docs/architecture.md lists them. */
static const char *const image_manifest_members[] = {
	"name",          "version",      "arch",           "format",   "digest",  "size_bytes",
	"stored_digest", "stored_bytes", "root_partition", "firmware", "created",
};

/* With and without the newline that a text file ends in. */
static bool verify_text(const json_t *object, size_t flags,
			const uint8_t signature[PUBLIC_SIGNATURE_SIZE],
			const struct public_keys *keys)
{
	CLEANUP(freep) char *compact = json_dumps(object, JSON_COMPACT | flags);
	CLEANUP(text_done) struct text line = {0};

	if (!compact)
		return false;
	text_addf(&line, "%s\n", compact);
	if (line.failed)
		return false;
	return public_keys_verify(keys, line.data, line.size, signature) ||
	       public_keys_verify(keys, line.data, line.size - 1, signature);
}

static bool verify_object(json_t *object, const uint8_t signature[PUBLIC_SIGNATURE_SIZE],
			  const struct public_keys *keys)
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

static int check_signature(json_t *manifest, const char *signature, const struct public_keys *keys,
			   struct problem *problem)
{
	uint8_t bytes[PUBLIC_SIGNATURE_SIZE];
	bool good;

	if (!signature || hex_decode(signature, bytes, sizeof(bytes)) != 0) {
		(void)problem_set(problem, E_DIGEST, "the image's manifest carries no signature");
		problem_hint(problem,
			     "sign the image with a key whose public half is in the ramdisk");
		return problem->code;
	}
	good = json_is_string(manifest) ? public_keys_verify(keys, json_string_value(manifest),
							     json_string_length(manifest), bytes)
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
	const char *arch = json_get_string(&reader, "arch", true);
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
	    !text_copy(manifest.version, sizeof(manifest.version), version) ||
	    !text_copy(manifest.arch, sizeof(manifest.arch), arch))
		return problem_set(problem, E_LIMIT,
				   "the image's name, version or arch is too long");

	*ret = manifest;
	return 0;
}

int image_manifest_decode(json_t *manifest, struct image_manifest *ret, struct problem *problem)
{
	CLEANUP(json_decrefp) json_t *parsed = NULL;
	int rc;

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

int image_manifest_read(json_t *manifest, const char *signature, const struct public_keys *keys,
			struct image_manifest *ret, struct problem *problem)
{
	/* First who says it, then what it says. */
	int rc = check_signature(manifest, signature, keys, problem);

	return rc ? rc : image_manifest_decode(manifest, ret, problem);
}
