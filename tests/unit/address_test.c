// links: bootd_dhcp
/* Leases by both keys under churn; and which address a client gets, as a table of situations. */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "bampi/bootd/dhcp/address_policy.h"
#include "bampi/bootd/dhcp/lease_table.h"
#include "bampi/bootd/dhcp/throttle.h"
#include "tests/support/cmocka.h"

#define SUBNET 1
#define BASE   0x0a000000U /* 10.0.0.0/24, pool .100 to .103 */
#define NOW    1000000
#define CHURN  20000

static struct mac mac_of(unsigned number)
{
	return (struct mac){{2, 0, 0, 0, (uint8_t)(number >> 8), (uint8_t)number}};
}

static struct lease *put(struct lease_table *table, uint32_t last, unsigned owner,
			 int64_t expires_at)
{
	struct lease *lease;

	assert_int_equal(lease_table_add(table, BASE + last, mac_of(owner), SUBNET, &lease), 0);
	lease->committed = true;
	lease->expires_at = expires_at;
	return lease;
}

static void table_under_churn(void **state)
{
	struct lease_table *table;
	static uint32_t owner_of[CHURN];
	size_t count = 0;

	(void)state;
	srand(1);
	assert_int_equal(lease_table_new(CHURN, &table), 0);
	for (unsigned i = 0; i < 8 * CHURN; i++) {
		uint32_t at = (uint32_t)rand() % CHURN;
		struct lease *lease = lease_by_address(table, BASE + at);

		assert_int_equal(lease != NULL, owner_of[at] != 0);
		if (lease) {
			assert_ptr_equal(lease, lease_by_mac(table, mac_of(owner_of[at]), SUBNET));
			lease_table_remove(table, lease);
			owner_of[at] = 0;
			count--;
		} else if (lease_table_add(table, BASE + at, mac_of(at + 1), SUBNET, &lease) == 0) {
			owner_of[at] = at + 1;
			count++;
		}
		assert_int_equal(lease_table_count(table), count);
	}
	for (size_t cursor = 0; lease_table_next(table, &cursor); count--)
		;
	assert_int_equal(count, 0);
	lease_table_free(table);
}

static void table_is_compact(void **state)
{
	struct lease_table *table;
	struct lease *lease;

	(void)state;
	assert_int_equal(lease_table_new(100000, &table), 0);
	for (uint32_t i = 0; i < 100000; i++) {
		struct mac mac = {{2, 0, 0, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i}};

		assert_int_equal(lease_table_add(table, BASE + i, mac, SUBNET, &lease), 0);
	}
	assert_int_equal(lease_table_add(table, 1, mac_of(1), SUBNET + 1, &lease), E_LIMIT);
	print_message("%zu bytes a lease\n", lease_table_size(table) / 100000);
	assert_true(lease_table_size(table) / 100000 < 300);
	lease_table_free(table);
}

static void keys_are_unique(void **state)
{
	struct lease_table *table;
	struct lease *lease;

	(void)state;
	assert_int_equal(lease_table_new(10, &table), 0);
	assert_int_equal(lease_table_add(table, 1, mac_of(1), SUBNET, &lease), 0);
	assert_int_equal(lease_table_add(table, 1, mac_of(2), SUBNET, &lease), E_CONFLICT);
	assert_int_equal(lease_table_add(table, 2, mac_of(1), SUBNET, &lease), E_CONFLICT);
	assert_int_equal(lease_table_add(table, 2, mac_of(1), SUBNET + 1, &lease), 0);
	lease_table_decline(table, lease);
	assert_null(lease_by_mac(table, mac_of(1), SUBNET + 1));
	assert_non_null(lease_by_address(table, 2));
	assert_int_equal(lease_table_add(table, 3, mac_of(1), SUBNET + 1, &lease), 0);
	lease_table_remove(table, lease_by_address(table, 2));
	assert_ptr_equal(lease_by_mac(table, mac_of(1), SUBNET + 1), lease);
	assert_int_equal(lease_table_intern(table, "x"), lease_table_intern(table, "x"));
	assert_int_equal(lease_table_intern(table, ""), 0);
	lease_table_free(table);
}

/* One situation: MAC 1 is a node, MAC 2 has .17 reserved, MAC 9 asks unless `asks` says otherwise.
 */
struct world {
	struct inventory *inventory;
	struct lease_table *leases, *offers;
};

