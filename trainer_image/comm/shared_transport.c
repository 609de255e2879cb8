/* Rings in shared memory, one for each direction between two ranks. Sender and receiver own one end
 * each, so a ring needs no lock. Who cannot go on sleeps on a futex of its own, which whoever moves
 * something for it wakes. */
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"

#include "trainer_image/comm/transport_private.h"

LEAKS_LEFT_TO_SANITIZER

enum { SHARED_RING_LEAST = 4096, SHARED_SPINS = 200, SHARED_SLEEP_US = 20000 };

/* Positions only grow; a place is its position modulo the ring. */
struct shared_ring {
	_Alignas(64) atomic_uint_least64_t written;
	_Alignas(64) atomic_uint_least64_t read;
};

/* Changes when something moves for a rank. */
struct shared_bell {
	_Alignas(64) atomic_uint rung;
	atomic_uint sleeps;
};

struct shared_memory {
	int ranks;
	size_t ring;  /* bytes of each */
	size_t size;  /* of the mapping */
	uint8_t *map; /* bells, then rings with their bytes */
};

struct shared_transport {
	struct transport transport;
	const struct shared_memory *memory;
};

static size_t shared_bells_size(int ranks)
{
	return (size_t)ranks * sizeof(struct shared_bell);
}

static struct shared_bell *shared_bell(const struct shared_memory *memory, int rank)
{
	return (struct shared_bell *)(void *)memory->map + rank;
}

static struct shared_ring *shared_ring(const struct shared_memory *memory, int from, int to)
{
	size_t nth = (size_t)from * (size_t)memory->ranks + (size_t)to;
	size_t each = sizeof(struct shared_ring) + memory->ring;

	return (struct shared_ring *)(void *)(memory->map + shared_bells_size(memory->ranks) +
					      nth * each);
}

int shared_memory_new(int ranks, size_t ring, struct shared_memory **ret)
{
	struct shared_memory *memory;
	void *map;

	if (ranks < 1 || ranks > COMM_RANKS_MAX || ring < SHARED_RING_LEAST || (ring & (ring - 1)))
		return -EINVAL;
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	memory->ranks = ranks;
	memory->ring = ring;
	memory->size = shared_bells_size(ranks) +
		       (size_t)ranks * (size_t)ranks * (sizeof(struct shared_ring) + ring);
	map = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED) {
		free(memory);
		return -ENOMEM;
	}
	memory->map = map;
	*ret = memory;
	return 0;
}

void shared_memory_free(struct shared_memory *memory)
{
	if (!memory)
		return;
	(void)munmap(memory->map, memory->size);
	free(memory);
}

