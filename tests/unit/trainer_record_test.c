// links: trainer_record
/* Record files: what was written is read, in pages; each changed byte and each cut is found; a writer that was
 * stopped goes on to the same bytes. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/file.h"

#include "tests/support/scratch.h"
#include "trainer_image/record/crc32c.h"
#include "trainer_image/record/record_wire.h"

enum { SAMPLES = 20, PAGE = 4096 };

static char class_cat[] = "cat";
static char class_dog[] = "dog";
static char *classes[] = {class_cat, class_dog};
static const struct record_header header = {
	.page_size = PAGE,
	.origin = 7,
	.field = {{"name", RECORD_TEXT}, {"weight", RECORD_FLOAT32}, {"seen", RECORD_INT64}},
	.field_count = 3,
	.class_name = classes,
	.class_count = 2,
};

static char folder[SCRATCH_SIZE];
static char path[128];

static int folder_make(void **state)
{
	(void)state;
	assert_true(text_format(folder, SCRATCH_SIZE, "/dev/shm/haas-record.XXXXXX"));
	assert_non_null(
		mkdtemp(folder)); /* memory: a disk would be asked for fsync a thousand times */
	assert_true(text_format(path, sizeof(path), "%s/set.rec", folder));
	return 0;
}

static int folder_remove(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

/* Sample `number` of the set: its bytes, size and fields follow from the number. */
static void sample_make(unsigned number, uint8_t pixels[600], char name[16],
			struct record_sample *ret, struct record_value value[3])
{
	unsigned side = 5 + number % 10;

	for (unsigned i = 0; i < side * side * 3; i++)
		pixels[i] = (uint8_t)(number * 31 + i * 7);
	snprintf(name, 16, "n%u.png", number);
	*ret = (struct record_sample){.label = (int32_t)number % 2,
				      .format = RECORD_PIXELS,
				      .height = (uint16_t)side,
				      .width = (uint16_t)side,
				      .channels = 3,
				      .data = pixels,
				      .size = side * side * 3};
	value[0] = (struct record_value){.data = name, .size = strlen(name)};
	value[1] = (struct record_value){.real = 0.5 * number};
	value[2] = (struct record_value){.integer = -(int64_t)number * (1LL << 33)};
}

static void samples_add(struct record_writer *writer, unsigned from, unsigned to)
{
	struct problem problem = {0};
	struct record_value value[3];
	struct record_sample sample;
	uint8_t pixels[600];
	char name[16];

	for (unsigned i = from; i < to; i++) {
		sample_make(i, pixels, name, &sample, value);
		record_writer_mark(writer, i + 1);
		assert_int_equal(record_writer_add(writer, &sample, value, &problem), 0);
	}
}

static void file_make(const char *name)
{
	struct record_writer *writer = NULL;
	struct problem problem = {0};

	assert_int_equal(record_writer_new(name, &header, RECORD_SYNC_END, &writer, &problem), 0);
	samples_add(writer, 0, SAMPLES);
	assert_int_equal(record_writer_end(writer, &problem), 0);
	record_writer_free(writer);
}

static void samples_check(struct record_reader *reader, uint64_t expected)
{
	uint64_t seen = 0;

	for (uint32_t p = 0; p < record_reader_pages(reader); p++) {
		struct record_page page;

		assert_int_equal(record_page_open(reader, p, &page), 0);
		for (uint32_t i = 0; i < page.samples; i++, seen++) {
			struct record_value value[RECORD_FIELDS_MAX];
			struct record_value wanted[3];
			struct record_sample sample;
			struct record_sample want;
			uint8_t pixels[600];
			char name[16];

			sample_make((unsigned)seen, pixels, name, &want, wanted);
			assert_int_equal(record_page_sample(reader, &page, i, &sample), 0);
			assert_int_equal(sample.number, seen);
			assert_int_equal(sample.label, want.label);
			assert_int_equal(sample.height, want.height);
			assert_int_equal(sample.size, want.size);
			assert_memory_equal(sample.data, pixels, want.size);
			assert_int_equal(
				record_sample_fields(record_reader_header(reader), &sample, value),
				0);
			assert_int_equal(value[0].size, strlen(name));
			assert_memory_equal(value[0].data, name, strlen(name));
			assert_true(value[1].real == wanted[1].real);
			assert_int_equal(value[2].integer, wanted[2].integer);
		}
	}
	assert_int_equal(seen, expected);
}

static void test_read_back(void **state)
{
	struct record_reader *reader = NULL;
	struct problem problem = {0};
	int32_t labels[SAMPLES];

	(void)state;
	file_make(path);
	for (enum record_check check = RECORD_CHECK_SAMPLE; check <= RECORD_CHECK_NEVER; check++) {
		struct record_options options = {.check = check};

		assert_int_equal(record_reader_open(path, &options, &reader, &problem), 0);
		assert_int_equal(record_reader_samples(reader), SAMPLES);
		assert_in_range(record_reader_pages(reader), 2, 10);
		assert_string_equal(record_reader_header(reader)->class_name[1], "dog");
		assert_string_equal(record_reader_header(reader)->field[2].name, "seen");
		samples_check(reader, SAMPLES);
		assert_int_equal(record_reader_labels(reader, labels), 0);
		assert_int_equal(labels[SAMPLES - 1], 1);
		assert_int_equal(record_reader_faults(reader), 0);
		record_reader_free(reader);
	}
	struct record_verdict verdict;
	assert_int_equal(record_verify(path, NULL, &verdict, &problem), 0);
	assert_true(verdict.ended);
	assert_int_equal(verdict.samples, SAMPLES);
}

static void test_empty(void **state)
{
	struct record_reader *reader = NULL;
	struct record_writer *writer = NULL;
	struct record_verdict verdict;
	struct problem problem = {0};

	(void)state;
	assert_int_equal(record_writer_new(path, &header, RECORD_SYNC_PAGE, &writer, &problem), 0);
	assert_int_equal(record_writer_end(writer, &problem), 0);
	record_writer_free(writer);
	assert_int_equal(record_writer_new(path, &header, RECORD_SYNC_PAGE, &writer, &problem),
			 -EEXIST);
	assert_int_equal(record_reader_open(path, NULL, &reader, &problem), 0);
	assert_int_equal(record_reader_samples(reader), 0);
	record_reader_free(reader);
	assert_int_equal(record_verify(path, NULL, &verdict, &problem), 0);
}

static void test_too_large(void **state)
{
	static uint8_t pixels[PAGE];
	struct record_sample sample = {.format = RECORD_JPEG, .data = pixels, .size = PAGE - 92};
	struct record_header plain = {.page_size = PAGE};
	struct record_writer *writer = NULL;
	struct problem problem = {0};

	(void)state;
	assert_int_equal(record_writer_new(path, &plain, RECORD_SYNC_END, &writer, &problem), 0);
	assert_int_equal(record_writer_add(writer, &sample, NULL, &problem), 0);
	sample.size++;
	assert_int_equal(record_writer_add(writer, &sample, NULL, &problem), E_LIMIT);
	assert_string_equal(problem.hint, "choose a larger page size, or smaller pictures");
	sample.size--;
	assert_int_equal(record_writer_add(writer, &sample, NULL, &problem), 0);
	assert_int_equal(record_writer_end(writer, &problem), 0);
	record_writer_free(writer);
}

/* ---- Damage ---- */

struct fault_count {
	unsigned faults;
	uint32_t page;
	uint64_t sample;
};

static void fault_keep(void *context, const struct record_fault *fault)
{
	struct fault_count *count = context;

	assert_non_null(fault->why);
	count->faults++;
	count->page = fault->page;
	count->sample = fault->sample;
}

/* The faults that a reader meets on its way through all samples; of one that does not open: one. */
static struct fault_count faults_of(enum record_check check)
{
	struct fault_count count = {0};
	struct record_options options = {.check = check, .fault = fault_keep, .context = &count};
	struct record_reader *reader = NULL;
	struct problem problem = {0};

	if (record_reader_open(path, &options, &reader, &problem) < 0) {
		assert_true(problem.hint[0] || strstr(problem.message, "version") ||
			    strstr(problem.message, "no record"));
		return (struct fault_count){.faults = 1, .page = UINT32_MAX};
	}
	for (uint32_t p = 0; p < record_reader_pages(reader); p++) {
		struct record_page page;
		struct record_sample sample;

		if (record_page_open(reader, p, &page) < 0)
			continue;
		for (uint32_t i = 0; i < page.samples; i++)
			if (record_page_sample(reader, &page, i, &sample) < 0)
				continue;
	}
	assert_int_equal(count.faults, record_reader_faults(reader));
	record_reader_free(reader);
	return count;
}

static void byte_flip(int fd, off_t offset, uint8_t bits)
{
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, offset), 1);
	byte ^= bits;
	assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
}

