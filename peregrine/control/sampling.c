#include "peregrine/control/sampling.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "peregrine/control/sampling_sql.h"

LEAKS_LEFT_TO_SANITIZER

#define SAMPLING_SUBJECT   "sampling"
#define SAMPLING_SOON_MS   200
#define SAMPLING_PERIOD_MS 60000
#define CALL_MS            45000

struct sampling {
	struct loop *loop;
	struct loop_timer *timer;
	struct db *db;
	struct switch_queue *queue;
	bool connected, reading, again;
	unsigned asking; /* switches that are looked at */
};

struct asking {
	struct sampling *sampling;
	int64_t switch_id, version;
	char name[64];
	struct sampling_wanted wanted;
};

void sampling_wake(struct sampling *sampling)
{
	if (sampling->reading || sampling->asking)
		sampling->again = true;
	else if (sampling->connected)
		loop_timer_arm(sampling->timer, SAMPLING_SOON_MS);
}

/* The round is over. */
static void sampling_rest(struct sampling *sampling)
{
	if (sampling->reading || sampling->asking || !sampling->connected)
		return;
	loop_timer_arm(sampling->timer, sampling->again ? SAMPLING_SOON_MS : SAMPLING_PERIOD_MS);
	sampling->again = false;
}

static void sampling_on_written(void *context, int rc, const PGresult *result,
				const struct problem *problem)
{
	struct sampling *sampling = context;

	(void)result;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, SAMPLING_SUBJECT, problem);
	sampling->asking--;
	sampling_rest(sampling);
}

static void sampling_problem_text(const struct problem *problem, const struct sampling_found *found,
				  struct text *ret)
{
	if (problem) {
		json_put_problem(ret, NULL, problem);
		return;
	}
	json_begin_object(ret, NULL);
	json_put_string(ret, "message", "the switch does not show the settings that were sent");
	json_put_string(ret, "detail", found->text);
	json_put_string(ret, "hint", "");
	json_end_object(ret);
}

static void sampling_on_looked(void *context, const struct switch_answer *answer)
{
	struct asking *asking = context;
	struct sampling *sampling = asking->sampling;
	const struct sampling_found none = {0};
	const struct sampling_found *found = answer->reading ? &answer->reading->sampling : &none;
	enum sampling_state state = sampling_judge(
		&asking->wanted, answer->rc || answer->reading ? answer->rc : E_PROTOCOL, found);
	bool good = state == SAMPLING_APPLIED || state == SAMPLING_OFF;
	CLEANUP(text_done) struct text problem = {0};
	char numbers[5][24];
	const char *params[] = {numbers[0], sampling_state_words[state],
				numbers[1], numbers[2],
				numbers[3], numbers[4],
				NULL};

	if (!good) {
		sampling_problem_text(answer->rc ? answer->problem : NULL, found, &problem);
		params[6] = text_get(&problem);
		log_info(SAMPLING_SUBJECT, "switch %s: %s (%s)", asking->name,
			 sampling_state_words[state],
			 answer->rc ? answer->problem->message : found->text);
	}
	(void)text_format(numbers[0], sizeof(numbers[0]), "%" PRId64, asking->switch_id);
	(void)text_format(numbers[1], sizeof(numbers[1]), "%" PRId64, asking->version);
	(void)text_format(numbers[2], sizeof(numbers[2]), "%u", found->sources);
	(void)text_format(numbers[3], sizeof(numbers[3]), "%u", found->rate_low);
	(void)text_format(numbers[4], sizeof(numbers[4]), "%u", found->rate_high);
	free(asking);
	if (!sampling->connected || db_submit(sampling->db, &sampling_found_query, params,
					      sampling_on_written, sampling) != 0) {
		sampling->asking--;
		sampling_rest(sampling);
	}
}

static void ask_one(struct sampling *sampling, const PGresult *rows, int row)
{
	struct switch_request request = {.op = SWITCH_SAMPLING};
	const struct switch_ask ask = {.switch_id = db_int(rows, row, SAMPLING_WANTED_SWITCH_ID, 0),
				       .request = &request,
				       .priority = CALL_POLL,
				       .deadline_ms = CALL_MS};
	struct asking *asking = calloc(1, sizeof(*asking));

	if (!asking)
		return;
	*asking = (struct asking){.sampling = sampling,
				  .switch_id = ask.switch_id,
				  .version = db_int(rows, row, SAMPLING_WANTED_VERSION, 0)};
	asking->wanted = (struct sampling_wanted){
		.enabled = db_bool(rows, row, SAMPLING_WANTED_ENABLED),
		.change = db_bool(rows, row, SAMPLING_WANTED_CHANGE),
		.port = (uint16_t)db_int(rows, row, SAMPLING_WANTED_PORT, 0),
		.rate = (uint32_t)db_int(rows, row, SAMPLING_WANTED_RATE, 0),
		.header = (uint16_t)db_int(rows, row, SAMPLING_WANTED_HEADER, 0),
		.poll_s = (uint16_t)db_int(rows, row, SAMPLING_WANTED_POLL_S, 0),
	};
	(void)text_copy(asking->name, sizeof(asking->name),
			db_text(rows, row, SAMPLING_WANTED_SWITCH, ""));
	(void)text_copy(asking->wanted.collector, sizeof(asking->wanted.collector),
			db_text(rows, row, SAMPLING_WANTED_COLLECTOR, ""));
	request.sampling = asking->wanted;
	if (switch_queue_submit(sampling->queue, &ask, sampling_on_looked, asking, NULL) != 0)
		free(asking);
	else
		sampling->asking++;
}

static void sampling_on_wanted(void *context, int rc, const PGresult *result,
			       const struct problem *problem)
{
	struct sampling *sampling = context;
	int rows = rc ? 0 : PQntuples(result);

	sampling->reading = false;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, SAMPLING_SUBJECT, problem);
	for (int i = 0; i < rows; i++)
		ask_one(sampling, result, i);
	sampling_rest(sampling);
}

static void sampling_on_timer(void *context)
{
	struct sampling *sampling = context;

	if (sampling->reading || sampling->asking || !sampling->connected)
		return;
	sampling->reading = db_submit(sampling->db, &sampling_wanted_query, NULL,
				      sampling_on_wanted, sampling) == 0;
	sampling_rest(sampling);
}

void sampling_db_state(struct sampling *sampling, bool connected)
{
	sampling->connected = connected;
	if (connected)
		sampling_wake(sampling);
}

int sampling_new(struct loop *loop, struct db *db, struct switch_queue *queue,
		 struct sampling **ret)
{
	struct sampling *sampling = calloc(1, sizeof(*sampling));
	int rc;

	if (!sampling)
		return -ENOMEM;
	*sampling = (struct sampling){.loop = loop, .db = db, .queue = queue};
	rc = loop_timer_new(loop, sampling_on_timer, sampling, &sampling->timer);
	if (rc)
		free(sampling);
	else
		*ret = sampling;
	return rc;
}

void sampling_free(struct sampling *sampling)
{
	if (!sampling)
		return;
	loop_timer_free(sampling->timer);
	free(sampling);
}
