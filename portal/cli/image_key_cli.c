/* haasctl rotation image, image-end; image keys, resign: the keys that sign images. A key is believed where its public half lies: the folder
 * of portald and bampid, and the ramdisk. portald keeps the record. Each step looks whether it is done, so both commands are run again after
 * anything that stopped them. */
#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/file.h"
#include "common/io/run_program.h"
#include "common/model/image_keys.h"

#include "portal/cli/listing.h"

#define IMAGE_KEY_CLI_FOLDER    "/etc/haas/image-keys"
#define IMAGE_KEY_CLI_LIST      "/keys/image?limit=500"
#define IMAGE_KEY_CLI_RELOAD_MS 30000
#define IMAGE_KEY_CLI_TRIES     25
#define IMAGE_KEY_CLI_TRY_MS    200

/* --- files --- */

static const char *image_key_cli_folder(const struct command_input *input)
{
	const char *folder = command_option(input, "--folder");

	return folder ? folder : IMAGE_KEY_CLI_FOLDER;
}

/* The secret key of the command, made if it is not there; `ret` is its public half, and where that goes. */
static int image_key_cli_own(const struct command_input *input, struct image_key *ret)
{
	const char *folder = image_key_cli_folder(input);
	const char *secret = input->words[0];
	char text[IMAGE_KEY_TEXT_SIZE];
	struct problem problem = {0};
	int rc = access(secret, F_OK) == 0 ? 0 : haasctl_image_key_make(secret, &problem);

	if (rc == 0)
		rc = haasctl_image_key_public(secret, text, &problem);
	if (rc == 0)
		rc = image_key_parse(text, ret);
	if (rc == 0 && !text_format(ret->path, sizeof(ret->path), "%s/%s.pub", folder, ret->id))
		rc = problem_set(&problem, -ENAMETOOLONG, "the path %s is too long", folder);
	return rc ? haasctl_told(&problem) : EXIT_OK;
}

/* Into the folder of those that are believed. */
static int image_key_cli_put(const struct image_key *key)
{
	char line[IMAGE_KEY_TEXT_SIZE + 1];
	int rc;

	(void)text_format(line, sizeof(line), "%s\n", key->text);
	rc = file_write_atomic(key->path, line, strlen(line), 0644);
	return rc ? haasctl_cannot("write", key->path, rc) : EXIT_OK;
}

/* Both read the folder again, and go on with their work. Without systemd a person does it. */
static void image_key_cli_reload(void)
{
	static const char *const argv[] = {"/usr/bin/systemctl", "reload", "portald", "bampid",
					   NULL};
	struct problem problem = {0};

	if (access("/run/systemd/system", F_OK) == 0 &&
	    run_program(&(struct run_program){.argv = argv, .deadline_ms = IMAGE_KEY_CLI_RELOAD_MS},
			&problem) < 0)
		haasctl_problem(&problem);
}

/* --- the record --- */

static int image_key_cli_tell(struct haasctl *haasctl, const struct command_input *input,
			      const char *public_key)
{
	CLEANUP(text_done) struct text body = {0};
	struct problem problem = {0};
	int status = EXIT_CONFLICT;

	json_begin_object(&body, NULL);
	json_put_string(&body, "public_key", public_key);
	json_end_object(&body);
	/* A reload takes a moment. */
	for (int i = 0; status == EXIT_CONFLICT && i < IMAGE_KEY_CLI_TRIES; i++) {
		CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};

		problem = (struct problem){0};
		status = haasctl_call(haasctl, input,
				      &(struct haasctl_call){.method = "POST",
							     .target = "/keys/image",
							     .body = text_get(&body),
							     .problem = &problem},
				      &reply);
		if (status == EXIT_CONFLICT && !haasctl_sleep(haasctl, IMAGE_KEY_CLI_TRY_MS))
			break;
	}
	if (status != EXIT_OK)
		haasctl_problem(&problem);
	return status;
}

/* Was it retired before? */
static int image_key_cli_is_retired(struct haasctl *haasctl, const struct command_input *input,
				    const char *id, bool *ret)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	int status = haasctl_get(haasctl, input, IMAGE_KEY_CLI_LIST, &reply);
	const json_t *row;
	size_t i;

	*ret = false;
	json_array_foreach(json_object_get(reply.json, "items"), i, row)
	{
		if (strcmp(haasctl_word(row, "id"), id) == 0)
			*ret = haasctl_word(row, "until")[0] != '\0';
	}
	return status;
}

