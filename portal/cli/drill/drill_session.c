#include "portal/cli/drill/drill_session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"

int drill_session_ask(struct drill_session *session)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	struct drill_view *view = session->view;
	struct problem problem = {0};
	struct drill_page *page = NULL;
	uint64_t question = view->question;

	drill_view_target(view, &target);
	session->status = haasctl_call(session->haasctl, session->input,
				       &(struct haasctl_call){.method = "GET",
							      .target = text_get(&target),
							      .problem = &problem,
							      .by_itself = view->by_itself},
				       &reply);
	int64_t now_ms = clock_wall_us() / 1000;
	if (session->status == EXIT_INTERRUPTED)
		return EXIT_INTERRUPTED;
	if (session->status != EXIT_OK)
		drill_view_refuse(view, question, &problem, now_ms);
	else if (!reply.json) /* left for another question */
		return EXIT_OK;
	else if (drill_page_new(reply.json, &page) == 0)
		drill_view_answer(view, question, page, now_ms);
	else {
		(void)problem_set(&problem, -ENOMEM, "no memory for the answer");
		drill_view_refuse(view, question, &problem, now_ms);
	}
	return EXIT_OK;
}

int drill_session_errand(struct drill_session *session)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	struct drill_view *view = session->view;
	struct problem problem = {0};
	enum drill_errand errand = drill_view_errand(view);
	uint64_t question = view->question;

	if (errand == ERRAND_NONE)
		return EXIT_OK;
	const char *method = drill_view_errand_call(view, errand, &target, &body);
	int status =
		haasctl_call(session->haasctl, session->input,
			     &(struct haasctl_call){.method = method,
						    .target = text_get(&target),
						    .body = body.size > 0 ? text_get(&body) : NULL,
						    .problem = &problem,
						    .by_itself = errand < ERRAND_START},
			     &reply);
	if (status == EXIT_INTERRUPTED)
		return EXIT_INTERRUPTED;
	if (status == EXIT_OK && !reply.json && errand < ERRAND_START) /* left for a question */
		return EXIT_OK;
	drill_view_errand_done(view, errand, question, status == EXIT_OK ? reply.json : NULL,
			       &problem);
	return EXIT_OK;
}

void drill_session_write(struct drill_session *session, const char *path)
{
	struct drill_view *view = session->view;
	int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
	int rc = out ? 0 : -errno;

	if (file >= 0 && !out)
		(void)close(file);
	if (out) {
		if (json_dumpf(view->page->json, out, JSON_INDENT(2)) != 0 ||
		    fputc('\n', out) == EOF)
			rc = -EIO;
		if (fclose(out) != 0 && rc == 0)
			rc = -errno;
	}
	if (rc)
		drill_view_tell(view, "cannot write %s: %s", path, error_text(rc));
	else
		drill_view_tell(view, "written to %s", path);
}
