#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "bampi/bmc/redfish_client_private.h"

enum { PAGES_MAX = 32 };
#define SESSIONS_PATH "/redfish/v1/SessionService/Sessions"

static int redfish_answer_odd(const struct redfish_client *client, enum redfish_stage stage,
			      int code, const char *why, struct problem *problem)
{
	(void)problem_set(problem, code, "%s gives a malformed answer to %s", client->peer,
			  redfish_stage_table[stage].what);
	problem_detail(problem, "%s", why);
	return code;
}

static int redfish_answer_lacks(const struct redfish_client *client, const char *what,
				struct problem *problem)
{
	return problem_set(problem, E_UNSUPPORTED, "%s has no %s", client->peer, what);
}

/* --- what each stage brings --- */

static int take_root(struct redfish_client *client, const json_t *json)
{
	int rc = redfish_root_read(json, &client->root);

	if (rc)
		return rc;
	client->root_known = true;
	client->root_ms = loop_now_ms(client->loop);
	client->quirk = redfish_quirk_find(client->root.vendor);
	return 0;
}

static int take_systems(struct redfish_client *client, const json_t *json)
{
	struct redfish_call *call = client->call;
	int rc = redfish_members_read(json, &call->members);

	if (rc || call->members.count == 0)
		return E_PROTOCOL;
	call->member = 0;
	call->choosing = true;
	memcpy(client->system, call->members.paths[0], sizeof(client->system));
	return 0;
}

/* Of several systems (a GPU board beside the node) the node is the one that boots and is powered.
 */
static int take_system(struct redfish_client *client, const json_t *json, const char *etag,
		       bool *ret_more)
{
	struct redfish_call *call = client->call;
	int rc = redfish_system_read(json, &call->system);

	if (rc)
		return rc;
	(void)text_copy(call->etag, sizeof(call->etag), etag ? etag : call->system.etag);
	if (!client->quirk->vendor[0])
		client->quirk = redfish_quirk_find(call->system.manufacturer);
	if (call->choosing && call->members.count > 1 &&
	    !(call->system.reset[0] && call->system.boot_known)) {
		if (++call->member >= call->members.count) {
			client->system[0] = '\0';
			return E_PROTOCOL;
		}
		memcpy(client->system, call->members.paths[call->member], sizeof(client->system));
		*ret_more = true;
	}
	return 0;
}

static int take_chassis(struct redfish_client *client, const json_t *json)
{
	struct redfish_call *call = client->call;
	const struct redfish_chassis *chassis = &call->chassis;
	int rc = 0;

	redfish_chassis_read(json, &call->chassis);
	if (call->request.op != BMC_FRU)
		return 0;
	rc = redfish_fru_add(&call->result, "chassis", "manufacturer", chassis->manufacturer);
	if (rc == 0)
		rc = redfish_fru_add(&call->result, "chassis", "product_name", chassis->model);
	if (rc == 0)
		rc = redfish_fru_add(&call->result, "chassis", "serial", chassis->serial);
	return rc ? rc : redfish_fru_add(&call->result, "chassis", "part_number", chassis->part);
}

static int redfish_answer_take_members(struct redfish_call *call, const json_t *json)
{
	call->member = 0;
	return redfish_members_read(json, &call->members);
}

/* The hardware's log is the one we want; the first of all where none says that it is. */
static void take_log(struct redfish_call *call, const json_t *json, bool *ret_more)
{
	struct redfish_log log;

	redfish_log_read(json, &log);
	if (log.is_event_log || (!call->log.entries[0] && log.entries[0]))
		call->log = log;
	call->member++;
	*ret_more = !log.is_event_log && call->member < call->members.count;
}

static int take_entries(struct redfish_call *call, const json_t *json, bool *ret_more)
{
	int rc = redfish_entries_add(json, &call->result);
	const char *next = json_string_value(json_object_get(json, "Members@odata.nextLink"));

	*ret_more = rc == 0 && next && next[0] == '/' && ++call->pages < PAGES_MAX &&
		    text_copy(call->page, sizeof(call->page), next);
	return rc;
}

static int redfish_answer_take_row(struct redfish_call *call, const json_t *json, bool *ret_more,
				   int (*add)(const json_t *, struct bmc_result *))
{
	int rc = add(json, &call->result);

	call->member++;
	*ret_more = rc == 0 && call->member < call->members.count;
	return rc;
}

