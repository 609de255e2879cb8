#include "bampi/bmc/redfish_json.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"

enum { DEPTH_MAX = 24, VALUES_MAX = 50000 };

static const char *const reset_words[REDFISH_RESET_COUNT] = {
	[REDFISH_RESET_ON] = "On",
	[REDFISH_RESET_FORCE_ON] = "ForceOn",
	[REDFISH_RESET_FORCE_OFF] = "ForceOff",
	[REDFISH_RESET_SHUTDOWN] = "GracefulShutdown",
	[REDFISH_RESET_FORCE_RESTART] = "ForceRestart",
	[REDFISH_RESET_RESTART] = "GracefulRestart",
	[REDFISH_RESET_CYCLE] = "PowerCycle",
	[REDFISH_RESET_BUTTON] = "PushPowerButton",
};

int redfish_read(const char *data, size_t size, size_t limit, json_t **ret, struct problem *problem)
{
	const struct json_bounds bounds = {.size = limit, .depth = DEPTH_MAX, .values = VALUES_MAX};
	CLEANUP(json_decrefp) json_t *json = NULL;
	int rc = json_read_bounded(data, size, &bounds, &json, problem);

	if (rc)
		return rc;
	if (!json_is_object(json))
		return problem_set(problem, E_MALFORMED, "not a JSON object");
	*ret = TAKE(json);
	return 0;
}

/* --- members --- */

/* Printable ASCII; cut where there is no room. */
static void redfish_json_copy_text(const json_t *object, const char *key, char *ret, size_t room)
{
	const char *value = json_string_value(json_object_get(object, key));

	(void)text_copy(ret, room, value ? value : "");
	for (char *at = ret; *at; at++) {
		if (!isprint((unsigned char)*at))
			*at = '?';
	}
}

static bool path_is_good(const char *path)
{
	if (path[0] != '/' || path[1] == '/' || strlen(path) >= REDFISH_PATH_SIZE ||
	    strstr(path, "/../"))
		return false;
	for (const char *at = path; *at; at++) {
		if (!isgraph((unsigned char)*at) || *at == '#')
			return false;
	}
	return true;
}

static void copy_path(const json_t *value, char ret[REDFISH_PATH_SIZE])
{
	const char *path = json_string_value(value);

	(void)text_copy(ret, REDFISH_PATH_SIZE, path && path_is_good(path) ? path : "");
}

void redfish_link_read(const json_t *json, const char *key, char ret[REDFISH_PATH_SIZE])
{
	copy_path(json_object_get(json_object_get(json, key), "@odata.id"), ret);
}

static bool redfish_json_says(const json_t *object, const char *key, const char *word)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value && strcmp(value, word) == 0;
}

/* --- root and collections --- */

int redfish_root_read(const json_t *json, struct redfish_root *ret)
{
	struct redfish_root root = {0};
	const json_t *oem = json_object_get(json, "Oem");

	redfish_json_copy_text(json, "Vendor", root.vendor, sizeof(root.vendor));
	if (!root.vendor[0] && json_is_object(oem)) {
		json_t *object;
		void *first;

		memcpy(&object, &oem, sizeof(void *)); /* jansson's iterator wants no const */
		first = json_object_iter(object);
		if (first)
			(void)text_copy(root.vendor, sizeof(root.vendor),
					json_object_iter_key(first));
	}
	redfish_link_read(json, "Systems", root.systems);
	redfish_link_read(json, "UpdateService", root.update);
	redfish_link_read(json, "AccountService", root.accounts);
	redfish_link_read(json_object_get(json, "Links"), "Sessions", root.sessions);
	if (!root.systems[0])
		return E_PROTOCOL;
	*ret = root;
	return 0;
}

int redfish_members_read(const json_t *json, struct redfish_members *ret)
{
	const json_t *list = json_object_get(json, "Members");

	if (!json_is_array(list))
		return E_PROTOCOL;
	ret->count = 0;
	for (size_t i = 0; i < json_array_size(list) && ret->count < REDFISH_MEMBERS_MAX; i++) {
		char *path = ret->paths[ret->count];

		copy_path(json_object_get(json_array_get(list, i), "@odata.id"), path);
		ret->count += path[0] != '\0';
	}
	copy_path(json_object_get(json, "Members@odata.nextLink"), ret->next);
	return 0;
}

bool redfish_account_is(const json_t *json, const char *username)
{
	return redfish_json_says(json, "UserName", username);
}

void redfish_password_write(struct text *ret, const char *password)
{
	json_begin_object(ret, NULL);
	json_put_string(ret, "Password", password);
	json_end_object(ret);
}

/* --- the system --- */

static enum redfish_power power_read(const json_t *json)
{
	static const struct {
		const char *word;
		enum redfish_power power;
	} words[] = {
		{"On", REDFISH_POWER_ON},
		{"Off", REDFISH_POWER_OFF},
		{"PoweringOn", REDFISH_POWER_GOES_ON},
		{"PoweringOff", REDFISH_POWER_GOES_OFF},
	};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (redfish_json_says(json, "PowerState", words[i].word))
			return words[i].power;
	}
	return REDFISH_POWER_UNKNOWN;
}

