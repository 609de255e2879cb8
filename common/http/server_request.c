/* What a request asks for: method, path, query, route; and what a handler reads of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/http/server_private.h"
#include "common/http/wipe.h"

static const struct {
	const char *word;
	enum http_method method;
} server_request_methods[] = {
	{"GET", HTTP_GET}, {"HEAD", HTTP_HEAD},   {"POST", HTTP_POST},
	{"PUT", HTTP_PUT}, {"PATCH", HTTP_PATCH}, {"DELETE", HTTP_DELETE},
};

int http_request_new(struct http_connection *connection, struct http_request **ret)
{
	struct http_request *request = calloc(1, sizeof(*request));

	if (!request)
		return -ENOMEM;
	request->connection = connection;
	request->body_limit = connection->server->options.body_limit;
	request->started_us = clock_wall_us();
	*ret = request;
	return 0;
}

void http_request_free(struct http_request *request)
{
	/* Authorization and Cookie came in the one, Set-Cookie goes in the other. */
	if (request->bytes)
		wipe_borrowed(request->bytes, request->bytes_size);
	if (request->headers.data)
		wipe_borrowed(request->headers.data, request->headers.size);
	free(request->bytes);
	free(request->path);
	free(request->raw_path);
	free(request->raw_query);
	text_done(&request->body);
	text_done(&request->headers);
	free(request);
}

/* "." or ".." between slashes that were encoded. */
static bool server_request_climbs(const char *segment)
{
	while (segment) {
		size_t length = strcspn(segment, "/");

		if (length > 0 && length <= 2 && strspn(segment, ".") >= length)
			return true;
		segment = segment[length] ? segment + length + 1 : NULL;
	}
	return false;
}

/* Each segment is decoded after the split; one that would then change the path ("%2F", "..") is
 * nothing an honest client sends, unless names may hold a slash. */
static int split_path(struct http_request *request)
{
	bool slashes = request->connection->server->options.slash_in_names;
	char *at = request->raw_path;

	if (strcmp(at, "/") == 0)
		return 0;
	while (at && request->segment_count < SEGMENT_LIMIT) {
		char *segment = at + 1;
		size_t length = strcspn(segment, "/");

		at = segment[length] ? segment + length : NULL;
		segment[length] = '\0';
		if (http_decode(segment, false) != 0 || (!slashes && strchr(segment, '/')) ||
		    server_request_climbs(segment))
			return E_MALFORMED;
		request->segments[request->segment_count++] = segment;
	}
	return at ? E_MALFORMED : 0;
}

static int split_query(struct http_request *request)
{
	char *at = request->raw_query;

	while (*at) {
		char *name = at;
		size_t length = strcspn(at, "&");
		char *value;

		at += length;
		if (*at)
			*at++ = '\0';
		if (*name == '\0')
			continue;
		value = strchr(name, '=');
		if (value)
			*value++ = '\0';
		if (request->query_count == QUERY_LIMIT || http_decode(name, true) != 0 ||
		    (value && http_decode(value, true) != 0))
			return E_MALFORMED;
		request->queries[request->query_count++] =
			(struct http_field){.name = name, .value = value ? value : ""};
	}
	return 0;
}

/* RFC 9112 3.2.2: a proxy's absolute form is the same request. */
static const char *skip_authority(const char *target)
{
	const char *authority;

	if (*target == '/')
		return target;
	authority = strstr(target, "://");
	return authority ? strchr(authority + 3, '/') : NULL;
}

int http_request_target(struct http_request *request)
{
	const char *target = skip_authority(request->head.target);
	size_t length = target ? strcspn(target, "?#") : 0;
	int rc;

	if (!target)
		return E_MALFORMED;
	for (size_t i = 0; i < COUNT_OF(server_request_methods); i++) {
		if (strcmp(server_request_methods[i].word, request->head.method) == 0)
			request->method = server_request_methods[i].method;
	}
	request->raw_path = strndup(target, length);
	request->path = strndup(target, length);
	target += length;
	if (*target == '?')
		target++;
	request->raw_query = strndup(target, strcspn(target, "#"));
	if (!request->raw_path || !request->path || !request->raw_query)
		return -ENOMEM;
	rc = http_decode(request->path, false);
	if (rc == 0)
		rc = split_path(request);
	if (rc == 0)
		rc = split_query(request);
	return rc;
}

/* How many literal segments fit, -1 when the pattern is another path. */
static int server_request_match(const struct http_request *request, const char *pattern)
{
	int literals = 0;

	if (strcmp(pattern, "/") == 0)
		return request->segment_count == 0 ? 0 : -1;
	for (size_t i = 0; i < request->segment_count; i++) {
		const char *segment = request->segments[i];
		size_t length;

		if (*pattern++ != '/')
			return -1;
		length = strcspn(pattern, "/");
		if (*pattern == '{') {
			if (*segment == '\0')
				return -1;
		} else if (strlen(segment) != length || strncmp(segment, pattern, length) != 0) {
			return -1;
		} else {
			literals++;
		}
		pattern += length;
	}
	return *pattern == '\0' && request->segment_count > 0 ? literals : -1;
}

static void refuse_method(struct http_request *request, unsigned allowed)
{
	struct problem problem = {0};
	struct text allow = {0};

	if (allowed & HTTP_GET)
		allowed |= HTTP_HEAD;
	for (size_t i = 0; i < COUNT_OF(server_request_methods); i++) {
		if (allowed & server_request_methods[i].method)
			text_addf(&allow, "%s%s", allow.size ? ", " : "",
				  server_request_methods[i].word);
	}
	http_answer_header(request, "Allow", text_get(&allow));
	(void)problem_set(&problem, E_UNSUPPORTED, "%s is not possible here", request->head.method);
	problem_hint(&problem, "possible: %s", text_get(&allow));
	http_answer_problem(request, 405, &problem);
	text_done(&allow);
}

