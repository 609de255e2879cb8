#include "bampi/control/alloc/pdci_runner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "bampi/control/alloc/alloc_reason_policy.h"
#include "bampi/control/alloc/pdci_runner_private.h"
#include "bampi/control/alloc/pdci_store_sql.h"

#define PERIOD_MS            5000
#define PDCI_RUNNER_RETRY_MS 1000
#define FOLLOW_MS            1000  /* while its nodes are worked on */
#define INFEASIBLE_MS        10000 /* a node may have become free */

static void pdci_runner_next(struct pdci_runner *runner, int64_t after_ms)
{
	pdci_claim_done(&runner->claim);
	pdci_queue_done(&runner->queue);
	free(runner->nodes);
	runner->nodes = NULL;
	runner->node_count = 0;
	work_cycle_end(&runner->cycle, after_ms);
}

/* The claim is left to run out: whoever is next decides anew. */
static void pdci_runner_give_up(struct pdci_runner *runner, int rc, const struct problem *problem)
{
	if (rc != E_UNAVAILABLE && rc != E_STALE && problem)
		log_problem(LOG_LEVEL_ERROR, runner->claim.name, problem);
	pdci_runner_next(runner, PDCI_RUNNER_RETRY_MS);
}

static void pdci_runner_on_saved(void *context, int rc, const PGresult *result,
				 const struct problem *problem)
{
	struct pdci_runner *runner = context;

	(void)result;
	if (rc) {
		pdci_runner_give_up(runner, rc, problem);
		return;
	}
	if (runner->save.state != runner->claim.state)
		log_info("pdci", "%s of %s: %s -> %s%s%s", runner->claim.name, runner->claim.tenant,
			 pdci_state_words[runner->claim.state],
			 pdci_state_words[runner->save.state],
			 runner->save.problem.message[0] ? ": " : "", runner->save.problem.message);
	pdci_runner_next(runner, 0);
}

static void pdci_runner_save(struct pdci_runner *runner)
{
	int rc = pdci_store_save(runner->options.db, &runner->claim, &runner->save,
				 pdci_runner_on_saved, runner);

	if (rc)
		pdci_runner_give_up(runner, rc, NULL);
}

/* What nobody foresaw is the problem of this PDCI alone, and is tried again later: the others are
 * not kept waiting. */
static void put_off(struct pdci_runner *runner, int rc, const struct problem *problem)
{
	if (rc == E_UNAVAILABLE || rc == E_STALE || !problem || !problem_is_set(problem)) {
		pdci_runner_give_up(runner, rc, problem);
		return;
	}
	log_problem(LOG_LEVEL_ERROR, runner->claim.name, problem);
	runner->save = (struct pdci_save){
		.state = runner->claim.state, .problem = *problem, .due_ms = INFEASIBLE_MS};
	pdci_runner_save(runner);
}

/* --- choosing nodes --- */

int pdci_choose(const struct alloc_node nodes[], size_t count, const struct pdci_request *request,
		bool names, struct alloc_answer *ret_answer, struct problem *ret_problem)
{
	const struct alloc_request wanted = {request->groups, request->group_count,
					     request->spread};
	CLEANUP(text_done) struct text reasons = {0};
	int rc = alloc_choose(nodes, count, &wanted, ret_answer);

	*ret_problem = (struct problem){0};
	if (rc)
		return rc;
	if (!ret_answer->feasible) {
		alloc_reasons(nodes, count, &wanted, ret_answer, names, &reasons);
		(void)problem_set(ret_problem, E_CONFLICT, "there are not enough free nodes");
		problem_detail(ret_problem, "%s", text_get(&reasons));
		problem_hint(ret_problem,
			     "reduce the request, or wait: bampid tries again by itself");
	}
	return 0;
}

/* The same answer twice is no race. */
static bool told_before(const struct pdci_runner *runner, const struct problem *problem)
{
	return strncmp(runner->claim.told, problem->message, sizeof(runner->claim.told) - 1) == 0;
}