static uint32_t resets_read(const json_t *list)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *word = json_string_value(json_array_get(list, i));

		for (unsigned reset = 0; word && reset < REDFISH_RESET_COUNT; reset++) {
			if (strcmp(word, reset_words[reset]) == 0)
				bits |= 1U << reset;
		}
	}
	return bits;
}

uint32_t redfish_action_info_read(const json_t *json)
{
	const json_t *list = json_object_get(json, "Parameters");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *parameter = json_array_get(list, i);

		if (redfish_json_says(parameter, "Name", "ResetType"))
			return resets_read(json_object_get(parameter, "AllowableValues"));
	}
	return 0;
}

static bool redfish_json_is_allowed(const json_t *list, const char *word)
{
	size_t count = json_array_size(list);

	for (size_t i = 0; i < count; i++) {
		const char *value = json_string_value(json_array_get(list, i));

		if (value && strcmp(value, word) == 0)
			return true;
	}
	return count == 0; /* not told */
}

static void boot_read(const json_t *boot, struct redfish_system *ret)
{
	const json_t *targets =
		json_object_get(boot, "BootSourceOverrideTarget@Redfish.AllowableValues");
	const char *target = json_string_value(json_object_get(boot, "BootSourceOverrideTarget"));

	ret->boot_pxe = redfish_json_is_allowed(targets, "Pxe");
	ret->boot_disk = redfish_json_is_allowed(targets, "Hdd");
	ret->boot_mode_known = json_is_string(json_object_get(boot, "BootSourceOverrideMode"));
	ret->boot.firmware = redfish_json_says(boot, "BootSourceOverrideMode", "Legacy")
				     ? BMC_FIRMWARE_BIOS
				     : BMC_FIRMWARE_UEFI;
	if (!target)
		return;
	ret->boot_known = true;
	ret->boot_valid = !redfish_json_says(boot, "BootSourceOverrideEnabled", "Disabled") &&
			  strcmp(target, "None") != 0;
	ret->boot.persistent = redfish_json_says(boot, "BootSourceOverrideEnabled", "Continuous");
	if (!ret->boot_valid)
		ret->boot.device = BMC_BOOT_NONE;
	else if (strcmp(target, "Pxe") == 0)
		ret->boot.device = BMC_BOOT_PXE;
	else if (strcmp(target, "Hdd") == 0)
		ret->boot.device = BMC_BOOT_DISK;
	else
		ret->boot.device = BMC_BOOT_OTHER;
}

static void first_link(const json_t *list, char ret[REDFISH_PATH_SIZE])
{
	copy_path(json_object_get(json_array_get(list, 0), "@odata.id"), ret);
}

int redfish_system_read(const json_t *json, struct redfish_system *ret)
{
	const json_t *links = json_object_get(json, "Links");
	const json_t *reset =
		json_object_get(json_object_get(json, "Actions"), "#ComputerSystem.Reset");
	struct redfish_system system = {.power = power_read(json)};

	if (!json_is_string(json_object_get(json, "@odata.id")))
		return E_PROTOCOL;
	redfish_json_copy_text(json, "UUID", system.uuid, sizeof(system.uuid));
	redfish_json_copy_text(json, "Manufacturer", system.manufacturer,
			       sizeof(system.manufacturer));
	redfish_json_copy_text(json, "Model", system.model, sizeof(system.model));
	redfish_json_copy_text(json, "SerialNumber", system.serial, sizeof(system.serial));
	redfish_json_copy_text(json, "PartNumber", system.part, sizeof(system.part));
	redfish_json_copy_text(json, "BiosVersion", system.bios, sizeof(system.bios));
	redfish_json_copy_text(json, "@odata.etag", system.etag, sizeof(system.etag));
	boot_read(json_object_get(json, "Boot"), &system);
	system.resets = resets_read(json_object_get(reset, "ResetType@Redfish.AllowableValues"));
	copy_path(json_object_get(reset, "target"), system.reset);
	copy_path(json_object_get(reset, "@Redfish.ActionInfo"), system.action_info);
	first_link(json_object_get(links, "Chassis"), system.chassis);
	first_link(json_object_get(links, "ManagedBy"), system.manager);
	*ret = system;
	return 0;
}

/* --- chassis, manager, log --- */

void redfish_chassis_read(const json_t *json, struct redfish_chassis *ret)
{
	redfish_json_copy_text(json, "Manufacturer", ret->manufacturer, sizeof(ret->manufacturer));
	redfish_json_copy_text(json, "Model", ret->model, sizeof(ret->model));
	redfish_json_copy_text(json, "SerialNumber", ret->serial, sizeof(ret->serial));
	redfish_json_copy_text(json, "PartNumber", ret->part, sizeof(ret->part));
	redfish_link_read(json, "Thermal", ret->thermal);
	redfish_link_read(json, "Power", ret->power);
	redfish_link_read(json, "Sensors", ret->sensors);
}

