// links: bampi_bmc common_io common_base
//: timeout 300
/* The IPMI driver and the queue against a real ipmi_sim; every effect is checked by ipmitool or by
 * what the BMC's chassis program logged, never only by asking the code under test. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"

#include "tests/support/bmc_ask.h"
#include "tests/support/bmc_lab.h"

struct lab {
	struct bmc_lab sim;
	struct bmc_queue *queue;
};

static void put(struct lab *lab, const struct bmc_endpoint *endpoint)
{
	struct problem problem = {0};

	assert_int_equal(bmc_queue_put(lab->queue, endpoint, &problem), 0);
}

static int start(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	assert_non_null(lab);
	lab_start(&lab->sim);
	*state = lab;
	return 0;
}

static int stop(void **state)
{
	struct lab *lab = *state;

	lab_stop(&lab->sim);
	free(lab);
	return 0;
}

static int queue_start(void **state)
{
	struct lab *lab = *state;
	struct bmc_queue_options options = {.workers = 4};
	struct bmc_endpoint bmc = lab_endpoint(&lab->sim);

	lab_write(&lab->sim, "power", "0\n");
	lab_write(&lab->sim, "chassis.log", "");
	lab_remove(&lab->sim, "boot");
	lab_remove(&lab->sim, "sleep");
	lab_remove(&lab->sim, "stuck");
	assert_int_equal(bmc_queue_new(lab->sim.loop, &options, &lab->queue), 0);
	put(lab, &bmc);
	return 0;
}

static int queue_stop(void **state)
{
	struct lab *lab = *state;

	bmc_queue_free(lab->queue);
	return 0;
}

static struct answer asked(struct lab *lab, enum bmc_op op)
{
	struct answer answer = ask_op(lab->sim.loop, lab->queue, LAB_BMC, op);

	if (answer.rc)
		print_message("%s: %s (%s; %s)\n", bmc_op_text(op), answer.problem.message,
			      answer.problem.detail, answer.problem.hint);
	return answer;
}

/* --- power --- */

static void power_goes_on_and_off(void **state)
{
	struct lab *lab = *state;
	struct answer answer = asked(lab, BMC_POWER_STATUS);
	struct bmc_observation seen;

	assert_int_equal(answer.rc, 0);
	assert_false(answer.result.power.on);

	answer = asked(lab, BMC_POWER_ON);
	assert_int_equal(answer.rc, 0);
	assert_true(answer.result.power.on && answer.result.power.changed);
	assert_int_equal(answer.result.power.confirm, BMC_CONFIRMED);
	assert_ipmitool(&lab->sim, "chassis power status", "Chassis Power is on");
	assert_int_equal(lab_chassis_count(&lab->sim, "set power 1"), 1);

	assert_true(bmc_observation(lab->queue, LAB_BMC, &seen));
	assert_true(seen.power_known && seen.power_on);
	assert_int_equal(seen.power_by, BMC_POWER_ON);
	assert_true(seen.power_at_us > 0 && !problem_is_set(&seen.problem));

	/* Already on: done without a command. */
	answer = asked(lab, BMC_POWER_ON);
	assert_int_equal(answer.rc, 0);
	assert_false(answer.result.power.changed);
	assert_int_equal(lab_chassis_count(&lab->sim, "set power 1"), 1);

	answer = asked(lab, BMC_POWER_OFF);
	assert_int_equal(answer.rc, 0);
	assert_false(answer.result.power.on);
	assert_ipmitool(&lab->sim, "chassis power status", "Chassis Power is off");
	assert_int_equal(lab_chassis_count(&lab->sim, "set power 0"), 1);
}

