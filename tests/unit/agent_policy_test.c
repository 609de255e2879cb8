// links: bampi_agent
/* The agent's decisions as tables: disk choice, retries, downloads, erase methods, verdicts. */
#include <string.h>

#include "common/base/error.h"

#include "bampi/agent/disk_policy.h"
#include "bampi/agent/download_policy.h"
#include "bampi/agent/erase_drive.h"
#include "bampi/agent/erase_policy.h"
#include "bampi/agent/retry_policy.h"
#include "bampi/agent/sysfs.h"
#include "bampi/agent/verify_policy.h"
#include "tests/support/cmocka.h"

#define GIB ((uint64_t)1 << 30)

static const struct disk rack[] = {
	{.name = "nvme0n1", .serial = "N0", .size_bytes = 960 * GIB, .kind = DISK_NVME},
	{.name = "nvme1n1", .serial = "N1", .size_bytes = 480 * GIB, .kind = DISK_NVME},
	{.name = "sda", .serial = "S0", .size_bytes = 16 * GIB, .kind = DISK_SCSI, .usb = true},
	{.name = "sdb",
	 .serial = "S1",
	 .size_bytes = 16 * GIB,
	 .kind = DISK_ATA,
	 .removable = true},
	{.name = "sdc",
	 .serial = "S2",
	 .size_bytes = 64 * GIB,
	 .kind = DISK_ATA,
	 .read_only = true},
	{.name = "sdz", .serial = "S3", .size_bytes = 480 * GIB, .kind = DISK_ATA},
	{.name = "sdaa", .serial = "S4", .size_bytes = 480 * GIB, .kind = DISK_ATA},
	{.name = "vda", .serial = "", .size_bytes = 2 * GIB, .kind = DISK_VIRTIO},
	{.name = "sdab", .serial = "TWIN", .size_bytes = 500 * GIB, .kind = DISK_SCSI},
	{.name = "sdac", .serial = "TWIN", .size_bytes = 500 * GIB, .kind = DISK_SCSI},
};

static void test_disk_choice(void **state)
{
	static const struct {
		const char *wanted;
		uint64_t size_bytes;
		int rc;
		const char *chosen;
	} cases[] = {
		{"auto", 1 * GIB, 0, "vda"},
		{"", 1 * GIB, 0, "vda"},
		/* equal sizes: the first by name, whatever the order of the list */
		{"auto", 3 * GIB, 0, "nvme1n1"},
		{"auto", 490 * GIB, 0, "sdab"},
		{"auto", 700 * GIB, 0, "nvme0n1"},
		{"auto", 961 * GIB, E_NOT_FOUND, NULL},
		{"sdz", 3 * GIB, 0, "sdz"},
		{"S4", 3 * GIB, 0, "sdaa"},
		/* a person may choose what auto would not */
		{"sdb", 3 * GIB, 0, "sdb"},
		{"sdc", 3 * GIB, E_CONFLICT, NULL},
		{"vda", 3 * GIB, E_LIMIT, NULL},
		{"sdq", 3 * GIB, E_NOT_FOUND, NULL},
		{"TWIN", 3 * GIB, E_CONFLICT, NULL},
		{"sdac", 3 * GIB, 0, "sdac"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct problem problem = {0};
		struct disk_choice choice = {0};
		int rc = disk_choose(rack, COUNT_OF(rack), cases[i].wanted, cases[i].size_bytes,
				     &choice, &problem);

		assert_int_equal(rc, cases[i].rc);
		assert_int_equal(problem.code, rc);
		if (rc == 0) {
			assert_string_equal(rack[choice.index].name, cases[i].chosen);
			assert_true(choice.reason[0] != '\0');
		} else {
			assert_true(problem.message[0] != '\0');
		}
	}
}

static void test_disk_choice_of_none(void **state)
{
	struct problem problem = {0};
	struct disk_choice choice;

	(void)state;
	assert_int_equal(disk_choose(NULL, 0, "auto", GIB, &choice, &problem), E_NOT_FOUND);
	/* an empty serial is no serial */
	assert_int_equal(disk_choose(rack, COUNT_OF(rack), "", 0, &choice, &problem), 0);
	assert_string_equal(rack[choice.index].name, "vda");
}

static void test_name_order(void **state)
{
	static const char *const sorted[] = {"nvme0n1", "nvme2n1", "nvme10n1", "sda",
					     "sdb",     "sdz",     "sdaa",     "vda"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sorted); i++)
		for (size_t k = 0; k < COUNT_OF(sorted); k++) {
			int order = sysfs_name_compare(sorted[i], sorted[k]);

			assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
		}
}

