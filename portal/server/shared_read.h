/* Reads of lists whose answer depends on the rights, the statement and its parameters alone: many who ask at the same
 * time are answered by one read, at most a second old (answer_book.h). Who wrote by this portald asks anew. */
#pragma once

#include "common/base/macros.h"

#include "portal/server/exchange.h"

struct shared_reads;

MUST_USE int shared_reads_new(struct portal *portal, struct shared_reads **ret);
void shared_reads_free(struct shared_reads *shared);
/* Something was written, and its writer will be told so. NULL is fine. */
void shared_reads_forget(struct shared_reads *shared);
/* As exchange_query with exchange_answer_body, for a handler that may be called again. */
void exchange_query_shared(struct exchange *exchange, const struct db_query *query,
			   const char *const params[]);
/* The exchange ends: who waits for what it was to read is told. */
void shared_read_end(struct exchange *exchange);
