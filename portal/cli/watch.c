/* haasctl deployment watch: looks at deployments again and again until all have ended; and the
 * waiting that other watches share. */
#include "portal/cli/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/count_text.h"

#define PAUSE_MS 500

int watch_get(struct watch *watch, const char *target, struct haasctl_reply *ret)
{
	/* After the first look a server that is away is waited for. */
	return haasctl_call(
		watch->haasctl, watch->input,
		&(struct haasctl_call){.method = "GET",
				       .target = target,
				       .untold = watch->watched ? EXIT_UNREACHABLE : EXIT_OK},
		ret);
}

static int get_list(struct watch *watch, const char *target, json_t **ret)
{
	CLEANUP(text_done) struct text page = {0};
	json_t *all = json_array();
	int status = EXIT_OK;

	text_add(&page, target);
	while (status == EXIT_OK && page.size > 0) {
		struct haasctl_reply reply = {0};

		status = watch_get(watch, text_get(&page), &reply);
		if (status == EXIT_OK)
			(void)json_array_extend(all, json_object_get(reply.json, "items"));
		text_clear(&page);
		if (haasctl_word(reply.json, "next")[0]) {
			text_addf(&page, "%s&cursor=", target);
			text_add_percent(&page, haasctl_word(reply.json, "next"));
		}
		haasctl_reply_done(&reply);
	}
	if (status == EXIT_OK)
		*ret = json_incref(all);
	json_decref(all);
	return status;
}

static int get_one(struct watch *watch, const char *id, json_t **ret)
{
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};

	haasctl_path(&target, "/deployments/", id, "");
	int status = watch_get(watch, text_get(&target), &reply);
	if (status == EXIT_OK)
		*ret = json_incref(reply.json);
	haasctl_reply_done(&reply);
	return status;
}

/* The job's, those of the ids, or all active. */
static int first_look(struct watch *watch, int64_t job, const char *const ids[], size_t count)
{
	json_t *all = NULL;
	char target[80];
	int status = EXIT_OK;

	if (count == 0) {
		(void)text_format(target, sizeof(target), "/deployments?limit=500&active=true");
		if (job >= 0)
			(void)text_format(target, sizeof(target),
					  "/deployments?limit=500&job=%" PRId64, job);
		return get_list(watch, target, &watch->watched);
	}
	all = json_array();
	for (size_t i = 0; i < count && status == EXIT_OK; i++) {
		json_t *one = NULL;

		status = get_one(watch, ids[i], &one);
		if (status == EXIT_OK)
			(void)json_array_append_new(all, one);
	}
	if (status == EXIT_OK)
		watch->watched = json_incref(all);
	json_decref(all);
	return status;
}

static json_t *find_id(const json_t *deployments, json_int_t id)
{
	json_t *deployment;
	size_t i;

	json_array_foreach(deployments, i, deployment)
	{
		if (json_integer_value(json_object_get(deployment, "id")) == id)
			return deployment;
	}
	return NULL;
}

/* One request for all that are active; those that have left the list are asked for once more. */
static int watch_look_again(struct watch *watch)
{
	json_t *active = NULL;
	int status = get_list(watch, "/deployments?limit=500&active=true", &active);

	for (size_t i = 0; status == EXIT_OK && i < json_array_size(watch->watched); i++) {
		const json_t *before = json_array_get(watch->watched, i);
		json_t *now = find_id(active, json_integer_value(json_object_get(before, "id")));
		char id[32];

		if (now) {
			(void)json_array_set(watch->watched, i, now);
		} else if (!watch_has_ended(before)) {
			watch_id_text(before, id);
			status = get_one(watch, id, &now);
			if (status == EXIT_OK)
				(void)json_array_set_new(watch->watched, i, now);
		}
	}
	json_decref(active);
	return status;
}

static bool all_ended(const struct watch *watch)
{
	return watch_unfinished(watch->watched) == 0;
}

static int watch_sum_up(const struct watch *watch)
{
	const json_t *deployment;
	size_t done = watch_count_state(watch->watched, watch->good);
	size_t i;

	json_array_foreach(watch->watched, i, deployment) haasctl_stored_problem(
		haasctl_word(deployment, "node"), json_object_get(deployment, "problem"));
	if (done == json_array_size(watch->watched))
		return EXIT_OK;
	return done == 0 ? EXIT_FAILED : EXIT_PARTIAL;
}

int watch_deployments(struct haasctl *haasctl, const struct command_input *input, int64_t job,
		      const char *const ids[], size_t count, const char *good)
{
	struct watch watch;
	int64_t limit_s = 0;
	int status = watch_begin(&watch, haasctl, input, &limit_s);

	if (status != EXIT_OK)
		return status;
	watch.look = watch_look_again;
	watch.over = all_ended;
	watch.sum_up = watch_sum_up;
	watch.good = good;
	status = first_look(&watch, job, ids, count);
	if (status == EXIT_OK && json_array_size(watch.watched) == 0)
		fprintf(stderr, "haasctl: no deployment is under way\n");
	else if (status == EXIT_OK)
		status = watch_follow(&watch, limit_s, "haasctl deployment watch");
	watch_end(&watch);
	return status;
}

/* --- waiting --- */

int watch_begin(struct watch *watch, struct haasctl *haasctl, const struct command_input *input,
		int64_t *ret_limit_s)
{
	const char *format = command_option(input, "--output");
	const char *terminal = getenv("TERM");
	int status = haasctl_timeout_s(input, ret_limit_s);

	if (status == EXIT_OK && format && strcmp(format, "csv") == 0)
		status = haasctl_usage("a watch writes lines or, with -o jsonl, JSON");
	if (status != EXIT_OK)
		return status;
	*watch = (struct watch){
		.haasctl = haasctl,
		.input = input,
		.jsonl = format && strncmp(format, "json", 4) == 0,
		.said = json_object(),
		.said_ms = clock_monotonic_ms(),
	};
	watch->terminal =
		!watch->jsonl && isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
	return EXIT_OK;
}

void watch_end(struct watch *watch)
{
	json_decref(watch->watched);
	json_decref(watch->said);
	json_decref(watch->subject);
}

/* Tells once when the server goes away. */
static int note_absence(struct watch *watch, int status)
{
	if (status == EXIT_UNREACHABLE && !watch->away)
		fprintf(stderr, "haasctl: portald is away; waiting for it\n");
	watch->away = status == EXIT_UNREACHABLE;
	return watch->away ? EXIT_OK : status;
}

int watch_follow(struct watch *watch, int64_t limit_s, const char *come_back)
{
	int64_t end_ms = clock_monotonic_ms() + limit_s * 1000;
	char count[COUNT_TEXT_SIZE];
	int status = EXIT_OK;

	while (status == EXIT_OK && !ferror(stdout)) {
		watch_tell(watch);
		if (watch->over(watch))
			return watch->sum_up(watch);
		if (clock_monotonic_ms() >= end_ms)
			status = EXIT_TIMEOUT;
		else if (!haasctl_sleep(watch->haasctl, PAUSE_MS))
			status = EXIT_INTERRUPTED;
		else
			status = note_absence(watch, watch->look(watch));
	}
	if (status == EXIT_TIMEOUT || status == EXIT_INTERRUPTED)
		fprintf(stderr, "haasctl: %s under way; come back with: %s\n",
			count_text(count, (int64_t)watch_unfinished(watch->watched), "deployment"),
			come_back);
	return status;
}
