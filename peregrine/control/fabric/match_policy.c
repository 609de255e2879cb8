#include "peregrine/control/fabric/match_policy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"

#include "peregrine/control/fabric/fabric_index.h"

/* --- switches --- */

static bool same_system(const char *a, const char *b)
{
	size_t length = strcspn(a, ".");

	/* One of them may be with its domain. */
	if (strcasecmp(a, b) == 0)
		return true;
	return length == strcspn(b, ".") && strncasecmp(a, b, length) == 0 &&
	       (a[length] == '\0' || b[length] == '\0');
}

/* Those that a key leads to and that fit; `both` asks for chassis and name. */
struct candidates {
	const struct fabric_facts *facts;
	const struct match_words *words;
	unsigned count;
	uint32_t last;
};

static bool is_chassis(const struct candidates *found, uint32_t source)
{
	return strcasecmp(found->words->chassis,
			  found->facts->sources[source].reading->identity.chassis) == 0;
}

static bool is_system(const struct candidates *found, uint32_t source)
{
	const struct fabric_source *at = &found->facts->sources[source];

	return found->words->system[0] &&
	       (same_system(found->words->system, at->reading->identity.system) ||
		strcasecmp(found->words->system, at->name) == 0);
}

static bool is_both(const struct candidates *found, uint32_t source)
{
	return is_chassis(found, source) && is_system(found, source);
}

static void match_policy_collect(struct candidates *found, uint64_t key,
				 bool (*fits)(const struct candidates *found, uint32_t source))
{
	struct key_map *map = &found->facts->index->words;

	found->count = 0;
	/* Two are as good as many: nothing is concluded from either. */
	for (uint32_t entry = key_map_first(map, key); entry != KEY_NONE && found->count < 2;
	     entry = key_map_next(map, entry)) {
		uint32_t source = key_map_value(map, entry);

		if (!fits(found, source))
			continue;
		found->last = source;
		found->count++;
	}
}

int match_switch(const struct fabric_facts *facts, const struct match_words *words)
{
	struct candidates found = {.facts = facts, .words = words};
	uint64_t chassis = index_text_key(WORD_CHASSIS, 0, words->chassis);

	if (words->chassis[0])
		match_policy_collect(&found, chassis, is_chassis);
	if (found.count > 1) /* cloned ids: the name decides between them */
		match_policy_collect(&found, chassis, is_both);
	else if (found.count == 0 && words->system[0])
		match_policy_collect(&found, index_system_key(words->system), is_system);
	else
		return found.count == 1 ? (int)found.last : -1;
	if (found.count != 1)
		return -1;
	/* No such chassis: a name alone is enough only where the switch told no chassis. */
	if (words->chassis[0] && facts->sources[found.last].reading->identity.chassis[0] &&
	    !is_chassis(&found, found.last))
		return -1;
	return (int)found.last;
}

/* --- ports --- */

bool match_names(const char *a, const char *b)
{
	struct port_spelling left = port_spell(a);
	struct port_spelling right = port_spell(b);

	if (strcasecmp(a, b) == 0)
		return true;
	if (!left.number[0] || strcmp(left.number, right.number) != 0)
		return false;
	/* Dell OS10 says "1/1/3" of "ethernet1/1/3". A bare "3" says too little for that. */
	if (!left.kind[0] || !right.kind[0])
		return strchr(left.number, '/') != NULL;
	return strcmp(left.kind, right.kind) == 0;
}

static bool match_policy_is_number(const char *text, uint32_t *ret)
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

static bool match_policy_by_name(const struct asked *asked, const struct switch_port *port)
{
	return strcmp(asked->words->port, port->name) == 0;
}

static bool match_policy_by_mac(const struct asked *asked, const struct switch_port *port)
{
	return memcmp(asked->mac.bytes, port->mac, 6) == 0;
}

static bool by_alias(const struct asked *asked, const struct switch_port *port)
{
	return strcmp(asked->words->port, port->alias) == 0;
}

static bool by_spelling(const struct asked *asked, const struct switch_port *port)
{
	return match_names(asked->words->port, port->name);
}

static bool by_text(const struct asked *asked, const struct switch_port *port)
{
	return match_names(asked->words->port_text, port->name);
}

static bool by_text_alias(const struct asked *asked, const struct switch_port *port)
{
	return strcmp(asked->words->port_text, port->alias) == 0 && !by_text(asked, port);
}

static bool by_base(const struct asked *asked, const struct switch_port *port)
{
	return asked->number == port->base_port;
}

/* What of the words a way looks up. */
enum subject { SUBJECT_PORT, SUBJECT_TEXT, SUBJECT_MAC, SUBJECT_BASE, SUBJECT_INDEX };

