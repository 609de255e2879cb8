#include "peregrine/flowd/sample/source_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"

#include "peregrine/flowd/sample/agent_directory.h"

enum {
	/* Further ahead than this is not loss but another life of the agent. */
	SOURCE_BOOK_GAP_LIMIT = 1 << 20,
	/* Behind by up to this came late; further back it began anew. */
	SOURCE_BOOK_LATE_LIMIT = 64,
};

struct source_state {
	uint16_t agent;
	bool datagrams;
	uint64_t source;
	uint32_t sub_agent, sequence, pool, drops, uptime_ms;
	uint32_t sums; /* index in book->open plus one; 0 = silent in this harvest */
};

/* Of one agent the source of samples that spoke last, and that of its datagrams: most often the
 * next is the same. Numbers of states plus one. */
struct source_near {
	uint32_t samples, datagrams;
};

struct source_book {
	struct source_state *states; /* in the order in which they were first heard */
	uint32_t *slots;             /* open addressing: number plus one */
	struct source_near *near;    /* by agent */
	uint32_t mask, count, limit;
	/* Sums under way and those handed out, swapped by source_book_harvest. */
	struct source_sums *open, *told;
	uint32_t *open_states; /* open[i] belongs to states[open_states[i]] */
	size_t open_count;
};

int source_book_new(uint32_t limit, struct source_book **ret)
{
	struct source_book *book = calloc(1, sizeof(*book));
	uint32_t slots = 16;

	if (!book)
		return -ENOMEM;
	while (slots < limit * 2 && slots < 1U << 30)
		slots *= 2;
	book->mask = slots - 1;
	book->limit = limit;
	book->states = calloc(limit, sizeof(*book->states));
	book->slots = calloc(slots, sizeof(*book->slots));
	book->near = calloc(AGENT_LIMIT + 1, sizeof(*book->near));
	book->open = calloc(limit, sizeof(*book->open));
	book->told = calloc(limit, sizeof(*book->told));
	book->open_states = calloc(limit, sizeof(*book->open_states));
	if (!book->states || !book->slots || !book->near || !book->open || !book->told ||
	    !book->open_states) {
		source_book_free(book);
		return -ENOMEM;
	}
	*ret = book;
	return 0;
}

void source_book_free(struct source_book *book)
{
	if (!book)
		return;
	free(book->states);
	free(book->slots);
	free(book->near);
	free(book->open);
	free(book->told);
	free(book->open_states);
	free(book);
}

static uint32_t source_book_hash_of(uint16_t agent, uint32_t sub_agent, uint64_t source,
				    bool datagrams)
{
	uint64_t key = (uint64_t)agent << 33 | (uint64_t)datagrams << 32 | sub_agent;

	return (uint32_t)hash_spread(key ^ hash_spread(source));
}

static inline bool source_book_is_of(const struct source_state *state, uint16_t agent,
				     uint32_t sub_agent, uint64_t source, bool datagrams)
{
	return state->agent == agent && state->sub_agent == sub_agent && state->source == source &&
	       state->datagrams == datagrams;
}

/* The state's number plus one, 0: no room. `*ret_new`: nothing is known of it yet. */
static uint32_t source_book_look_up(struct source_book *book, uint16_t agent, uint32_t sub_agent,
				    uint64_t source, bool datagrams, bool *ret_new)
{
	uint32_t at = source_book_hash_of(agent, sub_agent, source, datagrams) & book->mask;

	for (; book->slots[at]; at = (at + 1) & book->mask)
		if (source_book_is_of(&book->states[book->slots[at] - 1], agent, sub_agent, source,
				      datagrams))
			return book->slots[at];
	if (book->count >= book->limit)
		return 0;
	*ret_new = true;
	book->states[book->count] = (struct source_state){
		.agent = agent, .sub_agent = sub_agent, .source = source, .datagrams = datagrams};
	return book->slots[at] = ++book->count;
}

/* NULL: no room. */
static inline struct source_state *source_book_find(struct source_book *book, uint16_t agent,
						    uint32_t sub_agent, uint64_t source,
						    bool datagrams, bool *ret_new)
{
	uint32_t *near = datagrams ? &book->near[agent].datagrams : &book->near[agent].samples;

	*ret_new = false;
	if (!*near ||
	    !source_book_is_of(&book->states[*near - 1], agent, sub_agent, source, datagrams))
		*near = source_book_look_up(book, agent, sub_agent, source, datagrams, ret_new);
	return *near ? &book->states[*near - 1] : NULL;
}

void source_book_expect(const struct source_book *book, uint16_t agent)
{
	__builtin_prefetch(&book->near[agent]);
}

