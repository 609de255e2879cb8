#include "trainer_image/record/convert_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/record/folder_list.h"
#include "trainer_image/record/record_words_wire.h"

enum {
	CONVERT_WORDS_VERSION = 1,
	CONVERT_WORDS_TELL = 256, /* sequences from call to call of the progress */
	CONVERT_WORDS_PATH = 4096,
	CONVERT_WORDS_WIDEST = 4, /* bytes of a word */
};

static const struct {
	const char *text;
	unsigned width;
	bool ends; /* a word 0 stands behind each file */
} convert_words_types[] = {
	[CONVERT_WORDS_BYTES] = {"bytes", 1, true},
	[CONVERT_WORDS_UINT16] = {"uint16", 2, false},
	[CONVERT_WORDS_INT32] = {"int32", 4, false},
};

/* The line of words, and where it is. */
struct convert_words_line {
	const char *path;
	const struct convert_words_options *options;
	struct folder_list list;
	size_t at; /* file */
	FILE *file;
	char name[CONVERT_WORDS_PATH]; /* of `file` */
	uint64_t place;                /* words of it that were read */
};

static uint64_t convert_words_of_file(const struct convert_words_line *line, size_t at)
{
	return line->list.files[at].size / convert_words_types[line->options->type].width;
}

static uint64_t convert_words_count(const struct convert_words_line *line)
{
	uint64_t count = 0;

	for (size_t i = 0; i < line->list.file_count; i++)
		count += convert_words_of_file(line, i) +
			 (convert_words_types[line->options->type].ends ? 1 : 0);
	return count;
}

/* ---- Reading ---- */

static void convert_words_close(struct convert_words_line *line)
{
	if (line->file)
		(void)fclose(line->file);
	line->file = NULL;
}

/* File `at`, behind `place` words of it. */
static int convert_words_open(struct convert_words_line *line, uint64_t place,
			      struct problem *problem)
{
	const struct folder_file *file = &line->list.files[line->at];
	unsigned width = convert_words_types[line->options->type].width;

	if (!text_format(line->name, sizeof(line->name), "%s%s%s", line->path,
			 file->name[0] ? "/" : "", file->name))
		return problem_set(problem, -ENAMETOOLONG, "%s/%s: its name is too long",
				   line->path, file->name);
	if (file->size % width != 0) {
		(void)problem_set(problem, E_INVALID, "%s: %" PRIu64 " bytes are no %s words",
				  line->name, file->size,
				  convert_words_types[line->options->type].text);
		problem_hint(problem, "words behind one another without a header: "
				      "numpy.asarray(words, \"<u2\").tofile(FILE)");
		return E_INVALID;
	}
	line->file = fopen(line->name, "re");
	line->place = place;
	if (!line->file || fseeko(line->file, (off_t)(place * width), SEEK_SET) != 0) {
		int rc = -errno;

		return problem_set(problem, rc, "cannot read %s: %s", line->name, error_text(rc));
	}
	return 0;
}

/* To word `place` of the line. */
static int convert_words_seek(struct convert_words_line *line, uint64_t place,
			      struct problem *problem)
{
	uint64_t end = convert_words_types[line->options->type].ends ? 1 : 0;

	convert_words_close(line);
	for (line->at = 0; line->at < line->list.file_count; line->at++) {
		uint64_t words = convert_words_of_file(line, line->at) + end;

		if (place < words)
			return convert_words_open(line, place, problem);
		place -= words;
	}
	return E_NOT_FOUND;
}

static int convert_words_bad(const struct convert_words_line *line, uint32_t word,
			     struct problem *problem)
{
	uint64_t offset = line->place * convert_words_types[line->options->type].width;

	(void)problem_set(
		problem, E_INVALID,
		"%s: the word at byte %" PRIu64 " is %" PRId64 ", and the vocabulary has %" PRIu32,
		line->name, offset,
		line->options->type == CONVERT_WORDS_INT32 ? (int64_t)(int32_t)word : (int64_t)word,
		line->options->vocabulary);
	problem_hint(problem, "--vocabulary: one more than the largest word; or the words are not "
			      "of this --type");
	return E_INVALID;
}

static int convert_words_get(struct convert_words_line *line, int32_t *ret, struct problem *problem)
{
	unsigned width = convert_words_types[line->options->type].width;
	uint8_t bytes[CONVERT_WORDS_WIDEST] = {0};

	if (fread(bytes, 1, width, line->file) != width) {
		int rc = ferror(line->file) ? -EIO : E_STALE;

		return problem_set(problem, rc, "%s: %s at byte %" PRIu64, line->name,
				   rc == -EIO ? "the disk cannot read it"
					      : "somebody has cut it off",
				   line->place * width);
	}
	uint32_t word = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
			(uint32_t)bytes[3] << 24;

	if (word >= line->options->vocabulary)
		return convert_words_bad(line, word, problem);
	line->place++;
	*ret = (int32_t)word;
	return 0;
}

/* The next word of the line, which has one. */
static int convert_words_next(struct convert_words_line *line, int32_t *ret,
			      struct problem *problem)
{
	for (;;) {
		if (!line->file) {
			int rc = convert_words_open(line, 0, problem);

			if (rc < 0)
				return rc;
		}
		if (line->place < convert_words_of_file(line, line->at))
			return convert_words_get(line, ret, problem);
		convert_words_close(line);
		line->at++;
		if (convert_words_types[line->options->type].ends) {
			*ret = 0;
			return 0;
		}
	}
}

