#include "bampi/control/consoles.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/db/db.h"
#include "common/io/log.h"

#include "bampi/bmc/console.h"
#include "bampi/bmc/console_ring.h"
#include "bampi/control/consoles_private.h"
#include "bampi/control/consoles_sql.h"

LEAKS_LEFT_TO_SANITIZER

#define CONSOLES_TICK_MS 15000
#define LAPSE_MS         300000 /* another bampid took the deployment over and ended it */
#define INPUT_MAX        4096
#define TAIL_LINES       4
#define PIECE_SIZE       ((size_t)8192)

struct console_node *consoles_find(const struct consoles *consoles, int64_t node_id)
{
	struct console_node *node;

	HASH_FIND(hh, consoles->nodes, &node_id, sizeof(node_id), node);
	return node;
}

const char *const console_watch_words[CONSOLE_WATCH_COUNT + 1] = {
	[CONSOLE_WATCH_WORK] = "work",
	[CONSOLE_WATCH_UNRENTED] = "unrented",
	[CONSOLE_WATCH_ALL] = "all",
};

/* --- the log --- */

static void consoles_keep(struct consoles *consoles, struct console_node *node,
			  enum console_log_kind kind, const char *bytes, size_t size)
{
	const struct console_log_record record = {
		.kind = kind, .at_ms = clock_wall_us() / 1000, .bytes = bytes, .size = size};
	int rc = 0;

	if (consoles->options.folder[0])
		rc = console_log_append(&node->log, consoles->options.folder, &record);
	if (rc && log_allowed(&consoles->log_limit, loop_now_ms(consoles->loop)))
		log_warn(CONSOLES_SUBJECT, "node %s: its console is not kept in %s: %s",
			 node->endpoint.node, consoles->options.folder, error_text(rc));
}

/* Of a connection that fails again and again only the first failure is worth a record. */
static void on_hub(void *context, int64_t node_id, enum console_state state, const char *bytes,
		   size_t size, const struct problem *problem)
{
	struct consoles *consoles = context;
	struct console_node *node = consoles_find(consoles, node_id);
	enum console_log_kind kind = CONSOLE_LOG_OUTPUT;

	if (!node)
		return;
	if (size > 0) {
		consoles_keep(consoles, node, kind, bytes, size);
		return;
	}
	switch (state) {
	case CONSOLE_CONNECTING: return;
	case CONSOLE_CONNECTED: kind = CONSOLE_LOG_CONNECTED; break;
	case CONSOLE_WAITING: kind = CONSOLE_LOG_LOST; break;
	case CONSOLE_OFF: kind = CONSOLE_LOG_CLOSED; break;
	}
	if (kind == node->said ||
	    (kind == CONSOLE_LOG_CLOSED && node->said != CONSOLE_LOG_CONNECTED))
		return;
	node->said = kind;
	if (kind == CONSOLE_LOG_LOST)
		consoles_keep(consoles, node, kind, problem->message, strlen(problem->message));
	else
		consoles_keep(consoles, node, kind, "", 0);
}

/* What is told of a log, to whom. */
struct log_reading {
	struct text *text;
	int64_t since_ms;
};

static void consoles_add_record(void *context, const struct console_log_record *record)
{
	const struct log_reading *reading = context;
	struct text *body = reading->text;
	CLEANUP(freep) char *base64 = NULL;
	char at[CLOCK_TEXT_SIZE];
	size_t room = sodium_base64_encoded_len(record->size, sodium_base64_VARIANT_ORIGINAL);

	if (record->at_ms < reading->since_ms)
		return;
	json_begin_object(body, NULL);
	json_put_string(body, "at", clock_text(record->at_ms * 1000, at));
	json_put_string(body, "kind", console_log_kind_text(record->kind));
	if (record->kind == CONSOLE_LOG_OUTPUT) {
		base64 = malloc(room);
		if (base64)
			(void)sodium_bin2base64(base64, room, (const unsigned char *)record->bytes,
						record->size, sodium_base64_VARIANT_ORIGINAL);
		else
			body->failed = true;
		json_put_string(body, "bytes", base64);
	} else if (record->size > 0) {
		char why[256];

		(void)text_format(why, sizeof(why), "%.*s", (int)record->size, record->bytes);
		json_put_string(body, "reason", why);
	}
	json_end_object(body);
}

void consoles_log(struct consoles *consoles, struct http_request *request, int64_t node_id,
		  struct console_reader reader)
{
	CLEANUP(text_done) struct text body = {0};
	struct log_reading reading = {.text = &body, .since_ms = reader.since_ms};
	struct problem problem = {0};
	int rc = 0;

