#include "bampi/agent/ata_sg.h"

#include <errno.h>
#include <scsi/sg.h>
#include <string.h>
#include <sys/ioctl.h>

#define TIMEOUT_MS 30000

/* NOLINTNEXTLINE(readability-non-const-parameter): sg's header wants it writable */
int ata_sg_send(int fd, uint8_t cdb[ATA_CDB_SIZE], void *data, size_t size,
		uint8_t sense[ATA_SENSE_SIZE])
{
	struct sg_io_hdr command = {
		.interface_id = 'S',
		.dxfer_direction = size > 0 ? SG_DXFER_FROM_DEV : SG_DXFER_NONE,
		.cmd_len = ATA_CDB_SIZE,
		.mx_sb_len = ATA_SENSE_SIZE,
		.dxfer_len = (unsigned)size,
		.dxferp = data,
		.cmdp = cdb,
		.sbp = sense,
		.timeout = TIMEOUT_MS,
	};

	memset(sense, 0, ATA_SENSE_SIZE);
	if (ioctl(fd, SG_IO, &command) < 0)
		return -errno;
	return command.host_status ? -EIO : 0;
}
