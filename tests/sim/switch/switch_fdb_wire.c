#include "tests/sim/switch/switch_fdb_wire.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/error.h"

struct cursor {
	const char *at, *end;
};

/* The next word of a line, cut out of it; empty at the end of the line. */
static struct cursor switch_fdb_wire_word_of(struct cursor *line)
{
	struct cursor word;

	while (line->at < line->end && (*line->at == ' ' || *line->at == '\t'))
		line->at++;
	word = (struct cursor){line->at, line->at};
	while (word.end < line->end && *word.end != ' ' && *word.end != '\t')
		word.end++;
	line->at = word.end;
	return word;
}

static bool word_is(struct cursor word, const char *text)
{
	size_t size = (size_t)(word.end - word.at);

	return size == strlen(text) && memcmp(word.at, text, size) == 0;
}

static bool switch_fdb_wire_number_of(struct cursor word, uint32_t max, uint32_t *ret)
{
	uint32_t value = 0;

	if (word.at == word.end || word.end - word.at > 9)
		return false;
	for (; word.at < word.end; word.at++) {
		if (*word.at < '0' || *word.at > '9')
			return false;
		value = value * 10 + (uint32_t)(*word.at - '0');
	}
	*ret = value;
	return value <= max;
}

static bool switch_fdb_wire_mac_of(struct cursor word, struct mac *ret)
{
	char text[MAC_TEXT_SIZE];
	size_t size = (size_t)(word.end - word.at);

	if (size != MAC_TEXT_SIZE - 1)
		return false;
	memcpy(text, word.at, size);
	text[size] = '\0';
	return mac_parse(text, ret) == 0;
}

static int switch_fdb_wire_row_of(struct cursor line, struct switch_fdb_row *ret)
{
	struct switch_fdb_row row = {0};
	struct cursor port = switch_fdb_wire_word_of(&line);
	struct cursor vlan = switch_fdb_wire_word_of(&line);
	struct cursor mac = switch_fdb_wire_word_of(&line);
	struct cursor age = switch_fdb_wire_word_of(&line);
	struct cursor rest = switch_fdb_wire_word_of(&line);
	uint32_t vid = 0;

	if (!word_is(port, "LOCAL") && !switch_fdb_wire_number_of(port, UINT16_MAX, &row.port))
		return E_MALFORMED;
	if (!switch_fdb_wire_number_of(vlan, 4095, &vid) || !switch_fdb_wire_mac_of(mac, &row.mac))
		return E_MALFORMED;
	if (age.at == age.end || rest.at != rest.end)
		return E_MALFORMED;
	row.vid = (uint16_t)vid;
	if (!switch_fdb_wire_number_of(age, UINT32_MAX, &row.age_s))
		row.age_s = 0;
	*ret = row;
	return 0;
}

static bool is_heading(struct cursor line)
{
	return word_is(switch_fdb_wire_word_of(&line), "port") &&
	       word_is(switch_fdb_wire_word_of(&line), "VLAN");
}

int switch_fdb_read(const char *text, size_t size, struct switch_fdb_row *rows, size_t room,
		    size_t *ret_count)
{
	struct cursor all = {text, text + size};
	size_t count = 0;

	while (all.at < all.end) {
		const char *stop = memchr(all.at, '\n', (size_t)(all.end - all.at));
		struct cursor line = {all.at, stop ? stop : all.end};
		struct cursor probe = line;

		all.at = stop ? stop + 1 : all.end;
		probe = switch_fdb_wire_word_of(&probe);
		if (probe.at == probe.end || is_heading(line))
			continue;
		if (count == room)
			return E_LIMIT;
		if (switch_fdb_wire_row_of(line, &rows[count]) != 0)
			return E_MALFORMED;
		count++;
	}
	*ret_count = count;
	return 0;
}
