/* haasctl rotation: passwords of BMCs are exchanged for new ones. */
#include <stdio.h>

#include "common/base/json_text.h"

#include "portal/cli/listing.h"

static int rotation_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("node"),       COLUMN("state"),  TITLED("begun_at", "BEGUN"),
		COLUMN("keep_until"), WIDE("id"),       WIDE("actor"),
		WIDE("proven_at"),    WIDE("ended_at"), TITLED("problem.message", "PROBLEM"),
	};

	return listing_filtered(context, input,
				command_option(input, "--all") ? "/rotations"
							       : "/rotations?open=true",
				OPTION_NAMES("--node"), COLUMNS(columns));
}

/* Each node for itself: one that refuses keeps the others from nothing. */
static int rotation_tell(const struct command_input *input, const json_t *nodes)
{
	static const struct output_column columns[] = {COLUMN("node"), COLUMN("refused")};
	const json_t *row;
	size_t refused = 0;
	size_t i;
	int status =
		listing_for_people(input) ? EXIT_OK : listing_rows(input, nodes, COLUMNS(columns));

	json_array_foreach(nodes, i, row)
	{
		if (!haasctl_word(row, "refused")[0]) {
			haasctl_say_done(input, input->command->done, haasctl_word(row, "node"),
					 row);
			continue;
		}
		refused++;
		fprintf(stderr, "haasctl: %s\n", haasctl_word(row, "refused"));
	}
	return status == EXIT_OK && refused > 0 ? EXIT_PARTIAL : status;
}

static int rotation_bmc(void *context, const struct command_input *input)
{
	const char *keep = command_option(input, "--keep");
	int64_t seconds = keep ? haasctl_duration_s(keep) : 0;
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};

	if (keep && seconds < 0)
		return haasctl_usage("--keep %s is not a time like 12h, 7d", keep);
	json_begin_object(&body, NULL);
	haasctl_json_words(&body, "nodes", input->words, input->word_count);
	if (keep)
		json_put_int(&body, "keep_s", seconds);
	json_end_object(&body);
	int status = haasctl_post(context, input, "/rotations", &body, &reply);
	return status == EXIT_OK ? rotation_tell(input, json_object_get(reply.json, "nodes"))
				 : status;
}

static int rotation_keys(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("daemon"),
		COLUMN("state"),
		TITLED("begun_at", "BEGUN"),
		COLUMN("keep_until"),
		NUMBER("resealed"),
		NUMBER("lost"),
		TITLED("problem.message", "PROBLEM"),
		WIDE("id"),
		WIDE("actor"),
		WIDE("ended_at"),
	};

	return listing_filtered(context, input, "/rotations/keys", OPTION_NAMES(NULL),
				COLUMNS(columns));
}

static int rotation_seal(void *context, const struct command_input *input)
{
	const char *keep = command_option(input, "--keep");
	int64_t seconds = keep ? haasctl_duration_s(keep) : 0;
	CLEANUP(text_done) struct text body = {0};

	if (keep && seconds < 0)
		return haasctl_usage("--keep %s is not a time like 12h, 30d", keep);
	json_begin_object(&body, NULL);
	json_put_string(&body, "daemon", input->words[0]);
	if (keep)
		json_put_int(&body, "keep_s", seconds);
	json_end_object(&body);
	return haasctl_do(context, input,
			  &(struct haasctl_call){.method = "POST",
						 .target = "/rotations/keys",
						 .body = text_get(&body)});
}

static const struct option_row rotation_seal_options[] = {
	{"--keep", 0, OPTION_VALUE, "TIME", "how long the old key is kept, for backups (30d)"},
};
static const struct option_row rotation_keys_options[] = {
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row rotation_bmc_options[] = {
	{"--keep", 0, OPTION_VALUE, "TIME", "how long the old ones are kept, sealed (default 24h)"},
};
static const struct option_row rotation_list_options[] = {
	{"--node", 0, OPTION_VALUE, "NODE", "only of this node"},
	{"--all", 0, OPTION_FLAG, NULL, "those that have ended, too"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};

static const struct command rotation_cli_commands[] = {
	{"rotation", "bmc", "NODE...", "give the BMCs of nodes new passwords",
	 OPTIONS(rotation_bmc_options), 1, 1000, rotation_bmc, .example = "rotation bmc n1 n2",
	 .done = "the BMC of node {*} gets a new password"},
	{"rotation", "seal", "bampid|peregrined", "a new key for a daemon's sealed secrets",
	 OPTIONS(rotation_seal_options), 1, 1, rotation_seal, .example = "rotation seal bampid",
	 .done = "{1} gets a new seal key"},
	{"rotation", "keys", "", "seal keys that were exchanged, or are being",
	 OPTIONS(rotation_keys_options), 0, 0, rotation_keys, .example = "rotation keys"},
	{"rotation", "list", "", "exchanges under way, and why one waits",
	 OPTIONS(rotation_list_options), 0, 0, rotation_list, .example = "rotation list --all"},
};
const struct command_group rotation_group = {rotation_cli_commands,
					     COUNT_OF(rotation_cli_commands)};
