// links: common_net
/* What a source, and all of them together, may cost. */
#include "common/base/macros.h"
#include "common/net/source_rate.h"

#include "tests/support/cmocka.h"

static unsigned allowed_of(struct source_rate *rate, uint32_t address, bool known, unsigned tries,
			   int64_t now_ms)
{
	unsigned allowed = 0;

	while (tries-- > 0)
		allowed += source_rate_allows(rate, address, known, now_ms);
	return allowed;
}

static void one_source(void **state)
{
	struct source_rate rate;

	(void)state;
	source_rate_init(&rate, (struct rate_limit){8, 20}, (struct rate_limit){1000, 1000}, 77);
	assert_int_equal(allowed_of(&rate, 1, false, 100, 5000), 20);
	assert_int_equal(allowed_of(&rate, 1, false, 100, 6000), 8);
	assert_int_equal(allowed_of(&rate, 1, false, 100, 6124), 0);
	assert_int_equal(allowed_of(&rate, 1, false, 100, 6125), 1);
	/* time that goes back, or that jumps, gives nothing more than a burst */
	assert_int_equal(allowed_of(&rate, 1, false, 100, 0), 0);
	assert_int_equal(allowed_of(&rate, 1, false, 100, INT64_MAX), 20);
}

static void all_together(void **state)
{
	struct source_rate rate;
	unsigned strangers = 0;

	(void)state;
	source_rate_init(&rate, (struct rate_limit){8, 20}, (struct rate_limit){100, 300}, 78);
	for (uint32_t address = 1; address <= 5000; address++)
		strangers += source_rate_allows(&rate, address << 8, false, 1000);
	assert_int_equal(strangers, 300);
	/* who is known does not wait for strangers, and has his own limit all the same */
	assert_int_equal(allowed_of(&rate, 0x0a000001, true, 100, 1000) > 0, true);
	assert_int_equal(allowed_of(&rate, 0x0a000001, true, 100, 1000), 0);
	assert_int_equal(allowed_of(&rate, 6000 << 8, false, 100, 2000), 20);
}

/* Addresses that an attacker makes up do not give one of them a fresh allowance. */
static void no_take_over(void **state)
{
	struct source_rate rate;
	unsigned allowed = 0;

	(void)state;
	source_rate_init(&rate, (struct rate_limit){1, 5}, (struct rate_limit){1000000, 1000000},
			 79);
	for (uint32_t i = 0; i < 100000; i++) {
		allowed += source_rate_allows(&rate, 1, false, 1000);
		(void)source_rate_allows(&rate, 2 + i, false, 1000);
	}
	assert_true(allowed <= 5);
}

/* Neighbouring addresses, as a rack has them, spread over the buckets. */
static void spreads(void **state)
{
	static const uint64_t salts[] = {1, 0x123456789abcdef0, UINT64_MAX, 0x8000000000000000};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(salts); i++) {
		struct source_rate rate;
		unsigned allowed = 0;

		source_rate_init(&rate, (struct rate_limit){1, 1},
				 (struct rate_limit){1000000, 1000000}, salts[i]);
		for (uint32_t address = 0x0a000000; address < 0x0a000000 + 256; address++)
			allowed += source_rate_allows(&rate, address, false, 1000);
		assert_true(allowed > 180);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_source),
		cmocka_unit_test(all_together),
		cmocka_unit_test(no_take_over),
		cmocka_unit_test(spreads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
