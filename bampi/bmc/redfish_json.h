/* JSON of Redfish (DSP0266; schemas of DSP2046) <-> structs: what we read of the resources that
 * matter to a node, and the few bodies that we send. What a BMC leaves out is left empty; links are
 * paths only, so no answer can send us elsewhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"

#include "bampi/bmc/bmc_driver.h"

#define REDFISH_PATH_SIZE 160
enum {
	REDFISH_MEMBERS_MAX = 64, /* of a collection that are looked at */
	REDFISH_ROWS_MAX = 2048,  /* sensors or log entries of one BMC */
};

/* Any answer: E_LIMIT, E_MALFORMED with a problem; else an object. */
MUST_USE int redfish_read(const char *data, size_t size, size_t limit, json_t **ret,
			  struct problem *problem);

struct redfish_root {
	char vendor[48]; /* Vendor, or the first member of Oem */
	char systems[REDFISH_PATH_SIZE], update[REDFISH_PATH_SIZE], sessions[REDFISH_PATH_SIZE];
	char accounts[REDFISH_PATH_SIZE]; /* AccountService */
};
/* E_PROTOCOL: it is no service root. */
MUST_USE int redfish_root_read(const json_t *json, struct redfish_root *ret);

struct redfish_members {
	char paths[REDFISH_MEMBERS_MAX][REDFISH_PATH_SIZE];
	size_t count;
	char next[REDFISH_PATH_SIZE]; /* the next page; "" = none */
};
MUST_USE int redfish_members_read(const json_t *json, struct redfish_members *ret);

enum redfish_power {
	REDFISH_POWER_UNKNOWN,
	REDFISH_POWER_ON,
	REDFISH_POWER_OFF,
	REDFISH_POWER_GOES_ON,
	REDFISH_POWER_GOES_OFF
};
/* ResetType values that we know, as bits of `resets`. */
enum redfish_reset {
	REDFISH_RESET_ON,
	REDFISH_RESET_FORCE_ON,
	REDFISH_RESET_FORCE_OFF,
	REDFISH_RESET_SHUTDOWN,
	REDFISH_RESET_FORCE_RESTART,
	REDFISH_RESET_RESTART,
	REDFISH_RESET_CYCLE,
	REDFISH_RESET_BUTTON,
	REDFISH_RESET_COUNT
};

struct redfish_system {
	enum redfish_power power;
	char uuid[40], manufacturer[48], model[64], serial[48], part[48], bios[32];
	struct bmc_boot boot;
	bool boot_known, boot_valid, boot_mode_known;
	bool boot_pxe, boot_disk; /* allowed, or not told */
	uint32_t resets;          /* bits; 0 = not told here */
	char reset[REDFISH_PATH_SIZE], action_info[REDFISH_PATH_SIZE];
	char chassis[REDFISH_PATH_SIZE], manager[REDFISH_PATH_SIZE];
	char etag[64]; /* @odata.etag */
};
MUST_USE int redfish_system_read(const json_t *json, struct redfish_system *ret);
/* The ResetType values of an ActionInfo. */
uint32_t redfish_action_info_read(const json_t *json);

struct redfish_chassis {
	char manufacturer[48], model[64], serial[48], part[48];
	char thermal[REDFISH_PATH_SIZE], power[REDFISH_PATH_SIZE], sensors[REDFISH_PATH_SIZE];
};
void redfish_chassis_read(const json_t *json, struct redfish_chassis *ret);

struct redfish_manager {
	unsigned major, minor;
	char logs[REDFISH_PATH_SIZE];
};
void redfish_manager_read(const json_t *json, struct redfish_manager *ret);

struct redfish_log {
	bool is_event_log; /* of the hardware (SEL, IEL), not of the BMC's own doings */
	char entries[REDFISH_PATH_SIZE], clear[REDFISH_PATH_SIZE];
};
void redfish_log_read(const json_t *json, struct redfish_log *ret);
/* Is it the account of `username`? */
bool redfish_account_is(const json_t *json, const char *username);
void redfish_password_write(struct text *ret, const char *password);
/* The link `key` of an object; "" when there is none. */
void redfish_link_read(const json_t *json, const char *key, char ret[REDFISH_PATH_SIZE]);

/* Append the sensors of a Thermal, Power or Sensor resource; the log entries of a page; a firmware
 * version. -ENOMEM. Rows past REDFISH_ROWS_MAX are left out. */
MUST_USE int redfish_sensors_add(const json_t *json, struct bmc_result *ret);
MUST_USE int redfish_entries_add(const json_t *json, struct bmc_result *ret);
/* Oldest first, whatever the order of the pages. */
void redfish_entries_sort(struct bmc_result *ret);
/* Of sorted entries only those newer than the mark are left; all when it is gone (`restarted`).
 * Sets the mark to ask after next time. */
void redfish_entries_after(struct bmc_result *ret, const struct bmc_sel_mark *after);
MUST_USE int redfish_firmware_add(const json_t *json, struct bmc_result *ret);
MUST_USE int redfish_fru_add(struct bmc_result *ret, const char *area, const char *key,
			     const char *value);

/* Why a request was refused: the last word of the first MessageId ("SessionLimitExceeded",
 * "RAC0218"), and its message. */
struct redfish_error {
	char id[64], message[160];
};
void redfish_error_read(const json_t *json, struct redfish_error *ret);

/* The best ResetType of what is allowed (0 = not told: the usual one); -1 = none does it. */
int redfish_reset_choose(enum bmc_op op, uint32_t allowed);

void redfish_login_write(struct text *body, const char *username, const char *password);
void redfish_reset_write(struct text *body, enum redfish_reset reset);
/* with_mode: the system has BootSourceOverrideMode. */
void redfish_boot_write(struct text *body, const struct bmc_boot *boot, bool with_mode);
void redfish_led_write(struct text *body, bool lit);
