/* trainer words, trainer sentences: what makes record files of words, and text for them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

#include "trainer_image/cli/convert_line.h"
#include "trainer_image/cli/trainer_table.h"
#include "trainer_image/record/convert_words.h"
#include "trainer_image/record/record.h"
#include "trainer_image/record/sentences.h"

enum { WORDS_LENGTH = 256, WORDS_SENTENCES = 20000, WORDS_SENTENCES_MOST = 10000000 };

static void words_cli_progress(void *context, uint64_t done, uint64_t all, uint64_t bytes)
{
	convert_line_tell(context, &(struct convert_line_now){done, all, bytes, "sequences", ""});
}

/* The type of the words and their vocabulary, which of bytes is known. */
static bool words_cli_type(const struct command_input *input, struct convert_words_options *ret)
{
	static const struct {
		const char *text;
		enum convert_words_type type;
		uint64_t most;
	} rows[] = {{"bytes", CONVERT_WORDS_BYTES, CONVERT_WORDS_OF_BYTES},
		    {"uint16", CONVERT_WORDS_UINT16, UINT16_MAX + 1},
		    {"int32", CONVERT_WORDS_INT32, INT32_MAX}};
	const char *text = command_option(input, "--type");
	uint64_t vocabulary = 0;
	size_t row = 0;

	while (text && strcmp(rows[row].text, text) != 0) /* the parser held it to these */
		row++;
	if (!trainer_number(input, "--vocabulary", 1, rows[row].most, 0, &vocabulary))
		return false;
	if (row == 0 && vocabulary == 0)
		vocabulary = CONVERT_WORDS_OF_BYTES;
	if (vocabulary == 0 || (row == 0 && vocabulary != CONVERT_WORDS_OF_BYTES)) {
		fprintf(stderr,
			row == 0
				? "trainer: bytes are %d words: leave --vocabulary out\n"
				: "trainer: how many words are there? %d of a GPT-2: --vocabulary N\n",
			row == 0 ? CONVERT_WORDS_OF_BYTES : 50257);
		return false;
	}
	ret->type = rows[row].type;
	ret->vocabulary = (uint32_t)vocabulary;
	return true;
}

static int words_cli_run(void *context, const struct command_input *input)
{
	struct convert_line line = {0};
	struct convert_words_options options = {.progress = words_cli_progress, .context = &line};
	struct convert_words_result result = {0};
	struct problem problem = {0};
	uint64_t length = 0;
	uint64_t page = 0;

	(void)context;
	if (!trainer_number(input, "--length", 1, RECORD_LENGTH_MAX, WORDS_LENGTH, &length) ||
	    !trainer_size(input, "--page-size", RECORD_ALIGN, RECORD_PAGE_SIZE_MAX,
			  RECORD_PAGE_SIZE, &page) ||
	    !words_cli_type(input, &options))
		return EXIT_USAGE;
	options.length = (uint32_t)length;
	options.page_size = (uint32_t)(page / RECORD_ALIGN * RECORD_ALIGN);
	options.sync_pages = command_option(input, "--sync-pages") != NULL;
	int rc = convert_words(input->words[0], input->words[1], &options, &result, &problem);
	convert_line_clear(&line);
	if (rc == -EALREADY) {
		fprintf(stderr, "%s is complete: nothing to do\n", input->words[1]);
		return EXIT_OK;
	}
	if (rc < 0)
		return trainer_tell(&problem);
	if (result.before > 0)
		fprintf(stderr, "went on behind %" PRIu64 " sequences of an earlier run\n",
			result.before);
	fprintf(stderr,
		"%s written: %" PRIu64 " sequences of %" PRIu64 " words, vocabulary %" PRIu32
		", %" PRIu64 " words left over\n",
		input->words[1], result.samples, length, options.vocabulary, result.left);
	return EXIT_OK;
}

static int words_cli_sentences(void *context, const struct command_input *input)
{
	struct problem problem = {0};
	uint64_t count = 0;
	uint64_t seed = 0;

	(void)context;
	if (!trainer_number(input, "--count", 1, WORDS_SENTENCES_MOST, WORDS_SENTENCES, &count) ||
	    !trainer_number(input, "--seed", 0, UINT64_MAX, 1, &seed))
		return EXIT_USAGE;
	if (sentences_write(input->words[0], count, seed, &problem) < 0)
		return trainer_tell(&problem);
	fprintf(stderr, "%s written: %" PRIu64 " lines\n", input->words[0], count);
	return EXIT_OK;
}

static const struct option_row words_cli_options[] = {
	{"--length", 0, OPTION_VALUE, "N", "words that a sequence predicts; default 256"},
	{"--type", 0, OPTION_VALUE, "bytes|uint16|int32", "of TEXT; default bytes: any text"},
	{"--vocabulary", 0, OPTION_VALUE, "N", "uint16, int32: each word is below N"},
	{"--page-size", 0, OPTION_VALUE, "SIZE", "default 8MiB"},
	{"--sync-pages", 0, OPTION_FLAG, NULL, "a power cut costs one page at most"},
};

static const struct option_row words_cli_sentence_options[] = {
	{"--count", 0, OPTION_VALUE, "N", "default 20000"},
	{"--seed", 0, OPTION_VALUE, "S", "default 1; another seed is another text"},
};

static const struct command words_cli_rows[] = {
	{"words", "", "TEXT SET",
	 "a file, or all of a folder, to a record file of words; goes on when interrupted",
	 words_cli_options, COUNT_OF(words_cli_options), 2, 2, words_cli_run,
	 "words book.txt set.rec --length 64",
	 "{SET} written: {n} sequences of {n} words, vocabulary {n}, {n} words left over"},
	{"sentences", "", "TEXT", "write a text that can be learned", words_cli_sentence_options,
	 COUNT_OF(words_cli_sentence_options), 1, 1, words_cli_sentences,
	 "sentences train.txt --count 20000 --seed 1", "{TEXT} written: {n} lines"},
};

const struct command_group words_group = {words_cli_rows, COUNT_OF(words_cli_rows)};
