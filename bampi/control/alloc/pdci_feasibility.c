/* Could it be met now? The same choice as for a PDCI, and nothing written. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"

#include "bampi/control/alloc/alloc_reason_policy.h"
#include "bampi/control/alloc/pdci_runner_private.h"

#define QUESTIONS_MAX 32
#define REFUSED_MAX   1000 /* nodes that are told one by one, of each group */

/* Lives until its rows came: also when the client is gone before. */
struct pdci_question {
	struct pdci_runner *runner;
	struct http_request *http; /* NULL: the client is gone */
	struct pdci_request request;
	json_t *json; /* that it was read from; owned */
	struct alloc_node *nodes;
	size_t node_count;
	struct pdci_queue queue;
	struct problem problem; /* of images and packages */
	bool names;
	struct pdci_question *prev, *next;
};

static void question_free(struct pdci_question *question)
{
	DL_DELETE(question->runner->questions, question);
	question->runner->question_count--;
	pdci_queue_done(&question->queue);
	json_decref(question->json);
	free(question->nodes);
	free(question);
}

static void pdci_feasibility_refuse(struct pdci_question *question, int rc,
				    const struct problem *problem)
{
	struct problem told = problem && problem_is_set(problem) ? *problem : (struct problem){0};

	if (!problem_is_set(&told))
		(void)problem_set(&told, rc, "feasibility cannot be told: %s", error_text(rc));
	if (question->http)
		http_answer_problem(question->http,
				    rc == E_UNAVAILABLE ? 503
				    : rc == E_NOT_FOUND ? 404
							: 422,
				    &told);
}

/* All nodes as they were read. */
struct node_list {
	const struct alloc_node *nodes;
	size_t count;
};

/* Whom the group cannot have, one by one. */
static void pdci_feasibility_write_refused(const struct node_list *all,
					   const struct alloc_group *group, struct text *body)
{
	size_t told = 0;

	json_begin_array(body, "refused");
	for (size_t i = 0; i < all->count && told < REFUSED_MAX; i++) {
		const struct alloc_node *node = &all->nodes[i];
		char room[ALLOC_REFUSAL_SIZE];
		const char *why = alloc_refusal(node, group, room, sizeof(room));

		if (!why || (group->class[0] && strcmp(node->class, group->class) != 0))
			continue;
		json_begin_object(body, NULL);
		json_put_string(body, "node", node->name);
		json_put_string(body, "why", why);
		if (node->state == NODE_FREE && node->cable[0])
			json_put_string(body, "detail", node->cable);
		json_end_object(body);
		told++;
	}
	json_end_array(body);
}

static void write_shortfall(const struct pdci_question *question, const struct node_list *all,
			    const struct alloc_group *group, struct text *body)
{
	CLEANUP(text_done) struct text why = {0};

	alloc_why(all->nodes, all->count, group, question->names, &why);
	json_put_string(body, "why", text_get(&why));
	if (question->names)
		pdci_feasibility_write_refused(all, group, body);
}

static void write_answer(const struct pdci_question *question, const struct node_list *all,
			 const struct alloc_answer *answer, const struct problem *problem,
			 struct text *body)
{
	json_begin_object(body, NULL);
	json_put_bool(body, "feasible", answer->feasible);
	json_begin_array(body, "groups");
	for (size_t i = 0; i < question->request.group_count; i++) {
		json_begin_object(body, NULL);
		json_put_string(body, "class", question->request.groups[i].class);
		json_put_int(body, "wanted", question->request.groups[i].count);
		json_put_int(body, "possible", answer->got[i]);
		if (answer->got[i] < question->request.groups[i].count)
			write_shortfall(question, all, &question->request.groups[i], body);
		json_end_object(body);
	}
	json_end_array(body);
	json_begin_array(body, "nodes");
	for (size_t i = 0; i < answer->pick_count; i++)
		json_put_string(body, NULL, all->nodes[answer->picks[i].node].name);
	json_end_array(body);
	json_put_int(body, "racks", answer->racks);
	json_put_int(body, "leaves", answer->leaves);
	json_put_string(body, "reason", problem->detail);
	json_end_object(body);
}

