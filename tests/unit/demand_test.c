// links: portal_server
/* How much one may ask: tokens, requests, streams, bytes; what ends gives its part back. */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "portal/server/demand_policy.h"
#include "tests/support/cmocka.h"

static const struct demand_limits limits = {
	.rate = {.per_second = 2, .burst = 6},
	.requests = 3,
	.streams = 2,
	.bytes = 100,
};

/* "r10" asks for a request with 10 bytes, "s0" for a stream, "-r10" is its end, "@500" is the time in ms. Behind the "=" stands each verdict: "f"
 * fine, "t" too fast, "m" too many, "s" too many streams, "l" too large. */
static void play(const char *script, const char *verdicts)
{
	static const char letters[DEMAND_VERDICTS] = {'f', 't', 'm', 's', 'l'};
	struct demand demand = {0};
	CLEANUP(text_done) struct text got = {0};
	char words[256];
	char *rest = words;
	char *word;
	int64_t now_ms = 0;

	assert_true(text_copy(words, sizeof(words), script));
	while ((word = strsep(&rest, " ")) != NULL) {
		bool ends = word[0] == '-';
		enum demand_kind kind = word[ends] == 's' ? DEMAND_STREAM : DEMAND_REQUEST;
		uint64_t bytes = strtoull(word + ends + 1, NULL, 10);
		enum demand_verdict verdict;

		if (word[0] == '@') {
			now_ms = (int64_t)bytes;
		} else if (ends) {
			demand_end(&demand, kind, bytes);
		} else {
			verdict = demand_judge(&demand, &limits, kind, bytes, now_ms);
			text_add_bytes(&got, &letters[verdict], 1);
			if (verdict == DEMAND_FINE)
				demand_begin(&demand, kind, bytes);
		}
	}
	if (strcmp(text_get(&got), verdicts) != 0)
		fail_msg("%s: %s, not %s", script, text_get(&got), verdicts);
}

static void test_verdicts(void **state)
{
	static const struct {
		const char *script, *verdicts;
	} rows[] = {
		/* clang-format off */
		/* Three at once; one that ends makes room. What is refused costs a token too, and two come back a second. */
		{"r0 r0 r0 r0 -r0 r0", "fffmf"},
		{"r0 -r0 r0 -r0 r0 -r0 r0 -r0 r0 -r0 r0 -r0 r0 @499 r0 @500 r0 @1000 r0", "ffffffttff"},
		{"r0 r0 r0 r0 r0 r0 r0 @100000 -r0 r0", "fffmmmtf"},
		/* Streams are counted apart from requests. */
		{"s0 s0 s0 r0 r0 r0", "ffsfff"},
		{"s0 s0 -s0 s0", "fff"},
		/* Bytes: of all that is under way. The first may be too large, and then nothing else goes. */
		{"r60 r40 r1 -r40 r0 r41", "fflfl"},
		{"r500 r0 r1 -r500 r1", "fllf"},
		{"r0 r100 s1 s0", "ffll"},
		/* clang-format on */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		play(rows[i].script, rows[i].verdicts);
}

static void test_wait(void **state)
{
	struct demand demand = {0};

	(void)state;
	for (unsigned i = 0; i < limits.rate.burst; i++)
		assert_int_equal(demand_judge(&demand, &limits, DEMAND_REQUEST, 0, 1000),
				 DEMAND_FINE);
	assert_int_equal(demand_wait_s(&demand, &limits.rate), 1);
	assert_int_equal(demand_wait_s(&demand, &(struct rate_limit){1, 3}), 4);
	assert_false(demand_is_idle(&demand, &limits.rate, 3999));
	assert_true(demand_is_idle(&demand, &limits.rate, 4000));
	demand_begin(&demand, DEMAND_STREAM, 0);
	assert_false(demand_is_idle(&demand, &limits.rate, 4000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_verdicts),
					   cmocka_unit_test(test_wait)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
