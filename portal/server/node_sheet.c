#include "portal/server/node_sheet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/net/mac.h"

#include "portal/server/member_check.h"
#include "portal/server/word_table.h"

#define NODE_SHEET_DEFAULT_NIC "eth0"

enum column_flag {
	COLUMN_UNIQUE = 1, /* no two rows may have the same value */
	COLUMN_BMC = 2,    /* a member of "bmc" */
	COLUMN_NIC = 4,    /* makes the boot NIC */
	COLUMN_MAC = 8,    /* any spelling of a MAC */
};

/* One column: the member it becomes and what it allows. */
struct sheet_column {
	const char *name;
	unsigned flags;
	struct member_row member;
};

/* clang-format off */
static const struct sheet_column node_sheet_columns[] = {
	{"name",             COLUMN_UNIQUE,              {"name",         MEMBER_NAME, MEMBER_REQUIRED, 0, 0, NULL}},
	{"class",            0,                          {"class",        MEMBER_TEXT, 0, 0, 63, NULL}},
	{"rack",             0,                          {"rack",         MEMBER_TEXT, 0, 0, 63, NULL}},
	{"unit",             0,                          {"unit",         MEMBER_INT,  0, 1, 100, NULL}},
	{"firmware",         0,                          {"firmware",     MEMBER_WORD, 0, 0, 0, node_firmware_words}},
	{"serial",           0,                          {"serial",       MEMBER_TEXT, 0, 0, 255, NULL}},
	{"nic",              COLUMN_NIC,                 {"name",         MEMBER_TEXT, 0, 1, 15, NULL}},
	{"mac",              COLUMN_NIC | COLUMN_MAC | COLUMN_UNIQUE, {"mac", MEMBER_MAC, 0, 0, 0, NULL}},
	{"bmc_driver",       COLUMN_BMC,                 {"driver",       MEMBER_WORD, 0, 0, 0, bmc_driver_words}},
	{"bmc_address",      COLUMN_BMC,                 {"address",      MEMBER_IPV4, 0, 0, 0, NULL}},
	{"bmc_port",         COLUMN_BMC,                 {"port",         MEMBER_INT,  0, 1, 65535, NULL}},
	{"bmc_username",     COLUMN_BMC,                 {"username",     MEMBER_TEXT, 0, 0, 16, NULL}},
	{"bmc_password",     COLUMN_BMC,                 {"password",     MEMBER_TEXT, 0, 0, 20, NULL}},
	{"bmc_cipher_suite", COLUMN_BMC,                 {"cipher_suite", MEMBER_INT,  0, 0, 19, NULL}},
	{"bmc_workarounds",  COLUMN_BMC,                 {"workarounds",  MEMBER_LIST, 0, 0, 16, NULL}},
	{"bmc_tls",          COLUMN_BMC,                 {"tls",          MEMBER_WORD, 0, 0, 0, bmc_tls_words}},
	{"bmc_fingerprint",  COLUMN_BMC,                 {"fingerprint",  MEMBER_PIN,  0, 0, 0, NULL}},
	{"bmc_uri",          COLUMN_BMC,                 {"uri",          MEMBER_TEXT, 0, 1, 127, NULL}},
};
/* clang-format on */

/* The sheet being read: which of its columns is which of ours, and what was seen in unique ones. */
struct sheet_state {
	const struct sheet *sheet;
	const struct sheet_column *of[SHEET_COLUMNS_MAX];
	json_t *seen[SHEET_COLUMNS_MAX];
	struct error_list *errors;
};

static const struct sheet_column *column_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(node_sheet_columns); i++) {
		if (strcmp(node_sheet_columns[i].name, name) == 0)
			return &node_sheet_columns[i];
	}
	return NULL;
}

/* --- header --- */

