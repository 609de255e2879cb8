#include "portal/server/member_check.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/net/ipv4.h"
#include "common/net/mac.h"
#include "common/net/ssh_key_wire.h"

#define MEMBER_CHECK_POINTER_SIZE 256

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
static const char image_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
static const char version_letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";

/* --- texts --- */

static bool member_check_is_word(const char *text, size_t length, const char *letters,
				 const char *not_first)
{
	return length > 0 && length < NAME_SIZE && strspn(text, letters) >= length &&
	       !strchr(not_first, text[0]);
}

static bool is_mac(const char *text)
{
	char canonical[MAC_TEXT_SIZE];
	struct mac mac;

	return mac_parse(text, &mac) == 0 && strcmp(mac_text(mac, canonical), text) == 0;
}

static bool is_ipv4(const char *text)
{
	uint32_t address;

	return ipv4_parse(text, &address) == 0;
}

static bool is_prefix(const char *text)
{
	struct ipv4_prefix prefix;

	return ipv4_prefix_parse(text, &prefix) == 0;
}

static bool member_check_is_address(const char *text)
{
	char host[IPV4_TEXT_SIZE];
	const char *slash = strchr(text, '/');
	size_t digits = slash ? strspn(slash + 1, "0123456789") : 0;
	int length = 0;

	if (!slash || digits == 0 || digits > 2 || slash[1 + digits] != '\0' ||
	    slash - text >= IPV4_TEXT_SIZE)
		return false;
	for (size_t i = 1; i <= digits; i++)
		length = length * 10 + (slash[i] - '0');
	(void)text_format(host, sizeof(host), "%.*s", (int)(slash - text), text);
	return length <= 32 && is_ipv4(host);
}

static bool is_uuid(const char *text)
{
	if (strlen(text) != 36)
		return false;
	for (size_t i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !strchr("0123456789abcdefABCDEF", text[i]))
			return false;
	}
	return true;
}

/* As libcurl takes it for a pinned key: 32 bytes in base64. */
static bool is_pin(const char *text)
{
	static const char prefix[] = "sha256//";
	static const char base64[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	enum { DIGITS = 43 };

	if (text[0] == '\0')
		return true;
	return strncmp(text, prefix, sizeof(prefix) - 1) == 0 &&
	       strspn(text + sizeof(prefix) - 1, base64) == DIGITS &&
	       strcmp(text + sizeof(prefix) - 1 + DIGITS, "=") == 0;
}

static bool is_image(const char *text)
{
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);

	return member_check_is_word(text, length, image_letters, ".-") &&
	       (!colon ||
		member_check_is_word(colon + 1, strlen(colon + 1), version_letters, "._+-"));
}

static const char *check_length(const struct member_row *row, const char *value, char room[128])
{
	size_t length = strlen(value);

	if (length >= (size_t)row->min && length <= (size_t)row->max)
		return NULL;
	(void)snprintf(room, 128, "a text of %lld to %lld bytes", (long long)row->min,
		       (long long)row->max);
	return room;
}

static const char *check_hex(const struct member_row *row, const char *value, char room[128])
{
	if (strlen(value) == (size_t)row->max &&
	    strspn(value, "0123456789abcdef") == (size_t)row->max)
		return NULL;
	(void)snprintf(room, 128, "%lld lower-case hex digits", (long long)row->max);
	return room;
}

static const char *member_check_word(const struct member_row *row, const char *value,
				     char room[128])
{
	size_t at = 0;

	room[0] = '\0';
	for (const char *const *word = row->words; *word; word++) {
		int wrote;

		if (strcmp(*word, value) == 0)
			return NULL;
		wrote = snprintf(room + at, 128 - at, "%s%s", at > 0 ? ", " : "", *word);
		at = wrote > 0 && (size_t)wrote < 128 - at ? at + (size_t)wrote : 127;
	}
	return room;
}

