// links: bampi_agent
/* Bytes from switches and drives: LLDP frames, NVMe and ATA structures, /proc/cpuinfo. */
#include <string.h>

#include "common/base/error.h"

#include "bampi/agent/ata_wire.h"
#include "bampi/agent/inventory_cpu.h"
#include "bampi/agent/lldp_wire.h"
#include "bampi/agent/nvme_wire.h"
#include "tests/support/cmocka.h"

/* As lldpd sends it: chassis by MAC, port by interface name, TTL 120, system name, end. */
static const uint8_t frame[] = "\x02\x07\x04\x52\x54\x00\x12\x34\x56"
			       "\x04\x07\x05swp14x"
			       "\x06\x02\x00\x78"
			       "\x0a\x05leaf1"
			       "\x00\x00";

static void test_lldp(void **state)
{
	struct lldp_neighbor neighbor;

	(void)state;
	assert_int_equal(lldp_decode(frame, sizeof(frame) - 1, &neighbor), 0);
	assert_string_equal(neighbor.chassis, "52:54:00:12:34:56");
	assert_string_equal(neighbor.port, "swp14x");
	assert_string_equal(neighbor.system, "leaf1");
	assert_int_equal(neighbor.ttl_s, 120);
}

static void test_lldp_forms(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *chassis;
		const char *port;
	} cases[] = {
#define FRAME(text) text "\x06\x02\x00\x78", sizeof(text "\x06\x02\x00\x78") - 1
		{FRAME("\x02\x06\x05\x01\x0a\x02\x00\x01\x04\x02\x07g"), "10.2.0.1", "g"},
		/* locally assigned and not text: hex */
		{FRAME("\x02\x03\x07\x01\xff\x04\x03\x07\x00\x02"), "01ff", "0002"},
		/* a MAC that is not six octets long */
		{FRAME("\x02\x03\x04\xaa\xbb\x04\x02\x05x"), "aabb", "x"},
#undef FRAME
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct lldp_neighbor neighbor;

		assert_int_equal(lldp_decode(cases[i].bytes, cases[i].size, &neighbor), 0);
		assert_string_equal(neighbor.chassis, cases[i].chassis);
		assert_string_equal(neighbor.port, cases[i].port);
	}
}

static void test_lldp_broken(void **state)
{
	struct lldp_neighbor neighbor;
	uint8_t copy[sizeof(frame)];

	(void)state;
	/* every cut before the end of the TTL is malformed, every later one still names the
	 * neighbour */
	for (size_t size = 0; size < sizeof(frame) - 1; size++) {
		int rc = lldp_decode(frame, size, &neighbor);

		assert_int_equal(rc, size < 22 ? E_MALFORMED : 0);
	}
	memcpy(copy, frame, sizeof(copy));
	copy[0] = 0x04; /* port before chassis */
	assert_int_equal(lldp_decode(copy, sizeof(copy) - 1, &neighbor), E_MALFORMED);
	assert_int_equal(lldp_decode("\x02\x01\x04\x04\x01\x05\x06\x02\x00\x78", 10, &neighbor),
			 E_MALFORMED); /* empty ids */
}

static void test_nvme(void **state)
{
	static uint8_t page[NVME_IDENTIFY_SIZE];
	struct nvme_controller controller;
	struct nvme_sanitize_status status;
	uint32_t dword;

	(void)state;
	memset(page, 0, sizeof(page));
	page[256] = 0x02; /* OACS: format */
	page[328] = 0x03; /* SANICAP: crypto, block */
	page[516] = 0x20; /* NN */
	page[524] = 0x04; /* FNA: crypto erase */
	assert_int_equal(nvme_controller_decode(page, sizeof(page), &controller), 0);
	assert_true(controller.sanitize_crypto && controller.sanitize_block);
	assert_true(controller.format && controller.format_crypto && !controller.format_all);
	assert_int_equal(controller.namespaces, 32);
	assert_int_equal(nvme_controller_decode(page, sizeof(page) - 1, &controller), E_MALFORMED);

	assert_int_equal(nvme_sanitize_status_decode("\x00\x80\x02\x01", 4, &status), 0);
	assert_int_equal(status.progress, 0x8000);
	assert_int_equal(status.state, NVME_SANITIZE_RUNNING);
	assert_int_equal(nvme_sanitize_status_decode("\x00\x80\x02", 3, &status), E_MALFORMED);

	memset(page, 0, sizeof(page));
	page[26] = 0x32; /* FLBAS: format 2 + 16 * 1, metadata inline */
	page[29] = 0x09; /* DPS: type 1, first octets */
	assert_int_equal(nvme_format_dword(page, sizeof(page), NVME_FORMAT_CRYPTO, &dword), 0);
	assert_int_equal(dword, 0x2 | 0x10 | 1 << 5 | 1 << 8 | 2 << 9 | 1 << 12);
}

