#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/base/error.h"

#include "trainer_image/record/crc32c.h"
#include "trainer_image/record/record_map.h"

/* Linux 5.14: maps pages in and tells an error of the disk, which would else be a SIGBUS. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

struct record_reader {
	char *path;
	struct record_options options;
	struct record_header header;
	size_t header_size;
	uint64_t file; /* digest of the header */
	uint8_t *data; /* the mapped file, never written */
	uint64_t size;
	uint32_t page_count;
	uint64_t mark, digest;
	struct record_page_row *pages;
	uint64_t *first;
	struct record_reader_seen {
		atomic_bool checked; /* its xxh64 was right */
	} * seen;                    /* of each page */
	const uint8_t *index;        /* the table of samples; NULL of a prefix */
	atomic_uint_fast64_t faults;
	pthread_mutex_t fault_lock;
};

int record_map_fault(struct record_reader *reader, uint32_t page, uint64_t sample, int code,
		     const char *why)
{
	struct record_fault fault = {
		.path = reader->path, .page = page, .sample = sample, .code = code, .why = why};

	atomic_fetch_add(&reader->faults, 1);
	if (reader->options.fault) {
		pthread_mutex_lock(&reader->fault_lock);
		reader->options.fault(reader->options.context, &fault);
		pthread_mutex_unlock(&reader->fault_lock);
	}
	return code;
}

/* ---- Opening ---- */

static int record_reader_unfinished(struct record_reader *reader, int rc, struct problem *problem)
{
	problem_set(problem, rc, "%s has no end", reader->path);
	problem_detail(problem,
		       "the trailer of %d bytes is missing or damaged: writing it was cut short",
		       RECORD_TRAILER_SIZE);
	problem_hint(problem, "give the command that made it once more: it goes on; or verify it");
	return rc;
}

static int record_reader_damaged(struct record_reader *reader, int rc, const char *what,
				 struct problem *problem)
{
	problem_set(problem, rc, "%s is damaged: %s", reader->path, what);
	problem_hint(problem, "trainer verify lists what is wrong; make the file anew");
	return rc;
}

static int record_reader_map(struct record_reader *reader, struct problem *problem)
{
	int fd = open(reader->path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0) {
		int rc = -errno;

		closep(&fd);
		return problem_set(problem, rc, "cannot open %s: %s", reader->path, error_text(rc));
	}
	reader->size = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
	if (reader->size < RECORD_ALIGN) {
		closep(&fd);
		return problem_set(problem, E_MALFORMED, "%s is no record file: %s", reader->path,
				   S_ISREG(status.st_mode) ? "it is too short"
							   : "it is not a plain file");
	}
	void *data = mmap(NULL, reader->size, PROT_READ, MAP_SHARED, fd, 0);
	int rc = data == MAP_FAILED ? -errno : 0;
	closep(&fd);
	if (rc < 0)
		return problem_set(problem, rc, "cannot map %s: %s", reader->path, error_text(rc));
	reader->data = data;
	return 0;
}

static int record_reader_header_read(struct record_reader *reader, struct problem *problem)
{
	int rc = record_wire_header_size(reader->data, reader->size, &reader->header_size);

	if (rc == E_UNSUPPORTED)
		return problem_set(problem, rc, "%s has a version that this program does not know",
				   reader->path);
	if (rc < 0)
		return problem_set(problem, rc, "%s is no record file: it begins otherwise",
				   reader->path);
	if (reader->header_size > reader->size)
		return record_reader_damaged(reader, E_MALFORMED, "it ends in its header", problem);
	rc = record_wire_header_decode(reader->data, reader->header_size, &reader->header,
				       &reader->file);
	if (rc < 0)
		return record_reader_damaged(reader, rc, "its header", problem);
	return 0;
}

static int record_reader_pages_new(struct record_reader *reader, uint32_t count)
{
	reader->pages = calloc((size_t)count + 1, sizeof(*reader->pages));
	reader->first = calloc((size_t)count + 1, sizeof(*reader->first));
	reader->seen = calloc((size_t)count + 1, sizeof(*reader->seen));
	return reader->pages && reader->first && reader->seen ? 0 : -ENOMEM;
}