/* The end of a question, of all nodes or of those that nobody keeps. */
static void pdci_feasibility_settle(struct pdci_question *question, int rc,
				    const struct problem *problem)
{
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};
	CLEANUP(text_done) struct text body = {0};
	struct problem reason = {0};

	if (rc == 0)
		rc = pdci_choose(question->nodes, question->node_count, &question->request,
				 question->names, &answer, &reason);
	if (rc) {
		pdci_feasibility_refuse(question, rc, problem);
	} else if (question->http) {
		write_answer(question, &(struct node_list){question->nodes, question->node_count},
			     &answer, &reason, &body);
		http_answer_json(question->http, 200, &body);
	}
	question_free(question);
}

static void pdci_feasibility_on_turn(void *context, int rc, const struct problem *problem)
{
	struct pdci_question *question = context;

	pdci_queue_mark(&question->queue, question->nodes, question->node_count);
	pdci_feasibility_settle(question, rc, problem);
}

static void pdci_feasibility_on_nodes(void *context, int rc, const PGresult *result,
				      const struct problem *problem)
{
	struct pdci_question *question = context;

	if (rc == 0 && problem_is_set(&question->problem)) {
		rc = question->problem.code;
		problem = &question->problem;
	}
	if (rc == 0)
		rc = pdci_nodes_read(result, &question->nodes, &question->node_count);
	if (rc == 0)
		rc = pdci_queue_ask(&question->queue, question->runner->options.db, 0,
				    question->json, pdci_feasibility_on_turn, question);
	if (rc)
		pdci_feasibility_settle(question, rc, problem);
}

static void pdci_feasibility_on_images(void *context, int rc, const PGresult *result,
				       const struct problem *problem)
{
	struct pdci_question *question = context;

	(void)problem; /* on_nodes follows, and says the same */
	if (rc == 0)
		pdci_images_read(result, &question->request, &question->problem);
}

static void pdci_feasibility_on_packages(void *context, int rc, const PGresult *result,
					 const struct problem *problem)
{
	struct pdci_question *question = context;

	(void)problem;
	if (rc == 0 && !problem_is_set(&question->problem))
		pdci_packages_read(result, &question->problem);
}

static void pdci_feasibility_on_gone(void *context)
{
	struct pdci_question *question = context;

	question->http = NULL;
}

static int pdci_feasibility_ask(struct pdci_runner *runner, struct http_request *http,
				const json_t *body, struct problem *problem)
{
	const char *tenant = json_string_value(json_object_get(body, "tenant"));
	CLEANUP(freep) struct pdci_question *question = calloc(1, sizeof(*question));
	int rc;

	if (!question)
		return -ENOMEM;
	if (runner->question_count >= QUESTIONS_MAX)
		return problem_set(problem, E_UNAVAILABLE, "too many questions at once");
	*question = (struct pdci_question){.runner = runner, .http = http};
	question->names = json_is_true(json_object_get(body, "names"));
	question->json = json_incref(json_object_get(body, "request"));
	rc = pdci_request_read(json_object_get(body, "request"), &question->request, problem);
	if (rc == 0)
		rc = pdci_store_facts(
			runner->options.db,
			&(struct pdci_facts_ask){
				.tenant = tenant ? tenant : "",
				.request = &question->request,
				.json = json_object_get(body, "request"),
				.links = json_integer_value(json_object_get(body, "links")),
			},
			&(struct pdci_facts_calls){pdci_feasibility_on_images,
						   pdci_feasibility_on_packages,
						   pdci_feasibility_on_nodes},
			question);
	if (rc) {
		json_decref(question->json);
		return rc;
	}
	DL_APPEND(runner->questions, question);
	runner->question_count++;
	http_request_on_close(http, pdci_feasibility_on_gone, question);
	question = NULL;
	return 0;
}

void pdci_feasibility(struct pdci_runner *runner, struct http_request *request)
{
	CLEANUP(json_decrefp) json_t *body = NULL;
	struct problem problem = {0};
	size_t size;
	const char *bytes = http_request_body(request, &size);
	int rc = json_read(bytes, size, JSON_LIMIT_DEFAULT, &body, &problem);

	if (rc == 0)
		rc = pdci_feasibility_ask(runner, request, body, &problem);
	if (rc == 0)
		return;
	if (!problem_is_set(&problem))
		(void)problem_set(&problem, rc, "feasibility cannot be told: %s", error_text(rc));
	http_answer_problem(request, rc == E_UNAVAILABLE ? 503 : 422, &problem);
}

void pdci_questions_free(struct pdci_runner *runner)
{
	while (runner->questions)
		question_free(runner->questions);
}
