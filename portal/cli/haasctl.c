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

#include "portal/cli/haasctl_server.h"
#include "portal/cli/refusal.h"

/* The server sends a comment into its streams every 15 s; silence for so long is a broken one. */
#define ANSWER_LIMIT_MS 60000
#define SLOW_MS         5000 /* then a person is told that we wait */
#define REPEAT_COUNT    6    /* of a call whose connection broke: about 8 s in all */
#define REPEAT_FIRST_MS 125

struct haasctl {
	struct loop *loop;
	struct haasctl_server server;
	bool chosen; /* the server is */
	struct http_client *client;
	struct http_call *call;
	bool interrupted;
	bool stopped; /* haasctl_stop */
	bool done;
	/* of the call under way */
	int rc;
	struct problem problem;
	struct haasctl_reply reply;
	bool heard;      /* some bytes of a stream came */
	json_t *refusal; /* the last answer that was the caller's to tell */
	const struct haasctl_call *asked;
	const struct command_input *input; /* of its command */
	char key[TOKEN_TEXT_SIZE];         /* its Idempotency-Key when we made one up, else "" */
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
	haasctl_server_done(&haasctl->server);
	json_decref(haasctl->refusal);
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

int haasctl_told(const struct problem *problem)
{
	static const struct {
		int code;
		enum exit_status status;
	} rows[] = {{E_CONFLICT, EXIT_CONFLICT},
		    {E_NOT_FOUND, EXIT_NOT_FOUND},
		    {E_DENIED, EXIT_DENIED},
		    {E_UNAVAILABLE, EXIT_UNREACHABLE}};

	haasctl_problem(problem);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].code == problem->code)
			return (int)rows[i].status;
	}
	return EXIT_FAILED;
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

	haasctl->heard = true;
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

void haasctl_use(struct haasctl *haasctl, const struct context *context)
{
	http_client_free(TAKE(haasctl->client));
	haasctl_server_done(&haasctl->server);
	haasctl->server.context = *context;
	haasctl->chosen = true;
}

/* No call was made before. */
static int haasctl_chosen(struct haasctl *haasctl, int status)
{
	haasctl->chosen = status == EXIT_OK;
	return status;
}

int haasctl_choose(struct haasctl *haasctl, const struct command_input *input)
{
	return haasctl->chosen
		       ? EXIT_OK
		       : haasctl_chosen(haasctl, haasctl_server_choose(input, &haasctl->server));
}

int haasctl_use_here(struct haasctl *haasctl, const struct command_input *input)
{
	return haasctl_chosen(haasctl, haasctl_server_here(input, &haasctl->server));
}

int haasctl_use_session(struct haasctl *haasctl, const struct command_input *input)
{
	return haasctl_chosen(haasctl, haasctl_server_choose_session(input, &haasctl->server));
}

const struct context *haasctl_context(const struct haasctl *haasctl)
{
	return &haasctl->server.context;
}

const char *haasctl_shown_pin(const struct haasctl *haasctl)
{
	return haasctl->server.tls ? tls_shown_pin(haasctl->server.tls) : "";
}

int haasctl_connect(struct haasctl *haasctl, const struct command_input *input,
		    struct http_client **ret)
{
	int status = haasctl_choose(haasctl, input);

	return status == EXIT_OK ? haasctl_server_client(&haasctl->server, haasctl->loop, ret)
				 : status;
}

bool haasctl_is_connected(const struct haasctl *haasctl)
{
	return haasctl->client && http_client_has_connected(haasctl->client);
}