/* A retired key is refused before its public half is where it would be believed. */
static int image_key_cli_fresh(struct haasctl *haasctl, const struct command_input *input,
			       const struct image_key *key)
{
	struct problem problem = {0};
	bool retired = false;
	int status = image_key_cli_is_retired(haasctl, input, key->id, &retired);

	if (status != EXIT_OK || !retired)
		return status;
	(void)problem_set(&problem, E_CONFLICT, "the image key %s was retired", key->id);
	problem_hint(&problem, "name a FILE that is not there: a new key is made");
	return haasctl_told(&problem);
}

/* Those before it, too: one is retired later. */
static int image_key_cli_tell_all(struct haasctl *haasctl, const struct command_input *input)
{
	CLEANUP(image_keys_freep) struct image_keys *keys = NULL;
	struct problem problem = {0};
	int status = EXIT_OK;

	if (image_keys_read(image_key_cli_folder(input), &keys, &problem) != 0)
		return haasctl_told(&problem);
	for (size_t i = 0; status == EXIT_OK && i < image_keys_count(keys); i++)
		status = image_key_cli_tell(haasctl, input, image_keys_at(keys, i)->text);
	return status;
}

static int image_key_cli_begin(void *context, const struct command_input *input)
{
	struct image_key made = {0};
	int status = haasctl_use_here(context, input);

	if (status == EXIT_OK)
		status = image_key_cli_own(input, &made);
	if (status == EXIT_OK)
		status = image_key_cli_fresh(context, input, &made);
	if (status == EXIT_OK)
		status = image_key_cli_put(&made);
	if (status != EXIT_OK)
		return status;
	image_key_cli_reload();
	status = image_key_cli_tell_all(context, input);
	if (status != EXIT_OK)
		return status;
	haasctl_say_done(input, input->command->done, made.id, NULL);
	fprintf(stderr,
		"Now: haasctl site init puts it into the ramdisk. On a second controller copy\n"
		"%s.\n"
		"Then: haasctl image resign NAME:VERSION --key %s\n"
		"At last: haasctl rotation image-end OLD\n",
		made.path, input->words[0]);
	return EXIT_OK;
}

static int image_key_cli_unlink(const struct command_input *input, const char *id)
{
	CLEANUP(image_keys_freep) struct image_keys *keys = NULL;
	struct problem problem = {0};

	if (image_keys_read(image_key_cli_folder(input), &keys, &problem) != 0)
		return haasctl_told(&problem);
	for (size_t i = 0; i < image_keys_count(keys); i++) {
		const struct image_key *key = image_keys_at(keys, i);

		if (strcmp(key->id, id) == 0 && unlink(key->path) != 0)
			return haasctl_cannot("remove", key->path, -errno);
	}
	return EXIT_OK;
}

static int image_key_cli_end(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	bool retired = false; /* and this command ended then */
	int status = haasctl_use_here(context, input);

	if (status == EXIT_OK)
		status = image_key_cli_is_retired(context, input, input->words[0], &retired);
	haasctl_path(&target, "/keys/image/", input->words[0], "");
	if (status == EXIT_OK && !retired)
		status = haasctl_call(
			context, input,
			&(struct haasctl_call){.method = "DELETE", .target = text_get(&target)},
			&reply);
	if (status == EXIT_OK)
		status = image_key_cli_unlink(input, input->words[0]);
	if (status != EXIT_OK)
		return status;
	image_key_cli_reload();
	haasctl_say_done(input, input->command->done, NULL, NULL);
	fprintf(stderr, "Now: haasctl site init takes it out of the ramdisk.\n");
	return EXIT_OK;
}

/* --- image keys, resign --- */

static int image_key_cli_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("id"),     COLUMN("since"), COLUMN("until"),
		NUMBER("images"), WIDE("actor"),   WIDE("public_key"),
	};

	return listing_filtered(context, input, "/keys/image", OPTION_NAMES(NULL),
				COLUMNS(columns));
}

/* What is signed anew was signed by a key that is believed here, and is the image that was asked for: a
 * server cannot have another one signed. */
static int image_key_cli_verify(const struct image_keys *keys, const json_t *image,
				const char *word, struct problem *problem)
{
	const char *manifest = haasctl_word(image, "manifest");
	CLEANUP(json_decrefp) json_t *json = NULL;
	char id[IMAGE_KEY_ID_SIZE];
	char name[128];
	const char *version = haasctl_split_version(word, name);
	int rc = image_keys_verify(keys, haasctl_word(image, "signature"), manifest,
				   strlen(manifest), id);

	if (rc) {
		(void)problem_set(problem, rc, "the signature of image %s is of no key known here",
				  word);
		problem_hint(problem, "put the public key that you trust into the folder of "
				      "--folder, as NAME.pub");
		return rc;
	}
	rc = json_read(manifest, strlen(manifest), JSON_LIMIT_DEFAULT, &json, problem);
	if (rc)
		return rc;
	if (version && strcmp(haasctl_word(json, "name"), name) == 0 &&
	    strcmp(haasctl_word(json, "version"), version) == 0)
		return 0;
	return problem_set(problem, E_MALFORMED, "the server sent the manifest of %s:%s for %s",
			   haasctl_word(json, "name"), haasctl_word(json, "version"), word);
}

