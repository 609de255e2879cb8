#include "common/net/forwarded_wire.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/net/ipv4.h"

#define VALUE_ROOM 64 /* "255.255.255.255:65535" and more than that */

const char *forwarded_encode(uint32_t client, char ret[FORWARDED_TEXT_SIZE])
{
	char address[IPV4_TEXT_SIZE];

	(void)text_format(ret, FORWARDED_TEXT_SIZE, "for=%s", ipv4_text(client, address));
	return ret;
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* RFC 9110 5.6.2, and ':' as many proxies write it without quotes. */
static size_t token_length(const char *at)
{
	return strspn(at, "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
			  "uvwxyz:");
}

/* A token or a quoted string into `ret`; NULL when it is neither, or too long. */
static const char *forwarded_wire_read_value(const char *at, char ret[VALUE_ROOM])
{
	size_t length = token_length(at);
	size_t size = 0;

	if (*at != '"') {
		if (length == 0 || length >= VALUE_ROOM)
			return NULL;
		memcpy(ret, at, length);
		ret[length] = '\0';
		return at + length;
	}
	for (at++; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1])
			at++;
		if (size + 1 == VALUE_ROOM)
			return NULL;
		ret[size++] = *at;
	}
	ret[size] = '\0';
	return *at == '"' ? at + 1 : NULL;
}

/* One name=value; sets *client when it is "for". NULL when it is malformed. */
static const char *forwarded_wire_read_pair(const char *at, uint32_t *client, bool *has_client)
{
	size_t length = token_length(at);
	bool is_for = length == 3 && strncasecmp(at, "for", 3) == 0;
	char value[VALUE_ROOM];

	if (length == 0 || at[length] != '=')
		return NULL;
	at = forwarded_wire_read_value(at + length + 1, value);
	if (!at || !is_for)
		return at;
	value[strcspn(value, ":")] = '\0';
	if (*has_client || ipv4_parse(value, client))
		return NULL;
	*has_client = true;
	return at;
}

int forwarded_decode(const char *value, uint32_t *ret_client)
{
	const char *at = skip_blanks(value);
	uint32_t client = 0;
	bool has_client = false;

	while (*at) {
		at = forwarded_wire_read_pair(at, &client, &has_client);
		if (!at)
			return E_MALFORMED;
		at = skip_blanks(at);
		if (*at == ',') {
			has_client = false; /* the element behind is nearer to us */
			at = skip_blanks(at + 1);
			if (!*at)
				return E_MALFORMED;
		} else if (*at == ';') {
			at = skip_blanks(at + 1);
		} else if (*at) {
			return E_MALFORMED;
		}
	}
	if (!has_client)
		return E_MALFORMED;
	*ret_client = client;
	return 0;
}
