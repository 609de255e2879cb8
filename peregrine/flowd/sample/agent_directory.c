#include "peregrine/flowd/sample/agent_directory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct agent_directory {
	size_t count;
	struct agent_row rows[]; /* sorted by agent, source */
};

static int compare(const void *a, const void *b)
{
	const struct agent_row *left = a;
	const struct agent_row *right = b;
	int order = memcmp(left->agent, right->agent, sizeof(left->agent));

	return order ? order : memcmp(left->source, right->source, sizeof(left->source));
}

int agent_directory_new(const struct agent_row *rows, size_t count, struct agent_directory **ret)
{
	struct agent_directory *directory;

	if (count > AGENT_LIMIT)
		return -E2BIG;
	directory = malloc(sizeof(*directory) + count * sizeof(*rows));
	if (!directory)
		return -ENOMEM;
	directory->count = count;
	if (count) {
		memcpy(directory->rows, rows, count * sizeof(*rows));
		qsort(directory->rows, count, sizeof(*rows), compare);
	}
	*ret = directory;
	return 0;
}

void agent_directory_free(struct agent_directory *directory)
{
	free(directory);
}

int agent_directory_find(const struct agent_directory *directory, const uint8_t agent[16],
			 const uint8_t source[16])
{
	struct agent_row wanted = {0};
	size_t low = 0;
	size_t high = directory->count;

	memcpy(wanted.agent, agent, sizeof(wanted.agent));
	memcpy(wanted.source, source, sizeof(wanted.source));
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare(&wanted, &directory->rows[middle]);

		if (order == 0)
			return directory->rows[middle].number;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	/* Rows of the same agent stand beside the place where this one would. */
	if ((low < directory->count && !memcmp(directory->rows[low].agent, agent, 16)) ||
	    (low > 0 && !memcmp(directory->rows[low - 1].agent, agent, 16)))
		return AGENT_SPOOFED;
	return AGENT_UNKNOWN;
}
