#include "portal/server/listener.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/http/server.h"
#include "common/http/tls.h"
#include "common/io/handed_socket.h"
#include "common/io/log.h"
#include "common/net/ipv4.h"

#include "portal/server/exchange.h"
#include "portal/server/image_upload.h"
#include "portal/server/page.h"
#include "portal/server/portal.h"
#include "portal/server/route.h"

#define BODY_LIMIT  (UPLOAD_PART_MAX + 65536)
#define DRAIN_MS    5000
#define BEGIN_MS    3000  /* without a database everybody is told so */
#define LOOK_MS     60000 /* is there a new certificate? */
#define DAY_S       86400
#define WARNED_DAYS 30
#define EDGE_MODE   0660

/* Answers are data, never pages of somebody's frame. Plain HTTP is not spoken here, so it need not be tried. */
#define STRANGERS_HEADERS                                                         \
	"X-Content-Type-Options: nosniff\r\n"                                     \
	"X-Frame-Options: DENY\r\n"                                               \
	"Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n" \
	"Cross-Origin-Resource-Policy: same-origin\r\n"                           \
	"Referrer-Policy: no-referrer\r\n"                                        \
	"Strict-Transport-Security: max-age=31536000\r\n"

enum listener_side { SIDE_LOCAL, SIDE_STRANGERS, SIDES };

struct listeners {
	struct portal *portal;
	struct {
		struct http_server *server;
		struct http_route *routes;
	} sides[SIDES];
	struct tls *tls; /* NULL: none is configured */
	struct loop_timer *look, *late, *begin;
	int64_t warned_days; /* of the certificate, as last logged */
	unsigned draining;   /* sides that still owe somebody an answer */
	loop_fn drained;
	void *drained_context;
};

/* --- answers are counted and logged --- */

static void listener_count(struct portal_counters *counters, enum http_method method, int status)
{
	if (status >= 500)
		counters->failed++;
	else if (status >= 400)
		counters->refused++;
	else if (method == HTTP_GET || method == HTTP_HEAD)
		counters->reads++;
	else
		counters->writes++;
}

/* Paths hold no secrets; bodies are never logged. */
static void listener_after(void *context, const struct http_request *request, int status,
			   int64_t elapsed_us)
{
	struct portal *portal = context;
	const struct http_peer *peer = http_request_peer(request);
	enum http_method method = http_request_method(request);
	bool read = method == HTTP_GET || method == HTTP_HEAD;
	char from[IPV4_TEXT_SIZE + 8];

	if (peer->local)
		(void)text_format(from, sizeof(from), "uid=%u", (unsigned)peer->uid);
	else
		(void)text_format(from, sizeof(from), "from=%s",
				  ipv4_text(peer->address, (char[IPV4_TEXT_SIZE]){0}));
	listener_count(&portal->counters, method, status);
	log_line(read && status < 500 ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, "request",
		 "%s %s: %d (%s ms=%lld)", route_method_text(method), http_request_path(request),
		 status, from, (long long)(elapsed_us / 1000));
}

/* --- the servers --- */

/* The page is for whoever comes: what it shows, it asks the API for. */
static void listener_on_head(void *context, struct http_request *request)
{
	if (!page_is_asked(request)) {
		exchange_admit(context, request);
		return;
	}
	http_request_limit_body(request, 0);
	http_request_admit(request);
}

/* Strangers get no route that is the machine's own: to them it does not exist. */
static size_t listener_routes(enum listener_side side, struct http_route *ret)
{
	size_t count = 0;

	for (const struct route *const *table = route_tables; *table; table++) {
		for (const struct route *route = *table; route->pattern; route++) {
			if (side == SIDE_LOCAL || !(route->flags & ROUTE_LOCAL))
				ret[count++] = (struct http_route){.method = route->method,
								   .pattern = route->pattern,
								   .handler = exchange_dispatch};
		}
	}
	for (const char *const *pattern = page_patterns; *pattern; pattern++)
		ret[count++] = (struct http_route){
			.method = HTTP_GET, .pattern = *pattern, .handler = page_answer};
	return count;
}

static int listener_make_server(struct listeners *listeners, enum listener_side side,
				struct problem *problem)
{
	struct portal *portal = listeners->portal;
	const struct portal_listen *conf = &portal->conf->listen;
	struct http_route *routes = calloc(route_count() + page_count(), sizeof(*routes));
	struct http_server_options options = {.routes = routes,
					      .context = portal,
					      .body_limit = BODY_LIMIT,
					      .slash_in_names = true,
					      .on_head = listener_on_head,
					      .after = listener_after};
	int rc = routes ? 0 : -ENOMEM;

