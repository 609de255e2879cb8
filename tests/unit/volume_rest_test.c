// links: bampi_storage
/* What failed rests, longer each time; what is in no pass any more is forgotten. */
#include "bampi/storage/volume_policy.h"
#include "bampi/storage/volume_rest.h"
#include "tests/support/cmocka.h"

static const struct volume_key volume = {7, false}, archive = {7, true};

static void longer_each_time(void **state)
{
	struct volume_rests *rests;
	int64_t now = 1000;

	(void)state;
	assert_int_equal(volume_rests_new(&rests), 0);
	assert_false(volume_rests_has(rests, volume, now));
	for (unsigned failures = 1; failures <= 5; failures++) {
		volume_rests_note(rests, volume, true, now);
		assert_true(volume_rests_has(rests, volume, now));
		assert_false(volume_rests_has(rests, archive, now));
		now += volume_retry_ms(failures);
		assert_false(volume_rests_has(rests, volume, now));
		assert_true(volume_rests_has(rests, volume, now - 1));
		volume_rests_sweep(rests);
	}
	assert_int_equal(volume_rests_note(rests, volume, false, now), 0);
	assert_false(volume_rests_has(rests, volume, 0));
	assert_int_equal(volume_rests_note(rests, volume, true, now), 1);
	assert_false(volume_rests_has(rests, volume, now + volume_retry_ms(1)));
	assert_int_equal(volume_rests_note(rests, volume, true, now + 3600000), 2);
	now += 3600000 + volume_retry_ms(2);
	assert_int_equal(volume_rests_note(rests, volume, true, now + 3600001),
			 1); /* another row */
	volume_rests_free(rests);
}

static void forgotten_with_its_row(void **state)
{
	struct volume_rests *rests;

	(void)state;
	assert_int_equal(volume_rests_new(&rests), 0);
	volume_rests_note(rests, volume, true, 0);
	volume_rests_note(rests, archive, true, 0);
	assert_true(volume_rests_has(rests, archive, 0));
	volume_rests_sweep(rests); /* nobody asked for the volume */
	assert_false(volume_rests_has(rests, volume, 0));
	assert_true(volume_rests_has(rests, archive, 0));
	volume_rests_free(rests);
	volume_rests_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(longer_each_time),
		cmocka_unit_test(forgotten_with_its_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
