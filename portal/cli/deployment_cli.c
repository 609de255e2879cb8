/* haasctl deployment */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/io/file.h"
#include "common/net/ssh_key_wire.h"

#include "portal/cli/confirm.h"
#include "portal/cli/listing.h"
#include "portal/cli/selector.h"

#define USER_DATA_LIMIT ((size_t)64 << 10)
#define SSH_KEY_LIMIT   ((size_t)16 << 10)

static const struct output_column deployment_columns[] = {
	NUMBER("id"),
	COLUMN("plan"),
	COLUMN("node"),
	COLUMN("state"),
	COLUMN("step"),
	TITLED_NUMBER("percent", "%"),
	TITLED_WIDE("eta.at", "ENDS_AT"),
	COLUMN("tenant"),
	COLUMN("image"),
	WIDE("image_version"),
	WIDE("created_at"),
	WIDE("ended_at"),
	WIDE_NUMBER("attempt"),
	WIDE("actor"),
	WIDE_NUMBER("job"),
	TITLED_WIDE("problem.message", "PROBLEM"),
	WIDE("class"),
	TITLED_WIDE("waiting.kind", "WAITS_FOR"),
	TITLED_WIDE("waiting.message", "WAITS"),
	TITLED_WIDE("waiting.since", "SINCE"),
};

static int deployment_list(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/deployments");
	haasctl_query(&target, input, "--state");
	haasctl_query(&target, input, "--plan");
	haasctl_query(&target, input, "--node");
	if (command_option(input, "--active"))
		text_addf(&target, "%cactive=true", strchr(text_get(&target), '?') ? '&' : '?');
	return listing_pages(context, input, text_get(&target), 0, COLUMNS(deployment_columns));
}

/* What is wrong, or waited for: `title` before its message. */
static void show_reason(const json_t *reason, const char *title)
{
	static const char *const parts[] = {"message", "detail", "hint"};
	CLEANUP(text_done) struct text text = {0};
	const json_t *since = json_object_get(reason, "since");

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		if (haasctl_word(reason, parts[i])[0])
			printf("  %-10s %s\n", i == 0 ? title : parts[i],
			       haasctl_word(reason, parts[i]));
	}
	if (json_is_string(since))
		printf("  %-10s %s\n", "since", listing_text(since, "since_at", &text));
}

/* When it ends, as such deployments went. */
static void show_eta(const json_t *eta)
{
	static const struct {
		const char *member, *title;
	} rows[] = {{"at", "ends about"}, {"latest", "at latest"}, {"usual_s", "step takes"}};
	CLEANUP(text_done) struct text text = {0};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const json_t *value = json_object_get(eta, rows[i].member);

		if (value && !json_is_null(value))
			printf("  %-10s %s\n", rows[i].title,
			       listing_text(value, rows[i].member, &text));
	}
	if (json_is_true(json_object_get(eta, "late")))
		printf("  %-10s its step takes longer than it ever did\n", "late");
}

static void deployment_cli_show_head(const json_t *deployment)
{
	static const char *const members[] = {"actor", "tenant", "created_at", "ended_at",
					      "progress"};
	CLEANUP(text_done) struct text text = {0};
	const char *image = haasctl_word(deployment, "image");

	printf("deployment %" JSON_INTEGER_FORMAT ": %s of %s",
	       json_integer_value(json_object_get(deployment, "id")),
	       haasctl_word(deployment, "plan"), haasctl_word(deployment, "node"));
	if (*image)
		printf(" with %s:%s", image, haasctl_word(deployment, "image_version"));
	printf(" is %s\n", haasctl_word(deployment, "state"));
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		const json_t *value = json_object_get(deployment, members[i]);

		if (value && !json_is_null(value))
			printf("  %-10s %s\n", members[i], listing_text(value, members[i], &text));
	}
	show_eta(json_object_get(deployment, "eta"));
	show_reason(json_object_get(deployment, "waiting"), "waits");
	/* A pause is what it waits for. */
	if (json_is_null(json_object_get(deployment, "waiting")))
		show_reason(json_object_get(deployment, "problem"), "problem");
	show_reason(json_object_get(deployment, "last_problem"), "last try");
}

