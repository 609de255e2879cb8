/* Checks the members of a JSON object against rows, and says what is wrong with each. Unknown
 * members are wrong. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/http/json_reader.h"

#include "portal/server/error_list.h"
#include "portal/server/word_table.h"

#define PACKAGES_MAX 16
#define SSH_KEYS_MAX 64

enum member_kind {
	MEMBER_TEXT, /* min..max bytes of UTF-8 */
	MEMBER_NAME, /* of nodes, tenants, subnets */
	MEMBER_INT,  /* min..max */
	MEMBER_BOOL,
	MEMBER_WORD, /* of `words` */
	MEMBER_MAC,  /* lower case with colons */
	MEMBER_IPV4,
	MEMBER_PREFIX,  /* 10.2.0.0/24, host bits zero */
	MEMBER_ADDRESS, /* 10.2.0.17/24, an address in its prefix */
	MEMBER_UUID,
	MEMBER_HEX,     /* max digits exactly */
	MEMBER_PIN,     /* a key's fingerprint: sha256//BASE64, or "" */
	MEMBER_IMAGE,   /* NAME or NAME:VERSION */
	MEMBER_PACKAGE, /* NAME:VERSION */
	MEMBER_OBJECT,  /* looked into by the caller */
	MEMBER_LIST,    /* min..max elements, looked into by the caller */
	MEMBER_ANY,
};

enum member_flag {
	MEMBER_REQUIRED = 1,
	MEMBER_NULLABLE = 2,
};

struct member_row {
	const char *name;
	enum member_kind kind;
	unsigned flags;
	int64_t min, max;
	const char *const *words; /* MEMBER_WORD, NULL-ended */
};

/* `pointer` is the JSON pointer (RFC 6901) of the object itself, "" for the body. */
void members_check(json_t *object, const struct member_row rows[], size_t count,
		   const char *pointer, struct error_list *errors);
/* Elements of a list that are one kind each (`row->name` is ignored); `unique` refuses what is
 * there twice. NULL list = nothing to do. */
void elements_check(const json_t *list, const struct member_row *row, bool unique,
		    const char *pointer, struct error_list *errors);
/* Elements of a list that are objects. */
void objects_check(const json_t *list, const struct member_row rows[], size_t count,
		   const char *pointer, struct error_list *errors);
/* params.packages of an install: NAME:VERSION, each once, PACKAGES_MAX at most. NULL or no list =
 * nothing to do. */
void packages_check(const json_t *packages, struct error_list *errors);
/* params.ssh_keys of an install: a public key each, SSH_KEYS_MAX at most; what is none is never told
 * again, since it may be a private one. NULL or no list = nothing to do. */
void ssh_keys_check(const json_t *keys, struct error_list *errors);
/* The same of lists elsewhere in a body. */
void packages_check_at(const json_t *packages, const char *pointer, struct error_list *errors);
void ssh_keys_check_at(const json_t *keys, const char *pointer, struct error_list *errors);
/* One text against a kind, for sheets. NULL = good, else what is allowed, in words (static or in
 * `room`). */
const char *member_text_check(const struct member_row *row, const char *value, char room[128]);
/* A JSON text of a C string; NULL when it is not UTF-8. */
json_t *json_of_utf8(const char *text);
