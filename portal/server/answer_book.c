#include "portal/server/answer_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

struct answer_row {
	struct answer_key key; /* "" = free */
	struct answer_kept *kept;
	uint64_t epoch;     /* of `kept` */
	uint64_t reading;   /* number of the read under way; 0 = none */
	uint64_t read_from; /* the epoch that it began in */
	bool large;         /* its answers were: so others wait for the next */
	size_t waiting;
	struct answer_waiter *waiters;
};

struct answer_book {
	struct answer_row rows[ANSWER_BOOK_ROWS];
	uint64_t epoch; /* grows when all is forgotten */
	uint64_t last;  /* number of a read */
	size_t size;
};

/* --- answers --- */

struct answer_kept *answer_kept_ref(struct answer_kept *kept)
{
	kept->uses++;
	return kept;
}

void answer_kept_unref(void *data)
{
	struct answer_kept *kept = data;

	if (!kept || --kept->uses > 0)
		return;
	free(kept->data);
	free(kept);
}

bool answer_kept_shows(const struct answer_kept *kept, struct event_position floor)
{
	uint64_t xid = event_position_read(kept->position).xid;

	/* "X-0" is where somebody read; an event of transaction X is not shown by what was read at X. */
	return floor.id == 0 ? xid >= floor.xid : xid > floor.xid;
}

static struct answer_kept *answer_kept_new(const char *body, size_t size)
{
	struct answer_kept *kept = calloc(1, sizeof(*kept));
	char digest[DIGEST_TEXT_SIZE];

	if (!kept)
		return NULL;
	kept->uses = 1;
	kept->data = malloc(size);
	if (!kept->data) {
		answer_kept_unref(kept);
		return NULL;
	}
	memcpy(kept->data, body, size);
	kept->size = size;
	digest_text(body, size, digest);
	(void)text_format(kept->tag, sizeof(kept->tag), "\"%s\"", digest);
	return kept;
}

/* --- rows --- */

static bool answer_row_is_free(const struct answer_row *row)
{
	return row->key.text[0] == '\0';
}

static void answer_row_drop(struct answer_book *book, struct answer_row *row)
{
	if (row->kept)
		book->size -= row->kept->size;
	answer_kept_unref(row->kept);
	row->kept = NULL;
	if (row->reading == 0)
		*row = (struct answer_row){0};
}

static struct answer_row *answer_row_find(struct answer_book *book, const struct answer_key *key)
{
	for (size_t i = 0; i < ANSWER_BOOK_ROWS; i++) {
		if (strcmp(book->rows[i].key.text, key->text) == 0)
			return &book->rows[i];
	}
	return NULL;
}

/* A free row, or that of the oldest answer; NULL: all are being read. */
static struct answer_row *answer_row_make(struct answer_book *book)
{
	struct answer_row *oldest = NULL;

	for (size_t i = 0; i < ANSWER_BOOK_ROWS; i++) {
		struct answer_row *row = &book->rows[i];

		if (answer_row_is_free(row))
			return row;
		if (row->reading == 0 &&
		    (!oldest || !row->kept ||
		     (oldest->kept && row->kept->began_ms < oldest->kept->began_ms)))
			oldest = row;
	}
	if (oldest)
		answer_row_drop(book, oldest);
	return oldest;
}

/* Room for so many bytes: the oldest answers go. */
static void answer_book_shrink(struct answer_book *book, size_t size)
{
	while (book->size + size > ANSWER_BOOK_BYTES) {
		struct answer_row *oldest = NULL;

		for (size_t i = 0; i < ANSWER_BOOK_ROWS; i++) {
			struct answer_row *row = &book->rows[i];

			if (row->kept && (!oldest || row->kept->began_ms < oldest->kept->began_ms))
				oldest = row;
		}
		if (!oldest)
			return;
		answer_row_drop(book, oldest);
	}
}

/* --- the book --- */

int answer_book_new(struct answer_book **ret)
{
	struct answer_book *book = calloc(1, sizeof(*book));

	if (!book)
		return -ENOMEM;
	*ret = book;
	return 0;
}

void answer_book_free(struct answer_book *book)
{
	if (!book)
		return;
	for (size_t i = 0; i < ANSWER_BOOK_ROWS; i++)
		answer_kept_unref(book->rows[i].kept);
	free(book);
}

void answer_book_forget(struct answer_book *book)
{
	book->epoch++;
}