static void test_ata(void **state)
{
	/* ACS-3 and SAT-3: what a bus analyser would show. */
	static const uint8_t identify[] = {0x85, 0x08, 0x0e, 0, 0, 0, 1,    0,
					   0,    0,    0,    0, 0, 0, 0xec, 0};
	static const uint8_t crypto[] = {0x85, 0x07, 0x20, 0x00, 0x11, 0, 0,    0x43,
					 0x70, 0,    0x79, 0,    0x72, 0, 0xb4, 0};
	static const uint8_t block[] = {0x85, 0x07, 0x20, 0x00, 0x12, 0, 0,    0x42,
					0x72, 0,    0x45, 0,    0x6b, 0, 0xb4, 0};
	/* running, 0x1234 of 65536; done; aborted */
	static const uint8_t running[] = {0x72, 1,    0, 0x1d, 0,    0, 0,    14, 0x09, 0x0c, 1,
					  0,    0x40, 0, 0,    0x34, 0, 0x12, 0,  0,    0x40, 0x50};
	static const uint8_t done[] = {0x72, 1,    0, 0x1d, 0, 0, 0, 14, 0x09, 0x0c, 1,
				       0,    0x80, 0, 0,    0, 0, 0, 0,  0,    0x40, 0x50};
	static const uint8_t aborted[] = {0x72, 0x0b, 0, 0, 0, 0, 0, 14, 0x09, 0x0c, 1,
					  4,    0,    0, 0, 0, 0, 0, 0,  0,    0x40, 0x51};
	uint8_t cdb[ATA_CDB_SIZE];
	uint8_t page[ATA_IDENTIFY_SIZE] = {0};
	struct ata_sanitize_status status;
	struct ata_drive drive;

	(void)state;
	ata_identify_command(cdb);
	assert_memory_equal(cdb, identify, sizeof(cdb));
	ata_sanitize_command(ATA_SANITIZE_CRYPTO, cdb);
	assert_memory_equal(cdb, crypto, sizeof(cdb));
	ata_sanitize_command(ATA_SANITIZE_BLOCK, cdb);
	assert_memory_equal(cdb, block, sizeof(cdb));

	page[118] = 0x00;
	page[119] = 0xb0; /* sanitize, crypto, block */
	assert_int_equal(ata_drive_decode(page, sizeof(page), &drive), 0);
	assert_true(drive.sanitize_crypto && drive.sanitize_block);
	page[119] = 0xa0; /* the bits without the feature set mean nothing */
	assert_int_equal(ata_drive_decode(page, sizeof(page), &drive), 0);
	assert_false(drive.sanitize_crypto || drive.sanitize_block);
	assert_int_equal(ata_drive_decode(page, sizeof(page) - 1, &drive), E_MALFORMED);

	assert_int_equal(ata_sanitize_status_decode(running, sizeof(running), &status), 0);
	assert_true(status.running && !status.done && !status.error);
	assert_int_equal(status.progress, 0x1234);
	assert_int_equal(ata_sanitize_status_decode(done, sizeof(done), &status), 0);
	assert_true(status.done && !status.running && !status.error);
	assert_int_equal(ata_sanitize_status_decode(aborted, sizeof(aborted), &status), 0);
	assert_true(status.error && !status.done);
	assert_int_equal(ata_sanitize_status_decode(running, 20, &status), E_MALFORMED);
	assert_int_equal(ata_sanitize_status_decode("\x70\0\5\0\0\0\0\0", 8, &status), E_MALFORMED);
}

