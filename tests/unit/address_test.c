// links: bootd_dhcp
/* Leases by both keys under churn; and which address a client gets, as a table of situations. */
#include <stdlib.h>
#include <string.h>

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
	lease_table_unbind(table, lease, LEASE_DECLINED);
	assert_null(lease_by_mac(table, mac_of(1), SUBNET + 1));
	assert_non_null(lease_by_address(table, 2));
	assert_int_equal(lease_table_add(table, 3, mac_of(1), SUBNET + 1, &lease), 0);
	assert_int_equal(
		lease_table_add_unbound(table, 4, mac_of(1), SUBNET + 1, LEASE_RELEASED, &lease),
		0);
	lease_table_remove(table, lease);
	lease = lease_by_address(table, 3);
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

static void build_as(struct world *world, bool restored)
{
	struct inventory_node node = {.id = 1};
	struct inventory_subnet subnet = {.id = SUBNET,
					  .prefix = {BASE, 24},
					  .boot_server = BASE + 1,
					  .pool_low = BASE + 100,
					  .pool_high = BASE + 103,
					  .restored = restored,
					  .lease_s = 600};

	assert_int_equal(inventory_begin(world->inventory), 0);
	assert_int_equal(inventory_add_node(world->inventory, &node), 0);
	assert_int_equal(inventory_add_nic(world->inventory, mac_of(1), 1), 0);
	assert_int_equal(inventory_add_subnet(world->inventory, &subnet), 0);
	assert_int_equal(inventory_add_reservation(world->inventory, mac_of(2), SUBNET, BASE + 17),
			 0);
	assert_int_equal(inventory_commit(world->inventory), 0);
}