static void on_allocated(void *context, int rc, const PGresult *result,
			 const struct problem *problem)
{
	struct pdci_runner *runner = context;

	(void)result;
	if (rc == E_CONFLICT) { /* somebody was faster: choose again among what is left */
		runner->stats.races++;
		log_info("pdci", "%s: %s", runner->claim.name, problem->message);
		runner->save = (struct pdci_save){
			.state = runner->claim.state,
			.problem = *problem,
			.due_ms = told_before(runner, problem) ? INFEASIBLE_MS : 0};
		pdci_runner_save(runner);
		return;
	}
	if (rc == 0) {
		runner->stats.allocated++;
		runner->options.changed(runner->options.context);
		runner->save = (struct pdci_save){.state = PDCI_BUILDING, .due_ms = FOLLOW_MS};
		pdci_runner_save(runner);
		return;
	}
	put_off(runner, rc, problem);
}

/* Reads the nodes that there are, and chooses among them. False: neither could be; given up. */
static bool pdci_runner_choose(struct pdci_runner *runner, int rc, const PGresult *result,
			       const struct problem *problem, struct alloc_answer *ret)
{
	if (rc == 0)
		rc = pdci_nodes_read(result, &runner->nodes, &runner->node_count);
	if (rc == 0 && !problem_is_set(&runner->save.problem))
		rc = pdci_choose(runner->nodes, runner->node_count, &runner->request, false, ret,
				 &runner->save.problem);
	if (rc)
		pdci_runner_give_up(runner, rc, problem);
	return rc == 0;
}

/* Chosen: of all nodes, or of those that nobody keeps. */
static void pdci_runner_settle(struct pdci_runner *runner, const struct alloc_answer *answer)
{
	int rc = 0;

	if (answer->feasible) {
		rc = pdci_store_allocate(runner->options.db, &runner->claim, runner->nodes, answer,
					 on_allocated, runner);
	} else {
		runner->stats.infeasible++;
		runner->save.state = PDCI_INFEASIBLE;
		runner->save.due_ms = INFEASIBLE_MS;
		pdci_runner_save(runner);
	}
	if (rc)
		pdci_runner_give_up(runner, rc, NULL);
}

/* Among the nodes that nobody keeps who waits longer. False: it could not be done; given up. */
static bool pdci_runner_choose_rest(struct pdci_runner *runner, int rc,
				    const struct problem *problem, struct alloc_answer *ret)
{
	if (rc == 0) {
		pdci_queue_mark(&runner->queue, runner->nodes, runner->node_count);
		rc = pdci_choose(runner->nodes, runner->node_count, &runner->request, false, ret,
				 &runner->save.problem);
	}
	if (rc)
		pdci_runner_give_up(runner, rc, problem);
	return rc == 0;
}

static void pdci_runner_on_turn(void *context, int rc, const struct problem *problem)
{
	struct pdci_runner *runner = context;
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};

	if (pdci_runner_choose_rest(runner, rc, problem, &answer))
		pdci_runner_settle(runner, &answer);
}

/* There are nodes: who waits longer is asked first. */
static void pdci_runner_ask_queue(struct pdci_runner *runner, pdci_queue_fn fn)
{
	int rc = pdci_queue_ask(&runner->queue, runner->options.db, runner->claim.id,
				runner->claim.request, fn, runner);

	if (rc)
		pdci_runner_give_up(runner, rc, NULL);
}

static void pdci_runner_on_nodes(void *context, int rc, const PGresult *result,
				 const struct problem *problem)
{
	struct pdci_runner *runner = context;
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};

	if (!pdci_runner_choose(runner, rc, result, problem, &answer))
		return;
	if (answer.feasible)
		pdci_runner_ask_queue(runner, pdci_runner_on_turn);
	else
		pdci_runner_settle(runner, &answer);
}

static void pdci_runner_on_images(void *context, int rc, const PGresult *result,
				  const struct problem *problem)
{
	struct pdci_runner *runner = context;

	(void)problem; /* on_nodes follows in any case, and says the same */
	if (rc == 0)
		pdci_images_read(result, &runner->request, &runner->save.problem);
}

