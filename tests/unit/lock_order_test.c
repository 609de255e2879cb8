// links: bampi_control bampi_bootd portal_server
/* Everybody who writes many rows at once, on the same few nodes, with the statements that the
 * programs use and in whatever order a batch happens to have: nobody may wait for another in a ring
 * (db/schema/node.sql has the order). PostgreSQL is the judge: its log has each deadlock. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/db/array.h"
#include "common/db/db.h"

#include "bampi/bootd/boot/mailbox_store_sql.h"
#include "bampi/bootd/identify/observation.h"
#include "bampi/control/deploy/deploy_store.h"
#include "bampi/control/deploy/task_sign.h"
#include "bampi/control/endpoint_store.h"
#include "bampi/control/health/health_store.h"
#include "portal/server/deployment_store_sql.h"
#include "portal/server/exchange_store_sql.h"
#include "portal/server/health_store_sql.h"
#include "portal/server/node_store_sql.h"
#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"
#include "tests/unit/lock_actor.h"

#define RUN_MS    6000
#define AGENT_KEY "abababababababababababababababababababababababababababababababab"

/* --- bampid --- */

static json_t *some_drives(struct actor *actor)
{
	const char *verdict = roll(actor, 2) ? "failed" : "erased";

	return json_pack("[{s:s, s:s, s:I, s:s}]", "serial", roll(actor, 2) ? "A" : "B", "name",
			 "sda", "size_bytes", (json_int_t)1, "verdict", verdict);
}

/* Not what a step would wish, but every kind of row that one can. */
static void advance_any(struct actor *actor, const struct claimed *work, struct advance *ret)
{
	bool ends = roll(actor, 8) == 0;
	struct outcome *outcome = &ret->outcome;

	*ret = (struct advance){
		.state = ends ? DEPLOYMENT_DONE : DEPLOYMENT_WAITING,
		.step = "agent",
		.step_started_ms = work->now_ms,
		.due_ms = ends ? 0 : work->now_ms + roll(actor, 40),
		.step_deadline_ms = work->now_ms + 60000,
	};
	outcome->drop_tasks = roll(actor, 2);
	/* Without a boot there is no agent to sign it for. */
	outcome->post = work->facts.intent.token[0] ? TASK_INVENTORY : TASK_NONE;
	outcome->intent = roll(actor, 4) ? INTENT_PUT : INTENT_REMOVE;
	outcome->event = roll(actor, 2) ? NODE_EVENT_SCRUBBED : NODE_EVENT_NONE;
	outcome->intent_target = INTENT_AGENT;
	token_of(work->facts.node.id, outcome->intent_token);
	token_of(work->facts.node.id, outcome->intent_nonce);
	if (roll(actor, 2)) {
		outcome->drives = some_drives(actor);
		outcome->drives_complete = true;
	}
}

static void on_saved(void *context, int rc, const bool saved[], const struct problem *problem)
{
	struct actor *actor = context;

	for (size_t i = 0; i < actor->work_count; i++) {
		actor->saved += rc == 0 && saved[i];
		outcome_done(&actor->advances[i].outcome);
		claimed_done(&actor->works[i]);
	}
	on_answer(actor, rc, NULL, problem);
}

static void on_rows(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct actor *actor = context;
	int count = rc ? 0 : PQntuples(result);

	actor->work_count = 0;
	actor->claimed += (size_t)count;
	on_part(actor, rc, result, problem);
	for (int row = 0; row < count; row++) {
		size_t at = actor->work_count++;

		assert_int_equal(claimed_read(result, row, 80, &actor->works[at]), 0);
		advance_any(actor, &actor->works[at], &actor->advances[at]);
	}
}

static void on_next(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct actor *actor = context;
	struct save_row rows[CLAIM_LIMIT];
	const struct save_options options = {
		.owner = actor->owner, .claim_ms = 50, .task_key = actor->task_key};

	on_part(actor, rc, result, problem);
	for (size_t i = 0; i < actor->work_count; i++)
		rows[i] = (struct save_row){.claimed = &actor->works[i],
					    .advance = &actor->advances[i],
					    .keep_claim = roll(actor, 2)};
	if (actor->work_count > 0)
		assert_int_equal(deploy_store_save(actor->db, &options, rows, actor->work_count,
						   on_saved, actor),
				 0);
}

