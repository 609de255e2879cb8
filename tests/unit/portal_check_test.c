// links: portal_server
/* What the API lets through: members of bodies, query parameters, sheets, manifests; and that the
 * table of routes is sound. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/db/db.h"

#include "portal/server/conflict.h"
#include "portal/server/member_check.h"
#include "portal/server/node_sheet.h"
#include "portal/server/node_spec.h"
#include "portal/server/query_policy.h"
#include "portal/server/seal.h"
#include "tests/support/cmocka.h"

static const char *const colors[] = {"red", "blue", NULL};

static void test_texts(void **state)
{
	/* clang-format off */
	static const struct {
		struct member_row row;
		const char *value;
		bool good;
	} cases[] = {
		{{.kind = MEMBER_NAME}, "n-17", true},
		{{.kind = MEMBER_NAME}, "-n17", false},
		{{.kind = MEMBER_NAME}, "N17", false},
		{{.kind = MEMBER_NAME}, "", false},
		{{.kind = MEMBER_MAC}, "52:54:00:00:00:0a", true},
		{{.kind = MEMBER_MAC}, "52:54:00:00:00:0A", false},
		{{.kind = MEMBER_MAC}, "5254.0000.000a", false},
		{{.kind = MEMBER_IPV4}, "10.2.0.1", true},
		{{.kind = MEMBER_IPV4}, "10.2.0.256", false},
		{{.kind = MEMBER_PREFIX}, "10.2.0.0/24", true},
		{{.kind = MEMBER_PREFIX}, "10.2.0.1/24", false},
		{{.kind = MEMBER_ADDRESS}, "10.2.0.1/24", true},
		{{.kind = MEMBER_ADDRESS}, "10.2.0.1/33", false},
		{{.kind = MEMBER_ADDRESS}, "10.2.0.1/", false},
		{{.kind = MEMBER_ADDRESS}, "10.2.0.1", false},
		{{.kind = MEMBER_ADDRESS}, "/24", false},
		{{.kind = MEMBER_UUID}, "00112233-4455-6677-8899-aabbccddeeff", true},
		{{.kind = MEMBER_UUID}, "00112233-4455-6677-8899-aabbccddeefg", false},
		{{.kind = MEMBER_UUID}, "00112233445566778899aabbccddeeff", false},
		{{.kind = MEMBER_HEX, .max = 4}, "00ff", true},
		{{.kind = MEMBER_HEX, .max = 4}, "00FF", false},
		{{.kind = MEMBER_HEX, .max = 4}, "00fff", false},
		{{.kind = MEMBER_IMAGE}, "demo", true},
		{{.kind = MEMBER_IMAGE}, "demo:1.0-rc1", true},
		{{.kind = MEMBER_IMAGE}, "demo:", false},
		{{.kind = MEMBER_IMAGE}, ":1", false},
		{{.kind = MEMBER_IMAGE}, "demo:1:2", false},
		{{.kind = MEMBER_IMAGE}, "../demo", false},
		{{.kind = MEMBER_WORD, .words = colors}, "blue", true},
		{{.kind = MEMBER_WORD, .words = colors}, "blu", false},
		{{.kind = MEMBER_TEXT, .min = 1, .max = 3}, "abc", true},
		{{.kind = MEMBER_TEXT, .min = 1, .max = 3}, "abcd", false},
		{{.kind = MEMBER_TEXT, .min = 1, .max = 3}, "", false},
	};
	/* clang-format on */
	char room[128];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *allowed = member_text_check(&cases[i].row, cases[i].value, room);

		if ((allowed == NULL) != cases[i].good)
			fail_msg("case %zu, \"%s\": %s", i, cases[i].value,
				 allowed ? allowed : "let through");
	}
}

static void check_body(const char *body, bool patch, const char *pointers)
{
	struct error_list errors = {0};
	struct problem problem = {0};
	json_t *json = NULL;
	json_t *item;
	size_t i;
	char told[512] = "";

	assert_int_equal(json_read(body, strlen(body), JSON_LIMIT_DEFAULT, &json, &problem), 0);
	node_body_check(json, patch, &errors);
	json_decref(json);
	json_array_foreach(errors.items, i, item)
	{
		(void)strncat(told, json_string_value(json_object_get(item, "pointer")), 100);
		(void)strncat(told, " ", 2);
	}
	assert_string_equal(told, pointers);
	error_list_done(&errors);
}

