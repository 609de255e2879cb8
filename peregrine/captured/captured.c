#include "peregrine/captured/captured.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/db_state.h"
#include "common/db/until.h"
#include "common/io/daemon.h"
#include "common/io/file.h"
#include "common/io/log.h"
#include "common/io/process.h"

#include "peregrine/captured/captured_private.h"
#include "peregrine/captured/captured_sql.h"
#include "peregrine/captured/keep_rights.h"

LEAKS_LEFT_TO_SANITIZER

#define SUBJECT "captured"

enum {
	CAPTURED_LOOK_MS = 1000,
	KEEP_LOOKS = 10,
	/* After the database was away captures are heard of again before anybody looks which are
	 * not. */
	BACK_MS = 5000,
};

static const char *const captured_channels[] = {"capture", NULL};

struct taken *captured_find(const struct captured *captured, int64_t id)
{
	struct taken *one = captured->taken;

	while (one && one->id != id)
		one = one->next;
	return one;
}

bool captured_folder(const struct captured *captured, int64_t id, char *ret, size_t room)
{
	return text_format(ret, room, "%s/%" PRId64, captured->conf->capture_dir, id);
}

static void taken_free(struct taken *one)
{
	struct taken **link = &one->captured->taken;

	while (*link && *link != one)
		link = &(*link)->next;
	if (*link)
		*link = one->next;
	capture_process_free(one->process);
	free(one->problem);
	free(one->result);
	free(one);
}

/* --- telling --- */

static void captured_on_told(void *context, int rc, const PGresult *result,
			     const struct problem *problem)
{
	(void)context;
	(void)result;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, SUBJECT, problem);
}

/* What is not heard of is told again with the next line, or found by the next look. */
static void captured_tell(const struct captured *captured, int64_t id, const char *state,
			  const char *because, const char *problem, const char *result)
{
	char number[24];
	const char *const params[] = {number, state, because, problem, result};

	(void)text_format(number, sizeof(number), "%" PRId64, id);
	if (db_connected(captured->db) &&
	    db_submit(captured->db, &capture_told_query, params, captured_on_told, NULL) != 0)
		log_error(SUBJECT, "capture %" PRId64 ": no memory to report it", id);
}

static void on_end_told(void *context, int rc, const PGresult *result,
			const struct problem *problem)
{
	struct taken *one = context;

	captured_on_told(NULL, rc, result, problem);
	one->telling = false;
	if (rc == 0)
		taken_free(one);
}

/* Until the database has it: until then it is not forgotten. */
static void tell_end(struct taken *one)
{
	char number[24];
	const char *const params[] = {number, "ended", one->because, one->problem, one->result};

	if (one->process || one->telling || one->beating || !db_connected(one->captured->db))
		return;
	(void)text_format(number, sizeof(number), "%" PRId64, one->id);
	one->telling =
		db_submit(one->captured->db, &capture_told_query, params, on_end_told, one) == 0;
}

static void on_beat_told(void *context, int rc, const PGresult *result,
			 const struct problem *problem)
{
	struct taken *one = context;

	captured_on_told(NULL, rc, result, problem);
	one->beating = false;
	if (!one->process && one->captured->look)
		loop_timer_arm(one->captured->look, 0);
}

/* One at a time: the next line says what this one would have said. */
static void tell_beat(struct taken *one)
{
	char number[24];
	const char *const params[] = {number, "running", NULL, NULL, one->result};

	if (one->beating || !db_connected(one->captured->db))
		return;
	(void)text_format(number, sizeof(number), "%" PRId64, one->id);
	one->beating =
		db_submit(one->captured->db, &capture_told_query, params, on_beat_told, one) == 0;
}

/* --- what a process says --- */

static void captured_line_heard(void *context, json_t *line)
{
	struct taken *one = context;

	switch (captured_hear(one, line)) {
	case HEARD_LISTENING:
		captured_tell(one->captured, one->id, "listening", NULL, NULL, NULL);
		break;
	case HEARD_BEAT: tell_beat(one); break;
	case HEARD_END: break; /* told when the process is gone */
	}
}

static void captured_over(void *context)
{
	struct taken *one = context;

	capture_process_free(one->process);
	one->process = NULL;
	if (!one->because[0]) {
		(void)text_copy(one->because, sizeof(one->because), "failed");
		one->problem = strdup("{\"code\":\"internal\",\"message\":\"the process of the "
				      "capture died\",\"detail\":\"\",\"hint\":\"\"}");
	}
	if (one->late && strcmp(one->because, "stopped") == 0)
		(void)text_copy(one->because, sizeof(one->because), "deadline");
	log_info(SUBJECT, "capture %" PRId64 ": over (because=%s)", one->id, one->because);
	tell_end(one);
}

/* --- rows --- */

