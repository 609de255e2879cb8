/* Inside the Redfish model: its state, shared by redfish_bmc.c (requests, sessions, faults) and
 * redfish_bmc_resources.c (what resources look like). */
#pragma once

#include "tests/sim/redfish/redfish_bmc.h"

enum { SESSIONS_MAX = 16, SESSIONS_DEFAULT = 8, LOG_MAX = 16 };

struct session {
	unsigned id; /* 0 = free */
	char token[33];
	int64_t used_ms;
};

struct log_entry {
	unsigned id;
	const char *severity, *message; /* constants */
};

struct redfish_bmc {
	enum redfish_bmc_vendor vendor;
	char name[64], serial[64], uuid[40], username[64], password[64];
	unsigned session_limit;
	uint32_t power_delay_ms;
	struct redfish_bmc_node node;

	uint32_t faults;
	int64_t hold_ms;
	char slow_path[96];

	struct session sessions[SESSIONS_MAX];
	unsigned next_session;
	bool on, pending, pending_on; /* of a model that is its own node */
	int64_t pending_ms;
	int64_t on_ms, off_ms; /* when it was commanded so; 0 = never */
	bool led;
	bool collection_read;          /* for LAZY */
	unsigned version;              /* of the system, for its ETag */
	struct redfish_bmc_boot shown; /* for STALE_BOOT */
	struct log_entry log[LOG_MAX];
	unsigned log_count, next_entry;
	struct redfish_bmc_state seen;
};

/* Names of one personality. */
struct vendor_row {
	const char *word; /* on command lines */
	const char *root_vendor, *oem, *manufacturer, *model;
	const char *system, *manager, *chassis;
	const char *slash; /* what links end in */
	const char *log;   /* of the manager's log service */
	bool action_info;
	const char *const *reset_types; /* NULL-ended */
};
extern const struct vendor_row vendor_table[REDFISH_BMC_VENDOR_COUNT];

bool bmc_is_on(struct redfish_bmc *bmc, int64_t now_ms);
/* The body of GET `path` (without query and closing slash); false = there is no such resource.
 * `etag` is set for what has one. */
bool resource_body(struct redfish_bmc *bmc, const char *path, int64_t now_ms, struct text *ret,
		   char etag[24]);
void resource_error(struct text *ret, const char *code, const char *message);
void system_path(const struct redfish_bmc *bmc, char *ret, size_t room);