const char *member_text_check(const struct member_row *row, const char *value, char room[128])
{
	switch (row->kind) {
	case MEMBER_TEXT: return check_length(row, value, room);
	case MEMBER_WORD: return member_check_word(row, value, room);
	case MEMBER_HEX: return check_hex(row, value, room);
	case MEMBER_NAME:
		return member_check_is_word(value, strlen(value), name_letters, "-")
			       ? NULL
			       : "1 to 63 of a-z 0-9 -, not beginning with -";
	case MEMBER_MAC: return is_mac(value) ? NULL : "a MAC like 52:54:00:00:00:17";
	case MEMBER_IPV4: return is_ipv4(value) ? NULL : "an IPv4 address like 10.2.0.17";
	case MEMBER_PREFIX:
		return is_prefix(value) ? NULL : "a prefix without host bits like 10.2.0.0/24";
	case MEMBER_ADDRESS:
		return member_check_is_address(value)
			       ? NULL
			       : "an address with its prefix length like 10.2.0.17/24";
	case MEMBER_UUID: return is_uuid(value) ? NULL : "a UUID";
	case MEMBER_PIN: return is_pin(value) ? NULL : "sha256//BASE64 of a public key, or nothing";
	case MEMBER_IMAGE: return is_image(value) ? NULL : "NAME or NAME:VERSION";
	case MEMBER_PACKAGE: return strchr(value, ':') && is_image(value) ? NULL : "NAME:VERSION";
	case MEMBER_INT:
	case MEMBER_BOOL:
	case MEMBER_OBJECT:
	case MEMBER_LIST:
	case MEMBER_ANY: break;
	}
	return NULL;
}

/* --- values --- */

static const char *check_int(const struct member_row *row, const json_t *value, char room[128])
{
	if (json_is_integer(value) && json_integer_value(value) >= row->min &&
	    json_integer_value(value) <= row->max)
		return NULL;
	(void)snprintf(room, 128, "a whole number from %lld to %lld", (long long)row->min,
		       (long long)row->max);
	return room;
}

static const char *member_check_list(const struct member_row *row, const json_t *value,
				     char room[128])
{
	if (json_is_array(value) && json_array_size(value) >= (size_t)row->min &&
	    json_array_size(value) <= (size_t)row->max)
		return NULL;
	(void)snprintf(room, 128, "a list of %lld to %lld", (long long)row->min,
		       (long long)row->max);
	return room;
}

/* NULL = good. A text with a NUL inside is never good: PostgreSQL has no place for it. */
static const char *check_value(const struct member_row *row, const json_t *value, char room[128])
{
	if (json_is_null(value))
		return row->flags & MEMBER_NULLABLE ? NULL : "a value, not null";
	switch (row->kind) {
	case MEMBER_INT: return check_int(row, value, room);
	case MEMBER_BOOL: return json_is_boolean(value) ? NULL : "true or false";
	case MEMBER_OBJECT: return json_is_object(value) ? NULL : "an object";
	case MEMBER_LIST: return member_check_list(row, value, room);
	case MEMBER_ANY: return NULL;
	case MEMBER_TEXT:
	case MEMBER_NAME:
	case MEMBER_WORD:
	case MEMBER_MAC:
	case MEMBER_IPV4:
	case MEMBER_PREFIX:
	case MEMBER_ADDRESS:
	case MEMBER_UUID:
	case MEMBER_HEX:
	case MEMBER_PIN:
	case MEMBER_IMAGE:
	case MEMBER_PACKAGE: break;
	}
	if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
		return "a text";
	return member_text_check(row, json_string_value(value), room);
}

static const struct member_row *member_check_row_of(const struct member_row rows[], size_t count,
						    const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	}
	return NULL;
}

/* RFC 6901: ~ and / of a member's name are written ~0 and ~1; what does not fit is cut. */
static void member_check_pointer_of(const char *parent, const char *name,
				    char ret[MEMBER_CHECK_POINTER_SIZE])
{
	size_t at;

	(void)text_format(ret, MEMBER_CHECK_POINTER_SIZE, "%s/", parent);
	for (at = strlen(ret); *name && at + 3 < MEMBER_CHECK_POINTER_SIZE; name++) {
		if (*name == '~' || *name == '/') {
			ret[at++] = '~';
			ret[at++] = *name == '~' ? '0' : '1';
		} else {
			ret[at++] = *name;
		}
	}
	ret[at] = '\0';
}

