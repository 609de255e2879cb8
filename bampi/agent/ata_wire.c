#include "bampi/agent/ata_wire.h"

#include <string.h>

#include "common/base/error.h"
#include "common/net/wire.h"

enum { PASS_THROUGH_16 = 0x85, IDENTIFY_DEVICE = 0xec, SANITIZE_DEVICE = 0xb4 };
enum { PROTOCOL_NON_DATA = 3 << 1, PROTOCOL_PIO_IN = 4 << 1, EXTEND = 1 };
/* T_DIR from the drive, BYT_BLOK blocks, T_LENGTH in the count; CK_COND returns the registers. */
enum { TRANSFER_IN = 0x0e, CHECK_CONDITION = 0x20 };
enum { SANITIZE_AT = 2 * 59, HAS_SANITIZE = 1 << 12, HAS_CRYPTO = 1 << 13, HAS_BLOCK = 1 << 15 };
enum { SENSE_DESCRIPTORS = 0x72, DESCRIPTOR_ATA = 0x09, DESCRIPTOR_ATA_SIZE = 12 };
enum { STATUS_ERROR = 1 << 0, COUNT_DONE = 1 << 15, COUNT_RUNNING = 1 << 14 };

/* ACS-3 7.36: the feature says which, the LBA is a word that nobody sends by accident. */
static const struct {
	uint16_t feature;
	uint32_t lba;
} ata_wire_actions[] = {
	[ATA_SANITIZE_STATUS] = {0x0000, 0},
	[ATA_SANITIZE_CRYPTO] = {0x0011, 0x43727970}, /* "Cryp" */
	[ATA_SANITIZE_BLOCK] = {0x0012, 0x426b4572},  /* "BkEr" */
};

void ata_identify_command(uint8_t ret[ATA_CDB_SIZE])
{
	memset(ret, 0, ATA_CDB_SIZE);
	ret[0] = PASS_THROUGH_16;
	ret[1] = PROTOCOL_PIO_IN;
	ret[2] = TRANSFER_IN;
	ret[6] = 1; /* one block */
	ret[14] = IDENTIFY_DEVICE;
}

void ata_sanitize_command(enum ata_sanitize_action action, uint8_t ret[ATA_CDB_SIZE])
{
	uint16_t feature = ata_wire_actions[action].feature;
	uint32_t lba = ata_wire_actions[action].lba;

	memset(ret, 0, ATA_CDB_SIZE);
	ret[0] = PASS_THROUGH_16;
	ret[1] = PROTOCOL_NON_DATA | EXTEND;
	ret[2] = CHECK_CONDITION;
	ret[3] = (uint8_t)(feature >> 8);
	ret[4] = (uint8_t)feature;
	/* The 48-bit LBA lies in pairs: (31:24, 7:0), (39:32, 15:8), (47:40, 23:16). */
	ret[7] = (uint8_t)(lba >> 24);
	ret[8] = (uint8_t)lba;
	ret[10] = (uint8_t)(lba >> 8);
	ret[12] = (uint8_t)(lba >> 16);
	ret[14] = SANITIZE_DEVICE;
}

int ata_drive_decode(const void *data, size_t size, struct ata_drive *ret)
{
	const uint8_t *bytes = data;
	unsigned word;

	if (size < ATA_IDENTIFY_SIZE)
		return E_MALFORMED;
	word = bytes[SANITIZE_AT] | (unsigned)bytes[SANITIZE_AT + 1] << 8;
	*ret = (struct ata_drive){
		.sanitize_crypto = (word & HAS_SANITIZE) && (word & HAS_CRYPTO),
		.sanitize_block = (word & HAS_SANITIZE) && (word & HAS_BLOCK),
	};
	return 0;
}

int ata_sanitize_status_decode(const void *sense, size_t size, struct ata_sanitize_status *ret)
{
	struct wire_reader reader = wire_reader(sense, size);
	bool descriptors = (wire_u8(&reader) & 0x7f) == SENSE_DESCRIPTORS;

	wire_skip(&reader, 7);
	while (descriptors && !reader.bad && wire_left(&reader) > 0) {
		uint8_t type = wire_u8(&reader);
		uint8_t length = wire_u8(&reader);
		struct wire_reader body = wire_cut(&reader, length);

		if (type != DESCRIPTOR_ATA || length < DESCRIPTOR_ATA_SIZE)
			continue;
		wire_skip(&body, 2); /* extend, error */
		uint16_t count = wire_u16(&body);
		wire_skip(&body, 1);
		uint8_t lba_low = wire_u8(&body);
		wire_skip(&body, 1);
		uint8_t lba_mid = wire_u8(&body);
		wire_skip(&body, 3);
		uint8_t status = wire_u8(&body);
		if (body.bad)
			return E_MALFORMED;
		*ret = (struct ata_sanitize_status){
			.error = (status & STATUS_ERROR) != 0,
			.done = (count & COUNT_DONE) != 0,
			.running = (count & COUNT_RUNNING) != 0,
			.progress = (uint16_t)(lba_mid << 8 | lba_low),
		};
		return 0;
	}
	return E_MALFORMED;
}
