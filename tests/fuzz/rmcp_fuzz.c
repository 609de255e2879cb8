// links: bampi_bmc common_base lib::freeipmi lib::openssl
/* RMCP+ packets from a hostile BMC or from anybody who can write its address. Invariants: nothing
 * is published on an error; what needs a key is never believed without it; a session in any state
 * takes any packets and ends in time; sizes stay within bounds. The first byte chooses the state.
 */
#include <freeipmi/freeipmi.h>
#include <stdlib.h>
#include <string.h>

#include "bampi/bmc/rmcp_session.h"
#include "tests/support/rmcp_bmc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool held)
{
	if (!held)
		abort();
}

struct line {
	struct rmcp_bmc bmc;
	uint8_t request[RMCP_PACKET_MAX];
	size_t size;
	unsigned sent;
};

static void line_send(void *context, const void *data, size_t size)
{
	struct line *line = context;

	check(size <= RMCP_PACKET_MAX);
	memcpy(line->request, data, size);
	line->size = size;
	line->sent++;
}

static void count_up(void *ret, size_t size)
{
	memset(ret, 0x5a, size);
}

static void try_decoders(struct rmcp_wire *wire, const uint8_t *data, size_t size)
{
	static const unsigned suites[] = {0, 3, 8, 12, 17};
	struct rmcp_exchange exchange = {.console_id = 0x5a5a5a5a, .bmc_id = 1};

	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
		struct rmcp_login login = {.username = "admin",
					   .password = "secret",
					   .suite_id = suites[i],
					   .privilege = 3,
					   .workarounds = size ? data[size - 1] : 0};
		struct rmcp_open_answer open = {.bmc_id = 7};
		struct rmcp_rakp_answer rakp = {.tag = 7};
		struct rmcp_message message = {.size = 7};
		enum rmcp_kind kind;
		uint32_t console_id;

		check(rmcp_suite_find(suites[i], &login.suite) == 0);
		check(rmcp_keys_make(&login, &exchange) == 0);
		check(rmcp_peek(data, size, &kind, &console_id) != 0 || size >= 16);
		if (rmcp_open_decode(wire, data, size, &open))
			check(open.bmc_id == 7);
		else
			check(open.status != 0 || open.bmc_id != 0);
		if (rmcp_rakp2_decode(wire, &login, &exchange, data, size, &rakp))
			check(rakp.tag == 7 && rakp.status == 0);
		else
			check(!rakp.genuine || suites[i] == 0);
		rakp = (struct rmcp_rakp_answer){.tag = 7};
		if (rmcp_rakp4_decode(wire, &login, &exchange, data, size, &rakp))
			check(rakp.tag == 7);
		else
			check(!rakp.genuine || suites[i] == 0);
		if (rmcp_message_decode(wire, &login, &exchange, data, size, &message))
			check(message.size == 7);
		else
			check(suites[i] == 0 && message.size >= 2 && message.size <= RMCP_DATA_MAX);
	}
}

/* Brings a session into a state by honest answers, then gives it what came. */
static void try_session(struct rmcp_wire *wire, const uint8_t *data, size_t size)
{
	const struct bmc_endpoint endpoint = {.node = "n1",
					      .address = "192.0.2.1",
					      .username = "admin",
					      .password = "secret",
					      .cipher_suite = data[0] & 0x10 ? 0 : 3};
	const struct rmcp_ask ask = {.privilege = 2, .size = 1, .data = {1}};
	struct line line = {.bmc = {.username = "admin", .password = "secret"}};
	struct rmcp_io io = {.wire = wire,
			     .now_ms = 1000,
			     .send = line_send,
			     .random = count_up,
			     .context = &line};
	struct rmcp_session session;
	struct rmcp_outcome outcome = {0};
	struct problem problem = {0};

	check(rmcp_session_init(&session, &endpoint, 3, 150000, &problem) == 0);
	rmcp_session_ask(&session, &io, &ask, 60000);
	for (unsigned i = 0; i < data[0] % 4U; i++) {
		uint8_t answer[BMC_PACKET];
		size_t got = rmcp_bmc_answer(&line.bmc, line.request, line.size, answer);

		rmcp_session_heard(&session, &io, answer, got, &outcome);
		check(outcome.event == RMCP_NOTHING);
	}
	/* The packets follow each other with their length in front. */
	for (size_t at = 1; at < size;) {
		size_t length = data[at];

		at++;
		if (length > size - at)
			length = size - at;
		rmcp_session_heard(&session, &io, data + at, length, &outcome);
		check(session.state < RMCP_STATE_COUNT);
		if (outcome.event == RMCP_ANSWERED)
			check(outcome.answer.size >= 2 && endpoint.cipher_suite == 0);
		if (outcome.event != RMCP_NOTHING)
			break;
		at += length;
	}
	for (int turns = 0; outcome.event == RMCP_NOTHING && session.asked; turns++) {
		check(turns < 100);
		io.now_ms = rmcp_session_due_ms(&session);
		rmcp_session_due(&session, &io, &outcome);
	}
	check(!session.asked && line.sent < 100);
	rmcp_session_done(&session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rmcp_wire *wire;

	if (!wire)
		check(ipmi_rmcpplus_init() == 0 && rmcp_wire_new(&wire) == 0);
	try_decoders(wire, data, size);
	if (size > 0)
		try_session(wire, data, size);
	return 0;
}
