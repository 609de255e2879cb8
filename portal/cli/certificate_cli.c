/* haasctl certificate: proofs of erasure, and the check of their chain. With a FILE (from
 * `certificate list -o json` or jsonl) verify needs no server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/count_text.h"
#include "common/io/file.h"
#include "common/model/certificate.h"

#include "portal/cli/listing.h"

#define CERTIFICATE_CLI_FILE_LIMIT ((size_t)256 << 20)
#define KEY_LIMIT                  ((size_t)256)
#define KEYS_MAX                   64

static const struct output_column certificate_columns[] = {
	NUMBER("id"), COLUMN("node"),        NUMBER("deployment"), COLUMN("created_at"),
	WIDE("hash"), WIDE("previous_hash"), WIDE("public_key"),
};

static int certificate_list(void *context, const struct command_input *input)
{
	return listing_filtered(context, input, "/certificates", OPTION_NAMES("--node"),
				COLUMNS(certificate_columns));
}

/* For people the signed text is opened, not one long line. */
static int certificate_show(void *context, const struct command_input *input)
{
	static const char *const order[] = {"id",
					    "node",
					    "deployment",
					    "created_at",
					    "body",
					    "body.drives",
					    "drives.name",
					    "drives.serial",
					    "drives.model",
					    "drives.size_bytes",
					    "drives.method",
					    "drives.verdict",
					    "drives.verified",
					    "hash",
					    "previous_hash",
					    "signature",
					    "public_key",
					    NULL};
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};
	struct problem problem = {0};
	json_t *body = NULL;

	haasctl_path(&target, "/certificates/", input->words[0], "");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	const char *text = haasctl_word(reply.json, "body");
	if (listing_for_people(input) &&
	    json_read(text, strlen(text), JSON_LIMIT_DEFAULT, &body, &problem) == 0)
		(void)json_object_set_new(reply.json, "body", body);
	status = listing_object(input, reply.json,
				&(struct show){order, COLUMNS(certificate_columns)});
	haasctl_reply_done(&reply);
	return status;
}

/* --- verify --- */

struct check {
	struct certificate_chain chain;
	const char *keys[KEYS_MAX + 1]; /* trusted, NULL-ended */
	json_t *key_list;               /* holds those of the server */
	char *files[KEYS_MAX];          /* holds those of files */
	size_t key_count;
	struct problem problem;
	char last_key[2 * CERTIFICATE_PUBLIC_KEY_SIZE + 1];
};

static void check_done(struct check *check)
{
	json_decref(check->key_list);
	for (size_t i = 0; i < KEYS_MAX; i++)
		free(check->files[i]);
}

static int read_key_files(struct check *check, const char *const *paths)
{
	for (; *paths && check->key_count < KEYS_MAX; paths++) {
		char **file = &check->files[check->key_count];
		int rc = file_read(*paths, KEY_LIMIT, file, NULL);

		if (rc < 0)
			return haasctl_cannot("read", *paths, rc);
		(*file)[strcspn(*file, "\r\n \t")] = '\0';
		check->keys[check->key_count++] = *file;
	}
	return EXIT_OK;
}

static int fetch_keys(struct check *check, void *context, const struct command_input *input)
{
	struct haasctl_reply reply = {0};
	int status = haasctl_get(context, input, "/keys/certificate", &reply);
	const json_t *key;
	size_t i;

	if (status != EXIT_OK)
		return status;
	check->key_list = json_incref(json_object_get(reply.json, "items"));
	haasctl_reply_done(&reply);
	json_array_foreach(check->key_list, i, key)
	{
		if (check->key_count < KEYS_MAX)
			check->keys[check->key_count++] = haasctl_word(key, "public_key");
	}
	return EXIT_OK;
}

/* EXIT_FAILED with the problem told at the first one that does not fit. */
static int certificate_cli_check_one(struct check *check, const json_t *row)
{
	struct certificate certificate = {
		.body = haasctl_word(row, "body"),
		.previous_hash = haasctl_word(row, "previous_hash"),
		.hash = haasctl_word(row, "hash"),
		.signature = haasctl_word(row, "signature"),
		.public_key = haasctl_word(row, "public_key"),
	};

	if (certificate_chain_next(&check->chain, &certificate,
				   check->key_count > 0 ? check->keys : NULL,
				   &check->problem) < 0) {
		problem_detail(
			&check->problem,
			"id %" JSON_INTEGER_FORMAT ", node %s, deployment %" JSON_INTEGER_FORMAT
			"; the %zu before it are good",
			json_integer_value(json_object_get(row, "id")), haasctl_word(row, "node"),
			json_integer_value(json_object_get(row, "deployment")), check->chain.count);
		haasctl_problem(&check->problem);
		return EXIT_FAILED;
	}
	(void)text_copy(check->last_key, sizeof(check->last_key), certificate.public_key);
	return EXIT_OK;
}

