// links: peregrine_flowd
/* What COPY gets: each row's fields, as PostgreSQL's text format wants them. */
#include <stdlib.h>
#include <string.h>

#include "common/base/macros.h"

#include "peregrine/flowd/traffic_text.h"
#include "tests/support/cmocka.h"

#define IN       "60\t1970-01-01T00:00:00.000Z\t12\tEth1/7\tin\t9\t7\t1301\t\t"
#define OUT      "60\t1970-01-01T00:00:00.000Z\t12\tEth1/7\tout\t\\N\t\\N\t5\tunknown_port\t"
#define IN_SUMS  "4294967296\t3\t2\t1.5\t"
#define OUT_SUMS "0\t3\t2\t9.2233720368547758e+18\t"
#define ENDS     "10.0.9.255\t02:00:00:00:00:ab\t"
#define FLOW     "1\t10.0.9.255\t0.1.100.200\t1024\t65535\t6\t2048\t"

static void address(const char *last, uint8_t ret[16])
{
	memset(ret, 0, 16);
	ret[10] = ret[11] = 0xff;
	for (int i = 0; i < 4; i++)
		ret[12 + i] = (uint8_t)last[i];
}

static void put(struct traffic_set *set, const struct share_key *share, double square,
		uint64_t bytes)
{
	struct pair_key pair = {.a = {.kind = END_IP}, .b = {.kind = END_MAC}};
	struct conversation_key flow = {.source_port = 1024,
					.target_port = 65535,
					.protocol = 6,
					.ethertype = 0x0800,
					.forward = 1};
	const struct traffic_sums sums = {
		.bytes = bytes, .packets = 3, .samples = 2, .square = square};

	address("\x0a\x00\x09\xff", pair.a.bytes);
	memcpy(pair.b.bytes, "\x02\x00\x00\x00\x00\xab", 6);
	address("\x0a\x00\x09\xff", flow.source);
	address("\x00\x01\x64\xc8", flow.target);
	traffic_set_add(set, share, &pair, &flow, &sums);
}

static void rows_have_all_their_fields(void **state)
{
	static const struct traffic_limits limits = {
		.shares = 8, .pairs = 8, .flows = 8, .pairs_kept = 8, .flows_kept = 8};
	const struct index_network network = {
		.id = 7, .tenant = 9, .name = "n\t1", .tenant_name = "a\\b"};
	struct traffic_names *names = NULL;
	struct traffic_batch batch;
	struct traffic_set set;
	struct share_key share = {.direction = TRAFFIC_IN};

	(void)state;
	assert_int_equal(traffic_names_new(&names), 0);
	assert_int_equal(traffic_set_init(&set, &limits), 0);
	share.place = traffic_names_place(names, 12, "leaf1", "Eth1/7", 1000);
	share.group = traffic_names_group(names, &network, 1301, REASON_NONE);
	put(&set, &share, 1.5, 4294967296);
	share.direction = TRAFFIC_OUT;
	share.group = traffic_names_group(names, NULL, 5, REASON_UNKNOWN_PORT);
	put(&set, &share, 9007199254740993.0 * 1024, 0);
	traffic_batch_begin(&batch, STEP_MINUTE, 0, 0, 60);
	traffic_batch_set(&batch, true, &set, names);
	assert_true(traffic_batch_whole(&batch));
	assert_string_equal(text_get(&batch.tables[TABLE_SHARE]),
			    IN "a\\\\b\tn\\t1\t" IN_SUMS "0\t1\n" OUT "\t\t" OUT_SUMS "0\t1\n");
	assert_string_equal(text_get(&batch.tables[TABLE_PAIR]),
			    IN ENDS IN_SUMS "0\t0\n" OUT ENDS OUT_SUMS "0\t0\n");
	assert_string_equal(text_get(&batch.tables[TABLE_FLOW]),
			    IN ENDS FLOW IN_SUMS "0\n" OUT ENDS FLOW OUT_SUMS "0\n");
	traffic_batch_done(&batch);
	traffic_set_done(&set);
	traffic_names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_all_their_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
