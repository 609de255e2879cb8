#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/error.h"

#include "trainer_image/record/mask.h"
#include "trainer_image/record/record_map.h"
#include "trainer_image/record/record_words_wire.h"

static void record_verify_freep(struct record_reader **reader)
{
	record_reader_free(*reader);
}

/* What the table of samples says of a sample is what its page says. */
static bool record_verify_row(struct record_reader *reader, const struct record_page *page,
			      uint32_t index)
{
	const uint8_t *table = record_map_index(reader);
	struct record_index_row row;
	struct record_entry entry;

	if (!table ||
	    record_wire_entry_decode(page->data, page->used, page->samples, index, &entry) < 0)
		return true;
	record_wire_index_row_decode(table, page->first_sample + index, &row);
	return row.page == page->number && row.offset == entry.offset &&
	       row.length == entry.length && row.crc == entry.crc && row.label == entry.label;
}

static bool record_verify_words(const struct record_header *header,
				const struct record_sample *sample)
{
	return sample->format != RECORD_WORDS ||
	       record_words_decode(header, sample->data, sample->size, NULL) == 0;
}

static uint64_t record_verify_samples(struct record_reader *reader, const struct record_page *page)
{
	struct record_value value[RECORD_FIELDS_MAX];
	struct record_sample sample;
	uint64_t bad = 0;

	for (uint32_t i = 0; i < page->samples; i++) {
		uint64_t number = page->first_sample + i;

		if (record_page_sample(reader, page, i, &sample) < 0) {
			bad++;
			continue;
		}
		const char *why = NULL;
		if (record_sample_fields(record_reader_header(reader), &sample, value) < 0)
			why = "its free fields are not those of the header";
		else if (!record_verify_row(reader, page, i))
			why = "the table of samples has another place, label or crc32c";
		else if (!record_verify_words(record_reader_header(reader), &sample))
			why = "a word is none of the vocabulary";
		if (why) {
			record_map_fault(reader, page->number, number, E_MALFORMED, why);
			bad++;
		}
	}
	return bad;
}

/* True when there is no fault in the page. */
static bool record_verify_page(struct record_reader *reader, uint32_t number,
			       struct record_verdict *verdict)
{
	const struct record_page_row *row = record_map_page(reader, number);
	struct record_page page;

	if (record_page_open(reader, number, &page) < 0) {
		verdict->pages_bad++;
		verdict->samples_bad += row->samples;
		return false;
	}
	uint64_t bad = record_verify_samples(reader, &page);
	verdict->samples_bad += bad;
	if (XXH64(page.data + RECORD_PAGE_HEADER_SIZE, row->stored - RECORD_PAGE_HEADER_SIZE, 0) ==
	    row->digest)
		return bad == 0;
	verdict->pages_bad++;
	if (bad == 0)
		record_map_fault(reader, number, UINT64_MAX, E_DIGEST,
				 "its xxh64 is wrong, though each sample is right");
	return false;
}

static void record_verify_whole(struct record_reader *reader)
{
	struct record_trailer trailer;
	uint64_t size = 0;
	const uint8_t *data = record_map_bytes(reader, &size);
	uint64_t end = size - RECORD_TRAILER_SIZE;

	if (record_wire_trailer_decode(data + end, RECORD_TRAILER_SIZE, size, &trailer) < 0 ||
	    XXH64(data, end, 0) != trailer.digest)
		record_map_fault(reader, UINT32_MAX, UINT64_MAX, E_DIGEST,
				 "the xxh64 of the whole file is wrong");
}

/* The file as it should be, else its pages as far as they go. */
static int record_verify_open(const char *path, const struct record_options *options,
			      struct record_reader **ret, bool *ret_ended, struct problem *problem)
{
	struct record_options mine = {.check = RECORD_CHECK_SAMPLE};
	struct problem ignored = {0};

	if (options) {
		mine.fault = options->fault;
		mine.context = options->context;
	}
	int rc = record_reader_open(path, &mine, ret, problem);
	*ret_ended = rc == 0;
	if (rc != E_MALFORMED && rc != E_DIGEST)
		return rc;
	mine.prefix = true;
	return record_reader_open(path, &mine, ret, &ignored) < 0 ? rc : 0;
}

int record_verify(const char *path, const struct record_options *options,
		  struct record_verdict *ret, struct problem *problem)
{
	CLEANUP(record_verify_freep) struct record_reader *reader = NULL;
	struct record_verdict verdict = {0};
	struct problem open_problem = {0};

	int rc = record_verify_open(path, options, &reader, &verdict.ended, &open_problem);
	if (rc < 0) {
		*problem = open_problem;
		return rc;
	}
	verdict.pages = record_reader_pages(reader);
	verdict.samples = record_reader_samples(reader);
	verdict.good_bytes = record_map_header_size(reader);
	verdict.vocabulary = record_reader_header(reader)->vocabulary;
	verdict.length = record_reader_header(reader)->length;
	verdict.masks = mask_field(record_reader_header(reader)) >= 0;
	(void)record_map_bytes(reader, &verdict.bytes);
	if (!verdict.ended)
		record_map_fault(reader, UINT32_MAX, UINT64_MAX, E_MALFORMED,
				 "its tables or its trailer are missing or damaged");
	bool good = true;
	for (uint32_t i = 0; i < verdict.pages; i++) {
		good = record_verify_page(reader, i, &verdict) && good;
		if (good)
			verdict.good_bytes += record_map_page(reader, i)->stored;
	}
	if (verdict.ended)
		record_verify_whole(reader);
	verdict.faults = record_reader_faults(reader);

	*ret = verdict;
	if (verdict.faults == 0)
		return 0;
	problem_set(problem, E_DIGEST, "%s has %llu faults", path,
		    (unsigned long long)verdict.faults);
	problem_hint(problem, verdict.ended
				      ? "samples without a fault can be used; make the file anew"
				      : "give the command that made it once more: it goes on");
	return E_DIGEST;
}
