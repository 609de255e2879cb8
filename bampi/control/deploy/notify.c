#include "bampi/control/deploy/notify.h"

#include <errno.h>
#include <stdlib.h>

#include "common/db/array.h"

#include "bampi/control/deploy/notify_sql.h"

#define GAP_MS 100

/* A node stands still until somebody hears of these; events are for people. */
#define URGENT (NOTIFY_AGENT_TASK | NOTIFY_BOOT_INTENT)

static const char *const channel_words[] = {"agent_task", "boot_intent", "event"};

struct notify {
	struct loop *loop;
	struct db *db;
	struct loop_timer *timer;
	unsigned marked;
	int64_t urgent_ms; /* when an urgent one was sent last */
};

/* A lost notification costs its listener no more than its period: nothing is repeated. */
static void send_now(void *context)
{
	struct notify *notify = context;
	CLEANUP(text_done) struct text channels = {0};

	array_begin(&channels);
	for (size_t i = 0; i < COUNT_OF(channel_words); i++)
		if (notify->marked & 1U << i)
			array_add(&channels, channel_words[i]);
	array_end(&channels);

	const char *params[] = {text_get(&channels)};

	if (notify->marked & URGENT)
		notify->urgent_ms = loop_now_ms(notify->loop);
	notify->marked = 0;
	if (!channels.failed &&
	    db_submit(notify->db, &deploy_notify_query, params, NULL, NULL) != 0)
		return;
}

int notify_new(struct loop *loop, struct db *db, struct notify **ret)
{
	struct notify *notify = calloc(1, sizeof(*notify));
	int rc;

	if (!notify)
		return -ENOMEM;
	*notify = (struct notify){.loop = loop, .db = db, .urgent_ms = loop_now_ms(loop) - GAP_MS};
	rc = loop_timer_new(loop, send_now, notify, &notify->timer);
	if (rc) {
		free(notify);
		return rc;
	}
	*ret = notify;
	return 0;
}

void notify_free(struct notify *notify)
{
	if (!notify)
		return;
	loop_timer_free(notify->timer);
	free(notify);
}

void notify_mark(struct notify *notify, unsigned channels)
{
	unsigned before = notify->marked;

	notify->marked |= channels;
	if (channels & URGENT && !(before & URGENT)) {
		int64_t wait_ms = notify->urgent_ms + GAP_MS - loop_now_ms(notify->loop);
		loop_timer_arm(notify->timer, wait_ms > 0 ? wait_ms : 0);
	} else if (channels && !before) {
		loop_timer_arm(notify->timer, GAP_MS);
	}
}
