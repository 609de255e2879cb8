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
	COLUMN_NIC = 4,    /* of the row's NIC */
	COLUMN_MAC = 8,    /* any spelling of a MAC */
	COLUMN_SECRET = 16 /* no error repeats its value */
};

/* One column: the member it becomes and what it allows. */
struct sheet_column {
	const char *name;
	unsigned flags;
	struct member_row member;
};

/* clang-format off */
static const struct sheet_column node_sheet_columns[] = {
	{"name",             0,                          {"name",         MEMBER_NAME, MEMBER_REQUIRED, 0, 0, NULL}},
	{"class",            0,                          {"class",        MEMBER_TEXT, 0, 0, 63, NULL}},
	{"rack",             0,                          {"rack",         MEMBER_TEXT, 0, 0, 63, NULL}},
	{"unit",             0,                          {"unit",         MEMBER_INT,  0, 1, 100, NULL}},
	{"firmware",         0,                          {"firmware",     MEMBER_WORD, 0, 0, 0, node_firmware_words}},
	{"secure_boot",      0,                          {"secure_boot",  MEMBER_WORD, 0, 0, 0, node_secure_boot_words}},
	{"serial",           0,                          {"serial",       MEMBER_TEXT, 0, 0, 255, NULL}},
	{"nic",              COLUMN_NIC,                 {"name",         MEMBER_TEXT, 0, 1, 15, NULL}},
	{"mac",              COLUMN_NIC | COLUMN_MAC | COLUMN_UNIQUE, {"mac", MEMBER_MAC, 0, 0, 0, NULL}},
	{"bmc_driver",       COLUMN_BMC,                 {"driver",       MEMBER_WORD, 0, 0, 0, bmc_driver_words}},
	{"bmc_address",      COLUMN_BMC,                 {"address",      MEMBER_IPV4, 0, 0, 0, NULL}},
	{"bmc_port",         COLUMN_BMC,                 {"port",         MEMBER_INT,  0, 1, 65535, NULL}},
	{"bmc_username",     COLUMN_BMC,                 {"username",     MEMBER_TEXT, 0, 0, 16, NULL}},
	{"bmc_password",     COLUMN_BMC | COLUMN_SECRET, {"password",     MEMBER_TEXT, 0, 0, 20, NULL}},
	{"bmc_cipher_suite", COLUMN_BMC,                 {"cipher_suite", MEMBER_INT,  0, 0, 19, NULL}},
	{"bmc_insecure",     COLUMN_BMC,                 {"insecure",     MEMBER_BOOL, 0, 0, 0, NULL}},
	{"bmc_workarounds",  COLUMN_BMC,                 {"workarounds",  MEMBER_LIST, 0, 0, 16, NULL}},
	{"bmc_tls",          COLUMN_BMC,                 {"tls",          MEMBER_WORD, 0, 0, 0, bmc_tls_words}},
	{"bmc_fingerprint",  COLUMN_BMC,                 {"fingerprint",  MEMBER_PIN,  0, 0, 0, NULL}},
	{"bmc_uri",          COLUMN_BMC,                 {"uri",          MEMBER_TEXT, 0, 1, 127, NULL}},
};
/* clang-format on */

#define NODE_SHEET_NICS_MAX 32 /* as node_body_check has it */
#define NODE_SHEET_TOLD     48 /* bytes of a wrong value that an error repeats */

/* The sheet being read: which of its columns is which of ours, what was seen in unique ones, the
 * nodes so far and which of them has a name. */
struct sheet_state {
	const struct sheet *sheet;
	const struct sheet_column *of[SHEET_COLUMNS_MAX];
	size_t name_column;
	json_t *seen[SHEET_COLUMNS_MAX];
	json_t *specs;
	json_t *by_name;
	struct error_list *errors;
};

/* One row being read. `spec` is of its node, which an earlier row may have begun. */
struct row_state {
	size_t row;
	json_t *spec; /* NULL: the name is wrong */
	json_t *nic;
	bool first;     /* of its node */
	bool wrong_nic; /* a cell of the NIC is wrong, and told */
	bool at_odds;   /* told that it differs from an earlier row of the node */
};

static const struct sheet_column *node_sheet_column(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(node_sheet_columns); i++) {
		if (strcmp(node_sheet_columns[i].name, name) == 0)
			return &node_sheet_columns[i];
	}
	return NULL;
}

