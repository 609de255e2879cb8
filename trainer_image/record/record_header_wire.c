#include "trainer_image/record/record_header_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "common/base/error.h"
#include "common/net/wire.h"

/* As PNG's: a transfer as text, or without the eighth bit, breaks it. */
#define RECORD_HEADER_MAGIC 0x894852450d0a1a0aULL

enum {
	RECORD_HEADER_FIXED =
		36, /* magic, version, size, page size, classes, origin, count of fields, kind, zeros */
	RECORD_HEADER_WORDS = 8, /* of a set of words: vocabulary, length */
	RECORD_HEADER_DIGEST = 8,
};

enum record_header_kind { RECORD_HEADER_PICTURES, RECORD_HEADER_SEQUENCES };

static const struct {
	enum record_type type;
	uint8_t size; /* as it is stored; 0: a length and that many bytes */
	uint32_t limit;
} record_header_types[] = {
	{RECORD_INT32, 4, 0},
	{RECORD_INT64, 8, 0},
	{RECORD_FLOAT32, 4, 0},
	{RECORD_FLOAT64, 8, 0},
	{RECORD_TEXT, 0, RECORD_TEXT_MAX},
	{RECORD_BYTES, 0, RECORD_BYTES_MAX},
};

int record_wire_header_size(const void *data, size_t size, size_t *ret)
{
	struct wire_reader reader = wire_reader(data, size);

	if (wire_u64(&reader) != RECORD_HEADER_MAGIC)
		return E_MALFORMED;
	uint32_t version = wire_u32(&reader);
	uint32_t length = wire_u32(&reader);
	if (reader.bad)
		return E_MALFORMED;
	if (version != RECORD_VERSION)
		return E_UNSUPPORTED;
	if (length < RECORD_ALIGN || length % RECORD_ALIGN != 0 || length > RECORD_HEADER_SIZE_MAX)
		return E_MALFORMED;

	*ret = length;
	return 0;
}

/* A name: a length and that many bytes, none of them NUL. */
static const char *record_header_name(struct wire_reader *reader, size_t limit, size_t *ret_length)
{
	size_t length = wire_u8(reader);
	const char *name = (const char *)wire_bytes(reader, length);

	if (!name || length == 0 || length > limit || memchr(name, '\0', length)) {
		reader->bad = true;
		return NULL;
	}
	*ret_length = length;
	return name;
}

static void record_header_fields(struct wire_reader *reader, struct record_header *header)
{
	for (size_t i = 0; i < header->field_count && !reader->bad; i++) {
		struct record_field *field = &header->field[i];
		uint8_t type = wire_u8(reader);
		size_t length = 0;
		const char *name = record_header_name(reader, RECORD_FIELD_NAME_MAX, &length);

		if (!name || type >= COUNT_OF(record_header_types)) {
			reader->bad = true;
			return;
		}
		field->type = record_header_types[type].type;
		memcpy(field->name, name, length);
	}
}

/* One allocation: the pointers, then the names. */
static int record_header_names_new(size_t count, size_t bytes, char ***ret, char **ret_names)
{
	size_t table = count * sizeof(char *);

	if (count == 0) {
		*ret = NULL;
		return 0;
	}
	char **names = malloc(table + bytes);
	if (!names)
		return -ENOMEM;
	*ret = names;
	*ret_names = (char *)names + table;
	return 0;
}

static int record_header_classes(struct wire_reader *reader, uint32_t count,
				 struct record_header *header)
{
	char *names = NULL;

	if (reader->bad || count > RECORD_CLASSES_MAX || count > wire_left(reader))
		return E_MALFORMED;
	int rc = record_header_names_new(count, wire_left(reader), &header->class_name, &names);
	for (; rc == 0 && header->class_count < count; header->class_count++) {
		size_t length = 0;
		const char *name = record_header_name(reader, RECORD_NAME_MAX, &length);

		if (!name)
			return E_MALFORMED;
		memcpy(names, name, length);
		names[length] = '\0';
		header->class_name[header->class_count] = names;
		names += length + 1;
	}
	return rc;
}

/* No classes, and words that a sample can have. */
static bool record_header_is_of_words(const struct record_header *header, uint64_t classes)
{
	return header->vocabulary > 0 && header->vocabulary <= INT32_MAX && header->length > 0 &&
	       header->length <= RECORD_LENGTH_MAX && classes == 0;
}

/* What samples are, behind the count of fields. */
static void record_header_samples(struct wire_reader *reader, uint32_t classes,
				  struct record_header *header)
{
	header->field_count = wire_u8(reader);
	uint8_t kind = wire_u8(reader);

	reader->bad |= wire_u16(reader) != 0 || kind > RECORD_HEADER_SEQUENCES ||
		       header->field_count > RECORD_FIELDS_MAX;
	if (kind != RECORD_HEADER_SEQUENCES)
		return;
	header->vocabulary = wire_u32(reader);
	header->length = wire_u32(reader);
	reader->bad |= !record_header_is_of_words(header, classes);
}

