#include "common/base/breaker_policy.h"

#include "common/base/error.h"
#include "common/base/hash.h"

enum breaker_answer breaker_ask(const struct breaker *breaker, bool person, int64_t now_ms)
{
	if (!breaker->open)
		return BREAKER_PASS;
	if (now_ms >= breaker->retry_ms)
		return BREAKER_PROBE;
	if (person && breaker->refused && now_ms >= breaker->person_ms)
		return BREAKER_PROBE;
	return BREAKER_REFUSE;
}

static int64_t next_open_ms(const struct breaker *breaker, bool refused)
{
	int64_t first = refused ? BREAKER_REFUSED_MS : BREAKER_OPEN_MS;
	int64_t most = refused ? BREAKER_REFUSED_MAX_MS : BREAKER_OPEN_MAX_MS;

	if (!breaker->open || breaker->refused != refused)
		return first;
	return breaker->open_ms > most / 2 ? most : breaker->open_ms * 2;
}

struct breaker breaker_after(const struct breaker *breaker, int rc, unsigned spread_percent,
			     int64_t now_ms)
{
	bool refused = rc == E_AUTHENTICATION;
	struct breaker next = *breaker;

	if (rc != E_TIMEOUT && !refused)
		return (struct breaker){0};

	if (next.failures++ == 0)
		next.since_ms = now_ms;
	if (breaker->open && now_ms < breaker->retry_ms && (breaker->refused || !refused)) {
		/* That was a person's try: the beat of our own ones stays as it is. */
		if (breaker->refused)
			next.person_ms = now_ms + BREAKER_PERSON_MS;
		return next;
	}
	if (!refused && !breaker->open && next.failures < BREAKER_FAILURES)
		return next;

	next.open_ms = next_open_ms(breaker, refused);
	next.open = true;
	next.refused = refused;
	next.person_ms = now_ms;
	next.retry_ms = now_ms + next.open_ms + next.open_ms * spread_percent / 500;
	return next;
}

unsigned breaker_spread(int64_t id)
{
	return (unsigned)(hash_spread((uint64_t)id) % 100);
}
