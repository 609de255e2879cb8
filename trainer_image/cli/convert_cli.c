/* trainer convert, trainer digits: what makes record files of pictures. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/cli/convert_line.h"
#include "trainer_image/cli/trainer_table.h"
#include "trainer_image/record/convert.h"
#include "trainer_image/record/digits.h"
#include "trainer_image/record/mask.h"
#include "trainer_image/record/record.h"

/* What hooks of the conversion tell on. */
struct convert_told {
	struct convert_line line;
	uint64_t skipped;
};

static void convert_skipped(void *context, const char *name, const char *why)
{
	struct convert_told *told = context;
	char clean[512];

	convert_line_clear(&told->line);
	(void)text_copy(clean, sizeof(clean), name);
	text_blank_controls(clean, strlen(clean));
	fprintf(stderr, "trainer: skipped %s: %s\n", clean, why);
	told->skipped++;
}

static void convert_progress(void *context, uint64_t done, uint64_t all, uint64_t bytes)
{
	struct convert_told *told = context;
	char more[40];

	(void)text_format(more, sizeof(more), ", %" PRIu64 " skipped", told->skipped);
	convert_line_tell(&told->line,
			  &(struct convert_line_now){done, all, bytes, "pictures", more});
}

static int convert_run(void *context, const struct command_input *input)
{
	const char *order = command_option(input, "--order");
	struct convert_told told = {0};
	struct convert_options options = {
		.skipped = convert_skipped, .progress = convert_progress, .context = &told};
	struct convert_result result = {0};
	struct problem problem = {0};
	uint64_t page = 0;
	uint64_t side = 0;
	uint64_t quality = 0;
	uint64_t threads = 0;
	uint64_t classes = 0;

	(void)context;
	if (!trainer_size(input, "--page-size", RECORD_ALIGN, RECORD_PAGE_SIZE_MAX,
			  RECORD_PAGE_SIZE, &page) ||
	    !trainer_number(input, "--resize-max", 1, 65535, 0, &side) ||
	    !trainer_number(input, "--quality", 1, 100, 90, &quality) ||
	    !trainer_number(input, "--threads", 1, 64, 0, &threads) ||
	    !trainer_number(input, "--classes", 1, MASK_CLASSES_MAX, 0, &classes))
		return EXIT_USAGE;
	options.masks = command_option(input, "--masks");
	if ((options.masks != NULL) != (classes > 0)) {
		fputs("trainer: --masks and --classes go together: a mask has classes below N, and "
		      "255 for none\n",
		      stderr);
		return EXIT_USAGE;
	}
	options.classes = (uint32_t)classes;
	options.page_size = (uint32_t)(page / RECORD_ALIGN * RECORD_ALIGN);
	options.side = (unsigned)side;
	options.quality = (int)quality;
	options.threads = (unsigned)threads;
	options.sorted = order && order[0] == 's';
	options.sync_pages = command_option(input, "--sync-pages") != NULL;
	int rc = convert_folder(input->words[0], input->words[1], &options, &result, &problem);
	convert_line_clear(&told.line);
	if (rc == -EALREADY) {
		fprintf(stderr, "%s is complete: nothing to do\n", input->words[1]);
		return EXIT_OK;
	}
	if (rc < 0)
		return trainer_tell(&problem);
	if (result.before > 0)
		fprintf(stderr, "went on behind %" PRIu64 " files of an earlier run\n",
			result.before);
	fprintf(stderr,
		"%s written: %" PRIu64 " samples of %" PRIu64 " classes, %" PRIu64 " skipped\n",
		input->words[1], result.samples, result.classes, result.skipped);
	return result.skipped > 0 ? EXIT_PARTIAL : EXIT_OK;
}

static int convert_digits(void *context, const struct command_input *input)
{
	struct digits_ask ask = {.masks = command_option(input, "--masks") != NULL};
	struct problem problem = {0};
	uint64_t page = 0;

	(void)context;
	if (!trainer_number(input, "--count", 1, 100000000, 60000, &ask.count) ||
	    !trainer_number(input, "--seed", 0, UINT64_MAX, 1, &ask.seed) ||
	    !trainer_size(input, "--page-size", RECORD_ALIGN, RECORD_PAGE_SIZE_MAX, 1U << 20,
			  &page))
		return EXIT_USAGE;
	ask.page_size = (uint32_t)(page / RECORD_ALIGN * RECORD_ALIGN);
	int rc = command_option(input, "--folder") ? digits_folder(input->words[0], &ask, &problem)
						   : digits_write(input->words[0], &ask, &problem);
	if (rc == -EALREADY) {
		fprintf(stderr, "%s is complete: nothing to do\n", input->words[0]);
		return EXIT_OK;
	}
	if (rc < 0)
		return trainer_tell(&problem);
	fprintf(stderr, "%s written: %" PRIu64 " digits\n", input->words[0], ask.count);
	return EXIT_OK;
}

static const struct option_row convert_options[] = {
	{"--resize-max", 0, OPTION_VALUE, "N", "the longer side of larger pictures becomes N"},
	{"--quality", 0, OPTION_VALUE, "Q", "of pictures made smaller, 1 to 100; default 90"},
	{"--order", 0, OPTION_VALUE, "mixed|sorted", "default mixed: each page has all classes"},
	{"--page-size", 0, OPTION_VALUE, "SIZE", "default 8MiB"},
	{"--masks", 0, OPTION_VALUE, "MASKS", "masks: MASKS/A/B.png is that of DIR/A/B.jpg"},
	{"--classes", 0, OPTION_VALUE, "N", "masks: classes below N, and 255 for none"},
	{"--threads", 0, OPTION_VALUE, "N", "default one per processor"},
	{"--sync-pages", 0, OPTION_FLAG, NULL, "a power cut costs one page at most"},
};

static const struct option_row digits_options[] = {
	{"--count", 0, OPTION_VALUE, "N", "default 60000"},
	{"--seed", 0, OPTION_VALUE, "S", "default 1; another seed is another set"},
	{"--page-size", 0, OPTION_VALUE, "SIZE", "default 1MiB"},
	{"--folder", 0, OPTION_FLAG, NULL, "SET is a folder: pictures SET/DIGIT/NUMBER.jpg"},
	{"--masks", 0, OPTION_FLAG, NULL, "a class a pixel: 0, or the digit + 1; NUMBER.png"},
};

static const struct command convert_rows[] = {
	{"convert", "", "DIR SET",
	 "pictures DIR/CLASS/*.jpg to a record file; goes on when interrupted", convert_options,
	 COUNT_OF(convert_options), 2, 2, convert_run, "convert pictures set.rec --resize-max 512",
	 "{SET} written: {n} samples of {n} classes, {n} skipped"},
	{"digits", "", "SET", "draw a set of digits, 28 x 28", digits_options,
	 COUNT_OF(digits_options), 1, 1, convert_digits, "digits train.rec --count 60000 --seed 1",
	 "{SET} written: {n} digits"},
};

const struct command_group convert_group = {convert_rows, COUNT_OF(convert_rows)};
