/* haasctl deployment watch: one line per node with step, percent and ETA, until all have ended. The
 * ETA is what the median of earlier deployments of the same plan says about the steps that are
 * left; without any it is not guessed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"

#include "portal/cli/haasctl.h"

#define HISTORY_LIMIT  20
#define STEP_LIMIT     32
#define PAUSE_MS       500
#define PLAIN_EVERY_MS 10000

/* Median seconds per step of one plan, in the plan's order. */
struct pace {
	char plan[16];
	bool known;
	size_t count;
	struct {
		char step[32];
		double seconds[HISTORY_LIMIT];
		size_t samples;
	} steps[STEP_LIMIT];
};

struct watch {
	struct haasctl *haasctl;
	const struct command_input *input;
	bool terminal, jsonl;
	struct pace paces[4];
	size_t lines; /* drawn last time */
	json_t *said; /* deployment id -> what was printed last (plain mode) */
	int64_t said_ms;
};

/* "2026-11-21T03:10:00.123456+00:00" -> seconds since the epoch; 0 when absent. */
static double seconds_of(const json_t *time)
{
	const char *text = json_string_value(time);
	struct tm tm = {0};

	if (!text)
		return 0;
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	return rest ? (double)timegm(&tm) + (*rest == '.' ? strtod(rest, NULL) : 0) : 0;
}

