#include "common/net/mac.h"

#include <stddef.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"

#define DIGITS 12

/* The ways people and switches write the 12 digits. */
static const struct {
	char separator;
	size_t group; /* digits between separators */
} mac_formats[] = {
	{':', 2},
	{'-', 2},
	{'.', 4},
	{0, DIGITS},
};

/* Collects the digits of one way of writing; false when `text` is not written so. */
static bool mac_collect(const char *text, char separator, size_t group, char ret[DIGITS + 1])
{
	for (size_t i = 0; i < DIGITS; i++) {
		if (i > 0 && i % group == 0 && *text++ != separator)
			return false;
		if (*text == '\0')
			return false;
		ret[i] = *text++;
	}
	ret[DIGITS] = '\0';
	return *text == '\0';
}

int mac_parse(const char *text, struct mac *ret)
{
	char digits[DIGITS + 1];

	for (size_t i = 0; i < COUNT_OF(mac_formats); i++) {
		if (mac_collect(text, mac_formats[i].separator, mac_formats[i].group, digits))
			return hex_decode(digits, ret->bytes, sizeof(ret->bytes));
	}
	return E_MALFORMED;
}

const char *mac_text(struct mac mac, char ret[MAC_TEXT_SIZE])
{
	(void)text_format(ret, MAC_TEXT_SIZE, "%02x:%02x:%02x:%02x:%02x:%02x", mac.bytes[0],
			  mac.bytes[1], mac.bytes[2], mac.bytes[3], mac.bytes[4], mac.bytes[5]);
	return ret;
}

bool mac_equal(struct mac a, struct mac b)
{
	return memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

bool mac_is_zero(struct mac mac)
{
	return mac_key(mac) == 0;
}

uint64_t mac_key(struct mac mac)
{
	uint64_t key = 0;

	for (size_t i = 0; i < sizeof(mac.bytes); i++)
		key = key << 8 | mac.bytes[i];
	return key;
}