	json_begin_object(&body, NULL);
	json_put_string(&body, "node", http_request_param(request, "node"));
	json_begin_array(&body, "items");
	if (consoles->options.folder[0])
		rc = console_log_each(consoles->options.folder, node_id, consoles_add_record,
				      &reading);
	json_end_array(&body);
	json_end_object(&body);
	if (rc == 0 && !body.failed) {
		http_answer_json(request, 200, &body);
		return;
	}
	(void)problem_set(&problem, rc ? rc : -ENOMEM, "the console log of node %s cannot be read",
			  http_request_param(request, "node"));
	problem_detail(&problem, "%s", error_text(rc ? rc : -ENOMEM));
	problem_hint(&problem, "look at console_dir of bampid");
	http_answer_problem(request, http_status_of(problem.code), &problem);
}

static void add_output(void *context, const struct console_log_record *record)
{
	const struct log_reading *reading = context;

	if (record->kind == CONSOLE_LOG_OUTPUT && record->at_ms >= reading->since_ms)
		text_add_bytes(reading->text, record->bytes, record->size);
}

/* What an earlier life of ours has heard, looked up once. */
static const char *kept_tail(const struct consoles *consoles, struct console_node *node)
{
	CLEANUP(text_done) struct text bytes = {0};
	CLEANUP(text_done) struct text tail = {0};
	struct log_reading reading = {.text = &bytes};

	if (node->kept_tail)
		return node->kept_tail;
	if (consoles->options.folder[0] &&
	    console_log_each(consoles->options.folder, node->node_id, add_output, &reading) == 0)
		console_tail_text(text_get(&bytes), bytes.size, TAIL_LINES, &tail);
	node->kept_tail = strdup(text_get(&tail));
	return node->kept_tail ? node->kept_tail : "";
}

/* --- whose consoles are listened to --- */

static void consoles_want(struct consoles *consoles, struct console_node *node, bool wanted)
{
	struct problem problem = {0};

	if (wanted == node->wanted)
		return;
	if (!wanted) {
		node->wanted = false;
		console_unwatch(consoles->hub, node->node_id);
	} else if (console_watch(consoles->hub, &node->endpoint, &problem) == 0) {
		node->wanted = true;
	}
}

static void consoles_on_wanted(void *context, int rc, const PGresult *result,
			       const struct problem *problem)
{
	struct consoles *consoles = context;
	struct console_node *node;
	int rows = rc ? 0 : PQntuples(result);

	consoles->listing = false;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_WARN, CONSOLES_SUBJECT, problem);
	if (rc)
		return;
	for (node = consoles->nodes; node; node = node->hh.next)
		node->listed = false;
	for (int row = 0; row < rows; row++) {
		node = consoles_find(consoles, db_int(result, row, CONSOLES_WANTED_NODE_ID, 0));
		if (node)
			node->listed = true;
	}
	for (node = consoles->nodes; node; node = node->hh.next)
		consoles_want(consoles, node, node->listed);
}

static void list_wanted(struct consoles *consoles)
{
	const char *params[] = {console_watch_words[consoles->options.watch]};

	if (consoles->options.watch == CONSOLE_WATCH_WORK || consoles->listing || !consoles->db ||
	    !db_connected(consoles->db))
		return;
	consoles->listing = db_submit(consoles->db, &consoles_wanted_query, params,
				      consoles_on_wanted, consoles) == 0;
}

void consoles_db(struct consoles *consoles, struct db *db)
{
	consoles->db = db;
}

/* --- viewers --- */

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

static void consoles_on_closed(void *context)
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

/* Bytes alone cannot say why they end. */
static int consoles_say_closed(struct viewer *viewer, const struct problem *problem)
{
	CLEANUP(text_done) struct text event = {0};

	if (viewer->format != CONSOLE_SSE)
		return 0;
	text_add(&event, "event: closed\ndata: ");
	json_begin_object(&event, NULL);
	json_put_string(&event, "message", problem->message);
	json_put_string(&event, "detail", problem->detail);
	json_put_string(&event, "hint", problem->hint);
	json_end_object(&event);
	text_add(&event, "\n\n");
	return http_stream_send(viewer->request, text_get(&event), event.size);
}

void consoles_viewer_end(struct viewer *viewer, const struct problem *problem)
{
	http_request_on_close(viewer->request, NULL, NULL);
	if (consoles_say_closed(viewer, problem) == 0)
		http_stream_end(viewer->request);
	viewer_free(viewer);
}

static void consoles_on_piece(void *context, const char *bytes, size_t size, uint64_t position)
{
	struct viewer *viewer = context;
	struct problem problem = {0};

	(void)position;
	if (size == 0) {
		viewer->ticket = 0;
		(void)problem_set(&problem, E_NOT_FOUND, "node %s has no BMC any more",
				  http_request_param(viewer->request, "node"));
		consoles_viewer_end(viewer, &problem);
	} else if (send_piece(viewer, bytes, size) != 0) {
		viewer_free(viewer); /* a client that cannot follow was ended by the send */
	}
}