static size_t captured_count_of(const struct captured *captured)
{
	size_t count = 0;

	for (const struct taken *one = captured->taken; one; one = one->next)
		count++;
	return count;
}

static void captured_start_process(struct captured *captured, int64_t id, const char *order)
{
	char folder[4096];
	struct problem problem = {0};
	struct taken *one;
	struct capture_process_options options = {.program = captured->conf->program,
						  .user = captured->conf->capture_user,
						  .order = order,
						  .folder = folder,
						  .heard = captured_line_heard,
						  .over = captured_over};

	if (captured_count_of(captured) >= (size_t)captured->conf->limit ||
	    !captured_folder(captured, id, folder, sizeof(folder)))
		return;
	one = calloc(1, sizeof(*one));
	if (!one)
		return;
	*one = (struct taken){.next = captured->taken, .captured = captured, .id = id};
	captured->taken = one;
	options.context = one;
	if (capture_process_new(captured->loop, &options, &one->process, &problem) == 0) {
		log_info(SUBJECT, "capture %" PRId64 ": started", id);
		return;
	}
	log_problem(LOG_LEVEL_ERROR, SUBJECT, &problem);
	(void)text_copy(one->because, sizeof(one->because), "failed");
	one->problem = strdup("{\"code\":\"unavailable\",\"message\":\"no process could be started "
			      "for it\",\"detail\":\"\",\"hint\":\"the log of "
			      "peregrine-captured says why\"}");
	tell_end(one);
}

static void remove_files(const struct captured *captured, int64_t id)
{
	char folder[4096];
	char path[4200];
	bool gone = captured_folder(captured, id, folder, sizeof(folder));

	for (unsigned i = 0; gone && i < CAPTURED_FILES; i++) {
		(void)text_format(path, sizeof(path), "%s/%u.pcapng", folder, i);
		if (unlink(path) != 0 && errno != ENOENT)
			gone = false;
	}
	if (gone && (rmdir(folder) == 0 || errno == ENOENT))
		captured_tell(captured, id, "removed", NULL, NULL, NULL);
	else
		log_warn(SUBJECT, "capture %" PRId64 ": its files cannot be removed: %s", id,
			 strerror(errno)); // NOLINT(concurrency-mt-unsafe): one thread
}

static void captured_take_row(struct captured *captured, const PGresult *result, int row)
{
	int64_t id = db_int(result, row, CAPTURE_WORK_ID, 0);
	const char *state = db_text(result, row, CAPTURE_WORK_STATE, "");
	bool wanted = strcmp(db_text(result, row, CAPTURE_WORK_WANTED, ""), "present") == 0;
	struct taken *one = captured_find(captured, id);

	if (strcmp(db_text(result, row, CAPTURE_WORK_FILES, ""), "removing") == 0) {
		if (!one)
			remove_files(captured, id);
		else if (one->process)
			capture_process_stop(one->process);
		else
			tell_end(one);
		return;
	}
	if (one)
		one->until_ms =
			db_is_null(result, row, CAPTURE_WORK_LEFT_MS)
				? 0
				: db_until_ms(captured->asked_ms, loop_now_ms(captured->loop),
					      db_int(result, row, CAPTURE_WORK_LEFT_MS, 0),
					      one->until_ms);
	if (one && one->process) {
		if (!wanted)
			capture_process_stop(one->process);
	} else if (one) {
		tell_end(one);
	} else if (strcmp(state, "approved") != 0) {
		captured_tell(captured, id, "ended", "failed",
			      "{\"code\":\"unavailable\",\"message\":\"its collector was started "
			      "anew\",\"detail\":\"packets kept before are whole\",\"hint\":\"\"}",
			      NULL);
	} else if (wanted) {
		captured_start_process(captured, id, db_text(result, row, CAPTURE_WORK_ORDER, ""));
	}
}

/* A row that is no more among them is over, whatever its process thinks. */
static void stop_others(const struct captured *captured, const PGresult *result)
{
	struct taken *next;

	for (struct taken *one = captured->taken; one; one = next) {
		bool there = false;

		next = one->next;
		for (int row = 0; row < PQntuples(result); row++)
			there |= db_int(result, row, CAPTURE_WORK_ID, 0) == one->id;
		if (there)
			continue;
		if (one->process)
			capture_process_stop(one->process);
		else
			tell_end(one);
	}
}

static void on_work(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct captured *captured = context;

	captured->reading = false;
	if (rc) {
		if (rc != E_UNAVAILABLE)
			log_problem(LOG_LEVEL_ERROR, SUBJECT, problem);
		return;
	}
	for (int row = 0; row < PQntuples(result); row++)
		captured_take_row(captured, result, row);
	stop_others(captured, result);
}

static void on_kept(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	captured_on_told(context, rc, result, problem);
	if (rc == 0 && db_int(result, 0, CAPTURE_KEEP_KEPT, 0) > 0)
		log_info(SUBJECT, "%" PRId64 " captures are too old: their packets are deleted",
			 db_int(result, 0, CAPTURE_KEEP_KEPT, 0));
}

