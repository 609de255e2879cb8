#include "peregrine/control/fabric/match_policy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"

/* --- switches ------------------------------------------------------------ */

static bool same_system(const char *a, const char *b)
{
	size_t length = strcspn(a, ".");

	/* One of them may be with its domain. */
	if (strcasecmp(a, b) == 0)
		return true;
	return length == strcspn(b, ".") && strncasecmp(a, b, length) == 0 &&
	       (a[length] == '\0' || b[length] == '\0');
}

int match_switch(const struct fabric_facts *facts, const struct match_words *words)
{
	int by_chassis = -1;
	int by_system = -1;
	int both = -1;
	unsigned chassis_count = 0;
	unsigned system_count = 0;
	unsigned both_count = 0;

	for (size_t i = 0; i < facts->source_count; i++) {
		const struct switch_reading *reading = facts->sources[i].reading;
		bool chassis;
		bool system;

		if (!reading)
			continue;
		chassis = words->chassis[0] &&
			  strcasecmp(words->chassis, reading->identity.chassis) == 0;
		system = words->system[0] &&
			 (same_system(words->system, reading->identity.system) ||
			  strcasecmp(words->system, facts->sources[i].name) == 0);
		if (chassis && ++chassis_count)
			by_chassis = (int)i;
		if (system && ++system_count)
			by_system = (int)i;
		if (chassis && system && ++both_count)
			both = (int)i;
	}
	if (chassis_count == 1)
		return by_chassis;
	if (chassis_count > 1) /* cloned ids: the name decides between them */
		return both_count == 1 ? both : -1;
	/* No such chassis: a name alone is enough only where the switch told no chassis. */
	if (system_count == 1 &&
	    (!words->chassis[0] || !facts->sources[by_system].reading->identity.chassis[0]))
		return by_system;
	return -1;
}

/* --- ports ---------------------------------------------------------------- */

/* "GigabitEthernet 1/0/3" -> "gi" and "1/0/3". */
struct spelled {
	char kind[3];
	char number[40];
};

static struct spelled spell(const char *name)
{
	struct spelled ret = {{0}, {0}};
	size_t letters = 0;
	size_t used = 0;

	while (*name && !isdigit((unsigned char)*name)) {
		if (isalpha((unsigned char)*name) && letters < 2)
			ret.kind[letters++] = (char)tolower((unsigned char)*name);
		name++;
	}
	for (; *name && used + 1 < sizeof(ret.number); name++) {
		if (*name != ' ')
			ret.number[used++] = (char)tolower((unsigned char)*name);
	}
	return ret;
}

bool match_names(const char *a, const char *b)
{
	struct spelled left = spell(a);
	struct spelled right = spell(b);

	if (strcasecmp(a, b) == 0)
		return true;
	if (!left.number[0] || strcmp(left.number, right.number) != 0)
		return false;
	/* Dell OS10 says "1/1/3" of "ethernet1/1/3". A bare "3" says too little for that. */
	if (!left.kind[0] || !right.kind[0])
		return strchr(left.number, '/') != NULL;
	return strcmp(left.kind, right.kind) == 0;
}

static bool is_number(const char *text, uint32_t *ret)
{
	char *end = NULL;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || value == 0 || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

struct asked {
	const struct match_words *words;
	struct mac mac;
	bool has_mac, has_number;
	uint32_t number;
};

static bool by_name(const struct asked *asked, const struct switch_port *port)
{
	return strcmp(asked->words->port, port->name) == 0;
}

static bool by_mac(const struct asked *asked, const struct switch_port *port)
{
	return asked->has_mac && memcmp(asked->mac.bytes, port->mac, 6) == 0;
}

static bool by_index(const struct asked *asked, const struct switch_port *port)
{
	return asked->has_number && asked->number == port->if_index;
}

static bool by_alias(const struct asked *asked, const struct switch_port *port)
{
	return port->alias[0] && strcmp(asked->words->port, port->alias) == 0;
}

static bool by_spelling(const struct asked *asked, const struct switch_port *port)
{
	return asked->words->port[0] && match_names(asked->words->port, port->name);
}

static bool by_text(const struct asked *asked, const struct switch_port *port)
{
	const char *text = asked->words->port_text;

	return text[0] && (match_names(text, port->name) ||
			   (port->alias[0] && strcmp(text, port->alias) == 0));
}

static bool by_base(const struct asked *asked, const struct switch_port *port)
{
	return asked->has_number && port->base_port && asked->number == port->base_port;
}

static const struct {
	bool (*fits)(const struct asked *asked, const struct switch_port *port);
	unsigned certainty;
	const char *how;
} ways[] = {
	{by_name, 100, "name"},     {by_mac, 95, "mac"},           {by_index, 85, "ifindex"},
	{by_alias, 80, "alias"},    {by_spelling, 75, "spelling"}, {by_text, 70, "description"},
	{by_base, 60, "base port"},
};

static bool is_there(const struct port_match found[], size_t count, uint32_t port)
{
	for (size_t i = 0; i < count; i++) {
		if (found[i].port == port)
			return true;
	}
	return false;
}

/* All ports that one way finds; the more there are, the less each is worth. */
static size_t match_way(const struct switch_reading *reading, const struct asked *asked, size_t way,
			struct port_match ret[MATCH_MAX], size_t count)
{
	size_t first = count;
	size_t hits = 0;

	for (uint32_t port = 0; port < reading->port_count; port++) {
		if (!ways[way].fits(asked, &reading->ports[port]))
			continue;
		hits++;
		if (count < MATCH_MAX && !is_there(ret, count, port))
			ret[count++] =
				(struct port_match){port, ways[way].certainty, ways[way].how};
	}
	for (size_t i = first; hits > 1 && i < count; i++)
		ret[i].certainty /= 2;
	return count;
}

size_t match_ports(const struct switch_reading *reading, const struct match_words *words,
		   struct port_match ret[MATCH_MAX])
{
	struct asked asked = {.words = words};
	size_t count = 0;

	/* Bare hex of six bytes reads as a MAC, too: only with separators, or when it says so. */
	if (words->port_subtype == 3 || strpbrk(words->port, ":-."))
		asked.has_mac = mac_parse(words->port, &asked.mac) == 0 && !mac_is_zero(asked.mac);
	asked.has_number = !words->by_name_only && is_number(words->port, &asked.number);
	for (size_t way = 0; way < COUNT_OF(ways); way++)
		count = match_way(reading, &asked, way, ret, count);
	/* Every port of a chassis with one MAC fits: that is no answer. */
	if (count == MATCH_MAX && ret[0].certainty < 50)
		count = 0;
	return count;
}
