// links: common_io
/* What a client may name, and what it gets. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/io/served_file.h"

#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

static void names(void **state)
{
	static const struct {
		const char *asked;
		int rc;
		const char *name;
	} cases[] = {
		{"undionly.kpxe", 0, "undionly.kpxe"},
		{"/undionly.kpxe", 0, "undionly.kpxe"},
		{"//\\x64\\snponly.efi", 0, "x64/snponly.efi"},
		{"a//b", 0, "a//b"},
		{"", E_MALFORMED, NULL},
		{"/", E_MALFORMED, NULL},
		{"a/", E_MALFORMED, NULL},
		{"..", E_MALFORMED, NULL},
		{"../etc/passwd", E_MALFORMED, NULL},
		{"..\\..\\boot.ini", E_MALFORMED, NULL},
		{"a/../b", E_MALFORMED, NULL},
		{"./a", E_MALFORMED, NULL},
		{".hidden", E_MALFORMED, NULL},
		{"a\nb", E_MALFORMED, NULL},
	};
	char name[SERVED_NAME_MAX + 1];
	char longer[SERVED_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(served_file_name(cases[i].asked, name), cases[i].rc);
		if (!cases[i].rc)
			assert_string_equal(name, cases[i].name);
	}
	memset(longer, 'a', sizeof(longer));
	longer[SERVED_NAME_MAX + 1] = '\0';
	assert_int_equal(served_file_name(longer, name), E_LIMIT);
	longer[SERVED_NAME_MAX] = '\0';
	assert_int_equal(served_file_name(longer, name), 0);
}

static void make(const char *folder, const char *name, const char *bytes)
{
	char path[512];
	int fd;

	assert_true(text_format(path, sizeof(path), "%s/%s", folder, name));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
	close(fd);
}

static void link_to(const char *folder, const char *name, const char *target)
{
	char path[512];

	assert_true(text_format(path, sizeof(path), "%s/%s", folder, name));
	assert_int_equal(symlink(target, path), 0);
}

static void files(void **state)
{
	static const struct {
		const char *name;
		int rc;
	} cases[] = {
		{"kernel", 0},
		{"deep/file", 0},
		{"inside", 0},
		{"missing", E_NOT_FOUND},
		{"kernel/more", E_NOT_FOUND},
		{"deep", E_NOT_FOUND},
		{"outside", E_NOT_FOUND},
		{"absolute", E_NOT_FOUND},
		{"loop", E_NOT_FOUND},
		{"fifo", E_NOT_FOUND},
		{"../secret", E_NOT_FOUND}, /* served_file_name would not let it come here */
	};
	char folder[SCRATCH_SIZE];
	char boot[SCRATCH_SIZE + 8];
	char path[128];

	(void)state;
	scratch_make(folder, "boot-file");
	(void)text_format(boot, sizeof(boot), "%s/boot", folder);
	assert_int_equal(mkdir(boot, 0755), 0);
	(void)text_format(path, sizeof(path), "%s/deep", boot);
	assert_int_equal(mkdir(path, 0755), 0);
	(void)text_format(path, sizeof(path), "%s/fifo", boot);
	assert_int_equal(mkfifo(path, 0644), 0);
	make(folder, "secret", "secret");
	make(boot, "kernel", "12345");
	make(boot, "deep/file", "1");
	link_to(boot, "inside", "kernel");
	link_to(boot, "outside", "../secret");
	link_to(boot, "absolute", "/etc/passwd");
	link_to(boot, "loop", "loop");

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint64_t size = 0;
		int fd = -1;

		assert_int_equal(served_file_open(boot, cases[i].name, &fd, &size), cases[i].rc);
		assert_int_equal(fd >= 0, cases[i].rc == 0);
		if (strcmp(cases[i].name, "kernel") == 0)
			assert_int_equal(size, 5);
		closep(&fd);
	}
	scratch_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