/* Pages lie one behind another from the header to the tables, samples likewise. */
static int record_reader_rows(struct record_reader *reader, const struct record_trailer *trailer)
{
	const uint8_t *table = reader->data + trailer->page_table;
	uint64_t offset = reader->header_size;
	uint64_t sample = 0;

	int rc = record_wire_page_table_check(table, trailer->index_table - trailer->page_table,
					      trailer->pages);
	if (rc < 0)
		return rc;
	rc = record_reader_pages_new(reader, trailer->pages);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < trailer->pages; i++) {
		struct record_page_row *row = &reader->pages[i];

		record_wire_page_row_decode(table, i, row);
		if (row->offset != offset || row->first_sample != sample || row->samples == 0 ||
		    row->stored == 0 || row->stored % RECORD_ALIGN != 0 ||
		    row->stored > reader->header.page_size ||
		    row->stored > trailer->page_table - offset)
			return E_MALFORMED;
		reader->first[i] = sample;
		offset += row->stored;
		sample += row->samples;
	}
	if (offset != trailer->page_table || sample != trailer->samples)
		return E_MALFORMED;
	reader->first[trailer->pages] = sample;
	reader->page_count = trailer->pages;
	return 0;
}

static int record_reader_end(struct record_reader *reader, struct problem *problem)
{
	struct record_trailer trailer;

	if (reader->size < reader->header_size + RECORD_TRAILER_SIZE)
		return record_reader_unfinished(reader, E_MALFORMED, problem);
	int rc = record_wire_trailer_decode(reader->data + reader->size - RECORD_TRAILER_SIZE,
					    RECORD_TRAILER_SIZE, reader->size, &trailer);
	if (rc < 0)
		return record_reader_unfinished(reader, rc, problem);
	if (trailer.file != reader->file || trailer.page_table < reader->header_size)
		return record_reader_damaged(reader, E_MALFORMED, "its trailer is another file's",
					     problem);
	rc = record_reader_rows(reader, &trailer);
	if (rc < 0)
		return record_reader_damaged(reader, rc, "its table of pages", problem);
	reader->mark = trailer.mark;
	reader->digest = trailer.digest;
	reader->index = reader->data + trailer.index_table;
	rc = record_wire_index_table_check(reader->index,
					   reader->size - RECORD_TRAILER_SIZE - trailer.index_table,
					   trailer.samples);
	if (rc < 0)
		return record_reader_damaged(reader, rc, "its table of samples", problem);
	return 0;
}

/* The page that begins at `offset`, when it is the one that is due there. */
static bool record_reader_page_due(const struct record_reader *reader, uint64_t offset,
				   uint32_t number, uint64_t sample, struct record_page_header *ret)
{
	return offset < reader->size &&
	       record_wire_page_decode(reader->data + offset, reader->size - offset, ret) == 0 &&
	       ret->file == reader->file && ret->number == number && ret->first_sample == sample &&
	       ret->stored <= reader->header.page_size && ret->stored <= reader->size - offset;
}

/* Walks from page to page as far as they are whole. */
static int record_reader_prefix(struct record_reader *reader)
{
	struct record_page_header page;
	uint64_t offset = reader->header_size;
	uint64_t sample = 0;
	uint32_t count = 0;

	for (; count < UINT32_MAX && record_reader_page_due(reader, offset, count, sample, &page);
	     count++) {
		offset += page.stored;
		sample += page.samples;
	}
	int rc = record_reader_pages_new(reader, count);
	if (rc < 0)
		return rc;
	offset = reader->header_size;
	for (uint32_t i = 0; i < count; i++) {
		if (!record_reader_page_due(reader, offset, i, reader->first[i], &page))
			return E_STALE; /* somebody writes it */
		reader->pages[i] = (struct record_page_row){offset, page.first_sample, page.digest,
							    page.samples, page.stored};
		reader->first[i + 1] = page.first_sample + page.samples;
		reader->mark = page.mark;
		offset += page.stored;
	}
	reader->page_count = count;
	return 0;
}

