#include "bampi/relay/cache/cache_server.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/http/server.h"
#include "common/io/log.h"
#include "common/io/served_file.h"
#include "common/net/http_wire.h"

#include "bampi/relay/cache/proxy.h"
#include "bampi/relay/cache/stream.h"

#define ROUTE_FILE           "/boot/file/{name}"
#define ROUTE_IMAGE          "/boot/image/{digest}"
#define IMAGE_TYPE           "application/octet-stream"
#define SOURCE_LIMIT         256 /* connections of one node */
#define CACHE_SERVER_SUBJECT "boot http"

LEAKS_LEFT_TO_SANITIZER

struct cache_server {
	struct cache_server_options options;
	struct http_server *http;
};

/* A request that waits for what the controller says about it. */
struct asking {
	struct cache_server *server;
	struct http_request *request; /* NULL: the client is gone */
	struct file_waiter waiter;
	struct upstream_asker asker;
	char name[SERVED_NAME_MAX + 1]; /* of a file, or the digest of an image */
};

static void answer_status(struct http_request *request, int status, int rc, const char *message)
{
	struct problem problem = {0};

	(void)problem_set(&problem, rc, "%s", message);
	http_answer_problem(request, status, &problem);
}

static struct asking *asking_new(struct cache_server *server, struct http_request *request,
				 const char *name)
{
	struct asking *asking = calloc(1, sizeof(*asking));

	if (!asking)
		return NULL;
	asking->server = server;
	asking->request = request;
	asking->asker = proxy_asker(request);
	(void)text_copy(asking->name, sizeof(asking->name), name);
	return asking;
}

static void answer_head(struct http_request *request, uint64_t size, const char *type)
{
	http_answer_header(request, "Accept-Ranges", "bytes");
	http_answer(request, 200, type, NULL, (size_t)size);
}

/* HEAD of something that is not here in full: the size is known already. */
static void answer_object(struct object *object, struct http_request *request, const char *type)
{
	if (http_request_method(request) == HTTP_HEAD && object->state != OBJECT_READY)
		answer_head(request, object->size, type);
	else
		stream_answer(object, request, type);
}

/* --- files --- */

static void file_answered(void *context, const struct file_answer *answer)
{
	CLEANUP(freep) struct asking *asking = context;

	http_request_on_close(asking->request, NULL, NULL);
	if (answer->rc == 0)
		answer_object(answer->object, asking->request, answer->type);
	else if (answer->rc == E_NOT_FOUND)
		answer_status(asking->request, 404, E_NOT_FOUND, "no such file");
	else
		proxy_answer_away(asking->request);
}

static void file_gone(void *context)
{
	struct asking *asking = context;

	file_book_forget_waiter(asking->server->options.book, asking->name, &asking->waiter);
	free(asking);
}

static void cache_server_file(void *context, struct http_request *request)
{
	struct cache_server *server = context;
	struct asking *asking;
	char name[SERVED_NAME_MAX + 1];

	if (served_file_name(http_request_param(request, "name"), name)) {
		answer_status(request, 404, E_NOT_FOUND, "no such file");
		return;
	}
	asking = asking_new(server, request, name);
	if (!asking) {
		proxy_answer_away(request);
		return;
	}
	asking->waiter = (struct file_waiter){.fn = file_answered, .context = asking};
	http_request_on_close(request, file_gone, asking);
	file_book_ask(server->options.book, name, &asking->waiter);
}

/* --- images --- */

static void cache_server_image_target(const char *digest, char ret[UPSTREAM_TARGET_MAX])
{
	(void)text_format(ret, UPSTREAM_TARGET_MAX, "/boot/image/%s", digest);
}

/* The object of an image that the controller lets this node have; NULL when there is no room. */
static struct object *image_object(const struct asking *asking, uint64_t size)
{
	const struct cache_server_options *options = &asking->server->options;
	struct cache_counters *counters = options->counters;
	char target[UPSTREAM_TARGET_MAX];
	const struct fetch_options fetch = {
		.target = target, .asker = &asking->asker, .tag = "", .resumable = true};
	struct object *object = cache_find(options->cache, asking->name);
	bool is_new = !object;
	int rc = is_new ? cache_begin(options->cache, asking->name, size, &object) : 0;

	if (rc) {
		log_error(CACHE_SERVER_SUBJECT, "no room for image %.12s: %s (bytes=%" PRIu64 ")",
			  asking->name, error_text(rc), size);
		return NULL;
	}
	if (is_new)
		counters->image_misses++;
	else if (object->state == OBJECT_FILLING)
		counters->image_joined++;
	else
		counters->image_hits++;
	if (object->state == OBJECT_FILLING) {
		cache_server_image_target(asking->name, target);
		fetch_start(options->fetches, object, &fetch);
	}
	if (is_new)
		object_unref(object); /* the cache's list and the download hold it */
	return object;
}

static void image_checked(void *context, int rc, const struct upstream_head *head)
{
	CLEANUP(freep) struct asking *asking = context;
	struct http_request *request = asking->request;
	struct object *object;

	if (!request)
		return;
	http_request_on_close(request, NULL, NULL);
	if (rc || head->status >= 500) {
		proxy_answer_away(request);
	} else if (head->status != 200) {
		asking->server->options.counters->refused++;
		answer_status(request, head->status,
			      head->status == 401 ? E_AUTHENTICATION : E_NOT_FOUND,
			      "the controller does not give this image to this node");
	} else if (http_request_method(request) == HTTP_HEAD) {
		answer_head(request, head->size, IMAGE_TYPE); /* no reason to fetch it */
	} else {
		object = image_object(asking, head->size);
		if (object)
			answer_object(object, request, IMAGE_TYPE);
		else
			proxy_answer_away(request);
	}
}

