#include <errno.h>
#include <inttypes.h>

#include "common/base/error.h"

#include "bampi/bmc/bmc_queue_private.h"

void text_breaker_open(const struct bmc *bmc, int64_t now_ms, struct problem *ret)
{
	const struct breaker *breaker = &bmc->breaker;
	int64_t since_s = (now_ms - breaker->since_ms) / 1000;
	int64_t retry_s =
		breaker->retry_ms > now_ms ? (breaker->retry_ms - now_ms + 999) / 1000 : 0;

	if (breaker->refused) {
		problem_set(ret, E_AUTHENTICATION,
			    "node %s: its BMC refused the password, so no command was sent",
			    bmc->endpoint.node);
		problem_hint(ret,
			     "set the right password; or wait: tried again in %" PRId64
			     " s, so that the account is not locked",
			     retry_s);
	} else {
		problem_set(ret, E_UNAVAILABLE,
			    "node %s: its BMC has not answered for %" PRId64 " s",
			    bmc->endpoint.node, since_s);
		problem_hint(ret,
			     "tried again in %" PRId64
			     " s; look at the BMC's power, cable and address",
			     retry_s);
	}
	problem_detail(ret, "%u calls in a row failed, the last: %s", breaker->failures,
		       bmc->observation.problem.message);
}

static void text_power_deadline(const struct operation *operation, struct problem *ret)
{
	const struct confirm *confirm = &operation->confirm;

	if (confirm->commands == 0)
		problem_detail(ret, "no command was sent; last problem: %s",
			       operation->problem.code ? operation->problem.message
						       : "none, the BMC was busy with other work");
	else if (!confirm->status_known)
		problem_detail(ret,
			       "sent %u times, and the power status could not be read after it: %s",
			       confirm->commands, operation->problem.message);
	else
		problem_detail(ret, "sent %u times, the power status still says %s",
			       confirm->commands, confirm->on ? "on" : "off");
	if (operation->request.op == BMC_POWER_SOFT)
		problem_hint(ret, "the OS did not shut down; power off hard");
}

void text_deadline(const struct operation *operation, struct problem *ret)
{
	const struct bmc *bmc = operation->bmc;
	const char *name = bmc_op_text(operation->request.op);

	problem_set(ret, E_TIMEOUT, "node %s: %s did not finish in time", bmc->endpoint.node, name);
	if (operation != bmc->current && bmc->current)
		problem_detail(ret, "it waited behind %s of the same BMC",
			       bmc_op_text(bmc->current->request.op));
	else if (bmc_op_is_power(operation->request.op) &&
		 operation->request.op != BMC_POWER_STATUS)
		text_power_deadline(operation, ret);
	else if (operation->problem.code)
		problem_detail(ret, "last problem: %s (%s)", operation->problem.message,
			       operation->problem.detail);
	else
		problem_detail(ret, "%s",
			       bmc->in_flight ? "the call is still under way"
					      : "no worker was free");
}

void text_wrong_echo(const struct operation *operation, struct problem *ret)
{
	problem_set(ret, E_PROTOCOL, "node %s: the BMC does not keep the boot device",
		    operation->bmc->endpoint.node);
	problem_detail(ret, "set to %s %u times, reads back %s",
		       bmc_boot_device_text(operation->confirm.boot.device),
		       operation->confirm.commands, bmc_boot_device_text(operation->confirm.echo));
	problem_hint(
		ret,
		"put network first in the firmware's boot order, or update the BMC's firmware");
}

void text_gone(int64_t bmc_id, struct problem *ret)
{
	problem_set(ret, E_NOT_FOUND, "there is no BMC of node id %" PRId64, bmc_id);
	problem_hint(ret, "give the node a BMC address and credentials");
}