static void test_node_bodies(void **state)
{
	(void)state;
	check_body("{\"name\":\"n1\"}", false, "");
	check_body("{}", false, "/name ");
	check_body("{}", true, " ");
	check_body("{\"class\":\"a\"}", true, "");
	check_body("{\"name\":\"n1\",\"class\":\"a\"}", true, "/name ");
	check_body("{\"name\":\"n1\",\"unit\":null,\"class\":null}", false, "/class ");
	check_body("{\"name\":\"n1\",\"unit\":1.5}", false, "/unit ");
	check_body("{\"name\":\"n1\",\"a/b~c\":1}", false, "/a~1b~0c ");
	check_body(
		"{\"name\":\"n1\",\"nics\":[{\"name\":\"a\",\"mac\":\"52:54:00:00:00:01\",\"boot\":true},"
		"{\"name\":\"b\",\"mac\":\"52:54:00:00:00:02\",\"boot\":true}]}",
		false, "/nics ");
	check_body(
		"{\"name\":\"n1\",\"nics\":[{\"name\":\"a\",\"mac\":\"52:54:00:00:00:01\"},{\"name\":\"a\"}, 7]}",
		false, "/nics/1/mac /nics/2 /nics ");
	check_body("{\"name\":\"n1\",\"nics\":{}}", false, "/nics ");
	check_body("{\"name\":\"n1\",\"bmc\":{\"password\":\"x\"}}", false, "/bmc/address ");
	check_body("{\"bmc\":{\"password\":\"x\"}}", true, "");
	check_body("{\"bmc\":{\"workarounds\":[\"authcap\",\"authcap\",\"nonsense\"],\"port\":0}}",
		   true, "/bmc/port /bmc/workarounds/1 /bmc/workarounds/2 ");
	check_body("{\"bmc\":null}", true, "/bmc ");
}

/* What a refusal of a body says of `pointer`: "given|message". */
static const char *check_told(const char *body, const char *pointer, char ret[256])
{
	static const struct member_row rows[] = {
		{"count", MEMBER_INT, MEMBER_REQUIRED, 1, 64, NULL},
		{"name", MEMBER_NAME, 0, 0, 0, NULL},
		{"color", MEMBER_WORD, MEMBER_NULLABLE, 0, 0, colors},
		{"password", MEMBER_TEXT, 0, 0, 3, NULL},
		{"list", MEMBER_LIST, 0, 0, 1, NULL},
	};
	struct error_list errors = {0};
	struct problem problem = {0};
	struct text text = {0};
	json_t *json = NULL;
	json_t *list = NULL;
	json_t *item;
	size_t i;

	assert_int_equal(json_read(body, strlen(body), JSON_LIMIT_DEFAULT, &json, &problem), 0);
	members_check(json, rows, COUNT_OF(rows), "", &errors);
	error_list_write(&errors, json, &text);
	assert_int_equal(json_read(text_get(&text), text.size, JSON_LIMIT_DEFAULT, &list, &problem),
			 0);
	ret[0] = '\0';
	json_array_foreach(list, i, item)
	{
		const char *given = json_string_value(json_object_get(item, "given"));

		if (strcmp(json_string_value(json_object_get(item, "pointer")), pointer) == 0)
			(void)snprintf(ret, 256, "%s|%s", given ? given : "-",
				       json_string_value(json_object_get(item, "message")));
	}
	json_decref(list);
	json_decref(json);
	text_done(&text);
	error_list_done(&errors);
	return ret;
}