/* Ours is found by its name; what was read last is its ETag. */
static int take_account(struct redfish_client *client, const json_t *json, const char *etag,
			bool *ret_more)
{
	struct redfish_call *call = client->call;
	const char *own = json_string_value(json_object_get(json, "@odata.etag"));

	call->account_found = redfish_account_is(json, client->endpoint.username);
	if (call->account_found) {
		(void)text_copy(call->etag, sizeof(call->etag), etag ? etag : own ? own : "");
		return 0;
	}
	*ret_more = ++call->member < call->members.count;
	return *ret_more ? 0 : E_PROTOCOL;
}

int redfish_answer(struct redfish_client *client, const json_t *json, const char *etag,
		   bool *ret_more, struct problem *problem)
{
	struct redfish_call *call = client->call;
	enum redfish_stage stage = *call->at;
	int rc = 0;

	*ret_more = false;
	switch (stage) {
	case REDFISH_ROOT: rc = take_root(client, json); break;
	case REDFISH_SYSTEMS: rc = take_systems(client, json); break;
	case REDFISH_SYSTEM: rc = take_system(client, json, etag, ret_more); break;
	case REDFISH_ACTION_INFO: client->resets = redfish_action_info_read(json); break;
	case REDFISH_BOOT:
		client->boot_set = true;
		client->boot = call->request.boot;
		break;
	case REDFISH_CHASSIS: rc = take_chassis(client, json); break;
	case REDFISH_THERMAL:
	case REDFISH_POWER: rc = redfish_sensors_add(json, &call->result); break;
	case REDFISH_SENSOR:
		rc = redfish_answer_take_row(call, json, ret_more, redfish_sensors_add);
		break;
	case REDFISH_MANAGER: redfish_manager_read(json, &call->manager); break;
	case REDFISH_SENSORS:
	case REDFISH_LOGS:
	case REDFISH_ACCOUNTS:
	case REDFISH_FIRMWARES: rc = redfish_answer_take_members(call, json); break;
	case REDFISH_ACCOUNT_SERVICE: redfish_link_read(json, "Accounts", call->accounts); break;
	case REDFISH_ACCOUNT: rc = take_account(client, json, etag, ret_more); break;
	case REDFISH_LOG: take_log(call, json, ret_more); break;
	case REDFISH_ENTRIES: rc = take_entries(call, json, ret_more); break;
	case REDFISH_UPDATE: redfish_link_read(json, "FirmwareInventory", call->firmwares); break;
	case REDFISH_FIRMWARE:
		rc = redfish_answer_take_row(call, json, ret_more, redfish_firmware_add);
		break;
	case REDFISH_RESET:
	case REDFISH_LED:
	case REDFISH_CLEAR:
	case REDFISH_PASSWORD:
	case REDFISH_LOGIN:
	case REDFISH_END:
	case REDFISH_STAGE_COUNT: break;
	}
	if (rc == -ENOMEM)
		return problem_set(problem, rc, "%s: no memory", client->peer);
	return rc ? redfish_answer_odd(client, stage, E_PROTOCOL,
				       "a member that we need is missing", problem)
		  : 0;
}

/* --- what is known --- */

bool redfish_is_known(const struct redfish_client *client, enum redfish_stage stage)
{
	const struct redfish_call *call = client->call;
	int64_t now_ms = loop_now_ms(client->loop);

	if (call->done & 1U << stage)
		return true;
	switch (stage) {
	case REDFISH_ROOT: return client->root_known && now_ms - client->root_ms < REDFISH_ROOT_MS;
	case REDFISH_LOGIN:
		return client->session.token[0] || client->basic_always ||
		       now_ms < client->basic_until_ms;
	case REDFISH_SYSTEMS: return client->system[0];
	case REDFISH_ACTION_INFO:
		return call->system.resets || client->resets || !call->system.action_info[0];
	case REDFISH_CHASSIS: return !call->system.chassis[0];
	case REDFISH_THERMAL: return !call->chassis.thermal[0];
	case REDFISH_POWER: return !call->chassis.power[0];
	case REDFISH_SENSORS: return !call->chassis.sensors[0] || call->result.sensors.count > 0;
	case REDFISH_SENSOR:
		return !(call->done & 1U << REDFISH_SENSORS) || call->member >= call->members.count;
	case REDFISH_MANAGER: return !call->system.manager[0];
	case REDFISH_LOGS: return !call->manager.logs[0];
	case REDFISH_LOG:
		return !(call->done & 1U << REDFISH_LOGS) || call->member >= call->members.count;
	case REDFISH_ENTRIES: return !call->log.entries[0];
	case REDFISH_CLEAR: return !call->log.clear[0];
	case REDFISH_UPDATE: return !client->root.update[0];
	case REDFISH_FIRMWARES: return !call->firmwares[0];
	case REDFISH_FIRMWARE:
		return !(call->done & 1U << REDFISH_FIRMWARES) ||
		       call->member >= call->members.count;
	case REDFISH_ACCOUNTS:
	case REDFISH_ACCOUNT:
	case REDFISH_PASSWORD: return !call->accounts[0];
	case REDFISH_ACCOUNT_SERVICE: return !client->root.accounts[0];
	case REDFISH_SYSTEM:
	case REDFISH_RESET:
	case REDFISH_BOOT:
	case REDFISH_LED:
	case REDFISH_END:
	case REDFISH_STAGE_COUNT: break;
	}
	return false;
}

