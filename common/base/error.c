#include "common/base/error.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "common/base/macros.h"

static const struct {
	int code;
	const char *word;
	const char *text;
} error_rows[] = {
	/* clang-format off */
	{E_MALFORMED, "malformed", "malformed"},
	{E_NOT_FOUND, "not_found", "not found"},
	{E_CONFLICT, "conflict", "conflict"},
	{E_DENIED, "denied", "not allowed"},
	{E_UNAVAILABLE, "unavailable", "unavailable, try again"},
	{E_DIGEST, "digest", "digest or signature wrong"},
	{E_TIMEOUT, "timeout", "deadline passed"},
	{E_PROTOCOL, "protocol", "protocol violated by peer"},
	{E_UNSUPPORTED, "unsupported", "not supported by peer"},
	{E_AUTHENTICATION, "authentication", "wrong name or password"},
	{E_LIMIT, "limit", "too large"},
	{E_STALE, "stale", "changed meanwhile"},
	{E_UNREAD, "precondition", "not read first"},
	{E_INVALID, "invalid", "not acceptable"},
	{E_LAPSED, "lapsed", "the claim ran out"},
	{-EBUSY, "busy", "busy, try again"},
	/* clang-format on */
};

const char *error_text(int rc)
{
	const char *text = NULL;

	if (rc == 0)
		return "success";
	for (size_t i = 0; i < COUNT_OF(error_rows); i++) {
		if (error_rows[i].code == rc)
			return error_rows[i].text;
	}
	if (rc < 0 && rc > E_MALFORMED)
		text = strerrordesc_np(-rc); /* static, unlike strerror() */
	return text ? text : "unknown error";
}

const char *error_word(int rc)
{
	for (size_t i = 0; i < COUNT_OF(error_rows); i++) {
		if (error_rows[i].code == rc)
			return error_rows[i].word;
	}
	return "internal";
}