static const char *member(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

static void learn_steps(struct pace *pace, const json_t *steps)
{
	const json_t *step;
	size_t i;

	json_array_foreach(steps, i, step)
	{
		double took = seconds_of(json_object_get(step, "ended_at")) -
			      seconds_of(json_object_get(step, "started_at"));
		size_t at = 0;

		while (at < pace->count && strcmp(pace->steps[at].step, member(step, "step")) != 0)
			at++;
		if (at == STEP_LIMIT || took < 0)
			continue;
		if (at == pace->count) {
			text_copy(pace->steps[at].step, sizeof(pace->steps[at].step),
				  member(step, "step"));
			pace->count++;
		}
		if (pace->steps[at].samples < HISTORY_LIMIT)
			pace->steps[at].seconds[pace->steps[at].samples++] = took;
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static const struct pace *pace_of(struct watch *watch, const char *plan)
{
	struct pace *pace = NULL;
	struct haasctl_reply list = {0};
	const json_t *deployment;
	char target[96];
	size_t i;

	for (i = 0; i < COUNT_OF(watch->paces) && !pace; i++) {
		if (!watch->paces[i].plan[0] || strcmp(watch->paces[i].plan, plan) == 0)
			pace = &watch->paces[i];
	}
	if (!pace || pace->known)
		return pace;
	pace->known = true;
	text_copy(pace->plan, sizeof(pace->plan), plan);
	text_format(target, sizeof(target), "/deployments?state=done&limit=%d&plan=%s",
		    HISTORY_LIMIT, plan);
	if (haasctl_get(watch->haasctl, watch->input, target, &list) != EXIT_OK)
		return pace;
	json_array_foreach(json_object_get(list.json, "items"), i, deployment)
	{
		struct haasctl_reply one = {0};

		text_format(target, sizeof(target), "/deployments/%" JSON_INTEGER_FORMAT,
			    json_integer_value(json_object_get(deployment, "id")));
		if (haasctl_get(watch->haasctl, watch->input, target, &one) == EXIT_OK)
			learn_steps(pace, json_object_get(one.json, "steps"));
		haasctl_reply_done(&one);
	}
	haasctl_reply_done(&list);
	for (i = 0; i < pace->count; i++)
		qsort(pace->steps[i].seconds, pace->steps[i].samples, sizeof(double), by_value);
	return pace;
}

/* Seconds left, or -1 when nobody knows. */
static double eta_of(struct watch *watch, const json_t *deployment)
{
	const struct pace *pace = pace_of(watch, member(deployment, "plan"));
	double left = -1;

	for (size_t i = 0; pace && i < pace->count; i++) {
		double median = pace->steps[i].samples > 0
					? pace->steps[i].seconds[pace->steps[i].samples / 2]
					: 0;

		if (left >= 0) {
			left += median;
		} else if (strcmp(pace->steps[i].step, member(deployment, "step")) == 0) {
			double spent = (double)clock_wall_us() / 1e6 -
				       seconds_of(json_object_get(deployment, "step_started_at"));

			left = median > spent ? median - spent : 0;
		}
	}
	return left;
}

static void describe(struct watch *watch, const json_t *deployment, bool ended, struct text *ret)
{
	const json_t *percent = json_object_get(deployment, "percent");
	const char *state = member(deployment, "state");
	const char *step = member(deployment, "step");
	double eta = ended ? -1 : eta_of(watch, deployment);

	text_addf(ret, "%-12.12s %-9s %-10s %-15s", member(deployment, "node"),
		  member(deployment, "plan"), state, ended ? "" : step);
	if (!ended && json_is_integer(percent) && strcmp(state, "waiting") == 0)
		text_addf(ret, " %3" JSON_INTEGER_FORMAT "%%", json_integer_value(percent));
	else
		text_add(ret, "     ");
	if (ended) {
		double took = seconds_of(json_object_get(deployment, "ended_at")) -
			      seconds_of(json_object_get(deployment, "created_at"));

		text_addf(ret, "  %.0f s", took);
		if (json_is_object(json_object_get(deployment, "problem")))
			text_addf(ret, "  %s",
				  member(json_object_get(deployment, "problem"), "message"));
	} else if (eta >= 0) {
		text_addf(ret, "  ETA %d:%02d", (int)eta / 60, (int)eta % 60);
	}
}

static bool has_ended(const json_t *deployment)
{
	static const char *const ended[] = {"done", "failed", "cancelled", "cleared"};

	for (size_t i = 0; i < COUNT_OF(ended); i++) {
		if (strcmp(member(deployment, "state"), ended[i]) == 0)
			return true;
	}
	return false;
}

/* Plain mode says a line when the step changes, and every ten seconds; JSON lines when anything but
 * the percent text changes. */
static void say(struct watch *watch, const json_t *deployment, const char *line, bool again)
{
	char id[32];
	char now[128];
	const char *before;

	text_format(id, sizeof(id), "%" JSON_INTEGER_FORMAT,
		    json_integer_value(json_object_get(deployment, "id")));
	text_format(now, sizeof(now), "%s/%s/%" JSON_INTEGER_FORMAT, member(deployment, "state"),
		    member(deployment, "step"),
		    watch->jsonl ? json_integer_value(json_object_get(deployment, "percent")) : 0);
	before = json_string_value(json_object_get(watch->said, id));
	if (before && strcmp(before, now) == 0 && (!again || has_ended(deployment) || watch->jsonl))
		return;
	json_object_set_new(watch->said, id, json_stringn(now, strlen(now)));
	if (watch->jsonl) {
		json_dumpf(deployment, stdout, JSON_COMPACT);
		putchar('\n');
	} else {
		printf("%s\n", line);
	}
	fflush(stdout);
}

static void draw(struct watch *watch, const json_t *deployments)
{
	bool again = clock_monotonic_ms() - watch->said_ms >= PLAIN_EVERY_MS;
	const json_t *deployment;
	size_t i;

	if (again)
		watch->said_ms = clock_monotonic_ms();
	if (watch->terminal && watch->lines > 0)
		printf("\033[%zuA", watch->lines);
	json_array_foreach(deployments, i, deployment)
	{
		CLEANUP(text_done) struct text line = {0};

		describe(watch, deployment, has_ended(deployment), &line);
		if (watch->terminal)
			printf("%.79s\033[K\n", text_get(&line));
		else
			say(watch, deployment, text_get(&line), again);
	}
	watch->lines = json_array_size(deployments);
	fflush(stdout);
}

/* What is watched now, as an array: the job's, those of the ids, or all active. */
static int fetch(struct watch *watch, int64_t job, const char *const ids[], size_t count,
		 json_t **ret)
{
	struct haasctl_reply reply = {0};
	char target[64];
	int status;

	if (count == 0) {
		text_format(target, sizeof(target),
			    job >= 0 ? "/deployments?limit=1000&job=%" PRId64
				     : "/deployments?limit=1000&active=true",
			    job);
		status = haasctl_get(watch->haasctl, watch->input, target, &reply);
		if (status == EXIT_OK)
			*ret = json_incref(json_object_get(reply.json, "items"));
		haasctl_reply_done(&reply);
		return status;
	}
	json_t *all = json_array();
	for (size_t i = 0; i < count; i++) {
		CLEANUP(text_done) struct text one = {0};

		text_add(&one, "/deployments/");
		haasctl_escape(&one, ids[i]);
		status = haasctl_get(watch->haasctl, watch->input, text_get(&one), &reply);
		if (status != EXIT_OK) {
			json_decref(all);
			return status;
		}
		json_array_append(all, reply.json);
		haasctl_reply_done(&reply);
	}
	*ret = all;
	return EXIT_OK;
}

static int sum_up(const json_t *deployments)
{
	const json_t *deployment;
	size_t done = 0;
	size_t i;

	json_array_foreach(deployments, i, deployment)
	{
		const json_t *problem = json_object_get(deployment, "problem");

		done += strcmp(member(deployment, "state"), "done") == 0;
		if (!json_is_object(problem))
			continue;
		fprintf(stderr, "%s: %s\n", member(deployment, "node"), member(problem, "message"));
		if (member(problem, "detail")[0])
			fprintf(stderr, "  %s\n", member(problem, "detail"));
		if (member(problem, "hint")[0])
			fprintf(stderr, "  hint: %s\n", member(problem, "hint"));
	}
	return done == json_array_size(deployments) ? EXIT_OK
	       : done == 0                          ? EXIT_FAILED
						    : EXIT_PARTIAL;
}

static size_t unfinished(const json_t *deployments)
{
	const json_t *deployment;
	size_t count = 0;
	size_t i;

	json_array_foreach(deployments, i, deployment) count += !has_ended(deployment);
	return count;
}

/* "All active" is looked at once: from then on it is those ids, so that ended ones stay in view. */
static char **pin_ids(const json_t *deployments)
{
	size_t count = json_array_size(deployments);
	char **ids = calloc(count + 1, sizeof(*ids));

	for (size_t i = 0; ids && i < count; i++) {
		char id[32];

		text_format(
			id, sizeof(id), "%" JSON_INTEGER_FORMAT,
			json_integer_value(json_object_get(json_array_get(deployments, i), "id")));
		ids[i] = strdup(id);
	}
	return ids;
}

int watch_deployments(struct haasctl *haasctl, const struct command_input *input, int64_t job,
		      const char *const ids[], size_t count)
{
	const char *format = command_option(input, "--output");
	const char *limit_text = command_option(input, "--timeout");
	int64_t limit_s = limit_text ? haasctl_duration_s(limit_text) : 3600;
	int64_t end_ms = clock_monotonic_ms() + limit_s * 1000;
	char **pinned = NULL;
	json_t *deployments = NULL;
	int status;
	struct watch watch = {
		.haasctl = haasctl,
		.input = input,
		.jsonl = format && strncmp(format, "json", 4) == 0,
		.said = json_object(),
		.said_ms = clock_monotonic_ms(),
	};

	if (limit_s < 0)
		return haasctl_usage("--timeout %s is no duration; say 90s, 30m or 2h", limit_text);
	watch.terminal = !watch.jsonl && isatty(STDOUT_FILENO);
	for (;;) {
		json_decref(deployments);
		deployments = NULL;
		status = fetch(&watch, job, ids, count, &deployments);
		if (status != EXIT_OK)
			break;
		if (job < 0 && count == 0 && json_array_size(deployments) > 0) {
			pinned = pin_ids(deployments);
			count = json_array_size(deployments);
			ids = (const char *const *)pinned;
		}
		draw(&watch, deployments);
		if (unfinished(deployments) == 0) {
			status = sum_up(deployments);
			break;
		}
		if (clock_monotonic_ms() > end_ms || !haasctl_sleep(haasctl, PAUSE_MS)) {
			status = haasctl_interrupted(haasctl) ? EXIT_INTERRUPTED : EXIT_TIMEOUT;
			fprintf(stderr,
				"haasctl: %zu deployments go on; come back with: haasctl deployment watch\n",
				unfinished(deployments));
			break;
		}
	}
	json_decref(deployments);
	json_decref(watch.said);
	for (size_t i = 0; pinned && pinned[i]; i++)
		free(pinned[i]);
	free(pinned);
	return status;
}
