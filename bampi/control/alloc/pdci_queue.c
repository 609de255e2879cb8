#include "bampi/control/alloc/pdci_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/alloc/alloc_queue_policy.h"
#include "bampi/control/alloc/pdci_store_sql.h"

#define PDCI_QUEUE_JSON_MAX ((size_t)1 << 20)

struct pdci_waiter {
	int64_t id;
	char tenant[64];
	json_t *request; /* owned */
	json_t *counts;  /* owned; of its groups: how many nodes it waits for */
};

static void pdci_queue_next(struct pdci_queue *queue);

void pdci_queue_done(struct pdci_queue *queue)
{
	for (size_t i = 0; i < queue->waiter_count; i++) {
		json_decref(queue->waiters[i].request);
		json_decref(queue->waiters[i].counts);
	}
	free(queue->waiters);
	free(queue->kept);
	*queue = (struct pdci_queue){0};
}

void pdci_queue_mark(const struct pdci_queue *queue, struct alloc_node nodes[], size_t count)
{
	for (size_t i = 0; i < queue->kept_count; i++) {
		for (size_t j = 0; j < count; j++)
			nodes[j].kept = nodes[j].kept || nodes[j].id == queue->kept[i];
	}
}

/* --- one waiter --- */

static int pdci_queue_add_kept(struct pdci_queue *queue, const struct alloc_node nodes[],
			       size_t count)
{
	int64_t *kept = calloc(count + 1, sizeof(*kept));
	size_t kept_count = 0;

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (nodes[i].kept)
			kept[kept_count++] = nodes[i].id;
	}
	free(queue->kept); /* the nodes kept before are marked again */
	queue->kept = kept;
	queue->kept_count = kept_count;
	return 0;
}

static int pdci_queue_keep(struct pdci_queue *queue, const PGresult *result)
{
	CLEANUP(freep) struct alloc_node *nodes = NULL;
	size_t count = 0;
	int rc = pdci_nodes_read(result, &nodes, &count);

	if (rc)
		return rc;
	pdci_queue_mark(queue, nodes, count);
	rc = alloc_keep(nodes, count,
			&(struct alloc_request){queue->request.groups, queue->request.group_count,
						queue->request.spread});
	return rc ? rc : pdci_queue_add_kept(queue, nodes, count);
}

static void pdci_queue_on_nodes(void *context, int rc, const PGresult *result,
				const struct problem *problem)
{
	struct pdci_queue *queue = context;

	if (rc == 0 && !problem_is_set(&queue->problem))
		rc = pdci_queue_keep(queue, result);
	if (rc)
		queue->fn(queue->context, rc, problem);
	else
		pdci_queue_next(queue);
}

static void pdci_queue_on_images(void *context, int rc, const PGresult *result,
				 const struct problem *problem)
{
	struct pdci_queue *queue = context;

	(void)problem; /* pdci_queue_on_nodes follows, and says the same */
	if (rc == 0)
		pdci_images_read(result, &queue->request, &queue->problem);
}

static void pdci_queue_on_packages(void *context, int rc, const PGresult *result,
				   const struct problem *problem)
{
	struct pdci_queue *queue = context;

	(void)problem;
	if (rc == 0 && !problem_is_set(&queue->problem))
		pdci_packages_read(result, &queue->problem);
}

/* Whose request cannot be read keeps nothing. */
static void pdci_queue_next(struct pdci_queue *queue)
{
	while (queue->at < queue->waiter_count) {
		const struct pdci_waiter *waiter = &queue->waiters[queue->at++];
		int rc;

		queue->problem = (struct problem){0};
		if (pdci_request_read(waiter->request, &queue->request, &queue->problem) != 0)
			continue;
		for (size_t i = 0; i < queue->request.group_count; i++)
			queue->request.groups[i].count =
				(unsigned)json_integer_value(json_array_get(waiter->counts, i));
		rc = pdci_store_facts(queue->db,
				      &(struct pdci_facts_ask){.tenant = waiter->tenant,
							       .request = &queue->request,
							       .json = waiter->request,
							       .pdci = waiter->id},
				      &(struct pdci_facts_calls){pdci_queue_on_images,
								 pdci_queue_on_packages,
								 pdci_queue_on_nodes},
				      queue);
		if (rc)
			queue->fn(queue->context, rc, NULL);
		return;
	}
	queue->fn(queue->context, 0, NULL);
}

/* --- all of them --- */

static int pdci_queue_read_json(const PGresult *result, int row, int column, json_t **ret)
{
	const char *text = db_text(result, row, column, "");
	struct problem ignored = {0};

	return json_read(text, strlen(text), PDCI_QUEUE_JSON_MAX, ret, &ignored);
}

static int pdci_queue_read(struct pdci_queue *queue, const PGresult *result)
{
	int rows = PQntuples(result);

	queue->waiters = calloc((size_t)rows + 1, sizeof(*queue->waiters));
	if (!queue->waiters)
		return -ENOMEM;
	for (int row = 0; row < rows; row++) {
		struct pdci_waiter *waiter = &queue->waiters[queue->waiter_count++];
		int rc = pdci_queue_read_json(result, row, PDCI_WAITERS_REQUEST, &waiter->request);

		if (rc == 0)
			rc = pdci_queue_read_json(result, row, PDCI_WAITERS_COUNTS,
						  &waiter->counts);
		if (rc)
			return rc;
		waiter->id = db_int(result, row, PDCI_WAITERS_ID, 0);
		(void)text_copy(waiter->tenant, sizeof(waiter->tenant),
				db_text(result, row, PDCI_WAITERS_TENANT, ""));
	}
	return 0;
}

static void pdci_queue_on_waiters(void *context, int rc, const PGresult *result,
				  const struct problem *problem)
{
	struct pdci_queue *queue = context;

	if (rc == 0)
		rc = pdci_queue_read(queue, result);
	if (rc)
		queue->fn(queue->context, rc, problem);
	else
		pdci_queue_next(queue);
}

int pdci_queue_ask(struct pdci_queue *queue, struct db *db, int64_t pdci, const json_t *request,
		   pdci_queue_fn fn, void *context)
{
	CLEANUP(freep) char *text = json_dumps(request, JSON_COMPACT);
	char id[24];
	const char *params[] = {id, text};

	if (!text)
		return -ENOMEM;
	pdci_queue_done(queue);
	queue->db = db;
	queue->fn = fn;
	queue->context = context;
	(void)text_format(id, sizeof(id), "%lld", (long long)pdci);
	return db_submit(db, &pdci_waiters_query, params, pdci_queue_on_waiters, queue);
}
