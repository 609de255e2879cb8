#include "bampi/storage/network_runner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "bampi/storage/volume_store_sql.h"

LEAKS_LEFT_TO_SANITIZER

#define NETWORK_RUNNER_SUBJECT "network"
#define ROUNDS                 4 /* DEAF and UP, LISTEN, nothing */

/* How one of them is now. */
struct network_runner_outcome {
	bool up;
	char why[200];
	struct problem problem; /* of what was tried */
};

struct network_runner {
	const struct volume_runner_options *options;
	void (*changed)(void *context);
	void *context;
	bool stopping;
	struct storage_claim claim;
	/* While `busy` the worker's. */
	bool busy, ran;
	struct storage_network *networks;
	struct network_runner_outcome *outcomes;
	size_t count;
	struct problem problem; /* of the look */
};

/* --- in a worker --- */

struct world {
	struct network_interface *interfaces;
	struct storage_portals portals;
	struct network_sight sight;
};

static void world_done(struct world *world)
{
	free(world->interfaces);
	storage_portals_done(&world->portals);
	*world = (struct world){0};
}

/* Without the target software there are no portals; interfaces are made all the same. */
static int network_runner_look(struct network_runner *runner, struct world *ret,
			       struct problem *problem)
{
	const struct volume_runner_options *options = runner->options;
	int rc;

	*ret = (struct world){0};
	rc = network_host_look(&ret->interfaces, &ret->sight.interface_count);
	if (rc)
		return problem_set(problem, rc, "the interfaces cannot be read: %s",
				   error_text(rc));
	rc = options->driver->portals(&options->place, &ret->portals, problem);
	if (rc && rc != E_NOT_FOUND) {
		world_done(ret);
		return rc;
	}
	ret->sight.interfaces = ret->interfaces;
	ret->sight.portals = ret->portals.list;
	ret->sight.portal_count = ret->portals.count;
	return 0;
}

static int network_runner_act(struct network_runner *runner, const struct network_step *step,
			      struct problem *problem)
{
	const struct volume_runner_options *options = runner->options;

	switch (step->deed) {
	case NETWORK_UP:
	case NETWORK_DOWN:
		return network_host_run(&options->network, step->vlan, step->network, problem);
	case NETWORK_LISTEN:
		return options->driver->listen(&options->place, step->network->portal, true,
					       problem);
	case NETWORK_DEAF:
		return options->driver->listen(&options->place, step->portal->text, false, problem);
	}
	return 0;
}

static bool round_of(struct network_runner *runner, const struct network_sight *sight)
{
	size_t room = runner->count + sight->interface_count + sight->portal_count;
	struct network_step *steps = calloc(room + 1, sizeof(*steps));
	size_t count =
		steps ? network_decide(runner->networks, runner->count, sight, steps, room) : 0;
	bool worked = false;

	for (size_t i = 0; i < count; i++) {
		struct problem problem = {0};
		int rc = network_runner_act(runner, &steps[i], &problem);

		worked |= rc == 0;
		if (rc && steps[i].network)
			runner->outcomes[steps[i].network - runner->networks].problem = problem;
		else if (rc && !problem_is_set(&runner->problem))
			runner->problem = problem;
	}
	free(steps);
	return worked;
}

static void network_runner_work(void *context)
{
	struct network_runner *runner = context;
	bool again = true;

	runner->ran = true;
	for (int round = 0; again && round < ROUNDS; round++) {
		struct world world;
		int rc = network_runner_look(runner, &world, &runner->problem);

		for (size_t i = 0; i < runner->count; i++) {
			struct network_runner_outcome *outcome = &runner->outcomes[i];
			const char *why = NULL;

			outcome->up =
				rc == 0 && network_is_up(&runner->networks[i], &world.sight, &why);
			(void)text_copy(outcome->why, sizeof(outcome->why),
					rc ? runner->problem.message : (why ? why : ""));
		}
		if (rc)
			return;
		again = round + 1 < ROUNDS && round_of(runner, &world.sight);
		world_done(&world);
	}
}

/* --- on the loop --- */

static void network_runner_on_told(void *context, int rc, const PGresult *result,
				   const struct problem *problem)
{
	struct network_runner *runner = context;

	(void)result;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, NETWORK_RUNNER_SUBJECT, problem);
	if (rc == 0)
		runner->changed(runner->context);
}

static void network_runner_tell_one(const struct storage_network *network,
				    const struct network_runner_outcome *outcome, struct text *json)
{
	json_begin_object(json, NULL);
	json_put_int(json, "network", network->id);
	json_put_bool(json, "up", outcome->up);
	if (!outcome->up) {
		json_begin_object(json, "problem");
		json_put_string(json, "message", outcome->why);
		json_put_string(json, "detail", outcome->problem.message);
		json_put_string(json, "hint", outcome->problem.detail);
		json_end_object(json);
	}
	json_end_object(json);
}

