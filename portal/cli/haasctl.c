#include "portal/cli/haasctl.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/http/json_reader.h"
#include "common/io/loop.h"

#include "portal/cli/refusal.h"

/* The server sends a comment into its streams every 15 s; silence for so long is a broken one. */
#define ANSWER_LIMIT_MS 60000
#define SLOW_MS         5000 /* then a person is told that we wait */

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
	const struct command_input *input; /* of its command */
	char key[TOKEN_TEXT_SIZE];         /* its Idempotency-Key when we made one up */
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

static const char *haasctl_socket(const struct command_input *input)
{
	const char *socket = command_option(input, "--socket");

	if (!socket)
		socket = getenv("HAAS_SOCKET"); // NOLINT(concurrency-mt-unsafe): one thread
	return socket ? socket : HAASCTL_DEFAULT_SOCKET;
}

int haasctl_connect(struct haasctl *haasctl, const struct command_input *input,
		    struct http_client **ret)
{
	CLEANUP(text_done) struct text url = {0};

	text_addf(&url, "unix:%s", haasctl_socket(input));
	int rc = http_client_new(haasctl->loop, text_get(&url), ret);
	if (rc == 0)
		return EXIT_OK;
	(void)haasctl_cannot("use the socket", text_get(&url), rc);
	return EXIT_UNREACHABLE;
}

/* The path of a socket that this user may not use. NULL: that is not why. */
static const char *haasctl_forbidden_socket(const struct command_input *input)
{
	const char *path = haasctl_socket(input);

	return access(path, R_OK | W_OK) != 0 && errno == EACCES ? path : NULL;
}

/* "haas", or whose socket it is. */
static void haasctl_socket_group(const char *path, char ret[64])
{
	struct group group = {0};
	struct group *found = NULL;
	struct stat status;
	char room[4096];

	(void)text_copy(ret, 64, "haas");
	if (stat(path, &status) == 0 && status.st_gid != 0 &&
	    getgrgid_r(status.st_gid, &group, room, sizeof(room), &found) == 0 && found)
		(void)text_copy(ret, 64, found->gr_name);
}

/* No answer. A POST may have been done all the same; its key makes asking again safe. */
static int tell_silence(struct haasctl *haasctl)
{
	struct problem *problem = &haasctl->problem;
	const char *forbidden =
		haasctl->rc == E_UNAVAILABLE ? haasctl_forbidden_socket(haasctl->input) : NULL;
	char group[64];

	if (forbidden) {
		haasctl_socket_group(forbidden, group);
		problem_hint(problem,
			     "join group %s: usermod -aG %s USER as root, then log in anew", group,
			     group);
	} else {
		problem_hint(problem,
			     "is portald running? choose its socket by --socket or HAAS_SOCKET%s%s",
			     haasctl->key[0] ? "; ask again safely with --idempotency-key " : "",
			     haasctl->key);
	}
	if (haasctl->asked->problem)
		*haasctl->asked->problem = *problem;
	else if (haasctl->asked->untold != EXIT_UNREACHABLE)
		refusal_tell_own(haasctl->input, problem);
	return haasctl->rc == E_TIMEOUT ? EXIT_TIMEOUT : EXIT_UNREACHABLE;
}

static int haasctl_finish(struct haasctl *haasctl, struct haasctl_reply *ret)
{
	struct haasctl_reply reply = haasctl->reply;
	int status = refusal_exit(reply.status);

	haasctl->reply = (struct haasctl_reply){0};
	if (haasctl->interrupted)
		status = EXIT_INTERRUPTED;
	else if (haasctl->stopped)
		status = EXIT_OK;
	else if (haasctl->rc < 0)
		status = tell_silence(haasctl);
	else if (status != EXIT_OK && haasctl->asked->problem)
		refusal_keep(haasctl->input, reply.json, status, haasctl->asked->problem);
	else if (status != EXIT_OK && status != (int)haasctl->asked->untold)
		refusal_tell(haasctl->input, reply.json);
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

static void haasctl_on_slow(void *context)
{
	const struct haasctl *haasctl = context;

	if (!haasctl->done)
		fprintf(stderr,
			"haasctl: portald has not answered for %d s; waiting up to %d s more (Ctrl-C ends it)\n",
			SLOW_MS / 1000, (ANSWER_LIMIT_MS - SLOW_MS) / 1000);
}

/* Is this call one that a person waits for, and not a program or a screen? */
static bool haasctl_is_watched(const struct haasctl *haasctl)
{
	const struct haasctl_call *asked = haasctl->asked;
	const char *format = command_option(haasctl->input, "--output");

	return !asked->on_data && !asked->problem && !asked->by_itself &&
	       asked->untold != EXIT_UNREACHABLE && (!format || strncmp(format, "json", 4) != 0);
}

static void haasctl_wait_answer(struct haasctl *haasctl)
{
	struct loop_timer *slow = NULL;

	if (haasctl_is_watched(haasctl) &&
	    loop_timer_new(haasctl->loop, haasctl_on_slow, haasctl, &slow) == 0)
		loop_timer_arm(slow, SLOW_MS);
	while (haasctl->rc == 0 && !haasctl->done && !haasctl->interrupted && !haasctl->stopped)
		loop_run(haasctl->loop);
	loop_timer_free(slow);
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
	haasctl->input = input;
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
	haasctl_wait_answer(haasctl);
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
