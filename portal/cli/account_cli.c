/* haasctl whoami, account, session, token: people, what they have open, and what programs use in
 * their name. A link and a token are told once: they stand alone on stdout, the talk on stderr. */
#include <stdio.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/http/wipe.h"

#include "portal/cli/listing.h"

static const struct output_column account_columns[] = {
	COLUMN("name"),    COLUMN("role"),  COLUMN("tenant"),   COLUMN("disabled"),
	COLUMN("invited"), WIDE("os_user"), WIDE("created_by"), WIDE("created_at"),
};

static int account_cli_whoami(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {COLUMN("actor"), COLUMN("account"),
						       COLUMN("role"),  COLUMN("tenant"),
						       COLUMN("way"),   COLUMN("scopes")};

	return listing_show(
		context, input, "/whoami",
		&(struct show){OPTION_NAMES("actor", "account", "role", "tenant", "way", "scopes"),
			       COLUMNS(columns)});
}

/* --- accounts --- */

static int account_list(void *context, const struct command_input *input)
{
	return listing_filtered(context, input,
				command_option(input, "--disabled") ? "/accounts?disabled=true"
								    : "/accounts",
				OPTION_NAMES("--tenant", "--role"), COLUMNS(account_columns));
}

static int account_show(void *context, const struct command_input *input)
{
	static const char *const order[] = {"name",       "role",       "tenant",
					    "disabled",   "invited",    "os_user",
					    "created_by", "created_at", NULL};

	return listing_show_named(context, input, "/accounts/", "",
				  &(struct show){order, COLUMNS(account_columns)});
}

/* A secret that the answer tells once, alone on stdout; what to do with it on stderr. */
static void account_cli_tell(const struct command_input *input, const struct haasctl_reply *reply,
			     const char *member, const char *next)
{
	const char *secret = haasctl_word(reply->json, member);

	if (!listing_json(input, reply->json))
		printf("%s\n", secret);
	if (listing_for_people(input))
		haasctl_say_next(input, next, reply->json);
	wipe_borrowed(secret, strlen(secret));
}

/* Not repeated by itself when the connection breaks: what the answer would tell is gone, and another
 * secret would be made. */
static int account_cli_ask(void *context, const struct command_input *input, const char *target,
			   const struct text *body, struct haasctl_reply *ret)
{
	return haasctl_call(
		context, input,
		&(struct haasctl_call){
			.method = "POST", .target = target, .body = text_get(body), .once = true},
		ret);
}

static int account_cli_link(void *context, const struct command_input *input, const char *target,
			    const struct text *body)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	int status = account_cli_ask(context, input, target, body, &reply);

	if (status == EXIT_OK)
		account_cli_tell(
			input, &reply, "link",
			"this link lets {name} choose a password, once, until {expires_at}\n"
			"  next, on the machine of {name}: haasctl login --link");
	return status;
}

/* "hours" of --for, when it is given. */
static int account_cli_put_hours(struct text *body, const struct command_input *input)
{
	const char *word = command_option(input, "--for");
	int64_t seconds = word ? haasctl_duration_s(word) : 0;

	if (word && (seconds < 3600 || seconds % 3600 != 0))
		return haasctl_usage("--for %s is not a number of hours or days like 24h, 3d",
				     word);
	if (word)
		json_put_int(body, "hours", seconds / 3600);
	return EXIT_OK;
}

static int account_invite(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text body = {0};

	json_begin_object(&body, NULL);
	json_put_string(&body, "name", input->words[0]);
	haasctl_keep_words(&body, input, OPTION_NAMES("--role", "--tenant", "--os-user"), NULL);
	int status = account_cli_put_hours(&body, input);
	json_end_object(&body);
	if (status == EXIT_OK && !command_option(input, "--role"))
		status = haasctl_usage("--role is missing: what may %s do?", input->words[0]);
	return status == EXIT_OK ? account_cli_link(context, input, "/accounts", &body) : status;
}

