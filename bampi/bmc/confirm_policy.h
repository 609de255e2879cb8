/* An operation on a BMC is a few calls: look, command, look again until the effect shows. This
 * decides the next one from what was heard so far; the queue makes it. Pure: facts in, a value out,
 * time as an argument. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bampi/bmc/bmc_driver.h"

enum {
	CONFIRM_CYCLE_PAUSE_MS = 2000
}; /* off for so long, that supplies discharge (IPMI 28.3 suggests >= 1 s) */
enum { CONFIRM_COMMAND_AGAIN_MS = 15000 }; /* no effect seen: a power command is sent again */
enum {
	CONFIRM_SOFT_AGAIN_MS = 60000
};                               /* the same for the ACPI button; an OS may be busy shutting down */
enum { CONFIRM_TRIES = 4 };      /* calls in a row that may fail for a passing reason */
enum { CONFIRM_BOOT_TRIES = 2 }; /* boot device set so often before its wrong echo is a failure */

enum confirm_phase {
	CONFIRM_PLAIN,     /* one call */
	CONFIRM_TO_OFF,    /* until the status says off */
	CONFIRM_TO_ON,     /* until the status says on */
	CONFIRM_BOOT_SEND, /* boot flags to be set */
	CONFIRM_BOOT_READ, /* and read back */
	CONFIRM_END
};

/* What is known of one operation. */
struct confirm {
	enum bmc_op op;
	struct bmc_boot boot; /* wanted */
	enum confirm_phase phase;
	int64_t deadline_ms;
	int64_t not_before_ms; /* of the next call */
	bool status_known, on; /* as read since the last command */
	bool commanded;        /* a command of this half was sent, answered or not */
	int64_t command_at_ms; /* when */
	unsigned commands;     /* sent in all, answered or not */
	unsigned polls;        /* status calls since the last command */
	unsigned failures[2];  /* in a row: of calls that only look, of commands */
	int last_rc;
	bool wrong_echo; /* it ended because another boot device was read back: */
	enum bmc_boot_device echo;
	int rc;                   /* CONFIRM_END: how it ended */
	struct bmc_result result; /* CONFIRM_END and rc 0; moved in by confirm_heard */
};

struct confirm confirm_begin(const struct bmc_request *request, int64_t now_ms,
			     int64_t deadline_ms);

enum confirm_kind { CONFIRM_CALL, CONFIRM_WAIT, CONFIRM_FINISHED };
struct confirm_next {
	enum confirm_kind kind;
	enum bmc_op call; /* CONFIRM_CALL; the request of the operation with this op */
	int64_t until_ms; /* CONFIRM_WAIT */
};
struct confirm_next confirm_next(const struct confirm *confirm, int64_t now_ms);

/* A call has ended. `result` is moved (zeroed) when the operation keeps it; NULL when rc != 0. */
void confirm_heard(struct confirm *confirm, enum bmc_op call, int rc, struct bmc_result *result,
		   int64_t now_ms);

/* Milliseconds before try number `failures` + 1 after `rc`; -1 = do not try again. */
int64_t confirm_backoff_ms(int rc, bool idempotent, unsigned failures);
/* Boot flags read back against those wanted: E_PROTOCOL when the BMC shows another device, else 0
 * with each field judged. */
int confirm_boot_compare(const struct bmc_boot *wanted, struct bmc_result *read_back);
