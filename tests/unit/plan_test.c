// links: control_deploy bampi_bmc control_image control_inventory common_http common_io
// common_base
/* What surrounds the steps: beginning, deadlines, attempts, going back, the end; and the tables
 * themselves. */
#include "common/base/error.h"

#include "bampi/control/deploy/advance_policy.h"
#include "tests/unit/deploy_facts.h"

static struct facts in_step(enum plan plan, const char *step)
{
	struct facts facts = test_facts(plan);

	(void)text_copy(facts.deployment.step, sizeof(facts.deployment.step), step);
	facts.deployment.step_index = plan_find(&plan_table[plan], step);
	return facts;
}

static void decide(const struct facts *facts, struct advance *ret)
{
	advance_decide(facts, NOW, ret);
	/* The constraints of the schema, whatever was decided. */
	switch (ret->state) {
	case DEPLOYMENT_QUEUED:
	case DEPLOYMENT_WAITING:
	case DEPLOYMENT_CANCELLING: assert_true(ret->due_ms >= NOW); break;
	case DEPLOYMENT_FAILED:
		assert_true(problem_is_set(&ret->problem));
		assert_int_equal(ret->due_ms, 0);
		break;
	case DEPLOYMENT_DONE:
	case DEPLOYMENT_CANCELLED:
	case DEPLOYMENT_CLEARED: assert_int_equal(ret->due_ms, 0); break;
	case DEPLOYMENT_STATE_COUNT: fail(); break;
	}
	assert_true(ret->log_count <= ADVANCE_LOGS);
	assert_true(ret->event_count <= ADVANCE_EVENTS);
	assert_non_null(ret->step);
	/* A deployment that has ended waits for nothing. */
	assert_true(ret->due_ms != 0 || !problem_is_set(&ret->waits));
}

static void tables_are_whole(void **state)
{
	(void)state;
	for (int step = 0; step < STEP_COUNT; step++) {
		const struct step_row *row = &step_table[step];

		assert_non_null(row->name);
		assert_non_null(row->run);
		assert_true(row->attempts >= 1 && row->deadline_s > 0);
		assert_true(!row->destructive || row->attempts == 1);
	}
	for (int plan = 0; plan < PLAN_COUNT; plan++) {
		const struct plan_row *row = &plan_table[plan];

		assert_true(row->count >= 1 && row->count <= PLAN_STEPS_MAX);
		for (size_t i = 0; i < row->count; i++) {
			const struct step_row *step = &step_table[row->steps[i]];

			assert_int_equal(plan_find(row, step->name), (int)i);
			/* a step goes back, never forward */
			if (step->restart != STEP_COUNT && plan_find_id(row, step->restart) >= 0)
				assert_true(plan_find_id(row, step->restart) < (int)i);
		}
	}
	assert_int_equal(plan_find(&plan_table[PLAN_INSPECT], "write_image"), -1);
}

static void queued_begins(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct advance advance;

	(void)state;
	facts.deployment.state = DEPLOYMENT_QUEUED;
	facts.deployment.attempt = 0;
	facts.deployment.step_started_ms = 0;
	decide(&facts, &advance);
	assert_int_equal(advance.state, DEPLOYMENT_WAITING);
	assert_string_equal(advance.step, "netboot");
	assert_int_equal(advance.attempt, 1);
	assert_int_equal(advance.step_started_ms, NOW);
	assert_int_equal(advance.step_deadline_ms, NOW + 60000);
	assert_true(advance.new_attempt);
	assert_int_equal(advance.log_count, 1);
	assert_string_equal(advance.logs[0].state, "running");
	assert_string_equal(advance.events[0].kind, "step.started");
	assert_int_equal(advance.outcome.intent, INTENT_PUT);
	advance_done(&advance);
}

/* What is already true of the next steps is not waited for: here the agent calls before netboot is
 * looked at, so one look ends two steps and posts the task of the third. */