/* ---- Writing ---- */

struct convert_words_work {
	struct convert_words_line line;
	struct record_header header;
	struct record_writer *writer;
	int32_t *words; /* of a sequence */
	uint8_t *bytes; /* as they are stored */
};

static int convert_words_write(struct convert_words_work *work, uint64_t samples,
			       struct problem *problem)
{
	const struct convert_words_options *options = work->line.options;
	size_t size = record_words_size(&work->header);
	const struct record_sample sample = {
		.label = -1, .format = RECORD_WORDS, .data = work->bytes, .size = size};
	uint64_t begin = record_writer_marked(work->writer);
	int rc = begin < samples ? convert_words_seek(&work->line, begin * options->length, problem)
				 : 0;

	if (rc == 0 && begin < samples)
		rc = convert_words_next(&work->line, &work->words[options->length], problem);
	for (uint64_t i = begin; rc == 0 && i < samples; i++) {
		work->words[0] = work->words[options->length];
		for (uint32_t k = 1; rc == 0 && k <= options->length; k++)
			rc = convert_words_next(&work->line, &work->words[k], problem);
		if (rc < 0)
			break;
		record_words_encode(&work->header, work->words, work->bytes);
		record_writer_mark(work->writer, i + 1);
		rc = record_writer_add(work->writer, &sample, NULL, problem);
		if (options->progress && (i % CONVERT_WORDS_TELL == 0 || i + 1 == samples))
			options->progress(options->context, i + 1, samples, (i + 1 - begin) * size);
	}
	return rc < 0 ? rc : record_writer_end(work->writer, problem);
}

static int convert_words_begin(struct convert_words_work *work, const char *to,
			       struct problem *problem)
{
	const struct convert_words_options *options = work->line.options;

	work->header = (struct record_header){
		.page_size = options->page_size,
		.origin = shuffle_key(work->line.list.digest, options->type, CONVERT_WORDS_VERSION),
		.vocabulary = options->vocabulary,
		.length = options->length,
	};
	work->words = calloc((size_t)options->length + 1, sizeof(*work->words));
	work->bytes = malloc(record_words_size(&work->header));
	if (!work->words || !work->bytes)
		return problem_set(problem, -ENOMEM, "no memory");
	return record_writer_resume(to, &work->header,
				    options->sync_pages ? RECORD_SYNC_PAGE : RECORD_SYNC_END,
				    &work->writer, problem);
}

static int convert_words_all(struct convert_words_work *work, const char *to,
			     struct convert_words_result *ret, struct problem *problem)
{
	const struct convert_words_options *options = work->line.options;
	struct convert_words_result result = {.files = work->line.list.file_count,
					      .words = convert_words_count(&work->line)};
	uint64_t samples = result.words > 0 ? (result.words - 1) / options->length : 0;

	if (samples == 0) {
		(void)problem_set(problem, E_INVALID,
				  "%s has %" PRIu64 " words, and a sequence takes %" PRIu32,
				  work->line.path, result.words, options->length + 1);
		problem_hint(problem, "a smaller --length, or more words");
		return E_INVALID;
	}
	int rc = convert_words_begin(work, to, problem);

	if (rc < 0)
		return rc;
	result.before = record_writer_samples(work->writer);
	rc = convert_words_write(work, samples, problem);
	/* What no call can finish does not stand in the way of one with other options. */
	if (rc == E_INVALID && result.before == 0)
		(void)unlink(to);
	result.samples = record_writer_samples(work->writer);
	result.left = result.words - 1 - samples * options->length;
	*ret = result;
	return rc;
}

/* A set among the files that it is made of would be read as one of them when the conversion goes on. */
static bool convert_words_is_inside(const char *path, const char *to)
{
	const char *slash = strrchr(to, '/');
	CLEANUP(freep) char *folder = slash ? strndup(to, (size_t)(slash - to) + 1) : strdup(".");
	CLEANUP(freep) char *inner = folder ? realpath(folder, NULL) : NULL;
	CLEANUP(freep) char *outer = realpath(path, NULL);
	size_t length = outer ? strlen(outer) : 0;

	return inner && outer && strncmp(inner, outer, length) == 0 &&
	       (inner[length] == '/' || inner[length] == '\0');
}

int convert_words(const char *path, const char *to, const struct convert_words_options *options,
		  struct convert_words_result *ret, struct problem *problem)
{
	struct convert_words_work work = {.line = {.path = path, .options = options}};

	if (convert_words_is_inside(path, to)) {
		(void)problem_set(problem, E_INVALID, "%s lies in %s, of which all files are read",
				  to, path);
		problem_hint(problem, "name a set outside of it");
		return E_INVALID;
	}
	int rc = folder_list_files(path, &work.line.list, problem);

	if (rc == 0)
		rc = convert_words_all(&work, to, ret, problem);
	convert_words_close(&work.line);
	record_writer_free(work.writer);
	folder_list_done(&work.line.list);
	free(work.words);
	free(work.bytes);
	return rc;
}