static void node_sheet_read_header(struct sheet_state *state)
{
	struct text allowed = {0};
	bool named = false;

	for (size_t i = 0; i < COUNT_OF(node_sheet_columns); i++)
		text_addf(&allowed, "%s%s", i > 0 ? ", " : "", node_sheet_columns[i].name);
	for (size_t c = 0; c < state->sheet->column_count; c++) {
		const char *name = sheet_cell(state->sheet, 0, c);

		state->of[c] = column_find(name);
		if (!state->of[c])
			error_list_cell(state->errors, 1, name, "this column is not known",
					text_get(&allowed));
		for (size_t before = 0; state->of[c] && before < c; before++) {
			if (state->of[before] == state->of[c])
				error_list_cell(state->errors, 1, name,
						"this column is there twice", NULL);
		}
		named = named || state->of[c] == &node_sheet_columns[0];
	}
	if (!named)
		error_list_cell(state->errors, 1, "name", "this column is needed", NULL);
	text_done(&allowed);
}

/* --- cells --- */

static const char *node_sheet_read_number(const struct member_row *member, const char *text,
					  json_t **ret, char room[128])
{
	size_t digits = strspn(text, "0123456789");
	long long value =
		digits > 0 && digits < 10 && text[digits] == '\0' ? strtoll(text, NULL, 10) : -1;

	if (value < member->min || value > member->max) {
		(void)text_format(room, 128, "a whole number from %lld to %lld",
				  (long long)member->min, (long long)member->max);
		return room;
	}
	*ret = json_integer(value);
	return NULL;
}

static const char *read_words(char *text, json_t **ret, char room[128])
{
	const struct member_row word = {.kind = MEMBER_WORD, .words = bmc_workaround_words};
	json_t *list = json_array();
	const char *allowed = NULL;
	char *rest = NULL;

	for (char *at = strtok_r(text, " ", &rest); at && !allowed;
	     at = strtok_r(NULL, " ", &rest)) {
		allowed = member_text_check(&word, at, room);
		(void)json_array_append_new(list, json_of_utf8(at));
	}
	if (allowed)
		json_decref(list);
	else
		*ret = list;
	return allowed;
}

/* NULL = good and *ret set, else what is allowed. */
static const char *node_sheet_read_cell(const struct sheet_column *column, char *text, json_t **ret,
					char room[128])
{
	char canonical[MAC_TEXT_SIZE];
	struct mac mac;
	const char *allowed;

	if (column->member.kind == MEMBER_INT)
		return node_sheet_read_number(&column->member, text, ret, room);
	if (column->member.kind == MEMBER_LIST)
		return read_words(text, ret, room);
	if (column->flags & COLUMN_MAC) {
		if (mac_parse(text, &mac) != 0)
			return "a MAC like 52:54:00:00:00:17";
		*ret = json_of_utf8(mac_text(mac, canonical));
		return NULL;
	}
	allowed = member_text_check(&column->member, text, room);
	if (!allowed)
		*ret = json_of_utf8(text);
	if (!allowed && !*ret)
		return "text in UTF-8";
	return allowed;
}

static bool seen_before(struct sheet_state *state, size_t column, const json_t *value, size_t row)
{
	const char *text = json_string_value(value);
	const json_t *first;

	if (!(state->of[column]->flags & COLUMN_UNIQUE) || !text)
		return false;
	if (!state->seen[column])
		state->seen[column] = json_object();
	first = json_object_get(state->seen[column], text);
	if (first) {
		char message[64];

		(void)text_format(message, sizeof(message), "row %lld has this too",
				  (long long)json_integer_value(first));
		error_list_cell(state->errors, row + 1, state->of[column]->name, message, NULL);
		return true;
	}
	(void)json_object_set_new(state->seen[column], text, json_integer((json_int_t)row + 1));
	return false;
}

static json_t *node_sheet_child(json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	if (!value) {
		value = json_object();
		(void)json_object_set_new(object, name, value);
	}
	return value;
}