static void pdci_runner_on_packages(void *context, int rc, const PGresult *result,
				    const struct problem *problem)
{
	struct pdci_runner *runner = context;

	(void)problem;
	if (rc == 0 && !problem_is_set(&runner->save.problem))
		pdci_packages_read(result, &runner->save.problem);
}

static int pdci_runner_ask_facts(struct pdci_runner *runner, db_result_fn on_rows)
{
	const struct pdci_facts_ask ask = {.tenant = runner->claim.tenant,
					   .request = &runner->request,
					   .json = runner->claim.request,
					   .pdci = runner->claim.id};

	return pdci_store_facts(
		runner->options.db, &ask,
		&(struct pdci_facts_calls){pdci_runner_on_images, pdci_runner_on_packages, on_rows},
		runner);
}

static void pdci_runner_allocate(struct pdci_runner *runner)
{
	int rc = pdci_request_read(runner->claim.request, &runner->request, &runner->save.problem);

	if (rc) {
		runner->save.state = PDCI_INFEASIBLE;
		runner->save.due_ms = -1;
		pdci_runner_save(runner);
		return;
	}
	rc = pdci_runner_ask_facts(runner, pdci_runner_on_nodes);
	if (rc)
		pdci_runner_give_up(runner, rc, NULL);
}

/* --- one node for another --- */

static void on_taken(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct pdci_runner *runner = context;

	(void)result;
	if (rc == 0)
		runner->options.changed(runner->options.context);
	else if (rc == E_CONFLICT)
		runner->stats.races++;
	if (rc != 0 && rc != E_CONFLICT) {
		put_off(runner, rc, problem);
		return;
	}
	if (rc == E_CONFLICT)
		runner->save.problem = *problem;
	runner->stats.replaced += rc == 0;
	runner->save.state = PDCI_BUILDING;
	pdci_runner_save(runner);
}

/* As many as there are take a place; for the others it is tried again. */
static void pdci_runner_settle_spares(struct pdci_runner *runner, const struct alloc_answer *answer)
{
	int rc = 0;

	runner->save.state = PDCI_BUILDING;
	runner->save.due_ms = problem_is_set(&runner->save.problem) ? INFEASIBLE_MS : FOLLOW_MS;
	if (answer->pick_count > 0)
		rc = pdci_store_replace_take(runner->options.db, &runner->claim, runner->nodes,
					     answer, on_taken, runner);
	else
		pdci_runner_save(runner);
	if (rc)
		pdci_runner_give_up(runner, rc, NULL);
}

static void pdci_runner_on_spares_turn(void *context, int rc, const struct problem *problem)
{
	struct pdci_runner *runner = context;
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};

	if (pdci_runner_choose_rest(runner, rc, problem, &answer))
		pdci_runner_settle_spares(runner, &answer);
}

static void on_spares(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct pdci_runner *runner = context;
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};

	if (!pdci_runner_choose(runner, rc, result, problem, &answer))
		return;
	if (answer.pick_count > 0)
		pdci_runner_ask_queue(runner, pdci_runner_on_spares_turn);
	else
		pdci_runner_settle_spares(runner, &answer);
}

/* Only the places of nodes that are out; the first that is not is what it waits for. */
static void on_vacant(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct pdci_runner *runner = context;
	unsigned vacant = 0;

	if (rc) {
		put_off(runner, rc, problem);
		return;
	}
	rc = pdci_request_read(runner->claim.request, &runner->request, &runner->save.problem);
	if (rc) {
		pdci_runner_give_up(runner, rc, problem);
		return;
	}
	runner->options.changed(runner->options.context);
	for (size_t i = 0; i < runner->request.group_count; i++)
		runner->request.groups[i].count = 0;
	for (int row = 0; row < PQntuples(result); row++) {
		int64_t group = db_int(result, row, PDCI_REPLACE_STEP_GROUP_INDEX, 0);

		if (db_is_null(result, row, PDCI_REPLACE_STEP_WAITS_FOR) && group >= 0 &&
		    group < (int64_t)runner->request.group_count) {
			runner->request.groups[group].count++;
			vacant++;
		} else if (!problem_is_set(&runner->save.problem)) {
			(void)problem_set(&runner->save.problem, E_CONFLICT, "waits for %s: %s",
					  db_text(result, row, PDCI_REPLACE_STEP_NODE, ""),
					  db_text(result, row, PDCI_REPLACE_STEP_WAITS_FOR, ""));
		}
	}
	if (vacant == 0) {
		runner->save.state = PDCI_BUILDING;
		runner->save.due_ms = FOLLOW_MS;
		pdci_runner_save(runner);
		return;
	}
	runner->save.problem = (struct problem){0};
	rc = pdci_runner_ask_facts(runner, on_spares);
	if (rc)
		pdci_runner_give_up(runner, rc, NULL);
}

