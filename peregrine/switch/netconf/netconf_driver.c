#include "peregrine/switch/netconf/netconf_driver.h"

#include <errno.h>
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/netconf/netconf_switch.h"

LEAKS_LEFT_TO_SANITIZER

/* Some think for long about a commit, or about the state of all their ports. */
enum { NETCONF_DRIVER_SILENCE_MS = 30000 };

static void netconf_driver_forget(void *session)
{
	struct netconf_switch *one = session;

	netconf_change_free(one->change);
	one->change = NULL;
	netconf_read_free(one->read);
	one->read = NULL;
	netconf_config_free(one->config);
	one->config = NULL;
}

static const struct switch_call_row netconf_driver_call = {.forget = netconf_driver_forget};

void netconf_switch_run(struct netconf_switch *one, const char *what, const char *operation,
			enum netconf_expect expect, netconf_answer_fn fn, void *context)
{
	uint32_t silence_ms = switch_call_timeout_ms(&one->call);
	const struct netconf_ask ask = {
		.what = what,
		.expect = expect,
		.deadline_ms = one->call.deadline_ms,
		.silence_ms = silence_ms < NETCONF_DRIVER_SILENCE_MS ? NETCONF_DRIVER_SILENCE_MS
								     : silence_ms,
		.fence = one->call.request->fence,
	};

	netconf_session_run(one->session, &ask, operation, fn, context);
}

void netconf_switch_get(struct netconf_switch *one, const char *what, const char *filter,
			netconf_answer_fn fn, void *context)
{
	CLEANUP(text_done) struct text operation = {0};

	text_addf(&operation, "<get><filter type=\"subtree\">%s</filter></get>", filter);
	netconf_switch_run(one, what, text_get(&operation), NETCONF_EXPECT_DATA, fn, context);
}

/* --- looking --- */

static void netconf_driver_on_look(void *context, const struct netconf_answer *answer)
{
	struct netconf_switch *one = context;
	struct problem problem;
	int rc;

	if (answer->rc && switch_call_may_repeat(&one->call, answer->rc)) {
		netconf_switch_look(one, one->looked);
		return;
	}
	one->call.again = false;
	if (answer->rc) {
		one->looked(one, answer->rc, answer->problem);
		return;
	}
	netconf_config_free(one->config);
	one->config = NULL;
	rc = netconf_config_new(one->dialect, &one->config);
	if (!rc)
		rc = netconf_config_read(one->config, answer->data);
	if (rc) {
		problem_set(&problem, rc, "the ports of switch %s cannot be parsed",
			    one->call.endpoint.name);
		problem_detail(&problem, "%s",
			       rc == E_PROTOCOL ? "no port and no VLAN in it" : error_text(rc));
		problem_hint(&problem,
			     "check its family; its software may have another data model");
	}
	one->looked(one, rc, rc ? &problem : NULL);
}

void netconf_switch_look(struct netconf_switch *one, netconf_config_fn looked)
{
	one->looked = looked;
	netconf_switch_get(one, "reading VLANs and ports", one->dialect->look,
			   netconf_driver_on_look, one);
}

/* --- the driver's row --- */

static void netconf_driver_one_close(void *session)
{
	struct netconf_switch *one = session;

	if (!one)
		return;
	switch_call_close(&one->call);
	netconf_session_free(one->session);
	free(one);
}

static int cannot_open(struct problem *problem, const struct switch_endpoint *endpoint,
		       const char *why, const char *hint)
{
	problem_set(problem, -EINVAL, "switch %s %s", endpoint->name, why);
	problem_hint(problem, "%s", hint);
	return -EINVAL;
}

int netconf_switch_open_on(const struct switch_stream_row *stream,
			   const struct switch_endpoint *endpoint,
			   const struct switch_family *family, const struct switch_host *host,
			   void **ret_session, struct problem *problem)
{
	struct netconf_switch *one;
	int rc;

	if (!family->netconf)
		return cannot_open(problem, endpoint, "is of a family without NETCONF here", "");
	if (!endpoint->ssh_user[0])
		return cannot_open(problem, endpoint, "has no SSH user",
				   "give it credentials for NETCONF");
	one = calloc(1, sizeof(*one));
	if (!one)
		return problem_set(problem, -ENOMEM, "no memory for a switch");
	one->dialect = family->netconf;
	xmlInitParser();
	rc = switch_call_open(&one->call, &netconf_driver_call, host->loop, endpoint, family,
			      problem);
	if (!rc && netconf_session_new(host->loop, stream, &one->call.endpoint, one->dialect->needs,
				       &one->session))
		rc = problem_set(problem, -ENOMEM, "no memory for a switch");
	if (rc) {
		netconf_driver_one_close(one);
		return rc;
	}
	*ret_session = one;
	return 0;
}

static int netconf_driver_one_open(const struct switch_endpoint *endpoint,
				   const struct switch_family *family,
				   const struct switch_host *host, void **ret_session,
				   struct problem *problem)
{
	return netconf_switch_open_on(&ssh_switch_stream, endpoint, family, host, ret_session,
				      problem);
}

/* No model here has a port's locating light. */
static int netconf_driver_start_locate(struct netconf_switch *one)
{
	(void)problem_set(&one->call.early, E_UNSUPPORTED,
			  "switch %s cannot blink a port's LED by NETCONF",
			  one->call.endpoint.name);
	return E_UNSUPPORTED;
}

static int start_sampling(struct netconf_switch *one)
{
	(void)problem_set(&one->call.early, E_UNSUPPORTED,
			  "sampling of switch %s cannot be set up by NETCONF",
			  one->call.endpoint.name);
	problem_hint(&one->call.early, "set it up by hand, or give its family a driver that can");
	return E_UNSUPPORTED;
}

static int (*const netconf_driver_starts[SWITCH_OP_COUNT])(struct netconf_switch *one) = {
	[SWITCH_READ] = netconf_read_start, [SWITCH_CHANGE] = netconf_change_start,
	[SWITCH_SAVE] = netconf_save_start, [SWITCH_LOCATE] = netconf_driver_start_locate,
	[SWITCH_SAMPLING] = start_sampling,
};

static int netconf_driver_one_start(void *session, const struct switch_request *request,
				    int64_t deadline_ms, switch_call_fn fn, void *context)
{
	struct netconf_switch *one = session;

	switch_call_begin(&one->call, request, deadline_ms, fn, context);
	one->call.requests_before = netconf_session_requests(one->session);
	one->call.again = netconf_session_is_open(one->session);
	return switch_call_begun(&one->call, netconf_driver_starts[request->op](one));
}

/* The next call needs a new session: this one may still answer, and holds its locks. */
static bool netconf_driver_one_cancel(void *session)
{
	struct netconf_switch *one = session;

	if (switch_call_forget(&one->call))
		netconf_session_break(one->session);
	return true;
}

const struct switch_driver netconf_switch_driver = {
	.name = "netconf",
	.locks_out = true,
	.open = netconf_driver_one_open,
	.start = netconf_driver_one_start,
	.cancel = netconf_driver_one_cancel,
	.close = netconf_driver_one_close,
};
