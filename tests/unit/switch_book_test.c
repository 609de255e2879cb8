// links: peregrine_reconcile peregrine_network peregrine_switch common_db common_io common_base
/* What a switch would start with, as far as it is known: ports that have left, as themselves, as
 * members and as aggregates; savings that go well, fail, or began too early. */
#include <stdlib.h>
#include <string.h>

#include "peregrine/control/reconcile/switch_book.h"
#include "tests/support/cmocka.h"

enum { RED = 100, BLUE = 101, PARKING = 4000, PO = 50 };

struct lab {
	struct switch_book book;
	struct known_switch *known;
};

/* A port in a VLAN; `lag`: ifIndex of its aggregate. */
static struct switch_port port_of(const char *name, uint32_t if_index, uint16_t vlan, uint32_t lag)
{
	struct switch_port port = {.if_index = if_index,
				   .up = true,
				   .is_lag = if_index == PO,
				   .lag = lag,
				   .has_vlans = vlan != 0,
				   .vlans = {.native = vlan}};

	(void)text_copy(port.name, sizeof(port.name), name);
	return port;
}

static void take(struct lab *lab, struct switch_port *ports, size_t count)
{
	const struct switch_reading reading = {
		.parts = PART_PORTS | PART_VLANS, .ports = ports, .port_count = count};
	bool changed;

	assert_int_equal(known_take(lab->known, &reading, 1, &changed), 0);
}

static void save(struct lab *lab)
{
	lab->known->left_saved = lab->known->left;
	known_save_begins(lab->known);
	known_save_ends(lab->known, true);
}

static bool elsewhere(const struct lab *lab, const char *name)
{
	const struct known_port *port = known_port_named(lab->known, name);

	assert_non_null(port);
	return known_starts_elsewhere(lab->known, port);
}

static int start(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	assert_non_null(lab);
	lab->known = book_get(&lab->book, 1, "leaf1");
	assert_non_null(lab->known);
	lab->known->parking = lab->known->parking_high = PARKING;
	*state = lab;
	return 0;
}

static int stop(void **state)
{
	struct lab *lab = *state;

	book_done(&lab->book);
	free(lab);
	return 0;
}

static void a_port_that_left_has_left_until_it_is_saved(void **state)
{
	struct lab *lab = *state;
	struct switch_port red = port_of("p1", 1, RED, 0);
	struct switch_port parked = port_of("p1", 1, PARKING, 0);
	struct switch_port blue = port_of("p1", 1, BLUE, 0);

	take(lab, &red, 1);
	assert_false(elsewhere(lab, "p1") || known_may_start_with(lab->known, RED));
	take(lab, &parked, 1);
	assert_true(known_may_start_with(lab->known, RED));
	assert_false(elsewhere(lab, "p1")); /* it is nobody's */
	take(lab, &blue, 1);
	assert_true(elsewhere(lab, "p1"));
	assert_false(known_may_start_with(lab->known, BLUE));
	save(lab);
	assert_false(elsewhere(lab, "p1") || known_may_start_with(lab->known, RED));
}

/* The first way a member, then an aggregate; the second way back. Whether the switch shows what
 * members are in or not. */
static void who_left_as_a_member_has_left_as_the_aggregate(void **state)
{
	struct lab *lab = *state;

	for (unsigned shows = 0; shows < 2; shows++) {
		struct switch_port alone[] = {port_of("p1", 1, RED, 0), port_of("p2", 2, RED, 0)};
		struct switch_port joined[] = {port_of("p1", 1, shows ? BLUE : 0, PO),
					       port_of("p2", 2, shows ? BLUE : 0, PO),
					       port_of("po1", PO, BLUE, 0)};

		take(lab, alone, COUNT_OF(alone));
		save(lab);
		take(lab, joined, COUNT_OF(joined));
		assert_true(elsewhere(lab, "po1"));
		assert_true(known_may_start_with(lab->known, RED));
		save(lab);
		assert_false(elsewhere(lab, "po1") || lab->known->doubtful);
		take(lab, alone, COUNT_OF(alone));
		assert_true(elsewhere(lab, "p1") && elsewhere(lab, "p2"));
		assert_true(known_may_start_with(lab->known, BLUE));
		assert_false(lab->known->doubtful);
		save(lab);
		assert_false(elsewhere(lab, "p1") || elsewhere(lab, "p2"));
	}
}

/* By way of the parking VLAN, as the engine goes. */
static void who_left_before_it_became_a_member_has_left(void **state)
{
	struct lab *lab = *state;
	struct switch_port red[] = {port_of("p1", 1, RED, 0)};
	struct switch_port parked[] = {port_of("p1", 1, PARKING, 0)};
	struct switch_port joined[] = {port_of("p1", 1, 0, PO), port_of("po1", PO, PARKING, 0)};
	struct switch_port blue[] = {port_of("p1", 1, 0, PO), port_of("po1", PO, BLUE, 0)};
	struct switch_port back[] = {port_of("p1", 1, RED, 0)};

	take(lab, red, 1);
	take(lab, parked, 1);
	take(lab, joined, 2);
	take(lab, blue, 2);
	assert_true(elsewhere(lab, "po1"));
	take(lab, joined, 2);
	take(lab, back, 1);
	assert_true(elsewhere(lab, "p1"));
	assert_true(known_may_start_with(lab->known, BLUE));
}

