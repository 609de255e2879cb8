/* One request under way: who asks, in whose scope, with which checked query and body, and the
 * answer. It outlives a client that goes away, until the database has answered. Every statement
 * runs in a transaction that first says whose rows it may see (row policies of db/schema). */
#pragma once

#include <stdbool.h>

#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"

#include "portal/server/answer_book.h"
#include "portal/server/error_list.h"
#include "portal/server/identity.h"
#include "portal/server/portal.h"
#include "portal/server/route.h"
#include "portal/server/word_table.h"

#define ACTOR_SIZE     IDENTITY_ACTOR_SIZE
#define KEY_SIZE       129
#define EXCHANGE_STEPS 8

struct demand_ticket;
struct member_row;

/* A statement of a write: prepared, params borrowed until exchange_write has returned. */
struct exchange_step {
	const struct db_query *query;
	const char *params[ROUTE_ARGS];
};

typedef void (*exchange_result_fn)(struct exchange *exchange, const PGresult *result);

struct exchange {
	struct portal *portal;
	struct http_request *request; /* NULL when the client is gone */
	const struct route *route;
	char request_id[TOKEN_TEXT_SIZE];
	bool dispatched;          /* its handler was called; before that its head is looked at */
	struct http_peer peer;    /* from where: it outlives the request */
	struct identity identity; /* who asks; nobody for ROLE_ANYONE */
	struct demand_ticket *demand; /* while there is a request; NULL = nobody counts */
	char csrf[65];                /* of the cookie that it came by; "" = it came by none */
	char actor[ACTOR_SIZE];       /* identity.actor, for events */
	char tenant[NAME_SIZE];       /* "" = of the site as such */
	char *query[QUERY_ROWS];      /* checked values in the order of the route's rows; owned */
	char *reason;                 /* of Haas-Reason, for events; owned, NULL = none was given */
	json_t *body;                 /* BODY_JSON, BODY_PATCH; owned */
	char key[KEY_SIZE];           /* Idempotency-Key, or "" */
	char key_digest[DIGEST_TEXT_SIZE];
	char version[24]; /* of If-Match, decimal, or "" */
	void *data;       /* a handler's own; freed by data_free */
	void (*data_free)(void *data);
	char position
		[24]; /* of the event stream, as of the first thing that was read; "" = nothing was */
	exchange_result_fn on_result;
	int rc; /* the first failure among the statements in flight */
	struct problem problem;
	struct {
		int status;
		int64_t version; /* ETag; 0 = none */
		char location[128];
		struct text body;
	} answer; /* of a write, until its transaction is through */
	void (*answer_with)(struct exchange *exchange); /* answers a write that went through,
							   instead of its row; may be NULL */
	/* Tells a problem in another way than as JSON: to a browser that a person looks at. Once; may
	 * be NULL. */
	void (*problem_with)(struct exchange *exchange, const struct problem *problem);
	/* Of a write: made for this request, before its steps; `lock` comes after the first, which is
	 * then made again. What they point to is in `data`. */
	struct db_call first, lock;
	bool replay; /* the key was used before: answer what is stored */
	/* shared_read.c: what is read for others too, or whom it waits for. */
	struct answer_reading reading;
	struct answer_waiter waiter;
	int64_t began_ms; /* the read got its connection */
	unsigned tries;
	unsigned holds; /* work under way: the handler, the database, a worker, a daemon */
};

/* on_head of the server: who asks, and may it? Before the body is read. */
void exchange_admit(void *context, struct http_request *request);
/* The http_handler of every route. */
void exchange_dispatch(void *context, struct http_request *request);

/* --- handlers for route rows --- */
/* Result columns (body): 200. No row: 404. */
void exchange_read(struct exchange *exchange);
/* Result columns (body, version, whole): 200 with ETag, 404. 304 only when the version covers the
 * whole body. */
void exchange_read_version(struct exchange *exchange);
/* Result columns (status, location, version, body), as STORE_ANSWER makes them. */
void exchange_change(struct exchange *exchange);

