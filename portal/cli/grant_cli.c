/* haasctl grant, package: who may use what is not their own; software for nodes. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/json_text.h"

#include "portal/cli/listing.h"

#define GRANT_CLI_PART_SIZE ((size_t)4 << 20)

static const struct output_column grant_cli_grant_columns[] = {
	NUMBER("id"),         COLUMN("kind"),       COLUMN("object"),     COLUMN("tenant"),
	COLUMN("granted_by"), COLUMN("created_at"), COLUMN("expires_at"), WIDE("valid"),
};

static int grant_list(void *context, const struct command_input *input)
{
	return listing_filtered(context, input, "/grants",
				OPTION_NAMES("--kind", "--tenant", "--object"),
				COLUMNS(grant_cli_grant_columns));
}

static int grant_add(void *context, const struct command_input *input)
{
	static const char *const members[] = {"kind", "object", "tenant"};
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	int status;

	json_begin_object(&body, NULL);
	for (size_t i = 0; i < COUNT_OF(members); i++)
		json_put_string(&body, members[i], input->words[i]);
	if (command_option(input, "--owner"))
		json_put_string(&body, "owner", command_option(input, "--owner"));
	if (command_option(input, "--until"))
		json_put_string(&body, "expires_at", command_option(input, "--until"));
	json_end_object(&body);
	status = haasctl_post(context, input, "/grants", &body, &reply);
	if (status == EXIT_OK && !listing_json(input, reply.json)) {
		json_t *rows = json_pack("[O]", reply.json);

		status = listing_rows(input, rows, COLUMNS(grant_cli_grant_columns));
		json_decref(rows);
	}
	haasctl_reply_done(&reply);
	return status;
}

static int grant_remove(void *context, const struct command_input *input)
{
	return haasctl_each(context, input, "DELETE", "/grants/", "");
}

/* --- packages --- */

static const struct output_column package_columns[] = {
	COLUMN("name"),
	COLUMN("version"),
	COLUMN("kind"),
	COLUMN("state"),
	COLUMN("tenant"),
	COLUMN("public"),
	TITLED_NUMBER("size_bytes", "SIZE"),
	WIDE_NUMBER("received_bytes"),
	WIDE("grants"),
	WIDE("created_at"),
	WIDE("digest"),
};

static int package_list(void *context, const struct command_input *input)
{
	return listing_filtered(context, input, "/packages", OPTION_NAMES("--name", "--state"),
				COLUMNS(package_columns));
}

static int package_show(void *context, const struct command_input *input)
{
	static const char *const order[] = {"name",           "version", "kind",       "state",
					    "tenant",         "public",  "grants",     "size_bytes",
					    "received_bytes", "digest",  "created_at", NULL};
	CLEANUP(text_done) struct text target = {0};
	int status = haasctl_version_path(&target, "/packages/", input->words[0]);

	return status == EXIT_OK ? listing_show(context, input, text_get(&target),
						&(struct show){order, COLUMNS(package_columns)})
				 : status;
}

static int grant_cli_package_delete(void *context, const struct command_input *input)
{
	struct tally tally = {0};

	for (size_t i = 0; i < input->word_count; i++) {
		CLEANUP(text_done) struct text target = {0};
		int status = haasctl_version_path(&target, "/packages/", input->words[i]);

		if (status == EXIT_OK)
			status = haasctl_do(context, input,
					    &(struct haasctl_call){.method = "DELETE",
								   .target = text_get(&target),
								   .object = input->words[i]});
		tally_add(&tally, status);
	}
	return tally_status(&tally);
}

static int digest_file(int fd, char ret[DIGEST_TEXT_SIZE])
{
	CLEANUP(freep) char *part = malloc(GRANT_CLI_PART_SIZE);
	CLEANUP(freep)
	crypto_generichash_state *state = aligned_alloc(64, crypto_generichash_statebytes());
	uint8_t digest[DIGEST_SIZE];
	ssize_t got = 0;

	if (!part || !state)
		return -ENOMEM;
	(void)crypto_generichash_init(state, NULL, 0, DIGEST_SIZE);
	for (off_t at = 0; (got = pread(fd, part, GRANT_CLI_PART_SIZE, at)) > 0; at += got)
		(void)crypto_generichash_update(state, (const uint8_t *)part, (size_t)got);
	if (got < 0)
		return -errno;
	(void)crypto_generichash_final(state, digest, sizeof(digest));
	hex_encode(digest, sizeof(digest), ret);
	return 0;
}

static int grant_cli_send_part(void *context, const struct command_input *input, const char *target,
			       int fd, int64_t offset, struct haasctl_reply *ret)
{
	CLEANUP(freep) char *part = malloc(GRANT_CLI_PART_SIZE);
	CLEANUP(text_done) struct text place = {0};
	ssize_t size = part ? pread(fd, part, GRANT_CLI_PART_SIZE, offset) : -1;

	if (size <= 0)
		return haasctl_cannot("read", input->words[1], size < 0 ? -errno : E_MALFORMED);
	text_addf(&place, "%s/content?offset=%" PRId64, target, offset);
	return haasctl_call(context, input,
			    &(struct haasctl_call){.method = "PUT",
						   .target = text_get(&place),
						   .body = part,
						   .body_size = (size_t)size,
						   .content_type = "application/octet-stream"},
			    ret);
}

