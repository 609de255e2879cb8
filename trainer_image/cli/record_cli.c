/* Record files: what trainer inspect says of one, and trainer verify. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/cli/trainer_table.h"
#include "trainer_image/record/mask.h"
#include "trainer_image/record/record_map.h"
#include "trainer_image/record/record_words_wire.h"

static void record_cli_freep(struct record_reader **reader)
{
	record_reader_free(*reader);
}

/* ---- inspect ---- */

static const struct output_column record_facts[] = {
	{"file", NULL, false, false},        {"ended", NULL, false, false},
	{"samples", NULL, true, false},      {"skipped", NULL, true, false},
	{"classes", NULL, true, false},      {"masks", NULL, false, false},
	{"vocabulary", NULL, true, false},   {"length", NULL, true, false},
	{"fields", NULL, false, false},      {"pages", NULL, true, false},
	{"page_size", NULL, true, false},    {"bytes", NULL, true, false},
	{"header_bytes", NULL, true, false}, {"sample_bytes", NULL, true, false},
};

static const char *record_type_text(enum record_type type)
{
	static const char *const words[] = {
		[RECORD_INT32] = "int32",     [RECORD_INT64] = "int64",
		[RECORD_FLOAT32] = "float32", [RECORD_FLOAT64] = "float64",
		[RECORD_TEXT] = "text",       [RECORD_BYTES] = "bytes",
	};

	return words[type];
}

static uint64_t record_sample_bytes(const struct record_reader *reader)
{
	struct record_index_row row;
	uint64_t bytes = 0;

	for (uint64_t i = 0; record_map_index(reader) && i < record_reader_samples(reader); i++) {
		record_wire_index_row_decode(record_map_index(reader), i, &row);
		bytes += row.length;
	}
	return bytes;
}

static int record_inspect_facts(const struct command_input *input, struct record_reader *reader,
				bool ended)
{
	const struct record_header *header = record_reader_header(reader);
	bool words = header->vocabulary > 0;
	bool masks = mask_field(header) >= 0;
	char cell[10][TRAINER_CELL];
	struct text fields = {0};
	uint64_t bytes = 0;

	(void)record_map_bytes(reader, &bytes);
	if (words)
		text_addf(&fields, "words:%s",
			  record_words_width(header) == 2 ? "uint16" : "int32");
	else
		text_add(&fields, masks ? "image" : "label:int32 image");
	for (size_t i = 0; i < header->field_count; i++)
		text_addf(&fields, " %s:%s", header->field[i].name,
			  record_type_text(header->field[i].type));
	const char *const cells[COUNT_OF(record_facts)] = {
		input->words[0],
		ended ? "yes" : "no",
		trainer_count(cell[0], record_reader_samples(reader)),
		trainer_count(cell[1],
			      record_map_mark(reader) > record_reader_samples(reader)
				      ? record_map_mark(reader) - record_reader_samples(reader)
				      : 0),
		words ? NULL : trainer_count(cell[2], header->class_count),
		words   ? NULL
		: masks ? "yes"
			: "no",
		words ? trainer_count(cell[8], header->vocabulary) : NULL,
		words ? trainer_count(cell[9], header->length) : NULL,
		text_get(&fields),
		trainer_count(cell[3], record_reader_pages(reader)),
		trainer_count(cell[4], header->page_size),
		trainer_count(cell[5], bytes),
		trainer_count(cell[6], record_map_header_size(reader)),
		ended ? trainer_count(cell[7], record_sample_bytes(reader)) : NULL,
	};
	int status = trainer_facts(input, record_facts, cells, COUNT_OF(record_facts));
	text_done(&fields);
	return status;
}

static const struct output_column record_class_columns[] = {
	{"label", NULL, true, false}, {"name", NULL, false, false}, {"samples", NULL, true, false}};