/* Security notes, S18: the commands of hidden areas, as ATA/ATAPI-7 and ACS-3 have them. */
static void test_ata_hidden_commands(void **state)
{
	static const uint8_t native28[] = {0x85, 0x06, 0x20, 0, 0, 0,    0,    0,
					   0,    0,    0,    0, 0, 0x40, 0xf8, 0};
	static const uint8_t set28[] = {0x85, 0x06, 0x20, 0, 0,    0,    1,    0,
					0x21, 0,    0x43, 0, 0x65, 0x47, 0xf9, 0};
	static const uint8_t native48[] = {0x85, 0x07, 0x20, 0, 0, 0,    0,    0,
					   0,    0,    0,    0, 0, 0x40, 0x27, 0};
	static const uint8_t set48[] = {0x85, 0x07, 0x20, 0,    0,    0,    1,    0x56,
					0xbc, 0x34, 0x9a, 0x12, 0x78, 0x40, 0x37, 0};
	static const uint8_t native_amax[] = {0x85, 0x07, 0x20, 0, 0, 0,    0,    0,
					      0,    0,    0,    0, 0, 0x40, 0x78, 0};
	static const uint8_t set_amax[] = {0x85, 0x07, 0x20, 0,    1,    0,    0,    0x56,
					   0xbc, 0x34, 0x9a, 0x12, 0x78, 0x40, 0x78, 0};
	static const uint8_t overlay[] = {0x85, 0x08, 0x0e, 0, 0xc2, 0, 1,    0,
					  0,    0,    0,    0, 0,    0, 0xb1, 0};
	static const uint8_t restore[] = {0x85, 0x06, 0x20, 0, 0xc0, 0, 0,    0,
					  0,    0,    0,    0, 0,    0, 0xb1, 0};
	static const struct {
		enum ata_max_way way;
		uint64_t last;
		const uint8_t *native, *set;
	} ways[] = {
		{ATA_MAX_HPA28, 0x7654321, native28, set28},
		{ATA_MAX_HPA48, 0x123456789abc, native48, set48},
		{ATA_MAX_AMAX, 0x123456789abc, native_amax, set_amax},
	};
	uint8_t cdb[ATA_CDB_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		ata_native_max_command(ways[i].way, cdb);
		assert_memory_equal(cdb, ways[i].native, sizeof(cdb));
		ata_set_max_command(ways[i].way, ways[i].last, true, cdb);
		assert_memory_equal(cdb, ways[i].set, sizeof(cdb));
		ata_set_max_command(ways[i].way, ways[i].last, false, cdb);
		assert_int_equal(cdb[6], 0);
	}
	ata_overlay_identify_command(cdb);
	assert_memory_equal(cdb, overlay, sizeof(cdb));
	ata_overlay_restore_command(cdb);
	assert_memory_equal(cdb, restore, sizeof(cdb));
}

/* The words of IDENTIFY DEVICE that say how, and how much is visible. */
static void test_ata_hidden_words(void **state)
{
	static const struct {
		uint8_t sets, more_low, more_high, late_low, late_high;
		enum ata_max_way way;
		bool overlay;
	} pages[] = {
		{0x04, 0, 0x40, 0, 0, ATA_MAX_HPA28, false},
		{0x04, 0, 0x44, 0, 0, ATA_MAX_HPA48, false},
		{0x04, 0, 0x48, 0, 0, ATA_MAX_HPA28, true},
		{0x04, 0, 0x44, 0, 0x41, ATA_MAX_AMAX, false},
		{0x04, 0, 0x44, 0, 0x01, ATA_MAX_HPA48, false}, /* word 119 is not valid */
		{0x04, 0, 0xcc, 0, 0, ATA_MAX_NONE, false},     /* word 83 is not valid */
		{0, 0, 0x44, 0, 0, ATA_MAX_NONE, false},
	};
	uint8_t page[ATA_IDENTIFY_SIZE] = {0};
	struct ata_drive drive;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(pages); i++) {
		page[165] = pages[i].sets;
		page[166] = pages[i].more_low;
		page[167] = pages[i].more_high;
		page[238] = pages[i].late_low;
		page[239] = pages[i].late_high;
		page[120] = 0x11;
		page[200] = 0x22;
		page[205] = 0x33;
		assert_int_equal(ata_drive_decode(page, sizeof(page), &drive), 0);
		assert_int_equal(drive.max_way, pages[i].way);
		assert_int_equal(drive.overlay, pages[i].overlay);
		assert_int_equal(drive.sectors, pages[i].more_high == 0x44 ? 0x330000000022 : 0x11);
	}
}

