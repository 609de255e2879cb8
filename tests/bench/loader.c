// links: trainer_loader trainer_record lib::jpeg common_base
/* The tool of tests/bench/loader and of story trainer_loader:
 *
 *     bench_loader make FILE COUNT WIDTH HEIGHT [FOLDER]   a record file of JPEGs: also as files, or, without a
 *                                                          folder, sample 3 is no JPEG
 *     bench_loader decode FILE SECONDS                     libjpeg-turbo alone, whole pictures, one thread
 *     bench_loader load FILE SECONDS OPS BATCH [R D A K]   the loader, tuned or with fixed threads and k
 *     bench_loader tune FILE SECONDS OPS BATCH             until the tuner rests, SECONDS at most
 *
 * Prints one line: images=.. wall_s=.. cpu_s=.. and the setting that ran at last. */
#include "trainer_image/loader/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/jpeg_make.h"
#include "trainer_image/record/record.h"

static int print_usage(void)
{
	fprintf(stderr, "bench_loader make|decode|load|tune FILE ..: see its source\n");
	return 2;
}

static double wall_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int write_file(const char *folder, unsigned number, const void *data, size_t size)
{
	char path[512];
	FILE *file;
	bool good;

	if (snprintf(path, sizeof(path), "%s/%06u.jpg", folder, number) >= (int)sizeof(path))
		return -1;
	file = fopen(path, "w");
	if (!file)
		return -1;
	good = fwrite(data, 1, size, file) == size;
	return fclose(file) == 0 && good ? 0 : -1;
}

static int make_sample(struct record_writer *writer, const struct jpeg_make *make, bool broken,
		       const char *folder)
{
	struct record_sample sample = {.label = (int32_t)make->seed % 10, .format = RECORD_JPEG};
	struct problem problem = {0};
	unsigned char *data;
	size_t size;
	int rc = 0;

	jpeg_make(make, &data, &size);
	if (broken)
		memset(data, 'x', size);
	sample.data = data;
	sample.size = size;
	if (folder)
		rc = write_file(folder, make->seed, data, size);
	if (rc == 0)
		rc = record_writer_add(writer, &sample, NULL, &problem);
	free(data);
	return rc;
}

static int make_file(int argc, char **argv)
{
	struct record_header header = {.page_size = 1 << 20};
	struct record_writer *writer;
	struct problem problem = {0};
	unsigned count = (unsigned)strtoul(argv[3], NULL, 10);
	struct jpeg_make make = {(unsigned)strtoul(argv[4], NULL, 10),
				 (unsigned)strtoul(argv[5], NULL, 10),
				 3,
				 90,
				 2,
				 0,
				 0};
	int rc = record_writer_new(argv[2], &header, RECORD_SYNC_END, &writer, &problem);

	if (rc != 0) {
		fprintf(stderr, "%s\n", problem.message);
		return 1;
	}
	for (make.seed = 0; rc == 0 && make.seed < count; make.seed++)
		rc = make_sample(writer, &make, argc <= 6 && make.seed == 3,
				 argc > 6 ? argv[6] : NULL);
	if (rc == 0)
		rc = record_writer_end(writer, &problem);
	record_writer_free(writer);
	return rc == 0 ? 0 : 1;
}

static void decode_whole(struct jpeg_decompress_struct *library, const struct record_sample *sample,
			 unsigned char **row, size_t *room)
{
	jpeg_mem_src(library, sample->data, sample->size);
	(void)jpeg_read_header(library, TRUE);
	library->out_color_space = JCS_RGB;
	(void)jpeg_start_decompress(library);
	if ((size_t)library->output_width * 3 > *room) {
		*room = (size_t)library->output_width * 3;
		free(*row);
		*row = malloc(*room);
	}
	while (library->output_scanline < library->output_height)
		(void)jpeg_read_scanlines(library, row, 1);
	(void)jpeg_finish_decompress(library);
}