void redfish_manager_read(const json_t *json, struct redfish_manager *ret)
{
	const char *version = json_string_value(json_object_get(json, "FirmwareVersion"));
	const char *digits = version ? strpbrk(version, "0123456789") : NULL;
	char *end = NULL;

	*ret = (struct redfish_manager){0};
	if (digits) {
		ret->major = (unsigned)strtoul(digits, &end, 10) & 0xffU;
		if (*end == '.')
			ret->minor = (unsigned)strtoul(end + 1, NULL, 10) & 0xffU;
	}
	redfish_link_read(json, "LogServices", ret->logs);
}

void redfish_log_read(const json_t *json, struct redfish_log *ret)
{
	static const char *const names[] = {"SEL",  "Sel",      "IEL",
					    "Log1", "EventLog", "SystemEventLog"};
	const char *id = json_string_value(json_object_get(json, "Id"));

	*ret = (struct redfish_log){.is_event_log = redfish_json_says(json, "LogEntryType", "SEL")};
	for (size_t i = 0; id && i < COUNT_OF(names); i++)
		ret->is_event_log = ret->is_event_log || strcmp(id, names[i]) == 0;
	redfish_link_read(json, "Entries", ret->entries);
	copy_path(json_object_get(
			  json_object_get(json_object_get(json, "Actions"), "#LogService.ClearLog"),
			  "target"),
		  ret->clear);
}

/* --- why not --- */

void redfish_error_read(const json_t *json, struct redfish_error *ret)
{
	const json_t *error = json_object_get(json, "error");
	const json_t *first = json_array_get(json_object_get(error, "@Message.ExtendedInfo"), 0);
	const char *id = json_string_value(json_object_get(first, "MessageId"));
	const char *dot;

	if (!id)
		id = json_string_value(json_object_get(error, "code"));
	dot = id ? strrchr(id, '.') : NULL;
	(void)text_copy(ret->id, sizeof(ret->id), dot ? dot + 1 : id ? id : "");
	redfish_json_copy_text(first, "Message", ret->message, sizeof(ret->message));
	if (!ret->message[0])
		redfish_json_copy_text(error, "message", ret->message, sizeof(ret->message));
}

/* --- what we send --- */

int redfish_reset_choose(enum bmc_op op, uint32_t allowed)
{
	/* Best first. */
	static const struct {
		enum bmc_op op;
		enum redfish_reset reset;
	} choices[] = {
		{BMC_POWER_ON, REDFISH_RESET_ON},
		{BMC_POWER_ON, REDFISH_RESET_FORCE_ON},
		{BMC_POWER_OFF, REDFISH_RESET_FORCE_OFF},
		{BMC_POWER_RESET, REDFISH_RESET_FORCE_RESTART},
		{BMC_POWER_RESET, REDFISH_RESET_CYCLE},
		{BMC_POWER_SOFT, REDFISH_RESET_SHUTDOWN},
		{BMC_POWER_SOFT, REDFISH_RESET_BUTTON},
	};

	for (size_t i = 0; i < COUNT_OF(choices); i++) {
		if (choices[i].op == op && (allowed == 0 || allowed & 1U << choices[i].reset))
			return (int)choices[i].reset;
	}
	return -1;
}

void redfish_login_write(struct text *body, const char *username, const char *password)
{
	json_begin_object(body, NULL);
	json_put_string(body, "UserName", username);
	json_put_string(body, "Password", password);
	json_end_object(body);
}

void redfish_reset_write(struct text *body, enum redfish_reset reset)
{
	json_begin_object(body, NULL);
	json_put_string(body, "ResetType", reset_words[reset]);
	json_end_object(body);
}

void redfish_boot_write(struct text *body, const struct bmc_boot *boot, bool with_mode)
{
	static const char *const targets[] = {[BMC_BOOT_NONE] = "None",
					      [BMC_BOOT_PXE] = "Pxe",
					      [BMC_BOOT_DISK] = "Hdd",
					      [BMC_BOOT_OTHER] = "None"};
	const char *enabled = boot->persistent ? "Continuous" : "Once";

	if (boot->device == BMC_BOOT_NONE)
		enabled = "Disabled";
	json_begin_object(body, NULL);
	json_begin_object(body, "Boot");
	json_put_string(body, "BootSourceOverrideTarget", targets[boot->device]);
	json_put_string(body, "BootSourceOverrideEnabled", enabled);
	if (with_mode && boot->device != BMC_BOOT_NONE)
		json_put_string(body, "BootSourceOverrideMode",
				boot->firmware == BMC_FIRMWARE_UEFI ? "UEFI" : "Legacy");
	json_end_object(body);
	json_end_object(body);
}

void redfish_led_write(struct text *body, bool lit)
{
	json_begin_object(body, NULL);
	json_put_string(body, "IndicatorLED", lit ? "Blinking" : "Off");
	json_end_object(body);
}