static void test_ata_native_max(void **state)
{
	uint8_t answer[] = {0x72, 1, 0, 0x1d, 0,    0,    0,    14,   0x09, 0x0c, 1,
			    0,    0, 0, 0x56, 0xbc, 0x34, 0x9a, 0x12, 0x78, 0x47, 0x50};
	uint64_t last = 7;

	(void)state;
	assert_int_equal(ata_native_max_decode(answer, sizeof(answer), ATA_MAX_HPA48, &last), 0);
	assert_int_equal(last, 0x123456789abc);
	assert_int_equal(ata_native_max_decode(answer, sizeof(answer), ATA_MAX_HPA28, &last), 0);
	assert_int_equal(last, 0x7789abc);
	assert_int_equal(ata_status_decode(answer, sizeof(answer)), 0);
	answer[21] = 0x51;
	assert_int_equal(ata_native_max_decode(answer, sizeof(answer), ATA_MAX_HPA48, &last),
			 E_UNSUPPORTED);
	assert_int_equal(ata_status_decode(answer, sizeof(answer)), E_UNSUPPORTED);
	assert_int_equal(ata_status_decode(answer, 20), E_MALFORMED);
}

static void test_ata_overlay(void **state)
{
	uint8_t page[ATA_IDENTIFY_SIZE] = {0};
	uint64_t last = 7;

	(void)state;
	page[6] = 0x99;
	page[510] = 0xa5;
	page[511] = (uint8_t)(512 - 0x99 - 0xa5);
	assert_int_equal(ata_overlay_decode(page, sizeof(page), &last), 0);
	assert_int_equal(last, 0x99);
	assert_int_equal(ata_overlay_decode(page, sizeof(page) - 1, &last), E_MALFORMED);
	page[511]++;
	assert_int_equal(ata_overlay_decode(page, sizeof(page), &last), E_MALFORMED);
	memset(page, 0, sizeof(page)); /* the sum fits, and it is no overlay */
	assert_int_equal(ata_overlay_decode(page, sizeof(page), &last), E_MALFORMED);
}

static void test_cpu(void **state)
{
	struct inventory_cpu cpu = inventory_cpu_read(
		"processor\t: 0\nmodel name\t: Big Chip 9\nphysical id\t: 0\ncore id\t: 0\n\n"
		"processor\t: 1\nmodel name\t: Big Chip 9\nphysical id\t: 0\ncore id\t: 4\n\n"
		"processor\t: 2\nmodel name\t: Big Chip 9\nphysical id\t: 1\ncore id\t: 0\n\n"
		"processor\t: 3\nmodel name\t: Big Chip 9\nphysical id\t: 0\ncore id\t: 0\n");

	(void)state;
	assert_string_equal(cpu.model, "Big Chip 9");
	assert_int_equal(cpu.sockets, 2);
	assert_int_equal(cpu.cores, 3);
	assert_int_equal(cpu.threads, 4);
	cpu = inventory_cpu_read("processor\t: 0\nmodel name :");
	assert_int_equal(cpu.sockets, 1);
	assert_int_equal(cpu.cores, 1);
	cpu = inventory_cpu_read("");
	assert_int_equal(cpu.threads + cpu.sockets + cpu.cores, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lldp),
		cmocka_unit_test(test_lldp_forms),
		cmocka_unit_test(test_lldp_broken),
		cmocka_unit_test(test_nvme),
		cmocka_unit_test(test_ata),
		cmocka_unit_test(test_ata_hidden_commands),
		cmocka_unit_test(test_ata_hidden_words),
		cmocka_unit_test(test_ata_native_max),
		cmocka_unit_test(test_ata_overlay),
		cmocka_unit_test(test_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
