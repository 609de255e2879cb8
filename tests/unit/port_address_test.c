// links: bootd_dhcp
/* Which address a port gives: before pools and bindings, after reservations, and to nobody else. */
#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/text.h"

#include "bampi/bootd/dhcp/address_policy.h"
#include "tests/support/cmocka.h"

#define NET  0x0a020000U /* 10.2.0.0/24; ports give .1 to .48, the pool is .1 to .100 */
#define BASE NET

struct site {
	struct inventory *inventory;
	struct cable *cable;
	struct lease_table *leases, *offers;
	struct address_facts facts;
};

static struct mac mac_of(uint8_t number)
{
	return (struct mac){{2, 0, 0, 0, 0, number}};
}

static int setup(void **state)
{
	struct site *site = calloc(1, sizeof(*site));
	struct inventory_subnet subnet = {.id = 1,
					  .prefix = {NET, 24},
					  .pool_low = NET + 1,
					  .pool_high = NET + 100,
					  .lease_s = 600};

	assert_non_null(site);
	assert_int_equal(inventory_new(&site->inventory), 0);
	assert_int_equal(inventory_begin(site->inventory), 0);
	assert_int_equal(inventory_add_subnet(site->inventory, &subnet), 0);
	assert_int_equal(inventory_add_reservation(site->inventory, mac_of(9), 1, NET + 20), 0);
	assert_int_equal(inventory_commit(site->inventory), 0);
	assert_int_equal(cable_new(&site->cable), 0);
	cable_begin(site->cable);
	assert_int_equal(cable_add_switch(site->cable, &(struct cable_switch){.name = "sw2",
									      .ports = "{port}",
									      .base = BASE,
									      .port_low = 1,
									      .port_high = 48}),
			 0);
	cable_commit(site->cable);
	assert_int_equal(lease_table_new(100, &site->leases), 0);
	assert_int_equal(lease_table_new(100, &site->offers), 0);
	site->facts = (struct address_facts){
		.inventory = site->inventory,
		.cable = site->cable,
		.leases = site->leases,
		.offers = site->offers,
		.subnet = inventory_subnet_at(site->inventory, 0),
		.mac = mac_of(1),
		.now_s = 10000,
		.known = true,
		.located = true,
		.port_address = NET + 14,
	};
	*state = site;
	return 0;
}

static int teardown(void **state)
{
	struct site *site = *state;

	lease_table_free(site->leases);
	lease_table_free(site->offers);
	cable_free(site->cable);
	inventory_free(site->inventory);
	free(site);
	return 0;
}

static struct lease *bind(struct site *site, uint8_t number, uint32_t address, int64_t expires_at)
{
	struct lease *lease = NULL;

	assert_int_equal(lease_table_add(site->leases, address, mac_of(number), 1, &lease), 0);
	lease->committed = true;
	lease->expires_at = expires_at;
	return lease;
}

static void given(void **state)
{
	struct site *site = *state;
	struct address_choice choice = address_policy(&site->facts);

	assert_int_equal(choice.source, ADDRESS_RESERVED);
	assert_int_equal(choice.address, NET + 14);
	(void)bind(site, 1, NET + 60, 20000); /* it moves to the address of its port */
	assert_int_equal(address_policy(&site->facts).address, NET + 14);
	site->facts.port_address = NET + 256; /* of another subnet: not here */
	assert_int_equal(address_policy(&site->facts).address, NET + 60);
}

static void kept_from_others(void **state)
{
	struct site *site = *state;

	site->facts.located = false;
	site->facts.port_address = 0;
	for (uint8_t number = 10; number < 60; number++) {
		site->facts.mac = mac_of(number);
		site->facts.requested = NET + 14;
		assert_true(address_policy(&site->facts).address > NET + 48);
	}
	site->facts.mac = mac_of(9); /* the operator's word for a MAC comes first */
	site->facts.port_address = NET + 14;
	assert_int_equal(address_policy(&site->facts).address, NET + 20);
	site->facts.mac = mac_of(10);
	site->facts.port_address = NET + 20; /* and is nobody else's, whatever the port says */
	assert_true(address_policy(&site->facts).address > NET + 48);
}

static void taken(void **state)
{
	struct site *site = *state;
	struct lease *other = bind(site, 2, NET + 14, 20000);
	struct address_choice choice = address_policy(&site->facts);

	assert_int_equal(choice.source, ADDRESS_NONE);
	assert_true(choice.port_taken);
	assert_true(mac_equal(choice.holder, mac_of(2)));
	site->facts.inherits = true; /* its former NIC */
	choice = address_policy(&site->facts);
	assert_int_equal(choice.address, NET + 14);
	assert_ptr_equal(choice.victim, other);
	assert_true(choice.inherits);
	other->flying = true; /* not while its row is being written */
	assert_true(address_policy(&site->facts).port_taken);
	other->flying = false;
	site->facts.inherits = false;
	site->facts.now_s = 40000; /* long spent */
	choice = address_policy(&site->facts);
	assert_int_equal(choice.address, NET + 14);
	assert_ptr_equal(choice.victim, other);
}

static void stays(void **state)
{
	struct site *site = *state;

	(void)bind(site, 1, NET + 14, 20000);
	site->facts.located = false; /* a renewal past the relay, by a server that never saw it */
	site->facts.port_address = 0;
	assert_int_equal(address_policy(&site->facts).address, NET + 14);
	site->facts.located = true; /* at a port that gives nothing: not with another port's */
	assert_true(address_policy(&site->facts).address > NET + 48);
	site->facts.port_address = NET + 15;
	assert_int_equal(address_policy(&site->facts).address, NET + 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(given, setup, teardown),
		cmocka_unit_test_setup_teardown(kept_from_others, setup, teardown),
		cmocka_unit_test_setup_teardown(taken, setup, teardown),
		cmocka_unit_test_setup_teardown(stays, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
