#include "portal/server/query_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/net/ipv4.h"
#include "common/net/mac.h"

#define LIMIT_MAX    1000
#define DIGITS_MAX   18 /* of a bigint, whatever they are */
#define CURSOR_MAX   4096
#define POSITION_MAX 41

static bool query_policy_is_number(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits <= DIGITS_MAX && text[digits] == '\0';
}

bool query_is_id(const char *text)
{
	return query_policy_is_number(text) && text[0] != '0';
}

static int query_policy_refuse(const char *allowed, char *ret_allowed)
{
	(void)text_copy(ret_allowed, QUERY_ALLOWED_SIZE, allowed);
	return E_MALFORMED;
}

static int query_policy_copy(const char *value, char **ret)
{
	char *text = strdup(value);

	if (!text)
		return -ENOMEM;
	*ret = text;
	return 0;
}

/* Shell glob to LIKE: * -> %, ? -> _, and what LIKE finds special escaped. */
static int glob_to_like(const char *value, char **ret)
{
	struct text like = {0};

	for (; *value; value++) {
		if (*value == '*')
			text_add(&like, "%");
		else if (*value == '?')
			text_add(&like, "_");
		else
			text_addf(&like, "%s%c", strchr("%_\\", *value) ? "\\" : "", *value);
	}
	*ret = text_take(&like);
	return *ret ? 0 : -ENOMEM;
}

static int check_text(const struct query_row *row, const char *value, char **ret, char *ret_allowed)
{
	if (value[0] == '\0' || strlen(value) > row->max) {
		char allowed[48];

		(void)text_format(allowed, sizeof(allowed), "1 to %zu characters", row->max);
		return query_policy_refuse(allowed, ret_allowed);
	}
	return row->kind == QUERY_GLOB ? glob_to_like(value, ret) : query_policy_copy(value, ret);
}

static int query_policy_check_word(const struct query_row *row, const char *value, char **ret,
				   char *ret_allowed)
{
	char allowed[QUERY_ALLOWED_SIZE] = "";
	size_t at = 0;

	for (const char *const *word = row->words; *word; word++) {
		if (strcmp(*word, value) == 0)
			return query_policy_copy(value, ret);
		(void)text_format(allowed + at, sizeof(allowed) - at, "%s%s",
				  at > 0 ? ", " : "one of ", *word);
		at = strlen(allowed);
	}
	return query_policy_refuse(allowed, ret_allowed);
}

static int check_limit(const char *value, char **ret, char *ret_allowed)
{
	if (!query_policy_is_number(value) || strtol(value, NULL, 10) < 1 ||
	    strtol(value, NULL, 10) > LIMIT_MAX)
		return query_policy_refuse("a number from 1 to 1000", ret_allowed);
	return query_policy_copy(value, ret);
}

/* The key of the last row, which STORE_PAGE gave in hex. */
static int check_cursor(const struct query_row *row, const char *value, char **ret,
			char *ret_allowed)
{
	size_t size = strlen(value) / 2;
	char key[CURSOR_MAX / 2 + 1] = "";

	if (size == 0 || size > CURSOR_MAX / 2 || hex_decode(value, key, size) != 0 ||
	    strlen(key) != size)
		return query_policy_refuse("the `next` of the previous page", ret_allowed);
	if (row->kind == QUERY_CURSOR_ID && !query_is_id(key))
		return query_policy_refuse("the `next` of the previous page", ret_allowed);
	return query_policy_copy(key, ret);
}

static int check_position(const char *value, char **ret, char *ret_allowed)
{
	size_t first = strspn(value, "0123456789");
	size_t second = value[first] == '-' ? strspn(value + first + 1, "0123456789") : 0;

	if (first == 0 || first > 20 || second == 0 || second > DIGITS_MAX ||
	    strlen(value) > POSITION_MAX || value[first + 1 + second] != '\0')
		return query_policy_refuse("an id of this stream, XID-ID", ret_allowed);
	return query_policy_copy(value, ret);
}

static int check_mac(const char *value, char **ret, char *ret_allowed)
{
	char text[MAC_TEXT_SIZE];
	struct mac mac;

	return mac_parse(value, &mac) == 0
		       ? query_policy_copy(mac_text(mac, text), ret)
		       : query_policy_refuse("a MAC, 52:54:00:00:00:17", ret_allowed);
}

static int check_address(const char *value, char **ret, char *ret_allowed)
{
	uint32_t address;

	return ipv4_parse(value, &address) == 0
		       ? query_policy_copy(value, ret)
		       : query_policy_refuse("an IPv4 address like 10.2.0.17", ret_allowed);
}

static int two_digits(const char *text)
{
	return (text[0] - '0') * 10 + text[1] - '0';
}

/* `d` in the pattern is a digit, all else stands for itself. */
static bool looks_like(const char *text, const char *pattern)
{
	for (; *pattern; pattern++, text++) {
		if (*pattern == 'd' ? *text < '0' || *text > '9' : *text != *pattern)
			return false;
	}
	return true;
}

