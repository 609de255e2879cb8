#include "bampi/storage/volume_rest.h"

#include <errno.h>
#include <stdlib.h>

#include "bampi/storage/volume_policy.h"

#define ROW_MS 3600000 /* so long without a failure ends a row of them */

struct rest {
	struct rest *next;
	struct volume_key key;
	unsigned failures;
	int64_t until_ms;
	bool asked;
};

struct volume_rests {
	struct rest *first;
};

int volume_rests_new(struct volume_rests **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void volume_rest_drop(struct rest **link)
{
	struct rest *rest = *link;

	*link = rest->next;
	free(rest);
}

void volume_rests_free(struct volume_rests *rests)
{
	while (rests && rests->first)
		volume_rest_drop(&rests->first);
	free(rests);
}

static struct rest *volume_rest_find(const struct volume_rests *rests, struct volume_key key)
{
	struct rest *rest = rests->first;

	while (rest && (rest->key.id != key.id || rest->key.archive != key.archive))
		rest = rest->next;
	return rest;
}

static struct rest *volume_rest_add(struct volume_rests *rests, struct volume_key key)
{
	struct rest *rest = calloc(1, sizeof(*rest));

	if (!rest)
		return NULL;
	rest->key = key;
	rest->next = rests->first;
	rests->first = rest;
	return rest;
}

unsigned volume_rests_note(struct volume_rests *rests, struct volume_key key, bool failed,
			   int64_t now_ms)
{
	struct rest *rest = volume_rest_find(rests, key);

	if (!rest && failed)
		rest = volume_rest_add(rests, key);
	if (!rest)
		return failed;
	if (now_ms - rest->until_ms > ROW_MS)
		rest->failures = 0;
	rest->failures = failed ? rest->failures + 1 : 0;
	rest->until_ms = failed ? now_ms + volume_retry_ms(rest->failures) : 0;
	return rest->failures;
}

bool volume_rests_has(struct volume_rests *rests, struct volume_key key, int64_t now_ms)
{
	struct rest *rest = volume_rest_find(rests, key);

	if (rest)
		rest->asked = true;
	return rest && rest->until_ms > now_ms;
}

void volume_rests_sweep(struct volume_rests *rests)
{
	struct rest **link = &rests->first;

	while (*link) {
		if ((*link)->asked) {
			(*link)->asked = false;
			link = &(*link)->next;
		} else {
			volume_rest_drop(link);
		}
	}
}