static int record_inspect_classes(const struct command_input *input, struct record_reader *reader)
{
	const struct record_header *header = record_reader_header(reader);
	CLEANUP(freep) uint64_t *count = calloc(header->class_count + 1, sizeof(*count));
	bool masks = mask_field(header) >= 0; /* which samples have a class stands in them alone */
	struct record_index_row row;

	if (!count)
		return EXIT_FAILED;
	if (header->vocabulary > 0) {
		fprintf(stderr, "trainer: %s holds words, which have no classes\n",
			input->words[0]);
		return EXIT_USAGE;
	}
	for (uint64_t i = 0; record_map_index(reader) && i < record_reader_samples(reader); i++) {
		record_wire_index_row_decode(record_map_index(reader), i, &row);
		if (row.label >= 0 && (size_t)row.label < header->class_count)
			count[row.label]++;
	}
	struct output *output = trainer_output(input, record_class_columns,
					       COUNT_OF(record_class_columns), OUTPUT_TABLE);
	if (!output)
		return EXIT_USAGE;
	for (size_t i = 0; i < header->class_count; i++) {
		char label[TRAINER_CELL];
		char samples[TRAINER_CELL];

		output_row(output,
			   (const char *const[]){trainer_count(label, i), header->class_name[i],
						 masks ? NULL : trainer_count(samples, count[i])});
	}
	return trainer_output_end(output);
}

static const struct output_column record_page_columns[] = {
	{"page", NULL, true, false},    {"offset", NULL, true, false},
	{"bytes", NULL, true, false},   {"first_sample", NULL, true, false},
	{"samples", NULL, true, false}, {"xxh64", NULL, false, false}};

static int record_inspect_pages(const struct command_input *input, struct record_reader *reader)
{
	struct output *output = trainer_output(input, record_page_columns,
					       COUNT_OF(record_page_columns), OUTPUT_TABLE);

	if (!output)
		return EXIT_USAGE;
	for (uint32_t i = 0; i < record_reader_pages(reader); i++) {
		const struct record_page_row *row = record_map_page(reader, i);
		char cell[6][TRAINER_CELL];

		(void)text_format(cell[5], TRAINER_CELL, "%016" PRIx64, row->digest);
		output_row(output,
			   (const char *const[]){trainer_count(cell[0], i),
						 trainer_count(cell[1], row->offset),
						 trainer_count(cell[2], row->stored),
						 trainer_count(cell[3], row->first_sample),
						 trainer_count(cell[4], row->samples), cell[5]});
	}
	return trainer_output_end(output);
}

static const struct output_column record_sample_columns[] = {
	{"sample", NULL, true, false},  {"page", NULL, true, false},
	{"label", NULL, true, false},   {"class", NULL, false, false},
	{"format", NULL, false, false}, {"height", NULL, true, false},
	{"width", NULL, true, false},   {"channels", NULL, true, false},
	{"bytes", NULL, true, false},   {"name", NULL, false, false}};

/* The value of the text field "name", which convert writes; NULL where there is none. The caller frees. */
static char *record_sample_name(const struct record_header *header,
				const struct record_sample *sample)
{
	struct record_value value[RECORD_FIELDS_MAX];

	if (record_sample_fields(header, sample, value) < 0)
		return NULL;
	for (size_t i = 0; i < header->field_count; i++)
		if (header->field[i].type == RECORD_TEXT &&
		    strcmp(header->field[i].name, "name") == 0) {
			char *name = strndup(value[i].data, value[i].size);

			if (name)
				text_blank_controls(name, strlen(name));
			return name;
		}
	return NULL;
}

static const char *record_format_text(enum record_format format)
{
	static const char *const words[] = {
		[RECORD_JPEG] = "jpeg", [RECORD_PIXELS] = "pixels", [RECORD_WORDS] = "words"};

	return words[format];
}

static void record_sample_row(struct output *output, const struct record_header *header,
			      uint32_t page, const struct record_sample *sample)
{
	CLEANUP(freep) char *name = record_sample_name(header, sample);
	char cell[7][TRAINER_CELL];

	(void)text_format(cell[2], TRAINER_CELL, "%" PRId32, sample->label);
	output_row(output, (const char *const[]){trainer_count(cell[0], sample->number),
						 trainer_count(cell[1], page), cell[2],
						 sample->label >= 0 && (size_t)sample->label <
									       header->class_count
							 ? header->class_name[sample->label]
							 : NULL,
						 record_format_text(sample->format),
						 trainer_count(cell[3], sample->height),
						 trainer_count(cell[4], sample->width),
						 trainer_count(cell[5], sample->channels),
						 trainer_count(cell[6], sample->size), name});
}

