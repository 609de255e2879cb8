#include "peregrine/switch/cli/cli_show_wire.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/net/vlan_set.h"

#include "peregrine/switch/cli/cli_port.h"

enum { WORD_LIMIT = 16, WORD_ROOM = 64, TYPED_INDENT = 4 };

struct words {
	size_t count;
	char words[WORD_LIMIT][WORD_ROOM];
};

/* The words of one line; false: it ends the text. */
static bool cli_show_wire_next_line(const char **text, struct words *ret)
{
	const char *at = *text;
	size_t left = strcspn(at, "\n");

	if (!*at)
		return false;
	*text = at + left + (at[left] == '\n');
	ret->count = 0;
	while (left && ret->count < WORD_LIMIT) {
		size_t space = strspn(at, " \t|");
		size_t length;

		if (space >= left)
			break;
		at += space;
		left -= space;
		length = strcspn(at, " \t\n|");
		if (length > left)
			length = left;
		text_format(ret->words[ret->count++], WORD_ROOM, "%.*s", (int)length, at);
		at += length;
		left -= length;
	}
	return true;
}

bool cli_mac_parse(const char *word, size_t length, uint8_t ret[6])
{
	uint8_t mac[6] = {0};
	size_t digits = 0;
	size_t marks = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned byte = (unsigned char)word[i];
		unsigned value;

		if (byte == ':' || byte == '-' || byte == '.') {
			marks++;
			continue;
		}
		if (!isxdigit((int)byte) || digits == 12)
			return false;
		/* ASCII: '0' is 48, 'a' 97. */
		value = isdigit((int)byte) ? byte - 48U : (byte | 32U) - 87U;
		mac[digits / 2] = (uint8_t)((unsigned)mac[digits / 2] << 4 | value);
		digits++;
	}
	if (digits != 12 || (marks != 5 && marks != 2 && marks != 1))
		return false;
	memcpy(ret, mac, sizeof(mac));
	return true;
}

/* Is this word, or are this word and the next, a port of the family? */
static bool cli_show_wire_port_at(const struct cli_dialect *dialect, const struct words *line,
				  size_t at, char ret[WORD_ROOM])
{
	const char *word = line->words[at];
	char both[WORD_ROOM * 2 + 2];
	size_t length = strlen(word);

	if (!cli_port_name_ok(word))
		return false;
	if (isdigit((unsigned char)word[length - 1])) {
		/* A bare number is a port only where ports are called so; "0/1" is half of one
		 * where names have a space. */
		if (isdigit((unsigned char)*word) && dialect->port_kinds[0][0] &&
		    (dialect->port_space || !strchr(word, '/')))
			return false;
		if (!cli_port_is_known(dialect, word))
			return false;
		cli_port_name(dialect, word, ret, WORD_ROOM);
		return true;
	}
	if (!(dialect->port_space || dialect->table_space) || at + 1 >= line->count ||
	    !isdigit((unsigned char)*line->words[at + 1]))
		return false;
	text_format(both, sizeof(both), "%s %s", word, line->words[at + 1]);
	if (!dialect->port_kinds[0][0] || !cli_port_is_known(dialect, both))
		return false;
	cli_port_name(dialect, both, ret, WORD_ROOM);
	return true;
}

/* --- MAC addresses --- */

static uint16_t vlan_at(const struct words *line, size_t at)
{
	const char *word = line->words[at];
	char *end;
	unsigned long vlan;

	if (strncasecmp(word, "vlan", 4) == 0)
		word += 4;
	vlan = strtoul(word, &end, 10);
	if (end == word || *end || vlan < VLAN_FIRST || vlan > VLAN_LAST)
		return 0;
	return (uint16_t)vlan;
}

/* Where ports have no kind ("1", "A1") only the order tells: MAC, port, VLAN. */
static bool fdb_row_bare(const struct cli_dialect *dialect, const struct words *line, size_t mac,
			 struct cli_fdb_row *ret)
{
	if (mac + 1 >= line->count || !cli_show_wire_port_at(dialect, line, mac + 1, ret->port))
		return false;
	if (mac + 2 < line->count)
		ret->vlan = vlan_at(line, mac + 2);
	return true;
}

/* The VLAN stands before the MAC, or after it; the port is the last word that is one. */
static bool fdb_row(const struct cli_dialect *dialect, const struct words *line,
		    struct cli_fdb_row *ret)
{
	size_t mac = 0;

