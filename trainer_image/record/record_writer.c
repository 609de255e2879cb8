#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/transfer.h"

#include "trainer_image/record/crc32c.h"
#include "trainer_image/record/record_wire.h"

struct record_writer {
	char *path;
	int fd;
	enum record_sync sync;
	struct record_header header; /* a copy */
	uint64_t file;               /* its digest */
	uint64_t offset;             /* where the next page begins */
	XXH64_state_t *digest;       /* of all bytes so far */
	uint8_t *page;
	size_t used;         /* of `page`: its header and samples, without entries */
	struct text entries; /* of `page`, encoded */
	uint32_t samples;    /* of `page` */
	uint64_t page_mark;
	uint64_t mark, first_sample;
	uint32_t pages;
	struct text page_rows, index_rows; /* the tables, encoded */
	int failed;                        /* the error after which nothing is added */
};

static void record_writer_freep(struct record_writer **writer)
{
	record_writer_free(*writer);
}

static void record_writer_page_begin(struct record_writer *writer)
{
	writer->used = RECORD_PAGE_HEADER_SIZE;
	writer->samples = 0;
	text_clear(&writer->entries);
}

static int record_writer_failed(struct record_writer *writer, int rc, struct problem *problem)
{
	writer->failed = rc;
	problem_set(problem, rc, "cannot write %s: %s", writer->path, error_text(rc));
	problem_detail(problem, "%u pages with %llu samples are whole", writer->pages,
		       (unsigned long long)writer->first_sample);
	problem_hint(problem, "%sgive the same command once more: it goes on from there",
		     rc == -ENOSPC || rc == -EDQUOT ? "make room, then " : "");
	return rc;
}

/* ---- Opening ---- */

static struct record_writer *
record_writer_alloc(const char *path, const struct record_header *header, enum record_sync sync)
{
	CLEANUP(record_writer_freep) struct record_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->fd = -1;
	writer->sync = sync;
	writer->path = strdup(path);
	writer->digest = XXH64_createState();
	if (!writer->path || !writer->digest || record_header_copy(header, &writer->header) < 0)
		return NULL;
	if (writer->header.page_size == 0)
		writer->header.page_size = RECORD_PAGE_SIZE;
	writer->page = calloc(1, writer->header.page_size);
	if (!writer->page)
		return NULL;
	XXH64_reset(writer->digest, 0);
	record_writer_page_begin(writer);
	return TAKE(writer);
}

/* The file and its header are on the disk before the first page is: a power cut leaves no page without. */
static int record_writer_header(struct record_writer *writer, const uint8_t *data, size_t size)
{
	int rc = ftruncate(writer->fd, 0) < 0 ? -errno : 0;

	if (rc == 0)
		rc = write_whole_at(writer->fd, data, size, 0);
	if (rc == 0 && fsync(writer->fd) < 0)
		rc = -errno;
	if (rc < 0)
		return rc;
	XXH64_update(writer->digest, data, size);
	writer->offset = size;
	return 0;
}

static int record_writer_open(const char *path, const struct record_header *header,
			      enum record_sync sync, int flags, struct record_writer **ret,
			      struct problem *problem)
{
	CLEANUP(record_writer_freep)
	struct record_writer *writer = record_writer_alloc(path, header, sync);

	if (!writer)
		return problem_set(problem, -ENOMEM, "cannot write %s: %s", path,
				   error_text(-ENOMEM));
	writer->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0666);
	if (writer->fd < 0) {
		int rc = -errno;

		return problem_set(problem, rc, "cannot write %s: %s", path, error_text(rc));
	}
	if (flock(writer->fd, LOCK_EX | LOCK_NB) < 0) {
		problem_set(problem, E_CONFLICT, "another program writes %s now", path);
		problem_hint(problem, "wait for it to end");
		return E_CONFLICT;
	}
	*ret = TAKE(writer);
	return 0;
}

static int record_writer_encode(struct record_writer *writer, uint8_t **ret, size_t *ret_size,
				struct problem *problem)
{
	int rc = record_wire_header_encode(&writer->header, ret, ret_size, &writer->file);

	if (rc < 0)
		return problem_set(problem, rc, "cannot write %s: %s", writer->path,
				   rc == E_INVALID ? "its page size or one of its names is none"
						   : error_text(rc));
	return 0;
}

int record_writer_new(const char *path, const struct record_header *header, enum record_sync sync,
		      struct record_writer **ret, struct problem *problem)
{
	CLEANUP(record_writer_freep) struct record_writer *writer = NULL;
	CLEANUP(freep) uint8_t *data = NULL;
	size_t size = 0;

