/* What the resources of the model look like. One row per resource: a pattern of its path and the
 * function that writes its body. */
#include <stdio.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/base/macros.h"

#include "tests/sim/redfish/redfish_bmc_private.h"

#define ROOT "/redfish/v1"

static const char *const dell_resets[] = {"On",
					  "ForceOff",
					  "ForceRestart",
					  "PowerCycle",
					  "GracefulShutdown",
					  "GracefulRestart",
					  "PushPowerButton",
					  "Nmi",
					  NULL};
static const char *const hpe_resets[] = {
	"On",  "ForceOff",        "GracefulShutdown", "ForceRestart",
	"Nmi", "PushPowerButton", "GracefulRestart",  NULL};
static const char *const plain_resets[] = {"On", "ForceOff", "GracefulShutdown", "ForceRestart",
					   NULL};

const struct vendor_row vendor_table[REDFISH_BMC_VENDOR_COUNT] = {
	[REDFISH_BMC_GENERIC] = {"generic", "Example", "Example", "HaaS", "Lab", "1", "BMC", "1",
				 "", "Log", false, plain_resets},
	[REDFISH_BMC_DELL] = {"dell", "Dell", "Dell", "Dell Inc.", "PowerEdge R770",
			      "System.Embedded.1", "iDRAC.Embedded.1", "System.Embedded.1", "",
			      "Sel", false, dell_resets},
	[REDFISH_BMC_HPE] = {"hpe", "HPE", "Hpe", "HPE", "ProLiant DL380 Gen11", "1", "1", "1", "/",
			     "IEL", false, hpe_resets},
	[REDFISH_BMC_SUPERMICRO] = {"supermicro", "Supermicro", "Supermicro", "Supermicro",
				    "SYS-821GE-TNHR", "1", "1", "1", "", "Log1", true,
				    plain_resets},
};

static const struct vendor_row *vendor_of(const struct redfish_bmc *bmc)
{
	return &vendor_table[bmc->vendor];
}

void system_path(const struct redfish_bmc *bmc, char *ret, size_t room)
{
	(void)text_format(ret, room, ROOT "/Systems/%s", vendor_of(bmc)->system);
}

/* --- pieces --- */

static void redfish_bmc_resources_begin(struct text *body, const char *path, const char *type,
					const char *id, const char *name)
{
	json_begin_object(body, NULL);
	json_put_string(body, "@odata.id", path);
	json_put_string(body, "@odata.type", type);
	json_put_string(body, "Id", id);
	json_put_string(body, "Name", name);
}

static void link_to(const struct redfish_bmc *bmc, struct text *body, const char *key,
		    const char *path)
{
	char link[160];

	(void)text_format(link, sizeof(link), "%s%s", path, vendor_of(bmc)->slash);
	json_begin_object(body, key);
	json_put_string(body, "@odata.id", link);
	json_end_object(body);
}

static void link_under(const struct redfish_bmc *bmc, struct text *body, const char *key,
		       const char *path, const char *name)
{
	char link[160];

	(void)text_format(link, sizeof(link), "%s/%s", path, name);
	link_to(bmc, body, key, link);
}

static void status_ok(struct text *body)
{
	json_begin_object(body, "Status");
	json_put_string(body, "State", "Enabled");
	json_put_string(body, "Health", "OK");
	json_end_object(body);
}

static void collection_begin(struct text *body, const char *path, const char *type,
			     const char *name)
{
	json_begin_object(body, NULL);
	json_put_string(body, "@odata.id", path);
	json_put_string(body, "@odata.type", type);
	json_put_string(body, "Name", name);
	json_begin_array(body, "Members");
}

static void collection_end(struct text *body, int64_t count)
{
	json_end_array(body);
	json_put_int(body, "Members@odata.count", count);
	json_end_object(body);
}

static void collection_of_one(const struct redfish_bmc *bmc, struct text *body, const char *path,
			      const char *type, const char *name, const char *member)
{
	collection_begin(body, path, type, name);
	link_under(bmc, body, NULL, path, member);
	collection_end(body, 1);
}

static void redfish_bmc_resources_words(struct text *body, const char *key, const char *const *list)
{
	json_begin_array(body, key);
	for (; *list; list++)
		json_put_string(body, NULL, *list);
	json_end_array(body);
}

/* --- service root and sessions --- */

