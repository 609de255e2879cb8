/* haasctl webhook: events that are told to receivers outside, and what became of each. */
#include <stdio.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/http/wipe.h"

#include "portal/cli/listing.h"

static const struct output_column webhook_columns[] = {
	NUMBER("id"),
	COLUMN("name"),
	COLUMN("tenant"),
	COLUMN("url"),
	COLUMN("kinds"),
	COLUMN("state"),
	NUMBER("waiting"),
	WIDE("subject_kind"),
	WIDE("subject"),
	WIDE("next_at"),
	TITLED_WIDE("failing_since", "FAILING"),
	WIDE("delivered_at"),
	WIDE("created_by"),
	WIDE("created_at"),
};
static const struct output_column delivery_columns[] = {
	NUMBER("id"),           COLUMN("kind"),     COLUMN("subject"),
	COLUMN("state"),        NUMBER("attempts"), NUMBER("status"),
	COLUMN("attempted_at"), COLUMN("problem"),  WIDE_NUMBER("duration_ms"),
	WIDE_NUMBER("event"),   WIDE("at"),         WIDE("next_at"),
	WIDE("subject_kind"),   WIDE("message"),
};

static int webhook_list(void *context, const struct command_input *input)
{
	return listing_pages(context, input, "/webhooks", 0, COLUMNS(webhook_columns));
}

static int webhook_show(void *context, const struct command_input *input)
{
	static const char *const order[] = {"id",      "name",          "tenant",  "url",
					    "kinds",   "subject_kind",  "subject", "state",
					    "waiting", "failing_since", "next_at", "delivered_at",
					    NULL};

	return listing_show_named(context, input, "/webhooks/", "",
				  &(struct show){order, COLUMNS(webhook_columns)});
}

/* What options say of a webhook. */
static void webhook_cli_body(struct text *body, const struct command_input *input)
{
	haasctl_keep_words(
		body, input,
		OPTION_NAMES("--name", "--url", "--tenant", "--subject-kind", "--subject"), NULL);
	haasctl_add_words(body, "kinds", command_options(input, "--kind"));
}

/* The secret alone on stdout, once; what to do with it on stderr. */
static int webhook_cli_secret(void *context, const struct command_input *input, const char *target,
			      const struct text *body)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	int status = haasctl_call(context, input,
				  &(struct haasctl_call){.method = "POST",
							 .target = target,
							 .body = body ? text_get(body) : NULL,
							 .once = true},
				  &reply);
	const char *secret;

	if (status != EXIT_OK)
		return status;
	secret = haasctl_word(reply.json, "secret");
	if (!listing_json(input, reply.json))
		printf("%s\n", secret);
	if (listing_for_people(input))
		haasctl_say_next(input,
				 "webhook {id} signs with this secret, which is told once\n"
				 "  next, whether it arrives: haasctl webhook deliveries {id}",
				 reply.json);
	wipe_borrowed(secret, strlen(secret));
	return EXIT_OK;
}

static int webhook_add(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text body = {0};

	json_begin_object(&body, NULL);
	json_put_string(&body, "name", input->words[0]);
	json_put_string(&body, "url", input->words[1]);
	webhook_cli_body(&body, input);
	json_end_object(&body);
	return webhook_cli_secret(context, input, "/webhooks", &body);
}

static int webhook_secret(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, "/webhooks/", input->words[0], "/secret");
	return webhook_cli_secret(context, input, text_get(&target), NULL);
}

static int webhook_set(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply before = {0};
	bool enable = command_option(input, "--enable") != NULL;

	if (enable && command_option(input, "--disable"))
		return haasctl_usage("--enable and --disable contradict each other");
	haasctl_path(&target, "/webhooks/", input->words[0], "");
	int status = haasctl_get(context, input, text_get(&target), &before);
	if (status != EXIT_OK)
		return status;
	json_begin_object(&body, NULL);
	webhook_cli_body(&body, input);
	if (enable || command_option(input, "--disable"))
		json_put_bool(&body, "disabled", !enable);
	json_end_object(&body);
	return haasctl_do(context, input,
			  &(struct haasctl_call){.method = "PATCH",
						 .target = text_get(&target),
						 .body = text_get(&body),
						 .content_type = "application/merge-patch+json",
						 .before = &before});
}

