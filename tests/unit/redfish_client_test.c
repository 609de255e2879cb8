// links: bampi_bmc sim_redfish common_fetch common_io common_base lib::event_extra
/* The Redfish driver behind the queue, against the model of tests/sim over real HTTP: what works,
 * and each fault ends as a clear problem with no session left at the BMC. */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "tests/sim/redfish/redfish_bmc.h"
#include "tests/support/bmc_ask.h"

enum { BMC = 1 };

struct lab {
	struct loop *loop;
	struct evhttp *http;
	uint16_t port;
	struct redfish_bmc *bmc;
	struct bmc_queue *queue;
	struct bmc_endpoint endpoint;
	unsigned paused;     /* answers that never come */
	struct fence *fence; /* ends when the system was asked for so often */
	unsigned looks;
};

/* --- the BMC --- */

static const char *method_of(const struct evhttp_request *request)
{
	switch ((int)evhttp_request_get_command(request)) {
	case EVHTTP_REQ_POST: return "POST";
	case EVHTTP_REQ_PATCH: return "PATCH";
	case EVHTTP_REQ_DELETE: return "DELETE";
	default: return "GET";
	}
}

static void add(struct evkeyvalq *headers, const char *name, const char *value)
{
	if (value[0])
		(void)evhttp_add_header(headers, name, value);
}

static void on_request(struct evhttp_request *request, void *context)
{
	struct lab *lab = context;
	struct evkeyvalq *in = evhttp_request_get_input_headers(request);
	struct evkeyvalq *out = evhttp_request_get_output_headers(request);
	struct evbuffer *body = evhttp_request_get_input_buffer(request);
	struct evbuffer *answer_body;
	struct redfish_bmc_answer answer;
	struct redfish_bmc_request asked = {
		.method = method_of(request),
		.path = evhttp_request_get_uri(request),
		.token = evhttp_find_header(in, "X-Auth-Token"),
		.authorization = evhttp_find_header(in, "Authorization"),
		.if_match = evhttp_find_header(in, "If-Match"),
		.body = (const char *)evbuffer_pullup(body, -1),
		.size = evbuffer_get_length(body),
		.now_ms = clock_monotonic_ms(),
	};

	if (lab->fence && strcmp(asked.method, "GET") == 0 && strstr(asked.path, "/Systems/") &&
	    lab->looks++ == 1)
		fence_drop(lab->fence);
	redfish_bmc_serve(lab->bmc, &asked, &answer);
	if (answer.delay_ms < 0) {
		lab->paused++;
		redfish_bmc_answer_done(&answer);
		return;
	}
	add(out, "X-Auth-Token", answer.token);
	add(out, "Location", answer.location);
	add(out, "ETag", answer.etag);
	answer_body = evbuffer_new();
	(void)evbuffer_add(answer_body, text_get(&answer.body), answer.body.size);
	evhttp_send_reply(request, answer.status, NULL, answer_body);
	evbuffer_free(answer_body);
	redfish_bmc_answer_done(&answer);
}

static void bmc_is(struct lab *lab, enum redfish_bmc_vendor vendor)
{
	const struct redfish_bmc_options options = {
		.vendor = vendor, .name = "n1", .username = "admin", .password = "secret"};

	redfish_bmc_free(lab->bmc);
	assert_int_equal(redfish_bmc_new(&options, &lab->bmc), 0);
}

static void put(struct lab *lab)
{
	struct problem problem = {0};

	assert_int_equal(bmc_queue_put(lab->queue, &lab->endpoint, &problem), 0);
}

static int start(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));
	const struct bmc_queue_options options = {.workers = 1};
	struct evhttp_bound_socket *bound;
	struct sockaddr_in address = {0};
	socklen_t size = sizeof(address);

	assert_non_null(lab);
	assert_int_equal(loop_new(&lab->loop), 0);
	lab->http = evhttp_new(loop_base(lab->loop));
	evhttp_set_allowed_methods(lab->http, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_PATCH |
						      EVHTTP_REQ_DELETE);
	evhttp_set_gencb(lab->http, on_request, lab);
	bound = evhttp_bind_socket_with_handle(lab->http, "127.0.0.1", 0);
	assert_non_null(bound);
	assert_int_equal(getsockname(evhttp_bound_socket_get_fd(bound),
				     (struct sockaddr *)(void *)&address, &size),
			 0);
	lab->port = ntohs(address.sin_port);
	bmc_is(lab, REDFISH_BMC_GENERIC);
	assert_int_equal(bmc_queue_new(lab->loop, &options, &lab->queue), 0);
	lab->endpoint = (struct bmc_endpoint){
		.id = BMC,
		.node = "n1",
		.driver = "redfish",
		.address = "127.0.0.1",
		.port = lab->port,
		.username = "admin",
		.password = "secret",
		.tls = BMC_TLS_OFF,
		.timeout_ms = 5000,
		.retransmit_ms = 30,
	};
	put(lab);
	*state = lab;
	return 0;
}