static void cycle_is_off_then_on(void **state)
{
	struct lab *lab = *state;
	struct answer answer;
	char first[256];
	char command[256];

	lab_write(&lab->sim, "power", "1\n");
	answer = asked(lab, BMC_POWER_CYCLE);
	assert_int_equal(answer.rc, 0);
	assert_true(answer.result.power.on && answer.result.power.changed);
	assert_int_equal(answer.result.power.confirm, BMC_CONFIRMED);
	assert_int_equal(lab_chassis_count(&lab->sim, "set power 0"), 1);
	assert_int_equal(lab_chassis_count(&lab->sim, "set power 1"), 1);
	assert_true(text_format(command, sizeof(command),
				"grep 'set power' %s/chassis.log | head -1", lab->sim.dir));
	lab_shell(command, first, sizeof(first));
	assert_non_null(strstr(first, "set power 0"));
	assert_ipmitool(&lab->sim, "chassis power status", "Chassis Power is on");
}

static void reset_and_soft(void **state)
{
	struct lab *lab = *state;
	struct answer answer;

	lab_write(&lab->sim, "power", "1\n");
	answer = asked(lab, BMC_POWER_RESET);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.power.confirm, BMC_UNVERIFIED);
	assert_int_equal(lab_chassis_count(&lab->sim, "set reset"), 1);

	answer = asked(lab, BMC_POWER_SOFT);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.power.confirm, BMC_CONFIRMED);
	assert_false(answer.result.power.on);
	assert_int_equal(lab_chassis_count(&lab->sim, "set shutdown"), 1);
}

/* The chassis program sleeps 2 s, longer than FreeIPMI's tools wait before they send a request
 * again: ours is sent, and executed, once. */
static void slow_bmc_ends_right(void **state)
{
	struct lab *lab = *state;
	struct answer answer;

	lab_write(&lab->sim, "sleep", "2\n");
	answer = asked(lab, BMC_POWER_ON);
	assert_int_equal(answer.rc, 0);
	assert_true(answer.result.power.on);
	assert_int_equal(answer.result.power.confirm, BMC_CONFIRMED);
	assert_int_equal(lab_chassis_count(&lab->sim, "set power 1"), 1);
	lab_remove(&lab->sim, "sleep");
	/* Nothing left over that would undo it. */
	assert_ipmitool(&lab->sim, "chassis power status", "Chassis Power is on");
	answer = asked(lab, BMC_POWER_OFF);
	assert_int_equal(answer.rc, 0);
	assert_ipmitool(&lab->sim, "chassis power status", "Chassis Power is off");
}

static void power_that_never_comes_is_said(void **state)
{
	struct lab *lab = *state;
	struct bmc_request request = {.op = BMC_POWER_ON};
	int64_t start_ms = clock_monotonic_ms();
	struct answer answer;

	lab_write(&lab->sim, "stuck", "");
	answer = ask(lab->sim.loop, lab->queue, LAB_BMC, &request, 3000);
	assert_int_equal(answer.rc, E_TIMEOUT);
	assert_in_range(answer.at_ms - start_ms, 2900, 10000);
	assert_non_null(strstr(answer.problem.message, "n1"));
	assert_non_null(strstr(answer.problem.detail, "still says off"));
	assert_int_equal(lab_chassis_count(&lab->sim, "set power 1"), 1);
}

/* --- boot device --- */

static void boot_device_is_read_back(void **state)
{
	struct lab *lab = *state;
	struct bmc_request request = {
		.op = BMC_BOOT_SET,
		.boot = {.device = BMC_BOOT_PXE, .persistent = true, .firmware = BMC_FIRMWARE_UEFI},
	};
	struct bmc_observation seen;
	struct answer answer = ask(lab->sim.loop, lab->queue, LAB_BMC, &request, 0);

	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.boot.device, BMC_CONFIRMED);
	/* ipmi_sim keeps the device only: what it drops must not be called confirmed. */
	assert_int_equal(answer.result.boot.lifetime, BMC_UNVERIFIED);
	assert_int_equal(answer.result.boot.firmware, BMC_UNVERIFIED);
	assert_int_equal(answer.result.boot.valid_bit, BMC_UNVERIFIED);
	assert_ipmitool(&lab->sim, "raw 0 9 5 0 0", "01 05 00 04 00 00 00");
	assert_int_equal(lab_chassis_count(&lab->sim, "set boot pxe"), 1);
	assert_true(bmc_observation(lab->queue, LAB_BMC, &seen));
	assert_true(seen.boot_known);
	assert_int_equal(seen.boot.device, BMC_BOOT_PXE);

	request.boot = (struct bmc_boot){.device = BMC_BOOT_DISK};
	answer = ask(lab->sim.loop, lab->queue, LAB_BMC, &request, 0);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.boot.device, BMC_CONFIRMED);
	assert_int_equal(answer.result.boot.lifetime, BMC_CONFIRMED);
	assert_int_equal(answer.result.boot.firmware, BMC_CONFIRMED);
	assert_ipmitool(&lab->sim, "raw 0 9 5 0 0", "01 05 00 08 00 00 00");

	answer = asked(lab, BMC_BOOT_GET);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.boot.flags.device, BMC_BOOT_DISK);
}