/* For people a head and its steps; with -o csv or -c the steps; JSON is the whole. */
static int deployment_show(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("step"),       COLUMN("state"),    NUMBER("attempt"),
		COLUMN("started_at"), COLUMN("ended_at"), TITLED_WIDE("problem.message", "PROBLEM"),
	};
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};

	haasctl_path(&target, "/deployments/", input->words[0], "");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	if (command_option(input, "--columns") || !listing_json(input, reply.json)) {
		const json_t *steps = json_object_get(reply.json, "steps");

		if (listing_for_people(input) && !command_option(input, "--columns"))
			deployment_cli_show_head(reply.json);
		if (json_array_size(steps) > 0 || !listing_for_people(input))
			status = listing_rows(input, steps, COLUMNS(columns));
	}
	haasctl_reply_done(&reply);
	return status;
}

/* The lines of a .pub file or of an authorized_keys. */
static int deployment_cli_add_keys(struct text *body, const char *path, char *keys, size_t size)
{
	const char *what = strlen(keys) < size ? "no text" : NULL;
	size_t count = 0;
	char *rest = NULL;

	for (char *line = strtok_r(keys, "\r\n", &rest); line && !what;
	     line = strtok_r(NULL, "\r\n", &rest)) {
		if (*line == '#')
			continue;
		what = ssh_key_refusal(line, strlen(line));
		json_put_string(body, NULL, line);
		count++;
	}
	if (!what && count == 0)
		what = "without a key";
	return what ? haasctl_usage("--ssh-key %s: it is %s", path, what) : EXIT_OK;
}

int haasctl_add_ssh_keys(struct text *body, const char *const *paths)
{
	json_begin_array(body, "ssh_keys");
	for (size_t i = 0; paths && paths[i]; i++) {
		CLEANUP(freep) char *keys = NULL;
		size_t size = 0;
		int rc = file_read(paths[i], SSH_KEY_LIMIT, &keys, &size);
		int status;

		if (rc < 0)
			return haasctl_cannot("read", paths[i], rc);
		status = deployment_cli_add_keys(body, paths[i], keys, size);
		explicit_bzero(keys, size); /* it may be a private key */
		if (status != EXIT_OK)
			return status;
	}
	json_end_array(body);
	return EXIT_OK;
}

int haasctl_add_user_data(struct text *body, const char *path)
{
	CLEANUP(freep) char *data = NULL;
	size_t size = 0;
	int rc = path ? file_read(path, USER_DATA_LIMIT, &data, &size) : 0;

	if (rc < 0)
		return haasctl_cannot("read", path, rc);
	if (path)
		json_put_string(body, "user_data", data);
	return EXIT_OK;
}

void haasctl_add_words(struct text *body, const char *member, const char *const *words)
{
	if (!words || !words[0])
		return;
	json_begin_array(body, member);
	for (; *words; words++)
		json_put_string(body, NULL, *words);
	json_end_array(body);
}

/* --address MAC=ADDRESS/LENGTH[,GATEWAY] */
static int deployment_cli_add_addresses(struct text *body, const char *const *words)
{
	if (!words || !words[0])
		return EXIT_OK; /* DHCP */
	json_begin_array(body, "addresses");
	for (; *words; words++) {
		CLEANUP(freep) char *word = strdup(*words);
		char *address = word ? strchr(word, '=') : NULL;
		char *gateway = address ? strchr(address, ',') : NULL;

		if (!address)
			return haasctl_usage("--address %s is not MAC=ADDRESS/LENGTH[,GATEWAY]",
					     *words);
		*address++ = '\0';
		if (gateway)
			*gateway++ = '\0';
		json_begin_object(body, NULL);
		json_put_string(body, "mac", word);
		json_put_string(body, "address", address);
		if (gateway)
			json_put_string(body, "gateway", gateway);
		json_end_object(body);
	}
	json_end_array(body);
	return EXIT_OK;
}

static int add_params(struct text *body, const struct command_input *input)
{
	int status;

	json_begin_object(body, "params");
	if (command_option(input, "--hostname"))
		json_put_string(body, "hostname", command_option(input, "--hostname"));
	if (command_option(input, "--disk"))
		json_put_string(body, "disk", command_option(input, "--disk"));
	haasctl_add_words(body, "lost_drives", command_options(input, "--lost-drive"));
	haasctl_add_words(body, "packages", command_options(input, "--package"));
	status = deployment_cli_add_addresses(body, command_options(input, "--address"));
	if (status == EXIT_OK)
		status = haasctl_add_ssh_keys(body, command_options(input, "--ssh-key"));
	if (status != EXIT_OK)
		return status; /* the body is given up half written */
	status = haasctl_add_user_data(body, command_option(input, "--user-data"));
	if (status != EXIT_OK)
		return status;
	json_end_object(body);
	return EXIT_OK;
}