/* Findings, user 24: the wrong value is repeated, bounded, and never that of a secret. */
static void test_given(void **state)
{
	static const char count[] = "must be a whole number from 1 to 64";
	char told[256];
	char wanted[256];

	(void)state;
	(void)snprintf(wanted, sizeof(wanted), "0|%s", count);
	assert_string_equal(check_told("{\"count\":0}", "/count", told), wanted);
	(void)snprintf(wanted, sizeof(wanted), "true|%s", count);
	assert_string_equal(check_told("{\"count\":true}", "/count", told), wanted);
	assert_string_equal(check_told("{}", "/count", told), "-|is needed");
	assert_string_equal(check_told("{\"count\":1,\"color\":\"pink\"}", "/color", told),
			    "pink|must be one of red, blue");
	assert_string_equal(check_told("{\"count\":1,\"list\":[1,2]}", "/list", told),
			    "-|must be a list of 0 to 1");
	assert_string_equal(check_told("{\"count\":1,\"password\":\"1234\"}", "/password", told),
			    "-|must be a text of 0 to 3 bytes");
	/* a misspelled name may stand before a password */
	assert_string_equal(check_told("{\"count\":1,\"pasword\":\"1234\"}", "/pasword", told),
			    "-|is not known");
	(void)check_told(
		"{\"count\":1,\"name\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaa\u00e9\u00e9\u00e9\u00e9\u00e9\"}",
		"/name", told);
	assert_non_null(strstr(told, "a...|must be 1 to 63"));
}

static void explain(const char *message, int status, const char *sentence)
{
	struct problem problem = {0};
	int got;

	(void)problem_set(&problem, E_CONFLICT, "%s", message);
	problem_detail(&problem, "Failing row contains (3, bad-fan)");
	got = conflict_explain(&problem);
	if (got == 0)
		got = conflict_generic(&problem);
	assert_int_equal(got, status);
	assert_string_equal(problem.message, sentence);
	if (status == 0)
		return;
	assert_string_equal(problem.detail, "");
	assert_true(problem.hint[0] != '\0');
}

/* Findings, user 23: neither the words of PostgreSQL nor its rows reach a client. */
static void test_conflicts(void **state)
{
	(void)state;
	explain(DB_STRANGE "23P01 subnet.subnets_are_disjoint: conflicting key value", 409,
		"the prefix overlaps that of another subnet");
	explain(DB_STRANGE "23514 health_label.health_label_label_check: new row", 422,
		"a health label is one word");
	explain(DB_STRANGE "23505 nic.nic_foo_key: duplicate key value", 409,
		"the foo of the nic is taken");
	explain(DB_STRANGE "23503 node.node_rack_id_fkey: insert or update", 409,
		"the rack of the node does not exist, or is in use");
	explain(DB_STRANGE "23514 node.node_arch_check1: new row", 422,
		"the arch of the node is not allowed");
	explain(DB_STRANGE "23502 case_file.text: null value", 422,
		"the text of the case file is needed");
	explain(DB_STRANGE "23505 tenant.tenant_pkey: duplicate", 409,
		"the name of the tenant is taken");
	explain(DB_STRANGE "22003 .: bigint out of range", 422,
		"a value of the request cannot be stored");
	explain(DB_STRANGE "42P01 .: relation \"x\" does not exist", 500,
		"the database did not understand portald");
	explain("node n9 does not exist", 0, "node n9 does not exist");
}