/* --- what a BMC tells --- */

static void look_sensors(const struct bmc_result *result)
{
	assert_int_equal(result->sensors.count, 1);
	assert_string_equal(result->sensors.rows[0].name, "MBTemp");
	assert_string_equal(result->sensors.rows[0].type, "Temperature");
	assert_string_equal(result->sensors.rows[0].unit, "degrees C");
	assert_true(result->sensors.rows[0].has_reading);
	assert_true(result->sensors.rows[0].reading > 29.5 &&
		    result->sensors.rows[0].reading < 30.5);
	assert_string_equal(result->sensors.rows[0].state, "nominal");
}

static void look_sel(const struct bmc_result *result)
{
	assert_int_equal(result->sel.count, 1);
	assert_non_null(strstr(result->sel.rows[0].text, "Temperature"));
	assert_non_null(strstr(result->sel.rows[0].text, "Upper Non-critical"));
}

static void look_empty_sel(const struct bmc_result *result)
{
	assert_int_equal(result->sel.count, 0);
}

static void look_fru(const struct bmc_result *result)
{
	bool serial = false;

	for (size_t i = 0; i < result->fru.count; i++) {
		const struct bmc_fru *row = &result->fru.rows[i];

		if (strcmp(row->area, "product") == 0 && strcmp(row->key, "serial") == 0) {
			assert_string_equal(row->value, "SN-0042");
			serial = true;
		}
	}
	assert_true(serial);
}

static void look_users(const struct bmc_result *result)
{
	bool admin = false;

	for (size_t i = 0; i < result->users.count; i++) {
		if (strcmp(result->users.rows[i].name, "admin") == 0) {
			assert_int_equal(result->users.rows[i].id, 2);
			assert_int_equal(result->users.rows[i].privilege, 4);
			assert_true(result->users.rows[i].enabled);
			admin = true;
		}
	}
	assert_true(admin);
}

static void read_rows(struct lab *lab, enum bmc_op op, void (*look)(const struct bmc_result *))
{
	struct bmc_request request = {.op = op};
	struct bmc_ask wanted = {.bmc_id = LAB_BMC, .request = &request};
	struct answer answer = {.loop = lab->sim.loop, .look = look};

	ask_start(lab->queue, &wanted, &answer);
	ask_wait(&answer);
	if (answer.rc)
		fail_msg("%s: %s (%s)", bmc_op_text(op), answer.problem.message,
			 answer.problem.detail);
}

static void sensors_and_records(void **state)
{
	struct lab *lab = *state;

	struct bmc_queue_stats stats;

	read_rows(lab, BMC_SENSORS, look_sensors);
	read_rows(lab, BMC_SENSORS, look_sensors);
	bmc_queue_stats(lab->queue, &stats);
	assert_int_equal(stats.calls, 2);
	assert_int_equal(stats.thread_calls, 1); /* the records were there */
	read_rows(lab, BMC_FRU, look_fru);
}

