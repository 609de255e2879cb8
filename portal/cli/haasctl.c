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

/* The server sends a comment into its streams every 15 s; silence for so long is a broken one. */
#define ANSWER_LIMIT_MS 60000

struct haasctl {
	struct loop *loop;
	struct http_client *client;
	struct http_call *call;
	bool interrupted;
	bool stopped; /* haasctl_stop */
	bool done;
	/* of the call under way */
	int rc;
	struct problem problem;
	struct haasctl_reply reply;
	const struct haasctl_call *asked;
	char key[TOKEN_TEXT_SIZE]; /* its Idempotency-Key when we made one up */
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

void haasctl_stop(struct haasctl *haasctl)
{
	haasctl->stopped = true;
	loop_stop(haasctl->loop);
}

void haasctl_problem(const struct problem *problem)
{
	fprintf(stderr, "haasctl: %s\n", problem->message);
	if (problem->detail[0])
		fprintf(stderr, "  %s\n", problem->detail);
	if (problem->hint[0])
		fprintf(stderr, "  hint: %s\n", problem->hint);
}

void haasctl_stored_problem(const char *subject, const json_t *problem)
{
	if (!json_is_object(problem))
		return;
	fprintf(stderr, "%s: %s\n", subject, haasctl_word(problem, "message"));
	if (haasctl_word(problem, "detail")[0])
		fprintf(stderr, "  %s\n", haasctl_word(problem, "detail"));
	if (haasctl_word(problem, "hint")[0])
		fprintf(stderr, "  hint: %s\n", haasctl_word(problem, "hint"));
}

int haasctl_cannot(const char *verb, const char *path, int rc)
{
	fprintf(stderr, "haasctl: cannot %s %s: %s\n", verb, path, error_text(rc));
	return EXIT_FAILED;
}

int haasctl_usage(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "haasctl: ");
	va_start(arguments, format);
	(void)say_list(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

void haasctl_reply_done(struct haasctl_reply *reply)
{
	json_decref(reply->json);
	*reply = (struct haasctl_reply){0};
}

static int haasctl_on_data(void *context, const void *data, size_t size)
{
	struct haasctl *haasctl = context;

	if (!haasctl->stopped)
		haasctl->asked->on_data(haasctl->asked->context, data, size);
	return 0;
}

static void haasctl_on_done(void *context, int rc, const struct http_response *response,
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

int haasctl_connect(struct haasctl *haasctl, const struct command_input *input,
		    struct http_client **ret)
{
	CLEANUP(text_done) struct text url = {0};
	const char *socket = command_option(input, "--socket");

	if (!socket)
		socket = getenv("HAAS_SOCKET");
	text_addf(&url, "unix:%s", socket ? socket : HAASCTL_DEFAULT_SOCKET);
	int rc = http_client_new(haasctl->loop, text_get(&url), ret);
	if (rc == 0)
		return EXIT_OK;
	(void)haasctl_cannot("use the socket", text_get(&url), rc);
	return EXIT_UNREACHABLE;
}

static int exit_of_status(int status)
{
	static const struct {
		int status, exit;
	} rows[] = {
		{401, EXIT_DENIED},      {403, EXIT_DENIED},      {404, EXIT_NOT_FOUND},
		{409, EXIT_CONFLICT},    {412, EXIT_CONFLICT},    {428, EXIT_CONFLICT},
		{502, EXIT_UNREACHABLE}, {503, EXIT_UNREACHABLE}, {504, EXIT_UNREACHABLE},
	};

	if (status < 400)
		return EXIT_OK;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].status == status)
			return rows[i].exit;
	}
	return EXIT_FAILED;
}

/* "  row 3, mac: what is wrong (what may stand there); what to do". What the whole said already is
 * not said again. */