static struct redfish_bmc_state seen(struct lab *lab)
{
	struct redfish_bmc_state state;

	redfish_bmc_state(lab->bmc, clock_monotonic_ms(), &state);
	return state;
}

/* Ends the driver's sessions and waits until the BMC has heard so: none may be left, whatever went
 * before. */
static void assert_no_session(struct lab *lab)
{
	int64_t end_ms = clock_monotonic_ms() + 60000;

	redfish_bmc_set_faults(lab->bmc, 0, 0, NULL);
	bmc_queue_remove(lab->queue, BMC);
	while (seen(lab).sessions > 0 && clock_monotonic_ms() < end_ms) {
		loop_run_once(lab->loop);
		(void)usleep(1000);
	}
	assert_int_equal(seen(lab).sessions, 0);
	for (int i = 0; i < 10; i++) { /* the driver hears that it has ended */
		loop_run_once(lab->loop);
		(void)usleep(500);
	}
}

static int stop(void **state)
{
	struct lab *lab = *state;

	assert_no_session(lab);
	bmc_queue_free(lab->queue);
	evhttp_free(lab->http);
	redfish_bmc_free(lab->bmc);
	loop_free(lab->loop);
	free(lab);
	return 0;
}

/* --- what works --- */

/* The claim runs out in the middle of a call: the reset is not sent. */
static void nothing_is_changed_after_the_end_of_its_fence(void **state)
{
	struct bmc_request request = {.op = BMC_POWER_OFF};
	struct lab *lab = *state;
	struct answer answer;

	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_ON).rc, 0);
	assert_int_equal(fence_new(clock_boot_ms() + 60000, &lab->fence), 0);
	request.fence = lab->fence;
	answer = ask(lab->loop, lab->queue, BMC, &request, 0);
	assert_int_equal(answer.rc, E_LAPSED);
	assert_false(fence_holds(lab->fence));
	assert_int_equal(seen(lab).power_offs, 0);
	request.fence = NULL;
	assert_int_equal(ask(lab->loop, lab->queue, BMC, &request, 0).rc, 0);
	assert_int_equal(seen(lab).power_offs, 1);
	fence_unref(TAKE(lab->fence));
}

static void test_power(void **state)
{
	struct lab *lab = *state;
	struct answer answer;

	for (enum redfish_bmc_vendor vendor = 0; vendor < REDFISH_BMC_VENDOR_COUNT; vendor++) {
		assert_no_session(lab);
		bmc_is(lab, vendor);
		put(lab);
		answer = ask_op(lab->loop, lab->queue, BMC, BMC_POWER_STATUS);
		assert_int_equal(answer.rc, 0);
		assert_false(answer.result.power.on);
		answer = ask_op(lab->loop, lab->queue, BMC, BMC_POWER_ON);
		assert_int_equal(answer.rc, 0);
		assert_true(answer.result.power.on);
		assert_int_equal(answer.result.power.confirm, BMC_CONFIRMED);
		assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_RESET).rc, 0);
		assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_CYCLE).rc, 0);
		assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_SOFT).rc, 0);
		assert_int_equal(seen(lab).power_ons, 2);
		assert_int_equal(seen(lab).power_offs, 2);
		assert_int_equal(seen(lab).restarts, 1);
		assert_int_equal(seen(lab).sessions_made, 1); /* one, for all of it */
	}
}