static void run_steps(struct actor *actor)
{
	const struct claim_options options = {.owner = actor->owner, .claim_ms = 50};

	assert_int_equal(deploy_store_claim(actor->db, &options, on_rows, on_next, actor), 0);
}

static void extend_claims(struct actor *actor)
{
	struct claim_key keys[BATCH];
	struct extend_options options = {
		.owner = actor->owner, .claim_ms = 50, .keys = keys, .count = actor->work_count};

	if (options.count > BATCH)
		options.count = BATCH;
	for (size_t i = 0; i < options.count; i++) /* the last first */
		keys[i] = (struct claim_key){
			actor->works[options.count - 1 - i].facts.deployment.id, 1};
	assert_int_equal(deploy_store_extend(actor->db, &options, on_answer, actor), 0);
}

static void observe(struct actor *actor)
{
	struct endpoint_seen seen[BATCH] = {0};
	int nodes[BATCH];

	pick(actor, nodes);
	for (size_t i = 0; i < BATCH; i++) {
		seen[i].node_id = nodes[i];
		seen[i].observation.power_known = true;
		seen[i].observation.power_on = roll(actor, 2);
	}
	assert_int_equal(endpoint_store_observe(actor->db, seen, BATCH, on_answer, actor), 0);
}

static void put_sensors(struct actor *actor)
{
	static const char *const readings[] = {
		"\"at_us\":9000000000000000,\"sensors\":[],\"alarms\":[]",
		"\"at_us\":9000000000000000,\"sensors\":[],\"alarms\":[{\"name\":\"T\"}]"};
	CLEANUP(text_done) struct text rows = {0};

	rows_of(actor, readings, &rows);
	assert_int_equal(health_store_sensors(actor->db, text_get(&rows), on_answer, actor), 0);
}

static void put_log(struct actor *actor)
{
	static const char *const news[] = {
		"\"record\":1,\"stamp\":1,\"entries\":[{\"record\":1,\"event\":\"e\"}]",
		"\"record\":2,\"stamp\":2,\"entries\":[{\"record\":2,\"time_s\":2,\"event\":\"e\"}]"};
	CLEANUP(text_done) struct text rows = {0};

	rows_of(actor, news, &rows);
	assert_int_equal(health_store_log(actor->db, text_get(&rows), on_answer, actor), 0);
}

/* The verdict is as if it had been made from the row as it is: a fifth of them stop deployments. */
static void decide(struct actor *actor)
{
	static const struct db_query query = {
		"test_decide",
		"select haas.health_save((select jsonb_agg(jsonb_build_object('node_id', h.node_id, 'generation', h.generation, 'memo', '{}'::jsonb,"
		" 'next_ms', null, 'labels', case when random() < 0.8 then '[]' else '[{\"label\": \"bmc_silent\", \"severity\": \"warning\","
		" \"effects\": [\"no_automation\"], \"reason\": \"r\", \"hint\": \"h\", \"since_ms\": 1}]'::jsonb end))"
		" from (select * from haas.node_health order by random() limit 12) h))",
		0, NULL};

	ask(actor, &query, NULL);
}

static void expire(struct actor *actor)
{
	assert_int_equal(health_store_expire(actor->db, on_answer, actor), 0);
}

/* --- bampi-bootd --- */

static void see(struct actor *actor)
{
	int nodes[BATCH];

	pick(actor, nodes);
	for (size_t i = 0; i < BATCH; i++) {
		struct inventory_node node = {.id = nodes[i]};

		node.intent.deployment_id = 1 + (int64_t)roll(actor, 200);
		observation_record(actor->observations, &node,
				   roll(actor, 2) ? OBSERVATION_AGENT : OBSERVATION_SCRIPT, "", 1);
	}
	observations_flush(actor->observations);
	actor->done[actor->op]++;
}

