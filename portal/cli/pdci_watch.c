/* haasctl pdci watch: a line for the PDCI and one per node, until it is ready or released (0), or
 * cannot go on by itself. */
#include <stdio.h>
#include <string.h>

#include "common/base/count_text.h"

#include "portal/cli/watch.h"

static bool is_state(const json_t *pdci, const char *state)
{
	return strcmp(haasctl_word(pdci, "state"), state) == 0;
}

static void set_title(struct watch *watch)
{
	const json_t *pdci = watch->subject;
	const char *waits;
	char nodes[COUNT_TEXT_SIZE + 8];
	char count[COUNT_TEXT_SIZE];

	if (strcmp(haasctl_word(pdci, "wanted"), "absent") == 0)
		(void)text_format(
			nodes, sizeof(nodes), "%s to go",
			count_text(count, json_integer_value(json_object_get(pdci, "nodes_held")),
				   "node"));
	else
		(void)text_format(nodes, sizeof(nodes),
				  "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
				  " nodes ready",
				  json_integer_value(json_object_get(pdci, "nodes_ready")),
				  json_integer_value(json_object_get(pdci, "nodes_wanted")));
	waits = haasctl_word(json_object_get(pdci, "waiting"), "message");
	(void)text_format(watch->title, sizeof(watch->title), "%-12s %-9s %-10s %s%s%.80s",
			  haasctl_word(pdci, "name"), "pdci", haasctl_word(pdci, "state"), nodes,
			  waits[0] ? "  " : "", waits);
}

/* With -o jsonl a change of the PDCI is a line too. */
static void say_pdci(const struct watch *watch, const json_t *before)
{
	if (!watch->jsonl ||
	    strcmp(haasctl_word(before, "state"), haasctl_word(watch->subject, "state")) == 0)
		return;
	(void)json_dumpf(watch->subject, stdout, JSON_COMPACT);
	putchar('\n');
}

/* In a release those of the release, and what has to end before; else those of the nodes that it
 * has. */
static bool pdci_watch_counts(const json_t *pdci, const json_t *node, const json_t *deployment)
{
	if (strcmp(haasctl_word(pdci, "wanted"), "absent") == 0)
		return strcmp(haasctl_word(deployment, "plan"), "release") == 0 ||
		       !watch_has_ended(deployment);
	return !json_is_string(json_object_get(node, "released_at"));
}

static int pdci_watch_look(struct watch *watch)
{
	struct haasctl_reply reply = {0};
	json_t *before = watch->subject;
	json_t *watched;
	const json_t *node;
	size_t i;
	int status = watch_get(watch, watch->target, &reply);

	if (status != EXIT_OK)
		return status;
	watched = json_array();
	json_array_foreach(json_object_get(reply.json, "nodes"), i, node)
	{
		json_t *deployment = json_object_get(node, "deployment");

		if (json_is_object(deployment) && pdci_watch_counts(reply.json, node, deployment))
			(void)json_array_append(watched, deployment);
	}
	json_decref(watch->watched);
	watch->watched = watched;
	watch->subject = json_incref(reply.json);
	say_pdci(watch, before);
	json_decref(before);
	haasctl_reply_done(&reply);
	set_title(watch);
	return EXIT_OK;
}

static bool pdci_watch_over(const struct watch *watch)
{
	static const char *const states[] = {"ready", "failed", "infeasible", "released"};

	for (size_t i = 0; i < COUNT_OF(states); i++) {
		if (is_state(watch->subject, states[i]))
			return true;
	}
	return false;
}

static int pdci_watch_sum_up(const struct watch *watch)
{
	const json_t *pdci = watch->subject;

	if (is_state(pdci, "ready") || is_state(pdci, "released"))
		return EXIT_OK;
	haasctl_stored_problem(haasctl_word(pdci, "name"), json_object_get(pdci, "problem"));
	return is_state(pdci, "infeasible") ? EXIT_CONFLICT : EXIT_FAILED;
}

int watch_pdci(struct haasctl *haasctl, const struct command_input *input, const char *target)
{
	struct watch watch;
	int64_t limit_s = 0;
	char come_back[128];
	int status = watch_begin(&watch, haasctl, input, &limit_s);

	if (status != EXIT_OK)
		return status;
	watch.target = target;
	watch.look = pdci_watch_look;
	watch.over = pdci_watch_over;
	watch.sum_up = pdci_watch_sum_up;
	status = pdci_watch_look(&watch);
	if (status == EXIT_OK) {
		(void)text_format(come_back, sizeof(come_back), "haasctl pdci watch %s",
				  haasctl_word(watch.subject, "name"));
		status = watch_follow(&watch, limit_s, come_back);
	}
	watch_end(&watch);
	return status;
}
