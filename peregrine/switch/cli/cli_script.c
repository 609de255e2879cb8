#include "peregrine/switch/cli/cli_script.h"

#include "common/base/error.h"

#include "peregrine/switch/cli/cli_switch.h"

static void cli_script_finish(struct cli_switch *one)
{
	const struct cli_script_end end = one->script.end;

	one->script.row->ended(one, &end);
}

/* The session broke. A refusal of before stays the reason. */
static void cli_script_lose(struct cli_switch *one, enum cli_script_stage stage,
			    const struct cli_answer *answer)
{
	struct cli_script_end *end = &one->script.end;

	end->lost = answer->rc;
	end->sent = answer->sent;
	if (!end->rc) {
		end->rc = answer->rc;
		end->problem = *answer->problem;
		end->stage = stage;
	}
	cli_script_finish(one);
}

/* --- leaving --- */

static void cli_script_on_left(void *context, const struct cli_answer *answer)
{
	struct cli_switch *one = context;

	if (answer->rc) {
		cli_script_lose(one, CLI_SCRIPT_LEAVING, answer);
		return;
	}
	/* Half a configuration session is worth nothing to the next call: a new one then. */
	if (answer->prompt->mode[0])
		cli_dialogue_break(one->dialogue);
	cli_script_finish(one);
}

static void cli_script_leave(struct cli_switch *one)
{
	const struct cli_dialect *dialect = one->dialect;

	if (!one->script.end.rc)
		one->script.end.stage = CLI_SCRIPT_LEAVING;
	if (dialect->config_enter && cli_dialogue_is_open(one->dialogue))
		cli_switch_run(one, dialect->config_leave, cli_script_on_left, one);
	else
		cli_script_finish(one);
}

static void cli_script_stop(struct cli_switch *one, enum cli_script_stage stage, int rc,
			    const struct problem *problem)
{
	one->script.end.rc = rc;
	one->script.end.problem = *problem;
	one->script.end.stage = stage;
	cli_script_leave(one);
}

/* --- sending --- */

static void cli_script_on_line(void *context, const struct cli_answer *answer);

static void cli_script_send(struct cli_switch *one, bool in_mode)
{
	struct cli_script *script = &one->script;
	struct problem problem = {0};

	script->line = script->row->next(one);
	if (!script->line) {
		cli_script_leave(one);
	} else if (in_mode) {
		cli_switch_run(one, script->line, cli_script_on_line, one);
	} else {
		/* The line would mean something else there: "exit" ends the session. */
		(void)problem_set(&problem, E_PROTOCOL, "switch %s left configuration mode",
				  one->call.endpoint.name);
		problem_detail(&problem, "before \"%s\"", script->line);
		(void)script->row->answered(one, E_PROTOCOL, &problem);
		cli_script_stop(one, CLI_SCRIPT_SENDING, E_PROTOCOL, &problem);
	}
}

static void cli_script_on_line(void *context, const struct cli_answer *answer)
{
	struct cli_switch *one = context;
	struct cli_script *script = &one->script;
	struct problem problem = {0};
	char said[160];
	enum cli_verdict verdict;
	int rc;

	if (answer->rc) {
		cli_script_lose(one, CLI_SCRIPT_SENDING, answer);
		return;
	}
	verdict = cli_answer_judge(one->dialect, answer->output, said, sizeof(said));
	rc = cli_switch_verdict(one, verdict, script->line, said, &problem);
	if (script->row->answered(one, rc, &problem))
		cli_script_send(one, !one->dialect->config_enter || answer->prompt->mode[0]);
	else
		cli_script_stop(one, CLI_SCRIPT_SENDING, rc, &problem);
}

/* --- entering --- */

static void cli_script_on_entered(void *context, const struct cli_answer *answer)
{
	struct cli_switch *one = context;
	const char *command = one->dialect->config_enter;
	struct problem problem = {0};
	char said[160] = "no configuration mode came of it";
	enum cli_verdict verdict;
	int rc;

	if (answer->rc) {
		cli_script_lose(one, CLI_SCRIPT_ENTERING, answer);
		return;
	}
	verdict = cli_answer_judge(one->dialect, answer->output, said, sizeof(said));
	/* A user without the right gets "Invalid input" here, or stays where he was. */
	if (verdict == CLI_REFUSED || (verdict == CLI_FINE && !answer->prompt->mode[0]))
		verdict = CLI_DENIED;
	rc = cli_switch_verdict(one, verdict, command, said, &problem);
	if (!rc) {
		cli_script_send(one, true);
	} else if (answer->prompt->mode[0]) {
		cli_script_stop(one, CLI_SCRIPT_ENTERING, rc, &problem);
	} else {
		one->script.end = (struct cli_script_end){
			.rc = rc, .problem = problem, .stage = CLI_SCRIPT_ENTERING};
		cli_script_finish(one);
	}
}

void cli_script_start(struct cli_switch *one, const struct cli_script_row *row)
{
	one->script = (struct cli_script){.row = row};
	if (one->dialect->config_enter)
		cli_switch_run(one, one->dialect->config_enter, cli_script_on_entered, one);
	else
		cli_script_send(one, true);
}
