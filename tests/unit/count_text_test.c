// links: common_base
/* user 30: "1 racks", "1 local disks". */
#include <string.h>

#include "common/base/count_text.h"

#include "tests/support/cmocka.h"

static void test_count(void **state)
{
	static const struct {
		int64_t count;
		const char *noun, *text;
	} rows[] = {
		{1, "rack", "1 rack"},
		{2, "rack", "2 racks"},
		{0, "node", "0 nodes"},
		{1, "leaf switch", "1 leaf switch"},
		{3, "switch", "3 switches"},
		{2, "local disk", "2 local disks"},
		{2, "address", "2 addresses"},
		{2, "entry", "2 entries"},
		{2, "key", "2 keys"},
		{-1, "node", "-1 nodes"},
		{1, "y", "1 y"},
		{2, "y", "2 ys"},
		{INT64_MAX, "node", "9223372036854775807 nodes"},
	};
	char text[COUNT_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(count_text(text, rows[i].count, rows[i].noun), rows[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_count)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
