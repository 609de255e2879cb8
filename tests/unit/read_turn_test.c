// links: portal_server
/* Reads take turns: by whoever asks, not by who came first; and nobody has all connections. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "portal/server/read_turn.h"
#include "tests/support/cmocka.h"

#define ITEMS 64

struct read {
	struct read_item item;
	char name[8];
};

/* "a1" asks for a read of asker a; "-a1" is its end; "=" lets all begin that may, and says which: "=a1,b1". "@500" is
 * the time in ms. */
static void play(unsigned slots, const char *script)
{
	struct read reads[ITEMS] = {0};
	struct read_turn *turn;
	size_t count = 0;
	char words[512];
	char *rest = words;
	char *word;
	int64_t now_ms = 0;

	assert_int_equal(read_turn_new(slots, slots / 4, &turn), 0);
	assert_true(text_copy(words, sizeof(words), script));
	while ((word = strsep(&rest, " ")) != NULL) {
		CLEANUP(text_done) struct text begun = {0};
		struct read_item *item;

		if (word[0] == '@') {
			now_ms = strtoll(word + 1, NULL, 10);
		} else if (word[0] == '-') {
			size_t i = 0;

			while (strcmp(reads[i].name, word + 1) != 0)
				i++;
			read_turn_done(turn, &reads[i].item, now_ms);
		} else if (word[0] == '=') {
			while ((item = read_turn_next(turn, now_ms)) != NULL)
				text_addf(&begun, "%s%s", begun.size > 0 ? "," : "",
					  ((struct read *)item)->name);
			if (strcmp(begun.size > 0 ? text_get(&begun) : "", word + 1) != 0)
				fail_msg("%s: %s begins, not %s", script, text_get(&begun),
					 word + 1);
		} else {
			const char asker[] = {word[0], '\0'};

			assert_true(count < ITEMS);
			assert_true(text_copy(reads[count].name, sizeof(reads[count].name), word));
			assert_int_equal(read_turn_add(turn, asker, &reads[count++].item), 0);
		}
	}
	assert_int_equal(read_turn_waiting(turn), 0);
	read_turn_free(turn);
}

static void test_turns(void **state)
{
	static const struct {
		unsigned slots;
		const char *script;
	} rows[] = {
		/* clang-format off */
		{1, "a1 =a1 -a1"},
		/* One connection: who came later with one read is not behind all of the other's. */
		{1, "a1 a2 a3 b1 =a1 -a1 =b1 -b1 =a2 -a2 =a3 -a3"},
		/* Three askers in turn, each in its own order. */
		{1, "a1 a2 a3 b1 b2 c1 =a1 -a1 =b1 -b1 =c1 -c1 =a2 -a2 =b2 -b2 =a3 -a3"},
		/* Of four connections one has two, though nobody else asks, and one while another is about. */
		{4, "a1 a2 a3 a4 =a1,a2 b1 =b1 -a2 = -a1 =a3 -b1 = -a3 =a4 -a4"},
		/* Who has not asked for a while is about no more. */
		{4, "b1 =b1 -b1 a1 a2 a3 =a1 @10000 = @10001 =a2 -a1 =a3 -a2 -a3"},
		/* Many ask for all: each has one, and whoever comes is next. */
		{4, "a1 a2 b1 b2 c1 c2 d1 d2 =a1,b1,c1,d1 e1 c3 = -c1 =c2 -c2 =e1 -a1 =a2 -e1 =c3 -b1"
		    " =b2 -d1 =d2 -a2 -b2 -c3 -d2"},
		{8, "a1 a2 a3 a4 a5 =a1,a2,a3,a4 b1 b2 b3 =b1,b2 -b1 =b3 -a1 -a2 = -a3 =a5 -a4 -a5 -b2 -b3"},
		/* Of three connections two, of two one. */
		{3, "a1 a2 a3 =a1,a2 b1 =b1 -a1 = -a2 =a3 -a3 -b1"},
		{2, "a1 a2 =a1 b1 =b1 -a1 =a2 -a2 -b1"},
		/* clang-format on */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		play(rows[i].slots, rows[i].script);
}

/* However much one asks for, another's reads are each next but one. */
static void test_flood(void **state)
{
	struct read many[READ_TURN_WAITING] = {0};
	struct read few[8] = {0};
	struct read_turn *turn;
	size_t between = 0;
	size_t served = 0;

	(void)state;
	assert_int_equal(read_turn_new(1, 0, &turn), 0);
	for (size_t i = 0; i < COUNT_OF(many); i++)
		assert_int_equal(read_turn_add(turn, "flood", &many[i].item), 0);
	assert_int_equal(read_turn_add(turn, "flood", &(struct read_item){0}), E_LIMIT);
	for (size_t i = 0; i < COUNT_OF(few); i++)
		assert_int_equal(read_turn_add(turn, "other", &few[i].item), 0);
	while (served < COUNT_OF(few)) {
		struct read_item *item = read_turn_next(turn, 0);
		bool others = item >= &few[0].item && item <= &few[COUNT_OF(few) - 1].item;

		between = others ? 0 : between + 1;
		served += others;
		assert_true(between <= 1);
		read_turn_done(turn, item, 0);
	}
	for (struct read_item *item = read_turn_next(turn, 0); item; item = read_turn_next(turn, 0))
		read_turn_done(turn, item, 0);
	read_turn_free(turn);
}

static void test_late(void **state)
{
	struct read_item items[] = {{.since_ms = 10}, {.since_ms = 20}, {.since_ms = 30}};
	struct read_turn *turn;

	(void)state;
	assert_int_equal(read_turn_new(1, 0, &turn), 0);
	assert_int_equal(read_turn_add(turn, "a", &items[0]), 0);
	assert_int_equal(read_turn_add(turn, "a", &items[2]), 0);
	assert_int_equal(read_turn_add(turn, "b", &items[1]), 0);
	assert_null(read_turn_late(turn, 10));
	assert_ptr_equal(read_turn_late(turn, 30), &items[0]);
	assert_ptr_equal(read_turn_late(turn, 30), &items[1]);
	assert_null(read_turn_late(turn, 30));
	assert_ptr_equal(read_turn_next(turn, 0), &items[2]);
	read_turn_done(turn, &items[2], 30);
	read_turn_free(turn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_turns),
					   cmocka_unit_test(test_flood),
					   cmocka_unit_test(test_late)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
