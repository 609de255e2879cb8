/* Option 82 as text and numbers: RFC 3046 leaves the bytes of circuit-id (3.1) and remote-id (3.2)
 * to each vendor, so how to read them is data. A template says it, byte by byte:
 *
 *   abc \x01 \\ \{   literal bytes
 *   {vlan} {chassis} {slot} {module} {port}     decimal digits
 *   {port:1} {vlan:2} {port:4}                  a big-endian number of so many bytes
 *   {switch} {name} {text}   one or more printable characters, as few as will do
 *   {mac} {mac:text}         six bytes; twelve hex digits, with separators or without
 *   {length}                 a byte that counts all that follows
 *   { } {*} {#2}             spaces or none; anything; two bytes of anything
 *
 * Matching looks at each byte at most once per character of the last text field: 255 bytes at most
 * against 128 elements. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define CIRCUIT_BYTES_MAX    255 /* of a sub-option */
#define CIRCUIT_TEXT_SIZE    64  /* of a text field, with NUL */
#define CIRCUIT_ELEMENTS_MAX 128

enum circuit_number {
	CIRCUIT_VLAN,
	CIRCUIT_CHASSIS,
	CIRCUIT_SLOT,
	CIRCUIT_MODULE,
	CIRCUIT_PORT,
	CIRCUIT_NUMBERS
};

enum circuit_text { CIRCUIT_SWITCH, CIRCUIT_NAME, CIRCUIT_TEXT, CIRCUIT_MAC, CIRCUIT_TEXTS };

struct circuit_fields {
	bool seen[CIRCUIT_NUMBERS];
	uint32_t numbers[CIRCUIT_NUMBERS];
	/* Printable ASCII without quotes and backslashes; "" = absent. The MAC in lower case with
	 * colons. */
	char texts[CIRCUIT_TEXTS][CIRCUIT_TEXT_SIZE];
};

struct circuit_element {
	uint8_t kind;
	uint8_t field;
	uint8_t width; /* bytes of a number or a gap */
	uint8_t literal;
};

/* A template ready to match; a value. */
struct circuit_template {
	struct circuit_element elements[CIRCUIT_ELEMENTS_MAX];
	size_t count;
};

/* E_MALFORMED with *ret_why (static text), E_LIMIT. An empty text is a template that only matches
 * no bytes. */
MUST_USE int circuit_template_parse(const char *text, struct circuit_template *ret,
				    const char **ret_why);
/* All of the bytes must match. Fields are added to *fields, which is unchanged when they do not. */
bool circuit_match(const struct circuit_template *template, const void *bytes, size_t size,
		   struct circuit_fields *fields);

/* "{slot}/{port}", "sw2", "{switch}": literals and fields, written out. E_MALFORMED for a field
 * that does not exist (checked first: an empty `fields` will do), E_NOT_FOUND for one that is
 * absent, E_LIMIT when it does not fit. `offset` is added to {port}; E_INVALID when that is no port
 * any more. */
MUST_USE int circuit_format(const char *format, const struct circuit_fields *fields, int32_t offset,
			    char *ret, size_t room);
/* Is it one that circuit_format can write? */
bool circuit_format_valid(const char *format);

/* Bytes for people: a printable text as it is, else hex. `ret` holds 2 * size + 1. */
const char *circuit_bytes_text(const void *bytes, size_t size, char *ret);
