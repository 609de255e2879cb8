#include "bampi/control/alloc/alloc_queue_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* As if every tenant gave its nodes back. What is broken or held may stay so. */
static void alloc_queue_policy_give_back(struct alloc_node nodes[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct alloc_node *node = &nodes[i];

		if (node->state == NODE_RESERVED || node->state == NODE_ACTIVE ||
		    node->state == NODE_SCRUBBING)
			node->state = NODE_FREE;
		if (node->state != NODE_FREE)
			continue;
		node->dirty = node->busy = node->unseen = node->kept = false;
		node->numbers[0] = '\0';
	}
}

static int alloc_queue_policy_hopeless(const struct alloc_node nodes[], size_t count,
				       const struct alloc_request *request, bool *ret)
{
	CLEANUP(freep) struct alloc_node *all = calloc(count + 1, sizeof(*all));
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};
	int rc;

	if (!all)
		return -ENOMEM;
	memcpy(all, nodes, count * sizeof(*all));
	alloc_queue_policy_give_back(all, count);
	rc = alloc_choose(all, count, request, &answer);
	if (rc == 0)
		*ret = !answer.feasible;
	return rc;
}

int alloc_keep(struct alloc_node nodes[], size_t count, const struct alloc_request *request)
{
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};
	bool hopeless = false;
	int rc = alloc_queue_policy_hopeless(nodes, count, request, &hopeless);

	if (rc || hopeless)
		return rc;
	rc = alloc_choose(nodes, count, request, &answer);
	for (size_t i = 0; rc == 0 && i < answer.pick_count; i++)
		nodes[answer.picks[i].node].kept = true;
	return rc;
}