const char *redfish_path(const struct redfish_client *client, enum redfish_stage stage)
{
	const struct redfish_call *call = client->call;

	switch (stage) {
	case REDFISH_ROOT: return "/redfish/v1/";
	case REDFISH_LOGIN: return client->root.sessions[0] ? client->root.sessions : SESSIONS_PATH;
	case REDFISH_SYSTEMS: return client->root.systems;
	case REDFISH_SYSTEM:
	case REDFISH_BOOT:
	case REDFISH_LED: return client->system;
	case REDFISH_ACTION_INFO: return call->system.action_info;
	case REDFISH_RESET: return call->system.reset;
	case REDFISH_CHASSIS: return call->system.chassis;
	case REDFISH_THERMAL: return call->chassis.thermal;
	case REDFISH_POWER: return call->chassis.power;
	case REDFISH_SENSORS: return call->chassis.sensors;
	case REDFISH_MANAGER: return call->system.manager;
	case REDFISH_LOGS: return call->manager.logs;
	case REDFISH_ENTRIES: return call->page[0] ? call->page : call->log.entries;
	case REDFISH_CLEAR: return call->log.clear;
	case REDFISH_UPDATE: return client->root.update;
	case REDFISH_FIRMWARES: return call->firmwares;
	case REDFISH_ACCOUNT_SERVICE: return client->root.accounts;
	case REDFISH_ACCOUNTS: return call->accounts;
	case REDFISH_ACCOUNT:
	case REDFISH_PASSWORD:
	case REDFISH_SENSOR:
	case REDFISH_LOG:
	case REDFISH_FIRMWARE: return call->members.paths[call->member];
	case REDFISH_END:
	case REDFISH_STAGE_COUNT: break;
	}
	return "/";
}

/* --- what is sent --- */

static int reset_body(struct redfish_client *client, struct text *ret, struct problem *problem)
{
	const struct redfish_call *call = client->call;
	uint32_t allowed = call->system.resets ? call->system.resets : client->resets;
	int reset = redfish_reset_choose(call->request.op, allowed);

	if (reset < 0 || !call->system.reset[0]) {
		(void)problem_set(problem, E_UNSUPPORTED, "%s does not offer %s", client->peer,
				  bmc_op_text(call->request.op));
		return E_UNSUPPORTED;
	}
	redfish_reset_write(ret, (enum redfish_reset)reset);
	return 0;
}

static int boot_body(struct redfish_client *client, struct text *ret, struct problem *problem)
{
	const struct redfish_call *call = client->call;
	enum bmc_boot_device device = call->request.boot.device;

	if (!call->system.boot_known || (device == BMC_BOOT_PXE && !call->system.boot_pxe) ||
	    (device == BMC_BOOT_DISK && !call->system.boot_disk)) {
		(void)problem_set(problem, E_UNSUPPORTED, "%s does not offer boot device %s",
				  client->peer, bmc_boot_device_text(device));
		problem_hint(problem, "set the boot order in the firmware's set-up");
		return E_UNSUPPORTED;
	}
	redfish_boot_write(ret, &call->request.boot, call->system.boot_mode_known);
	return 0;
}

