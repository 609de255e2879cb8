/* SWITCH_MIRROR: what there is is read, lines make it what is wanted, and it is read again. Whoever
 * asks, asks again when the session ends in between: it states the whole. It is not saved: a switch
 * that starts anew mirrors nothing. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "peregrine/switch/cli/cli_mirror_policy.h"
#include "peregrine/switch/cli/cli_switch.h"

LEAKS_LEFT_TO_SANITIZER

struct cli_mirroring {
	struct cli_switch *one;
	const struct cli_mirror *row;
	struct cli_mirror_want want;
	struct cli_mirrors there;
	struct cli_mirror_plan plan;
	size_t line;
	bool changed; /* lines were sent: it is read again */
	bool undoing; /* a session that was half made is ended; `rc` is why */
	int rc;       /* how it ends once the configuration mode is left */
	struct problem problem;
};

void cli_mirroring_free(struct cli_mirroring *mirroring)
{
	free(mirroring);
}

static void cli_mirror_end(struct cli_mirroring *mirroring, int rc, const struct problem *problem)
{
	switch_call_end(&mirroring->one->call, rc, NULL, problem);
}

/* --- what came of it --- */

/* Each port by itself: one that the switch does not take does not end the others. */
static void cli_mirror_verify(struct cli_mirroring *mirroring)
{
	const struct switch_request *request = mirroring->one->call.request;
	const char *name = mirroring->one->call.endpoint.name;
	size_t taken = 0;

	for (size_t i = 0; i < request->mirror_count; i++) {
		bool holds = cli_mirror_holds(mirroring->row, &mirroring->there,
					      request->mirrors[i].port, &mirroring->want);

		request->results[i] = holds ? EDIT_TAKEN : EDIT_REFUSED;
		taken += holds;
	}
	if (cli_mirror_has_more(mirroring->row, &mirroring->there, &mirroring->want)) {
		(void)problem_set(
			&mirroring->problem, E_PROTOCOL,
			"switch %s accepted the commands, but a mirror session still exists", name);
		problem_hint(&mirroring->problem, "end the session to %s on the switch",
			     mirroring->want.target);
		cli_mirror_end(mirroring, E_PROTOCOL, &mirroring->problem);
	} else if (request->mirror_count > 0 && taken == 0) {
		if (!problem_is_set(&mirroring->problem)) {
			(void)problem_set(&mirroring->problem, E_CONFLICT,
					  "switch %s accepted the commands, but does not mirror",
					  name);
			problem_hint(&mirroring->problem, "look at its mirror sessions there");
		}
		cli_mirror_end(mirroring, E_CONFLICT, &mirroring->problem);
	} else {
		cli_mirror_end(mirroring, 0, NULL);
	}
}

/* --- sending --- */

static void cli_mirror_look(struct cli_mirroring *mirroring);

static const char *cli_mirror_next(struct cli_switch *one)
{
	const struct cli_mirroring *mirroring = one->mirroring;

	return mirroring->line < mirroring->plan.count ? mirroring->plan.lines[mirroring->line].text
						       : NULL;
}

/* What undoes a half made session goes as far as it can. */
static bool cli_mirror_answered(struct cli_switch *one, int rc, const struct problem *problem)
{
	struct cli_mirroring *mirroring = one->mirroring;
	const struct cli_mirror_line *line = &mirroring->plan.lines[mirroring->line++];

	if (rc && !problem_is_set(&mirroring->problem))
		mirroring->problem = *problem;
	return !rc || mirroring->undoing || (rc == E_CONFLICT && line->mirror != SIZE_MAX);
}

static void cli_mirror_ended(struct cli_switch *one, const struct cli_script_end *end);

static const struct cli_script_row cli_mirror_script = {
	.next = cli_mirror_next,
	.answered = cli_mirror_answered,
	.ended = cli_mirror_ended,
};

