/* What trainer inspect says of a checkpoint: its job, its regions, and whether it is whole. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/cli/trainer_table.h"
#include "trainer_image/train/checkpoint_file.h"

enum { CHECKPOINT_CLI_FACTS = 7 };

static const struct output_column checkpoint_cli_columns[] = {{"region", NULL, true, false},
							      {"kind", NULL, false, false},
							      {"name", NULL, false, false},
							      {"bytes", NULL, true, false},
							      {"crc32c", NULL, false, false}};

static int checkpoint_cli_regions(const struct command_input *input,
				  const struct checkpoint_header *header)
{
	struct output *output = trainer_output(input, checkpoint_cli_columns,
					       COUNT_OF(checkpoint_cli_columns), OUTPUT_TABLE);

	if (!output)
		return EXIT_USAGE;
	for (size_t i = 0; i < header->count; i++) {
		const struct checkpoint_row *row = &header->rows[i];
		char cell[3][TRAINER_CELL];

		(void)text_format(cell[2], TRAINER_CELL, "%08" PRIx32, row->crc);
		output_row(output,
			   (const char *const[]){trainer_count(cell[0], i),
						 checkpoint_kind_text(row->kind), row->name,
						 trainer_count(cell[1], row->bytes), cell[2]});
	}
	return trainer_output_end(output);
}

/* The terms of the job are facts as the others: "job.seed". */
static int checkpoint_cli_facts(const struct command_input *input,
				const struct checkpoint_file *file, bool is_whole)
{
	struct output_column facts[CHECKPOINT_CLI_FACTS + TERMS_MAX] = {
		{"file", NULL, false, false},  {"whole", NULL, false, false},
		{"step", NULL, true, false},   {"regions", NULL, true, false},
		{"bytes", NULL, true, false},  {"header_bytes", NULL, true, false},
		{"xxh64", NULL, false, false},
	};
	char key[TERMS_MAX][TERM_NAME_SIZE + 4];
	char cell[5][TRAINER_CELL];
	const struct checkpoint_header *header = &file->header;
	const char *cells[CHECKPOINT_CLI_FACTS + TERMS_MAX] = {
		file->path,
		is_whole ? "yes" : "no",
		trainer_count(cell[0], header->step),
		trainer_count(cell[1], header->count),
		trainer_count(cell[2], file->header_size + checkpoint_bytes(header)),
		trainer_count(cell[3], file->header_size),
		cell[4],
	};

	(void)text_format(cell[4], TRAINER_CELL, "%016" PRIx64, header->digest);
	for (size_t i = 0; i < header->terms.count; i++) {
		(void)text_format(key[i], sizeof(key[i]), "job.%s", header->terms.term[i].name);
		facts[CHECKPOINT_CLI_FACTS + i] = (struct output_column){.key = key[i]};
		cells[CHECKPOINT_CLI_FACTS + i] = header->terms.term[i].value;
	}
	return trainer_facts(input, facts, cells, CHECKPOINT_CLI_FACTS + header->terms.count);
}

int checkpoint_inspect(const struct command_input *input)
{
	struct problem problem = {0};
	struct checkpoint_file file;

	if (checkpoint_file_open(input->words[0], &file, &problem) < 0)
		return trainer_tell(&problem);
	int rc = checkpoint_file_read(&file, NULL, &problem);
	int status = command_option(input, "--regions")
			     ? checkpoint_cli_regions(input, &file.header)
			     : checkpoint_cli_facts(input, &file, rc == 0);
	checkpoint_file_close(&file);
	if (rc < 0 && status == EXIT_OK)
		status = trainer_tell(&problem);
	return status;
}
