/* Areas that an ATA drive hides: behind a moved last address (Host Protected Area, Accessible Max
 * Address), and behind a Device Configuration Overlay. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "bampi/agent/ata_wire.h"

struct ata_hidden {
	uint64_t sectors; /* addressable now */
	uint64_t opened;  /* of these, that were hidden before */
	bool unknown;     /* it can hide sectors, and does not tell whether it does */
};

/* Makes every sector of the drive addressable. `drive` is what it says of itself now. A drive that
 * hides sectors and refuses to show them is E_CONFLICT, with the problem set. */
MUST_USE int ata_unhide(int fd, const struct ata_drive *drive, struct ata_hidden *ret,
			struct problem *problem);
/* Has the kernel read the drive's size anew, some time after this returned. */
MUST_USE int ata_refresh(int fd);
