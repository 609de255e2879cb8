#include "portal/outward/receiver.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/fetch.h"
#include "common/io/run_program.h"
#include "common/io/worker.h"

#include "portal/outward/webhook_sign.h"

#define RECEIVER_DEADLINE_MS 10000
#define RECEIVER_ANSWER_MAX  65536
#define MAIL_DEADLINE_MS     20000
#define MAIL_ARGUMENTS       16

/* --- by HTTP --- */

static void receiver_on_answer(void *context, int rc, const struct fetch_answer *answer,
			       const struct problem *problem)
{
	struct receiver *receiver = context;
	struct problem refused = {0};

	receiver->fetch = NULL;
	if (rc == E_DENIED) {
		refused = *problem;
		problem_hint(
			&refused,
			"an address of this machine, a BMC, a switch or a node; if that is right: allow "
			"= [\"%s\"] in portal-outward.conf",
			problem->detail);
		problem = &refused;
	}
	if (!rc && (answer->status < 200 || answer->status > 299)) {
		rc = problem_set(&refused, E_UNAVAILABLE, "the receiver answered %d",
				 answer->status);
		problem_detail(&refused, "%.200s", answer->body);
		problem_hint(&refused, "look at its log and at %s.url", receiver->row->name);
		problem = &refused;
	}
	receiver->told(receiver, rc, problem);
}

static int receiver_post(struct receiver *receiver, const char *url, const char *signature,
			 struct problem *problem)
{
	const char *const headers[] = {"Content-Type: application/json", signature, NULL};
	int rc = fetch_start(receiver->fetcher,
			     &(struct fetch_request){.peer = receiver->row->name,
						     .method = "POST",
						     .url = url,
						     .headers = headers,
						     .body = receiver->body,
						     .size = strlen(receiver->body),
						     .deadline_ms = RECEIVER_DEADLINE_MS,
						     .may_connect = address_guard_may_connect,
						     .may_connect_context = &receiver->guard,
						     .answer_limit = RECEIVER_ANSWER_MAX},
			     receiver_on_answer, receiver, &receiver->fetch);

	if (rc)
		problem_hint(problem, "write %s.url as http://HOST:PORT/PATH or https://...",
			     receiver->row->name);
	return rc ? problem_set(problem, rc, "%s: the URL cannot be used", receiver->row->name) : 0;
}

static bool webhook_is_wanted(const struct outward_conf *conf)
{
	return conf->webhook_url[0] != '\0';
}

static int webhook_tell(struct receiver *receiver, struct problem *problem)
{
	char signature[WEBHOOK_SIGN_SIZE];

	if (receiver->secret)
		webhook_sign(receiver->secret, (int64_t)time(NULL), receiver->body, signature);
	return receiver_post(receiver, receiver->conf->webhook_url,
			     receiver->secret ? signature : NULL, problem);
}

static bool alertmanager_is_wanted(const struct outward_conf *conf)
{
	return conf->alertmanager_url[0] != '\0';
}

static int alertmanager_tell(struct receiver *receiver, struct problem *problem)
{
	CLEANUP(text_done) struct text url = {0};
	const char *base = receiver->conf->alertmanager_url;
	size_t size = strlen(base);

	text_add_bytes(&url, base, size > 0 && base[size - 1] == '/' ? size - 1 : size);
	text_add(&url, "/api/v2/alerts");
	if (url.failed)
		return problem_set(problem, -ENOMEM, "out of memory");
	return receiver_post(receiver, text_get(&url), NULL, problem);
}

/* --- by mail --- */

static bool mail_is_wanted(const struct outward_conf *conf)
{
	return conf->mail_to[0] != '\0';
}

/* On a worker's thread. */
static void mail_work(void *context)
{
	struct receiver *receiver = context;
	CLEANUP(freep) char *words = strdup(receiver->conf->mail_command);
	const char *argv[MAIL_ARGUMENTS + 1] = {NULL};
	char *rest = words;
	size_t count = 0;

	while (words && count < MAIL_ARGUMENTS) {
		char *word = strtok_r(rest, " \t", &rest);

		if (!word)
			break;
		argv[count++] = word;
	}
	receiver->mail_rc =
		words ? run_program(&(struct run_program){.argv = argv,
							  .input = receiver->body,
							  .input_size = strlen(receiver->body),
							  .deadline_ms = MAIL_DEADLINE_MS},
				    &receiver->mail_problem)
		      : problem_set(&receiver->mail_problem, -ENOMEM, "out of memory");
}

static void mail_done(void *context)
{
	struct receiver *receiver = context;

	if (receiver->told)
		receiver->told(receiver, receiver->mail_rc, &receiver->mail_problem);
}

static int mail_tell(struct receiver *receiver, struct problem *problem)
{
	int rc;

	receiver->mail_problem = (struct problem){0};
	receiver->mail_rc =
		problem_set(&receiver->mail_problem, E_UNAVAILABLE, "not sent: stopped");
	rc = worker_submit(receiver->worker, mail_work, mail_done, receiver);
	return rc ? problem_set(problem, rc, "mail cannot be sent: %s", error_text(rc)) : 0;
}

const struct receiver_row receiver_rows[RECEIVER_COUNT] = {
	{"webhook", NULL, webhook_is_wanted, webhook_tell},
	/* Half of the five minutes that notice_body gives an alert. */
	{"alertmanager", "120", alertmanager_is_wanted, alertmanager_tell},
	{"mail", NULL, mail_is_wanted, mail_tell},
};

void receiver_cancel(struct receiver *receiver)
{
	if (receiver->fetch)
		fetch_cancel(receiver->fetch);
	receiver->fetch = NULL;
	receiver->told = NULL;
}
