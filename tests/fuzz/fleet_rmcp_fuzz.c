// links: sim_fleet common_net common_base
/* RMCP+ packets of the simulated BMC: any bytes decode to something inside of them or are refused;
 * what is answered to a command that was taken decodes again; what one side seals the other opens,
 * and a flipped bit is noticed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/fleet/fleet_rmcp_wire.h"

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_sealed(const uint8_t *data, size_t size)
{
	static const uint8_t iv[RMCP_RANDOM_SIZE] = {1, 2, 3};
	const struct rmcp_head head = {.payload_type = RMCP_IPMI, .session_id = 7, .sequence = 9};
	struct rmcp_handshake handshake = {.suite = rmcp_suite_find(3, 4, 1), .user_size = 1};
	struct rmcp_keys keys;
	struct rmcp_packet packet;
	uint8_t sealed[RMCP_PACKET_MAX];
	uint8_t opened[RMCP_PAYLOAD_MAX];
	size_t sealed_size;
	size_t opened_size;

	if (size > 256)
		size = 256;
	rmcp_keys_make(&handshake, "secret", &keys);
	if (rmcp_encode(&head, &keys, iv, data, size, sealed, &sealed_size))
		return;
	must(rmcp_decode(sealed, sealed_size, &packet) == 0);
	must(rmcp_open(&packet, &keys, opened, &opened_size) == 0);
	must(opened_size == size && memcmp(opened, data, size) == 0);
	sealed[sealed_size - 1] ^= 1;
	must(rmcp_open(&packet, &keys, opened, &opened_size) != 0);
}

static void check_command(const uint8_t *payload, size_t size)
{
	struct rmcp_command command;
	uint8_t answer[RMCP_PAYLOAD_MAX];
	size_t answer_size;

	if (rmcp_command_decode(payload, size, &command))
		return;
	must(command.size <= size);
	if (command.size < 64) {
		must(rmcp_answer_encode(&command, 0, command.data, command.size, answer,
					&answer_size) == 0);
		must(answer_size == command.size + 8);
		must(answer[1] >> 2 == (command.netfn | 1));
	}
}

static void check_setup(const struct rmcp_packet *packet)
{
	struct rmcp_handshake handshake = {.suite = rmcp_suite_find(1, 1, 1)};
	struct rmcp_open_request request;
	uint8_t answer[RMCP_PAYLOAD_MAX];
	uint32_t id;
	uint8_t tag;

	if (rmcp_open_decode(packet->payload, packet->payload_size, &request) == 0)
		must(rmcp_open_encode(&request, RMCP_OK, 1, answer) == 36);
	if (rmcp_rakp1_decode(packet->payload, packet->payload_size, &handshake, &tag, &id) == 0) {
		must(handshake.user_size <= RMCP_USER_MAX);
		must(rmcp_rakp2_encode(&handshake, tag, RMCP_OK, "x", answer) == 60);
		/* Nobody knows this password by chance. */
		must(rmcp_rakp3_check(packet->payload, packet->payload_size, &handshake, "x") != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rmcp_packet packet;

	if (rmcp_init())
		return 0;
	check_sealed(data, size);
	if (rmcp_decode(data, size, &packet))
		return 0;
	must(packet.payload >= data && packet.payload_size <= size);
	check_command(packet.payload, packet.payload_size);
	check_setup(&packet);
	return 0;
}
