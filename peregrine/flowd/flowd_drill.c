/* GET /drill?path=P&window=S[&at=S][&tenants=1,2][&scope=ID][&turned=t][&seconds=t]: what of a
 * window is answered from memory (common/model/drill_join_policy.h), in minutes. portald joins it
 * with what is stored and says whose traffic may be seen; nobody else is answered. With seconds=t
 * also minutes that are stored are told, and of each what its seconds add up to: "first", then
 * "series", an element [bytes, packets, samples, square] a second. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/model/drill_join_policy.h"

#include "peregrine/flowd/flowd_private.h"
#include "peregrine/flowd/live_drill.h"

LEAKS_LEFT_TO_SANITIZER

enum {
	MINUTE = 60,
	WINDOW_MAX = 30 * 86400,
	ROWS_AT_ONCE = 65536, /* a few milliseconds of the loop */
	PORT_ROWS = 32,       /* what a port takes that is told */
	DRILLS_MAX = 256,     /* requests that wait */
	AHEAD_MS = 2000,      /* so long for a second that is over and not summed up yet */
	AHEAD_TURN_MS = 50,
};

struct flowd_drill_asked {
	struct live_question question;
	int64_t at_s, window_s; /* the end, 0 = now; how long before it */
	bool seconds;           /* each by itself */
};

/* Decimal; NULL = `fallback`. */
static bool flowd_drill_read_number(const char *text, int64_t fallback, int64_t *ret)
{
	size_t digits = text ? strspn(text, "0123456789") : 0;

	if (text && (!digits || digits > 18 || text[digits]))
		return false;
	*ret = text ? strtoll(text, NULL, 10) : fallback;
	return true;
}

static bool read_tenants(const char *text, struct live_question *question)
{
	while (text && *text) {
		size_t digits = strspn(text, "0123456789");

		if (!digits || digits > 18 || question->tenant_count == LIVE_TENANTS_MAX ||
		    (text[digits] && text[digits] != ','))
			return false;
		question->tenants[question->tenant_count++] = strtoll(text, NULL, 10);
		text += digits + (text[digits] == ',');
	}
	return true;
}

static int read_question(const struct http_request *request, struct flowd_drill_asked *ret,
			 struct problem *problem)
{
	const char *path = http_request_query(request, "path");
	const char *turned = http_request_query(request, "turned");
	const char *seconds = http_request_query(request, "seconds");

	if (!flowd_drill_read_number(http_request_query(request, "window"), 0, &ret->window_s) ||
	    !ret->window_s || ret->window_s > WINDOW_MAX ||
	    !flowd_drill_read_number(http_request_query(request, "at"), 0, &ret->at_s) ||
	    (ret->at_s && ret->at_s <= ret->window_s) ||
	    !flowd_drill_read_number(http_request_query(request, "scope"), 0,
				     &ret->question.scope) ||
	    !read_tenants(http_request_query(request, "tenants"), &ret->question))
		return problem_set(problem, E_MALFORMED, "window and tenants have to be numbers");
	ret->question.in_order = !turned || strcmp(turned, "t") != 0;
	ret->seconds = seconds && strcmp(seconds, "t") == 0;
	return drill_path_parse(path ? path : "", &ret->question.path, problem);
}

static int64_t flowd_drill_larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t flowd_drill_smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* --- one request, as far as it is --- */

/* Put, but for its ports and its end: which ports are told is known after the last one. */
struct put_minute {
	int64_t from_s, to_s;
	struct text text;
};

struct flowd_drill {
	struct flowd_drill *next;
	struct flowd_drills *drills;
	struct http_request *request;
	struct flowd_drill_asked asked;
	int64_t put_ms;
	struct live_drill *live; /* NULL = not begun */
	struct drill_memory memory, answered;
	struct drill_join join;
	int64_t pending_s;          /* from that minute on PostgreSQL may not have them */
	int64_t minute_s, second_s; /* under way; minute 0 = none */
	/* Of the minute under way: what it adds up to after each of its seconds. */
	struct traffic_sums sums[MINUTE];
	size_t sum_count;
	struct put_minute *minutes;
	size_t minute_count, port_count;
	size_t minute, port; /* told next */
	bool chosen;         /* port_count */
	struct text body;
	int rc;
};