static void pdci_runner_replace(struct pdci_runner *runner)
{
	int rc = pdci_store_replace_step(runner->options.db, &runner->claim, on_vacant, runner);

	if (rc)
		pdci_runner_give_up(runner, rc, NULL);
}

/* The generation moved on with it: nothing of this claim is left to save. */
static void on_asked(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct pdci_runner *runner = context;

	(void)result;
	if (rc)
		pdci_runner_give_up(runner, rc, problem);
	else
		pdci_runner_next(runner, 0);
}

/* Once for each place: whatever makes a second node fail there is for a person to look at. */
static bool replace_by_itself(struct pdci_runner *runner)
{
	struct problem ignored = {0};
	int rc;

	if (runner->claim.failed == 0 || runner->claim.failed_is_spare ||
	    pdci_request_read(runner->claim.request, &runner->request, &ignored) != 0 ||
	    !runner->request.spare)
		return false;
	log_info("pdci", "%s of %s: node %s failed (%s) and is replaced", runner->claim.name,
		 runner->claim.tenant, runner->claim.failed_node, runner->claim.failed_why);
	rc = pdci_store_replace(runner->options.db, &runner->claim, on_asked, runner);
	if (rc)
		pdci_runner_give_up(runner, rc, NULL);
	return true;
}

/* --- releasing --- */

static void pdci_runner_on_released(void *context, int rc, const PGresult *result,
				    const struct problem *problem)
{
	struct pdci_runner *runner = context;
	int rows = rc ? 0 : PQntuples(result);

	if (rc) {
		put_off(runner, rc, problem);
		return;
	}
	runner->options.changed(runner->options.context);
	if (rows == 0) {
		runner->stats.released++;
		log_info("pdci", "%s of %s: released", runner->claim.name, runner->claim.tenant);
		pdci_runner_next(runner, 0);
		return;
	}
	runner->save = (struct pdci_save){.state = PDCI_RELEASING, .due_ms = FOLLOW_MS};
	(void)problem_set(&runner->save.problem, E_CONFLICT, "waits for %s%s%s",
			  db_text(result, 0, PDCI_RELEASE_NODE, ""),
			  *db_text(result, 0, PDCI_RELEASE_NODE, "") ? ": " : "",
			  db_text(result, 0, PDCI_RELEASE_WAITS_FOR, ""));
	problem_detail(&runner->save.problem, "%d to go", rows);
	pdci_runner_save(runner);
}

/* --- following --- */

static void tell_what_next(const struct pdci_claim *claim, struct problem *problem)
{
	if (claim->failed_is_lost)
		problem_hint(problem,
			     "haasctl node trace %s tells who did it; haasctl pdci replace %s %s "
			     "takes another node",
			     claim->failed_node, claim->name, claim->failed_node);
	else
		problem_hint(problem,
			     "haasctl node trace %s tells why; haasctl deployment retry goes on, "
			     "haasctl pdci replace %s %s takes another node",
			     claim->failed_node, claim->name, claim->failed_node);
}

