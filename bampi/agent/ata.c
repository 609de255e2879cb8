#include "bampi/agent/ata.h"

#include <errno.h>
#include <scsi/sg.h>
#include <string.h>
#include <sys/ioctl.h>

#include "common/base/error.h"

#define TIMEOUT_MS 30000

/* NOLINTNEXTLINE(readability-non-const-parameter): sg's header wants it writable */
static int ata_send_command(int fd, uint8_t cdb[ATA_CDB_SIZE], void *data, unsigned size,
			    uint8_t sense[64])
{
	struct sg_io_hdr command = {
		.interface_id = 'S',
		.dxfer_direction = size > 0 ? SG_DXFER_FROM_DEV : SG_DXFER_NONE,
		.cmd_len = ATA_CDB_SIZE,
		.mx_sb_len = 64,
		.dxfer_len = size,
		.dxferp = data,
		.cmdp = cdb,
		.sbp = sense,
		.timeout = TIMEOUT_MS,
	};

	memset(sense, 0, 64);
	if (ioctl(fd, SG_IO, &command) < 0)
		return -errno;
	return command.host_status ? -EIO : 0;
}

int ata_identify(int fd, struct ata_drive *ret)
{
	uint8_t cdb[ATA_CDB_SIZE];
	uint8_t page[ATA_IDENTIFY_SIZE] = {0};
	uint8_t sense[64];
	int rc;

	ata_identify_command(cdb);
	rc = ata_send_command(fd, cdb, page, sizeof(page), sense);
	return rc ? rc : ata_drive_decode(page, sizeof(page), ret);
}

int ata_sanitize(int fd, enum ata_sanitize_action action, struct ata_sanitize_status *ret)
{
	uint8_t cdb[ATA_CDB_SIZE];
	uint8_t sense[64];
	int rc;

	ata_sanitize_command(action, cdb);
	rc = ata_send_command(fd, cdb, NULL, 0, sense);
	if (rc == 0)
		rc = ata_sanitize_status_decode(sense, sizeof(sense), ret);
	if (rc == E_MALFORMED)
		rc = E_UNSUPPORTED; /* no registers came back: the adapter does not translate it */
	return rc ? rc : ret->error ? E_UNSUPPORTED : 0;
}
