/* iPXE scripts by boot target and firmware: constant templates and the values that go in. */
#pragma once

#include "common/base/macros.h"
#include "common/base/text.h"

#include "bampi/bootd/identify/target_policy.h"

#define BOOT_KERNEL  "vmlinuz"
#define BOOT_RAMDISK "agent.img"
#define BOOT_IPXE    "snponly.efi" /* as it is in answer_policy.c */
#define BOOT_SIGNED  "agent.efi"

/* None may hold a line break or iPXE's "${". Those of a command line are one word each. */
struct script_values {
	const char *node;    /* name; "unknown" when there is none */
	const char *mac;     /* 52:54:00:01:02:03 */
	const char *url;     /* http://IP:PORT; "" = where the script came from */
	const char *agent;   /* where the agent asks: http://IP:PORT, https://IP:PORT */
	const char *token;   /* of the agent; "" for other targets */
	const char *console; /* "ttyS0" */
	const char *reason;  /* of the decision */
};

/* Appends the script. -ENOMEM; E_MALFORMED when a value holds what a script may not. */
MUST_USE int script_table_write(enum boot_target target, enum node_firmware firmware,
				const struct script_values *values, struct text *ret);
/* May this be the kernel's console=? Letters, digits and commas, as in "ttyS1,115200n8". */
bool script_table_console(const char *text);
/* For a client that asks before we know anything: wait and ask again. */
MUST_USE int script_table_wait(const struct script_values *values, struct text *ret);
