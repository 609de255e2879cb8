#include "bampi/agent/ata_wire.h"

#include <string.h>

#include "common/base/error.h"
#include "common/net/wire.h"

#define LBA48_MAX ((UINT64_C(1) << 48) - 1)

enum { PASS_THROUGH_16 = 0x85, IDENTIFY_DEVICE = 0xec, SANITIZE_DEVICE = 0xb4 };
enum { PROTOCOL_NON_DATA = 3 << 1, PROTOCOL_PIO_IN = 4 << 1, EXTEND = 1 };
/* T_DIR from the drive, BYT_BLOK blocks, T_LENGTH in the count; CK_COND returns the registers. */
enum { TRANSFER_IN = 0x0e, CHECK_CONDITION = 0x20 };
enum { SANITIZE_WORD = 59, HAS_SANITIZE = 1 << 12, HAS_CRYPTO = 1 << 13, HAS_BLOCK = 1 << 15 };
/* Words 82, 83 and 119 hold bits only where bits 15:14 of 83 and of 119 are 01. */
enum { SETS_WORD = 82, MORE_SETS_WORD = 83, LATE_SETS_WORD = 119 };
enum { SETS_VALID_MASK = 3 << 14, SETS_VALID = 1 << 14 };
enum { HAS_HPA = 1 << 10, HAS_LBA48 = 1 << 10, HAS_OVERLAY = 1 << 11, HAS_AMAX = 1 << 8 };
enum { SECTORS28_WORD = 60, SECTORS48_WORD = 100 };
enum { DEVICE_LBA = 0x40, LBA28_LOW = 0xffffff, COUNT_LASTING = 1 };
enum { SET_FEATURES = 0xef, LOOK_AHEAD_ON = 0xaa };
enum { DEVICE_CONFIGURATION = 0xb1, OVERLAY_RESTORE = 0xc0, OVERLAY_IDENTIFY = 0xc2 };
enum { OVERLAY_LAST_WORD = 3, OVERLAY_SIGNATURE_AT = 510, OVERLAY_SIGNATURE = 0xa5 };
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

static const struct {
	uint8_t read, set;
	bool extend;
	uint16_t set_feature;
} ata_wire_max_ways[] = {
	[ATA_MAX_HPA28] = {0xf8, 0xf9, false, 0},
	[ATA_MAX_HPA48] = {0x27, 0x37, true, 0},
	[ATA_MAX_AMAX] = {0x78, 0x78, true, 1},
};

/* One block from the drive. */
static void ata_wire_read_block(uint8_t command, uint8_t feature, uint8_t ret[ATA_CDB_SIZE])
{
	memset(ret, 0, ATA_CDB_SIZE);
	ret[0] = PASS_THROUGH_16;
	ret[1] = PROTOCOL_PIO_IN;
	ret[2] = TRANSFER_IN;
	ret[4] = feature;
	ret[6] = 1;
	ret[14] = command;
}

/* Without data; the registers come back. */
static void ata_wire_plain(uint8_t command, uint16_t feature, bool extend,
			   uint8_t ret[ATA_CDB_SIZE])
{
	memset(ret, 0, ATA_CDB_SIZE);
	ret[0] = PASS_THROUGH_16;
	ret[1] = extend ? PROTOCOL_NON_DATA | EXTEND : PROTOCOL_NON_DATA;
	ret[2] = CHECK_CONDITION;
	ret[3] = (uint8_t)(feature >> 8);
	ret[4] = (uint8_t)feature;
	ret[14] = command;
}

/* The 48-bit LBA lies in pairs: (31:24, 7:0), (39:32, 15:8), (47:40, 23:16). */
static void ata_wire_put_lba(uint64_t lba, uint8_t cdb[ATA_CDB_SIZE])
{
	cdb[7] = (uint8_t)(lba >> 24);
	cdb[8] = (uint8_t)lba;
	cdb[9] = (uint8_t)(lba >> 32);
	cdb[10] = (uint8_t)(lba >> 8);
	cdb[11] = (uint8_t)(lba >> 40);
	cdb[12] = (uint8_t)(lba >> 16);
}

