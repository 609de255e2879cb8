#include "common/model/attribution_reason.h"

const char *const attribution_reason_words[ATTRIBUTION_REASON_COUNT + 1] = {
	[REASON_NONE] = "",
	[REASON_CONTROL] = "control",
	[REASON_SWITCH_ITSELF] = "switch_itself",
	[REASON_UNKNOWN_PORT] = "unknown_port",
	[REASON_PORT_UNBOUND] = "port_unbound",
	[REASON_FOREIGN_VLAN] = "foreign_vlan",
	[REASON_UNTAGGED] = "untagged",
	[REASON_FOLDED] = "folded",
};