static void version_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			 struct text *body)
{
	(void)bmc;
	(void)path;
	(void)now_ms;
	json_begin_object(body, NULL);
	json_put_string(body, "v1", ROOT "/");
	json_end_object(body);
}

static void root_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms, struct text *body)
{
	(void)now_ms;
	redfish_bmc_resources_begin(body, path, "#ServiceRoot.v1_15_0.ServiceRoot", "RootService",
				    "Root Service");
	json_put_string(body, "RedfishVersion", "1.15.0");
	json_put_string(body, "UUID", bmc->uuid);
	json_put_string(body, "Vendor", vendor_of(bmc)->root_vendor);
	json_begin_object(body, "ProtocolFeaturesSupported");
	json_put_bool(body, "FilterQuery", false);
	json_put_bool(body, "SelectQuery", false);
	json_end_object(body);
	link_to(bmc, body, "Systems", ROOT "/Systems");
	link_to(bmc, body, "Chassis", ROOT "/Chassis");
	link_to(bmc, body, "Managers", ROOT "/Managers");
	link_to(bmc, body, "SessionService", ROOT "/SessionService");
	link_to(bmc, body, "UpdateService", ROOT "/UpdateService");
	link_to(bmc, body, "AccountService", ROOT "/AccountService");
	json_begin_object(body, "Links");
	link_to(bmc, body, "Sessions", ROOT "/SessionService/Sessions");
	json_end_object(body);
	json_begin_object(body, "Oem");
	json_begin_object(body, vendor_of(bmc)->oem);
	json_end_object(body);
	json_end_object(body);
	json_end_object(body);
}

static void session_service_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
				 struct text *body)
{
	(void)now_ms;
	redfish_bmc_resources_begin(body, path, "#SessionService.v1_1_8.SessionService",
				    "SessionService", "Session Service");
	json_put_bool(body, "ServiceEnabled", true);
	json_put_int(body, "SessionTimeout", 1800);
	status_ok(body);
	link_under(bmc, body, "Sessions", path, "Sessions");
	json_end_object(body);
}

static void sessions_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			  struct text *body)
{
	int64_t count = 0;

	(void)now_ms;
	collection_begin(body, path, "#SessionCollection.SessionCollection", "Sessions");
	for (unsigned i = 0; i < bmc->session_limit; i++) {
		char id[16];

		if (bmc->sessions[i].id == 0)
			continue;
		(void)text_format(id, sizeof(id), "%u", bmc->sessions[i].id);
		link_under(bmc, body, NULL, path, id);
		count++;
	}
	collection_end(body, count);
}

/* --- the system --- */

static void systems_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			 struct text *body)
{
	(void)now_ms;
	bmc->collection_read = true;
	collection_of_one(bmc, body, path, "#ComputerSystemCollection.ComputerSystemCollection",
			  "Computer Systems", vendor_of(bmc)->system);
}

static void system_boot(struct redfish_bmc *bmc, struct text *body)
{
	static const char *const targets[] = {"None",      "Pxe",      "Hdd", "Cd",
					      "BiosSetup", "UefiHttp", NULL};
	static const char *const enabled[] = {"Disabled", "Once", "Continuous", NULL};
	static const char *const modes[] = {"UEFI", "Legacy", NULL};
	static const char *const order[] = {"Boot0001", "Boot0000", NULL};
	const struct redfish_bmc_boot *boot =
		bmc->faults & REDFISH_BMC_STALE_BOOT ? &bmc->shown : &bmc->seen.boot;

	json_begin_object(body, "Boot");
	json_put_string(body, "BootSourceOverrideTarget", boot->target);
	json_put_string(body, "BootSourceOverrideEnabled", boot->enabled);
	json_put_string(body, "BootSourceOverrideMode", boot->mode);
	redfish_bmc_resources_words(body, "BootSourceOverrideTarget@Redfish.AllowableValues",
				    targets);
	redfish_bmc_resources_words(body, "BootSourceOverrideEnabled@Redfish.AllowableValues",
				    enabled);
	redfish_bmc_resources_words(body, "BootSourceOverrideMode@Redfish.AllowableValues", modes);
	redfish_bmc_resources_words(body, "BootOrder", order);
	json_end_object(body);
}

