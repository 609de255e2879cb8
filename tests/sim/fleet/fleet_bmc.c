/* The BMCs of all nodes behind one UDP socket: sessions, and what goes wrong with them. What a
 * command does is in fleet_bmc_command.c. */
#include "tests/sim/fleet/fleet_bmc.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#define FLEET_BMC_SESSIONS_MAX 4
#define IDLE_MS                60000 /* 6.12.15: a session that is not used ends */
#define SLOW_MS                300
#define FLEET_BMC_WINDOW       32 /* sequence numbers behind the newest that are still taken (6.12.13) */
#define USER_ADMIN             4

struct fleet_session {
	struct fleet_session *next;
	struct rmcp_handshake handshake;
	struct rmcp_keys keys;
	bool active;
	int64_t used_ms;
	uint32_t sequence_out;
	uint32_t sequence_in; /* the newest */
	uint32_t window;      /* bit n: sequence_in - n was seen */
};

/* An answer that a slow BMC keeps for a while. */
struct late {
	struct fleet *fleet;
	struct loop_timer *timer;
	struct fleet_packet packet;
	uint8_t data[RMCP_PACKET_MAX];
};

/* A packet on its way through a BMC. */
struct visit {
	struct fleet_node *node;
	const struct fleet_packet *packet;
	const struct rmcp_packet *rmcp;
};

/* --- answers out --- */

static void fleet_bmc_late_due(void *context)
{
	struct late *late = context;

	late->packet.data = late->data;
	fleet_udp_send(late->fleet->bmc_fd, &late->packet);
	loop_timer_free(late->timer);
	free(late);
}

static void fleet_bmc_transmit(const struct visit *visit, uint8_t *data, size_t size)
{
	struct fleet *fleet = visit->node->fleet;
	const struct fleet_packet packet = {
		.data = data,
		.size = size,
		.local = visit->packet->local,
		.remote = visit->packet->remote,
		.remote_port = visit->packet->remote_port,
	};
	struct late *late;

	if (!fleet_fault_always(visit->node, FLEET_BMC_SLOW)) {
		fleet_udp_send(fleet->bmc_fd, &packet);
		return;
	}
	late = calloc(1, sizeof(*late));
	if (!late || loop_timer_new(fleet->loop, fleet_bmc_late_due, late, &late->timer)) {
		free(late);
		return;
	}
	late->fleet = fleet;
	late->packet = packet;
	memcpy(late->data, data, size);
	loop_timer_arm(late->timer, SLOW_MS);
}

static void fleet_bmc_answer_request(const struct visit *visit, const struct rmcp_head *head,
				     const struct rmcp_keys *keys, const uint8_t *payload,
				     size_t size)
{
	uint8_t iv[RMCP_RANDOM_SIZE];
	uint8_t data[RMCP_PACKET_MAX];
	size_t whole;

	if (keys)
		randombytes_buf(iv, sizeof(iv));
	if (rmcp_encode(head, keys, iv, payload, size, data, &whole) == 0)
		fleet_bmc_transmit(visit, data, whole);
}

/* --- sessions --- */

static struct fleet_session *fleet_bmc_session_find(const struct fleet_node *node, uint32_t id)
{
	struct fleet_session *session = node->bmc.sessions;

	while (session && session->handshake.bmc_id != id)
		session = session->next;
	return session;
}

static void session_remove(struct fleet_node *node, struct fleet_session *session)
{
	struct fleet_session **at = &node->bmc.sessions;

	while (*at && *at != session)
		at = &(*at)->next;
	if (*at)
		*at = session->next;
	node->bmc.session_count--;
	sodium_memzero(session, sizeof(*session));
	free(session);
}

static struct fleet_session *session_idle(const struct fleet_node *node, int64_t now_ms)
{
	for (struct fleet_session *session = node->bmc.sessions; session; session = session->next) {
		/* One that never became a session gives way at once. */
		if (now_ms - session->used_ms > (session->active ? IDLE_MS : 2000))
			return session;
	}
	return NULL;
}

static struct fleet_session *fleet_bmc_session_new(struct fleet_node *node)
{
	int64_t now_ms = clock_monotonic_ms();
	struct fleet_session *idle = session_idle(node, now_ms);
	struct fleet_session *session;