void ata_identify_command(uint8_t ret[ATA_CDB_SIZE])
{
	ata_wire_read_block(IDENTIFY_DEVICE, 0, ret);
}

void ata_native_max_command(enum ata_max_way way, uint8_t ret[ATA_CDB_SIZE])
{
	ata_wire_plain(ata_wire_max_ways[way].read, 0, ata_wire_max_ways[way].extend, ret);
	ret[13] = DEVICE_LBA;
}

void ata_set_max_command(enum ata_max_way way, uint64_t last, bool lasting,
			 uint8_t ret[ATA_CDB_SIZE])
{
	ata_wire_plain(ata_wire_max_ways[way].set, ata_wire_max_ways[way].set_feature,
		       ata_wire_max_ways[way].extend, ret);
	/* Accessible Max Address is always lasting, and its count reserved. */
	ret[6] = lasting && way != ATA_MAX_AMAX ? COUNT_LASTING : 0;
	ret[13] = DEVICE_LBA;
	if (way == ATA_MAX_HPA28) {
		ret[13] = (uint8_t)(DEVICE_LBA | (last >> 24 & 0x0f));
		last &= LBA28_LOW;
	}
	ata_wire_put_lba(last, ret);
}

void ata_overlay_identify_command(uint8_t ret[ATA_CDB_SIZE])
{
	ata_wire_read_block(DEVICE_CONFIGURATION, OVERLAY_IDENTIFY, ret);
}

void ata_overlay_restore_command(uint8_t ret[ATA_CDB_SIZE])
{
	ata_wire_plain(DEVICE_CONFIGURATION, OVERLAY_RESTORE, false, ret);
}

void ata_refresh_command(uint8_t ret[ATA_CDB_SIZE])
{
	ata_wire_plain(SET_FEATURES, LOOK_AHEAD_ON, false, ret);
}

void ata_sanitize_command(enum ata_sanitize_action action, uint8_t ret[ATA_CDB_SIZE])
{
	ata_wire_plain(SANITIZE_DEVICE, ata_wire_actions[action].feature, true, ret);
	ata_wire_put_lba(ata_wire_actions[action].lba, ret);
}

/* Words of a drive's pages have their low byte first. `page` has ATA_IDENTIFY_SIZE bytes. */
static uint64_t ata_wire_words(const void *page, size_t first, unsigned count)
{
	struct wire_reader reader = wire_reader(page, ATA_IDENTIFY_SIZE);
	uint64_t value = 0;

	wire_skip(&reader, 2 * first);
	for (unsigned i = 0; i < 2 * count; i++)
		value |= (uint64_t)wire_u8(&reader) << 8 * i;
	return value;
}

static enum ata_max_way ata_wire_max_way(const void *page, uint64_t more)
{
	uint64_t late = ata_wire_words(page, LATE_SETS_WORD, 1);

	if ((late & SETS_VALID_MASK) == SETS_VALID && (late & HAS_AMAX))
		return ATA_MAX_AMAX;
	if (!(more & SETS_VALID) || !(ata_wire_words(page, SETS_WORD, 1) & HAS_HPA))
		return ATA_MAX_NONE;
	return more & HAS_LBA48 ? ATA_MAX_HPA48 : ATA_MAX_HPA28;
}

int ata_drive_decode(const void *data, size_t size, struct ata_drive *ret)
{
	uint64_t sanitize;
	uint64_t more;

	if (size < ATA_IDENTIFY_SIZE)
		return E_MALFORMED;
	sanitize = ata_wire_words(data, SANITIZE_WORD, 1);
	more = ata_wire_words(data, MORE_SETS_WORD, 1);
	more = (more & SETS_VALID_MASK) == SETS_VALID ? more : 0;
	*ret = (struct ata_drive){
		.sanitize_crypto = (sanitize & HAS_SANITIZE) && (sanitize & HAS_CRYPTO),
		.sanitize_block = (sanitize & HAS_SANITIZE) && (sanitize & HAS_BLOCK),
		.max_way = ata_wire_max_way(data, more),
		.overlay = (more & HAS_OVERLAY) != 0,
		.sectors = more & HAS_LBA48 ? ata_wire_words(data, SECTORS48_WORD, 4)
					    : ata_wire_words(data, SECTORS28_WORD, 2),
	};
	return 0;
}

