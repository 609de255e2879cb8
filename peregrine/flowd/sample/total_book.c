#include "peregrine/flowd/sample/total_book.h"

#include <errno.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Begins that are reckoned from an exporter's uptime differ by up to a second each time. */
#define TOTAL_BOOK_BEGIN_MARGIN_MS 2000

/* 128 bits of a hash that nobody can aim at stand for the key. */
struct total_entry {
	XXH128_hash_t key;
	uint64_t heard; /* 0 = free */
	uint64_t bytes, packets;
	int64_t began_ms;
};

struct total_set {
	struct total_entry entries[TOTAL_WAYS];
	/* The latest begin of a flow that lost its place here, 0 = none: what began later is new. */
	int64_t from_ms;
};

struct total_book {
	uint64_t seed;
	uint64_t clock; /* of `heard` */
	struct total_set sets[TOTAL_SETS];
};

int total_book_new(uint64_t seed, struct total_book **ret)
{
	struct total_book *book = calloc(1, sizeof(*book));

	if (!book)
		return -ENOMEM;
	book->seed = seed;
	*ret = book;
	return 0;
}

void total_book_free(struct total_book *book)
{
	free(book);
}

/* The flow's entry, or the one that it may have. */
static struct total_entry *total_book_find(struct total_set *set, XXH128_hash_t key, bool *ret_new)
{
	struct total_entry *oldest = &set->entries[0];

	*ret_new = false;
	for (size_t i = 0; i < TOTAL_WAYS; i++) {
		struct total_entry *entry = &set->entries[i];

		if (entry->heard && XXH128_isEqual(entry->key, key))
			return entry;
		if (entry->heard < oldest->heard)
			oldest = entry;
	}
	*ret_new = true;
	return oldest;
}

static bool total_book_is_new_flow(const struct total_set *set, const struct total_said *said)
{
	int64_t known_ms = set->from_ms > said->heard_ms ? set->from_ms : said->heard_ms;

	return said->began_ms != TOTAL_UNTOLD &&
	       said->began_ms > known_ms + TOTAL_BOOK_BEGIN_MARGIN_MS;
}

static struct total_growth total_book_begin(struct total_set *set, struct total_entry *entry,
					    const struct total_said *said)
{
	struct total_growth growth = {.forgot = entry->heard != 0};

	if (growth.forgot && entry->began_ms > set->from_ms)
		set->from_ms = entry->began_ms;
	growth.first = !total_book_is_new_flow(set, said);
	if (!growth.first) {
		growth.bytes = said->bytes;
		growth.packets = said->packets;
	}
	return growth;
}

/* From one count to the next of a counter that may have wrapped. */
static uint64_t total_book_step(uint64_t before, uint64_t now, uint8_t width)
{
	uint64_t step = now - before;

	return now >= before || width >= sizeof(step) ? step
						      : step & ((UINT64_C(1) << 8 * width) - 1);
}

/* Frames go on to be counted while bytes wrap, and the other way round. Counters that both went
 * back began anew, and so did one that is too wide to wrap. Of bytes alone the begin tells: it is
 * the same flow. */
static bool total_book_is_wrap(bool bytes_back, bool packets_back, const struct total_said *said)
{
	if (bytes_back && said->byte_width >= sizeof(said->bytes))
		return false;
	if (packets_back && said->packet_width >= sizeof(said->packets))
		return false;
	return said->packet_width ? bytes_back != packets_back : said->began_ms != TOTAL_UNTOLD;
}

static struct total_growth total_book_grow(const struct total_entry *entry,
					   const struct total_said *said)
{
	bool bytes_back = said->bytes < entry->bytes;
	bool packets_back = said->packet_width && said->packets < entry->packets;

	if ((bytes_back || packets_back) && !total_book_is_wrap(bytes_back, packets_back, said))
		return (struct total_growth){.bytes = said->bytes, .packets = said->packets};
	return (struct total_growth){
		.bytes = total_book_step(entry->bytes, said->bytes, said->byte_width),
		.packets = total_book_step(entry->packets, said->packets, said->packet_width),
	};
}

struct total_growth total_book_take(struct total_book *book, const struct total_key *key,
				    const struct total_said *said)
{
	XXH128_hash_t hash = XXH3_128bits_withSeed(key, sizeof(*key), book->seed);
	struct total_set *set = &book->sets[hash.low64 % TOTAL_SETS];
	bool is_new;
	struct total_entry *entry = total_book_find(set, hash, &is_new);
	struct total_growth growth;

	/* What a late message tells was counted by the later one. */
	if (!is_new && said->late && said->bytes <= entry->bytes)
		return (struct total_growth){0};
	growth = is_new ? total_book_begin(set, entry, said) : total_book_grow(entry, said);
	*entry = (struct total_entry){.key = hash,
				      .heard = ++book->clock,
				      .bytes = said->bytes,
				      .packets = said->packets,
				      .began_ms = said->began_ms};
	return growth;
}
