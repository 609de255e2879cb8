// links: bampi_agent
// alone: replaces ata_sg_send() and usleep()
/* Areas that an ATA drive hides (security notes, S18): a drive of memory that answers ATA commands
 * as ATA/ATAPI-7 and ACS-3 say, and one whose addressable sectors are a file that is erased. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/agent/ata.h"
#include "bampi/agent/ata_hidden.h"
#include "bampi/agent/ata_sg.h"
#include "bampi/agent/erase_drive.h"
#include "bampi/agent/task.h"
#include "tests/support/cmocka.h"

#define SECTOR 512

struct fake_drive {
	enum ata_max_way way;
	bool overlay;
	uint64_t visible, native, whole; /* sectors: addressable, without an HPA, without a DCO */
	bool silent;                     /* refuses to tell its native size */
	bool frozen;                     /* refuses to move its last address */
	bool no_lasting;                 /* moves it until the next power cycle only */
	bool lies;                       /* says yes and does nothing */
	bool overlay_silent, overlay_frozen;
	bool blind_kernel; /* the kernel never shows the new size */
	int file;          /* -1 = none */

	bool was_read; /* a set counts only directly after a read */
	unsigned sets, polls;
};

static struct fake_drive fake;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc reserves its names */
int usleep(useconds_t pause_us)
{
	(void)pause_us;
	fake.polls++;
	return 0;
}

static void put_word(uint8_t *page, size_t index, uint64_t value, unsigned count)
{
	for (unsigned i = 0; i < 2 * count; i++)
		page[2 * index + i] = (uint8_t)(value >> 8 * i);
}

static void answer_identify(uint8_t *page)
{
	bool wide = fake.way == ATA_MAX_HPA48 || fake.way == ATA_MAX_AMAX;
	bool hpa = fake.way == ATA_MAX_HPA28 || fake.way == ATA_MAX_HPA48;

	put_word(page, 82, hpa ? 1U << 10 : 0, 1);
	put_word(page, 83, 1U << 14 | (wide ? 1U << 10 : 0) | (fake.overlay ? 1U << 11 : 0), 1);
	put_word(page, 119, fake.way == ATA_MAX_AMAX ? 1U << 14 | 1U << 8 : 0, 1);
	put_word(page, 60, fake.visible, 2);
	put_word(page, 100, wide ? fake.visible : 0, 4);
}

static void answer_overlay(uint8_t *page)
{
	uint8_t sum = 0;

	put_word(page, 3, fake.whole - 1, 4);
	page[510] = 0xa5;
	for (size_t i = 0; i < 511; i++)
		sum = (uint8_t)(sum + page[i]);
	page[511] = (uint8_t)-sum;
}

static int answer(bool ok, uint64_t lba, uint8_t sense[ATA_SENSE_SIZE])
{
	const uint8_t head[] = {0x72, 1, 0, 0x1d, 0, 0, 0, 14, 0x09, 0x0c, 1};
	bool narrow = fake.way == ATA_MAX_HPA28;
	uint64_t low = narrow ? lba & 0xffffff : lba;
	uint8_t *registers = sense + 14;

	memcpy(sense, head, sizeof(head));
	sense[11] = ok ? 0 : 4; /* ABRT */
	for (size_t i = 0; i < 3; i++) {
		registers[2 * i] = (uint8_t)(low >> (24 + 8 * i));
		registers[2 * i + 1] = (uint8_t)(low >> 8 * i);
	}
	registers[6] = (uint8_t)(0x40 | (narrow ? lba >> 24 & 0x0f : 0));
	registers[7] = ok ? 0x50 : 0x51;
	return 0;
}

static uint64_t lba_of(const uint8_t cdb[ATA_CDB_SIZE])
{
	static const size_t places[] = {8, 10, 12, 7, 9, 11};
	uint64_t lba = 0;

	for (size_t i = 0; i < COUNT_OF(places); i++)
		lba |= (uint64_t)cdb[places[i]] << 8 * i;
	return fake.way == ATA_MAX_HPA28 ? lba | (uint64_t)(cdb[13] & 0x0f) << 24 : lba;
}

static int answer_read(uint8_t sense[ATA_SENSE_SIZE])
{
	fake.was_read = !fake.silent;
	return answer(!fake.silent, fake.native - 1, sense);
}

static int answer_set(const uint8_t cdb[ATA_CDB_SIZE], uint8_t sense[ATA_SENSE_SIZE])
{
	bool lasting = fake.way != ATA_MAX_AMAX && cdb[6] & 1;
	bool ok = fake.was_read && !fake.frozen && !(lasting && fake.no_lasting) &&
		  lba_of(cdb) == fake.native - 1;

	fake.was_read = false;
	fake.sets++;
	if (ok && !fake.lies)
		fake.visible = fake.native;
	return answer(ok, 0, sense);
}