static void test_download(void **state)
{
	static const struct {
		const char *what;
		struct download_facts facts;
		int64_t now_ms;
		enum download_action action;
		int64_t delay_ms;
		int code;
	} cases[] = {
		{"all came", {.status = 200, .offset = 9, .size = 9}, 5, DOWNLOAD_DONE, 0, 0},
		{"all came by range",
		 {.status = 206, .offset = 9, .size = 9, .asked_range = true},
		 5,
		 DOWNLOAD_DONE,
		 0,
		 0},
		{"broken in the middle",
		 {.rc = -104, .offset = 4, .size = 9},
		 5,
		 DOWNLOAD_AGAIN,
		 0,
		 0},
		{"short answer", {.status = 200, .offset = 4, .size = 9}, 5, DOWNLOAD_AGAIN, 0, 0},
		{"server away", {.rc = -111, .size = 9, .attempts = 1}, 5, DOWNLOAD_AGAIN, 250, 0},
		{"server away", {.rc = -111, .size = 9, .attempts = 4}, 5, DOWNLOAD_AGAIN, 2000, 0},
		{"server away long",
		 {.rc = -111, .size = 9, .attempts = 99},
		 5,
		 DOWNLOAD_AGAIN,
		 8000,
		 0},
		{"overloaded",
		 {.status = 503, .size = 9, .attempts = 1},
		 5,
		 DOWNLOAD_AGAIN,
		 250,
		 0},
		{"silent for 30 s",
		 {.rc = E_TIMEOUT, .offset = 4, .size = 9},
		 30000,
		 DOWNLOAD_AGAIN,
		 0,
		 0},
		{"silent for 5 min",
		 {.rc = E_TIMEOUT, .offset = 4, .size = 9},
		 300000,
		 DOWNLOAD_FAIL,
		 0,
		 E_TIMEOUT},
		{"range ignored",
		 {.status = 200, .offset = 9, .size = 9, .asked_range = true},
		 5,
		 DOWNLOAD_FAIL,
		 0,
		 E_PROTOCOL},
		{"no token", {.status = 401, .size = 9}, 5, DOWNLOAD_FAIL, 0, E_AUTHENTICATION},
		{"not his", {.status = 403, .size = 9}, 5, DOWNLOAD_FAIL, 0, E_DENIED},
		{"gone", {.status = 404, .size = 9}, 5, DOWNLOAD_FAIL, 0, E_NOT_FOUND},
		{"shorter", {.status = 416, .offset = 4, .size = 9}, 5, DOWNLOAD_FAIL, 0, E_DIGEST},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct download_facts facts = cases[i].facts;
		struct download_verdict verdict;

		facts.silence_ms = DOWNLOAD_SILENCE_MS;
		verdict = download_next(&facts, cases[i].now_ms);

		if (verdict.action != cases[i].action)
			print_error("%s\n", cases[i].what);
		assert_int_equal(verdict.action, cases[i].action);
		assert_int_equal(verdict.delay_ms, cases[i].delay_ms);
		assert_int_equal(verdict.problem.code, cases[i].code);
	}
}

static void test_retry(void **state)
{
	(void)state;
	assert_int_equal(retry_delay_ms(RETRY_AWAY, 0, 0), 500);
	assert_int_equal(retry_delay_ms(RETRY_AWAY, 3, 0), 4000);
	assert_int_equal(retry_delay_ms(RETRY_AWAY, 1000000, 0), 15000);
	assert_int_equal(retry_delay_ms(RETRY_REFUSED, 0, 0), 60000);
	for (uint32_t random = 0; random < 1000; random += 7) {
		int64_t delay_ms = retry_delay_ms(RETRY_AWAY, 5, random);

		assert_in_range(delay_ms, 15000 * 3 / 4, 15000);
	}
}

