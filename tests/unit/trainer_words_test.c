// links: trainer_record
/* Sets of words: what a record file of them holds and refuses; files become one line of words, cut into sequences; a conversion that
 * was stopped goes on to the same bytes; a wrong word is named. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/file.h"

#include "tests/support/scratch.h"
#include "trainer_image/record/convert_words.h"
#include "trainer_image/record/record_words_wire.h"
#include "trainer_image/record/sentences.h"

enum { LENGTH = 4, PAGE = 4096, WORDS_MOST = 4096, LIMIT = 1 << 20 };

static char folder[SCRATCH_SIZE];
static char set[128];

static int folder_make(void **state)
{
	(void)state;
	assert_true(text_format(folder, SCRATCH_SIZE, "/dev/shm/haas-words.XXXXXX"));
	assert_non_null(mkdtemp(folder));
	assert_true(text_format(set, sizeof(set), "%s/set.rec", folder));
	return 0;
}

static int folder_remove(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

static void write_file(const char *name, const void *data, size_t size)
{
	char path[160];

	assert_true(text_format(path, sizeof(path), "%s/%s", folder, name));
	assert_int_equal(file_write_atomic(path, data, size, 0600), 0);
}

/* ---- The file ---- */

static void keep_why(void *context, const struct record_fault *fault)
{
	*(const char **)context = fault->why;
}

/* A set of one sequence; why record_verify() finds a fault in it, NULL: none. */
static const char *verify_one(uint32_t vocabulary, const int32_t words[LENGTH + 1])
{
	const struct record_header header = {
		.page_size = PAGE, .vocabulary = vocabulary, .length = LENGTH};
	struct record_sample sample = {.label = -1, .format = RECORD_WORDS};
	struct record_writer *writer = NULL;
	const char *why = NULL;
	const struct record_options options = {.fault = keep_why, .context = &why};
	struct record_verdict verdict;
	struct problem problem = {0};
	uint8_t bytes[64];

	(void)unlink(set);
	record_words_encode(&header, words, bytes);
	sample.data = bytes;
	sample.size = record_words_size(&header);
	assert_int_equal(record_writer_new(set, &header, RECORD_SYNC_END, &writer, &problem), 0);
	assert_int_equal(record_writer_add(writer, &sample, NULL, &problem), 0);
	/* Neither a longer sequence nor a picture goes there. */
	sample.size += 2;
	assert_int_equal(record_writer_add(writer, &sample, NULL, &problem), E_INVALID);
	sample.format = RECORD_JPEG;
	assert_int_equal(record_writer_add(writer, &sample, NULL, &problem), E_INVALID);
	assert_int_equal(record_writer_end(writer, &problem), 0);
	record_writer_free(writer);

	int rc = record_verify(set, &options, &verdict, &problem);
	assert_int_equal(rc, why ? E_DIGEST : 0);
	assert_int_equal(verdict.samples, 1);
	assert_int_equal(verdict.vocabulary, vocabulary);
	assert_int_equal(verdict.length, LENGTH);
	return why;
}

static void test_file(void **state)
{
	static const int32_t narrow[LENGTH + 1] = {0, 1, 299, 256, 255};
	static const int32_t wide[LENGTH + 1] = {0, 65535, 65536, 70000, 1};

	(void)state;
	assert_null(verify_one(300, narrow));
	assert_string_equal(verify_one(299, narrow), "a word is none of the vocabulary");
	assert_null(verify_one(70001, wide));
	assert_string_equal(verify_one(70000, wide), "a word is none of the vocabulary");
}

/* Headers that no set has. */
static void test_headers(void **state)
{
	static char cat[] = "cat";
	static char *classes[] = {cat};
	static const struct record_header rows[] = {
		{.vocabulary = 10},
		{.length = 10},
		{.vocabulary = 10, .length = RECORD_LENGTH_MAX + 1},
		{.vocabulary = (uint32_t)INT32_MAX + 1, .length = 10},
		{.vocabulary = 10, .length = 10, .class_name = classes, .class_count = 1},
	};
	const struct record_header pictures = {.page_size = PAGE};
	const uint8_t bytes[4] = {0};
	const struct record_sample sample = {
		.format = RECORD_WORDS, .data = bytes, .size = sizeof(bytes)};
	struct record_writer *writer = NULL;
	struct problem problem = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(
			record_writer_new(set, &rows[i], RECORD_SYNC_END, &writer, &problem),
			E_INVALID);
		(void)unlink(set);
	}
	assert_int_equal(record_writer_new(set, &pictures, RECORD_SYNC_END, &writer, &problem), 0);
	assert_int_equal(record_writer_add(writer, &sample, NULL, &problem), E_INVALID);
	record_writer_free(writer);
}

/* ---- Conversion ---- */

