/* Architectures that firmware names in option 93 (IANA "Processor Architecture Types"), and boot
 * files of those that we have no loader for, by configuration. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/net/dhcp_wire.h"

#define ARCHITECTURE_UNTOLD UINT32_MAX
#define BOOT_FILE_NAME_MAX  80 /* a URL with it fits `file` */

struct boot_file {
	uint16_t architecture;
	char name[BOOT_FILE_NAME_MAX + 1]; /* in boot_dir */
};

/* The first one that a request names, or ARCHITECTURE_UNTOLD. */
uint32_t architecture_of(const struct dhcp_message *request);
/* "riscv64 UEFI"; "unknown" for a number without a name. */
const char *architecture_text(uint32_t architecture);

/* "ARCHITECTURE:FILE", as in "22:snponly-arm64.efi". E_MALFORMED. */
MUST_USE int boot_file_parse(const char *text, struct boot_file *ret, struct problem *problem);
/* The name for the first architecture of the request that has one; NULL: none has. */
const char *boot_file_find(const struct boot_file files[], size_t count,
			   const struct dhcp_message *request);
