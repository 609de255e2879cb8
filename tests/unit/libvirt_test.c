// links: bampi_bmc common_io common_base
/* The libvirt driver behind the queue against libvirt's own test driver (test:///, one domain
 * called "test" in memory, no hypervisor), and its change of a domain's XML as a table. */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/bmc/libvirt_library.h"
#include "bampi/bmc/libvirt_xml.h"
#include "tests/support/bmc_ask.h"
#include "tests/support/bmc_call.h"

static const struct {
	const char *before;
	enum bmc_boot_device device;
	const char *after; /* NULL: refused */
} rows[] = {
	{"<d><os><type>hvm</type></os></d>", BMC_BOOT_PXE,
	 "<d><os><type>hvm</type><boot dev='network'/><boot dev='hd'/></os></d>"},
	{"<d><os firmware='efi'><boot dev='hd'/><boot dev='cdrom'/></os></d>", BMC_BOOT_PXE,
	 "<d><os firmware='efi'><boot dev='network'/><boot dev='hd'/></os></d>"},
	{"<d><os><boot dev='network'/></os><disk><boot order='1'/></disk></d>", BMC_BOOT_DISK,
	 "<d><os><boot dev='hd'/><boot dev='network'/></os><disk></disk></d>"},
	{"<d></d>", BMC_BOOT_PXE, NULL},
	{"<d><os><boot dev='hd'", BMC_BOOT_PXE, NULL},
	{"", BMC_BOOT_PXE, NULL},
};

static void test_xml(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct text text = {0};
		enum bmc_boot_device device;
		int rc = libvirt_boot_write(rows[i].before, rows[i].device, &text);

		assert_int_equal(rc, rows[i].after ? 0 : E_MALFORMED);
		if (rows[i].after) {
			assert_string_equal(text_get(&text), rows[i].after);
			assert_int_equal(libvirt_boot_read(text.data, &device), 0);
			assert_int_equal(device, rows[i].device);
		}
		text_done(&text);
	}
}

static struct answer boot_to(struct loop *loop, struct bmc_queue *queue,
			     enum bmc_boot_device device, bool persistent)
{
	struct bmc_request request = {.op = BMC_BOOT_SET,
				      .boot = {.device = device, .persistent = persistent}};

	return ask(loop, queue, 1, &request, 0);
}

static void test_domain(void **state)
{
	const struct bmc_queue_options options = {.workers = 2};
	struct bmc_endpoint endpoint = {
		.id = 1, .node = "n1", .driver = "libvirt", .address = "test:///default#test"};
	struct libvirt_library library;
	struct bmc_queue *queue = NULL;
	struct problem problem = {0};
	struct loop *loop = NULL;
	struct answer answer;

	(void)state;
	assert_int_equal(libvirt_library_load(&library, &problem), 0); /* packages.txt has it */
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(bmc_queue_new(loop, &options, &queue), 0);
	assert_int_equal(bmc_queue_put(queue, &endpoint, &problem), 0);

	answer = ask_op(loop, queue, 1, BMC_POWER_STATUS);
	assert_int_equal(answer.rc, 0);
	assert_true(answer.result.power.on); /* so it comes */
	assert_int_equal(ask_op(loop, queue, 1, BMC_POWER_OFF).rc, 0);
	answer = boot_to(loop, queue, BMC_BOOT_PXE, false);
	if (answer.rc)
		fail_msg("%s (%s)", answer.problem.message, answer.problem.detail);
	assert_int_equal(answer.result.boot.device, BMC_CONFIRMED);
	assert_int_equal(answer.result.boot.lifetime, BMC_CONFIRMED);
	assert_int_equal(ask_op(loop, queue, 1, BMC_POWER_ON).rc, 0);
	answer = ask_op(loop, queue, 1, BMC_BOOT_GET);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.boot.flags.device, BMC_BOOT_DISK); /* once is once */
	assert_int_equal(boot_to(loop, queue, BMC_BOOT_PXE, true).rc, 0);
	assert_int_equal(ask_op(loop, queue, 1, BMC_POWER_CYCLE).rc, 0);
	answer = ask_op(loop, queue, 1, BMC_BOOT_GET);
	assert_int_equal(answer.result.boot.flags.device, BMC_BOOT_PXE);
	answer = ask_op(loop, queue, 1, BMC_INFO);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(strlen(answer.result.info.guid), 36);
	assert_int_equal(ask_op(loop, queue, 1, BMC_SENSORS).rc, E_UNSUPPORTED);

	(void)text_copy(endpoint.address, sizeof(endpoint.address), "test:///default");
	assert_int_equal(bmc_queue_put(queue, &endpoint, &problem), 0);
	answer = ask_op(loop, queue, 1, BMC_POWER_STATUS); /* no domain n1 */
	assert_int_equal(answer.rc, E_NOT_FOUND);
	(void)text_copy(endpoint.address, sizeof(endpoint.address), "qemu:///nonsense");
	assert_int_equal(bmc_queue_put(queue, &endpoint, &problem), 0);
	answer = ask_op(loop, queue, 1, BMC_POWER_STATUS);
	assert_int_equal(answer.rc, E_TIMEOUT);
	bmc_queue_free(queue);
	loop_free(loop);
}

