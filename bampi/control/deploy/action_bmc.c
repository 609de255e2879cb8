#include "bampi/control/deploy/action_bmc.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/net/ipv4.h"
#include "common/net/mac.h"

#include "bampi/control/deploy/deploy_json.h"

/* clang-format off */
static const struct {
	const char *action;
	enum bmc_op op;
	bool repeatable;
} action_bmc_rows[] = {
	{"power_on",     BMC_POWER_ON,     true },
	{"power_off",    BMC_POWER_OFF,    true },
	{"power_cycle",  BMC_POWER_CYCLE,  false},
	{"power_reset",  BMC_POWER_RESET,  false},
	{"power_soft",   BMC_POWER_SOFT,   true },
	{"power_status", BMC_POWER_STATUS, true },
	{"boot_device",  BMC_BOOT_SET,     true },
	{"identify",     BMC_IDENTIFY,     true },
	{"sensors",      BMC_SENSORS,      true },
	{"sel",          BMC_SEL_LIST,     true },
	{"fru",          BMC_FRU,          true },
	{"users",        BMC_USER_LIST,    true },
	{"lan",          BMC_LAN_GET,      true },
};
/* clang-format on */

static const char *action_bmc_word(const json_t *params, const char *key, const char *fallback)
{
	const char *text = json_string_value(json_object_get(params, key));

	return text ? text : fallback;
}

static int boot_request(const json_t *params, enum bmc_boot_firmware firmware, struct bmc_boot *ret,
			struct problem *problem)
{
	static const enum bmc_boot_device devices[] = {BMC_BOOT_NONE, BMC_BOOT_PXE, BMC_BOOT_DISK};
	const char *device = action_bmc_word(params, "device", "");
	const char *asked = action_bmc_word(params, "firmware",
					    firmware == BMC_FIRMWARE_UEFI ? "uefi" : "bios");

	*ret = (struct bmc_boot){
		.device = BMC_BOOT_OTHER,
		.persistent = json_is_true(json_object_get(params, "persistent")),
		.firmware = strcmp(asked, "uefi") == 0 ? BMC_FIRMWARE_UEFI : BMC_FIRMWARE_BIOS,
	};
	for (size_t i = 0; i < COUNT_OF(devices); i++)
		if (strcmp(device, bmc_boot_device_text(devices[i])) == 0)
			ret->device = devices[i];
	if (ret->device != BMC_BOOT_OTHER)
		return 0;
	(void)problem_set(problem, E_MALFORMED, "\"%.32s\" is not a boot device", device);
	problem_hint(problem, "pxe, disk or none");
	return problem->code;
}

int action_request(const char *action, const json_t *params, enum bmc_boot_firmware firmware,
		   struct bmc_request *ret, struct problem *problem)
{
	struct bmc_request request = {.op = BMC_OP_COUNT};
	json_int_t seconds = 15;
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(action_bmc_rows); i++)
		if (strcmp(action_bmc_rows[i].action, action) == 0)
			request.op = action_bmc_rows[i].op;
	if (request.op == BMC_OP_COUNT)
		return problem_set(problem, E_NOT_FOUND, "action %.32s does not exist", action);
	if (request.op == BMC_BOOT_SET)
		rc = boot_request(params, firmware, &request.boot, problem);
	if (request.op == BMC_IDENTIFY) {
		if (json_is_integer(json_object_get(params, "seconds")))
			seconds = json_integer_value(json_object_get(params, "seconds"));
		if (seconds < 0 || seconds > UINT8_MAX)
			return problem_set(problem, E_MALFORMED, "identify takes 0 to 255 seconds");
		request.identify.seconds = (uint8_t)seconds;
	}
	if (rc == 0)
		*ret = request;
	return rc;
}

bool action_is_repeatable(const char *action)
{
	for (size_t i = 0; i < COUNT_OF(action_bmc_rows); i++)
		if (strcmp(action_bmc_rows[i].action, action) == 0)
			return action_bmc_rows[i].repeatable;
	return false;
}

static json_t *action_bmc_power(const struct bmc_result *result)
{
	return json_pack("{s:s, s:b, s:s}", "power", result->power.on ? "on" : "off", "changed",
			 result->power.changed, "confirm", bmc_confirm_text(result->power.confirm));
}

