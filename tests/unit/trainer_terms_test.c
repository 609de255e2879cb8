// links: trainer_comm
/* Terms of a job: ranks that agree go on; where they differ all of them know who differs, and in what. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "trainer_image/comm/sum_queue.h"
#include "trainer_image/comm/terms_wire.h"

enum { RANKS_MAX = 8 };

static const char *const fields[] = {"graph", "plan", "buckets", "codec", "way",
				     "type",  "seed", "set",     "batch"};

/* A rank's terms: those of all, but for one. */
struct lab {
	int ranks;
	struct terms terms[RANKS_MAX];
	struct problem problems[RANKS_MAX];
	int rc[RANKS_MAX];
};

static struct lab *lab;

static void terms_make(struct terms *ret, const char *other, const char *value)
{
	*ret = (struct terms){0};
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		terms_add(ret, fields[i], "%s",
			  other && strcmp(other, fields[i]) == 0 ? value : "5d0c");
	assert_false(ret->bad);
}

static void lab_begin(int ranks)
{
	lab = mmap(NULL, sizeof(*lab), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(lab != MAP_FAILED);
	lab->ranks = ranks;
	for (int i = 0; i < ranks; i++)
		terms_make(&lab->terms[i], NULL, NULL);
}

/* `silent`: a rank that is not there, or -1. */
static void lab_run(int silent)
{
	struct shared_memory *memory = NULL;
	pid_t pids[RANKS_MAX];
	int status;

	assert_int_equal(shared_memory_new(lab->ranks, 4096, &memory), 0);
	for (int rank = 0; rank < lab->ranks; rank++) {
		pids[rank] = fork();
		assert_true(pids[rank] >= 0);
		if (pids[rank] == 0) {
			struct transport *transport = NULL;

			if (rank == silent)
				_exit(0);
			if (transport_shared_new(memory, rank, &transport) != 0)
				_exit(1);
			transport->patience_ms = silent >= 0 ? 500 : 20000;
			lab->rc[rank] =
				terms_agree(transport, &lab->terms[rank], &lab->problems[rank]);
			/* Nothing was left over in the transport: sums work. */
			float number = 1;
			uint8_t room[8192];
			struct collective_group group = collective_all(transport);
			const struct collective_sum sum = {.way = COLLECTIVE_TREE,
							   .numbers = &number,
							   .count = 1,
							   .workspace = room};
			if (silent < 0 && (collective_sum(transport, &group, &sum) != 0 ||
					   (int)number != lab->ranks))
				_exit(2);
			transport_free(transport);
			_exit(0);
		}
	}
	for (int rank = 0; rank < lab->ranks; rank++) {
		assert_int_equal(waitpid(pids[rank], &status, 0), pids[rank]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	shared_memory_free(memory);
}

static void lab_end(void)
{
	(void)munmap(lab, sizeof(*lab));
}

static void test_same(void **state)
{
	(void)state;
	for (int ranks = 1; ranks <= RANKS_MAX; ranks = ranks * 2 + (ranks == 2 ? -1 : 0)) {
		lab_begin(ranks);
		lab_run(-1);
		for (int i = 0; i < ranks; i++)
			assert_int_equal(lab->rc[i], 0);
		lab_end();
	}
}

/* Each field, on each of four ranks: all ranks say the same. */
static void test_each_field(void **state)
{
	char wanted[64];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		int odd = (int)(i % 4);
		int most = odd == 0 ? 1 : 0;

		lab_begin(4);
		terms_make(&lab->terms[odd], fields[i], "77b0");
		lab_run(-1);
		(void)snprintf(wanted, sizeof(wanted), "rank %d differs from rank %d in %s", odd,
			       most, fields[i]);
		for (int rank = 0; rank < 4; rank++) {
			assert_int_equal(lab->rc[rank], E_CONFLICT);
			assert_string_equal(lab->problems[rank].message, wanted);
		}
		(void)snprintf(wanted, sizeof(wanted), "rank %d: %s is 77b0 and not 5d0c", odd,
			       fields[i]);
		assert_string_equal(lab->problems[3].detail, wanted);
		lab_end();
	}
}

static void test_several(void **state)
{
	(void)state;
	lab_begin(5);
	terms_make(&lab->terms[1], "seed", "8");
	terms_make(&lab->terms[4], "plan", "1111");
	terms_add(&lab->terms[4], "extra", "yes");
	lab_run(-1);
	for (int rank = 0; rank < 5; rank++) {
		assert_string_equal(lab->problems[rank].message,
				    "rank 1 differs from rank 0 in seed");
		assert_string_equal(lab->problems[rank].detail,
				    "rank 1: seed is 8 and not 5d0c; rank 4: extra is yes and not "
				    "unknown, plan is 1111 and not 5d0c");
	}
	lab_end();
	/* Of two, neither is more: the first one is what the other is told from. */
	lab_begin(2);
	terms_make(&lab->terms[0], "set", "aaaa");
	lab_run(-1);
	assert_string_equal(lab->problems[0].message, "rank 1 differs from rank 0 in set");
	assert_string_equal(lab->problems[1].detail, "rank 1: set is 5d0c and not aaaa");
	lab_end();
}

static void test_silent(void **state)
{
	(void)state;
	lab_begin(3);
	lab_run(1);
	assert_true(lab->rc[0] < 0 && lab->rc[2] < 0);
	assert_non_null(strstr(lab->problems[2].message, "cannot compare terms with rank 1"));
	lab_end();
}

static void test_terms(void **state)
{
	struct terms terms = {0};
	struct terms other = {0};
	struct term_difference is;
	uint8_t bytes[TERMS_SIZE_MAX];
	char name[16];

	(void)state;
	/* The order in which they are added does not count. */
	terms_add(&terms, "b", "2");
	terms_add(&terms, "a", "1");
	terms_add(&other, "a", "1");
	terms_add(&other, "b", "2");
	assert_false(terms_differ(&terms, &other, &is));
	terms_add(&other, "c", "3");
	assert_true(terms_differ(&terms, &other, &is));
	assert_string_equal(is.name, "c");
	assert_null(is.mine);
	assert_string_equal(is.theirs, "3");
	struct wire_writer writer = wire_writer(bytes, sizeof(bytes));
	terms_encode(&other, &writer);
	for (size_t cut = 0; cut <= wire_written(&writer); cut++) {
		struct wire_reader reader = wire_reader(bytes, cut);
		struct terms read;

		assert_int_equal(terms_decode(&reader, &read),
				 cut < wire_written(&writer) ? E_MALFORMED : 0);
	}
	static const struct {
		const char *name, *value;
	} bad[] = {{"a", "2"},
		   {"", "2"},
		   {"x\n", "2"},
		   {"x", "\033[2J"},
		   {"a name of twenty-four let", "2"},
		   {"x", "a value of more than seventy-one letters, which no rank may send to any "
			 "other rank"}};
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct terms copy = terms;

		terms_add(&copy, bad[i].name, "%s", bad[i].value);
		assert_true(copy.bad);
	}
	for (int i = 0; i < TERMS_MAX - 2; i++) {
		(void)snprintf(name, sizeof(name), "t%02d", i);
		terms_add(&terms, name, "%d", i);
	}
	assert_false(terms.bad);
	terms_add(&terms, "one_more", "1");
	assert_true(terms.bad);
}

/* What a schedule of sums says of itself: each part counts. */
static void test_sums(void **state)
{
	static const struct sum_bucket buckets[] = {{0, 100}, {100, 28}};
	static const struct sum_bucket moved[] = {{0, 99}, {99, 29}};
	static const int machine_of[] = {0, 0, 1, 1};
	const struct levels one = levels_one(0, 4);
	const struct levels two = levels_of(machine_of, 0, 4);
	const struct {
		const char *name;
		struct sum_options options;
		const struct sum_bucket *buckets;
	} others[] = {
		{"buckets", {COLLECTIVE_RING, CODEC_NONE, false, one}, moved},
		{"codec", {COLLECTIVE_RING, CODEC_BF16, false, one}, buckets},
		{"feedback", {COLLECTIVE_RING, CODEC_NONE, true, one}, buckets},
		{"machines", {COLLECTIVE_RING, CODEC_NONE, false, two}, buckets},
		{"way", {COLLECTIVE_TREE, CODEC_NONE, false, one}, buckets},
	};
	const struct sum_options options = {COLLECTIVE_RING, CODEC_NONE, false, one};
	struct terms mine = {0};
	struct term_difference is;

	(void)state;
	sum_terms_add(&mine, &options, buckets, 2);
	assert_false(mine.bad);
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		struct terms theirs = {0};

		sum_terms_add(&theirs, &others[i].options, others[i].buckets, 2);
		assert_true(terms_differ(&mine, &theirs, &is));
		assert_string_equal(is.name, others[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terms),      cmocka_unit_test(test_same),
		cmocka_unit_test(test_each_field), cmocka_unit_test(test_several),
		cmocka_unit_test(test_silent),     cmocka_unit_test(test_sums),
	};

	return cmocka_run_group_tests_name("trainer_terms", tests, NULL, NULL);
}
