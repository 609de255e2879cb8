#include "bampi/bmc/redfish_policy.h"

#include <errno.h>
#include <string.h>

#include "common/base/error.h"

enum { SMALL = 1 << 16, MIDDLE = 1 << 18, LARGE = 1 << 20, LONGEST = 1 << 22 }; /* answers, bytes */
enum { POWER_MS = 10000, LOGIN_MS = 15000, SENSORS_MS = 30000, LOG_MS = 60000 };
enum { FIRMWARE_MS = 180000 }; /* DGX H100 takes 2 to 3 minutes */
enum { BUSY_TRIES = 3, BUSY_PAUSE_MS = 1000, BUSY_PAUSE_MAX_MS = 10000 };

/* clang-format off */
const struct redfish_stage_row redfish_stage_table[REDFISH_STAGE_COUNT] = {
	[REDFISH_END] =         {"nothing", "GET", POWER_MS, LARGE, false},
	[REDFISH_ROOT] =        {"reading its service root", "GET", POWER_MS, SMALL, false},
	[REDFISH_LOGIN] =       {"opening a session", "POST", LOGIN_MS, SMALL, false},
	[REDFISH_SYSTEMS] =     {"reading its systems", "GET", POWER_MS, MIDDLE, false},
	[REDFISH_SYSTEM] =      {"reading its system", "GET", POWER_MS, LARGE, false},
	[REDFISH_ACTION_INFO] = {"reading its reset types", "GET", POWER_MS, MIDDLE, true},
	[REDFISH_RESET] =       {"the power command", "POST", POWER_MS, MIDDLE, false},
	[REDFISH_BOOT] =        {"setting the boot device", "PATCH", POWER_MS, LARGE, false},
	[REDFISH_LED] =         {"setting the indicator", "PATCH", POWER_MS, LARGE, false},
	[REDFISH_CHASSIS] =     {"reading its chassis", "GET", SENSORS_MS, LARGE, false},
	[REDFISH_THERMAL] =     {"reading temperatures", "GET", SENSORS_MS, LARGE, true},
	[REDFISH_POWER] =       {"reading power supplies", "GET", SENSORS_MS, LARGE, true},
	[REDFISH_SENSORS] =     {"reading its sensors", "GET", SENSORS_MS, LARGE, true},
	[REDFISH_SENSOR] =      {"reading a sensor", "GET", SENSORS_MS, SMALL, true},
	[REDFISH_MANAGER] =     {"reading its manager", "GET", POWER_MS, LARGE, false},
	[REDFISH_LOGS] =        {"reading its log services", "GET", LOG_MS, MIDDLE, false},
	[REDFISH_LOG] =         {"reading a log service", "GET", LOG_MS, MIDDLE, true},
	[REDFISH_ENTRIES] =     {"reading its event log", "GET", LOG_MS, LONGEST, false},
	[REDFISH_CLEAR] =       {"clearing its event log", "POST", LOG_MS, MIDDLE, false},
	[REDFISH_UPDATE] =      {"reading its update service", "GET", POWER_MS, MIDDLE, true},
	[REDFISH_FIRMWARES] =   {"reading its firmware inventory", "GET", FIRMWARE_MS, LARGE, true},
	[REDFISH_FIRMWARE] =    {"reading a firmware version", "GET", FIRMWARE_MS, MIDDLE, true},
	[REDFISH_ACCOUNT_SERVICE] = {"reading its account service", "GET", POWER_MS, MIDDLE, false},
	[REDFISH_ACCOUNTS] =    {"reading its accounts", "GET", POWER_MS, MIDDLE, false},
	[REDFISH_ACCOUNT] =     {"reading an account", "GET", POWER_MS, MIDDLE, false},
	[REDFISH_PASSWORD] =    {"setting the password", "PATCH", LOGIN_MS, LARGE, false},
};

