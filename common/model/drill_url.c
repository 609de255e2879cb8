#include "common/model/drill_url.h"

#include <string.h>

#include "common/base/error.h"

#define BEGIN "/drill"

/* What a query may hold as it is (RFC 3986 3.4), less what divides one: '&', '=', '+', ';'. */
static const char drill_url_plain[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	"-._~:/@,";

static void drill_url_add_value(struct text *out, const char *name, const char *value)
{
	if (!value[0])
		return;
	text_addf(out, "%c%s=", strchr(text_get(out), '?') ? '&' : '?', name);
	for (; *value; value++) {
		if (strchr(drill_url_plain, *value))
			text_add_bytes(out, value, 1);
		else
			text_addf(out, "%%%02X", (unsigned)(unsigned char)*value);
	}
}

void drill_url_print(const struct drill_url *url, struct text *out)
{
	CLEANUP(text_done) struct text text = {0};

	text_add(&text, BEGIN);
	drill_url_add_value(&text, "path", url->path);
	drill_url_add_value(&text, "at", url->at);
	drill_url_add_value(&text, "window", url->window);
	text_add(out, text_get(&text));
}

bool drill_url_is(const char *text)
{
	return strncmp(text, BEGIN, sizeof(BEGIN) - 1) == 0 || strstr(text, "://");
}

static int drill_url_wrong(struct problem *problem, const char *what)
{
	(void)problem_set(problem, E_MALFORMED, "the URL is wrong: %s", what);
	problem_hint(problem, "it is " BEGIN "?path=...&at=TIME&window=5m, as drill -o json says");
	return E_MALFORMED;
}

static int drill_url_hex_digit(char c)
{
	const char *digits = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* `size` bytes of a query's value. Returns what is wrong, or NULL. */
static const char *drill_url_decode(const char *text, size_t size, char *ret, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < size; i++) {
		char c = text[i];

		if (c == '%') {
			int high = i + 1 < size ? drill_url_hex_digit(text[i + 1]) : -1;
			int low = i + 2 < size ? drill_url_hex_digit(text[i + 2]) : -1;

			if (high < 0 || low < 0)
				return "% is not followed by two hexadecimal digits";
			c = (char)(high * 16 + low);
			i += 2;
		}
		if (c < ' ' || c > '~')
			return "it holds more than printable ASCII";
		if (used + 1 >= room)
			return "it is too long";
		ret[used++] = c;
	}
	ret[used] = '\0';
	return NULL;
}

/* "name=value". Returns what is wrong, or NULL. */
static const char *drill_url_take(const char *part, size_t size, struct drill_url *url)
{
	const struct {
		const char *name;
		char *value;
		size_t room;
	} rows[] = {{"path=", url->path, sizeof(url->path)},
		    {"at=", url->at, sizeof(url->at)},
		    {"window=", url->window, sizeof(url->window)}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		size_t length = strlen(rows[i].name);

		if (size < length || memcmp(part, rows[i].name, length) != 0)
			continue;
		if (rows[i].value[0])
			return "it has a parameter twice";
		return drill_url_decode(part + length, size - length, rows[i].value, rows[i].room);
	}
	return "it has a parameter other than path, at and window";
}

/* Behind scheme and host; NULL when it is another scheme's. */
static const char *reference_of(const char *text)
{
	static const char *const schemes[] = {"http://", "https://"};

	for (size_t i = 0; i < COUNT_OF(schemes); i++) {
		if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
			return strchr(text + strlen(schemes[i]), '/');
	}
	return text[0] == '/' ? text : NULL;
}

int drill_url_parse(const char *text, struct drill_url *ret, struct problem *problem)
{
	const char *at = reference_of(text);
	struct drill_url url = {0};
	struct drill_path path;
	const char *why = NULL;

	if (!at || strncmp(at, BEGIN, sizeof(BEGIN) - 1) != 0)
		return drill_url_wrong(problem, "it does not lead to " BEGIN);
	at += sizeof(BEGIN) - 1;
	if (*at != '\0' && *at != '?')
		return drill_url_wrong(problem, "it does not lead to " BEGIN);
	while (*at && !why) {
		size_t size = strcspn(++at, "&#");

		why = drill_url_take(at, size, &url);
		at += size;
		if (*at == '#') /* a place in the page: the browser's */
			break;
	}
	if (why)
		return drill_url_wrong(problem, why);
	int rc = drill_path_parse(url.path, &path, problem);
	if (rc)
		return rc;
	*ret = url;
	return 0;
}