	listeners->sides[side].routes = routes;
	if (routes)
		options.route_count = listener_routes(side, routes);
	if (side == SIDE_STRANGERS) {
		options.headers = STRANGERS_HEADERS;
		options.counters = &portal->counters.strangers;
		options.source_limit = (unsigned)conf->per_address;
		options.handshakes = (unsigned)conf->handshakes;
		options.source_handshakes = (unsigned)conf->handshakes_per_address;
	}
	if (rc == 0)
		rc = http_server_new(portal->loop, &options, &listeners->sides[side].server);
	return rc == 0 ? 0 : problem_set(problem, rc, "no HTTP server: %s", error_text(rc));
}

/* --- sockets --- */

static const char *const listener_names[] = {"local", "tls", "edge", NULL};

/* A Unix socket that was handed over is where the configuration says, or clients would look in vain. */
static int listener_check_path(int fd, const char *name, const char *path, struct problem *problem)
{
	struct sockaddr_un own = {0};
	socklen_t size = sizeof(own);

	if (path[0] == '\0' || getsockname(fd, (struct sockaddr *)&own, &size) != 0 ||
	    strncmp(own.sun_path, path, sizeof(own.sun_path)) == 0)
		return 0;
	(void)problem_set(problem, E_CONFLICT,
			  "the socket \"%s\" is at another place than configured", name);
	problem_detail(problem, "it was handed over at %.100s; portald.conf says %s", own.sun_path,
		       path);
	problem_hint(problem,
		     "change one of them; systemctl cat portald.socket portald-edge.socket");
	return E_CONFLICT;
}

static int listener_open_unix(struct listeners *listeners, enum listener_side side,
			      const char *path, mode_t mode, struct problem *problem)
{
	bool edge = side == SIDE_STRANGERS;
	const char *name = edge ? "edge" : "local";
	struct http_server *server = listeners->sides[side].server;
	int fd = -1;
	int rc = handed_socket_take(name, HANDED_UNIX, &fd, problem);

	if (rc == 0)
		rc = listener_check_path(fd, name, path, problem);
	if (rc == 0)
		return http_server_listen_fd(server, fd, edge, NULL, problem);
	if (rc != -ENOENT)
		return rc;
	if (path[0] == '\0')
		return 0;
	return edge ? http_server_listen_edge(server, path, mode, problem)
		    : http_server_listen_unix(server, path, mode, problem);
}

static int listener_open_tls(struct listeners *listeners, struct problem *problem)
{
	const struct portal_listen *conf = &listeners->portal->conf->listen;
	const struct tls_files files = {.certificate = conf->certificate, .key = conf->key};
	struct http_server *server = listeners->sides[SIDE_STRANGERS].server;
	int fd = -1;
	int rc = handed_socket_take("tls", HANDED_TCP, &fd, problem);

	if (rc == 0 && conf->certificate[0] == '\0') {
		(void)problem_set(problem, E_CONFLICT,
				  "a socket \"tls\" was handed over, and there is no certificate");
		problem_hint(problem,
			     "set listen.tls.certificate, or systemctl disable portald-tls.socket");
		return E_CONFLICT;
	}
	if ((rc != 0 && rc != -ENOENT) || conf->certificate[0] == '\0')
		return rc == -ENOENT ? 0 : rc;
	rc = tls_new(TLS_SERVER, &files, &listeners->tls, problem);
	if (rc == 0 && fd >= 0)
		rc = http_server_listen_fd(server, fd, false, listeners->tls, problem);
	else if (rc == 0)
		rc = http_server_listen_tls(server, conf->address, (uint16_t)conf->port,
					    listeners->tls, problem);
	if (rc == -EAFNOSUPPORT || rc == -EACCES)
		problem_hint(problem,
			     "systemd opens it: systemctl enable --now portald-tls.socket");
	return rc;
}

/* --- the certificate --- */

/* Logged once a day, from a month before on. */
static void listener_tell_end(struct listeners *listeners)
{
	int64_t end_s = tls_end_s(listeners->tls);
	int64_t days = (end_s - clock_wall_us() / 1000000) / DAY_S;

	listeners->portal->counters.certificate_end_s = (uint64_t)end_s;
	if (days >= WARNED_DAYS || days == listeners->warned_days)
		return;
	listeners->warned_days = days;
	log_warn("certificate", "%s ends in %" PRId64 " days; put a new one there and reload",
		 listeners->portal->conf->listen.certificate, days);
}