/* Nodes are words, or --node as often as there are nodes. */
static size_t add_nodes(struct text *body, const struct command_input *input,
			const struct selector *chosen)
{
	const char *const *nodes = command_options(input, "--node");
	size_t count = input->word_count;

	if (chosen->where) {
		selector_json(body, "nodes", chosen);
		return (size_t)chosen->expected;
	}
	json_begin_array(body, "nodes");
	for (size_t i = 0; i < input->word_count; i++)
		json_put_string(body, NULL, input->words[i]);
	for (; nodes && *nodes; nodes++, count++)
		json_put_string(body, NULL, *nodes);
	json_end_array(body);
	return count;
}

static int create_body(struct text *body, const struct command_input *input,
		       const struct selector *chosen)
{
	const char *plan = command_option(input, "--plan");

	json_begin_object(body, NULL);
	json_put_string(body, "plan", plan ? plan : "");
	size_t count = add_nodes(body, input, chosen);
	if (!plan || count == 0)
		return haasctl_usage(
			"plan and nodes are needed: --plan inspect|install|reinstall|release NODE...");
	if (count > 1 && command_option(input, "--hostname"))
		return haasctl_usage("--hostname fits one node, not %zu", count);
	if (command_option(input, "--image"))
		json_put_string(body, "image", command_option(input, "--image"));
	if (command_option(input, "--tenant"))
		json_put_string(body, "tenant", command_option(input, "--tenant"));
	if (command_option(input, "--force"))
		json_put_bool(body, "force", true);
	int status = add_params(body, input);
	if (status == EXIT_OK)
		json_end_object(body);
	return status;
}

static bool deployment_cli_erases(const struct command_input *input)
{
	const char *plan = command_option(input, "--plan");

	return plan && (strcmp(plan, "release") == 0 || strcmp(plan, "reinstall") == 0);
}

/* A release and a reinstall erase what a tenant has on its node. */
static int deployment_cli_confirm(void *context, const struct command_input *input)
{
	static const struct confirm_row row = {CONFIRM_NODES, 0, "will be erased"};
	const char *const *nodes = command_options(input, "--node");
	size_t count = 0;
	int status;

	if (!deployment_cli_erases(input))
		return EXIT_OK;
	status = confirm_ask(context, input, &row);
	while (nodes && nodes[count])
		count++;
	return status == EXIT_OK ? confirm_ask_words(context, input, &row, nodes, count) : status;
}

/* --where; names are read by create_body. */
static int deployment_cli_choose(void *context, const struct command_input *input,
				 struct selector *ret)
{
	const struct selector_row row = {"/nodes", "nodes", 0,
					 deployment_cli_erases(input) ? "will be erased" : NULL};

	if (!command_option(input, "--where") && !command_option(input, "--expected"))
		return EXIT_OK;
	if (command_options(input, "--node") && command_options(input, "--node")[0])
		return haasctl_usage("either nodes by name, or --where");
	return selector_read(context, input, &row, ret);
}

static int deployment_cli_deployment_create(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {NUMBER("id"), COLUMN("node")};
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	int64_t limit_s = 0;
	struct selector chosen = {0};
	int status = haasctl_timeout_s(input, &limit_s); /* before anything is begun */

	if (status == EXIT_OK)
		status = deployment_cli_choose(context, input, &chosen);
	if (status == EXIT_OK)
		status = create_body(&body, input, &chosen);
	if (status == EXIT_OK && !chosen.where)
		status = deployment_cli_confirm(context, input);
	if (status == EXIT_OK)
		status = haasctl_post(context, input, "/deployments", &body, &reply);
	if (status != EXIT_OK)
		return status;
	int64_t job = json_integer_value(json_object_get(reply.json, "job"));
	bool wait = command_option(input, "--wait") != NULL;
	if (!listing_json(input, reply.json))
		status = listing_rows(input, json_object_get(reply.json, "deployments"),
				      COLUMNS(columns));
	if (!wait)
		fprintf(stderr, "follow it: haasctl deployment watch --job %" PRId64 "\n", job);
	haasctl_reply_done(&reply);
	return wait ? watch_deployments(context, input, job, NULL, 0, "done") : status;
}

