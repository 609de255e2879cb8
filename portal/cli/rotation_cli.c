/* haasctl rotation: secrets and keys are exchanged for new ones. */
#include <errno.h>

#include "common/base/json_text.h"

#include "portal/cli/listing.h"

static int rotation_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("node"),       COLUMN("switch"),
		COLUMN("state"),      TITLED("begun_at", "BEGUN"),
		COLUMN("keep_until"), WIDE("id"),
		WIDE("actor"),        WIDE("proven_at"),
		WIDE("ended_at"),     TITLED("problem.message", "PROBLEM"),
	};

	return listing_filtered(context, input,
				command_option(input, "--all") ? "/rotations"
							       : "/rotations?open=true",
				OPTION_NAMES("--node"), COLUMNS(columns));
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
	return status == EXIT_OK ? listing_nodes(input, json_object_get(reply.json, "nodes"))
				 : status;
}

static int rotation_switch(void *context, const struct command_input *input)
{
	static const char *const users[][2] = {{"--ssh-user", "ssh_user"},
					       {"--snmp-user", "snmp_user"}};
	const char *keep = command_option(input, "--keep");
	const char *path = command_option(input, "--secrets");
	int64_t seconds = keep ? haasctl_duration_s(keep) : 0;
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(json_decrefp) json_t *body = json_object();
	CLEANUP(freep) char *text = NULL;
	json_t *credentials = json_object();

	(void)json_object_set_new(body, "credentials", credentials);
	if (keep && seconds < 0)
		return haasctl_usage("--keep %s is not a time like 12h, 7d", keep);
	for (size_t i = 0; i < COUNT_OF(users); i++) {
		const char *user = command_option(input, users[i][0]);

		if (user)
			(void)json_object_set_new(credentials, users[i][1], json_pack("s", user));
	}
	if (keep)
		(void)json_object_set_new(body, "keep_s", json_integer(seconds));
	int status = haasctl_read_secrets(body, path ? path : "-");
	text = json_dumps(body, JSON_COMPACT);
	if (status != EXIT_OK || !text)
		return status == EXIT_OK ? haasctl_cannot("write", "the request", -ENOMEM) : status;
	haasctl_path(&target, "/switches/", input->words[0], "/rotation");
	return haasctl_do(context, input,
			  &(struct haasctl_call){
				  .method = "POST", .target = text_get(&target), .body = text});
}

static int rotation_keys(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("daemon"),
		COLUMN("storage"),
		COLUMN("key"),
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

static int rotation_key(void *context, const struct command_input *input, const char *daemon,
			const char *key, const char *storage)
{
	const char *keep = command_option(input, "--keep");
	int64_t seconds = keep ? haasctl_duration_s(keep) : 0;
	CLEANUP(text_done) struct text body = {0};

	if (keep && seconds < 0)
		return haasctl_usage("--keep %s is not a time like 12h, 30d", keep);
	json_begin_object(&body, NULL);
	json_put_string(&body, "daemon", daemon);
	json_put_string(&body, "key", key);
	if (keep)
		json_put_int(&body, "keep_s", seconds);
	if (storage)
		json_put_string(&body, "storage", storage);
	json_end_object(&body);
	return haasctl_do(context, input,
			  &(struct haasctl_call){.method = "POST",
						 .target = "/rotations/keys",
						 .body = text_get(&body)});
}

static int rotation_seal(void *context, const struct command_input *input)
{
	return rotation_key(context, input, input->words[0], "seal",
			    command_option(input, "--storage"));
}

static int rotation_certificate(void *context, const struct command_input *input)
{
	return rotation_key(context, input, "bampid", "certificate", NULL);
}

static const struct option_row rotation_seal_options[] = {
	{"--keep", 0, OPTION_VALUE, "TIME", "how long the old key is kept, for backups (30d)"},
	{"--storage", 0, OPTION_VALUE, "NAME", "of bampi-stored, where there are several"},
};
static const struct option_row rotation_certificate_options[] = {
	{"--keep", 0, OPTION_VALUE, "TIME", "how long the old key's signatures are taken (30d)"},
};
static const struct option_row rotation_keys_options[] = {
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row rotation_bmc_options[] = {
	{"--keep", 0, OPTION_VALUE, "TIME", "how long the old ones are kept, sealed (default 24h)"},
};
static const struct option_row rotation_switch_options[] = {
	{"--secrets", 0, OPTION_VALUE, "FILE", "lines NAME=VALUE, all of them; default stdin"},
	{"--ssh-user", 0, OPTION_VALUE, "USER", "the account that the new password is of"},
	{"--snmp-user", 0, OPTION_VALUE, "USER", "the SNMPv3 user that the new secrets are of"},
	{"--keep", 0, OPTION_VALUE, "TIME", "how long the old ones are kept, sealed (default 24h)"},
};
static const struct option_row rotation_list_options[] = {
	{"--node", 0, OPTION_VALUE, "NODE", "only of this node"},
	{"--all", 0, OPTION_FLAG, NULL, "those that have ended, too"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};

static const struct command rotation_cli_commands[] = {
	{"rotation", "bmc", "NODE...", "give the BMCs of nodes new passwords",
	 OPTIONS(rotation_bmc_options), 1, 1000, rotation_bmc, .example = "rotation bmc n1 n2",
	 .done = "the BMC of node {*} gets a new password"},
	{"rotation", "switch", "SWITCH", "prove new secrets at a switch, then use them",
	 OPTIONS(rotation_switch_options), 1, 1, rotation_switch,
	 .example = "rotation switch leaf1 --ssh-user haas2 --secrets leaf1.secrets",
	 .done = "switch {1} gets new secrets; haasctl rotation list shows when it took them"},
	{"rotation", "seal", "DAEMON", "a new key for a daemon's sealed secrets",
	 OPTIONS(rotation_seal_options), 1, 1, rotation_seal, .example = "rotation seal bampid",
	 .done = "{1} gets a new seal key"},
	{"rotation", "certificate", "", "a new key that signs certificates",
	 OPTIONS(rotation_certificate_options), 0, 0, rotation_certificate,
	 .example = "rotation certificate",
	 .done = "certificates get a new key; haasctl rotation keys shows when it signs"},
	{"rotation", "keys", "", "keys of daemons that were exchanged, or are being",
	 OPTIONS(rotation_keys_options), 0, 0, rotation_keys, .example = "rotation keys"},
	{"rotation", "list", "", "exchanges under way, and why one waits",
	 OPTIONS(rotation_list_options), 0, 0, rotation_list, .example = "rotation list --all"},
};
const struct command_group rotation_group = {rotation_cli_commands,
					     COUNT_OF(rotation_cli_commands)};
