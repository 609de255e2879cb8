/* haasctl image: catalogue, and upload in parts. The signer's side is image_sign_cli.c. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/file.h"

#include "portal/cli/confirm.h"
#include "portal/cli/listing.h"

#define IMAGE_CLI_MANIFEST_LIMIT ((size_t)64 << 10)
#define SIGNATURE_LIMIT          ((size_t)256)
#define IMAGE_CLI_PART_SIZE      ((size_t)4 << 20)

static const struct output_column image_columns[] = {
	COLUMN("name"),
	COLUMN("version"),
	COLUMN("state"),
	COLUMN("tenant"),
	COLUMN("public"),
	COLUMN("firmware"),
	TITLED_NUMBER("size_bytes", "SIZE"),
	TITLED_NUMBER("stored_bytes", "STORED"),
	WIDE_NUMBER("received_bytes"),
	WIDE("grants"),
	WIDE("created_at"),
	WIDE("key_id"),
	WIDE("digest"),
	WIDE("stored_digest"),
};

static int image_list(void *context, const struct command_input *input)
{
	return listing_filtered(context, input, "/images", OPTION_NAMES("--name", "--state"),
				COLUMNS(image_columns));
}

static int image_show(void *context, const struct command_input *input)
{
	static const char *const order[] = {"name",           "version",
					    "state",          "tenant",
					    "public",         "grants",
					    "firmware",       "size_bytes",
					    "stored_bytes",   "received_bytes",
					    "root_partition", "created_at",
					    "key_id",         NULL};
	CLEANUP(text_done) struct text target = {0};
	int status = haasctl_version_path(&target, "/images/", input->words[0]);

	return status == EXIT_OK ? listing_show(context, input, text_get(&target),
						&(struct show){order, COLUMNS(image_columns)})
				 : status;
}

/* --- import --- */

/* What lies on this side: X.manifest.json, its signature X.manifest.json.sig, the image X.img.zst.
 */
struct bundle {
	char content[PATH_MAX];
	char *manifest, *signature;
	json_t *json;
};

static void bundle_done(struct bundle *bundle)
{
	free(bundle->manifest);
	free(bundle->signature);
	json_decref(bundle->json);
}

static int read_signature(struct bundle *bundle, const char *path)
{
	char signature_path[PATH_MAX];
	int rc = -ENAMETOOLONG;

	if (text_format(signature_path, sizeof(signature_path), "%s.sig", path))
		rc = file_read(signature_path, SIGNATURE_LIMIT, &bundle->signature, NULL);
	if (rc < 0) {
		(void)haasctl_cannot("read the signature", signature_path, rc);
		fprintf(stderr, "  hint: haasctl image sign %s --key FILE\n", path);
		return EXIT_FAILED;
	}
	bundle->signature[strcspn(bundle->signature, "\r\n \t")] = '\0';
	return EXIT_OK;
}

static int read_bundle(struct bundle *bundle, const char *path)
{
	static const char suffix[] = ".manifest.json";
	size_t length = strlen(path);
	struct problem problem = {0};
	size_t size = 0;

	if (length < sizeof(suffix) || strcmp(path + length - strlen(suffix), suffix) != 0 ||
	    !text_format(bundle->content, sizeof(bundle->content), "%.*s.img.zst",
			 (int)(length - strlen(suffix)), path))
		return haasctl_usage("%s does not end in %s", path, suffix);
	int rc = file_read(path, IMAGE_CLI_MANIFEST_LIMIT, &bundle->manifest, &size);
	if (rc < 0)
		return haasctl_cannot("read", path, rc);
	rc = json_read(bundle->manifest, size, IMAGE_CLI_MANIFEST_LIMIT, &bundle->json, &problem);
	if (rc == 0 &&
	    (!haasctl_word(bundle->json, "name")[0] || !haasctl_word(bundle->json, "version")[0] ||
	     !haasctl_word(bundle->json, "stored_digest")[0]))
		rc = problem_set(&problem, E_INVALID, "it needs name, version and stored_digest");
	if (rc < 0) {
		fprintf(stderr, "haasctl: %s is not a manifest: %s\n", path, problem.message);
		return EXIT_FAILED;
	}
	return read_signature(bundle, path);
}

static int image_cli_send_part(void *context, const struct command_input *input, const char *target,
			       int fd, int64_t offset, struct haasctl_reply *ret)
{
	CLEANUP(freep) char *part = malloc(IMAGE_CLI_PART_SIZE);
	CLEANUP(text_done) struct text place = {0};
	ssize_t size = part ? pread(fd, part, IMAGE_CLI_PART_SIZE, offset) : -1;

	if (size <= 0)
		return haasctl_cannot("read", "the image", size < 0 ? -errno : E_MALFORMED);
	text_addf(&place, "%s/content?offset=%" PRId64, target, offset);
	return haasctl_call(context, input,
			    &(struct haasctl_call){.method = "PUT",
						   .target = text_get(&place),
						   .body = part,
						   .body_size = (size_t)size,
						   .content_type = "application/octet-stream"},
			    ret);
}