	*ret = (struct cli_fdb_row){.vlan = 0};
	while (mac < line->count &&
	       !cli_mac_parse(line->words[mac], strlen(line->words[mac]), ret->mac))
		mac++;
	if (mac == line->count)
		return false;
	if (!dialect->port_kinds[0][0])
		return fdb_row_bare(dialect, line, mac, ret);
	for (size_t i = mac; i-- > 0 && !ret->vlan;)
		ret->vlan = vlan_at(line, i);
	for (size_t i = line->count; i-- > 0 && !ret->port[0];) {
		if (i != mac)
			cli_show_wire_port_at(dialect, line, i, ret->port);
	}
	for (size_t i = mac + 1; i < line->count && !ret->vlan; i++)
		ret->vlan = vlan_at(line, i);
	return ret->port[0] != '\0';
}

size_t cli_fdb_each(const struct cli_dialect *dialect, const char *text, cli_fdb_fn fn,
		    void *context)
{
	struct words line;
	struct cli_fdb_row row;
	size_t rows = 0;

	while (rows < CLI_ROW_LIMIT && cli_show_wire_next_line(&text, &line)) {
		if (!fdb_row(dialect, &line, &row))
			continue;
		rows++;
		if (!fn(context, &row))
			break;
	}
	return rows;
}

/* --- interfaces --- */

/* What a port's row says of its link; a row that says nothing of it is no row. */
static const struct {
	const char *word;
	bool up, shut;
} cli_show_wire_states[] = {
	{"connected", true, false},
	{"up", true, false},
	{"notconnect", false, false},
	{"notconnected", false, false},
	{"notconnec", false, false}, /* NX-OS cuts at nine characters */
	{"down", false, false},
	{"disabled", false, true},
	{"adm", false, true},
	{"err-disabled", false, false},
	{"adminstratively", false, true},
	{"administratively", false, true},
	{"inactive", false, false},
	{"sfpabsent", false, false},
	{"xcvrabsen", false, false},
	{"stby", false, false},
};

static bool port_row(const struct cli_dialect *dialect, const struct words *line,
		     struct cli_port_row *ret)
{
	*ret = (struct cli_port_row){.up = false};
	if (!line->count || !cli_show_wire_port_at(dialect, line, 0, ret->port))
		return false;
	for (size_t i = 1; i < line->count; i++)
		ret->routed |= strcasecmp(line->words[i], "routed") == 0;
	for (size_t i = 1; i < line->count; i++) {
		for (size_t j = 0; j < COUNT_OF(cli_show_wire_states); j++) {
			if (strcasecmp(line->words[i], cli_show_wire_states[j].word) == 0) {
				ret->up = cli_show_wire_states[j].up;
				ret->shut = cli_show_wire_states[j].shut;
				return true;
			}
		}
	}
	return false;
}

size_t cli_ports_each(const struct cli_dialect *dialect, const char *text, cli_port_row_fn fn,
		      void *context)
{
	struct words line;
	struct cli_port_row row;
	size_t rows = 0;

	while (rows < CLI_ROW_LIMIT && cli_show_wire_next_line(&text, &line)) {
		if (!port_row(dialect, &line, &row))
			continue;
		rows++;
		if (!fn(context, &row))
			break;
	}
	return rows;
}

/* --- LLDP --- */

/* The value after "word :" at the line's front; also "word [..] value" and "word value[". */
static const char *cli_show_wire_value_of(const char *line, const char *word)
{
	size_t length = word ? strlen(word) : 0;

	line += strspn(line, " \t");
	if (!length || strncasecmp(line, word, length) != 0)
		return NULL;
	line += length;
	if (*line != ' ' && *line != '\t' && *line != ':')
		return NULL;
	line += strspn(line, " \t");
	if (*line != ':' && strncasecmp(word, "LLDP neighbor", 13) != 0)
		return NULL;
	line += *line == ':';
	return line + strspn(line, " \t");
}

/* The value of the line that names the local port. */
static const char *cli_show_wire_local(const struct cli_dialect *dialect, const char *line)
{
	return dialect->lldp_typed && *line == ' '
		       ? NULL
		       : cli_show_wire_value_of(line, dialect->lldp.local);
}

/* "18[GigabitEthernet1/0/18]:" of Comware: what is in the brackets; of lldpctl what is before the
 * comma. */
