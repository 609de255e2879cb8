#include "portal/cli/haasctl.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/http/json_reader.h"
#include "common/io/loop.h"

#define API_BASE "/api/v1"

struct haasctl {
	struct loop *loop;
	struct http_client *client;
	struct http_call *call;
	bool interrupted;
	bool done;
	/* of the call under way */
	int rc;
	struct problem problem;
	struct haasctl_reply reply;
	int (*on_data)(void *context, const void *data, size_t size);
	void *data_context;
};

static void on_interrupt(void *context)
{
	struct haasctl *haasctl = context;

	haasctl->interrupted = true;
	loop_stop(haasctl->loop);
}

int haasctl_new(struct haasctl **ret)
{
	struct haasctl *haasctl = calloc(1, sizeof(*haasctl));

	if (!haasctl)
		return -ENOMEM;
	int rc = loop_new(&haasctl->loop);
	if (rc == 0)
		rc = loop_on_signal(haasctl->loop, SIGINT, on_interrupt, haasctl);
	if (rc < 0) {
		haasctl_free(haasctl);
		return rc;
	}
	*ret = haasctl;
	return 0;
}

void haasctl_free(struct haasctl *haasctl)
{
	if (!haasctl)
		return;
	http_client_free(haasctl->client);
	loop_free(haasctl->loop);
	free(haasctl);
}

struct loop *haasctl_loop(struct haasctl *haasctl)
{
	return haasctl->loop;
}

bool haasctl_interrupted(const struct haasctl *haasctl)
{
	return haasctl->interrupted;
}

void haasctl_problem(const struct problem *problem)
{
	fprintf(stderr, "haasctl: %s\n", problem->message);
	if (problem->detail[0])
		fprintf(stderr, "  %s\n", problem->detail);
	if (problem->hint[0])
		fprintf(stderr, "  hint: %s\n", problem->hint);
}

int haasctl_usage(const char *format, ...)
{
	va_list arguments;

	fputs("haasctl: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

void haasctl_reply_done(struct haasctl_reply *reply)
{
	json_decref(reply->json);
	*reply = (struct haasctl_reply){0};
}

static int on_data(void *context, const void *data, size_t size)
{
	struct haasctl *haasctl = context;

	return haasctl->on_data(haasctl->data_context, data, size);
}

static void on_done(void *context, int rc, const struct http_response *response,
		    const struct problem *problem)
{
	struct haasctl *haasctl = context;

	haasctl->call = NULL;
	haasctl->done = true;
	haasctl->rc = rc;
	if (problem)
		haasctl->problem = *problem;
	if (rc == 0) {
		const char *etag = response->header(response, "ETag");

		haasctl->reply.status = response->status;
		text_copy(haasctl->reply.etag, sizeof(haasctl->reply.etag), etag ? etag : "");
		if (response->body && response->size > 0)
			haasctl->rc = json_read(response->body, response->size, (size_t)64 << 20,
						&haasctl->reply.json, &haasctl->problem);
	}
	loop_stop(haasctl->loop);
}

static int connect_client(struct haasctl *haasctl, const struct command_input *input,
			  struct problem *problem)
{
	CLEANUP(text_done) struct text url = {0};
	const char *socket = command_option(input, "--socket");

	if (haasctl->client)
		return 0;
	if (!socket)
		socket = getenv("HAAS_SOCKET");
	text_addf(&url, "unix:%s", socket ? socket : HAASCTL_DEFAULT_SOCKET);
	int rc = http_client_new(haasctl->loop, text_get(&url), &haasctl->client);
	if (rc < 0)
		problem_set(problem, rc, "cannot use the socket %s: %s", text_get(&url),
			    error_text(rc));
	return rc;
}

static int exit_of_status(int status)
{
	static const struct {
		int status, exit;
	} rows[] = {
		{401, EXIT_DENIED},   {403, EXIT_DENIED},   {404, EXIT_NOT_FOUND},
		{409, EXIT_CONFLICT}, {412, EXIT_CONFLICT}, {428, EXIT_CONFLICT},
		{504, EXIT_TIMEOUT},
	};

	if (status < 400)
		return EXIT_OK;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].status == status)
			return rows[i].exit;
	}
	return EXIT_FAILED;
}

static const char *member(const json_t *json, const char *key)
{
	const char *value = json_string_value(json_object_get(json, key));

	return value ? value : "";
}

/* An RFC 9457 body for people: title, detail, one line per error, hint. */
static void tell_refusal(const struct haasctl_reply *reply)
{
	const json_t *error;
	size_t i;

	fprintf(stderr, "haasctl: %s\n",
		member(reply->json, "title")[0] ? member(reply->json, "title")
						: "the request was refused");
	if (member(reply->json, "detail")[0])
		fprintf(stderr, "  %s\n", member(reply->json, "detail"));
	json_array_foreach(json_object_get(reply->json, "errors"), i, error)
	{
		CLEANUP(text_done) struct text where = {0};

		if (json_object_get(error, "row"))
			text_addf(&where, "row %" JSON_INTEGER_FORMAT ", ",
				  json_integer_value(json_object_get(error, "row")));
		if (member(error, "column")[0])
			text_addf(&where, "%s: ", member(error, "column"));
		else if (member(error, "pointer")[0])
			text_addf(&where, "%s: ", member(error, "pointer"));
		fprintf(stderr, "  %s%s", text_get(&where), member(error, "message"));
		if (member(error, "allowed")[0])
			fprintf(stderr, " (%s)", member(error, "allowed"));
		fprintf(stderr, member(error, "hint")[0] ? "; %s\n" : "%s\n",
			member(error, "hint"));
	}
	if (member(reply->json, "hint")[0])
		fprintf(stderr, "  hint: %s\n", member(reply->json, "hint"));
}