static void build(struct world *world)
{
	assert_int_equal(inventory_new(&world->inventory), 0);
	build_as(world, false);
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

static void restored(struct world *world)
{
	build_as(world, true);
}

static void restored_bound(struct world *world)
{
	build_as(world, true);
	put(world->leases, 100, 9, NOW + 60);
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
	put(world->leases, 17, 9, NOW - 700);
}

static void held_a_moment_too_long(struct world *world)
{
	put(world->leases, 17, 9, NOW - 599);
}

static void reserved_declined(struct world *world)
{
	lease_table_unbind(world->leases, put(world->leases, 17, 2, NOW + 60), LEASE_DECLINED);
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
	lease_by_address(world->leases, BASE + 102)->expires_at = NOW - 700;
}

static void pool_full_one_just_over(struct world *world)
{
	pool_full(world, NOW + 60, 20);
	lease_by_address(world->leases, BASE + 102)->expires_at = NOW - 599;
}

static void one_released(struct world *world)
{
	for (unsigned i = 0; i < 3; i++)
		put(world->leases, 100 + i, 20 + i, NOW + 60);
	lease_table_unbind(world->leases, put(world->leases, 103, 30, NOW + 60), LEASE_RELEASED);
}

static void pool_full_node_spent(struct world *world)
{
	put(world->leases, 100, 1, NOW - 5000);
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
	lease_table_unbind(world->leases, put(world->leases, 103, 9, NOW + 60), LEASE_DECLINED);
}

static void one_out_of_quarantine(struct world *world)
{
	one_quarantined(world);
	lease_by_address(world->leases, BASE + 103)->expires_at = NOW - 5;
}

static const struct {
	const char *name;
	void (*arrange)(struct world *);
	unsigned asks;
	uint32_t requested; /* last byte; 0 = none */
	enum address_source source;
	enum address_refusal refusal;
	uint32_t last; /* of the address; 0 = any of the pool */
	bool victim;
} situations[] = {
	{"reservation", nothing, 2, 0, ADDRESS_RESERVED, ADDRESS_OK, 17, false},
	{"reservation before request", nothing, 2, 101, ADDRESS_RESERVED, ADDRESS_OK, 17, false},
	{"pool", nothing, 9, 0, ADDRESS_POOL, ADDRESS_OK, 0, false},
	{"what it asks for", nothing, 9, 101, ADDRESS_REQUESTED, ADDRESS_OK, 101, false},
	{"not outside the pool", nothing, 9, 50, ADDRESS_POOL, ADDRESS_OK, 0, false},
	{"binding is permanent", bound_outside_pool, 9, 101, ADDRESS_BOUND, ADDRESS_OK, 50, false},
	{"unless reserved for another", bound_to_reserved_of_another, 9, 0, ADDRESS_POOL,
	 ADDRESS_OK, 0, false},
	{"reservation held", held_by_live_client, 2, 0, ADDRESS_NONE, ADDRESS_HELD, 0, false},
	{"reservation spent", held_by_spent_client, 2, 0, ADDRESS_RESERVED, ADDRESS_OK, 17, true},
	{"its timer may just have been moved", held_a_moment_too_long, 2, 0, ADDRESS_NONE,
	 ADDRESS_HELD, 0, false},
	{"reservation declined", reserved_declined, 2, 0, ADDRESS_NONE, ADDRESS_QUARANTINED, 0,
	 false},
	{"stays until it is free", held_but_bound_elsewhere, 2, 0, ADDRESS_BOUND, ADDRESS_OK, 100,
	 false},
	{"exhausted", pool_full_live, 9, 0, ADDRESS_NONE, ADDRESS_EXHAUSTED, 0, false},
	{"stranger's spent lease", pool_full_one_spent, 9, 0, ADDRESS_RECLAIMED, ADDRESS_OK, 102,
	 true},
	{"nobody's too early", pool_full_one_just_over, 9, 0, ADDRESS_NONE, ADDRESS_EXHAUSTED, 0,
	 false},
	{"never a node's", pool_full_node_spent, 9, 0, ADDRESS_NONE, ADDRESS_EXHAUSTED, 0, false},
	{"offers count", pool_full_of_offers, 9, 0, ADDRESS_NONE, ADDRESS_EXHAUSTED, 0, false},
	{"own offer", own_offer, 9, 0, ADDRESS_OFFERED, ADDRESS_OK, 101, false},
	{"left by another", one_released, 9, 103, ADDRESS_NONE, ADDRESS_EXHAUSTED, 0, false},
	{"left by itself", one_released, 30, 0, ADDRESS_POOL, ADDRESS_OK, 103, true},
	{"quarantine", one_quarantined, 9, 103, ADDRESS_NONE, ADDRESS_EXHAUSTED, 0, false},
	{"restored: no free one", restored, 9, 0, ADDRESS_NONE, ADDRESS_RESTORED, 0, false},
	{"restored: a stranger's word is none", restored, 9, 101, ADDRESS_NONE, ADDRESS_RESTORED, 0,
	 false},
	{"restored: a node has what it asks for", restored, 1, 101, ADDRESS_REQUESTED, ADDRESS_OK,
	 101, false},
	{"restored: a reservation", restored, 2, 0, ADDRESS_RESERVED, ADDRESS_OK, 17, false},
	{"restored: a binding", restored_bound, 9, 0, ADDRESS_BOUND, ADDRESS_OK, 100, false},
	{"quarantine over", one_out_of_quarantine, 9, 0, ADDRESS_POOL, ADDRESS_OK, 103, true},
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
			.known = situations[i].asks < 9,
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
						      .mac = mac_of(300 + i),
						      .known = true};
			struct address_choice choice = address_policy(&facts);

			assert_int_equal(choice.source, ADDRESS_POOL);
			put(world.leases, choice.address - BASE, 300 + i, NOW);
		}
		tear(&world);
	}
}

/* Subnets 1 and 2 share a link, 3 is alone; 2 is open, 1 and 3 serve known clients only. */
static void build_shared(struct world *world)
{
	assert_int_equal(inventory_new(&world->inventory), 0);
	assert_int_equal(inventory_begin(world->inventory), 0);
	for (uint32_t i = 1; i <= 3; i++) {
		struct inventory_subnet subnet = {.id = i,
						  .prefix = {i << 24, 24},
						  .pool_low = (i << 24) + 100,
						  .pool_high = (i << 24) + 115,
						  .reserved_only = i != 2,
						  .lease_s = 600};

		if (i < 3)
			memcpy(subnet.shared_network, "rack1", 6);
		assert_int_equal(inventory_add_subnet(world->inventory, &subnet), 0);
	}
	assert_int_equal(inventory_add_reservation(world->inventory, mac_of(7), 2, (2 << 24) + 17),
			 0);
	assert_int_equal(inventory_commit(world->inventory), 0);
	assert_int_equal(lease_table_new(100, &world->leases), 0);
	assert_int_equal(lease_table_new(100, &world->offers), 0);
}

