#include "peregrine/flowd/sampling_watch.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/log.h"

#include "peregrine/flowd/alert/alert_policy.h"
#include "peregrine/flowd/backoff_policy.h"
#include "peregrine/flowd/sample/agent_directory.h"
#include "peregrine/flowd/sampling_watch_sql.h"

#define SAMPLING_WATCH_SUBJECT   "sampling"
#define SAMPLING_WATCH_PERIOD_MS 10000

/* One agent since the last look. */
struct window {
	uint32_t told_low, told_high;
	uint32_t flows_low, flows_high; /* the same, of what exports flows; 0 = none was said */
	uint64_t pool, samples, missing;
	enum backoff last; /* of the look before */
	int64_t due_us;    /* since when it is to send sFlow, or DUE_* */
	bool kept;         /* in the look under way: something is known of that */
};

struct sampling_watch {
	struct loop_timer *timer;
	struct db *db;
	bool reading;
	struct window *windows; /* AGENT_LIMIT + 1 */
};

static void sampling_watch_note_rate(uint32_t rate, uint32_t *low, uint32_t *high)
{
	if (!*high || rate < *low)
		*low = rate;
	if (rate > *high)
		*high = rate;
}

void sampling_watch_note(struct sampling_watch *watch, const struct harvest *harvest)
{
	for (size_t i = 0; i < harvest->source_count; i++) {
		const struct source_sums *sums = &harvest->sources[i];
		struct window *window = &watch->windows[sums->agent];

		if (sums->datagrams || !sums->rate)
			continue;
		/* Of flows it is said apart from them, and 1 until then. */
		if (sums->exporter && sums->rate > 1)
			sampling_watch_note_rate(sums->rate, &window->flows_low,
						 &window->flows_high);
		else if (!sums->exporter)
			sampling_watch_note_rate(sums->rate, &window->told_low, &window->told_high);
		if (sums->restarted || sums->exporter)
			continue;
		window->pool += sums->pool;
		window->samples += sums->samples;
		window->missing += sums->missing;
	}
}

static void sampling_watch_say(struct window *window, int64_t switch_id,
			       const struct backoff_facts *facts, struct text *rows)
{
	enum backoff now = backoff_judge(facts);
	/* One look may lie across a change. */
	enum backoff verdict = now == window->last ? now : BACKOFF_NONE;

	window->last = now;
	json_begin_object(rows, NULL);
	json_put_int(rows, "switch_id", switch_id);
	json_put_int(rows, "rate", (int64_t)facts->told_high);
	json_put_string(rows, "verdict", backoff_words[verdict]);
	json_put_int(rows, "pool_rate", (int64_t)backoff_pool_rate(facts));
	json_end_object(rows);
}

/* Who is to send sFlow. IOS exports flows instead, when there are some and only then. */
static void note_due(struct sampling_watch *watch, int rc, const PGresult *result)
{
	int64_t now_us = clock_wall_us();

	for (int i = 0; !rc && i < PQntuples(result); i++) {
		struct window *window = &watch->windows[(uint16_t)db_int(
			result, i, SAMPLING_SET_RATES_SWITCH_ID, 0)];

		window->kept = true;
		switch (db_text(result, i, SAMPLING_SET_RATES_ORIGIN, "o")[0]) {
		case 'n': window->due_us = DUE_NEVER; break;
		case 'd': window->due_us = window->due_us > 0 ? window->due_us : now_us; break;
		default: window->due_us = DUE_OTHER; break;
		}
	}
	for (size_t agent = 0; !rc && agent <= AGENT_LIMIT; agent++) {
		if (!watch->windows[agent].kept)
			watch->windows[agent].due_us = DUE_UNKNOWN;
		watch->windows[agent].kept = false;
	}
}

int64_t sampling_watch_due(const struct sampling_watch *watch, uint16_t agent)
{
	return watch->windows[agent].due_us;
}

static void sampling_watch_on_set(void *context, int rc, const PGresult *result,
				  const struct problem *problem)
{
	struct sampling_watch *watch = context;
	int count = rc ? 0 : PQntuples(result);
	CLEANUP(text_done) struct text rows = {0};
	const char *params[1];
	int told = 0;

	watch->reading = false;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, SAMPLING_WATCH_SUBJECT, problem);
	json_begin_array(&rows, NULL);
	note_due(watch, rc, result);
	for (int i = 0; i < count; i++) {
		int64_t switch_id = db_int(result, i, SAMPLING_SET_RATES_SWITCH_ID, 0);
		struct window *window = &watch->windows[(uint16_t)switch_id];
		const struct backoff_facts facts = {
			.wanted_low = (uint64_t)db_int(result, i, SAMPLING_SET_RATES_RATE_LOW, 0),
			.wanted_high = (uint64_t)db_int(result, i, SAMPLING_SET_RATES_RATE_HIGH, 0),
			/* A switch with both is told to sample by sFlow. */
			.told_low = window->told_high ? window->told_low : window->flows_low,
			.told_high = window->told_high ? window->told_high : window->flows_high,
			.pool = window->pool,
			.samples = window->samples,
			.missing = window->missing,
		};

		if (!facts.told_high || !db_bool(result, i, SAMPLING_SET_RATES_MANAGED))
			continue;
		sampling_watch_say(window, switch_id, &facts, &rows);
		told++;
		*window = (struct window){.last = window->last, .due_us = window->due_us};
	}
	json_end_array(&rows);
	params[0] = text_get(&rows);
	if (told && db_submit(watch->db, &sampling_told_query, params, NULL, NULL) != 0)
		log_warn(SAMPLING_WATCH_SUBJECT, "reports of switches were not written: no memory");
}

static void sampling_watch_look(void *context)
{
	struct sampling_watch *watch = context;

	loop_timer_arm(watch->timer, SAMPLING_WATCH_PERIOD_MS);
	if (!watch->reading && db_connected(watch->db))
		watch->reading = db_submit(watch->db, &sampling_set_rates_query, NULL,
					   sampling_watch_on_set, watch) == 0;
}

int sampling_watch_new(struct loop *loop, struct db *db, struct sampling_watch **ret)
{
	struct sampling_watch *watch = calloc(1, sizeof(*watch));
	int rc = -ENOMEM;

	if (!watch)
		return rc;
	watch->db = db;
	watch->windows = calloc(AGENT_LIMIT + 1, sizeof(*watch->windows));
	if (watch->windows)
		rc = loop_timer_new(loop, sampling_watch_look, watch, &watch->timer);
	if (rc) {
		sampling_watch_free(watch);
		return rc;
	}
	loop_timer_arm(watch->timer, SAMPLING_WATCH_PERIOD_MS);
	*ret = watch;
	return 0;
}

void sampling_watch_free(struct sampling_watch *watch)
{
	if (!watch)
		return;
	loop_timer_free(watch->timer);
	free(watch->windows);
	free(watch);
}