	int rc = record_writer_open(path, header, sync, O_EXCL, &writer, problem);
	if (rc < 0 || !writer)
		return rc;
	rc = record_writer_encode(writer, &data, &size, problem);
	if (rc < 0)
		return rc;
	rc = record_writer_header(writer, data, size);
	if (rc < 0)
		return record_writer_failed(writer, rc, problem);

	*ret = TAKE(writer);
	return 0;
}

/* ---- Going on ---- */

static int record_writer_get(const struct record_writer *writer, void *data, size_t size,
			     uint64_t offset)
{
	uint8_t *bytes = data;

	for (size_t done = 0; done < size;) {
		ssize_t some = pread(writer->fd, bytes + done, size - done, (off_t)(offset + done));

		if (some < 0 && errno == EINTR)
			continue;
		if (some <= 0)
			return some < 0 ? -errno : E_MALFORMED;
		done += (size_t)some;
	}
	return 0;
}

static void record_writer_page_row(struct record_writer *writer,
				   const struct record_page_header *page)
{
	struct record_page_row row = {writer->offset, page->first_sample, page->digest,
				      page->samples, page->stored};
	uint8_t bytes[RECORD_PAGE_ROW_SIZE];

	record_wire_page_row_encode(&row, bytes);
	text_add_bytes(&writer->page_rows, bytes, sizeof(bytes));
}

/* Rows of the page in `writer->page`, whose entries are in place. */
static int record_writer_index_rows(struct record_writer *writer,
				    const struct record_page_header *page)
{
	for (uint32_t i = 0; i < page->samples; i++) {
		struct record_entry entry;
		uint8_t bytes[RECORD_INDEX_ROW_SIZE];
		int rc = record_wire_entry_decode(writer->page, page->used, page->samples, i,
						  &entry);

		if (rc < 0)
			return rc;
		struct record_index_row row = {page->number, entry.offset, entry.length, entry.crc,
					       entry.label};
		record_wire_index_row_encode(&row, bytes);
		text_add_bytes(&writer->index_rows, bytes, sizeof(bytes));
	}
	return writer->index_rows.failed || writer->page_rows.failed ? -ENOMEM : 0;
}

/* A page counts from here on: written, or found whole. */
static int record_writer_page_counts(struct record_writer *writer,
				     const struct record_page_header *page)
{
	int rc = record_writer_index_rows(writer, page);

	if (rc < 0)
		return rc;
	record_writer_page_row(writer, page);
	XXH64_update(writer->digest, writer->page, page->stored);
	writer->offset += page->stored;
	writer->first_sample += page->samples;
	writer->pages++;
	return 0;
}

/* 1: a whole page stands at `writer->offset` and is in `writer->page`; 0: none. */
static int record_writer_page_found(struct record_writer *writer, struct record_page_header *ret)
{
	int rc = record_writer_get(writer, writer->page, RECORD_PAGE_HEADER_SIZE, writer->offset);

	if (rc < 0)
		return rc == E_MALFORMED ? 0 : rc;
	if (record_wire_page_decode(writer->page, RECORD_PAGE_HEADER_SIZE, ret) < 0 ||
	    ret->file != writer->file || ret->number != writer->pages ||
	    ret->first_sample != writer->first_sample || ret->stored > writer->header.page_size)
		return 0;
	rc = record_writer_get(writer, writer->page, ret->stored, writer->offset);
	if (rc < 0)
		return rc == E_MALFORMED ? 0 : rc;
	return XXH64(writer->page + RECORD_PAGE_HEADER_SIZE, ret->stored - RECORD_PAGE_HEADER_SIZE,
		     0) == ret->digest;
}

static int record_writer_prefix(struct record_writer *writer)
{
	struct record_page_header page;
	int rc;

	while ((rc = record_writer_page_found(writer, &page)) > 0) {
		rc = record_writer_page_counts(writer, &page);
		if (rc == E_MALFORMED)
			break;
		if (rc < 0)
			return rc;
		writer->mark = page.mark;
	}
	memset(writer->page, 0, writer->header.page_size);
	if (rc < 0 && rc != E_MALFORMED)
		return rc;
	return ftruncate(writer->fd, (off_t)writer->offset) < 0 ? -errno : 0;
}

static bool record_writer_ended(const struct record_writer *writer, uint64_t size)
{
	uint8_t bytes[RECORD_TRAILER_SIZE];
	struct record_trailer trailer;

	return size > RECORD_TRAILER_SIZE &&
	       record_writer_get(writer, bytes, sizeof(bytes), size - sizeof(bytes)) == 0 &&
	       record_wire_trailer_decode(bytes, sizeof(bytes), size, &trailer) == 0 &&
	       trailer.file == writer->file;
}