int redfish_body(struct redfish_client *client, enum redfish_stage stage, struct text *ret,
		 struct problem *problem)
{
	if (stage == REDFISH_LOGIN)
		redfish_login_write(ret, client->endpoint.username, client->endpoint.password);
	else if (stage == REDFISH_RESET)
		return reset_body(client, ret, problem);
	else if (stage == REDFISH_BOOT)
		return boot_body(client, ret, problem);
	else if (stage == REDFISH_LED)
		redfish_led_write(ret, client->call->request.identify.seconds > 0);
	else if (stage == REDFISH_CLEAR)
		text_add(ret, "{}");
	else if (stage == REDFISH_PASSWORD)
		redfish_password_write(ret, client->call->request.password);
	return 0;
}

/* --- the result --- */

static int power_result(struct redfish_client *client, struct problem *problem)
{
	enum redfish_power power = client->call->system.power;
	struct bmc_result *result = &client->call->result;

	if (client->call->request.op != BMC_POWER_STATUS) {
		result->power.changed = true;
		return 0;
	}
	if (power == REDFISH_POWER_UNKNOWN)
		return problem_set(problem, -EBUSY, "%s does not know the power state now",
				   client->peer);
	/* On its way is not there. */
	result->power.on = power == REDFISH_POWER_ON || power == REDFISH_POWER_GOES_OFF;
	return 0;
}

static int boot_result(struct redfish_client *client, struct problem *problem)
{
	const struct redfish_system *system = &client->call->system;
	struct bmc_result *result = &client->call->result;

	if (!system->boot_known)
		return redfish_answer_lacks(client, "boot override", problem);
	if (client->quirk->stale_boot && client->boot_set &&
	    client->boot.device != system->boot.device)
		return problem_set(problem, E_UNSUPPORTED, "%s may show its previous boot device",
				   client->peer);
	result->boot.flags = system->boot;
	result->boot.valid = system->boot_valid;
	if (!system->boot_mode_known && client->boot_set)
		result->boot.flags.firmware = client->boot.firmware;
	return 0;
}

static void info_result(struct redfish_client *client)
{
	struct bmc_result *result = &client->call->result;

	result->info.manufacturer = client->quirk->manufacturer;
	result->info.firmware_major = (uint8_t)client->call->manager.major;
	result->info.firmware_minor = (uint8_t)client->call->manager.minor;
	(void)text_copy(result->info.guid, sizeof(result->info.guid), client->call->system.uuid);
}

static int fru_result(struct redfish_call *call)
{
	const struct redfish_system *system = &call->system;
	const struct {
		const char *key, *value;
	} rows[] = {
		{"manufacturer", system->manufacturer},
		{"product_name", system->model},
		{"serial", system->serial},
		{"part_number", system->part},
		{"version", system->bios},
	};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(rows) && rc == 0; i++)
		rc = redfish_fru_add(&call->result, "product", rows[i].key, rows[i].value);
	return rc;
}

int redfish_result(struct redfish_client *client, struct problem *problem)
{
	struct redfish_call *call = client->call;

	switch (call->request.op) {
	case BMC_POWER_STATUS:
	case BMC_POWER_ON:
	case BMC_POWER_OFF:
	case BMC_POWER_RESET:
	case BMC_POWER_SOFT: return power_result(client, problem);
	case BMC_BOOT_GET: return boot_result(client, problem);
	case BMC_INFO: info_result(client); break;
	case BMC_SEL_LIST:
	case BMC_SEL_NEW:
		if (!(call->done & 1U << REDFISH_ENTRIES))
			return redfish_answer_lacks(client, "event log", problem);
		redfish_entries_sort(&call->result);
		if (call->request.op == BMC_SEL_NEW)
			redfish_entries_after(&call->result, &call->request.after);
		break;
	case BMC_SEL_CLEAR:
		if (!(call->done & 1U << REDFISH_CLEAR))
			return redfish_answer_lacks(client, "event log that can be cleared",
						    problem);
		break;
	case BMC_FRU:
		if (fru_result(call) != 0)
			return problem_set(problem, -ENOMEM, "%s: no memory", client->peer);
		break;
	case BMC_PASSWORD_SET:
		if (!(call->done & 1U << REDFISH_PASSWORD))
			return redfish_answer_lacks(client, "account service", problem);
		break;
	case BMC_POWER_CYCLE:
	case BMC_BOOT_SET:
	case BMC_IDENTIFY:
	case BMC_SENSORS:
	case BMC_USER_LIST:
	case BMC_USER_SET:
	case BMC_LAN_GET:
	case BMC_RAW:
	case BMC_OP_COUNT: break;
	}
	return 0;
}
