/* Text, or words that are ready, become a record file of sequences.
 *
 * All files in one order are one line of words. Of text each byte is a word, and the word 0 stands behind each file: texts hold no
 * zeros. Sequence n has the words n * length to (n + 1) * length of the line. So two sequences share one word, and each word but the
 * first is predicted once. The same files and options give the same bytes. An interrupted one goes on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

enum convert_words_type {
	CONVERT_WORDS_BYTES,
	CONVERT_WORDS_UINT16, /* little endian, as `tofile` of NumPy writes them */
	CONVERT_WORDS_INT32,
};

enum { CONVERT_WORDS_OF_BYTES = 256 };

struct convert_words_options {
	enum convert_words_type type;
	uint32_t vocabulary; /* of bytes: CONVERT_WORDS_OF_BYTES */
	uint32_t length;     /* words that a sequence predicts */
	uint32_t page_size;  /* 0 = RECORD_PAGE_SIZE */
	bool sync_pages;     /* RECORD_SYNC_PAGE */
	/* Sequences; `bytes`: written so far. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t all, uint64_t bytes);
	void *context;
};

struct convert_words_result {
	uint64_t files, words, samples;
	uint64_t left;   /* words at the end that fill no sequence */
	uint64_t before; /* sequences that earlier calls had written */
};

/* `path`: a file, or a folder with files. -EALREADY: it was complete before. E_CONFLICT: the file is of other words, or of
 * other options. E_INVALID: a word that is none of the vocabulary, by file and place; too few for a sequence; a set among
 * the files that are read. -errno. */
MUST_USE int convert_words(const char *path, const char *to,
			   const struct convert_words_options *options,
			   struct convert_words_result *ret, struct problem *problem);