static void test_boot(void **state)
{
	struct lab *lab = *state;
	struct bmc_request request = {
		.op = BMC_BOOT_SET,
		.boot = {.device = BMC_BOOT_PXE, .firmware = BMC_FIRMWARE_UEFI}};
	struct answer answer = ask(lab->loop, lab->queue, BMC, &request, 0);

	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.boot.device, BMC_CONFIRMED);
	assert_int_equal(answer.result.boot.firmware, BMC_CONFIRMED);
	assert_string_equal(seen(lab).boot.target, "Pxe");
	assert_string_equal(seen(lab).boot.enabled, "Once");
	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_ON).rc, 0);
	assert_string_equal(seen(lab).booted.target, "Pxe");
	answer = ask_op(lab->loop, lab->queue, BMC, BMC_BOOT_GET);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.boot.flags.device, BMC_BOOT_NONE); /* once is once */

	request.boot = (struct bmc_boot){
		.device = BMC_BOOT_DISK, .persistent = true, .firmware = BMC_FIRMWARE_BIOS};
	assert_int_equal(ask(lab->loop, lab->queue, BMC, &request, 0).rc, 0);
	assert_string_equal(seen(lab).boot.target, "Hdd");
	assert_string_equal(seen(lab).boot.enabled, "Continuous");
	assert_string_equal(seen(lab).boot.mode, "Legacy");
	request.boot = (struct bmc_boot){.device = BMC_BOOT_NONE};
	assert_int_equal(ask(lab->loop, lab->queue, BMC, &request, 0).rc, 0);
	assert_string_equal(seen(lab).boot.enabled, "Disabled");
}

static void look_sensors(const struct bmc_result *result)
{
	assert_int_equal(result->sensors.count, 5);
	assert_string_equal(result->sensors.rows[0].name, "Inlet Temp");
	assert_true(result->sensors.rows[0].has_reading);
	assert_true(result->sensors.rows[0].reading > 22.4 &&
		    result->sensors.rows[0].reading < 22.6);
	assert_string_equal(result->sensors.rows[0].state, "nominal");
	assert_false(result->sensors.rows[1].has_reading); /* off */
	assert_string_equal(result->sensors.rows[2].unit, "RPM");
}

static void look_log(const struct bmc_result *result)
{
	assert_int_equal(result->sel.count, 2);
	assert_int_equal(result->sel.rows[0].time_s, 1709204400);
	assert_string_equal(result->sel.rows[1].text,
			    "Warning: Fan 1A is below its lower warning threshold.");
}

static void look_fru(const struct bmc_result *result)
{
	const struct bmc_fru *last = &result->fru.rows[result->fru.count - 1];
	bool firmware = false;

	for (const struct bmc_fru *row = result->fru.rows; row <= last; row++)
		firmware = firmware ||
			   (strcmp(row->area, "firmware") == 0 && strcmp(row->value, "1.2.3") == 0);
	assert_true(firmware);
	assert_int_equal(result->fru.count, 10);
}

static struct answer ask_look(struct lab *lab, const struct bmc_request *request,
			      void (*look)(const struct bmc_result *))
{
	struct answer answer = {.loop = lab->loop, .look = look};
	struct bmc_ask wanted = {.bmc_id = BMC, .request = request};

	ask_start(lab->queue, &wanted, &answer);
	ask_wait(&answer);
	assert_int_equal(answer.rc, 0);
	return answer;
}

static void test_reading(void **state)
{
	struct lab *lab = *state;
	struct bmc_request request = {.op = BMC_SENSORS};
	struct answer answer;

	(void)ask_look(lab, &request, look_sensors);
	request.op = BMC_SEL_LIST;
	(void)ask_look(lab, &request, look_log);
	request.op = BMC_FRU;
	(void)ask_look(lab, &request, look_fru);
	answer = ask_op(lab->loop, lab->queue, BMC, BMC_INFO);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.info.firmware_major, 7);
	assert_int_equal(answer.result.info.firmware_minor, 10);
	assert_string_equal(answer.result.info.guid, "68616173-6c61-4000-8000-000000000001");

	request = (struct bmc_request){.op = BMC_SEL_NEW};
	answer = ask_look(lab, &request, look_log);
	assert_true(answer.result.sel.mark.known);
	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_ON).rc, 0);
	request.after = answer.result.sel.mark;
	answer = ask(lab->loop, lab->queue, BMC, &request, 0);
	assert_int_equal(answer.result.sel.count, 1);
	assert_false(answer.result.sel.restarted);
	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_SEL_CLEAR).rc, 0);
	answer = ask(lab->loop, lab->queue, BMC, &request, 0);
	assert_int_equal(answer.result.sel.count, 0);
	assert_true(answer.result.sel.restarted);
	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_IDENTIFY).rc, 0);
	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_RAW).rc, E_UNSUPPORTED);
	assert_int_equal(seen(lab).sessions_made, 1);
}

/* --- what passes by itself --- */

static void test_lazy(void **state)
{
	struct lab *lab = *state;

	redfish_bmc_set_faults(lab->bmc, REDFISH_BMC_LAZY, 0, NULL);
	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_STATUS).rc, 0);
	/* The BMC forgets that its collection was read; we remember the system's path. */
	redfish_bmc_set_faults(lab->bmc, REDFISH_BMC_LAZY, 0, NULL);
	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_STATUS).rc, 0);
}