/* The path of a socket that this user may not use. NULL: that is not why. */
static const char *haasctl_forbidden_socket(const struct haasctl *haasctl)
{
	const char *path = haasctl_server_socket(&haasctl->server);

	return path && access(path, R_OK | W_OK) != 0 && errno == EACCES ? path : NULL;
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

/* What a person does about a server that does not answer. A POST may have been done all the same; its
 * key makes asking again safe. */
static void haasctl_hint_silence(struct haasctl *haasctl)
{
	const char *forbidden =
		haasctl->rc == E_UNAVAILABLE ? haasctl_forbidden_socket(haasctl) : NULL;
	bool here = haasctl_server_socket(&haasctl->server);
	char group[64];

	if (forbidden) {
		haasctl_socket_group(forbidden, group);
		problem_hint(&haasctl->problem,
			     "join group %s: usermod -aG %s USER as root, then log in anew", group,
			     group);
		return;
	}
	if (haasctl->asked->once && haasctl_is_connected(haasctl)) {
		problem_hint(&haasctl->problem,
			     "it may be done all the same: look before you ask again");
		return;
	}
	problem_hint(&haasctl->problem, "%s%s%s",
		     here ? "is portald running? choose its socket by --socket or HAAS_SOCKET"
			  : "is the address right, and portald running? haasctl context list",
		     haasctl->key[0] ? "; ask again safely with --idempotency-key " : "",
		     haasctl->key);
}

/* No answer. */
static int tell_silence(struct haasctl *haasctl)
{
	bool distrusts = haasctl->client && http_client_distrusts(haasctl->client);
	int status = haasctl->rc == E_TIMEOUT ? EXIT_TIMEOUT : EXIT_UNREACHABLE;

	if (distrusts) {
		haasctl_server_distrust(&haasctl->server, &haasctl->problem);
		status = EXIT_DENIED;
	} else {
		haasctl_hint_silence(haasctl);
	}
	if (haasctl->asked->problem)
		*haasctl->asked->problem = haasctl->problem;
	else if (distrusts || haasctl->asked->untold != EXIT_UNREACHABLE)
		refusal_tell_own(haasctl->input, &haasctl->problem);
	return status;
}

static void haasctl_tell(const struct haasctl *haasctl, const struct haasctl_reply *reply)
{
	refusal_tell(haasctl->input, reply->json);
	if (reply->status == 412 && haasctl->asked->before)
		refusal_tell_changes(haasctl->input, haasctl->asked->before->json,
				     json_object_get(reply->json, "current"));
}

static int haasctl_finish(struct haasctl *haasctl, struct haasctl_reply *ret)
{
	struct haasctl_reply reply = haasctl->reply;
	int status = refusal_exit(reply.status);

	haasctl->reply = (struct haasctl_reply){0};
	json_decref(TAKE(haasctl->refusal));
	if (haasctl->interrupted)
		status = EXIT_INTERRUPTED;
	else if (haasctl->stopped)
		status = EXIT_OK;
	else if (haasctl->rc < 0)
		status = tell_silence(haasctl);
	else if (status != EXIT_OK && haasctl->asked->problem)
		refusal_keep(haasctl->input, reply.json, status, haasctl->asked->problem);
	else if (status != EXIT_OK && status != (int)haasctl->asked->untold)
		haasctl_tell(haasctl, &reply);
	else if (status != EXIT_OK)
		haasctl->refusal = json_incref(reply.json);
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

static bool haasctl_is_for_programs(const struct haasctl *haasctl)
{
	const char *format = command_option(haasctl->input, "--output");

	return format && strncmp(format, "json", 4) == 0;
}

/* Is this call one that a person waits for, and not a program or a screen? */
static bool haasctl_is_watched(const struct haasctl *haasctl)
{
	const struct haasctl_call *asked = haasctl->asked;

	return !asked->on_data && !asked->problem && !asked->by_itself &&
	       asked->untold != EXIT_UNREACHABLE && !haasctl_is_for_programs(haasctl);
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

/* What goes out, as often as it takes. */
struct haasctl_request {
	struct text target;
	struct http_header headers[6];
	size_t header_count;
};

static void haasctl_request_header(struct haasctl_request *request, const char *name,
				   const char *value)
{
	if (value)
		request->headers[request->header_count++] = (struct http_header){name, value};
}

/* NULL: nothing was read. */
static const char *haasctl_read_version(const struct haasctl_call *call)
{
	if (call->before)
		return call->before->json ? call->before->etag : NULL;
	return call->if_match;
}

static void haasctl_request_make(struct haasctl *haasctl, const struct haasctl_call *call,
				 struct haasctl_request *ret)
{
	const char *key = command_option(haasctl->input, "--idempotency-key");

	haasctl->key[0] = '\0';
	text_addf(&ret->target, "%s%s", HAASCTL_API, call->target);
	haasctl_request_header(ret, "X-Haas-Tenant", command_option(haasctl->input, "--as-tenant"));
	haasctl_request_header(ret, "Haas-Reason", command_option(haasctl->input, "--why"));
	haasctl_request_header(ret, "X-Haas-Case",
			       call->by_itself ? NULL : haasctl_case(haasctl->input));
	haasctl_request_header(ret, "If-Match", haasctl_read_version(call));
	haasctl_request_header(ret, "Accept", call->accept);
	if (strcmp(call->method, "POST") != 0 || call->once || call->harmless)
		return;
	if (!key)
		token_new(haasctl->key);
	haasctl_request_header(ret, "Idempotency-Key", key ? key : haasctl->key);
}

static void haasctl_ask(struct haasctl *haasctl, const struct haasctl_call *call,
			const struct haasctl_request *request)
{
	haasctl->done = false;
	haasctl->stopped = false;
	haasctl->heard = false;
	haasctl->problem = (struct problem){0};
	haasctl->rc = http_client_call(haasctl->client,
				       &(struct http_call_options){
					       .method = call->method,
					       .target = text_get(&request->target),
					       .headers = request->headers,
					       .header_count = request->header_count,
					       .body = call->body,
					       .body_size = call->body_size || !call->body
								    ? call->body_size
								    : strlen(call->body),
					       .content_type = call->content_type,
					       .timeout_ms = ANSWER_LIMIT_MS,
					       .response_limit = (size_t)64 << 20,
					       .secret = call->once,
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
}

/* Did a connection that there was break, and may the call be said again? A read, a POST that has a key or
 * does no harm, a PUT of the whole. A caller that waits for the server by itself does so. */
static bool haasctl_may_repeat(const struct haasctl *haasctl)
{
	const struct haasctl_call *call = haasctl->asked;
	bool harmless = strcmp(call->method, "GET") == 0 || strcmp(call->method, "POST") == 0 ||
			(strcmp(call->method, "PUT") == 0 && !haasctl_read_version(call));

	return haasctl->rc == E_UNAVAILABLE && harmless && !call->once && !call->problem &&
	       call->untold != EXIT_UNREACHABLE && !haasctl->heard && !haasctl->interrupted &&
	       !haasctl->stopped && http_client_has_connected(haasctl->client) &&
	       !http_client_distrusts(haasctl->client);
}

static void haasctl_repeat(struct haasctl *haasctl, const struct haasctl_request *request)
{
	int64_t pause_ms = REPEAT_FIRST_MS;

	for (unsigned i = 0; i < REPEAT_COUNT && haasctl_may_repeat(haasctl); i++) {
		if (i == 0 && !haasctl_is_for_programs(haasctl))
			fprintf(stderr, "haasctl: the connection broke; asking again%s\n",
				haasctl->key[0] ? " with the same key: it is done once" : "");
		if (!haasctl_sleep(haasctl, pause_ms))
			return;
		haasctl_ask(haasctl, haasctl->asked, request);
		pause_ms *= 2;
	}
}

/* Nobody is at this address of the name: is another one asked now? */
static bool haasctl_moves(struct haasctl *haasctl)
{
	return haasctl->rc == E_UNAVAILABLE && !haasctl->interrupted &&
	       !http_client_has_connected(haasctl->client) &&
	       !http_client_distrusts(haasctl->client) && haasctl_server_move(&haasctl->server);
}

static int haasctl_call_once(struct haasctl *haasctl, const struct command_input *input,
			     const struct haasctl_call *call, struct haasctl_reply *ret)
{
	struct haasctl_request request = {0};
	int status = EXIT_OK;

	if (!haasctl->client)
		status = haasctl_connect(haasctl, input, &haasctl->client);
	if (status != EXIT_OK)
		return status;
	haasctl->asked = call;
	haasctl->input = input;
	haasctl_request_make(haasctl, call, &request);
	haasctl_ask(haasctl, call, &request);
	while (status == EXIT_OK && haasctl_moves(haasctl)) {
		http_client_free(TAKE(haasctl->client));
		status = haasctl_connect(haasctl, input, &haasctl->client);
		if (status == EXIT_OK)
			haasctl_ask(haasctl, call, &request);
	}
	if (status == EXIT_OK)
		haasctl_repeat(haasctl, &request);
	text_done(&request.target);
	return status == EXIT_OK ? haasctl_finish(haasctl, ret) : status;
}

static int haasctl_call_edit(struct haasctl *haasctl, const struct command_input *input,
			     const struct haasctl_call *call, struct haasctl_reply *ret)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply before = {0};
	/* A PATCH makes nothing: what is not there is told by the read. */
	const bool makes = strcmp(call->method, "PATCH") != 0;
	const struct haasctl_call read = {
		.method = "GET", .target = call->edits, .untold = makes ? EXIT_NOT_FOUND : EXIT_OK};
	struct haasctl_call edit = *call;
	int status = haasctl_call_once(haasctl, input, &read, &before);

	if (makes && status == EXIT_NOT_FOUND) {
		haasctl_reply_done(&before);
		before = (struct haasctl_reply){.status = 404};
		status = EXIT_OK;
	}
	edit.edits = NULL;
	edit.before = &before;
	if (status == EXIT_OK)
		status = haasctl_call_once(haasctl, input, &edit, ret);
	haasctl->asked = NULL;
	return status;
}

int haasctl_call(struct haasctl *haasctl, const struct command_input *input,
		 const struct haasctl_call *call, struct haasctl_reply *ret)
{
	return call->edits ? haasctl_call_edit(haasctl, input, call, ret)
			   : haasctl_call_once(haasctl, input, call, ret);
}

bool haasctl_resume(struct haasctl *haasctl, unsigned *tries, int *status)
{
	bool terminal = isatty(STDERR_FILENO);

	if (*status != EXIT_UNREACHABLE)
		return false;
	if (haasctl->heard)
		*tries = 0;
	if (*tries == REPEAT_COUNT || !http_client_has_connected(haasctl->client)) {
		if (haasctl->refusal)
			refusal_tell(haasctl->input, haasctl->refusal);
		else
			refusal_tell_own(haasctl->input, &haasctl->problem);
		return false;
	}
	if (*tries == 0 && terminal) /* it may be raw, and in the middle of a line */
		say_control(stderr, "\r\n");
	if (*tries == 0)
		fprintf(stderr, "haasctl: the connection broke; going on where it was\n");
	if (*tries == 0 && terminal)
		say_control(stderr, "\r");
	if (haasctl_sleep(haasctl, (int64_t)REPEAT_FIRST_MS << (*tries)++) && !haasctl->stopped)
		return true;
	*status = haasctl->stopped ? EXIT_OK : EXIT_INTERRUPTED;
	return false;
}

int haasctl_get(struct haasctl *haasctl, const struct command_input *input, const char *target,
		struct haasctl_reply *ret)
{
	return haasctl_call(haasctl, input,
			    &(struct haasctl_call){.method = "GET", .target = target}, ret);
}

int haasctl_post_harmless(struct haasctl *haasctl, const struct command_input *input,
			  const char *target, const struct text *body, struct haasctl_reply *ret)
{
	return haasctl_call(haasctl, input,
			    &(struct haasctl_call){.method = "POST",
						   .target = target,
						   .body = text_get(body),
						   .body_size = body->size,
						   .harmless = true},
			    ret);
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
