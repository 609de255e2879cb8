/* HTTP/1.1 of a node: one exchange at a time, from the node's own address, its connection kept
 * between the exchanges of one boot. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/net/http_wire.h"
#include "common/net/ipv4.h"
#include "common/net/result_wire.h"

#include "tests/sim/fleet/fleet.h"

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif
#define BODY_MAX   ((size_t)256 << 10)
#define READ_SIZE  65536
#define TIMEOUT_MS 30000

enum state { CONNECTING, HEAD, BODY, IDLE };

struct fleet_http {
	struct fleet_node *node;
	struct loop_watch *watch;
	struct loop_timer *silence;
	int fd;
	enum state state;
	uint32_t address;
	uint16_t port;
	bool reused, head_only, close, heard;
	struct text out;
	size_t sent;
	struct text in; /* the head, then the body */
	int status;
	uint64_t left;
	bool (*on_data)(struct fleet_node *node, const void *data, size_t size);
	void (*on_done)(struct fleet_node *node, int status, const char *body, size_t size);
	int64_t timeout_ms;
};

static void http_free(struct fleet_http *http)
{
	if (!http)
		return;
	loop_watch_free(http->watch);
	loop_timer_free(http->silence);
	if (http->fd >= 0)
		(void)close(http->fd);
	text_done(&http->out);
	text_done(&http->in);
	free(http);
}

void fleet_http_cancel(struct fleet_node *node)
{
	http_free(TAKE(node->http));
}

bool fleet_http_url(const char *url, uint32_t *ret_address, uint16_t *ret_port,
		    const char **ret_path)
{
	char host[IPV4_TEXT_SIZE];
	size_t size;
	unsigned long port = 80;

	if (strncmp(url, "http://", 7) != 0)
		return false;
	url += 7;
	size = strcspn(url, ":/");
	if (size >= sizeof(host))
		return false;
	memcpy(host, url, size);
	host[size] = '\0';
	url += size;
	if (*url == ':') {
		char *end = NULL;

		port = strtoul(url + 1, &end, 10);
		url = end;
	}
	if (port == 0 || port > 65535 || (*url && *url != '/') || ipv4_parse(host, ret_address))
		return false;
	*ret_port = (uint16_t)port;
	*ret_path = *url ? url : "/";
	return true;
}

/* The end of an exchange; on_done may begin the next one. */
static void fleet_http_finish(struct fleet_http *http, int status)
{
	struct fleet_node *node = http->node;
	struct text body = http->in;
	void (*on_done)(struct fleet_node *, int, const char *, size_t) = http->on_done;

	http->in = (struct text){0};
	http->on_done = NULL;
	if (status == 0)
		node->fleet->stats.http_failures++;
	if (status == 0 || http->close) {
		fleet_http_cancel(node);
	} else {
		http->state = IDLE;
		loop_timer_disarm(http->silence);
		loop_watch_set(http->watch, LOOP_READ); /* to see it closed */
	}
	on_done(node, status, text_get(&body), body.size);
	text_done(&body);
}

static void fleet_http_flush(struct fleet_http *http);
static int open_connection(struct fleet_http *http);

/* A kept connection may have been closed just before we wrote: once more on a new one. */
static void fleet_http_broke(struct fleet_http *http)
{
	if (http->state == IDLE) {
		fleet_http_cancel(http->node);
		return;
	}
	if (http->reused && !http->heard) {
		loop_watch_free(TAKE(http->watch));
		(void)close(http->fd);
		http->fd = -1;
		http->sent = 0;
		if (open_connection(http))
			loop_timer_arm(http->silence, 0);
		return;
	}
	fleet_http_finish(http, 0);
}

static void fleet_http_silent(void *context)
{
	fleet_http_finish(context, 0);
}

static bool fleet_http_take_body(struct fleet_http *http, const char *data, size_t size)
{
	if (size > http->left)
		size = http->left;
	http->left -= size;
	if (http->on_data && http->status / 100 == 2)
		return http->on_data(http->node, data, size);
	text_add_bytes(&http->in, data, size);
	return http->in.size <= BODY_MAX;
}

static bool fleet_http_take_head(struct fleet_http *http)
{
	size_t head_size = http_head_size(text_get(&http->in), http->in.size);
	struct http_head head;
	enum http_framing framing;
	CLEANUP(text_done) struct text all = {0};

	if (head_size == 0)
		return http->in.size < HTTP_HEAD_LIMIT;
	all = http->in;
	http->in = (struct text){0};
	if (http_head_response(all.data, head_size, &head) ||
	    http_framing_response(&head, http->head_only, &framing, &http->left) ||
	    (framing != HTTP_FRAMING_LENGTH && framing != HTTP_FRAMING_NONE))
		return false;
	if (framing == HTTP_FRAMING_NONE)
		http->left = 0;
	http->status = head.status;
	http->close = http_head_has_token(&head, "Connection", "close");
	http->state = BODY;
	return fleet_http_take_body(http, all.data + head_size, all.size - head_size);
}

