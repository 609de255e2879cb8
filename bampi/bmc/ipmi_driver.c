#include "bampi/bmc/ipmi_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/bmc/bmc_blocking.h"
#include "bampi/bmc/ipmi_session.h"
#include "bampi/bmc/rmcp_call.h"
#include "bampi/bmc/rmcp_client.h"

int ipmi_driver_setup(void)
{
	return ipmi_rmcpplus_init() < 0 ? -EIO : 0;
}

static int ipmi_driver_malformed(const struct ipmi_session *session, const char *what,
				 struct problem *problem)
{
	return problem_set(problem, E_PROTOCOL, "node %s: the BMC's answer to %s is malformed",
			   session->endpoint.node, what);
}

/* --- operations that are one or a few exchanges --- */

static int run_power_status(struct ipmi_session *session, const struct bmc_request *request,
			    struct bmc_result *ret, struct problem *problem)
{
	struct ipmi_frame frame = ipmi_power_status_request();
	const char *what = bmc_op_text(request->op);
	uint8_t data[IPMI_WIRE_SIZE];
	size_t size;
	bool on;
	int rc = ipmi_exchange(session, what, &frame, data, &size, problem);

	if (rc)
		return rc;
	if (ipmi_power_status_answer(data, size, &on))
		return ipmi_driver_malformed(session, what, problem);
	*ret = (struct bmc_result){.op = request->op, .power.on = on};
	return 0;
}

static int ipmi_driver_run_power(struct ipmi_session *session, const struct bmc_request *request,
				 struct bmc_result *ret, struct problem *problem)
{
	const char *what = bmc_op_text(request->op);
	struct ipmi_frame frame;
	uint8_t data[IPMI_WIRE_SIZE];
	size_t size;
	int rc = ipmi_power_request(request->op, &frame);

	if (rc)
		return problem_set(problem, E_UNSUPPORTED, "%s is not one IPMI command", what);
	rc = ipmi_exchange(session, what, &frame, data, &size, problem);
	if (rc)
		return rc;
	*ret = (struct bmc_result){
		.op = request->op,
		.power = {.on = request->op == BMC_POWER_ON || request->op == BMC_POWER_RESET,
			  .changed = true},
	};
	return 0;
}

static int ipmi_driver_run_boot_get(struct ipmi_session *session, const struct bmc_request *request,
				    struct bmc_result *ret, struct problem *problem)
{
	struct ipmi_frame frame = ipmi_boot_get_request();
	const char *what = bmc_op_text(request->op);
	struct bmc_result result = {.op = request->op};
	uint8_t data[IPMI_WIRE_SIZE];
	size_t size;
	int rc = ipmi_exchange(session, what, &frame, data, &size, problem);

	if (rc)
		return rc;
	if (ipmi_boot_get_answer(data, size, &result.boot.flags, &result.boot.valid))
		return ipmi_driver_malformed(session, what, problem);
	*ret = result;
	return 0;
}

static int ipmi_driver_run_boot_set(struct ipmi_session *session, const struct bmc_request *request,
				    struct bmc_result *ret, struct problem *problem)
{
	uint8_t data[IPMI_WIRE_SIZE];
	size_t size;

	for (unsigned step = 0; step < IPMI_BOOT_STEP_COUNT; step++) {
		struct ipmi_frame frame =
			ipmi_boot_set_request((enum ipmi_boot_step)step, &request->boot);
		struct problem refused = {0};
		int rc = ipmi_exchange(session, bmc_op_text(request->op), &frame, data, &size,
				       &refused);

		/* A dead session ends it, or the claim; a refusal only of the flags themselves. */
		if (rc && (step == IPMI_BOOT_FLAGS || rc == E_LAPSED || !session->context)) {
			*problem = refused;
			return rc;
		}
	}
	*ret = (struct bmc_result){.op = request->op, .boot = {.flags = request->boot}};
	return 0;
}

