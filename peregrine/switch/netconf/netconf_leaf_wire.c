#include "peregrine/switch/netconf/netconf_leaf_wire.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"

#include "peregrine/switch/netconf/netconf_xml_wire.h"

bool netconf_leaf_is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++) {
		if (strcasecmp(text, *words) == 0)
			return true;
	}
	return false;
}

bool netconf_leaf_is_up(const char *text)
{
	static const char *const words[] = {"up", "true", "1", "if-state-up", "if-oper-state-ready",
					    NULL};

	return netconf_leaf_is_one_of(text, words);
}

/* The number at the end of a text of digits; 0 for anything else. */
uint64_t netconf_leaf_number(const char *text)
{
	char *end;
	unsigned long long number;

	if (!isdigit((unsigned char)*text))
		return 0;
	number = strtoull(text, &end, 10);
	return *end ? 0 : number;
}

uint32_t netconf_leaf_index(const char *text)
{
	uint64_t number = netconf_leaf_number(text);

	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

uint16_t netconf_leaf_vlan(const struct netconf_dialect *dialect, const char *text)
{
	const char *prefix = dialect->vlan_prefix ? dialect->vlan_prefix : "";
	uint64_t number;

	if (strncmp(text, prefix, strlen(prefix)) == 0)
		text += strlen(prefix);
	number = netconf_leaf_number(text);
	return number >= VLAN_FIRST && number <= VLAN_LAST ? (uint16_t)number : 0;
}

/* "1-3,7" and "1..3"; false for what is none. */
bool netconf_leaf_list(const char *text, struct vlan_set *set)
{
	struct vlan_set more = {{0}};
	char room[NETCONF_TEXT_LIMIT];
	char *out = room;

	for (; *text; text++) {
		bool dots = text[0] == '.' && text[1] == '.';

		*out = '-';
		if (!dots)
			*out = *text;
		out++;
		text += dots;
	}
	*out = '\0';
	if (vlan_set_parse(room, &more))
		return false;
	*set = vlan_set_union(set, &more);
	return true;
}

/* Twelve hexadecimal digits, whatever stands between them. */
bool netconf_leaf_mac(const char *text, uint8_t ret[6])
{
	unsigned digits = 0;

	for (; *text; text++) {
		unsigned digit;

		if (strchr(":-. ", *text))
			continue;
		if (!isxdigit((unsigned char)*text) || digits == 12)
			return false;
		digit = isdigit((unsigned char)*text)
				? (unsigned)(*text - '0')
				: (unsigned)(tolower((unsigned char)*text) - 'a' + 10);
		ret[digits / 2] = (uint8_t)(digits % 2 ? ret[digits / 2] | digit : digit << 4);
		digits++;
	}
	return digits == 12;
}

/* One line of characters that print. */
void netconf_leaf_line(char *ret, size_t room, const char *text)
{
	text_copy(ret, room, text);
	for (; *ret; ret++) {
		if ((unsigned char)*ret < ' ' || (unsigned char)*ret >= 127)
			*ret = '?';
	}
}