/* `allowed` of a word is the list of words. */
static void member_check_refuse(struct error_list *errors, const char *pointer,
				const struct member_row *row, const char *allowed)
{
	char message[160];

	if (row->kind != MEMBER_WORD) {
		error_list_value(errors, pointer, allowed);
		return;
	}
	(void)text_format(message, sizeof(message), "must be one of %s", allowed);
	error_list_pointer(errors, pointer, message, allowed);
}

void members_check(json_t *object, const struct member_row rows[], size_t count,
		   const char *pointer, struct error_list *errors)
{
	char path[MEMBER_CHECK_POINTER_SIZE];
	char room[128];
	const char *name;
	json_t *value;
	void *at;

	for (at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
		const struct member_row *row;
		const char *allowed;

		name = json_object_iter_key(at);
		value = json_object_iter_value(at);
		row = member_check_row_of(rows, count, name);
		member_check_pointer_of(pointer, name, path);
		allowed = row ? check_value(row, value, room) : NULL;
		if (!row)
			error_list_unknown(errors, path);
		else if (allowed)
			member_check_refuse(errors, path, row, allowed);
	}
	for (size_t i = 0; i < count; i++) {
		member_check_pointer_of(pointer, rows[i].name, path);
		if ((rows[i].flags & MEMBER_REQUIRED) && !json_object_get(object, rows[i].name))
			error_list_pointer(errors, path, "is needed", NULL);
	}
}

void elements_check(const json_t *list, const struct member_row *row, bool unique,
		    const char *pointer, struct error_list *errors)
{
	json_t *seen = unique ? json_object() : NULL;
	char path[MEMBER_CHECK_POINTER_SIZE];
	char number[24];
	char room[128];

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *value = json_array_get(list, i);
		const char *allowed = check_value(row, value, room);

		(void)text_format(number, sizeof(number), "%zu", i);
		member_check_pointer_of(pointer, number, path);
		if (allowed)
			member_check_refuse(errors, path, row, allowed);
		else if (seen && json_object_get(seen, json_string_value(value)))
			error_list_pointer(errors, path, "is there twice", NULL);
		else if (seen)
			(void)json_object_set_new(seen, json_string_value(value), json_true());
	}
	json_decref(seen);
}

void packages_check_at(const json_t *packages, const char *pointer, struct error_list *errors)
{
	static const struct member_row package = {.kind = MEMBER_PACKAGE};

	if (json_is_array(packages))
		elements_check(packages, &package, true, pointer, errors);
}

void packages_check(const json_t *packages, struct error_list *errors)
{
	packages_check_at(packages, "/params/packages", errors);
}

void ssh_keys_check(const json_t *keys, struct error_list *errors)
{
	ssh_keys_check_at(keys, "/params/ssh_keys", errors);
}

void ssh_keys_check_at(const json_t *keys, const char *pointer, struct error_list *errors)
{
	char path[MEMBER_CHECK_POINTER_SIZE];
	char message[128];

	for (size_t i = 0; json_is_array(keys) && i < json_array_size(keys); i++) {
		const json_t *key = json_array_get(keys, i);
		const char *what = json_is_string(key) ? ssh_key_refusal(json_string_value(key),
									 json_string_length(key))
						       : "no text";

		if (!what)
			continue;
		(void)text_format(path, sizeof(path), "%s/%zu", pointer, i);
		(void)text_format(message, sizeof(message), "it is %s", what);
		error_list_pointer(errors, path, message, "one line of a .pub file");
	}
}

void objects_check(const json_t *list, const struct member_row rows[], size_t count,
		   const char *pointer, struct error_list *errors)
{
	char path[MEMBER_CHECK_POINTER_SIZE];
	char number[24];

	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *value = json_array_get(list, i);

		(void)text_format(number, sizeof(number), "%zu", i);
		member_check_pointer_of(pointer, number, path);
		if (json_is_object(value))
			members_check(value, rows, count, path, errors);
		else
			error_list_value(errors, path, "an object");
	}
}

json_t *json_of_utf8(const char *text)
{
	return json_stringn(text, strlen(text));
}