static void record_reader_freep(struct record_reader **reader)
{
	record_reader_free(*reader);
}

int record_reader_open(const char *path, const struct record_options *options,
		       struct record_reader **ret, struct problem *problem)
{
	CLEANUP(record_reader_freep) struct record_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return problem_set(problem, -ENOMEM, "cannot open %s: %s", path,
				   error_text(-ENOMEM));
	pthread_mutex_init(&reader->fault_lock, NULL);
	if (options)
		reader->options = *options;
	reader->path = strdup(path);
	if (!reader->path)
		return problem_set(problem, -ENOMEM, "cannot open %s: %s", path,
				   error_text(-ENOMEM));
	int rc = record_reader_map(reader, problem);
	if (rc == 0)
		rc = record_reader_header_read(reader, problem);
	if (rc < 0)
		return rc;
	if (reader->options.prefix) {
		rc = record_reader_prefix(reader);
		if (rc < 0)
			return problem_set(problem, rc, "cannot open %s: %s", path, error_text(rc));
	} else {
		rc = record_reader_end(reader, problem);
		if (rc < 0)
			return rc;
	}

	*ret = TAKE(reader);
	return 0;
}

void record_reader_free(struct record_reader *reader)
{
	if (!reader)
		return;
	if (reader->data)
		munmap(reader->data, reader->size);
	record_header_done(&reader->header);
	free(reader->pages);
	free(reader->first);
	free(reader->seen);
	free(reader->path);
	pthread_mutex_destroy(&reader->fault_lock);
	free(reader);
}

const struct record_header *record_reader_header(const struct record_reader *reader)
{
	return &reader->header;
}

uint64_t record_reader_samples(const struct record_reader *reader)
{
	return reader->first[reader->page_count];
}

uint32_t record_reader_pages(const struct record_reader *reader)
{
	return reader->page_count;
}

const uint64_t *record_reader_first(const struct record_reader *reader)
{
	return reader->first;
}

uint64_t record_reader_faults(const struct record_reader *reader)
{
	return atomic_load(&reader->faults);
}

/* ---- Pages ---- */

static void *record_reader_page_begin(const struct record_reader *reader, uint32_t number)
{
	return reader->data + reader->pages[number].offset;
}

/* madvise counts in pages of the processor, and the file is mapped at the begin of one: a page of
 * ours begins at one too where both have 4096 bytes. Elsewhere it is refused, and nothing is lost. */
void record_reader_expect(const struct record_reader *reader, uint32_t page)
{
	if (page < reader->page_count)
		(void)madvise(record_reader_page_begin(reader, page), reader->pages[page].stored,
			      MADV_WILLNEED);
}

/* Is the header that of this row, and are its entries whole? */
static int record_reader_frame(struct record_reader *reader, uint32_t number,
			       struct record_page_header *ret)
{
	const struct record_page_row *row = &reader->pages[number];
	const uint8_t *data = reader->data + row->offset;
	uint64_t sample = UINT64_MAX;

	int rc = record_wire_page_decode(data, row->stored, ret);
	if (rc < 0)
		return record_map_fault(reader, number, sample, rc, "its header is damaged");
	if (ret->number != number || ret->samples != row->samples || ret->stored != row->stored ||
	    ret->first_sample != row->first_sample || ret->file != reader->file ||
	    ret->digest != row->digest)
		return record_map_fault(reader, number, sample, E_MALFORMED,
					"its header is another page's");
	if (reader->options.check != RECORD_CHECK_NEVER) {
		size_t entries = (size_t)ret->samples * RECORD_ENTRY_SIZE;

		if (crc32c(0, data + ret->used - entries, entries) != ret->entries_crc)
			return record_map_fault(reader, number, sample, E_DIGEST,
						"the crc32c of its entries is wrong");
	}
	return 0;
}

