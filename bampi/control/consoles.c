/* The default hash falls through its cases, which clang objects to. */
#define HASH_FUNCTION HASH_FNV

#include "bampi/control/consoles.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "bampi/control/bmc/console.h"
#include "bampi/control/bmc/console_ring.h"

#define SUBJECT    "console"
#define TICK_MS    15000
#define LAPSE_MS   300000 /* another bampid took the deployment over and ended it */
#define INPUT_MAX  4096
#define TAIL_LINES 4
#define PIECE_SIZE ((size_t)8192)

struct console_node {
	int64_t node_id; /* key */
	struct bmc_endpoint endpoint;
	bool watched; /* for a deployment */
	int64_t active_ms;
	UT_hash_handle hh;
};

struct viewer {
	struct consoles *consoles;
	struct http_request *request;
	int64_t node_id;
	enum console_format format;
	uint64_t ticket;
	struct viewer *prev, *next;
};

struct consoles {
	struct loop *loop;
	struct console_hub *hub;
	struct loop_timer *timer;
	struct console_node *nodes;
	struct viewer *viewers;
	size_t viewer_count;
};

static struct console_node *find(const struct consoles *consoles, int64_t node_id)
{
	struct console_node *node;

	HASH_FIND(hh, consoles->nodes, &node_id, sizeof(node_id), node);
	return node;
}

/* --- viewers
 * -------------------------------------------------------------------------------------------------------------------
 */

static void viewer_free(struct viewer *viewer)
{
	struct consoles *consoles = viewer->consoles;

	if (viewer->ticket)
		console_unsubscribe(consoles->hub, viewer->ticket);
	console_unwatch(consoles->hub, viewer->node_id);
	DL_DELETE(consoles->viewers, viewer);
	consoles->viewer_count--;
	free(viewer);
}

static void on_closed(void *context)
{
	viewer_free(context);
}

static int send_piece(struct viewer *viewer, const char *bytes, size_t size)
{
	char base64[sodium_base64_ENCODED_LEN(PIECE_SIZE, sodium_base64_VARIANT_ORIGINAL)];
	CLEANUP(text_done) struct text event = {0};

	if (viewer->format == CONSOLE_RAW)
		return http_stream_send(viewer->request, bytes, size);
	while (size > 0) {
		size_t part = size < PIECE_SIZE ? size : PIECE_SIZE;

		(void)sodium_bin2base64(base64, sizeof(base64), (const unsigned char *)bytes, part,
					sodium_base64_VARIANT_ORIGINAL);
		text_addf(&event, "event: console\ndata: %s\n\n", base64);
		bytes += part;
		size -= part;
	}
	return event.failed ? -ENOMEM
			    : http_stream_send(viewer->request, text_get(&event), event.size);
}

static void on_piece(void *context, const char *bytes, size_t size, uint64_t position)
{
	struct viewer *viewer = context;

	(void)position;
	if (size == 0) { /* the node is gone */
		viewer->ticket = 0;
		http_request_on_close(viewer->request, NULL, NULL);
		http_stream_end(viewer->request);
	} else if (send_piece(viewer, bytes, size) == 0) {
		return;
	}
	viewer_free(viewer); /* a client that cannot follow was ended by the send */
}

static int replay(struct viewer *viewer)
{
	char *kept = malloc(CONSOLE_RING_SIZE);
	uint64_t position;
	size_t size;
	int rc = 0;

	if (!kept)
		return 0;
	size = console_copy(viewer->consoles->hub, viewer->node_id, 0, kept, CONSOLE_RING_SIZE,
			    &position);
	if (size > 0)
		rc = send_piece(viewer, kept, size);
	free(kept);
	return rc;
}

static void refuse(struct http_request *request, int rc, const char *node)
{
	struct problem problem = {0};

	(void)problem_set(&problem, rc, "node %s has no console", node);
	problem_detail(&problem, "%s", error_text(rc));
	problem_hint(&problem, "it needs a BMC with serial over LAN");
	http_answer_problem(request, http_status_of(rc), &problem);
}

void consoles_stream(struct consoles *consoles, struct http_request *request, int64_t node_id,
		     enum console_format format)
{
	const struct console_node *node = find(consoles, node_id);
	struct problem problem = {0};
	struct viewer *viewer;
	int rc;

	if (!node) {
		refuse(request, E_NOT_FOUND, http_request_param(request, "node"));
		return;
	}
	rc = console_watch(consoles->hub, &node->endpoint, &problem);
	if (rc) {
		http_answer_problem(request, rc == -EINVAL ? 409 : http_status_of(rc), &problem);
		return;
	}
	viewer = calloc(1, sizeof(*viewer));
	if (!viewer) {
		console_unwatch(consoles->hub, node_id);
		refuse(request, -ENOMEM, node->endpoint.node);
		return;
	}
	*viewer = (struct viewer){
		.consoles = consoles, .request = request, .node_id = node_id, .format = format};
	DL_APPEND(consoles->viewers, viewer);
	consoles->viewer_count++;
	http_stream_begin(request, 200,
			  format == CONSOLE_SSE ? "text/event-stream" : "application/octet-stream");
	rc = replay(viewer);
	if (rc == 0) {
		rc = console_subscribe(consoles->hub, node_id, on_piece, viewer, &viewer->ticket);
		if (rc)
			http_stream_end(request);
	}
	if (rc) {
		viewer_free(viewer);
		return;
	}
	http_request_on_close(request, on_closed, viewer);
}

