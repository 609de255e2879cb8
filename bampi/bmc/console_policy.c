#include "bampi/bmc/console_policy.h"

#include <errno.h>
#include <ipmiconsole.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "bampi/bmc/bmc_driver.h"

enum {
	RETRY_FIRST_MS = 1000,
	RETRY_MOST_MS = 60 * 1000,
	REFUSED_MS = 15 * 60 * 1000,
	TAKEN_MS = 60 * 1000,
	CONSOLE_MUTE_FIRST_MS = 20 * 1000,
	CONSOLE_MUTE_DOUBLINGS = 3
};

static const struct {
	int theirs;
	int code;
	int64_t wait_ms; /* 0 = by the number of failures */
	const char *message;
	const char *hint;
} failure_table[] = {
	{IPMICONSOLE_ERR_USERNAME_INVALID, E_AUTHENTICATION, REFUSED_MS, "refused the user name",
	 "check user name and password of the BMC"},
	{IPMICONSOLE_ERR_PASSWORD_INVALID, E_AUTHENTICATION, REFUSED_MS, "refused the password",
	 "check user name and password of the BMC"},
	{IPMICONSOLE_ERR_PRIVILEGE_LEVEL_INSUFFICIENT, E_DENIED, REFUSED_MS,
	 "denies the console to this user", "allow SOL for this user on the BMC"},
	{IPMICONSOLE_ERR_PRIVILEGE_LEVEL_CANNOT_BE_OBTAINED, E_AUTHENTICATION, REFUSED_MS,
	 "does not let the user be administrator", "some BMCs need the workaround opensesspriv"},
	{IPMICONSOLE_ERR_SOL_UNAVAILABLE, E_UNSUPPORTED, TAKEN_MS, "offers no serial over LAN",
	 "enable SOL on the BMC's LAN channel"},
	{IPMICONSOLE_ERR_SOL_INUSE, E_CONFLICT, TAKEN_MS,
	 "has its console in use by another program", ""},
	{IPMICONSOLE_ERR_SOL_STOLEN, E_CONFLICT, TAKEN_MS, "gave its console to another program",
	 "bampid takes it back in a minute; another controller or ipmitool has it now"},
	{IPMICONSOLE_ERR_CIPHER_SUITE_ID_UNAVAILABLE, E_UNSUPPORTED, TAKEN_MS,
	 "does not support the cipher suite",
	 "set another cipher suite for this BMC; 3 and 17 are the usual ones"},
	{IPMICONSOLE_ERR_BMC_BUSY, -EBUSY, 0, "is busy", ""},
	{IPMICONSOLE_ERR_CONNECTION_TIMEOUT, E_TIMEOUT, 0, "does not answer",
	 "check the BMC's power, cable and address"},
	{IPMICONSOLE_ERR_SESSION_TIMEOUT, E_TIMEOUT, 0, "stopped answering",
	 "check the BMC's power, cable and address"},
};

int64_t console_retry_ms(int theirs, unsigned failures, const char *node, struct problem *ret)
{
	int64_t wait_ms = RETRY_FIRST_MS;

	problem_set(ret, E_PROTOCOL, "node %s: the console ended: %s", node,
		    ipmiconsole_ctx_strerror(theirs));
	for (unsigned i = 1; i < failures && wait_ms < RETRY_MOST_MS; i++)
		wait_ms *= 2;
	if (wait_ms > RETRY_MOST_MS)
		wait_ms = RETRY_MOST_MS;
	for (size_t i = 0; i < COUNT_OF(failure_table); i++) {
		if (failure_table[i].theirs != theirs)
			continue;
		problem_set(ret, failure_table[i].code, "node %s: the BMC %s", node,
			    failure_table[i].message);
		if (failure_table[i].hint[0])
			problem_hint(ret, "%s", failure_table[i].hint);
		if (failure_table[i].wait_ms)
			wait_ms = failure_table[i].wait_ms;
	}
	return wait_ms;
}

int64_t console_mute_ms(unsigned reopened)
{
	return (int64_t)CONSOLE_MUTE_FIRST_MS
	       << (reopened < CONSOLE_MUTE_DOUBLINGS ? reopened : CONSOLE_MUTE_DOUBLINGS);
}

unsigned console_workarounds(uint32_t bits)
{
	static const struct {
		enum bmc_workaround ours;
		unsigned theirs;
	} rows[] = {
		{BMC_WORKAROUND_AUTHCAP, IPMICONSOLE_WORKAROUND_AUTHENTICATION_CAPABILITIES},
		{BMC_WORKAROUND_INTEL20, IPMICONSOLE_WORKAROUND_INTEL_2_0_SESSION},
		{BMC_WORKAROUND_SUPERMICRO20, IPMICONSOLE_WORKAROUND_SUPERMICRO_2_0_SESSION},
		{BMC_WORKAROUND_SUN20, IPMICONSOLE_WORKAROUND_SUN_2_0_SESSION},
		{BMC_WORKAROUND_OPENSESSPRIV, IPMICONSOLE_WORKAROUND_OPEN_SESSION_PRIVILEGE},
		{BMC_WORKAROUND_INTEGRITYCHECKVALUE,
		 IPMICONSOLE_WORKAROUND_NON_EMPTY_INTEGRITY_CHECK_VALUE},
		{BMC_WORKAROUND_NOCHECKSUMCHECK, IPMICONSOLE_WORKAROUND_NO_CHECKSUM_CHECK},
	};
	unsigned flags = IPMICONSOLE_WORKAROUND_SKIP_CHANNEL_PAYLOAD_SUPPORT |
			 IPMICONSOLE_WORKAROUND_IGNORE_SOL_PAYLOAD_SIZE;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (bits & (uint32_t)rows[i].ours)
			flags |= rows[i].theirs;
	}
	return flags;
}