static void test_queries(void **state)
{
	/* clang-format off */
	static const struct {
		struct query_row row;
		const char *value, *wanted; /* wanted NULL = refused, "-" = SQL NULL */
	} cases[] = {
		{{.name = "q", .kind = QUERY_LIMIT, .fallback = "100"}, NULL, "100"},
		{{.name = "q", .kind = QUERY_LIMIT, .fallback = "100"}, "1000", "1000"},
		{{.name = "q", .kind = QUERY_LIMIT, .fallback = "100"}, "1001", NULL},
		{{.name = "q", .kind = QUERY_LIMIT, .fallback = "100"}, "0", NULL},
		{{.name = "q", .kind = QUERY_LIMIT, .fallback = "100"}, "", NULL},
		{{.name = "q", .kind = QUERY_LIMIT, .fallback = "100"}, "+5", NULL},
		{{.name = "q", .kind = QUERY_ID}, NULL, "-"},
		{{.name = "q", .kind = QUERY_ID}, "17", "17"},
		{{.name = "q", .kind = QUERY_ID}, "017", NULL},
		{{.name = "q", .kind = QUERY_ID}, "9999999999999999999", NULL},
		{{.name = "q", .kind = QUERY_OFFSET, .required = true}, NULL, NULL},
		{{.name = "q", .kind = QUERY_OFFSET, .required = true}, "0", "0"},
		{{.name = "q", .kind = QUERY_BOOL}, "true", "true"},
		{{.name = "q", .kind = QUERY_TIME}, "2026-11-01", "2026-11-01T00:00:00Z"},
		{{.name = "q", .kind = QUERY_TIME}, "2024-02-29", "2024-02-29T00:00:00Z"},
		{{.name = "q", .kind = QUERY_TIME}, "2026-02-29", NULL},
		{{.name = "q", .kind = QUERY_TIME}, "2000-02-29", "2000-02-29T00:00:00Z"},
		{{.name = "q", .kind = QUERY_TIME}, "1900-02-29", NULL},
		{{.name = "q", .kind = QUERY_TIME}, "2026-00-01", NULL},
		{{.name = "q", .kind = QUERY_TIME}, "2026-04-31", NULL},
		{{.name = "q", .kind = QUERY_TIME}, "26-04-01", NULL},
		{{.name = "q", .kind = QUERY_TIME}, "2026-04-01 ", NULL},
		{{.name = "q", .kind = QUERY_TIME}, "2026-04-01T", NULL},
		{{.name = "q", .kind = QUERY_TIME}, "2026-04-01T08:00:00", NULL},
		{{.name = "q", .kind = QUERY_TIME}, "2026-04-01T08:00:00Z", "2026-04-01T08:00:00Z"},
		{{.name = "q", .kind = QUERY_TIME}, "2026-04-01T08:00:00Zx", NULL},
		{{.name = "q", .kind = QUERY_TIME}, "2026-04-01T08:00:60Z", NULL},
		{{.name = "q", .kind = QUERY_TIME}, "2026-04-01T24:00:00Z", NULL},
		{{.name = "q", .kind = QUERY_TIME},
		 "2026-04-01T08:00:00.123456-05:30",
		 "2026-04-01T08:00:00.123456-05:30"},
		{{.name = "q", .kind = QUERY_TIME}, "2026-04-01T08:00:00.1234567Z", NULL},
		{{.name = "q", .kind = QUERY_TIME}, "2026-04-01T08:00:00.Z", NULL},
		{{.name = "q", .kind = QUERY_TIME}, "2026-04-01T08:00:00+15:00", NULL},
		{{.name = "q", .kind = QUERY_TIME}, "2026-04-01T08:00:00+05", NULL},
		{{.name = "q", .kind = QUERY_CLOCK}, "10:42", "10:42"},
		{{.name = "q", .kind = QUERY_CLOCK}, "24:00", NULL},
		{{.name = "q", .kind = QUERY_CLOCK}, "10:60", NULL},
		{{.name = "q", .kind = QUERY_CLOCK}, "10:4", NULL},
		{{.name = "q", .kind = QUERY_CLOCK}, "10:42:59", "10:42:59"},
		{{.name = "q", .kind = QUERY_CLOCK}, "10:42:60", NULL},
		{{.name = "q", .kind = QUERY_CLOCK}, "10:42:5", NULL},
		{{.name = "q", .kind = QUERY_CLOCK}, "10:42:00Z", NULL},
		{{.name = "q", .kind = QUERY_CLOCK}, "2026-11-01", NULL},
		{{.name = "q", .kind = QUERY_CLOCK}, "2026-11-01T08:00:00Z", "2026-11-01T08:00:00Z"},
		{{.name = "q", .kind = QUERY_WINDOW}, "1m", "60"},
		{{.name = "q", .kind = QUERY_WINDOW}, "6h", "21600"},
		{{.name = "q", .kind = QUERY_WINDOW}, "30d", "2592000"},
		{{.name = "q", .kind = QUERY_WINDOW}, "31d", NULL},
		{{.name = "q", .kind = QUERY_WINDOW}, "0m", NULL},
		{{.name = "q", .kind = QUERY_WINDOW}, "5", NULL},
		{{.name = "q", .kind = QUERY_WINDOW}, "5s", "5"},
		{{.name = "q", .kind = QUERY_WINDOW}, "0s", NULL},
		{{.name = "q", .kind = QUERY_WINDOW}, "5mm", NULL},
		{{.name = "q", .kind = QUERY_WINDOW}, "m", NULL},
		{{.name = "q", .kind = QUERY_WINDOW}, "99999999999m", NULL},
		{{.name = "q", .kind = QUERY_BOOL}, "1", NULL},
		{{.name = "q", .kind = QUERY_WORD, .words = colors}, "red", "red"},
		{{.name = "q", .kind = QUERY_WORD, .words = colors}, "green", NULL},
		{{.name = "q", .kind = QUERY_TEXT, .max = 3}, "abc", "abc"},
		{{.name = "q", .kind = QUERY_TEXT, .max = 3}, "abcd", NULL},
		{{.name = "q", .kind = QUERY_GLOB, .max = 9}, "a*b?c", "a%b_c"},
		{{.name = "q", .kind = QUERY_GLOB, .max = 9}, "%_\\", "\\%\\_\\\\"},
		{{.name = "q", .kind = QUERY_CURSOR_TEXT}, "6e31", "n1"},
		{{.name = "q", .kind = QUERY_CURSOR_TEXT}, "6e3", NULL},
		{{.name = "q", .kind = QUERY_CURSOR_TEXT}, "6e00", NULL},
		{{.name = "q", .kind = QUERY_CURSOR_ID}, "3137", "17"},
		{{.name = "q", .kind = QUERY_CURSOR_ID}, "6e31", NULL},
		{{.name = "q", .kind = QUERY_MAC}, "5254.0000.0017", "52:54:00:00:00:17"},
		{{.name = "q", .kind = QUERY_MAC}, "52:54:00:00:00", NULL},
		{{.name = "q", .kind = QUERY_POSITION}, "12-34", "12-34"},
		{{.name = "q", .kind = QUERY_POSITION}, "12-", NULL},
		{{.name = "q", .kind = QUERY_POSITION}, "12-34x", NULL},
		{{.name = "q", .kind = QUERY_POSITION}, "-34", NULL},
		{{.name = "q", .kind = QUERY_POSITION}, "12", NULL},
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char allowed[QUERY_ALLOWED_SIZE] = "";
		char *got = NULL;
		int rc = query_check(&cases[i].row, cases[i].value, &got, allowed);

		if ((rc != 0) != (cases[i].wanted == NULL))
			fail_msg("case %zu: %s", i, rc != 0 ? allowed : "let through");
		if (rc == 0)
			assert_string_equal(got ? got : "-", cases[i].wanted);
		else
			assert_true(allowed[0] != '\0');
		free(got);
	}
}

