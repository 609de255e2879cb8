#include "common/db/heartbeat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/db/db_private.h"
#include "common/db/heartbeat_sql.h"

#define HEARTBEAT_AWAY_MS 200 /* until the connection is looked at again */

struct heartbeat {
	struct loop *loop;
	struct db *db;
	struct loop_timer *timer;
	char name[32];
	char instance[256];
	int64_t started_ms;
	bool on_its_way; /* a mute database does not collect beats */
};

/* A beat that fails is told by its absence: the row grows old. */
static void heartbeat_on_written(void *context, int rc, const PGresult *result,
				 const struct problem *problem)
{
	struct heartbeat *heartbeat = context;

	(void)rc;
	(void)result;
	(void)problem;
	heartbeat->on_its_way = false;
}

static void heartbeat_due(void *context)
{
	struct heartbeat *heartbeat = context;
	char up_ms[24];
	const char *params[] = {heartbeat->name, heartbeat->instance, HAAS_VERSION, up_ms};
	bool connected = db_answers(heartbeat->db);

	(void)text_format(up_ms, sizeof(up_ms), "%" PRId64,
			  loop_now_ms(heartbeat->loop) - heartbeat->started_ms);
	if (connected && !heartbeat->on_its_way)
		heartbeat->on_its_way = db_submit_beat(heartbeat->db, &daemon_beat_query, params,
						       heartbeat_on_written, heartbeat) == 0;
	loop_timer_arm(heartbeat->timer, connected ? HEARTBEAT_MS : HEARTBEAT_AWAY_MS);
}

int heartbeat_new(struct loop *loop, struct db *db, const char *name, const char *instance,
		  struct heartbeat **ret)
{
	struct heartbeat *heartbeat = calloc(1, sizeof(*heartbeat));
	char host[64] = "";
	int rc;

	if (!heartbeat)
		return -ENOMEM;
	(void)gethostname(host, sizeof(host) - 1);
	heartbeat->loop = loop;
	heartbeat->db = db;
	heartbeat->started_ms = loop_now_ms(loop);
	(void)text_copy(heartbeat->name, sizeof(heartbeat->name), name);
	(void)text_copy(heartbeat->instance, sizeof(heartbeat->instance),
			instance && instance[0] ? instance : host);
	rc = loop_timer_new(loop, heartbeat_due, heartbeat, &heartbeat->timer);
	if (rc) {
		free(heartbeat);
		return rc;
	}
	loop_timer_arm(heartbeat->timer, 0);
	*ret = heartbeat;
	return 0;
}

void heartbeat_free(struct heartbeat *heartbeat)
{
	if (!heartbeat)
		return;
	loop_timer_free(heartbeat->timer);
	free(heartbeat);
}
