/* Record files: pictures with labels, or sequences of words, in pages; each page and each sample with a checksum.
 *
 * Layout, all numbers big endian:
 *
 *     header     magic, version, page size, free fields, words, names of the classes, xxh64    a multiple of 4096
 *     page ..    its header (number, samples, bytes, xxh64, crc32c), samples, entries   a multiple of 4096
 *     tables     of the pages (place, samples, xxh64), of the samples (page, offset, length, label, crc32c)
 *     trailer    places and digests of the tables, xxh64 of all bytes before it
 *
 * A file grows by whole pages. So a crash leaves a prefix that can be verified, and
 * record_writer_resume() goes on from there. Checksums find damage, not a forger's work. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/record/shuffle_policy.h"

enum {
	RECORD_ALIGN = 4096,
	RECORD_PAGE_SIZE = 8 << 20, /* the default */
	RECORD_PAGE_SIZE_MAX = 256 << 20,
	RECORD_FIELDS_MAX = 16,
	RECORD_CLASSES_MAX = 65536,
	RECORD_NAME_MAX = 255, /* bytes of a name of a class */
	RECORD_FIELD_NAME_MAX = 31,
	RECORD_LENGTH_MAX = 1 << 20, /* words that a sample predicts */
};

enum record_format {
	RECORD_JPEG,   /* the bytes of a JPEG file */
	RECORD_PIXELS, /* uint8, height x width x channels, rows one after another */
	RECORD_WORDS,  /* numbers of words, one after another: record_words_wire.h */
};

enum record_type {
	RECORD_INT32,
	RECORD_INT64,
	RECORD_FLOAT32,
	RECORD_FLOAT64,
	RECORD_TEXT,  /* UTF-8, at most 64 KiB */
	RECORD_BYTES, /* at most 16 MiB */
};

/* A free field that each sample of a file has. */
struct record_field {
	char name[RECORD_FIELD_NAME_MAX + 1];
	enum record_type type;
};

/* The value of a free field. INT32 and INT64 are in `integer`, FLOAT32 and FLOAT64 in `real`. */
struct record_value {
	int64_t integer;
	double real;
	const void *data; /* TEXT, BYTES: points into the file; TEXT is not ended by NUL */
	size_t size;
};

/* What all samples of a file share. */
struct record_header {
	uint32_t
		page_size; /* no page is larger; a multiple of RECORD_ALIGN; 0 = RECORD_PAGE_SIZE */
	/* What the file is made of, as its maker sees it: a digest of names and options. Another
	 * origin refuses to resume. */
	uint64_t origin;
	struct record_field field[RECORD_FIELDS_MAX];
	size_t field_count;
	char **class_name; /* label n is class_name[n]; none: labels are numbers alone */
	size_t class_count;
	/* Each sample is a sequence of length + 1 words, numbers below `vocabulary`: training reads the first
	 * `length` and predicts the last `length`. 0, 0: samples are pictures. */
	uint32_t vocabulary, length;
};

struct record_sample {
	uint64_t number; /* in the file, from 0 */
	int32_t label;   /* -1: none */
	enum record_format format;
	uint16_t height, width; /* a JPEG's too; 0 = not known */
	uint8_t channels;       /* 1 or 3; 0 = not known */
	const uint8_t *data;    /* the picture, or the words; points into the file */
	size_t size;
	const uint8_t
		*fields; /* free fields as they are stored; record_sample_fields() reads them */
	size_t fields_size;
};

/* ---- Reading ---- */

enum record_check {
	RECORD_CHECK_SAMPLE, /* crc32c of a sample when it is asked for; the default */
	RECORD_CHECK_PAGE, /* xxh64 of a page when it is first used: damage costs all of its samples */
	RECORD_CHECK_NEVER, /* places are checked for being in the page even then */
};

/* Damage, as it is counted and told. `sample` is UINT64_MAX when all of the page is meant, and
 * `page` is UINT32_MAX when the file's header, tables or trailer are. */
struct record_fault {
	const char *path;
	uint32_t page;
	uint64_t sample;
	int code;        /* E_DIGEST, E_MALFORMED, -EIO */
	const char *why; /* "its crc32c is wrong"; static */
};

struct record_options {
	enum record_check check;
	bool prefix; /* a file without its end: its pages as far as they go */
	/* Told of each fault, from the thread that met it; may be NULL. Not called twice at a time. */
	void (*fault)(void *context, const struct record_fault *fault);
	void *context;
};

struct record_reader;

/* E_MALFORMED: no record file, or one whose end is missing (the hint says what to do). E_DIGEST: header
 * or tables are damaged. -errno. `options` may be NULL. Any number of threads may use a reader. */
