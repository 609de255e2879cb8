/* Answers of lists that many ask for at the same time: kept for a second, for whoever has the same rights and asks
 * the same. One reads the database, the others wait for that answer. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"

#include "portal/server/event_ring.h"

#define ANSWER_BOOK_MS      1000       /* so old an answer may be */
#define ANSWER_BOOK_SOON    600        /* from here on the next who asks has it read again */
#define ANSWER_BOOK_LEAST   131072     /* bytes; smaller ones cost little and are not kept */
#define ANSWER_BOOK_MOST    (8 << 20)  /* bytes of one answer */
#define ANSWER_BOOK_BYTES   (32 << 20) /* of all that are kept */
#define ANSWER_BOOK_ROWS    64
#define ANSWER_BOOK_WAITERS 1024 /* for one answer; more read themselves */

struct answer_book;

/* A key is a digest: of the rights, of the statement and its parameters. */
struct answer_key {
	char text[DIGEST_TEXT_SIZE];
};

/* Shared by those to whom it is on its way. */
struct answer_kept {
	char *data;
	size_t size;
	char tag[DIGEST_TEXT_SIZE + 2]; /* with its quotes */
	char position[24]; /* of the event stream, before anything that it does not show */
	int64_t began_ms;  /* the read */
	unsigned uses;
};

/* A read under way; 0: nobody else waits for it. */
struct answer_reading {
	struct answer_key key;
	uint64_t number;
};

/* One who waits; embedded in what the caller wakes. */
struct answer_waiter {
	struct answer_waiter *next;
};

/* `floor`: what the asker knows of the event stream; it gets nothing that is older. */
struct answer_question {
	struct answer_key key;
	struct event_position floor;
	int64_t now_ms;
};

/* What was read, from `began_ms` on. */
struct answer_found {
	int64_t began_ms;
	const char *position; /* of the event stream */
	const char *body;
	size_t size;
};

enum answer_way {
	ANSWER_WAY_READS, /* read it yourself, then say answer_book_put or answer_book_fail */
	ANSWER_WAY_KEPT,
	ANSWER_WAY_RENEWS, /* KEPT and READS: answer with what is kept, then read for those who ask later */
	ANSWER_WAY_WAITS, /* whoever reads it gets you back from answer_book_put or answer_book_fail */
};

MUST_USE int answer_book_new(struct answer_book **ret);
void answer_book_free(struct answer_book *book);
/* Something was written: nobody who asks from now on gets what was read before, or is being read. */
void answer_book_forget(struct answer_book *book);
/* KEPT, RENEWS: *ret is the caller's. */
enum answer_way answer_book_ask(struct answer_book *book, const struct answer_question *question,
				struct answer_waiter *waiter, struct answer_reading *reading,
				struct answer_kept **ret);
/* *waiters are those who waited. The caller's own, or NULL when it is too small, too large, or no
 * memory is left: then the waiters read themselves. */
struct answer_kept *answer_book_put(struct answer_book *book, const struct answer_reading *reading,
				    const struct answer_found *found,
				    struct answer_waiter **waiters);
/* Nothing was read. */
struct answer_waiter *answer_book_fail(struct answer_book *book,
				       const struct answer_reading *reading);
/* Forgets what is too old. False: nothing is left. */
bool answer_book_sweep(struct answer_book *book, int64_t now_ms);
size_t answer_book_size(const struct answer_book *book); /* bytes */

/* Does it show all that `floor` has? */
bool answer_kept_shows(const struct answer_kept *kept, struct event_position floor);
struct answer_kept *answer_kept_ref(struct answer_kept *kept);
void answer_kept_unref(void *data);
