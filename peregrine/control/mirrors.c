#include "peregrine/control/mirrors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/db/until.h"
#include "common/io/log.h"
#include "common/io/loop.h"

#include "peregrine/control/mirrors_sql.h"

LEAKS_LEFT_TO_SANITIZER

#define MIRRORS_SUBJECT "mirrors"

enum {
	LOOK_MS = 1000,
	AGAIN_MS = 5000,
	MIRRORS_SWEEP_MS = 60000,
	ASK_MS = 20000,
	/* After the database was away collectors are heard of before we look who is not. */
	BACK_MS = 5000,
};

/* When the sessions end that the rows told of last, also of those that are over and were taken back
 * since. */
struct mirrors_ends {
	int64_t ids[SWITCH_MIRRORS_MAX];
	int64_t until_ms[SWITCH_MIRRORS_MAX];
	size_t count;
};

/* What one switch shall have, and was told last. */
struct told {
	struct told *next;
	struct mirrors *mirrors;
	int64_t switch_id;
	bool asking;    /* the switch */
	bool writing;   /* what it may have, before it is asked */
	bool overtaken; /* the database was too slow: that is not asked for any more */
	bool anew;      /* it has started again meanwhile */
	char known[64]; /* digest of what it has, "" = not known */
	int64_t next_ms;
	int64_t since_ms;   /* it may have sessions of ours since then, 0 = it has none */
	uint64_t uptime_ms; /* as it told last */
	struct mirrors_ends ends;

	/* being asked for */
	char wanted[64];
	struct switch_mirror rows[SWITCH_MIRRORS_MAX];
	int64_t ids[SWITCH_MIRRORS_MAX];
	int64_t until_ms[SWITCH_MIRRORS_MAX]; /* their time is over, by our clock */
	bool written[SWITCH_MIRRORS_MAX];     /* the rows say that it may have them */
	size_t count;
	char target[64]; /* where its mirrors go, "" = not known */
	struct switch_tunnel tunnel;
};

struct mirrors {
	struct mirrors_options options;
	struct loop *loop;
	struct loop_timer *timer;
	struct db *db;
	struct switch_queue *queue;
	bool connected, was_connected, reading;
	int64_t asked_ms; /* the rows were, last */
	struct told *told;
};

void mirrors_wake(struct mirrors *mirrors)
{
	if (mirrors->connected)
		loop_timer_arm(mirrors->timer, 0);
}

static void mirrors_on_row(void *context, int rc, const PGresult *result,
			   const struct problem *problem)
{
	(void)context;
	(void)result;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, MIRRORS_SUBJECT, problem);
}

static void mirrors_say(const struct mirrors *mirrors, const struct db_query *query,
			const char *const params[])
{
	if (mirrors->connected && db_submit(mirrors->db, query, params, mirrors_on_row, NULL) != 0)
		log_error(MIRRORS_SUBJECT, "no memory to store the mirror sessions of a switch");
}

/* '{1,2}': all, or those that were taken. */
static void ids_text(const struct told *told, const enum edit_result *results, struct text *ret)
{
	text_add(ret, "{");
	for (size_t i = 0; i < told->count; i++) {
		if (!results || results[i] == EDIT_TAKEN)
			text_addf(ret, "%s%" PRId64, ret->size > 1 ? "," : "", told->ids[i]);
	}
	text_add(ret, "}");
}

/* --- what a switch said --- */

static void say_one(const struct told *told, size_t i, bool taken, const struct problem *problem)
{
	CLEANUP(text_done) struct text text = {0};
	char id[24];
	const char *params[] = {id, taken ? "true" : "false", NULL};

	(void)text_format(id, sizeof(id), "%" PRId64, told->ids[i]);
	if (!taken) {
		json_put_problem(&text, NULL, problem);
		params[2] = text_get(&text);
	}
	mirrors_say(told->mirrors, &capture_mirrored_query, params);
}

static void say_all(const struct told *told, const struct switch_answer *heard)
{
	for (size_t i = 0; i < told->count; i++) {
		const struct switch_mirror *row = &told->rows[i];
		struct problem missing = {0};
		bool taken = heard->rc == 0 && heard->results && heard->results[i] == EDIT_TAKEN;

		if (told->tunnel.to[0]) {
			(void)problem_set(&missing, E_CONFLICT, "%s is not mirrored to %s",
					  row->port, row->target);
			problem_hint(&missing, "does the switch have port %s? haasctl fabric show",
				     row->port);
		} else {
			(void)problem_set(&missing, E_CONFLICT, "mirror port %s is missing",
					  row->target);
			problem_detail(&missing, "the switch lacks port %s or port %s", row->target,
				       row->port);
			problem_hint(&missing, "set the mirror port: haasctl capture point");
		}
		say_one(told, i, taken, heard->rc ? heard->problem : &missing);
	}
}