static bool is_day(const char *text)
{
	static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int year;
	int month;
	int day;

	if (!looks_like(text, "dddd-dd-dd"))
		return false;
	year = two_digits(text) * 100 + two_digits(text + 2);
	month = two_digits(text + 5);
	day = two_digits(text + 8);
	if (year < 1970 || month < 1 || month > 12 || day < 1 || day > days[month - 1])
		return false;
	return month != 2 || day < 29 || (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

/* "T03:10:00", "T03:10:00.5Z", "T03:10:00+02:00"; the zone must be said. */
static bool is_time_of_day(const char *text)
{
	if (!looks_like(text, "Tdd:dd:dd") || two_digits(text + 1) > 23 ||
	    two_digits(text + 4) > 59 || two_digits(text + 7) > 59)
		return false;
	text += 9;
	if (*text == '.') {
		size_t digits = strspn(text + 1, "0123456789");

		if (digits == 0 || digits > 6)
			return false;
		text += 1 + digits;
	}
	if (strcmp(text, "Z") == 0)
		return true;
	return (*text == '+' || *text == '-') && looks_like(text + 1, "dd:dd") && text[6] == '\0' &&
	       two_digits(text + 1) <= 14 && two_digits(text + 4) <= 59;
}

static int query_policy_check_time(const char *value, char **ret, char *ret_allowed)
{
	char first[32];

	if (is_day(value) && value[10] == '\0') {
		(void)text_format(first, sizeof(first), "%sT00:00:00Z", value);
		return query_policy_copy(first, ret);
	}
	if (is_day(value) && is_time_of_day(value + 10))
		return query_policy_copy(value, ret);
	return query_policy_refuse("a day like 2026-11-01, or a time like 2026-11-01T08:00:00Z",
				   ret_allowed);
}

static int check_clock(const char *value, char **ret, char *ret_allowed)
{
	bool seconds = looks_like(value, "dd:dd:dd") && value[8] == '\0';

	if ((seconds || (looks_like(value, "dd:dd") && value[5] == '\0')) &&
	    two_digits(value) <= 23 && two_digits(value + 3) <= 59 &&
	    (!seconds || two_digits(value + 6) <= 59))
		return query_policy_copy(value, ret);
	if (is_day(value) && is_time_of_day(value + 10))
		return query_policy_copy(value, ret);
	return query_policy_refuse("a time like 10:42 or 10:42:30 (UTC), or 2026-11-01T08:00:00Z",
				   ret_allowed);
}

static int check_window(const char *value, char **ret, char *ret_allowed)
{
	static const struct {
		char unit;
		long seconds, max;
	} units[] = {{'s', 1, 86400}, {'m', 60, 43200}, {'h', 3600, 720}, {'d', 86400, 30}};
	size_t digits = strspn(value, "0123456789");
	char text[24];

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		long count = digits > 0 && digits <= 5 ? strtol(value, NULL, 10) : 0;

		if (value[digits] != units[i].unit || value[digits + 1] != '\0' || count < 1 ||
		    count > units[i].max)
			continue;
		(void)text_format(text, sizeof(text), "%ld", count * units[i].seconds);
		return query_policy_copy(text, ret);
	}
	return query_policy_refuse("a length of time from 1s to 30d, like 10s, 5m, 6h, 7d",
				   ret_allowed);
}

int query_check(const struct query_row *row, const char *value, char **ret, char *ret_allowed)
{
	if (!value)
		value = row->fallback;
	if (!value && row->required)
		return query_policy_refuse("given", ret_allowed);
	if (!value) {
		*ret = NULL;
		return 0;
	}
	switch (row->kind) {
	case QUERY_TEXT:
	case QUERY_GLOB: return check_text(row, value, ret, ret_allowed);
	case QUERY_WORD: return query_policy_check_word(row, value, ret, ret_allowed);
	case QUERY_ID:
		return query_is_id(value) ? query_policy_copy(value, ret)
					  : query_policy_refuse("a number from 1", ret_allowed);
	case QUERY_OFFSET:
		return query_policy_is_number(value)
			       ? query_policy_copy(value, ret)
			       : query_policy_refuse("a number from 0", ret_allowed);
	case QUERY_BOOL:
		if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
			return query_policy_refuse("true or false", ret_allowed);
		return query_policy_copy(value, ret);
	case QUERY_LIMIT: return check_limit(value, ret, ret_allowed);
	case QUERY_CURSOR_TEXT:
	case QUERY_CURSOR_ID:
	case QUERY_CURSOR_LIST: return check_cursor(row, value, ret, ret_allowed);
	case QUERY_ADDRESS: return check_address(value, ret, ret_allowed);
	case QUERY_MAC: return check_mac(value, ret, ret_allowed);
	case QUERY_POSITION: return check_position(value, ret, ret_allowed);
	case QUERY_TIME: return query_policy_check_time(value, ret, ret_allowed);
	case QUERY_CLOCK: return check_clock(value, ret, ret_allowed);
	case QUERY_WINDOW: return check_window(value, ret, ret_allowed);
	}
	return query_policy_refuse("nothing", ret_allowed);
}