static void image_gone(void *context)
{
	struct asking *asking = context;

	asking->request = NULL; /* the answer finds nobody */
}

static void cache_server_image(void *context, struct http_request *request)
{
	struct cache_server *server = context;
	const char *digest = http_request_param(request, "digest");
	uint8_t bytes[DIGEST_SIZE];
	char target[UPSTREAM_TARGET_MAX];
	char again[DIGEST_TEXT_SIZE];
	struct asking *asking;

	if (hex_decode(digest, bytes, sizeof(bytes)) == 0)
		hex_encode(bytes, sizeof(bytes), again);
	else
		again[0] = '\0';
	if (strcmp(again, digest) != 0) {
		answer_status(request, 404, E_NOT_FOUND, "no such image");
		return;
	}
	asking = asking_new(server, request, digest);
	cache_server_image_target(digest, target);
	if (!asking || upstream_head(server->options.upstream, target, &asking->asker,
				     image_checked, asking)) {
		free(asking);
		proxy_answer_away(request);
		return;
	}
	http_request_on_close(request, image_gone, asking);
}

/* --- what only the controller knows --- */

static void cache_server_pass(void *context, struct http_request *request)
{
	struct cache_server *server = context;

	proxy_pass(server->options.upstream, server->options.counters, request);
}

static void cache_server_health(void *context, struct http_request *request)
{
	const struct cache_server *server = context;
	struct text text = {0};

	json_begin_object(&text, NULL);
	json_put_bool(&text, "ready", true);
	json_put_bool(&text, "controller", !upstream_is_away(server->options.upstream));
	json_end_object(&text);
	http_answer_json(request, 200, &text);
	text_done(&text);
}

/* A fetch is evidence for the steps of a deployment; the controller did not see it. */
static void cache_server_after(void *context, const struct http_request *request, int status,
			       int64_t elapsed_us)
{
	struct cache_server *server = context;
	const char *route = http_request_route(request);
	const struct upstream_asker asker = proxy_asker(request);
	const char *range = http_request_header(request, "Range");
	uint64_t first = 0;
	uint64_t length = 0;

	(void)elapsed_us;
	if (!route || (status != 200 && status != 206) ||
	    http_request_method(request) != HTTP_GET ||
	    (strcmp(route, ROUTE_FILE) != 0 && strcmp(route, ROUTE_IMAGE) != 0))
		return;
	/* The controller knows the size, and takes what is beyond it for all. */
	if (status == 200 || !range || http_range(range, UINT64_MAX / 2, &first, &length))
		length = UINT64_MAX / 2;
	upstream_tell(server->options.upstream, http_request_raw_target(request), &asker,
		      first + length);
}

/* As bampi-bootd (boot_server.c). */
static const char *const cache_server_without_tls[] = {ROUTE_FILE, "/callback/{nonce}", "/healthz",
						       NULL};
static const char *const cache_server_offered[] = {ROUTE_FILE, "/callback/{nonce}", "/healthz",
						   "/boot/script", NULL};

static const struct http_route cache_server_routes[] = {
	{HTTP_GET, ROUTE_FILE, cache_server_file},
	{HTTP_GET, ROUTE_IMAGE, cache_server_image},
	{HTTP_GET, "/boot/script", cache_server_pass},
	{HTTP_GET, "/agent/v1/task", cache_server_pass},
	{HTTP_POST, "/agent/v1/tasks/{id}/progress", cache_server_pass},
	{HTTP_POST, "/agent/v1/tasks/{id}/result", cache_server_pass},
	{HTTP_GET, "/callback/{nonce}", cache_server_pass},
	{HTTP_POST, "/callback/{nonce}", cache_server_pass},
	{HTTP_GET, "/healthz", cache_server_health},
};

int cache_server_new(const struct cache_server_options *options, struct cache_server **ret,
		     struct problem *problem)
{
	struct cache_server *server = calloc(1, sizeof(*server));
	const struct http_server_options http = {.routes = cache_server_routes,
						 .route_count = COUNT_OF(cache_server_routes),
						 .context = server,
						 .source_limit = SOURCE_LIMIT,
						 .without_tls = !options->tls ? NULL
								: options->https_only
									? cache_server_without_tls
									: cache_server_offered,
						 .after = cache_server_after};
	int rc;

	if (!server)
		return problem_set(problem, -ENOMEM, "out of memory");
	server->options = *options;
	rc = http_server_new(options->loop, &http, &server->http);
	if (rc)
		(void)problem_set(problem, rc, "the boot server does not start: %s",
				  error_text(rc));
	else
		rc = http_server_listen_tcp(server->http, options->address, options->port, problem);
	if (rc == 0 && options->tls)
		rc = http_server_listen_tls(server->http, options->address, options->https_port,
					    options->tls, problem);
	if (rc) {
		cache_server_free(server);
		return rc;
	}
	*ret = server;
	return 0;
}

void cache_server_free(struct cache_server *server)
{
	if (!server)
		return;
	http_server_free(server->http);
	free(server);
}
