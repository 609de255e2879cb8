#include "tests/sim/switch/switch_portlist.h"

#include <string.h>

#include "common/base/error.h"

static uint8_t bit_of(uint32_t port)
{
	return (uint8_t)(0x80U >> ((port - 1) % 8));
}

bool switch_portlist_has(const struct switch_portlist *list, uint32_t port)
{
	return port >= 1 && port <= SWITCH_PORT_MAX &&
	       (list->octets[(port - 1) / 8] & bit_of(port)) != 0;
}

void switch_portlist_set(struct switch_portlist *list, uint32_t port, bool member)
{
	uint8_t *octet;

	if (port < 1 || port > SWITCH_PORT_MAX)
		return;
	octet = &list->octets[(port - 1) / 8];
	*octet = (uint8_t)(member ? *octet | bit_of(port) : *octet & ~bit_of(port));
}

bool switch_portlist_is_empty(const struct switch_portlist *list)
{
	return switch_portlist_size(list) == 0;
}

bool switch_portlist_within(const struct switch_portlist *a, const struct switch_portlist *b)
{
	for (size_t i = 0; i < SWITCH_PORTLIST_OCTETS; i++) {
		if ((a->octets[i] & ~b->octets[i]) != 0)
			return false;
	}
	return true;
}

void switch_portlist_keep(struct switch_portlist *list, const struct switch_portlist *other)
{
	for (size_t i = 0; i < SWITCH_PORTLIST_OCTETS; i++)
		list->octets[i] &= other->octets[i];
}

size_t switch_portlist_size(const struct switch_portlist *list)
{
	size_t size = SWITCH_PORTLIST_OCTETS;

	while (size > 0 && list->octets[size - 1] == 0)
		size--;
	return size;
}

int switch_portlist_read(const uint8_t *octets, size_t size, struct switch_portlist *ret)
{
	struct switch_portlist list = {{0}};

	for (size_t i = 0; i < size; i++) {
		if (i < SWITCH_PORTLIST_OCTETS)
			list.octets[i] = octets[i];
		else if (octets[i] != 0)
			return E_LIMIT;
	}
	*ret = list;
	return 0;
}