/* --- header --- */

/* Spreadsheets of some countries write semicolons into their CSV. */
static void node_sheet_refuse_column(struct error_list *errors, const char *name,
				     const char *allowed)
{
	if (strpbrk(name, ";\t"))
		error_list_cell(errors, 1, name, "this is one cell, its separators are no commas",
				"a CSV file with commas");
	else
		error_list_cell(errors, 1, name, "this column is not known", allowed);
}

static void node_sheet_read_header(struct sheet_state *state)
{
	struct text allowed = {0};
	bool named = false;

	for (size_t i = 0; i < COUNT_OF(node_sheet_columns); i++)
		text_addf(&allowed, "%s%s", i > 0 ? ", " : "", node_sheet_columns[i].name);
	for (size_t c = 0; c < state->sheet->column_count; c++) {
		const char *name = sheet_cell(state->sheet, 0, c);

		state->of[c] = node_sheet_column(name);
		if (!state->of[c])
			node_sheet_refuse_column(state->errors, name, text_get(&allowed));
		for (size_t before = 0; state->of[c] && before < c; before++) {
			if (state->of[before] == state->of[c])
				error_list_cell(state->errors, 1, name,
						"this column is there twice", NULL);
		}
		if (state->of[c] == &node_sheet_columns[0]) {
			state->name_column = c;
			named = true;
		}
	}
	if (!named && state->errors->count == 0) /* else an unknown one may be meant */
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

static const char *node_sheet_read_words(const char *text, json_t **ret, char room[128])
{
	const struct member_row word = {.kind = MEMBER_WORD, .words = bmc_workaround_words};
	CLEANUP(freep) char *copy = strdup(text);
	CLEANUP(json_decrefp) json_t *list = json_array();
	const char *allowed = NULL;
	char *rest = NULL;

	if (!copy || !list)
		return "fewer words";
	for (char *at = strtok_r(copy, " ", &rest); at && !allowed;
	     at = strtok_r(NULL, " ", &rest)) {
		allowed = member_text_check(&word, at, room);
		(void)json_array_append_new(list, json_of_utf8(at));
	}
	if (!allowed)
		*ret = TAKE(list);
	return allowed;
}

static const char *node_sheet_read_bool(const char *text, json_t **ret)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return "true or false";
	*ret = json_boolean(text[0] == 't');
	return NULL;
}