static void test_sheet_rows(void **state)
{
	char text[] =
		"mac,name,bmc_address,bmc_password,bmc_workarounds\r\n5254.00AA.0001,s1,10.3.0.1,\"p,\"\"1\",authcap intel20\r\n,s2,,,\r\n";
	struct sheet sheet;
	struct problem problem = {0};
	struct error_list errors = {0};
	json_t *specs = NULL;
	char *dump;

	(void)state;
	assert_int_equal(sheet_parse(text, strlen(text), &sheet, &problem), 0);
	assert_int_equal(node_sheet_read(&sheet, &specs, &errors), 0);
	dump = json_dumps(specs, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(
		dump,
		"[{\"bmc\":{\"address\":\"10.3.0.1\",\"password\":\"p,\\\"1\",\"workarounds\":[\"authcap\",\"intel20\"]},\"name\":\"s1\","
		"\"nics\":[{\"boot\":true,\"mac\":\"52:54:00:aa:00:01\",\"name\":\"eth0\",\"row\":2}],\"row\":2},{\"name\":\"s2\",\"row\":3}]");
	free(dump);
	dump = node_specs_digest_text(specs);
	assert_null(strstr(dump, "password"));
	free(dump);
	json_decref(specs);
	sheet_done(&sheet);
}

/* What a sheet becomes: its specs, or the errors as "row column: message (allowed)". */
static char *sheet_read(const char *csv)
{
	char *copy = strdup(csv);
	struct sheet sheet = {0};
	struct problem problem = {0};
	struct error_list errors = {0};
	struct text told = {0};
	json_t *specs = NULL;

	assert_non_null(copy);
	assert_int_equal(sheet_parse(copy, strlen(copy), &sheet, &problem), 0);
	if (node_sheet_read(&sheet, &specs, &errors) == 0) {
		char *dump = json_dumps(specs, JSON_COMPACT | JSON_SORT_KEYS);

		text_add(&told, dump);
		free(dump);
	}
	if (errors.count > 0)
		error_list_write(&errors, NULL, &told);
	json_decref(specs);
	error_list_done(&errors);
	sheet_done(&sheet);
	free(copy);
	return text_take(&told);
}

/* user 25: rows of one name are one node with several NICs. */
static void test_sheet_nics(void **state)
{
	char *got = sheet_read(
		"name,rack,nic,mac,bmc_address\ng1,r1,eth0,52:54:00:00:00:01,10.1.0.1\ng2,r1,,52:54:00:00:00:03,10.1.0.2\n"
		"g1,,eth1,52:54:00:00:00:02,10.1.0.1\n");

	(void)state;
	assert_string_equal(
		got,
		"[{\"bmc\":{\"address\":\"10.1.0.1\"},\"name\":\"g1\",\"nics\":[{\"boot\":true,\"mac\":\"52:54:00:00:00:01\",\"name\":\"eth0\",\"row\":2},"
		"{\"boot\":false,\"mac\":\"52:54:00:00:00:02\",\"name\":\"eth1\",\"row\":4}],\"rack\":\"r1\",\"row\":2},"
		"{\"bmc\":{\"address\":\"10.1.0.2\"},\"name\":\"g2\",\"nics\":[{\"boot\":true,\"mac\":\"52:54:00:00:00:03\",\"name\":\"eth0\",\"row\":3}],\"rack\":\"r1\",\"row\":3}]");
	free(got);
}

/* user 25: one wrong cell is one error, which repeats the value and says what is allowed. */
static void test_sheet_errors(void **state)
{
	/* clang-format off */
	static const struct {
		const char *csv;
		const char *row, *column, *message, *allowed;
	} cases[] = {
		{"name,nic,mac\nn1,eth0,52:54:zz\n", "2", "mac", "\\\"52:54:zz\\\" is not allowed", "a MAC like 52:54:00:00:00:17"},
		{"name,mac\nn1,52:54:zz\n", "2", "mac", "\\\"52:54:zz\\\" is not allowed", "a MAC like 52:54:00:00:00:17"},
		{"name,nic,mac\nn1,eth0,52:54:00:00:00:01\nn2,eth0,52:54:00:00:00:01\n", "3", "mac", "\\\"52:54:00:00:00:01\\\" stands in row 2 too", "a MAC of its own"},
		{"name,nic,mac\nn1,much-too-long-nic,52:54:00:00:00:01\n", "2", "nic", "\\\"much-too-long-nic\\\" is not allowed", "a text of 1 to 15 bytes"},
		{"name,nic,mac\nn1,eth0,\n", "2", "mac", "needed: the row names a NIC", "a MAC like 52:54:00:00:00:17"},
		{"name,unit\nn1,200\n", "2", "unit", "\\\"200\\\" is not allowed", "a whole number from 1 to 100"},
		{"name,unit\nN_1,20\n", "2", "name", "\\\"N_1\\\" is not allowed", "1 to 63 of a-z 0-9 -, not beginning with -"},
		{"name,unit\n,20\n", "2", "name", "this cell is needed", "1 to 63 of a-z 0-9 -, not beginning with -"},
		{"name,bmc_password\nn1,Secret-that-is-too-long\n", "2", "bmc_password", "is not allowed", "a text of 0 to 20 bytes"},
		{"name,bmc_workarounds\nn1,intel20 none\n", "2", "bmc_workarounds", "\\\"intel20 none\\\" is not allowed", "authcap, intel20, supermicro20, sun20, opensesspriv, integritycheckvalue, nochecksumcheck"},
		{"name,bmc_address\nn1,10.1.0.1\nn2,10.1.0.1\n", "3", "bmc_address", "\\\"10.1.0.1\\\" is the BMC in row 2 too, with the same port", "a BMC of its own"},
		{"name;mac\nn1;52:54:00:00:00:01\n", "1", "name;mac", "this is one cell, its separators are no commas", "a CSV file with commas"},
		{"class\nc\n", "1", "name", "this column is needed", NULL},
		/* several rows of one node */
		{"name,rack,unit,nic,mac\nn1,r1,1,eth0,52:54:00:00:00:01\nn1,r2,2,eth1,52:54:00:00:00:02\n", "3", "rack", "\\\"r2\\\" is another value than in row 2 of the same node",
		 "rows of one node differ in nic and mac; a cell may be empty"},
		{"name,bmc_address,bmc_password\nn1,10.1.0.1,one\nn1,,two\n", "3", "bmc_password", "differs from the value in row 2 of the same node", "rows of one node differ in nic and mac; a cell may be empty"},
		{"name,nic,mac\nn1,eth0,52:54:00:00:00:01\nn1,eth0,52:54:00:00:00:02\n", "3", "nic", "\\\"eth0\\\" is the NIC in row 2 of this node too", "each NIC of a node has a name of its own"},
		{"name,nic,mac\nn1,,52:54:00:00:00:01\nn1,,52:54:00:00:00:02\n", "3", "nic", "needed: row 2 has a NIC of this node", "each NIC of a node has a name of its own"},
		{"name,nic,mac\nn1,eth0,52:54:00:00:00:01\nn1,,\n", "3", "name", "\\\"n1\\\" stands in row 2 too, and this row adds no NIC", "a row for each node, and one for each further NIC of it"},
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct text want = {0};
		char *got = sheet_read(cases[i].csv);

		text_addf(&want, "[{\"column\":\"%s\",\"row\":%s,\"message\":\"%s\"",
			  cases[i].column, cases[i].row, cases[i].message);
		if (cases[i].allowed)
			text_addf(&want, ",\"allowed\":\"%s\"", cases[i].allowed);
		text_add(&want, "}]");
		if (strcmp(got, text_get(&want)) != 0)
			fail_msg("case %zu: %s, not %s", i, got, text_get(&want));
		text_done(&want);
		free(got);
	}
}

/* user 25: it says that it is empty. */
static void test_sheet_empty(void **state)
{
	static const char *const sheets[] = {"", "\n\r\n", "\xef\xbb\xbf"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sheets); i++) {
		char copy[8];
		struct sheet sheet = {0};
		struct problem problem = {0};

		(void)text_copy(copy, sizeof(copy), sheets[i]);
		assert_int_equal(sheet_parse(copy, strlen(copy), &sheet, &problem), E_MALFORMED);
		assert_string_equal(problem.message, "the sheet is empty");
		assert_non_null(strstr(problem.hint, "node import --template"));
	}
}

