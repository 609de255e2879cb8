#include "bampi/agent/download.h"

#include <errno.h>
#include <sodium.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/client.h"
#include "common/io/log.h"
#include "common/io/loop.h"

#include "bampi/agent/download_policy.h"

#define WANTED_EVERY_MS  200
#define DOWNLOAD_SUBJECT "image"

struct download {
	const struct task *task;
	const char *target;
	download_fn fn;
	void *context;
	struct problem *problem;
	struct loop *loop;
	struct http_client *client;
	struct http_call *call;
	struct loop_timer *retry;
	struct loop_timer *check; /* is the task still wanted? */
	char authorization[256];
	struct download_facts facts;
	int rc;
	unsigned reconnects;
};

static void download_end(struct download *download, int rc)
{
	download->rc = rc;
	loop_stop(download->loop);
}

static int download_on_data(void *context, const void *data, size_t size)
{
	struct download *download = context;
	int rc;

	if (!task_wanted(download->task))
		return -ECANCELED;
	if (size > download->facts.size - download->facts.offset)
		return problem_set(download->problem, E_LIMIT,
				   "the server sends more than the image has");
	rc = download->fn(download->context, data, size, download->problem);
	if (rc && !problem_is_set(download->problem))
		(void)problem_set(download->problem, rc, "the image cannot be taken: %s",
				  error_text(rc));
	if (rc)
		return rc;
	download->facts.offset += size;
	download->facts.last_byte_ms = clock_monotonic_ms();
	download->facts.attempts = 0;
	return 0;
}

static void download_on_done(void *context, int rc, const struct http_response *response,
			     const struct problem *problem)
{
	struct download *download = context;
	struct download_facts *facts = &download->facts;
	struct download_verdict verdict;

	download->call = NULL;
	/* Our own refusal of the bytes: full disk, wrong digest, nobody wants it. */
	if (!task_wanted(download->task)) {
		download_end(download, -ECANCELED);
		return;
	}
	if (problem_is_set(download->problem)) {
		download_end(download, download->problem->code);
		return;
	}
	facts->rc = rc;
	facts->status = rc == 0 && response ? response->status : 0;
	verdict = download_next(facts, clock_monotonic_ms());
	switch (verdict.action) {
	case DOWNLOAD_DONE: download_end(download, 0); break;
	case DOWNLOAD_AGAIN:
		log_warn(
			DOWNLOAD_SUBJECT,
			"the connection ended, going on in %lld ms (offset=%llu size=%llu status=%d reason=%s)",
			(long long)verdict.delay_ms, (unsigned long long)facts->offset,
			(unsigned long long)facts->size, facts->status,
			problem && problem_is_set(problem) ? problem->detail
			: rc                               ? error_text(rc)
							   : "short answer");
		facts->attempts++;
		download->reconnects++;
		loop_timer_arm(download->retry, verdict.delay_ms);
		break;
	case DOWNLOAD_FAIL:
		*download->problem = verdict.problem;
		download_end(download, verdict.problem.code);
		break;
	}
}

static void download_start(void *context)
{
	struct download *download = context;
	char range[48];
	struct http_header headers[] = {{"Authorization", download->authorization},
					{"Range", range}};
	struct http_call_options options = {
		.method = "GET",
		.target = download->target,
		.headers = headers,
		.header_count = download->facts.offset > 0 ? 2 : 1,
		.timeout_ms = download->facts.silence_ms,
		.on_data = download_on_data,
		.on_done = download_on_done,
		.context = download,
	};
	int rc;

	download->facts.asked_range = download->facts.offset > 0;
	(void)text_format(range, sizeof(range), "bytes=%llu-",
			  (unsigned long long)download->facts.offset);
	rc = http_client_call(download->client, &options, &download->call);
	if (rc)
		download_on_done(download, rc, NULL, NULL);
}

static void check_wanted(void *context)
{
	struct download *download = context;

	if (!task_wanted(download->task))
		download_end(download, -ECANCELED);
	else
		loop_timer_arm(download->check, WANTED_EVERY_MS);
}

static int download_transfer(struct download *download)
{
	int rc;

	if (!text_format(download->authorization, sizeof(download->authorization), "Bearer %s",
			 download->task->env->token))
		return E_LIMIT;
	rc = loop_new(&download->loop);
	if (!rc)
		rc = http_client_new_tls(download->loop, download->task->env->url,
					 download->task->env->tls, &download->client);
	if (!rc)
		rc = loop_timer_new(download->loop, download_start, download, &download->retry);
	if (!rc)
		rc = loop_timer_new(download->loop, check_wanted, download, &download->check);
	if (rc)
		return rc;
	download->facts.last_byte_ms = clock_monotonic_ms();
	loop_timer_arm(download->retry, 0);
	loop_timer_arm(download->check, WANTED_EVERY_MS);
	loop_run(download->loop);
	return download->rc;
}

static void download_done(struct download *download)
{
	if (download->call)
		http_call_cancel(download->call);
	if (download->client)
		http_client_free(download->client);
	if (download->retry)
		loop_timer_free(download->retry);
	if (download->check)
		loop_timer_free(download->check);
	if (download->loop)
		loop_free(download->loop);
	sodium_memzero(download->authorization, sizeof(download->authorization));
}

int download_run(const struct task *task, const char *target, uint64_t size, download_fn fn,
		 void *context, struct problem *problem)
{
	struct download download = {
		.task = task,
		.target = target,
		.fn = fn,
		.context = context,
		.problem = problem,
		.facts = {.size = size, .silence_ms = task->env->silence_ms},
	};
	int rc = download_transfer(&download);

	download_done(&download);
	if (!rc)
		log_info(DOWNLOAD_SUBJECT, "%s is complete (bytes=%llu reconnects=%u)", target,
			 (unsigned long long)size, download.reconnects);
	return rc;
}
