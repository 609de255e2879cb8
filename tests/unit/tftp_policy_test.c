// links: common_tftp
/* What a transfer grants, sends and repeats: single decisions, then whole files over a network that
 * loses, doubles and delays. */
#include <string.h>

#include "common/base/macros.h"
#include "common/tftp/tftp_policy.h"

#include "tests/support/cmocka.h"

static const struct tftp_limits limits = {.block_size = 1468, .window_size = 64};

static struct tftp_flow flow_of(uint16_t block_size, uint16_t window_size, uint64_t size)
{
	const struct tftp_options asked = {.has_block_size = true,
					   .block_size = block_size,
					   .has_window_size = true,
					   .window_size = window_size};
	struct tftp_terms terms = tftp_terms(&asked, size, &limits);
	struct tftp_flow flow;

	assert_int_equal(tftp_flow_begin(&flow, &terms, size, 0), TFTP_SEND_OACK);
	assert_int_equal(tftp_flow_ack(&flow, 0, 0), TFTP_SEND);
	return flow;
}

/* What the transfer does when it is told TFTP_SEND. Gives the number of blocks that went out. */
static unsigned send_all(struct tftp_flow *flow)
{
	unsigned count = 0;

	while (flow->sent < tftp_flow_last(flow)) {
		flow->sent++;
		count++;
		if (flow->sent > flow->highest)
			flow->highest = flow->sent;
	}
	return count;
}

