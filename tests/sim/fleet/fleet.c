/* What all parts of the fleet use: names, addresses, chance. */
#include "tests/sim/fleet/fleet.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/base/text.h"
#include "common/net/ipv4.h"

const char *fleet_name(const struct fleet_node *node, char ret[16])
{
	(void)text_format(ret, 16, "f%d", node->index + 1);
	return ret;
}

struct mac fleet_mac(int index)
{
	return (struct mac){
		{0x02, 0xf1, 0xee, (uint8_t)(index >> 16), (uint8_t)(index >> 8), (uint8_t)index}};
}

/* --- addresses --- */

static int fleet_places(const struct fleet *fleet)
{
	return ((int)fleet->options.count / FLEET_RACK_SIZE + 2) * 256;
}

struct fleet_node *fleet_by_address(struct fleet *fleet, uint32_t address)
{
	uint32_t place = address - FLEET_NODE_BASE;

	if (place >= (uint32_t)fleet_places(fleet) || fleet->holders[place] == 0)
		return NULL;
	return &fleet->nodes[fleet->holders[place] - 1];
}

struct fleet_node *fleet_by_bmc(struct fleet *fleet, uint32_t address)
{
	uint32_t index = address - FLEET_BMC_BASE;

	return index < (uint32_t)fleet->options.count ? &fleet->nodes[index] : NULL;
}

void fleet_take_address(struct fleet_node *node, uint32_t address)
{
	struct fleet *fleet = node->fleet;
	uint32_t place = address - FLEET_NODE_BASE;
	struct fleet_node *holder = fleet_by_address(fleet, address);
	char text[IPV4_TEXT_SIZE];
	char names[2][16];

	if (place >= (uint32_t)fleet_places(fleet)) {
		fleet_violation(fleet, "address_foreign", "node %s was given %s, of no rack",
				fleet_name(node, names[0]), ipv4_text(address, text));
		return;
	}
	/* Two cards with one MAC are one client to any server. */
	if (holder && holder != node && !mac_equal(holder->mac, node->mac))
		fleet_violation(fleet, "address_twice",
				"%s was given to node %s while node %s has it",
				ipv4_text(address, text), fleet_name(node, names[0]),
				fleet_name(holder, names[1]));
	if (node->address != address && node->address &&
	    fleet_by_address(fleet, node->address) == node)
		fleet->holders[node->address - FLEET_NODE_BASE] = 0;
	node->address = address;
	fleet->holders[place] = node->index + 1;
}

/* --- chance --- */

/* SplitMix64: one step from the seed and what is rolled for, so that no roll depends on when
 * another was made. */
uint64_t fleet_chance(const struct fleet *fleet, int index, unsigned what, unsigned occasion)
{
	uint64_t x = (uint64_t)fleet->options.seed * 0x9e3779b97f4a7c15ULL;

	x ^= (uint64_t)index << 40 ^ (uint64_t)what << 24 ^ occasion;
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static bool fleet_roll(struct fleet_node *node, enum fleet_fault fault, unsigned occasion)
{
	double chance = (double)(fleet_chance(node->fleet, node->index, fault, occasion) >> 11) /
			(double)(UINT64_C(1) << 53);

	return chance < node->fleet->options.faults[fault];
}

bool fleet_fault(struct fleet_node *node, enum fleet_fault fault)
{
	if (node->fleet->options.faults[fault] <= 0 ||
	    !fleet_roll(node, fault, ++node->occasions[fault]))
		return false;
	node->fleet->stats.faults[fault]++;
	return true;
}

bool fleet_fault_always(struct fleet_node *node, enum fleet_fault fault)
{
	if (node->fleet->options.faults[fault] <= 0 || !fleet_roll(node, fault, 0))
		return false;
	if (node->occasions[fault] == 0) {
		node->occasions[fault] = 1;
		node->fleet->stats.faults[fault]++;
	}
	return true;
}

void fleet_violation(struct fleet *fleet, const char *invariant, const char *format, ...)
{
	va_list arguments;

	fleet->stats.violations++;
	(void)fprintf(stderr, "fleet: VIOLATION %s: ", invariant);
	va_start(arguments, format);
	(void)vfprintf(stderr, format, arguments);
	va_end(arguments);
	(void)fprintf(stderr, "\n");
}