	if (idle)
		session_remove(node, idle);
	if (node->bmc.session_count >= FLEET_BMC_SESSIONS_MAX || fleet_fault(node, FLEET_BMC_FULL))
		return NULL;
	session = calloc(1, sizeof(*session));
	if (!session)
		return NULL;
	session->used_ms = now_ms;
	do
		session->handshake.bmc_id = randombytes_random();
	while (session->handshake.bmc_id == 0 ||
	       fleet_bmc_session_find(node, session->handshake.bmc_id));
	session->next = node->bmc.sessions;
	node->bmc.sessions = session;
	node->bmc.session_count++;
	return session;
}

void fleet_bmc_done(struct fleet_node *node)
{
	while (node->bmc.sessions)
		session_remove(node, node->bmc.sessions);
}

const char *fleet_bmc_password(struct fleet_node *node)
{
	return fleet_fault_always(node, FLEET_BMC_PASSWORD) ? "somebody-changed" : FLEET_PASSWORD;
}

/* --- session set-up, in the order of 13.14 --- */

static void fleet_bmc_on_open(const struct visit *visit)
{
	const struct rmcp_head head = {.payload_type = RMCP_OPEN_RESPONSE};
	const struct rmcp_suite *suite;
	struct fleet_session *session = NULL;
	struct rmcp_open_request request;
	enum rmcp_status status = RMCP_OK;
	uint8_t payload[RMCP_PAYLOAD_MAX];
	size_t size;

	if (rmcp_open_decode(visit->rmcp->payload, visit->rmcp->payload_size, &request))
		return;
	suite = rmcp_suite_find(request.authentication, request.integrity, request.confidentiality);
	if (!suite)
		status = RMCP_NO_SUITE;
	else
		session = fleet_bmc_session_new(visit->node);
	if (suite && !session)
		status = RMCP_NO_RESOURCES;
	visit->node->fleet->stats.bmc_refused += status != RMCP_OK;
	if (session) {
		session->handshake.suite = suite;
		session->handshake.console_id = request.console_id;
	}
	size = rmcp_open_encode(&request, status, session ? session->handshake.bmc_id : 0, payload);
	fleet_bmc_answer_request(visit, &head, NULL, payload, size);
}

static void on_rakp1(const struct visit *visit)
{
	const struct rmcp_head head = {.payload_type = RMCP_RAKP2};
	struct rmcp_handshake said = {0};
	struct fleet_session *session;
	enum rmcp_status status = RMCP_OK;
	uint8_t payload[RMCP_PAYLOAD_MAX];
	uint32_t id;
	uint8_t tag;
	size_t size;

	if (rmcp_rakp1_decode(visit->rmcp->payload, visit->rmcp->payload_size, &said, &tag, &id))
		return;
	session = fleet_bmc_session_find(visit->node, id);
	if (!session || session->active)
		return;
	if (said.user_size != strlen(FLEET_USER) ||
	    memcmp(said.user, FLEET_USER, said.user_size) != 0)
		status = RMCP_BAD_NAME;
	else if ((said.role & 0x0f) > USER_ADMIN)
		status = RMCP_NO_PRIVILEGE;
	memcpy(session->handshake.console_random, said.console_random, sizeof(said.console_random));
	memcpy(session->handshake.user, said.user, sizeof(said.user));
	session->handshake.user_size = said.user_size;
	session->handshake.role = said.role;
	randombytes_buf(session->handshake.bmc_random, sizeof(session->handshake.bmc_random));
	fleet_bmc_guid(visit->node, session->handshake.guid);
	size = rmcp_rakp2_encode(&session->handshake, tag, status, fleet_bmc_password(visit->node),
				 payload);
	fleet_bmc_answer_request(visit, &head, NULL, payload, size);
	if (status != RMCP_OK) {
		visit->node->fleet->stats.bmc_refused++;
		session_remove(visit->node, session);
	}
}

static void on_rakp3(const struct visit *visit)
{
	const struct rmcp_head head = {.payload_type = RMCP_RAKP4};
	struct fleet_session *session;
	enum rmcp_status status = RMCP_OK;
	uint8_t payload[RMCP_PAYLOAD_MAX];
	uint32_t id;
	uint8_t tag;
	size_t size;

	if (rmcp_rakp3_session(visit->rmcp->payload, visit->rmcp->payload_size, &tag, &id))
		return;
	session = fleet_bmc_session_find(visit->node, id);
	if (!session || session->active || session->handshake.user_size == 0)
		return;
	if (rmcp_rakp3_check(visit->rmcp->payload, visit->rmcp->payload_size, &session->handshake,
			     fleet_bmc_password(visit->node)))
		status = RMCP_BAD_INTEGRITY_VALUE;
	else
		rmcp_keys_make(&session->handshake, fleet_bmc_password(visit->node),
			       &session->keys);
	size = rmcp_rakp4_encode(&session->handshake, &session->keys, tag, status, payload);
	fleet_bmc_answer_request(visit, &head, NULL, payload, size);
	if (status != RMCP_OK) {
		visit->node->fleet->stats.bmc_refused++;
		session_remove(visit->node, session);
		return;
	}
	session->active = true;
	session->used_ms = clock_monotonic_ms();
	visit->node->fleet->stats.bmc_sessions++;
}

