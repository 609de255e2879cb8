/* haasctl deployment */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/file.h"

#include "portal/cli/haasctl.h"

#define USER_DATA_LIMIT ((size_t)64 << 10)
#define SSH_KEY_LIMIT   ((size_t)16 << 10)

static const struct output_column deployment_columns[] = {
	NUMBER("id"),           COLUMN("plan"),
	COLUMN("node"),         COLUMN("state"),
	COLUMN("step"),         TITLED_NUMBER("percent", "%"),
	COLUMN("image"),        COLUMN("tenant"),
	COLUMN("created_at"),   WIDE("ended_at"),
	WIDE_NUMBER("attempt"), WIDE("actor"),
	WIDE_NUMBER("job"),     TITLED_WIDE("problem.message", "PROBLEM"),
};

static int deployment_list(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/deployments");
	haasctl_query(&target, input, "--state", "state");
	haasctl_query(&target, input, "--plan", "plan");
	haasctl_query(&target, input, "--node", "node");
	if (command_option(input, "--active"))
		text_addf(&target, "%cactive=true", strchr(text_get(&target), '?') ? '&' : '?');
	return haasctl_list(context, input, text_get(&target), deployment_columns,
			    COUNT_OF(deployment_columns));
}

static void show_problem(const json_t *problem)
{
	static const char *const members[] = {"message", "detail", "hint"};

	for (size_t i = 0; i < COUNT_OF(members); i++) {
		const char *value = json_string_value(json_object_get(problem, members[i]));

		if (value && *value)
			printf("  %-8s %s\n", members[i], value);
	}
}

static int deployment_show(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("step"),       COLUMN("state"),    NUMBER("attempt"),
		COLUMN("started_at"), COLUMN("ended_at"), TITLED("problem.message", "PROBLEM"),
	};
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};
	struct output *output = NULL;
	const json_t *step;
	size_t i;

	text_add(&target, "/deployments/");
	haasctl_escape(&target, input->words[0]);
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	if (!haasctl_as_json(input, reply.json)) {
		CLEANUP(text_done) struct text state = {0};
		CLEANUP(text_done) struct text image = {0};
		const char *name = haasctl_cell(reply.json, "image", &image);

		printf("deployment %" JSON_INTEGER_FORMAT ": %s of %s%s%s is %s\n",
		       json_integer_value(json_object_get(reply.json, "id")),
		       json_string_value(json_object_get(reply.json, "plan")),
		       json_string_value(json_object_get(reply.json, "node")), name ? " with " : "",
		       name ? name : "", haasctl_cell(reply.json, "state", &state));
		show_problem(json_object_get(reply.json, "problem"));
		status = haasctl_output(context, input, columns, COUNT_OF(columns), &output);
		if (status == EXIT_OK) {
			json_array_foreach(json_object_get(reply.json, "steps"), i, step)
				haasctl_row(output, step, columns, COUNT_OF(columns));
			status = output_end(output) < 0 ? EXIT_FAILED : EXIT_OK;
		}
	}
	haasctl_reply_done(&reply);
	return status;
}

/* The lines of the files named by --ssh-key. */
static int add_ssh_keys(struct text *body, const char *const *paths)
{
	json_begin_array(body, "ssh_keys");
	for (size_t i = 0; paths && paths[i]; i++) {
		CLEANUP(freep) char *keys = NULL;
		size_t size = 0;
		char *rest = NULL;
		int rc = file_read(paths[i], SSH_KEY_LIMIT, &keys, &size);

		if (rc < 0) {
			fprintf(stderr, "haasctl: cannot read %s: %s\n", paths[i], error_text(rc));
			return EXIT_FAILED;
		}
		for (char *line = strtok_r(keys, "\r\n", &rest); line;
		     line = strtok_r(NULL, "\r\n", &rest)) {
			if (*line != '#')
				json_string(body, NULL, line);
		}
	}
	json_end_array(body);
	return EXIT_OK;
}

static int add_params(struct text *body, const struct command_input *input)
{
	const char *path = command_option(input, "--user-data");
	int status;

	json_begin_object(body, "params");
	if (command_option(input, "--hostname"))
		json_string(body, "hostname", command_option(input, "--hostname"));
	if (command_option(input, "--disk"))
		json_string(body, "disk", command_option(input, "--disk"));
	status = add_ssh_keys(body, command_options(input, "--ssh-key"));
	if (status == EXIT_OK && path) {
		CLEANUP(freep) char *data = NULL;
		size_t size = 0;
		int rc = file_read(path, USER_DATA_LIMIT, &data, &size);

		if (rc < 0) {
			fprintf(stderr, "haasctl: cannot read %s: %s\n", path, error_text(rc));
			return EXIT_FAILED;
		}
		json_string(body, "user_data", data);
	}
	json_end_object(body);
	return status;
}

