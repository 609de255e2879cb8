#include "bampi/bmc/confirm_policy.h"

#include <errno.h>

#include "common/base/error.h"

struct confirm confirm_begin(const struct bmc_request *request, int64_t now_ms, int64_t deadline_ms)
{
	static const enum confirm_phase phases[BMC_OP_COUNT] = {
		[BMC_POWER_ON] = CONFIRM_TO_ON,     [BMC_POWER_OFF] = CONFIRM_TO_OFF,
		[BMC_POWER_CYCLE] = CONFIRM_TO_OFF, [BMC_POWER_SOFT] = CONFIRM_TO_OFF,
		[BMC_BOOT_SET] = CONFIRM_BOOT_SEND,
	};
	struct confirm confirm = {
		.op = request->op,
		.phase = phases[request->op],
		.deadline_ms = deadline_ms,
		.not_before_ms = now_ms,
	};

	if (request->op == BMC_BOOT_SET)
		confirm.boot = request->boot;
	return confirm;
}

static enum bmc_op power_command(const struct confirm *confirm)
{
	if (confirm->phase == CONFIRM_TO_ON)
		return BMC_POWER_ON;
	return confirm->op == BMC_POWER_SOFT ? BMC_POWER_SOFT : BMC_POWER_OFF;
}

static int64_t command_again_ms(const struct confirm *confirm)
{
	return confirm->op == BMC_POWER_SOFT ? CONFIRM_SOFT_AGAIN_MS : CONFIRM_COMMAND_AGAIN_MS;
}

/* The status contradicts what is wanted: is a command due, or is the last one still at work? */
static bool command_is_due(const struct confirm *confirm, int64_t now_ms)
{
	return confirm->status_known && (!confirm->commanded || now_ms - confirm->command_at_ms >=
									command_again_ms(confirm));
}

static enum bmc_op next_call(const struct confirm *confirm, int64_t now_ms)
{
	switch (confirm->phase) {
	case CONFIRM_TO_OFF:
	case CONFIRM_TO_ON:
		return command_is_due(confirm, now_ms) ? power_command(confirm) : BMC_POWER_STATUS;
	case CONFIRM_BOOT_READ: return BMC_BOOT_GET;
	case CONFIRM_PLAIN:
	case CONFIRM_BOOT_SEND:
	case CONFIRM_END: break;
	}
	return confirm->op;
}

struct confirm_next confirm_next(const struct confirm *confirm, int64_t now_ms)
{
	if (confirm->phase == CONFIRM_END)
		return (struct confirm_next){.kind = CONFIRM_FINISHED};
	if (now_ms < confirm->not_before_ms)
		return (struct confirm_next){.kind = CONFIRM_WAIT,
					     .until_ms = confirm->not_before_ms};
	return (struct confirm_next){.kind = CONFIRM_CALL, .call = next_call(confirm, now_ms)};
}

int64_t confirm_backoff_ms(int rc, bool idempotent, unsigned failures)
{
	static const int64_t steps_ms[] = {250, 1000, 2000, 4000};
	bool refused = rc == -EBUSY ||
		       rc == E_CONFLICT; /* was not executed, so asking again is always safe */

	if (!refused && !(rc == E_TIMEOUT && idempotent))
		return -1;
	if (failures == 0 || failures >= CONFIRM_TRIES)
		return -1;
	return steps_ms[failures - 1];
}

static void confirm_policy_end(struct confirm *confirm, int rc)
{
	confirm->phase = CONFIRM_END;
	confirm->rc = rc;
}

static void end_power(struct confirm *confirm, enum bmc_confirm how)
{
	confirm->result = (struct bmc_result){
		.op = confirm->op,
		.power = {.on = confirm->on, .changed = confirm->commands > 0, .confirm = how},
	};
	confirm_policy_end(confirm, 0);
}

static void confirm_policy_reached(struct confirm *confirm, int64_t now_ms)
{
	if (confirm->op != BMC_POWER_CYCLE || confirm->phase == CONFIRM_TO_ON) {
		end_power(confirm, BMC_CONFIRMED);
		return;
	}
	/* First half of a cycle. A node that was off already needs no pause: nothing was taken away
	 * from it just now. */
	confirm->phase = CONFIRM_TO_ON;
	confirm->not_before_ms = confirm->commanded ? now_ms + CONFIRM_CYCLE_PAUSE_MS : now_ms;
	confirm->commanded = false;
	confirm->polls = 0;
	/* What was read is `off`, and that stays true until we command otherwise: the next call is
	 * the command. */
}

