/* One line per deployment with step, percent, ETA and for what it waits. The ETA is portald's.
 * Without any it is not guessed, and one that has passed is gone.
 * On a terminal the lines are drawn again in place; elsewhere a line comes when the step changes,
 * and every ten seconds; -o jsonl gives each change as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"

#include "portal/cli/watch.h"

#define PLAIN_EVERY_MS 10000
#define WAITS_SHOWN_S  5

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

/* Seconds left. -1: nobody knows, for there is no history, or its step takes longer than it ever
 * did, or all of the time is spent. */
static double eta_of(const json_t *deployment)
{
	const json_t *eta = json_object_get(deployment, "eta");
	double left = seconds_of(json_object_get(eta, "at")) - (double)clock_wall_us() / 1e6;

	return json_is_true(json_object_get(eta, "late")) || left < 0.5 ? -1 : left;
}

bool watch_has_ended(const json_t *deployment)
{
	static const char *const ended[] = {"done", "failed", "cancelled", "cleared"};

	for (size_t i = 0; i < COUNT_OF(ended); i++) {
		if (strcmp(haasctl_word(deployment, "state"), ended[i]) == 0)
			return true;
	}
	return false;
}

static void watch_view_add_duration(struct text *ret, double seconds)
{
	int whole = seconds < 0 ? 0 : seconds > 359999 ? 359999 : (int)(seconds + 0.5);

	if (whole >= 3600)
		text_addf(ret, "%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
	else
		text_addf(ret, "%d:%02d", whole / 60, whole % 60);
}

static double watch_view_waited_s(const json_t *waiting)
{
	return (double)clock_wall_us() / 1e6 - seconds_of(json_object_get(waiting, "since"));
}

/* For what it waits, when it does so for longer than a step in a good mood; "" = for nothing. */
static const char *watch_view_reason(const json_t *deployment)
{
	const json_t *waiting = json_object_get(deployment, "waiting");

	return json_is_object(waiting) && watch_view_waited_s(waiting) >= WAITS_SHOWN_S
		       ? haasctl_word(waiting, "message")
		       : "";
}

/* "             waits 3:20: the BMC of node n1 does not answer: it is in back-off" */
static void watch_view_add_reason(struct text *ret, const json_t *deployment)
{
	text_addf(ret, "%-12s waits ", "");
	watch_view_add_duration(ret, watch_view_waited_s(json_object_get(deployment, "waiting")));
	text_addf(ret, ": %s", watch_view_reason(deployment));
}

static void watch_view_describe(const json_t *deployment, struct text *ret)
{
	const json_t *percent = json_object_get(deployment, "percent");
	bool ended = watch_has_ended(deployment);
	double eta = ended ? -1 : eta_of(deployment);

	text_addf(ret, "%-12s %-9s %-10s %-14s", haasctl_word(deployment, "node"),
		  haasctl_word(deployment, "plan"), haasctl_word(deployment, "state"),
		  ended ? "" : haasctl_word(deployment, "step"));
	if (!ended && json_is_integer(percent))
		text_addf(ret, " %3" JSON_INTEGER_FORMAT "%%", json_integer_value(percent));
	else
		text_add(ret, "     ");
	if (ended) {
		text_add(ret, "  ");
		watch_view_add_duration(
			ret, seconds_of(json_object_get(deployment, "ended_at")) -
				     seconds_of(json_object_get(deployment, "created_at")));
		const char *message =
			haasctl_word(json_object_get(deployment, "problem"), "message");
		text_addf(ret, "%s%s", *message ? "  " : "", message);
		return;
	}
	text_add(ret, "  ETA ");
	if (eta >= 0)
		watch_view_add_duration(ret, eta);
	else
		text_add(ret, "-");
}

void watch_id_text(const json_t *deployment, char ret[32])
{
	(void)text_format(ret, 32, "%" JSON_INTEGER_FORMAT,
			  json_integer_value(json_object_get(deployment, "id")));
}

/* Plain mode: when state, step or for what it waits changes, and again every ten seconds; JSON lines: when anything
 * but the text of the progress changes. */
static void watch_view_say(struct watch *watch, const json_t *deployment, bool again)
{
	CLEANUP(text_done) struct text line = {0};
	char id[32];
	char now[384];

	watch_id_text(deployment, id);
	(void)text_format(now, sizeof(now), "%s/%s/%" JSON_INTEGER_FORMAT "/%s",
			  haasctl_word(deployment, "state"), haasctl_word(deployment, "step"),
			  watch->jsonl ? json_integer_value(json_object_get(deployment, "percent"))
				       : 0,
			  watch_view_reason(deployment));
	if (strcmp(haasctl_word(watch->said, id), now) == 0 &&
	    (!again || watch_has_ended(deployment) || watch->jsonl))
		return;
	(void)json_object_set_new(watch->said, id, json_stringn(now, strlen(now)));
	if (watch->jsonl) {
		(void)json_dumpf(deployment, stdout, JSON_COMPACT);
		putchar('\n');
		return;
	}
	watch_view_describe(deployment, &line);
	printf("%s\n", text_get(&line));
	text_clear(&line);
	if (!watch_has_ended(deployment) && watch_view_reason(deployment)[0]) {
		watch_view_add_reason(&line, deployment);
		printf("%s\n", text_get(&line));
	}
}

size_t watch_count_state(const json_t *deployments, const char *state)
{
	const json_t *deployment;
	size_t count = 0;
	size_t i;

	json_array_foreach(deployments, i, deployment) count +=
		strcmp(haasctl_word(deployment, "state"), state) == 0;
	return count;
}

size_t watch_unfinished(const json_t *deployments)
{
	const json_t *deployment;
	size_t count = 0;
	size_t i;

	json_array_foreach(deployments, i, deployment) count += !watch_has_ended(deployment);
	return count;
}

/* `text` cut to `width` characters (not bytes), the rest of the line cleared. */
static void draw_line(const char *text, size_t width)
{
	size_t bytes = 0;

	for (size_t seen = 0; text[bytes]; bytes++) {
		bool begins = ((unsigned char)text[bytes] & 0xc0) != 0x80;

		if (begins && seen++ == width)
			break;
	}
	printf("%.*s", (int)bytes, text);
	say_control(stdout, "\033[K\n");
}

/* A window that is too low for all of them shows those that are under way first; the last line sums
 * up all. */
static void watch_view_draw(struct watch *watch)
{
	CLEANUP(text_done) struct text line = {0};
	struct winsize window = {.ws_row = 24, .ws_col = 80};
	size_t total = json_array_size(watch->watched);
	double longest = -1;
	const json_t *deployment;
	size_t drawn = 0;
	size_t reasons = 0;
	size_t i;

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &window);
	size_t width = window.ws_col > 1 ? window.ws_col - 1U : 79;
	size_t other = watch->title[0] ? 3 : 2; /* lines that are not deployments */
	size_t room = window.ws_row > other + 1 ? window.ws_row - other : 24 - other;
	if (watch->lines > 0) {
		text_addf(&line, "\033[%zuA", watch->lines);
		say_control(stdout, text_get(&line));
	}
	if (watch->title[0])
		draw_line(watch->title, width);
	for (int ended = 0; ended <= 1; ended++) {
		json_array_foreach(watch->watched, i, deployment)
		{
			double eta = watch_has_ended(deployment) ? -1 : eta_of(deployment);

			longest = eta > longest ? eta : longest;
			/* All fit: in their own order. */
			if (total <= room ? ended : watch_has_ended(deployment) != (bool)ended)
				continue;
			if (drawn == room)
				break;
			text_clear(&line);
			watch_view_describe(deployment, &line);
			draw_line(text_get(&line), width);
			drawn++;
			if (2 * total > room || ended || !watch_view_reason(deployment)[0])
				continue;
			text_clear(&line);
			watch_view_add_reason(&line, deployment);
			draw_line(text_get(&line), width);
			reasons++;
		}
	}
	text_clear(&line);
	text_addf(&line, "%zu of %zu ended, %zu failed", total - watch_unfinished(watch->watched),
		  total, watch_count_state(watch->watched, "failed"));
	if (drawn < total)
		text_addf(&line, ", %zu not shown", total - drawn);
	if (longest >= 0) {
		text_add(&line, ", ETA ");
		watch_view_add_duration(&line, longest);
	}
	draw_line(text_get(&line), width);
	say_control(stdout, "\033[J");
	watch->lines = drawn + reasons + (watch->title[0] ? 2 : 1);
}

void watch_tell(struct watch *watch)
{
	bool again = clock_monotonic_ms() - watch->said_ms >= PLAIN_EVERY_MS;
	const json_t *deployment;
	size_t i;

	if (watch->terminal) {
		watch_view_draw(watch);
	} else {
		if (!watch->jsonl && strcmp(watch->title, watch->said_title) != 0)
			printf("%s\n", watch->title);
		(void)text_copy(watch->said_title, sizeof(watch->said_title), watch->title);
		if (again)
			watch->said_ms = clock_monotonic_ms();
		json_array_foreach(watch->watched, i, deployment)
			watch_view_say(watch, deployment, again);
	}
	(void)fflush(stdout);
}
