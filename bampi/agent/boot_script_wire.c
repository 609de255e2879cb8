#include "bampi/agent/boot_script_wire.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/error.h"
#include "common/net/wire.h"

static const struct {
	const char *word;
	enum boot_script_target target;
} boot_script_targets[] = {
	{"agent", BOOT_SCRIPT_AGENT}, {"disk", BOOT_SCRIPT_DISK}, {"stop", BOOT_SCRIPT_STOP},
	{"wait", BOOT_SCRIPT_WAIT},   {"none", BOOT_SCRIPT_WAIT},
};

/* What is before `end`, which is consumed too; the rest when there is none. */
static struct wire_reader boot_script_until(struct wire_reader *reader, int end)
{
	const uint8_t *at = memchr(reader->at, end, wire_left(reader));
	size_t size = at ? (size_t)(at - reader->at) : wire_left(reader);
	struct wire_reader part = wire_cut(reader, size);

	if (at)
		wire_skip(reader, 1);
	return part;
}

static bool boot_script_is(const struct wire_reader *part, const char *text)
{
	size_t size = strlen(text);

	return wire_left(part) == size && memcmp(part->at, text, size) == 0;
}

/* Consumes `text` when the reader begins with it. */
static bool boot_script_begins(struct wire_reader *reader, const char *text)
{
	size_t size = strlen(text);

	if (wire_left(reader) < size || memcmp(reader->at, text, size) != 0)
		return false;
	wire_skip(reader, size);
	return true;
}

/* "# node n17: agent (its deployment asked for the agent)" */
static int boot_script_target_of(struct wire_reader line, enum boot_script_target *ret)
{
	struct wire_reader word;

	if (!boot_script_begins(&line, "# node "))
		return E_MALFORMED;
	(void)boot_script_until(&line, ':');
	(void)boot_script_begins(&line, " ");
	word = boot_script_until(&line, ' ');
	for (size_t i = 0; i < COUNT_OF(boot_script_targets); i++) {
		if (boot_script_is(&word, boot_script_targets[i].word)) {
			*ret = boot_script_targets[i].target;
			return 0;
		}
	}
	return E_MALFORMED;
}

static int boot_script_take(struct wire_reader *word, char *ret, size_t room)
{
	size_t size = wire_left(word);

	if (size >= room)
		return E_LIMIT;
	for (size_t i = 0; i < size; i++)
		if (word->at[i] <= ' ' || word->at[i] >= 0x7f)
			return E_MALFORMED;
	wire_copy(word, ret, size);
	ret[size] = '\0';
	return 0;
}

/* "kernel URL WORD...". The last one of a word counts, as with a kernel. */
static int boot_script_words(struct wire_reader line, struct boot_script *ret)
{
	const struct {
		const char *key;
		char *value;
		size_t room;
	} rows[] = {
		{"haas.url=", ret->url, sizeof(ret->url)},
		{"haas.token=", ret->token, sizeof(ret->token)},
		{"haas.mac=", ret->mac, sizeof(ret->mac)},
	};

	while (wire_left(&line) > 0) {
		struct wire_reader word = boot_script_until(&line, ' ');

		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			int rc = boot_script_begins(&word, rows[i].key)
					 ? boot_script_take(&word, rows[i].value, rows[i].room)
					 : 0;

			if (rc)
				return rc;
		}
	}
	return 0;
}

static bool boot_script_complete(const struct boot_script *script)
{
	struct mac mac;

	return (strncmp(script->url, "http://", 7) == 0 ||
		strncmp(script->url, "https://", 8) == 0) &&
	       strlen(script->token) == TOKEN_TEXT_SIZE - 1 &&
	       strspn(script->token, "0123456789abcdef") == TOKEN_TEXT_SIZE - 1 &&
	       mac_parse(script->mac, &mac) == 0;
}

int boot_script_decode(const void *bytes, size_t size, struct boot_script *ret)
{
	struct boot_script script = {0};
	struct wire_reader reader = wire_reader(bytes, size);
	struct wire_reader line;
	int rc;

	if (size > BOOT_SCRIPT_LIMIT)
		return E_LIMIT;
	line = boot_script_until(&reader, '\n');
	if (!boot_script_is(&line, "#!ipxe"))
		return E_MALFORMED;
	rc = boot_script_target_of(boot_script_until(&reader, '\n'), &script.target);
	while (!rc && script.target == BOOT_SCRIPT_AGENT && wire_left(&reader) > 0) {
		line = boot_script_until(&reader, '\n');
		if (boot_script_begins(&line, "kernel "))
			rc = boot_script_words(line, &script);
	}
	if (!rc && script.target == BOOT_SCRIPT_AGENT && !boot_script_complete(&script))
		rc = E_MALFORMED;
	if (rc)
		return rc;

	*ret = script;
	return 0;
}
