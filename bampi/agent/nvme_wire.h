/* The few NVMe structures that an erase needs (NVM Express Base 2.0: Figure 275 Identify
 * Controller, Figure 97 of the NVM command set for Identify Namespace, Figure 290 Sanitize Status;
 * Format NVM, 5.14; Sanitize, 5.24). Little endian. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define NVME_IDENTIFY_SIZE     4096
#define NVME_SANITIZE_LOG_SIZE 512

struct nvme_controller {
	bool sanitize_crypto;
	bool sanitize_block;
	bool format;
	bool format_crypto;
	bool format_all; /* a format or its erase reaches every namespace of the controller */
	uint32_t namespaces;
};

enum nvme_sanitize_state {
	NVME_SANITIZE_NEVER = 0,
	NVME_SANITIZE_DONE = 1,
	NVME_SANITIZE_RUNNING = 2,
	NVME_SANITIZE_FAILED = 3,
	NVME_SANITIZE_DONE_KEPT = 4, /* done, blocks not deallocated */
};

struct nvme_sanitize_status {
	unsigned progress; /* of 65536 */
	unsigned state;    /* enum nvme_sanitize_state; more is reserved */
};

enum nvme_sanitize_action { NVME_SANITIZE_BLOCK = 2, NVME_SANITIZE_CRYPTO = 4 };
enum nvme_format_erase { NVME_FORMAT_USER_DATA = 1, NVME_FORMAT_CRYPTO = 2 };

/* E_MALFORMED when there are fewer bytes than the structure has. */
MUST_USE int nvme_controller_decode(const void *data, size_t size, struct nvme_controller *ret);
MUST_USE int nvme_sanitize_status_decode(const void *data, size_t size,
					 struct nvme_sanitize_status *ret);
/* Command dword 10 of a Format NVM that keeps the LBA format, metadata and protection that the
 * namespace has. */
MUST_USE int nvme_format_dword(const void *identify_namespace, size_t size,
			       enum nvme_format_erase erase, uint32_t *ret);