static void terms_granted(void **state)
{
	static const struct {
		struct tftp_options asked;
		uint16_t block_size, window_size;
		bool has_oack;
	} cases[] = {
		{{0}, 512, 1, false},
		{{.has_size = true}, 512, 1, true},
		{{.has_block_size = true, .block_size = 1024}, 1024, 1, true},
		{{.has_block_size = true, .block_size = 65464}, 1468, 1, true},
		{{.has_block_size = true,
		  .block_size = 8,
		  .has_window_size = true,
		  .window_size = 65535},
		 8,
		 64,
		 true},
		{{.has_window_size = true, .window_size = 16}, 512, 16, true},
		{{.has_timeout = true, .timeout_s = 3}, 512, 1, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct tftp_terms terms = tftp_terms(&cases[i].asked, 100, &limits);

		assert_int_equal(terms.block_size, cases[i].block_size);
		assert_int_equal(terms.window_size, cases[i].window_size);
		assert_int_equal(terms.has_oack, cases[i].has_oack);
		/* what was not asked is not granted (RFC 2347) */
		assert_int_equal(terms.granted.has_block_size, cases[i].asked.has_block_size);
		assert_int_equal(terms.granted.has_window_size, cases[i].asked.has_window_size);
		assert_int_equal(terms.granted.has_size, cases[i].asked.has_size);
		assert_int_equal(terms.granted.size, 100);
	}
}

static void block_counts(void **state)
{
	static const struct {
		uint64_t size, blocks;
	} cases[] = {{0, 1}, {1, 1}, {511, 1}, {512, 2}, {513, 2}, {1024, 3}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct tftp_flow flow = flow_of(512, 1, cases[i].size);

		assert_int_equal(flow.blocks, cases[i].blocks);
	}
}

static void single_blocks_are_never_doubled(void **state)
{
	struct tftp_flow flow = flow_of(512, 1, 5000);

	(void)state;
	assert_int_equal(send_all(&flow), 1);
	assert_int_equal(tftp_flow_ack(&flow, 1, 10), TFTP_SEND);
	assert_int_equal(send_all(&flow), 1);
	for (int i = 0; i < 5; i++)
		assert_int_equal(tftp_flow_ack(&flow, 1, 11), TFTP_WAIT);
	assert_int_equal(tftp_flow_ack(&flow, 0, 11), TFTP_WAIT);
	assert_int_equal(tftp_flow_ack(&flow, 3, 11), TFTP_WAIT); /* of the future */
	assert_int_equal(tftp_flow_timeout(&flow, 509), TFTP_WAIT);
	assert_int_equal(tftp_flow_timeout(&flow, 510), TFTP_SEND);
	assert_int_equal(send_all(&flow), 1);
	assert_int_equal(flow.sent, 2);
}

static void windows(void **state)
{
	struct tftp_flow flow = flow_of(512, 4, (uint64_t)20 * 512);

	(void)state;
	assert_int_equal(send_all(&flow), 4);
	assert_int_equal(tftp_flow_ack(&flow, 4, 1), TFTP_SEND);
	assert_int_equal(send_all(&flow), 4); /* 5..8 */
	/* 7 was lost: 7..10 go out, and the echoes of that ACK change nothing */
	assert_int_equal(tftp_flow_ack(&flow, 6, 2), TFTP_SEND);
	assert_int_equal(flow.sent, 6);
	assert_int_equal(send_all(&flow), 4);
	assert_int_equal(tftp_flow_ack(&flow, 6, 3), TFTP_WAIT);
	/* a whole window with echoes does not make them believed yet, one without does */
	assert_int_equal(tftp_flow_ack(&flow, 10, 4), TFTP_SEND);
	assert_int_equal(send_all(&flow), 4);
	assert_int_equal(tftp_flow_ack(&flow, 10, 5), TFTP_WAIT);
	assert_int_equal(tftp_flow_ack(&flow, 14, 6), TFTP_SEND);
	assert_int_equal(send_all(&flow), 4);
	assert_int_equal(tftp_flow_ack(&flow, 18, 7), TFTP_SEND);
	assert_int_equal(send_all(&flow), 3); /* 19, 20, and the empty 21 */
	assert_int_equal(tftp_flow_ack(&flow, 18, 8),
			 TFTP_SEND); /* the first of the window is missing */
	assert_int_equal(send_all(&flow), 3);
	assert_int_equal(tftp_flow_ack(&flow, 18, 9), TFTP_WAIT); /* once */
	assert_int_equal(tftp_flow_ack(&flow, 21, 10), TFTP_FINISHED);
}

static void silence_ends_it(void **state)
{
	struct tftp_flow flow = flow_of(512, 1, 5000);
	int64_t now_ms = 0;
	unsigned resends = 0;

	(void)state;
	(void)send_all(&flow);
	for (;;) {
		enum tftp_action action;

		assert_int_equal(tftp_flow_timeout(&flow, flow.deadline_ms - 1), TFTP_WAIT);
		now_ms = flow.deadline_ms;
		action = tftp_flow_timeout(&flow, now_ms);
		if (action == TFTP_GIVE_UP)
			break;
		assert_int_equal(action, TFTP_SEND);
		resends++;
		(void)send_all(&flow);
	}
	assert_int_equal(resends, 6);
	assert_in_range(now_ms, 20000, 40000);
}

static void the_oack_is_repeated(void **state)
{
	const struct tftp_options asked = {.has_timeout = true, .timeout_s = 2};
	struct tftp_terms terms = tftp_terms(&asked, 10, &limits);
	struct tftp_flow flow;

	(void)state;
	assert_int_equal(tftp_flow_begin(&flow, &terms, 10, 0), TFTP_SEND_OACK);
	assert_int_equal(tftp_flow_ack(&flow, 1, 1), TFTP_WAIT); /* of nothing that we sent */
	assert_int_equal(tftp_flow_timeout(&flow, 1999), TFTP_WAIT);
	assert_int_equal(tftp_flow_timeout(&flow, 2000), TFTP_SEND_OACK);
	assert_int_equal(flow.deadline_ms, 4000); /* as asked: no back-off */
	assert_int_equal(tftp_flow_ack(&flow, 0, 2001), TFTP_SEND);
}

/* --- whole files --- */

struct channel {
	uint16_t packets[4096];
	unsigned first, count;
};

static uint32_t random_step(uint32_t *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return *seed >> 16;
}

static void put(struct channel *channel, uint16_t value, uint32_t *seed, unsigned percent)
{
	unsigned copies = 1;

	if (random_step(seed) % 100 < percent)
		copies = random_step(seed) % 3; /* lost, once, doubled */
	for (unsigned i = 0; i < copies && channel->count < COUNT_OF(channel->packets); i++)
		channel->packets[(channel->first + channel->count++) % COUNT_OF(channel->packets)] =
			value;
}

static bool get(struct channel *channel, uint16_t *ret)
{
	if (channel->count == 0)
		return false;
	*ret = channel->packets[channel->first];
	channel->first = (channel->first + 1) % COUNT_OF(channel->packets);
	channel->count--;
	return true;
}

static void send_into(struct tftp_flow *flow, struct channel *channel, uint32_t *seed,
		      unsigned percent, uint64_t *ret_packets)
{
	while (flow->sent < tftp_flow_last(flow)) {
		flow->sent++;
		if (flow->sent > flow->highest)
			flow->highest = flow->sent;
		put(channel, (uint16_t)flow->sent, seed, percent);
		(*ret_packets)++;
	}
	assert_true(flow->acked <= flow->sent && flow->sent <= flow->highest);
	assert_true(flow->highest - flow->acked <= flow->terms.window_size);
}

/* How a client answers what it did not expect: once for a gap and for its last block again, or
 * always. */
enum manners { POLITE, RUDE };

struct client {
	enum manners manners;
	uint16_t window_size;
	uint64_t blocks, received;
	unsigned in_window;
	bool told; /* of the present gap */
};

/* True when it sends an ACK of `received`. */
static bool client_takes(struct client *client, uint16_t number)
{
	bool told = client->told;

	if (number == (uint16_t)(client->received + 1)) {
		client->received++;
		client->told = false;
		if (++client->in_window < client->window_size && client->received < client->blocks)
			return false;
		client->in_window = 0;
		return true;
	}
	if (client->manners == RUDE) {
		client->in_window = 0;
		return true;
	}
	if (number == (uint16_t)client->received)
		return client->in_window == 0;
	if ((uint16_t)(number - (uint16_t)client->received) > client->window_size)
		return false; /* an old one */
	client->in_window = 0;
	client->told = true;
	return !told;
}

/* Gives the packets sent. */
static uint64_t transfer(struct client client, uint32_t seed, unsigned percent)
{
	static struct channel down;
	static struct channel up;
	struct tftp_flow flow = flow_of(8, client.window_size, client.blocks * 8 - 1);
	uint64_t packets = 0;
	int64_t now_ms = 0;
	enum tftp_action action = TFTP_SEND;
	uint16_t number;

	down = (struct channel){0};
	up = (struct channel){0};
	while (action != TFTP_FINISHED) {
		assert_int_not_equal(action, TFTP_GIVE_UP);
		if (action == TFTP_SEND)
			send_into(&flow, &down, &seed, percent, &packets);
		while (get(&down, &number))
			if (client_takes(&client, number))
				put(&up, (uint16_t)client.received, &seed, percent);
		if (get(&up, &number)) {
			action = tftp_flow_ack(&flow, number, now_ms);
			continue;
		}
		/* The client's own time-out: it says again what it has. */
		put(&up, (uint16_t)client.received, &seed, percent);
		client.in_window = 0;
		client.told = false;
		now_ms = flow.deadline_ms;
		action = tftp_flow_timeout(&flow, now_ms);
	}
	assert_int_equal(client.received, client.blocks);
	return packets;
}

static void whole_files(void **state)
{
	static const uint16_t sizes[] = {1, 2, 16, 64};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		struct client polite = {
			.manners = POLITE, .window_size = sizes[i], .blocks = 140000};
		struct client rude = polite;

		/* past two wraps of the block number, nothing lost: nothing twice */
		assert_int_equal(transfer(polite, 1, 0), 140000);
		/* one per cent lost or doubled: less than two windows for each */
		assert_in_range(transfer(polite, 7, 1), 140000,
				140000 + (uint64_t)1400 * (2U * sizes[i] + 1));
		rude.manners = RUDE;
		rude.blocks = 2000;
		for (uint32_t seed = 1; seed <= 20; seed++)
			assert_in_range(transfer(rude, seed, 10), 2000,
					(uint64_t)2000 * (sizes[i] + 2U));
	}
}

