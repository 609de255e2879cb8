#include "trainer_image/train/team.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/error.h"

enum { TEAM_HEAR_MS = 6000, TEAM_PAUSE_MS = 20 };

/* Has the watch heard why the job is over, `most_ms` from now at the latest? */
static bool team_hears(struct team *team, int most_ms, struct problem *problem)
{
	const struct timespec pause = {.tv_nsec = TEAM_PAUSE_MS * 1000000L};

	for (int waited = 0; team->watch; waited += TEAM_PAUSE_MS) {
		struct problem seen = {0};

		if (!watch_fine(team->watch, &seen)) {
			*problem = seen;
			problem->code = E_UNAVAILABLE;
			return true;
		}
		if (watch_was_away(team->watch, team->transport->blamed, problem))
			return true;
		if (waited >= most_ms)
			break;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

int team_blame(struct team *team, int rc, struct problem *problem)
{
	if (rc == -ENOMEM || rc == -EINVAL)
		return problem_set(problem, rc, "ranks: %s", error_text(rc));
	/* The connection may have broken before the watch has heard why. */
	team->heard = team_hears(team, TEAM_HEAR_MS, problem);
	if (team->heard)
		return E_UNAVAILABLE;
	return problem_set(problem, E_UNAVAILABLE, "rank %d waited for rank %d: %s", team->rank,
			   team->transport->blamed, error_text(rc));
}

/* How long the watch may take to hear of a rank whose end shows as `rc`. */
static int team_patience(int rc)
{
	return rc == -ECANCELED || rc == -ECONNRESET || rc == -EPIPE || rc == -ETIMEDOUT
		       ? TEAM_HEAR_MS
		       : 0;
}

int team_settle(struct team *team, int rc, struct problem *problem)
{
	int most_ms = team_patience(rc);

	/* A device that fails behind another rank's end may fail by it; a bad loss may not. */
	if (!team || rc >= 0 || team->heard || (most_ms == 0 && rc != -EIO))
		return rc;
	team->heard = team_hears(team, most_ms, problem);
	return team->heard ? E_UNAVAILABLE : rc;
}

void team_fail(struct team *team, const struct problem *problem)
{
	if (team && team->watch && !team->heard)
		watch_fail(team->watch, problem);
}

/* The bytes of all ranks, in their order. */
static int team_gather(struct team *team, const void *mine, size_t size, void *ret_all,
		       struct problem *problem)
{
	struct collective_group group = collective_all(team->transport);
	int rc = collective_gather(team->transport, &group, mine, size, ret_all);

	return rc != 0 ? team_blame(team, rc, problem) : 0;
}

int team_tell(struct team *team, struct team_word *word, struct problem *problem)
{
	struct team_word all[COMM_RANKS_MAX];
	struct team_word sum = {0};

	if (!team || team->ranks < 2)
		return 0;
	int rc = team_gather(team, word, sizeof(*word), all, problem);

	if (rc != 0)
		return rc;
	for (int i = 0; i < team->ranks; i++) {
		sum.loss += all[i].loss;
		sum.counted += all[i].counted;
		sum.right += all[i].right;
		sum.samples += all[i].samples;
		sum.skipped += all[i].skipped;
		sum.stop |= all[i].stop;
	}
	*word = sum;
	return 0;
}

// NOLINTNEXTLINE(readability-non-const-parameter): the sums are written to them
int team_sum_of(struct team *team, const struct collective_group *group, float *numbers,
		size_t count, struct problem *problem)
{
	if (group->count < 2 || count == 0)
		return 0;
	CLEANUP(freep)
	uint8_t *workspace =
		malloc(collective_workspace(group, COLLECTIVE_DIRECT, CODEC_NONE, count));
	const struct collective_sum sum = {.way = COLLECTIVE_DIRECT,
					   .codec = CODEC_NONE,
					   .numbers = numbers,
					   .count = count,
					   .workspace = workspace};

	if (!workspace)
		return problem_set(problem, -ENOMEM, "no memory");
	int rc = collective_sum(team->transport, group, &sum);

	return rc != 0 ? team_blame(team, rc, problem) : 0;
}

int team_sum(struct team *team, float *numbers, size_t count, struct problem *problem)
{
	if (!team || team->ranks < 2)
		return 0;
	struct collective_group group = collective_all(team->transport);

	return team_sum_of(team, &group, numbers, count, problem);
}

int team_mean(struct team *team, float *numbers, size_t count, struct problem *problem)
{
	int rc = team_sum(team, numbers, count, problem);

	for (size_t i = 0; rc == 0 && team && team->ranks > 1 && i < count; i++)
		numbers[i] /= (float)team->ranks;
	return rc;
}

int team_least(struct team *team, uint64_t *number, struct problem *problem)
{
	uint64_t all[COMM_RANKS_MAX];

	if (!team || team->ranks < 2)
		return 0;
	int rc = team_gather(team, number, sizeof(*number), all, problem);

	for (int i = 0; rc == 0 && i < team->ranks; i++)
		*number = all[i] < *number ? all[i] : *number;
	return rc;
}

int team_most(struct team *team, uint64_t key, int64_t *numbers, size_t count,
	      struct problem *problem)
{
	uint64_t keys[COMM_RANKS_MAX];

	if (!team || team->ranks < 2)
		return 0;
	int rc = team_gather(team, &key, sizeof(key), keys, problem);

	for (int i = 0; rc == 0 && i < team->ranks; i++)
		if (keys[i] != key)
			return 0;
	if (rc != 0 || count == 0)
		return rc;
	CLEANUP(freep) int64_t *all = calloc((size_t)team->ranks * count, sizeof(*all));
	if (!all)
		return problem_set(problem, -ENOMEM, "no memory");
	rc = team_gather(team, numbers, count * sizeof(*numbers), all, problem);
	for (size_t i = 0; rc == 0 && i < (size_t)team->ranks * count; i++)
		if (all[i] > numbers[i % count])
			numbers[i % count] = all[i];
	return rc;
}
