/* The boot folder by TFTP: what is served, what is logged, and what a fetch proves about a node. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"

#include "bampi/bootd/boot/boot.h"
#include "bampi/bootd/boot/boot_counters.h"

struct tftp_boot;

/* Binds the ports. options (but for tftp_addresses) and counters are borrowed and must outlive it.
 * What tftp_server_new gives. */
MUST_USE int tftp_boot_new(struct loop *loop, const struct boot_options *options,
			   struct boot_counters *counters, struct tftp_boot **ret,
			   struct problem *problem);
/* Ends what is under way. NULL is fine. */
void tftp_boot_free(struct tftp_boot *tftp);
uint16_t tftp_boot_port(const struct tftp_boot *tftp);