static void event_log_is_read_and_cleared(void **state)
{
	struct lab *lab = *state;

	read_rows(lab, BMC_SEL_LIST, look_empty_sel);
	assert_ipmitool(&lab->sim, "raw 0x0a 0x44 0 0 2 0 0 0 0 0x20 0 4 1 1 1 0x57 0x70 0x50",
			" 01 00");
	read_rows(lab, BMC_SEL_LIST, look_sel);
	assert_int_equal(asked(lab, BMC_SEL_CLEAR).rc, 0);
	assert_ipmitool(&lab->sim, "sel list", "SEL has no entries");
	read_rows(lab, BMC_SEL_LIST, look_empty_sel);
}

static struct bmc_sel_mark newest;
static size_t news;
static bool restarted;

static void look_news(const struct bmc_result *result)
{
	newest = result->sel.mark;
	news = result->sel.count;
	restarted = result->sel.restarted;
	for (size_t i = 0; i < news; i++)
		assert_non_null(strstr(result->sel.rows[i].text, "Upper Non-critical"));
}

static void read_news(struct lab *lab)
{
	struct bmc_request request = {.op = BMC_SEL_NEW, .after = newest};
	struct bmc_ask wanted = {.bmc_id = LAB_BMC, .request = &request};
	struct answer answer = {.loop = lab->sim.loop, .look = look_news};

	ask_start(lab->queue, &wanted, &answer);
	ask_wait(&answer);
	assert_int_equal(answer.rc, 0);
}

static void log_event(struct lab *lab)
{
	assert_ipmitool(&lab->sim, "raw 0x0a 0x44 0 0 2 0 0 0 0 0x20 0 4 1 1 1 0x57 0x70 0x50",
			" 00");
}

/* Each entry is told once, also across a clearing of the log that gives the same numbers again. */
static void news_of_the_event_log_come_once(void **state)
{
	struct lab *lab = *state;

	newest = (struct bmc_sel_mark){0};
	assert_int_equal(asked(lab, BMC_SEL_CLEAR).rc, 0);
	read_news(lab);
	assert_true(news == 0 && !newest.known);
	log_event(lab);
	log_event(lab);
	read_news(lab);
	assert_true(news == 2 && newest.known && !restarted);
	read_news(lab);
	assert_true(news == 0 && newest.known && !restarted);
	log_event(lab);
	read_news(lab);
	assert_true(news == 1 && !restarted);
	/* An unknown mark, as after a long absence. */
	newest.stamp ^= 1;
	read_news(lab);
	assert_true(news == 3 && restarted);
	assert_int_equal(asked(lab, BMC_SEL_CLEAR).rc, 0);
	read_news(lab);
	assert_true(news == 0 && restarted && !newest.known);
}

static void users_are_listed_and_set(void **state)
{
	struct lab *lab = *state;
	struct bmc_request request = {
		.op = BMC_USER_SET,
		.user = {.id = 5,
			 .enabled = true,
			 .privilege = 3,
			 .name = "oper",
			 .password = "pass5"},
	};
	struct answer answer;
	char got[256];

	read_rows(lab, BMC_USER_LIST, look_users);
	answer = ask(lab->sim.loop, lab->queue, LAB_BMC, &request, 0);
	assert_int_equal(answer.rc, 0);
	lab_ipmitool(&lab->sim, "user list 1 | grep '^5 '", got);
	assert_non_null(strstr(got, "oper"));
	assert_non_null(strstr(got, "OPERATOR"));
	assert_ipmitool(&lab->sim, "user test 5 20 pass5", "Success");
}

static void lan_parameters_and_info(void **state)
{
	struct lab *lab = *state;
	const uint8_t mac[] = {0x52, 0x54, 0x00, 0xab, 0xcd, 0xef};
	struct answer answer = asked(lab, BMC_LAN_GET);

	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.lan.address, 0xc0000211);
	assert_int_equal(answer.result.lan.netmask, 0xffffff00);
	assert_int_equal(answer.result.lan.gateway, 0xc0000201);
	assert_false(answer.result.lan.dhcp);
	assert_memory_equal(answer.result.lan.mac, mac, sizeof(mac));

	answer = asked(lab, BMC_INFO);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.info.manufacturer, 0x1291);
	assert_int_equal(answer.result.info.product, 0xf02);
	assert_int_equal(answer.result.info.ipmi_major, 2);
	assert_int_equal(answer.result.info.ipmi_minor, 0);
	/* The first three fields little-endian, as SMBIOS and dmidecode have them. */
	assert_string_equal(answer.result.info.guid, "674523a1-ab89-efcd-a123-456789abcde1");
}