static void on_taken(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct actor *actor = context;

	actor->task_count = 0;
	for (int row = 0; rc == 0 && row < PQntuples(result) && row < BATCH; row++) {
		size_t at = actor->task_count++;

		actor->tasks[at] = db_int(result, row, 0, 0);
		(void)text_copy(actor->tokens[at], TOKEN_TEXT_SIZE, db_text(result, row, 1, ""));
	}
	actor->taken += actor->task_count;
	on_answer(actor, rc, result, problem);
}

static void on_ended(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct actor *actor = context;

	for (int row = 0; rc == 0 && row < PQntuples(result); row++) {
		const char *outcome = db_text(result, row, MAILBOX_RESULT_OUTCOME, "");

		actor->ended += strcmp(outcome, "stored") == 0;
		actor->forged += strcmp(outcome, "forged") == 0;
	}
	on_answer(actor, rc, result, problem);
}

static void take_tasks(struct actor *actor)
{
	CLEANUP(text_done) struct text tokens = {0};
	int nodes[BATCH];

	pick(actor, nodes);
	array_begin(&tokens);
	for (size_t i = 0; i < BATCH; i++) {
		char token[TOKEN_TEXT_SIZE];

		token_of(nodes[i], token);
		array_add(&tokens, token);
	}
	array_end(&tokens);

	const char *const params[] = {text_get(&tokens)};

	assert_int_equal(db_submit(actor->db, &mailbox_take_query, params, on_taken, actor), 0);
}

static void end_tasks(struct actor *actor)
{
	struct text columns[8] = {0};
	const char *params[8];

	if (actor->task_count < 2)
		return; /* they stay open: one alone waits in no ring */
	for (size_t i = 0; i < COUNT_OF(columns); i++)
		array_begin(&columns[i]);
	for (size_t i = actor->task_count; i-- > 0;) {
		array_add_int(&columns[0], actor->tasks[i]);
		array_add(&columns[1], actor->tokens[i]);
		array_add(&columns[2], "done");
		array_add(&columns[3], "{}");
		array_add(&columns[4], NULL);
		array_add(&columns[5], "false");
		array_add(&columns[6], roll(actor, 6) ? AGENT_KEY : ""); /* whose signature */
		array_add(&columns[7], "10.0.0.1");
	}
	for (size_t i = 0; i < COUNT_OF(columns); i++) {
		array_end(&columns[i]);
		params[i] = text_get(&columns[i]);
	}
	assert_int_equal(db_submit(actor->db, &mailbox_result_query, params, on_ended, actor), 0);
	for (size_t i = 0; i < COUNT_OF(columns); i++)
		text_done(&columns[i]);
}

static void progress(struct actor *actor)
{
	struct text columns[5] = {0};
	const char *params[5];
	int numbers[BATCH];

	pick(actor, numbers);
	for (size_t i = 0; i < COUNT_OF(columns); i++) {
		array_begin(&columns[i]);
		for (size_t row = 0; row < BATCH; row++)
			array_add_int(&columns[i], i == 0 ? numbers[row] : 1);
		array_end(&columns[i]);
		params[i] = text_get(&columns[i]);
	}
	ask(actor, &mailbox_progress_query, params);
	for (size_t i = 0; i < COUNT_OF(columns); i++)
		text_done(&columns[i]);
}

/* --- portald --- */

/* As exchange_write does it: the scope, a first statement, one that answers. */
static void write_all(struct actor *actor, const struct db_query *first,
		      const char *const first_params[], const struct db_query *last,
		      const char *const last_params[])
{
	const struct db_call calls[] = {
		{&scope_operator_query, NULL, on_part, actor},
		{first, first_params, on_part, actor},
		{last, last_params, on_answer, actor},
	};

	assert_int_equal(db_submit_all(actor->db, calls, COUNT_OF(calls)), 0);
}

static void create(struct actor *actor)
{
	CLEANUP(text_done) struct text names = {0};

	names_of(actor, &names);

	const char *const params[] = {"inspect", text_get(&names), NULL, NULL, "{}", "t", "false"};
	const struct db_call calls[] = {
		{&scope_operator_query, NULL, on_part, actor},
		{&deployment_create_query, params, on_answer, actor},
	};

	assert_int_equal(db_submit_all(actor->db, calls, COUNT_OF(calls)), 0);
}