struct image_resign {
	struct haasctl *haasctl;
	const struct command_input *input;
	struct image_keys *keys; /* that are believed here */
	unsigned char secret[crypto_sign_SECRETKEYBYTES];
};

static void image_resign_done(struct image_resign *resign)
{
	image_keys_free(resign->keys);
	sodium_memzero(resign->secret, sizeof(resign->secret));
}

static int image_key_cli_resign_one(const struct image_resign *resign, const char *word)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply before = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply after = {0};
	const struct command_input *input = resign->input;
	char signature[HAASCTL_IMAGE_SIGNATURE_SIZE];
	struct problem problem = {0};
	int status = haasctl_version_path(&target, "/images/", word);

	if (status == EXIT_OK)
		status = haasctl_get(resign->haasctl, input, text_get(&target), &before);
	if (status != EXIT_OK)
		return status;
	if (image_key_cli_verify(resign->keys, before.json, word, &problem) != 0)
		return haasctl_told(&problem);
	const char *manifest = haasctl_word(before.json, "manifest");
	haasctl_image_signature(resign->secret, manifest, strlen(manifest), signature);
	json_begin_object(&body, NULL);
	json_put_string(&body, "signature", signature);
	json_end_object(&body);
	text_add(&target, "/signature");
	status = haasctl_call(resign->haasctl, input,
			      &(struct haasctl_call){.method = "PUT",
						     .target = text_get(&target),
						     .body = text_get(&body)},
			      &after);
	if (status == EXIT_OK)
		haasctl_say_done(input, input->command->done, word, after.json);
	return status;
}

/* The key stays on this side. */
static int image_key_cli_resign(void *context, const struct command_input *input)
{
	const char *path = command_option(input, "--key");
	CLEANUP(image_resign_done)
	struct image_resign resign = {.haasctl = context, .input = input};
	struct problem problem = {0};
	struct tally tally = {0};

	if (!path)
		return haasctl_usage("image resign needs --key FILE (haasctl rotation image FILE)");
	if (haasctl_image_key_secret(path, resign.secret, &problem) != 0 ||
	    image_keys_read(image_key_cli_folder(input), &resign.keys, &problem) != 0)
		return haasctl_told(&problem);
	for (size_t i = 0; i < input->word_count && !haasctl_interrupted(context); i++)
		tally_add(&tally, image_key_cli_resign_one(&resign, input->words[i]));
	return tally_status(&tally);
}

static const struct option_row image_key_cli_folder_options[] = {
	{"--folder", 0, OPTION_VALUE, "FOLDER", "image_keys of portald.conf, if it is another"},
};
static const struct option_row image_key_cli_list_options[] = {
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row image_key_cli_resign_options[] = {
	{"--key", 0, OPTION_VALUE, "FILE", "the secret key that signs"},
	{"--folder", 0, OPTION_VALUE, "FOLDER",
	 "of trusted *.pub (default " IMAGE_KEY_CLI_FOLDER ")"},
};

static const struct command image_key_cli_commands[] = {
	{"image", "keys", "", "the keys that sign images, and how many each signed",
	 OPTIONS(image_key_cli_list_options), 0, 0, image_key_cli_list, .example = "image keys"},
	{"image", "resign", "NAME:VERSION...", "sign images anew, with another key",
	 OPTIONS(image_key_cli_resign_options), 1, 1000, image_key_cli_resign,
	 .example = "image resign debian:12.2 --key images2.key",
	 .done = "image {*} is signed with key {key_id}"},
	{"rotation", "image", "FILE", "a new key for images, made if FILE is not there",
	 OPTIONS(image_key_cli_folder_options), 1, 1, image_key_cli_begin,
	 .example = "rotation image images2.key",
	 .done = "images signed with key {*} are accepted"},
	{"rotation", "image-end", "KEY", "an old key signs images no more",
	 OPTIONS(image_key_cli_folder_options), 1, 1, image_key_cli_end,
	 .example = "rotation image-end 0123456789abcdef",
	 .done = "images signed with key {1} are refused"},
};
const struct command_group image_key_group = {image_key_cli_commands,
					      COUNT_OF(image_key_cli_commands)};