static int deployment_watch(void *context, const struct command_input *input)
{
	const char *word = command_option(input, "--job");
	int64_t job = -1;
	int status = word ? haasctl_number("--job", word, &job) : EXIT_OK;

	if (status == EXIT_OK && word && input->word_count > 0)
		status = haasctl_usage("either --job or deployments, not both");
	return status == EXIT_OK ? watch_deployments(context, input, job, input->words,
						     input->word_count, "done")
				 : status;
}

/* All that --where lets through, in one request: those that took it are rows; why another did not is
 * told on stderr. */
static int deployment_cli_act_many(void *context, const struct command_input *input,
				   const char *action)
{
	static const struct output_column columns[] = {NUMBER("id"), COLUMN("plan"), COLUMN("node"),
						       COLUMN("state"), WIDE("refused")};
	const struct selector_row row = {"/deployments", "deployments", 0,
					 strcmp(action, "cancel") == 0 ? "will be stopped" : NULL};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	struct selector chosen;
	const json_t *item;
	size_t refused = 0;
	size_t i;
	int status = selector_read(context, input, &row, &chosen);

	if (status == EXIT_OK && command_option(input, "--wait"))
		status =
			haasctl_usage("--wait follows deployments that are named; watch these with "
				      "deployment watch");
	if (status != EXIT_OK)
		return status;
	json_begin_object(&body, NULL);
	selector_json(&body, "deployments", &chosen);
	json_put_string(&body, "action", action);
	json_end_object(&body);
	status = haasctl_post(context, input, "/deployments/actions", &body, &reply);
	if (status != EXIT_OK)
		return status;
	status = listing_rows(input, json_object_get(reply.json, "deployments"), COLUMNS(columns));
	json_array_foreach(json_object_get(reply.json, "deployments"), i, item)
	{
		if (!haasctl_word(item, "refused")[0])
			continue;
		refused++;
		fprintf(stderr, "%s: %s\n", haasctl_word(item, "node"),
			haasctl_word(item, "refused"));
	}
	return status == EXIT_OK && refused > 0 ? EXIT_PARTIAL : status;
}

/* `good`: the state in which they end when --wait has gone well. */
static int deployment_cli_act(void *context, const struct command_input *input, const char *action,
			      const char *good)
{
	static const struct output_column columns[] = {NUMBER("id"), COLUMN("plan"), COLUMN("node"),
						       COLUMN("state")};
	struct listing *listing = NULL;
	struct tally tally = {0};
	int status;

	if (command_option(input, "--where") || input->word_count == 0)
		return deployment_cli_act_many(context, input, action);
	status = listing_new(input, columns, COUNT_OF(columns), &listing);
	if (status != EXIT_OK)
		return status;
	for (size_t i = 0; i < input->word_count && !haasctl_interrupted(context); i++) {
		CLEANUP(text_done) struct text target = {0};
		CLEANUP(text_done) struct text body = {0};
		struct haasctl_reply reply = {0};

		haasctl_path(&target, "/deployments/", input->words[i], "/actions");
		json_begin_object(&body, NULL);
		json_put_string(&body, "action", action);
		json_end_object(&body);
		status = haasctl_post(context, input, text_get(&target), &body, &reply);
		if (status == EXIT_OK)
			listing_row(listing, reply.json);
		tally_add(&tally, status);
		haasctl_reply_done(&reply);
	}
	status = listing_end(listing, tally.good > 0 ? EXIT_OK : tally.failure);
	if (tally.bad > 0)
		status = tally_status(&tally);
	if (status == EXIT_OK && command_option(input, "--wait"))
		return watch_deployments(context, input, -1, input->words, input->word_count, good);
	return status;
}

static int deployment_cancel(void *context, const struct command_input *input)
{
	return deployment_cli_act(context, input, "cancel", "cancelled");
}

static int deployment_retry(void *context, const struct command_input *input)
{
	return deployment_cli_act(context, input, "retry", "done");
}

static int deployment_clear(void *context, const struct command_input *input)
{
	return deployment_cli_act(context, input, "clear", "cleared");
}