/* All words of the set, sequence by sequence. Returns how many. */
static size_t read_set(int32_t words[WORDS_MOST])
{
	struct record_reader *reader = NULL;
	struct problem problem = {0};
	size_t count = 0;

	assert_int_equal(record_reader_open(set, NULL, &reader, &problem), 0);
	const struct record_header *header = record_reader_header(reader);
	for (uint32_t p = 0; p < record_reader_pages(reader); p++) {
		struct record_page page;
		struct record_sample sample;

		assert_int_equal(record_page_open(reader, p, &page), 0);
		for (uint32_t i = 0; i < page.samples; i++) {
			assert_true(count + header->length < WORDS_MOST);
			assert_int_equal(record_page_sample(reader, &page, i, &sample), 0);
			assert_int_equal(sample.label, -1);
			assert_int_equal(record_words_decode(header, sample.data, sample.size,
							     words + count),
					 0);
			count += header->length + 1;
		}
	}
	record_reader_free(reader);
	return count;
}

static int convert(const char *name, const struct convert_words_options *options,
		   struct convert_words_result *ret, struct problem *problem)
{
	char path[160];

	assert_true(text_format(path, sizeof(path), "%s/%s", folder, name));
	*problem = (struct problem){0};
	return convert_words(path, set, options, ret, problem);
}

static void expect(const char *name, const struct convert_words_options *options,
		   const int32_t *wanted, size_t count, uint64_t left)
{
	struct convert_words_result result = {0};
	int32_t words[WORDS_MOST];
	struct problem problem;

	(void)unlink(set);
	if (convert(name, options, &result, &problem) != 0)
		fail_msg("%s: %s", problem.message, problem.hint);
	assert_int_equal(result.samples, count / (options->length + 1));
	assert_int_equal(result.left, left);
	assert_int_equal(result.before, 0);
	assert_int_equal(read_set(words), count);
	assert_memory_equal(words, wanted, count * sizeof(*wanted));
}

static void test_texts(void **state)
{
	static const int32_t two[] = {'a', 'b', 0, 'c', 'd', 'd', 'e', 'f', 'g', 0};
	static const int32_t all[] = {'a', 'b', 0, 'c', 'd', 'd', 'e', 'f',
				      'g', 0,   0, 200, 0,   0,   'h'};
	struct convert_words_options options = {.type = CONVERT_WORDS_BYTES,
						.vocabulary = CONVERT_WORDS_OF_BYTES,
						.length = LENGTH};

	(void)state;
	assert_int_equal(shell("mkdir -p %s/in/x30", folder), 0);
	write_file("in/x2", "ab", 2);
	write_file("in/x10", "cdefg", 5);
	write_file("in/.hidden", "no", 2);
	expect("in", &options, two, COUNT_OF(two), 0);
	/* An empty file is one word, its end. */
	write_file("in/x30/b", "", 0);
	write_file("in/x30/a", "\310", 1);
	write_file("in/x31", "hi", 2);
	expect("in", &options, all, COUNT_OF(all), 2);
	write_file("one", "abcdefghi", 9);
	options.length = 9;
	expect("one", &options, (const int32_t[]){'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 0},
	       10, 0);
}

static void test_ready_words(void **state)
{
	static const uint8_t narrow[] = {1, 0, 2, 0, 44, 1, 3, 0, 4, 0, 5, 0};
	static const uint8_t wide[] = {1, 0, 0, 0, 0x70, 0x11, 1, 0, 2, 0, 0, 0};
	struct convert_words_options options = {
		.type = CONVERT_WORDS_UINT16, .vocabulary = 301, .length = LENGTH};

	(void)state;
	assert_int_equal(shell("mkdir -p %s/in", folder), 0);
	write_file("in/1", narrow, 4);
	write_file("in/2", narrow + 4, sizeof(narrow) - 4);
	expect("in", &options, (const int32_t[]){1, 2, 300, 3, 4}, 5, 1);
	write_file("wide", wide, sizeof(wide));
	options = (struct convert_words_options){
		.type = CONVERT_WORDS_INT32, .vocabulary = 70001, .length = 1};
	expect("wide", &options, (const int32_t[]){1, 70000, 70000, 2}, 4, 0);
}

static void test_refusals(void **state)
{
	static const uint8_t bytes[] = {1, 0, 2, 0, 44, 1, 255, 255, 255, 255, 0, 0};
	static const struct {
		enum convert_words_type type;
		uint32_t vocabulary, length;
		const char *says, *hint;
	} rows[] = {
		{CONVERT_WORDS_UINT16, 300, 1,
		 "in/2: the word at byte 2 is 300, and the vocabulary has 300", "--vocabulary"},
		{CONVERT_WORDS_INT32, 400000, 1, "in/2: 10 bytes are no int32 words", "tofile"},
		{CONVERT_WORDS_UINT16, 65536, 6, "in has 6 words, and a sequence takes 7",
		 "--length"},
	};
	struct convert_words_options options;
	struct convert_words_result result = {0};
	struct problem problem;

	(void)state;
	assert_int_equal(shell("mkdir -p %s/in", folder), 0);
	write_file("in/1", bytes, 2);
	write_file("in/2", bytes + 2, sizeof(bytes) - 2);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		options = (struct convert_words_options){
			rows[i].type, rows[i].vocabulary, rows[i].length, 0, false, NULL, NULL};
		assert_int_equal(convert("in", &options, &result, &problem), E_INVALID);
		if (!strstr(problem.message, rows[i].says) || !strstr(problem.hint, rows[i].hint))
			fail_msg("row %zu: %s; %s", i, problem.message, problem.hint);
		/* What no call can finish does not stay. */
		assert_int_equal(access(set, F_OK), -1);
	}
	options = (struct convert_words_options){
		.type = CONVERT_WORDS_INT32, .vocabulary = INT32_MAX, .length = 1};
	write_file("negative", (const int32_t[]){3, -5}, 8);
	assert_int_equal(convert("negative", &options, &result, &problem), E_INVALID);
	assert_non_null(strstr(problem.message, "at byte 4 is -5"));
	assert_int_equal(convert(".", &options, &result, &problem), E_INVALID);
	assert_non_null(strstr(problem.message, "lies in "));
	assert_int_equal(convert("nothing", &options, &result, &problem), -ENOENT);
	assert_int_equal(shell("mkdir %s/empty", folder), 0);
	assert_int_equal(convert("empty", &options, &result, &problem), E_NOT_FOUND);
}

