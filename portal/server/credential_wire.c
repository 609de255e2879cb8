#include "portal/server/credential_wire.h"

#include <string.h>

#define CREDENTIAL_PREFIX "haas_"

static const char credential_letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool credential_is_ours(const char *text, size_t length)
{
	return length > sizeof(CREDENTIAL_PREFIX) - 1 && length < CREDENTIAL_SIZE &&
	       memcmp(text, CREDENTIAL_PREFIX, sizeof(CREDENTIAL_PREFIX) - 1) == 0 &&
	       strspn(text, credential_letters) >= length;
}

bool credential_of_cookie(const char *header, char ret[CREDENTIAL_SIZE])
{
	const size_t name = sizeof(CREDENTIAL_COOKIE) - 1;
	const char *at = header;

	while (*at) {
		size_t length;

		at += strspn(at, " \t;");
		length = strcspn(at, ";");
		if (length > name && at[name] == '=' && memcmp(at, CREDENTIAL_COOKIE, name) == 0) {
			const char *value = at + name + 1;
			size_t size = length - name - 1;

			while (size > 0 && (value[size - 1] == ' ' || value[size - 1] == '\t'))
				size--;
			if (!credential_is_ours(value, size))
				return false;
			memcpy(ret, value, size);
			ret[size] = '\0';
			return true;
		}
		at += length;
	}
	return false;
}
