#include "portal/server/read_turn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash_table.h"

LEAKS_LEFT_TO_SANITIZER

/* One who has reads that wait or run. */
struct read_asker {
	char *name;
	struct read_item *first, *last; /* that wait */
	size_t waiting;
	unsigned running;
	int64_t seen_ms;         /* its last one was done */
	struct read_asker *next; /* in the line of those who wait */
	UT_hash_handle hh;
};

struct read_turn {
	unsigned slots, running, among;
	size_t waiting;
	struct read_asker *askers;
	struct read_asker *first, *last; /* the line: who was served goes to its end */
};

int read_turn_new(unsigned slots, unsigned among, struct read_turn **ret)
{
	struct read_turn *turn = calloc(1, sizeof(*turn));

	if (!turn)
		return -ENOMEM;
	turn->slots = slots;
	turn->among = among > 0 ? among : 1;
	*ret = turn;
	return 0;
}

static void read_turn_forget(struct read_turn *turn, struct read_asker *asker)
{
	HASH_DEL(turn->askers, asker);
	free(asker->name);
	free(asker);
}

void read_turn_free(struct read_turn *turn)
{
	while (turn && turn->askers)
		read_turn_forget(turn, turn->askers);
	free(turn);
}

static void read_turn_line_up(struct read_turn *turn, struct read_asker *asker)
{
	asker->next = NULL;
	*(turn->last ? &turn->last->next : &turn->first) = asker;
	turn->last = asker;
}

static void read_turn_leave_line(struct read_turn *turn, struct read_asker *asker)
{
	struct read_asker *before = NULL;

	for (struct read_asker *at = turn->first; at != asker; at = at->next)
		before = at;
	*(before ? &before->next : &turn->first) = asker->next;
	if (turn->last == asker)
		turn->last = before;
}

static int read_turn_find(struct read_turn *turn, const char *name, struct read_asker **ret)
{
	struct read_asker *asker = NULL;

	HASH_FIND_STR(turn->askers, name, asker);
	if (!asker) {
		asker = calloc(1, sizeof(*asker));
		if (asker)
			asker->name = strdup(name);
		if (!asker || !asker->name) {
			free(asker);
			return -ENOMEM;
		}
		HASH_ADD_KEYPTR(hh, turn->askers, asker->name, strlen(asker->name), asker);
	}
	*ret = asker;
	return 0;
}

/* How many each may run now. Forgets who has not asked for a while. */
static unsigned read_turn_share(struct read_turn *turn, int64_t now_ms)
{
	struct read_asker *asker;
	struct read_asker *next;

	HASH_ITER(hh, turn->askers, asker, next)
	{
		if (asker->waiting == 0 && asker->running == 0 &&
		    now_ms - asker->seen_ms > READ_TURN_ABOUT_MS)
			read_turn_forget(turn, asker);
	}
	return HASH_COUNT(turn->askers) < 2 ? (turn->slots + 1) / 2 : turn->among;
}

int read_turn_add(struct read_turn *turn, const char *name, struct read_item *item)
{
	struct read_asker *asker;
	int rc = read_turn_find(turn, name, &asker);

	if (rc != 0)
		return rc;
	if (asker->waiting >= READ_TURN_WAITING)
		return E_LIMIT;
	asker->seen_ms = item->since_ms;
	if (asker->waiting == 0)
		read_turn_line_up(turn, asker);
	item->next = NULL;
	item->asker = asker;
	*(asker->waiting > 0 ? &asker->last->next : &asker->first) = item;
	asker->last = item;
	asker->waiting++;
	turn->waiting++;
	return 0;
}

/* The oldest of an asker's. */
static struct read_item *read_turn_take(struct read_turn *turn, struct read_asker *asker)
{
	struct read_item *item = asker->first;

	asker->first = item->next;
	asker->waiting--;
	turn->waiting--;
	read_turn_leave_line(turn, asker);
	if (asker->waiting > 0)
		read_turn_line_up(turn, asker);
	return item;
}

struct read_item *read_turn_next(struct read_turn *turn, int64_t now_ms)
{
	struct read_asker *asker = turn->first;
	unsigned share;

	if (!asker || turn->running >= turn->slots)
		return NULL;
	share = read_turn_share(turn, now_ms);
	while (asker && asker->running >= share)
		asker = asker->next;
	if (!asker)
		return NULL;
	asker->running++;
	turn->running++;
	return read_turn_take(turn, asker);
}

void read_turn_done(struct read_turn *turn, struct read_item *item, int64_t now_ms)
{
	item->asker->running--;
	item->asker->seen_ms = now_ms;
	turn->running--;
	item->asker = NULL;
}

struct read_item *read_turn_late(struct read_turn *turn, int64_t before_ms)
{
	struct read_asker *asker = turn->first;
	struct read_item *item;

	while (asker && asker->first->since_ms >= before_ms)
		asker = asker->next;
	if (!asker)
		return NULL;
	item = read_turn_take(turn, asker);
	item->asker = NULL;
	return item;
}

size_t read_turn_waiting(const struct read_turn *turn)
{
	return turn->waiting;
}