static void several_steps_in_one_look(void **state)
{
	struct facts facts = in_step(PLAN_INSTALL, "netboot");
	struct advance advance;

	(void)state;
	set_agent(&facts);
	facts.bmc.state = BMC_WORK_DONE;
	facts.memo = (struct memo){.tries = 1, .furthest = 1};
	decide(&facts, &advance);
	assert_int_equal(advance.state, DEPLOYMENT_WAITING);
	assert_string_equal(advance.step, "inventory");
	assert_int_equal(advance.step_index, 3);
	assert_int_equal(advance.attempt, 1);
	assert_int_equal(advance.step_started_ms, NOW);
	assert_int_equal(advance.step_deadline_ms, NOW + 60000);
	assert_int_equal(advance.outcome.post, TASK_INVENTORY);
	assert_true(advance.new_attempt);
	assert_int_equal(advance.memo.tries, 0);
	assert_int_equal(advance.log_count, 3);
	assert_string_equal(advance.logs[0].step, "netboot");
	assert_string_equal(advance.logs[0].state, "done");
	assert_string_equal(advance.logs[1].step, "agent");
	assert_string_equal(advance.logs[1].state, "done");
	assert_int_equal(advance.logs[1].started_ms, NOW);
	assert_string_equal(advance.logs[2].step, "inventory");
	assert_string_equal(advance.logs[2].state, "running");
	assert_int_equal(advance.event_count, 4);
	assert_string_equal(advance.events[0].kind, "step.done");
	assert_string_equal(advance.events[1].kind, "step.started");
	assert_string_equal(advance.events[2].kind, "step.done");
	assert_string_equal(advance.events[3].kind, "step.started");
	advance_done(&advance);
}

/* Not over a step whose effect the next one must see written, nor into one that was begun before.
 */
static void one_step_where_it_must(void **state)
{
	struct facts facts = in_step(PLAN_INSTALL, "agent");
	struct advance advance;

	(void)state;
	set_agent(&facts);
	facts.attempts[3] = 1;
	decide(&facts, &advance);
	assert_string_equal(advance.step, "inventory");
	assert_int_equal(advance.attempt, 0);
	assert_int_equal(advance.step_started_ms, 0);
	assert_int_equal(advance.due_ms, NOW);
	assert_int_equal(advance.log_count, 1);
	advance_done(&advance);

	facts = in_step(PLAN_RELEASE, "power_off");
	set_intent(&facts, INTENT_AGENT);
	facts.bmc.state = BMC_WORK_DONE;
	decide(&facts, &advance);
	assert_string_equal(advance.step, "free");
	assert_int_equal(advance.attempt, 0);
	assert_int_equal(advance.outcome.intent, INTENT_REMOVE);
	advance_done(&advance);
}

/* The power is off for good: the same look takes the node out of the deployment. */
static void cancel_ends_in_one_look(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct advance advance;

	(void)state;
	facts.deployment.state = DEPLOYMENT_CANCELLING;
	facts.deployment.step_index = 100;
	(void)text_copy(facts.deployment.step, sizeof(facts.deployment.step), "power_off");
	facts.node.state = NODE_RESERVED;
	facts.memo.powered_ms = -1;
	facts.bmc.state = BMC_WORK_DONE;
	decide(&facts, &advance);
	assert_int_equal(advance.state, DEPLOYMENT_CANCELLED);
	assert_string_equal(advance.step, "abandon");
	assert_int_equal(advance.outcome.event, NODE_EVENT_ABANDON);
	assert_true(advance.outcome.drop_tasks);
	assert_int_equal(advance.log_count, 2);
	assert_string_equal(advance.logs[1].step, "abandon");
	assert_string_equal(advance.logs[1].state, "done");
	assert_string_equal(advance.events[advance.event_count - 1].kind, "deployment.cancelled");
	advance_done(&advance);
}

