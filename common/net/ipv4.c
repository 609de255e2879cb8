#include "common/net/ipv4.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

int ipv4_parse(const char *text, uint32_t *ret)
{
	struct in_addr address;

	/* inet_pton takes four decimal numbers and nothing else: no "10.1", no octal, no blanks. */
	if (inet_pton(AF_INET, text, &address) != 1)
		return E_MALFORMED;
	*ret = ntohl(address.s_addr);
	return 0;
}

const char *ipv4_text(uint32_t address, char ret[IPV4_TEXT_SIZE])
{
	(void)text_format(ret, IPV4_TEXT_SIZE, "%u.%u.%u.%u", address >> 24, address >> 16 & 0xff,
			  address >> 8 & 0xff, address & 0xff);
	return ret;
}

/* One or two decimal digits without a leading zero, at most 32. */
static int length_parse(const char *text, uint8_t *ret)
{
	size_t digits = strspn(text, "0123456789");
	unsigned length = 0;

	if (digits == 0 || digits > 2 || text[digits] != '\0' || (digits == 2 && text[0] == '0'))
		return E_MALFORMED;
	for (size_t i = 0; i < digits; i++)
		length = length * 10 + (unsigned)(text[i] - '0');
	if (length > 32)
		return E_MALFORMED;
	*ret = (uint8_t)length;
	return 0;
}

int ipv4_prefix_parse(const char *text, struct ipv4_prefix *ret)
{
	char address[IPV4_TEXT_SIZE];
	const char *slash = strchr(text, '/');
	struct ipv4_prefix prefix;
	int rc;

	if (!slash || (size_t)(slash - text) >= sizeof(address))
		return E_MALFORMED;
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	rc = ipv4_parse(address, &prefix.address);
	if (rc == 0)
		rc = length_parse(slash + 1, &prefix.length);
	if (rc != 0)
		return rc;
	if (prefix.address & ~ipv4_mask(prefix.length))
		return E_MALFORMED;
	*ret = prefix;
	return 0;
}

const char *ipv4_prefix_text(struct ipv4_prefix prefix, char ret[PREFIX_TEXT_SIZE])
{
	char address[IPV4_TEXT_SIZE];

	(void)text_format(ret, PREFIX_TEXT_SIZE, "%s/%u", ipv4_text(prefix.address, address),
			  (unsigned)prefix.length);
	return ret;
}

uint32_t ipv4_mask(uint8_t length)
{
	return length == 0 ? 0 : UINT32_MAX << (32 - (length > 32 ? 32 : length));
}

bool ipv4_in_prefix(uint32_t address, struct ipv4_prefix prefix)
{
	return (address & ipv4_mask(prefix.length)) == prefix.address;
}