static int webhook_remove(void *context, const struct command_input *input)
{
	return haasctl_each(context, input, "DELETE", "/webhooks/", "");
}

static int webhook_deliveries(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, "/webhooks/", input->words[0], "/deliveries");
	return listing_filtered(context, input, text_get(&target), OPTION_NAMES("--state"),
				COLUMNS(delivery_columns));
}

static int webhook_redeliver(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text before = {0};
	struct tally tally = {0};

	haasctl_path(&before, "/webhooks/", input->words[0], "/deliveries/");
	for (size_t i = 1; i < input->word_count && !haasctl_interrupted(context); i++) {
		CLEANUP(text_done) struct text target = {0};

		haasctl_path(&target, text_get(&before), input->words[i], "/redeliver");
		tally_add(&tally, haasctl_do(context, input,
					     &(struct haasctl_call){.method = "POST",
								    .target = text_get(&target),
								    .object = input->words[i]}));
	}
	return tally_status(&tally);
}

static const struct option_row webhook_add_options[] = {
	{"--kind", 0, OPTION_REPEAT, "KIND", "begin of kinds of events, pdci.; default all"},
	{"--subject-kind", 0, OPTION_VALUE, "WORD", "of these subjects alone: node, pdci"},
	{"--subject", 0, OPTION_VALUE, "SUBJECT", "whose subject begins so"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "its events; default all of the site"},
};
static const struct option_row webhook_set_options[] = {
	{"--name", 0, OPTION_VALUE, "NAME", "another name"},
	{"--url", 0, OPTION_VALUE, "URL", "another receiver"},
	{"--kind", 0, OPTION_REPEAT, "KIND", "these kinds instead"},
	{"--subject-kind", 0, OPTION_VALUE, "WORD", "of these subjects alone: node, pdci"},
	{"--subject", 0, OPTION_VALUE, "SUBJECT", "whose subject begins so"},
	{"--enable", 0, OPTION_FLAG, NULL, "call it again, from now on"},
	{"--disable", 0, OPTION_FLAG, NULL, "call it no more"},
};
static const struct option_row webhook_deliveries_options[] = {
	{"--state", 0, OPTION_VALUE, "waiting|delivered|failed", "in this state alone"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row webhook_list_options[] = {
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};

static const struct command webhook_cli_commands[] = {
	{"webhook", "list", "", "receivers of events outside", OPTIONS(webhook_list_options), 0, 0,
	 webhook_list, .example = "webhook list"},
	{"webhook", "show", "WEBHOOK", "one webhook, and whether it works", NO_OPTIONS, 1, 1,
	 webhook_show, .example = "webhook show 1"},
	{"webhook", "add", "NAME URL", "tell events to a receiver; prints its secret, once",
	 OPTIONS(webhook_add_options), 2, 2, webhook_add,
	 .example = "webhook add tickets https://tickets.example.org/haas --kind pdci."},
	{"webhook", "set", "WEBHOOK", "change, disable or enable a webhook",
	 OPTIONS(webhook_set_options), 1, 1, webhook_set, .example = "webhook set 1 --disable",
	 .done = "webhook {1} changed"},
	{"webhook", "secret", "WEBHOOK", "a new secret, which counts at once", NO_OPTIONS, 1, 1,
	 webhook_secret, .example = "webhook secret 1"},
	{"webhook", "remove", "WEBHOOK...", "remove webhooks with their deliveries", NO_OPTIONS, 1,
	 1000, webhook_remove, .example = "webhook remove 1", .done = "webhook {*} removed"},
	{"webhook", "deliveries", "WEBHOOK", "what was sent, and what became of it",
	 OPTIONS(webhook_deliveries_options), 1, 1, webhook_deliveries,
	 .example = "webhook deliveries 1 --state failed"},
	{"webhook", "redeliver", "WEBHOOK DELIVERY...", "send deliveries once more", NO_OPTIONS, 2,
	 1000, webhook_redeliver, .example = "webhook redeliver 1 17",
	 .done = "delivery {*} is sent again"},
};
const struct command_group webhook_group = {webhook_cli_commands, COUNT_OF(webhook_cli_commands)};
