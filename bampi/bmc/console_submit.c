#include "bampi/bmc/console_submit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Of the two that use it, who comes last frees it: the session's thread may run much later. */
struct submission {
	pthread_mutex_t returning; /* held until ipmiconsole_engine_submit has returned */
	atomic_int users;
};

static void submission_unref(struct submission *submission)
{
	if (atomic_fetch_sub(&submission->users, 1) > 1)
		return;
	(void)pthread_mutex_destroy(&submission->returning);
	free(submission);
}

/* In a thread of the library, once per session: established, or about to end. It holds the lock of
 * that thread's sessions, which ipmiconsole_engine_submit is done with by then. */
static void on_progress(void *context)
{
	struct submission *submission = context;

	(void)pthread_mutex_lock(&submission->returning);
	(void)pthread_mutex_unlock(&submission->returning);
	submission_unref(submission);
}

int console_submit(ipmiconsole_ctx_t session)
{
	struct submission *submission = calloc(1, sizeof(*submission));
	int rc;

	if (!submission)
		return -1;
	(void)pthread_mutex_init(&submission->returning, NULL);
	atomic_init(&submission->users, 2);
	(void)pthread_mutex_lock(&submission->returning);
	rc = ipmiconsole_engine_submit(session, on_progress, submission);
	(void)pthread_mutex_unlock(&submission->returning);
	if (rc < 0)
		atomic_store(&submission->users, 1); /* no thread has it */
	submission_unref(submission);
	return rc;
}
