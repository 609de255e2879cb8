// links: peregrine_flowd
/* The queue in front of a store that may be away: bounded, totals longest, counted; a bucket is
 * tried until it is taken, under the number that it had. */
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "peregrine/flowd/traffic_writer.h"
#include "tests/support/cmocka.h"

enum { WAIT_MS = 60000, SEEN_MAX = 512, SHARE_BYTES = 100, FLOW_BYTES = 900, WAITING_MAX = 20000 };

/* A store as tests want it. */
struct store {
	atomic_int rc;   /* what it answers */
	atomic_int slow; /* so many answers are of 200 ms ago when they come */
	atomic_bool stopped, freed;
	atomic_uint calls;
	/* Of those taken, in order. */
	unsigned taken;
	uint64_t numbers[SEEN_MAX], given_up[SEEN_MAX];
	bool cut[SEEN_MAX];
	size_t bytes[SEEN_MAX];
};

struct fixture {
	struct loop *loop;
	struct worker *workers[2];
	struct store stores[2];
	struct traffic_writer *writers[2]; /* the first gives copies to the second */
};

static int write_batch(void *context, const struct traffic_batch *batch, struct problem *problem)
{
	struct store *store = context;
	int rc = atomic_load(&store->rc);

	atomic_fetch_add(&store->calls, 1);
	if (atomic_load(&store->slow) > 0) {
		atomic_fetch_sub(&store->slow, 1);
		usleep(200000);
	}
	if (rc && rc != E_CONFLICT)
		return problem_set(problem, rc, "no");
	if (store->taken < SEEN_MAX) {
		store->numbers[store->taken] = batch->number;
		store->given_up[store->taken] = batch->given_up;
		store->cut[store->taken] = batch->cut;
		store->bytes[store->taken++] = traffic_batch_size(batch);
	}
	return rc;
}

static void stop_store(void *context)
{
	atomic_store(&((struct store *)context)->stopped, true);
}

static void free_store(void *context)
{
	atomic_store(&((struct store *)context)->freed, true);
}

static int start(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	*state = &f;
	if (loop_new(&f.loop))
		return -1;
	for (size_t i = 2; i-- > 0;) {
		const struct traffic_writer_options options = {
			.sink = {.subject = i ? "copy" : "writer",
				 .name = "a store",
				 .write = write_batch,
				 .stop = stop_store,
				 .free = free_store,
				 .context = &f.stores[i]},
			.waiting_max = WAITING_MAX,
			.retry_ms = 5,
			.copy_to = i ? NULL : f.writers[1]};

		if (worker_new(f.loop, 1, 4, &f.workers[i]) ||
		    traffic_writer_new(f.loop, f.workers[i], &options, &f.writers[i]))
			return -1;
	}
	return 0;
}

static int stop(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < 2; i++) {
		traffic_writer_free(f->writers[i], 0);
		worker_free(f->workers[i]);
	}
	loop_free(f->loop);
	return 0;
}

static void put(struct fixture *f, enum traffic_step step)
{
	struct traffic_batch batch;

	traffic_batch_begin(&batch, step, 3600, 3600, 3660);
	text_addf(&batch.tables[TABLE_SHARE], "%*d", SHARE_BYTES, 1);
	text_addf(&batch.tables[TABLE_FLOW], "%*d", FLOW_BYTES, 1);
	traffic_writer_put(f->writers[0], &batch);
}

static struct traffic_writer_counts counts(const struct fixture *f, size_t i)
{
	return traffic_writer_counts(f->writers[i]);
}

#define WAIT_UNTIL(f, condition)                                 \
	do {                                                     \
		for (int waited_ = 0; !(condition); waited_++) { \
			assert_int_not_equal(waited_, WAIT_MS);  \
			loop_run_once((f)->loop);                \
			usleep(1000);                            \
		}                                                \
	} while (0)

/* Totals of what was put while it was away are all there when it is back; pairs and flows of the
 * oldest are not: the traffic is "other". */
static void what_waits_loses_flows_first(void **state)
{
	struct fixture *f = *state;
	unsigned cut = 0;

	atomic_store(&f->stores[0].rc, E_UNAVAILABLE);
	for (int i = 0; i < 100; i++) {
		put(f, STEP_HOUR);
		loop_run_once(f->loop);
		assert_in_range(counts(f, 0).waiting_bytes, 1, WAITING_MAX);
	}
	WAIT_UNTIL(f, traffic_writer_problem(f->writers[0]));
	assert_int_equal(counts(f, 0).dropped, 0);
	assert_true(counts(f, 0).thinned > 50);
	atomic_store(&f->stores[0].rc, 0);
	WAIT_UNTIL(f, counts(f, 0).waiting == 0);
	assert_null(traffic_writer_problem(f->writers[0]));
	assert_int_equal(f->stores[0].taken, 100);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(f->stores[0].numbers[i], i);
		assert_int_equal(f->stores[0].bytes[i],
				 f->stores[0].cut[i] ? SHARE_BYTES : SHARE_BYTES + FLOW_BYTES);
		cut += f->stores[0].cut[i];
	}
	assert_int_equal(cut, counts(f, 0).thinned);
	assert_int_equal(counts(f, 0).waiting_bytes, 0);
}