static void done_goes_on(void **state)
{
	struct facts facts = in_step(PLAN_INSTALL, "agent");
	struct advance advance;

	(void)state;
	set_agent(&facts);
	facts.attempts[3] = 1;
	facts.memo = (struct memo){.tries = 1, .furthest = 4};
	decide(&facts, &advance);
	assert_string_equal(advance.step, "inventory");
	assert_int_equal(advance.step_index, 3);
	assert_int_equal(advance.attempt, 0);
	assert_int_equal(advance.step_started_ms, 0);
	assert_int_equal(advance.due_ms, NOW);
	assert_int_equal(advance.memo.tries, 1); /* still short of where it failed */
	assert_string_equal(advance.logs[0].state, "done");
	assert_string_equal(advance.logs[0].step, "agent");
	facts.memo.furthest = 1;
	decide(&facts, &advance);
	assert_int_equal(advance.memo.tries, 0);
}

static void last_step_ends(void **state)
{
	struct facts facts = in_step(PLAN_INSTALL, "verify");
	struct advance advance;

	(void)state;
	set_intent(&facts, INTENT_DISK);
	set_seen(&facts, SEEN_CALLBACK, 10, TOKEN);
	facts.node.state = NODE_ACTIVE;
	decide(&facts, &advance);
	assert_int_equal(advance.state, DEPLOYMENT_DONE);
	assert_string_equal(advance.events[advance.event_count - 1].kind, "deployment.done");
}

/* With switches of ours a plan begins and ends at them; without, it does not know of them. */
static void steps_about_switches_are_passed_over_without_any(void **state)
{
	static const struct {
		enum plan plan;
		const char *with, *without;
	} rows[] = {
		{PLAN_INSPECT, "detach", "netboot"},     {PLAN_INSTALL, "isolate", "netboot"},
		{PLAN_REINSTALL, "detach", "netboot"},   {PLAN_RELEASE, "detach", "netboot"},
		{PLAN_CANCEL, "power_off", "power_off"},
	};
	struct facts facts;
	struct advance advance;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct plan_row *plan = &plan_table[rows[i].plan];

		facts = (struct facts){.network.managed = true};
		assert_string_equal(step_table[plan->steps[plan_pass_over(plan, 0, &facts)]].name,
				    rows[i].with);
		facts.network.managed = false;
		assert_string_equal(step_table[plan->steps[plan_pass_over(plan, 0, &facts)]].name,
				    rows[i].without);
	}
	/* packages only where some are asked for, into the OS before it starts */
	assert_int_equal(plan_pass_over(&plan_table[PLAN_INSTALL], 6, &facts), 8);
	facts.packages = json_array();
	assert_int_equal(plan_pass_over(&plan_table[PLAN_INSTALL], 6, &facts), 6);
	assert_int_equal(plan_find_id(&plan_table[PLAN_INSTALL], STEP_PUT_PACKAGES), 6);
	json_decref((json_t *)(uintptr_t)facts.packages);
	/* the node is in its tenant's networks before its OS starts */
	assert_true(plan_find_id(&plan_table[PLAN_INSTALL], STEP_ATTACH) <
		    plan_find_id(&plan_table[PLAN_INSTALL], STEP_LOCAL_BOOT));
	/* what may still run a tenant's OS is off, and off every network, before it is let into the
	 * provisioning network: a node that was held is inspected without having been erased */
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct plan_row *plan = &plan_table[rows[i].plan];

		if (rows[i].plan == PLAN_INSTALL || rows[i].plan == PLAN_CANCEL)
			continue; /* of a node that is free, and so clean; it sets no port */
		assert_int_equal(plan_find_id(plan, STEP_DETACH), 0);
		assert_int_equal(plan_find_id(plan, STEP_STOP), 1);
		assert_int_equal(plan_find_id(plan, STEP_ISOLATE), 2);
	}
	/* the step before it was done, and there is no switch any more: inspect ends */
	facts = in_step(PLAN_INSPECT, "park");
	facts.deployment.step_started_ms = 0;
	facts.deployment.attempt = 0;
	decide(&facts, &advance);
	assert_int_equal(advance.state, DEPLOYMENT_DONE);
}

