/* One ATA command to a drive behind the kernel's SCSI layer (SG_IO). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "bampi/agent/ata_wire.h"

#define ATA_SENSE_SIZE 64

/* `data` takes `size` bytes from the drive; 0 = a command without data. 0 says that the command
 * was carried, `sense` how it ended. */
MUST_USE int ata_sg_send(int fd, uint8_t cdb[ATA_CDB_SIZE], void *data, size_t size,
			 uint8_t sense[ATA_SENSE_SIZE]);