static void confirm_policy_heard_status(struct confirm *confirm, bool on, int64_t now_ms)
{
	/* Quick at first (a virtual BMC switches at once), then as slow as a real one. */
	static const int64_t poll_ms[] = {200, 300, 500, 1000, 2000};
	unsigned last = sizeof(poll_ms) / sizeof(poll_ms[0]) - 1;

	confirm->status_known = true;
	confirm->on = on;
	if (on == (confirm->phase == CONFIRM_TO_ON)) {
		confirm_policy_reached(confirm, now_ms);
		return;
	}
	if (command_is_due(confirm, now_ms))
		return;
	confirm->not_before_ms = now_ms + poll_ms[confirm->polls < last ? confirm->polls : last];
	confirm->polls++;
}

/* Sent, answered or not: only the status can tell. */
static void heard_command(struct confirm *confirm, int64_t now_ms)
{
	confirm->commanded = true;
	confirm->command_at_ms = now_ms;
	confirm->commands++;
	confirm->polls = 0;
	confirm->status_known = false;
	confirm->not_before_ms = now_ms;
}

static void heard_boot(struct confirm *confirm, struct bmc_result *result)
{
	int rc = confirm_boot_compare(&confirm->boot, result);

	if (rc == 0) {
		confirm->result = *result;
		confirm->result.op = confirm->op;
		confirm_policy_end(confirm, 0);
	} else if (confirm->commands < CONFIRM_BOOT_TRIES) {
		confirm->phase = CONFIRM_BOOT_SEND;
	} else {
		confirm->wrong_echo = true;
		confirm->echo = result->boot.flags.device;
		confirm_policy_end(confirm, rc);
	}
}

static void heard_failure(struct confirm *confirm, enum bmc_op call, int rc, int64_t now_ms)
{
	int64_t backoff_ms;

	confirm->last_rc = rc;
	confirm->failures[bmc_op_table[call].changes]++;
	confirm->status_known = false;
	backoff_ms = confirm_backoff_ms(rc, bmc_op_table[call].idempotent,
					confirm->failures[bmc_op_table[call].changes]);
	if (call == BMC_BOOT_GET && confirm->phase == CONFIRM_BOOT_READ && rc == E_UNSUPPORTED) {
		/* It took the flags and cannot show them. */
		confirm->result = (struct bmc_result){
			.op = confirm->op,
			.boot = {.flags = confirm->boot,
				 .device = BMC_UNVERIFIED,
				 .lifetime = BMC_UNVERIFIED,
				 .firmware = BMC_UNVERIFIED,
				 .valid_bit = BMC_UNVERIFIED},
		};
		confirm_policy_end(confirm, 0);
	} else if (backoff_ms < 0) {
		confirm_policy_end(confirm, rc);
	} else {
		if (rc == E_TIMEOUT && bmc_op_table[call].changes &&
		    confirm->phase != CONFIRM_PLAIN)
			heard_command(confirm, now_ms);
		confirm->not_before_ms = now_ms + backoff_ms;
	}
}

void confirm_heard(struct confirm *confirm, enum bmc_op call, int rc, struct bmc_result *result,
		   int64_t now_ms)
{
	if (rc != 0) {
		heard_failure(confirm, call, rc, now_ms);
		return;
	}
	confirm->failures[bmc_op_table[call].changes] = 0;
	switch (confirm->phase) {
	case CONFIRM_TO_OFF:
	case CONFIRM_TO_ON:
		if (call == BMC_POWER_STATUS)
			confirm_policy_heard_status(confirm, result->power.on, now_ms);
		else
			heard_command(confirm, now_ms);
		break;
	case CONFIRM_BOOT_SEND:
		confirm->commands++;
		confirm->phase = CONFIRM_BOOT_READ;
		break;
	case CONFIRM_BOOT_READ: heard_boot(confirm, result); break;
	case CONFIRM_PLAIN:
		confirm->result = *result;
		*result = (struct bmc_result){0};
		if (bmc_op_is_power(confirm->op)) {
			bool command = confirm->op != BMC_POWER_STATUS;

			confirm->result.power.changed = command;
			confirm->result.power.confirm = command ? BMC_UNVERIFIED : BMC_CONFIRMED;
		}
		confirm_policy_end(confirm, 0);
		break;
	case CONFIRM_END: break;
	}
}

int confirm_boot_compare(const struct bmc_boot *wanted, struct bmc_result *read_back)
{
	const struct bmc_boot *seen = &read_back->boot.flags;
	bool valid = wanted->device != BMC_BOOT_NONE;

	if (seen->device != wanted->device)
		return E_PROTOCOL;
	read_back->boot.device = BMC_CONFIRMED;
	read_back->boot.lifetime =
		seen->persistent == wanted->persistent ? BMC_CONFIRMED : BMC_UNVERIFIED;
	read_back->boot.firmware =
		seen->firmware == wanted->firmware ? BMC_CONFIRMED : BMC_UNVERIFIED;
	read_back->boot.valid_bit = read_back->boot.valid == valid ? BMC_CONFIRMED : BMC_UNVERIFIED;
	return 0;
}