/* How much it keeps, and what of it is too old. */
static void captured_keep(struct captured *captured)
{
	const struct captured_conf *conf = captured->conf;
	char numbers[3][24];
	const char *const params[] = {conf->name, numbers[0], numbers[1], numbers[2]};

	(void)text_format(numbers[0], sizeof(numbers[0]), "%" PRId64, conf->keep_days);
	(void)text_format(numbers[1], sizeof(numbers[1]), "%" PRId64, conf->keep_bytes);
	(void)text_format(numbers[2], sizeof(numbers[2]), "%" PRId64, conf->tenant_bytes);
	if (db_submit(captured->db, &capture_keep_query, params, on_kept, captured) == 0)
		captured->until_keep = KEEP_LOOKS;
}

/* The database, which says when a capture is over, is away, or does not answer though it is there:
 * what was consented to was so long. */
static void stop_late(const struct captured *captured)
{
	int64_t now_ms =
		loop_now_ms(captured->loop) - (db_connected(captured->db) ? DB_SILENT_MS : 0);

	for (struct taken *one = captured->taken; one; one = one->next) {
		if (!one->process || one->late || !one->until_ms || now_ms < one->until_ms)
			continue;
		one->late = true;
		capture_process_stop(one->process);
	}
}

static void captured_look(void *context)
{
	struct captured *captured = context;
	const char *const params[] = {captured->conf->name};

	loop_timer_arm(captured->look, CAPTURED_LOOK_MS);
	stop_late(captured);
	if (db_connected(captured->db) &&
	    (captured->until_keep == 0 || --captured->until_keep == 0))
		captured_keep(captured);
	if (captured->reading || !db_connected(captured->db))
		return;
	captured->asked_ms = loop_now_ms(captured->loop);
	captured->reading =
		db_submit(captured->db, &capture_work_query, params, on_work, captured) == 0;
}

static void captured_on_notify(void *context, const char *channel)
{
	struct captured *captured = context;

	(void)channel;
	loop_timer_arm(captured->look, 0);
}

static void captured_on_db_state(void *context, bool connected)
{
	struct captured *captured = context;

	db_log_state(captured->db, SUBJECT, connected,
		     "captures continue until their time has expired");
	captured->until_keep = 0;
	if (connected && captured->look)
		loop_timer_arm(captured->look, captured->was_connected ? BACK_MS : 0);
	captured->was_connected |= connected;
}

/* --- life --- */

static int captured_start_parts(struct captured *captured, struct problem *problem)
{
	char lead[96] = "";
	const struct db_options options = {.conninfo = captured->conf->database,
					   .application = "peregrine-captured",
					   .daemon = "peregrine-captured",
					   .lead = lead,
					   .on_state = captured_on_db_state,
					   .on_notify = captured_on_notify,
					   .channels = captured_channels,
					   .context = captured};
	int rc = file_make_folder(captured->conf->capture_dir, 0700);

	if (rc)
		return problem_set(problem, rc, "capture_dir %s: %s", captured->conf->capture_dir,
				   error_text(rc));
	if (!text_format(lead, sizeof(lead), "peregrine-captured/%s", captured->conf->name))
		return problem_set(problem, E_LIMIT, "name is too long");
	rc = loop_timer_new(captured->loop, captured_look, captured, &captured->look);
	if (rc == 0)
		rc = db_new(captured->loop, &options, &captured->db);
	if (rc)
		return problem_set(problem, rc, "peregrine-captured cannot start: %s",
				   error_text(rc));
	loop_timer_arm(captured->look, 0);
	return 0;
}

static int captured_start(void *state, struct loop *loop, const void *values,
			  struct problem *problem)
{
	struct captured *captured = state;
	int rc;

	captured->loop = loop;
	captured->conf = values;
	rc = captured_serve(captured, problem);
	if (rc == 0)
		rc = keep_rights(captured->conf->user, problem);
	if (rc == 0)
		rc = captured_start_parts(captured, problem);
	return rc;
}

/* Its processes end by themselves when it is gone; their rows end with the next start, or by
 * peregrined. */
static void captured_stop(void *state)
{
	struct captured *captured = state;

	http_server_free(captured->server);
	loop_timer_free(captured->look);
	captured->look = NULL;
	db_free(captured->db);
	while (captured->taken)
		taken_free(captured->taken);
}

const struct daemon_spec captured_daemon = {
	.name = "peregrine-captured",
	.summary = "captures: starts a process for each, keeps and serves their packets",
	.default_conf = "/etc/haas/peregrine-captured.conf",
	.conf = &captured_conf_table,
	.start = captured_start,
	.stop = captured_stop,
	.state_size = sizeof(struct captured),
};