static void image_cli_tell_progress(const char *path, const json_t *image)
{
	int64_t received = json_integer_value(json_object_get(image, "received_bytes"));
	int64_t whole = json_integer_value(json_object_get(image, "stored_bytes"));

	if (!isatty(STDERR_FILENO))
		return;
	say_control(stderr, "\r\033[K");
	fprintf(stderr, "%s %" PRId64 " %%", path, whole > 0 ? received * 100 / whole : 0);
}

/* *ret is the caller's to close, whatever comes of it. */
static int open_content(const struct bundle *bundle, int *ret)
{
	int64_t wanted = json_integer_value(json_object_get(bundle->json, "stored_bytes"));
	struct stat st;

	*ret = open(bundle->content, O_RDONLY | O_CLOEXEC);
	if (*ret < 0 || fstat(*ret, &st) != 0)
		return haasctl_cannot("read", bundle->content, -errno);
	if (st.st_size == wanted)
		return EXIT_OK;
	fprintf(stderr, "haasctl: %s has %" PRId64 " bytes, its manifest says %" PRId64 "\n",
		bundle->content, (int64_t)st.st_size, wanted);
	return EXIT_FAILED;
}

/* Announces it unless it is there already with the same content; *ret is the image now. */
static int image_cli_announce(void *context, const struct command_input *input,
			      const struct bundle *bundle, const char *target,
			      struct haasctl_reply *ret)
{
	CLEANUP(text_done) struct text body = {0};
	int status = haasctl_get_before(context, input, target, ret);

	if (status == EXIT_OK && strcmp(haasctl_word(ret->json, "stored_digest"),
					haasctl_word(bundle->json, "stored_digest")) == 0)
		return EXIT_OK;
	haasctl_reply_done(ret);
	if (status != EXIT_OK)
		return status;
	json_begin_object(&body, NULL);
	json_put_string(&body, "manifest", bundle->manifest);
	json_put_string(&body, "signature", bundle->signature);
	json_put_bool(&body, "public", command_option(input, "--public") != NULL);
	if (command_option(input, "--tenant"))
		json_put_string(&body, "tenant", command_option(input, "--tenant"));
	json_end_object(&body);
	return haasctl_post(context, input, "/images", &body, ret);
}

/* Goes on where the server's copy ends, so an interrupted import is simply repeated. */
static int image_import(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {COLUMN("name"), COLUMN("version"),
						       COLUMN("state"), COLUMN("stored_digest")};
	CLEANUP(bundle_done) struct bundle bundle = {0};
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(closep) int fd = -1;
	CLEANUP(haasctl_reply_done) struct haasctl_reply image = {0};
	int status = read_bundle(&bundle, input->words[0]);

	if (status == EXIT_OK)
		status = open_content(&bundle, &fd);
	if (status != EXIT_OK)
		return status;
	haasctl_path(&target, "/images/", haasctl_word(bundle.json, "name"), "/");
	text_add_percent(&target, haasctl_word(bundle.json, "version"));
	status = image_cli_announce(context, input, &bundle, text_get(&target), &image);
	while (status == EXIT_OK && strcmp(haasctl_word(image.json, "state"), "uploading") == 0) {
		int64_t received =
			json_integer_value(json_object_get(image.json, "received_bytes"));

		image_cli_tell_progress(bundle.content, image.json);
		haasctl_reply_done(&image);
		status = image_cli_send_part(context, input, text_get(&target), fd, received,
					     &image);
	}
	if (isatty(STDERR_FILENO))
		say_control(stderr, "\r\033[K");
	if (status == EXIT_UNREACHABLE || status == EXIT_INTERRUPTED)
		fprintf(stderr,
			"haasctl: the received part is kept; repeat the import to continue\n");
	if (status != EXIT_OK || listing_json(input, image.json))
		return status;
	json_t *rows = json_pack("[O]", image.json);
	status = listing_rows(input, rows, COLUMNS(columns));
	json_decref(rows);
	return status;
}

/* --- grants --- */

static int change_grant(void *context, const struct command_input *input, const char *method)
{
	CLEANUP(text_done) struct text target = {0};
	int status = haasctl_version_path(&target, "/images/", input->words[0]);

	if (status != EXIT_OK)
		return status;
	text_add(&target, "/grants/");
	text_add_percent(&target, input->words[1]);
	return haasctl_do(context, input,
			  &(struct haasctl_call){.method = method, .target = text_get(&target)});
}

static int image_grant(void *context, const struct command_input *input)
{
	return change_grant(context, input, "PUT");
}

static int image_revoke(void *context, const struct command_input *input)
{
	return change_grant(context, input, "DELETE");
}

/* --- its end --- */