static void test_erase_plan(void **state)
{
	static const struct nvme_controller all = {true, true, true, true, false, 1};
	static const struct nvme_controller format_only = {false, false, true, false, false, 1};
	static const struct nvme_controller nothing = {.namespaces = 1};
	static const struct nvme_controller shared = {false, false, true, true, true, 2};
	const struct {
		struct erase_facts facts;
		size_t count;
		enum erase_method methods[ERASE_METHOD_COUNT];
	} cases[] = {
		{{.kind = DISK_NVME, .identified = true, .controller = all, .siblings = 1},
		 5,
		 {ERASE_SANITIZE_CRYPTO, ERASE_SANITIZE_BLOCK, ERASE_FORMAT_CRYPTO,
		  ERASE_FORMAT_USER_DATA, ERASE_OVERWRITE}},
		{{.kind = DISK_NVME, .identified = true, .controller = format_only, .siblings = 1},
		 2,
		 {ERASE_FORMAT_USER_DATA, ERASE_OVERWRITE}},
		{{.kind = DISK_NVME, .identified = true, .controller = nothing, .siblings = 1},
		 1,
		 {ERASE_OVERWRITE}},
		/* a format would take the sibling's namespace away under its feet */
		{{.kind = DISK_NVME, .identified = true, .controller = shared, .siblings = 2},
		 1,
		 {ERASE_OVERWRITE}},
		{{.kind = DISK_NVME, .identified = true, .controller = shared, .siblings = 1},
		 3,
		 {ERASE_FORMAT_CRYPTO, ERASE_FORMAT_USER_DATA, ERASE_OVERWRITE}},
		{{.kind = DISK_NVME, .siblings = 1}, 1, {ERASE_OVERWRITE}},
		{{.kind = DISK_ATA, .siblings = 1}, 1, {ERASE_OVERWRITE}},
		{{.kind = DISK_ATA, .ata_identified = true, .siblings = 1}, 1, {ERASE_OVERWRITE}},
		{{.kind = DISK_ATA,
		  .ata_identified = true,
		  .ata = {.sanitize_crypto = true, .sanitize_block = true},
		  .siblings = 1},
		 3,
		 {ERASE_ATA_CRYPTO, ERASE_ATA_BLOCK, ERASE_OVERWRITE}},
		{{.kind = DISK_ATA,
		  .ata_identified = true,
		  .ata = {.sanitize_block = true},
		  .siblings = 1},
		 2,
		 {ERASE_ATA_BLOCK, ERASE_OVERWRITE}},
		{{.kind = DISK_SCSI, .siblings = 1}, 1, {ERASE_OVERWRITE}},
		{{.kind = DISK_VIRTIO, .siblings = 1}, 1, {ERASE_OVERWRITE}},
		{{.kind = DISK_SCSI, .read_only = true}, 0, {ERASE_OVERWRITE}},
		{{.kind = DISK_SCSI, .removable = true}, 0, {ERASE_OVERWRITE}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct erase_plan plan = erase_plan(&cases[i].facts);

		assert_int_equal(plan.count, cases[i].count);
		assert_true(plan.reason[0] != '\0');
		for (size_t k = 0; k < plan.count; k++)
			assert_int_equal(plan.methods[k], cases[i].methods[k]);
	}
}

static void test_erase_stuck(void **state)
{
	(void)state;
	assert_false(erase_is_stuck(ERASE_OVERWRITE, 0, 1000000, 1119999));
	assert_true(erase_is_stuck(ERASE_OVERWRITE, 0, 1000000, 1120000));
	/* tells no progress: the deadline alone counts */
	assert_false(erase_is_stuck(ERASE_FORMAT_USER_DATA, 0, 0, 7199999));
	assert_true(erase_is_stuck(ERASE_FORMAT_USER_DATA, 0, 0, 7200000));
	/* progress does not make a crypto erase of ten minutes sane */
	assert_true(erase_is_stuck(ERASE_SANITIZE_CRYPTO, 0, 599999, 600000));
	assert_false(erase_is_stuck(ERASE_SANITIZE_BLOCK, 0, 7100000, 7200000));
	for (int method = 0; method < ERASE_METHOD_COUNT; method++)
		assert_int_equal(erase_method_value(erase_method_text((enum erase_method)method)),
				 method);
	assert_int_equal(erase_method_value("discard"), -1);
}

static void test_controller_name(void **state)
{
	char name[64];

	(void)state;
	assert_string_equal(erase_controller_name("nvme0n1", name), "nvme0");
	assert_string_equal(erase_controller_name("nvme12n34", name), "nvme12");
	assert_string_equal(erase_controller_name("sda", name), "");
	assert_string_equal(erase_controller_name("nvmen1", name), "");
}

static void test_verify(void **state)
{
	static const struct {
		struct verify_facts facts;
		const char *verdict;
	} cases[] = {
		{{.samples = 1026, .ends_zero = true}, "verified"},
		{{.samples = 1026, .ends_zero = true, .nonzero = 1}, "failed"},
		{{.samples = 1026, .ends_zero = true, .nonzero = 1024, .crypto = true}, "verified"},
		{{.samples = 1026,
		  .ends_zero = true,
		  .nonzero = 9,
		  .structured = 1,
		  .crypto = true},
		 "failed"},
		{{.samples = 1026, .ends_zero = false, .nonzero = 1026, .crypto = true}, "failed"},
		{{.samples = 3, .ends_zero = true, .unreadable = true}, "failed"},
		{{.samples = 0, .ends_zero = true}, "failed"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(verify_verdict(&cases[i].facts), cases[i].verdict);
}

static void test_noise(void **state)
{
	uint8_t bytes[4096];
	uint64_t x = 88172645463325252ULL;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) { /* xorshift64 */
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		bytes[i] = (uint8_t)(x >> 32);
	}
	assert_true(verify_is_noise(bytes, sizeof(bytes)));
	memset(bytes, 'a', 400);
	assert_false(verify_is_noise(bytes, sizeof(bytes)));
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)("a former tenant's text, again and again. "[i % 41]);
	assert_false(verify_is_noise(bytes, sizeof(bytes)));
	assert_false(verify_is_noise(bytes, 512));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_disk_choice), cmocka_unit_test(test_disk_choice_of_none),
		cmocka_unit_test(test_name_order),  cmocka_unit_test(test_download),
		cmocka_unit_test(test_retry),       cmocka_unit_test(test_erase_plan),
		cmocka_unit_test(test_erase_stuck), cmocka_unit_test(test_controller_name),
		cmocka_unit_test(test_verify),      cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
