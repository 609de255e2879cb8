// links: peregrine_fabric peregrine_switch common_net common_base
/* What a reading takes over from the one before: when a port lost its link, and which entries of
 * the FDB are from before that. */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/control/fabric/discovery_private.h"
#include "tests/support/cmocka.h"

enum { PORTS = 2 };
#define SECOND ((int64_t)1000000)

/* One port p0 and one p1; p0 may have a link, and an entry for one MAC. */
static struct switch_reading reading_of(bool up, bool entry)
{
	struct switch_reading reading = {.parts = PART_ALL};

	reading.ports = calloc(PORTS, sizeof(*reading.ports));
	reading.fdb = calloc(1, sizeof(*reading.fdb));
	if (!reading.ports || !reading.fdb)
		abort();
	reading.port_count = PORTS;
	for (unsigned i = 0; i < PORTS; i++) {
		(void)text_format(reading.ports[i].name, 64, "p%u", i);
		reading.ports[i].if_index = i + 1;
		reading.ports[i].up = i > 0 || up;
	}
	reading.fdb_count = entry;
	memcpy(reading.fdb[0].mac, (uint8_t[]){0x52, 0x54, 0, 0, 0, 1}, 6);
	reading.fdb[0].vlan = 201;
	reading.fdb[0].if_index = 1;
	return reading;
}

static void take(struct sight *sight, struct switch_reading next, int64_t now_us)
{
	sight_carry(sight, &next, now_us);
	switch_reading_done(&sight->reading);
	sight->reading = next;
}

static void entries_age_from_the_cut(void **state)
{
	static const struct {
		int64_t at_s;
		bool up, entry;
		int64_t cut_s; /* 0 = never */
		bool old;
	} rows[] = {
		{10, true, true, 0, false},     {20, false, true, 20, true},
		{30, true, true, 20, true}, /* still the old one */
		{40, true, true, 20, true},     {50, true, false, 20, false}, /* gone */
		{60, true, true, 20, false},                                  /* learned anew */
		{70, false, false, 70, false},  {80, true, true, 70, false},
		{90, false, true, 90, true},    {100, true, true, 90, true},
		{391, true, true, 90, false}, /* no entry lives that long without a frame */
		{400, true, false, 90, false},  {500, false, false, 500, false},
		{510, false, true, 510, false}, /* plugged in while it was read */
		{520, true, true, 510, false},
	};
	struct sight sight = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		take(&sight, reading_of(rows[i].up, rows[i].entry), rows[i].at_s * SECOND);
		assert_int_equal(sight.cut_us[0], rows[i].cut_s * SECOND);
		assert_int_equal(sight.cut_us[1], 0);
		assert_int_equal(sight.fdb_old ? sight.fdb_old[0] : 0, rows[i].old);
	}
	switch_reading_done(&sight.reading);
	free(sight.cut_us);
	free(sight.fdb_old);
}

/* The port p0 goes and comes between two readings, which only its mark tells. */
static void a_flap_is_a_cut(void **state)
{
	static const struct {
		int64_t at_s;
		bool up, entry;
		uint64_t mark, uptime_ms;
		int64_t cut_s;
		bool old, unseen;
	} rows[] = {
		{10, true, true, 1, 10000, 0, false, false},
		{20, true, true, 1, 20000, 0, false, false},
		{30, true, true, 2, 30000, 30, true, true}, /* whose entry? */
		{40, true, true, 2, 40000, 30, true, true},
		{50, true, false, 2, 50000, 30, false, true},
		{60, true, true, 2, 60000, 30, false, false}, /* learned since */
		{70, false, true, 3, 70000, 70, true, false},
		{80, true, false, 4, 80000, 70, false, true}, /* the cut was seen: not again */
		{90, true, true, 4, 90000, 70, false, false},
		{100, true, true, 1, 1000, 70, false, false},  /* rebooted: its marks began anew */
		{110, true, true, 0, 11000, 70, false, false}, /* not told this time */
		{120, true, true, 5, 21000, 70, false, false},
		{130, true, false, 6, 31000, 130, false, true},
		{431, true, false, 6, 331000, 130, false, false}, /* nobody will speak any more */
	};
	struct sight sight = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct switch_reading next = reading_of(rows[i].up, rows[i].entry);

		next.ports[0].link_mark = rows[i].mark;
		next.identity.uptime_ms = rows[i].uptime_ms;
		take(&sight, next, rows[i].at_s * SECOND);
		assert_int_equal(sight.cut_us[0], rows[i].cut_s * SECOND);
		assert_int_equal(sight.cut_us[1], 0);
		assert_int_equal(sight.fdb_old ? sight.fdb_old[0] : 0, rows[i].old);
		assert_int_equal(sight_is_unseen(&sight, rows[i].at_s * SECOND), rows[i].unseen);
	}
	switch_reading_done(&sight.reading);
	free(sight.cut_us);
	free(sight.fdb_old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_age_from_the_cut),
		cmocka_unit_test(a_flap_is_a_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