static bool server_request_is_listed(const struct http_request *request,
				     const char *const *patterns)
{
	for (; request->route && patterns && *patterns; patterns++) {
		if (strcmp(*patterns, request->route->pattern) == 0)
			return true;
	}
	return false;
}

static bool server_request_is_safe(const struct http_request *request)
{
	const struct http_server *server = request->connection->server;
	const struct http_peer *peer = &request->connection->peer;

	return !server->options.without_tls || peer->local || peer->secure ||
	       server_request_is_listed(request, server->options.without_tls);
}

static void server_request_refuse_plain(struct http_request *request)
{
	struct problem problem = {0};

	(void)problem_set(&problem, E_DENIED, "this is answered by HTTPS alone");
	problem_detail(&problem, "%s", request->path);
	problem_hint(&problem, "ask port %u",
		     (unsigned)http_server_tls_port(request->connection->server));
	http_answer_problem(request, 403, &problem);
}

/* Who reaches a socket is not yet who may ask: its folder lets a group in, for metrics. */
static bool may_ask(const struct http_request *request)
{
	const struct http_server *server = request->connection->server;
	const struct http_peer *peer = &request->connection->peer;

	if (!server->options.caller)
		return true;
	if (server_request_is_listed(request, server->options.anybody))
		return true;
	return peer->local && (peer->uid == 0 || peer->uid == geteuid() ||
			       (peer->uid == server->caller_uid && peer->uid != (uid_t)-1));
}

bool http_request_find(struct http_request *request)
{
	const struct http_server_options *options = &request->connection->server->options;
	unsigned wanted = request->method == HTTP_HEAD ? HTTP_HEAD | HTTP_GET : request->method;
	const struct problem *refusal =
		options->refuses ? options->refuses(options->context) : NULL;
	struct problem problem = {0};
	unsigned allowed = 0;
	int best = -1;

	for (size_t i = 0; i < options->route_count; i++) {
		int literals = server_request_match(request, options->routes[i].pattern);

		if (literals < 0)
			continue;
		allowed |= options->routes[i].method;
		if (options->routes[i].method & wanted && literals > best) {
			best = literals;
			request->route = &options->routes[i];
		}
	}
	if (!may_ask(request)) {
		(void)problem_set(&problem, E_DENIED, "only %s is answered here", options->caller);
		http_answer_problem(request, 403, &problem);
	} else if (request->route && !server_request_is_safe(request)) {
		server_request_refuse_plain(request);
	} else if (!request->route && allowed) {
		refuse_method(request, allowed);
	} else if (!request->route) {
		(void)problem_set(&problem, E_NOT_FOUND, "no such resource");
		problem_detail(&problem, "%s", request->path);
		http_answer_problem(request, 404, &problem);
	} else if (refusal && !server_request_is_listed(request, options->anybody)) {
		http_answer_problem(request, 503, refusal);
	} else {
		return true;
	}
	return false;
}

void http_request_limit_body(struct http_request *request, size_t limit)
{
	request->body_limit = limit;
}

void http_request_set_data(struct http_request *request, void *data)
{
	request->data = data;
}

void *http_request_data(const struct http_request *request)
{
	return request->data;
}

bool http_request_has_body(const struct http_request *request)
{
	return request->framing == HTTP_FRAMING_CHUNKED || request->body_left > 0 ||
	       request->body.size > 0;
}

uint64_t http_request_body_room(const struct http_request *request)
{
	return request->framing == HTTP_FRAMING_CHUNKED ? request->body_limit : request->body_left;
}

void http_request_on_end(struct http_request *request, loop_fn fn, void *context)
{
	request->on_end = fn;
	request->on_end_context = context;
}

enum http_method http_request_method(const struct http_request *request)
{
	return request->method;
}

const char *http_request_raw_target(const struct http_request *request)
{
	return skip_authority(request->head.target);
}

const char *http_request_path(const struct http_request *request)
{
	return request->path ? request->path : "";
}

const char *http_request_route(const struct http_request *request)
{
	return request->route ? request->route->pattern : "";
}

const char *http_request_param(const struct http_request *request, const char *name)
{
	const char *at = http_request_route(request);
	size_t length = strlen(name);

	for (size_t i = 0; i < request->segment_count && *at == '/'; i++) {
		at++;
		if (*at == '{' && strncmp(at + 1, name, length) == 0 && at[length + 1] == '}')
			return request->segments[i];
		at += strcspn(at, "/");
	}
	return NULL;
}

const char *http_request_query(const struct http_request *request, const char *name)
{
	for (size_t i = 0; i < request->query_count; i++) {
		if (strcmp(request->queries[i].name, name) == 0)
			return request->queries[i].value;
	}
	return NULL;
}

const char *http_request_header(const struct http_request *request, const char *name)
{
	return http_head_field(&request->head, name);
}

const char *http_request_body(const struct http_request *request, size_t *ret_size)
{
	if (ret_size)
		*ret_size = request->body.size;
	return text_get(&request->body);
}

const struct http_peer *http_request_peer(const struct http_request *request)
{
	return &request->connection->peer;
}

const char *http_request_bearer(const struct http_request *request)
{
	const char *value = http_head_field(&request->head, "Authorization");

	if (!value || strncasecmp(value, "Bearer ", 7) != 0)
		return NULL;
	return value + 7 + strspn(value + 7, " ");
}

void http_request_on_close(struct http_request *request, loop_fn fn, void *context)
{
	request->on_close = fn;
	request->on_close_context = context;
}
