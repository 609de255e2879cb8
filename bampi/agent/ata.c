#include "bampi/agent/ata.h"

#include "common/base/error.h"

#include "bampi/agent/ata_sg.h"

int ata_identify(int fd, struct ata_drive *ret)
{
	uint8_t cdb[ATA_CDB_SIZE];
	uint8_t page[ATA_IDENTIFY_SIZE] = {0};
	uint8_t sense[ATA_SENSE_SIZE];
	int rc;

	ata_identify_command(cdb);
	rc = ata_sg_send(fd, cdb, page, sizeof(page), sense);
	return rc ? rc : ata_drive_decode(page, sizeof(page), ret);
}

int ata_sanitize(int fd, enum ata_sanitize_action action, struct ata_sanitize_status *ret)
{
	uint8_t cdb[ATA_CDB_SIZE];
	uint8_t sense[ATA_SENSE_SIZE];
	int rc;

	ata_sanitize_command(action, cdb);
	rc = ata_sg_send(fd, cdb, NULL, 0, sense);
	if (rc == 0)
		rc = ata_sanitize_status_decode(sense, sizeof(sense), ret);
	if (rc == E_MALFORMED)
		rc = E_UNSUPPORTED; /* no registers came back: the adapter does not translate it */
	return rc ? rc : ret->error ? E_UNSUPPORTED : 0;
}
