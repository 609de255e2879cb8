#include "bampi/relay/cache/upstream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"
#include "common/net/forwarded_wire.h"

#define HEAD_TIMEOUT_MS  3000
#define AWAY_MS          2000
#define HEADERS_MAX      7
#define UPSTREAM_SUBJECT "controller"

LEAKS_LEFT_TO_SANITIZER

struct head_call;

struct upstream {
	struct loop *loop;
	struct http_client *client;
	struct cache_counters *counters;
	int64_t away_until_ms;
	bool away;                                        /* as the log last said */
	char why[sizeof(((struct problem *)0)->message)]; /* the last cause in the log */
	struct head_call *heads;
};

struct head_call {
	struct upstream *upstream;
	upstream_head_fn fn;
	void *context;
	struct http_call *call;
	struct head_call *prev, *next;
};

int upstream_new(struct loop *loop, const char *url, const struct tls *tls,
		 struct cache_counters *counters, struct upstream **ret)
{
	struct upstream *upstream = calloc(1, sizeof(*upstream));
	int rc;

	if (!upstream)
		return -ENOMEM;
	upstream->loop = loop;
	upstream->counters = counters;
	rc = http_client_new_tls(loop, url, tls, &upstream->client);
	if (rc) {
		free(upstream);
		return rc;
	}
	*ret = upstream;
	return 0;
}

void upstream_free(struct upstream *upstream)
{
	if (!upstream)
		return;
	while (upstream->heads) {
		struct head_call *call = upstream->heads;

		DL_DELETE(upstream->heads, call);
		http_call_cancel(call->call);
		call->fn(call->context, -ECANCELED, &(struct upstream_head){0});
		free(call);
	}
	http_client_free(upstream->client);
	free(upstream);
}

bool upstream_is_away(const struct upstream *upstream)
{
	return loop_now_ms(upstream->loop) < upstream->away_until_ms;
}

void upstream_note(struct upstream *upstream, int rc, const struct problem *problem)
{
	bool away = rc == E_UNAVAILABLE || rc == E_TIMEOUT;

	if (rc)
		upstream->counters->upstream_failures++;
	upstream->away_until_ms = away ? loop_now_ms(upstream->loop) + AWAY_MS : 0;
	if (away && problem && strcmp(upstream->why, problem->message) != 0) {
		log_problem(LOG_LEVEL_WARN, UPSTREAM_SUBJECT, problem);
		(void)text_copy(upstream->why, sizeof(upstream->why), problem->message);
	}
	if (!away)
		upstream->why[0] = '\0';
	if (away != upstream->away && away)
		log_warn(UPSTREAM_SUBJECT, "does not answer; boot files are served as they were");
	else if (away != upstream->away)
		log_info(UPSTREAM_SUBJECT, "answers again");
	upstream->away = away;
	upstream->counters->controller_away = away;
}

int upstream_call(struct upstream *upstream, const struct upstream_asker *asker,
		  const struct http_header *more, size_t more_count,
		  const struct http_call_options *options, struct http_call **ret)
{
	struct http_call_options own = *options;
	struct http_header headers[HEADERS_MAX];
	char forwarded[FORWARDED_TEXT_SIZE];
	size_t count = 0;

	if (more_count > HEADERS_MAX - 4)
		return -EINVAL;
	if (asker->client)
		headers[count++] = (struct http_header){FORWARDED_FIELD,
							forwarded_encode(asker->client, forwarded)};
	if (asker->authorization[0])
		headers[count++] = (struct http_header){"Authorization", asker->authorization};
	if (asker->agent_key[0])
		headers[count++] = (struct http_header){RESULT_AGENT_FIELD, asker->agent_key};
	if (asker->signature[0])
		headers[count++] = (struct http_header){RESULT_SIGNATURE_FIELD, asker->signature};
	for (size_t i = 0; i < more_count; i++)
		headers[count++] = more[i];
	own.headers = headers;
	own.header_count = count;
	return http_client_call(upstream->client, &own, ret);
}

static uint64_t upstream_length_of(const struct http_response *response)
{
	const char *text = response->header(response, "Content-Length");

	/* The client held it to be a number. */
	return text ? strtoull(text, NULL, 10) : 0;
}

static void head_done(void *context, int rc, const struct http_response *response,
		      const struct problem *problem)
{
	CLEANUP(freep) struct head_call *call = context;
	struct upstream_head head = {0};

	DL_DELETE(call->upstream->heads, call);
	upstream_note(call->upstream, rc, problem);
	if (rc == 0) {
		const char *tag = response->header(response, "ETag");
		const char *type = response->header(response, "Content-Type");

		head.status = response->status;
		head.size = upstream_length_of(response);
		if (tag && !text_copy(head.tag, sizeof(head.tag), tag))
			head.tag[0] = '\0';
		if (!type || !text_copy(head.type, sizeof(head.type), type))
			(void)text_copy(head.type, sizeof(head.type), "application/octet-stream");
	}
	call->fn(call->context, rc, &head);
}

int upstream_head(struct upstream *upstream, const char *target, const struct upstream_asker *asker,
		  upstream_head_fn fn, void *context)
{
	struct head_call *call = calloc(1, sizeof(*call));
	const struct http_call_options options = {.method = "HEAD",
						  .target = target,
						  .timeout_ms = HEAD_TIMEOUT_MS,
						  .on_done = head_done,
						  .context = call};
	int rc;

	if (!call)
		return -ENOMEM;
	*call = (struct head_call){.upstream = upstream, .fn = fn, .context = context};
	upstream->counters->upstream_heads++;
	rc = upstream_call(upstream, asker, NULL, 0, &options, &call->call);
	if (rc) {
		free(call);
		return rc;
	}
	DL_APPEND(upstream->heads, call);
	return 0;
}

static void tell_done(void *context, int rc, const struct http_response *response,
		      const struct problem *problem)
{
	struct upstream *upstream = context;

	(void)response;
	upstream_note(upstream, rc, problem);
}

void upstream_tell(struct upstream *upstream, const char *target,
		   const struct upstream_asker *asker, uint64_t bytes)
{
	char text[24];
	const struct http_header fetched = {"Haas-Fetched", text};
	const struct http_call_options options = {.method = "HEAD",
						  .target = target,
						  .timeout_ms = HEAD_TIMEOUT_MS,
						  .on_done = tell_done,
						  .context = upstream};

	(void)text_format(text, sizeof(text), "%" PRIu64, bytes);
	if (!upstream_is_away(upstream) &&
	    upstream_call(upstream, asker, &fetched, 1, &options, NULL))
		upstream->counters->upstream_failures++;
}