static int run_identify(struct ipmi_session *session, const struct bmc_request *request,
			struct bmc_result *ret, struct problem *problem)
{
	struct ipmi_frame frame = ipmi_identify_request(request->identify.seconds);
	uint8_t data[IPMI_WIRE_SIZE];
	size_t size;
	int rc = ipmi_exchange(session, bmc_op_text(request->op), &frame, data, &size, problem);

	if (rc == 0)
		*ret = (struct bmc_result){.op = request->op};
	return rc;
}

static int run_info(struct ipmi_session *session, const struct bmc_request *request,
		    struct bmc_result *ret, struct problem *problem)
{
	struct ipmi_frame frame = ipmi_device_id_request();
	struct bmc_result result = {0};
	struct problem no_guid = {0};
	uint8_t data[IPMI_WIRE_SIZE];
	size_t size;
	int rc = ipmi_exchange(session, bmc_op_text(request->op), &frame, data, &size, problem);

	if (rc)
		return rc;
	if (ipmi_device_id_answer(data, size, &result))
		return ipmi_driver_malformed(session, bmc_op_text(request->op), problem);
	frame = ipmi_guid_request();
	/* Optional in IPMI: a BMC without a GUID is no failure. */
	if (ipmi_exchange(session, "GUID", &frame, data, &size, &no_guid) == 0 &&
	    ipmi_guid_answer(data, size, result.info.guid))
		result.info.guid[0] = '\0';
	*ret = result;
	return 0;
}

static int run_raw(struct ipmi_session *session, const struct bmc_request *request,
		   struct bmc_result *ret, struct problem *problem)
{
	struct bmc_result result = {.op = BMC_RAW};
	uint8_t data[BMC_RAW_SIZE + 2];
	int rc = ipmi_session_may_send(session, problem);
	int size;

	if (rc)
		return rc;
	if (request->raw.size == 0)
		return problem_set(problem, -EINVAL,
				   "a raw command needs at least its command byte");
	size = ipmi_cmd_raw(session->context, request->raw.lun, request->raw.netfn,
			    request->raw.bytes, request->raw.size, data, sizeof(data));
	if (size < 0)
		return ipmi_session_failed(session, "raw", problem);
	session->used_ms = clock_monotonic_ms();
	if (size < 2)
		return ipmi_driver_malformed(session, "raw", problem);
	result.raw.completion = data[1];
	result.raw.size = (uint8_t)(size - 2);
	memcpy(result.raw.bytes, data + 2, result.raw.size);
	*ret = result;
	return 0;
}

#define RUN_WITHOUT_REQUEST(name, function)                                              \
	static int name(struct ipmi_session *session, const struct bmc_request *request, \
			struct bmc_result *ret, struct problem *problem)                 \
	{                                                                                \
		(void)request;                                                           \
		return function(session, ret, problem);                                  \
	}
RUN_WITHOUT_REQUEST(run_sensors, ipmi_sensors)
RUN_WITHOUT_REQUEST(run_sel_list, ipmi_sel_list)
RUN_WITHOUT_REQUEST(run_sel_clear, ipmi_sel_clear)
RUN_WITHOUT_REQUEST(run_fru, ipmi_fru)
RUN_WITHOUT_REQUEST(run_user_list, ipmi_user_list)
RUN_WITHOUT_REQUEST(run_lan_get, ipmi_lan_get)

static int run_sel_new(struct ipmi_session *session, const struct bmc_request *request,
		       struct bmc_result *ret, struct problem *problem)
{
	return ipmi_sel_new(session, &request->after, ret, problem);
}

static int run_user_set(struct ipmi_session *session, const struct bmc_request *request,
			struct bmc_result *ret, struct problem *problem)
{
	int rc = ipmi_user_set(session, request, problem);

	if (rc == 0)
		*ret = (struct bmc_result){.op = request->op};
	return rc;
}

static int run_password_set(struct ipmi_session *session, const struct bmc_request *request,
			    struct bmc_result *ret, struct problem *problem)
{
	int rc = ipmi_password_set(session, request->password, problem);

	if (rc == 0)
		*ret = (struct bmc_result){.op = request->op};
	return rc;
}

/* --- calls that block --- */

