#include "trainer_image/comm/terms_wire.h"

#include "common/base/error.h"

static void terms_put(struct wire_writer *writer, const char *text)
{
	size_t size = strlen(text);

	wire_put_u8(writer, (uint8_t)size);
	wire_put_bytes(writer, text, size);
}

void terms_encode(const struct terms *terms, struct wire_writer *writer)
{
	wire_put_u8(writer, (uint8_t)terms->count);
	for (size_t i = 0; i < terms->count; i++) {
		terms_put(writer, terms->term[i].name);
		terms_put(writer, terms->term[i].value);
	}
}

size_t terms_size(const struct terms *terms)
{
	size_t size = 1;

	for (size_t i = 0; i < terms->count; i++)
		size += 2 + strlen(terms->term[i].name) + strlen(terms->term[i].value);
	return size;
}

static void terms_get(struct wire_reader *reader, char *ret, size_t room)
{
	size_t size = wire_u8(reader);
	const uint8_t *text = wire_bytes(reader, size);

	if (!text || size >= room) {
		reader->bad = true;
		return;
	}
	for (size_t i = 0; i < size; i++)
		reader->bad |= text[i] < ' ' || text[i] > '~';
	memcpy(ret, text, size);
}

int terms_decode(struct wire_reader *reader, struct terms *ret)
{
	struct terms terms = {.count = wire_u8(reader)};

	if (terms.count > TERMS_MAX)
		return E_MALFORMED;
	for (size_t i = 0; i < terms.count && !reader->bad; i++) {
		struct term *term = &terms.term[i];

		terms_get(reader, term->name, sizeof(term->name));
		terms_get(reader, term->value, sizeof(term->value));
		if (term->name[0] == '\0' || (i > 0 && strcmp(term[-1].name, term->name) >= 0))
			return E_MALFORMED;
	}
	if (reader->bad)
		return E_MALFORMED;
	*ret = terms;
	return 0;
}