/* Of one node each, so that some are taken. */
static void create_each(struct actor *actor)
{
	static const struct db_query query = {
		"test_create_each",
		"select count(x.deployment_id) from (select name from haas.node where id = $1::bigint) n,"
		" lateral haas.deployment_ask('inspect', array[n.name], null, null, '{}', 't') x",
		1, NULL};
	const struct db_query *const scope = &scope_operator_query;
	char id[16];
	const char *const params[] = {id};

	for (int i = 0; i < 4; i++) {
		assert_true(text_format(id, sizeof(id), "%u", 1 + roll(actor, NODES)));

		const struct db_call calls[] = {{scope, NULL, on_part, actor},
						{&query, params, on_answer, actor}};

		assert_int_equal(db_submit_all(actor->db, calls, COUNT_OF(calls)), 0);
	}
}

static void fire(struct actor *actor)
{
	static const char *const event[] = {"accept"};
	CLEANUP(text_done) struct text names = {0};

	names_of(actor, &names);

	const char *const params[] = {text_get(&names), "accept", "t", "why"};

	write_all(actor, &node_fire_query, params, &node_fired_query, event);
}

static void import(struct actor *actor)
{
	CLEANUP(text_done) struct text sheet = {0};
	int nodes[BATCH];

	pick(actor, nodes);
	for (size_t i = 0; i < BATCH; i++)
		text_addf(&sheet,
			  "%s{\"row\":%zu,\"name\":\"n%d\",\"bmc\":{\"address\":\"10.0.0.%d\"}}",
			  i ? "," : "[", i, nodes[i], nodes[i]);
	text_add(&sheet, "]");

	const char *const check[] = {text_get(&sheet), "t"};
	const char *const params[] = {text_get(&sheet), "t", "false"};

	write_all(actor, &node_check_query, check, &node_import_query, params);
}

static void label(struct actor *actor)
{
	static const char *const verbs[] = {"add", "acknowledge", "silence", "clear", "clear"};
	CLEANUP(text_done) struct text names = {0};

	names_of(actor, &names);

	const char *verb = verbs[roll(actor, COUNT_OF(verbs))];
	const char *const params[] = {text_get(&names),
				      verb,
				      roll(actor, 2) ? "odd" : "bmc_silent",
				      "warning",
				      roll(actor, 6) ? "{}" : "{no_automation}",
				      "why",
				      "1",
				      "t"};
	const struct db_call calls[] = {
		{&scope_operator_query, NULL, on_part, actor},
		{&label_request_query, params, on_answer, actor},
	};

	assert_int_equal(db_submit_all(actor->db, calls, COUNT_OF(calls)), 0);
}

static void request(struct actor *actor)
{
	static const char *const verbs[] = {"cancel", "retry", "clear"};
	char id[16];

	assert_true(text_format(id, sizeof(id), "%u", 1 + roll(actor, 300)));

	const char *const params[] = {id, verbs[roll(actor, COUNT_OF(verbs))]};
	static const struct db_query query = {
		"test_request",
		"select haas.deployment_request(d.id, $2, 't') from haas.deployment d where d.id = $1::bigint",
		2, NULL};
	const struct db_call calls[] = {
		{&scope_operator_query, NULL, on_part, actor},
		{&query, params, on_answer, actor},
	};

	assert_int_equal(db_submit_all(actor->db, calls, COUNT_OF(calls)), 0);
}

/* Many in one transaction, as somebody who ends all work does it. */
static void cancel_many(struct actor *actor)
{
	static const struct db_query query = {
		"test_cancel_many",
		"select count(haas.deployment_request(id, 'cancel', 't')) from haas.deployment_lock(array("
		"select id from haas.deployment where due_at is not null order by random() limit 8)) id",
		0, NULL};
	const struct db_call calls[] = {
		{&scope_operator_query, NULL, on_part, actor},
		{&query, NULL, on_answer, actor},
	};

	assert_int_equal(db_submit_all(actor->db, calls, COUNT_OF(calls)), 0);
}