static const struct option_row deployment_cli_list_options[] = {
	{"--state", 0, OPTION_VALUE, "queued|waiting|cancelling|done|failed|cancelled|cleared",
	 "only in this state"},
	{"--plan", 0, OPTION_VALUE, "inspect|install|reinstall|release", "only of this plan"},
	{"--node", 0, OPTION_VALUE, "NODE", "of this node"},
	{"--active", 0, OPTION_FLAG, NULL, "only those that have not ended"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row deployment_cli_create_options[] = {
	{"--plan", 0, OPTION_VALUE, "inspect|install|reinstall|release", "the plan to execute"},
	{"--node", 0, OPTION_REPEAT, "NODE", "on this node too; may be repeated"},
	SELECTOR_OPTIONS,
	{"--image", 0, OPTION_VALUE, "NAME[:VERSION]", "the image to install"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "for whom"},
	{"--hostname", 0, OPTION_VALUE, "NAME", "default: the node's name"},
	{"--ssh-key", 0, OPTION_REPEAT, "FILE", "public keys for root; may be repeated"},
	{"--user-data", 0, OPTION_VALUE, "FILE", "handed to the installed OS"},
	{"--package", 0, OPTION_REPEAT, "NAME:VERSION",
	 "installed at the first start; may be repeated"},
	{"--disk", 0, OPTION_VALUE, "DISK", "auto, a name or a serial (default auto)"},
	{"--address", 0, OPTION_REPEAT, "MAC=ADDR/LEN[,GW]",
	 "static address of a NIC (default DHCP)"},
	{"--lost-drive", 0, OPTION_REPEAT, "SERIAL",
	 "release without this drive: it was destroyed"},
	{"--force", 0, OPTION_FLAG, NULL, "also against a health label or a PDCI; logged"},
	CONFIRM_OPTION,
	{"--wait", 'w', OPTION_FLAG, NULL, "watch it to its end"},
	{"--timeout", 0, OPTION_VALUE, "TIME", "watch at most so long (default 1h)"},
};
static const struct option_row deployment_cli_watch_options[] = {
	{"--job", 0, OPTION_VALUE, "JOB", "all deployments of this job"},
	{"--timeout", 0, OPTION_VALUE, "TIME", "watch at most so long (default 1h)"},
};
static const struct option_row deployment_cli_act_options[] = {
	SELECTOR_OPTIONS,
	CONFIRM_OPTION,
	{"--wait", 'w', OPTION_FLAG, NULL, "watch it to its end"},
	{"--timeout", 0, OPTION_VALUE, "TIME", "watch at most so long (default 1h)"},
};

static const struct command deployment_cli_commands[] = {
	{"deployment", "list", "", "deployments, newest first",
	 OPTIONS(deployment_cli_list_options), 0, 0, deployment_list,
	 .example = "deployment list --active"},
	{"deployment", "show", "DEPLOYMENT", "one deployment with its steps", NO_OPTIONS, 1, 1,
	 deployment_show, .example = "deployment show 42"},
	{"deployment", "create", "[NODE...]", "execute a plan on nodes, all or none",
	 OPTIONS(deployment_cli_create_options), 0, 1000, deployment_cli_deployment_create,
	 .example = "deployment create --plan inspect n1 n2"},
	{"deployment", "watch", "[DEPLOYMENT...]",
	 "one line per node: step, percent, ETA (default: all)",
	 OPTIONS(deployment_cli_watch_options), 0, 1000, deployment_watch,
	 .example = "deployment watch 42"},
	{"deployment", "cancel", "[DEPLOYMENT...]", "stop: power off, dirty, within 60 s",
	 OPTIONS(deployment_cli_act_options), 0, 1000, deployment_cancel,
	 .example = "deployment cancel 42 --wait"},
	{"deployment", "retry", "[DEPLOYMENT...]",
	 "continue a failed deployment at its failed step", OPTIONS(deployment_cli_act_options), 0,
	 1000, deployment_retry,
	 .example = "deployment retry --where 'state=failed step=write_image'"},
	{"deployment", "clear", "[DEPLOYMENT...]", "clear a failed or cancelled deployment",
	 OPTIONS(deployment_cli_act_options), 0, 1000, deployment_clear,
	 .example = "deployment clear 42"},
};
const struct command_group deployment_group = {deployment_cli_commands,
					       COUNT_OF(deployment_cli_commands)};