static int blocking_run(void *state, const struct bmc_request *request, int64_t deadline_ms,
			struct bmc_result *ret, struct problem *problem)
{
	static int (*const runs[BMC_OP_COUNT])(struct ipmi_session *, const struct bmc_request *,
					       struct bmc_result *, struct problem *) = {
		[BMC_POWER_STATUS] = run_power_status,
		[BMC_POWER_ON] = ipmi_driver_run_power,
		[BMC_POWER_OFF] = ipmi_driver_run_power,
		[BMC_POWER_CYCLE] = ipmi_driver_run_power,
		[BMC_POWER_RESET] = ipmi_driver_run_power,
		[BMC_POWER_SOFT] = ipmi_driver_run_power,
		[BMC_BOOT_GET] = ipmi_driver_run_boot_get,
		[BMC_BOOT_SET] = ipmi_driver_run_boot_set,
		[BMC_IDENTIFY] = run_identify,
		[BMC_INFO] = run_info,
		[BMC_SENSORS] = run_sensors,
		[BMC_SEL_LIST] = run_sel_list,
		[BMC_SEL_NEW] = run_sel_new,
		[BMC_SEL_CLEAR] = run_sel_clear,
		[BMC_FRU] = run_fru,
		[BMC_USER_LIST] = run_user_list,
		[BMC_USER_SET] = run_user_set,
		[BMC_PASSWORD_SET] = run_password_set,
		[BMC_LAN_GET] = run_lan_get,
		[BMC_RAW] = run_raw,
	};
	struct ipmi_session *session = state;
	int rc;

	session->deadline_ms = deadline_ms;
	session->op = request->op;
	session->fence = bmc_op_table[request->op].changes ? request->fence : NULL;
	rc = ipmi_session_open(session, problem);
	if (rc == 0)
		rc = runs[request->op](session, request, ret, problem);
	/* Such calls are rare, and a BMC has few sessions. */
	ipmi_session_drop(session);
	session->fence = NULL;
	return rc;
}

static void blocking_close(void *state)
{
	struct ipmi_session *session = state;

	ipmi_session_drop(session);
	free(session->sdr);
	free(session->sensors);
	bmc_endpoint_wipe(&session->endpoint);
	free(session);
}

static const struct bmc_blocking_face blocking_face = {.run = blocking_run,
						       .close = blocking_close};

/* --- the driver's row --- */

/* One BMC: what is short goes through the loop (rmcp_call), the rest through a thread. */
struct ipmi_bmc {
	struct rmcp_peer *peer; /* NULL: its address is a name, and only threads may ask DNS */
	struct bmc_blocking *blocking;
	const struct ipmi_session *session; /* its state; not looked at while a thread has it */
	struct rmcp_known known;
	struct rmcp_call call;
	int64_t deadline_ms;
	bmc_call_fn fn; /* of the call in the loop; NULL = none */
	void *context;
};

static void ipmi_driver_close(void *state)
{
	struct ipmi_bmc *bmc = state;

	if (!bmc)
		return;
	rmcp_peer_free(bmc->peer);
	bmc_blocking_free(bmc->blocking);
	rmcp_call_done(&bmc->call);
	free(bmc);
}

static int blocking_new(const struct bmc_endpoint *endpoint, const struct bmc_host *host,
			struct ipmi_bmc *bmc)
{
	struct ipmi_session *session = calloc(1, sizeof(*session));
	int rc;

	if (!session)
		return -ENOMEM;
	session->endpoint = *endpoint;
	bmc->session = session;
	rc = bmc_blocking_new(host, &blocking_face, session, &bmc->blocking);
	if (rc)
		blocking_close(session);
	return rc;
}

static int ipmi_driver_open(const struct bmc_endpoint *endpoint, const struct bmc_host *host,
			    void **ret_session, struct problem *problem)
{
	struct ipmi_bmc *bmc = calloc(1, sizeof(*bmc));
	int rc = 0;

	if (!bmc)
		return ipmi_no_memory(problem);
	(void)text_copy(bmc->known.node, sizeof(bmc->known.node), endpoint->node);
	if (rmcp_address_is_literal(endpoint->address))
		rc = rmcp_peer_new(host->rmcp, endpoint, &bmc->peer, problem);
	if (rc == 0 && blocking_new(endpoint, host, bmc) != 0)
		rc = ipmi_no_memory(problem);
	if (rc) {
		ipmi_driver_close(bmc);
		return rc;
	}
	*ret_session = bmc;
	return 0;
}

