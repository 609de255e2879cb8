#include "peregrine/control/beacons.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"
#include "common/io/loop.h"

#include "peregrine/control/beacons_sql.h"

#define BEACONS_SUBJECT  "beacons"
#define BEACONS_SOON_MS  50
#define BEACONS_SWEEP_MS 60000
#define OFF_MS           20000

struct beacons {
	struct loop_timer *timer;
	struct db *db;
	struct switch_queue *queue;
	bool connected, reading;
	unsigned ending; /* LEDs that are being told to end */
};

struct ending {
	struct beacons *beacons;
	int64_t switch_id;
	char port[64];
};

void beacons_wake(struct beacons *beacons)
{
	if (beacons->connected)
		loop_timer_arm(beacons->timer, BEACONS_SOON_MS);
}

static void on_ended_row(void *context, int rc, const PGresult *result,
			 const struct problem *problem)
{
	struct beacons *beacons = context;

	(void)result;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, BEACONS_SUBJECT, problem);
	beacons->ending--;
	if (beacons->ending == 0)
		beacons_wake(beacons);
}

static void beacons_on_ended(void *context, const struct switch_answer *heard)
{
	struct ending *ending = context;
	struct beacons *beacons = ending->beacons;
	bool is_over = heard->rc == 0 || heard->rc == E_UNSUPPORTED || heard->rc == E_NOT_FOUND;
	char id[24];
	const char *params[] = {id, ending->port};

	(void)text_format(id, sizeof(id), "%lld", (long long)ending->switch_id);
	if (!is_over)
		log_problem(LOG_LEVEL_WARN, BEACONS_SUBJECT, heard->problem);
	if (!beacons->connected ||
	    db_submit(beacons->db, is_over ? &beacon_gone_query : &beacon_again_query, params,
		      on_ended_row, beacons) != 0)
		beacons->ending--;
	free(ending);
}

static void end_one(struct beacons *beacons, int64_t switch_id, const char *port)
{
	struct switch_request request = {.op = SWITCH_LOCATE};
	const struct switch_ask ask = {.switch_id = switch_id,
				       .request = &request,
				       .priority = CALL_PERSON,
				       .deadline_ms = OFF_MS};
	struct ending *ending = calloc(1, sizeof(*ending));

	if (!ending)
		return;
	*ending = (struct ending){.beacons = beacons, .switch_id = switch_id};
	(void)text_copy(ending->port, sizeof(ending->port), port);
	(void)text_copy(request.port, sizeof(request.port), port);
	if (switch_queue_submit(beacons->queue, &ask, beacons_on_ended, ending, NULL) != 0)
		free(ending);
	else
		beacons->ending++;
}

static void beacons_on_rows(void *context, int rc, const PGresult *result,
			    const struct problem *problem)
{
	struct beacons *beacons = context;
	int rows = rc ? 0 : PQntuples(result);
	int64_t wait_ms = BEACONS_SWEEP_MS;

	beacons->reading = false;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, BEACONS_SUBJECT, problem);
	for (int i = 0; i < rows; i++) {
		int64_t left_ms = db_int(result, i, BEACON_READ_LEFT_MS, 0);

		if (left_ms > 0) {
			wait_ms = left_ms < wait_ms ? left_ms + 1 : wait_ms;
			break;
		}
		end_one(beacons, db_int(result, i, BEACON_READ_SWITCH_ID, 0),
			db_text(result, i, BEACON_READ_PORT, ""));
	}
	loop_timer_arm(beacons->timer, wait_ms);
}

static void beacons_on_timer(void *context)
{
	struct beacons *beacons = context;

	if (beacons->reading || !beacons->connected)
		return;
	if (beacons->ending > 0) {
		loop_timer_arm(beacons->timer, BEACONS_SWEEP_MS);
		return;
	}
	beacons->reading =
		db_submit(beacons->db, &beacon_read_query, NULL, beacons_on_rows, beacons) == 0;
}

int beacons_put(struct beacons *beacons, int64_t switch_id, const char *port, uint16_t seconds,
		db_result_fn fn, void *context)
{
	char id[24];
	char span[8];
	const char *params[] = {id, port, span};

	if (!beacons->connected)
		return E_UNAVAILABLE;
	(void)text_format(id, sizeof(id), "%lld", (long long)switch_id);
	(void)text_format(span, sizeof(span), "%u", seconds);
	return db_submit(beacons->db, &beacon_put_query, params, fn, context);
}

void beacons_db_state(struct beacons *beacons, bool connected)
{
	beacons->connected = connected;
	if (connected)
		beacons_wake(beacons);
}

int beacons_new(struct loop *loop, struct db *db, struct switch_queue *queue, struct beacons **ret)
{
	struct beacons *beacons = calloc(1, sizeof(*beacons));
	int rc;

	if (!beacons)
		return -ENOMEM;
	*beacons = (struct beacons){.db = db, .queue = queue};
	rc = loop_timer_new(loop, beacons_on_timer, beacons, &beacons->timer);
	if (rc)
		free(beacons);
	else
		*ret = beacons;
	return rc;
}

void beacons_free(struct beacons *beacons)
{
	if (!beacons)
		return;
	loop_timer_free(beacons->timer);
	free(beacons);
}
