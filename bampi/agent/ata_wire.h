/* Bytes of the ATA commands that an erase needs, carried in SCSI (SAT): IDENTIFY DEVICE and
 * SANITIZE DEVICE of ACS-3 in ATA PASS-THROUGH (16) of SAT-3 12.2.2, and the ATA Status Return
 * descriptor (SAT-3 12.2.5) that comes back. Of hidden areas: the Host Protected Area and the
 * Device Configuration Overlay of ATA/ATAPI-7 (6.34, 6.42, 6.47; 6.7), Accessible Max Address of
 * ACS-3 7.1. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define ATA_IDENTIFY_SIZE 512
#define ATA_CDB_SIZE      16

/* How the last address of a drive is moved: a drive knows one way, or none. */
enum ata_max_way { ATA_MAX_NONE, ATA_MAX_HPA28, ATA_MAX_HPA48, ATA_MAX_AMAX };

struct ata_drive {
	bool sanitize_crypto; /* IDENTIFY word 59 (ACS-3 7.12.7.26): the drive throws its key away
			       */
	bool sanitize_block;  /* the drive erases its flash, spare blocks included */
	enum ata_max_way max_way;
	bool overlay;     /* it has a Device Configuration Overlay */
	uint64_t sectors; /* addressable now; logical sectors */
};

enum ata_sanitize_action { ATA_SANITIZE_STATUS, ATA_SANITIZE_CRYPTO, ATA_SANITIZE_BLOCK };

struct ata_sanitize_status {
	bool error; /* the command was refused or the operation failed */
	bool done;  /* the last operation ended without error */
	bool running;
	uint16_t progress; /* of 65536, while running */
};

void ata_identify_command(uint8_t ret[ATA_CDB_SIZE]);
/* The drive's last address, hidden or not. `way` is not ATA_MAX_NONE. */
void ata_native_max_command(enum ata_max_way way, uint8_t ret[ATA_CDB_SIZE]);
/* Directly after ata_native_max_command(). Without `lasting` until the next power cycle only. */
void ata_set_max_command(enum ata_max_way way, uint64_t last, bool lasting,
			 uint8_t ret[ATA_CDB_SIZE]);
/* Answers ATA_IDENTIFY_SIZE bytes. */
void ata_overlay_identify_command(uint8_t ret[ATA_CDB_SIZE]);
void ata_overlay_restore_command(uint8_t ret[ATA_CDB_SIZE]);
/* SET FEATURES: read look-ahead on, as it is anyway. After it the kernel reads the drive's size
 * anew. */
void ata_refresh_command(uint8_t ret[ATA_CDB_SIZE]);
void ata_sanitize_command(enum ata_sanitize_action action, uint8_t ret[ATA_CDB_SIZE]);
/* E_MALFORMED when there are fewer than ATA_IDENTIFY_SIZE bytes. */
MUST_USE int ata_drive_decode(const void *data, size_t size, struct ata_drive *ret);
/* From sense data in descriptor format; E_MALFORMED without an ATA Status Return descriptor. */
MUST_USE int ata_sanitize_status_decode(const void *sense, size_t size,
					struct ata_sanitize_status *ret);
/* From the same: 0, or E_UNSUPPORTED when the drive refused the command, or E_MALFORMED. */
MUST_USE int ata_status_decode(const void *sense, size_t size);
/* The answer to ata_native_max_command(). */
MUST_USE int ata_native_max_decode(const void *sense, size_t size, enum ata_max_way way,
				   uint64_t *ret_last);
/* The last address without an overlay; E_MALFORMED without the structure's signature and checksum.
 */
MUST_USE int ata_overlay_decode(const void *data, size_t size, uint64_t *ret_last);
