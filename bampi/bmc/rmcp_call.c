#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "bampi/bmc/rmcp_call_private.h"

/* --- power --- */

static int ask_status(const struct rmcp_call *call, struct ipmi_frame *ret)
{
	(void)call;
	*ret = ipmi_power_status_request();
	return 0;
}

static int rmcp_call_heard_status(struct rmcp_call *call, const uint8_t *data, size_t size)
{
	return ipmi_power_status_answer(data, size, &call->result.power.on);
}

static int ask_power(const struct rmcp_call *call, struct ipmi_frame *ret)
{
	return ipmi_power_request(call->request.op, ret);
}

static int heard_power(struct rmcp_call *call, const uint8_t *data, size_t size)
{
	enum bmc_op op = call->request.op;

	(void)data;
	(void)size;
	call->result.power.on = op == BMC_POWER_ON || op == BMC_POWER_RESET;
	call->result.power.changed = true;
	return 0;
}

static int ask_identify(const struct rmcp_call *call, struct ipmi_frame *ret)
{
	*ret = ipmi_identify_request(call->request.identify.seconds);
	return 0;
}

static int heard_nothing(struct rmcp_call *call, const uint8_t *data, size_t size)
{
	(void)call;
	(void)data;
	(void)size;
	return 0;
}

/* --- boot device --- */

static int ask_boot_get(const struct rmcp_call *call, struct ipmi_frame *ret)
{
	(void)call;
	*ret = ipmi_boot_get_request();
	return 0;
}

static int heard_boot_get(struct rmcp_call *call, const uint8_t *data, size_t size)
{
	return ipmi_boot_get_answer(data, size, &call->result.boot.flags, &call->result.boot.valid);
}

static int ask_boot_set(const struct rmcp_call *call, struct ipmi_frame *ret)
{
	*ret = ipmi_boot_set_request((enum ipmi_boot_step)call->step, &call->request.boot);
	return 0;
}

static int heard_boot_set(struct rmcp_call *call, const uint8_t *data, size_t size)
{
	(void)data;
	(void)size;
	call->result.boot.flags = call->request.boot;
	return call->step + 1 < IPMI_BOOT_STEP_COUNT;
}

/* Many BMCs lack the steps around the flags. */
static bool boot_may_refuse(const struct rmcp_call *call)
{
	return call->step != IPMI_BOOT_FLAGS;
}

/* --- the BMC itself --- */

enum { INFO_DEVICE, INFO_GUID };

static int ask_info(const struct rmcp_call *call, struct ipmi_frame *ret)
{
	*ret = call->step == INFO_DEVICE ? ipmi_device_id_request() : ipmi_guid_request();
	return 0;
}

static int heard_info(struct rmcp_call *call, const uint8_t *data, size_t size)
{
	if (call->step == INFO_DEVICE)
		return ipmi_device_id_answer(data, size, &call->result) ? E_PROTOCOL : 1;
	if (ipmi_guid_answer(data, size, call->result.info.guid))
		call->result.info.guid[0] = '\0';
	return 0;
}

/* A GUID is optional in IPMI. */
static bool info_may_refuse(const struct rmcp_call *call)
{
	return call->step == INFO_GUID;
}

/* --- the rows --- */

static const struct rmcp_call_row rmcp_call_rows[BMC_OP_COUNT] = {
	[BMC_POWER_STATUS] = {RMCP_PRIVILEGE_USER, ask_status, rmcp_call_heard_status, NULL},
	[BMC_POWER_ON] = {RMCP_PRIVILEGE_OPERATOR, ask_power, heard_power, NULL},
	[BMC_POWER_OFF] = {RMCP_PRIVILEGE_OPERATOR, ask_power, heard_power, NULL},
	[BMC_POWER_RESET] = {RMCP_PRIVILEGE_OPERATOR, ask_power, heard_power, NULL},
	[BMC_POWER_SOFT] = {RMCP_PRIVILEGE_OPERATOR, ask_power, heard_power, NULL},
	[BMC_BOOT_GET] = {RMCP_PRIVILEGE_OPERATOR, ask_boot_get, heard_boot_get, NULL},
	[BMC_BOOT_SET] = {RMCP_PRIVILEGE_OPERATOR, ask_boot_set, heard_boot_set, boot_may_refuse},
	[BMC_IDENTIFY] = {RMCP_PRIVILEGE_OPERATOR, ask_identify, heard_nothing, NULL},
	[BMC_INFO] = {RMCP_PRIVILEGE_USER, ask_info, heard_info, info_may_refuse},
};

static const struct rmcp_call_row *rmcp_call_row_of(enum bmc_op op)
{
	if (op == BMC_SENSORS)
		return &rmcp_call_sensors;
	return op == BMC_SEL_NEW ? &rmcp_call_sel_new : &rmcp_call_rows[op];
}

bool rmcp_call_knows(const struct rmcp_known *known, enum bmc_op op)
{
	if ((unsigned)op >= BMC_OP_COUNT || (op == BMC_SENSORS && !known->sensors))
		return false;
	return rmcp_call_row_of(op)->ask;
}

void rmcp_call_begin(struct rmcp_call *call, struct rmcp_known *known,
		     const struct bmc_request *request)
{
	*call = (struct rmcp_call){.known = known, .request = *request, .result.op = request->op};
}

void rmcp_call_done(struct rmcp_call *call)
{
	bmc_result_done(&call->result);
	free(call->readings);
	free(call->records);
	sodium_memzero(call, sizeof(*call));
}

int rmcp_call_ask(const struct rmcp_call *call, struct rmcp_ask *ret, struct problem *problem)
{
	const struct bmc_op_row *op = &bmc_op_table[call->request.op];
	const struct rmcp_call_row *row = rmcp_call_row_of(call->request.op);
	struct ipmi_frame frame;

	if (row->ask(call, &frame))
		return problem_set(problem, -EINVAL, "%s is not one IPMI command", op->name);
	*ret = (struct rmcp_ask){
		.op = call->request.op,
		.netfn = frame.netfn,
		.lun = frame.lun,
		.privilege = row->privilege,
		.changes = op->changes,
		.once = !op->idempotent,
		.fence = op->changes ? call->request.fence : NULL,
		.size = frame.size,
	};
	memcpy(ret->data, frame.bytes, frame.size);
	return 0;
}

int rmcp_call_heard(struct rmcp_call *call, const struct rmcp_message *answer,
		    struct problem *problem)
{
	const struct rmcp_call_row *row = rmcp_call_row_of(call->request.op);
	const char *what = bmc_op_text(call->request.op);
	const char *node = call->known->node;
	const char *text = NULL;
	int rc = ipmi_completion_error(answer->data[1], &text);

	if (rc && !(row->may_refuse && row->may_refuse(call))) {
		problem_set(problem, rc, "node %s: the BMC refused %s: %s", node, what, text);
		problem_detail(problem, "completion code %02xh", (unsigned)answer->data[1]);
		return rc;
	}
	rc = row->heard(call, answer->data, answer->size);
	if (rc == E_PROTOCOL)
		return problem_set(problem, rc, "node %s: the BMC's answer to %s is malformed",
				   node, what);
	if (rc == -ENOMEM)
		return problem_set(problem, rc, "no memory for the answer of a BMC");
	if (rc == E_LIMIT)
		return problem_set(problem, rc, "node %s: its event log has no end", node);
	call->step++;
	return rc;
}
