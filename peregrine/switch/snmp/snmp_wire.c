#include "peregrine/switch/snmp/snmp_wire.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/base/text.h"

void snmp_text(const uint8_t *bytes, size_t size, char *ret, size_t room)
{
	size_t length = 0;

	if (room == 0)
		return;
	while (length < size && length + 1 < room && bytes[length]) {
		ret[length] = '?';
		if (bytes[length] >= ' ' && bytes[length] <= '~')
			ret[length] = (char)bytes[length];
		length++;
	}
	while (length && ret[length - 1] == ' ')
		length--;
	ret[length] = '\0';
}

bool snmp_mac_text(const uint8_t *bytes, size_t size, char *ret, size_t room)
{
	if (size != 6 || room < 18)
		return false;
	(void)snprintf(ret, room, "%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2],
		       bytes[3], bytes[4], bytes[5]);
	return true;
}

/* What the subtypes of the two ids mean to us. */
enum id_form { FORM_NAME, FORM_MAC, FORM_ADDRESS };
enum { SNMP_WIRE_LOCAL = 7 }; /* of both: what the vendor likes */

static const enum id_form snmp_wire_forms[][8] = {
	[LLDP_CHASSIS] = {[4] = FORM_MAC, [5] = FORM_ADDRESS},
	[LLDP_PORT] = {[3] = FORM_MAC, [4] = FORM_ADDRESS},
};

static bool snmp_wire_prints(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] < ' ' || bytes[i] > '~')
			return false;
	}
	return true;
}

/* IANA address family, then the address: 1 = IPv4, 2 = IPv6. */
static bool address_text(const uint8_t *bytes, size_t size, char *ret, size_t room)
{
	if (size == 5 && bytes[0] == 1)
		return inet_ntop(AF_INET, bytes + 1, ret, (socklen_t)room) != NULL;
	if (size == 17 && bytes[0] == 2)
		return inet_ntop(AF_INET6, bytes + 1, ret, (socklen_t)room) != NULL;
	return false;
}

/* "00-11-22-AA-BB-CC" and "0011.22aa.bbcc" as we write it. */
static bool mac_of_text(const uint8_t *bytes, size_t size, char *ret, size_t room)
{
	uint8_t mac[6] = {0};
	size_t digits = 0;

	for (size_t i = 0; i < size; i++) {
		uint8_t c = bytes[i];
		unsigned value;

		if (c == ':' || c == '-' || c == '.' || c == ' ')
			continue;
		if (!isxdigit(c) || digits >= 12)
			return false;
		value = isdigit(c) ? (unsigned)c - '0' : (unsigned)tolower(c) - 'a' + 10U;
		mac[digits / 2] = (uint8_t)((unsigned)mac[digits / 2] << 4 | value);
		digits++;
	}
	return digits == 12 && snmp_mac_text(mac, sizeof(mac), ret, room);
}

void lldp_id_text(enum lldp_id_kind kind, unsigned subtype, const uint8_t *bytes, size_t size,
		  char *ret, size_t room)
{
	enum id_form form =
		subtype < COUNT_OF(snmp_wire_forms[0]) ? snmp_wire_forms[kind][subtype] : FORM_NAME;

	if (form == FORM_MAC &&
	    (snmp_mac_text(bytes, size, ret, room) || mac_of_text(bytes, size, ret, room)))
		return;
	if (form == FORM_ADDRESS && address_text(bytes, size, ret, room))
		return;
	if ((subtype == 0 || subtype == SNMP_WIRE_LOCAL) && size == 6 &&
	    !snmp_wire_prints(bytes, size) && snmp_mac_text(bytes, size, ret, room))
		return;
	snmp_text(bytes, size, ret, room);
}

bool snmp_index_mac(const uint32_t *index, size_t count, uint8_t ret[6])
{
	uint8_t mac[6];

	if (count < sizeof(mac))
		return false;
	for (size_t i = 0; i < sizeof(mac); i++) {
		if (index[i] > UINT8_MAX)
			return false;
		mac[i] = (uint8_t)index[i];
	}
	memcpy(ret, mac, sizeof(mac));
	return true;
}

bool snmp_mac_is_odd(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return (mac[0] & 1) || memcmp(mac, zero, sizeof(zero)) == 0;
}

/* Longest first: a word is only taken where another does not begin with it. */
static const struct {
	const char *word, *is;
} interface_words[] = {
	{"twentyfivegigabitethernet", "twe"},
	{"twentyfivegige", "twe"},
	{"hundredgigabitethernet", "hu"},
	{"fortygigabitethernet", "fo"},
	{"tengigabitethernet", "te"},
	{"ten-gigabitethernet", "te"},
	{"twogigabitethernet", "tw"},
	{"gigabitethernet", "gi"},
	{"hundredgige", "hu"},
	{"fastethernet", "fa"},
	{"fortygige", "fo"},
	{"tengige", "te"},
	{"port-channel", "po"},
	{"ethernet", "et"},
	{"eth", "et"},
	{"gig", "gi"},
	{"ten", "te"},
	{"fas", "fa"},
};

static const char *snmp_wire_next_word(const char *at, char *ret, size_t room)
{
	size_t length = 0;

	while (*at && !isdigit((unsigned char)*at)) {
		if (!isspace((unsigned char)*at) && length + 1 < room)
			ret[length++] = (char)tolower((unsigned char)*at);
		at++;
	}
	ret[length] = '\0';
	return at;
}

static const char *short_word(const char *word)
{
	for (size_t i = 0; i < COUNT_OF(interface_words); i++) {
		if (strcmp(word, interface_words[i].word) == 0)
			return interface_words[i].is;
	}
	return word;
}

void port_name_key(const char *name, char ret[PORT_NAME_KEY_SIZE])
{
	char word[40];
	size_t length;

	name = snmp_wire_next_word(name, word, sizeof(word));
	(void)text_copy(ret, PORT_NAME_KEY_SIZE, short_word(word));
	length = strlen(ret);
	/* The numbers must be the same to the end, spaces aside. */
	for (; *name && length + 1 < PORT_NAME_KEY_SIZE; name++) {
		if (!isspace((unsigned char)*name))
			ret[length++] = (char)tolower((unsigned char)*name);
	}
	ret[length] = '\0';
}

bool port_name_same(const char *a, const char *b)
{
	char key_a[PORT_NAME_KEY_SIZE];
	char key_b[PORT_NAME_KEY_SIZE];

	port_name_key(a, key_a);
	port_name_key(b, key_b);
	return strcmp(key_a, key_b) == 0;
}
