#include "bampi/agent/ata_hidden.h"

#include "common/base/error.h"

#include "bampi/agent/ata.h"
#include "bampi/agent/ata_sg.h"

static int ata_hidden_plain(int fd, uint8_t cdb[ATA_CDB_SIZE])
{
	uint8_t sense[ATA_SENSE_SIZE];
	int rc = ata_sg_send(fd, cdb, NULL, 0, sense);

	return rc ? rc : ata_status_decode(sense, sizeof(sense));
}

static int ata_hidden_native(int fd, enum ata_max_way way, uint64_t *ret_sectors)
{
	uint8_t cdb[ATA_CDB_SIZE];
	uint8_t sense[ATA_SENSE_SIZE];
	uint64_t last;
	int rc;

	ata_native_max_command(way, cdb);
	rc = ata_sg_send(fd, cdb, NULL, 0, sense);
	if (rc == 0)
		rc = ata_native_max_decode(sense, sizeof(sense), way, &last);
	if (rc == 0)
		*ret_sectors = last + 1;
	return rc;
}

static int ata_hidden_overlay(int fd, uint64_t *ret_sectors)
{
	uint8_t cdb[ATA_CDB_SIZE];
	uint8_t page[ATA_IDENTIFY_SIZE] = {0};
	uint8_t sense[ATA_SENSE_SIZE];
	uint64_t last;
	int rc;

	ata_overlay_identify_command(cdb);
	rc = ata_sg_send(fd, cdb, page, sizeof(page), sense);
	if (rc == 0)
		rc = ata_overlay_decode(page, sizeof(page), &last);
	if (rc == 0)
		*ret_sectors = last + 1;
	return rc;
}

/* A drive takes a lasting address once per power cycle; one until the next power cycle is enough
 * for an erase. A set counts only directly after a read (ATA/ATAPI-7 6.47). */
static int ata_hidden_set(int fd, enum ata_max_way way, uint64_t sectors)
{
	int rc = E_UNSUPPORTED;

	for (int lasting = 1; lasting >= 0 && rc; lasting--) {
		uint8_t cdb[ATA_CDB_SIZE];
		uint64_t ignored;

		rc = ata_hidden_native(fd, way, &ignored);
		if (rc)
			return rc;
		ata_set_max_command(way, sectors - 1, lasting != 0, cdb);
		rc = ata_hidden_plain(fd, cdb);
	}
	return rc;
}

/* The drive's own word after the change, not that it took the command. */
static int ata_hidden_confirm(int fd, int rc, const char *what, uint64_t wanted,
			      struct ata_hidden *hidden, struct problem *problem)
{
	struct ata_drive drive = {0};

	if (rc == 0)
		rc = ata_identify(fd, &drive);
	if (rc == 0 && drive.sectors >= wanted) {
		hidden->opened += drive.sectors - hidden->sectors;
		hidden->sectors = drive.sectors;
		return 0;
	}
	return problem_set(
		problem, E_CONFLICT,
		"the drive hides %llu sectors (%s) and does not show them; switch the node's power off and on",
		(unsigned long long)(wanted - hidden->sectors), what);
}

static int ata_hidden_open_max(int fd, enum ata_max_way way, struct ata_hidden *hidden,
			       struct problem *problem)
{
	uint64_t native;

	if (ata_hidden_native(fd, way, &native)) {
		hidden->unknown = true;
		return 0;
	}
	if (native <= hidden->sectors)
		return 0;
	return ata_hidden_confirm(fd, ata_hidden_set(fd, way, native), "HPA", native, hidden,
				  problem);
}

/* Only without a Host Protected Area: a restore is refused with one (ATA/ATAPI-7 6.7). */
static int ata_hidden_open_overlay(int fd, struct ata_hidden *hidden, struct problem *problem)
{
	uint8_t cdb[ATA_CDB_SIZE];
	uint64_t whole;

	if (ata_hidden_overlay(fd, &whole)) {
		hidden->unknown = true; /* most firmware freezes it at the start */
		return 0;
	}
	if (whole <= hidden->sectors)
		return 0;
	ata_overlay_restore_command(cdb);
	return ata_hidden_confirm(fd, ata_hidden_plain(fd, cdb), "DCO", whole, hidden, problem);
}

int ata_unhide(int fd, const struct ata_drive *drive, struct ata_hidden *ret,
	       struct problem *problem)
{
	struct ata_hidden hidden = {.sectors = drive->sectors};
	int rc = 0;

	if (drive->max_way != ATA_MAX_NONE)
		rc = ata_hidden_open_max(fd, drive->max_way, &hidden, problem);
	if (rc == 0 && drive->overlay)
		rc = ata_hidden_open_overlay(fd, &hidden, problem);
	if (rc == 0)
		*ret = hidden;
	return rc;
}

int ata_refresh(int fd)
{
	uint8_t cdb[ATA_CDB_SIZE];

	ata_refresh_command(cdb);
	return ata_hidden_plain(fd, cdb);
}
