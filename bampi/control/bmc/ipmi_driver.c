#include "bampi/control/bmc/ipmi_driver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/bmc/ipmi_session.h"

enum { IPMI_PORT = 623, TIMEOUT_MS = 5000, RETRANSMIT_MS = 1000 };

int ipmi_driver_setup(void)
{
	return ipmi_rmcpplus_init() < 0 ? -EIO : 0;
}

int ipmi_no_memory(struct problem *problem)
{
	return problem_set(problem, -ENOMEM, "no memory for the answer of a BMC");
}

/* --- session
 * -----------------------------------------------------------------------------------------------------------------
 */

static uint32_t timeout_ms(const struct bmc_endpoint *endpoint)
{
	return endpoint->timeout_ms ? endpoint->timeout_ms : TIMEOUT_MS;
}

static uint32_t retransmit_ms(const struct bmc_endpoint *endpoint)
{
	uint32_t wanted = endpoint->retransmit_ms ? endpoint->retransmit_ms : RETRANSMIT_MS;

	return wanted < timeout_ms(endpoint) ? wanted : timeout_ms(endpoint) / 2;
}

static void session_drop(struct ipmi_session *session)
{
	if (!session->context)
		return;
	/* Says goodbye and waits at most one retransmission for the answer: a BMC has few sessions.
	 */
	(void)ipmi_ctx_close(session->context);
	ipmi_ctx_destroy(session->context);
	session->context = NULL;
}

static unsigned freeipmi_workarounds(uint32_t bits)
{
	static const struct {
		enum bmc_workaround ours;
		unsigned theirs;
	} rows[] = {
		{BMC_WORKAROUND_AUTHCAP,
		 IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_AUTHENTICATION_CAPABILITIES                          },
		{BMC_WORKAROUND_INTEL20,             IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_INTEL_2_0_SESSION},
		{BMC_WORKAROUND_SUPERMICRO20,
		 IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_SUPERMICRO_2_0_SESSION                               },
		{BMC_WORKAROUND_SUN20,               IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_SUN_2_0_SESSION  },
		{BMC_WORKAROUND_OPENSESSPRIV,
		 IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_OPEN_SESSION_PRIVILEGE                               },
		{BMC_WORKAROUND_INTEGRITYCHECKVALUE,
		 IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_NON_EMPTY_INTEGRITY_CHECK_VALUE                      },
		{BMC_WORKAROUND_NOCHECKSUMCHECK,
		 IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_NO_CHECKSUM_CHECK                                    },
	};
	unsigned flags = 0;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (bits & (uint32_t)rows[i].ours)
			flags |= rows[i].theirs;
	}
	return flags;
}

static int session_open(struct ipmi_session *session, struct problem *problem)
{
	const struct bmc_endpoint *endpoint = &session->endpoint;
	bool ipv6 = strchr(endpoint->address, ':') != NULL;
	int64_t left_ms = session->deadline_ms - clock_monotonic_ms();
	uint32_t within_ms = timeout_ms(endpoint);
	char host[96];

	/* FreeIPMI gives a session up when it heard nothing for its timeout, even before it waits
	 * for the answer to what it has just sent: a session that idled longer must be opened anew,
	 * else a command would be sent and reported as lost. */
	if (session->context && clock_monotonic_ms() - session->used_ms >= (int64_t)within_ms / 2)
		session_drop(session);
	if (session->context)
		return 0;
	if (left_ms <= 2 * (int64_t)retransmit_ms(endpoint))
		return problem_set(problem, E_TIMEOUT, "node %s: no time left to ask its BMC",
				   endpoint->node);
	if (left_ms < within_ms)
		within_ms = (uint32_t)left_ms;

	(void)text_format(host, sizeof(host), ipv6 ? "[%s]:%u" : "%s:%u", endpoint->address,
			  endpoint->port ? (unsigned)endpoint->port : IPMI_PORT);
	session->context = ipmi_ctx_create();
	if (!session->context)
		return ipmi_no_memory(problem);
	if (ipmi_ctx_open_outofband_2_0(session->context, host, endpoint->username,
					endpoint->password, NULL, 0, IPMI_PRIVILEGE_LEVEL_ADMIN,
					endpoint->cipher_suite, within_ms, retransmit_ms(endpoint),
					freeipmi_workarounds(endpoint->workarounds),
					IPMI_FLAGS_DEFAULT) < 0)
		return ipmi_session_failed(session, "opening a session", problem);
	return 0;
}

/* --- errors
 * ------------------------------------------------------------------------------------------------------------------
 */

struct failure_row {
	int theirs;
	int code;
	const char *message;
	const char *hint;
};

#define HINT_PASSWORD \
	"check user name and password of the BMC; it is not asked again until they change, so that the account is not locked"
#define HINT_PRIVILEGE \
	"give the user administrator privilege on the BMC's LAN channel; some BMCs need the workaround opensesspriv"
#define HINT_DEAD  "check that the BMC has power and that its address answers: rmcpping ADDRESS"
#define HINT_SUITE "set another cipher suite for this BMC (3 and 17 are the usual ones)"