static void local_port(const struct cli_dialect *dialect, char *value, char *ret, size_t room)
{
	char *open = strchr(value, '[');
	char *close = open ? strchr(open, ']') : NULL;

	if (close) {
		*close = '\0';
		value = open + 1;
	}
	if (dialect->lldp_typed)
		value[strcspn(value, ",")] = '\0';
	cli_port_name(dialect, value, ret, room);
}

static void cli_show_wire_keep(char *ret, const char *value)
{
	size_t length;

	text_copy(ret, WORD_ROOM, value);
	length = strlen(ret);
	while (length && strchr(" \t", ret[length - 1]))
		ret[--length] = '\0';
}

/* "mac 52:54:00:12:34:56": the word before says only what it is. */
static const char *past_type(const char *value)
{
	size_t type = strcspn(value, " ");

	return value[type] ? value + type + strspn(value + type, " ") : value;
}

static bool cli_show_wire_is_whole(const struct cli_lldp_row *row)
{
	return row->local[0] && row->chassis[0];
}

/* One line into the block under way. True: it begins another block. */
static bool lldp_line(const struct cli_dialect *dialect, char *line, struct cli_lldp_row *row,
		      bool look)
{
	const struct cli_lldp_words *words = &dialect->lldp;
	const struct {
		const char *word;
		char *ret;
		bool typed;
	} fields[] = {
		{words->port_text, row->port_text, false},
		{words->system, row->system, false},
		{words->chassis, row->chassis, dialect->lldp_typed},
		{words->port, row->port, dialect->lldp_typed},
	};
	const char *value = cli_show_wire_local(dialect, line);
	char text[WORD_ROOM];

	if (value) {
		if (look)
			return row->local[0] != '\0';
		text_copy(text, sizeof(text), value);
		local_port(dialect, text, row->local, sizeof(row->local));
		return false;
	}
	/* lldpctl begins a port at the margin and its words four blanks in; further lines of a
	 * neighbour's text stand far from both. */
	if (dialect->lldp_typed && strspn(line, " ") > TYPED_INDENT)
		return false;
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		value = cli_show_wire_value_of(line, fields[i].word);
		if (!value)
			continue;
		if (look) /* a block that begins with the chassis has it twice */
			return fields[i].ret == row->chassis && row->chassis[0] && row->local[0];
		if (!fields[i].ret[0])
			cli_show_wire_keep(fields[i].ret,
					   fields[i].typed ? past_type(value) : value);
		return false;
	}
	return false;
}

/* The next line, cut to `room`; false: it ends the text. */
static bool cli_show_wire_cut_line(const char **text, char *ret, size_t room)
{
	size_t length = strcspn(*text, "\n");

	if (!**text)
		return false;
	text_format(ret, room, "%.*s", (int)(length < room ? length : room - 1), *text);
	*text += length + ((*text)[length] == '\n');
	return true;
}

enum cli_lldp_sum cli_lldp_sum(const struct cli_dialect *dialect, const char *text)
{
	unsigned long total = 0;
	size_t ports = 0;
	bool told = false;
	char line[256];

	while (dialect->lldp_total && cli_show_wire_cut_line(&text, line, sizeof(line))) {
		const char *value = cli_show_wire_value_of(line, dialect->lldp_total);

		ports += cli_show_wire_local(dialect, line) != NULL;
		if (!value || !isdigit((unsigned char)*value) ||
		    (told && dialect->lldp_total_first))
			continue;
		total = strtoul(value, NULL, 10);
		told = true;
	}
	if (told)
		return ports <= total ? CLI_LLDP_ADDS_UP : CLI_LLDP_TOO_MANY;
	return dialect->lldp_typed ? CLI_LLDP_ADDS_UP : CLI_LLDP_UNCOUNTED;
}

size_t cli_lldp_each(const struct cli_dialect *dialect, const char *text, cli_lldp_fn fn,
		     void *context)
{
	struct cli_lldp_row row = {.local = ""};
	size_t rows = 0;

	char line[256];

	while (rows < CLI_ROW_LIMIT && cli_show_wire_cut_line(&text, line, sizeof(line))) {
		if (lldp_line(dialect, line, &row, true)) {
			if (cli_show_wire_is_whole(&row)) {
				rows++;
				if (!fn(context, &row))
					return rows;
			}
			row = (struct cli_lldp_row){.local = ""};
		}
		lldp_line(dialect, line, &row, false);
	}
	if (cli_show_wire_is_whole(&row) && rows < CLI_ROW_LIMIT) {
		rows++;
		fn(context, &row);
	}
	return rows;
}
