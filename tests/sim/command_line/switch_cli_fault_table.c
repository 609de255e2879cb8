#include "tests/sim/command_line/switch_cli_fault_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

enum kind { FLAG, SWITCH_CLI_FAULT_TABLE_NUMBER, SECONDS, VERBS, PLACE };

#define AT(member) offsetof(struct cli_faults, member)

static const struct {
	const char *key;
	enum kind kind;
	size_t at;
	uint32_t max;
	const char *help;
} switch_cli_fault_table_rows[] = {
	{"slow", SECONDS, AT(slow_ms), 600, "seconds before each command is answered, as 0.5"},
	{"refuse", VERBS, AT(refuse), 0, "commands of these verbs get the family's error"},
	{"lost_write", VERBS, AT(lost), 0, "these are answered as done and not done"},
	{"partial", SWITCH_CLI_FAULT_TABLE_NUMBER, AT(partial), 10000,
	 "a session ends after so many changes"},
	{"slow_change", SECONDS, AT(slow_change_ms), 600,
	 "seconds before a command that changes something is answered"},
	{"reboot_after", SWITCH_CLI_FAULT_TABLE_NUMBER, AT(reboot_after), 10000,
	 "once, when a session has made so many changes: as reboot"},
	{"lost_save", FLAG, AT(lost_save), 0, "saving says yes and keeps nothing"},
	{"lock", FLAG, AT(locked), 0,
	 "somebody else holds the configuration, on families that have such a lock"},
	{"sessions", SWITCH_CLI_FAULT_TABLE_NUMBER, AT(sessions), 1000, "so many may be logged in"},
	{"reboot", SWITCH_CLI_FAULT_TABLE_NUMBER, AT(reboot), 1000000,
	 "each new number: startup configuration, sessions dropped"},
	{"foreign", PLACE, AT(foreign_port), 0,
	 "PORT:VID, each new one: somebody else makes it an access port"},
	{"garbage", FLAG, AT(garbage), 0, "bytes that are no text come before each answer"},
	{"endless", FLAG, AT(endless), 0, "what a command shows does not end"},
	{"silent", FLAG, AT(silent), 0, "nothing is answered"},
};

static bool switch_cli_fault_table_read_number(const char *text, size_t size, uint32_t scale,
					       uint32_t max, uint32_t *ret)
{
	char copy[16];
	char *end;
	double value;

	if (size == 0 || size >= sizeof(copy))
		return false;
	memcpy(copy, text, size);
	copy[size] = '\0';
	value = strtod(copy, &end);
	if (*end != '\0' || !(value >= 0) || value > (double)max)
		return false;
	*ret = (uint32_t)(value * scale);
	return true;
}

static bool read_verb(const char *text, size_t size, uint32_t *bits)
{
	for (unsigned verb = 0; verb < SWITCH_VERBS; verb++) {
		if (strlen(switch_verb_words[verb]) == size &&
		    memcmp(switch_verb_words[verb], text, size) == 0) {
			*bits |= 1U << verb;
			return true;
		}
	}
	if (size == 3 && memcmp(text, "all", 3) == 0) {
		*bits = (1U << SWITCH_VERBS) - 1;
		return true;
	}
	return false;
}

static bool switch_cli_fault_table_read_verbs(const char *text, size_t size, uint32_t *ret)
{
	uint32_t bits = 0;

	for (const char *end = text + size; text < end;) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		const char *stop = comma ? comma : end;

		if (!read_verb(text, (size_t)(stop - text), &bits))
			return false;
		text = comma ? stop + 1 : end;
	}
	*ret = bits;
	return true;
}

static bool read_place(const char *text, size_t size, uint32_t ret[2])
{
	const char *colon = memchr(text, ':', size);
	uint32_t port;
	uint32_t vid;

	if (!colon ||
	    !switch_cli_fault_table_read_number(text, (size_t)(colon - text), 1, 1024, &port) ||
	    !switch_cli_fault_table_read_number(colon + 1, size - (size_t)(colon - text) - 1, 1,
						4094, &vid))
		return false;
	ret[0] = port;
	ret[1] = vid;
	return true;
}

static bool switch_cli_fault_table_read_pair(const char *text, size_t size, struct cli_faults *ret)
{
	const char *equals = memchr(text, '=', size);
	size_t key = equals ? (size_t)(equals - text) : size;
	const char *value = equals ? equals + 1 : "1";
	size_t length = equals ? size - key - 1 : 1;

	for (size_t i = 0; i < COUNT_OF(switch_cli_fault_table_rows); i++) {
		uint32_t number = 0;
		uint32_t place[2] = {0, 0};
		void *at = (char *)ret + switch_cli_fault_table_rows[i].at;
		bool good = false;

		if (strlen(switch_cli_fault_table_rows[i].key) != key ||
		    memcmp(switch_cli_fault_table_rows[i].key, text, key) != 0)
			continue;
		switch (switch_cli_fault_table_rows[i].kind) {
		case FLAG:
			good = switch_cli_fault_table_read_number(value, length, 1, 1, &number);
			*(bool *)at = number != 0;
			return good;
		case PLACE:
			if (!read_place(value, length, place))
				return false;
			memcpy(at, place, sizeof(place));
			return true;
		case SWITCH_CLI_FAULT_TABLE_NUMBER:
			good = switch_cli_fault_table_read_number(
				value, length, 1, switch_cli_fault_table_rows[i].max, &number);
			break;
		case SECONDS:
			good = switch_cli_fault_table_read_number(
				value, length, 1000, switch_cli_fault_table_rows[i].max, &number);
			break;
		case VERBS: good = switch_cli_fault_table_read_verbs(value, length, &number); break;
		}
		if (good)
			memcpy(at, &number, sizeof(number));
		return good;
	}
	return false;
}

int cli_faults_read(const char *text, struct cli_faults *ret, char wrong[64])
{
	struct cli_faults faults = {0};
	int rc = 0;

	while (*text) {
		size_t size;

		text += strspn(text, " \t\r\n");
		size = strcspn(text, " \t\r\n");
		if (size == 4 && memcmp(text, "none", 4) == 0) {
			faults = (struct cli_faults){0};
		} else if (size > 0 && !switch_cli_fault_table_read_pair(text, size, &faults)) {
			size_t copied = size < 63 ? size : 63;

			memcpy(wrong, text, copied);
			wrong[copied] = '\0';
			rc = E_MALFORMED;
		}
		text += size;
	}
	*ret = faults;
	return rc;
}

void cli_faults_help(FILE *out)
{
	for (size_t i = 0; i < COUNT_OF(switch_cli_fault_table_rows); i++)
		(void)fprintf(out, "  %-18s %s\n", switch_cli_fault_table_rows[i].key,
			      switch_cli_fault_table_rows[i].help);
	(void)fprintf(out, "verbs:");
	for (size_t i = 0; i < SWITCH_VERBS; i++)
		(void)fprintf(out, " %s", switch_verb_words[i]);
	(void)fprintf(out, " (or all, or several with commas)\n");
}
