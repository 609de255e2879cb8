#include "portal/outward/address_policy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define PREFIX_TEXT_SIZE 64
#define MAPPED_BITS      96 /* before the IPv4 address */

/* Never outside of this machine and its links. */
static const struct {
	const char *prefix, *is;
} address_policy_closed[] = {
	{"0.0.0.0/8", "this machine"},
	{"127.0.0.0/8", "this machine"},
	{"::/127", "this machine"}, /* :: and ::1 */
	{"169.254.0.0/16", "a neighbour on the link"},
	{"fe80::/10", "a neighbour on the link"},
	{"fec0::/10", "a neighbour on the site"},
	{"224.0.0.0/3", "no single machine"},
	{"ff00::/8", "no single machine"},
	/* IPv4 in disguise, which a router or this kernel would take out again. */
	{"::/96", "an IPv4 address in another form"},
	{"64:ff9b::/96", "an IPv4 address in another form"},
	{"64:ff9b:1::/48", "an IPv4 address in another form"}, /* RFC 8215 */
	{"2001::/32", "an IPv4 address in another form"},      /* Teredo */
	{"2002::/16", "an IPv4 address in another form"},
};

static bool address_in(const struct address_prefix *prefix, const uint8_t address[16])
{
	unsigned whole = prefix->bits / 8;
	unsigned mask = 0xff00U >> prefix->bits % 8 & 0xffU;

	return memcmp(prefix->bytes, address, whole) == 0 &&
	       (mask == 0 || ((prefix->bytes[whole] ^ address[whole]) & mask) == 0);
}

int address_prefix_parse(const char *text, struct address_prefix *ret)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct address_prefix prefix = {0};
	char copy[PREFIX_TEXT_SIZE];
	uint8_t rest;
	char *slash;
	char *end = NULL;
	unsigned long bits;
	bool four;

	if (!text_copy(copy, sizeof(copy), text))
		return E_MALFORMED;
	slash = strchr(copy, '/');
	if (slash)
		*slash++ = '\0';
	four = strchr(copy, ':') == NULL;
	memcpy(prefix.bytes, mapped, four ? sizeof(mapped) : 0);
	if (inet_pton(four ? AF_INET : AF_INET6, copy, prefix.bytes + (four ? 12 : 0)) != 1)
		return E_MALFORMED;
	bits = slash ? strtoul(slash, &end, 10) : (four ? 32UL : 128UL);
	if (slash && (*slash < '0' || *slash > '9' || *end))
		return E_MALFORMED;
	if (bits > (four ? 32UL : 128UL))
		return E_MALFORMED;
	prefix.bits = (unsigned)bits + (four ? MAPPED_BITS : 0U);
	for (unsigned i = prefix.bits; i < 128; i++) {
		rest = prefix.bytes[i / 8] & (uint8_t)(0x80U >> i % 8);
		if (rest)
			return E_MALFORMED;
	}
	*ret = prefix;
	return 0;
}

int address_list_add(struct address_list *list, const char *text)
{
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t length = strcspn(text, " ");
		char word[PREFIX_TEXT_SIZE];
		struct address_prefix *more;
		int rc;

		if (!text_format(word, sizeof(word), "%.*s", (int)length, text))
			return E_MALFORMED;
		more = reallocarray(list->prefixes, list->count + 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		list->prefixes = more;
		rc = address_prefix_parse(word, &more[list->count]);
		if (rc)
			return rc;
		list->count++;
		text += length;
	}
	return 0;
}

int address_list_add_one(struct address_list *list, const uint8_t address[16])
{
	struct address_prefix *more =
		reallocarray(list->prefixes, list->count + 1, sizeof(*list->prefixes));

	if (!more)
		return -ENOMEM;
	list->prefixes = more;
	more[list->count].bits = 128;
	memcpy(more[list->count++].bytes, address, 16);
	return 0;
}

void address_list_done(struct address_list *list)
{
	free(list->prefixes);
	*list = (struct address_list){0};
}

static bool address_list_has(const struct address_list *list, const uint8_t address[16])
{
	for (size_t i = 0; i < list->count; i++) {
		if (address_in(&list->prefixes[i], address))
			return true;
	}
	return false;
}

const char *address_policy_why(const uint8_t address[16], const struct address_list *allowed,
			       const struct address_list *closed, const struct address_list *own)
{
	if (address_list_has(allowed, address))
		return NULL;
	for (size_t i = 0; i < COUNT_OF(address_policy_closed); i++) {
		struct address_prefix prefix;

		if (address_prefix_parse(address_policy_closed[i].prefix, &prefix) == 0 &&
		    address_in(&prefix, address))
			return address_policy_closed[i].is;
	}
	if (address_list_has(own, address))
		return "this machine";
	return address_list_has(closed, address) ? "a node, BMC or switch" : NULL;
}
