#include "bampi/control/bmc/rmcp_call.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/bmc/ipmi_wire.h"

/* How one operation asks and hears. */
struct row {
	uint8_t privilege; /* [appendix G] */
	/* The frame of call->step. */
	int (*ask)(const struct rmcp_call *call, struct ipmi_frame *ret);
	/* 1, 0 or an error; E_PROTOCOL without a problem: malformed. */
	int (*heard)(struct rmcp_call *call, const uint8_t *data, size_t size);
	bool (*may_refuse)(const struct rmcp_call *call); /* this step; NULL = none may */
};

/* --- power ----------------------------------------------------------- */

static int ask_status(const struct rmcp_call *call, struct ipmi_frame *ret)
{
	(void)call;
	*ret = ipmi_power_status_request();
	return 0;
}

static int heard_status(struct rmcp_call *call, const uint8_t *data, size_t size)
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

/* --- boot device ----------------------------------------------------- */

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

/* --- the BMC itself -------------------------------------------------- */

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

/* --- the rows -------------------------------------------------------- */

static const struct row rows[BMC_OP_COUNT] = {
	[BMC_POWER_STATUS] = {RMCP_PRIVILEGE_USER, ask_status, heard_status, NULL},
	[BMC_POWER_ON] = {RMCP_PRIVILEGE_OPERATOR, ask_power, heard_power, NULL},
	[BMC_POWER_OFF] = {RMCP_PRIVILEGE_OPERATOR, ask_power, heard_power, NULL},
	[BMC_POWER_RESET] = {RMCP_PRIVILEGE_OPERATOR, ask_power, heard_power, NULL},
	[BMC_POWER_SOFT] = {RMCP_PRIVILEGE_OPERATOR, ask_power, heard_power, NULL},
	[BMC_BOOT_GET] = {RMCP_PRIVILEGE_OPERATOR, ask_boot_get, heard_boot_get, NULL},
	[BMC_BOOT_SET] = {RMCP_PRIVILEGE_OPERATOR, ask_boot_set, heard_boot_set, boot_may_refuse},
	[BMC_IDENTIFY] = {RMCP_PRIVILEGE_OPERATOR, ask_identify, heard_nothing, NULL},
	[BMC_INFO] = {RMCP_PRIVILEGE_USER, ask_info, heard_info, info_may_refuse},
};

bool rmcp_call_knows(enum bmc_op op)
{
	return (unsigned)op < BMC_OP_COUNT && rows[op].ask;
}

void rmcp_call_begin(struct rmcp_call *call, const char *node, const struct bmc_request *request)
{
	*call = (struct rmcp_call){.request = *request, .result.op = request->op};
	(void)text_copy(call->node, sizeof(call->node), node);
}

void rmcp_call_done(struct rmcp_call *call)
{
	bmc_result_done(&call->result);
	sodium_memzero(call, sizeof(*call));
}

int rmcp_call_ask(const struct rmcp_call *call, struct rmcp_ask *ret, struct problem *problem)
{
	const struct bmc_op_row *op = &bmc_op_table[call->request.op];
	const struct row *row = &rows[call->request.op];
	struct ipmi_frame frame;

	if (row->ask(call, &frame))
		return problem_set(problem, -EINVAL, "%s is not one IPMI command", op->name);
	*ret = (struct rmcp_ask){
		.netfn = frame.netfn,
		.privilege = row->privilege,
		.changes = op->changes,
		.once = !op->idempotent,
		.size = frame.size,
	};
	memcpy(ret->data, frame.bytes, frame.size);
	return 0;
}

int rmcp_call_heard(struct rmcp_call *call, const struct rmcp_message *answer,
		    struct problem *problem)
{
	const struct row *row = &rows[call->request.op];
	const char *what = bmc_op_text(call->request.op);
	const char *text = NULL;
	int rc = ipmi_completion_error(answer->data[1], &text);

	if (rc && !(row->may_refuse && row->may_refuse(call))) {
		problem_set(problem, rc, "node %s: the BMC refused %s: %s", call->node, what, text);
		problem_detail(problem, "completion code %02xh", (unsigned)answer->data[1]);
		return rc;
	}
	rc = row->heard(call, answer->data, answer->size);
	if (rc == E_PROTOCOL)
		return problem_set(problem, rc, "node %s: the BMC's answer to %s is malformed",
				   call->node, what);
	call->step++;
	return rc;
}
