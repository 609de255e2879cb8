#include "portal/server/demand_book.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash_table.h"
#include "common/http/server.h"

LEAKS_LEFT_TO_SANITIZER

#define DEMAND_LOOK_MS 60000

struct demand_row {
	char *name;
	struct demand demand;
	UT_hash_handle hh;
};

struct demand_ticket {
	struct demand_row *row;
	enum demand_kind kind;
	uint64_t bytes;
};

struct demand_book {
	struct loop *loop;
	struct demand_options options;
	struct demand_counters *counters;
	struct source_rate strangers;
	struct loop_timer *look; /* at whom may be forgotten */
	struct demand_row *rows; /* as many as there are accounts */
};

static void demand_row_drop(struct demand_book *book, struct demand_row *row)
{
	HASH_DEL(book->rows, row);
	free(row->name);
	free(row);
}

static void demand_book_look(void *context)
{
	struct demand_book *book = context;
	int64_t now_ms = loop_now_ms(book->loop);
	struct demand_row *row;
	struct demand_row *next;

	HASH_ITER(hh, book->rows, row, next)
	{
		if (demand_is_idle(&row->demand, &book->options.each.rate, now_ms))
			demand_row_drop(book, row);
	}
	if (book->rows)
		loop_timer_arm(book->look, DEMAND_LOOK_MS);
}

int demand_book_new(struct loop *loop, const struct demand_options *options,
		    struct demand_counters *counters, struct demand_book **ret)
{
	struct demand_book *book = calloc(1, sizeof(*book));
	uint64_t salt;
	int rc;

	if (!book)
		return -ENOMEM;
	book->loop = loop;
	book->options = *options;
	book->counters = counters;
	randombytes_buf(&salt, sizeof(salt));
	source_rate_init(&book->strangers, options->address, options->strangers, salt);
	rc = loop_timer_new(loop, demand_book_look, book, &book->look);
	if (rc != 0) {
		free(book);
		return rc;
	}
	*ret = book;
	return 0;
}

void demand_book_free(struct demand_book *book)
{
	if (!book)
		return;
	while (book->rows)
		demand_row_drop(book, book->rows);
	loop_timer_free(book->look);
	free(book);
}

bool demand_stranger(struct demand_book *book, uint32_t address)
{
	if (source_rate_allows(&book->strangers, address, false, loop_now_ms(book->loop)))
		return true;
	book->counters->strangers++;
	return false;
}

static struct demand_row *demand_row_of(struct demand_book *book, const char *name)
{
	struct demand_row *row = NULL;

	HASH_FIND_STR(book->rows, name, row);
	if (row)
		return row;
	row = calloc(1, sizeof(*row));
	if (row)
		row->name = strdup(name);
	if (!row || !row->name) {
		free(row);
		return NULL;
	}
	if (!book->rows)
		loop_timer_arm(book->look, DEMAND_LOOK_MS);
	HASH_ADD_KEYPTR(hh, book->rows, row->name, strlen(row->name), row);
	return row;
}

static void demand_on_end(void *context)
{
	struct demand_ticket *ticket = context;

	demand_end(&ticket->row->demand, ticket->kind, ticket->bytes);
	free(ticket);
}

static void demand_count(struct demand_counters *counters, enum demand_verdict verdict)
{
	switch (verdict) {
	case DEMAND_FINE: break;
	case DEMAND_TOO_FAST: counters->too_fast++; break;
	case DEMAND_TOO_MANY: counters->too_many++; break;
	case DEMAND_TOO_MANY_STREAMS: counters->too_many_streams++; break;
	case DEMAND_TOO_LARGE: counters->too_large++; break;
	case DEMAND_VERDICTS: break;
	}
}

enum demand_verdict demand_ask(struct demand_book *book, const char *name, enum demand_kind kind,
			       struct http_request *request, struct demand_ticket **ret,
			       unsigned *ret_wait_s)
{
	struct demand_ticket *ticket = calloc(1, sizeof(*ticket));
	struct demand_row *row = ticket ? demand_row_of(book, name) : NULL;
	uint64_t bytes = http_request_body_room(request);
	enum demand_verdict verdict = DEMAND_VERDICTS;

	*ret_wait_s = 1;
	if (row) {
		verdict = demand_judge(&row->demand, &book->options.each, kind, bytes,
				       loop_now_ms(book->loop));
		*ret_wait_s = verdict == DEMAND_TOO_FAST
				      ? demand_wait_s(&row->demand, &book->options.each.rate)
				      : 1;
	}
	demand_count(book->counters, verdict);
	if (verdict != DEMAND_FINE) {
		free(ticket);
		return verdict;
	}
	*ticket = (struct demand_ticket){.row = row, .kind = kind, .bytes = bytes};
	demand_begin(&row->demand, kind, bytes);
	http_request_on_end(request, demand_on_end, ticket);
	*ret = ticket;
	return DEMAND_FINE;
}

void demand_add(struct demand_ticket *ticket, uint64_t bytes)
{
	if (!ticket)
		return;
	ticket->bytes += bytes;
	ticket->row->demand.bytes += bytes;
}
