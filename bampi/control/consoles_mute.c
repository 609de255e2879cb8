/* Serial-over-LAN sessions that go mute. After a reset of the node some BMCs keep the session and
 * send nothing more. While a step listens, such a session is opened anew. */
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/log.h"

#include "bampi/bmc/console.h"
#include "bampi/bmc/console_policy.h"
#include "bampi/control/consoles_private.h"

#define MUTE_LOOK_MS  2000
#define SAME_START_MS 5000 /* two looks at one start differ by less */

/* The moment when the console was last heard since the node was started. -1: no step listens, or the
 * console is not connected, which the hub mends. */
static int64_t consoles_heard_ms(const struct consoles *consoles, const struct console_node *node)
{
	struct console_status status;
	int64_t byte_ms;

	if (!node->started_ms || !console_status(consoles->hub, node->node_id, &status) ||
	    status.state != CONSOLE_CONNECTED)
		return -1;
	byte_ms = status.last_byte_us == 0 ? 0
					   : loop_now_ms(consoles->loop) -
						     (clock_wall_us() - status.last_byte_us) / 1000;
	return byte_ms > node->started_ms ? byte_ms : node->started_ms;
}

int64_t consoles_listen(void *context, int64_t node_id, int64_t age_ms, unsigned *ret_reopened)
{
	struct consoles *consoles = context;
	struct console_node *node = consoles_find(consoles, node_id);
	int64_t now_ms = loop_now_ms(consoles->loop);
	int64_t heard_ms;

	*ret_reopened = 0;
	if (!node)
		return 0;
	if (age_ms < 0) {
		node->started_ms = 0;
		return 0;
	}
	if (llabs(node->started_ms - (now_ms - age_ms)) > SAME_START_MS) {
		node->started_ms = now_ms - age_ms;
		node->reopened_ms = 0;
		node->reopened = 0;
	}
	*ret_reopened = node->reopened;
	heard_ms = consoles_heard_ms(consoles, node);
	return heard_ms < 0 ? 0 : now_ms - heard_ms;
}

void consoles_look_for_mute(void *context)
{
	struct consoles *consoles = context;
	int64_t now_ms = loop_now_ms(consoles->loop);

	for (struct console_node *node = consoles->nodes; node; node = node->hh.next) {
		int64_t heard_ms = consoles_heard_ms(consoles, node);
		int64_t since_ms = heard_ms > node->reopened_ms ? heard_ms : node->reopened_ms;

		if (heard_ms < 0 || now_ms - since_ms < console_mute_ms(node->reopened) ||
		    console_reopen(consoles->hub, node->node_id) != 0)
			continue;
		node->reopened_ms = now_ms;
		node->reopened++;
		log_warn(
			CONSOLES_SUBJECT,
			"node %s: its console has said nothing for %lld s since the start of the node: "
			"session opened anew (%u)",
			node->endpoint.node, (long long)((now_ms - heard_ms) / 1000),
			node->reopened);
	}
	loop_timer_arm(consoles->mute_timer, MUTE_LOOK_MS);
}

void consoles_reopen(struct consoles *consoles, struct http_request *request, int64_t node_id)
{
	const struct console_node *node = consoles_find(consoles, node_id);
	struct problem problem = {0};

	if (node && console_reopen(consoles->hub, node_id) == 0) {
		log_info(CONSOLES_SUBJECT, "node %s: its session was opened anew by hand",
			 node->endpoint.node);
		http_answer(request, 204, NULL, NULL, 0);
		return;
	}
	(void)problem_set(&problem, E_CONFLICT, "the console of node %s has no session",
			  http_request_param(request, "node"));
	problem_hint(&problem, "haasctl node console %s opens one",
		     http_request_param(request, "node"));
	http_answer_problem(request, 409, &problem);
}
