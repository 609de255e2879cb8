/* main() of a fuzz target outside the fuzz preset: replays its corpus, each file in a buffer of
 * exactly its size so that the sanitizer sees every byte read past it. With arguments, replays
 * those files or folders instead. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rbe");
	uint8_t *data = malloc(size ? size : 1);
	int rc = -1;

	if (file && data && fread(data, 1, size, file) == size) {
		(void)LLVMFuzzerTestOneInput(data, size);
		rc = 0;
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

int main(int argc, char **argv)
{
	unsigned count = 0;
	int rc = 0;

	if (argc < 2)
		rc = replay(FUZZ_CORPUS, &count);
	for (int i = 1; i < argc && rc == 0; i++)
		rc = replay(argv[i], &count);
	printf("%u inputs replayed\n", count);
	return rc == 0 && count > 0 ? 0 : 1;
}
