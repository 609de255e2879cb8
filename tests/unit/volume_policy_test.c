// links: bampi_storage
/* What is done next for a volume or an archive: every cell that matters. */
#include "common/base/macros.h"

#include "bampi/storage/volume_policy.h"
#include "tests/support/cmocka.h"

#define MIB ((int64_t)1 << 20)

static const struct {
	const char *what;
	struct volume_facts facts;
	enum volume_action action;
} volumes[] = {
	{"asked for", {.state = VOLUME_CREATING, .size = MIB}, ACTION_MAKE},
	{"asked for, of an archive",
	 {.state = VOLUME_CREATING, .restore = true, .size = MIB},
	 ACTION_RESTORE},
	{"failed: again", {.state = VOLUME_FAILED, .size = MIB}, ACTION_MAKE},
	{"failed, of an archive: again",
	 {.state = VOLUME_FAILED, .restore = true, .size = MIB},
	 ACTION_RESTORE},
	{"there, nobody's", {.state = VOLUME_READY, .size = MIB, .kept = MIB}, ACTION_NONE},
	{"shall be larger", {.state = VOLUME_READY, .size = 2 * MIB, .kept = MIB}, ACTION_GROW},
	{"shall be larger but is open",
	 {.state = VOLUME_READY, .size = 2 * MIB, .kept = MIB, .fit = FIT_RIGHT},
	 ACTION_CLOSE},
	{"shall be open",
	 {.state = VOLUME_READY, .size = MIB, .kept = MIB, .open_wanted = true},
	 ACTION_OPEN},
	{"open with another secret",
	 {.state = VOLUME_READY, .open_wanted = true, .fit = FIT_WRONG, .told = true},
	 ACTION_OPEN},
	{"a node came",
	 {.state = VOLUME_READY, .open_wanted = true, .fit = FIT_SHORT},
	 ACTION_ADMIT},
	{"a node is replaced: only it goes",
	 {.state = VOLUME_READY, .open_wanted = true, .fit = FIT_LONG, .told_open = true},
	 ACTION_EXPEL},
	{"the last node is replaced",
	 {.state = VOLUME_READY, .fit = FIT_LONG, .told_open = true},
	 ACTION_CLOSE},
	{"open, nobody knows",
	 {.state = VOLUME_READY, .open_wanted = true, .fit = FIT_RIGHT},
	 ACTION_TELL_OPEN},
	{"open, all know",
	 {.state = VOLUME_READY,
	  .open_wanted = true,
	  .fit = FIT_RIGHT,
	  .told_open = true,
	  .told = true},
	 ACTION_NONE},
	{"the target software began anew",
	 {.state = VOLUME_READY, .open_wanted = true, .told_open = true, .told = true},
	 ACTION_OPEN},
	{"shall be closed",
	 {.state = VOLUME_READY, .fit = FIT_RIGHT, .told_open = true},
	 ACTION_CLOSE},
	{"closed, nobody knows", {.state = VOLUME_READY, .told_open = true}, ACTION_TELL_CLOSED},
	{"made anew is never open", {.state = VOLUME_CREATING, .open_wanted = true}, ACTION_MAKE},
	{"not wanted but open",
	 {.state = VOLUME_READY, .absent = true, .fit = FIT_SHORT, .told_open = true},
	 ACTION_CLOSE},
	{"not wanted, open wanted by mistake",
	 {.state = VOLUME_READY, .absent = true, .open_wanted = true, .fit = FIT_RIGHT},
	 ACTION_CLOSE},
	{"not wanted, told open",
	 {.state = VOLUME_READY, .absent = true, .told_open = true},
	 ACTION_TELL_CLOSED},
	{"not wanted", {.state = VOLUME_READY, .absent = true}, ACTION_DESTROY},
	{"not wanted, never made", {.state = VOLUME_CREATING, .absent = true}, ACTION_DESTROY},
	{"erasing failed: again", {.state = VOLUME_DELETING, .absent = true}, ACTION_DESTROY},
	{"gone", {.state = VOLUME_DELETED, .absent = true}, ACTION_NONE},
	{"gone, but open: not ours to do here",
	 {.state = VOLUME_DELETED, .absent = true, .fit = FIT_RIGHT},
	 ACTION_NONE},
};

static const struct {
	const char *what;
	struct archive_facts facts;
	enum volume_action action;
} archives[] = {
	{"asked for", {.state = ARCHIVE_ARCHIVING}, ACTION_ARCHIVE},
	{"its volume is open", {.state = ARCHIVE_ARCHIVING, .volume_open = true}, ACTION_NONE},
	{"there", {.state = ARCHIVE_READY}, ACTION_NONE},
	{"failed stays so", {.state = ARCHIVE_FAILED}, ACTION_NONE},
	{"not wanted", {.state = ARCHIVE_READY, .absent = true}, ACTION_DESTROY},
	{"not wanted any more", {.state = ARCHIVE_ARCHIVING, .absent = true}, ACTION_DESTROY},
	{"not wanted, whatever is open",
	 {.state = ARCHIVE_FAILED, .absent = true, .volume_open = true},
	 ACTION_DESTROY},
	{"erasing failed: again", {.state = ARCHIVE_DELETING, .absent = true}, ACTION_DESTROY},
	{"gone", {.state = ARCHIVE_DELETED, .absent = true}, ACTION_NONE},
};

static void tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(volumes); i++) {
		if (volume_decide(&volumes[i].facts) != volumes[i].action)
			fail_msg("volume, %s: not %s", volumes[i].what,
				 volume_action_words[volumes[i].action]);
	}
	for (size_t i = 0; i < COUNT_OF(archives); i++) {
		if (archive_decide(&archives[i].facts) != archives[i].action)
			fail_msg("archive, %s: not %s", archives[i].what,
				 volume_action_words[archives[i].action]);
	}
}

/* Whatever is to be done with its file, an open volume is closed first; only one that shall be open
 * stays so. */
static void never_open_under_work(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 1U << 9; bits++) {
		const struct volume_facts facts = {
			.state = (enum volume_state)(bits % VOLUME_STATE_COUNT),
			.fit = (enum volume_fit)(1 + bits % 3),
			.absent = bits & 8,
			.restore = bits & 16,
			.open_wanted = bits & 32,
			.told_open = bits & 64,
			.told = bits & 128,
			.size = bits & 256 ? 2 * MIB : MIB,
			.kept = MIB,
		};
		enum volume_action action = volume_decide(&facts);

		assert_false(action == ACTION_MAKE || action == ACTION_RESTORE ||
			     action == ACTION_GROW || action == ACTION_DESTROY ||
			     action == ACTION_TELL_CLOSED);
	}
}

static void rests(void **state)
{
	(void)state;
	assert_int_equal(volume_retry_ms(1), 2000);
	assert_int_equal(volume_retry_ms(2), 4000);
	assert_int_equal(volume_retry_ms(6), 60000);
	assert_int_equal(volume_retry_ms(4000000000U), 60000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(never_open_under_work),
		cmocka_unit_test(rests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