static void raw_and_unsupported(void **state)
{
	struct lab *lab = *state;
	struct bmc_request request = {.op = BMC_RAW, .raw = {.netfn = 6, .size = 1, .bytes = {1}}};
	struct answer answer = ask(lab->sim.loop, lab->queue, LAB_BMC, &request, 0);

	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.raw.completion, 0);
	assert_true(answer.result.raw.size >= 11);
	assert_int_equal(answer.result.raw.bytes[4], 2); /* IPMI 2.0 */

	request.raw.bytes[0] = 0x7f; /* no such command */
	answer = ask(lab->sim.loop, lab->queue, LAB_BMC, &request, 0);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.raw.completion, 0xc1);
}

static void identify(void **state)
{
	struct lab *lab = *state;
	struct bmc_request request = {.op = BMC_IDENTIFY, .identify.seconds = 10};

	assert_int_equal(ask(lab->sim.loop, lab->queue, LAB_BMC, &request, 0).rc, 0);
	assert_true(lab_chassis_count(&lab->sim, "set identify") >= 1);
}

/* --- faults --- */

static void wrong_password_is_tried_once(void **state)
{
	struct lab *lab = *state;
	struct bmc_endpoint bmc = lab_endpoint(&lab->sim);
	struct bmc_queue_stats stats;
	struct answer answer;

	(void)text_copy(bmc.password, sizeof(bmc.password), "wrong");
	put(lab, &bmc);
	answer = ask_op(lab->sim.loop, lab->queue, LAB_BMC, BMC_POWER_ON);
	assert_int_equal(answer.rc, E_AUTHENTICATION);
	assert_non_null(strstr(answer.problem.message, "password"));
	assert_null(strstr(answer.problem.detail,
			   "wrong")); /* the password itself is nobody's business */
	bmc_queue_stats(lab->queue, &stats);
	assert_int_equal(stats.calls, 1);

	/* Asked again, the answer comes without the BMC being asked. */
	answer = ask_op(lab->sim.loop, lab->queue, LAB_BMC, BMC_POWER_STATUS);
	assert_int_equal(answer.rc, E_AUTHENTICATION);
	assert_non_null(strstr(answer.problem.message, "no command was sent"));
	bmc_queue_stats(lab->queue, &stats);
	assert_int_equal(stats.calls, 1);
	assert_int_equal(stats.breakers_open, 1);

	/* The right one goes through at once. */
	bmc = lab_endpoint(&lab->sim);
	put(lab, &bmc);
	assert_int_equal(asked(lab, BMC_POWER_STATUS).rc, 0);

	(void)text_copy(bmc.username, sizeof(bmc.username), "nobody");
	put(lab, &bmc);
	answer = ask_op(lab->sim.loop, lab->queue, LAB_BMC, BMC_POWER_STATUS);
	assert_int_equal(answer.rc, E_AUTHENTICATION);
}

static void unsupported_cipher_suite_has_a_hint(void **state)
{
	struct lab *lab = *state;
	struct bmc_endpoint bmc = lab_endpoint(&lab->sim);
	struct answer answer;

	bmc.cipher_suite = 17;
	put(lab, &bmc);
	answer = ask_op(lab->sim.loop, lab->queue, LAB_BMC, BMC_POWER_STATUS);
	print_message("%s (%s; %s)\n", answer.problem.message, answer.problem.detail,
		      answer.problem.hint);
	assert_int_equal(answer.rc, E_UNSUPPORTED);
	assert_non_null(strstr(answer.problem.hint, "cipher suite"));
	assert_non_null(strstr(answer.problem.detail, "17"));
}