static void system_actions(const struct redfish_bmc *bmc, struct text *body, const char *path)
{
	char target[192];

	(void)text_format(target, sizeof(target), "%s/Actions/ComputerSystem.Reset%s", path,
			  vendor_of(bmc)->slash);
	json_begin_object(body, "Actions");
	json_begin_object(body, "#ComputerSystem.Reset");
	json_put_string(body, "target", target);
	if (vendor_of(bmc)->action_info) {
		(void)text_format(target, sizeof(target), "%s/ResetActionInfo", path);
		json_put_string(body, "@Redfish.ActionInfo", target);
	} else {
		redfish_bmc_resources_words(body, "ResetType@Redfish.AllowableValues",
					    vendor_of(bmc)->reset_types);
	}
	json_end_object(body);
	json_end_object(body);
}

static void system_links(const struct redfish_bmc *bmc, struct text *body)
{
	json_begin_object(body, "Links");
	json_begin_array(body, "Chassis");
	link_under(bmc, body, NULL, ROOT "/Chassis", vendor_of(bmc)->chassis);
	json_end_array(body);
	json_begin_array(body, "ManagedBy");
	link_under(bmc, body, NULL, ROOT "/Managers", vendor_of(bmc)->manager);
	json_end_array(body);
	json_end_object(body);
}

static void system_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			struct text *body)
{
	redfish_bmc_resources_begin(body, path, "#ComputerSystem.v1_20_0.ComputerSystem",
				    vendor_of(bmc)->system, "System");
	json_put_string(body, "SystemType", "Physical");
	json_put_string(body, "HostName", bmc->name);
	json_put_string(body, "Manufacturer", vendor_of(bmc)->manufacturer);
	json_put_string(body, "Model", vendor_of(bmc)->model);
	json_put_string(body, "SerialNumber", bmc->serial);
	json_put_string(body, "PartNumber", "LAB-0001");
	json_put_string(body, "AssetTag", "");
	json_put_string(body, "UUID", bmc->uuid);
	json_put_string(body, "BiosVersion", "1.2.3");
	json_put_string(body, "PowerState", bmc_is_on(bmc, now_ms) ? "On" : "Off");
	json_put_string(body, "IndicatorLED", bmc->led ? "Lit" : "Off");
	status_ok(body);
	json_begin_object(body, "ProcessorSummary");
	json_put_int(body, "Count", 2);
	json_end_object(body);
	json_begin_object(body, "MemorySummary");
	json_put_int(body, "TotalSystemMemoryGiB", 64);
	json_end_object(body);
	system_boot(bmc, body);
	link_under(bmc, body, "BootOptions", path, "BootOptions");
	system_links(bmc, body);
	system_actions(bmc, body, path);
	json_end_object(body);
}

static void action_info_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			     struct text *body)
{
	(void)now_ms;
	redfish_bmc_resources_begin(body, path, "#ActionInfo.v1_3_0.ActionInfo", "ResetActionInfo",
				    "Reset Action Info");
	json_begin_array(body, "Parameters");
	json_begin_object(body, NULL);
	json_put_string(body, "Name", "ResetType");
	json_put_bool(body, "Required", true);
	json_put_string(body, "DataType", "String");
	redfish_bmc_resources_words(body, "AllowableValues", vendor_of(bmc)->reset_types);
	json_end_object(body);
	json_end_array(body);
	json_end_object(body);
}

/* The collection is in another order than the boot order, as on 36 of 36 real R770. */
static void boot_options_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			      struct text *body)
{
	(void)now_ms;
	collection_begin(body, path, "#BootOptionCollection.BootOptionCollection", "Boot Options");
	link_under(bmc, body, NULL, path, "Boot0000");
	link_under(bmc, body, NULL, path, "Boot0001");
	collection_end(body, 2);
}

static void boot_option_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			     struct text *body)
{
	bool first = path[strlen(path) - 1] == '0';

	(void)bmc;
	(void)now_ms;
	redfish_bmc_resources_begin(body, path, "#BootOption.v1_0_4.BootOption",
				    first ? "Boot0000" : "Boot0001", "Boot Option");
	json_put_string(body, "BootOptionReference", first ? "Boot0000" : "Boot0001");
	json_put_string(body, "DisplayName", first ? "Disk" : "PXE Device 1");
	json_put_bool(body, "BootOptionEnabled", true);
	json_end_object(body);
}

/* --- chassis --- */

