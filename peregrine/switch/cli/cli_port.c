#include "peregrine/switch/cli/cli_port.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/macros.h"
#include "common/base/text.h"

enum { NAME_ROOM = 64, RANGE_LIMIT = 4096 };

static size_t kind_length(const char *name)
{
	size_t length = 0;

	while (isalpha((unsigned char)name[length]) ||
	       (name[length] == '-' && isalpha((unsigned char)name[length + 1])))
		length++;
	return length;
}

/* The long form of a kind: itself, or any beginning of it that is not shorter than its short form.
 */
static const char *long_kind(const struct cli_dialect *dialect, const char *kind, size_t length)
{
	for (size_t i = 0; i < COUNT_OF(dialect->port_kinds) && dialect->port_kinds[i][0]; i++) {
		const char *is = dialect->port_kinds[i][0];

		if (length >= strlen(dialect->port_kinds[i][1]) && length <= strlen(is) &&
		    strncasecmp(is, kind, length) == 0)
			return is;
		if (length == strlen(dialect->port_kinds[i][1]) &&
		    strncasecmp(dialect->port_kinds[i][1], kind, length) == 0)
			return is;
	}
	return NULL;
}

void cli_port_name(const struct cli_dialect *dialect, const char *name, char *ret, size_t room)
{
	size_t length;
	const char *kind;
	const char *number;

	name += strspn(name, " \t");
	length = kind_length(name);
	number = name + length + strspn(name + length, " \t");
	kind = length ? long_kind(dialect, name, length) : NULL;
	if (kind && isdigit((unsigned char)*number))
		text_format(ret, room, "%s%s%s", kind, dialect->port_space ? " " : "", number);
	else
		text_copy(ret, room, name);
	length = strlen(ret);
	while (length && (ret[length - 1] == ' ' || ret[length - 1] == '\t'))
		ret[--length] = '\0';
}

bool cli_port_is_known(const struct cli_dialect *dialect, const char *name)
{
	size_t length;

	name += strspn(name, " \t");
	length = kind_length(name);
	return length == 0 || !dialect->port_kinds[0][0] ||
	       long_kind(dialect, name, length) != NULL;
}

bool cli_port_name_ok(const char *name)
{
	size_t length = strlen(name);

	if (length == 0 || length >= NAME_ROOM || !isalnum((unsigned char)*name))
		return false;
	for (; *name; name++) {
		if (!isalnum((unsigned char)*name) && !strchr("/:.-_ ", *name))
			return false;
	}
	return true;
}

bool cli_port_same(const struct cli_dialect *dialect, const char *a, const char *b)
{
	char one[NAME_ROOM];
	char other[NAME_ROOM];

	cli_port_name(dialect, a, one, sizeof(one));
	cli_port_name(dialect, b, other, sizeof(other));
	return strcasecmp(one, other) == 0;
}

/* Up to the number that a range may count: "Te 0/" of "Te 0/12". */
static size_t head_length(const char *name)
{
	size_t length = strlen(name);

	while (length && isdigit((unsigned char)name[length - 1]))
		length--;
	return length;
}

static void each_name(const struct cli_dialect *dialect, const char *name, cli_port_fn fn,
		      void *context)
{
	char ours[NAME_ROOM];

	cli_port_name(dialect, name, ours, sizeof(ours));
	fn(context, ours);
}

/* "A1-A4", "0/1-3", "1/1/1-1/1/4": the last number counts up. */
static bool each_range(const struct cli_dialect *dialect, const char *first, const char *last,
		       cli_port_fn fn, void *context)
{
	size_t head = head_length(first);
	size_t tail = head_length(last);
	unsigned long low;
	unsigned long high;

	if (!first[head] || !last[tail])
		return false;
	/* The second may leave the head out, never have another. */
	if (tail && (tail > head || strncasecmp(first + head - tail, last, tail) != 0))
		return false;
	low = strtoul(first + head, NULL, 10);
	high = strtoul(last + tail, NULL, 10);
	if (high < low || high - low >= RANGE_LIMIT)
		return false;
	for (; low <= high; low++) {
		char name[NAME_ROOM];

		if (!text_format(name, sizeof(name), "%.*s%lu", (int)head, first, low))
			return false;
		each_name(dialect, name, fn, context);
	}
	return true;
}

/* A '-' before which a number ends and after which a port or number begins. */
static char *range_dash(char *item)
{
	for (char *at = strchr(item, '-'); at; at = strchr(at + 1, '-')) {
		if (at > item && isdigit((unsigned char)at[-1]) &&
		    head_length(at + 1) < strlen(at + 1))
			return at;
	}
	return NULL;
}

static bool each_item(const struct cli_dialect *dialect, char *item, cli_port_fn fn, void *context)
{
	char *dash = range_dash(item);

	if (!dash) {
		each_name(dialect, item, fn, context);
		return true;
	}
	*dash = '\0';
	return each_range(dialect, item, dash + 1, fn, context);
}

bool cli_port_list_each(const struct cli_dialect *dialect, const char *text, cli_port_fn fn,
			void *context)
{
	/* "Te 0/1-3,5": an item that is a bare number goes on with the head of the one before. */
	char before[NAME_ROOM] = "";

	while (*text) {
		size_t length = strcspn(text, ",");
		char item[NAME_ROOM * 2];
		const char *from = text + strspn(text, " \t");
		size_t used = from < text + length ? (size_t)(text + length - from) : 0;

		if (used >= NAME_ROOM)
			return false;
		if (used && isdigit((unsigned char)*from) && before[0] && !memchr(from, '/', used))
			text_format(item, sizeof(item), "%s%.*s", before, (int)used, from);
		else
			text_format(item, sizeof(item), "%.*s", (int)used, from);
		if (item[0]) {
			char *dash = range_dash(item);
			size_t head;

			if (dash)
				*dash = '\0';
			head = head_length(item);
			text_format(before, sizeof(before), "%.*s", (int)head, item);
			if (dash)
				*dash = '-';
			if (!each_item(dialect, item, fn, context))
				return false;
		}
		text += length + (text[length] == ',');
	}
	return true;
}