static const struct failure_row failure_table[] = {
	{IPMI_ERR_USERNAME_INVALID,                   E_AUTHENTICATION, "refused the user name",                  HINT_PASSWORD },
	{IPMI_ERR_PASSWORD_INVALID,                   E_AUTHENTICATION, "refused the password",                   HINT_PASSWORD },
	{IPMI_ERR_K_G_INVALID,                        E_AUTHENTICATION, "refused the BMC key (K_g)",              HINT_PASSWORD },
	{IPMI_ERR_PASSWORD_VERIFICATION_TIMEOUT,      E_AUTHENTICATION, "did not accept the password",
	 HINT_PASSWORD													  },
	{IPMI_ERR_PRIVILEGE_LEVEL_CANNOT_BE_OBTAINED, E_AUTHENTICATION,
	 "does not let the user be administrator",								HINT_PRIVILEGE},
	{IPMI_ERR_AUTHENTICATION_TYPE_UNAVAILABLE,    E_AUTHENTICATION,
	 "offers no usable authentication",								       HINT_PRIVILEGE},
	{IPMI_ERR_PRIVILEGE_LEVEL_INSUFFICIENT,       E_DENIED,         "denied the command to this user",
	 HINT_PRIVILEGE													 },
	{IPMI_ERR_CONNECTION_TIMEOUT,                 E_TIMEOUT,        "does not answer",                        HINT_DEAD     },
	{IPMI_ERR_SESSION_TIMEOUT,                    E_TIMEOUT,        "stopped answering",                      HINT_DEAD     },
	{IPMI_ERR_MESSAGE_TIMEOUT,                    E_TIMEOUT,        "did not answer in time",                 HINT_DEAD     },
	{IPMI_ERR_DRIVER_TIMEOUT,                     E_TIMEOUT,        "did not answer in time",                 HINT_DEAD     },
	{IPMI_ERR_HOSTNAME_INVALID,                   E_TIMEOUT,        "has an address that cannot be resolved", HINT_DEAD     },
	{IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE,        E_UNSUPPORTED,    "does not support the cipher suite",
	 HINT_SUITE													     },
	{IPMI_ERR_IPMI_2_0_UNAVAILABLE,               E_UNSUPPORTED,    "does not speak IPMI 2.0",
	 "enable IPMI over LAN 2.0 (RMCP+) on the BMC"									  },
	{IPMI_ERR_BAD_RMCPPLUS_STATUS_CODE,           E_UNSUPPORTED,
	 "refused to open a session with this cipher suite",                                                      HINT_SUITE    },
	{IPMI_ERR_COMMAND_INVALID_OR_UNSUPPORTED,     E_UNSUPPORTED,    "does not support the command",
	 ""														     },
	{IPMI_ERR_PARAMETERS,                         E_UNSUPPORTED,    "cannot be asked with these settings",    HINT_SUITE    },
	{IPMI_ERR_BMC_BUSY,                           -EBUSY,           "is busy",                                ""            },
	{IPMI_ERR_DRIVER_BUSY,                        -EBUSY,           "is busy",                                ""            },
	{IPMI_ERR_OUT_OF_MEMORY,                      -ENOMEM,          "could not be asked: out of memory",      ""            },
	{IPMI_ERR_NOT_FOUND,                          E_NOT_FOUND,      "does not have it",                       ""            },
};

static int address_detail(const struct ipmi_session *session, const char *what, const char *why,
			  struct problem *problem)
{
	problem_detail(problem, "%s at %s port %u, user '%s', cipher suite %u: %s", what,
		       session->endpoint.address,
		       session->endpoint.port ? (unsigned)session->endpoint.port : IPMI_PORT,
		       session->endpoint.username, (unsigned)session->endpoint.cipher_suite, why);
	return problem->code;
}

int ipmi_session_failed(struct ipmi_session *session, const char *what, struct problem *problem)
{
	int theirs = ipmi_ctx_errnum(session->context);
	struct failure_row row = {
		.code = E_PROTOCOL, .message = "answered what we do not understand", .hint = ""};

	for (size_t i = 0; i < COUNT_OF(failure_table); i++) {
		if (failure_table[i].theirs == theirs)
			row = failure_table[i];
	}
	problem_set(problem, row.code, "node %s: the BMC %s", session->endpoint.node, row.message);
	if (row.hint[0])
		problem_hint(problem, "%s", row.hint);
	(void)address_detail(session, what, ipmi_ctx_strerror(theirs), problem);
	session_drop(session);
	return row.code;
}

int ipmi_session_check_deadline(const struct ipmi_session *session, const char *what,
				struct problem *problem)
{
	if (clock_monotonic_ms() < session->deadline_ms)
		return 0;
	return problem_set(problem, E_TIMEOUT, "node %s: %s did not finish in time",
			   session->endpoint.node, what);
}