/* What may be handed out now. */
static bool answer_row_serves(const struct answer_book *book, const struct answer_row *row,
			      struct event_position floor, int64_t now_ms)
{
	return row->kept && row->epoch == book->epoch &&
	       now_ms - row->kept->began_ms < ANSWER_BOOK_MS && answer_kept_shows(row->kept, floor);
}

static void answer_row_begin(struct answer_book *book, struct answer_row *row,
			     struct answer_reading *reading)
{
	row->key = reading->key;
	row->reading = reading->number = ++book->last;
	row->read_from = book->epoch;
}

enum answer_way answer_book_ask(struct answer_book *book, const struct answer_question *question,
				struct answer_waiter *waiter, struct answer_reading *reading,
				struct answer_kept **ret)
{
	struct answer_row *row = answer_row_find(book, &question->key);
	const int64_t now_ms = question->now_ms;

	*reading = (struct answer_reading){.key = question->key};
	if (row && answer_row_serves(book, row, question->floor, now_ms)) {
		*ret = answer_kept_ref(row->kept);
		if (row->reading != 0 || now_ms - row->kept->began_ms < ANSWER_BOOK_SOON)
			return ANSWER_WAY_KEPT;
		answer_row_begin(book, row, reading);
		return ANSWER_WAY_RENEWS;
	}
	if (row && row->reading != 0 && row->read_from == book->epoch) {
		if (!row->large || row->waiting >= ANSWER_BOOK_WAITERS)
			return ANSWER_WAY_READS; /* beside it */
		waiter->next = row->waiters;
		row->waiters = waiter;
		row->waiting++;
		return ANSWER_WAY_WAITS;
	}
	if (!row)
		row = answer_row_make(book);
	if (!row)
		return ANSWER_WAY_READS;
	answer_row_begin(book, row, reading);
	return ANSWER_WAY_READS;
}

/* Ends a read; NULL: another began after a write, and that one counts. */
static struct answer_row *answer_row_end(struct answer_book *book,
					 const struct answer_reading *reading,
					 struct answer_waiter **waiters)
{
	struct answer_row *row = reading->number != 0 ? answer_row_find(book, &reading->key) : NULL;

	*waiters = NULL;
	if (!row || row->reading != reading->number)
		return NULL;
	*waiters = row->waiters;
	row->waiters = NULL;
	row->waiting = 0;
	row->reading = 0;
	return row;
}

struct answer_kept *answer_book_put(struct answer_book *book, const struct answer_reading *reading,
				    const struct answer_found *found,
				    struct answer_waiter **waiters)
{
	struct answer_row *row = answer_row_end(book, reading, waiters);
	struct answer_kept *kept = NULL;
	uint64_t epoch;

	if (!row)
		return NULL;
	epoch = row->read_from;
	row->large = found->size >= ANSWER_BOOK_LEAST && found->size <= ANSWER_BOOK_MOST;
	if (row->kept) {
		book->size -= row->kept->size;
		answer_kept_unref(row->kept);
		row->kept = NULL;
	}
	if (row->large)
		kept = answer_kept_new(found->body, found->size);
	if (!kept) {
		answer_row_drop(book, row);
		return NULL;
	}
	answer_book_shrink(book, found->size);
	kept->began_ms = found->began_ms;
	(void)text_copy(kept->position, sizeof(kept->position), found->position);
	row->kept = kept;
	row->epoch = epoch;
	book->size += found->size;
	return answer_kept_ref(kept);
}

struct answer_waiter *answer_book_fail(struct answer_book *book,
				       const struct answer_reading *reading)
{
	struct answer_waiter *waiters;
	struct answer_row *row = answer_row_end(book, reading, &waiters);

	if (row && !row->kept)
		answer_row_drop(book, row);
	return waiters;
}

bool answer_book_sweep(struct answer_book *book, int64_t now_ms)
{
	bool any = false;

	for (size_t i = 0; i < ANSWER_BOOK_ROWS; i++) {
		struct answer_row *row = &book->rows[i];

		if (row->kept &&
		    (row->epoch != book->epoch || now_ms - row->kept->began_ms >= ANSWER_BOOK_MS))
			answer_row_drop(book, row);
		any = any || row->kept;
	}
	return any;
}

size_t answer_book_size(const struct answer_book *book)
{
	return book->size;
}