/* Cut at any length, the file becomes the same bytes again; with other options it is refused. */
static void test_goes_on(void **state)
{
	CLEANUP(freep) char *wanted = NULL;
	struct convert_words_options options = {.type = CONVERT_WORDS_BYTES,
						.vocabulary = CONVERT_WORDS_OF_BYTES,
						.length = 7,
						.page_size = PAGE};
	struct convert_words_result result = {0};
	struct problem problem;
	uint8_t bytes[1500];
	uint64_t most = 0;
	size_t size = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i >> 4 ^ i);
	assert_int_equal(shell("mkdir -p %s/in", folder), 0);
	write_file("in/a", bytes, 700);
	write_file("in/b", bytes + 700, 0);
	write_file("in/c", bytes + 700, sizeof(bytes) - 700);
	assert_int_equal(convert("in", &options, &result, &problem), 0);
	assert_int_equal(result.samples, 214);
	assert_int_equal(file_read(set, LIMIT, &wanted, &size), 0);
	assert_int_equal(convert("in", &options, &result, &problem), -EALREADY);
	for (size_t cut = 0; cut < size; cut += 509) {
		CLEANUP(freep) char *found = NULL;
		size_t found_size = 0;

		assert_int_equal(truncate(set, (off_t)cut), 0);
		assert_int_equal(convert("in", &options, &result, &problem), 0);
		most = result.before > most ? result.before : most;
		assert_int_equal(result.samples, 214);
		assert_int_equal(file_read(set, LIMIT, &found, &found_size), 0);
		assert_int_equal(found_size, size);
		assert_memory_equal(found, wanted, size);
	}
	assert_int_equal(most, 214); /* of a file that lacks its end alone */
	options.length = 8;
	assert_int_equal(convert("in", &options, &result, &problem), E_CONFLICT);
}

/* ---- Sentences ---- */

static void test_sentences(void **state)
{
	char path[2][160];
	char *text[2] = {0};
	struct problem problem = {0};
	size_t size = 0;
	size_t lines = 0;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_true(text_format(path[i], sizeof(path[i]), "%s/text%u", folder, i));
		assert_int_equal(sentences_write(path[i], 50, i, &problem), 0);
		assert_int_equal(file_read(path[i], LIMIT, &text[i], &size), 0);
	}
	assert_string_not_equal(text[0], text[1]);
	for (char *line = strtok(text[1], "\n"); line; line = strtok(NULL, "\n"), lines++) {
		char name[16];
		char colour[2][16];
		char thing[2][16];

		assert_int_equal(sscanf(line, "%15s has a %15s %15[a-z]. the %15s is %15[a-z].",
					name, colour[0], thing[0], thing[1], colour[1]),
				 5);
		assert_string_equal(colour[0], colour[1]);
		assert_string_equal(thing[0], thing[1]);
	}
	assert_int_equal(lines, 50);
	free(text[0]);
	free(text[1]);
	assert_true(sentences_write("/nothing/text", 1, 1, &problem) < 0);
}

#define WORDS_TEST(function) cmocka_unit_test_setup_teardown(function, folder_make, folder_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORDS_TEST(test_file),      WORDS_TEST(test_headers),     WORDS_TEST(test_texts),
		WORDS_TEST(test_refusals),  WORDS_TEST(test_ready_words), WORDS_TEST(test_goes_on),
		WORDS_TEST(test_sentences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
