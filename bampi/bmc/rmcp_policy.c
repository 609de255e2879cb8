#include "bampi/bmc/rmcp_policy.h"

#include <freeipmi/freeipmi.h>

#include "common/base/macros.h"

/* clang-format off */
static const struct rmcp_status rmcp_policy_statuses[] = {
	/*        text                                              theirs                                         stale */
	[0x00] = {"no error",                                       IPMI_ERR_SUCCESS,                              false},
	[0x01] = {"no session is free",                             IPMI_ERR_BMC_BUSY,                             false},
	[0x02] = {"invalid session id",                             IPMI_ERR_SUCCESS,                              true },
	[0x03] = {"invalid payload type",                           IPMI_ERR_IPMI_ERROR,                           false},
	[0x04] = {"invalid authentication algorithm",               IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE,          false},
	[0x05] = {"invalid integrity algorithm",                    IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE,          false},
	[0x06] = {"no matching authentication payload",             IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE,          false},
	[0x07] = {"no matching integrity payload",                  IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE,          false},
	[0x08] = {"inactive session id",                            IPMI_ERR_SUCCESS,                              true },
	[0x09] = {"invalid role",                                   IPMI_ERR_PRIVILEGE_LEVEL_CANNOT_BE_OBTAINED,   false},
	[0x0a] = {"unauthorized role or privilege",                 IPMI_ERR_PRIVILEGE_LEVEL_CANNOT_BE_OBTAINED,   false},
	[0x0b] = {"no session of this role is free",                IPMI_ERR_BMC_BUSY,                             false},
	[0x0c] = {"invalid name length",                            IPMI_ERR_USERNAME_INVALID,                     false},
	[0x0d] = {"unauthorized name",                              IPMI_ERR_USERNAME_INVALID,                     false},
	[0x0e] = {"unauthorized GUID",                              IPMI_ERR_AUTHENTICATION_TYPE_UNAVAILABLE,      false},
	[0x0f] = {"invalid integrity check value",                  IPMI_ERR_PASSWORD_INVALID,                     false},
	[0x10] = {"invalid confidentiality algorithm",              IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE,          false},
	[0x11] = {"no cipher suite matches",                        IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE,          false},
	[0x12] = {"illegal or unrecognized parameter",              IPMI_ERR_IPMI_ERROR,                           false},
};
/* clang-format on */

const struct rmcp_status *rmcp_status_find(uint8_t status)
{
	static const struct rmcp_status unknown = {"a status without a meaning",
						   IPMI_ERR_IPMI_ERROR, false};

	return status < COUNT_OF(rmcp_policy_statuses) ? &rmcp_policy_statuses[status] : &unknown;
}

int64_t rmcp_again_ms(uint32_t first_ms, unsigned sends)
{
	int64_t wait_ms = first_ms;

	for (unsigned i = 1; i < sends && wait_ms < RMCP_AGAIN_MAX_MS; i++)
		wait_ms *= 2;
	return wait_ms > RMCP_AGAIN_MAX_MS && first_ms < RMCP_AGAIN_MAX_MS ? RMCP_AGAIN_MAX_MS
									   : wait_ms;
}

bool rmcp_window_take(struct rmcp_window *window, uint32_t sequence)
{
	uint32_t back = window->highest - sequence;
	uint32_t ahead = sequence - window->highest;

	if (!window->begun) {
		*window = (struct rmcp_window){.begun = true, .highest = sequence, .seen = 1};
		return true;
	}
	if (ahead != 0 && ahead <= UINT32_MAX / 2) {
		window->seen = ahead < 32 ? window->seen << ahead | 1 : 1;
		window->highest = sequence;
		return true;
	}
	if (back >= 32 || window->seen >> back & 1)
		return false;
	window->seen |= (uint32_t)1 << back;
	return true;
}
