/* Messages of OVSDB as JSON, and its notation of values (RFC 7047, 4 and 5.1): an atom stands for a
 * set of one, ["set", [...]], ["map", [[k, v], ...]], ["uuid", "..."]. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/http/json_reader.h"

#include "peregrine/switch/ovsdb/ovsdb_wire.h"

/* --- messages --- */

enum { OVSDB_MESSAGE_VALUES = 1 << 20 }; /* a hundred bytes each in memory */

/* The next message of a stream; *ret NULL: not whole yet. E_MALFORMED, E_LIMIT. */
MUST_USE int ovsdb_json_next(struct ovsdb_stream *stream, json_t **ret, struct problem *problem);

enum ovsdb_message_kind {
	OVSDB_ANSWER,  /* to a request of ours: id, result, error */
	OVSDB_REQUEST, /* of the server: method, params, id ("echo") */
	OVSDB_NOTICE,  /* of the server, with no answer wanted: id null ("update") */
	OVSDB_NONSENSE,
};
/* All borrowed from the message. */
struct ovsdb_message {
	enum ovsdb_message_kind kind;
	const char *method;
	const json_t *id, *params, *result, *error; /* error NULL: none */
};
struct ovsdb_message ovsdb_message_read(const json_t *message);

/* --- values --- */

/* The i-th element of a set or an atom; NULL past its end. */
const json_t *ovsdb_element(const json_t *value, size_t i);
/* Of a column of a row. The fall-back when it is absent, empty or something else. */
json_int_t ovsdb_integer(const json_t *row, const char *column, json_int_t none);
const char *ovsdb_string(const json_t *row, const char *column);
bool ovsdb_boolean(const json_t *row, const char *column);
/* "" when the map lacks it. */
const char *ovsdb_map_value(const json_t *row, const char *column, const char *key);
/* The i-th pair of a map; false past its end. Pairs that are no strings are "", "". */
bool ovsdb_map_pair(const json_t *row, const char *column, size_t i, const char **ret_key,
		    const char **ret_value);
/* Of ["uuid", "..."]; "" for anything else. */
const char *ovsdb_uuid(const json_t *value);
