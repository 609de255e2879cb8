/* TFTP (RFC 1350, 2347-2349, 7440) on the loop: read requests for the files of one folder. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"

#include "bampi/bootd/boot/boot.h"
#include "bampi/bootd/boot/boot_counters.h"

struct tftp_server;

/* Binds the ports. options (but for tftp_addresses) and counters are borrowed and must outlive it.
 */
MUST_USE int tftp_server_new(struct loop *loop, const struct boot_options *options,
			     struct boot_counters *counters, struct tftp_server **ret,
			     struct problem *problem);
/* Ends what is under way. NULL is fine. */
void tftp_server_free(struct tftp_server *server);
uint16_t tftp_server_port(const struct tftp_server *server);