static int record_header_read(struct wire_reader *reader, struct record_header *header)
{
	wire_skip(reader, RECORD_HEADER_BEGIN);
	header->page_size = wire_u32(reader);
	uint32_t classes = wire_u32(reader);
	header->origin = wire_u64(reader);
	if (header->page_size < RECORD_ALIGN || header->page_size % RECORD_ALIGN != 0 ||
	    header->page_size > RECORD_PAGE_SIZE_MAX)
		return E_MALFORMED;
	record_header_samples(reader, classes, header);
	record_header_fields(reader, header);
	int rc = record_header_classes(reader, classes, header);
	if (rc < 0)
		return rc;
	/* As few bytes as it needs, and zeros up to the next multiple. */
	if (wire_left(reader) >= RECORD_ALIGN)
		return E_MALFORMED;
	while (wire_left(reader) > 0)
		reader->bad |= wire_u8(reader) != 0;
	return reader->bad ? E_MALFORMED : 0;
}

int record_wire_header_decode(const void *data, size_t size, struct record_header *ret,
			      uint64_t *ret_digest)
{
	struct record_header header = {0};
	size_t length = 0;
	int rc = record_wire_header_size(data, size, &length);

	if (rc < 0)
		return rc;
	if (length != size)
		return E_MALFORMED;
	struct wire_reader end =
		wire_reader((const uint8_t *)data + size - RECORD_HEADER_DIGEST, 8);
	uint64_t digest = XXH64(data, size - RECORD_HEADER_DIGEST, 0);
	if (wire_u64(&end) != digest)
		return E_DIGEST;
	struct wire_reader reader = wire_reader(data, size - RECORD_HEADER_DIGEST);
	rc = record_header_read(&reader, &header);
	if (rc < 0) {
		record_header_done(&header);
		return rc;
	}

	*ret = header;
	*ret_digest = digest;
	return 0;
}

/* The bytes before the zeros; E_INVALID where a name or size is none that a file can have. */
static int record_header_length(const struct record_header *header, size_t *ret)
{
	size_t length = RECORD_HEADER_FIXED;

	if (header->page_size % RECORD_ALIGN != 0 || header->page_size > RECORD_PAGE_SIZE_MAX ||
	    header->field_count > RECORD_FIELDS_MAX || header->class_count > RECORD_CLASSES_MAX)
		return E_INVALID;
	if (header->vocabulary > 0 || header->length > 0) {
		if (!record_header_is_of_words(header, header->class_count))
			return E_INVALID;
		length += RECORD_HEADER_WORDS;
	}
	for (size_t i = 0; i < header->field_count; i++) {
		size_t name = strnlen(header->field[i].name, RECORD_FIELD_NAME_MAX + 1);

		if (name == 0 || name > RECORD_FIELD_NAME_MAX)
			return E_INVALID;
		length += 2 + name;
	}
	for (size_t i = 0; i < header->class_count; i++) {
		size_t name = strlen(header->class_name[i]);

		if (name == 0 || name > RECORD_NAME_MAX)
			return E_INVALID;
		length += 1 + name;
	}
	*ret = length;
	return 0;
}

int record_wire_header_encode(const struct record_header *header, uint8_t **ret, size_t *ret_size,
			      uint64_t *ret_digest)
{
	size_t length = 0;
	int rc = record_header_length(header, &length);

	if (rc < 0)
		return rc;
	size_t size =
		(length + RECORD_HEADER_DIGEST + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
	uint8_t *data = calloc(1, size);
	if (!data)
		return -ENOMEM;
	struct wire_writer writer = wire_writer(data, size);
	wire_put_u64(&writer, RECORD_HEADER_MAGIC);
	wire_put_u32(&writer, RECORD_VERSION);
	wire_put_u32(&writer, (uint32_t)size);
	wire_put_u32(&writer, header->page_size ? header->page_size : RECORD_PAGE_SIZE);
	wire_put_u32(&writer, (uint32_t)header->class_count);
	wire_put_u64(&writer, header->origin);
	wire_put_u8(&writer, (uint8_t)header->field_count);
	wire_put_u8(&writer,
		    header->vocabulary > 0 ? RECORD_HEADER_SEQUENCES : RECORD_HEADER_PICTURES);
	wire_put_u16(&writer, 0);
	if (header->vocabulary > 0) {
		wire_put_u32(&writer, header->vocabulary);
		wire_put_u32(&writer, header->length);
	}
	for (size_t i = 0; i < header->field_count; i++) {
		wire_put_u8(&writer, (uint8_t)header->field[i].type);
		wire_put_u8(&writer, (uint8_t)strlen(header->field[i].name));
		wire_put_bytes(&writer, header->field[i].name, strlen(header->field[i].name));
	}
	for (size_t i = 0; i < header->class_count; i++) {
		wire_put_u8(&writer, (uint8_t)strlen(header->class_name[i]));
		wire_put_bytes(&writer, header->class_name[i], strlen(header->class_name[i]));
	}
	*ret_digest = XXH64(data, size - RECORD_HEADER_DIGEST, 0);
	struct wire_writer end = wire_writer(data + size - RECORD_HEADER_DIGEST, 8);
	wire_put_u64(&end, *ret_digest);

	*ret = data;
	*ret_size = size;
	return 0;
}

int record_header_copy(const struct record_header *header, struct record_header *ret)
{
	struct record_header copy = *header;
	size_t bytes = 0;
	char *names = NULL;

	for (size_t i = 0; i < header->class_count; i++)
		bytes += strlen(header->class_name[i]) + 1;
	int rc = record_header_names_new(header->class_count, bytes, &copy.class_name, &names);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < header->class_count; i++) {
		size_t size = strlen(header->class_name[i]) + 1;

		memcpy(names, header->class_name[i], size);
		copy.class_name[i] = names;
		names += size;
	}
	*ret = copy;
	return 0;
}

