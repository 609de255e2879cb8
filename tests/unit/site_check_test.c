// links: portal_cli
/* What `haasctl site check` expects is what deploy/ installs (user, improvement 2): accounts, folders
 * and units of the three packages. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/io/file.h"

#include "portal/cli/site_check.h"
#include "tests/support/cmocka.h"

static const char *const packages[SITE_PACKAGES] = {"controller", "storage", "relay"};

static char *read_deploy(const char *package, const char *name)
{
	char path[512];
	char *text;
	size_t size;

	assert_true(
		text_format(path, sizeof(path), TEST_SOURCE_DIR "/../deploy/%s/%s", package, name));
	assert_int_equal(file_read(path, 65536, &text, &size), 0);
	return text;
}

static size_t lines_of(const char *text)
{
	size_t count = 0;

	for (; *text; text += strcspn(text, "\n") + 1)
		count += *text != '#' && *text != '\n';
	return count;
}

static void test_folders(void **state)
{
	(void)state;
	for (size_t i = 0; i < SITE_PACKAGES; i++) {
		CLEANUP(freep) char *file = read_deploy(packages[i], "tmpfiles");
		const char *at = (const char *)site_check_tmpfiles[i].data;
		struct site_folder folder;
		size_t count = 0;

		assert_string_equal(file, at);
		for (; site_check_next_folder(&at, &folder); count++) {
			char line[512];

			if (folder.path[0] != '/' || folder.mode == 0 || !folder.user[0] ||
			    !folder.group[0])
				fail_msg("%s: %s", packages[i], folder.path);
			/* The same as a person reads it in the file. */
			(void)text_format(line, sizeof(line), "%04o ", (unsigned)folder.mode);
			assert_non_null(strstr(strstr(file, folder.path), line));
		}
		assert_int_equal(count, lines_of(file));
	}
}

static void test_accounts(void **state)
{
	(void)state;
	for (size_t i = 0; i < SITE_PACKAGES; i++) {
		CLEANUP(freep) char *file = read_deploy(packages[i], "sysusers");
		const char *at = (const char *)site_check_sysusers[i].data;
		char words[SITE_WORDS][SITE_WORD_SIZE];
		size_t count = 0;

		assert_string_equal(file, at);
		for (; site_check_line(&at, words); count++) {
			/* Kinds that the check knows; "m" needs a group. */
			assert_true(words[0][0] && strchr("ugm", words[0][0]) && !words[0][1]);
			assert_true(words[1][0] && (words[0][0] != 'm' || words[2][0] == 'h'));
		}
		assert_int_equal(count, lines_of(file));
	}
}

/* "User=haas-bampid\n" of a template. */
static void value_of(const char *unit, const char *key, char ret[64])
{
	char begin[64];
	const char *at;

	(void)text_format(begin, sizeof(begin), "\n%s=", key);
	at = strstr(unit, begin);
	ret[0] = '\0';
	if (at)
		(void)text_format(ret, 64, "%.*s", (int)strcspn(at + strlen(begin), "\n"),
				  at + strlen(begin));
}

static const struct site_program *program_of(const char *name)
{
	for (size_t i = 0; i < site_program_count; i++) {
		if (strcmp(site_programs[i].name, name) == 0)
			return &site_programs[i];
	}
	fail_msg("site_programs has no %s", name);
	abort();
}

static void check_unit(enum site_package package, const char *path)
{
	const char *file = strrchr(path, '/') + 1;
	CLEANUP(freep) char *unit = read_deploy(packages[package], file);
	const struct site_program *program;
	char name[64];
	char value[64];
	char state[64] = "";
	char mode[8];

	(void)text_format(name, sizeof(name), "%.*s", (int)strcspn(file, "."), file);
	program = program_of(name);
	assert_int_equal(program->package, package);
	value_of(unit, "User", value);
	assert_string_equal(value, program->user);
	value_of(unit, "StateDirectory", value);
	if (program->state)
		(void)text_format(state, sizeof(state), "haas/%s", program->state);
	assert_string_equal(value, state);
	if (program->state) {
		value_of(unit, "StateDirectoryMode", value);
		(void)text_format(mode, sizeof(mode), "%04o", (unsigned)program->state_mode);
		assert_string_equal(value, mode);
	}
	assert_int_equal(program->conf, strstr(unit, " --check-config ") != NULL);
}

static void test_units(void **state)
{
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < SITE_PACKAGES; i++) {
		glob_t found = {0};
		char pattern[512];

		(void)text_format(pattern, sizeof(pattern),
				  TEST_SOURCE_DIR "/../deploy/%s/*.service.in", packages[i]);
		assert_int_equal(glob(pattern, 0, NULL, &found), 0);
		for (size_t j = 0; j < found.gl_pathc; j++, count++)
			check_unit((enum site_package)i, found.gl_pathv[j]);
		globfree(&found);
	}
	assert_int_equal(count, site_program_count);
}

/* A program with a socket has a folder for it. */
static void test_sockets(void **state)
{
	(void)state;
	for (size_t i = 0; i < site_program_count; i++) {
		const struct site_program *program = &site_programs[i];
		const char *at = (const char *)site_check_tmpfiles[program->package].data;
		struct site_folder folder;
		char path[64];
		bool found = false;

		(void)text_format(path, sizeof(path), "/run/haas/%s", program->name);
		while (!found && site_check_next_folder(&at, &folder))
			found = strcmp(folder.path, path) == 0;
		if (program->socket && (!found || strcmp(folder.user, program->user) != 0))
			fail_msg("%s", path);
	}
}

static void test_unit_faults(void **state)
{
	static const struct {
		const char *lines, *fault;
		bool off;
	} rows[] = {
		{"LoadState=loaded\nActiveState=active\nUnitFileState=enabled\n", NULL, false},
		{"LoadState=loaded\nActiveState=inactive\nUnitFileState=disabled\n", NULL, true},
		{"LoadState=masked\nActiveState=inactive\nUnitFileState=masked\n", NULL, true},
		{"LoadState=loaded\nActiveState=inactive\nUnitFileState=enabled\n",
		 "the unit does not run", false},
		{"LoadState=not-found\nActiveState=inactive\nUnitFileState=\n",
		 "the unit is not installed", false},
		{"Result=exit-code\nLoadState=loaded\nActiveState=failed\nUnitFileState=enabled\n",
		 "the unit failed: exit-code", false},
		/* It is switched off, but it was started and failed. */
		{"Result=signal\nLoadState=loaded\nActiveState=failed\nUnitFileState=disabled\n",
		 "the unit failed: signal", false},
		{"NRestarts=7\nLoadState=loaded\nActiveState=activating\nUnitFileState=enabled\n",
		 "the unit is activating, after 7 restarts", false},
		/* The lines of the next unit are not of this one. */
		{"LoadState=loaded\nActiveState=active\n\nActiveState=failed\n", NULL, false},
		{"LoadState=loaded\n\nActiveState=active\n", "the unit is , after  restarts",
		 false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char room[120];
		bool off;
		const char *fault = site_check_unit_fault(rows[i].lines, room, &off);

		assert_int_equal(off, rows[i].off);
		if (rows[i].fault)
			assert_string_equal(fault, rows[i].fault);
		else
			assert_null(fault);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folders),     cmocka_unit_test(test_accounts),
		cmocka_unit_test(test_units),       cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_unit_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