/* user 7: whatever is waited for has words, and the same words while nothing changes. */
static void waiting_says_why(void **state)
{
	struct facts facts = in_step(PLAN_INSTALL, "agent");
	struct advance advance;
	struct advance later;

	(void)state;
	set_intent(&facts, INTENT_AGENT);
	decide(&facts, &advance);
	assert_string_equal(advance.waits.message,
			    "the agent of node n4 has not called: it fetched nothing");
	/* a BMC that is left alone: until when, and why */
	facts = in_step(PLAN_INSTALL, "local_boot");
	set_intent(&facts, INTENT_DISK);
	facts.bmc.state = BMC_WORK_BUSY;
	decide(&facts, &advance);
	assert_non_null(strstr(advance.waits.message, "the BMC of node n4 has not finished: "));
	facts.bmc.retry_ms = NOW + 8000;
	(void)text_copy(facts.bmc.last_problem, sizeof(facts.bmc.last_problem), "no route");
	decide(&facts, &advance);
	assert_string_equal(advance.waits.message,
			    "the BMC of node n4 does not answer: it is in back-off");
	assert_non_null(strstr(advance.waits.detail, "asked again at 1970-01-12T13:46:48"));
	assert_non_null(strstr(advance.waits.detail, "no route"));
	/* it was asked, and failed: alike, so that "since" goes on */
	facts.bmc.state = BMC_WORK_FAILED;
	(void)problem_set(&facts.bmc.problem, E_UNAVAILABLE, "not answered for 12 s");
	decide(&facts, &later);
	assert_string_equal(later.waits.message, advance.waits.message);
	/* the switches: the problem of the port, else how many are open */
	facts = in_step(PLAN_INSTALL, "isolate");
	facts.memo.fired = true;
	facts.network.managed = true;
	facts.network.ports = 2;
	facts.network.open = 1;
	decide(&facts, &advance);
	assert_string_equal(advance.waits.message,
			    "the ports of node n4 are not read back in the provisioning network");
	assert_string_equal(advance.waits.detail, "1 of 2");
	(void)problem_set(&facts.network.problem, E_UNAVAILABLE, "switch leaf1 does not answer");
	decide(&facts, &advance);
	assert_string_equal(advance.waits.message, "switch leaf1 does not answer");
	/* the console */
	facts = in_step(PLAN_INSTALL, "verify");
	set_intent(&facts, INTENT_DISK);
	decide(&facts, &advance);
	assert_string_equal(advance.waits.message,
			    "the installed OS of node n4 has not called back");
	facts.console_mute_ms = 65000;
	facts.console_reopened = 2;
	decide(&facts, &advance);
	assert_non_null(strstr(advance.waits.message, "its console is mute"));
	assert_string_equal(advance.waits.detail, "for 65 s; its session was opened anew 2 times");
	/* between two attempts: the last one's problem */
	facts.deployment.step_deadline_ms = NOW;
	decide(&facts, &advance);
	assert_string_equal(advance.waits.message, "verify failed: its next attempt waits");
	assert_string_equal(advance.waits.detail, advance.failure.message);
	/* what ends waits for nothing */
	facts.memo.tries = 2;
	decide(&facts, &advance);
	assert_int_equal(advance.state, DEPLOYMENT_FAILED);
	assert_false(problem_is_set(&advance.waits));
}

