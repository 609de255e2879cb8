#include "bampi/storage/stored.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/daemon.h"
#include "common/io/file.h"
#include "common/io/log.h"
#include "common/io/process.h"

#include "bampi/storage/stored_key.h"
#include "bampi/storage/volume_file.h"
#include "bampi/storage/volume_runner.h"

#define STORED_SUBJECT "bampi-stored"
#define QUEUED_MAX     4096

struct stored {
	struct loop *loop;
	const struct stored_conf *conf;
	char owner[128];
	int lock; /* of dir: one daemon at one folder */
	struct stored_key *key;
	struct db *db;
	struct worker *worker;
	struct volume_runner *runner;
};

static const char *const stored_channels[] = {"volume", NULL};

static void stored_on_db_state(void *context, bool connected)
{
	struct stored *stored = context;

	if (connected)
		log_info(STORED_SUBJECT, "PostgreSQL is there");
	else
		log_warn(STORED_SUBJECT,
			 "PostgreSQL is away: open volumes stay open, no volume is changed");
	if (stored->runner)
		volume_runner_db_state(stored->runner, connected);
	stored_key_db_state(stored->key, connected);
}

static void stored_on_notify(void *context, const char *channel)
{
	struct stored *stored = context;

	(void)channel;
	if (stored->runner)
		volume_runner_wake(stored->runner);
	stored_key_wake(stored->key);
}

static int take_folder(struct stored *stored, struct problem *problem)
{
	const char *dir = stored->conf->dir;
	char path[PATH_MAX];
	int rc = file_make_folder(dir, 0700);

	if (rc)
		return problem_set(problem, rc, "dir %s: %s", dir, error_text(rc));
	if (!text_format(path, sizeof(path), "%s/lock", dir))
		return problem_set(problem, E_LIMIT, "dir is too long");
	stored->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (stored->lock < 0)
		return problem_set(problem, -errno, "cannot write to %s: %s", dir,
				   error_text(-errno));
	if (flock(stored->lock, LOCK_EX | LOCK_NB) != 0) {
		(void)problem_set(problem, E_CONFLICT, "another bampi-stored works in %s", dir);
		problem_hint(problem, "one daemon for one folder");
		return E_CONFLICT;
	}
	return volume_files_prepare(dir, problem);
}

static int stored_start_parts(struct stored *stored, struct problem *problem)
{
	const struct stored_conf *conf = stored->conf;
	const struct db_options db = {
		.conninfo = conf->database,
		.application = "bampi-stored",
		.daemon = "bampi-stored",
		.instance = stored->owner,
		.on_state = stored_on_db_state,
		.on_notify = stored_on_notify,
		.channels = stored_channels,
		.context = stored,
	};
	struct volume_runner_options options = {
		.driver = storage_driver_find(conf->driver),
		.place = {.control = conf->control},
		.network = {.program = conf->network_program, .uplink = conf->uplink},
		.storage = conf->storage,
		.owner = stored->owner,
		.dir = conf->dir,
		.level = (int)conf->level,
		.checkpoint_bytes = conf->checkpoint_mib << 20,
		.period_ms = conf->period_ms,
		.claim_ms = conf->claim_s * 1000,
	};
	int rc = take_folder(stored, problem);

	if (rc == 0)
		rc = stored_key_new(conf->key_dir, &stored->key, problem);
	/* two threads more than for files, so that looking and networks never wait for them */
	if (rc == 0)
		rc = worker_new(stored->loop, (unsigned)conf->workers + 2, QUEUED_MAX,
				&stored->worker);
	if (rc == 0)
		rc = db_new(stored->loop, &db, &stored->db);
	options.db = stored->db;
	options.worker = stored->worker;
	options.key = stored->key;
	if (rc == 0)
		memcpy(options.place.mark_key, stored_key_mark(stored->key),
		       sizeof(options.place.mark_key));
	if (rc == 0)
		rc = stored_key_start(stored->key, stored->loop, stored->db);
	if (rc == 0)
		rc = volume_runner_new(stored->loop, &options, &stored->runner);
	if (rc && !problem_is_set(problem))
		(void)problem_set(problem, rc, "bampi-stored cannot start: %s", error_text(rc));
	return rc;
}

static int stored_start(void *state, struct loop *loop, const void *values, struct problem *problem)
{
	const struct stored_conf *conf = values;
	struct stored *stored = state;
	char host[64];
	int rc;

	stored->lock = -1;
	if (sodium_init() < 0)
		return problem_set(problem, E_UNAVAILABLE, "libsodium does not start");
	stored->loop = loop;
	stored->conf = conf;
	/* Without the process: after kill -9 the same owner goes on at once. */
	process_host_name(host, sizeof(host));
	(void)text_format(stored->owner, sizeof(stored->owner), "%s:%s", host, conf->storage);
	/* Started as that user it keeps CAP_NET_ADMIN, which network_program needs
	 * (deploy/storage/network.conf). */
	rc = geteuid() == 0 ? process_drop_privileges(conf->user, problem) : 0;
	if (rc == 0)
		rc = stored_start_parts(stored, problem);
	if (rc)
		return rc;
	log_info(STORED_SUBJECT, "storage %s in %s", conf->storage, conf->dir);
	return 0;
}

static void stored_reload(void *state)
{
	struct stored *stored = state;

	volume_runner_wake(stored->runner);
}

static void stored_stop(void *state)
{
	struct stored *stored = state;

	if (stored->runner)
		volume_runner_stop(stored->runner);
	db_free(stored->db);
	worker_free(stored->worker);
	volume_runner_free(stored->runner);
	stored_key_free(stored->key);
	closep(&stored->lock);
}

const struct daemon_spec stored_daemon = {
	.name = "bampi-stored",
	.summary = "volumes: keeps them, serves them to the nodes of their PDCI",
	.default_conf = "/etc/haas/bampi-stored.conf",
	.conf = &stored_conf_table,
	.start = stored_start,
	.stop = stored_stop,
	.reload = stored_reload,
	.state_size = sizeof(struct stored),
};