void source_book_approach(const struct source_book *book, uint16_t agent)
{
	const struct source_near *near = &book->near[agent];

	if (near->datagrams)
		__builtin_prefetch(&book->states[near->datagrams - 1], 1);
	if (near->samples)
		__builtin_prefetch(&book->states[near->samples - 1], 1);
}

static struct source_sums *source_book_sums_of(struct source_book *book, struct source_state *state)
{
	if (!state->sums) {
		book->open_states[book->open_count] = (uint32_t)(state - book->states);
		book->open[book->open_count] = (struct source_sums){.agent = state->agent,
								    .sub_agent = state->sub_agent,
								    .source = state->source,
								    .datagrams = state->datagrams};
		state->sums = (uint32_t)++book->open_count;
	}
	return &book->open[state->sums - 1];
}

enum step { STEP_NEXT, STEP_LATE, STEP_ANEW };

/* How `sequence` follows the last one; counts what is missing between. */
static enum step source_book_follow(struct source_state *state, struct source_sums *sums,
				    uint32_t sequence)
{
	uint32_t ahead = sequence - state->sequence;

	if (ahead >= 1 && ahead <= SOURCE_BOOK_GAP_LIMIT) {
		sums->missing += ahead - 1;
		state->sequence = sequence;
		return STEP_NEXT;
	}
	if (state->sequence - sequence < SOURCE_BOOK_LATE_LIMIT) {
		if (sums->missing)
			sums->missing--; /* it was only late */
		return STEP_LATE;
	}
	state->sequence = sequence;
	return STEP_ANEW;
}

uint32_t source_book_sample(struct source_book *book, const struct source_said *said)
{
	bool is_new;
	struct source_state *state =
		source_book_find(book, said->agent, said->sub_agent, said->source, false, &is_new);
	struct source_sums *sums;
	enum step step = STEP_ANEW;

	if (!state)
		return UINT32_MAX;
	sums = source_book_sums_of(book, state);
	if (is_new)
		state->sequence = said->sequence;
	else
		step = source_book_follow(state, sums, said->sequence);
	if (step == STEP_NEXT) {
		sums->pool += said->pool - state->pool;
		sums->drops += said->drops - state->drops;
	} else if (step == STEP_ANEW) {
		sums->restarted = true;
		sums->pool = 0;
		/* The frames that this one stands for; the next tell the rest. */
		sums->rates = 0;
		sums->samples = 0;
	}
	if (step != STEP_LATE) {
		state->pool = said->pool;
		state->drops = said->drops;
	}
	sums->rate = said->rate;
	if (step != STEP_ANEW) {
		sums->samples++;
		sums->rates += said->rate;
	}
	return state->sums - 1;
}

uint64_t source_book_datagram(struct source_book *book, uint16_t agent, uint32_t sub_agent,
			      uint32_t sequence, uint32_t uptime_ms)
{
	bool is_new;
	struct source_state *state = source_book_find(book, agent, sub_agent, 0, true, &is_new);
	struct source_sums *sums;

	if (!state)
		return 0;
	sums = source_book_sums_of(book, state);
	if (is_new)
		state->sequence = sequence;
	else if (source_book_follow(state, sums, sequence) == STEP_ANEW)
		sums->restarted = true;
	state->uptime_ms = sums->uptime_ms = uptime_ms;
	return ++sums->samples;
}

/* --- exporters --- */

/* No class of sources of sFlow has this number. */
#define SOURCE_EXPORTER UINT64_MAX

uint32_t source_book_exporter(struct source_book *book, uint16_t agent, uint32_t domain)
{
	bool is_new;
	struct source_state *state =
		source_book_find(book, agent, domain, SOURCE_EXPORTER, false, &is_new);

	if (!state)
		return UINT32_MAX;
	source_book_sums_of(book, state)->exporter = true;
	return state->sums - 1;
}

void source_book_exported(struct source_book *book, uint32_t sums, const struct source_export *said)
{
	if (sums == UINT32_MAX)
		return;
	book->open[sums].samples += said->records;
	book->open[sums].missing += said->missing;
	book->open[sums].unread += said->unread;
	book->open[sums].restarted |= said->restarted;
}

void source_book_rate(struct source_book *book, uint32_t sums, uint32_t rate)
{
	if (sums != UINT32_MAX)
		book->open[sums].rate = rate;
}

const struct source_sums *source_book_harvest(struct source_book *book, size_t *ret_count)
{
	struct source_sums *sums = book->open;

	for (size_t i = 0; i < book->open_count; i++)
		book->states[book->open_states[i]].sums = 0;
	*ret_count = book->open_count;
	book->open = book->told;
	book->told = sums;
	book->open_count = 0;
	return sums;
}