/* What is kept has the times that a tenant's beginning is found by. */
static int replay_since(struct viewer *viewer)
{
	const struct consoles_options *options = &viewer->consoles->options;
	CLEANUP(text_done) struct text bytes = {0};
	struct log_reading reading = {.text = &bytes, .since_ms = viewer->reader.since_ms};

	if (!options->folder[0] ||
	    console_log_each(options->folder, viewer->node_id, add_output, &reading) != 0 ||
	    bytes.size == 0)
		return 0;
	return send_piece(viewer, text_get(&bytes), bytes.size);
}

static int consoles_replay(struct viewer *viewer)
{
	char *kept = viewer->reader.tenant != 0 ? NULL : malloc(CONSOLE_RING_SIZE);
	uint64_t position;
	size_t size;
	int rc = 0;

	if (viewer->reader.tenant != 0)
		return replay_since(viewer);
	if (!kept)
		return 0;
	size = console_copy(viewer->consoles->hub, viewer->node_id, 0, kept, CONSOLE_RING_SIZE,
			    &position);
	if (size > 0)
		rc = send_piece(viewer, kept, size);
	free(kept);
	return rc;
}

static void consoles_refuse(struct http_request *request, int rc, const char *node)
{
	struct problem problem = {0};

	(void)problem_set(&problem, rc, "node %s has no console", node);
	problem_detail(&problem, "%s", error_text(rc));
	problem_hint(&problem, "it needs a BMC with serial over LAN");
	http_answer_problem(request, http_status_of(rc), &problem);
}

void consoles_stream(struct consoles *consoles, struct http_request *request, int64_t node_id,
		     enum console_format format, struct console_reader reader)
{
	const struct console_node *node = consoles_find(consoles, node_id);
	struct problem problem = {0};
	struct viewer *viewer;
	int rc;

	if (!node) {
		consoles_refuse(request, E_NOT_FOUND, http_request_param(request, "node"));
		return;
	}
	rc = console_watch(consoles->hub, &node->endpoint, &problem);
	if (rc) {
		http_answer_problem(request, rc == -EINVAL ? 409 : http_status_of(rc), &problem);
		return;
	}
	console_hurry(consoles->hub, node_id);
	viewer = calloc(1, sizeof(*viewer));
	if (!viewer) {
		console_unwatch(consoles->hub, node_id);
		consoles_refuse(request, -ENOMEM, node->endpoint.node);
		return;
	}
	*viewer = (struct viewer){.consoles = consoles,
				  .request = request,
				  .node_id = node_id,
				  .format = format,
				  .reader = reader,
				  .held_ms = loop_now_ms(consoles->loop)};
	DL_APPEND(consoles->viewers, viewer);
	consoles->viewer_count++;
	http_stream_begin(request, 200,
			  format == CONSOLE_SSE ? "text/event-stream" : "application/octet-stream");
	rc = consoles_replay(viewer);
	if (rc == 0) {
		rc = console_subscribe(consoles->hub, node_id, consoles_on_piece, viewer,
				       &viewer->ticket);
		if (rc) {
			(void)problem_set(&problem, rc, "the console cannot be followed: %s",
					  error_text(rc));
			consoles_viewer_end(viewer, &problem);
			return;
		}
	}
	if (rc) {
		viewer_free(viewer);
		return;
	}
	http_request_on_close(request, consoles_on_closed, viewer);
	if (reader.tenant != 0)
		consoles_tenancy_begin(consoles);
}

void consoles_input(struct consoles *consoles, struct http_request *request, int64_t node_id,
		    struct console_reader reader)
{
	struct problem problem = {0};
	size_t taken = 0;
	size_t size;
	const char *body = http_request_body(request, &size);
	int rc = size > INPUT_MAX ? E_LIMIT : 0;

	if (rc == 0 && reader.tenant != 0 &&
	    !consoles_tenancy_looks(consoles, node_id, reader.tenant))
		rc = -EAGAIN;
	if (rc == 0)
		rc = console_write(consoles->hub, node_id, body, size, &taken);

	if (rc == 0 && taken < size)
		rc = -EAGAIN;
	if (rc == 0) {
		http_answer(request, 204, NULL, NULL, 0);
		return;
	}
	(void)problem_set(&problem, rc == -EAGAIN ? E_UNAVAILABLE : rc,
			  "the console of node %s did not take all bytes",
			  http_request_param(request, "node"));
	problem_detail(&problem, "%s; %zu of %zu bytes were typed", error_text(rc), taken, size);
	problem_hint(&problem,
		     rc == E_LIMIT ? "send at most 4096 bytes at once"
				   : "open the console first, and try again when it is connected");
	http_answer_problem(request, http_status_of(problem.code), &problem);
}