static int check_array(struct check *check, const json_t *rows)
{
	const json_t *row;
	size_t i;
	int status = EXIT_OK;

	json_array_foreach(rows, i, row)
	{
		status = certificate_cli_check_one(check, row);
		if (status != EXIT_OK)
			break;
	}
	return status;
}

static int check_server(struct check *check, void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	int status = EXIT_OK;

	text_add(&target, "/certificates?limit=500");
	while (status == EXIT_OK && target.size > 0) {
		struct haasctl_reply reply = {0};

		status = haasctl_get(context, input, text_get(&target), &reply);
		if (status == EXIT_OK)
			status = check_array(check, json_object_get(reply.json, "items"));
		const char *next = haasctl_word(reply.json, "next");
		text_clear(&target);
		if (*next)
			haasctl_path(&target, "/certificates?limit=500&cursor=", next, "");
		haasctl_reply_done(&reply);
	}
	return status;
}

static int not_a_list(const char *path, const struct problem *problem)
{
	fprintf(stderr,
		"haasctl: %s is not a list of certificates: %s\n"
		"  hint: haasctl certificate list -o json >FILE makes one\n",
		path, problem->message);
	return EXIT_FAILED;
}

/* One JSON array, or one object per line. */
static int check_file(struct check *check, const char *path)
{
	CLEANUP(freep) char *data = NULL;
	struct problem problem = {0};
	json_t *json = NULL;
	size_t size = 0;
	int status = EXIT_OK;
	int rc = file_read(path, CERTIFICATE_CLI_FILE_LIMIT, &data, &size);

	if (rc < 0)
		return haasctl_cannot("read", path, rc);
	const char *at = data + strspn(data, " \t\r\n");
	if (*at == '[') {
		if (json_read(data, size, CERTIFICATE_CLI_FILE_LIMIT, &json, &problem) < 0)
			return not_a_list(path, &problem);
		status = check_array(check, json);
		json_decref(json);
		return status;
	}
	while (*at && status == EXIT_OK) {
		size_t length = strcspn(at, "\n");

		if (json_read(at, length, CERTIFICATE_CLI_FILE_LIMIT, &json, &problem) < 0)
			return not_a_list(path, &problem);
		status = certificate_cli_check_one(check, json);
		json_decref(json);
		at += length;
		at += strspn(at, " \t\r\n");
	}
	return status;
}

static int certificate_verify(void *context, const struct command_input *input)
{
	const char *const *key_files = command_options(input, "--key");
	const char *path = input->word_count > 0 ? input->words[0] : NULL;
	CLEANUP(check_done) struct check check = {.chain = certificate_chain()};
	char count[COUNT_TEXT_SIZE];
	int status = EXIT_OK;

	if (key_files && *key_files)
		status = read_key_files(&check, key_files);
	else if (!path)
		status = fetch_keys(&check, context, input);
	if (status == EXIT_OK)
		status = path ? check_file(&check, path) : check_server(&check, context, input);
	if (status != EXIT_OK)
		return status;
	printf("%s, none changed, none missing\n",
	       count_text(count, (int64_t)check.chain.count, "certificate"));
	if (check.chain.count > 0)
		printf("last hash  %s\nsigned by  %s%s\n", check.chain.head, check.last_key,
		       check.key_count > 0 ? ""
					   : " (not compared with a key you trust: --key FILE)");
	return EXIT_OK;
}

static const struct option_row certificate_cli_list_options[] = {
	{"--node", 0, OPTION_VALUE, "NODE", "of this node"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row verify_options[] = {
	{"--key", 0, OPTION_REPEAT, "FILE",
	 "a public key to trust, in hex (default: the server's)"}};

static const struct command certificate_cli_commands[] = {
	{"certificate", "list", "", "proofs of erasure, oldest first",
	 OPTIONS(certificate_cli_list_options), 0, 0, certificate_list,
	 .example = "certificate list --node n1"},
	{"certificate", "show", "CERTIFICATE", "one proof, with its signature", NO_OPTIONS, 1, 1,
	 certificate_show, .example = "certificate show 8"},
	{"certificate", "verify", "[FILE]", "check that none was changed or removed",
	 OPTIONS(verify_options), 0, 1, certificate_verify, .example = "certificate verify"},
};
const struct command_group certificate_group = {certificate_cli_commands,
						COUNT_OF(certificate_cli_commands)};