static void listener_read_certificate(struct listeners *listeners)
{
	struct problem problem = {0};

	if (tls_reload(listeners->tls, &problem) != 0) {
		log_problem(LOG_LEVEL_ERROR, "certificate", &problem);
		return;
	}
	listeners->warned_days = WARNED_DAYS;
	log_info("certificate", "read again");
	listener_tell_end(listeners);
}

void listeners_reload(struct listeners *listeners)
{
	if (listeners->tls)
		listener_read_certificate(listeners);
}

static void listener_look(void *context)
{
	struct listeners *listeners = context;

	if (tls_is_outdated(listeners->tls))
		listener_read_certificate(listeners);
	else
		listener_tell_end(listeners);
	loop_timer_arm(listeners->look, LOOK_MS);
}

/* --- begin and end --- */

static int listeners_open(struct listeners *listeners, struct problem *problem)
{
	const struct portal_conf *conf = listeners->portal->conf;
	char name[64];
	int rc;

	if (handed_socket_unknown(listener_names, name, sizeof(name)))
		log_warn("portald", "socket \"%s\" was handed over, and nobody wants it", name);
	rc = listener_open_unix(listeners, SIDE_LOCAL, conf->socket_path,
				(mode_t)strtoul(conf->socket_mode, NULL, 8), problem);
	if (rc == 0)
		rc = listener_open_unix(listeners, SIDE_STRANGERS, conf->listen.edge, EDGE_MODE,
					problem);
	return rc ? rc : listener_open_tls(listeners, problem);
}

static void listeners_hold(struct listeners *listeners, bool held)
{
	for (enum listener_side side = SIDE_LOCAL; side < SIDES; side++)
		http_server_hold(listeners->sides[side].server, held);
}

void listeners_begin(struct listeners *listeners)
{
	loop_timer_disarm(listeners->begin);
	if (listeners->draining == 0)
		listeners_hold(listeners, false);
}

static void listener_on_begin(void *context)
{
	listeners_begin(context);
}

int listeners_new(struct portal *portal, struct listeners **ret, struct problem *problem)
{
	struct listeners *listeners = calloc(1, sizeof(*listeners));
	int rc;

	if (!listeners)
		return problem_set(problem, -ENOMEM, "out of memory");
	*ret = listeners;
	listeners->portal = portal;
	listeners->warned_days = WARNED_DAYS;
	rc = loop_timer_new(portal->loop, listener_look, listeners, &listeners->look);
	if (rc == 0)
		rc = loop_timer_new(portal->loop, listener_on_begin, listeners, &listeners->begin);
	if (rc != 0)
		return problem_set(problem, rc, "out of memory");
	for (enum listener_side side = SIDE_LOCAL; side < SIDES && rc == 0; side++)
		rc = listener_make_server(listeners, side, problem);
	if (rc == 0)
		rc = listeners_open(listeners, problem);
	if (rc != 0)
		return rc;
	listeners_hold(listeners, true);
	loop_timer_arm(listeners->begin, BEGIN_MS);
	if (listeners->tls)
		loop_timer_arm(listeners->look, 0);
	return 0;
}

void listeners_free(struct listeners *listeners)
{
	if (!listeners)
		return;
	for (enum listener_side side = SIDE_LOCAL; side < SIDES; side++) {
		http_server_free(listeners->sides[side].server);
		free(listeners->sides[side].routes);
	}
	tls_free(listeners->tls);
	loop_timer_free(listeners->look);
	loop_timer_free(listeners->late);
	loop_timer_free(listeners->begin);
	free(listeners);
}

static void listener_on_late(void *context)
{
	const struct listeners *listeners = context;

	log_info("portald", "some requests take longer than we wait for them");
	listeners->drained(listeners->drained_context);
}

static void listener_on_drained(void *context)
{
	struct listeners *listeners = context;

	if (--listeners->draining == 0)
		listeners->drained(listeners->drained_context);
}

void listeners_drain(struct listeners *listeners, loop_fn fn, void *context)
{
	struct loop *loop = listeners->portal->loop;
	int rc = loop_timer_new(loop, listener_on_late, listeners, &listeners->late);

	listeners->drained = fn;
	listeners->drained_context = context;
	listeners->draining = SIDES;
	for (enum listener_side side = SIDE_LOCAL; side < SIDES && rc == 0; side++)
		rc = http_server_drain(listeners->sides[side].server, listener_on_drained,
				       listeners);
	if (rc == 0)
		loop_timer_arm(listeners->late, DRAIN_MS);
	else
		fn(context);
}