/* Nothing is known of the switch then: what it mirrors, it goes on mirroring. */
static bool not_heard(int rc)
{
	return rc == E_UNAVAILABLE || rc == E_TIMEOUT || rc == E_PROTOCOL;
}

/* Nothing of ours is there any more, and something was. */
static void say_ended(struct told *told)
{
	const struct mirrors_options *options = &told->mirrors->options;
	int64_t since_ms = told->since_ms;

	if (told->count > 0 || !since_ms)
		return;
	told->since_ms = 0;
	if (options->ended)
		options->ended(options->context, told->switch_id, since_ms);
}

static void mirrors_on_answer(void *context, const struct switch_answer *heard)
{
	struct told *told = context;
	CLEANUP(text_done) struct text ids = {0};
	char id[24];
	const char *params[2] = {id, NULL};

	told->asking = false;
	(void)text_format(id, sizeof(id), "%" PRId64, told->switch_id);
	if (heard->rc && told->count > 0)
		log_problem(LOG_LEVEL_WARN, MIRRORS_SUBJECT, heard->problem);
	if (!not_heard(heard->rc))
		say_all(told, heard);
	/* A switch that cannot have any has none. */
	if (heard->rc == 0 || heard->rc == E_UNSUPPORTED) {
		ids_text(told, heard->rc ? NULL : heard->results, &ids);
		params[1] = heard->rc ? "{}" : text_get(&ids);
		mirrors_say(told->mirrors, &capture_unmirrored_query, params);
		(void)text_copy(told->known, sizeof(told->known), told->wanted);
		told->next_ms = loop_now_ms(told->mirrors->loop) + MIRRORS_SWEEP_MS;
	} else {
		told->known[0] = '\0';
		told->next_ms = loop_now_ms(told->mirrors->loop) + AGAIN_MS;
	}
	if (heard->rc == 0)
		say_ended(told);
	if (told->anew) {
		told->anew = false;
		told->known[0] = '\0';
		told->next_ms = 0;
	}
	mirrors_wake(told->mirrors);
}

/* --- telling it --- */

static void mirrors_ask(struct told *told)
{
	struct switch_request request = {
		.op = SWITCH_MIRROR, .mirrors = told->rows, .mirror_count = told->count};
	const struct switch_ask one = {.switch_id = told->switch_id,
				       .request = &request,
				       .priority = CALL_PERSON,
				       .deadline_ms = ASK_MS};

	(void)text_copy(request.port, sizeof(request.port), told->target);
	request.tunnel = told->tunnel;
	told->asking = true;
	if (told->count > 0 && !told->since_ms)
		told->since_ms = loop_now_ms(told->mirrors->loop);
	if (switch_queue_submit(told->mirrors->queue, &one, mirrors_on_answer, told, NULL) != 0)
		told->asking = false;
}

static void on_may_have(void *context, int rc, const PGresult *result,
			const struct problem *problem)
{
	struct told *told = context;
	bool overtaken = told->overtaken;

	told->writing = false;
	told->overtaken = false;
	mirrors_on_row(NULL, rc, result, problem);
	if (rc || overtaken)
		return;
	for (size_t i = 0; i < told->count; i++)
		told->written[i] = true;
	mirrors_ask(told);
}

static void mirrors_tell(struct told *told)
{
	CLEANUP(text_done) struct text ids = {0};
	const char *params[1];

	if (told->count == 0) {
		mirrors_ask(told);
		return;
	}
	ids_text(told, NULL, &ids);
	params[0] = text_get(&ids);
	told->writing = db_submit(told->mirrors->db, &capture_may_have_query, params, on_may_have,
				  told) == 0;
}

/* --- rows --- */

static struct told *mirrors_find(struct mirrors *mirrors, int64_t switch_id)
{
	struct told *told = mirrors->told;

	while (told && told->switch_id != switch_id)
		told = told->next;
	if (told)
		return told;
	told = calloc(1, sizeof(*told));
	if (!told)
		return NULL;
	*told = (struct told){.next = mirrors->told, .mirrors = mirrors, .switch_id = switch_id};
	mirrors->told = told;
	return told;
}