static void chassis_all_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			     struct text *body)
{
	(void)now_ms;
	collection_of_one(bmc, body, path, "#ChassisCollection.ChassisCollection", "Chassis",
			  vendor_of(bmc)->chassis);
}

static void chassis_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			 struct text *body)
{
	redfish_bmc_resources_begin(body, path, "#Chassis.v1_23_0.Chassis", vendor_of(bmc)->chassis,
				    "Chassis");
	json_put_string(body, "ChassisType", "RackMount");
	json_put_string(body, "Manufacturer", vendor_of(bmc)->manufacturer);
	json_put_string(body, "Model", vendor_of(bmc)->model);
	json_put_string(body, "SerialNumber", bmc->serial);
	json_put_string(body, "PartNumber", "LAB-CH-0001");
	json_put_string(body, "PowerState", bmc_is_on(bmc, now_ms) ? "On" : "Off");
	status_ok(body);
	link_under(bmc, body, "Thermal", path, "Thermal");
	link_under(bmc, body, "Power", path, "Power");
	json_end_object(body);
}

static void thermal_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			 struct text *body)
{
	bool on = bmc_is_on(bmc, now_ms);

	redfish_bmc_resources_begin(body, path, "#Thermal.v1_7_1.Thermal", "Thermal", "Thermal");
	json_begin_array(body, "Temperatures");
	json_begin_object(body, NULL);
	json_put_string(body, "MemberId", "0");
	json_put_string(body, "Name", "Inlet Temp");
	json_put_int(body, "SensorNumber", 4);
	json_put_double(body, "ReadingCelsius", 22.5);
	status_ok(body);
	json_end_object(body);
	json_begin_object(body, NULL);
	json_put_string(body, "MemberId", "1");
	json_put_string(body, "Name", "CPU1 Temp");
	json_put_int(body, "SensorNumber", 14);
	if (on)
		json_put_double(body, "ReadingCelsius", 91);
	else
		json_put_null(body, "ReadingCelsius");
	json_begin_object(body, "Status");
	json_put_string(body, "State", on ? "Enabled" : "UnavailableOffline");
	json_put_string(body, "Health", on ? "Warning" : NULL);
	json_end_object(body);
	json_end_object(body);
	json_end_array(body);
	json_begin_array(body, "Fans");
	json_begin_object(body, NULL);
	json_put_string(body, "MemberId", "0");
	json_put_string(body, "Name", "Fan1A");
	json_put_int(body, "Reading", on ? 6960 : 0);
	json_put_string(body, "ReadingUnits", "RPM");
	status_ok(body);
	json_end_object(body);
	json_end_array(body);
	json_end_object(body);
}

static void power_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms, struct text *body)
{
	redfish_bmc_resources_begin(body, path, "#Power.v1_7_2.Power", "Power", "Power");
	json_begin_array(body, "PowerControl");
	json_begin_object(body, NULL);
	json_put_string(body, "MemberId", "0");
	json_put_string(body, "Name", "System Power Control");
	json_put_int(body, "PowerConsumedWatts", bmc_is_on(bmc, now_ms) ? 412 : 9);
	json_end_object(body);
	json_end_array(body);
	json_begin_array(body, "Voltages");
	json_begin_object(body, NULL);
	json_put_string(body, "MemberId", "0");
	json_put_string(body, "Name", "PS1 Voltage");
	json_put_int(body, "SensorNumber", 40);
	json_put_double(body, "ReadingVolts", 231.5);
	status_ok(body);
	json_end_object(body);
	json_end_array(body);
	json_end_object(body);
}

/* --- manager and log --- */

static void managers_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			  struct text *body)
{
	(void)now_ms;
	collection_of_one(bmc, body, path, "#ManagerCollection.ManagerCollection", "Managers",
			  vendor_of(bmc)->manager);
}

static void manager_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			 struct text *body)
{
	(void)now_ms;
	redfish_bmc_resources_begin(body, path, "#Manager.v1_17_0.Manager", vendor_of(bmc)->manager,
				    "Manager");
	json_put_string(body, "ManagerType", "BMC");
	json_put_string(body, "Model", "Redfish model");
	json_put_string(body, "FirmwareVersion", "7.10");
	json_put_string(body, "UUID", bmc->uuid);
	status_ok(body);
	link_under(bmc, body, "LogServices", path, "LogServices");
	json_end_object(body);
}

