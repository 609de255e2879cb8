/* What must hold whatever happens, looked at all the time: what the database says against what the
 * nodes really are. Each row is a query whose answer says what is wrong, or is compared here. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/db.h"

#include "tests/sim/fleet/fleet.h"

#define PERIOD_MS     1000
#define TOLD_MAX      200
#define NOTHING_LATER 3 /* what is wrong for so many looks in a row is wrong */

struct fleet_check {
	struct fleet *fleet;
	struct db *db;
	struct loop_timer *timer;
	unsigned waiting; /* answers still to come */
	bool failed;
	int64_t last_done; /* deployments up to this one were looked at */
	char overdue_s[24];
	char done_after[24];
	void (*last)(struct fleet *fleet, bool asked);
	struct suspicion {
		struct suspicion *next;
		unsigned looks;
		bool seen;
		char what[160];
	} * suspicions;
};

typedef void (*look_fn)(struct fleet_check *check, const PGresult *result);

/* Rows (text) are violations. */
static void look_any(struct fleet_check *check, const char *name, const PGresult *result)
{
	for (int row = 0; row < PQntuples(result) && row < 5; row++)
		fleet_violation(check->fleet, name, "%s", db_text(result, row, 0, ""));
}

static void look_bound(struct fleet_check *check, const PGresult *result)
{
	look_any(check, "address_bound_twice", result);
}

static void look_due(struct fleet_check *check, const PGresult *result)
{
	look_any(check, "unfinished_has_due_time", result);
}

static void look_overdue(struct fleet_check *check, const PGresult *result)
{
	look_any(check, "overdue", result);
}

static void look_loop(struct fleet_check *check, const PGresult *result)
{
	look_any(check, "reinstall_loop", result);
}

static void look_task(struct fleet_check *check, const PGresult *result)
{
	look_any(check, "task_after_end", result);
}

static struct fleet_node *fleet_check_node_of(const struct fleet_check *check,
					      const PGresult *result, int row)
{
	const char *name = db_text(result, row, 0, "");
	long number = name[0] == 'f' ? strtol(name + 1, NULL, 10) : 0;

	return number >= 1 && number <= check->fleet->options.count
		       ? &check->fleet->nodes[number - 1]
		       : NULL;
}

/* The picture of the database is a little older than ours: only what stays is wrong. */
static void fleet_check_suspect(struct fleet_check *check, const char *invariant, const char *what)
{
	struct suspicion *each = check->suspicions;
	char key[160];

	(void)text_format(key, sizeof(key), "%s %s", invariant, what);
	while (each && strcmp(each->what, key) != 0)
		each = each->next;
	if (!each) {
		each = calloc(1, sizeof(*each));
		if (!each)
			return;
		(void)text_copy(each->what, sizeof(each->what), key);
		each->next = check->suspicions;
		check->suspicions = each;
	}
	each->seen = true;
	if (++each->looks == NOTHING_LATER)
		fleet_violation(check->fleet, invariant, "%s", what);
}

static void forget_unseen(struct fleet_check *check)
{
	struct suspicion **at = &check->suspicions;

	while (*at) {
		struct suspicion *each = *at;

		if (each->seen) {
			each->seen = false;
			at = &each->next;
			continue;
		}
		*at = each->next;
		free(each);
	}
}

/* Nodes that the database would give to anybody. */
static void look_free(struct fleet_check *check, const PGresult *result)
{
	for (int row = 0; row < PQntuples(result); row++) {
		const struct fleet_node *node = fleet_check_node_of(check, result, row);
		char what[128];

		if (!node)
			continue;
		(void)text_format(what, sizeof(what), "node f%d", node->index + 1);
		if (db_bool(result, row, 1))
			fleet_check_suspect(check, "free_is_clean", what);
		if (node->disk.dirty) {
			(void)text_format(what, sizeof(what),
					  "node f%d is free and its disk holds data",
					  node->index + 1);
			fleet_check_suspect(check, "free_is_erased", what);
		}
	}
}

/* Installs that are done: the disk holds that image, and its OS called with that nonce. */
static void look_done(struct fleet_check *check, const PGresult *result)
{
	for (int row = 0; row < PQntuples(result); row++) {
		struct fleet *fleet = check->fleet;
		const struct fleet_node *node = fleet_check_node_of(check, result, row);
		long long id = db_int(result, row, 1, 0);

		if (id > check->last_done)
			check->last_done = id;
		if (!node)
			continue;
		if (strcmp(node->disk.digest, db_text(result, row, 2, "")) != 0)
			fleet_violation(
				fleet, "done_is_written",
				"deployment %lld of node f%d is done, its disk holds \"%s\"", id,
				node->index + 1, node->disk.digest);
		else if (strcmp(node->disk.called_nonce, db_text(result, row, 3, "")) != 0)
			fleet_violation(fleet, "callback_of_the_wanted",
					"deployment %lld of node f%d is done, its OS never called",
					id, node->index + 1);
	}
}

