/* How one operation asks and hears. */
#pragma once

#include "bampi/bmc/ipmi_wire.h"
#include "bampi/bmc/rmcp_call.h"

struct rmcp_call_row {
	uint8_t privilege; /* [appendix G] */
	/* The frame of call->step. */
	int (*ask)(const struct rmcp_call *call, struct ipmi_frame *ret);
	/* 1 = there is a next step, 0 = done, or an error; E_PROTOCOL: malformed. `size` is at
	 * least 2: command and completion code. */
	int (*heard)(struct rmcp_call *call, const uint8_t *data, size_t size);
	bool (*may_refuse)(const struct rmcp_call *call); /* this step; NULL = none may */
};

/* rmcp_call_look.c */
extern const struct rmcp_call_row rmcp_call_sensors, rmcp_call_sel_new;