#define TO_SYSTEM REDFISH_ROOT, REDFISH_LOGIN, REDFISH_SYSTEMS, REDFISH_SYSTEM
static const enum redfish_stage
	plan_look[] = {TO_SYSTEM, REDFISH_END},
	plan_reset[] = {TO_SYSTEM, REDFISH_ACTION_INFO, REDFISH_RESET, REDFISH_END},
	plan_boot[] = {TO_SYSTEM, REDFISH_BOOT, REDFISH_END},
	plan_led[] = {TO_SYSTEM, REDFISH_LED, REDFISH_END},
	plan_info[] = {TO_SYSTEM, REDFISH_MANAGER, REDFISH_END},
	plan_sensors[] = {TO_SYSTEM, REDFISH_CHASSIS, REDFISH_THERMAL, REDFISH_POWER, REDFISH_SENSORS, REDFISH_SENSOR, REDFISH_END},
	plan_log[] = {TO_SYSTEM, REDFISH_MANAGER, REDFISH_LOGS, REDFISH_LOG, REDFISH_ENTRIES, REDFISH_END},
	plan_clear[] = {TO_SYSTEM, REDFISH_MANAGER, REDFISH_LOGS, REDFISH_LOG, REDFISH_CLEAR, REDFISH_END},
	plan_fru[] = {TO_SYSTEM, REDFISH_CHASSIS, REDFISH_UPDATE, REDFISH_FIRMWARES, REDFISH_FIRMWARE, REDFISH_END},
	plan_password[] = {REDFISH_ROOT, REDFISH_LOGIN, REDFISH_ACCOUNT_SERVICE, REDFISH_ACCOUNTS, REDFISH_ACCOUNT, REDFISH_PASSWORD, REDFISH_END};
/* clang-format on */

const enum redfish_stage *redfish_plan(enum bmc_op op)
{
	static const enum redfish_stage *const plans[BMC_OP_COUNT] = {
		[BMC_POWER_STATUS] = plan_look,
		[BMC_POWER_ON] = plan_reset,
		[BMC_POWER_OFF] = plan_reset,
		[BMC_POWER_RESET] = plan_reset,
		[BMC_POWER_SOFT] = plan_reset,
		[BMC_BOOT_GET] = plan_look,
		[BMC_BOOT_SET] = plan_boot,
		[BMC_IDENTIFY] = plan_led,
		[BMC_INFO] = plan_info,
		[BMC_SENSORS] = plan_sensors,
		[BMC_SEL_LIST] = plan_log,
		[BMC_SEL_NEW] = plan_log,
		[BMC_SEL_CLEAR] = plan_clear,
		[BMC_FRU] = plan_fru,
		[BMC_PASSWORD_SET] = plan_password,
	};

	return (unsigned)op < BMC_OP_COUNT ? plans[op] : NULL;
}

/* --- refusals --- */

static struct redfish_decision redfish_policy_fail(int rc, const char *text, const char *hint)
{
	return (struct redfish_decision){
		.verdict = REDFISH_FAIL, .rc = rc, .text = text, .hint = hint};
}

static struct redfish_decision redfish_policy_again(enum redfish_verdict verdict, int64_t pause_ms)
{
	return (struct redfish_decision){.verdict = verdict, .pause_ms = pause_ms};
}

static bool redfish_policy_names(const struct redfish_error *error, const char *id,
				 const char *words)
{
	return strstr(error->id, id) || (words && strcasestr(error->message, words));
}

static struct redfish_decision refused_login(const struct redfish_refusal *refusal)
{
	const struct redfish_error *error = refusal->error;

	if (redfish_policy_names(error, "SessionLimitExceeded",
				 "maximum number of user sessions") ||
	    redfish_policy_names(error, "RAC0218", NULL))
		return (struct redfish_decision){
			.verdict = REDFISH_BASIC,
			.full = true,
			.text = "has no session free",
			.hint = "another program leaves its sessions open: end them, or restart the BMC"};
	if (refusal->status == 404 || refusal->status == 405 || refusal->status == 501)
		return (struct redfish_decision){.verdict = REDFISH_BASIC};
	if (refusal->status == 400 || refusal->status == 401 || refusal->status == 403)
		return redfish_policy_fail(E_AUTHENTICATION, "refused the password",
					   "check user name and password of the BMC");
	return redfish_policy_fail(E_PROTOCOL, "opens no session", NULL);
}

static struct redfish_decision refused_password(const struct redfish_refusal *refusal)
{
	if (!refusal->fresh)
		return redfish_policy_again(REDFISH_ANEW, 0);
	return redfish_policy_fail(E_AUTHENTICATION, "refused the password",
				   "check user name and password of the BMC");
}