static void a_port_that_is_not_shown_is_remembered(void **state)
{
	struct lab *lab = *state;
	struct switch_port both[] = {port_of("p1", 1, RED, 0), port_of("p2", 2, PARKING, 0)};
	struct switch_port moved[] = {port_of("p1", 1, BLUE, 0), port_of("p2", 2, PARKING, 0)};

	take(lab, both, 2);
	take(lab, &both[1], 1);
	assert_true(known_may_start_with(lab->known, RED));
	take(lab, moved, 2);
	assert_true(elsewhere(lab, "p1"));
	lab->known->doubtful = false; /* as when it was saved */
	save(lab);
	assert_false(elsewhere(lab, "p1"));
	take(lab, &moved[0], 1); /* of a free one nothing is to be remembered */
	assert_false(lab->known->doubtful);
}

static void a_saving_counts_for_what_was_there_when_it_began(void **state)
{
	struct lab *lab = *state;
	const struct switch_edit edit = {.kind = EDIT_PORT,
					 .port = "p1",
					 .before = {.native = PARKING},
					 .after = {.native = BLUE}};
	struct switch_port red = port_of("p1", 1, RED, 0);
	struct switch_port parked = port_of("p1", 1, PARKING, 0);

	assert_true(known_may_start_with(lab->known, RED)); /* nobody has read it */
	take(lab, &red, 1);
	known_save_begins(lab->known);
	take(lab, &parked, 1);
	known_save_ends(lab->known, true);
	assert_true(known_may_start_with(lab->known, RED));
	known_save_begins(lab->known);
	assert_true(known_may_start_with(lab->known, RED));
	known_save_ends(lab->known, false);
	assert_true(known_may_start_with(lab->known, RED));
	save(lab);
	assert_false(known_may_start_with(lab->known, RED));
	/* Sent, perhaps saved, and taken back before anybody saw it. */
	known_sends(lab->known, &edit, 1);
	assert_true(known_may_start_with(lab->known, BLUE));
	assert_false(known_may_start_with(lab->known, PARKING));
	save(lab);
	assert_false(known_may_start_with(lab->known, BLUE));
}

/* What moves by our own doing is no news; what moves after that is. What others moved beside it is
 * in the same mark: all is read once, and nothing waits for that. */
static void a_look_tells_of_ports_that_others_moved(void **state)
{
	struct lab *lab = *state;
	const struct switch_edit edit = {.kind = EDIT_VLAN_CREATE, .vlan = BLUE};
	struct switch_port red = port_of("p1", 1, RED, 0);
	const struct switch_reading some = {.ports = &red, .port_count = 1};
	struct switch_identity identity = {.uptime_ms = 1, .member_changes = 7};

	take(lab, &red, 1);
	assert_false(known_look(lab->known, &identity, 10));
	assert_true(lab->known->reread); /* that reading told no mark */
	take(lab, &red, 1);
	assert_false(known_look(lab->known, &identity, 11));
	identity.member_changes = 8;
	assert_true(known_look(lab->known, &identity, 12));
	assert_false(known_look(lab->known, &identity, 13));
	identity.member_changes = 0; /* not told this time */
	assert_false(known_look(lab->known, &identity, 14));
	assert_false(lab->known->reread);
	known_sends(lab->known, &edit, 20);
	identity.member_changes = 9;
	assert_false(known_look(lab->known, &identity, 19)); /* asked before, told after it */
	assert_int_equal(known_merge(lab->known, &some, 30), 0);
	assert_false(lab->known->reread);
	identity.member_changes = 10;
	assert_false(known_look(lab->known, &identity, 31));
	assert_true(lab->known->reread);
	take(lab, &red, 1);
	assert_false(known_look(lab->known, &identity, 32));
	assert_false(lab->known->reread);
	identity.member_changes = 9;
	assert_true(known_look(lab->known, &identity, 33));
	identity.uptime_ms = 0;
	assert_true(known_look(lab->known, &identity, 34));
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, start, stop)
	const struct CMUnitTest tests[] = {
		CASE(a_port_that_left_has_left_until_it_is_saved),
		CASE(who_left_as_a_member_has_left_as_the_aggregate),
		CASE(who_left_before_it_became_a_member_has_left),
		CASE(a_port_that_is_not_shown_is_remembered),
		CASE(a_look_tells_of_ports_that_others_moved),
		CASE(a_saving_counts_for_what_was_there_when_it_began),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
