/* Inside the ipmi driver: one RMCP+ session to one BMC. */
#pragma once

#include <freeipmi/freeipmi.h>

#include "bampi/bmc/bmc_driver.h"
#include "bampi/bmc/ipmi_sensors.h"
#include "bampi/bmc/ipmi_wire.h"

struct ipmi_session {
	struct bmc_endpoint endpoint;
	bool opening;        /* the session is being opened right now */
	ipmi_ctx_t context;  /* NULL: not open */
	int64_t used_ms;     /* when the BMC was last heard */
	int64_t deadline_ms; /* of the call under way */
	struct fence *fence; /* of a call that changes something; NULL = none */
	uint32_t within_ms;  /* so long FreeIPMI may send one request again */
	enum bmc_op op;
	void *sdr; /* the sensor data records once read; NULL = not yet */
	size_t sdr_size;
	struct ipmi_sensor_table *sensors; /* made from them */
};

/* Opens the session unless it is open and fresh. */
MUST_USE int ipmi_session_open(struct ipmi_session *session, struct problem *problem);
void ipmi_session_drop(struct ipmi_session *session);
/* E_LAPSED with a problem: what changes something could be on its way after the end of its fence. */
MUST_USE int ipmi_session_may_send(const struct ipmi_session *session, struct problem *problem);
/* One exchange: `request` out, the answer in `ret` (command, completion code, data). Completion
 * codes other than 0 are errors with a problem; `what` names the exchange in it. */
MUST_USE int ipmi_exchange(struct ipmi_session *session, const char *what,
			   const struct ipmi_frame *request, uint8_t ret[IPMI_WIRE_SIZE],
			   size_t *ret_size, struct problem *problem);
/* The problem of the context's last error; drops the session when it cannot be trusted any more.
 * Returns the code. */
int ipmi_session_failed(struct ipmi_session *session, const char *what, struct problem *problem);
/* E_TIMEOUT with a problem when the call's deadline has passed: for loops of many exchanges. */
MUST_USE int ipmi_session_check_deadline(const struct ipmi_session *session, const char *what,
					 struct problem *problem);
/* malloc failed. */
int ipmi_no_memory(struct problem *problem);

/* ipmi_records.c: what FreeIPMI's SDR, SEL and FRU parsers are for. The session is open. */
/* Leaves session->sensors up to date. */
MUST_USE int ipmi_sensors(struct ipmi_session *session, struct bmc_result *ret,
			  struct problem *problem);
MUST_USE int ipmi_sel_list(struct ipmi_session *session, struct bmc_result *ret,
			   struct problem *problem);
/* Entries after `after`; all of them when that one is gone. */
MUST_USE int ipmi_sel_new(struct ipmi_session *session, const struct bmc_sel_mark *after,
			  struct bmc_result *ret, struct problem *problem);
MUST_USE int ipmi_sel_clear(struct ipmi_session *session, struct bmc_result *ret,
			    struct problem *problem);
MUST_USE int ipmi_fru(struct ipmi_session *session, struct bmc_result *ret,
		      struct problem *problem);
/* ipmi_account.c: users and LAN parameters. */
MUST_USE int ipmi_user_list(struct ipmi_session *session, struct bmc_result *ret,
			    struct problem *problem);
MUST_USE int ipmi_user_set(struct ipmi_session *session, const struct bmc_request *request,
			   struct problem *problem);
/* Of the user that the session is of. */
MUST_USE int ipmi_password_set(struct ipmi_session *session, const char *password,
			       struct problem *problem);
MUST_USE int ipmi_lan_get(struct ipmi_session *session, struct bmc_result *ret,
			  struct problem *problem);