struct flowd_drills {
	struct flowd *flowd;
	struct loop_timer *turn;
	struct flowd_drill *first, **last;
	unsigned count;
};

static void flowd_drill_free(struct flowd_drill *drill)
{
	live_drill_free(drill->live);
	for (size_t i = 0; i < drill->minute_count; i++)
		text_done(&drill->minutes[i].text);
	free(drill->minutes);
	text_done(&drill->body);
	free(drill);
}

static int drill_begin(struct flowd_drill *drill)
{
	const struct flowd *flowd = drill->drills->flowd;
	const struct traffic_ring *ring = rollup_ring(flowd->rollup);
	const struct flowd_drill_asked *asked = &drill->asked;
	struct text *out = &drill->body;
	const struct live_source source = {
		.names = rollup_names(flowd->rollup), .ring = ring, .counters = flowd->counters};
	unsigned reach = traffic_ring_reach(ring);
	int rc = live_drill_new(&asked->question, &source, &drill->live);

	if (rc)
		return rc;
	traffic_ring_span(ring, &drill->memory.first_s, &drill->memory.last_s);
	drill->memory.exact_s = reach > 2 * MINUTE ? reach - MINUTE : reach / 2;
	drill->join =
		drill_join(&drill->memory,
			   (asked->at_s ? asked->at_s : drill->memory.last_s + 1) - asked->window_s,
			   asked->at_s);
	drill->answered.first_s = flowd_drill_larger(drill->memory.first_s, drill->join.from_s);
	drill->answered.last_s = flowd_drill_smaller(drill->memory.last_s, drill->join.to_s - 1);
	drill->second_s = drill->answered.first_s;
	drill->pending_s = flowd_drill_smaller(traffic_writer_pending_s(flowd->writer),
					       rollup_minute_s(flowd->rollup));
	json_begin_object(out, NULL);
	json_put_string(out, "writer", flowd->name);
	json_put_int(out, "first", drill->memory.first_s);
	json_put_int(out, "last", drill->memory.last_s);
	json_put_int(out, "from", drill->join.from_s);
	json_put_int(out, "to", drill->join.to_s);
	json_put_int(out, "stored_from", drill->join.stored_from_s);
	json_put_int(out, "stored_to", drill->join.stored_to_s);
	json_begin_array(out, "minutes");
	return 0;
}

/* What each second has: less what the seconds before it add up to. */
static void put_seconds(const struct flowd_drill *drill, int64_t first_s, struct text *out)
{
	struct traffic_sums before = {0};

	json_put_int(out, "first", first_s);
	json_begin_array(out, "series");
	for (size_t i = 0; i < drill->sum_count; i++) {
		const struct traffic_sums *now = &drill->sums[i];

		json_begin_array(out, NULL);
		json_put_int(out, NULL, (int64_t)(now->bytes - before.bytes));
		json_put_int(out, NULL, (int64_t)(now->packets - before.packets));
		json_put_int(out, NULL, (int64_t)(now->samples - before.samples));
		json_put_double(out, NULL, now->square - before.square);
		json_end_array(out);
		before = *now;
	}
	json_end_array(out);
}

static int end_minute(struct flowd_drill *drill)
{
	int64_t from_s = flowd_drill_larger(drill->answered.first_s, drill->minute_s);
	struct put_minute *minutes =
		reallocarray(drill->minutes, drill->minute_count + 1, sizeof(*minutes));
	struct put_minute *minute;
	struct text *out;

	if (!minutes)
		return -ENOMEM;
	drill->minutes = minutes;
	minute = &minutes[drill->minute_count++];
	*minute = (struct put_minute){
		.from_s = flowd_drill_larger(drill->minute_s, drill->join.from_s),
		.to_s = flowd_drill_smaller(drill->minute_s + MINUTE, drill->join.to_s),
	};
	out = &minute->text;
	json_begin_object(out, NULL);
	json_put_int(out, "at", drill->minute_s);
	json_put_bool(out, "cut", drill_join_cuts(&drill->join, drill->minute_s));
	json_put_int(out, "seconds", drill->second_s - from_s);
	if (drill->asked.seconds)
		put_seconds(drill, from_s, out);
	drill->sum_count = 0;
	drill->minute_s = 0;
	return live_drill_put(drill->live, out);
}

