// links: portal_server
/* Answers that are shared: never to other rights or questions, never older than a second or than a write, never behind what
 * the caller has seen of the stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "portal/server/answer_book.h"
#include "tests/support/cmocka.h"

static const struct event_position anywhere = {0};
static char body[ANSWER_BOOK_MOST + 2];

static struct answer_key key_of(int n)
{
	struct answer_key key;

	assert_true(text_format(key.text, sizeof(key.text), "key %d", n));
	return key;
}

struct asked {
	enum answer_way way;
	struct answer_reading reading;
	struct answer_waiter waiter;
	struct answer_kept *kept;
};

static struct asked *ask(struct answer_book *book, int key, struct event_position floor,
			 int64_t now_ms)
{
	struct asked *asked = calloc(1, sizeof(*asked));
	const struct answer_question question = {
		.key = key_of(key), .floor = floor, .now_ms = now_ms};

	assert_non_null(asked);
	asked->way =
		answer_book_ask(book, &question, &asked->waiter, &asked->reading, &asked->kept);
	return asked;
}

static void done(struct asked *asked)
{
	answer_kept_unref(asked->kept);
	free(asked);
}

static enum answer_way way(struct answer_book *book, int key, struct event_position floor,
			   int64_t now_ms)
{
	struct asked *asked = ask(book, key, floor, now_ms);
	enum answer_way found = asked->way;

	if (found != ANSWER_WAY_KEPT)
		(void)answer_book_fail(book, &asked->reading);
	done(asked);
	return found;
}

/* Reads it, as of `began_ms`, at `position`; the number of those who waited. */
static size_t put(struct answer_book *book, const struct asked *asked, int64_t began_ms,
		  const char *position, size_t size)
{
	const struct answer_found found = {
		.began_ms = began_ms, .position = position, .body = body, .size = size};
	struct answer_waiter *waiters;
	size_t count = 0;

	answer_kept_unref(answer_book_put(book, &asked->reading, &found, &waiters));
	for (; waiters; waiters = waiters->next)
		count++;
	return count;
}

static void fill(struct answer_book *book, int key, int64_t now_ms, const char *position,
		 size_t size)
{
	struct asked *asked = ask(book, key, anywhere, now_ms);

	assert_int_equal(asked->way, ANSWER_WAY_READS);
	(void)put(book, asked, now_ms, position, size);
	done(asked);
}

static struct answer_book *make(void)
{
	struct answer_book *book = NULL;

	memset(body, 'x', sizeof(body));
	assert_int_equal(answer_book_new(&book), 0);
	return book;
}

static void a_second_old(void **state)
{
	struct answer_book *book = make();
	struct asked *again;

	(void)state;
	fill(book, 1, 1000, "7", ANSWER_BOOK_LEAST);
	assert_int_equal(way(book, 1, anywhere, 1000 + ANSWER_BOOK_SOON - 1), ANSWER_WAY_KEPT);
	assert_int_equal(way(book, 2, anywhere, 1000), ANSWER_WAY_READS);
	/* One has it read again before it is too old; the others have it meanwhile, then wait. */
	again = ask(book, 1, anywhere, 1000 + ANSWER_BOOK_SOON);
	assert_int_equal(again->way, ANSWER_WAY_RENEWS);
	assert_non_null(again->kept);
	assert_int_equal(way(book, 1, anywhere, 1000 + ANSWER_BOOK_MS - 1), ANSWER_WAY_KEPT);
	struct asked *waits = ask(book, 1, anywhere, 1000 + ANSWER_BOOK_MS);

	assert_int_equal(waits->way, ANSWER_WAY_WAITS);
	assert_int_equal(put(book, again, 1600, "9", ANSWER_BOOK_LEAST), 1);
	assert_int_equal(way(book, 1, anywhere, 2050), ANSWER_WAY_KEPT);
	assert_true(answer_book_sweep(book, 2599));
	assert_false(answer_book_sweep(book, 2600));
	assert_int_equal(answer_book_size(book), 0);
	done(again);
	done(waits);
	answer_book_free(book);
}

static void sizes(void **state)
{
	struct answer_book *book = make();

	(void)state;
	fill(book, 1, 0, "7", ANSWER_BOOK_LEAST - 1);
	assert_int_equal(way(book, 1, anywhere, 0), ANSWER_WAY_READS);
	fill(book, 1, 0, "7", ANSWER_BOOK_MOST + 1);
	assert_int_equal(way(book, 1, anywhere, 0), ANSWER_WAY_READS);
	/* Many large ones: the oldest go, all together stay below the bound. */
	for (int n = 0; n < ANSWER_BOOK_ROWS + 8; n++) {
		fill(book, n, n, "7", n % 3 ? ANSWER_BOOK_LEAST : ANSWER_BOOK_MOST);
		assert_true(answer_book_size(book) <= ANSWER_BOOK_BYTES);
		assert_int_equal(way(book, n, anywhere, n), ANSWER_WAY_KEPT);
	}
	assert_int_equal(way(book, 0, anywhere, 0), ANSWER_WAY_READS);
	answer_book_free(book);
}

