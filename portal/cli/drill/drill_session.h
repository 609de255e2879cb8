/* A drill_view with the server behind it; and how it is driven: by a person, or by a script. */
#pragma once

#include "portal/cli/drill/drill_view.h"
#include "portal/cli/haasctl.h"

struct drill_session {
	struct haasctl *haasctl;
	const struct command_input *input;
	struct drill_view *view;
	bool ascii;
	int status; /* of the last question: an exit status */
};

/* Asks what the view asks for and gives it the answer. EXIT_INTERRUPTED when the person went;
 * else EXIT_OK: a refusal is the view's to show. */
MUST_USE int drill_session_ask(struct drill_session *session);
/* What is asked beside the page (drill_view_errand), once. EXIT_INTERRUPTED or EXIT_OK. */
MUST_USE int drill_session_errand(struct drill_session *session);
/* The page's JSON into a file that must not be there yet; tells the view what came of it. */
void drill_session_write(struct drill_session *session, const char *path);

/* Is there a terminal to draw on, and does somebody sit there? */
bool drill_tui_possible(void);
/* Runs until the person quits; an exit status. */
MUST_USE int drill_tui_run(struct drill_session *session);
/* Keys of a file ("-": stdin); frames to stdout. An exit status. */
MUST_USE int drill_script_run(struct drill_session *session, const char *path);