static void sweep(struct actor *actor)
{
	static const struct db_query fill = {
		"test_keys",
		"insert into haas.idempotency (principal, key, route, body_digest, created_at) select 'p', n::text, '', '', 'epoch'"
		" from (select n from generate_series(1, 40) n order by random() limit 1) x on conflict do nothing",
		0, NULL};

	write_all(actor, &fill, NULL, &key_sweep_query, NULL);
}

/* --- the stage --- */

static const struct role bampid = {
	"bampid",
	"bampid",
	{run_steps, observe, put_sensors, decide, put_log, extend_claims, expire}};
static const struct role bootd = {
	"bampi-bootd", "bampi_bootd", {see, take_tasks, end_tasks, progress}};
static const struct role portal = {
	"portald",
	"portald",
	{create, create_each, fire, import, label, request, cancel_many, sweep}};
static const struct role *const cast[] = {&bampid, &bampid, &bampid, &bootd,
					  &bootd,  &portal, &portal, &portal};

struct stage {
	char folder[SCRATCH_SIZE];
	char conninfo[256];
	struct loop *loop;
	struct task_key task_key;
	struct actor *actors;
};

static void on_state(void *context, bool connected)
{
	struct actor *actor = context;

	actor->connected = connected;
}

static void psql(const struct stage *stage, const char *sql)
{
	assert_int_equal(shell("psql -qX -v ON_ERROR_STOP=1 '%s' -c \"%s\" >/dev/null",
			       stage->conninfo, sql),
			 0);
}

static int set_up(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	struct problem problem = {0};
	FILE *out;
	char command[512];

	assert_non_null(stage);
	scratch_make(stage->folder, "locks");
	(void)text_format(command, sizeof(command), "%s/support/pg start %s/pg", TEST_SOURCE_DIR,
			  stage->folder);
	assert_int_equal(chmod(stage->folder, 0755), 0);
	out = popen(command, "r");
	assert_non_null(out);
	assert_non_null(fgets(stage->conninfo, sizeof(stage->conninfo), out));
	stage->conninfo[strcspn(stage->conninfo, "\n")] = '\0';
	assert_int_equal(pclose(out), 0);
	psql(stage, "alter system set deadlock_timeout = '20ms'");
	psql(stage, "select pg_reload_conf()");
	/* Ids as the names say; half of the nodes have no health row yet. */
	psql(stage,
	     "set search_path = haas; insert into node (name, state) select 'n' || i, 'free' from generate_series(1, 24) i order by i;"
	     " insert into bmc (node_id, driver, address) select id, 'ipmi', '10.0.0.0'::inet + id from node order by random();"
	     " insert into nic (mac, node_id, name, boot) select ('52:54:00:00:00:' || to_hex(id + 16))::macaddr, id, 'eth0', true from node;"
	     " insert into node_health (node_id) select id from node where id % 2 = 0 order by random()");
	/* Each boot has an agent at once, as tasks are signed for one. */
	psql(stage,
	     "create function public.agent_comes() returns trigger language plpgsql as 'begin new.agent_key := repeat(''ab'', 32); return new; end';"
	     " create trigger agent_comes before insert or update on haas.boot_intent for each row execute function public.agent_comes()");
	/* Rows are held for a while, as on a slow disk: else no ring is long enough to be met. */
	psql(stage,
	     "create function public.slow() returns trigger language plpgsql as 'begin perform pg_sleep(0.003); return null; end';"
	     " create trigger slow after update on haas.deployment for each row execute function public.slow()");
	assert_int_equal(task_key_load(stage->folder, &stage->task_key, &problem), 0);
	assert_int_equal(loop_new(&stage->loop), 0);
	stage->actors = calloc(COUNT_OF(cast), sizeof(*stage->actors));
	assert_non_null(stage->actors);
	*state = stage;
	return 0;
}

static int tear_down(void **state)
{
	struct stage *stage = *state;

	loop_free(stage->loop);
	(void)shell("%s/support/pg stop %s/pg", TEST_SOURCE_DIR, stage->folder);
	scratch_remove(stage->folder);
	free(stage->actors);
	free(stage);
	return 0;
}