static void after_a_write(void **state)
{
	struct answer_book *book = make();
	struct asked *before;
	struct asked *after;

	(void)state;
	fill(book, 1, 0, "7", ANSWER_BOOK_LEAST);
	answer_book_forget(book);
	assert_int_equal(way(book, 1, anywhere, 0), ANSWER_WAY_READS);
	/* A read that began before the write is nobody's who asks after it. */
	fill(book, 1, 0, "8", ANSWER_BOOK_LEAST);
	before = ask(book, 1, anywhere, ANSWER_BOOK_SOON);
	assert_int_equal(before->way, ANSWER_WAY_RENEWS);
	answer_book_forget(book);
	after = ask(book, 1, anywhere, ANSWER_BOOK_SOON);
	assert_int_equal(after->way, ANSWER_WAY_READS);
	assert_int_equal(put(book, before, ANSWER_BOOK_SOON, "9", ANSWER_BOOK_LEAST), 0);
	struct asked *waits = ask(book, 1, anywhere, ANSWER_BOOK_SOON);

	assert_int_equal(waits->way, ANSWER_WAY_WAITS);
	assert_int_equal(put(book, after, ANSWER_BOOK_SOON, "10", ANSWER_BOOK_LEAST), 1);
	/* Written while it was read: it is not handed out. */
	done(before);
	before = ask(book, 1, anywhere, INT64_C(2) * ANSWER_BOOK_SOON);
	assert_int_equal(before->way, ANSWER_WAY_RENEWS);
	answer_book_forget(book);
	assert_int_equal(put(book, before, INT64_C(2) * ANSWER_BOOK_SOON, "11", ANSWER_BOOK_LEAST),
			 0);
	assert_int_equal(way(book, 1, anywhere, INT64_C(2) * ANSWER_BOOK_SOON), ANSWER_WAY_READS);
	done(before);
	done(after);
	done(waits);
	answer_book_free(book);
}

static void not_behind_the_caller(void **state)
{
	static const struct {
		struct event_position floor;
		enum answer_way way;
	} cases[] = {
		{{6, 0}, ANSWER_WAY_KEPT}, {{7, 0}, ANSWER_WAY_KEPT},  {{8, 0}, ANSWER_WAY_READS},
		{{6, 3}, ANSWER_WAY_KEPT}, {{7, 3}, ANSWER_WAY_READS}, {{8, 3}, ANSWER_WAY_READS},
	};
	struct answer_book *book = make();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		answer_book_forget(book);
		fill(book, 1, 0, "7", ANSWER_BOOK_LEAST);
		assert_int_equal(way(book, 1, cases[i].floor, 1), cases[i].way);
	}
	answer_book_free(book);
}

static void nothing_was_read(void **state)
{
	struct answer_book *book = make();
	struct asked *reads;
	struct asked *waits;

	(void)state;
	fill(book, 1, 0, "7", ANSWER_BOOK_LEAST);
	reads = ask(book, 1, anywhere, ANSWER_BOOK_MS);
	waits = ask(book, 1, anywhere, ANSWER_BOOK_MS);
	assert_int_equal(waits->way, ANSWER_WAY_WAITS);
	assert_ptr_equal(answer_book_fail(book, &reads->reading), &waits->waiter);
	assert_null(waits->waiter.next);
	/* The next who asks reads it. */
	assert_int_equal(way(book, 1, anywhere, ANSWER_BOOK_MS), ANSWER_WAY_READS);
	done(reads);
	done(waits);
	answer_book_free(book);
}

/* An answer that is on its way lives longer than its row. */
static void on_its_way(void **state)
{
	struct answer_book *book = make();
	struct asked *kept;

	(void)state;
	fill(book, 1, 0, "7", ANSWER_BOOK_LEAST);
	kept = ask(book, 1, anywhere, 1);
	assert_int_equal(kept->way, ANSWER_WAY_KEPT);
	answer_book_free(book);
	assert_int_equal(kept->kept->size, ANSWER_BOOK_LEAST);
	assert_memory_equal(kept->kept->data, body, ANSWER_BOOK_LEAST);
	done(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_second_old),     cmocka_unit_test(sizes),
		cmocka_unit_test(after_a_write),    cmocka_unit_test(not_behind_the_caller),
		cmocka_unit_test(nothing_was_read), cmocka_unit_test(on_its_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
