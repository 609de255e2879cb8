// links: bampi_bmc common_http common_base
/* Any bytes as an answer of a BMC. Invariants: paths stay on the BMC and are fit for a request
 * line; texts are printable; rows stay within their bound; after filtering by its own mark a log
 * has nothing new. */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "bampi/bmc/redfish_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(const char *path)
{
	assert(strlen(path) < REDFISH_PATH_SIZE);
	assert(path[0] == '\0' || (path[0] == '/' && path[1] != '/'));
	for (; *path; path++)
		assert(isgraph((unsigned char)*path));
}

static void check_text(const char *text)
{
	for (; *text; text++)
		assert(isprint((unsigned char)*text));
}

static void read_system(const json_t *json)
{
	struct redfish_system system;

	if (redfish_system_read(json, &system) != 0)
		return;
	check_path(system.reset);
	check_path(system.action_info);
	check_path(system.chassis);
	check_path(system.manager);
	check_text(system.model);
	check_text(system.etag);
	assert(system.resets < 1U << REDFISH_RESET_COUNT);
	assert(system.boot_known || !system.boot_valid);
}

static void read_rows(const json_t *json)
{
	struct bmc_result result = {.op = BMC_SENSORS};

	assert(redfish_sensors_add(json, &result) == 0);
	assert(result.sensors.count <= REDFISH_ROWS_MAX);
	bmc_result_done(&result);
	result.op = BMC_SEL_NEW;
	assert(redfish_entries_add(json, &result) == 0);
	assert(result.sel.count <= REDFISH_ROWS_MAX);
	redfish_entries_sort(&result);
	redfish_entries_after(&result, &(struct bmc_sel_mark){0});
	if (result.sel.mark.known) {
		struct bmc_sel_mark mark = result.sel.mark;

		redfish_entries_after(&result, &mark);
		assert(result.sel.count == 0 && !result.sel.restarted);
	}
	bmc_result_done(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct redfish_members members;
	struct redfish_root root;
	struct redfish_chassis chassis = {0};
	struct redfish_manager manager;
	struct redfish_error error = {0};
	struct redfish_log log;
	struct problem problem = {0};
	json_t *json = NULL;
	int rc = redfish_read((const char *)data, size, 1 << 16, &json, &problem);

	assert((rc == 0) == (json != NULL));
	assert((rc == 0) != problem_is_set(&problem));
	if (rc)
		return 0;
	if (redfish_root_read(json, &root) == 0) {
		check_path(root.systems);
		check_path(root.sessions);
		assert(root.systems[0]);
	}
	if (redfish_members_read(json, &members) == 0) {
		assert(members.count <= REDFISH_MEMBERS_MAX);
		for (size_t i = 0; i < members.count; i++)
			check_path(members.paths[i]);
	}
	read_system(json);
	redfish_chassis_read(json, &chassis);
	check_path(chassis.thermal);
	redfish_manager_read(json, &manager);
	check_path(manager.logs);
	redfish_log_read(json, &log);
	check_path(log.entries);
	check_path(log.clear);
	redfish_error_read(json, &error);
	check_text(error.message);
	(void)redfish_action_info_read(json);
	read_rows(json);
	json_decref(json);
	return 0;
}
