/* haasctl event, job, certificate: what has happened. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "portal/cli/haasctl.h"

static const struct output_column event_columns[] = {
	COLUMN("at"),      COLUMN("actor"),   COLUMN("kind"), COLUMN("subject"),
	COLUMN("message"), WIDE_NUMBER("id"), WIDE("tenant"), WIDE("detail"),
};

static int event_list(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/events?order=");
	text_add(&target, command_option(input, "--oldest") ? "oldest" : "newest");
	haasctl_query(&target, input, "--subject", "subject");
	haasctl_query(&target, input, "--kind", "kind");
	return haasctl_list(context, input, text_get(&target), event_columns,
			    COUNT_OF(event_columns));
}

/* Server-sent events, line by line: "data:" lines of one event, ended by an empty line. */
struct follow {
	const struct command_input *input;
	struct text line, data;
};

static void print_event(struct follow *follow)
{
	struct problem problem = {0};
	json_t *event = NULL;
	CLEANUP(text_done) struct text at = {0};
	CLEANUP(text_done) struct text kind = {0};
	CLEANUP(text_done) struct text subject = {0};
	const char *format = command_option(follow->input, "--output");

	if (json_read(text_get(&follow->data), follow->data.size, JSON_LIMIT_DEFAULT, &event,
		      &problem) < 0)
		return;
	if (format && strncmp(format, "json", 4) == 0)
		printf("%s\n", text_get(&follow->data));
	else
		printf("%.12s %-20s %-12s %s\n",
		       haasctl_cell(event, "at", &at) ? text_get(&at) + 11 : "",
		       haasctl_cell(event, "kind", &kind), haasctl_cell(event, "subject", &subject),
		       json_string_value(json_object_get(event, "message")));
	fflush(stdout);
	json_decref(event);
}

static int on_stream(void *context, const void *data, size_t size)
{
	struct follow *follow = context;
	const char *at = data;

	for (size_t i = 0; i < size; i++) {
		if (at[i] != '\n') {
			if (at[i] != '\r' && follow->line.size < JSON_LIMIT_DEFAULT)
				text_add_bytes(&follow->line, &at[i], 1);
			continue;
		}
		if (follow->line.size == 0 && follow->data.size > 0) {
			print_event(follow);
			text_clear(&follow->data);
		} else if (strncmp(text_get(&follow->line), "data:", 5) == 0) {
			text_add(&follow->data, text_get(&follow->line) + 5);
		}
		text_clear(&follow->line);
	}
	return 0;
}

static int event_watch(void *context, const struct command_input *input)
{
	struct follow follow = {.input = input};
	struct haasctl_reply reply = {0};
	int status = haasctl_call(context, input,
				  &(struct haasctl_call){.method = "GET",
							 .target = "/events/stream",
							 .on_data = on_stream,
							 .context = &follow},
				  &reply);

	haasctl_reply_done(&reply);
	text_done(&follow.line);
	text_done(&follow.data);
	return status;
}

static int job_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		NUMBER("id"),    COLUMN("kind"),       COLUMN("state"),
		NUMBER("total"), NUMBER("done"),       NUMBER("failed"),
		COLUMN("actor"), COLUMN("created_at"), WIDE("ended_at"),
	};
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/jobs");
	haasctl_query(&target, input, "--state", "state");
	return haasctl_list(context, input, text_get(&target), columns, COUNT_OF(columns));
}

static int job_show(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/jobs/");
	haasctl_escape(&target, input->words[0]);
	return haasctl_show(context, input, text_get(&target));
}

static int job_wait(void *context, const struct command_input *input)
{
	return haasctl_wait_job(context, input, strtoll(input->words[0], NULL, 10), NULL);
}

static int certificate_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		NUMBER("id"),         COLUMN("node"), NUMBER("deployment"),
		COLUMN("created_at"), WIDE("hash"),   WIDE("previous_hash"),
	};
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/certificates");
	haasctl_query(&target, input, "--node", "node");
	return haasctl_list(context, input, text_get(&target), columns, COUNT_OF(columns));
}

static int certificate_show(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/certificates/");
	haasctl_escape(&target, input->words[0]);
	return haasctl_show(context, input, text_get(&target));
}

static const struct option_row event_options[] = {
	{"--subject", 0, OPTION_VALUE, "NAME", "of this node, lease, ..."},
	{"--kind", 0, OPTION_VALUE, "GLOB", "node.*, deployment.*, ..."},
	{"--oldest", 0, OPTION_FLAG, NULL, "oldest first"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row job_options[] = {
	{"--state", 0, OPTION_VALUE, "STATE", "running, done or failed"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row wait_options[] = {
	{"--timeout", 0, OPTION_VALUE, "TIME", "at most so long, 90s, 5m (default 1h)"}};
static const struct option_row certificate_options[] = {
	{"--node", 0, OPTION_VALUE, "NODE", "of this node"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};

static const struct command commands[] = {
	{"event", "list", "", "who did what to which subject, newest first", OPTIONS(event_options),
	 0, 0, event_list},
	{"event", "watch", "", "events as they come (leave with Ctrl-C)", NO_OPTIONS, 0, 0,
	 event_watch},
	{"job", "list", "", "what requests have started", OPTIONS(job_options), 0, 0, job_list},
	{"job", "show", "ID", "one job with its items", NO_OPTIONS, 1, 1, job_show},
	{"job", "wait", "ID", "until it has ended", OPTIONS(wait_options), 1, 1, job_wait},
	{"certificate", "list", "", "proofs of erasure", OPTIONS(certificate_options), 0, 0,
	 certificate_list},
	{"certificate", "show", "ID", "one proof, with its signature", NO_OPTIONS, 1, 1,
	 certificate_show},
};
const struct command_group record_group = {commands, COUNT_OF(commands)};