/* The header that the file has must be ours. One that was cut short is none: the file begins anew. */
static int record_writer_go_on(struct record_writer *writer, const uint8_t *data, size_t size,
			       struct problem *problem)
{
	CLEANUP(freep) uint8_t *found = malloc(size);
	struct stat status;

	if (!found)
		return record_writer_failed(writer, -ENOMEM, problem);
	if (fstat(writer->fd, &status) < 0)
		return record_writer_failed(writer, -errno, problem);
	if ((uint64_t)status.st_size < size) {
		int rc = record_writer_get(writer, found, (size_t)status.st_size, 0);

		if (rc == 0 && memcmp(found, data, (size_t)status.st_size) == 0) {
			rc = record_writer_header(writer, data, size);
			return rc < 0 ? record_writer_failed(writer, rc, problem) : 0;
		}
	}
	if ((uint64_t)status.st_size < size || record_writer_get(writer, found, size, 0) < 0 ||
	    memcmp(found, data, size) != 0) {
		problem_set(problem, E_CONFLICT, "%s is of something else", writer->path);
		problem_detail(problem,
			       "it was begun from other files, with other options, or is no record "
			       "file");
		problem_hint(problem, "name another file, or remove this one");
		return E_CONFLICT;
	}
	if (record_writer_ended(writer, (uint64_t)status.st_size))
		return problem_set(problem, -EALREADY, "%s is complete", writer->path);
	XXH64_update(writer->digest, data, size);
	writer->offset = size;
	int rc = record_writer_prefix(writer);
	return rc < 0 ? record_writer_failed(writer, rc, problem) : 0;
}

int record_writer_resume(const char *path, const struct record_header *header,
			 enum record_sync sync, struct record_writer **ret, struct problem *problem)
{
	CLEANUP(record_writer_freep) struct record_writer *writer = NULL;
	CLEANUP(freep) uint8_t *data = NULL;
	size_t size = 0;

	int rc = record_writer_open(path, header, sync, 0, &writer, problem);
	if (rc < 0 || !writer)
		return rc;
	rc = record_writer_encode(writer, &data, &size, problem);
	if (rc == 0)
		rc = record_writer_go_on(writer, data, size, problem);
	if (rc < 0)
		return rc;

	record_writer_page_begin(writer);
	*ret = TAKE(writer);
	return 0;
}

/* ---- Adding ---- */

void record_writer_mark(struct record_writer *writer, uint64_t mark)
{
	writer->mark = mark;
}

uint64_t record_writer_marked(const struct record_writer *writer)
{
	return writer->mark;
}

uint64_t record_writer_samples(const struct record_writer *writer)
{
	return writer->first_sample + writer->samples;
}