static void pdci_runner_follow(struct pdci_runner *runner)
{
	const struct pdci_claim *claim = &runner->claim;

	runner->save = (struct pdci_save){.state = PDCI_BUILDING, .due_ms = FOLLOW_MS};
	if (claim->nodes > 0 && claim->done == claim->nodes) {
		runner->save = (struct pdci_save){.state = PDCI_READY, .due_ms = -1};
	} else if (claim->failed > 0) { /* looked at further on: a person may retry it */
		runner->save.state = PDCI_FAILED;
		(void)problem_set(&runner->save.problem, E_CONFLICT, "node %s: %s",
				  claim->failed_node, claim->failed_why);
		problem_detail(&runner->save.problem, "%lld of %lld nodes are done, %lld failed",
			       (long long)claim->done, (long long)claim->nodes,
			       (long long)claim->failed);
		tell_what_next(claim, &runner->save.problem);
	}
	pdci_runner_save(runner);
}

static void pdci_runner_decide(struct pdci_runner *runner)
{
	int rc;

	runner->save = (struct pdci_save){0};
	if (runner->claim.absent) {
		rc = pdci_store_release(runner->options.db, &runner->claim, pdci_runner_on_released,
					runner);
		if (rc)
			pdci_runner_give_up(runner, rc, NULL);
		return;
	}
	switch (runner->claim.state) {
	case PDCI_REQUESTED:
	case PDCI_INFEASIBLE: pdci_runner_allocate(runner); break;
	case PDCI_BUILDING:
	case PDCI_READY: /* one of its nodes broke */
	case PDCI_FAILED:
		if (runner->claim.replacing > 0)
			pdci_runner_replace(runner);
		else if (!replace_by_itself(runner))
			pdci_runner_follow(runner);
		break;
	case PDCI_RELEASING:
	case PDCI_RELEASED:
	case PDCI_STATE_COUNT:
		runner->save = (struct pdci_save){.state = runner->claim.state, .due_ms = -1};
		pdci_runner_save(runner);
		break;
	}
}

static void pdci_runner_on_claimed(void *context, int rc, const PGresult *result,
				   const struct problem *problem)
{
	struct pdci_runner *runner = context;

	if (rc) {
		pdci_runner_give_up(runner, rc, problem);
		return;
	}
	if (PQntuples(result) == 0) {
		pdci_runner_next(runner, FOLLOW_MS < PERIOD_MS ? FOLLOW_MS : PERIOD_MS);
		return;
	}
	runner->stats.claimed++;
	rc = pdci_claim_read(result, &runner->claim);
	if (rc) {
		log_warn("pdci", "%s cannot be read: %s", runner->claim.name, error_text(rc));
		pdci_runner_next(runner, PDCI_RUNNER_RETRY_MS);
		return;
	}
	pdci_runner_decide(runner);
}

static void pdci_runner_work(void *context)
{
	struct pdci_runner *runner = context;

	if (pdci_store_claim(runner->options.db, runner->options.owner, runner->options.claim_ms,
			     pdci_runner_on_claimed, runner) != 0)
		work_cycle_end(&runner->cycle, PDCI_RUNNER_RETRY_MS);
}

/* --- life --- */

void pdci_runner_wake(struct pdci_runner *runner)
{
	work_cycle_wake(&runner->cycle);
}

void pdci_runner_db_state(struct pdci_runner *runner, bool connected)
{
	work_cycle_connected(&runner->cycle, connected);
}

const struct pdci_runner_stats *pdci_runner_stats(const struct pdci_runner *runner)
{
	return &runner->stats;
}

int pdci_runner_new(struct loop *loop, const struct pdci_runner_options *options,
		    struct pdci_runner **ret)
{
	struct pdci_runner *runner = calloc(1, sizeof(*runner));
	int rc;

	if (!runner)
		return -ENOMEM;
	*runner = (struct pdci_runner){.loop = loop, .options = *options};
	rc = work_cycle_open(&runner->cycle, loop, pdci_runner_work, runner);
	if (rc) {
		free(runner);
		return rc;
	}
	work_cycle_connected(&runner->cycle, db_connected(options->db));
	*ret = runner;
	return 0;
}

void pdci_runner_free(struct pdci_runner *runner)
{
	if (!runner)
		return;
	pdci_questions_free(runner);
	pdci_claim_done(&runner->claim);
	pdci_queue_done(&runner->queue);
	free(runner->nodes);
	work_cycle_close(&runner->cycle);
	free(runner);
}