/* ipmi_sim wants the privilege in Open Session: ours is there without being told. */
static void privilege_needs_no_workaround(void **state)
{
	struct lab *lab = *state;
	struct bmc_endpoint bmc = lab_endpoint(&lab->sim);

	bmc.workarounds = 0;
	put(lab, &bmc);
	assert_int_equal(asked(lab, BMC_POWER_ON).rc, 0); /* in the loop */
	read_rows(lab, BMC_USER_LIST, look_users);        /* in a thread */
}

/* Nothing listens at the second address: its deadline holds, its breaker opens, and the first BMC
 * does not notice. */
static void dead_bmc_disturbs_nobody(void **state)
{
	struct lab *lab = *state;
	struct bmc_endpoint dead = lab_endpoint(&lab->sim);
	struct bmc_request request = {.op = BMC_POWER_STATUS};
	struct bmc_ask wanted = {.bmc_id = 2, .request = &request, .deadline_ms = 4000};
	struct answer of_dead = {.loop = lab->sim.loop};
	struct bmc_observation seen;
	int64_t start_ms = clock_monotonic_ms();
	struct answer answer;

	dead.id = 2;
	dead.port = 9999;
	dead.timeout_ms = 600;
	dead.retransmit_ms = 200;
	(void)text_copy(dead.node, sizeof(dead.node), "n2");
	put(lab, &dead);
	ask_start(lab->queue, &wanted, &of_dead);
	for (int i = 0; i < 5; i++)
		assert_int_equal(asked(lab, BMC_POWER_STATUS).rc, 0);
	assert_int_equal(of_dead.count, 0); /* all of them before the dead one was given up */
	ask_wait(&of_dead);
	assert_int_equal(of_dead.rc, E_TIMEOUT);
	assert_true(of_dead.at_ms - start_ms < 10000);

	wanted.deadline_ms = 10000;
	answer = ask(lab->sim.loop, lab->queue, 2, &request, 10000);
	assert_true(answer.rc == E_TIMEOUT || answer.rc == E_UNAVAILABLE);
	start_ms = clock_monotonic_ms();
	answer = ask(lab->sim.loop, lab->queue, 2, &request, 10000);
	assert_int_equal(answer.rc, E_UNAVAILABLE);
	assert_true(answer.at_ms - start_ms < 5000);
	assert_non_null(strstr(answer.problem.message, "has not answered for"));
	assert_non_null(strstr(answer.problem.hint, "tried again in"));
	assert_true(bmc_observation(lab->queue, 2, &seen));
	assert_int_equal(seen.breaker, BMC_BREAKER_OPEN);
	assert_true(seen.retry_at_us > seen.problem_at_us && problem_is_set(&seen.problem));
}

/* --- a bad line --- */

/* A relay in its own process between us and the BMC. Each answer within a session comes twice, and
 * the first one before a session does, too (not all of those: FreeIPMI can only give up and try
 * again); with `lossy` every third request is lost. */
enum { SESSION_ID = 6 }; /* its offset behind the RMCP header, IPMI 13.6 */