/* What changes the domain is done within its claim only. */
static void test_fence(void **state)
{
	const struct bmc_endpoint endpoint = {
		.id = 1, .node = "n1", .driver = "libvirt", .address = "test:///default#test"};
	static const enum bmc_op changes[] = {BMC_POWER_OFF, BMC_POWER_SOFT, BMC_POWER_RESET};
	struct bmc_request boot = {.op = BMC_BOOT_SET, .boot.device = BMC_BOOT_PXE};
	struct loop *loop = NULL;
	struct bmc_caller caller;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	bmc_caller_open(&caller, loop, &endpoint);
	for (size_t i = 0; i < COUNT_OF(changes); i++) {
		assert_int_equal(bmc_caller_ask(&caller, changes[i], 0), E_LAPSED);
		assert_non_null(strstr(caller.problem.detail, "not sent"));
	}
	assert_int_equal(fence_new(clock_boot_ms(), &boot.fence), 0);
	bmc_caller_start(&caller, &boot);
	bmc_caller_wait(&caller);
	assert_int_equal(caller.rc, E_LAPSED);
	fence_unref(boot.fence);
	assert_int_equal(bmc_caller_ask(&caller, BMC_BOOT_GET, 0), 0);
	assert_int_not_equal(caller.result.boot.flags.device, BMC_BOOT_PXE);
	assert_int_equal(bmc_caller_ask(&caller, BMC_POWER_STATUS, 0), 0);
	assert_true(caller.result.power.on);
	/* What is as it should be is no change. */
	assert_int_equal(bmc_caller_ask(&caller, BMC_POWER_ON, 0), 0);
	assert_int_equal(bmc_caller_ask(&caller, BMC_POWER_OFF, 60000), 0);
	assert_int_equal(bmc_caller_ask(&caller, BMC_POWER_ON, 0), E_LAPSED);
	assert_int_equal(bmc_caller_ask(&caller, BMC_POWER_STATUS, 0), 0);
	assert_false(caller.result.power.on);
	bmc_caller_close(&caller);
	loop_free(loop);
}

/* S7: a URI is data of the database, and may not name a program to run. */
static void test_no_program(void **state)
{
	static const char *const uris[] = {
		"qemu+ext:///system?command=/tmp/haas-s7",
		"qemu+ssh://127.0.0.1/system?command=/tmp/haas-s7",
		"qemu+ssh://127.0.0.1/system",
		"qemu+libssh2://127.0.0.1/system",
		"qemu:///system?socket=/tmp/x",
		"test:///default?command=x",
		"xen+ext:///?command=x",
		"nonsense:///x",
		"QEMU+EXT:///system?command=x",
		" qemu:///system",
	};
	const struct bmc_queue_options options = {.workers = 1};
	struct bmc_endpoint endpoint = {.id = 1, .node = "n1", .driver = "libvirt"};
	struct bmc_queue *queue = NULL;
	struct problem problem = {0};
	struct loop *loop = NULL;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(bmc_queue_new(loop, &options, &queue), 0);
	for (size_t i = 0; i < COUNT_OF(uris); i++) {
		(void)text_copy(endpoint.address, sizeof(endpoint.address), uris[i]);
		assert_int_equal(bmc_queue_put(queue, &endpoint, &problem), 0);
		assert_int_equal(ask_op(loop, queue, 1, BMC_POWER_STATUS).rc, E_DENIED);
	}
	bmc_queue_free(queue);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_xml), cmocka_unit_test(test_domain),
		cmocka_unit_test(test_fence), cmocka_unit_test(test_no_program)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