static void tell_error(const json_t *whole, const json_t *error)
{
	CLEANUP(text_done) struct text line = {0};
	const char *hint = haasctl_word(error, "hint");
	const char *place = haasctl_word(error, "column");

	if (!*place)
		place = haasctl_word(error, "pointer");
	if (json_object_get(error, "row"))
		text_addf(&line, "row %" JSON_INTEGER_FORMAT ", ",
			  json_integer_value(json_object_get(error, "row")));
	text_addf(&line, "%s%s", place, *place ? ": " : "");
	if (line.size == 0 &&
	    strcmp(haasctl_word(error, "message"), haasctl_word(whole, "title")) == 0)
		return;
	text_add(&line, haasctl_word(error, "message"));
	if (haasctl_word(error, "allowed")[0])
		text_addf(&line, " (%s)", haasctl_word(error, "allowed"));
	if (*hint && strcmp(hint, haasctl_word(whole, "hint")) != 0)
		text_addf(&line, "; %s", hint);
	fprintf(stderr, "  %s\n", text_get(&line));
}

/* An RFC 9457 body for people: title, detail, one line per error, hint. */
static void haasctl_tell_refusal(const json_t *problem)
{
	const char *title = haasctl_word(problem, "title");
	const json_t *error;
	size_t i;

	fprintf(stderr, "haasctl: %s\n", *title ? title : "the request was refused");
	if (haasctl_word(problem, "detail")[0])
		fprintf(stderr, "  %s\n", haasctl_word(problem, "detail"));
	json_array_foreach(json_object_get(problem, "errors"), i, error) tell_error(problem, error);
	if (haasctl_word(problem, "hint")[0])
		fprintf(stderr, "  hint: %s\n", haasctl_word(problem, "hint"));
}

/* The same as one problem, for a caller that tells it. */
static void keep_refusal(const json_t *refusal, int status, struct problem *ret)
{
	const json_t *error = json_array_get(json_object_get(refusal, "errors"), 0);
	const char *title = haasctl_word(refusal, "title");
	const char *detail = haasctl_word(refusal, "detail");
	const char *hint = haasctl_word(refusal, "hint");

	(void)problem_set(ret, status, "%s", *title ? title : "the request was refused");
	if (!*detail && strcmp(haasctl_word(error, "message"), title) != 0)
		detail = haasctl_word(error, "message");
	problem_detail(ret, "%s", detail);
	problem_hint(ret, "%s", *hint ? hint : haasctl_word(error, "hint"));
}

/* No answer. A POST may have been done all the same; its key makes asking again safe. */
static int tell_silence(struct haasctl *haasctl)
{
	struct problem *problem = &haasctl->problem;

	problem_hint(
		problem, "is portald running? choose its socket by --socket or HAAS_SOCKET%s%s",
		haasctl->key[0] ? "; ask again safely with --idempotency-key " : "", haasctl->key);
	if (haasctl->asked->problem)
		*haasctl->asked->problem = *problem;
	else if (haasctl->asked->untold != EXIT_UNREACHABLE)
		haasctl_problem(problem);
	return haasctl->rc == E_TIMEOUT ? EXIT_TIMEOUT : EXIT_UNREACHABLE;
}

static int haasctl_finish(struct haasctl *haasctl, struct haasctl_reply *ret)
{
	struct haasctl_reply reply = haasctl->reply;
	int status = exit_of_status(reply.status);

	haasctl->reply = (struct haasctl_reply){0};
	if (haasctl->interrupted)
		status = EXIT_INTERRUPTED;
	else if (haasctl->stopped)
		status = EXIT_OK;
	else if (haasctl->rc < 0)
		status = tell_silence(haasctl);
	else if (status != EXIT_OK && haasctl->asked->problem)
		keep_refusal(reply.json, status, haasctl->asked->problem);
	else if (status != EXIT_OK && status != (int)haasctl->asked->untold)
		haasctl_tell_refusal(reply.json);
	if (status == EXIT_OK)
		*ret = reply;
	else
		haasctl_reply_done(&reply);
	return status;
}

const char *haasctl_case(const struct command_input *input)
{
	const char *open_case = command_option(input, "--case");

	if (!open_case)
		open_case = getenv("HAAS_CASE"); // NOLINT(concurrency-mt-unsafe): one thread
	return open_case && open_case[0] ? open_case : NULL;
}

