/* GET /drill?path=P&window=S[&at=S][&tenants=1,2][&scope=ID][&turned=t]: what of a window is
 * answered from memory (common/model/drill_join_policy.h), in minutes. portald joins it with what
 * is stored and says whose traffic may be seen; nobody else is answered. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/model/drill_join_policy.h"

#include "peregrine/flowd/flowd_private.h"
#include "peregrine/flowd/live_drill.h"

enum { MINUTE = 60, WINDOW_MAX = 30 * 86400 };

struct asked {
	struct live_question question;
	int64_t at_s, window_s; /* the end, 0 = now; how long before it */
};

/* Decimal; NULL = `fallback`. */
static bool read_number(const char *text, int64_t fallback, int64_t *ret)
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

static int read_question(const struct http_request *request, struct asked *ret,
			 struct problem *problem)
{
	const char *path = http_request_query(request, "path");
	const char *turned = http_request_query(request, "turned");

	if (!read_number(http_request_query(request, "window"), 0, &ret->window_s) ||
	    !ret->window_s || ret->window_s > WINDOW_MAX ||
	    !read_number(http_request_query(request, "at"), 0, &ret->at_s) ||
	    (ret->at_s && ret->at_s <= ret->window_s) ||
	    !read_number(http_request_query(request, "scope"), 0, &ret->question.scope) ||
	    !read_tenants(http_request_query(request, "tenants"), &ret->question))
		return problem_set(problem, E_MALFORMED,
				   "the window or the tenants are no numbers");
	ret->question.in_order = !turned || strcmp(turned, "t") != 0;
	return drill_path_parse(path ? path : "", &ret->question.path, problem);
}

/* A minute that is cut, or that PostgreSQL may not have. */
static int put_minute(struct live_drill *drill, const struct drill_join *join, int64_t minute_s,
		      const struct drill_memory *answered, struct text *out)
{
	int64_t from_s = answered->first_s > minute_s ? answered->first_s : minute_s;
	int64_t to_s = answered->last_s + 1;
	int rc;

	if (to_s > minute_s + MINUTE)
		to_s = minute_s + MINUTE;

	json_begin_object(out, NULL);
	json_int(out, "at", minute_s);
	json_bool(out, "cut", drill_join_cuts(join, minute_s));
	json_int(out, "seconds", to_s - from_s);
	rc = live_drill_sum(drill, from_s, to_s, out);
	json_end_object(out);
	return rc;
}

static int put_minutes(const struct flowd *flowd, struct live_drill *drill,
		       const struct drill_join *join, const struct drill_memory *memory,
		       struct text *out)
{
	struct drill_memory answered = *memory;
	int64_t pending_s = traffic_writer_pending_s(flowd->writer);
	int rc = 0;

	if (pending_s > rollup_minute_s(flowd->rollup))
		pending_s = rollup_minute_s(flowd->rollup);
	if (answered.first_s < join->from_s)
		answered.first_s = join->from_s;
	if (answered.last_s >= join->to_s)
		answered.last_s = join->to_s - 1;
	json_begin_array(out, "minutes");
	for (int64_t at = answered.first_s - answered.first_s % MINUTE;
	     memory->first_s && at <= answered.last_s && !rc; at += MINUTE)
		if (drill_join_cuts(join, at) || at >= pending_s)
			rc = put_minute(drill, join, at, &answered, out);
	json_end_array(out);
	return rc;
}

static int put_answer(const struct flowd *flowd, const struct asked *asked, struct text *out)
{
	const struct traffic_ring *ring = rollup_ring(flowd->rollup);
	struct live_drill *drill = NULL;
	struct drill_memory memory;
	struct drill_join join;
	int rc = live_drill_new(&asked->question, rollup_names(flowd->rollup), ring, &drill);

	if (rc)
		return rc;
	traffic_ring_span(ring, &memory.first_s, &memory.last_s);
	join = drill_join(&memory,
			  (asked->at_s ? asked->at_s : memory.last_s + 1) - asked->window_s,
			  asked->at_s);
	json_begin_object(out, NULL);
	json_string(out, "writer", flowd->name);
	json_int(out, "first", memory.first_s);
	json_int(out, "last", memory.last_s);
	json_int(out, "from", join.from_s);
	json_int(out, "to", join.to_s);
	json_int(out, "stored_from", join.stored_from_s);
	json_int(out, "stored_to", join.stored_to_s);
	rc = put_minutes(flowd, drill, &join, &memory, out);
	json_end_object(out);
	live_drill_free(drill);
	return rc;
}

void flowd_drill(void *context, struct http_request *request)
{
	const struct flowd *flowd = context;
	const struct http_peer *peer = http_request_peer(request);
	CLEANUP(text_done) struct text body = {0};
	struct problem problem = {0};
	struct asked asked = {0};
	int rc;

	if (!peer->local ||
	    (peer->uid != 0 && peer->uid != geteuid() && peer->uid != flowd->portal_uid)) {
		(void)problem_set(&problem, -EPERM, "only portald may ask for tenants' traffic");
		http_answer_problem(request, 403, &problem);
		return;
	}
	rc = read_question(request, &asked, &problem);
	if (rc) {
		http_answer_problem(request, 400, &problem);
		return;
	}
	rc = put_answer(flowd, &asked, &body);
	if (rc) {
		(void)problem_set(&problem, rc, "no memory for the answer");
		http_answer_problem(request, 500, &problem);
		return;
	}
	http_answer_json(request, 200, &body);
}
