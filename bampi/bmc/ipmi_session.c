#include "bampi/bmc/ipmi_session.h"

#include <errno.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/bmc/ipmi_failure_table.h"

/* FreeIPMI numbers each retransmission anew and then drops the answer to the one before: a BMC that
 * takes longer than RETRANSMIT_MS for an answer is never heard, and executes everything several
 * times. Packets are lost far more rarely than BMCs are slow. */
enum { IPMI_PORT = 623, TIMEOUT_MS = 10000, IPMI_SESSION_RETRANSMIT_MS = 4000, LEFT_MIN_MS = 500 };

int ipmi_no_memory(struct problem *problem)
{
	return problem_set(problem, -ENOMEM, "no memory for the answer of a BMC");
}

static unsigned ipmi_session_port(const struct bmc_endpoint *endpoint)
{
	return endpoint->port ? endpoint->port : IPMI_PORT;
}

static uint32_t timeout_ms(const struct bmc_endpoint *endpoint)
{
	return endpoint->timeout_ms ? endpoint->timeout_ms : TIMEOUT_MS;
}

static uint32_t retransmit_ms(const struct bmc_endpoint *endpoint)
{
	uint32_t wanted =
		endpoint->retransmit_ms ? endpoint->retransmit_ms : IPMI_SESSION_RETRANSMIT_MS;

	return wanted < timeout_ms(endpoint) ? wanted : timeout_ms(endpoint) / 2;
}

void ipmi_session_drop(struct ipmi_session *session)
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
		 IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_AUTHENTICATION_CAPABILITIES},
		{BMC_WORKAROUND_INTEL20, IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_INTEL_2_0_SESSION},
		{BMC_WORKAROUND_SUPERMICRO20,
		 IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_SUPERMICRO_2_0_SESSION},
		{BMC_WORKAROUND_SUN20, IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_SUN_2_0_SESSION},
		{BMC_WORKAROUND_OPENSESSPRIV,
		 IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_OPEN_SESSION_PRIVILEGE},
		{BMC_WORKAROUND_INTEGRITYCHECKVALUE,
		 IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_NON_EMPTY_INTEGRITY_CHECK_VALUE},
		{BMC_WORKAROUND_NOCHECKSUMCHECK,
		 IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_NO_CHECKSUM_CHECK},
	};
	/* The wanted privilege goes into Open Session, too: right for all, and some need it. */
	unsigned flags = IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_OPEN_SESSION_PRIVILEGE;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (bits & (uint32_t)rows[i].ours)
			flags |= rows[i].theirs;
	}
	return flags;
}

int ipmi_session_may_send(const struct ipmi_session *session, struct problem *problem)
{
	if (!session->fence || fence_left_ms(session->fence) >= (int64_t)session->within_ms)
		return 0;
	return bmc_lapsed(session->endpoint.node, session->op, false, problem);
}

/* The time for one request, which FreeIPMI sends again by itself. With a fence it is half of what is
 * left of the claim at most: the request is over before the claim, and half is always left while
 * the claim is extended. */
static int ipmi_session_within(const struct ipmi_session *session, uint32_t *ret,
			       struct problem *problem)
{
	int64_t left_ms = session->deadline_ms - clock_monotonic_ms();
	int64_t half_ms = session->fence ? fence_left_ms(session->fence) / 2 : INT64_MAX;
	int64_t within_ms = timeout_ms(&session->endpoint);

	/* Our claim is short: that says nothing about the BMC. */
	if (half_ms < LEFT_MIN_MS)
		return bmc_lapsed(session->endpoint.node, session->op, false, problem);
	if (left_ms < LEFT_MIN_MS)
		return problem_set(problem, E_TIMEOUT, "node %s: no time left to ask its BMC",
				   session->endpoint.node);
	if (left_ms < within_ms)
		within_ms = left_ms;
	if (half_ms < within_ms)
		within_ms = half_ms;
	*ret = (uint32_t)within_ms;
	return 0;
}

int ipmi_session_open(struct ipmi_session *session, struct problem *problem)
{
	const struct bmc_endpoint *endpoint = &session->endpoint;
	bool ipv6 = strchr(endpoint->address, ':') != NULL;
	uint32_t again_ms = retransmit_ms(endpoint);
	uint32_t within_ms = 0;
	char host[96];
	int rc;

	/* FreeIPMI gives a session up when it heard nothing for its timeout, even before it waits
	 * for the answer to what it has just sent: a session that idled longer must be opened anew,
	 * else a command would be sent and reported as lost. */
	if (session->context &&
	    clock_monotonic_ms() - session->used_ms >= (int64_t)session->within_ms / 2)
		ipmi_session_drop(session);
	if (session->context)
		return 0;
	rc = ipmi_session_within(session, &within_ms, problem);
	if (rc)
		return rc;
	if (again_ms > within_ms / 2)
		again_ms = within_ms / 2;

	(void)text_format(host, sizeof(host), ipv6 ? "[%s]:%u" : "%s:%u", endpoint->address,
			  ipmi_session_port(endpoint));
	session->context = ipmi_ctx_create();
	if (!session->context)
		return ipmi_no_memory(problem);
	session->within_ms = within_ms;
	session->opening = true;
	if (ipmi_ctx_open_outofband_2_0(
		    session->context, host, endpoint->username, endpoint->password, NULL, 0,
		    IPMI_PRIVILEGE_LEVEL_ADMIN, endpoint->cipher_suite, within_ms, again_ms,
		    freeipmi_workarounds(endpoint->workarounds), IPMI_FLAGS_DEFAULT) < 0)
		return ipmi_session_failed(session, "opening a session", problem);
	session->opening = false;
	session->used_ms = clock_monotonic_ms();
	return 0;
}

int ipmi_session_failed(struct ipmi_session *session, const char *what, struct problem *problem)
{
	const struct bmc_endpoint *endpoint = &session->endpoint;
	int theirs = ipmi_ctx_errnum(session->context);
	const struct ipmi_failure *row = ipmi_failure_find(theirs, session->opening);

	problem_set(problem, row->code, "node %s: the BMC %s", endpoint->node, row->message);
	problem_detail(problem, "%s at %s port %u, user '%s', cipher suite %u: %s", what,
		       endpoint->address, ipmi_session_port(endpoint), endpoint->username,
		       (unsigned)endpoint->cipher_suite, ipmi_ctx_strerror(theirs));
	if (row->hint)
		problem_hint(problem, "%s", row->hint);
	ipmi_session_drop(session);
	return row->code;
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
	int rc = ipmi_session_may_send(session, problem);

	if (rc)
		return rc;
	size = ipmi_cmd_raw(session->context, request->lun, request->netfn, request->bytes,
			    request->size, ret, IPMI_WIRE_SIZE);
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
