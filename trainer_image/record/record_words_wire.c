#include "trainer_image/record/record_words_wire.h"

#include "common/base/error.h"

enum { RECORD_WORDS_NARROW = 65536 };

size_t record_words_width(const struct record_header *header)
{
	return header->vocabulary > RECORD_WORDS_NARROW ? 4 : 2;
}

size_t record_words_size(const struct record_header *header)
{
	return ((size_t)header->length + 1) * record_words_width(header);
}

void record_words_encode(const struct record_header *header, const int32_t *words, uint8_t *ret)
{
	size_t width = record_words_width(header);

	for (size_t i = 0; i <= header->length; i++)
		for (size_t k = 0; k < width; k++)
			ret[i * width + k] = (uint8_t)((uint32_t)words[i] >> 8 * k);
}

int record_words_decode(const struct record_header *header, const uint8_t *data, size_t size,
			int32_t *ret)
{
	size_t width = record_words_width(header);

	if (size != record_words_size(header))
		return E_MALFORMED;
	for (size_t i = 0; i <= header->length; i++) {
		uint32_t word = data[i * width] | (uint32_t)data[i * width + 1] << 8;

		if (width == 4)
			word |= (uint32_t)data[i * width + 2] << 16 | (uint32_t)data[i * width + 3]
									      << 24;
		if (word >= header->vocabulary)
			return E_MALFORMED;
		if (ret)
			ret[i] = (int32_t)word;
	}
	return 0;
}