static void enter(struct stage *stage, size_t i)
{
	struct actor *actor = &stage->actors[i];
	char conninfo[300];
	const struct db_options options = {.conninfo = conninfo,
					   .application = cast[i]->name,
					   .on_state = on_state,
					   .context = actor};
	char *user = strstr(stage->conninfo, "user=");

	assert_non_null(user);
	assert_true(text_format(conninfo, sizeof(conninfo), "%.*suser=%s",
				(int)(user - stage->conninfo), stage->conninfo, cast[i]->user));
	actor->role = cast[i];
	actor->task_key = &stage->task_key;
	actor->seed = (unsigned)i + 1;
	assert_true(text_format(actor->owner, sizeof(actor->owner), "owner-%zu", i));
	assert_int_equal(db_new(stage->loop, &options, &actor->db), 0);
	if (cast[i] == &bootd)
		assert_int_equal(observations_new(stage->loop, actor->db, &actor->observations), 0);
}

static void act(struct actor *actor)
{
	if (!actor->connected || db_in_flight(actor->db) > 0)
		return;
	actor->op = actor->next++ % OPS_MAX;
	if (actor->role->ops[actor->op])
		actor->role->ops[actor->op](actor);
}

static void play(struct stage *stage, int64_t until_ms)
{
	size_t busy = 1;

	while (clock_monotonic_ms() < until_ms || busy > 0) {
		busy = 0;
		for (size_t i = 0; i < COUNT_OF(cast); i++) {
			if (clock_monotonic_ms() < until_ms)
				act(&stage->actors[i]);
			busy += db_in_flight(stage->actors[i].db);
		}
		loop_run_once(stage->loop);
		usleep(200);
	}
}

/* A statement that changes no row waits for nobody: it shows nothing. */
static bool was_moved(const struct actor *actor)
{
	if (actor->role == &bampid)
		return actor->saved > 0;
	return actor->role != &bootd || (actor->taken > 0 && actor->ended > 0 && actor->forged > 0);
}

static bool everything_was_done(const struct stage *stage)
{
	for (size_t i = 0; i < COUNT_OF(cast); i++) {
		const struct actor *actor = &stage->actors[i];

		for (size_t op = 0; op < OPS_MAX && actor->role->ops[op]; op++)
			if (actor->done[op] == 0)
				return false;
		if (!was_moved(actor))
			return false;
	}
	return true;
}

static void nobody_waits_in_a_ring(void **state)
{
	struct stage *stage = *state;
	int64_t end_ms;
	unsigned wrong = 0;

	for (size_t i = 0; i < COUNT_OF(cast); i++)
		enter(stage, i);
	play(stage, clock_monotonic_ms() + RUN_MS);
	/* A busy machine needs longer for each of them. */
	end_ms = clock_monotonic_ms() + 60000;
	while (!everything_was_done(stage) && clock_monotonic_ms() < end_ms)
		play(stage, clock_monotonic_ms() + RUN_MS / 6);
	for (size_t i = 0; i < COUNT_OF(cast); i++) {
		struct actor *actor = &stage->actors[i];

		observations_free(actor->observations);
		db_free(actor->db);
		print_message("%-11s:", actor->role->name);
		for (size_t op = 0; op < OPS_MAX && actor->role->ops[op]; op++) {
			print_message(" %u", actor->done[op]);
			wrong += actor->done[op] == 0;
		}
		print_message(
			", saved %zu of %zu, tasks taken %zu, ended %zu, forged %zu, failed %u %s\n",
			actor->saved, actor->claimed, actor->taken, actor->ended, actor->forged,
			actor->failed, actor->why);
		wrong += actor->failed > 0;
		wrong += !was_moved(actor);
	}
	assert_int_equal(shell("[ -s %s/pg/postgres.log ] && "
			       "! grep -A 20 'deadlock detected' %s/pg/postgres.log",
			       stage->folder, stage->folder),
			 0);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_waits_in_a_ring),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