static int deployment_create(void *context, const struct command_input *input)
{
	const char *const *nodes = command_options(input, "--node");
	const char *plan = command_option(input, "--plan");
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	size_t count = 0;

	while (nodes && nodes[count])
		count++;
	if (!plan || count == 0)
		return haasctl_usage(
			"say what and where: --plan inspect|install|reinstall|release --node NODE [--node NODE...]");
	json_begin_object(&body, NULL);
	json_string(&body, "plan", plan);
	haasctl_json_words(&body, "nodes", nodes, count);
	if (command_option(input, "--image"))
		json_string(&body, "image", command_option(input, "--image"));
	if (command_option(input, "--tenant"))
		json_string(&body, "tenant", command_option(input, "--tenant"));
	int status = add_params(&body, input);
	if (status != EXIT_OK)
		return status;
	json_end_object(&body);
	status = haasctl_post(context, input, "/deployments", &body, &reply);
	if (status != EXIT_OK)
		return status;
	int64_t job = json_integer_value(json_object_get(reply.json, "job"));
	if (!haasctl_as_json(input, reply.json)) {
		const json_t *deployment;
		size_t i;

		json_array_foreach(json_object_get(reply.json, "deployments"), i, deployment)
			printf("deployment %" JSON_INTEGER_FORMAT ": %s of %s (job %" PRId64 ")\n",
			       json_integer_value(json_object_get(deployment, "id")), plan,
			       json_string_value(json_object_get(deployment, "node")), job);
	}
	haasctl_reply_done(&reply);
	return command_option(input, "--wait") ? watch_deployments(context, input, job, NULL, 0)
					       : EXIT_OK;
}

static int deployment_watch(void *context, const struct command_input *input)
{
	const char *job = command_option(input, "--job");

	if (!job && input->word_count == 0)
		return watch_deployments(context, input, -1, NULL, 0);
	return watch_deployments(context, input, job ? strtoll(job, NULL, 10) : -1, input->words,
				 input->word_count);
}

static int act(void *context, const struct command_input *input, const char *action)
{
	int worst = EXIT_OK;

	for (size_t i = 0; i < input->word_count; i++) {
		CLEANUP(text_done) struct text target = {0};
		CLEANUP(text_done) struct text body = {0};
		CLEANUP(text_done) struct text state = {0};
		struct haasctl_reply reply = {0};

		text_add(&target, "/deployments/");
		haasctl_escape(&target, input->words[i]);
		text_add(&target, "/actions");
		json_begin_object(&body, NULL);
		json_string(&body, "action", action);
		json_end_object(&body);
		int status = haasctl_post(context, input, text_get(&target), &body, &reply);
		if (status != EXIT_OK) {
			worst = status;
			continue;
		}
		printf("deployment %s is %s\n", input->words[i],
		       haasctl_cell(reply.json, "state", &state));
		haasctl_reply_done(&reply);
	}
	if (worst == EXIT_OK && command_option(input, "--wait"))
		return watch_deployments(context, input, -1, input->words, input->word_count);
	return worst;
}

static int deployment_cancel(void *context, const struct command_input *input)
{
	return act(context, input, "cancel");
}

static int deployment_retry(void *context, const struct command_input *input)
{
	return act(context, input, "retry");
}

static int deployment_clear(void *context, const struct command_input *input)
{
	return act(context, input, "clear");
}

static const struct option_row list_options[] = {
	{"--state", 0, OPTION_VALUE, "STATE",
	 "queued, waiting, cancelling, done, failed, cancelled or cleared"},
	{"--plan", 0, OPTION_VALUE, "PLAN", "inspect, install, reinstall or release"},
	{"--node", 0, OPTION_VALUE, "NODE", "of this node"},
	{"--active", 0, OPTION_FLAG, NULL, "only those that are not ended"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row create_options[] = {
	{"--plan", 0, OPTION_VALUE, "PLAN", "inspect, install, reinstall or release"},
	{"--node", 0, OPTION_REPEAT, "NODE", "on this node; may be repeated"},
	{"--image", 0, OPTION_VALUE, "NAME[:VERSION]", "what to install"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "for whom"},
	{"--hostname", 0, OPTION_VALUE, "NAME", "default: the node's name"},
	{"--ssh-key", 0, OPTION_REPEAT, "FILE", "public keys for root; may be repeated"},
	{"--user-data", 0, OPTION_VALUE, "FILE", "handed to the installed OS"},
	{"--disk", 0, OPTION_VALUE, "DISK", "auto, a name or a serial (default auto)"},
	{"--wait", 'w', OPTION_FLAG, NULL, "watch it to its end"},
	{"--timeout", 0, OPTION_VALUE, "TIME", "watch at most so long (default 1h)"},
};
static const struct option_row watch_options[] = {
	{"--job", 0, OPTION_VALUE, "JOB", "all deployments of this job"},
	{"--timeout", 0, OPTION_VALUE, "TIME", "watch at most so long (default 1h)"},
};
static const struct option_row act_options[] = {
	{"--wait", 'w', OPTION_FLAG, NULL, "watch it to its end"},
	{"--timeout", 0, OPTION_VALUE, "TIME", "watch at most so long (default 1h)"},
};

static const struct command commands[] = {
	{"deployment", "list", "", "deployments, newest first", OPTIONS(list_options), 0, 0,
	 deployment_list},
	{"deployment", "show", "ID", "one deployment with its steps", NO_OPTIONS, 1, 1,
	 deployment_show},
	{"deployment", "create", "", "execute a plan on nodes, all or none",
	 OPTIONS(create_options), 0, 0, deployment_create},
	{"deployment", "watch", "[ID...]",
	 "one line per node: step, percent, ETA (default: all active)", OPTIONS(watch_options), 0,
	 1000, deployment_watch},
	{"deployment", "cancel", "ID...", "stop: power off, dirty, within 60 s",
	 OPTIONS(act_options), 1, 1000, deployment_cancel},
	{"deployment", "retry", "ID...", "a failed one goes on at its failed step",
	 OPTIONS(act_options), 1, 1000, deployment_retry},
	{"deployment", "clear", "ID...", "put a failed or cancelled one away", OPTIONS(act_options),
	 1, 1000, deployment_clear},
};
const struct command_group deployment_group = {commands, COUNT_OF(commands)};