static bool ipmi_driver_blocks(void *state, const struct bmc_request *request)
{
	struct ipmi_bmc *bmc = state;

	/* Asked between calls only: no thread is at it. */
	bmc->known.sensors = bmc->session->sensors;
	bmc->known.sdr = bmc->session->sdr;
	bmc->known.sdr_size = bmc->session->sdr_size;
	return !bmc->peer || !rmcp_call_knows(&bmc->known, request->op);
}

static void call_end(struct ipmi_bmc *bmc, int rc, const struct problem *problem)
{
	bmc_call_fn fn = bmc->fn;
	struct bmc_result result = bmc->call.result;

	bmc->fn = NULL;
	if (rc == 0)
		bmc->call.result = (struct bmc_result){0};
	rmcp_call_done(&bmc->call);
	fn(bmc->context, rc, rc ? NULL : &result, problem);
}

static void call_answered(void *context, const struct rmcp_message *answer,
			  const struct problem *failed);

/* 0 or an error with a problem. */
static int call_step(struct ipmi_bmc *bmc, struct problem *problem)
{
	struct rmcp_ask ask;
	int rc = rmcp_call_ask(&bmc->call, &ask, problem);

	if (rc == 0)
		rmcp_peer_ask(bmc->peer, &ask, bmc->deadline_ms, call_answered, bmc);
	return rc;
}

/* The sensor data records have changed: they are read anew, which takes a thread after all. */
static int call_in_thread(struct ipmi_bmc *bmc)
{
	struct bmc_request request = bmc->call.request;
	int rc = bmc_blocking_start(bmc->blocking, &request, bmc->deadline_ms, bmc->fn,
				    bmc->context);

	if (rc)
		return rc;
	bmc->fn = NULL;
	rmcp_call_done(&bmc->call);
	return 0;
}

static void call_answered(void *context, const struct rmcp_message *answer,
			  const struct problem *failed)
{
	struct ipmi_bmc *bmc = context;
	struct problem problem = {0};
	int rc;

	if (failed) {
		call_end(bmc, failed->code, failed);
		return;
	}
	rc = rmcp_call_heard(&bmc->call, answer, &problem);
	if (rc == -ESTALE && call_in_thread(bmc) == 0)
		return;
	if (rc == -ESTALE)
		rc = ipmi_no_memory(&problem);
	if (rc > 0)
		rc = call_step(bmc, &problem) ? problem.code : 1;
	if (rc <= 0)
		call_end(bmc, rc, rc ? &problem : NULL);
}

static int ipmi_driver_start(void *state, const struct bmc_request *request, int64_t deadline_ms,
			     bmc_call_fn fn, void *context)
{
	struct ipmi_bmc *bmc = state;
	struct problem problem = {0};

	if (ipmi_driver_blocks(bmc, request))
		return bmc_blocking_start(bmc->blocking, request, deadline_ms, fn, context);
	rmcp_call_begin(&bmc->call, &bmc->known, request);
	bmc->deadline_ms = deadline_ms;
	bmc->fn = fn;
	bmc->context = context;
	return call_step(bmc, &problem);
}

static bool ipmi_driver_cancel(void *state)
{
	struct ipmi_bmc *bmc = state;

	if (!bmc->fn)
		return false; /* in a thread */
	bmc->fn = NULL;
	rmcp_peer_forget(bmc->peer);
	rmcp_call_done(&bmc->call);
	return true;
}

const struct bmc_driver ipmi_driver = {
	.name = "ipmi",
	.open = ipmi_driver_open,
	.blocks = ipmi_driver_blocks,
	.start = ipmi_driver_start,
	.cancel = ipmi_driver_cancel,
	.close = ipmi_driver_close,
};
