// links: peregrine_sample
/* Sockets and threads: what comes to which receiver, and what one does that cannot keep up. */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/macros.h"

#include "peregrine/flowd/sample/receiver.h"
#include "tests/support/cmocka.h"
#include "tests/unit/flow_fixture.h"

struct heard {
	struct loop *loop;
	struct receivers *receivers;
	uint64_t samples, datagrams, spoofed, flows;
	unsigned harvests;
};

static void on_harvest(void *context, unsigned receiver, struct harvest *harvest)
{
	struct heard *heard = context;
	size_t at = 0;
	struct flow_entry *entry;

	while ((entry = flow_table_next(&harvest->flows, &at)))
		heard->samples += entry->samples;
	heard->flows += harvest->flows.count;
	heard->harvests++;
	for (size_t i = 0; i < harvest->source_count; i++)
		if (harvest->sources[i].datagrams)
			heard->datagrams += harvest->sources[i].samples;
	if (harvest->counts.spoofed > heard->spoofed)
		heard->spoofed = harvest->counts.spoofed;
	receiver_return(heard->receivers, receiver, harvest);
	if (heard->datagrams >= 200)
		loop_stop(heard->loop);
}

/* Of an agent at `address` to what listens on 127.0.0.1. */
static int socket_from(uint32_t address, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	at.sin_addr.s_addr = htonl(0x7f000001);
	at.sin_port = htons(port);
	assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void give_up(void *context)
{
	loop_stop(((struct heard *)context)->loop);
}

static void datagrams_of_a_source_go_to_one_receiver(void **state)
{
	const struct agent_row rows[] = {agent_at(0x7f000001, 0x7f000001, 1),
					 agent_at(0x7f000002, 0x7f000002, 2)};
	struct heard heard = {0};
	struct agent_directory *directory = NULL;
	struct receiver_options options = {.address = "127.0.0.1",
					   .threads = 2,
					   .table_bits = 10,
					   .source_limit = 32,
					   .buffer_bytes = 1 << 20,
					   .harvest_ms = 40,
					   .fn = on_harvest,
					   .context = &heard};
	struct problem problem = {0};
	struct loop_timer *timer = NULL;
	int fds[2];

	(void)state;
	assert_int_equal(loop_new(&heard.loop), 0);
	assert_int_equal(agent_directory_new(rows, 2, &directory), 0);
	assert_int_equal(
		receivers_start(heard.loop, &options, directory, &heard.receivers, &problem), 0);
	for (unsigned i = 0; i < 2; i++)
		fds[i] = socket_from(0x7f000001 + i, receivers_port(heard.receivers));
	/* The directory is changed while they speak; numbers stay. */
	assert_int_equal(agent_directory_new(rows, 2, &directory), 0);
	assert_int_equal(receivers_use(heard.receivers, directory), 0);
	for (uint32_t i = 1; i <= 100; i++)
		for (unsigned j = 0; j < 2; j++) {
			uint8_t packet[512];
			size_t size = build(packet, 0x7f000001 + j, i);

			assert_int_equal(send(fds[j], packet, size, 0), size);
			if (i == 50) { /* agent 1 from the address of agent 2 */
				size = build(packet, 0x7f000001, 7);
				assert_int_equal(send(fds[1], packet, size, 0), size);
			}
		}
	assert_int_equal(loop_timer_new(heard.loop, give_up, &heard, &timer), 0);
	loop_timer_arm(timer, 10000);
	loop_run(heard.loop);
	assert_int_equal(heard.datagrams, 200);
	assert_int_equal(heard.samples, 200);
	assert_int_equal(heard.spoofed, 2);
	receivers_stop(heard.receivers);
	loop_timer_free(timer);
	for (unsigned i = 0; i < 2; i++)
		close(fds[i]);
	loop_free(heard.loop);
}

/* --- overload of one receiver of two --- */

enum { FLOOD_RATE = 100, FLOOD_MAX = 100, FLOOD_CALM = 40, FLOOD_THIN = 8 };

struct flood {
	struct loop *loop;
	struct loop_timer *timer;
	struct receivers *receivers;
	int fds[2]; /* of an agent that sends too much, and of one that does not */
	uint32_t sent[2];
	struct receive_counts counts[2]; /* by receiver, as last told */
	uint64_t packets[2];             /* that their samples stand for */
	unsigned thin[2];                /* at worst */
};

/* What is not used is stood for by what is, in each harvest, by the factor that it says. */
static void on_flooded(void *context, unsigned receiver, struct harvest *harvest)
{
	struct flood *flood = context;
	struct receive_counts *last = &flood->counts[receiver];
	uint64_t used =
		harvest->counts.samples - last->samples - (harvest->counts.thinned - last->thinned);
	unsigned thin = harvest->thin ? harvest->thin : 1;
	const struct flow_entry *entry;
	uint64_t packets = 0;
	size_t at = 0;

	while ((entry = flow_table_next(&harvest->flows, &at)))
		packets += entry->packets;
	assert_int_equal(harvest->flows.lost, 0);
	assert_int_equal(packets, used * FLOOD_RATE * thin);
	flood->packets[receiver] += packets;
	if (thin > flood->thin[receiver])
		flood->thin[receiver] = thin;
	*last = harvest->counts;
	receiver_return(flood->receivers, receiver, harvest);
	if (flood->thin[0] + flood->thin[1] > FLOOD_THIN &&
	    (flood->counts[0].samples == FLOOD_CALM || flood->counts[1].samples == FLOOD_CALM))
		loop_stop(flood->loop);
}

static void send_flood(void *context)
{
	struct flood *flood = context;
	uint8_t packet[512];

	for (unsigned i = 0; i < 2 * FLOOD_MAX; i++) {
		size_t size = build(packet, 0x7f000001, ++flood->sent[0]);

		(void)!send(flood->fds[0], packet, size, 0);
	}
	if (flood->sent[1] < FLOOD_CALM) {
		size_t size = build(packet, 0x7f000002, ++flood->sent[1]);

		assert_int_equal(send(flood->fds[1], packet, size, 0), size);
	}
	loop_timer_arm(flood->timer, 1);
}

static void give_up_flood(void *context)
{
	loop_stop(((struct flood *)context)->loop);
}

/* Ten times too much for one of two receivers: it thins, and says by how much; the other uses all
 * that it gets. */
static void a_flooded_receiver_thins_alone(void **state)
{
	const struct agent_row rows[] = {agent_at(0x7f000001, 0x7f000001, 1),
					 agent_at(0x7f000002, 0x7f000002, 2)};
	struct flood flood = {0};
	struct agent_directory *directory = NULL;
	struct receiver_options options = {.address = "127.0.0.1",
					   .threads = 2,
					   .table_bits = 10,
					   .source_limit = 32,
					   .buffer_bytes = 1 << 20,
					   .harvest_ms = 40,
					   .samples_max = FLOOD_MAX,
					   .fn = on_flooded,
					   .context = &flood};
	struct loop_timer *late = NULL;
	struct problem problem = {0};
	unsigned flooded;

	(void)state;
	assert_int_equal(loop_new(&flood.loop), 0);
	assert_int_equal(agent_directory_new(rows, 2, &directory), 0);
	assert_int_equal(
		receivers_start(flood.loop, &options, directory, &flood.receivers, &problem), 0);
	for (unsigned i = 0; i < 2; i++)
		flood.fds[i] = socket_from(0x7f000001 + i, receivers_port(flood.receivers));
	assert_int_equal(loop_timer_new(flood.loop, send_flood, &flood, &flood.timer), 0);
	assert_int_equal(loop_timer_new(flood.loop, give_up_flood, &flood, &late), 0);
	loop_timer_arm(flood.timer, 0);
	loop_timer_arm(late, 60000);
	loop_run(flood.loop);
	flooded = flood.counts[0].samples > flood.counts[1].samples ? 0 : 1;
	assert_true(flood.thin[flooded] >= FLOOD_THIN);
	assert_true(flood.counts[flooded].thinned > 0);
	assert_int_equal(flood.thin[!flooded], 1);
	assert_int_equal(flood.counts[!flooded].samples, FLOOD_CALM);
	assert_int_equal(flood.counts[!flooded].thinned, 0);
	assert_int_equal(flood.packets[!flooded], FLOOD_CALM * FLOOD_RATE);
	loop_timer_free(flood.timer);
	loop_timer_free(late);
	receivers_stop(flood.receivers);
	for (unsigned i = 0; i < 2; i++)
		close(flood.fds[i]);
	loop_free(flood.loop);
}

static void a_bad_address_is_said(void **state)
{
	struct receiver_options options = {.address = "leaf1", .threads = 1, .table_bits = 8};
	struct agent_directory *directory = NULL;
	struct receivers *receivers = NULL;
	struct problem problem = {0};
	struct loop *loop = NULL;

	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(agent_directory_new(NULL, 0, &directory), 0);
	assert_int_equal(receivers_start(loop, &options, directory, &receivers, &problem), -EINVAL);
	assert_string_equal(problem.message, "\"leaf1\" is not an address");
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagrams_of_a_source_go_to_one_receiver),
		cmocka_unit_test(a_flooded_receiver_thins_alone),
		cmocka_unit_test(a_bad_address_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