/* The second's minute, if it is told: one that is cut, or that PostgreSQL may not have. */
static void begin_minute(struct flowd_drill *drill)
{
	int64_t minute_s = drill->second_s - drill->second_s % MINUTE;

	if (!drill->asked.seconds && !drill_join_cuts(&drill->join, minute_s) &&
	    minute_s < drill->pending_s) {
		drill->second_s = minute_s + MINUTE;
		return;
	}
	drill->minute_s = minute_s;
	live_drill_begin(drill->live);
}

static bool has_seconds(const struct flowd_drill *drill)
{
	return drill->memory.first_s && drill->second_s <= drill->answered.last_s;
}

/* Some of its seconds, or of one as many rows as that has, and no more than one minute's rows are
 * put. Returns what it took. */
static size_t flowd_drill_gather(struct flowd_drill *drill)
{
	struct drill_memory now;
	size_t rows = 0;

	traffic_ring_span(rollup_ring(drill->drills->flowd->rollup), &now.first_s, &now.last_s);
	while (!drill->rc && has_seconds(drill) && rows < ROWS_AT_ONCE) {
		if (!drill->minute_s) {
			begin_minute(drill);
			continue;
		}
		if (drill->second_s < now.first_s) /* it is not there any more */
			drill->rc = -ESTALE;
		rows += live_drill_add(drill->live, drill->second_s++);
		if (drill->asked.seconds && drill->sum_count < MINUTE)
			drill->sums[drill->sum_count++] = *live_drill_total(drill->live);
		if (drill->rc ||
		    (drill->second_s % MINUTE && drill->second_s <= drill->answered.last_s))
			continue;
		drill->rc = end_minute(drill);
		if (has_seconds(drill))
			return ROWS_AT_ONCE;
	}
	return rows;
}

/* The minutes, each with its ports. True: that is all. */
static bool flowd_drill_tell(struct flowd_drill *drill, size_t rows)
{
	struct text *out = &drill->body;

	if (!drill->chosen)
		drill->rc = live_drill_choose_ports(drill->live, &drill->port_count);
	drill->chosen = true;
	for (; !drill->rc && drill->minute < drill->minute_count; drill->minute++) {
		struct put_minute *minute = &drill->minutes[drill->minute];

		if (!drill->port && rows >= ROWS_AT_ONCE)
			return false;
		if (!drill->port) { /* and one port at least */
			json_put_raw(out, NULL, text_get(&minute->text));
			text_done(&minute->text);
			json_begin_array(out, "ports");
		}
		for (; drill->port < drill->port_count; rows += PORT_ROWS) {
			if (rows >= ROWS_AT_ONCE)
				return false;
			live_drill_put_port(drill->live, drill->port++, minute->from_s,
					    minute->to_s, out);
		}
		json_end_array(out);
		json_end_object(out);
		drill->port = 0;
	}
	return true;
}

/* As far as one turn goes. True: it is done, or failed. */
static bool drill_go_on(struct flowd_drill *drill)
{
	size_t rows = 0;

	if (!drill->live)
		drill->rc = drill_begin(drill);
	if (!drill->rc)
		rows = flowd_drill_gather(drill);
	if (drill->rc)
		return true;
	return rows < ROWS_AT_ONCE && !has_seconds(drill) && flowd_drill_tell(drill, rows);
}

static void flowd_drill_answer(struct flowd_drill *drill)
{
	struct problem problem = {0};

	http_request_on_close(drill->request, NULL, NULL);
	if (drill->rc) {
		(void)problem_set(
			&problem, drill->rc,
			drill->rc == -ESTALE
				? "the seconds were dropped from memory while they were read"
				: "no memory for the answer");
		http_answer_problem(drill->request, 500, &problem);
		return;
	}
	json_end_array(&drill->body);
	json_end_object(&drill->body);
	http_answer_json(drill->request, 200, &drill->body);
}