/* Of the session, as it was known before; 0 = it was not. */
static int64_t mirrors_end_of(const struct mirrors_ends *ends, int64_t id)
{
	for (size_t i = 0; i < ends->count; i++) {
		if (ends->ids[i] == id)
			return ends->until_ms[i];
	}
	return 0;
}

static void mirrors_add(struct told *told, const struct mirrors_ends *known, const PGresult *result,
			int row)
{
	const struct mirrors *mirrors = told->mirrors;
	struct switch_mirror *mirror = &told->rows[told->count];
	int64_t id = db_int(result, row, CAPTURE_SESSIONS_ID, 0);
	int64_t left_ms = db_int(result, row, CAPTURE_SESSIONS_LEFT_MS, 0);
	int64_t now_ms = loop_now_ms(mirrors->loop);
	int64_t known_ms = mirrors_end_of(known, id);
	int64_t until_ms = db_until_ms(mirrors->asked_ms, now_ms, left_ms, known_ms);

	if (left_ms <= 0)
		return;
	told->ends.ids[told->ends.count] = id;
	told->ends.until_ms[told->ends.count++] = until_ms;
	/* It is over, and this was counted too long ago to say otherwise. */
	if (until_ms == known_ms && now_ms >= until_ms)
		return;
	memset(mirror, 0, sizeof(*mirror)); /* hashed as bytes */
	if (!text_format(mirror->name, sizeof(mirror->name), SWITCH_MIRROR_PREFIX "%" PRId64, id) ||
	    !text_copy(mirror->port, sizeof(mirror->port),
		       db_text(result, row, CAPTURE_SESSIONS_PORT, "")) ||
	    !text_copy(mirror->target, sizeof(mirror->target),
		       db_text(result, row, CAPTURE_SESSIONS_TARGET, "")))
		return;
	told->until_ms[told->count] = until_ms;
	told->written[told->count] = db_bool(result, row, CAPTURE_SESSIONS_WRITTEN);
	told->ids[told->count++] = id;
}

/* Of all sessions that the switch shall have: tells two sets apart. */
static void mirrors_digest(const struct told *told, char *ret, size_t room)
{
	uint64_t hash = hash_bytes(HASH_START, told->rows, told->count * sizeof(told->rows[0]));

	(void)text_format(ret, room, "%zu:%" PRIx64, told->count, hash);
}

/* It stays as it is while there are sessions: capture_point_put. */
static void take_target(struct told *told, const PGresult *result, int row)
{
	struct switch_tunnel *tunnel = &told->tunnel;

	(void)text_copy(told->target, sizeof(told->target),
			db_text(result, row, CAPTURE_SESSIONS_TARGET, ""));
	(void)text_copy(tunnel->to, sizeof(tunnel->to),
			db_text(result, row, CAPTURE_SESSIONS_TO, ""));
	(void)text_copy(tunnel->from, sizeof(tunnel->from),
			db_text(result, row, CAPTURE_SESSIONS_FROM, ""));
	tunnel->id = (uint16_t)db_int(result, row, CAPTURE_SESSIONS_TUNNEL_ID, 0);
}

/* What differs is told at once, unless it failed just now. */
static bool mirrors_differs(const struct told *told)
{
	return told->known[0] && strcmp(told->wanted, told->known) != 0;
}

/* The rows of one switch, from `row` on; returns the next one's first. */
static int take_switch(struct mirrors *mirrors, const PGresult *result, int row)
{
	int64_t id = db_int(result, row, CAPTURE_SESSIONS_SWITCH_ID, 0);
	struct told *told = mirrors_find(mirrors, id);
	bool idle = told && !told->asking && !told->writing;
	struct mirrors_ends known = {0};

	if (idle) {
		known = told->ends;
		told->ends.count = 0;
		told->count = 0;
	}
	if (idle && !db_is_null(result, row, CAPTURE_SESSIONS_TARGET))
		take_target(told, result, row);
	for (; row < PQntuples(result) && db_int(result, row, CAPTURE_SESSIONS_SWITCH_ID, 0) == id;
	     row++) {
		if (idle && !db_is_null(result, row, CAPTURE_SESSIONS_ID) &&
		    told->ends.count < SWITCH_MIRRORS_MAX)
			mirrors_add(told, &known, result, row);
	}
	if (!idle)
		return row;
	mirrors_digest(told, told->wanted, sizeof(told->wanted));
	if (mirrors_differs(told) || loop_now_ms(mirrors->loop) >= told->next_ms)
		mirrors_tell(told);
	return row;
}