/* ATA/ATAPI-7 6.7: not while an HPA is set. */
static int answer_restore(uint8_t sense[ATA_SENSE_SIZE])
{
	bool ok = !fake.overlay_frozen && fake.visible == fake.native;

	if (ok)
		fake.visible = fake.native = fake.whole;
	return answer(ok, 0, sense);
}

/* What was hidden holds a tenant's data. */
static int answer_refresh(uint8_t sense[ATA_SENSE_SIZE])
{
	uint8_t secret[SECTOR];
	struct stat st;

	memset(secret, 0x5a, sizeof(secret));
	if (fake.file >= 0 && !fake.blind_kernel && fstat(fake.file, &st) == 0)
		for (uint64_t i = (uint64_t)st.st_size / SECTOR; i < fake.visible; i++)
			assert_int_equal(pwrite(fake.file, secret, SECTOR, (off_t)(i * SECTOR)),
					 SECTOR);
	return answer(true, 0, sense);
}

int ata_sg_send(int fd, uint8_t cdb[ATA_CDB_SIZE], void *data, size_t size,
		uint8_t sense[ATA_SENSE_SIZE])
{
	(void)fd;
	memset(sense, 0, ATA_SENSE_SIZE);
	assert_int_equal(cdb[0], 0x85);
	assert_int_equal(size, cdb[2] == 0x0e ? ATA_IDENTIFY_SIZE : 0);
	switch (cdb[14]) {
	case 0xec: answer_identify(data); return 0;
	case 0xf8: assert_int_equal(fake.way, ATA_MAX_HPA28); return answer_read(sense);
	case 0xf9: assert_int_equal(fake.way, ATA_MAX_HPA28); return answer_set(cdb, sense);
	case 0x27: assert_int_equal(fake.way, ATA_MAX_HPA48); return answer_read(sense);
	case 0x37: assert_int_equal(fake.way, ATA_MAX_HPA48); return answer_set(cdb, sense);
	case 0x78: return cdb[4] == 1 ? answer_set(cdb, sense) : answer_read(sense);
	case 0xb1:
		if (cdb[4] == 0xc0)
			return answer_restore(sense);
		if (!fake.overlay_silent)
			answer_overlay(data);
		return 0;
	case 0xef: return answer_refresh(sense);
	}
	fail_msg("command %02x", cdb[14]);
	return E_UNSUPPORTED;
}

static const struct {
	const char *what;
	struct fake_drive drive;
	int rc;
	uint64_t sectors, opened;
	bool unknown;
	unsigned sets;
	const char *problem;
} hiding_drives[] = {
	{"cannot hide", {.visible = 60, .native = 100}, 0, 60, 0, false, 0, NULL},
	{"hides nothing",
	 {.way = ATA_MAX_HPA48, .visible = 100, .native = 100},
	 0,
	 100,
	 0,
	 false,
	 0,
	 NULL},
	{"HPA of 28 bits",
	 {.way = ATA_MAX_HPA28, .visible = 60, .native = 0x7654321},
	 0,
	 0x7654321,
	 0x7654321 - 60,
	 false,
	 1,
	 NULL},
	{"HPA of 48 bits",
	 {.way = ATA_MAX_HPA48, .visible = 60, .native = 0x123456789abc},
	 0,
	 0x123456789abc,
	 0x123456789abc - 60,
	 false,
	 1,
	 NULL},
	{"accessible max address",
	 {.way = ATA_MAX_AMAX, .visible = 60, .native = 100},
	 0,
	 100,
	 40,
	 false,
	 1,
	 NULL},
	{"moved once since it has power",
	 {.way = ATA_MAX_HPA48, .visible = 60, .native = 100, .no_lasting = true},
	 0,
	 100,
	 40,
	 false,
	 2,
	 NULL},
	{"frozen",
	 {.way = ATA_MAX_HPA48, .visible = 60, .native = 100, .frozen = true},
	 E_CONFLICT,
	 0,
	 0,
	 false,
	 2,
	 "the drive hides 40 sectors (HPA)"},
	{"says yes and does nothing",
	 {.way = ATA_MAX_HPA48, .visible = 60, .native = 100, .lies = true},
	 E_CONFLICT,
	 0,
	 0,
	 false,
	 1,
	 "the drive hides 40 sectors (HPA)"},
	{"does not tell",
	 {.way = ATA_MAX_HPA48, .visible = 60, .native = 100, .silent = true},
	 0,
	 60,
	 0,
	 true,
	 0,
	 NULL},
	{"DCO",
	 {.way = ATA_MAX_HPA48, .overlay = true, .visible = 60, .native = 60, .whole = 100},
	 0,
	 100,
	 40,
	 false,
	 0,
	 NULL},
	{"HPA below a DCO",
	 {.way = ATA_MAX_HPA48, .overlay = true, .visible = 60, .native = 80, .whole = 100},
	 0,
	 100,
	 40,
	 false,
	 1,
	 NULL},
	{"frozen DCO",
	 {.way = ATA_MAX_HPA48,
	  .overlay = true,
	  .visible = 60,
	  .native = 60,
	  .whole = 100,
	  .overlay_frozen = true},
	 E_CONFLICT,
	 0,
	 0,
	 false,
	 0,
	 "the drive hides 40 sectors (DCO)"},
	{"DCO that is not told",
	 {.way = ATA_MAX_HPA48,
	  .overlay = true,
	  .visible = 60,
	  .native = 60,
	  .whole = 100,
	  .overlay_silent = true},
	 0,
	 60,
	 0,
	 true,
	 0,
	 NULL},
};

