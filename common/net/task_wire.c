#include "common/net/task_wire.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define TASK_WIRE_HEADING "haas-task 1\n"
#define TASK_WIRE_DIGITS  18 /* of an int64_t, always */
#define TASK_WIRE_ROWS    COUNT_OF(task_wire_rows)

enum task_wire_kind { TASK_WIRE_NUMBER, TASK_WIRE_WORD, TASK_WIRE_DIGEST };

#define TASK_WIRE_AT(member) \
	offsetof(struct task_statement, member), sizeof(((struct task_statement *)0)->member)

/* clang-format off */
static const struct {
	const char *name;
	enum task_wire_kind kind;
	size_t at, room;
} task_wire_rows[] = {
	{"task",       TASK_WIRE_NUMBER, TASK_WIRE_AT(task)},
	{"deployment", TASK_WIRE_NUMBER, TASK_WIRE_AT(deployment)},
	{"kind",       TASK_WIRE_WORD,   TASK_WIRE_AT(kind)},
	{"node",       TASK_WIRE_WORD,   TASK_WIRE_AT(node)},
	{"mac",        TASK_WIRE_WORD,   TASK_WIRE_AT(mac)},
	{"boot",       TASK_WIRE_DIGEST, TASK_WIRE_AT(boot)},
	{"agent",      TASK_WIRE_DIGEST, TASK_WIRE_AT(agent)},
	{"issued",     TASK_WIRE_NUMBER, TASK_WIRE_AT(issued_ms)},
	{"expires",    TASK_WIRE_NUMBER, TASK_WIRE_AT(expires_ms)},
	{"params",     TASK_WIRE_DIGEST, TASK_WIRE_AT(params)},
};
/* clang-format on */

/* A value ends at the end of its line, so it holds no blank and no control character. */
static bool task_wire_fits(enum task_wire_kind kind, const char *value, size_t size)
{
	static const char digits[] = "0123456789";
	static const char hex[] = "0123456789abcdef";

	switch (kind) {
	case TASK_WIRE_NUMBER:
		return size >= 1 && size <= TASK_WIRE_DIGITS && strspn(value, digits) >= size &&
		       (value[0] != '0' || size == 1);
	case TASK_WIRE_DIGEST: return size == DIGEST_TEXT_SIZE - 1 && strspn(value, hex) >= size;
	case TASK_WIRE_WORD: break;
	}
	for (size_t i = 0; i < size; i++)
		if (value[i] <= ' ' || value[i] > '~')
			return false;
	return size >= 1;
}

int task_statement_encode(const struct task_statement *statement, char ret[TASK_STATEMENT_SIZE])
{
	size_t used = strlen(TASK_WIRE_HEADING);

	memcpy(ret, TASK_WIRE_HEADING, used + 1);
	for (size_t i = 0; i < TASK_WIRE_ROWS; i++) {
		const char *member = (const char *)statement + task_wire_rows[i].at;
		char number[24];
		int64_t value;

		if (task_wire_rows[i].kind == TASK_WIRE_NUMBER) {
			memcpy(&value, member, sizeof(value));
			(void)text_format(number, sizeof(number), "%" PRId64, value);
			member = number;
		}
		if (!task_wire_fits(task_wire_rows[i].kind, member, strlen(member)))
			return E_INVALID;
		if (!text_format(ret + used, TASK_STATEMENT_SIZE - used, "%s %s\n",
				 task_wire_rows[i].name, member))
			return E_LIMIT;
		used += strlen(ret + used);
	}
	return 0;
}

/* One line at *at; *at moves behind it. */
static bool task_wire_read_line(const char **at, size_t row, struct task_statement *ret)
{
	size_t name = strlen(task_wire_rows[row].name);
	char *member = (char *)ret + task_wire_rows[row].at;
	const char *value;
	size_t size;
	int64_t number;

	if (strncmp(*at, task_wire_rows[row].name, name) != 0 || (*at)[name] != ' ')
		return false;
	value = *at + name + 1;
	size = strcspn(value, "\n");
	if (value[size] != '\n' || !task_wire_fits(task_wire_rows[row].kind, value, size))
		return false;
	*at = value + size + 1;
	if (task_wire_rows[row].kind == TASK_WIRE_NUMBER) {
		number = strtoll(value, NULL, 10);
		memcpy(member, &number, sizeof(number));
		return true;
	}
	if (size >= task_wire_rows[row].room)
		return false;
	memcpy(member, value, size);
	member[size] = '\0';
	return true;
}

int task_statement_decode(const char *text, struct task_statement *ret)
{
	struct task_statement statement = {0};

	if (strlen(text) >= TASK_STATEMENT_SIZE ||
	    strncmp(text, TASK_WIRE_HEADING, strlen(TASK_WIRE_HEADING)) != 0)
		return E_MALFORMED;
	text += strlen(TASK_WIRE_HEADING);
	for (size_t i = 0; i < TASK_WIRE_ROWS; i++)
		if (!task_wire_read_line(&text, i, &statement))
			return E_MALFORMED;
	if (*text)
		return E_MALFORMED;
	*ret = statement;
	return 0;
}