static void log_services_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			      struct text *body)
{
	(void)now_ms;
	collection_of_one(bmc, body, path, "#LogServiceCollection.LogServiceCollection",
			  "Log Services", vendor_of(bmc)->log);
}

static void log_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms, struct text *body)
{
	char target[192];

	(void)now_ms;
	redfish_bmc_resources_begin(body, path, "#LogService.v1_4_0.LogService",
				    vendor_of(bmc)->log, "System Event Log");
	json_put_string(body, "LogEntryType", "SEL");
	json_put_int(body, "MaxNumberOfRecords", LOG_MAX);
	status_ok(body);
	link_under(bmc, body, "Entries", path, "Entries");
	(void)text_format(target, sizeof(target), "%s/Actions/LogService.ClearLog%s", path,
			  vendor_of(bmc)->slash);
	json_begin_object(body, "Actions");
	json_begin_object(body, "#LogService.ClearLog");
	json_put_string(body, "target", target);
	json_end_object(body);
	json_end_object(body);
	json_end_object(body);
}

static void entries_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			 struct text *body)
{
	(void)now_ms;
	collection_begin(body, path, "#LogEntryCollection.LogEntryCollection", "Log Entries");
	for (unsigned i = 0; i < bmc->log_count; i++) {
		const struct log_entry *entry = &bmc->log[i];
		char id[16];
		char at[160];

		(void)text_format(id, sizeof(id), "%u", entry->id);
		(void)text_format(at, sizeof(at), "%s/%s", path, id);
		redfish_bmc_resources_begin(body, at, "#LogEntry.v1_15_0.LogEntry", id,
					    "Log Entry");
		json_put_string(body, "EntryType", "SEL");
		json_put_string(body, "Created", "2024-02-29T12:00:00+01:00");
		json_put_string(body, "Severity", entry->severity);
		json_put_string(body, "Message", entry->message);
		json_end_object(body);
	}
	collection_end(body, bmc->log_count);
}

/* --- firmware --- */

static void update_service_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
				struct text *body)
{
	(void)now_ms;
	redfish_bmc_resources_begin(body, path, "#UpdateService.v1_11_0.UpdateService",
				    "UpdateService", "Update Service");
	json_put_bool(body, "ServiceEnabled", true);
	link_under(bmc, body, "FirmwareInventory", path, "FirmwareInventory");
	json_begin_object(body, "Actions"); /* sushy wants it to be there */
	json_end_object(body);
	json_end_object(body);
}

static void firmware_all_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			      struct text *body)
{
	(void)now_ms;
	collection_of_one(bmc, body, path,
			  "#SoftwareInventoryCollection.SoftwareInventoryCollection",
			  "Firmware Inventory", "BIOS");
}

static void firmware_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			  struct text *body)
{
	(void)bmc;
	(void)now_ms;
	redfish_bmc_resources_begin(body, path, "#SoftwareInventory.v1_9_0.SoftwareInventory",
				    "BIOS", "BIOS");
	json_put_string(body, "Version", "1.2.3");
	json_put_bool(body, "Updateable", true);
	json_end_object(body);
}

static void account_service_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
				 struct text *body)
{
	(void)now_ms;
	redfish_bmc_resources_begin(body, path, "#AccountService.v1_13_0.AccountService",
				    "AccountService", "Accounts");
	link_under(bmc, body, "Accounts", path, "Accounts");
	json_end_object(body);
}

/* Somebody else's, and the one that we are. */
static void accounts_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			  struct text *body)
{
	(void)now_ms;
	collection_begin(body, path, "#ManagerAccountCollection.ManagerAccountCollection",
			 "Accounts");
	link_under(bmc, body, NULL, path, "1");
	link_under(bmc, body, NULL, path, "2");
	collection_end(body, 2);
}

static void account_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms,
			 struct text *body)
{
	bool ours = path[strlen(path) - 1] == '2';

	(void)now_ms;
	redfish_bmc_resources_begin(body, path, "#ManagerAccount.v1_9_0.ManagerAccount",
				    ours ? "2" : "1", "Account");
	json_put_string(body, "UserName", ours ? bmc->username : "somebody");
	json_put_string(body, "Password", NULL);
	json_put_string(body, "RoleId", "Administrator");
	json_end_object(body);
}

/* --- all of them --- */

