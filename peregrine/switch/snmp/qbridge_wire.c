#include "peregrine/switch/snmp/qbridge_wire.h"

#include <string.h>

#include "common/base/error.h"

bool port_list_bit(struct port_list_shape shape, uint32_t base_port, size_t *ret)
{
	size_t bit = base_port - 1U;
	size_t unit;

	if (base_port == 0 || base_port > PORT_LIST_LIMIT * 8U)
		return false;
	if (shape.ports_per_unit) {
		unit = bit / shape.ports_per_unit;
		bit = unit * shape.octets_per_unit * 8U + bit % shape.ports_per_unit;
	}
	*ret = bit;
	return true;
}

static uint8_t mask_of(size_t bit)
{
	return (uint8_t)(0x80U >> bit % 8);
}

bool port_list_has(const uint8_t *octets, size_t size, struct port_list_shape shape,
		   uint32_t base_port)
{
	size_t bit;

	if (!port_list_bit(shape, base_port, &bit) || bit / 8 >= size)
		return false;
	return octets[bit / 8] & mask_of(bit);
}

int port_list_put(uint8_t *octets, size_t size, struct port_list_shape shape, uint32_t base_port,
		  bool member)
{
	size_t bit;

	if (!port_list_bit(shape, base_port, &bit))
		return E_INVALID;
	if (bit / 8 >= size)
		return member ? E_LIMIT : 0;
	if (member)
		octets[bit / 8] |= mask_of(bit);
	else
		octets[bit / 8] &= (uint8_t)~mask_of(bit);
	return 0;
}

bool port_list_is_text(const uint8_t *octets, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (octets[i] != ',' && (octets[i] < '0' || octets[i] > '9'))
			return false;
	}
	return true;
}

size_t port_list_from_text(const uint8_t *text, size_t size, uint8_t ret[PORT_LIST_LIMIT],
			   uint32_t *odd)
{
	size_t used = 0;

	memset(ret, 0, PORT_LIST_LIMIT);
	for (size_t i = 0; i < size; i++) {
		uint32_t number = 0;

		for (; i < size && text[i] >= '0' && text[i] <= '9'; i++)
			number = number > PORT_LIST_LIMIT * 8U
					 ? number
					 : number * 10 + (uint32_t)(text[i] - '0');
		if (number == 0)
			continue;
		if (port_list_put(ret, PORT_LIST_LIMIT, (struct port_list_shape){0}, number,
				  true) != 0) {
			++*odd;
			continue;
		}
		if ((number + 7) / 8 > used)
			used = (number + 7) / 8;
	}
	return used;
}

int vlan_block_decode(const uint8_t *octets, size_t size, size_t block, struct vlan_set *ret)
{
	if (size > VLAN_BLOCK_SIZE || block >= VLAN_BLOCKS)
		return E_MALFORMED;
	for (size_t i = 0; i < size; i++) {
		for (unsigned bit = 0; octets[i] && bit < 8; bit++) {
			if (octets[i] & mask_of(bit))
				vlan_set_add(ret, (unsigned)(block * 1024 + i * 8) + bit);
		}
	}
	return 0;
}

void vlan_block_encode(const struct vlan_set *set, size_t block, uint8_t ret[VLAN_BLOCK_SIZE])
{
	unsigned first = (unsigned)block * 1024;

	memset(ret, 0, VLAN_BLOCK_SIZE);
	for (unsigned vlan = vlan_set_next(set, first); vlan && vlan < first + 1024;
	     vlan = vlan_set_next(set, vlan + 1))
		ret[(vlan - first) / 8] |= mask_of(vlan % 8);
}