static void test_refused_for_a_while(void **state)
{
	struct lab *lab = *state;
	struct bmc_request boot = {.op = BMC_BOOT_SET,
				   .boot = {.device = BMC_BOOT_PXE, .firmware = BMC_FIRMWARE_UEFI}};

	assert_no_session(lab);
	bmc_is(lab, REDFISH_BMC_DELL);
	put(lab);
	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_ON).rc, 0);
	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_OFF).rc, 0);
	redfish_bmc_set_faults(lab->bmc, REDFISH_BMC_NOT_YET_ON, 120, NULL);
	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_ON).rc, 0);
	redfish_bmc_set_faults(lab->bmc, REDFISH_BMC_IN_POST, 60, NULL);
	assert_int_equal(ask(lab->loop, lab->queue, BMC, &boot, 0).rc, 0);
	assert_string_equal(seen(lab).boot.target, "Pxe");
}

static void test_etag(void **state)
{
	struct lab *lab = *state;
	struct bmc_request boot = {.op = BMC_BOOT_SET,
				   .boot = {.device = BMC_BOOT_PXE, .firmware = BMC_FIRMWARE_UEFI}};

	redfish_bmc_set_faults(lab->bmc, REDFISH_BMC_NEEDS_ETAG, 0, NULL);
	assert_int_equal(ask(lab->loop, lab->queue, BMC, &boot, 0).rc, 0);
	assert_string_equal(seen(lab).boot.target, "Pxe");
}

static void test_session_forgotten(void **state)
{
	struct lab *lab = *state;

	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_STATUS).rc, 0);
	redfish_bmc_forget_sessions(lab->bmc);
	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_STATUS).rc, 0);
	assert_int_equal(seen(lab).sessions_made, 2);
	assert_int_equal(seen(lab).refused, 1);
}

static void test_session_full(void **state)
{
	struct lab *lab = *state;
	struct bmc_observation observation;

	redfish_bmc_set_faults(lab->bmc, REDFISH_BMC_SESSION_FULL, 0, NULL);
	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_ON).rc, 0);
	assert_true(seen(lab).on);
	assert_int_equal(seen(lab).sessions_made, 0);
	assert_true(bmc_observation(lab->queue, BMC, &observation));
	assert_non_null(strstr(observation.problem.message, "no session free"));
}

/* --- what ends as a problem --- */

static const struct {
	uint32_t fault;
	int rc;
	const char *message;
} fault_rows[] = {
	{REDFISH_BMC_UNAUTHORIZED, E_AUTHENTICATION, "refused the password"},
	{REDFISH_BMC_UNAVAILABLE, -EBUSY, "busy"},
	{REDFISH_BMC_TRUNCATED, E_PROTOCOL, "malformed JSON"},
	{REDFISH_BMC_DUPLICATES, E_PROTOCOL, "malformed JSON"},
	{REDFISH_BMC_BOMB_DEEP, E_LIMIT, NULL},
	{REDFISH_BMC_BOMB_WIDE, E_LIMIT, NULL},
	{REDFISH_BMC_BOMB_LONG, E_LIMIT, "too large an answer"},
	{REDFISH_BMC_HANG, E_TIMEOUT, "did not"},
};

/* Both with a session open and without one. */
static void test_faults(void **state)
{
	struct lab *lab = *state;

	for (size_t i = 0; i < 2 * COUNT_OF(fault_rows); i++) {
		size_t row = i / 2;
		struct answer answer;

		assert_no_session(lab);
		lab->endpoint.timeout_ms = fault_rows[row].fault == REDFISH_BMC_HANG ? 250 : 5000;
		put(lab);
		if (i % 2)
			assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_STATUS).rc,
					 0);
		redfish_bmc_set_faults(lab->bmc, fault_rows[row].fault, 0, NULL);
		answer = ask_op(lab->loop, lab->queue, BMC, BMC_POWER_STATUS);
		if (answer.rc != fault_rows[row].rc)
			fail_msg("fault %zu: %d, %s (%s)", i, answer.rc, answer.problem.message,
				 answer.problem.detail);
		if (fault_rows[row].message &&
		    !strstr(answer.problem.message, fault_rows[row].message))
			fail_msg("fault %zu: %s", i, answer.problem.message);
		assert_non_null(strstr(answer.problem.message, "node n1"));
		assert_null(strstr(answer.problem.detail, "secret"));
	}
}

