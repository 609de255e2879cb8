// links: peregrine_switch
/* Any PortList, shape and port: a port that was put is there, or the list refused and stayed as it
 * was; no other port changes. Any VLAN bitmap: what it adds is of its block, and encoded again gives
 * the same octets. Any list of text: each bit is one number of it, and as long as the last needs. */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/net/wire.h"

#include "peregrine/switch/snmp/qbridge_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t bits_that_differ(const uint8_t *a, const uint8_t *b, size_t size)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += (size_t)__builtin_popcount((unsigned)(a[i] ^ b[i]));
	return count;
}

static void check_list(struct wire_reader *in)
{
	struct port_list_shape shape = {.octets_per_unit = wire_u8(in),
					.ports_per_unit = wire_u8(in)};
	uint32_t port = wire_u16(in);
	bool member = wire_u8(in) % 2;
	uint8_t before[PORT_LIST_LIMIT] = {0};
	uint8_t after[PORT_LIST_LIMIT];
	size_t octets = wire_u16(in) % (PORT_LIST_LIMIT + 1);
	size_t bit;

	if (octets > wire_left(in))
		octets = wire_left(in);
	wire_copy(in, before, octets);
	memcpy(after, before, sizeof(after));
	bool was = port_list_has(before, octets, shape, port);
	int rc = port_list_put(after, octets, shape, port, member);
	assert(bits_that_differ(before, after, sizeof(after)) <= 1);
	if (rc == 0) {
		assert(port_list_has(after, octets, shape, port) == member);
		assert(bits_that_differ(before, after, sizeof(after)) == (was != member));
	} else {
		assert(memcmp(before, after, sizeof(after)) == 0);
	}
	if (was)
		assert(port_list_bit(shape, port, &bit) && bit < octets * 8);
}

static void check_block(struct wire_reader *in)
{
	size_t block = wire_u8(in) % VLAN_BLOCKS;
	size_t octets = wire_left(in);
	uint8_t bitmap[VLAN_BLOCK_SIZE + 8] = {0};
	uint8_t again[VLAN_BLOCK_SIZE];
	struct vlan_set set = {0};

	if (octets > sizeof(bitmap))
		octets = sizeof(bitmap);
	wire_copy(in, bitmap, octets);
	int rc = vlan_block_decode(bitmap, octets, block, &set);
	assert((rc == 0) == (octets <= VLAN_BLOCK_SIZE));
	if (rc != 0)
		return;
	for (unsigned vlan = 0; vlan < 4096; vlan++)
		assert(!vlan_set_has(&set, vlan) || vlan / 1024 == block);
	vlan_block_encode(&set, block, again);
	for (size_t i = 0; i < VLAN_BLOCK_SIZE * 8; i++) {
		unsigned vlan = (unsigned)(block * 1024 + i);
		bool told = bitmap[i / 8] >> (7 - i % 8) & 1;

		assert(!vlan_set_has(&set, vlan) || told);
		assert((again[i / 8] >> (7 - i % 8) & 1) == vlan_set_has(&set, vlan));
	}
}

static void check_text(struct wire_reader *in)
{
	uint8_t text[8 * PORT_LIST_LIMIT];
	uint8_t bits[PORT_LIST_LIMIT];
	const uint8_t none[PORT_LIST_LIMIT] = {0};
	size_t size = wire_left(in);
	size_t numbers = 0;
	uint32_t odd = 0;

	if (size > sizeof(text))
		size = sizeof(text);
	wire_copy(in, text, size);
	if (!port_list_is_text(text, size))
		return;
	size_t used = port_list_from_text(text, size, bits, &odd);
	for (size_t i = 0; i < size; i++)
		numbers += text[i] != ',' && (i == 0 || text[i - 1] == ',');
	assert(used <= PORT_LIST_LIMIT && (used == 0 || bits[used - 1]));
	assert(memcmp(bits + used, none, PORT_LIST_LIMIT - used) == 0);
	assert(bits_that_differ(bits, none, used) + odd <= numbers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_reader in = wire_reader(data, size);
	uint8_t kind = wire_u8(&in);

	if (kind == 0xff)
		check_text(&in);
	else if (kind % 2)
		check_list(&in);
	else
		check_block(&in);
	return 0;
}