static void unhide_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(hiding_drives); i++) {
		struct ata_hidden hidden = {0};
		struct problem problem = {0};
		struct ata_drive drive;
		int rc;

		fake = hiding_drives[i].drive;
		fake.file = -1;
		assert_int_equal(ata_identify(-1, &drive), 0);
		rc = ata_unhide(-1, &drive, &hidden, &problem);
		if (rc != hiding_drives[i].rc || hidden.sectors != hiding_drives[i].sectors ||
		    hidden.opened != hiding_drives[i].opened ||
		    hidden.unknown != hiding_drives[i].unknown ||
		    fake.sets != hiding_drives[i].sets)
			fail_msg("%s: rc %d, %llu sectors, %llu opened, %u sets",
				 hiding_drives[i].what, rc, (unsigned long long)hidden.sectors,
				 (unsigned long long)hidden.opened, fake.sets);
		if (hiding_drives[i].problem)
			assert_non_null(strstr(problem.message, hiding_drives[i].problem));
	}
}

/* --- the erase of such a drive --- */

#define VISIBLE 4096
#define NATIVE  8192

/* Sectors of the file that hold something. */
static uint64_t left_over(void)
{
	static const uint8_t zeros[SECTOR];
	uint8_t sector[SECTOR];
	uint64_t count = 0;

	for (off_t at = 0; pread(fake.file, sector, SECTOR, at) == SECTOR; at += SECTOR)
		count += memcmp(sector, zeros, SECTOR) != 0;
	return count;
}

static void erase_cases(void **state)
{
	static const struct {
		const char *what;
		bool frozen, blind_kernel;
		enum erase_verdict verdict;
		uint64_t size_sectors, left;
		const char *reason;
	} cases[] = {
		{"opened", false, false, ERASE_VERDICT_ERASED, NATIVE, 0,
		 "4096 hidden sectors were opened"},
		{"refused", true, false, ERASE_VERDICT_FAILED, VISIBLE, VISIBLE,
		 "the drive hides 4096 sectors (HPA)"},
		{"not seen by the kernel", false, true, ERASE_VERDICT_FAILED, VISIBLE, VISIBLE,
		 "the kernel does not see it"},
	};
	char root[] = "/tmp/haas-hidden.XXXXXX";
	char path[64];

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_true(text_format(path, sizeof(path), "%s/dev", root));
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(text_format(path, sizeof(path), "%s/dev/sda", root));
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct agent_env env = {.root = root, .sandbox = true};
		struct erase_job *job = calloc(1, sizeof(*job));

		assert_non_null(job);
		fake = (struct fake_drive){.way = ATA_MAX_HPA48,
					   .native = NATIVE,
					   .visible = VISIBLE,
					   .frozen = cases[i].frozen,
					   .file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600)};
		assert_true(fake.file >= 0);
		(void)answer_refresh((uint8_t[ATA_SENSE_SIZE]){0});
		fake.blind_kernel = cases[i].blind_kernel;
		job->env = &env;
		job->count = 1;
		job->total_bytes = (uint64_t)VISIBLE * SECTOR;
		job->disks[0] = (struct disk){.name = "sda",
					      .kind = DISK_ATA,
					      .sector_bytes = SECTOR,
					      .size_bytes = (uint64_t)VISIBLE * SECTOR};
		erase_job_run(job);
		if (job->results[0].verdict != cases[i].verdict)
			fail_msg("%s: %s: %s", cases[i].what,
				 erase_verdict_text(job->results[0].verdict),
				 job->results[0].reason);
		assert_non_null(strstr(job->results[0].reason, cases[i].reason));
		assert_int_equal(job->results[0].size_bytes, cases[i].size_sectors * SECTOR);
		assert_int_equal(left_over(), cases[i].left);
		assert_true(fake.polls <= 200);
		(void)close(fake.file);
		free(job);
	}
	assert_int_equal(unlink(path), 0);
	path[strlen(path) - strlen("/sda")] = '\0';
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unhide_cases),
		cmocka_unit_test(erase_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