static void test_sealing(void **state)
{
	unsigned char public_key[crypto_box_PUBLICKEYBYTES];
	unsigned char secret_key[crypto_box_SECRETKEYBYTES];
	unsigned char sealed[256];
	char key[2 * sizeof(public_key) + 1];
	char opened[64] = "";
	char *first = NULL;
	char *second = NULL;

	(void)state;
	assert_int_equal(crypto_box_keypair(public_key, secret_key), 0);
	hex_encode(public_key, sizeof(public_key), key);
	assert_int_equal(seal_text(key, "secret", &first), 0);
	assert_int_equal(seal_text(key, "secret", &second), 0);
	assert_string_not_equal(first, second);
	assert_int_equal(strlen(first), 2 * (strlen("secret") + crypto_box_SEALBYTES));
	assert_int_equal(hex_decode(first, sealed, strlen(first) / 2), 0);
	assert_int_equal(crypto_box_seal_open((unsigned char *)opened, sealed, strlen(first) / 2,
					      public_key, secret_key),
			 0);
	assert_string_equal(opened, "secret");
	free(first);
	free(second);
	assert_int_equal(seal_text("00", "secret", &first), E_MALFORMED);
}

static bool has_query(const struct route *route, const char *name)
{
	for (const struct query_row *row = route->query; row && row->name; row++) {
		if (strcmp(row->name, name) == 0)
			return true;
	}
	return false;
}

