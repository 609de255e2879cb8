/* A fuzz target outside the fuzz preset: replays its corpus, each file in a buffer of exactly its
 * size so that the sanitizer sees every byte read past it, then a few mutated copies of each, the
 * same in every run. With arguments, replays those files or folders instead. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/unit_table.h"

#define MUTATIONS 24

static int (*replay_target)(const uint8_t *data, size_t size);

/* splitmix64: small, and the same everywhere. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* One to four changes: a bit, a byte of the kind that breaks lengths, a shorter end. */
static size_t mutate(uint8_t *data, size_t size, uint64_t *random)
{
	static const uint8_t odd[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff, '"', '\n'};
	uint64_t changes = next_random(random) % 4 + 1;

	for (uint64_t i = 0; i < changes && size > 0; i++) {
		size_t at = (size_t)(next_random(random) % size);

		switch (next_random(random) % 4) {
		case 0: data[at] ^= (uint8_t)(1U << next_random(random) % 8); break;
		case 1: data[at] = odd[next_random(random) % sizeof(odd)]; break;
		case 2: data[at] = (uint8_t)next_random(random); break;
		default: size = at; break;
		}
	}
	return size;
}

/* In a copy of exactly its size. */
static int run_once(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return -1;
	if (size)
		memcpy(copy, data, size);
	(void)replay_target(copy, size);
	free(copy);
	return 0;
}

static int run_mutated(const uint8_t *data, size_t size)
{
	uint64_t random = size; /* the seed: only the file decides */
	uint8_t *copy = malloc(size ? size : 1);
	int rc = copy ? 0 : -1;

	for (size_t i = 0; i < size && i < 64; i++)
		random = random * 31 + data[i];
	for (unsigned i = 0; i < MUTATIONS && rc == 0 && size > 0; i++) {
		memcpy(copy, data, size);
		rc = run_once(copy, mutate(copy, size, &random));
	}
	free(copy);
	return rc;
}

static int replay_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rbe");
	uint8_t *data = malloc(size ? size : 1);
	int rc = -1;

	if (file && data && fread(data, 1, size, file) == size) {
		rc = run_once(data, size);
		if (rc == 0)
			rc = run_mutated(data, size);
	} else {
		perror(path);
	}
	free(data);
	if (file)
		(void)fclose(file);
	return rc;
}

/* Adds to *count. */
static int replay(const char *path, unsigned *count)
{
	char inner[4096];
	struct stat status;
	struct dirent *entry;
	DIR *folder;
	int rc = 0;

	if (stat(path, &status) != 0) {
		perror(path);
		return -1;
	}
	if (!S_ISDIR(status.st_mode)) {
		(*count)++;
		return replay_file(path, (size_t)status.st_size);
	}
	folder = opendir(path);
	if (!folder)
		return -1;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while (rc == 0 && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
		if (stat(inner, &status) != 0 || !S_ISREG(status.st_mode))
			continue;
		(*count)++;
		rc = replay_file(inner, (size_t)status.st_size);
	}
	(void)closedir(folder);
	return rc;
}

int fuzz_replay(int (*fuzz)(const uint8_t *data, size_t size), const char *corpus, int argc,
		char **argv)
{
	unsigned count = 0;
	int rc = 0;

	replay_target = fuzz;
	if (argc < 1)
		rc = replay(corpus, &count);
	for (int i = 0; i < argc && rc == 0; i++)
		rc = replay(argv[i], &count);
	printf("%u inputs replayed, each with %d mutated copies\n", count, MUTATIONS);
	return rc == 0 && count > 0 ? 0 : 1;
}
