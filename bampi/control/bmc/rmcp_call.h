/* An operation as a row of short exchanges: which request is next, and what its answer means. Pure;
 * the bytes are ipmi_wire's. */
#pragma once

#include "bampi/control/bmc/rmcp_session.h"

struct rmcp_call {
	char node[64]; /* for problems */
	struct bmc_request request;
	unsigned step;
	struct bmc_result result; /* so far */
};

/* Is this operation made of exchanges that need no thread? */
bool rmcp_call_knows(enum bmc_op op);
void rmcp_call_begin(struct rmcp_call *call, const char *node, const struct bmc_request *request);
/* The exchange that is due. -EINVAL with a problem: the request makes no sense. */
MUST_USE int rmcp_call_ask(const struct rmcp_call *call, struct rmcp_ask *ret,
			   struct problem *problem);
/* Its answer: 1 = there is a next one, 0 = done, the result may be taken; else an error of
 * bmc_driver.h with a problem. */
MUST_USE int rmcp_call_heard(struct rmcp_call *call, const struct rmcp_message *answer,
			     struct problem *problem);
/* Frees what the call holds. */
void rmcp_call_done(struct rmcp_call *call);
