#include "bampi/relay/cache/fetch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#define SILENCE_MS          20000
#define ATTEMPTS_MAX        6 /* without a byte in between */
#define DELAY_MS            200
#define CACHE_FETCH_SUBJECT "cache"

LEAKS_LEFT_TO_SANITIZER

struct cache_fetch {
	struct fetches *fetches;
	struct object *object;
	char target[UPSTREAM_TARGET_MAX];
	struct upstream_asker asker;
	char tag[UPSTREAM_TAG_MAX + 1];
	bool resumable;
	unsigned attempts;
	int disk_rc; /* why we ended a call ourselves */
	struct http_call *call;
	struct loop_timer *retry;
	struct cache_fetch *prev, *next;
};

struct fetches {
	struct loop *loop;
	struct upstream *upstream;
	struct cache_counters *counters;
	struct cache_fetch *list;
};

int fetches_new(struct loop *loop, struct upstream *upstream, struct cache_counters *counters,
		struct fetches **ret)
{
	struct fetches *fetches = calloc(1, sizeof(*fetches));

	if (!fetches)
		return -ENOMEM;
	*fetches = (struct fetches){.loop = loop, .upstream = upstream, .counters = counters};
	*ret = fetches;
	return 0;
}

static void cache_fetch_free(struct cache_fetch *fetch)
{
	DL_DELETE(fetch->fetches->list, fetch);
	http_call_cancel(fetch->call);
	loop_timer_free(fetch->retry);
	object_unref(fetch->object);
	free(fetch);
}

void fetches_free(struct fetches *fetches)
{
	if (!fetches)
		return;
	while (fetches->list)
		cache_fetch_free(fetches->list);
	free(fetches);
}

static void cache_fetch_give_up(struct cache_fetch *fetch, const char *why)
{
	struct object *object = fetch->object;

	log_warn(CACHE_FETCH_SUBJECT, "%s does not come: %s (bytes=%" PRIu64 " of=%" PRIu64 ")",
		 fetch->target, why, object->have, object->size);
	object_ref(object);
	if (fetch->resumable && !fetch->disk_rc)
		object_stall(object);
	else
		object_fail(object);
	cache_fetch_free(fetch);
	object_unref(object);
}

static int cache_fetch_on_data(void *context, const void *data, size_t size)
{
	struct cache_fetch *fetch = context;

	fetch->disk_rc = object_write(fetch->object, data, size);
	if (fetch->disk_rc)
		return fetch->disk_rc;
	fetch->attempts = 0;
	fetch->fetches->counters->upstream_bytes += size;
	return 0;
}

/* NULL: it is whole or may be tried again. */
static const char *final_reason(const struct cache_fetch *fetch, int rc,
				const struct http_response *response)
{
	const char *tag;

	if (fetch->disk_rc)
		return error_text(fetch->disk_rc);
	if (rc == 0 && response->status >= 400 && response->status < 500)
		return "the controller refuses it";
	tag = rc == 0 && fetch->tag[0] ? response->header(response, "ETag") : NULL;
	if (rc == 0 && fetch->tag[0] && (!tag || strcmp(tag, fetch->tag) != 0))
		return "it was replaced meanwhile";
	if (!fetch->resumable && (rc || fetch->object->have < fetch->object->size))
		return rc ? error_text(rc) : "the answer was short";
	return fetch->attempts >= ATTEMPTS_MAX ? "the controller does not answer" : NULL;
}

static void cache_fetch_on_done(void *context, int rc, const struct http_response *response,
				const struct problem *problem)
{
	struct cache_fetch *fetch = context;
	const struct object *object = fetch->object;
	const char *reason;

	fetch->call = NULL;
	if (!fetch->disk_rc)
		upstream_note(fetch->fetches->upstream, rc, problem);
	reason = final_reason(fetch, rc, response);
	if (object->state == OBJECT_FAILED || (!reason && object->have == object->size)) {
		cache_fetch_free(fetch);
	} else if (reason) {
		cache_fetch_give_up(fetch, reason);
	} else {
		fetch->fetches->counters->resumed++;
		loop_timer_arm(fetch->retry, (int64_t)DELAY_MS << fetch->attempts);
		fetch->attempts++;
	}
}

static void cache_fetch_start(void *context)
{
	struct cache_fetch *fetch = context;
	char range[40];
	const struct http_header ranges = {"Range", range};
	const struct http_call_options options = {.method = "GET",
						  .target = fetch->target,
						  .timeout_ms = SILENCE_MS,
						  .on_data = cache_fetch_on_data,
						  .on_done = cache_fetch_on_done,
						  .context = fetch};

	(void)text_format(range, sizeof(range), "bytes=%" PRIu64 "-", fetch->object->have);
	if (upstream_call(fetch->fetches->upstream, &fetch->asker, &ranges,
			  fetch->object->have > 0 ? 1 : 0, &options, &fetch->call))
		cache_fetch_give_up(fetch, "no memory");
}

void fetch_start(struct fetches *fetches, struct object *object,
		 const struct fetch_options *options)
{
	struct cache_fetch *fetch;

	DL_FOREACH(fetches->list, fetch)
	{
		if (fetch->object == object)
			return;
	}
	if (object->have == object->size)
		return;
	fetch = calloc(1, sizeof(*fetch));
	if (!fetch || loop_timer_new(fetches->loop, cache_fetch_start, fetch, &fetch->retry) ||
	    !text_copy(fetch->target, sizeof(fetch->target), options->target)) {
		if (fetch)
			loop_timer_free(fetch->retry);
		free(fetch);
		if (options->resumable)
			object_stall(object);
		else
			object_fail(object);
		return;
	}
	fetch->fetches = fetches;
	fetch->object = object;
	fetch->asker = *options->asker;
	fetch->resumable = options->resumable;
	(void)text_copy(fetch->tag, sizeof(fetch->tag), options->tag);
	object_ref(object);
	object_resume(object);
	DL_APPEND(fetches->list, fetch);
	cache_fetch_start(fetch);
}