/* --- all of them, one after another --- */

static void flowd_drill_take_out(struct flowd_drills *drills, struct flowd_drill *drill)
{
	struct flowd_drill **at = &drills->first;

	while (*at != drill)
		at = &(*at)->next;
	*at = drill->next;
	if (!*at)
		drills->last = at;
	drills->count--;
}

/* Its end is over by the clock, but not in memory yet: asked a second later it would be answered
 * more. */
static bool is_ahead(const struct flowd_drill *drill)
{
	int64_t at_s = drill->asked.at_s;
	int64_t first_s;
	int64_t last_s;

	traffic_ring_span(rollup_ring(drill->drills->flowd->rollup), &first_s, &last_s);
	return at_s && !drill->live && last_s && at_s > last_s + 1 &&
	       at_s <= clock_wall_us() / 1000000 + 1 &&
	       clock_monotonic_ms() - drill->put_ms < AHEAD_MS;
}

static struct flowd_drill *next_of(const struct flowd_drills *drills)
{
	struct flowd_drill *drill = drills->first;

	while (drill && is_ahead(drill))
		drill = drill->next;
	return drill;
}

/* A part at a time: samples and other requests have their turn between. */
static void flowd_drill_on_turn(void *context)
{
	struct flowd_drills *drills = context;
	struct flowd_drill *drill = next_of(drills);

	if (drill && drill_go_on(drill)) {
		flowd_drill_take_out(drills, drill);
		flowd_drill_answer(drill);
		flowd_drill_free(drill);
	}
	if (drills->first)
		loop_timer_arm(drills->turn, next_of(drills) ? 0 : AHEAD_TURN_MS);
}

static void flowd_drill_on_gone(void *context)
{
	struct flowd_drill *drill = context;

	flowd_drill_take_out(drill->drills, drill);
	flowd_drill_free(drill);
}

int flowd_drills_new(struct flowd *flowd, struct flowd_drills **ret)
{
	struct flowd_drills *drills = calloc(1, sizeof(*drills));
	int rc = drills ? loop_timer_new(flowd->loop, flowd_drill_on_turn, drills, &drills->turn)
			: -ENOMEM;

	if (rc) {
		free(drills);
		return rc;
	}
	drills->flowd = flowd;
	drills->last = &drills->first;
	*ret = drills;
	return 0;
}

void flowd_drills_free(struct flowd_drills *drills)
{
	if (!drills)
		return;
	while (drills->first) {
		struct flowd_drill *drill = drills->first;

		http_request_on_close(drill->request, NULL, NULL);
		flowd_drill_take_out(drills, drill);
		flowd_drill_free(drill);
	}
	loop_timer_free(drills->turn);
	free(drills);
}

static int flowd_drill_put(struct flowd_drills *drills, struct http_request *request,
			   const struct flowd_drill_asked *asked, struct problem *problem)
{
	struct flowd_drill *drill = drills->count < DRILLS_MAX ? calloc(1, sizeof(*drill)) : NULL;

	if (!drill)
		return problem_set(problem, E_UNAVAILABLE, "too many requests at once");
	*drill = (struct flowd_drill){.drills = drills,
				      .request = request,
				      .asked = *asked,
				      .put_ms = clock_monotonic_ms()};
	*drills->last = drill;
	drills->last = &drill->next;
	drills->count++;
	http_request_on_close(request, flowd_drill_on_gone, drill);
	loop_timer_arm(drills->turn, 0);
	return 0;
}

void flowd_drill(void *context, struct http_request *request)
{
	struct flowd *flowd = context;
	struct problem problem = {0};
	struct flowd_drill_asked asked = {0};
	int rc;

	rc = read_question(request, &asked, &problem);
	if (rc) {
		http_answer_problem(request, 400, &problem);
		return;
	}
	rc = flowd_drill_put(flowd->drills, request, &asked, &problem);
	if (rc)
		http_answer_problem(request, 503, &problem);
}