static void deadline_is_a_failed_attempt(void **state)
{
	struct facts facts = in_step(PLAN_INSTALL, "agent");
	struct advance advance;

	(void)state;
	set_intent(&facts, INTENT_AGENT);
	set_seen(&facts, SEEN_DHCP, 3000, TOKEN);
	(void)text_copy(facts.console, sizeof(facts.console), "kernel panic");
	(void)text_copy(facts.bmc.last_problem, sizeof(facts.bmc.last_problem), "slow");
	facts.deployment.step_deadline_ms = NOW;
	decide(&facts, &advance);
	assert_int_equal(advance.state, DEPLOYMENT_WAITING);
	assert_int_equal(advance.due_ms, NOW + 1000);
	assert_int_equal(advance.step_started_ms, 0);
	assert_int_equal(advance.memo.tries, 1);
	assert_int_equal(advance.memo.furthest, plan_find(&plan_table[PLAN_INSTALL], "agent"));
	assert_true(advance.outcome.drop_tasks);
	assert_string_equal(advance.logs[0].state, "failed");
	assert_non_null(advance.logs[0].problem);
	assert_non_null(strstr(advance.failure.detail, "last DHCP: 3 s ago"));
	assert_non_null(strstr(advance.failure.detail, "last HTTP: never"));
	assert_non_null(strstr(advance.failure.detail, "BMC: slow"));
	assert_non_null(strstr(advance.failure.detail, "console: kernel panic"));

	/* the third time it is over; the fourth backs off no longer than the limit */
	facts.memo.tries = 2;
	decide(&facts, &advance);
	assert_int_equal(advance.state, DEPLOYMENT_FAILED);
	assert_string_equal(advance.problem.message, advance.failure.message);
	assert_string_equal(advance.events[advance.event_count - 1].kind, "deployment.failed");
}

static void a_new_attempt_goes_back(void **state)
{
	struct facts facts = in_step(PLAN_INSTALL, "write_image");
	struct advance advance;

	(void)state;
	facts.deployment.step_started_ms = 0;
	facts.deployment.attempt = 1;
	facts.attempts[plan_find(&plan_table[PLAN_INSTALL], "netboot")] = 1;
	facts.attempts[plan_find(&plan_table[PLAN_INSTALL], "write_image")] = 1;
	decide(&facts, &advance); /* no agent: boot it again */
	assert_string_equal(advance.step, "netboot");
	assert_int_equal(advance.attempt, 2);
	advance_done(&advance);

	set_agent(&facts); /* alive: try right here */
	facts.image.present = false;
	decide(&facts, &advance);
	assert_string_equal(advance.step, "write_image");
	advance_done(&advance);

	facts = in_step(PLAN_INSTALL, "verify"); /* always by the power */
	facts.deployment.step_started_ms = 0;
	decide(&facts, &advance);
	assert_string_equal(advance.step, "local_boot");
	advance_done(&advance);

	facts.deployment.attempt = 0; /* reached, not repeated */
	decide(&facts, &advance);
	assert_string_equal(advance.step, "verify");
	advance_done(&advance);
}

static void destructive_only_once(void **state)
{
	struct facts facts = in_step(PLAN_RELEASE, "scrub");
	struct advance advance;

	(void)state;
	facts.node.state = NODE_SCRUBBING;
	set_agent(&facts);
	set_task(&facts, "scrub", TASK_ERASE, TASK_FAILED, NULL);
	decide(&facts, &advance);
	assert_int_equal(advance.state, DEPLOYMENT_FAILED);

	/* nothing was begun: no harm in another attempt */
	set_intent(&facts, INTENT_AGENT);
	facts.seen[SEEN_AGENT].at_ms = 0;
	facts.task = (struct task_facts){0};
	decide(&facts, &advance);
	assert_int_equal(advance.state, DEPLOYMENT_WAITING);
	facts.memo.tries = 2;
	decide(&facts, &advance);
	assert_int_equal(advance.state, DEPLOYMENT_FAILED);
}

static void permanent_ends_at_once(void **state)
{
	struct facts facts = in_step(PLAN_INSTALL, "write_image");
	struct advance advance;

	(void)state;
	set_agent(&facts);
	decide(&facts, &advance); /* its image is gone */
	assert_int_equal(advance.state, DEPLOYMENT_FAILED);
}