static int record_inspect_samples(const struct command_input *input, struct record_reader *reader)
{
	struct output *output = trainer_output(input, record_sample_columns,
					       COUNT_OF(record_sample_columns), OUTPUT_TABLE);

	if (!output)
		return EXIT_USAGE;
	for (uint32_t p = 0; p < record_reader_pages(reader); p++) {
		struct record_page page;
		struct record_sample sample;

		if (record_page_open(reader, p, &page) < 0)
			continue;
		for (uint32_t i = 0; i < page.samples; i++)
			if (record_page_sample(reader, &page, i, &sample) == 0)
				record_sample_row(output, record_reader_header(reader), p, &sample);
	}
	return trainer_output_end(output);
}

int record_inspect(const struct command_input *input)
{
	CLEANUP(record_cli_freep) struct record_reader *reader = NULL;
	struct record_options options = {.prefix = true};
	struct problem problem = {0};
	struct problem first = {0};
	int status;

	int rc = record_reader_open(input->words[0], NULL, &reader, &first);
	bool ended = rc == 0;
	if (rc == E_MALFORMED || rc == E_DIGEST)
		rc = record_reader_open(input->words[0], &options, &reader, &problem);
	if (rc < 0)
		return trainer_tell(&first);
	if (command_option(input, "--classes"))
		status = record_inspect_classes(input, reader);
	else if (command_option(input, "--pages"))
		status = record_inspect_pages(input, reader);
	else if (command_option(input, "--samples"))
		status = record_inspect_samples(input, reader);
	else
		status = record_inspect_facts(input, reader, ended);
	if (!ended && status == EXIT_OK)
		status = trainer_tell(&first);
	return status;
}

/* ---- verify ---- */

static const struct output_column record_fault_columns[] = {{"page", NULL, true, false},
							    {"sample", NULL, true, false},
							    {"why", NULL, false, false},
							    {"error", NULL, false, true}};

/* The list begins with the first fault: of a file that is whole there is none. */
struct record_faults {
	const struct command_input *input;
	struct output *output;
};

static bool record_faults_begin(struct record_faults *faults)
{
	if (!faults->output)
		faults->output = trainer_output(faults->input, record_fault_columns,
						COUNT_OF(record_fault_columns), OUTPUT_TABLE);
	return faults->output != NULL;
}

static void record_fault_row(void *context, const struct record_fault *fault)
{
	struct record_faults *faults = context;
	char page[TRAINER_CELL];
	char sample[TRAINER_CELL];

	if (!record_faults_begin(faults))
		return;
	(void)trainer_count(page, fault->page);
	(void)trainer_count(sample, fault->sample);
	output_row(faults->output,
		   (const char *const[]){fault->page == UINT32_MAX ? NULL : page,
					 fault->sample == UINT64_MAX ? NULL : sample, fault->why,
					 error_word(fault->code)});
}

static int record_check(void *context, const struct command_input *input)
{
	struct record_faults faults = {.input = input};
	struct record_options options = {.fault = record_fault_row, .context = &faults};
	struct record_verdict verdict = {0};
	struct problem problem = {0};
	int status = EXIT_OK;

	(void)context;
	if (command_option(input, "--output") && !record_faults_begin(&faults))
		return EXIT_USAGE;
	int rc = record_verify(input->words[0], &options, &verdict, &problem);
	if (faults.output)
		status = trainer_output_end(faults.output);
	if (rc < 0 && verdict.faults > 0)
		fprintf(stderr,
			"%" PRIu64 " of %" PRIu64 " samples are bad, %" PRIu32 " of %" PRIu32
			" pages; the first %" PRIu64 " of %" PRIu64 " bytes are good\n",
			verdict.samples_bad, verdict.samples, verdict.pages_bad, verdict.pages,
			verdict.good_bytes, verdict.bytes);
	if (rc < 0)
		return trainer_tell(&problem);
	char words[80] = "";
	(void)text_copy(words, sizeof(words), verdict.masks ? "samples with masks" : "samples");
	if (verdict.vocabulary > 0)
		(void)text_format(words, sizeof(words),
				  "sequences of %" PRIu32 " words below %" PRIu32, verdict.length,
				  verdict.vocabulary);
	fprintf(stderr, "%s is whole: %" PRIu64 " %s in %" PRIu32 " pages\n", input->words[0],
		verdict.samples, words, verdict.pages);
	return status;
}

static const struct command record_rows[] = {
	{"verify", "", "FILE", "read all of a record file, and list what is wrong", NULL, 0, 1, 1,
	 record_check, "verify set.rec", NULL},
};

const struct command_group record_group = {record_rows, COUNT_OF(record_rows)};
