#include "peregrine/flowd/sample/agent_directory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/base/sorted.h"

struct agent_directory {
	size_t count;
	uint32_t *slots; /* open addressing by both addresses: index plus one */
	uint32_t mask;
	struct agent_row rows[]; /* sorted by agent, source */
};

/* Both addresses stand side by side. */
static uint32_t agent_directory_hash_of(const struct agent_row *row)
{
	return (uint32_t)XXH3_64bits(row, offsetof(struct agent_row, number));
}

static bool agent_directory_is_same(const struct agent_row *a, const struct agent_row *b)
{
	uint64_t x[4];
	uint64_t y[4];

	_Static_assert(sizeof(x) == offsetof(struct agent_row, number), "two addresses");
	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	return !((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]));
}

static int agent_directory_compare(const void *a, const void *b)
{
	const struct agent_row *left = a;
	const struct agent_row *right = b;
	int order = memcmp(left->agent, right->agent, sizeof(left->agent));

	return order ? order : memcmp(left->source, right->source, sizeof(left->source));
}

static void make_slots(struct agent_directory *directory)
{
	for (uint32_t i = 0; i < directory->count; i++) {
		uint32_t at = agent_directory_hash_of(&directory->rows[i]) & directory->mask;

		while (directory->slots[at])
			at = (at + 1) & directory->mask;
		directory->slots[at] = i + 1;
	}
}

int agent_directory_new(const struct agent_row *rows, size_t count, struct agent_directory **ret)
{
	struct agent_directory *directory;
	uint32_t slots = 16;

	if (count > AGENT_LIMIT)
		return -E2BIG;
	while (slots < count * 2)
		slots *= 2;
	directory = malloc(sizeof(*directory) + count * sizeof(*rows));
	if (!directory)
		return -ENOMEM;
	*directory = (struct agent_directory){.count = count, .mask = slots - 1};
	directory->slots = calloc(slots, sizeof(*directory->slots));
	if (!directory->slots) {
		free(directory);
		return -ENOMEM;
	}
	if (count) {
		memcpy(directory->rows, rows, count * sizeof(*rows));
		qsort(directory->rows, count, sizeof(*rows), agent_directory_compare);
	}
	make_slots(directory);
	*ret = directory;
	return 0;
}

void agent_directory_free(struct agent_directory *directory)
{
	if (!directory)
		return;
	free(directory->slots);
	free(directory);
}

/* Nobody speaks so: is the agent's address somebody's at all? */
static int agent_directory_refuse(const struct agent_directory *directory,
				  const struct agent_row *wanted)
{
	size_t at = SORTED_FIRST(
		i, 0, directory->count,
		memcmp(wanted->agent, directory->rows[i].agent, sizeof(wanted->agent)) > 0);

	return at < directory->count && !memcmp(directory->rows[at].agent, wanted->agent,
						sizeof(wanted->agent))
		       ? AGENT_SPOOFED
		       : AGENT_UNKNOWN;
}

int agent_directory_find(const struct agent_directory *directory, const uint8_t agent[16],
			 const uint8_t source[16])
{
	struct agent_row wanted = {0};
	uint32_t at;

	memcpy(wanted.agent, agent, sizeof(wanted.agent));
	memcpy(wanted.source, source, sizeof(wanted.source));
	at = agent_directory_hash_of(&wanted) & directory->mask;
	for (; directory->slots[at]; at = (at + 1) & directory->mask) {
		const struct agent_row *row = &directory->rows[directory->slots[at] - 1];

		if (agent_directory_is_same(row, &wanted))
			return row->number;
	}
	return agent_directory_refuse(directory, &wanted);
}
