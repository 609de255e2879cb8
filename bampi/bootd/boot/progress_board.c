#include "bampi/bootd/boot/progress_board.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/hash_table.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/io/log.h"

#include "bampi/bootd/boot/mailbox_store_sql.h"

#define FLUSH_EVERY_MS 1000
/* Deployments at once on one site; a bound, not a size. */
#define PROGRESS_BOARD_ROWS_MAX 65536

struct progress_row {
	int64_t deployment_id;
	struct boot_progress progress;
	bool in_flight; /* part of the statement that is out and not changed since */
	UT_hash_handle hh;
};

/* Outlives the board: a statement always calls back. */
struct progress_board_flight {
	struct progress_board *board; /* NULL: nobody waits any more */
};

struct progress_board {
	struct db *db;
	struct boot_counters *counters;
	struct loop_timer *timer;
	struct progress_row *rows; /* by deployment; only what is not yet stored */
	struct progress_board_flight *flight;
	bool armed;
};

static void progress_board_flush(void *context);

int progress_board_new(struct loop *loop, struct db *db, struct boot_counters *counters,
		       struct progress_board **ret)
{
	struct progress_board *board = calloc(1, sizeof(*board));
	int rc;

	if (!board)
		return -ENOMEM;
	board->db = db;
	board->counters = counters;
	rc = loop_timer_new(loop, progress_board_flush, board, &board->timer);
	if (rc) {
		free(board);
		return rc;
	}

	*ret = board;
	return 0;
}

static void remove_row(struct progress_board *board, struct progress_row *row)
{
	HASH_DEL(board->rows, row);
	free(row);
}

static void progress_board_arm(struct progress_board *board)
{
	if (board->armed || board->flight || !board->rows)
		return;
	board->armed = true;
	loop_timer_arm(board->timer, FLUSH_EVERY_MS);
}

static void progress_board_flushed(void *context, int rc, const PGresult *result,
				   const struct problem *problem)
{
	CLEANUP(freep) struct progress_board_flight *flight = context;
	struct progress_board *board = flight->board;
	struct progress_row *row;
	struct progress_row *next;

	(void)result;
	if (!board)
		return;
	board->flight = NULL;
	if (rc && rc != E_UNAVAILABLE) {
		board->counters->database_errors++;
		log_problem(LOG_LEVEL_ERROR, "progress", problem);
	}
	HASH_ITER(hh, board->rows, row, next)
	{
		/* A value that PostgreSQL refuses would be refused again; the next report says more
		 * anyway. */
		if (row->in_flight && rc != E_UNAVAILABLE)
			remove_row(board, row);
		else
			row->in_flight = false;
	}
	progress_board_arm(board);
}

static void progress_board_flush(void *context)
{
	struct progress_board *board = context;
	struct text columns[5] = {0};
	const char *params[COUNT_OF(columns)];
	struct progress_board_flight *flight;
	bool failed = false;

	board->armed = false;
	if (!board->rows || board->flight)
		return;
	flight = calloc(1, sizeof(*flight));
	for (size_t i = 0; i < COUNT_OF(columns); i++)
		array_begin(&columns[i]);
	for (struct progress_row *row = board->rows; row; row = row->hh.next) {
		row->in_flight = true;
		array_add_int(&columns[0], row->deployment_id);
		array_add_int(&columns[1], row->progress.percent);
		array_add_int(&columns[2], row->progress.done_bytes);
		array_add_int(&columns[3], row->progress.total_bytes);
		array_add(&columns[4], row->progress.text);
	}
	for (size_t i = 0; i < COUNT_OF(columns); i++) {
		array_end(&columns[i]);
		params[i] = text_get(&columns[i]);
		failed |= columns[i].failed;
	}
	if (flight && !failed) {
		flight->board = board;
		if (db_submit(board->db, &mailbox_progress_query, params, progress_board_flushed,
			      flight) == 0)
			board->flight = TAKE(flight);
	}
	free(flight);
	for (size_t i = 0; i < COUNT_OF(columns); i++)
		text_done(&columns[i]);
	progress_board_arm(board);
}

int progress_board_put(struct progress_board *board, int64_t deployment_id,
		       const struct boot_progress *progress)
{
	struct progress_row *row = NULL;

	HASH_FIND(hh, board->rows, &deployment_id, sizeof(deployment_id), row);
	if (!row) {
		if (HASH_COUNT(board->rows) >= PROGRESS_BOARD_ROWS_MAX)
			return -ENOMEM;
		row = calloc(1, sizeof(*row));
		if (!row)
			return -ENOMEM;
		row->deployment_id = deployment_id;
		HASH_ADD(hh, board->rows, deployment_id, sizeof(row->deployment_id), row);
	}
	row->progress = *progress;
	row->in_flight = false;
	progress_board_arm(board);
	return 0;
}

void progress_board_free(struct progress_board *board)
{
	struct progress_row *row;
	struct progress_row *next;

	if (!board)
		return;
	if (board->flight)
		board->flight->board = NULL;
	HASH_ITER(hh, board->rows, row, next)
	{
		remove_row(board, row);
	}
	loop_timer_free(board->timer);
	free(board);
}