/* In patterns %S, %M, %C, %L stand for the names of system, manager, chassis and log. */
static const struct {
	const char *pattern;
	void (*body)(struct redfish_bmc *, const char *, int64_t, struct text *);
	bool etag;
} resource_table[] = {
	{"/redfish", version_body, false},
	{ROOT, root_body, false},
	{ROOT "/SessionService", session_service_body, false},
	{ROOT "/SessionService/Sessions", sessions_body, false},
	{ROOT "/Systems", systems_body, false},
	{ROOT "/Systems/%S", system_body, true},
	{ROOT "/Systems/%S/ResetActionInfo", action_info_body, false},
	{ROOT "/Systems/%S/BootOptions", boot_options_body, false},
	{ROOT "/Systems/%S/BootOptions/Boot0000", boot_option_body, false},
	{ROOT "/Systems/%S/BootOptions/Boot0001", boot_option_body, false},
	{ROOT "/Chassis", chassis_all_body, false},
	{ROOT "/Chassis/%C", chassis_body, false},
	{ROOT "/Chassis/%C/Thermal", thermal_body, false},
	{ROOT "/Chassis/%C/Power", power_body, false},
	{ROOT "/Managers", managers_body, false},
	{ROOT "/Managers/%M", manager_body, false},
	{ROOT "/Managers/%M/LogServices", log_services_body, false},
	{ROOT "/Managers/%M/LogServices/%L", log_body, false},
	{ROOT "/Managers/%M/LogServices/%L/Entries", entries_body, false},
	{ROOT "/AccountService", account_service_body, false},
	{ROOT "/AccountService/Accounts", accounts_body, false},
	{ROOT "/AccountService/Accounts/1", account_body, true},
	{ROOT "/AccountService/Accounts/2", account_body, true},
	{ROOT "/UpdateService", update_service_body, false},
	{ROOT "/UpdateService/FirmwareInventory", firmware_all_body, false},
	{ROOT "/UpdateService/FirmwareInventory/BIOS", firmware_body, false},
};

static const char *redfish_bmc_resources_name_of(const struct vendor_row *vendor, char letter)
{
	switch (letter) {
	case 'S': return vendor->system;
	case 'M': return vendor->manager;
	case 'C': return vendor->chassis;
	default: return vendor->log;
	}
}

static bool redfish_bmc_resources_matches(const struct vendor_row *vendor, const char *pattern,
					  const char *path)
{
	while (*pattern && *path) {
		if (*pattern == '%') {
			const char *name = redfish_bmc_resources_name_of(vendor, pattern[1]);

			if (strncmp(path, name, strlen(name)) != 0)
				return false;
			path += strlen(name);
			pattern += 2;
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return *pattern == '\0' && *path == '\0';
}

bool resource_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms, struct text *ret,
		   char etag[24])
{
	char clean[160];
	size_t size = strcspn(path, "?#");

	while (size > 1 && path[size - 1] == '/')
		size--;
	if (!text_format(clean, sizeof(clean), "%.*s", (int)size, path))
		return false;
	for (size_t i = 0; i < COUNT_OF(resource_table); i++) {
		if (!redfish_bmc_resources_matches(vendor_of(bmc), resource_table[i].pattern,
						   clean))
			continue;
		/* Lazy iDRACs: what is under Systems is not there before its parent was asked for.
		 */
		if (bmc->faults & REDFISH_BMC_LAZY && !bmc->collection_read &&
		    strncmp(clean, ROOT "/Systems/", 20) == 0)
			return false;
		resource_table[i].body(bmc, clean, now_ms, ret);
		if (resource_table[i].etag)
			(void)text_format(etag, 24, "\"%u\"", bmc->version);
		return true;
	}
	return false;
}

void resource_error(struct text *ret, const char *code, const char *message)
{
	char id[96];

	(void)text_format(id, sizeof(id), "Base.1.15.%s", code);
	json_begin_object(ret, NULL);
	json_begin_object(ret, "error");
	json_put_string(ret, "code", id);
	json_put_string(ret, "message", message);
	json_begin_array(ret, "@Message.ExtendedInfo");
	json_begin_object(ret, NULL);
	json_put_string(ret, "MessageId", id);
	json_put_string(ret, "Message", message);
	json_put_string(ret, "Severity", "Critical");
	json_put_string(ret, "Resolution", "None");
	json_end_object(ret);
	json_end_array(ret);
	json_end_object(ret);
	json_end_object(ret);
}