static void build(struct world *world)
{
	struct inventory_node node = {.id = 1};
	struct inventory_subnet subnet = {.id = SUBNET,
					  .prefix = {BASE, 24},
					  .boot_server = BASE + 1,
					  .pool_low = BASE + 100,
					  .pool_high = BASE + 103,
					  .lease_s = 600};

	assert_int_equal(inventory_new(&world->inventory), 0);
	assert_int_equal(inventory_begin(world->inventory), 0);
	assert_int_equal(inventory_add_node(world->inventory, &node), 0);
	assert_int_equal(inventory_add_nic(world->inventory, mac_of(1), 1), 0);
	assert_int_equal(inventory_add_subnet(world->inventory, &subnet), 0);
	assert_int_equal(inventory_add_reservation(world->inventory, mac_of(2), SUBNET, BASE + 17),
			 0);
	assert_int_equal(inventory_commit(world->inventory), 0);
	assert_int_equal(lease_table_new(100, &world->leases), 0);
	assert_int_equal(lease_table_new(100, &world->offers), 0);
}

static void tear(struct world *world)
{
	inventory_free(world->inventory);
	lease_table_free(world->leases);
	lease_table_free(world->offers);
}

static void nothing(struct world *world)
{
	(void)world;
}

static void bound_outside_pool(struct world *world)
{
	put(world->leases, 50, 9, 0);
}

static void bound_to_reserved_of_another(struct world *world)
{
	put(world->leases, 17, 9, 0);
}

static void held_by_live_client(struct world *world)
{
	put(world->leases, 17, 9, NOW + 60);
}

static void held_by_spent_client(struct world *world)
{
	put(world->leases, 17, 9, NOW - 60);
}

static void reserved_declined(struct world *world)
{
	lease_table_decline(world->leases, put(world->leases, 17, 2, NOW + 60));
}

static void held_but_bound_elsewhere(struct world *world)
{
	put(world->leases, 17, 9, NOW + 60);
	put(world->leases, 100, 2, NOW + 60);
}

static void pool_full(struct world *world, int64_t expires_at, unsigned owner)
{
	for (unsigned i = 0; i < 4; i++)
		put(world->leases, 100 + i, owner + i, expires_at);
}

static void pool_full_live(struct world *world)
{
	pool_full(world, NOW + 60, 20);
}

static void pool_full_one_spent(struct world *world)
{
	pool_full(world, NOW + 60, 20);
	lease_by_address(world->leases, BASE + 102)->expires_at = NOW - 5;
}

static void pool_full_node_spent(struct world *world)
{
	put(world->leases, 100, 1, NOW - 500);
	for (unsigned i = 1; i < 4; i++)
		put(world->leases, 100 + i, 20 + i, NOW + 60);
}

static void pool_full_of_offers(struct world *world)
{
	for (unsigned i = 0; i < 4; i++)
		put(world->offers, 100 + i, 20 + i, 1);
}

static void own_offer(struct world *world)
{
	pool_full_of_offers(world);
	lease_table_remove(world->offers, lease_by_address(world->offers, BASE + 101));
	put(world->offers, 101, 9, 1);
}

static void one_quarantined(struct world *world)
{
	for (unsigned i = 0; i < 3; i++)
		put(world->leases, 100 + i, 20 + i, NOW + 60);
	lease_table_decline(world->leases, put(world->leases, 103, 9, NOW + 60));
}

static void one_out_of_quarantine(struct world *world)
{
	one_quarantined(world);
	lease_by_address(world->leases, BASE + 103)->expires_at = NOW - 1;
}