int haasctl_call(struct haasctl *haasctl, const struct command_input *input,
		 const struct haasctl_call *call, struct haasctl_reply *ret)
{
	CLEANUP(text_done) struct text target = {0};
	struct http_header headers[4];
	size_t header_count = 0;
	const char *tenant = command_option(input, "--as-tenant");
	const char *key = command_option(input, "--idempotency-key");
	const char *open_case = haasctl_case(input);

	if (!haasctl->client) {
		int status = haasctl_connect(haasctl, input, &haasctl->client);

		if (status != EXIT_OK)
			return status;
	}
	text_addf(&target, "%s%s", HAASCTL_API, call->target);
	haasctl->done = false;
	haasctl->stopped = false;
	haasctl->asked = call;
	haasctl->problem = (struct problem){0};
	haasctl->key[0] = '\0';
	if (tenant)
		headers[header_count++] = (struct http_header){"X-Haas-Tenant", tenant};
	if (open_case && !call->by_itself)
		headers[header_count++] = (struct http_header){"X-Haas-Case", open_case};
	if (call->if_match)
		headers[header_count++] = (struct http_header){"If-Match", call->if_match};
	if (strcmp(call->method, "POST") == 0) {
		if (!key)
			token_new(haasctl->key);
		headers[header_count++] =
			(struct http_header){"Idempotency-Key", key ? key : haasctl->key};
	}
	haasctl->rc = http_client_call(haasctl->client,
				       &(struct http_call_options){
					       .method = call->method,
					       .target = text_get(&target),
					       .headers = headers,
					       .header_count = header_count,
					       .body = call->body,
					       .body_size = call->body_size || !call->body
								    ? call->body_size
								    : strlen(call->body),
					       .content_type = call->content_type,
					       .timeout_ms = ANSWER_LIMIT_MS,
					       .response_limit = (size_t)64 << 20,
					       .on_data = call->on_data ? haasctl_on_data : NULL,
					       .on_done = haasctl_on_done,
					       .context = haasctl,
				       },
				       &haasctl->call);
	if (haasctl->rc < 0)
		(void)problem_set(&haasctl->problem, haasctl->rc, "cannot ask portald: %s",
				  error_text(haasctl->rc));
	while (haasctl->rc == 0 && !haasctl->done && !haasctl->interrupted && !haasctl->stopped)
		loop_run(haasctl->loop);
	if (!haasctl->done && haasctl->call)
		http_call_cancel(haasctl->call);
	haasctl->call = NULL;
	return haasctl_finish(haasctl, ret);
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

int haasctl_do(struct haasctl *haasctl, const struct command_input *input,
	       const struct haasctl_call *call)
{
	const char *format = command_option(input, "--output");
	struct haasctl_reply reply = {0};
	int status = haasctl_call(haasctl, input, call, &reply);

	if (status == EXIT_OK && reply.json && format && strncmp(format, "json", 4) == 0) {
		(void)json_dumpf(reply.json, stdout,
				 strcmp(format, "json") == 0 ? JSON_INDENT(2) : JSON_COMPACT);
		putchar('\n');
	}
	haasctl_reply_done(&reply);
	return status;
}

int haasctl_delete(struct haasctl *haasctl, const struct command_input *input, const char *target)
{
	struct haasctl_reply reply = {0};
	char etag[sizeof(reply.etag)];
	int status = haasctl_get(haasctl, input, target, &reply);

	if (status != EXIT_OK)
		return status;
	(void)text_copy(etag, sizeof(etag), reply.etag);
	haasctl_reply_done(&reply);
	return haasctl_do(
		haasctl, input,
		&(struct haasctl_call){.method = "DELETE", .target = target, .if_match = etag});
}

static void haasctl_on_timer(void *context)
{
	loop_stop(context);
}

bool haasctl_sleep(struct haasctl *haasctl, int64_t ms)
{
	struct loop_timer *timer = NULL;

	if (haasctl->interrupted ||
	    loop_timer_new(haasctl->loop, haasctl_on_timer, haasctl->loop, &timer) < 0)
		return false;
	haasctl->stopped = false;
	loop_timer_arm(timer, ms);
	loop_run(haasctl->loop);
	loop_timer_free(timer);
	return !haasctl->interrupted;
}