MUST_USE int record_reader_open(const char *path, const struct record_options *options,
				struct record_reader **ret, struct problem *problem);
void record_reader_free(struct record_reader *reader);
const struct record_header *record_reader_header(const struct record_reader *reader);
uint64_t record_reader_samples(const struct record_reader *reader);
uint32_t record_reader_pages(const struct record_reader *reader);
/* record_reader_pages() + 1 numbers: the first sample of each page, then the number of all. It is the
 * `first` of struct shuffle_set. */
const uint64_t *record_reader_first(const struct record_reader *reader);
/* Pages and samples that were skipped so far, one for each fault. */
uint64_t record_reader_faults(const struct record_reader *reader);
/* Tells the kernel that a page is wanted soon. */
void record_reader_expect(const struct record_reader *reader, uint32_t page);

/* A page that was opened: a value, nothing to free. It points into the mapped file. */
struct record_page {
	const uint8_t *data; /* NULL: none */
	uint32_t number;
	uint32_t samples;
	uint64_t first_sample;
	uint32_t used; /* its entries end there */
};

/* Maps the page in: waits for the disk. E_DIGEST, E_MALFORMED, -EIO: counted and told as a fault; its
 * samples are to be skipped. Allocates nothing. */
MUST_USE int record_page_open(struct record_reader *reader, uint32_t number,
			      struct record_page *ret);
/* Sample `index` of the page, 0 .. page->samples - 1. `ret` points into the file and lives
 * as long as the reader. E_DIGEST,
 * E_MALFORMED: counted and told. Allocates nothing. */
MUST_USE int record_page_sample(struct record_reader *reader, const struct record_page *page,
				uint32_t index, struct record_sample *ret);
/* One value per field of the header. E_MALFORMED. */
MUST_USE int record_sample_fields(const struct record_header *header,
				  const struct record_sample *sample,
				  struct record_value ret[RECORD_FIELDS_MAX]);
/* All labels in the order of samples, from the table at the end; `ret` has record_reader_samples()
 * places. E_UNSUPPORTED of a prefix, -EIO. */
MUST_USE int record_reader_labels(const struct record_reader *reader, int32_t *ret);

/* ---- Writing ---- */

enum record_sync {
	RECORD_SYNC_END,  /* fsync once, before the trailer is written, and after it */
	RECORD_SYNC_PAGE, /* after each page too: a power cut costs one page */
};

struct record_writer;

/* Makes the file; -EEXIST when there is one. The header is copied. */
MUST_USE int record_writer_new(const char *path, const struct record_header *header,
			       enum record_sync sync, struct record_writer **ret,
			       struct problem *problem);
/* Goes on behind the last page that is whole; what follows it is cut off. The header must be the one the
 * file has, else E_CONFLICT. A file that has its end already: -EALREADY. A file that is not there: as
 * record_writer_new(). */
MUST_USE int record_writer_resume(const char *path, const struct record_header *header,
				  enum record_sync sync, struct record_writer **ret,
				  struct problem *problem);
/* Where the caller is in what it makes the file from: kept with each page, so a resumed writer knows it. */
void record_writer_mark(struct record_writer *writer, uint64_t mark);
uint64_t record_writer_marked(const struct record_writer *writer);
/* Samples so far, those of before included. */
uint64_t record_writer_samples(const struct record_writer *writer);
/* Copies the sample; `number` and `fields` of it do not count, `value` has one per field (NULL: none).
 * E_LIMIT when it is larger than a page can be. -ENOSPC and the like: nothing is added after that. */
MUST_USE int record_writer_add(struct record_writer *writer, const struct record_sample *sample,
			       const struct record_value value[], struct problem *problem);
/* Writes the last page, the tables and the trailer. */
MUST_USE int record_writer_end(struct record_writer *writer, struct problem *problem);
/* Without record_writer_end() the file stays as its whole pages: record_writer_resume() goes on. */
void record_writer_free(struct record_writer *writer);

/* ---- Verifying ---- */

struct record_verdict {
	bool ended; /* tables and trailer are there and right */
	uint32_t pages, pages_bad;
	uint64_t samples, samples_bad;
	uint64_t bytes;      /* of the file */
	uint64_t good_bytes; /* up to the end of the last page before the first fault */
	uint64_t faults;
	uint32_t vocabulary, length; /* of the header */
	bool masks;                  /* mask.h */
};

/* Reads all of the file and tells each fault. 0 when there is no fault, E_DIGEST when there are,
 * E_MALFORMED when it is no record file, -errno. */
MUST_USE int record_verify(const char *path, const struct record_options *options,
			   struct record_verdict *ret, struct problem *problem);