/* --- for handlers of their own --- */
/* Reads with one statement; on_result gets the rows when it succeeded and answers. */
void exchange_query(struct exchange *exchange, const struct db_query *query,
		    const char *const params[], exchange_result_fn on_result);
/* The same where nobody waits for a turn: for short statements of what stays open, of which a thousand may come back at once. */
void exchange_query_live(struct exchange *exchange, const struct db_query *query,
			 const char *const params[], exchange_result_fn on_result);
/* The same question later, in the same scope: `fn` gets what came of it, also a failure. The exchange
 * has to be held. */
MUST_USE int exchange_ask_again(struct exchange *exchange, const struct db_query *query,
				const char *const params[], db_result_fn fn, void *context);
/* One transaction: the claim of the Idempotency-Key, the steps, the stored answer. The last step's
 * row is the answer (STORE_ANSWER). */
void exchange_write(struct exchange *exchange, const struct exchange_step steps[], size_t count);
/* The body as text, for a statement that takes all of it: owned by the caller. NULL when its
 * members are not what `rows` say: then it is refused, and that is the answer. */
char *exchange_checked_body(struct exchange *exchange, const struct member_row *rows, size_t count);
/* Value of a "{name}" of the path or "?name" of the query, as in route.args. NULL = absent. */
const char *exchange_arg(const struct exchange *exchange, const char *arg);
/* All of route.args. */
void exchange_args(const struct exchange *exchange, const char *ret[ROUTE_ARGS]);
/* Parses the body of a ROUTE_SECRET route into exchange->body and wipes what came. 0 or an error
 * number with a problem. */
MUST_USE int exchange_read_body(struct exchange *exchange, struct problem *problem);
/* Digest for the Idempotency-Key of a ROUTE_SECRET body: of what it says without its passwords. */
void exchange_digest(struct exchange *exchange, const char *data, size_t size);

/* Each answers if the client is still there; the exchange itself stays until it is released. */
void exchange_answer(struct exchange *exchange, int status, const char *json);
/* 200 with something that is not JSON. */
void exchange_answer_as(struct exchange *exchange, const char *content_type, const void *data,
			size_t size);
/* 200 with what others get too, or 304. Takes `kept`. */
void exchange_answer_kept(struct exchange *exchange, struct answer_kept *kept);
void exchange_problem(struct exchange *exchange, int status, const struct problem *problem);
/* 422, or `status`, with `errors` and the values that the body has there; clears the list. */
void exchange_refuse(struct exchange *exchange, struct error_list *errors);
void exchange_refuse_as(struct exchange *exchange, int status, struct error_list *errors);
/* The same when there are errors; false: there are none. */
bool exchange_refused(struct exchange *exchange, struct error_list *errors);
/* A string of the body; NULL, or `fallback`: the body has none of that name. */
const char *exchange_text(const struct exchange *exchange, const char *member);
const char *exchange_text_or(const struct exchange *exchange, const char *member,
			     const char *fallback);
/* 200 with column 0 of the first row, 404 without one; an exchange_result_fn. */
void exchange_answer_body(struct exchange *exchange, const PGresult *result);
/* 404 that names what the path names. */
void exchange_not_found(struct exchange *exchange);
/* exchange->answer; with 412 and what the object is now, as its GET says it. */
void exchange_answer_written(struct exchange *exchange);
/* The same of a problem that a statement raised. */
void exchange_answer_stale(struct exchange *exchange, const struct problem *problem);
/* The HTTP status that fits an error number: http_status_of, and what our SQL functions raise. */
int exchange_status_of(int rc);

/* Something outside of the handler begins and ends: between the two the exchange stays, although
 * the client may go. The last release frees it; whoever did not answer by then gets a 500. */
void exchange_hold(struct exchange *exchange);
/* Notices again when the client goes, after something else did. */
void exchange_watch(struct exchange *exchange);
void exchange_release(struct exchange *exchange);
