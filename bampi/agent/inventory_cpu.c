#include "bampi/agent/inventory_cpu.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#define CORE_LIMIT 16384

/* "model name\t: Intel(R) ..." : the value when the line has this key. */
static const char *inventory_cpu_value_of(const char *line, const char *key)
{
	size_t size = strlen(key);
	const char *at = line + size;

	if (strncmp(line, key, size) != 0)
		return NULL;
	at += strspn(at, " \t");
	if (*at != ':')
		return NULL;
	at++;
	return at + strspn(at, " ");
}

static unsigned inventory_cpu_number(const char *text)
{
	return (unsigned)strtoul(text, NULL, 10) & 0xffffU;
}

static int inventory_cpu_compare(const void *a, const void *b)
{
	const uint32_t *x = a;
	const uint32_t *y = b;

	return (*x > *y) - (*x < *y);
}

static unsigned inventory_cpu_distinct(const uint32_t *values, size_t count)
{
	unsigned found = 0;

	for (size_t i = 0; i < count; i++)
		if (i == 0 || values[i] != values[i - 1])
			found++;
	return found;
}

/* Sorted (socket << 16 | core) pairs give both counts. */
static void count_cores(uint32_t *pairs, size_t count, struct inventory_cpu *cpu)
{
	qsort(pairs, count, sizeof(pairs[0]), inventory_cpu_compare);
	cpu->cores = inventory_cpu_distinct(pairs, count);
	for (size_t i = 0; i < count; i++)
		pairs[i] >>= 16;
	cpu->sockets = inventory_cpu_distinct(pairs, count);
}

struct inventory_cpu inventory_cpu_read(const char *cpuinfo)
{
	CLEANUP(freep) uint32_t *pairs = calloc(CORE_LIMIT, sizeof(*pairs));
	struct inventory_cpu cpu = {0};
	size_t count = 0;
	unsigned socket = 0;

	for (const char *line = cpuinfo; *line && pairs;) {
		size_t size = strcspn(line, "\n");
		const char *value;

		if (inventory_cpu_value_of(line, "processor")) {
			cpu.threads++;
		} else if ((value = inventory_cpu_value_of(line, "model name")) != NULL &&
			   !cpu.model[0]) {
			size_t length = (size_t)(line + size - value);

			if (length >= sizeof(cpu.model))
				length = sizeof(cpu.model) - 1;
			memcpy(cpu.model, value, length);
		} else if ((value = inventory_cpu_value_of(line, "physical id")) != NULL) {
			socket = inventory_cpu_number(value);
		} else if ((value = inventory_cpu_value_of(line, "core id")) != NULL &&
			   count < CORE_LIMIT) {
			pairs[count++] = (uint32_t)socket << 16 | inventory_cpu_number(value);
		}
		line += size + (line[size] == '\n');
	}
	if (count > 0) {
		count_cores(pairs, count, &cpu);
	} else {
		cpu.sockets = cpu.threads ? 1 : 0;
		cpu.cores = cpu.threads;
	}
	return cpu;
}
