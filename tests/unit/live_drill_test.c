// links: peregrine_flowd
/* Whose counters a drill without a link is told. */
#include <string.h>

#include "common/base/json_text.h"
#include "common/base/macros.h"
#include "common/base/text.h"

#include "peregrine/flowd/live_drill.h"
#include "tests/support/cmocka.h"

enum { PLACES = 5000, ROWS_MAX = 4096 };
#define AT_S   INT64_C(1000000)
#define SECOND INT64_C(1000000)

struct site {
	struct traffic_names *names;
	struct traffic_ring *ring;
	struct port_counters *counters;
	struct traffic_set second;
};

static int start(void **state)
{
	static const struct traffic_limits limits = {
		.shares = 8192, .pairs = 64, .flows = 64, .pairs_kept = 8, .flows_kept = 8};
	static struct site site;

	site = (struct site){0};
	assert_int_equal(traffic_names_new(&site.names), 0);
	assert_int_equal(traffic_ring_new(60, 64 << 20, &site.ring), 0);
	assert_int_equal(port_counters_new(60, &site.counters), 0);
	assert_int_equal(traffic_set_init_live(&site.second, &limits), 0);
	for (unsigned i = 0; i < PLACES; i++) {
		char port[16];

		(void)text_format(port, sizeof(port), "p%u", i);
		assert_int_equal(traffic_names_place(site.names, 1, "s1", port, 1000000000), i);
	}
	assert_int_equal(traffic_names_group(site.names, NULL, 0, REASON_UNKNOWN_PORT), 0);
	*state = &site;
	return 0;
}

static int stop(void **state)
{
	struct site *site = *state;

	traffic_set_done(&site->second);
	port_counters_free(site->counters);
	traffic_ring_free(site->ring);
	traffic_names_free(site->names);
	return 0;
}

static void samples_tell(struct site *site, uint32_t place, uint64_t bytes)
{
	const struct share_key share = {.place = place, .direction = TRAFFIC_OUT};
	const struct pair_key pair = {.a = {.kind = END_NODE}, .b = {.kind = END_NODE}};
	const struct conversation_key flow = {.protocol = 6};
	const struct traffic_sums sums = {.bytes = bytes, .packets = 1, .square = 1, .samples = 1};

	traffic_set_add(&site->second, &share, &pair, &flow, &sums);
}

/* 1,000 bytes in the last second. */
static void counts(struct site *site, uint32_t place)
{
	struct port_reading reading = {
		.out_octets = 500, .speed_bps = 1000000000, .up = true, .seen_us = AT_S * SECOND};

	(void)port_counters_note(site->counters, place, (AT_S - 1) * SECOND, &reading);
	reading.out_octets += 1000;
	reading.seen_us = (AT_S + 1) * SECOND;
	assert_true(port_counters_note(site->counters, place, AT_S * SECOND, &reading));
}

/* What a drill says of the counters of all that it chose. */
static void tell(struct site *site, const char *path, struct text *ret, size_t *ret_count)
{
	const struct live_source source = {site->names, site->ring, site->counters};
	struct live_question question = {0};
	struct live_drill *drill = NULL;
	struct problem problem = {0};
	struct text minute = {0};

	assert_int_equal(traffic_ring_put(site->ring, AT_S, &site->second, &site->second.limits, 1),
			 0);
	port_counters_sum(site->counters, site->ring, AT_S - AT_S % 60);
	assert_int_equal(drill_path_parse(path, &question.path, &problem), 0);
	assert_int_equal(live_drill_new(&question, &source, &drill), 0);
	live_drill_begin(drill);
	assert_true(live_drill_add(drill, AT_S) > 0);
	json_begin_object(&minute, NULL);
	assert_int_equal(live_drill_put(drill, &minute), 0);
	json_end_object(&minute);
	assert_int_equal(live_drill_choose_ports(drill, ret_count), 0);
	json_begin_array(ret, NULL);
	for (size_t i = 0; i < *ret_count; i++)
		live_drill_put_port(drill, i, AT_S - AT_S % 60, AT_S + 1, ret);
	json_end_array(ret);
	text_done(&minute);
	live_drill_free(drill);
}

static void others_that_count_fill_up(void **state)
{
	struct site *site = *state;
	struct text text = {0};
	size_t count;

	samples_tell(site, 3, 700);
	counts(site, 3);
	counts(site, 2); /* stored minutes may tell of it */
	tell(site, "", &text, &count);
	assert_int_equal(count, 2);
	assert_non_null(strstr(text_get(&text), "\"port\":\"p3\""));
	assert_non_null(strstr(text_get(&text), "\"port\":\"p2\""));
	assert_null(strstr(text_get(&text), "\"port\":\"p1\""));
	/* In the last second, and in memory there is none before. */
	assert_non_null(strstr(text_get(&text), "\"end_low\":700,\"end_high\":700}"));
	assert_non_null(strstr(text_get(&text), "\"end_low\":0,\"end_high\":0}"));
	assert_null(strstr(text_get(&text), "begin_"));
	text_done(&text);
	text = (struct text){0};
	tell(site, "link:s1:p2", &text, &count);
	assert_int_equal(count, 1);
	assert_non_null(strstr(text_get(&text), "\"port\":\"p2\""));
	text_done(&text);
}

static void no_more_than_a_minute_has_rows(void **state)
{
	struct site *site = *state;
	struct text text = {0};
	size_t count;

	samples_tell(site, PLACES - 1, 700);
	for (uint32_t i = 0; i < PLACES; i++)
		counts(site, i);
	tell(site, "", &text, &count);
	assert_int_equal(count, ROWS_MAX);
	assert_non_null(strstr(text_get(&text), "\"port\":\"p4999\""));
	assert_non_null(strstr(text_get(&text), "\"port\":\"p0\""));
	assert_non_null(strstr(text_get(&text), "\"port\":\"p4094\""));
	assert_null(strstr(text_get(&text), "\"port\":\"p4095\""));
	text_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(others_that_count_fill_up, start, stop),
		cmocka_unit_test_setup_teardown(no_more_than_a_minute_has_rows, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