/* Puts a value where node_put looks for it. */
static void node_sheet_place(json_t *spec, json_t *nic, const struct sheet_column *column,
			     json_t *value)
{
	json_t *object = column->flags & COLUMN_BMC   ? node_sheet_child(spec, "bmc")
			 : column->flags & COLUMN_NIC ? nic
						      : spec;

	(void)json_object_set_new(object, column->member.name, value);
}

static void node_sheet_check_endpoint(struct sheet_state *state, json_t *spec, json_t *endpoints,
				      size_t row)
{
	const json_t *bmc = json_object_get(spec, "bmc");
	const char *address = json_string_value(json_object_get(bmc, "address"));
	const json_t *port = json_object_get(bmc, "port");
	char key[64];

	if (!address)
		return;
	(void)text_format(key, sizeof(key), "%s %lld", address,
			  port ? (long long)json_integer_value(port) : 623LL);
	if (json_object_get(endpoints, key))
		error_list_cell(state->errors, row + 1, "bmc_address",
				"another row has the same BMC address and port", NULL);
	(void)json_object_set_new(endpoints, key, json_true());
}

static void finish_nic(struct sheet_state *state, json_t *spec, json_t *nic, size_t row)
{
	json_t *list;

	if (json_object_get(nic, "mac")) {
		if (!json_object_get(nic, "name"))
			(void)json_object_set_new(nic, "name",
						  json_of_utf8(NODE_SHEET_DEFAULT_NIC));
		(void)json_object_set_new(nic, "boot", json_true());
		list = json_array();
		(void)json_array_append(list, nic);
		(void)json_object_set_new(spec, "nics", list);
	} else if (json_object_get(nic, "name")) {
		error_list_cell(state->errors, row + 1, "mac", "needed: the row names a NIC",
				"a MAC like 52:54:00:00:00:17");
	}
}

static json_t *node_sheet_read_row(struct sheet_state *state, size_t row)
{
	json_t *spec = json_object();
	json_t *nic = json_object();
	char room[128];

	(void)json_object_set_new(spec, "row", json_integer((json_int_t)row + 1));
	for (size_t c = 0; c < state->sheet->column_count; c++) {
		const struct sheet_column *column = state->of[c];
		char *text = sheet_cell(state->sheet, row, c);
		json_t *value = NULL;
		const char *allowed;

		if (text[0] == '\0') {
			if (column->member.flags & MEMBER_REQUIRED)
				error_list_cell(state->errors, row + 1, column->name,
						"this cell is needed", NULL);
			continue;
		}
		allowed = node_sheet_read_cell(column, text, &value, room);
		if (allowed)
			error_list_cell(state->errors, row + 1, column->name,
					"this value is not allowed", allowed);
		else if (seen_before(state, c, value, row))
			json_decref(value);
		else
			node_sheet_place(spec, nic, column, value);
	}
	finish_nic(state, spec, nic, row);
	json_decref(nic);
	return spec;
}

int node_sheet_read(const struct sheet *sheet, json_t **ret, struct error_list *errors)
{
	struct sheet_state state = {.sheet = sheet, .errors = errors};
	CLEANUP(json_decrefp) json_t *specs = json_array();
	CLEANUP(json_decrefp) json_t *endpoints = json_object();

	if (!specs || !endpoints)
		return -ENOMEM;
	node_sheet_read_header(&state);
	if (errors->count > 0) /* cells of unknown columns say nothing */
		return E_INVALID;
	for (size_t row = 1; row < sheet->row_count; row++) {
		json_t *spec = node_sheet_read_row(&state, row);

		node_sheet_check_endpoint(&state, spec, endpoints, row);
		(void)json_array_append_new(specs, spec);
	}
	if (sheet->row_count == 1)
		error_list_cell(errors, 1, "name", "there is no row after the header", NULL);
	for (size_t c = 0; c < sheet->column_count; c++)
		json_decref(state.seen[c]);
	if (errors->count > 0)
		return E_INVALID;
	*ret = TAKE(specs);
	return 0;
}