/* What the drive's registers held after the command. */
struct ata_registers {
	bool error;
	uint16_t count;
	uint64_t lba;
	uint8_t device;
};

static int ata_wire_registers(const void *sense, size_t size, struct ata_registers *ret)
{
	struct wire_reader reader = wire_reader(sense, size);
	bool descriptors = (wire_u8(&reader) & 0x7f) == SENSE_DESCRIPTORS;

	wire_skip(&reader, 7);
	while (descriptors && !reader.bad && wire_left(&reader) > 0) {
		struct ata_registers registers = {0};
		uint8_t type = wire_u8(&reader);
		uint8_t length = wire_u8(&reader);
		struct wire_reader body = wire_cut(&reader, length);

		if (type != DESCRIPTOR_ATA || length < DESCRIPTOR_ATA_SIZE)
			continue;
		wire_skip(&body, 2); /* extend, error */
		registers.count = wire_u16(&body);
		/* In the pairs of a command. */
		for (unsigned i = 0; i < 3; i++) {
			registers.lba |= (uint64_t)wire_u8(&body) << (24 + 8 * i);
			registers.lba |= (uint64_t)wire_u8(&body) << 8 * i;
		}
		registers.device = wire_u8(&body);
		registers.error = (wire_u8(&body) & STATUS_ERROR) != 0;
		if (body.bad)
			return E_MALFORMED;
		*ret = registers;
		return 0;
	}
	return E_MALFORMED;
}

int ata_sanitize_status_decode(const void *sense, size_t size, struct ata_sanitize_status *ret)
{
	struct ata_registers registers;
	int rc = ata_wire_registers(sense, size, &registers);

	if (rc)
		return rc;
	*ret = (struct ata_sanitize_status){
		.error = registers.error,
		.done = (registers.count & COUNT_DONE) != 0,
		.running = (registers.count & COUNT_RUNNING) != 0,
		.progress = (uint16_t)registers.lba,
	};
	return 0;
}

int ata_status_decode(const void *sense, size_t size)
{
	struct ata_registers registers;
	int rc = ata_wire_registers(sense, size, &registers);

	return rc ? rc : registers.error ? E_UNSUPPORTED : 0;
}

int ata_native_max_decode(const void *sense, size_t size, enum ata_max_way way, uint64_t *ret_last)
{
	struct ata_registers registers;
	int rc = ata_wire_registers(sense, size, &registers);

	if (rc || registers.error)
		return rc ? rc : E_UNSUPPORTED;
	if (way == ATA_MAX_HPA28)
		registers.lba = (registers.lba & LBA28_LOW) | (uint64_t)(registers.device & 0x0f)
								      << 24;
	*ret_last = registers.lba;
	return 0;
}

int ata_overlay_decode(const void *data, size_t size, uint64_t *ret_last)
{
	struct wire_reader reader = wire_reader(data, size);
	uint64_t last;
	uint8_t sum = 0;

	if (size < ATA_IDENTIFY_SIZE)
		return E_MALFORMED;
	for (size_t i = 0; i < ATA_IDENTIFY_SIZE; i++)
		sum = (uint8_t)(sum + wire_u8(&reader));
	if (sum != 0 ||
	    (ata_wire_words(data, OVERLAY_SIGNATURE_AT / 2, 1) & 0xff) != OVERLAY_SIGNATURE)
		return E_MALFORMED;
	last = ata_wire_words(data, OVERLAY_LAST_WORD, 4);
	if (last > LBA48_MAX)
		return E_MALFORMED;
	*ret_last = last;
	return 0;
}
