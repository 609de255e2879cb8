/* haasctl certificate: proofs of erasure, and the check of their chain. With a FILE (from
 * `certificate list -o json` or jsonl) verify needs no server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/count_text.h"
#include "common/base/error.h"
#include "common/io/file.h"
#include "common/model/certificate.h"

#include "portal/cli/certificate_keys.h"
#include "portal/cli/listing.h"

#define CERTIFICATE_CLI_FILE_LIMIT ((size_t)256 << 20)

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
	struct certificate_keys keys;
	struct problem problem;
};

static void check_done(struct check *check)
{
	certificate_keys_done(&check->keys);
}

static int fetch_keys(struct check *check, void *context, const struct command_input *input)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	int status = haasctl_get(context, input, "/keys/certificate", &reply);

	return status == EXIT_OK
		       ? certificate_keys_take(&check->keys, json_object_get(reply.json, "items"))
		       : status;
}

/* EXIT_FAILED with the problem told at the first one that does not fit; a haasctl_row_fn. */
static int certificate_cli_check_one(void *context, const json_t *row)
{
	struct check *check = context;

	if (certificate_keys_next(&check->keys, &check->chain, row, "issued_at", &check->problem) ==
	    0)
		return EXIT_OK;
	problem_detail(&check->problem,
		       "id %" JSON_INTEGER_FORMAT ", node %s, deployment %" JSON_INTEGER_FORMAT
		       "; the %zu before it are good",
		       json_integer_value(json_object_get(row, "id")), haasctl_word(row, "node"),
		       json_integer_value(json_object_get(row, "deployment")), check->chain.count);
	haasctl_problem(&check->problem);
	return EXIT_FAILED;
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
	if (*at == '\0') {
		(void)problem_set(&problem, E_MALFORMED, "it is empty");
		return not_a_list(path, &problem);
	}
	if (*at == '[') {
		if (json_read(data, size, CERTIFICATE_CLI_FILE_LIMIT, &json, &problem) < 0)
			return not_a_list(path, &problem);
		status = haasctl_rows(json, certificate_cli_check_one, check);
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
	const char *list = command_option(input, "--keys");
	const char *path = input->word_count > 0 ? input->words[0] : NULL;
	CLEANUP(check_done) struct check check = {.chain = certificate_chain()};
	char count[COUNT_TEXT_SIZE];
	int status = EXIT_OK;

	if (key_files && *key_files)
		status = certificate_keys_read(&check.keys, key_files);
	if (status == EXIT_OK && list)
		status = certificate_keys_read_list(&check.keys, list);
	else if (status == EXIT_OK && !path)
		status = fetch_keys(&check, context, input);
	if (status == EXIT_OK)
		status = path ? check_file(&check, path)
			      : haasctl_pages(context, input, "/certificates?limit=500",
					      certificate_cli_check_one, &check);
	if (status != EXIT_OK)
		return status;
	printf("%s, none changed, none missing\n",
	       count_text(count, (int64_t)check.chain.count, "certificate"));
	if (check.chain.count > 0)
		printf("last hash  %s\n", check.chain.head);
	certificate_keys_tell(&check.keys);
	return EXIT_OK;
}

static int certificate_keys(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("public_key"), COLUMN("since"),   COLUMN("until"),
		WIDE("follows"),      WIDE("statement"), WIDE("signature"),
	};

	return listing_filtered(context, input, "/keys/certificate", OPTION_NAMES(NULL),
				COLUMNS(columns));
}

static const struct option_row certificate_cli_list_options[] = {
	{"--node", 0, OPTION_VALUE, "NODE", "of this node"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row verify_options[] = {
	{"--key", 0, OPTION_REPEAT, "FILE",
	 "a public key to trust, in hex (default: the server's)"},
	{"--keys", 0, OPTION_VALUE, "FILE", "certificate keys -o json: those that follow, too"}};

static const struct command certificate_cli_commands[] = {
	{"certificate", "list", "", "proofs of erasure, oldest first",
	 OPTIONS(certificate_cli_list_options), 0, 0, certificate_list,
	 .example = "certificate list --node n1"},
	{"certificate", "show", "CERTIFICATE", "one proof, with its signature", NO_OPTIONS, 1, 1,
	 certificate_show, .example = "certificate show 8"},
	{"certificate", "verify", "[FILE]", "check that none was changed or removed",
	 OPTIONS(verify_options), 0, 1, certificate_verify, .example = "certificate verify"},
	{"certificate", "keys", "", "the keys that sign, each vouched for by the one before",
	 NO_OPTIONS, 0, 0, certificate_keys, .example = "certificate keys -o json"},
};
const struct command_group certificate_group = {certificate_cli_commands,
						COUNT_OF(certificate_cli_commands)};