static int account_link(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};

	json_begin_object(&body, NULL);
	int status = account_cli_put_hours(&body, input);
	json_end_object(&body);
	haasctl_path(&target, "/accounts/", input->words[0], "/link");
	return status == EXIT_OK ? account_cli_link(context, input, text_get(&target), &body)
				 : status;
}

static int account_cli_patch(void *context, const struct command_input *input, const char *account,
			     const struct text *body)
{
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, "/accounts/", account, "");
	return haasctl_do(context, input,
			  &(struct haasctl_call){.method = "PATCH",
						 .target = text_get(&target),
						 .edits = text_get(&target),
						 .body = text_get(body),
						 .content_type = "application/merge-patch+json",
						 .object = account});
}

static int account_cli_able(void *context, const struct command_input *input, bool disabled)
{
	CLEANUP(text_done) struct text body = {0};
	struct tally tally = {0};

	json_begin_object(&body, NULL);
	json_put_bool(&body, "disabled", disabled);
	json_end_object(&body);
	for (size_t i = 0; i < input->word_count && !haasctl_interrupted(context); i++)
		tally_add(&tally, account_cli_patch(context, input, input->words[i], &body));
	return tally_status(&tally);
}

static int account_enable(void *context, const struct command_input *input)
{
	return account_cli_able(context, input, false);
}

static int account_disable(void *context, const struct command_input *input)
{
	return account_cli_able(context, input, true);
}

static int account_role(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text body = {0};

	json_begin_object(&body, NULL);
	json_put_string(&body, "role", input->words[1]);
	json_end_object(&body);
	return account_cli_patch(context, input, input->words[0], &body);
}

static int account_user(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text body = {0};
	bool none = strcmp(input->words[1], "none") == 0;

	json_begin_object(&body, NULL);
	json_put_string(&body, "os_user", none ? NULL : input->words[1]);
	json_end_object(&body);
	return account_cli_patch(context, input, input->words[0], &body);
}

/* --- sessions and tokens --- */

static int session_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		NUMBER("id"),      COLUMN("account"), COLUMN("address"),  COLUMN("seen_at"),
		COLUMN("ends_at"), COLUMN("current"), WIDE("created_at"), WIDE("agent"),
	};

	return listing_filtered(context, input, "/sessions", OPTION_NAMES("--account"),
				COLUMNS(columns));
}

static int session_end(void *context, const struct command_input *input)
{
	return haasctl_each(context, input, "DELETE", "/sessions/", "");
}

static int token_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("id"),         COLUMN("account"), COLUMN("name"),     COLUMN("role"),
		COLUMN("expires_at"), COLUMN("used_at"), WIDE("created_at"), COLUMN("scopes"),
	};

	return listing_filtered(context, input, "/tokens", OPTION_NAMES("--account"),
				COLUMNS(columns));
}

static int token_end(void *context, const struct command_input *input)
{
	return haasctl_each(context, input, "DELETE", "/tokens/", "");
}

static int token_create(void *context, const struct command_input *input)
{
	const char *const *scopes = command_options(input, "--scope");
	const char *expires = command_option(input, "--expires");
	int64_t seconds = expires ? haasctl_duration_s(expires) : 0;
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};

	if (expires && seconds <= 0)
		return haasctl_usage("--expires %s is not a time like 12h, 30d", expires);
	if (!command_option(input, "--name") || !scopes || !*scopes)
		return haasctl_usage(
			"a token needs --name and --scope; --scope '*:read' reads all");
	json_begin_object(&body, NULL);
	haasctl_keep_words(&body, input, OPTION_NAMES("--name", "--role"), NULL);
	haasctl_add_words(&body, "scopes", scopes);
	if (expires)
		json_put_int(&body, "expires_s", seconds);
	json_end_object(&body);
	int status = account_cli_ask(context, input, "/tokens", &body, &reply);
	if (status == EXIT_OK)
		account_cli_tell(
			input, &reply, "token",
			"token {id} works until {expires_at} and is not shown again\n"
			"  next: keep it in a file of mode 0600, and say --token-file FILE");
	return status;
}

#define ACCOUNT_ROLES "operator|on-call|auditor|tenant-admin|tenant-member"

