/* The words of a sample <-> numbers. A word is a uint16, in a vocabulary of more than 65536 words an int32.
 *
 * Little endian, unlike the rest of a record file: an array of NumPy or C on most machines is the same bytes. */
#pragma once

#include "trainer_image/record/record.h"

/* Bytes of one word; the header is one of words. */
size_t record_words_width(const struct record_header *header);
/* Bytes of a sample: length + 1 words. */
size_t record_words_size(const struct record_header *header);
/* `ret` has room for the bytes of a sample. Each word is one of the vocabulary. */
void record_words_encode(const struct record_header *header, const int32_t *words, uint8_t *ret);
/* `ret`: length + 1 words; NULL: they are checked alone. E_MALFORMED: another size, or a word that the vocabulary
 * does not have. */
MUST_USE int record_words_decode(const struct record_header *header, const uint8_t *data,
				 size_t size, int32_t *ret);
