#include "common/db/lead.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/db_private.h"
#include "common/db/lead_sql.h"

#define LEAD_TRY_MS   1000
#define LEAD_AGAIN_MS 100 /* sessions of the one before were ended: they are gone soon */
#define LEAD_LIFE     16

struct lead {
	struct loop *loop;
	struct db *db;
	const struct lead *of; /* the lead that this one belongs to; NULL = its own */
	struct loop_timer *timer;
	bool (*may_lead)(void *context);
	void *context;
	char name[96];
	char instance[256];
	char life[2 * LEAD_LIFE + 1];
	bool leads, stands_by;
	bool has_led; /* in this life */
	bool on_its_way;
	int64_t asked_ms;
};

static void lead_told(struct lead *lead, const char *leader)
{
	struct problem *away = &lead->db->away;

	(void)problem_set(away, E_UNAVAILABLE, "%s stands by here", lead->name);
	if (leader[0])
		problem_detail(away, "it works at %s", leader);
	else
		problem_detail(away, "nobody has taken the lead yet");
	problem_hint(away, "ask at the controller where it works: haasctl status names it");
	lead->stands_by = true;
	db_connect_stands_by(lead->db);
}

static void lead_on_taken(void *context, int rc, const PGresult *result,
			  const struct problem *problem)
{
	struct lead *lead = context;

	lead->on_its_way = false;
	if (rc) {
		if (rc != E_UNAVAILABLE) {
			lead->db->away = *problem;
			db_connect_stands_by(lead->db);
		}
		return;
	}
	if (!db_is_null(result, 0, LEAD_TAKE_EPOCH)) {
		lead->leads = lead->has_led = true;
		lead->stands_by = false;
		loop_timer_arm(lead->timer, LEAD_BEAT_MS);
		db_connect_leads(lead->db);
		return;
	}
	lead_told(lead, db_text(result, 0, LEAD_TAKE_LEADER, ""));
	if (db_int(result, 0, LEAD_TAKE_ENDED, 0) > 0)
		loop_timer_arm(lead->timer, LEAD_AGAIN_MS);
	else if (lead->has_led && !lead->of && !db_bool(result, 0, LEAD_TAKE_OURS))
		loop_stop(lead->loop);
}

/* Another one leads: the connection is no longer ours, and the next one will say so. */
static void lead_on_beat(void *context, int rc, const PGresult *result,
			 const struct problem *problem)
{
	struct lead *lead = context;

	(void)result;
	lead->on_its_way = false;
	if (rc && rc != E_UNAVAILABLE) {
		lead->db->refusal = *problem;
		db_give_up(lead->db);
	}
}

static int lead_ask(struct lead *lead)
{
	const char *take[] = {lead->name, lead->instance, lead->life,
			      lead->of ? lead->of->name : NULL};
	const char *beat[] = {lead->name, lead->life};

	lead->asked_ms = loop_now_ms(lead->loop);
	return lead->leads ? db_submit_beat(lead->db, &lead_beat_query, beat, lead_on_beat, lead)
			   : db_submit_beat(lead->db, &lead_take_query, take, lead_on_taken, lead);
}

static void lead_due(void *context)
{
	struct lead *lead = context;

	if (!db_answers(lead->db))
		return;
	loop_timer_arm(lead->timer, lead->leads ? LEAD_BEAT_MS : LEAD_TRY_MS);
	if (lead->may_lead && !lead->may_lead(lead->context)) {
		if (lead->leads)
			loop_stop(lead->loop);
		else
			lead_told(lead, "");
	} else if (!lead->on_its_way) {
		lead->on_its_way = lead_ask(lead) == 0;
	} else if (loop_now_ms(lead->loop) - lead->asked_ms > LEAD_MUTE_MS) {
		(void)problem_set(&lead->db->refusal, E_UNAVAILABLE,
				  "no answer to a heartbeat within %d s", LEAD_MUTE_MS / 1000);
		lead->db->first++; /* there may be another primary */
		db_give_up(lead->db);
	}
}

void lead_connected(struct lead *lead)
{
	loop_timer_arm(lead->timer, 0);
}

void lead_disconnected(struct lead *lead)
{
	lead->leads = lead->stands_by = false;
	loop_timer_disarm(lead->timer);
}

bool lead_stands_by(const struct lead *lead)
{
	return lead->stands_by;
}

const char *lead_life(const struct lead *lead)
{
	return lead->life;
}

int lead_new(struct loop *loop, struct db *db, const struct db_options *options, struct lead **ret)
{
	struct lead *lead = calloc(1, sizeof(*lead));
	unsigned char life[LEAD_LIFE];
	char host[64] = "";
	int rc;

	if (!lead)
		return -ENOMEM;
	lead->loop = loop;
	lead->db = db;
	lead->may_lead = options->may_lead;
	lead->context = options->context;
	lead->of = options->lead_of ? options->lead_of->lead : NULL;
	(void)gethostname(host, sizeof(host) - 1);
	(void)text_copy(lead->name, sizeof(lead->name), options->lead);
	(void)text_copy(lead->instance, sizeof(lead->instance),
			options->instance && options->instance[0] ? options->instance : host);
	randombytes_buf(life, sizeof(life));
	(void)sodium_bin2hex(lead->life, sizeof(lead->life), life, sizeof(life));
	if (lead->of)
		(void)text_copy(lead->life, sizeof(lead->life), lead->of->life);
	rc = loop_timer_new(loop, lead_due, lead, &lead->timer);
	if (rc) {
		free(lead);
		return rc;
	}
	*ret = lead;
	return 0;
}

void lead_free(struct lead *lead)
{
	if (!lead)
		return;
	loop_timer_free(lead->timer);
	free(lead);
}