/* clang-format off */
static const struct invariant {
	struct db_query query;
	look_fn look;
} fleet_check_invariants[] = {
	{{"fleet_bound",
	  "select format('%s is bound to %s addresses in one subnet', mac, count(*)) from haas.lease where state = 'bound'"
	  " group by mac, subnet_id having count(*) > 1", 0, NULL}, look_bound},
	{{"fleet_free", "select name, dirty from haas.node where state = 'free' and name ~ '^f[0-9]+$'", 0, NULL}, look_free},
	{{"fleet_due",
	  "select format('deployment %s is %s and due %s', id, state, due_at) from haas.deployment"
	  " where (state in ('queued', 'waiting', 'cancelling')) <> (due_at is not null)", 0, NULL}, look_due},
	{{"fleet_overdue",
	  "select format('deployment %s of %s (%s) was due %s s ago', id, node, step, floor(extract(epoch from now() - due_at))) from haas.deployment"
	  " where due_at < now() - $1::integer * interval '1 s' and (claim_until is null or claim_until < now()) limit 5", 1, NULL}, look_overdue},
	{{"fleet_loop",
	  "select format('deployment %s: %s images written', deployment_id, count(*)) from haas.agent_task where kind = 'write_image' and state = 'done'"
	  " group by deployment_id having count(*) > 3", 0, NULL}, look_loop},
	{{"fleet_task",
	  "select format('task %s (%s) of deployment %s, which is %s', t.id, t.state, d.id, d.state) from haas.agent_task t"
	  " join haas.deployment d on d.id = t.deployment_id where t.state in ('queued', 'taken') and d.due_at is null limit 5", 0, NULL}, look_task},
	/* Only the newest of a node: an older one's disk may be overwritten meanwhile. */
	{{"fleet_done",
	  "select d.node, d.id, i.stored_digest, b.nonce from haas.deployment d join haas.image i on i.id = d.image_id"
	  " join haas.boot_intent b on b.deployment_id = d.id"
	  " where d.state = 'done' and d.plan in ('install', 'reinstall') and d.ended_at < now() - interval '1 s' and d.id > $1::bigint - 100000"
	  " and not exists (select from haas.deployment x where x.node_id = d.node_id and x.id > d.id)", 1, NULL}, look_done},
};
/* clang-format on */

struct fleet_check_look {
	struct fleet_check *check;
	const struct invariant *invariant;
};

static void fleet_check_ended(struct fleet_check *check)
{
	void (*last)(struct fleet *, bool) = check->last;

	if (!check->failed) {
		check->fleet->stats.checks++;
		forget_unseen(check);
	}
	loop_timer_arm(check->timer, PERIOD_MS);
	if (last) {
		check->last = NULL;
		last(check->fleet, !check->failed);
	}
}

static void fleet_check_on_answer(void *context, int rc, const PGresult *result,
				  const struct problem *problem)
{
	CLEANUP(freep) struct fleet_check_look *look = context;
	struct fleet_check *check = look->check;

	if (rc) {
		check->failed = true;
		if (rc != E_UNAVAILABLE)
			(void)fprintf(stderr, "fleet: %s: %s: %s\n", look->invariant->query.name,
				      problem->message, problem->detail);
	} else {
		look->invariant->look(check, result);
	}
	if (--check->waiting == 0)
		fleet_check_ended(check);
}

static void fleet_check_ask(void *context)
{
	struct fleet_check *check = context;

	if (check->waiting > 0)
		return;
	check->failed = false;
	check->waiting = 1;
	for (size_t i = 0; i < COUNT_OF(fleet_check_invariants); i++) {
		const struct invariant *invariant = &fleet_check_invariants[i];
		const char *params[1] = {invariant->look == look_done ? check->done_after
								      : check->overdue_s};
		struct fleet_check_look *look = malloc(sizeof(*look));

		if (!look)
			abort();
		*look = (struct fleet_check_look){check, invariant};
		check->waiting++;
		if (db_submit(check->db, &invariant->query, params, fleet_check_on_answer, look)) {
			check->waiting--;
			check->failed = true;
			free(look);
		}
	}
	if (--check->waiting == 0)
		fleet_check_ended(check);
}

void fleet_check_last(struct fleet_check *check, void (*fn)(struct fleet *fleet, bool asked))
{
	check->last = fn;
	fleet_check_ask(check);
}

int fleet_check_new(struct fleet *fleet, struct fleet_check **ret)
{
	struct fleet_check *check = calloc(1, sizeof(*check));
	const struct db_options options = {
		.conninfo = fleet->options.database, .application = "fleet", .context = check};
	int rc;

	if (!check)
		return -1;
	check->fleet = fleet;
	(void)text_format(check->overdue_s, sizeof(check->overdue_s), "%" PRId64,
			  fleet->options.overdue_s);
	(void)text_copy(check->done_after, sizeof(check->done_after), "0");
	rc = db_new(fleet->loop, &options, &check->db);
	if (rc == 0)
		rc = loop_timer_new(fleet->loop, fleet_check_ask, check, &check->timer);
	if (rc) {
		fleet_check_free(check);
		return rc;
	}
	loop_timer_arm(check->timer, PERIOD_MS);
	*ret = check;
	return 0;
}

void fleet_check_free(struct fleet_check *check)
{
	if (!check)
		return;
	db_free(check->db);
	loop_timer_free(check->timer);
	while (check->suspicions) {
		struct suspicion *next = check->suspicions->next;

		free(check->suspicions);
		check->suspicions = next;
	}
	free(check);
}