static void shared_ring_bell(struct shared_bell *bell)
{
	atomic_fetch_add(&bell->rung, 1);
	if (atomic_load(&bell->sleeps))
		(void)syscall(SYS_futex, &bell->rung, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Until the bell rings again, or `us` have passed. */
static void shared_sleep(struct shared_bell *bell, unsigned rung, int64_t us)
{
	const struct timespec time = {us / 1000000, us % 1000000 * 1000};

	atomic_store(&bell->sleeps, 1);
	(void)syscall(SYS_futex, &bell->rung, FUTEX_WAIT, rung, &time, NULL, 0);
	atomic_store(&bell->sleeps, 0);
}

static void shared_copy_in(struct shared_ring *ring, size_t room, uint64_t at, const uint8_t *data,
			   size_t size)
{
	uint8_t *bytes = (uint8_t *)(ring + 1);
	size_t place = (size_t)(at & (room - 1));
	size_t first = size < room - place ? size : room - place;

	memcpy(bytes + place, data, first);
	memcpy(bytes, data + first, size - first);
}

static void shared_copy_out(const struct shared_ring *ring, size_t room, uint64_t at, uint8_t *data,
			    size_t size)
{
	const uint8_t *bytes = (const uint8_t *)(ring + 1);
	size_t place = (size_t)(at & (room - 1));
	size_t first = size < room - place ? size : room - place;

	memcpy(data, bytes + place, first);
	memcpy(data + first, bytes, size - first);
}

/* One side of an exchange. */
struct shared_side {
	uint8_t *in;
	const uint8_t *out;
	size_t done, size;
};

static size_t shared_send(struct shared_transport *shared, int to, struct shared_side *side)
{
	struct transport *transport = &shared->transport;
	struct shared_ring *ring = shared_ring(shared->memory, transport->rank, to);
	int64_t now_us = clock_monotonic_us();
	size_t size = pace_allows(&transport->paces[to], now_us, side->size - side->done);
	uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
	size_t room = shared->memory->ring -
		      (size_t)(written - atomic_load_explicit(&ring->read, memory_order_acquire));

	if (size > room)
		size = room;
	if (size == 0)
		return 0;
	shared_copy_in(ring, shared->memory->ring, written, side->out + side->done, size);
	atomic_store_explicit(&ring->written, written + size, memory_order_release);
	pace_sent(&transport->paces[to], now_us, size);
	shared_ring_bell(shared_bell(shared->memory, to));
	transport->sent[to] += size;
	side->done += size;
	return size;
}

static size_t shared_receive(struct shared_transport *shared, int from, struct shared_side *side)
{
	struct shared_ring *ring = shared_ring(shared->memory, from, shared->transport.rank);
	uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
	size_t size = (size_t)(atomic_load_explicit(&ring->written, memory_order_acquire) - read);

	if (size > side->size - side->done)
		size = side->size - side->done;
	if (size == 0)
		return 0;
	shared_copy_out(ring, shared->memory->ring, read, side->in + side->done, size);
	atomic_store_explicit(&ring->read, read + size, memory_order_release);
	shared_ring_bell(shared_bell(shared->memory, from));
	side->done += size;
	return size;
}

/* How long to sleep at most: a paced link has room at a time that is known. */
static int64_t shared_sleep_us(const struct transport *transport, int to, bool sends)
{
	int64_t us = sends ? pace_wait_us(&transport->paces[to], clock_monotonic_us()) : 0;

	return us > 0 && us < SHARED_SLEEP_US ? us : SHARED_SLEEP_US;
}

static int shared_exchange(struct transport *transport, const struct transport_exchange *is)
{
	struct shared_transport *shared =
		CONTAINER_OF(transport, struct shared_transport, transport);
	struct shared_bell *bell = shared_bell(shared->memory, transport->rank);
	struct shared_side out = {.out = is->out, .size = is->out_size};
	struct shared_side in = {.in = is->in, .size = is->in_size};
	struct transport_still still;
	int rc;

	transport_still_moved(&still);
	for (int spins = 0; out.done < out.size || in.done < in.size;) {
		unsigned rung = atomic_load(&bell->rung);
		size_t moved = out.done < out.size ? shared_send(shared, is->to, &out) : 0;

		moved += in.done < in.size ? shared_receive(shared, is->from, &in) : 0;
		if (moved > 0) {
			transport_still_moved(&still);
			spins = 0;
			continue;
		}
		if (spins++ < SHARED_SPINS)
			continue;
		int64_t begun_us = clock_monotonic_us();

		rc = transport_patience(transport, is, transport_still_us(&still));
		if (rc != 0)
			return rc;
		shared_sleep(bell, rung, shared_sleep_us(transport, is->to, out.done < out.size));
		transport->waited_us += clock_monotonic_us() - begun_us;
	}
	return 0;
}

static void shared_free(struct transport *transport)
{
	free(CONTAINER_OF(transport, struct shared_transport, transport));
}

int transport_shared_new(struct shared_memory *memory, int rank, struct transport **ret)
{
	static const struct transport_kind kind = {
		.name = "shared", .exchange = shared_exchange, .free = shared_free};
	struct shared_transport *shared = calloc(1, sizeof(*shared));

	if (!shared)
		return -ENOMEM;
	shared->transport = (struct transport){.kind = &kind,
					       .place = place_host(),
					       .rank = rank,
					       .ranks = memory->ranks,
					       .patience_ms = 10000};
	shared->memory = memory;
	*ret = &shared->transport;
	return 0;
}