static struct address_choice ask_shared(const struct world *world, int64_t link, unsigned who,
					bool known, uint32_t requested)
{
	struct address_facts facts = {.inventory = world->inventory,
				      .subnet = inventory_subnet_by_id(world->inventory, link),
				      .leases = world->leases,
				      .offers = world->offers,
				      .mac = mac_of(who),
				      .known = known,
				      .requested = requested,
				      .now_s = NOW};

	return address_policy(&facts);
}

static void shared_network(void **state)
{
	struct world world;
	struct address_choice choice;
	struct lease *lease;
	unsigned strangers = 0;

	(void)state;
	build_shared(&world);
	assert_int_equal(ask_shared(&world, 1, 9, true, 0).subnet->id, 1);
	assert_int_equal(ask_shared(&world, 2, 9, true, 0).subnet->id, 2);
	assert_int_equal(ask_shared(&world, 1, 9, true, (2 << 24) + 104).address, (2 << 24) + 104);
	assert_int_equal(ask_shared(&world, 1, 9, false, 0).subnet->id, 2);
	assert_int_equal(ask_shared(&world, 3, 9, false, 0).refusal, ADDRESS_STRANGER);
	assert_int_equal(ask_shared(&world, 3, 9, true, (2 << 24) + 104).subnet->id, 3);
	choice = ask_shared(&world, 1, 7, true, 0);
	assert_int_equal(choice.source, ADDRESS_RESERVED);
	assert_int_equal(choice.address, (2 << 24) + 17);

	/* bound on the link, in whatever subnet it is asked by */
	assert_int_equal(lease_table_add(world.leases, (2 << 24) + 101, mac_of(8), 2, &lease), 0);
	choice = ask_shared(&world, 1, 8, true, 0);
	assert_int_equal(choice.source, ADDRESS_BOUND);
	assert_ptr_equal(choice.bound, lease);
	assert_int_equal(ask_shared(&world, 3, 8, true, 0).subnet->id, 3);

	/* strangers never take the last part of a pool; then the next pool is for known ones */
	for (unsigned i = 100; i < 140; i++) {
		choice = ask_shared(&world, 1, i, false, 0);
		if (choice.source == ADDRESS_NONE)
			break;
		assert_int_equal(choice.subnet->id, 2);
		assert_int_equal(
			lease_table_add(world.leases, choice.address, mac_of(i), 2, &lease), 0);
		strangers++;
	}
	assert_int_equal(strangers, 16 - 16 / POOL_KNOWN_SHARE - 1);
	assert_int_equal(choice.refusal, ADDRESS_EXHAUSTED);
	assert_int_equal(ask_shared(&world, 2, 200, true, 0).subnet->id, 2);
	tear(&world);
}

static void one_client_is_throttled(void **state)
{
	const struct throttle_rate rate = {.places = 4096, .burst = 12, .per_second = 2};
	struct throttle throttle;
	unsigned passed = 0;

	(void)state;
	assert_int_equal(throttle_init(&throttle, &rate), 0);
	for (int i = 0; i < 1000; i++)
		passed += throttle_allows(&throttle, 1, 5000);
	assert_int_equal(passed, 12);
	assert_true(throttle_allows(&throttle, 2, 5000));
	assert_false(throttle_allows(&throttle, 1, 5000 + 499));
	assert_true(throttle_allows(&throttle, 1, 5000 + 500));
	assert_true(throttle_allows(&throttle, 1, INT64_MAX / 4));
	throttle_done(&throttle);
}

/* Made-up keys share what their places have: no more than places times the burst at once. */
static void made_up_keys_inherit(void **state)
{
	const struct throttle_rate rate = {
		.places = 16, .burst = 10, .per_second = 1, .inherit = true};
	const struct throttle_rate none = {.places = 16};
	struct throttle throttle;
	unsigned passed = 0;

	(void)state;
	assert_int_equal(throttle_init(&throttle, &rate), 0);
	for (uint64_t i = 1; i < 100000; i++)
		passed += throttle_allows(&throttle, i, 5000);
	assert_int_equal(passed, 160);
	throttle_done(&throttle);
	assert_int_equal(throttle_init(&throttle, &none), 0);
	assert_true(throttle_allows(&throttle, 1, 5000));
	throttle_done(&throttle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_under_churn), cmocka_unit_test(table_is_compact),
		cmocka_unit_test(keys_are_unique),   cmocka_unit_test(choices),
		cmocka_unit_test(walk_visits_all),   cmocka_unit_test(one_client_is_throttled),
		cmocka_unit_test(shared_network),    cmocka_unit_test(made_up_keys_inherit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