static struct redfish_decision not_found(const struct redfish_refusal *refusal)
{
	int64_t pause_ms = redfish_patience_ms(&refusal->quirk->not_found, refusal->tries);

	if (redfish_stage_table[refusal->stage].optional)
		return redfish_policy_again(REDFISH_SKIP, 0);
	if (refusal->stage == REDFISH_SYSTEM && pause_ms >= 0) /* the first time at once */
		return redfish_policy_again(REDFISH_PARENT, refusal->tries ? pause_ms : 0);
	return redfish_policy_fail(E_PROTOCOL, "lacks a resource that its own answers name",
				   "restart the BMC, or update its firmware");
}

static struct redfish_decision redfish_policy_conflict(const struct redfish_refusal *refusal)
{
	int64_t pause_ms = -1;

	if (refusal->stage == REDFISH_RESET && refusal->op == BMC_POWER_ON)
		pause_ms = redfish_patience_ms(&refusal->quirk->power_on, refusal->tries);
	else if (refusal->stage == REDFISH_BOOT)
		pause_ms = redfish_patience_ms(&refusal->quirk->boot, refusal->tries);
	if (pause_ms >= 0)
		return redfish_policy_again(REDFISH_AGAIN, pause_ms);
	return redfish_policy_fail(E_CONFLICT, "refuses this in its present state", NULL);
}

static struct redfish_decision redfish_policy_busy(const struct redfish_refusal *refusal)
{
	int64_t pause_ms = refusal->retry_s * 1000;

	if (refusal->tries >= BUSY_TRIES)
		return redfish_policy_fail(-EBUSY, "says that it is busy", NULL);
	if (refusal->retry_s <= 0 || refusal->retry_s > BUSY_PAUSE_MAX_MS / 1000)
		pause_ms = refusal->retry_s > 0 ? BUSY_PAUSE_MAX_MS
						: (int64_t)BUSY_PAUSE_MS << refusal->tries;
	return redfish_policy_again(REDFISH_AGAIN, pause_ms);
}

static struct redfish_decision bad_request(const struct redfish_refusal *refusal)
{
	if (refusal->stage == REDFISH_BOOT &&
	    redfish_policy_names(refusal->error, "DuringSystemPOST", "in POST"))
		return redfish_policy_conflict(refusal);
	if (redfish_policy_names(refusal->error, "NotSupported", NULL) ||
	    redfish_policy_names(refusal->error, "NotInList", NULL))
		return redfish_policy_fail(E_UNSUPPORTED, "does not support this", NULL);
	return redfish_policy_fail(E_PROTOCOL, "does not take this request", NULL);
}

struct redfish_decision redfish_decide(const struct redfish_refusal *refusal)
{
	int status = refusal->status;

	if (status >= 200 && status <= 299)
		return redfish_policy_again(REDFISH_PASS, 0);
	if (refusal->stage == REDFISH_LOGIN && (status < 500 || status == 501))
		return refused_login(refusal);
	switch (status) {
	case 400: return bad_request(refusal);
	case 401: return refused_password(refusal);
	case 403:
		return redfish_policy_fail(E_DENIED, "does not allow this to its user",
					   "give the user the role of an administrator");
	case 404: return not_found(refusal);
	case 409: return redfish_policy_conflict(refusal);
	case 412:
	case 428:
		if (!refusal->reread)
			return redfish_policy_again(REDFISH_REREAD, 0);
		return redfish_policy_fail(E_CONFLICT, "was changed by another program meanwhile",
					   NULL);
	case 405:
	case 501:
		if (redfish_stage_table[refusal->stage].optional)
			return redfish_policy_again(REDFISH_SKIP, 0);
		return redfish_policy_fail(E_UNSUPPORTED, "does not support this", NULL);
	case 429:
	case 503:
		if (refusal->stage == REDFISH_LOGIN) {
			struct redfish_decision login = refused_login(refusal);

			if (login.verdict == REDFISH_BASIC)
				return login;
		}
		return redfish_policy_busy(refusal);
	default: break;
	}
	return redfish_policy_fail(E_PROTOCOL, "failed inside", "restart the BMC if it stays so");
}