static const struct {
	enum subject subject;
	enum index_word word;
	bool (*fits)(const struct asked *asked, const struct switch_port *port);
	unsigned certainty;
	const char *how;
	bool continues; /* one way with the row before: their hits count together */
} match_policy_ways[] = {
	{SUBJECT_PORT, WORD_PORT, match_policy_by_name, 100, "name", false},
	{SUBJECT_MAC, WORD_MAC, match_policy_by_mac, 95, "mac", false},
	{SUBJECT_INDEX, WORD_PORT, NULL, 85, "ifindex", false},
	{SUBJECT_PORT, WORD_ALIAS, by_alias, 80, "alias", false},
	{SUBJECT_PORT, WORD_PORT, by_spelling, 75, "spelling", false},
	{SUBJECT_TEXT, WORD_PORT, by_text, 70, "description", false},
	{SUBJECT_TEXT, WORD_ALIAS, by_text_alias, 70, "description", true},
	{SUBJECT_BASE, WORD_BASE_PORT, by_base, 60, "base port", false},
};

/* Ports found so far; first: of the way under way, and how many it hit. */
struct found {
	struct port_match *list;
	size_t count, first, hits;
};

static void found_add(struct found *found, uint32_t port, size_t way)
{
	found->hits++;
	for (size_t i = 0; i < found->count; i++) {
		if (found->list[i].port == port)
			return;
	}
	if (found->count < MATCH_MAX)
		found->list[found->count++] = (struct port_match){
			port, match_policy_ways[way].certainty, match_policy_ways[way].how};
}

static bool match_policy_key_of(const struct asked *asked, size_t way, uint32_t source,
				uint64_t *ret)
{
	const char *text = match_policy_ways[way].subject == SUBJECT_PORT ? asked->words->port
									  : asked->words->port_text;

	switch (match_policy_ways[way].subject) {
	case SUBJECT_PORT:
	case SUBJECT_TEXT:
		*ret = index_text_key(match_policy_ways[way].word, source, text);
		return text[0] != '\0';
	case SUBJECT_MAC:
		*ret = index_number_key(WORD_MAC, source, mac_key(asked->mac));
		return asked->has_mac;
	case SUBJECT_BASE:
		*ret = index_number_key(WORD_BASE_PORT, source, asked->number);
		return asked->has_number;
	case SUBJECT_INDEX: break;
	}
	return false;
}

/* All ports that one way finds, but no more than change the answer. */
static void match_way(const struct fabric_facts *facts, uint32_t source, const struct asked *asked,
		      size_t way, struct found *found)
{
	const struct switch_reading *reading = facts->sources[source].reading;
	struct key_map *map = &facts->index->ports;
	const struct switch_port *port;
	uint64_t key;

	if (match_policy_ways[way].subject == SUBJECT_INDEX) {
		port = asked->has_number ? switch_reading_port(reading, asked->number) : NULL;
		if (port)
			found_add(found, (uint32_t)(port - reading->ports), way);
		return;
	}
	if (!match_policy_key_of(asked, way, source, &key))
		return;
	for (uint32_t entry = key_map_first(map, key);
	     entry != KEY_NONE && found->hits < 2 * (size_t)MATCH_MAX;
	     entry = key_map_next(map, entry)) {
		uint32_t at = key_map_value(map, entry);

		if (at < reading->port_count &&
		    match_policy_ways[way].fits(asked, &reading->ports[at]))
			found_add(found, at, way);
	}
}

/* The more ports one way finds, the less each is worth. */
static void way_end(const struct found *found)
{
	for (size_t i = found->first; found->hits > 1 && i < found->count; i++)
		found->list[i].certainty /= 2;
}

size_t match_ports(const struct fabric_facts *facts, uint32_t source,
		   const struct match_words *words, struct port_match ret[MATCH_MAX])
{
	struct asked asked = {.words = words};
	struct found found = {.list = ret};

	/* Bare hex of six bytes reads as a MAC, too: only with separators, or when it says so. */
	if (words->port_subtype == 3 || strpbrk(words->port, ":-."))
		asked.has_mac = mac_parse(words->port, &asked.mac) == 0 && !mac_is_zero(asked.mac);
	asked.has_number =
		!words->by_name_only && match_policy_is_number(words->port, &asked.number);
	for (size_t way = 0; way < COUNT_OF(match_policy_ways); way++) {
		if (!match_policy_ways[way].continues) {
			way_end(&found);
			found.first = found.count;
			found.hits = 0;
		}
		match_way(facts, source, &asked, way, &found);
	}
	way_end(&found);
	/* Every port of a chassis with one MAC fits: that is no answer. */
	if (found.count == MATCH_MAX && ret[0].certainty < 50)
		return 0;
	return found.count;
}
