// links: common_http
/* A client of the real server that says anything: the first byte chooses how the rest is cut into
 * writes and whether the client leaves hard. Invariant: what comes back starts with a status line,
 * each answered request is reported once, nothing is left behind. */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/http/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
	struct loop *loop;
	struct http_server *server;
	char path[64];
	struct http_request *waiting;
	unsigned begun, after;
};

static void on_gone(void *context)
{
	struct world *world = context;

	world->waiting = NULL;
	world->begun--; /* never answered, so nobody reports it */
}

static void on_echo(void *context, struct http_request *request)
{
	struct world *world = context;
	size_t size;
	const char *body = http_request_body(request, &size);

	world->begun++;
	assert(body[size] == '\0');
	assert(http_request_param(request, "x") && *http_request_param(request, "x"));
	assert(!strchr(http_request_param(request, "x"), '/'));
	http_answer(request, 200, "text/plain", body, size);
}

static void on_later(void *context, struct http_request *request)
{
	struct world *world = context;

	world->begun++;
	if (world->waiting) {
		http_answer(request, 503, NULL, NULL, 0);
		return;
	}
	world->waiting = request;
	http_request_on_close(request, on_gone, world);
}

static void on_stream(void *context, struct http_request *request)
{
	struct world *world = context;

	world->begun++;
	http_stream_begin(request, 200, "text/plain");
	if (http_stream_send(request, "abc", 3) == 0)
		http_stream_end(request);
}

static void on_file(void *context, struct http_request *request)
{
	struct world *world = context;

	world->begun++;
	http_answer_file(request, "/etc/passwd", "text/plain");
}

static void after(void *context, const struct http_request *request, int status, int64_t elapsed_us)
{
	struct world *world = context;

	(void)elapsed_us;
	assert(status >= 200 && status <= 599);
	if (*http_request_route(request))
		world->after++;
}

/* Refused methods have a route in the table but none matched. */
static const struct http_route routes[] = {
	{HTTP_GET, "/later", on_later},      {HTTP_GET, "/stream", on_stream},
	{HTTP_GET, "/file", on_file},        {HTTP_POST, "/echo/{x}", on_echo},
	{HTTP_DELETE, "/echo/{x}", on_echo},
};

static struct world *the_world(void)
{
	static struct world world;
	const struct http_server_options options = {.routes = routes,
						    .route_count = COUNT_OF(routes),
						    .context = &world,
						    .body_limit = 1000,
						    .after = after};
	struct problem problem = {0};

	if (world.loop)
		return &world;
	(void)text_format(world.path, sizeof(world.path), "/tmp/haas-http-fuzz-%d", (int)getpid());
	assert(loop_new(&world.loop) == 0);
	assert(http_server_new(world.loop, &options, &world.server) == 0);
	assert(http_server_listen_unix(world.server, world.path, 0600, &problem) == 0);
	return &world;
}

static int connect_to(const struct world *world)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert(fd >= 0 && text_copy(name.sun_path, sizeof(name.sun_path), world->path));
	assert(connect(fd, (const struct sockaddr *)&name, sizeof(name)) == 0);
	return fd;
}

static void turn(struct world *world)
{
	for (unsigned i = 0; i < 3; i++)
		loop_run_once(world->loop);
	if (world->waiting) {
		struct http_request *request = world->waiting;

		world->waiting = NULL;
		http_answer(request, 200, "text/plain", "later", 5);
		loop_run_once(world->loop);
	}
}

static void drain(int fd, char *ret, size_t room)
{
	char rest[4096];
	ssize_t got = recv(fd, ret, room, 0);

	for (size_t i = 0; got > 0 && i < 1000; i++)
		got = recv(fd, rest, sizeof(rest), 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world *world = the_world();
	char start[9] = "";
	size_t slice;
	int fd;

	if (size == 0 || size > 8192)
		return 0;
	slice = data[0] & 0x7f ? (size_t)(data[0] & 0x7f) * 4 : size;
	world->begun = 0;
	world->after = 0;
	fd = connect_to(world);
	for (size_t at = 1; at < size; at += slice) {
		size_t part = size - at < slice ? size - at : slice;

		if (send(fd, data + at, part, MSG_NOSIGNAL) < 0)
			break;
		turn(world);
	}
	if (!(data[0] & 0x80)) {
		(void)shutdown(fd, SHUT_WR);
		for (unsigned i = 0; i < 3; i++)
			turn(world);
		drain(fd, start, 9);
		assert(!start[0] || memcmp(start, "HTTP/1.1 ", 9) == 0);
	}
	close(fd);
	for (unsigned i = 0; i < 4; i++)
		turn(world);
	assert(world->after == world->begun);
	assert(!world->waiting);
	return 0;
}