static void on_sessions(void *context, int rc, const PGresult *result,
			const struct problem *problem)
{
	struct mirrors *mirrors = context;

	mirrors->reading = false;
	mirrors_on_row(NULL, rc, result, problem);
	for (int row = 0; rc == 0 && row < PQntuples(result);)
		row = take_switch(mirrors, result, row);
}

/* --- without a database --- */

/* Sessions whose time is over are taken back though nobody can be asked. Nobody knows of one that
 * was not written down before: it is not told, either. The rows hear of it when the database
 * answers. */
static void drop_late(struct told *told)
{
	int64_t now_ms = loop_now_ms(told->mirrors->loop);
	/* Also what was to be told when the database fell silent, or could not be. */
	bool again = mirrors_differs(told) || (!told->known[0] && now_ms >= told->next_ms);
	size_t kept = 0;

	for (size_t i = 0; i < told->count; i++) {
		if (now_ms >= told->until_ms[i] || !told->written[i])
			continue;
		told->rows[kept] = told->rows[i];
		told->until_ms[kept] = told->until_ms[i];
		told->written[kept] = true;
		told->ids[kept++] = told->ids[i];
	}
	if (kept == told->count && !again)
		return;
	told->count = kept;
	told->overtaken = told->writing;
	mirrors_digest(told, told->wanted, sizeof(told->wanted));
	mirrors_ask(told);
}

/* Away, or there and mute: a server that was stopped, a path that swallows what is sent. */
static bool mirrors_is_silent(const struct mirrors *mirrors)
{
	return !mirrors->connected ||
	       (mirrors->reading && loop_now_ms(mirrors->loop) - mirrors->asked_ms >= DB_SILENT_MS);
}

static void mirrors_on_timer(void *context)
{
	struct mirrors *mirrors = context;
	bool silent = mirrors_is_silent(mirrors);

	loop_timer_arm(mirrors->timer, LOOK_MS);
	for (struct told *told = mirrors->told; told && silent; told = told->next) {
		if (!told->asking)
			drop_late(told);
	}
	if (mirrors->reading || !mirrors->connected)
		return;
	mirrors->asked_ms = loop_now_ms(mirrors->loop);
	mirrors->reading =
		db_submit(mirrors->db, &capture_sessions_query, NULL, on_sessions, mirrors) == 0;
}

/* --- life --- */

void mirrors_db_state(struct mirrors *mirrors, bool connected)
{
	mirrors->connected = connected;
	/* What switches have was not written down meanwhile. */
	for (struct told *told = mirrors->told; told && connected; told = told->next) {
		told->known[0] = '\0';
		told->next_ms = 0;
	}
	if (connected)
		loop_timer_arm(mirrors->timer, mirrors->was_connected ? BACK_MS : 0);
	mirrors->was_connected |= connected;
}

/* What it has now is what it starts with: a session of ours may be among that. */
void mirrors_seen(struct mirrors *mirrors, int64_t switch_id, uint64_t uptime_ms)
{
	struct told *told = mirrors->told;
	uint64_t before_ms;

	while (told && told->switch_id != switch_id)
		told = told->next;
	if (!told || !uptime_ms)
		return;
	before_ms = told->uptime_ms;
	told->uptime_ms = uptime_ms;
	if (uptime_ms >= before_ms)
		return;
	log_info(MIRRORS_SUBJECT,
		 "switch %" PRId64 " has restarted: its mirror sessions are set again", switch_id);
	told->known[0] = '\0';
	told->next_ms = 0;
	told->anew = told->asking;
	mirrors_wake(mirrors);
}

int mirrors_new(struct loop *loop, const struct mirrors_options *options, struct mirrors **ret)
{
	struct mirrors *mirrors = calloc(1, sizeof(*mirrors));
	int rc;

	if (!mirrors)
		return -ENOMEM;
	*mirrors = (struct mirrors){
		.options = *options, .loop = loop, .db = options->db, .queue = options->queue};
	rc = loop_timer_new(loop, mirrors_on_timer, mirrors, &mirrors->timer);
	if (rc)
		free(mirrors);
	else
		*ret = mirrors;
	return rc;
}

void mirrors_free(struct mirrors *mirrors)
{
	if (!mirrors)
		return;
	while (mirrors->told) {
		struct told *told = mirrors->told;

		mirrors->told = told->next;
		free(told);
	}
	loop_timer_free(mirrors->timer);
	free(mirrors);
}