/* Each byte of the header and of all of a page, of the tables and of the trailer: a changed one is found by who reads all
 * (of zeros between pages: by the verifier alone). */
static void test_flips(void **state)
{
	struct record_verdict verdict;
	struct problem problem = {0};
	struct stat status;

	(void)state;
	file_make(path);
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0 && fstat(fd, &status) == 0);
	for (off_t i = 0; i < status.st_size;
	     i += i >= PAGE + RECORD_PAGE_HEADER_SIZE && i < status.st_size - 700 ? 101 : 1) {
		byte_flip(fd, i, (uint8_t)(1U << i % 8));
		if (i < PAGE + RECORD_PAGE_HEADER_SIZE) {
			struct fault_count count = faults_of(RECORD_CHECK_NEVER);

			assert_int_equal(count.faults, 1);
			assert_int_equal(count.page, i < PAGE ? UINT32_MAX : 0);
		} else {
			assert_int_not_equal(record_verify(path, NULL, &verdict, &problem), 0);
		}
		byte_flip(fd, i, (uint8_t)(1U << i % 8));
	}
	assert_int_equal(record_verify(path, NULL, &verdict, &problem), 0);

	/* One sample of page 1 is bad: it alone is lost, or all of the page. */
	byte_flip(fd, 2 * PAGE + 100, 4);
	struct fault_count one = faults_of(RECORD_CHECK_SAMPLE);
	struct fault_count all = faults_of(RECORD_CHECK_PAGE);
	assert_int_equal(one.faults, 1);
	assert_int_equal(one.page, 1);
	assert_true(one.sample < SAMPLES);
	assert_int_equal(all.faults, 1);
	assert_true(all.sample == UINT64_MAX);
	assert_int_equal(faults_of(RECORD_CHECK_NEVER).faults, 0);
	assert_int_equal(record_verify(path, NULL, &verdict, &problem), E_DIGEST);
	assert_int_equal(verdict.samples_bad, 1);
	assert_int_equal(verdict.pages_bad, 1);
	assert_int_equal(verdict.good_bytes, 2 * PAGE);
	close(fd);
}