/* Every argument of a row has a source, every statement as many as it wants, no row is there twice.
 */
/* A repeated POST is done once, by its key. Not these: haasctl says `once` or `harmless` of each. */
static bool goes_without_key(const struct route *route)
{
	static const char *const patterns[] = {
		/* Answers that tell a secret are not kept. */
		"/api/v1/login",
		"/api/v1/login/code",
		"/api/v1/links/use",
		"/api/v1/accounts",
		"/api/v1/accounts/{account}/link",
		"/api/v1/tokens",
		"/api/v1/second-factor",
		"/api/v1/second-factor/confirm",
		"/api/v1/second-factor/disable", /* by a code that is good once */
		"/api/v1/webhooks",
		"/api/v1/webhooks/{webhook}/secret",
		/* Done twice they do what they do once. */
		"/api/v1/logout",
		"/api/v1/circuits/{circuit}/proposals",
		"/api/v1/switches/{switch}/read",
		"/api/v1/switches/{switch}/reconcile",
		"/api/v1/switches/{switch}/locate",
		"/api/v1/nodes/{node}/console/reopen",
		/* At least once: a receiver knows what comes again by its id. */
		"/api/v1/webhooks/{webhook}/deliveries/{delivery}/redeliver",
		/* The version of If-Match is good once. */
		"/api/v1/pdcis/{pdci}/sheet/import",
		/* Bytes of a stream, which has its own end. */
		"/api/v1/nodes/{node}/console/input",
	};

	for (size_t i = 0; i < COUNT_OF(patterns); i++) {
		if (strcmp(route->pattern, patterns[i]) == 0)
			return true;
	}
	return false;
}

