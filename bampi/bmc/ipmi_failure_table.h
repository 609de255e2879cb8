/* What FreeIPMI's error numbers mean to us and to the person who must mend it. */
#pragma once

#include <stdbool.h>

struct ipmi_failure {
	int theirs;          /* IPMI_ERR_x */
	bool opening;        /* row counts only while a session is being opened */
	int code;            /* error number of bmc_driver.h */
	const char *message; /* follows "the BMC " */
	const char *hint;    /* may be NULL */
};

/* Never NULL: unknown ones are E_PROTOCOL. */
const struct ipmi_failure *ipmi_failure_find(int theirs, bool opening);