static int record_writer_flush(struct record_writer *writer)
{
	size_t used = writer->used + writer->entries.size;
	size_t stored = (used + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;

	if (writer->samples == 0)
		return 0;
	memcpy(writer->page + writer->used, writer->entries.data, writer->entries.size);
	memset(writer->page + used, 0, stored - used);
	struct record_page_header page = {
		.number = writer->pages,
		.samples = writer->samples,
		.first_sample = writer->first_sample,
		.file = writer->file,
		.mark = writer->page_mark,
		.digest = XXH64(writer->page + RECORD_PAGE_HEADER_SIZE,
				stored - RECORD_PAGE_HEADER_SIZE, 0),
		.used = (uint32_t)used,
		.stored = (uint32_t)stored,
		.entries_crc = crc32c(0, writer->entries.data, writer->entries.size),
	};
	record_wire_page_encode(&page, writer->page);
	int rc = write_whole_at(writer->fd, writer->page, stored, writer->offset);
	if (rc == 0 && writer->sync == RECORD_SYNC_PAGE && fdatasync(writer->fd) < 0)
		rc = -errno;
	if (rc == 0)
		rc = record_writer_page_counts(writer, &page);
	if (rc == 0)
		record_writer_page_begin(writer);
	return rc;
}

static int record_writer_too_large(const struct record_writer *writer, size_t length,
				   struct problem *problem)
{
	problem_set(problem, E_LIMIT, "a sample of %zu bytes is larger than a page of %s", length,
		    writer->path);
	problem_detail(problem, "a page has %u bytes, %d of them for its header and the entry",
		       writer->header.page_size, RECORD_PAGE_HEADER_SIZE + RECORD_ENTRY_SIZE);
	problem_hint(problem, "choose a larger page size, or %s",
		     writer->header.vocabulary > 0 ? "shorter sequences" : "smaller pictures");
	return E_LIMIT;
}

int record_writer_add(struct record_writer *writer, const struct record_sample *sample,
		      const struct record_value value[], struct problem *problem)
{
	size_t fields = 0;

	if (writer->failed)
		return record_writer_failed(writer, writer->failed, problem);
	int rc = record_wire_fields_size(&writer->header, value, &fields);
	bool fits = record_wire_sample_fits(&writer->header, sample->format, sample->size);
	if (rc < 0 || !fits ||
	    (sample->format == RECORD_PIXELS &&
	     (size_t)sample->height * sample->width * sample->channels != sample->size))
		return problem_set(problem, rc < 0 ? rc : E_INVALID,
				   "a sample's %s is none that %s can hold",
				   rc < 0 ? "free field" : "size", writer->path);
	if (sample->size > RECORD_PAGE_SIZE_MAX ||
	    fields + sample->size >
		    writer->header.page_size - RECORD_PAGE_HEADER_SIZE - RECORD_ENTRY_SIZE)
		return record_writer_too_large(writer, fields + sample->size, problem);
	size_t length = fields + sample->size;
	if (writer->used + length + writer->entries.size + RECORD_ENTRY_SIZE >
	    writer->header.page_size) {
		rc = record_writer_flush(writer);
		if (rc < 0)
			return record_writer_failed(writer, rc, problem);
	}

	uint8_t *at = writer->page + writer->used;
	record_wire_fields_encode(&writer->header, value, at, fields);
	if (sample->size > 0)
		memcpy(at + fields, sample->data, sample->size);
	struct record_entry entry = {
		.offset = (uint32_t)writer->used,
		.length = (uint32_t)length,
		.fields = (uint32_t)fields,
		.crc = crc32c(0, at, length),
		.label = sample->label,
		.format = sample->format,
		.height = sample->height,
		.width = sample->width,
		.channels = sample->channels,
	};
	uint8_t bytes[RECORD_ENTRY_SIZE];
	record_wire_entry_encode(&entry, bytes);
	text_add_bytes(&writer->entries, bytes, sizeof(bytes));
	if (writer->entries.failed)
		return record_writer_failed(writer, -ENOMEM, problem);
	writer->used += length;
	writer->samples++;
	writer->page_mark = writer->mark;
	return 0;
}

/* ---- Ending ---- */

/* Rows as they were gathered, in the frame of their table. */
static int record_writer_table(struct record_writer *writer, const struct text *rows, uint64_t size,
			       uint64_t count, void (*frame)(uint8_t *table, uint64_t count))
{
	CLEANUP(freep) uint8_t *table = calloc(1, size);

	if (!table)
		return -ENOMEM;
	if (rows->size > 0)
		memcpy(table + RECORD_TABLE_ROWS, rows->data, rows->size);
	frame(table, count);
	int rc = write_whole_at(writer->fd, table, size, writer->offset);
	if (rc < 0)
		return rc;
	XXH64_update(writer->digest, table, size);
	writer->offset += size;
	return 0;
}

static int record_writer_finish(struct record_writer *writer)
{
	struct record_trailer trailer = {.mark = writer->mark, .file = writer->file};
	uint8_t bytes[RECORD_TRAILER_SIZE];

	int rc = record_writer_flush(writer);
	if (rc < 0)
		return rc;
	uint64_t pages = record_wire_page_table_size(writer->pages);
	trailer.pages = writer->pages;
	trailer.samples = writer->first_sample;
	trailer.page_table = writer->offset;
	trailer.index_table = writer->offset + pages;
	rc = record_writer_table(writer, &writer->page_rows, pages, trailer.pages,
				 record_wire_page_table_frame);
	if (rc == 0)
		rc = record_writer_table(writer, &writer->index_rows,
					 record_wire_index_table_size(trailer.samples),
					 trailer.samples, record_wire_index_table_frame);
	if (rc == 0 && fsync(writer->fd) < 0)
		rc = -errno;
	if (rc < 0)
		return rc;
	trailer.digest = XXH64_digest(writer->digest);
	trailer.size = writer->offset + RECORD_TRAILER_SIZE;
	record_wire_trailer_encode(&trailer, bytes);
	rc = write_whole_at(writer->fd, bytes, sizeof(bytes), writer->offset);
	if (rc == 0 && fsync(writer->fd) < 0)
		rc = -errno;
	return rc;
}

int record_writer_end(struct record_writer *writer, struct problem *problem)
{
	int rc = writer->failed ? writer->failed : record_writer_finish(writer);

	if (rc < 0)
		return record_writer_failed(writer, rc, problem);
	writer->failed = -EALREADY;
	return 0;
}

void record_writer_free(struct record_writer *writer)
{
	if (!writer)
		return;
	closep(&writer->fd);
	XXH64_freeState(writer->digest);
	record_header_done(&writer->header);
	text_done(&writer->entries);
	text_done(&writer->page_rows);
	text_done(&writer->index_rows);
	free(writer->page);
	free(writer->path);
	free(writer);
}