/* Cut at each length: no file, or one whose whole pages can be read. */
static void test_truncation(void **state)
{
	struct record_options prefix = {.prefix = true};
	struct record_reader *reader = NULL;
	struct problem problem = {0};
	uint64_t first[16] = {0};
	uint32_t pages = 0;
	struct stat status;

	(void)state;
	file_make(path);
	assert_int_equal(record_reader_open(path, NULL, &reader, &problem), 0);
	pages = record_reader_pages(reader);
	assert_in_range(pages, 2, 15);
	memcpy(first, record_reader_first(reader), (pages + 1) * sizeof(first[0]));
	record_reader_free(reader);
	assert_int_equal(stat(path, &status), 0);
	for (off_t size = status.st_size - 1; size >= 0; size--) {
		assert_int_equal(truncate(path, size), 0);
		if (size % 16 == 0 || size > status.st_size - 200)
			assert_int_equal(record_reader_open(path, NULL, &reader, &problem),
					 E_MALFORMED);
		int rc = record_reader_open(path, &prefix, &reader, &problem);
		if (size < PAGE) {
			assert_int_equal(rc, E_MALFORMED);
			continue;
		}
		assert_int_equal(rc, 0);
		/* Pages of this file have 4096 bytes each, but the last, which has no more. */
		uint32_t whole = (uint32_t)(size / PAGE) - 1;
		whole = whole < pages ? whole : pages;
		assert_int_equal(record_reader_pages(reader), whole);
		if (size % 64 == 0)
			samples_check(reader, first[whole]);
		record_reader_free(reader);
	}
}

/* ---- Going on ---- */

static void file_expect(const char *name, const char *wanted, size_t size)
{
	CLEANUP(freep) char *found = NULL;
	size_t found_size = 0;

	assert_int_equal(file_read(name, 1 << 20, &found, &found_size), 0);
	assert_int_equal(found_size, size);
	assert_memory_equal(found, wanted, size);
}

