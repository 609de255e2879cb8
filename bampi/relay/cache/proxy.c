#include "bampi/relay/cache/proxy.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/net/mac.h"

#define TIMEOUT_MS   40000 /* a poll of an agent waits 20 s */
#define ANSWER_LIMIT ((size_t)4 << 20)

LEAKS_LEFT_TO_SANITIZER

struct proxy_pass {
	struct upstream *upstream;
	struct cache_counters *counters;
	struct http_request *request;
	struct http_call *call;
};

static const char *const passed_fields[] = {"Content-Type", "Cache-Control", "Retry-After",
					    "WWW-Authenticate"};

struct upstream_asker proxy_asker(const struct http_request *request)
{
	struct upstream_asker asker = {.client = http_request_peer(request)->address};
	const char *authorization = http_request_header(request, "Authorization");
	const char *key = http_request_header(request, RESULT_AGENT_FIELD);
	const char *signature = http_request_header(request, RESULT_SIGNATURE_FIELD);

	/* One that is too long is none of ours; the controller says so to an empty one too. */
	if (authorization &&
	    !text_copy(asker.authorization, sizeof(asker.authorization), authorization))
		asker.authorization[0] = '\0';
	if (key && !text_copy(asker.agent_key, sizeof(asker.agent_key), key))
		asker.agent_key[0] = '\0';
	if (signature && !text_copy(asker.signature, sizeof(asker.signature), signature))
		asker.signature[0] = '\0';
	return asker;
}

void proxy_answer_away(struct http_request *request)
{
	const char *asked = http_request_query(request, "mac");
	const char *known = http_request_query(request, "again"); /* it has the script already */
	bool knows = known && strlen(known) == 32 && strspn(known, "0123456789abcdef") == 32;
	struct problem problem = {0};
	char text[MAC_TEXT_SIZE];
	char script[256];
	struct mac mac;

	/* iPXE gives up at an error, and the node with it. */
	if (strcmp(http_request_path(request), "/boot/script") == 0 && asked &&
	    mac_parse(asked, &mac) == 0 &&
	    text_format(script, sizeof(script),
			"#!ipxe\necho bampi-relay: the controller does not answer, asking again\n"
			"sleep 5\nchain --replace --autofree /boot/script?mac=%s%s%s\n",
			mac_text(mac, text), knows ? "&again=" : "", knows ? known : "")) {
		http_answer_header(request, "Cache-Control", "no-store");
		http_answer(request, 200, "text/plain; charset=utf-8", script, strlen(script));
		return;
	}
	(void)problem_set(&problem, E_UNAVAILABLE, "the controller does not answer");
	problem_hint(&problem, "ask again");
	http_answer_header(request, "Retry-After", "2");
	http_answer_problem(request, 503, &problem);
}

static void proxy_on_done(void *context, int rc, const struct http_response *response,
			  const struct problem *problem)
{
	CLEANUP(freep) struct proxy_pass *pass = context;

	upstream_note(pass->upstream, rc, problem);
	http_request_on_close(pass->request, NULL, NULL);
	if (rc) {
		pass->counters->proxy_failures++;
		proxy_answer_away(pass->request);
		return;
	}
	for (size_t i = 1; i < COUNT_OF(passed_fields); i++) {
		const char *value = response->header(response, passed_fields[i]);

		if (value)
			http_answer_header(pass->request, passed_fields[i], value);
	}
	http_answer(pass->request, response->status, response->header(response, passed_fields[0]),
		    response->body, response->size);
}

static void proxy_gone(void *context)
{
	struct proxy_pass *pass = context;

	http_call_cancel(pass->call);
	free(pass);
}

static const char *proxy_method_of(const struct http_request *request)
{
	switch (http_request_method(request)) {
	case HTTP_POST: return "POST";
	case HTTP_HEAD: return "HEAD";
	case HTTP_GET:
	case HTTP_PUT:
	case HTTP_PATCH:
	case HTTP_DELETE: break;
	}
	return "GET"; /* there are no routes for the others */
}

void proxy_pass(struct upstream *upstream, struct cache_counters *counters,
		struct http_request *request)
{
	const struct upstream_asker asker = proxy_asker(request);
	struct proxy_pass *pass = calloc(1, sizeof(*pass));
	struct http_call_options options = {
		.method = proxy_method_of(request),
		.target = http_request_raw_target(request),
		.content_type = http_request_header(request, "Content-Type"),
		.timeout_ms = TIMEOUT_MS,
		.response_limit = ANSWER_LIMIT,
		.on_done = proxy_on_done,
		.context = pass,
	};

	options.body = http_request_body(request, &options.body_size);
	counters->proxied++;
	if (!pass) {
		proxy_answer_away(request);
		return;
	}
	*pass = (struct proxy_pass){.upstream = upstream, .counters = counters, .request = request};
	if (upstream_call(upstream, &asker, NULL, 0, &options, &pass->call)) {
		free(pass);
		counters->proxy_failures++;
		proxy_answer_away(request);
		return;
	}
	http_request_on_close(request, proxy_gone, pass);
}
