/* NVMe admin commands on an open namespace. rc: -errno, or E_UNSUPPORTED when the drive answered
 * with an error status (in *ret_status). */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"

#include "bampi/agent/nvme_wire.h"

MUST_USE int nvme_identify(int fd, struct nvme_controller *ret);
/* Begins it; nvme_sanitize_poll tells how it goes. It reaches the whole NVM subsystem and cannot be
 * stopped. */
MUST_USE int nvme_sanitize(int fd, enum nvme_sanitize_action action, unsigned *ret_status);
MUST_USE int nvme_sanitize_poll(int fd, struct nvme_sanitize_status *ret);
/* Blocks until the drive is done. */
MUST_USE int nvme_format(int fd, enum nvme_format_erase erase, uint32_t timeout_ms,
			 unsigned *ret_status);