static void tasks_of_other_steps_do_not_count(void **state)
{
	struct facts facts = in_step(PLAN_INSTALL, "configure_os");
	struct advance advance;

	(void)state;
	set_agent(&facts);
	set_task(&facts, "write_image", TASK_CONFIGURE_OS, TASK_DONE, NULL);
	decide(&facts, &advance);
	assert_int_equal(advance.outcome.post, TASK_CONFIGURE_OS);
	advance_done(&advance);
}

static void cancel_with_dead_bmc(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct advance advance;

	(void)state;
	facts.deployment.state = DEPLOYMENT_CANCELLING;
	facts.deployment.attempt = 0;
	facts.deployment.step_started_ms = 0;
	decide(&facts, &advance);
	assert_string_equal(advance.step, "power_off");
	assert_int_equal(advance.step_index, 100);
	assert_int_equal(advance.step_deadline_ms, NOW + 45000);
	advance_done(&advance);

	facts.deployment.step_started_ms = NOW - 45000;
	facts.deployment.step_deadline_ms = NOW;
	facts.deployment.attempt = 1;
	(void)text_copy(facts.deployment.step, sizeof(facts.deployment.step), "power_off");
	facts.bmc.state = BMC_WORK_FAILED;
	(void)problem_set(&facts.bmc.problem, E_TIMEOUT, "the BMC of n4 does not answer");
	decide(&facts, &advance);
	assert_int_equal(advance.state, DEPLOYMENT_CANCELLING);
	assert_string_equal(advance.step, "abandon");
	assert_true(advance.memo.trouble);
	assert_non_null(strstr(advance.problem.message, "n4"));
	assert_int_equal(advance.log_count, 1);
	assert_string_equal(advance.logs[0].state, "failed");
	assert_string_equal(advance.logs[0].step, "power_off");
	assert_string_equal(advance.events[advance.event_count - 1].kind, "step.failed");

	facts.memo = advance.memo;
	facts.problem = advance.problem;
	facts.deployment.attempt = 0;
	facts.deployment.step_started_ms = 0;
	facts.deployment.step_index = 101;
	(void)text_copy(facts.deployment.step, sizeof(facts.deployment.step), "abandon");
	decide(&facts, &advance);
	assert_int_equal(advance.outcome.event, NODE_EVENT_HOLD);
	assert_int_equal(advance.state, DEPLOYMENT_CANCELLED);
	assert_true(problem_is_set(&advance.problem));
}

static void unknown_step_ends(void **state)
{
	struct facts facts = test_facts(PLAN_INSTALL);
	struct advance advance;

	(void)state;
	(void)text_copy(facts.deployment.step, sizeof(facts.deployment.step), "burn_in");
	decide(&facts, &advance);
	assert_int_equal(advance.state, DEPLOYMENT_FAILED);
	assert_non_null(strstr(advance.problem.message, "burn_in"));
}

static int pick(uint32_t *seed, int count)
{
	*seed = *seed * 1664525 + 1013904223;
	return (int)(*seed >> 16) % count;
}

/* Where it stands: any step of any plan, now and then one that is being cancelled. */
static struct facts pick_step(uint32_t *seed)
{
	struct facts facts = test_facts((enum plan)pick(seed, PLAN_CANCEL));
	const struct plan_row *row;

	if (pick(seed, 4) == 0)
		facts.deployment.state = DEPLOYMENT_CANCELLING;
	row = &plan_table[advance_plan(&facts.deployment)];
	(void)text_copy(facts.deployment.step, sizeof(facts.deployment.step),
			step_table[row->steps[pick(seed, (int)row->count)]].name);
	facts.deployment.step_started_ms = pick(seed, 2) ? NOW - pick(seed, 100000) : 0;
	facts.deployment.step_deadline_ms =
		facts.deployment.step_started_ms ? facts.deployment.step_started_ms + 60000 : 0;
	facts.deployment.attempt = pick(seed, 3);
	return facts;
}

