// links: portal_server
/* The newest events in memory: none is lost, doubled or out of order as long as it is not older than the floor,
 * whatever the sizes of texts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "portal/server/event_ring.h"
#include "tests/support/cmocka.h"

static const struct event_words words = {"acme", "node", "n1", "node.state"};

static struct event_position at(uint64_t n)
{
	return (struct event_position){.xid = n / 3 + 1, .id = n};
}

static void add(struct event_ring *ring, uint64_t n, size_t size)
{
	char *body = malloc(size + 1);

	assert_non_null(body);
	memset(body, 'x', size);
	body[size] = '\0';
	event_ring_add(ring, at(n), &words, body);
	free(body);
}

/* Reads all after `from` by runs, and holds every text against what was added. */
static uint64_t read_all(const struct event_ring *ring, uint64_t from, const size_t *sizes)
{
	uint64_t n = from;

	for (uint64_t i = event_ring_after(ring, at(from)); i < event_ring_stop(ring);) {
		uint64_t next;
		size_t size;
		const char *run = event_ring_run(ring, i, 5000, &next, &size);
		const char *end = run + size;

		assert_true(next > i);
		assert_true(size <= 5000 || next == i + 1);
		for (; i < next; i++) {
			char head[64];

			n++;
			assert_int_equal(event_ring_position(ring, i).id, n);
			assert_true(text_format(head, sizeof(head),
						"id: %" PRIu64 "-%" PRIu64 "\ndata: ", at(n).xid,
						n));
			assert_memory_equal(run, head, strlen(head));
			run += strlen(head) + sizes[n];
			assert_memory_equal(run, "\n\n", 2);
			run += 2;
		}
		assert_ptr_equal(run, end);
	}
	return n;
}

static void test_keeps(void **state)
{
	enum { COUNT = 60000 };
	struct event_ring *ring;
	size_t *sizes = calloc(COUNT + 1, sizeof(*sizes));
	unsigned seed = 7;

	(void)state;
	assert_non_null(sizes);
	assert_int_equal(event_ring_new(&ring), 0);
	event_ring_reset(ring, at(0));
	for (uint64_t n = 1; n <= COUNT; n++) {
		seed = seed * 1103515245 + 12345;
		/* small ones fill the table, large ones the bytes, and some are larger than a run */
		sizes[n] = n < 25000 ? 20 : seed >> 16 & 2047;
		if (n % 997 == 0)
			sizes[n] = 20000;
		add(ring, n, sizes[n]);
		if (n % 1501 == 0) {
			uint64_t floor = event_ring_floor(ring).id;

			assert_int_equal(event_ring_end(ring).id, n);
			assert_true(n - floor <= EVENT_RING_EVENTS);
			assert_true(n - floor >= (n < EVENT_RING_EVENTS ? n : 5000));
			assert_int_equal(read_all(ring, floor, sizes), n);
			assert_int_equal(read_all(ring, (floor + n) / 2, sizes), n);
			assert_int_equal(read_all(ring, n, sizes), n);
		}
	}
	event_ring_free(ring);
	free(sizes);
}

static void test_words(void **state)
{
	struct event_ring *ring;
	struct event_words kept;

	(void)state;
	assert_int_equal(event_ring_new(&ring), 0);
	event_ring_add(ring, at(1), &(struct event_words){"", "", "x", "a.b"}, "{}");
	event_ring_add(ring, at(2), &words, "{}");
	kept = event_ring_words(ring, event_ring_after(ring, at(0)));
	assert_string_equal(kept.tenant, "");
	assert_string_equal(kept.subject_kind, "");
	assert_string_equal(kept.subject, "x");
	assert_string_equal(kept.kind, "a.b");
	kept = event_ring_words(ring, event_ring_after(ring, at(1)));
	assert_string_equal(kept.tenant, "acme");
	assert_string_equal(kept.kind, "node.state");
	event_ring_free(ring);
}

/* One that memory cannot hold leaves a floor: who is before it is served by the database. */
static void test_too_large(void **state)
{
	struct event_ring *ring;

	(void)state;
	assert_int_equal(event_ring_new(&ring), 0);
	event_ring_reset(ring, at(0));
	add(ring, 1, 10);
	add(ring, 2, EVENT_RING_BYTES / 2);
	assert_int_equal(event_ring_floor(ring).id, 2);
	assert_int_equal(event_ring_after(ring, at(0)), event_ring_stop(ring));
	add(ring, 3, EVENT_RING_BYTES / 2 - 100);
	add(ring, 4, EVENT_RING_BYTES / 2 - 100);
	assert_int_equal(event_ring_floor(ring).id, 2);
	add(ring, 5, EVENT_RING_BYTES / 2 - 100);
	assert_int_equal(event_ring_floor(ring).id, 3);
	assert_int_equal(event_ring_end(ring).id, 5);
	event_ring_free(ring);
}

static void test_positions(void **state)
{
	(void)state;
	assert_int_equal(event_position_read("812-40").xid, 812);
	assert_int_equal(event_position_read("812-40").id, 40);
	assert_int_equal(event_position_read("x").xid, 0);
	assert_true(
		event_position_after((struct event_position){2, 1}, (struct event_position){1, 9}));
	assert_false(
		event_position_after((struct event_position){2, 1}, (struct event_position){2, 1}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_positions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
