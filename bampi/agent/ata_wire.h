/* Bytes of the ATA commands that an erase needs, carried in SCSI (SAT): IDENTIFY DEVICE and
 * SANITIZE DEVICE of ACS-3 in ATA PASS-THROUGH (16) of SAT-3 12.2.2, and the ATA Status Return
 * descriptor (SAT-3 12.2.5) that comes back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define ATA_IDENTIFY_SIZE 512
#define ATA_CDB_SIZE      16

struct ata_drive {
	bool sanitize_crypto; /* IDENTIFY word 59 (ACS-3 7.12.7.26): the drive throws its key away
			       */
	bool sanitize_block;  /* the drive erases its flash, spare blocks included */
};

enum ata_sanitize_action { ATA_SANITIZE_STATUS, ATA_SANITIZE_CRYPTO, ATA_SANITIZE_BLOCK };

struct ata_sanitize_status {
	bool error; /* the command was refused or the operation failed */
	bool done;  /* the last operation ended without error */
	bool running;
	uint16_t progress; /* of 65536, while running */
};

void ata_identify_command(uint8_t ret[ATA_CDB_SIZE]);
void ata_sanitize_command(enum ata_sanitize_action action, uint8_t ret[ATA_CDB_SIZE]);
/* E_MALFORMED when there are fewer than ATA_IDENTIFY_SIZE bytes. */
MUST_USE int ata_drive_decode(const void *data, size_t size, struct ata_drive *ret);
/* From sense data in descriptor format; E_MALFORMED without an ATA Status Return descriptor. */
MUST_USE int ata_sanitize_status_decode(const void *sense, size_t size,
					struct ata_sanitize_status *ret);
