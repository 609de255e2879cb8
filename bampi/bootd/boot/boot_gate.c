#include "bampi/bootd/boot/boot_gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/error.h"
#include "common/base/hash_table.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "bampi/bootd/boot/boot_answer.h"
#include "bampi/bootd/boot/boot_gate_sql.h"

#define BOOT_GATE_SUBJECT "boot gate"
#define BOOT_GATE_BATCH   256
#define BOOT_GATE_AGENTS  65536 /* that are known to be let in; then all are asked about anew */

struct boot_gate_wait {
	struct boot_gate_line *line;
	struct http_request *request; /* NULL: the client is gone */
	bool flies;                   /* its question is in a statement */
	struct boot_question question;
	struct boot_gate_wait *prev, *next;
};

/* Outlives the gate: a statement always calls back. */
struct boot_gate_flight {
	struct boot_gate_line *line; /* NULL: nobody waits any more */
	struct boot_gate_wait *waits;
};

/* Those who ask for the same: scripts, or a place as the boot's agent. */
struct boot_gate_line {
	struct boot_gate *gate;
	const struct db_query *query;
	boot_gate_fn fn;
	struct boot_gate_wait *waiting;
	struct boot_gate_flight *flight;
};

/* An agent that was let in: its polls go on while the database is away. */
struct boot_gate_agent {
	char token[TOKEN_TEXT_SIZE];
	char key[DIGEST_TEXT_SIZE];
	UT_hash_handle hh;
};

struct boot_gate {
	struct db *db;
	void *context;
	struct boot_gate_line script, agent;
	struct boot_gate_agent *agents; /* by token */
};

static void boot_gate_send(struct boot_gate_line *line);

static const char *const boot_gate_verdict_words[] = {[BOOT_GIVEN] = "given",
						      [BOOT_LATER] = "later",
						      [BOOT_ELSEWHERE] = "elsewhere",
						      [BOOT_ENDED] = "ended"};

static void boot_gate_ignored(void *context, int rc, const PGresult *result,
			      const struct problem *problem)
{
	(void)context;
	(void)result;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, BOOT_GATE_SUBJECT, problem);
}

static void boot_gate_forget(struct boot_gate *gate)
{
	struct boot_gate_agent *agent;
	struct boot_gate_agent *next;

	HASH_ITER(hh, gate->agents, agent, next)
	{
		HASH_DEL(gate->agents, agent);
		free(agent);
	}
}

static bool boot_gate_knows(const struct boot_gate *gate, const struct boot_question *question)
{
	struct boot_gate_agent *agent = NULL;

	HASH_FIND_STR(gate->agents, question->token, agent);
	return agent && strcmp(agent->key, question->key) == 0;
}

static void boot_gate_remember(struct boot_gate *gate, const struct boot_question *question)
{
	struct boot_gate_agent *agent = NULL;

	HASH_FIND_STR(gate->agents, question->token, agent);
	if (agent)
		return;
	if (HASH_COUNT(gate->agents) >= BOOT_GATE_AGENTS)
		boot_gate_forget(gate);
	agent = calloc(1, sizeof(*agent));
	if (!agent)
		return;
	(void)text_copy(agent->token, sizeof(agent->token), question->token);
	(void)text_copy(agent->key, sizeof(agent->key), question->key);
	HASH_ADD_STR(gate->agents, token, agent);
}

void boot_gate_return(struct boot_gate *gate, const struct boot_question *question)
{
	const char *params[] = {question->token};
	int rc = db_submit(gate->db, &boot_gate_return_query, params, boot_gate_ignored, NULL);

	if (rc)
		log_warn(BOOT_GATE_SUBJECT, "a script that nobody took counts as given: %s",
			 error_text(rc));
}

static void boot_gate_end(struct boot_gate_line *line, struct boot_gate_wait *wait,
			  enum boot_verdict verdict)
{
	if (verdict == BOOT_GIVEN && line == &line->gate->agent)
		boot_gate_remember(line->gate, &wait->question);
	if (wait->request) {
		http_request_on_close(wait->request, NULL, NULL);
		line->fn(line->gate->context, wait->request, &wait->question, verdict);
	} else if (verdict == BOOT_GIVEN && line == &line->gate->script) {
		boot_gate_return(line->gate, &wait->question);
	}
	free(wait);
}

static enum boot_verdict boot_gate_verdict(const PGresult *result, int64_t n)
{
	for (int row = 0; row < PQntuples(result); row++) {
		if (db_int(result, row, BOOT_GATE_SCRIPT_N, -1) != n)
			continue;
		for (size_t i = 0; i < COUNT_OF(boot_gate_verdict_words); i++)
			if (strcmp(boot_gate_verdict_words[i],
				   db_text(result, row, BOOT_GATE_SCRIPT_VERDICT, "")) == 0)
				return (enum boot_verdict)i;
	}
	return BOOT_ENDED;
}

static void boot_gate_done(void *context, int rc, const PGresult *result,
			   const struct problem *problem)
{
	CLEANUP(freep) struct boot_gate_flight *flight = context;
	struct boot_gate_line *line = flight->line;
	struct boot_gate_wait *wait;
	struct boot_gate_wait *next;
	int64_t n = 0;

	if (!line)
		return;
	line->flight = NULL;
	boot_gate_ignored(NULL, rc, result, problem);
	DL_FOREACH_SAFE(flight->waits, wait, next)
	{
		DL_DELETE(flight->waits, wait);
		boot_gate_end(line, wait, rc ? BOOT_AWAY : boot_gate_verdict(result, n++));
	}
	boot_gate_send(line);
}

