/* Waiting for what a 202 has started. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"

#include "portal/cli/haasctl.h"

int64_t haasctl_duration_s(const char *text)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = {{'\0', 1}, {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	char *end;
	long long number = strtoll(text, &end, 10);

	if (end == text || number < 0 || number > 1000000)
		return -1;
	for (size_t i = 0; i < COUNT_OF(units); i++) {
		if (*end == units[i].unit && (*end == '\0' || end[1] == '\0'))
			return number * units[i].seconds;
	}
	return -1;
}

static void tell_failures(const json_t *items)
{
	const json_t *item;
	size_t i;

	json_array_foreach(items, i, item)
	{
		const json_t *problem = json_object_get(item, "problem");
		const char *detail = json_string_value(json_object_get(problem, "detail"));
		const char *hint = json_string_value(json_object_get(problem, "hint"));

		if (!json_is_object(problem))
			continue;
		fprintf(stderr, "%s: %s\n", json_string_value(json_object_get(item, "node")),
			json_string_value(json_object_get(problem, "message")));
		if (detail && *detail)
			fprintf(stderr, "  %s\n", detail);
		if (hint && *hint)
			fprintf(stderr, "  hint: %s\n", hint);
	}
}

int haasctl_wait_job(struct haasctl *haasctl, const struct command_input *input, int64_t job,
		     json_t **ret_items)
{
	const char *limit_text = command_option(input, "--timeout");
	int64_t limit_s = limit_text ? haasctl_duration_s(limit_text) : 3600;
	int64_t end_ms = clock_monotonic_ms() + limit_s * 1000;
	int64_t pause_ms = 50;
	char target[64];

	if (limit_s < 0)
		return haasctl_usage("--timeout %s is no duration; say 90s, 30m or 2h", limit_text);
	text_format(target, sizeof(target), "/jobs/%" PRId64, job);
	for (;;) {
		struct haasctl_reply reply = {0};
		int status = haasctl_get(haasctl, input, target, &reply);

		if (status != EXIT_OK)
			return status;
		json_int_t total = json_integer_value(json_object_get(reply.json, "total"));
		json_int_t done = json_integer_value(json_object_get(reply.json, "done"));
		json_int_t failed = json_integer_value(json_object_get(reply.json, "failed"));
		if (done + failed >= total) {
			tell_failures(json_object_get(reply.json, "items"));
			if (ret_items)
				*ret_items = json_incref(json_object_get(reply.json, "items"));
			haasctl_reply_done(&reply);
			return failed == 0 ? EXIT_OK : done == 0 ? EXIT_FAILED : EXIT_PARTIAL;
		}
		haasctl_reply_done(&reply);
		if (clock_monotonic_ms() > end_ms) {
			fprintf(stderr,
				"haasctl: job %" PRId64 " goes on after %" PRId64
				" s; follow it: haasctl job show %" PRId64 "\n",
				job, limit_s, job);
			return EXIT_TIMEOUT;
		}
		if (!haasctl_sleep(haasctl, pause_ms)) {
			fprintf(stderr,
				"haasctl: job %" PRId64
				" goes on; follow it: haasctl job show %" PRId64 "\n",
				job, job);
			return EXIT_INTERRUPTED;
		}
		pause_ms = pause_ms < 500 ? pause_ms * 2 : 500;
	}
}