static const struct {
	const char *name;
	void (*arrange)(struct world *);
	unsigned asks;
	uint32_t requested; /* last byte; 0 = none */
	bool may_reclaim;
	enum address_source source;
	enum address_refusal refusal;
	uint32_t last; /* of the address; 0 = any of the pool */
	bool victim;
} situations[] = {
	{"reservation", nothing, 2, 0, true, ADDRESS_RESERVED, ADDRESS_OK, 17, false},
	{"reservation before request", nothing, 2, 101, true, ADDRESS_RESERVED, ADDRESS_OK, 17,
	 false},
	{"pool", nothing, 9, 0, true, ADDRESS_POOL, ADDRESS_OK, 0, false},
	{"what it asks for", nothing, 9, 101, true, ADDRESS_REQUESTED, ADDRESS_OK, 101, false},
	{"not outside the pool", nothing, 9, 50, true, ADDRESS_POOL, ADDRESS_OK, 0, false},
	{"binding is permanent", bound_outside_pool, 9, 101, true, ADDRESS_BOUND, ADDRESS_OK, 50,
	 false},
	{"unless reserved for another", bound_to_reserved_of_another, 9, 0, true, ADDRESS_POOL,
	 ADDRESS_OK, 0, false},
	{"reservation held", held_by_live_client, 2, 0, true, ADDRESS_NONE, ADDRESS_HELD, 0, false},
	{"reservation spent", held_by_spent_client, 2, 0, true, ADDRESS_RESERVED, ADDRESS_OK, 17,
	 true},
	{"too early to tell", held_by_spent_client, 2, 0, false, ADDRESS_NONE, ADDRESS_HELD, 0,
	 false},
	{"reservation declined", reserved_declined, 2, 0, true, ADDRESS_NONE, ADDRESS_QUARANTINED,
	 0, false},
	{"stays until it is free", held_but_bound_elsewhere, 2, 0, true, ADDRESS_BOUND, ADDRESS_OK,
	 100, false},
	{"exhausted", pool_full_live, 9, 0, true, ADDRESS_NONE, ADDRESS_EXHAUSTED, 0, false},
	{"stranger's spent lease", pool_full_one_spent, 9, 0, true, ADDRESS_RECLAIMED, ADDRESS_OK,
	 102, true},
	{"not after a restart", pool_full_one_spent, 9, 0, false, ADDRESS_NONE, ADDRESS_EXHAUSTED,
	 0, false},
	{"never a node's", pool_full_node_spent, 9, 0, true, ADDRESS_NONE, ADDRESS_EXHAUSTED, 0,
	 false},
	{"offers count", pool_full_of_offers, 9, 0, true, ADDRESS_NONE, ADDRESS_EXHAUSTED, 0,
	 false},
	{"own offer", own_offer, 9, 0, true, ADDRESS_OFFERED, ADDRESS_OK, 101, false},
	{"quarantine", one_quarantined, 9, 103, true, ADDRESS_NONE, ADDRESS_EXHAUSTED, 0, false},
	{"quarantine over", one_out_of_quarantine, 9, 0, true, ADDRESS_POOL, ADDRESS_OK, 103, true},
};

static void choices(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(situations); i++) {
		struct world world;
		struct address_facts facts;
		struct address_choice choice;

		build(&world);
		situations[i].arrange(&world);
		facts = (struct address_facts){
			.inventory = world.inventory,
			.subnet = inventory_subnet_by_id(world.inventory, SUBNET),
			.leases = world.leases,
			.offers = world.offers,
			.mac = mac_of(situations[i].asks),
			.requested = situations[i].requested ? BASE + situations[i].requested : 0,
			.now_s = NOW,
			.may_reclaim = situations[i].may_reclaim,
		};
		choice = address_policy(&facts);
		print_message("%s\n", situations[i].name);
		assert_int_equal(choice.source, situations[i].source);
		assert_int_equal(choice.refusal, situations[i].refusal);
		assert_int_equal(choice.victim != NULL, situations[i].victim);
		if (situations[i].last)
			assert_int_equal(choice.address, BASE + situations[i].last);
		else if (choice.source != ADDRESS_NONE)
			assert_in_range(choice.address, BASE + 100, BASE + 103);
		/* pure: the same facts, the same answer */
		assert_int_equal(address_policy(&facts).address, choice.address);
		tear(&world);
	}
}

/* Every client of a full pool got another address: the walk visits each once, whatever the size. */
static void walk_visits_all(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= 60; size++) {
		struct world world;
		struct inventory_subnet subnet;

		build(&world);
		subnet = *inventory_subnet_by_id(world.inventory, SUBNET);
		subnet.pool_high = subnet.pool_low + size - 1;
		for (unsigned i = 0; i < size; i++) {
			struct address_facts facts = {.inventory = world.inventory,
						      .subnet = &subnet,
						      .leases = world.leases,
						      .offers = world.offers,
						      .mac = mac_of(300 + i)};
			struct address_choice choice = address_policy(&facts);

			assert_int_equal(choice.source, ADDRESS_POOL);
			put(world.leases, choice.address - BASE, 300 + i, NOW);
		}
		tear(&world);
	}
}

static void one_client_is_throttled(void **state)
{
	struct throttle *throttle = calloc(1, sizeof(*throttle));
	unsigned passed = 0;

	(void)state;
	assert_non_null(throttle);
	for (int i = 0; i < 1000; i++)
		passed += throttle_allows(throttle, mac_of(1), 5000);
	assert_int_equal(passed, THROTTLE_BURST);
	assert_true(throttle_allows(throttle, mac_of(2), 5000));
	assert_false(throttle_allows(throttle, mac_of(1), 5000 + 1000 / THROTTLE_PER_SECOND - 1));
	assert_true(throttle_allows(throttle, mac_of(1), 5000 + 1000 / THROTTLE_PER_SECOND));
	assert_true(throttle_allows(throttle, mac_of(1), INT64_MAX / 4));
	free(throttle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_under_churn), cmocka_unit_test(table_is_compact),
		cmocka_unit_test(keys_are_unique),   cmocka_unit_test(choices),
		cmocka_unit_test(walk_visits_all),   cmocka_unit_test(one_client_is_throttled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