/* Whoever never acknowledged anything may have a forged address: what he gets is bounded. */
static void never_heard(void **state)
{
	static const struct {
		struct tftp_options asked;
		bool heard;
		unsigned packets;
	} cases[] = {
		{{0}, false, 4},
		{{.has_block_size = true,
		  .block_size = 1468,
		  .has_window_size = true,
		  .window_size = 64},
		 false,
		 4},
		{{.has_timeout = true, .timeout_s = 255}, false, 4},
		{{0}, true, 7},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct tftp_terms terms = tftp_terms(&cases[i].asked, 1000000, &limits);
		struct tftp_flow flow;
		enum tftp_action action = tftp_flow_begin(&flow, &terms, 1000000, 0);
		unsigned packets = 0;

		if (cases[i].heard) {
			assert_int_equal(send_all(&flow), 1);
			action = tftp_flow_ack(&flow, 1, 0);
		}
		while (action != TFTP_GIVE_UP) {
			assert_true(action == TFTP_SEND_OACK || action == TFTP_SEND);
			packets += action == TFTP_SEND_OACK ? 1 : send_all(&flow);
			assert_true(packets <= cases[i].packets);
			action = tftp_flow_timeout(&flow, flow.deadline_ms);
		}
		assert_int_equal(packets, cases[i].packets);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terms_granted),
		cmocka_unit_test(never_heard),
		cmocka_unit_test(block_counts),
		cmocka_unit_test(single_blocks_are_never_doubled),
		cmocka_unit_test(windows),
		cmocka_unit_test(silence_ends_it),
		cmocka_unit_test(the_oack_is_repeated),
		cmocka_unit_test(whole_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
