// links: control_inventory
/* What an agent reports of a node's hardware. A report that passes the check can be compared and
 * turned into drive rows without anything missing: every row has a key, a size that is not negative
 * and a kind. */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/http/json_reader.h"

#include "bampi/control/inventory/node_inventory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct node_declared declared = {.serial = "S1", .boot_mac = "52:54:00:00:00:01"};
	CLEANUP(text_done) struct text differences = {0};
	struct problem problem = {0};
	json_t *report = NULL;
	json_t *rows;
	const json_t *row;
	size_t i;

	if (json_read((const char *)data, size, (size_t)512 << 10, &report, &problem))
		return 0;
	if (node_inventory_check(report, &problem)) {
		assert(problem.message[0]);
		json_decref(report);
		return 0;
	}
	node_inventory_compare(report, &declared, &differences);
	assert(!differences.failed);
	rows = node_inventory_drives(report, true);
	assert(rows && json_array_size(rows) <= INVENTORY_DRIVES_MAX);
	json_array_foreach(rows, i, row)
	{
		assert(json_string_value(json_object_get(row, "serial"))[0]);
		assert(json_integer_value(json_object_get(row, "size_bytes")) >= 0);
	}
	json_decref(rows);
	json_decref(report);
	return 0;
}