static void network_runner_on_worked(void *context)
{
	struct network_runner *runner = context;
	CLEANUP(text_done) struct text json = {0};
	bool differs = false;

	runner->busy = false;
	if (!runner->ran || runner->stopping)
		return;
	if (problem_is_set(&runner->problem))
		log_problem(LOG_LEVEL_WARN, NETWORK_RUNNER_SUBJECT, &runner->problem);
	json_begin_array(&json, NULL);
	for (size_t i = 0; i < runner->count; i++) {
		const struct storage_network *network = &runner->networks[i];
		const struct network_runner_outcome *outcome = &runner->outcomes[i];

		if (outcome->up == network->told_up && strcmp(outcome->why, network->told) == 0)
			continue;
		differs = true;
		if (outcome->up)
			log_info(NETWORK_RUNNER_SUBJECT, "%s: VLAN %d, listening on %s",
				 network->name, network->vlan, network->portal);
		else
			log_warn(NETWORK_RUNNER_SUBJECT, "%s: %s (%s)", network->name, outcome->why,
				 outcome->problem.message);
		network_runner_tell_one(network, outcome, &json);
	}
	json_end_array(&json);
	if (differs && !json.failed)
		(void)!storage_store_networks(runner->options->db, &runner->claim, text_get(&json),
					      network_runner_on_told, runner);
}

static void network_runner_row_of(const PGresult *rows, int row, struct storage_network *ret)
{
	ret->id = db_int(rows, row, STORAGE_NETWORK_WORK_ID, 0);
	(void)text_copy(ret->name, sizeof(ret->name),
			db_text(rows, row, STORAGE_NETWORK_WORK_NAME, ""));
	ret->vlan = (int)db_int(rows, row, STORAGE_NETWORK_WORK_VLAN, 0);
	(void)text_copy(ret->address, sizeof(ret->address),
			db_text(rows, row, STORAGE_NETWORK_WORK_ADDRESS, ""));
	ret->length = (int)db_int(rows, row, STORAGE_NETWORK_WORK_LENGTH, 0);
	(void)text_copy(ret->portal, sizeof(ret->portal),
			db_text(rows, row, STORAGE_NETWORK_WORK_PORTAL, ""));
	ret->told_up = db_bool(rows, row, STORAGE_NETWORK_WORK_TOLD_UP);
	(void)text_copy(ret->told, sizeof(ret->told),
			db_text(rows, row, STORAGE_NETWORK_WORK_TOLD, ""));
}

void network_runner_take(struct network_runner *runner, const struct storage_claim *claim,
			 const PGresult *rows)
{
	size_t count = (size_t)PQntuples(rows);

	/* Without an uplink nothing here is ours to make; the site routes the portal. */
	if (runner->busy || runner->stopping || (count == 0 && !runner->options->network.uplink[0]))
		return;
	free(runner->networks);
	free(runner->outcomes);
	runner->networks = calloc(count + 1, sizeof(*runner->networks));
	runner->outcomes = calloc(count + 1, sizeof(*runner->outcomes));
	runner->count = runner->networks && runner->outcomes ? count : 0;
	if (runner->count != count)
		return;
	runner->claim = *claim;
	runner->problem = (struct problem){0};
	for (size_t i = 0; i < count; i++) {
		network_runner_row_of(rows, (int)i, &runner->networks[i]);
		(void)text_copy(runner->outcomes[i].why, sizeof(runner->outcomes[i].why),
				"bampi-stored has no uplink in its configuration");
	}
	runner->busy = true;
	runner->ran = !runner->options->network.uplink[0];
	if (runner->ran)
		network_runner_on_worked(runner);
	else if (worker_submit(runner->options->worker, network_runner_work,
			       network_runner_on_worked, runner) != 0)
		runner->busy = false;
}

int network_runner_new(const struct volume_runner_options *options, void (*changed)(void *context),
		       void *context, struct network_runner **ret)
{
	struct network_runner *runner = calloc(1, sizeof(*runner));

	if (!runner)
		return -ENOMEM;
	runner->options = options;
	runner->changed = changed;
	runner->context = context;
	*ret = runner;
	return 0;
}

void network_runner_stop(struct network_runner *runner)
{
	runner->stopping = true;
}

void network_runner_free(struct network_runner *runner)
{
	if (!runner)
		return;
	free(runner->networks);
	free(runner->outcomes);
	free(runner);
}
