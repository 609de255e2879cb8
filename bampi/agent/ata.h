/* ATA commands to a drive behind the kernel's SCSI layer (SG_IO). rc: -errno, E_UNSUPPORTED when
 * the drive or its adapter refuses. */
#pragma once

#include "common/base/macros.h"

#include "bampi/agent/ata_wire.h"

MUST_USE int ata_identify(int fd, struct ata_drive *ret);
/* Begins it (or with ATA_SANITIZE_STATUS only asks); it cannot be stopped and goes on after a power
 * cycle. */
MUST_USE int ata_sanitize(int fd, enum ata_sanitize_action action, struct ata_sanitize_status *ret);