static void relay_run(const struct lab *lab, uint16_t port, bool lossy)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in there = {.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)lab->sim.port)};
	struct sockaddr_in client = {0};
	struct pollfd polls[2] = {{.events = POLLIN}, {.events = POLLIN}};
	unsigned count = 0;
	bool setup_doubled = false;
	bool in_session;
	bool doubled;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test fails half-way */
	(void)inet_pton(AF_INET, lab->sim.address, &here.sin_addr);
	there.sin_addr = here.sin_addr;
	polls[0].fd = socket(AF_INET, SOCK_DGRAM, 0);
	polls[1].fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (bind(polls[0].fd, (struct sockaddr *)&here, sizeof(here)) < 0 ||
	    connect(polls[1].fd, (struct sockaddr *)&there, sizeof(there)) < 0)
		_exit(1);
	while (poll(polls, 2, -1) >= 0) {
		char bytes[2048];
		socklen_t length = sizeof(client);
		ssize_t size;

		if (polls[0].revents) {
			size = recvfrom(polls[0].fd, bytes, sizeof(bytes), 0,
					(struct sockaddr *)&client, &length);
			if (size > 0 && !(lossy && ++count % 3 == 0))
				(void)!send(polls[1].fd, bytes, (size_t)size, 0);
		}
		if (polls[1].revents) {
			size = recv(polls[1].fd, bytes, sizeof(bytes), 0);
			in_session = size > 10 && memcmp(bytes + SESSION_ID, "\0\0\0", 4) != 0;
			doubled = in_session || !setup_doubled;
			setup_doubled = true;
			for (int copy = 0; size > 0 && copy < (doubled ? 2 : 1); copy++)
				(void)!sendto(polls[0].fd, bytes, (size_t)size, 0,
					      (struct sockaddr *)&client, sizeof(client));
		}
	}
	_exit(0);
}

static void through_relay(struct lab *lab, uint16_t port, bool lossy)
{
	struct bmc_endpoint bmc = lab_endpoint(&lab->sim);
	struct bmc_request boot = {.op = BMC_BOOT_SET, .boot.device = BMC_BOOT_PXE};
	pid_t relay = fork();

	assert_true(relay >= 0);
	if (relay == 0)
		relay_run(lab, port, lossy);
	bmc.port = port;
	bmc.retransmit_ms = 150;
	bmc.timeout_ms = 3000;
	put(lab, &bmc);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(asked(lab, BMC_POWER_ON).rc, 0);
		assert_ipmitool(&lab->sim, "chassis power status", "Chassis Power is on");
		assert_int_equal(ask(lab->sim.loop, lab->queue, LAB_BMC, &boot, 0).rc, 0);
		assert_int_equal(asked(lab, BMC_POWER_OFF).rc, 0);
		assert_ipmitool(&lab->sim, "chassis power status", "Chassis Power is off");
	}
	read_rows(lab, BMC_SENSORS, look_sensors);
	assert_int_equal(kill(relay, SIGKILL), 0);
	assert_int_equal(waitpid(relay, NULL, 0), relay);
}

static void every_answer_comes_twice(void **state)
{
	through_relay(*state, 9701, false);
}

static void every_third_datagram_is_lost(void **state)
{
	through_relay(*state, 9702, true);
}

/* The session is kept, but not past what FreeIPMI would call dead. */
static void session_survives_idling(void **state)
{
	struct lab *lab = *state;
	struct bmc_endpoint bmc = lab_endpoint(&lab->sim);

	bmc.timeout_ms = 2000;
	bmc.retransmit_ms = 700;
	put(lab, &bmc);
	assert_int_equal(asked(lab, BMC_POWER_ON).rc, 0);
	(void)usleep(2300 * 1000);
	assert_int_equal(asked(lab, BMC_POWER_OFF).rc, 0);
	assert_int_equal(lab_chassis_count(&lab->sim, "set power 0"), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, queue_start, queue_stop)
	const struct CMUnitTest tests[] = {
		TEST(power_goes_on_and_off),
		TEST(cycle_is_off_then_on),
		TEST(reset_and_soft),
		TEST(slow_bmc_ends_right),
		TEST(power_that_never_comes_is_said),
		TEST(boot_device_is_read_back),
		TEST(sensors_and_records),
		TEST(event_log_is_read_and_cleared),
		TEST(news_of_the_event_log_come_once),
		TEST(users_are_listed_and_set),
		TEST(lan_parameters_and_info),
		TEST(raw_and_unsupported),
		TEST(identify),
		TEST(wrong_password_is_tried_once),
		TEST(unsupported_cipher_suite_has_a_hint),
		TEST(privilege_needs_no_workaround),
		TEST(dead_bmc_disturbs_nobody),
		TEST(every_answer_comes_twice),
		TEST(every_third_datagram_is_lost),
		TEST(session_survives_idling),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