/* A writer that stopped after any number of samples, and whose file lost any number of bytes behind the header. */
static void test_resume(void **state)
{
	CLEANUP(freep) char *wanted = NULL;
	struct record_writer *writer = NULL;
	struct problem problem = {0};
	char other[160];
	size_t size = 0;

	(void)state;
	file_make(path);
	assert_int_equal(file_read(path, 1 << 20, &wanted, &size), 0);
	assert_true(text_format(other, sizeof(other), "%s/other.rec", folder));
	for (unsigned stop = 0; stop <= SAMPLES; stop++) {
		unlink(other);
		assert_int_equal(
			record_writer_resume(other, &header, RECORD_SYNC_END, &writer, &problem),
			0);
		assert_int_equal(record_writer_marked(writer), 0);
		samples_add(writer, 0, stop);
		record_writer_free(writer);
		struct stat status;
		assert_int_equal(stat(other, &status), 0);
		off_t lost = stop * 97 % 5000;
		assert_int_equal(truncate(other, status.st_size > lost ? status.st_size - lost : 0),
				 0);

		assert_int_equal(
			record_writer_resume(other, &header, RECORD_SYNC_END, &writer, &problem),
			0);
		uint64_t mark = record_writer_marked(writer);
		assert_int_equal(mark, record_writer_samples(writer));
		assert_true(mark <= stop);
		samples_add(writer, (unsigned)mark, SAMPLES);
		assert_int_equal(record_writer_end(writer, &problem), 0);
		record_writer_free(writer);
		file_expect(other, wanted, size);
	}
	assert_int_equal(record_writer_resume(other, &header, RECORD_SYNC_END, &writer, &problem),
			 -EALREADY);
	/* The tables without the trailer, or half of one. */
	for (off_t cut = 1; cut < (off_t)size - PAGE; cut += 333) {
		assert_int_equal(truncate(other, (off_t)size - cut), 0);
		assert_int_equal(
			record_writer_resume(other, &header, RECORD_SYNC_END, &writer, &problem),
			0);
		samples_add(writer, (unsigned)record_writer_marked(writer), SAMPLES);
		assert_int_equal(record_writer_end(writer, &problem), 0);
		record_writer_free(writer);
		file_expect(other, wanted, size);
	}
}

static void test_resume_refused(void **state)
{
	struct record_header changed = header;
	struct record_writer *writer = NULL;
	struct record_writer *second = NULL;
	struct problem problem = {0};

	(void)state;
	file_make(path);
	changed.origin++;
	assert_int_equal(record_writer_resume(path, &changed, RECORD_SYNC_END, &writer, &problem),
			 E_CONFLICT);
	assert_int_equal(shell("echo 'something else' >%s", path), 0);
	assert_int_equal(record_writer_resume(path, &header, RECORD_SYNC_END, &writer, &problem),
			 E_CONFLICT);
	file_expect(path, "something else\n", 15);
	unlink(path);
	assert_int_equal(record_writer_resume(path, &header, RECORD_SYNC_END, &writer, &problem),
			 0);
	assert_int_equal(record_writer_resume(path, &header, RECORD_SYNC_END, &second, &problem),
			 E_CONFLICT);
	assert_string_equal(problem.hint, "wait for it to end");
	record_writer_free(writer);
}

static void test_full_disk(void **state)
{
	struct record_writer *writer = NULL;
	struct problem problem = {0};

	(void)state;
	/* A header goes to /dev/full as little as to a full disk. */
	assert_int_equal(
		record_writer_resume("/dev/full", &header, RECORD_SYNC_END, &writer, &problem) < 0,
		1);
	assert_null(writer);
}

static void test_crc32c(void **state)
{
	static uint8_t bytes[8192];

	(void)state;
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283); /* RFC 3720 B.4 has zeros: */
	assert_int_equal(crc32c(0, bytes, 32), 0x8a9136aa);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i >> 3);
	for (size_t size = 0; size < sizeof(bytes) - 8; size += 53) {
		uint32_t whole = crc32c(0, bytes + size % 8, size);

		assert_int_equal(whole, crc32c_table(0, bytes + size % 8, size));
		assert_int_equal(whole, crc32c(crc32c(0, bytes + size % 8, size / 3),
					       bytes + size % 8 + size / 3, size - size / 3));
	}
}

#define RECORD_TEST(function) cmocka_unit_test_setup_teardown(function, folder_make, folder_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECORD_TEST(test_read_back),   RECORD_TEST(test_empty),
		RECORD_TEST(test_too_large),   RECORD_TEST(test_flips),
		RECORD_TEST(test_truncation),  RECORD_TEST(test_resume),
		RECORD_TEST(test_full_disk),   RECORD_TEST(test_resume_refused),
		cmocka_unit_test(test_crc32c),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
