// links: bootd_identify
/* The picture in memory: look-ups by every key, a new picture replaces the old one whole. */
#include <stdlib.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/bootd/identify/inventory.h"
#include "tests/support/cmocka.h"

#define MANY 5000

static struct mac mac_of_number(unsigned number)
{
	return (struct mac){{2, 0, 0, 0, (uint8_t)(number >> 8), (uint8_t)number}};
}

static void fill(struct inventory *inventory, unsigned count)
{
	assert_int_equal(inventory_begin(inventory), 0);
	for (unsigned i = count; i > 0; i--) { /* in no useful order */
		struct inventory_node node = {.id = i, .intent.target = INTENT_AGENT};

		(void)text_format(node.name, sizeof(node.name), "n%u", i);
		(void)text_format(node.intent.token, sizeof(node.intent.token), "%032x", i);
		(void)text_format(node.intent.nonce, sizeof(node.intent.nonce), "%032x", i + MANY);
		assert_int_equal(inventory_add_nic(inventory, mac_of_number(i), i), 0);
		assert_int_equal(inventory_add_node(inventory, &node), 0);
		assert_int_equal(
			inventory_add_reservation(inventory, mac_of_number(i), 1, 0x0a000000U + i),
			0);
	}
	assert_int_equal(inventory_add_nic(inventory, mac_of_number(count + 1), 99999), 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct inventory_subnet subnet = {.id = (int64_t)(i + 1),
						  .prefix = {0x0a000000U + (3 - i) * 0x10000U, 16}};

		assert_int_equal(inventory_add_subnet(inventory, &subnet), 0);
	}
	assert_int_equal(inventory_commit(inventory), 0);
}

static void look_ups(void **state)
{
	struct inventory *inventory;
	struct mac owner;

	(void)state;
	assert_int_equal(inventory_new(&inventory), 0);
	assert_false(inventory_ready(inventory));
	assert_null(inventory_by_mac(inventory, mac_of_number(1)));
	fill(inventory, MANY);
	assert_true(inventory_ready(inventory));
	assert_int_equal(inventory_node_count(inventory), MANY);
	for (unsigned i = 1; i <= MANY; i += 7) {
		char secret[TOKEN_TEXT_SIZE];

		assert_int_equal(inventory_by_mac(inventory, mac_of_number(i))->id, i);
		assert_int_equal(inventory_by_id(inventory, i)->id, i);
		(void)text_format(secret, sizeof(secret), "%032x", i);
		assert_int_equal(inventory_by_token(inventory, secret)->id, i);
		assert_int_equal(inventory_reservation(inventory, 1, mac_of_number(i)),
				 0x0a000000U + i);
		assert_int_equal(inventory_reservation(inventory, 2, mac_of_number(i)), 0);
		assert_true(inventory_reserved_for(inventory, 0x0a000000U + i, &owner));
		assert_true(mac_equal(owner, mac_of_number(i)));
	}
	assert_null(inventory_by_nonce(inventory, "00000000000000000000000000000001"));
	assert_null(inventory_by_token(inventory, ""));
	assert_null(inventory_by_token(inventory, NULL));
	assert_null(inventory_by_mac(inventory, mac_of_number(MANY + 1))); /* its node is gone */
	assert_int_equal(inventory_subnet_of(inventory, 0x0a02ffffU)->id, 2);
	assert_int_equal(inventory_subnet_of(inventory, 0x0a000000U)->id, 4);
	assert_null(inventory_subnet_of(inventory, 0x0a040000U));
	assert_null(inventory_subnet_of(inventory, 0x09ffffffU));
	assert_int_equal(inventory_subnet_by_id(inventory, 3)->id, 3);
	inventory_free(inventory);
}

static void replaced_whole(void **state)
{
	struct inventory *inventory;

	(void)state;
	assert_int_equal(inventory_new(&inventory), 0);
	fill(inventory, 10);
	assert_int_equal(inventory_begin(inventory), 0);
	assert_int_equal(inventory_add_nic(inventory, mac_of_number(3), 3), 0);
	assert_int_equal(inventory_by_mac(inventory, mac_of_number(3))->id,
			 3); /* not committed: the old one */
	fill(inventory, 2);
	assert_non_null(inventory_by_mac(inventory, mac_of_number(2)));
	assert_null(inventory_by_mac(inventory, mac_of_number(3)));
	inventory_free(inventory);
}

static bool leased(void *context, uint32_t address, struct mac *ret, int64_t *ret_expires_s)
{
	*ret_expires_s = 0;
	*ret = *(const struct mac *)context;
	return address == 7;
}

static void by_lease(void **state)
{
	struct inventory *inventory;
	struct mac mac = mac_of_number(2);

	(void)state;
	assert_int_equal(inventory_new(&inventory), 0);
	fill(inventory, 3);
	assert_null(inventory_by_address(inventory, 7));
	inventory_set_lease_source(inventory, leased, &mac);
	assert_int_equal(inventory_by_address(inventory, 7)->id, 2);
	assert_null(inventory_by_address(inventory, 8));
	inventory_free(inventory);
}

static void words(void **state)
{
	(void)state;
	for (int i = NODE_DISCOVERED; i < NODE_STATE_COUNT; i++)
		assert_int_equal(
			enum_value(node_state_words, NODE_STATE_COUNT, node_state_words[i]), i);
	assert_int_equal(enum_value(node_state_words, COUNT_OF(node_state_words), "sleeping"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(look_ups),
		cmocka_unit_test(replaced_whole),
		cmocka_unit_test(by_lease),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
