/* What pdci_runner.c (rows) and pdci_feasibility.c (questions) share. */
#pragma once

#include "common/io/work_cycle.h"

#include "bampi/control/alloc/pdci_queue.h"
#include "bampi/control/alloc/pdci_runner.h"
#include "bampi/control/alloc/pdci_store.h"

struct pdci_question;

struct pdci_runner {
	struct loop *loop;
	struct pdci_runner_options options;
	struct pdci_runner_stats stats;
	struct work_cycle cycle; /* running: a claim is in hand */

	struct pdci_claim claim;
	struct pdci_request request; /* of the claim */
	struct pdci_save save;
	struct alloc_node *nodes;
	size_t node_count;
	struct pdci_queue queue; /* who waits longer than the claim */

	struct pdci_question *questions;
	size_t question_count;
};

/* Chooses among `nodes`; not feasible sets the problem that a person reads. */
MUST_USE int pdci_choose(const struct alloc_node nodes[], size_t count,
			 const struct pdci_request *request, bool names,
			 struct alloc_answer *ret_answer, struct problem *ret_problem);
void pdci_questions_free(struct pdci_runner *runner);