int ipmi_exchange(struct ipmi_session *session, const char *what, const struct ipmi_frame *request,
		  uint8_t ret[IPMI_WIRE_SIZE], size_t *ret_size, struct problem *problem)
{
	const char *text = NULL;
	int size;
	int rc;

	size = ipmi_cmd_raw(session->context, 0, request->netfn, request->bytes, request->size, ret,
			    IPMI_WIRE_SIZE);
	if (size < 0)
		return ipmi_session_failed(session, what, problem);
	session->used_ms = clock_monotonic_ms();
	if (size < 2)
		return problem_set(problem, E_PROTOCOL,
				   "node %s: the BMC answered %s with %d bytes",
				   session->endpoint.node, what, size);
	rc = ipmi_completion_error(ret[1], &text);
	if (rc) {
		problem_set(problem, rc, "node %s: the BMC refused %s: %s", session->endpoint.node,
			    what, text);
		problem_detail(problem, "completion code %02xh", (unsigned)ret[1]);
		return rc;
	}
	*ret_size = (size_t)size;
	return 0;
}

static int malformed(const struct ipmi_session *session, const char *what, struct problem *problem)
{
	return problem_set(problem, E_PROTOCOL, "node %s: the BMC's answer to %s is malformed",
			   session->endpoint.node, what);
}

/* --- operations that are one or a few exchanges
 * ------------------------------------------------------------------------------- */

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
		return malformed(session, what, problem);
	*ret = (struct bmc_result){.op = request->op, .power.on = on};
	return 0;
}

static int run_power(struct ipmi_session *session, const struct bmc_request *request,
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

static int run_boot_get(struct ipmi_session *session, const struct bmc_request *request,
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
		return malformed(session, what, problem);
	*ret = result;
	return 0;
}

static int run_boot_set(struct ipmi_session *session, const struct bmc_request *request,
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

		/* A dead session ends it; a refusal only of the flags themselves. */
		if (rc && (step == IPMI_BOOT_FLAGS || !session->context)) {
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
		return malformed(session, bmc_op_text(request->op), problem);
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
	int size;

	if (request->raw.size == 0)
		return problem_set(problem, -EINVAL,
				   "a raw command needs at least its command byte");
	size = ipmi_cmd_raw(session->context, request->raw.lun, request->raw.netfn,
			    request->raw.bytes, request->raw.size, data, sizeof(data));
	if (size < 0)
		return ipmi_session_failed(session, "raw", problem);
	session->used_ms = clock_monotonic_ms();
	if (size < 2)
		return malformed(session, "raw", problem);
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

static int run_user_set(struct ipmi_session *session, const struct bmc_request *request,
			struct bmc_result *ret, struct problem *problem)
{
	int rc = ipmi_user_set(session, request, problem);

	if (rc == 0)
		*ret = (struct bmc_result){.op = request->op};
	return rc;
}

/* --- the driver's row
 * ----------------------------------------------------------------------------------------------------------
 */

static int driver_open(const struct bmc_endpoint *endpoint, void *shared, void **ret_session,
		       struct problem *problem)
{
	struct ipmi_session *session = calloc(1, sizeof(*session));

	(void)shared;
	if (!session)
		return ipmi_no_memory(problem);
	session->endpoint = *endpoint;
	session->sdr_cache = -1;
	*ret_session = session;
	return 0;
}

static int driver_run(void *state, const struct bmc_request *request, int64_t deadline_ms,
		      struct bmc_result *ret, struct problem *problem)
{
	static int (*const runs[BMC_OP_COUNT])(struct ipmi_session *, const struct bmc_request *,
					       struct bmc_result *, struct problem *) = {
		[BMC_POWER_STATUS] = run_power_status, [BMC_POWER_ON] = run_power,
		[BMC_POWER_OFF] = run_power,           [BMC_POWER_CYCLE] = run_power,
		[BMC_POWER_RESET] = run_power,         [BMC_POWER_SOFT] = run_power,
		[BMC_BOOT_GET] = run_boot_get,         [BMC_BOOT_SET] = run_boot_set,
		[BMC_IDENTIFY] = run_identify,         [BMC_INFO] = run_info,
		[BMC_SENSORS] = run_sensors,           [BMC_SEL_LIST] = run_sel_list,
		[BMC_SEL_CLEAR] = run_sel_clear,       [BMC_FRU] = run_fru,
		[BMC_USER_LIST] = run_user_list,       [BMC_USER_SET] = run_user_set,
		[BMC_LAN_GET] = run_lan_get,           [BMC_RAW] = run_raw,
	};
	struct ipmi_session *session = state;
	int rc;

	session->deadline_ms = deadline_ms;
	rc = session_open(session, problem);
	if (rc)
		return rc;
	session->used_ms = clock_monotonic_ms();
	return runs[request->op](session, request, ret, problem);
}

static void driver_close(void *state)
{
	struct ipmi_session *session = state;

	if (!session)
		return;
	session_drop(session);
	if (session->sdr_cache >= 0)
		(void)close(session->sdr_cache);
	bmc_endpoint_wipe(&session->endpoint);
	free(session);
}

const struct bmc_driver ipmi_driver = {
	.name = "ipmi",
	.open = driver_open,
	.run = driver_run,
	.close = driver_close,
};