void consoles_stats(const struct consoles *consoles, struct console_hub_stats *ret)
{
	console_hub_stats(consoles->hub, ret);
}

size_t consoles_viewers(const struct consoles *consoles)
{
	return consoles->viewer_count;
}

/* --- nodes --- */

static void node_free(struct console_node *node)
{
	bmc_endpoint_wipe(&node->endpoint);
	free(node->kept_tail);
	free(node);
}

void consoles_endpoint(void *context, int64_t node_id, const struct bmc_endpoint *endpoint)
{
	struct consoles *consoles = context;
	struct console_node *node = consoles_find(consoles, node_id);

	if (!endpoint) {
		if (!node)
			return;
		HASH_DEL(consoles->nodes, node);
		console_forget(consoles->hub, node_id);
		if (consoles->options.folder[0])
			console_log_remove(consoles->options.folder, node_id);
		node_free(node);
		return;
	}
	if (!node) {
		node = calloc(1, sizeof(*node));
		if (!node)
			return;
		node->node_id = node_id;
		node->log.id = node_id;
		HASH_ADD(hh, consoles->nodes, node_id, sizeof(node->node_id), node);
	}
	bmc_endpoint_wipe(&node->endpoint);
	node->endpoint = *endpoint;
}

void consoles_active(void *context, int64_t node_id, bool active)
{
	struct consoles *consoles = context;
	struct console_node *node = consoles_find(consoles, node_id);
	struct problem problem = {0};

	if (!node)
		return;
	node->active_ms = loop_now_ms(consoles->loop);
	if (active)
		consoles_tenancy_over(consoles, node_id);
	if (active == node->watched || strcmp(node->endpoint.driver, "sim") == 0)
		return;
	if (!active) {
		node->watched = false;
		node->started_ms = 0;
		console_unwatch(consoles->hub, node_id);
	} else if (console_watch(consoles->hub, &node->endpoint, &problem) == 0) {
		node->watched = true;
	} else {
		log_problem(LOG_LEVEL_DEBUG, CONSOLES_SUBJECT, &problem);
	}
}

void consoles_tail(void *context, int64_t node_id, char *ret, size_t room)
{
	const struct consoles *consoles = context;
	struct console_node *node = consoles_find(consoles, node_id);
	CLEANUP(text_done) struct text tail = {0};
	const char *from;

	console_tail(consoles->hub, node_id, TAIL_LINES, &tail);
	if (tail.size == 0 && node)
		text_add(&tail, kept_tail(consoles, node));
	from = text_get(&tail);
	if (tail.size >= room)
		from += tail.size - (room - 1);
	(void)text_copy(ret, room, from);
	for (char *at = ret; *at; at++)
		if (*at == '\n')
			*at = '|';
}

bool consoles_holds(void *context, int64_t node_id, const char *text, bool *ret_blind)
{
	const struct consoles *consoles = context;
	const struct console_node *node = consoles_find(consoles, node_id);
	CLEANUP(text_done) struct text tail = {0};

	*ret_blind = !node || strcmp(node->endpoint.driver, "ipmi") != 0;
	console_tail(consoles->hub, node_id, CONSOLE_TAIL_LINES_MAX, &tail);
	return strstr(text_get(&tail), text) != NULL;
}

static void consoles_tick(void *context)
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
	list_wanted(consoles);
	loop_timer_arm(consoles->timer, CONSOLES_TICK_MS);
}

int consoles_new(struct loop *loop, const struct consoles_options *options, struct consoles **ret)
{
	struct consoles *consoles = calloc(1, sizeof(*consoles));
	int rc;

	if (!consoles)
		return -ENOMEM;
	*consoles = (struct consoles){
		.loop = loop, .options = *options, .log_limit = {.burst = 5, .per_minute = 5}};
	rc = console_hub_new(loop, &consoles->hub);
	if (rc == 0)
		rc = loop_timer_new(loop, consoles_tick, consoles, &consoles->timer);
	if (rc == 0)
		rc = loop_timer_new(loop, consoles_look_for_mute, consoles, &consoles->mute_timer);
	if (rc == 0)
		rc = consoles_tenancy_new(consoles);
	if (rc) {
		consoles_free(consoles);
		return rc;
	}
	console_hub_observe(consoles->hub, on_hub, consoles);
	if (options->seats)
		console_hub_seats(consoles->hub, options->seats);
	loop_timer_arm(consoles->timer, CONSOLES_TICK_MS);
	consoles_look_for_mute(consoles);
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
		node_free(node);
	}
	loop_timer_free(consoles->timer);
	loop_timer_free(consoles->mute_timer);
	loop_timer_free(consoles->tenancy_timer);
	console_hub_free(consoles->hub);
	free(consoles);
}