static int decode_file(char **argv)
{
	struct jpeg_decompress_struct library;
	struct jpeg_error_mgr errors;
	struct record_reader *reader;
	struct problem problem = {0};
	double seconds = strtod(argv[3], NULL);
	double begin = wall_s();
	double cpu = cpu_s();
	unsigned char *row = NULL;
	size_t room = 0;
	uint64_t images = 0;

	if (record_reader_open(argv[2], NULL, &reader, &problem) != 0) {
		fprintf(stderr, "%s\n", problem.message);
		return 1;
	}
	library.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&library);
	for (uint32_t page = 0; wall_s() - begin < seconds;
	     page = (page + 1) % record_reader_pages(reader)) {
		struct record_page open;

		if (record_page_open(reader, page, &open) != 0)
			return 1;
		for (uint32_t i = 0; i < open.samples; i++) {
			struct record_sample sample;

			if (record_page_sample(reader, &open, i, &sample) != 0)
				return 1;
			decode_whole(&library, &sample, &row, &room);
			images++;
		}
	}
	printf("images=%llu wall_s=%.4f cpu_s=%.4f\n", (unsigned long long)images, wall_s() - begin,
	       cpu_s() - cpu);
	jpeg_destroy_decompress(&library);
	record_reader_free(reader);
	free(row);
	return 0;
}

/* Takes batches for so long; counts images of the second half, when threads and caches have settled. With
 * `rest` it ends when the tuner does, and counts from the begin. */
static int take_batches(struct loader *loader, double seconds, bool rest)
{
	double begin = wall_s();
	double half = rest ? begin : 0;
	double cpu = 0;
	struct loader_counts counts;
	struct problem problem = {0};
	uint64_t images = 0;

	for (;;) {
		struct loader_batch batch;
		int rc = loader_next(loader, &batch, &problem);

		if (rc < 0)
			return rc;
		if (rc == 1) {
			images += batch.count;
			if (loader_give_back(loader, &batch) != 0)
				return -1;
		}
		if (half == 0 && wall_s() - begin >= seconds / 2) {
			half = wall_s();
			cpu = cpu_s();
			images = 0;
		}
		if (half > 0 && wall_s() - half >= (rest ? seconds : seconds / 2))
			break;
		if (rest && loader_counts(loader).phase == TUNE_REST)
			break;
	}
	counts = loader_counts(loader);
	printf("images=%llu wall_s=%.4f cpu_s=%.4f setting=%u,%u,%u,%u resting=%d settings=%llu\n",
	       (unsigned long long)images, wall_s() - half, cpu_s() - cpu,
	       counts.setting.threads[0], counts.setting.threads[1], counts.setting.threads[2],
	       counts.setting.k, counts.phase == TUNE_REST, (unsigned long long)counts.settings);
	return 0;
}

static int load_file(int argc, char **argv)
{
	struct loader_config config = {
		.path = argv[2], .ops = argv[4], .batch = (uint32_t)strtoul(argv[5], NULL, 10)};
	struct loader *loader;
	struct problem problem = {0};
	int rc;

	for (int i = 0; i < TUNE_STAGES && argc > 9; i++)
		config.fixed.threads[i] = (uint32_t)strtoul(argv[6 + i], NULL, 10);
	if (argc > 9)
		config.fixed.k = (uint32_t)strtoul(argv[9], NULL, 10);
	rc = loader_new(&config, &loader, &problem);
	if (rc != 0) {
		fprintf(stderr, "%s %s\n", problem.message, problem.hint);
		return 1;
	}
	rc = take_batches(loader, strtod(argv[3], NULL), strcmp(argv[1], "tune") == 0);
	loader_free(loader);
	return rc == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc >= 6 && strcmp(argv[1], "make") == 0)
		return make_file(argc, argv);
	if (argc == 4 && strcmp(argv[1], "decode") == 0)
		return decode_file(argv);
	if (argc >= 6 && (strcmp(argv[1], "load") == 0 || strcmp(argv[1], "tune") == 0))
		return load_file(argc, argv);
	return print_usage();
}
