/* haasctl event, job: what has happened. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portal/cli/event_reader.h"
#include "portal/cli/listing.h"

#define EVENTS_USUALLY      100  /* an audit log is long */
#define RECORD_CLI_RETRY_MS 1000 /* until a stream that broke off is asked for again */

static const struct output_column event_columns[] = {
	COLUMN("at"),      COLUMN("actor"),      COLUMN("subject"), COLUMN("message"), WIDE("kind"),
	WIDE_NUMBER("id"), WIDE("subject_kind"), WIDE("tenant"),    WIDE("detail"),
};

static void add_event_filters(struct text *target, const struct command_input *input)
{
	haasctl_query(target, input, "--subject");
	haasctl_query(target, input, "--kind");
}

static int record_cli_event_list(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_addf(&target, "/events?order=%s",
		  command_option(input, "--oldest") ? "oldest" : "newest");
	add_event_filters(&target, input);
	return listing_pages(context, input, text_get(&target), EVENTS_USUALLY,
			     COLUMNS(event_columns));
}

struct follow {
	struct haasctl *haasctl;
	const struct command_input *input;
	struct event_reader reader;
	bool broken; /* stdout, or the stream was not one of events */
};

static void print_event(void *context, const char *kind, const struct text *data)
{
	struct follow *follow = context;
	CLEANUP(text_done) struct text at = {0};
	struct problem problem = {0};
	json_t *event = NULL;

	(void)kind;
	if (json_read(text_get(data), data->size, JSON_LIMIT_DEFAULT, &event, &problem) < 0)
		return;
	if (listing_for_people(follow->input))
		printf("%s  %-10s %-12s %s\n",
		       listing_text(json_object_get(event, "at"), "at", &at),
		       haasctl_word(event, "actor"), haasctl_word(event, "subject"),
		       haasctl_word(event, "message"));
	else
		printf("%s\n", text_get(data));
	json_decref(event);
	if (fflush(stdout) != 0) {
		follow->broken = true;
		haasctl_stop(follow->haasctl);
	}
}

static void record_cli_on_stream(void *context, const void *data, size_t size)
{
	struct follow *follow = context;

	event_reader_take(&follow->reader, data, size);
}

/* One stream, to its end. After the first event position, a server that is away is waited for. */
static int follow_once(struct follow *follow)
{
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};
	bool known = follow->reader.id[0] != '\0';

	text_add(&target, "/events/stream");
	add_event_filters(&target, follow->input);
	if (known)
		text_addf(&target, "%clast_event_id=%s", strchr(text_get(&target), '?') ? '&' : '?',
			  follow->reader.id);
	int status =
		haasctl_call(follow->haasctl, follow->input,
			     &(struct haasctl_call){.method = "GET",
						    .target = text_get(&target),
						    .untold = known ? EXIT_UNREACHABLE : EXIT_OK,
						    .on_data = record_cli_on_stream,
						    .context = follow},
			     &reply);
	haasctl_reply_done(&reply);
	return status;
}

/* Until Ctrl-C. A stream that breaks off is taken up behind the last event: none is lost, none
 * comes twice. */
static int event_watch(void *context, const struct command_input *input)
{
	struct follow follow = {.haasctl = context, .input = input};
	const char *format = command_option(input, "--output");
	bool told = false;
	int status;

	if (format && strcmp(format, "csv") == 0)
		return haasctl_usage("event watch writes lines or, with -o jsonl, JSON");
	follow.reader.on_event = print_event;
	follow.reader.context = &follow;
	for (;;) {
		status = follow_once(&follow);
		if (follow.broken || (status != EXIT_OK && status != EXIT_UNREACHABLE) ||
		    follow.reader.id[0] == '\0')
			break;
		if (status == EXIT_UNREACHABLE && !told)
			fprintf(stderr, "haasctl: portald is away; waiting for it\n");
		told = status == EXIT_UNREACHABLE;
		if (!haasctl_sleep(context, RECORD_CLI_RETRY_MS)) {
			status = EXIT_INTERRUPTED;
			break;
		}
	}
	event_reader_done(&follow.reader);
	return status;
}

static const struct output_column job_columns[] = {
	NUMBER("id"),     COLUMN("kind"), COLUMN("state"),      NUMBER("total"),  NUMBER("done"),
	NUMBER("failed"), WIDE("actor"),  COLUMN("created_at"), WIDE("ended_at"),
};

static int job_list(void *context, const struct command_input *input)
{
	return listing_filtered(context, input, "/jobs", OPTION_NAMES("--state"),
				COLUMNS(job_columns));
}

static int job_show(void *context, const struct command_input *input)
{
	static const char *const order[] = {
		"id",           "kind",        "state",      "total",
		"done",         "failed",      "actor",      "created_at",
		"ended_at",     "items",       "items.node", "items.deployment",
		"items.action", "items.state", "items.step", NULL};

	return listing_show_named(context, input, "/jobs/", "",
				  &(struct show){order, COLUMNS(job_columns)});
}

static int job_wait(void *context, const struct command_input *input)
{
	int64_t job = 0;
	int status = haasctl_number("job", input->words[0], &job);

	return status == EXIT_OK ? haasctl_wait_job(context, input, job, NULL) : status;
}

static const struct option_row record_cli_event_options[] = {
	{"--subject", 0, OPTION_VALUE, "NAME", "of this node, lease, ..."},
	{"--kind", 0, OPTION_VALUE, "GLOB", "node.*, deployment.*, ..."},
	{"--oldest", 0, OPTION_FLAG, NULL, "oldest first"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows, or all (default 100)"},
	LIST_OPTIONS,
};
static const struct option_row follow_options[] = {
	{"--subject", 0, OPTION_VALUE, "NAME", "of this node, lease, ..."},
	{"--kind", 0, OPTION_VALUE, "GLOB", "node.*, deployment.*, ..."},
};
static const struct option_row job_options[] = {
	{"--state", 0, OPTION_VALUE, "running|done|failed", "only in this state"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row record_cli_wait_options[] = {
	{"--timeout", 0, OPTION_VALUE, "TIME", "at most so long, 90s, 5m (default 1h)"}};

static const struct command record_cli_commands[] = {
	{"event", "list", "", "events: actor, action and subject, newest first",
	 OPTIONS(record_cli_event_options), 0, 0, record_cli_event_list,
	 .example = "event list --subject n1"},
	{"event", "watch", "", "events as they come (leave with Ctrl-C)", OPTIONS(follow_options),
	 0, 0, event_watch, .example = "event watch --kind 'deployment.*'"},
	{"job", "list", "", "jobs that requests have started", OPTIONS(job_options), 0, 0, job_list,
	 .example = "job list --state running"},
	{"job", "show", "JOB", "one job with its items", NO_OPTIONS, 1, 1, job_show,
	 .example = "job show 7"},
	{"job", "wait", "JOB", "until it has ended", OPTIONS(record_cli_wait_options), 1, 1,
	 job_wait, .example = "job wait 7 --timeout 5m"},
};
const struct command_group record_group = {record_cli_commands, COUNT_OF(record_cli_commands)};