static void cli_mirror_ended(struct cli_switch *one, const struct cli_script_end *end)
{
	struct cli_mirroring *mirroring = one->mirroring;

	if (end->rc && !mirroring->rc) {
		mirroring->rc = end->rc;
		mirroring->problem = end->problem;
	}
	if (end->rc && end->stage == CLI_SCRIPT_SENDING && !end->lost && mirroring->plan.opened) {
		mirroring->undoing = true;
		mirroring->line = 0;
		cli_mirror_plan_undo(mirroring->row, mirroring->want.target, &mirroring->plan);
		cli_script_start(one, &cli_mirror_script);
	} else if (mirroring->rc) {
		cli_mirror_end(mirroring, mirroring->rc, &mirroring->problem);
	} else {
		cli_mirror_look(mirroring);
	}
}

static void cli_mirror_send(struct cli_mirroring *mirroring)
{
	int rc = cli_mirror_plan_make(mirroring->row, &mirroring->there, &mirroring->want,
				      &mirroring->plan, &mirroring->problem);

	if (rc) {
		cli_mirror_end(mirroring, rc, &mirroring->problem);
		return;
	}
	if (mirroring->plan.count == 0) {
		cli_mirror_verify(mirroring);
		return;
	}
	mirroring->changed = true;
	cli_script_start(mirroring->one, &cli_mirror_script);
}

/* --- looking --- */

static const char *cli_mirror_show_of(const struct cli_mirroring *mirroring)
{
	return mirroring->row->show ? mirroring->row->show : mirroring->one->dialect->show_config;
}

static void cli_mirror_on_looked(struct cli_switch *one, int rc, const char *output,
				 const struct problem *problem)
{
	struct cli_mirroring *mirroring = one->mirroring;
	struct problem many = {0};

	if (rc) {
		cli_mirror_end(mirroring, rc, problem);
		return;
	}
	rc = cli_mirrors_read(mirroring->row, output, &mirroring->there);
	if (rc) {
		(void)problem_set(&many, rc, "switch %s has more mirror sessions than that",
				  one->call.endpoint.name);
		cli_mirror_end(mirroring, rc, &many);
	} else if (mirroring->changed) {
		cli_mirror_verify(mirroring);
	} else {
		cli_mirror_send(mirroring);
	}
}

static void cli_mirror_look(struct cli_mirroring *mirroring)
{
	cli_switch_show(mirroring->one, cli_mirror_show_of(mirroring), cli_mirror_on_looked);
}

int cli_mirror_start(struct cli_switch *one)
{
	const struct switch_request *request = one->call.request;
	const struct switch_tunnel *tunnel = request->tunnel.to[0] ? &request->tunnel : NULL;
	const struct cli_mirror *row =
		tunnel ? cli_erspan_of(one->dialect) : cli_mirror_of(one->dialect);
	struct cli_mirroring *mirroring;

	if (!row) {
		(void)problem_set(&one->call.early, E_UNSUPPORTED,
				  tunnel ? "the ERSPAN commands of %s are not known"
					 : "the mirror commands of %s are not known",
				  one->call.family->title);
		problem_hint(
			&one->call.early,
			tunnel ? "name a port of the switch instead: haasctl capture point %s "
				 "--port PORT --interface INTERFACE"
			       : "mirror the port of %s to the collector by hand, and capture there",
			one->call.endpoint.name);
		return E_UNSUPPORTED;
	}
	mirroring = calloc(1, sizeof(*mirroring));
	if (!mirroring)
		return -ENOMEM;
	mirroring->one = one;
	mirroring->row = row;
	mirroring->want = (struct cli_mirror_want){
		.mirrors = request->mirrors,
		.count = request->mirror_count,
		.target = request->mirror_count > 0 ? request->mirrors[0].target : request->port,
		.tunnel = tunnel};
	one->mirroring = mirroring;
	cli_mirror_look(mirroring);
	return 0;
}