static int finish(struct haasctl *haasctl, struct haasctl_reply *ret)
{
	struct haasctl_reply reply = haasctl->reply;

	haasctl->reply = (struct haasctl_reply){0};
	if (haasctl->interrupted) {
		haasctl_reply_done(&reply);
		return EXIT_INTERRUPTED;
	}
	if (haasctl->rc < 0) {
		haasctl_reply_done(&reply);
		if (!haasctl->problem.hint[0])
			problem_hint(
				&haasctl->problem,
				"is portald running? choose its socket by --socket or HAAS_SOCKET");
		haasctl_problem(&haasctl->problem);
		return haasctl->rc == E_TIMEOUT ? EXIT_TIMEOUT : EXIT_UNREACHABLE;
	}
	int status = exit_of_status(reply.status);
	if (status != EXIT_OK) {
		tell_refusal(&reply);
		haasctl_reply_done(&reply);
		return status;
	}
	*ret = reply;
	return EXIT_OK;
}

int haasctl_call(struct haasctl *haasctl, const struct command_input *input,
		 const struct haasctl_call *call, struct haasctl_reply *ret)
{
	CLEANUP(text_done) struct text target = {0};
	struct http_header headers[3];
	size_t header_count = 0;
	const char *tenant = command_option(input, "--as-tenant");
	char key[TOKEN_TEXT_SIZE];
	struct problem problem = {0};

	if (connect_client(haasctl, input, &problem) < 0) {
		haasctl_problem(&problem);
		return EXIT_UNREACHABLE;
	}
	text_addf(&target, "%s%s", API_BASE, call->target);
	if (tenant)
		headers[header_count++] = (struct http_header){"X-Haas-Tenant", tenant};
	if (call->if_match)
		headers[header_count++] = (struct http_header){"If-Match", call->if_match};
	if (strcmp(call->method, "POST") == 0) {
		const char *given = command_option(input, "--idempotency-key");

		token_new(key);
		headers[header_count++] =
			(struct http_header){"Idempotency-Key", given ? given : key};
	}
	haasctl->done = false;
	haasctl->on_data = call->on_data;
	haasctl->data_context = call->context;
	haasctl->problem = (struct problem){0};
	haasctl->rc = http_client_call(
		haasctl->client,
		&(struct http_call_options){
			.method = call->method,
			.target = text_get(&target),
			.headers = headers,
			.header_count = header_count,
			.body = call->body,
			.body_size = call->body_size || !call->body ? call->body_size
								    : strlen(call->body),
			.content_type = call->content_type,
			.timeout_ms = call->on_data ? INT64_C(3600000) : 60000,
			.response_limit = (size_t)64 << 20,
			.on_data = call->on_data ? on_data : NULL,
			.on_done = on_done,
			.context = haasctl,
		},
		&haasctl->call);
	if (haasctl->rc < 0)
		problem_set(&haasctl->problem, haasctl->rc, "cannot ask portald: %s",
			    error_text(haasctl->rc));
	while (haasctl->rc == 0 && !haasctl->done && !haasctl->interrupted)
		loop_run(haasctl->loop);
	if (haasctl->interrupted && haasctl->call) {
		http_call_cancel(haasctl->call);
		haasctl->call = NULL;
	}
	return finish(haasctl, ret);
}

int haasctl_get(struct haasctl *haasctl, const struct command_input *input, const char *target,
		struct haasctl_reply *ret)
{
	return haasctl_call(haasctl, input,
			    &(struct haasctl_call){.method = "GET", .target = target}, ret);
}

int haasctl_post(struct haasctl *haasctl, const struct command_input *input, const char *target,
		 const struct text *body, struct haasctl_reply *ret)
{
	return haasctl_call(haasctl, input,
			    &(struct haasctl_call){.method = "POST",
						   .target = target,
						   .body = text_get(body),
						   .body_size = body->size},
			    ret);
}

static void on_timer(void *context)
{
	loop_stop(context);
}

bool haasctl_sleep(struct haasctl *haasctl, int64_t ms)
{
	struct loop_timer *timer = NULL;

	if (haasctl->interrupted ||
	    loop_timer_new(haasctl->loop, on_timer, haasctl->loop, &timer) < 0)
		return false;
	loop_timer_arm(timer, ms);
	loop_run(haasctl->loop);
	loop_timer_free(timer);
	return !haasctl->interrupted;
}
