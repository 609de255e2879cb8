/* What the Redfish client does next: which exchanges an operation is made of, how long each may
 * take, and what a refusal means. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bampi/bmc/redfish_json.h"
#include "bampi/bmc/redfish_quirk_table.h"

/* One exchange, or one for each member of a list. */
enum redfish_stage {
	REDFISH_END, /* of the operation */
	REDFISH_ROOT,
	REDFISH_LOGIN,
	REDFISH_SYSTEMS, /* the collection */
	REDFISH_SYSTEM,
	REDFISH_ACTION_INFO,
	REDFISH_RESET,
	REDFISH_BOOT,
	REDFISH_LED,
	REDFISH_CHASSIS,
	REDFISH_THERMAL,
	REDFISH_POWER,
	REDFISH_SENSORS, /* the collection, of services without Thermal */
	REDFISH_SENSOR,
	REDFISH_MANAGER,
	REDFISH_LOGS, /* the collection */
	REDFISH_LOG,
	REDFISH_ENTRIES,
	REDFISH_CLEAR,
	REDFISH_UPDATE,
	REDFISH_FIRMWARES, /* the collection */
	REDFISH_FIRMWARE,
	REDFISH_ACCOUNT_SERVICE,
	REDFISH_ACCOUNTS, /* the collection */
	REDFISH_ACCOUNT,
	REDFISH_PASSWORD,
	REDFISH_STAGE_COUNT
};

struct redfish_stage_row {
	const char *what; /* in problems: "reading its system" */
	const char *method;
	uint32_t timeout_ms;
	size_t answer_limit;
	bool optional; /* 404 or 501 means that the BMC has none */
};
extern const struct redfish_stage_row redfish_stage_table[REDFISH_STAGE_COUNT];

/* Stages of an operation in order, from REDFISH_ROOT to REDFISH_END; those whose result is known
 * are skipped by the client. NULL: Redfish services do not offer this. */
const enum redfish_stage *redfish_plan(enum bmc_op op);

/* How a refused exchange goes on. */
enum redfish_verdict {
	REDFISH_PASS,   /* not refused */
	REDFISH_SKIP,   /* the BMC has no such thing: leave the stage out */
	REDFISH_AGAIN,  /* the same after pause_ms */
	REDFISH_PARENT, /* read the collection of systems first, after pause_ms */
	REDFISH_REREAD, /* the system changed meanwhile: read it, then the same */
	REDFISH_ANEW,   /* the session is gone: log in once, then the same */
	REDFISH_BASIC,  /* no session to be had: go on with basic authentication */
	REDFISH_FAIL
};

struct redfish_refusal {
	enum bmc_op op;
	enum redfish_stage stage;
	int status;
	const struct redfish_error *error;
	int64_t retry_s; /* Retry-After; 0 = not told */
	unsigned tries;  /* refusals of this stage so far in this operation */
	bool fresh;      /* the session was opened in this operation, or there is none */
	bool reread;     /* was done before in this operation */
	const struct redfish_quirk *quirk;
};
struct redfish_decision {
	enum redfish_verdict verdict;
	int64_t pause_ms; /* AGAIN, PARENT */
	int rc;           /* FAIL: error number of bmc_driver.h */
	const char *text; /* FAIL and BASIC: follows "the BMC "; a constant */
	const char *hint; /* may be NULL */
	bool full;        /* BASIC: all sessions of the BMC are taken */
};
struct redfish_decision redfish_decide(const struct redfish_refusal *refusal);
