#include "trainer_image/train/team.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/error.h"

#include "trainer_image/comm/collective.h"

enum { TEAM_HEAR_MS = 6000, TEAM_PAUSE_MS = 20 };

int team_blame(struct team *team, int rc, struct problem *problem)
{
	const struct timespec pause = {.tv_nsec = TEAM_PAUSE_MS * 1000000L};

	if (rc == -ENOMEM || rc == -EINVAL)
		return problem_set(problem, rc, "ranks: %s", error_text(rc));
	/* The connection may have broken before the watch has heard why. */
	for (int waited = 0; waited < TEAM_HEAR_MS; waited += TEAM_PAUSE_MS) {
		struct problem seen = {0};

		if (!watch_fine(team->watch, &seen)) {
			*problem = seen;
			problem->code = E_UNAVAILABLE;
			return E_UNAVAILABLE;
		}
		(void)nanosleep(&pause, NULL);
	}
	(void)problem_set(problem, E_UNAVAILABLE, "rank %d waited for rank %d: %s", team->rank,
			  team->transport->blamed, error_text(rc));
	return E_UNAVAILABLE;
}

int team_tell(struct team *team, struct team_word *word, struct problem *problem)
{
	struct team_word all[COMM_RANKS_MAX];
	struct team_word sum = {0};

	if (!team || team->ranks < 2)
		return 0;
	struct collective_group group = collective_all(team->transport);
	int rc = collective_gather(team->transport, &group, word, sizeof(*word), all);

	if (rc != 0)
		return team_blame(team, rc, problem);
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

int team_sum(struct team *team, float *numbers, size_t count, struct problem *problem)
{
	if (!team || team->ranks < 2 || count == 0)
		return 0;
	struct collective_group group = collective_all(team->transport);
	CLEANUP(freep)
	uint8_t *workspace =
		malloc(collective_workspace(&group, COLLECTIVE_DIRECT, CODEC_NONE, count));
	const struct collective_sum sum = {.way = COLLECTIVE_DIRECT,
					   .codec = CODEC_NONE,
					   .numbers = numbers,
					   .count = count,
					   .workspace = workspace};

	if (!workspace)
		return problem_set(problem, -ENOMEM, "no memory");
	int rc = collective_sum(team->transport, &group, &sum);

	return rc != 0 ? team_blame(team, rc, problem) : 0;
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
	struct collective_group group = collective_all(team->transport);
	int rc = collective_gather(team->transport, &group, number, sizeof(*number), all);

	if (rc != 0)
		return team_blame(team, rc, problem);
	for (int i = 0; i < team->ranks; i++)
		*number = all[i] < *number ? all[i] : *number;
	return 0;
}