static json_t *action_bmc_boot(const struct bmc_result *result)
{
	return json_pack("{s:{s:s, s:b, s:s, s:b, s:{s:s, s:s, s:s, s:s}}}", "boot", "device",
			 bmc_boot_device_text(result->boot.flags.device), "persistent",
			 result->boot.flags.persistent, "firmware",
			 result->boot.flags.firmware == BMC_FIRMWARE_UEFI ? "uefi" : "bios",
			 "valid", result->boot.valid, "confirm", "device",
			 bmc_confirm_text(result->boot.device), "persistent",
			 bmc_confirm_text(result->boot.lifetime), "firmware",
			 bmc_confirm_text(result->boot.firmware), "valid",
			 bmc_confirm_text(result->boot.valid_bit));
}

static json_t *action_bmc_sensors(const struct bmc_result *result)
{
	json_t *list = json_array();

	for (size_t i = 0; i < result->sensors.count; i++) {
		const struct bmc_sensor *sensor = &result->sensors.rows[i];

		(void)json_array_append_new(
			list,
			json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "number", sensor->number,
				  "name", json_of_text(sensor->name), "type",
				  json_of_text(sensor->type), "unit", json_of_text(sensor->unit),
				  "reading",
				  sensor->has_reading ? json_real(sensor->reading) : json_null(),
				  "state", json_of_text(sensor->state)));
	}
	return json_pack("{s:o}", "sensors", list);
}

static json_t *action_bmc_sel(const struct bmc_result *result)
{
	json_t *list = json_array();

	for (size_t i = 0; i < result->sel.count; i++) {
		const struct bmc_sel_entry *entry = &result->sel.rows[i];
		char at[CLOCK_TEXT_SIZE];

		(void)json_array_append_new(
			list,
			json_pack("{s:i, s:o, s:o}", "id", entry->id, "at",
				  entry->time_s > 0
					  ? json_string(clock_text(entry->time_s * 1000000, at))
					  : json_null(),
				  "text", json_of_text(entry->text)));
	}
	return json_pack("{s:o}", "sel", list);
}

static json_t *action_bmc_fru(const struct bmc_result *result)
{
	json_t *list = json_array();

	for (size_t i = 0; i < result->fru.count; i++) {
		const struct bmc_fru *row = &result->fru.rows[i];

		(void)json_array_append_new(
			list, json_pack("{s:i, s:o, s:o, s:o}", "device", row->device_id, "area",
					json_of_text(row->area), "key", json_of_text(row->key),
					"value", json_of_text(row->value)));
	}
	return json_pack("{s:o}", "fru", list);
}

static json_t *action_bmc_users(const struct bmc_result *result)
{
	json_t *list = json_array();

	for (size_t i = 0; i < result->users.count; i++) {
		const struct bmc_user *user = &result->users.rows[i];

		(void)json_array_append_new(list,
					    json_pack("{s:i, s:o, s:b, s:i}", "id", user->id,
						      "name", json_of_text(user->name), "enabled",
						      user->enabled, "privilege", user->privilege));
	}
	return json_pack("{s:o}", "users", list);
}

static json_t *action_bmc_lan(const struct bmc_result *result)
{
	char address[IPV4_TEXT_SIZE];
	char netmask[IPV4_TEXT_SIZE];
	char gateway[IPV4_TEXT_SIZE];
	char mac[MAC_TEXT_SIZE];
	struct mac bytes;

	memcpy(bytes.bytes, result->lan.mac, sizeof(bytes.bytes));
	return json_pack("{s:{s:s, s:s, s:s, s:s, s:b, s:i}}", "lan", "address",
			 ipv4_text(result->lan.address, address), "netmask",
			 ipv4_text(result->lan.netmask, netmask), "gateway",
			 ipv4_text(result->lan.gateway, gateway), "mac", mac_text(bytes, mac),
			 "dhcp", result->lan.dhcp, "vlan", result->lan.vlan);
}

json_t *action_result(const struct bmc_result *result)
{
	switch (result->op) {
	case BMC_POWER_STATUS:
	case BMC_POWER_ON:
	case BMC_POWER_OFF:
	case BMC_POWER_CYCLE:
	case BMC_POWER_RESET:
	case BMC_POWER_SOFT: return action_bmc_power(result);
	case BMC_BOOT_GET:
	case BMC_BOOT_SET: return action_bmc_boot(result);
	case BMC_SENSORS: return action_bmc_sensors(result);
	case BMC_SEL_LIST:
	case BMC_SEL_NEW: return action_bmc_sel(result);
	case BMC_FRU: return action_bmc_fru(result);
	case BMC_USER_LIST: return action_bmc_users(result);
	case BMC_LAN_GET: return action_bmc_lan(result);
	case BMC_IDENTIFY:
	case BMC_INFO:
	case BMC_SEL_CLEAR:
	case BMC_USER_SET:
	case BMC_PASSWORD_SET:
	case BMC_RAW:
	case BMC_OP_COUNT: break;
	}
	return json_object();
}
