#include "bampi/storage/driver/tgt_span.h"

#include <string.h>

bool span_line(struct span *rest, struct span *ret)
{
	const char *end;

	if (rest->size == 0)
		return false;
	end = memchr(rest->at, '\n', rest->size);
	ret->at = rest->at;
	ret->size = end ? (size_t)(end - rest->at) : rest->size;
	rest->at += ret->size + (end ? 1 : 0);
	rest->size -= ret->size + (end ? 1 : 0);
	return true;
}

bool span_is(const struct span *span, const char *text)
{
	return span->size == strlen(text) && memcmp(span->at, text, span->size) == 0;
}

bool span_behind(const struct span *span, const char *text, struct span *ret)
{
	size_t length = strlen(text);

	if (span->size < length || memcmp(span->at, text, length) != 0)
		return false;
	*ret = (struct span){span->at + length, span->size - length};
	return true;
}

bool span_copy(const struct span *span, char *ret, size_t room)
{
	if (span->size >= room || memchr(span->at, '\0', span->size))
		return false;
	memcpy(ret, span->at, span->size);
	ret[span->size] = '\0';
	return true;
}

bool span_number(const struct span *span, uint64_t most, uint64_t *ret)
{
	uint64_t value = 0;

	if (span->size == 0 || (span->size > 1 && span->at[0] == '0'))
		return false;
	for (size_t i = 0; i < span->size; i++) {
		uint64_t digit = (uint64_t)((unsigned char)span->at[i]) - '0';

		if (digit > 9 || digit > most || value > (most - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret = value;
	return true;
}

bool span_word(struct span *rest, struct span *ret)
{
	while (rest->size && *rest->at == ' ') {
		rest->at++;
		rest->size--;
	}
	*ret = (struct span){rest->at, 0};
	while (rest->size && *rest->at != ' ') {
		rest->at++;
		rest->size--;
		ret->size++;
	}
	return ret->size > 0;
}
