/* The queue of PDCIs that wait longer for nodes of the same classes. Each is asked in turn for the
 * nodes that it keeps (alloc_queue_policy.h). The queue is walked only when the request in hand
 * could be met. */
#pragma once

#include "bampi/control/alloc/pdci_request.h"
#include "bampi/control/alloc/pdci_store.h"

typedef void (*pdci_queue_fn)(void *context, int rc, const struct problem *problem);

/* Zeroed = idle. Lives as long as its owner; the owner waits for `fn` before it asks again. */
struct pdci_queue {
	struct db *db;
	pdci_queue_fn fn;
	void *context;
	struct pdci_waiter *waiters; /* first come, first */
	size_t waiter_count, at;
	struct pdci_request request; /* of the waiter in hand */
	struct problem problem;      /* of its images and packages: it keeps nothing */
	int64_t *kept;               /* ids of nodes */
	size_t kept_count;
};

/* `pdci` 0: a question, which waits shorter than all. The nodes in hand must have been read before,
 * so that one which came free since is not taken from who waits. */
MUST_USE int pdci_queue_ask(struct pdci_queue *queue, struct db *db, int64_t pdci,
			    const json_t *request, pdci_queue_fn fn, void *context);
/* Marks the nodes that are kept for others. */
void pdci_queue_mark(const struct pdci_queue *queue, struct alloc_node nodes[], size_t count);
void pdci_queue_done(struct pdci_queue *queue);
