/* Waiting for what a 202 has started. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"

#include "portal/cli/watch.h"

static void tell_failures(const json_t *items)
{
	const json_t *item;
	size_t i;

	json_array_foreach(items, i, item) haasctl_stored_problem(haasctl_word(item, "node"),
								  json_object_get(item, "problem"));
}

/* How far the job is, for a person who waits; false when it has ended. */
static bool haasctl_job_goes_on(const struct haasctl_reply *reply, int64_t job)
{
	int64_t total = json_integer_value(json_object_get(reply->json, "total"));
	int64_t done = json_integer_value(json_object_get(reply->json, "done"));
	int64_t failed = json_integer_value(json_object_get(reply->json, "failed"));
	bool more = done + failed < total;

	if (isatty(STDERR_FILENO))
		say_control(stderr, "\r\033[K");
	if (more && isatty(STDERR_FILENO))
		fprintf(stderr,
			"job %" PRId64 ": %" PRId64 " of %" PRId64 " done, %" PRId64 " failed", job,
			done, total, failed);
	return more;
}

/* Why nobody works on any of the items that are left: bampid is not heard. NULL: somebody does. */
static const json_t *haasctl_job_abandoned(const struct haasctl_reply *reply)
{
	const json_t *why = NULL;
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(reply->json, "items"), i, item)
	{
		const json_t *waiting = json_object_get(item, "waiting");

		if (watch_has_ended(item))
			continue;
		if (strcmp(haasctl_word(waiting, "daemon"), "bampid") != 0)
			return NULL;
		why = waiting;
	}
	return why;
}

/* The job stays: what it asks for is done when the daemon is back. */
static int haasctl_job_nobody(const json_t *why, int64_t job)
{
	const char *hint = haasctl_word(why, "hint");

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	fprintf(stderr, "haasctl: job %" PRId64 ": %s\n", job, haasctl_word(why, "message"));
	fprintf(stderr, "  detail: %s\n", haasctl_word(why, "detail"));
	fprintf(stderr,
		"  hint: %s; the job stays queued and is done then: haasctl job wait %" PRId64 "\n",
		hint, job);
	return EXIT_UNREACHABLE;
}

/* Did all items fail because what they are about does not exist? */
static bool haasctl_job_found_nothing(const json_t *items)
{
	const json_t *item;
	size_t i;

	json_array_foreach(items, i, item)
	{
		const json_t *problem = json_object_get(item, "problem");

		if (strcmp(haasctl_word(problem, "code"), "not_found") != 0)
			return false;
	}
	return json_array_size(items) > 0;
}

static int end_of_job(const struct haasctl_reply *reply, json_t **ret_items)
{
	json_t *items = json_object_get(reply->json, "items");
	bool any_done = json_integer_value(json_object_get(reply->json, "done")) > 0;

	tell_failures(items);
	if (ret_items)
		*ret_items = json_incref(items);
	if (json_integer_value(json_object_get(reply->json, "failed")) == 0)
		return EXIT_OK;
	if (any_done)
		return EXIT_PARTIAL;
	return haasctl_job_found_nothing(items) ? EXIT_NOT_FOUND : EXIT_FAILED;
}

int haasctl_wait_job(struct haasctl *haasctl, const struct command_input *input, int64_t job,
		     json_t **ret_items)
{
	int64_t pause_ms = 50;
	int64_t limit_s = 0;
	char target[64];
	int status = haasctl_timeout_s(input, &limit_s);
	int64_t end_ms = clock_monotonic_ms() + limit_s * 1000;

	(void)text_format(target, sizeof(target), "/jobs/%" PRId64, job);
	while (status == EXIT_OK) {
		struct haasctl_reply reply = {0};
		const json_t *why;

		status = haasctl_get(haasctl, input, target, &reply);
		if (status != EXIT_OK)
			break;
		if (!haasctl_job_goes_on(&reply, job)) {
			status = end_of_job(&reply, ret_items);
			haasctl_reply_done(&reply);
			return status;
		}
		why = haasctl_job_abandoned(&reply);
		status = why ? haasctl_job_nobody(why, job) : EXIT_OK;
		haasctl_reply_done(&reply);
		if (status != EXIT_OK)
			return status;
		if (clock_monotonic_ms() >= end_ms)
			status = EXIT_TIMEOUT;
		else if (!haasctl_sleep(haasctl, pause_ms))
			status = EXIT_INTERRUPTED;
		pause_ms = pause_ms < 500 ? pause_ms * 2 : 500;
	}
	if (status == EXIT_TIMEOUT || status == EXIT_INTERRUPTED)
		fprintf(stderr,
			"haasctl: job %" PRId64 " goes on; follow it: haasctl job wait %" PRId64
			"\n",
			job, job);
	return status;
}
