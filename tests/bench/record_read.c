// links: trainer_record
/* record_read make FILE MIB: a file of samples of 20 to 200 kB, as JPEGs are.
 *
 * Reads a file in two ways, by turns, and prints MB/s of each:
 *     record_read FILE THREADS RUNS cold|warm
 * raw: one thread, read() from begin to end into one buffer of 1 MiB. ours: an epoch in page-shuffled order by THREADS
 * threads, each sample checked (crc32c). In both the one who asked looks at each word of what it got: a file that nobody
 * looks at could be read at any speed.
 * warm: one reader for all epochs, as training has it; its first epoch maps the file and is printed as "first".
 * cold: the file is dropped from the page cache, and the reader opened, before each run. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trainer_image/record/record.h"

enum { RECORD_READ_THREADS = 16, RECORD_READ_BUFFER = 1 << 20, RECORD_READ_WINDOW = 16 };

struct share {
	struct record_reader *reader;
	uint32_t rank, ranks;
	uint64_t bytes, samples, sum;
};

static double clock_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t words_sum(const uint8_t *data, size_t size)
{
	uint64_t sum = 0;

	for (size_t i = 0; i + 8 <= size; i += 8) {
		uint64_t word;

		memcpy(&word, data + i, sizeof(word));
		sum += word;
	}
	return sum;
}

static void file_drop(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fdatasync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		exit(1);
	close(fd);
}

static double raw_read(const char *path, uint64_t *ret_sum)
{
	static uint8_t buffer[RECORD_READ_BUFFER];
	double begin = clock_s();
	int fd = open(path, O_RDONLY);
	uint64_t bytes = 0;
	ssize_t some;

	while ((some = read(fd, buffer, sizeof(buffer))) > 0) {
		*ret_sum += words_sum(buffer, (size_t)some);
		bytes += (uint64_t)some;
	}
	if (fd < 0 || some < 0)
		exit(1);
	close(fd);
	return (double)bytes / 1e6 / (clock_s() - begin);
}

/* One rank of as many as there are threads: its share, in its order. */
static void *share_read(void *context)
{
	struct share *share = context;
	struct shuffle_set set = {record_reader_pages(share->reader),
				  record_reader_first(share->reader)};
	struct shuffle_ask ask = {.seed = 1,
				  .rank = share->rank,
				  .ranks = share->ranks,
				  .window = RECORD_READ_WINDOW};
	struct record_page page[RECORD_READ_WINDOW];
	struct shuffle_place place;
	struct shuffle shuffle;
	struct shuffle_group next;
	uint64_t group = UINT64_MAX;

	if (shuffle_init(&shuffle, &set, &ask) < 0)
		exit(1);
	for (uint32_t i = 0; i < shuffle.group.part_count; i++)
		record_reader_expect(share->reader, shuffle.group.part[i].page);
	while (shuffle_next(&shuffle, &place)) {
		struct record_sample sample;

		if (shuffle.group.begin != group) {
			group = shuffle.group.begin;
			if (shuffle_group_after(&shuffle, &shuffle.group, &next))
				for (uint32_t i = 0; i < next.part_count; i++)
					record_reader_expect(share->reader, next.part[i].page);
			for (uint32_t i = 0; i < shuffle.group.part_count; i++)
				if (record_page_open(share->reader, shuffle.group.part[i].page,
						     &page[i]) < 0)
					exit(1);
		}
		if (record_page_sample(share->reader, &page[place.slot], place.index, &sample) < 0)
			exit(1);
		share->sum += words_sum(sample.data, sample.size);
		share->bytes += sample.size + sample.fields_size;
		share->samples++;
	}
	return NULL;
}

static struct record_reader *reader_open(const char *path)
{
	struct record_reader *reader = NULL;
	struct problem problem = {0};

	if (record_reader_open(path, NULL, &reader, &problem) < 0) {
		fprintf(stderr, "%s\n", problem.message);
		exit(1);
	}
	return reader;
}

static double shuffled_read(struct record_reader *reader, unsigned threads, uint64_t *ret_sum)
{
	struct share share[RECORD_READ_THREADS];
	pthread_t thread[RECORD_READ_THREADS];
	uint64_t samples = 0;
	uint64_t bytes = 0;
	double begin = clock_s();

	for (unsigned i = 0; i < threads; i++) {
		share[i] = (struct share){.reader = reader, .rank = i, .ranks = threads};
		if (pthread_create(&thread[i], NULL, share_read, &share[i]) != 0)
			exit(1);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		bytes += share[i].bytes;
		*ret_sum += share[i].sum;
		samples += share[i].samples;
	}
	if (samples != record_reader_samples(reader) || record_reader_faults(reader) > 0)
		exit(1);
	return (double)bytes / 1e6 / (clock_s() - begin);
}

static double cold_read(const char *path, unsigned threads, uint64_t *ret_sum)
{
	struct record_reader *reader = reader_open(path);
	double rate = shuffled_read(reader, threads, ret_sum);

	record_reader_free(reader);
	return rate;
}

static int file_make(const char *path, uint64_t size)
{
	static uint8_t bytes[200000];
	struct record_header header = {0};
	struct record_writer *writer = NULL;
	struct problem problem = {0};
	uint64_t made = 0;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(shuffle_key(1, i, 2));
	int rc = record_writer_new(path, &header, RECORD_SYNC_END, &writer, &problem);
	for (uint64_t i = 0; rc == 0 && made < size; i++) {
		struct record_sample sample = {.format = RECORD_JPEG,
					       .data = bytes,
					       .size = 20000 + shuffle_key(1, i, 3) % 180000};

		made += sample.size;
		rc = record_writer_add(writer, &sample, NULL, &problem);
	}
	if (rc == 0)
		rc = record_writer_end(writer, &problem);
	record_writer_free(writer);
	if (rc < 0)
		fprintf(stderr, "%s\n", problem.message);
	return rc < 0;
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;

	if (argc == 4 && strcmp(argv[1], "make") == 0)
		return file_make(argv[2], strtoull(argv[3], NULL, 10) << 20);
	if (argc != 5)
		return 2;
	unsigned threads = (unsigned)strtoul(argv[2], NULL, 10);
	unsigned long runs = strtoul(argv[3], NULL, 10);
	if (threads == 0 || threads > RECORD_READ_THREADS)
		return 2;
	bool cold = argv[4][0] == 'c';
	struct record_reader *reader = cold ? NULL : reader_open(argv[1]);
	if (reader)
		printf("first %.1f\n", shuffled_read(reader, threads, &sum));
	for (unsigned long i = 0; i < runs; i++) {
		if (cold)
			file_drop(argv[1]);
		printf("raw %.1f\n", raw_read(argv[1], &sum));
		if (cold)
			file_drop(argv[1]);
		printf("ours %.1f\n", cold ? cold_read(argv[1], threads, &sum)
					   : shuffled_read(reader, threads, &sum));
	}
	record_reader_free(reader);
	fprintf(stderr, "sum %llx\n", (unsigned long long)sum); /* no compiler leaves it out */
	return 0;
}