/* Announced, unless the same is there already: an interrupted import is simply repeated. */
static int grant_cli_announce(void *context, const struct command_input *input, const char *target,
			      const char *digest, int64_t size, struct haasctl_reply *ret)
{
	CLEANUP(text_done) struct text body = {0};
	char name[128];
	const char *version = haasctl_split_version(input->words[0], name);
	const char *kind = command_option(input, "--kind");
	int status = haasctl_get_before(context, input, target, ret);

	if (status == EXIT_OK && strcmp(haasctl_word(ret->json, "digest"), digest) == 0)
		return EXIT_OK;
	haasctl_reply_done(ret);
	if (status != EXIT_OK)
		return status;
	json_begin_object(&body, NULL);
	json_put_string(&body, "name", name);
	json_put_string(&body, "version", version);
	json_put_string(&body, "kind", kind ? kind : "bundle");
	json_put_string(&body, "digest", digest);
	json_put_int(&body, "size_bytes", size);
	if (command_option(input, "--tenant"))
		json_put_string(&body, "tenant", command_option(input, "--tenant"));
	json_put_bool(&body, "public", command_option(input, "--public") != NULL);
	json_end_object(&body);
	return haasctl_post(context, input, "/packages", &body, ret);
}

static int package_import(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply package = {0};
	CLEANUP(closep) int fd = open(input->words[1], O_RDONLY | O_CLOEXEC);
	char digest[DIGEST_TEXT_SIZE];
	struct stat st = {0};
	int status = haasctl_version_path(&target, "/packages/", input->words[0]);
	int rc = fd < 0 || fstat(fd, &st) != 0 ? -errno : 0;

	if (status != EXIT_OK)
		return status;
	if (rc == 0)
		rc = digest_file(fd, digest);
	if (rc)
		return haasctl_cannot("read", input->words[1], rc);
	status =
		grant_cli_announce(context, input, text_get(&target), digest, st.st_size, &package);
	while (status == EXIT_OK && strcmp(haasctl_word(package.json, "state"), "uploading") == 0) {
		int64_t received =
			json_integer_value(json_object_get(package.json, "received_bytes"));

		haasctl_reply_done(&package);
		status = grant_cli_send_part(context, input, text_get(&target), fd, received,
					     &package);
	}
	if (status == EXIT_OK && !listing_json(input, package.json)) {
		json_t *rows = json_pack("[O]", package.json);

		status = listing_rows(input, rows, COLUMNS(package_columns));
		json_decref(rows);
	}
	return status;
}

static const struct option_row grant_cli_list_options[] = {
	{"--kind", 0, OPTION_VALUE, "image|package|archive", "only of this kind"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "only to this tenant"},
	{"--object", 0, OPTION_VALUE, "OBJECT", "only of this, NAME:VERSION or NAME"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row grant_cli_add_options[] = {
	{"--until", 0, OPTION_VALUE, "TIME", "when it ends, 2026-12-31T23:00:00Z (default never)"},
	{"--owner", 0, OPTION_VALUE, "TENANT", "owner of the archive, when several have that name"},
};
static const struct option_row package_list_options[] = {
	{"--name", 0, OPTION_VALUE, "GLOB", "only names like this"},
	{"--state", 0, OPTION_VALUE, "uploading|ready|retired", "only in this state"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row grant_cli_import_options[] = {
	{"--kind", 0, OPTION_VALUE, "deb|bundle", "kind of the package (default bundle)"},
	{"--public", 0, OPTION_FLAG, NULL, "every tenant may use it"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "its owner (default: the operator)"},
};

static const struct command grant_cli_commands[] = {
	{"grant", "list", "", "grants to use another owner's images, packages, archives",
	 OPTIONS(grant_cli_list_options), 0, 0, grant_list, .example = "grant list --tenant acme"},
	{"grant", "add", "image|package|archive OBJECT TENANT", "let a tenant use it",
	 OPTIONS(grant_cli_add_options), 3, 3, grant_add,
	 .example = "grant add archive base acme --until 2026-12-31T23:00:00Z"},
	{"grant", "remove", "ID...", "take grants back", NO_OPTIONS, 1, 1000, grant_remove,
	 .example = "grant remove 6", .done = "grant {*} removed"},
	{"package", "list", "", "the packages that may be used", OPTIONS(package_list_options), 0,
	 0, package_list, .example = "package list"},
	{"package", "show", "NAME:VERSION", "one package", NO_OPTIONS, 1, 1, package_show,
	 .example = "package show driver:1.2"},
	{"package", "delete", "NAME:VERSION...", "delete packages with their grants", NO_OPTIONS, 1,
	 1000, grant_cli_package_delete, .example = "package delete driver:1.2",
	 .done = "package {*} deleted"},
	{"package", "import", "NAME:VERSION FILE", "announce and upload; repeat to resume",
	 OPTIONS(grant_cli_import_options), 2, 2, package_import,
	 .example = "package import driver:1.2 driver.deb"},
};
const struct command_group grant_group = {grant_cli_commands, COUNT_OF(grant_cli_commands)};