static void fleet_http_receive(struct fleet_http *http)
{
	char data[READ_SIZE];
	ssize_t size = recv(http->fd, data, sizeof(data), MSG_DONTWAIT);
	struct fleet_node *node = http->node;
	bool ok = true;

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size <= 0 || http->state == IDLE) {
		fleet_http_broke(http);
		return;
	}
	http->heard = true;
	loop_timer_arm(http->silence, http->timeout_ms);
	if (http->state == HEAD) {
		text_add_bytes(&http->in, data, (size_t)size);
		ok = fleet_http_take_head(http);
	} else {
		ok = fleet_http_take_body(http, data, (size_t)size);
	}
	if (node->http != http)
		return; /* on_data ended it */
	if (!ok)
		fleet_http_finish(http, 0);
	else if (http->state == BODY && http->left == 0)
		fleet_http_finish(http, http->status);
}

static void fleet_http_flush(struct fleet_http *http)
{
	ssize_t size = send(http->fd, http->out.data + http->sent, http->out.size - http->sent,
			    MSG_NOSIGNAL | MSG_DONTWAIT);

	if (size < 0 && errno != EAGAIN && errno != EINTR) {
		fleet_http_broke(http);
		return;
	}
	http->sent += size > 0 ? (size_t)size : 0;
	if (http->sent == http->out.size) {
		http->state = HEAD;
		loop_watch_set(http->watch, LOOP_READ);
	} else {
		loop_watch_set(http->watch, LOOP_READ | LOOP_WRITE);
	}
}

static void fleet_http_ready(void *context, int events)
{
	struct fleet_http *http = context;

	if (http->state == CONNECTING && events & LOOP_WRITE) {
		int error = 0;
		socklen_t size = sizeof(error);

		if (getsockopt(http->fd, SOL_SOCKET, SO_ERROR, &error, &size) || error) {
			fleet_http_broke(http);
			return;
		}
		fleet_http_flush(http);
		return;
	}
	if (events & LOOP_READ)
		fleet_http_receive(http);
	else if (events & LOOP_WRITE)
		fleet_http_flush(http);
}

static int open_connection(struct fleet_http *http)
{
	const int on = 1;
	const struct sockaddr_in local = {.sin_family = AF_INET,
					  .sin_addr.s_addr = htonl(http->node->address)};
	const struct sockaddr_in peer = {.sin_family = AF_INET,
					 .sin_port = htons(http->port),
					 .sin_addr.s_addr = htonl(http->address)};

	http->reused = false;
	http->state = CONNECTING;
	http->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (http->fd < 0)
		return -errno;
	(void)setsockopt(http->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	(void)setsockopt(http->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (bind(http->fd, (const struct sockaddr *)&local, sizeof(local)) ||
	    (connect(http->fd, (const struct sockaddr *)&peer, sizeof(peer)) &&
	     errno != EINPROGRESS))
		return -errno;
	http->node->fleet->stats.http_connections++;
	return loop_watch_new(http->node->fleet->loop, http->fd, LOOP_WRITE, fleet_http_ready, http,
			      &http->watch);
}

static void fleet_http_build(const struct fleet_node *node, const struct fleet_ask *ask,
			     struct text *out)
{
	char host[IPV4_TEXT_SIZE];

	text_clear(out);
	text_addf(out, "%s %s HTTP/1.1\r\nHost: %s:%u\r\n", ask->method, ask->target,
		  ipv4_text(ask->address, host), (unsigned)ask->port);
	if (ask->token)
		text_addf(out, "Authorization: Bearer %s\r\n" RESULT_AGENT_FIELD ": %s\r\n",
			  ask->token, node->agent_key);
	if (ask->signature)
		text_addf(out, RESULT_SIGNATURE_FIELD ": %s\r\n", ask->signature);
	if (ask->range)
		text_addf(out, "Range: %s\r\n", ask->range);
	if (ask->body)
		text_addf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
			  strlen(ask->body));
	text_add(out, "\r\n");
	if (ask->body)
		text_add(out, ask->body);
}

void fleet_http_ask(struct fleet_node *node, const struct fleet_ask *ask)
{
	struct fleet_http *http = node->http;

	if (http &&
	    (http->state != IDLE || http->address != ask->address || http->port != ask->port)) {
		fleet_http_cancel(node);
		http = NULL;
	}
	if (!http) {
		http = calloc(1, sizeof(*http));
		if (!http)
			abort();
		http->fd = -1;
		http->node = node;
		http->address = ask->address;
		http->port = ask->port;
		if (loop_timer_new(node->fleet->loop, fleet_http_silent, http, &http->silence))
			abort();
		node->http = http;
	}
	node->fleet->stats.http_requests++;
	fleet_http_build(node, ask, &http->out);
	http->sent = 0;
	http->status = 0;
	http->left = 0;
	http->heard = false;
	http->close = false;
	http->head_only = strcmp(ask->method, "HEAD") == 0;
	http->on_data = ask->on_data;
	http->on_done = ask->on_done;
	http->timeout_ms = ask->timeout_ms ? ask->timeout_ms : TIMEOUT_MS;
	loop_timer_arm(http->silence, http->timeout_ms);
	if (http->fd >= 0) {
		http->reused = true;
		http->state = HEAD;
		fleet_http_flush(http);
	} else if (open_connection(http)) {
		/* Whoever asks is not ready for an answer yet: told by the loop. */
		loop_timer_arm(http->silence, 0);
	}
}