/* --- commands --- */

/* 6.12.13: a number is taken once, and only near the newest. */
static bool take_sequence(struct fleet_session *session, uint32_t sequence)
{
	uint32_t ahead = sequence - session->sequence_in;
	uint32_t behind = session->sequence_in - sequence;

	if (sequence == 0)
		return false;
	if (ahead != 0 && ahead < UINT32_MAX / 2) {
		session->window = ahead < FLEET_BMC_WINDOW ? session->window << ahead : 0;
		session->window |= 1;
		session->sequence_in = sequence;
		return true;
	}
	if (behind >= FLEET_BMC_WINDOW || session->window & 1U << behind)
		return false;
	session->window |= 1U << behind;
	return true;
}

static void on_session(const struct visit *visit)
{
	struct fleet_session *session =
		fleet_bmc_session_find(visit->node, visit->rmcp->session_id);
	struct rmcp_head head = {.payload_type = RMCP_IPMI};
	struct fleet_bmc_answer result = {0};
	struct rmcp_command command;
	uint8_t payload[RMCP_PAYLOAD_MAX];
	uint8_t out[RMCP_PAYLOAD_MAX];
	size_t size;

	if (!session || !session->active ||
	    rmcp_open(visit->rmcp, &session->keys, payload, &size) ||
	    !take_sequence(session, visit->rmcp->sequence) ||
	    rmcp_command_decode(payload, size, &command))
		return;
	session->used_ms = clock_monotonic_ms();
	visit->node->fleet->stats.bmc_commands++;
	fleet_bmc_command(visit->node, &command, true, &result);
	if (result.silent ||
	    rmcp_answer_encode(&command, result.completion, result.data, result.size, out, &size))
		return;
	head.session_id = session->handshake.console_id;
	head.sequence = ++session->sequence_out;
	fleet_bmc_answer_request(visit, &head, &session->keys, out, size);
	if (result.closes)
		session_remove(visit->node, session);
}

/* Before a session: who are you, what can you do. */
static void on_stranger(const struct visit *visit)
{
	const struct rmcp_head head = {.lan15 = visit->rmcp->lan15, .payload_type = RMCP_IPMI};
	struct fleet_bmc_answer result = {0};
	struct rmcp_command command;
	uint8_t out[RMCP_PAYLOAD_MAX];
	size_t size;

	if (rmcp_command_decode(visit->rmcp->payload, visit->rmcp->payload_size, &command))
		return;
	fleet_bmc_command(visit->node, &command, false, &result);
	if (!result.silent && rmcp_answer_encode(&command, result.completion, result.data,
						 result.size, out, &size) == 0)
		fleet_bmc_answer_request(visit, &head, NULL, out, size);
}

static void fleet_bmc_receive(struct fleet *fleet, const struct fleet_packet *packet)
{
	struct fleet_node *node = fleet_by_bmc(fleet, packet->local);
	struct rmcp_packet rmcp;
	const struct visit visit = {node, packet, &rmcp};

	fleet->stats.bmc_packets++;
	if (!node || node->redfish || fleet_fault_always(node, FLEET_BMC_DEAD) ||
	    fleet_fault(node, FLEET_BMC_LOST) || rmcp_decode(packet->data, packet->size, &rmcp))
		return;
	if (rmcp.session_id != 0)
		on_session(&visit);
	else if (rmcp.payload_type == RMCP_IPMI)
		on_stranger(&visit);
	else if (rmcp.payload_type == RMCP_OPEN_REQUEST)
		fleet_bmc_on_open(&visit);
	else if (rmcp.payload_type == RMCP_RAKP1)
		on_rakp1(&visit);
	else if (rmcp.payload_type == RMCP_RAKP3)
		on_rakp3(&visit);
}

void fleet_bmc_readable(void *context, int events)
{
	struct fleet *fleet = context;
	uint8_t data[RMCP_PACKET_MAX];
	struct fleet_packet packet;

	(void)events;
	for (int i = 0; i < 256 && fleet_udp_receive(fleet->bmc_fd, data, sizeof(data), &packet);
	     i++)
		fleet_bmc_receive(fleet, &packet);
}