static void boot_gate_row(const struct boot_question *question, int64_t n, struct text *rows)
{
	char nic[MAC_TEXT_SIZE];

	json_begin_object(rows, NULL);
	json_put_int(rows, "n", n);
	json_put_string(rows, "token", question->token);
	json_put_string(rows, "key", question->key);
	json_put_bool(rows, "knows", question->knows);
	json_put_int(rows, "leased_s", question->asker.leased_s);
	json_put_string(rows, "connection", question->asker.connection);
	json_put_string(rows, "nic", mac_text(question->asker.owner, nic));
	boot_asker_json(&question->asker, rows, "asker");
	json_end_object(rows);
}

/* Takes the first of those who wait into one statement. */
static int boot_gate_submit(struct boot_gate_line *line, struct boot_gate_flight *flight)
{
	CLEANUP(text_done) struct text rows = {0};
	const char *params[1];
	int64_t n = 0;

	json_begin_array(&rows, NULL);
	while (line->waiting && n < BOOT_GATE_BATCH) {
		struct boot_gate_wait *wait = line->waiting;

		DL_DELETE(line->waiting, wait);
		DL_APPEND(flight->waits, wait);
		wait->flies = true;
		boot_gate_row(&wait->question, n++, &rows);
	}
	json_end_array(&rows);
	params[0] = text_get(&rows);
	return rows.failed ? -ENOMEM
			   : db_submit(line->gate->db, line->query, params, boot_gate_done, flight);
}

static void boot_gate_turn_away(struct boot_gate_line *line, struct boot_gate_wait **waits)
{
	while (*waits) {
		struct boot_gate_wait *wait = *waits;

		DL_DELETE(*waits, wait);
		boot_gate_end(line, wait, BOOT_AWAY);
	}
}

static void boot_gate_send(struct boot_gate_line *line)
{
	struct boot_gate_flight *flight;

	if (!line->waiting || line->flight)
		return;
	flight = db_connected(line->gate->db) ? calloc(1, sizeof(*flight)) : NULL;
	if (flight) {
		flight->line = line;
		if (boot_gate_submit(line, flight) == 0) {
			line->flight = flight;
			return;
		}
		boot_gate_turn_away(line, &flight->waits);
		free(flight);
	}
	boot_gate_turn_away(line, &line->waiting);
}

/* A client that leaves before it was asked for must not use up the script of the next question. */
static void boot_gate_gone(void *context)
{
	struct boot_gate_wait *wait = context;

	wait->request = NULL;
	if (wait->flies)
		return;
	DL_DELETE(wait->line->waiting, wait);
	free(wait);
}

static void boot_gate_ask(struct boot_gate_line *line, struct http_request *request,
			  const struct boot_question *question)
{
	struct boot_gate_wait *wait = calloc(1, sizeof(*wait));

	if (!wait) {
		boot_answer_wait(request, "no memory");
		return;
	}
	*wait = (struct boot_gate_wait){.line = line, .request = request, .question = *question};
	DL_APPEND(line->waiting, wait);
	http_request_on_close(request, boot_gate_gone, wait);
	boot_gate_send(line);
}

void boot_gate_script(struct boot_gate *gate, struct http_request *request,
		      const struct boot_question *question)
{
	boot_gate_ask(&gate->script, request, question);
}

void boot_gate_agent(struct boot_gate *gate, struct http_request *request,
		     const struct boot_question *question)
{
	if (boot_gate_knows(gate, question))
		gate->agent.fn(gate->context, request, question, BOOT_GIVEN);
	else
		boot_gate_ask(&gate->agent, request, question);
}

void boot_gate_alarm(struct boot_gate *gate, int64_t node_id, const char *kind, const char *message,
		     const char *hint)
{
	char number[24];
	const char *params[] = {number, kind, message, hint};

	(void)text_format(number, sizeof(number), "%lld", (long long)node_id);
	if (!db_connected(gate->db) ||
	    db_submit(gate->db, &boot_gate_alarm_query, params, boot_gate_ignored, NULL) != 0)
		log_warn(BOOT_GATE_SUBJECT, "an alarm is not written: %s", message);
}

int boot_gate_new(const struct boot_gate_options *options, struct boot_gate **ret)
{
	struct boot_gate *gate = calloc(1, sizeof(*gate));

	if (!gate)
		return -ENOMEM;
	*gate = (struct boot_gate){
		.db = options->db,
		.context = options->context,
		.script = {.gate = gate,
			   .query = &boot_gate_script_query,
			   .fn = options->on_script},
		.agent = {.gate = gate, .query = &boot_gate_agent_query, .fn = options->on_agent},
	};
	*ret = gate;
	return 0;
}

static void boot_gate_line_done(struct boot_gate_line *line)
{
	boot_gate_turn_away(line, &line->waiting);
	if (!line->flight)
		return;
	boot_gate_turn_away(line, &line->flight->waits);
	line->flight->line = NULL;
}

void boot_gate_free(struct boot_gate *gate)
{
	if (!gate)
		return;
	boot_gate_line_done(&gate->script);
	boot_gate_line_done(&gate->agent);
	boot_gate_forget(gate);
	free(gate);
}