/* NULL = good and *ret set, else what is allowed. */
static const char *node_sheet_read_cell(const struct sheet_column *column, const char *text,
					json_t **ret, char room[128])
{
	char canonical[MAC_TEXT_SIZE];
	struct mac mac;
	const char *allowed;

	if (column->member.kind == MEMBER_INT)
		return node_sheet_read_number(&column->member, text, ret, room);
	if (column->member.kind == MEMBER_BOOL)
		return node_sheet_read_bool(text, ret);
	if (column->member.kind == MEMBER_LIST)
		return node_sheet_read_words(text, ret, room);
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

/* --- errors of cells: each names the wrong value and what is allowed --- */

/* `value` NULL: the message says it all. */
static void node_sheet_refuse(struct sheet_state *state, size_t row,
			      const struct sheet_column *column, const char *value,
			      const char *message, const char *allowed)
{
	char told[NODE_SHEET_TOLD + 160];

	if (value && column && !(column->flags & COLUMN_SECRET)) {
		(void)text_format(told, sizeof(told), "\"%.*s%s\" %s", NODE_SHEET_TOLD, value,
				  strlen(value) > NODE_SHEET_TOLD ? "..." : "", message);
		message = told;
	}
	error_list_cell(state->errors, row + 1, column ? column->name : "", message, allowed);
}

static bool node_sheet_seen_before(struct sheet_state *state, size_t column, const json_t *value,
				   size_t row)
{
	const char *text = json_string_value(value);
	const json_t *first;
	char message[64];

	if (!(state->of[column]->flags & COLUMN_UNIQUE) || !text)
		return false;
	if (!state->seen[column])
		state->seen[column] = json_object();
	first = json_object_get(state->seen[column], text);
	if (!first) {
		(void)json_object_set_new(state->seen[column], text,
					  json_integer((json_int_t)row + 1));
		return false;
	}
	(void)text_format(message, sizeof(message), "stands in row %lld too",
			  (long long)json_integer_value(first));
	node_sheet_refuse(state, row, state->of[column], text, message, "a MAC of its own");
	return true;
}

/* --- rows --- */

static long long node_sheet_first_row(const json_t *object)
{
	return (long long)json_integer_value(json_object_get(object, "row"));
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

/* Puts a value, and takes it, where node_put looks for it. An earlier row of the node may have it
 * already. */
static void node_sheet_place(struct sheet_state *state, struct row_state *row,
			     const struct sheet_column *column, const char *text, json_t *value)
{
	json_t *object = column->flags & COLUMN_NIC ? row->nic : row->spec;
	const json_t *before;
	char message[64];

	if (object && (column->flags & COLUMN_BMC))
		object = node_sheet_child(object, "bmc");
	before = json_object_get(object, column->member.name);
	if (before && !json_equal(before, value) && !row->at_odds) {
		row->at_odds = true;
		(void)text_format(message, sizeof(message), "%s in row %lld of the same node",
				  column->flags & COLUMN_SECRET ? "differs from the value"
								: "is another value than",
				  node_sheet_first_row(row->spec));
		node_sheet_refuse(state, row->row, column, text, message,
				  "rows of one node differ in nic and mac; a cell may be empty");
	}
	if (object && !before)
		(void)json_object_set_new(object, column->member.name, value);
	else
		json_decref(value);
}

static void node_sheet_read_cell_of(struct sheet_state *state, struct row_state *row, size_t c)
{
	const struct sheet_column *column = state->of[c];
	const char *text = sheet_cell(state->sheet, row->row, c);
	json_t *value = NULL;
	char room[128];
	const char *allowed = node_sheet_read_cell(column, text, &value, room);

	if (allowed)
		node_sheet_refuse(state, row->row, column, text, "is not allowed", allowed);
	if (!allowed && !node_sheet_seen_before(state, c, value, row->row)) {
		node_sheet_place(state, row, column, text, value);
		return;
	}
	row->wrong_nic = row->wrong_nic || (column->flags & COLUMN_NIC);
	json_decref(value);
}

/* The node that the row's name says; rows of one name are one node. */
static void node_sheet_find(struct sheet_state *state, struct row_state *row)
{
	const struct sheet_column *column = &node_sheet_columns[0];
	const char *name = sheet_cell(state->sheet, row->row, state->name_column);
	char room[128];
	const char *allowed = member_text_check(&column->member, name, room);

	if (name[0] == '\0') {
		node_sheet_refuse(state, row->row, column, NULL, "this cell is needed", allowed);
		return;
	}
	if (allowed) {
		node_sheet_refuse(state, row->row, column, name, "is not allowed", allowed);
		return;
	}
	row->spec = json_object_get(state->by_name, name);
	if (row->spec)
		return;
	row->first = true;
	row->spec = json_object();
	(void)json_object_set_new(row->spec, "row", json_integer((json_int_t)row->row + 1));
	(void)json_object_set_new(row->spec, "name", json_of_utf8(name));
	(void)json_object_set(state->by_name, name, row->spec);
	(void)json_array_append_new(state->specs, row->spec);
}

/* The NIC of this name that an earlier row has. */
static const json_t *node_sheet_nic(const json_t *nics, const char *name)
{
	const json_t *nic;
	size_t i;

	json_array_foreach(nics, i, nic)
	{
		if (strcmp(json_string_value(json_object_get(nic, "name")), name) == 0)
			return nic;
	}
	return NULL;
}

static void node_sheet_add_nic(json_t *spec, json_t *nic, const char *name, size_t row)
{
	json_t *nics = json_object_get(spec, "nics");

	if (!nics) {
		nics = json_array();
		(void)json_object_set_new(spec, "nics", nics);
	}
	(void)json_object_set_new(nic, "row", json_integer((json_int_t)row + 1));
	(void)json_object_set_new(nic, "name", json_of_utf8(name));
	(void)json_object_set_new(nic, "boot", json_boolean(json_array_size(nics) == 0));
	(void)json_array_append(nics, nic);
}

/* The first NIC of a node is the one it boots from, and may do without a name. */
static void node_sheet_finish_nic(struct sheet_state *state, const struct row_state *row)
{
	const json_t *nics = json_object_get(row->spec, "nics");
	const char *name = json_string_value(json_object_get(row->nic, "name"));
	bool mac = json_object_get(row->nic, "mac") != NULL;
	const json_t *other = node_sheet_nic(nics, name ? name : NODE_SHEET_DEFAULT_NIC);
	char message[96];

	if (mac && other) {
		(void)text_format(message, sizeof(message),
				  name ? "is the NIC in row %lld of this node too"
				       : "needed: row %lld has a NIC of this node",
				  node_sheet_first_row(other));
		node_sheet_refuse(state, row->row, node_sheet_column("nic"), name, message,
				  "each NIC of a node has a name of its own");
	} else if (mac && json_array_size(nics) == NODE_SHEET_NICS_MAX) {
		node_sheet_refuse(state, row->row, node_sheet_column("mac"), NULL,
				  "this node has too many NICs", "32 rows of one node");
	} else if (mac && row->spec) {
		node_sheet_add_nic(row->spec, row->nic, name ? name : NODE_SHEET_DEFAULT_NIC,
				   row->row);
	} else if (name && !mac) {
		node_sheet_refuse(state, row->row, node_sheet_column("mac"), NULL,
				  "needed: the row names a NIC", "a MAC like 52:54:00:00:00:17");
	} else if (row->spec && !row->first && !mac) {
		(void)text_format(message, sizeof(message),
				  "stands in row %lld too, and this row adds no NIC",
				  node_sheet_first_row(row->spec));
		node_sheet_refuse(state, row->row, &node_sheet_columns[0],
				  json_string_value(json_object_get(row->spec, "name")), message,
				  "a row for each node, and one for each further NIC of it");
	}
}

static void node_sheet_read_row(struct sheet_state *state, size_t number)
{
	struct row_state row = {.row = number, .nic = json_object()};

	node_sheet_find(state, &row);
	for (size_t c = 0; c < state->sheet->column_count; c++) {
		if (c != state->name_column && sheet_cell(state->sheet, number, c)[0] != '\0')
			node_sheet_read_cell_of(state, &row, c);
	}
	if (!row.wrong_nic && !row.at_odds)
		node_sheet_finish_nic(state, &row);
	json_decref(row.nic);
}

/* Two nodes cannot have one BMC. */
static void node_sheet_check_endpoints(struct sheet_state *state)
{
	CLEANUP(json_decrefp) json_t *endpoints = json_object();
	json_t *spec;
	size_t i;

	json_array_foreach(state->specs, i, spec)
	{
		const json_t *bmc = json_object_get(spec, "bmc");
		const char *address = json_string_value(json_object_get(bmc, "address"));
		const json_t *port = json_object_get(bmc, "port");
		const json_t *first;
		char key[64];
		char message[64];

		if (!address)
			continue;
		(void)text_format(key, sizeof(key), "%s %lld", address,
				  port ? (long long)json_integer_value(port) : 623LL);
		first = json_object_get(endpoints, key);
		if (first) {
			(void)text_format(message, sizeof(message),
					  "is the BMC in row %lld too, with the same port",
					  node_sheet_first_row(first));
			node_sheet_refuse(state, (size_t)node_sheet_first_row(spec) - 1,
					  node_sheet_column("bmc_address"), address, message,
					  "a BMC of its own");
		} else {
			(void)json_object_set(endpoints, key, spec);
		}
	}
}

int node_sheet_read(const struct sheet *sheet, json_t **ret, struct error_list *errors)
{
	CLEANUP(json_decrefp) json_t *specs = json_array();
	CLEANUP(json_decrefp) json_t *by_name = json_object();
	struct sheet_state state = {
		.sheet = sheet, .errors = errors, .specs = specs, .by_name = by_name};

	if (!specs || !by_name)
		return -ENOMEM;
	node_sheet_read_header(&state);
	if (errors->count > 0) /* cells of unknown columns say nothing */
		return E_INVALID;
	for (size_t row = 1; row < sheet->row_count; row++)
		node_sheet_read_row(&state, row);
	node_sheet_check_endpoints(&state);
	if (sheet->row_count == 1)
		error_list_cell(errors, 1, "name", "there is no row after the header", NULL);
	for (size_t c = 0; c < sheet->column_count; c++)
		json_decref(state.seen[c]);
	if (errors->count > 0)
		return E_INVALID;
	*ret = TAKE(specs);
	return 0;
}