void record_header_done(struct record_header *header)
{
	free(header->class_name);
	header->class_name = NULL;
	header->class_count = 0;
}

/* ---- Free fields of a sample ---- */

int record_wire_fields_size(const struct record_header *header, const struct record_value value[],
			    size_t *ret)
{
	size_t size = 0;

	for (size_t i = 0; i < header->field_count; i++) {
		unsigned type = header->field[i].type;

		if (type >= COUNT_OF(record_header_types))
			return E_INVALID;
		if (record_header_types[type].size > 0) {
			size += record_header_types[type].size;
			continue;
		}
		if (value[i].size > record_header_types[type].limit)
			return E_LIMIT;
		size += 4 + value[i].size;
	}
	for (size_t i = 0; i < header->field_count; i++)
		if (header->field[i].type == RECORD_INT32 &&
		    (value[i].integer > INT32_MAX || value[i].integer < INT32_MIN))
			return E_INVALID;
	*ret = size;
	return 0;
}

static uint32_t record_header_float_bits(double real)
{
	float narrow = (float)real;
	uint32_t bits;

	memcpy(&bits, &narrow, sizeof(bits));
	return bits;
}

void record_wire_fields_encode(const struct record_header *header,
			       const struct record_value value[], void *ret, size_t room)
{
	struct wire_writer writer = wire_writer(ret, room);

	for (size_t i = 0; i < header->field_count; i++) {
		uint64_t bits;

		switch (header->field[i].type) {
		case RECORD_INT32: wire_put_u32(&writer, (uint32_t)value[i].integer); break;
		case RECORD_INT64: wire_put_u64(&writer, (uint64_t)value[i].integer); break;
		case RECORD_FLOAT32:
			wire_put_u32(&writer, record_header_float_bits(value[i].real));
			break;
		case RECORD_FLOAT64:
			memcpy(&bits, &value[i].real, sizeof(bits));
			wire_put_u64(&writer, bits);
			break;
		case RECORD_TEXT:
		case RECORD_BYTES:
			wire_put_u32(&writer, (uint32_t)value[i].size);
			wire_put_bytes(&writer, value[i].data, value[i].size);
			break;
		}
	}
}

static void record_header_value(struct wire_reader *reader, enum record_type type,
				struct record_value *ret)
{
	uint32_t word;
	uint64_t bits;
	float narrow;

	switch (type) {
	case RECORD_INT32: ret->integer = (int32_t)wire_u32(reader); break;
	case RECORD_INT64: ret->integer = (int64_t)wire_u64(reader); break;
	case RECORD_FLOAT32:
		word = wire_u32(reader);
		memcpy(&narrow, &word, sizeof(narrow));
		ret->real = (double)narrow;
		break;
	case RECORD_FLOAT64:
		bits = wire_u64(reader);
		memcpy(&ret->real, &bits, sizeof(ret->real));
		break;
	case RECORD_TEXT:
	case RECORD_BYTES:
		ret->size = wire_u32(reader);
		if (ret->size > record_header_types[type].limit)
			reader->bad = true;
		ret->data = wire_bytes(reader, ret->size);
		break;
	}
}

int record_wire_fields_decode(const struct record_header *header, const void *data, size_t size,
			      struct record_value ret[RECORD_FIELDS_MAX])
{
	struct wire_reader reader = wire_reader(data, size);

	for (size_t i = 0; i < header->field_count; i++) {
		ret[i] = (struct record_value){0};
		record_header_value(&reader, header->field[i].type, &ret[i]);
	}
	return reader.bad || wire_left(&reader) > 0 ? E_MALFORMED : 0;
}