static void test_routes(void **state)
{
	size_t rows = 0;

	(void)state;
	for (const struct route *const *table = route_tables; *table; table++) {
		for (const struct route *route = *table; route->pattern; route++, rows++) {
			size_t args = 0;
			size_t queries = 0;

			assert_ptr_equal(route_find(route->method, route->pattern), route);
			assert_non_null(route->handler);
			for (const struct query_row *row = route->query; row && row->name; row++)
				queries++;
			assert_true(queries <= QUERY_ROWS);
			for (; args < ROUTE_ARGS && route->args[args]; args++) {
				const char *arg = route->args[args];

				assert_true(arg[0] == '@' ||
					    (arg[0] == '?' && has_query(route, arg + 1)) ||
					    strstr(route->pattern, arg));
			}
			if (route->store)
				assert_int_equal((int)args, route->store->param_count);
			assert_true(!(route->flags & ROUTE_IDEMPOTENT) ||
				    route->method == HTTP_POST);
			assert_true(route->method != HTTP_POST ||
				    (route->flags & ROUTE_IDEMPOTENT) || goes_without_key(route));
			/* Who is nobody yet changes nothing but that: a login, or a link. */
			assert_true(route->method == HTTP_GET || route->role != ROLE_ANYONE ||
				    strcmp(route->pattern, "/api/v1/login") == 0 ||
				    strcmp(route->pattern, "/api/v1/login/code") == 0 ||
				    strcmp(route->pattern, "/api/v1/links/use") == 0);
		}
	}
	assert_int_equal(rows, route_count());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),       cmocka_unit_test(test_node_bodies),
		cmocka_unit_test(test_queries),     cmocka_unit_test(test_sheet_rows),
		cmocka_unit_test(test_sheet_nics),  cmocka_unit_test(test_sheet_errors),
		cmocka_unit_test(test_sheet_empty), cmocka_unit_test(test_sealing),
		cmocka_unit_test(test_routes),      cmocka_unit_test(test_given),
		cmocka_unit_test(test_conflicts),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