void consoles_input(struct consoles *consoles, struct http_request *request, int64_t node_id)
{
	struct problem problem = {0};
	size_t taken = 0;
	size_t size;
	const char *body = http_request_body(request, &size);
	int rc = size > INPUT_MAX ? E_LIMIT
				  : console_write(consoles->hub, node_id, body, size, &taken);

	if (rc == 0 && taken < size)
		rc = -EAGAIN;
	if (rc == 0) {
		http_answer(request, 204, NULL, NULL, 0);
		return;
	}
	(void)problem_set(&problem, rc == -EAGAIN ? E_UNAVAILABLE : rc,
			  "the console of node %s did not take all",
			  http_request_param(request, "node"));
	problem_detail(&problem, "%s; %zu of %zu bytes were typed", error_text(rc), taken, size);
	problem_hint(&problem,
		     rc == E_LIMIT ? "send at most 4096 bytes at once"
				   : "open the console first, and try again when it is connected");
	http_answer_problem(request, http_status_of(problem.code), &problem);
}

size_t consoles_viewers(const struct consoles *consoles)
{
	return consoles->viewer_count;
}

/* --- nodes
 * ---------------------------------------------------------------------------------------------------------------------
 */

void consoles_endpoint(void *context, int64_t node_id, const struct bmc_endpoint *endpoint)
{
	struct consoles *consoles = context;
	struct console_node *node = find(consoles, node_id);

	if (!endpoint) {
		if (!node)
			return;
		HASH_DEL(consoles->nodes, node);
		console_forget(consoles->hub, node_id);
		bmc_endpoint_wipe(&node->endpoint);
		free(node);
		return;
	}
	if (!node) {
		node = calloc(1, sizeof(*node));
		if (!node)
			return;
		node->node_id = node_id;
		HASH_ADD(hh, consoles->nodes, node_id, sizeof(node->node_id), node);
	}
	bmc_endpoint_wipe(&node->endpoint);
	node->endpoint = *endpoint;
}

void consoles_active(void *context, int64_t node_id, bool active)
{
	struct consoles *consoles = context;
	struct console_node *node = find(consoles, node_id);
	struct problem problem = {0};

	if (!node)
		return;
	node->active_ms = loop_now_ms(consoles->loop);
	if (active == node->watched || strcmp(node->endpoint.driver, "sim") == 0)
		return;
	if (!active) {
		node->watched = false;
		console_unwatch(consoles->hub, node_id);
	} else if (console_watch(consoles->hub, &node->endpoint, &problem) == 0) {
		node->watched = true;
	} else {
		log_problem(LOG_LEVEL_DEBUG, SUBJECT, &problem);
	}
}

void consoles_tail(void *context, int64_t node_id, char *ret, size_t room)
{
	const struct consoles *consoles = context;
	CLEANUP(text_done) struct text tail = {0};
	const char *from;

	console_tail(consoles->hub, node_id, TAIL_LINES, &tail);
	from = text_get(&tail);
	if (tail.size >= room)
		from += tail.size - (room - 1);
	(void)text_copy(ret, room, from);
	for (char *at = ret; *at; at++)
		if (*at == '\n')
			*at = '|';
}

static void tick(void *context)
{
	struct consoles *consoles = context;
	struct console_node *node;
	struct console_node *next_node;
	struct viewer *viewer;
	struct viewer *next;

	DL_FOREACH_SAFE(consoles->viewers, viewer, next)
	{
		if (viewer->format == CONSOLE_SSE &&
		    http_stream_send(viewer->request, ":\n\n", 3) != 0)
			viewer_free(viewer);
	}
	HASH_ITER(hh, consoles->nodes, node, next_node)
	{
		if (node->watched && loop_now_ms(consoles->loop) - node->active_ms > LAPSE_MS)
			consoles_active(consoles, node->node_id, false);
	}
	loop_timer_arm(consoles->timer, TICK_MS);
}

int consoles_new(struct loop *loop, struct consoles **ret)
{
	struct consoles *consoles = calloc(1, sizeof(*consoles));
	int rc;

	if (!consoles)
		return -ENOMEM;
	consoles->loop = loop;
	rc = console_hub_new(loop, &consoles->hub);
	if (rc == 0)
		rc = loop_timer_new(loop, tick, consoles, &consoles->timer);
	if (rc) {
		consoles_free(consoles);
		return rc;
	}
	loop_timer_arm(consoles->timer, TICK_MS);
	*ret = consoles;
	return 0;
}

void consoles_free(struct consoles *consoles)
{
	struct console_node *node;
	struct console_node *next_node;
	struct viewer *viewer;
	struct viewer *next;

	if (!consoles)
		return;
	DL_FOREACH_SAFE(consoles->viewers, viewer, next)
	viewer_free(viewer);
	HASH_ITER(hh, consoles->nodes, node, next_node)
	{
		HASH_DEL(consoles->nodes, node);
		bmc_endpoint_wipe(&node->endpoint);
		free(node);
	}
	loop_timer_free(consoles->timer);
	console_hub_free(consoles->hub);
	free(consoles);
}
