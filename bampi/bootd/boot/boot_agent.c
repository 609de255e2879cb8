/* The agent's routes: its tasks, its progress, its results. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/net/result_wire.h"

#include "bampi/bootd/boot/boot_answer.h"
#include "bampi/bootd/boot/boot_client.h"
#include "bampi/bootd/boot/boot_server_private.h"

void boot_agent_answered(void *context, struct http_request *request,
			 const struct boot_question *question, enum boot_verdict verdict)
{
	struct boot_server *server = context;
	const struct inventory_node *node =
		inventory_by_token(server->options->inventory, question->token);

	if (verdict == BOOT_AWAY) {
		boot_answer_later(request);
		return;
	}
	if (verdict != BOOT_GIVEN || !node) {
		boot_server_refuse_token(server, request);
		return;
	}
	/* After the key is in the database: who hears of the agent finds it there. */
	observation_record(server->options->observations, node, OBSERVATION_AGENT, "asks for work",
			   0);
	mailbox_poll(server->mailbox, request, question->token, question->wait_s);
}

/* The agent's key of this boot: what is secret is sealed to it, and tasks are signed for it. One that
 * has none yet gets no task. */
static bool agent_key(const struct http_request *request, char ret[DIGEST_TEXT_SIZE])
{
	const char *key = http_request_header(request, RESULT_AGENT_FIELD);

	return key && strlen(key) == DIGEST_TEXT_SIZE - 1 &&
	       strspn(key, "0123456789abcdef") == DIGEST_TEXT_SIZE - 1 &&
	       text_copy(ret, DIGEST_TEXT_SIZE, key);
}

void boot_agent_task(void *context, struct http_request *request)
{
	struct boot_server *server = context;
	const struct inventory_node *node = boot_server_node_of_token(server, request);
	const char *asked = http_request_query(request, "wait");
	struct boot_question question = {.wait_s = MAILBOX_WAIT_MAX_S};

	if (!node)
		return;
	/* One or two digits; anything else means the longest. */
	if (asked && asked[0] >= '0' && asked[0] <= '9' && strlen(asked) <= 2)
		question.wait_s = (int)strtol(asked, NULL, 10);
	if (question.wait_s > MAILBOX_WAIT_MAX_S)
		question.wait_s = MAILBOX_WAIT_MAX_S;
	if (!agent_key(request, question.key)) {
		observation_record(server->options->observations, node, OBSERVATION_AGENT,
				   "asks for work, and has no key yet", 0);
		boot_answer_empty(request);
		return;
	}
	(void)text_copy(question.token, sizeof(question.token), node->intent.token);
	if (strcmp(node->intent.agent_key, question.key) == 0) {
		boot_agent_answered(server, request, &question, BOOT_GIVEN);
		return;
	}
	boot_asker_read(server->options, server->neighbours, request, &question.asker);
	boot_gate_agent(server->gate, request, &question);
}

/* Fills `ret` from the path and the token; false when it answered already. */
static bool sender_of(struct boot_server *server, struct http_request *request,
		      struct mailbox_sender *ret)
{
	const char *token = http_request_bearer(request);
	const char *id = http_request_param(request, "id");
	char *end = NULL;

	if (!token || strlen(token) != TOKEN_TEXT_SIZE - 1) {
		server->counters->unauthorized++;
		boot_answer_unauthorized(request);
		return false;
	}
	errno = 0;
	*ret = (struct mailbox_sender){
		.token = token,
		.current = inventory_by_token(server->options->inventory, token) != NULL,
		.task_id = id[0] >= '1' && id[0] <= '9' ? strtoll(id, &end, 10) : 0,
	};
	if (!end || *end || errno) {
		boot_answer_not_found(request);
		return false;
	}
	return true;
}

/* Progress keeps a task alive, a result ends it. Both are believed of the node alone. */
static bool sender_is_the_node(struct boot_server *server, struct http_request *request,
			       const struct mailbox_sender *sender)
{
	const struct inventory_node *node =
		inventory_by_token(server->options->inventory, sender->token);

	return !node || boot_server_from_node(server, request, node);
}

void boot_agent_progress(void *context, struct http_request *request)
{
	struct boot_server *server = context;
	struct mailbox_sender sender;
	struct boot_progress report;
	struct problem problem = {0};
	size_t size;
	const char *body = http_request_body(request, &size);

	if (!sender_of(server, request, &sender) || !sender_is_the_node(server, request, &sender))
		return;
	if (boot_progress_decode(body, size, &report, &problem))
		boot_answer_problem(request, &problem);
	else if (mailbox_progress(server->mailbox, request, &sender, &report))
		boot_server_refuse_token(server, request);
}

/* Without a valid signature the agent is "", which no task is for: PostgreSQL refuses the result, with
 * an alarm. */
static void boot_agent_signer(const struct boot_server *server, const struct http_request *request,
			      const struct mailbox_sender *sender, struct boot_signer *ret)
{
	size_t size;
	const char *body = http_request_body(request, &size);

	(void)ipv4_text(boot_client_address(server->options, request), ret->address);
	if (!agent_key(request, ret->agent) ||
	    !result_is_signed(ret->agent, http_request_header(request, RESULT_SIGNATURE_FIELD),
			      sender->task_id, sender->token, body, size))
		ret->agent[0] = '\0';
}

/* A result that breaks its format is stored as a failure that says so: its agent would otherwise be
 * given the task again and do it anew. */
void boot_agent_result(void *context, struct http_request *request)
{
	struct boot_server *server = context;
	struct mailbox_sender sender;
	struct boot_result report = {0};
	struct problem problem = {0};
	size_t size;
	const char *body = http_request_body(request, &size);
	int rc;

	if (!sender_of(server, request, &sender) || !sender_is_the_node(server, request, &sender))
		return;
	rc = boot_result_decode(body, size, &report, &problem);
	if (rc == E_MALFORMED || rc == E_LIMIT) {
		struct problem why;

		server->counters->results_malformed++;
		(void)problem_set(&why, E_PROTOCOL, "the agent's result cannot be read");
		problem_detail(&why, "%s", problem.message);
		problem_hint(&why, "the ramdisk is of another version; build it again");
		rc = boot_result_failed(&why, &report);
	}
	boot_agent_signer(server, request, &sender, &report.signer);
	if (rc)
		boot_answer_later(request);
	else if (mailbox_result(server->mailbox, request, &sender, &report))
		boot_server_refuse_token(server, request);
	boot_result_done(&report);
}
