#include "peregrine/control/fabric/fabric_index.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* --- keys --- */

struct port_spelling port_spell(const char *name)
{
	struct port_spelling ret = {{0}, {0}};
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

static uint64_t seed_of(enum index_word word, uint32_t source)
{
	return (uint64_t)word << 32 | source;
}

uint64_t index_text_key(enum index_word word, uint32_t source, const char *text)
{
	struct port_spelling spelling = {{0}, {0}};

	if (word == WORD_PORT)
		spelling = port_spell(text);
	if (spelling.number[0])
		text = spelling.number;
	return key_of_text(seed_of(word, source), text, strlen(text));
}

uint64_t index_number_key(enum index_word word, uint32_t source, uint64_t number)
{
	return key_of_text(seed_of(word, source), (const char *)&number, sizeof(number));
}

uint64_t index_system_key(const char *name)
{
	return key_of_text(seed_of(WORD_SYSTEM, 0), name, strcspn(name, "."));
}

/* --- making --- */

static uint64_t fabric_index_mac_of(const struct switch_port *port)
{
	struct mac mac;

	memcpy(mac.bytes, port->mac, sizeof(mac.bytes));
	return mac_key(mac);
}

static int fabric_index_add_port(struct fabric_index *index, uint32_t source, uint32_t at,
				 const struct switch_port *port)
{
	struct key_map *map = &index->ports;
	uint64_t mac = fabric_index_mac_of(port);
	int rc = key_map_add(map, index_text_key(WORD_PORT, source, port->name), at);

	if (rc == 0 && port->alias[0])
		rc = key_map_add(map, index_text_key(WORD_ALIAS, source, port->alias), at);
	if (rc == 0 && mac)
		rc = key_map_add(map, index_number_key(WORD_MAC, source, mac), at);
	if (rc == 0 && port->base_port)
		rc = key_map_add(map, index_number_key(WORD_BASE_PORT, source, port->base_port),
				 at);
	return rc;
}

static int fabric_index_add_source(struct fabric_index *index, uint32_t i,
				   const struct fabric_source *source)
{
	const struct switch_reading *reading = source->reading;
	int rc = key_map_add(&index->ids, (uint64_t)source->id, i);

	if (!reading)
		return rc;
	if (rc == 0 && reading->identity.chassis[0])
		rc = key_map_add(&index->words,
				 index_text_key(WORD_CHASSIS, 0, reading->identity.chassis), i);
	if (rc == 0)
		rc = key_map_add(&index->words, index_system_key(source->name), i);
	if (rc == 0 && index_system_key(reading->identity.system) != index_system_key(source->name))
		rc = key_map_add(&index->words, index_system_key(reading->identity.system), i);
	/* From the last: the first port comes first out of a map. */
	for (size_t port = reading->port_count; port-- > 0 && rc == 0;)
		rc = fabric_index_add_port(index, i, (uint32_t)port, &reading->ports[port]);
	return rc;
}

int fabric_index_make(struct fabric_facts *facts, struct fabric_index *ret)
{
	struct fabric_index index = {0};
	int rc = 0;

	for (size_t i = facts->source_count; i-- > 0 && rc == 0;)
		rc = fabric_index_add_source(&index, (uint32_t)i, &facts->sources[i]);
	if (rc) {
		fabric_index_done(&index);
		return rc;
	}
	*ret = index;
	facts->index = ret;
	return 0;
}

void fabric_index_done(struct fabric_index *index)
{
	key_map_done(&index->ids);
	key_map_done(&index->words);
	key_map_done(&index->ports);
}

uint64_t fabric_index_compared(const struct fabric_index *index)
{
	return index->ids.compared + index->words.compared + index->ports.compared;
}

/* --- looking up --- */

uint32_t fabric_source_find(const struct fabric_facts *facts, int64_t switch_id)
{
	uint32_t entry = key_map_first(&facts->index->ids, (uint64_t)switch_id);

	return entry == KEY_NONE ? UINT32_MAX : key_map_value(&facts->index->ids, entry);
}

bool fabric_port_find(const struct fabric_facts *facts, int64_t switch_id, const char *port,
		      struct port_ref *ret)
{
	struct key_map *map = &facts->index->ports;
	uint32_t source = fabric_source_find(facts, switch_id);
	const struct switch_reading *reading =
		source == UINT32_MAX ? NULL : facts->sources[source].reading;
	uint32_t entry;

	if (!reading)
		return false;
	entry = key_map_first(map, index_text_key(WORD_PORT, source, port));
	for (; entry != KEY_NONE; entry = key_map_next(map, entry)) {
		uint32_t at = key_map_value(map, entry);

		if (at >= reading->port_count || strcmp(reading->ports[at].name, port) != 0)
			continue;
		*ret = (struct port_ref){source, at};
		return true;
	}
	return false;
}