static void then_the_oldest_go(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->stores[0].rc, E_UNAVAILABLE);
	for (int i = 0; i < 500; i++)
		put(f, STEP_HOUR);
	assert_in_range(counts(f, 0).waiting_bytes, 1, WAITING_MAX);
	assert_true(counts(f, 0).dropped > 200);
	atomic_store(&f->stores[0].rc, 0);
	WAIT_UNTIL(f, counts(f, 0).waiting == 0);
	assert_int_equal(f->stores[0].taken + counts(f, 0).dropped, 500);
	assert_int_equal(f->stores[0].numbers[f->stores[0].taken - 1], 499);
	/* Which tells how many will never come. */
	assert_int_equal(f->stores[0].given_up[f->stores[0].taken - 1], counts(f, 0).dropped);
}

static void answers_are_understood(void **state)
{
	static const struct {
		int rc;
		uint64_t written, dropped;
	} rows[] = {{0, 1, 0}, {E_CONFLICT, 1, 0}, {E_INVALID, 0, 1}};
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct traffic_writer_counts before = counts(f, 0);

		atomic_store(&f->stores[0].rc, rows[i].rc);
		put(f, STEP_HOUR);
		WAIT_UNTIL(f, counts(f, 0).waiting == 0);
		assert_int_equal(counts(f, 0).batches - before.batches, rows[i].written);
		assert_int_equal(counts(f, 0).dropped - before.dropped, rows[i].dropped);
		assert_int_equal(counts(f, 0).failures, 0);
	}
}

/* One store away is not the other's business; both know a minute by the same number. */
static void copies_go_their_own_way(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->stores[1].rc, E_UNAVAILABLE);
	put(f, STEP_MINUTE);
	put(f, STEP_HOUR);
	put(f, STEP_MINUTE);
	WAIT_UNTIL(f, counts(f, 0).waiting == 0 && traffic_writer_problem(f->writers[1]));
	assert_int_equal(f->stores[0].taken, 3);
	assert_int_equal(counts(f, 1).waiting, 2);
	assert_int_equal(traffic_writer_pending_s(f->writers[0]), INT64_MAX);
	assert_int_equal(traffic_writer_pending_s(f->writers[1]), 3600);
	atomic_store(&f->stores[1].rc, 0);
	WAIT_UNTIL(f, counts(f, 1).waiting == 0);
	assert_int_equal(f->stores[1].taken, 2);
	assert_int_equal(f->stores[1].numbers[0], 0);
	assert_int_equal(f->stores[1].numbers[1], 2);
}

/* At the end what waits goes if the store takes it, and is not waited for if it does not. */
static void the_end_is_not_waited_for(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->stores[1].rc, E_UNAVAILABLE);
	for (int i = 0; i < 10; i++)
		put(f, STEP_MINUTE);
	for (size_t i = 0; i < 2; i++) {
		traffic_writer_free(f->writers[i], WAIT_MS);
		f->writers[i] = NULL;
		assert_true(atomic_load(&f->stores[i].stopped));
		assert_true(atomic_load(&f->stores[i].freed));
	}
	assert_int_equal(f->stores[0].taken, 10);
	assert_int_equal(f->stores[1].taken, 0);
}

/* A store that came back after the last attempt is asked once more before the end. */
static void a_store_that_is_back_is_asked_at_the_end(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->stores[0].rc, E_UNAVAILABLE);
	for (int i = 0; i < 10; i++)
		put(f, STEP_HOUR);
	WAIT_UNTIL(f, traffic_writer_problem(f->writers[0]));
	atomic_store(&f->stores[0].rc, 0);
	traffic_writer_free(f->writers[0], WAIT_MS);
	f->writers[0] = NULL;
	assert_int_equal(f->stores[0].taken, 10);
}

/* Also when the attempt under way began before it was back. */
static void a_store_that_comes_back_at_the_end_is_asked(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->stores[0].rc, E_UNAVAILABLE);
	atomic_store(&f->stores[0].slow, 1);
	for (int i = 0; i < 10; i++)
		put(f, STEP_HOUR);
	WAIT_UNTIL(f, atomic_load(&f->stores[0].calls) == 1);
	atomic_store(&f->stores[0].rc, 0);
	traffic_writer_free(f->writers[0], WAIT_MS);
	f->writers[0] = NULL;
	assert_int_equal(f->stores[0].taken, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_waits_loses_flows_first, start, stop),
		cmocka_unit_test_setup_teardown(then_the_oldest_go, start, stop),
		cmocka_unit_test_setup_teardown(answers_are_understood, start, stop),
		cmocka_unit_test_setup_teardown(copies_go_their_own_way, start, stop),
		cmocka_unit_test_setup_teardown(the_end_is_not_waited_for, start, stop),
		cmocka_unit_test_setup_teardown(a_store_that_is_back_is_asked_at_the_end, start,
						stop),
		cmocka_unit_test_setup_teardown(a_store_that_comes_back_at_the_end_is_asked, start,
						stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
