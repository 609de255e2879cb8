/* Index of a fabric's facts: switches by id, chassis and name, ports by each of their possible
 * names. Made once per conclusion, for all policies; borrows the facts. */
#pragma once

#include "common/base/macros.h"

#include "peregrine/control/fabric/cable_model.h"
#include "peregrine/control/fabric/key_map.h"

/* The meaning of a key's text or number. */
enum index_word {
	WORD_CHASSIS,   /* of a switch */
	WORD_SYSTEM,    /* the first label of a switch's name, its own or ours */
	WORD_PORT,      /* a port's name without its spelling: its number, or all of it */
	WORD_ALIAS,     /* of a port */
	WORD_MAC,       /* of a port */
	WORD_BASE_PORT, /* of a port */
};

struct fabric_index {
	struct key_map ids;   /* switch id -> source */
	struct key_map words; /* WORD_CHASSIS, WORD_SYSTEM -> source */
	struct key_map ports; /* the others -> port of a source */
};

/* Sets facts->index. -ENOMEM. */
MUST_USE int fabric_index_make(struct fabric_facts *facts, struct fabric_index *ret);
void fabric_index_done(struct fabric_index *index);
/* The number of entries compared since it was made. */
uint64_t fabric_index_compared(const struct fabric_index *index);

/* Index of the source; UINT32_MAX = not there. */
uint32_t fabric_source_find(const struct fabric_facts *facts, int64_t switch_id);
/* False: no such switch was read, or it has no port of this name. */
bool fabric_port_find(const struct fabric_facts *facts, int64_t switch_id, const char *port,
		      struct port_ref *ret);

/* --- for match_policy --- */

uint64_t index_system_key(const char *name);
uint64_t index_text_key(enum index_word word, uint32_t source, const char *text);
uint64_t index_number_key(enum index_word word, uint32_t source, uint64_t number);

/* "GigabitEthernet 1/0/3" -> "gi" and "1/0/3". */
struct port_spelling {
	char kind[3];
	char number[40];
};
struct port_spelling port_spell(const char *name);
