#include "common/base/error.h"

#include <stddef.h>
#include <string.h>

#include "common/base/macros.h"

static const struct {
	int code;
	const char *text;
} rows[] = {
	{E_MALFORMED,      "malformed"                },
	{E_NOT_FOUND,      "not found"                },
	{E_CONFLICT,       "conflict"                 },
	{E_DENIED,         "not allowed"              },
	{E_UNAVAILABLE,    "unavailable, try again"   },
	{E_DIGEST,         "digest or signature wrong"},
	{E_TIMEOUT,        "deadline passed"          },
	{E_PROTOCOL,       "protocol violated by peer"},
	{E_UNSUPPORTED,    "not supported by peer"    },
	{E_AUTHENTICATION, "wrong name or password"   },
	{E_LIMIT,          "too large"                },
	{E_STALE,          "changed meanwhile"        },
	{E_INVALID,        "not acceptable"           },
};

const char *error_text(int rc)
{
	const char *text = NULL;

	if (rc == 0)
		return "success";
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].code == rc)
			return rows[i].text;
	}
	if (rc < 0 && rc > E_MALFORMED)
		text = strerrordesc_np(-rc); /* static, unlike strerror() */
	return text ? text : "unknown error";
}