/* BMCs lock accounts: a refused password is tried once, then not before long. */
static void test_password_is_tried_once(void **state)
{
	struct lab *lab = *state;

	(void)text_copy(lab->endpoint.password, sizeof(lab->endpoint.password), "wrong");
	put(lab);
	for (int i = 0; i < 5; i++)
		assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_STATUS).rc,
				 E_AUTHENTICATION);
	assert_int_equal(seen(lab).refused, 1);
	/* Changed at the BMC while our session is open: the session dies, one try, then silence. */
	(void)text_copy(lab->endpoint.password, sizeof(lab->endpoint.password), "secret");
	put(lab);
	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_STATUS).rc, 0);
	redfish_bmc_set_password(lab->bmc, "other");
	redfish_bmc_forget_sessions(lab->bmc);
	for (int i = 0; i < 5; i++)
		assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_STATUS).rc,
				 E_AUTHENTICATION);
	assert_int_equal(seen(lab).refused, 3); /* the dead token, and the one try */
}

static void test_boot_not_kept(void **state)
{
	struct lab *lab = *state;
	struct bmc_request boot = {.op = BMC_BOOT_SET,
				   .boot = {.device = BMC_BOOT_PXE, .firmware = BMC_FIRMWARE_UEFI}};
	struct answer answer;

	redfish_bmc_set_faults(lab->bmc, REDFISH_BMC_DROPS_BOOT, 0, NULL);
	answer = ask(lab->loop, lab->queue, BMC, &boot, 0);
	assert_int_equal(answer.rc, E_PROTOCOL);
	assert_non_null(strstr(answer.problem.message, "does not keep the boot device"));

	/* Supermicro may show what was before: it is set, and not verified. */
	assert_no_session(lab);
	bmc_is(lab, REDFISH_BMC_SUPERMICRO);
	put(lab);
	redfish_bmc_set_faults(lab->bmc, REDFISH_BMC_STALE_BOOT, 0, NULL);
	answer = ask(lab->loop, lab->queue, BMC, &boot, 0);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.boot.device, BMC_UNVERIFIED);
	assert_string_equal(seen(lab).boot.target, "Pxe");
}

/* A caller that gives up while we log in must not leave a session behind. */
static void test_cancelled_login(void **state)
{
	struct lab *lab = *state;

	for (int turns = 0; turns < 60; turns++) {
		struct bmc_request request = {.op = BMC_POWER_STATUS};
		struct bmc_ask wanted = {.bmc_id = BMC, .request = &request};
		struct answer answer = {.loop = lab->loop};
		uint64_t ticket;

		put(lab);
		assert_int_equal(
			bmc_queue_submit(lab->queue, &wanted, answer_take, &answer, &ticket), 0);
		for (int i = 0; i < turns && answer.count == 0; i++)
			loop_run_once(lab->loop);
		bmc_queue_cancel(lab->queue, ticket);
		assert_no_session(lab);
	}
	put(lab);
}

/* The program ends in the middle: the session is ended before it goes. */
static void test_end_of_program(void **state)
{
	struct lab *lab = *state;
	const struct bmc_queue_options options = {.workers = 1};

	assert_int_equal(ask_op(lab->loop, lab->queue, BMC, BMC_POWER_STATUS).rc, 0);
	assert_int_equal(seen(lab).sessions, 1);
	/* The server is on our own loop here, which stands still in bmc_queue_free: it is enough
	 * that the request has left by then. */
	bmc_queue_free(lab->queue);
	assert_int_equal(bmc_queue_new(lab->loop, &options, &lab->queue), 0);
	put(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_power, start, stop),
		cmocka_unit_test_setup_teardown(nothing_is_changed_after_the_end_of_its_fence,
						start, stop),
		cmocka_unit_test_setup_teardown(test_boot, start, stop),
		cmocka_unit_test_setup_teardown(test_reading, start, stop),
		cmocka_unit_test_setup_teardown(test_lazy, start, stop),
		cmocka_unit_test_setup_teardown(test_refused_for_a_while, start, stop),
		cmocka_unit_test_setup_teardown(test_etag, start, stop),
		cmocka_unit_test_setup_teardown(test_session_forgotten, start, stop),
		cmocka_unit_test_setup_teardown(test_session_full, start, stop),
		cmocka_unit_test_setup_teardown(test_faults, start, stop),
		cmocka_unit_test_setup_teardown(test_password_is_tried_once, start, stop),
		cmocka_unit_test_setup_teardown(test_boot_not_kept, start, stop),
		cmocka_unit_test_setup_teardown(test_cancelled_login, start, stop),
		cmocka_unit_test_setup_teardown(test_end_of_program, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