/* What the rest of the world says. */
static void pick_world(uint32_t *seed, struct facts *facts)
{
	facts->node.state = (enum node_state)pick(seed, NODE_STATE_COUNT);
	facts->network.managed = pick(seed, 2) == 0;
	facts->network.place = (enum place)(1 + pick(seed, PLACE_COUNT - 1));
	facts->network.ports = pick(seed, 3);
	facts->network.open = facts->network.ports ? pick(seed, 2) : 0;
	facts->network.networks = pick(seed, 2);
	facts->bmc.state = (enum bmc_work_state)pick(seed, 4);
	if (facts->bmc.state == BMC_WORK_FAILED)
		(void)problem_set(&facts->bmc.problem, pick(seed, 2) ? E_TIMEOUT : E_AUTHENTICATION,
				  "no");
	if (pick(seed, 2))
		set_intent(facts, (enum intent_target)pick(seed, INTENT_TARGET_COUNT));
	for (int kind = 0; kind < SEEN_COUNT; kind++)
		if (pick(seed, 2))
			set_seen(facts, (enum seen)kind, pick(seed, 200000),
				 pick(seed, 2) ? TOKEN : NONCE);
	if (pick(seed, 2))
		set_task(facts, facts->deployment.step, (enum task_kind)pick(seed, TASK_KIND_COUNT),
			 (enum task_state)pick(seed, TASK_STATE_COUNT), NULL);
	facts->memo = (struct memo){.tries = pick(seed, 4),
				    .furthest = pick(seed, 7),
				    .fired = pick(seed, 2),
				    .powered_ms = pick(seed, 2) ? NOW - pick(seed, 9000) : 0};
}

/* Whatever the facts, the next state is one that the schema accepts: every step in every plan with
 * facts picked at random. */
static void random_facts_stay_legal(void **state)
{
	uint32_t seed = 12345;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct facts facts = pick_step(&seed);
		struct advance advance;

		pick_world(&seed, &facts);
		decide(&facts, &advance);
		advance_done(&advance);
	}
}

static void memo_survives_json(void **state)
{
	const struct memo memo = {.tries = 2,
				  .furthest = 3,
				  .trouble = true,
				  .token = TOKEN,
				  .powered_ms = -1,
				  .asked_ms = NOW,
				  .cycles = 2,
				  .unverified = true,
				  .fired = true};
	json_t *json = memo_json(&memo);
	char *text = json_dumps(json, JSON_COMPACT);
	struct memo read = memo_read(text);

	(void)state;
	assert_int_equal(read.tries, 2);
	assert_int_equal(read.furthest, 3);
	assert_int_equal(read.powered_ms, -1);
	assert_int_equal(read.asked_ms, NOW);
	assert_int_equal(read.cycles, 2);
	assert_string_equal(read.token, TOKEN);
	assert_true(read.trouble && read.fired && read.unverified);
	assert_int_equal(memo_read("[1]").tries, 0);
	assert_int_equal(memo_read("{\"tries\":\"x\"}").tries, 0);
	free(text);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_whole),
		cmocka_unit_test(queued_begins),
		cmocka_unit_test(several_steps_in_one_look),
		cmocka_unit_test(one_step_where_it_must),
		cmocka_unit_test(cancel_ends_in_one_look),
		cmocka_unit_test(done_goes_on),
		cmocka_unit_test(last_step_ends),
		cmocka_unit_test(steps_about_switches_are_passed_over_without_any),
		cmocka_unit_test(waiting_says_why),
		cmocka_unit_test(deadline_is_a_failed_attempt),
		cmocka_unit_test(a_new_attempt_goes_back),
		cmocka_unit_test(destructive_only_once),
		cmocka_unit_test(permanent_ends_at_once),
		cmocka_unit_test(tasks_of_other_steps_do_not_count),
		cmocka_unit_test(cancel_with_dead_bmc),
		cmocka_unit_test(unknown_step_ends),
		cmocka_unit_test(random_facts_stay_legal),
		cmocka_unit_test(memo_survives_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
