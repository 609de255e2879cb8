/* An operation as a row of short exchanges: which request is next, and what its answer means. Pure;
 * the bytes are ipmi_wire's. */
#pragma once

#include "bampi/bmc/ipmi_sensors.h"
#include "bampi/bmc/rmcp_session.h"

/* What is known of one BMC from before; borrowed by calls, which keep `sel_info` and `sel_mark`. */
struct rmcp_known {
	char node[64];                           /* for problems */
	const struct ipmi_sensor_table *sensors; /* NULL = not read yet */
	const void *sdr; /* its records, for the names in event log entries */
	size_t sdr_size;
	struct ipmi_store_info sel_info; /* as it was when sel_mark was its newest entry */
	struct bmc_sel_mark sel_mark;
};

struct rmcp_call {
	struct rmcp_known *known;
	struct bmc_request request;
	unsigned step;
	struct bmc_result result; /* so far */

	/* BMC_SENSORS */
	struct ipmi_reading *readings;
	size_t sensor;

	/* BMC_SEL_NEW */
	uint8_t (*records)[IPMI_SEL_RECORD_SIZE];
	size_t record_count, record_room;
	uint16_t next_id;
	struct ipmi_store_info sel_info;
};

/* Is this operation made of exchanges that need no thread? */
bool rmcp_call_knows(const struct rmcp_known *known, enum bmc_op op);
void rmcp_call_begin(struct rmcp_call *call, struct rmcp_known *known,
		     const struct bmc_request *request);
/* The exchange that is due. -EINVAL with a problem: the request makes no sense. */
MUST_USE int rmcp_call_ask(const struct rmcp_call *call, struct rmcp_ask *ret,
			   struct problem *problem);
/* Its answer. 1: there is a next one; 0: done, the result may be taken. -ESTALE: known->sensors is
 * of other records than the BMC's present ones. Else an error of bmc_driver.h with a problem. */
MUST_USE int rmcp_call_heard(struct rmcp_call *call, const struct rmcp_message *answer,
			     struct problem *problem);
/* Frees what the call holds. */
void rmcp_call_done(struct rmcp_call *call);