/* `state`, or with --undo back. */
static int image_change_state(void *context, const struct command_input *input, const char *state,
			      bool older)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply before = {0};
	int status = haasctl_version_path(&target, "/images/", input->words[0]);
	bool undo = command_option(input, "--undo") != NULL;
	const char *undone = older ? "image {1} and older versions may be added again"
				   : "image {1} is ready again";

	/* One that is gone may have a word about older ones that is taken back. */
	if (status == EXIT_OK)
		status = haasctl_get_before(context, input, text_get(&target), &before);
	json_begin_object(&body, NULL);
	json_put_string(&body, "state", undo ? "ready" : state);
	if (older)
		json_put_bool(&body, "older", true);
	json_end_object(&body);
	return status == EXIT_OK
		       ? haasctl_do(context, input,
				    &(struct haasctl_call){.method = "PATCH",
							   .done = undo ? undone : NULL,
							   .target = text_get(&target),
							   .before = &before,
							   .body = text_get(&body),
							   .content_type =
								   "application/merge-patch+json"})
		       : status;
}

static int image_retire(void *context, const struct command_input *input)
{
	return image_change_state(context, input, "retired", false);
}

static int image_withdraw(void *context, const struct command_input *input)
{
	return image_change_state(context, input, "withdrawn",
				  command_option(input, "--older") != NULL);
}

static int image_cli_image_delete(void *context, const struct command_input *input)
{
	static const struct confirm_row row = {CONFIRM_IMAGES, 0, "will be deleted"};
	struct tally tally = {0};
	int status = confirm_ask(context, input, &row);

	if (status != EXIT_OK)
		return status;
	for (size_t i = 0; i < input->word_count && !haasctl_interrupted(context); i++) {
		CLEANUP(text_done) struct text target = {0};

		status = haasctl_version_path(&target, "/images/", input->words[i]);
		if (status == EXIT_OK)
			status = haasctl_do(context, input,
					    &(struct haasctl_call){.method = "DELETE",
								   .target = text_get(&target),
								   .object = input->words[i]});
		tally_add(&tally, status);
	}
	return tally_status(&tally);
}

static const struct option_row image_cli_retire_options[] = {
	{"--undo", 0, OPTION_FLAG, NULL, "it may be installed again"},
};
static const struct option_row image_cli_withdraw_options[] = {
	{"--older", 0, OPTION_FLAG, NULL, "and all older ones, also those to come"},
	{"--undo", 0, OPTION_FLAG, NULL, "it may be installed again"},
};
static const struct option_row image_cli_delete_options[] = {CONFIRM_OPTION};
static const struct option_row image_cli_list_options[] = {
	{"--name", 0, OPTION_VALUE, "GLOB", "only names like this"},
	{"--state", 0, OPTION_VALUE, "uploading|ready|retired|withdrawn", "only in this state"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row image_cli_import_options[] = {
	{"--public", 0, OPTION_FLAG, NULL, "every tenant may use it"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "its owner (default: the operator)"},
};

static const struct command image_cli_commands[] = {
	{"image", "list", "", "the images that may be used", OPTIONS(image_cli_list_options), 0, 0,
	 image_list, .example = "image list --state ready"},
	{"image", "show", "NAME:VERSION", "one image", NO_OPTIONS, 1, 1, image_show,
	 .example = "image show debian:12"},
	{"image", "import", "X.manifest.json",
	 "announce and upload a signed image; repeat to resume", OPTIONS(image_cli_import_options),
	 1, 1, image_import, .example = "image import debian.manifest.json --public"},
	{"image", "grant", "NAME:VERSION TENANT", "let a tenant use the image", NO_OPTIONS, 2, 2,
	 image_grant, .example = "image grant debian:12 acme",
	 .done = "image {1} granted to tenant {2}"},
	{"image", "revoke", "NAME:VERSION TENANT", "take the grant back", NO_OPTIONS, 2, 2,
	 image_revoke, .example = "image revoke debian:12 acme",
	 .done = "image {1} withdrawn from tenant {2}"},
	{"image", "retire", "NAME:VERSION", "no new installs of it; what runs goes on",
	 OPTIONS(image_cli_retire_options), 1, 1, image_retire, .example = "image retire debian:12",
	 .done = "image {1} retired"},
	{"image", "withdraw", "NAME:VERSION", "a bad version: installs under way stop too",
	 OPTIONS(image_cli_withdraw_options), 1, 1, image_withdraw,
	 .example = "image withdraw debian:12.1 --older", .done = "image {1} is withdrawn"},
	{"image", "delete", "NAME:VERSION...", "delete images that nothing uses, with their bytes",
	 OPTIONS(image_cli_delete_options), 1, 1000, image_cli_image_delete,
	 .example = "image delete debian:12", .done = "image {*} deleted"},
};
const struct command_group image_group = {image_cli_commands, COUNT_OF(image_cli_commands)};
