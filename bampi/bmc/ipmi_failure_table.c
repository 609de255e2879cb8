#include "bampi/bmc/ipmi_failure_table.h"

#include <errno.h>
#include <freeipmi/freeipmi.h>

#include "common/base/error.h"
#include "common/base/macros.h"

static const char ipmi_failure_table_password[] =
	"check user name and password of the BMC; it is not asked again until they change, so that the "
	"account is not locked";
static const char ipmi_failure_table_privilege[] =
	"give the user administrator privilege on the LAN channel: operator is enough for power, boot "
	"device and sensors";
static const char ipmi_failure_table_dead[] =
	"check that the BMC has power and that its address answers: rmcpping ADDRESS";
static const char ipmi_failure_table_suite[] =
	"set another cipher suite for this BMC; 3 and 17 are the usual ones";
static const char ipmi_failure_table_version[] = "enable IPMI 2.0 (RMCP+) over LAN on the BMC";

/* clang-format off */
static const struct ipmi_failure ipmi_failure_table_failures[] = {
	/* theirs                                     opening code              message                                   hint */
	{IPMI_ERR_USERNAME_INVALID,                   false,  E_AUTHENTICATION, "refused the user name",                  ipmi_failure_table_password},
	{IPMI_ERR_PASSWORD_INVALID,                   false,  E_AUTHENTICATION, "refused the password",                   ipmi_failure_table_password},
	{IPMI_ERR_K_G_INVALID,                        false,  E_AUTHENTICATION, "refused the BMC key (K_g)",              ipmi_failure_table_password},
	{IPMI_ERR_PASSWORD_VERIFICATION_TIMEOUT,      false,  E_AUTHENTICATION, "did not accept the password",            ipmi_failure_table_password},
	{IPMI_ERR_PRIVILEGE_LEVEL_CANNOT_BE_OBTAINED, false,  E_AUTHENTICATION, "does not give the user the privilege"   , ipmi_failure_table_privilege},
	{IPMI_ERR_AUTHENTICATION_TYPE_UNAVAILABLE,    false,  E_AUTHENTICATION, "offers no usable authentication",        ipmi_failure_table_privilege},
	{IPMI_ERR_PRIVILEGE_LEVEL_INSUFFICIENT,       false,  E_DENIED,         "denied the command to this user",        ipmi_failure_table_privilege},
	{IPMI_ERR_CONNECTION_TIMEOUT,                 false,  E_TIMEOUT,        "does not answer",                        ipmi_failure_table_dead},
	{IPMI_ERR_SESSION_TIMEOUT,                    false,  E_TIMEOUT,        "stopped answering",                      ipmi_failure_table_dead},
	{IPMI_ERR_MESSAGE_TIMEOUT,                    false,  E_TIMEOUT,        "did not answer in time",                 ipmi_failure_table_dead},
	{IPMI_ERR_DRIVER_TIMEOUT,                     false,  E_TIMEOUT,        "did not answer in time",                 ipmi_failure_table_dead},
	{IPMI_ERR_HOSTNAME_INVALID,                   false,  E_TIMEOUT,        "has an address that does not resolve",   ipmi_failure_table_dead},
	{IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE,        false,  E_UNSUPPORTED,    "does not support the cipher suite",      ipmi_failure_table_suite},
	{IPMI_ERR_IPMI_2_0_UNAVAILABLE,               false,  E_UNSUPPORTED,    "does not speak IPMI 2.0",                ipmi_failure_table_version},
	{IPMI_ERR_BAD_RMCPPLUS_STATUS_CODE,           true,   E_UNSUPPORTED,    "refused the cipher suite",               ipmi_failure_table_suite},
	/* Refusals shorter than IPMI 13.18 has them, which FreeIPMI cannot parse: ipmi_sim and its relatives. */
	{IPMI_ERR_IPMI_ERROR,                         true,   E_UNSUPPORTED,    "refused to open a session",              ipmi_failure_table_suite},
	{IPMI_ERR_INTERNAL_ERROR,                     true,   E_UNSUPPORTED,    "refused to open a session",              ipmi_failure_table_suite},
	{IPMI_ERR_PARAMETERS,                         true,   E_UNSUPPORTED,    "does not support these settings",    ipmi_failure_table_suite},
	{IPMI_ERR_COMMAND_INVALID_OR_UNSUPPORTED,     false,  E_UNSUPPORTED,    "does not support the command",           NULL},
	/* FreeIPMI fails without a reason when an answer of the session setup comes a second time, as from a slow BMC after a
	 * retransmission. Nothing was executed; the next try has a new socket. */
	{IPMI_ERR_SUCCESS,                            true,   -EBUSY,           "sent an answer out of order",                   NULL},
	{IPMI_ERR_BMC_BUSY,                           false,  -EBUSY,           "is busy",                                NULL},
	{IPMI_ERR_DRIVER_BUSY,                        false,  -EBUSY,           "is busy",                                NULL},
	{IPMI_ERR_OUT_OF_MEMORY,                      false,  -ENOMEM,          "got no request: out of memory",      NULL},
	{IPMI_ERR_NOT_FOUND,                          false,  E_NOT_FOUND,      "does not have it",                       NULL},
};
/* clang-format on */

const struct ipmi_failure *ipmi_failure_find(int theirs, bool opening)
{
	static const struct ipmi_failure unknown = {
		.code = E_PROTOCOL, .message = "sent an answer with an unknown error code"};

	for (size_t i = 0; i < COUNT_OF(ipmi_failure_table_failures); i++) {
		if (ipmi_failure_table_failures[i].theirs == theirs &&
		    (opening || !ipmi_failure_table_failures[i].opening))
			return &ipmi_failure_table_failures[i];
	}
	return &unknown;
}