int record_page_open(struct record_reader *reader, uint32_t number, struct record_page *ret)
{
	if (number >= reader->page_count)
		return E_NOT_FOUND;
	const struct record_page_row *row = &reader->pages[number];
	const uint8_t *data = reader->data + row->offset;
	struct record_page_header page;

	if (madvise(record_reader_page_begin(reader, number), row->stored, MADV_POPULATE_READ) <
		    0 &&
	    (errno == EFAULT || errno == EHWPOISON))
		return record_map_fault(reader, number, UINT64_MAX, -EIO,
					"the disk cannot read it");
	int rc = record_reader_frame(reader, number, &page);
	if (rc < 0)
		return rc;
	if (reader->options.check == RECORD_CHECK_PAGE &&
	    !atomic_load(&reader->seen[number].checked)) {
		if (XXH64(data + RECORD_PAGE_HEADER_SIZE, row->stored - RECORD_PAGE_HEADER_SIZE,
			  0) != row->digest)
			return record_map_fault(reader, number, UINT64_MAX, E_DIGEST,
						"its xxh64 is wrong");
		atomic_store(&reader->seen[number].checked, true);
	}

	*ret = (struct record_page){.data = data,
				    .number = number,
				    .samples = page.samples,
				    .first_sample = page.first_sample,
				    .used = page.used};
	return 0;
}

/* ---- Samples ---- */

int record_page_sample(struct record_reader *reader, const struct record_page *page, uint32_t index,
		       struct record_sample *ret)
{
	struct record_entry entry;
	uint64_t number = page->first_sample + index;

	if (index >= page->samples)
		return E_NOT_FOUND;
	int rc = record_wire_entry_decode(page->data, page->used, page->samples, index, &entry);
	if (rc < 0)
		return record_map_fault(reader, page->number, number, rc,
					"its entry points out of the page");
	if (!record_wire_sample_fits(&reader->header, entry.format, entry.length - entry.fields))
		return record_map_fault(reader, page->number, number, E_MALFORMED,
					"its format or size is not that of the header");
	const uint8_t *data = page->data + entry.offset;
	if (reader->options.check == RECORD_CHECK_SAMPLE &&
	    crc32c(0, data, entry.length) != entry.crc)
		return record_map_fault(reader, page->number, number, E_DIGEST,
					"its crc32c is wrong");

	*ret = (struct record_sample){.number = number,
				      .label = entry.label,
				      .format = entry.format,
				      .height = entry.height,
				      .width = entry.width,
				      .channels = entry.channels,
				      .data = data + entry.fields,
				      .size = entry.length - entry.fields,
				      .fields = data,
				      .fields_size = entry.fields};
	return 0;
}

int record_sample_fields(const struct record_header *header, const struct record_sample *sample,
			 struct record_value ret[RECORD_FIELDS_MAX])
{
	return record_wire_fields_decode(header, sample->fields, sample->fields_size, ret);
}

int record_reader_labels(const struct record_reader *reader, int32_t *ret)
{
	struct record_index_row row;

	if (!reader->index)
		return E_UNSUPPORTED;
	for (uint64_t i = 0; i < record_reader_samples(reader); i++) {
		record_wire_index_row_decode(reader->index, i, &row);
		ret[i] = row.label;
	}
	return 0;
}

/* ---- For the verifier ---- */

const uint8_t *record_map_bytes(const struct record_reader *reader, uint64_t *ret_size)
{
	*ret_size = reader->size;
	return reader->data;
}

const struct record_page_row *record_map_page(const struct record_reader *reader, uint32_t page)
{
	return &reader->pages[page];
}

uint64_t record_map_header_size(const struct record_reader *reader)
{
	return reader->header_size;
}

const uint8_t *record_map_index(const struct record_reader *reader)
{
	return reader->index;
}

uint64_t record_map_mark(const struct record_reader *reader)
{
	return reader->mark;
}

uint64_t record_map_digest(const struct record_reader *reader)
{
	return reader->digest;
}