static const struct option_row account_list_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "only people of this tenant"},
	{"--role", 0, OPTION_VALUE, ACCOUNT_ROLES, "only this role"},
	{"--disabled", 0, OPTION_FLAG, NULL, "only those that may not log in"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row account_invite_options[] = {
	{"--role", 0, OPTION_VALUE, ACCOUNT_ROLES, "what the person may do"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "whose person it is, for roles of a tenant"},
	{"--os-user", 0, OPTION_VALUE, "USER", "user of the controller who is this person"},
	{"--for", 0, OPTION_VALUE, "TIME", "how long the link works, 24h (default 3d)"},
};
static const struct option_row account_link_options[] = {
	{"--for", 0, OPTION_VALUE, "TIME", "how long the link works, 24h (default 3d)"},
};
static const struct option_row account_cli_of_options[] = {
	{"--account", 0, OPTION_VALUE, "ACCOUNT", "only of this account"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row token_options[] = {
	{"--name", 0, OPTION_VALUE, "NAME", "what it is for"},
	{"--scope", 0, OPTION_REPEAT, "NOUN:ACTION",
	 "node:read, pdci:write, *:read; may be repeated"},
	{"--role", 0, OPTION_VALUE, ACCOUNT_ROLES, "a smaller role than your own"},
	{"--expires", 0, OPTION_VALUE, "TIME", "how long it works, 12h, 90d (default 30d)"},
};

static const struct command account_cli_commands[] = {
	{"whoami", "", "", "who you are for the server, and in which scope", NO_OPTIONS, 0, 0,
	 account_cli_whoami, .example = "whoami"},
	{"account", "list", "", "people who may log in", OPTIONS(account_list_options), 0, 0,
	 account_list, .example = "account list --tenant acme"},
	{"account", "show", "ACCOUNT", "one person", NO_OPTIONS, 1, 1, account_show,
	 .example = "account show ann"},
	{"account", "invite", "NAME", "make an account, and a link to choose its password",
	 OPTIONS(account_invite_options), 1, 1, account_invite,
	 .example = "account invite ann --role operator"},
	{"account", "link", "ACCOUNT", "another link, for who has lost the password",
	 OPTIONS(account_link_options), 1, 1, account_link,
	 .example = "account link ann --for 24h"},
	{"account", "disable", "ACCOUNT...", "end all sessions and tokens, and let nobody log in",
	 NO_OPTIONS, 1, 1000, account_disable, .example = "account disable ann",
	 .done = "account {*} disabled"},
	{"account", "enable", "ACCOUNT...", "let a disabled person log in again", NO_OPTIONS, 1,
	 1000, account_enable, .example = "account enable ann", .done = "account {*} enabled"},
	{"account", "role", "ACCOUNT ROLE",
	 "operator, on-call, auditor, tenant-admin or tenant-member; ends its sessions", NO_OPTIONS,
	 2, 2, account_role, .example = "account role ann auditor",
	 .done = "account {1} has role {role}"},
	{"account", "user", "ACCOUNT USER", "which user of the controller is this person, or none",
	 NO_OPTIONS, 2, 2, account_user, .example = "account user ann ann",
	 .done = "user of account {1}: {os_user}"},
	{"session", "list", "", "logins that have not ended", OPTIONS(account_cli_of_options), 0, 0,
	 session_list, .example = "session list --account ann"},
	{"session", "end", "SESSION...", "log somebody out", NO_OPTIONS, 1, 1000, session_end,
	 .example = "session end 17", .done = "session {*} ended"},
	{"token", "list", "", "tokens of programs", OPTIONS(account_cli_of_options), 0, 0,
	 token_list, .example = "token list"},
	{"token", "create", "", "a token for a program, shown once", OPTIONS(token_options), 0, 0,
	 token_create, .example = "token create --name ci --scope pdci:write --expires 30d"},
	{"token", "end", "TOKEN...", "make tokens void", NO_OPTIONS, 1, 1000, token_end,
	 .example = "token end abcd2345", .done = "token {*} ended"},
};
const struct command_group account_group = {account_cli_commands, COUNT_OF(account_cli_commands)};
