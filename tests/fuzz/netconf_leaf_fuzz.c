// links: peregrine_switch
/* The text of any leaf: a VLAN is 1 to 4094; a list holds such VLANs alone, and nothing is taken away
 * by one that is refused; a MAC has twelve digits; a line prints and ends within its room. */
#undef NDEBUG
#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/net/wire.h"

#include "peregrine/switch/netconf/netconf_leaf_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_vlans(const struct netconf_dialect *dialect, const char *text)
{
	struct vlan_set set = {0};
	struct vlan_set before;

	assert(netconf_leaf_vlan(dialect, text) <= 4094);
	vlan_set_add(&set, 7);
	before = set;
	(void)netconf_leaf_list(text, &set);
	assert(vlan_set_within(&before, &set));
	assert(!vlan_set_has(&set, 0) && !vlan_set_has(&set, 4095));
}

static void check_mac(const char *text)
{
	uint8_t mac[6] = {0};
	size_t digits = 0;

	for (const char *at = text; *at; at++)
		digits += isxdigit((unsigned char)*at) != 0;
	if (netconf_leaf_mac(text, mac))
		assert(digits == 12);
}

static void check_line(const char *text, size_t room)
{
	char line[64];

	memset(line, 1, sizeof(line));
	netconf_leaf_line(line, room, text);
	size_t length = strnlen(line, room);
	assert(length < room);
	for (size_t i = 0; i < length; i++)
		assert(isprint((unsigned char)line[i]));
	assert(room == sizeof(line) || line[room] == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const words[] = {"up", "true", NULL};
	struct wire_reader in = wire_reader(data, size);
	const struct netconf_dialect *dialect =
		netconf_dialects[wire_u8(&in) % netconf_dialect_count];
	size_t room = 1 + (size_t)wire_u8(&in) % 64;
	char text[256] = "";
	size_t length = wire_left(&in) < sizeof(text) ? wire_left(&in) : sizeof(text) - 1;

	wire_copy(&in, text, length);
	check_vlans(dialect, text);
	check_mac(text);
	check_line(text, room);
	(void)netconf_leaf_is_one_of(text, words);
	(void)netconf_leaf_is_up(text);
	assert(netconf_leaf_number(text) >= netconf_leaf_index(text) ||
	       netconf_leaf_index(text) == 0);
	return 0;
}
