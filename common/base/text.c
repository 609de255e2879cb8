#include "common/base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64

/* Makes room for `size` more bytes and a NUL. */
static bool text_reserve(struct text *text, size_t size)
{
	size_t room = text->room ? text->room : FIRST_ROOM;
	char *data;

	if (text->failed)
		return false;
	if (text->data && size < text->room - text->size)
		return true;
	if (size >= SIZE_MAX / 4 - text->size) {
		text->failed = true;
		return false;
	}
	while (size >= room - text->size)
		room *= 2;
	data = realloc(text->data, room);
	if (!data) {
		text->failed = true;
		return false;
	}
	text->data = data;
	text->room = room;
	return true;
}

void text_add_bytes(struct text *text, const void *bytes, size_t size)
{
	if (!text_reserve(text, size))
		return;
	if (size > 0)
		memcpy(text->data + text->size, bytes, size);
	text->size += size;
	text->data[text->size] = '\0';
}

void text_add_percent(struct text *text, const char *word)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (; *word; word++) {
		if (strchr(plain, *word))
			text_add_bytes(text, word, 1);
		else
			text_addf(text, "%%%02X", (unsigned)(unsigned char)*word);
	}
}

void text_add(struct text *text, const char *string)
{
	text_add_bytes(text, string, strlen(string));
}

void text_addf(struct text *text, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length < 0) {
		text->failed = true;
		return;
	}
	if (!text_reserve(text, (size_t)length))
		return;
	va_start(arguments, format);
	(void)vsnprintf(text->data + text->size, (size_t)length + 1, format, arguments);
	va_end(arguments);
	text->size += (size_t)length;
}

void text_add_csv(struct text *text, const char *field)
{
	if (!strpbrk(field, ",\"\r\n")) {
		text_add(text, field);
		return;
	}
	text_add(text, "\"");
	for (; *field; field++)
		text_addf(text, *field == '"' ? "\"%c" : "%c", *field);
	text_add(text, "\"");
}

void text_clear(struct text *text)
{
	text->size = 0;
	text->failed = false;
	if (text->data)
		text->data[0] = '\0';
}

void text_done(struct text *text)
{
	free(text->data);
	*text = (struct text){0};
}

const char *text_get(const struct text *text)
{
	return text->data ? text->data : "";
}

char *text_take(struct text *text)
{
	char *data = NULL;

	if (text_reserve(text, 0)) {
		text->data[text->size] = '\0';
		data = TAKE(text->data);
	}
	text_done(text);
	return data;
}

void text_blank_controls(char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		unsigned char next = i + 1 < size ? (unsigned char)bytes[i + 1] : 0;

		if (byte == 0xc2 && next >= 0x80 && next <= 0x9f)
			bytes[i] = bytes[i + 1] = ' ';
		else if (byte < 0x20 || byte == 0x7f)
			bytes[i] = ' ';
	}
}

bool text_copy(char *ret, size_t room, const char *string)
{
	size_t length = strnlen(string, room);
	bool fits = length < room;

	if (room == 0)
		return false;
	if (!fits)
		length = room - 1;
	memcpy(ret, string, length);
	ret[length] = '\0';
	return fits;
}

bool text_format(char *ret, size_t room, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(ret, room, format, arguments);
	va_end(arguments);
	return length >= 0 && (size_t)length < room;
}
