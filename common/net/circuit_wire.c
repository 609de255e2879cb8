#include "common/net/circuit_wire.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/net/mac.h"
#include "common/net/wire.h"

#define DIGITS_MAX 9 /* a larger number is no VLAN, slot or port of anything */
#define WORD_SIZE  16

enum element_kind {
	ELEMENT_LITERAL,
	ELEMENT_NUMBER, /* big-endian, `width` bytes */
	ELEMENT_DIGITS,
	ELEMENT_TEXT,
	ELEMENT_ANY,
	ELEMENT_MAC,
	ELEMENT_MAC_TEXT,
	ELEMENT_LENGTH,
	ELEMENT_SPACES,
	ELEMENT_GAP, /* `width` bytes of anything */
};

static const char *const number_words[CIRCUIT_NUMBERS] = {"vlan", "chassis", "slot", "module",
							  "port"};
static const char *const text_words[CIRCUIT_TEXTS] = {"switch", "name", "text", "mac"};

/* What is kept of a name goes to logs, JSON and SQL: nothing that would need care there. */
static bool circuit_wire_plain(uint8_t byte)
{
	return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

/* --- templates --- */

/* The word between braces, split at the colon. */
struct field_word {
	char name[WORD_SIZE];
	char how[WORD_SIZE];
};

static int circuit_wire_read_word(const char **at, struct field_word *ret)
{
	const char *end = strchr(*at, '}');
	const char *colon;
	size_t size = end ? (size_t)(end - *at) : WORD_SIZE;
	char word[WORD_SIZE];

	if (size >= WORD_SIZE)
		return E_MALFORMED;
	memcpy(word, *at, size);
	word[size] = '\0';
	colon = strchr(word, ':');
	(void)text_copy(ret->how, sizeof(ret->how), colon ? colon + 1 : "");
	if (colon)
		word[colon - word] = '\0';
	(void)text_copy(ret->name, sizeof(ret->name), word);
	*at = end + 1;
	return 0;
}

static int small_number(const char *text, uint8_t *ret)
{
	if (text[0] < '1' || text[0] > '9' || text[1] != '\0')
		return E_MALFORMED;
	*ret = (uint8_t)(text[0] - '0');
	return 0;
}

static int number_element(const struct field_word *word, int field, struct circuit_element *ret)
{
	*ret = (struct circuit_element){.kind = ELEMENT_DIGITS, .field = (uint8_t)field};
	if (word->how[0] == '\0')
		return 0;
	ret->kind = ELEMENT_NUMBER;
	return small_number(word->how, &ret->width) || ret->width > 4 ? E_MALFORMED : 0;
}

static int text_element(const struct field_word *word, int field, struct circuit_element *ret)
{
	*ret = (struct circuit_element){.kind = ELEMENT_TEXT, .field = (uint8_t)field};
	if (field == CIRCUIT_MAC) {
		ret->kind = word->how[0] ? ELEMENT_MAC_TEXT : ELEMENT_MAC;
		return word->how[0] && strcmp(word->how, "text") != 0 ? E_MALFORMED : 0;
	}
	return word->how[0] ? E_MALFORMED : 0;
}

static int field_element(const struct field_word *word, struct circuit_element *ret)
{
	int field = enum_value(number_words, CIRCUIT_NUMBERS, word->name);

	if (field >= 0)
		return number_element(word, field, ret);
	field = enum_value(text_words, CIRCUIT_TEXTS, word->name);
	if (field >= 0)
		return text_element(word, field, ret);
	if (word->how[0])
		return E_MALFORMED;
	*ret = (struct circuit_element){0};
	if (strcmp(word->name, "length") == 0)
		ret->kind = ELEMENT_LENGTH;
	else if (strcmp(word->name, " ") == 0)
		ret->kind = ELEMENT_SPACES;
	else if (strcmp(word->name, "*") == 0)
		ret->kind = ELEMENT_ANY;
	else if (word->name[0] == '#' && small_number(word->name + 1, &ret->width) == 0)
		ret->kind = ELEMENT_GAP;
	else
		return E_MALFORMED;
	return 0;
}

/* Is there something before that the same field would overwrite? */
static bool circuit_wire_repeated(const struct circuit_template *template,
				  const struct circuit_element *element)
{
	bool number = element->kind == ELEMENT_NUMBER || element->kind == ELEMENT_DIGITS;
	bool text = element->kind == ELEMENT_TEXT || element->kind == ELEMENT_MAC ||
		    element->kind == ELEMENT_MAC_TEXT;

	for (size_t i = 0; i < template->count; i++) {
		const struct circuit_element *before = &template->elements[i];
		bool before_number =
			before->kind == ELEMENT_NUMBER || before->kind == ELEMENT_DIGITS;
		bool before_text = before->kind == ELEMENT_TEXT || before->kind == ELEMENT_MAC ||
				   before->kind == ELEMENT_MAC_TEXT;

		if (before->field == element->field &&
		    ((number && before_number) || (text && before_text)))
			return true;
	}
	return false;
}

/* After a backslash. */
static int circuit_wire_escaped(const char **at, struct circuit_element *ret)
{
	const char *text = *at;
	char digits[3] = {0};
	uint8_t byte;

	if (*text == '\\' || *text == '{' || *text == '}') {
		*ret = (struct circuit_element){.kind = ELEMENT_LITERAL, .literal = (uint8_t)*text};
		*at = text + 1;
		return 0;
	}
	if (*text != 'x' || text[1] == '\0' || text[2] == '\0')
		return E_MALFORMED;
	memcpy(digits, text + 1, 2);
	if (hex_decode(digits, &byte, 1))
		return E_MALFORMED;
	*ret = (struct circuit_element){.kind = ELEMENT_LITERAL, .literal = byte};
	*at = text + 3;
	return 0;
}

static int next_element(const char **at, struct circuit_element *ret, const char **ret_why)
{
	struct field_word word;
	char first = *(*at)++;

	if (first == '\\') {
		*ret_why = "a backslash is followed by xHH, a brace or a backslash";
		return circuit_wire_escaped(at, ret);
	}
	if (first == '}') {
		*ret_why = "a closing brace without an opening one is written \\}";
		return E_MALFORMED;
	}
	if (first != '{') {
		*ret_why = "bytes that cannot be printed are written \\xHH";
		*ret = (struct circuit_element){.kind = ELEMENT_LITERAL, .literal = (uint8_t)first};
		return (uint8_t)first < ' ' || (uint8_t)first >= 0x7f ? E_MALFORMED : 0;
	}
	*ret_why = "fields are {vlan} {chassis} {slot} {module} {port} {switch} {name} {text} "
		   "{mac} {length} { } {*} {#N}; numbers may say their bytes, {port:1}";
	return circuit_wire_read_word(at, &word) ? E_MALFORMED : field_element(&word, ret);
}

int circuit_template_parse(const char *text, struct circuit_template *ret, const char **ret_why)
{
	struct circuit_template template = {.count = 0};

	while (*text) {
		struct circuit_element element;

		if (template.count == CIRCUIT_ELEMENTS_MAX) {
			*ret_why = "it is too long";
			return E_LIMIT;
		}
		if (next_element(&text, &element, ret_why))
			return E_MALFORMED;
		if (circuit_wire_repeated(&template, &element)) {
			*ret_why = "a field is there twice";
			return E_MALFORMED;
		}
		template.elements[template.count++] = element;
	}
	*ret = template;
	return 0;
}

/* --- matching --- */

static bool match_digits(struct wire_reader *reader, uint32_t *ret)
{
	uint32_t value = 0;
	size_t count = 0;

	while (wire_left(reader) > 0 && *reader->at >= '0' && *reader->at <= '9') {
		if (++count > DIGITS_MAX)
			return false;
		value = value * 10 + (uint32_t)(wire_u8(reader) - '0');
	}
	*ret = value;
	return count > 0;
}

static bool match_number(struct wire_reader *reader, uint8_t width, uint32_t *ret)
{
	uint32_t value = 0;

	for (uint8_t i = 0; i < width; i++)
		value = value << 8 | wire_u8(reader);
	*ret = value;
	return !reader->bad;
}

static bool match_mac(struct wire_reader *reader, char *ret)
{
	struct mac mac;

	wire_copy(reader, mac.bytes, sizeof(mac.bytes));
	if (!reader->bad)
		(void)mac_text(mac, ret);
	return !reader->bad;
}

static bool match_mac_text(struct wire_reader *reader, char *ret)
{
	char digits[2 * sizeof(struct mac) + 1] = {0};
	struct mac mac;
	size_t count = 0;

	while (count + 1 < sizeof(digits) && wire_left(reader) > 0) {
		char c = (char)wire_u8(reader);

		if (count > 0 && (c == ':' || c == '-' || c == '.'))
			continue;
		digits[count++] = c;
	}
	if (hex_decode(digits, mac.bytes, sizeof(mac.bytes)))
		return false;
	(void)mac_text(mac, ret);
	return true;
}

static bool match_fixed(const struct circuit_element *element, struct wire_reader *reader,
			struct circuit_fields *fields)
{
	switch ((enum element_kind)element->kind) {
	case ELEMENT_LITERAL: return wire_left(reader) > 0 && wire_u8(reader) == element->literal;
	case ELEMENT_NUMBER:
		fields->seen[element->field] = true;
		return match_number(reader, element->width, &fields->numbers[element->field]);
	case ELEMENT_DIGITS:
		fields->seen[element->field] = true;
		return match_digits(reader, &fields->numbers[element->field]);
	case ELEMENT_MAC: return match_mac(reader, fields->texts[CIRCUIT_MAC]);
	case ELEMENT_MAC_TEXT: return match_mac_text(reader, fields->texts[CIRCUIT_MAC]);
	case ELEMENT_LENGTH: return wire_left(reader) > 0 && wire_u8(reader) == wire_left(reader);
	case ELEMENT_SPACES:
		while (wire_left(reader) > 0 && *reader->at == ' ')
			wire_skip(reader, 1);
		return true;
	case ELEMENT_GAP: wire_skip(reader, element->width); return !reader->bad;
	case ELEMENT_TEXT:
	case ELEMENT_ANY: break;
	}
	return false; /* those of no fixed size are the caller's */
}

/* The last element that may grow, and what it holds so far. */
struct growing {
	const struct circuit_element *element; /* NULL = none: a mismatch is final */
	size_t index;
	struct wire_reader from; /* where it begins */
	size_t size;
};

/* Takes one byte more into it; false when it cannot. */
static bool circuit_wire_grow(struct growing *growing, struct wire_reader *reader)
{
	bool text = growing->element && growing->element->kind == ELEMENT_TEXT;

	if (!growing->element || growing->size >= wire_left(&growing->from) ||
	    (text && (growing->size + 1 >= CIRCUIT_TEXT_SIZE ||
		      !circuit_wire_plain(growing->from.at[growing->size]))))
		return false;
	growing->size++;
	*reader = growing->from;
	wire_skip(reader, growing->size);
	return true;
}

/* A text has at least one character. */
static bool circuit_wire_begin(struct growing *growing, const struct circuit_template *template,
			       size_t index, struct wire_reader *reader)
{
	*growing = (struct growing){&template->elements[index], index, *reader, 0};
	return template->elements[index].kind == ELEMENT_ANY || circuit_wire_grow(growing, reader);
}

static void circuit_wire_keep(const struct growing *growing, struct circuit_fields *fields)
{
	char *text;

	if (!growing->element || growing->element->kind != ELEMENT_TEXT)
		return;
	text = fields->texts[growing->element->field];
	memcpy(text, growing->from.at, growing->size);
	text[growing->size] = '\0';
}

bool circuit_match(const struct circuit_template *template, const void *bytes, size_t size,
		   struct circuit_fields *fields)
{
	struct wire_reader reader = wire_reader(bytes, size);
	struct circuit_fields found = *fields;
	struct growing growing = {0};
	size_t index = 0;

	if (size > CIRCUIT_BYTES_MAX)
		return false;
	while (index < template->count || wire_left(&reader) > 0) {
		const struct circuit_element *element =
			index < template->count ? &template->elements[index] : NULL;
		bool matched;

		if (element && (element->kind == ELEMENT_TEXT || element->kind == ELEMENT_ANY)) {
			struct growing next;

			matched = circuit_wire_begin(&next, template, index, &reader);
			if (matched) {
				circuit_wire_keep(&growing, &found);
				growing = next;
			}
		} else {
			matched = element && match_fixed(element, &reader, &found);
		}
		if (matched) {
			index++;
			continue;
		}
		if (!circuit_wire_grow(&growing, &reader))
			return false;
		index = growing.index + 1;
	}
	circuit_wire_keep(&growing, &found);
	*fields = found;
	return true;
}

/* --- formats --- */

/* One field of a format; text is static or in `scratch`. */
static int field_text(const char *name, const struct circuit_fields *fields, int32_t offset,
		      char scratch[WORD_SIZE], const char **ret)
{
	int field = enum_value(text_words, CIRCUIT_TEXTS, name);
	int64_t number;

	if (field >= 0) {
		*ret = fields->texts[field];
		return **ret ? 0 : E_NOT_FOUND;
	}
	field = enum_value(number_words, CIRCUIT_NUMBERS, name);
	if (field < 0)
		return E_MALFORMED;
	if (!fields->seen[field])
		return E_NOT_FOUND;
	number = (int64_t)fields->numbers[field] + (field == CIRCUIT_PORT ? offset : 0);
	if (number < 0)
		return E_INVALID;
	(void)text_format(scratch, WORD_SIZE, "%lld", (long long)number);
	*ret = scratch;
	return 0;
}

int circuit_format(const char *format, const struct circuit_fields *fields, int32_t offset,
		   char *ret, size_t room)
{
	char built[CIRCUIT_TEXT_SIZE];
	size_t used = 0;
	int absent = 0;

	while (*format) {
		char scratch[WORD_SIZE] = {*format, '\0'};
		const char *text = scratch;
		struct field_word word;
		int rc = 0;

		if (*format == '{') {
			format++;
			if (circuit_wire_read_word(&format, &word) || word.how[0])
				return E_MALFORMED;
			rc = field_text(word.name, fields, offset, scratch, &text);
		} else if (!circuit_wire_plain((uint8_t)*format++)) {
			return E_MALFORMED;
		}
		if (rc == E_MALFORMED)
			return rc;
		if (rc) {
			absent = absent ? absent : rc;
			continue;
		}
		if (!absent && strlen(text) >= sizeof(built) - used)
			return E_LIMIT;
		if (!absent) {
			memcpy(built + used, text, strlen(text));
			used += strlen(text);
		}
	}
	if (absent)
		return absent;
	built[used] = '\0';
	return text_copy(ret, room, built) ? 0 : E_LIMIT;
}

bool circuit_format_valid(const char *format)
{
	static const struct circuit_fields nothing;
	char ret[CIRCUIT_TEXT_SIZE];
	int rc = circuit_format(format, &nothing, 0, ret, sizeof(ret));

	return rc == 0 || rc == E_NOT_FOUND;
}

const char *circuit_bytes_text(const void *bytes, size_t size, char *ret)
{
	const uint8_t *at = bytes;
	bool printable = size > 0;

	for (size_t i = 0; i < size; i++)
		printable = printable && circuit_wire_plain(at[i]);
	if (!printable) {
		hex_encode(bytes, size, ret);
		return ret;
	}
	memcpy(ret, bytes, size);
	ret[size] = '\0';
	return ret;
}
