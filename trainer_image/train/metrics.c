#include "trainer_image/train/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"
#include "common/io/transfer.h"

enum { METRICS_SIZE_MAX = 1 << 30 };

struct metrics {
	char *path;
	int fd;
	size_t columns;
	uint64_t end;  /* of the last whole frame */
	uint64_t step; /* the last one */
	bool any;      /* there was one */
};

static int metrics_failed(const char *path, int rc, struct problem *problem)
{
	const char *why = error_text(rc);

	if (rc == E_MALFORMED)
		why = "it is no file of metrics";
	else if (rc == E_DIGEST)
		why = "its header is damaged";
	else if (rc == E_UNSUPPORTED)
		why = "its version is another one than this program's";
	problem_set(problem, rc, "metrics %s: %s", path, why);
	problem_hint(problem, "move the file away, or name another one");
	return rc;
}

/* --- reading --- */

static int metrics_row_add(struct metrics_series *series, size_t *room,
			   const struct metrics_frame *frame, size_t at)
{
	if (series->count == *room) {
		size_t more = *room * 2 + 256;
		struct metrics_row *rows = realloc(series->rows, more * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		series->rows = rows;
		*room = more;
	}
	series->rows[series->count++] = (struct metrics_row){.at = at, .step = frame->step};
	return 0;
}

/* Rows that are not void ascend, so those of later steps are the last ones. */
static void metrics_rows_void(struct metrics_series *series, uint64_t step)
{
	series->resumes++;
	for (size_t i = series->count; i-- > 0;) {
		if (series->rows[i].is_void)
			continue;
		if (series->rows[i].step <= step)
			break;
		series->rows[i].is_void = true;
		series->voids++;
	}
}

/* Behind damage the next whole frame is looked for, byte by byte. */
static int metrics_rows(struct metrics_series *series)
{
	size_t room = 0;

	for (size_t at = series->end; at < series->size;) {
		struct metrics_frame frame;
		size_t size = 0;
		int rc = metrics_frame_decode(series->data + at, series->size - at,
					      series->columns.count, &frame, &size);

		if (rc < 0) {
			at++;
			continue;
		}
		series->damaged += at - series->end;
		series->end = at + size;
		if (frame.kind == METRICS_RESUME)
			metrics_rows_void(series, frame.step);
		else if (metrics_row_add(series, &room, &frame, at) < 0)
			return -ENOMEM;
		at = series->end;
	}
	series->torn = series->size - series->end;
	return 0;
}

static int metrics_parse(struct metrics_series *series)
{
	int rc = metrics_header_decode(series->data, series->size, &series->columns, &series->end);

	return rc < 0 ? rc : metrics_rows(series);
}

int metrics_read(const char *path, struct metrics_series *ret, struct problem *problem)
{
	struct metrics_series series = {0};
	int rc = file_read(path, METRICS_SIZE_MAX, &series.data, &series.size);

	if (rc == 0)
		rc = metrics_parse(&series);
	if (rc < 0) {
		metrics_series_done(&series);
		return metrics_failed(path, rc, problem);
	}
	*ret = series;
	return 0;
}

struct metrics_frame metrics_series_frame(const struct metrics_series *series, size_t nth)
{
	struct metrics_frame frame = {0};
	size_t at = series->rows[nth].at;
	size_t size = 0;

	/* It was decoded when the file was read. */
	if (metrics_frame_decode(series->data + at, series->size - at, series->columns.count,
				 &frame, &size) < 0)
		return (struct metrics_frame){0};
	return frame;
}

void metrics_series_done(struct metrics_series *series)
{
	free(series->rows);
	free(series->data);
	*series = (struct metrics_series){0};
}

/* --- writing --- */

/* What a full disk took a part of is written over by the next frame, or is a torn tail. */
static int metrics_put(struct metrics *metrics, const uint8_t *data, size_t size)
{
	int rc = write_whole_at(metrics->fd, data, size, metrics->end);

	if (rc == 0)
		metrics->end += size;
	return rc;
}

static int metrics_frame_put(struct metrics *metrics, const struct metrics_frame *frame)
{
	uint8_t bytes[METRICS_FRAME_SIZE_MAX];
	size_t size = metrics_frame_encode(frame, metrics->columns, bytes);

	return metrics_put(metrics, bytes, size);
}

static int metrics_columns_make(const char *const columns[], size_t count,
				struct metrics_columns *ret)
{
	if (count > METRICS_COLUMNS_MAX)
		return E_INVALID;
	*ret = (struct metrics_columns){.count = count};
	for (size_t i = 0; i < count; i++)
		if (!text_copy(ret->name[i], METRICS_NAME_SIZE, columns[i]))
			return E_INVALID;
	return 0;
}

/* The first column that differs. */
static int metrics_columns_compare(const char *path, const struct metrics_columns *mine,
				   const struct metrics_columns *theirs, struct problem *problem)
{
	for (size_t i = 0; i < mine->count || i < theirs->count; i++) {
		const char *here = i < mine->count ? mine->name[i] : "missing";
		const char *there = i < theirs->count ? theirs->name[i] : "missing";

		if (i < mine->count && i < theirs->count && strcmp(here, there) == 0)
			continue;
		problem_set(problem, E_CONFLICT, "metrics %s has other columns", path);
		problem_detail(problem, "column %zu is %s there and %s here", i, there, here);
		problem_hint(problem, "move the file away, or name another one");
		return E_CONFLICT;
	}
	return 0;
}

/* What stands in the file; the place behind it. */
static int metrics_go_on(struct metrics *metrics, const struct metrics_columns *columns,
			 uint64_t step, struct problem *problem)
{
	struct metrics_series series = {0};
	int rc = metrics_read(metrics->path, &series, problem);

	if (rc == 0)
		rc = metrics_columns_compare(metrics->path, columns, &series.columns, problem);
	if (rc < 0) {
		metrics_series_done(&series);
		return rc;
	}
	bool later = false;
	for (size_t i = 0; i < series.count; i++)
		later |= !series.rows[i].is_void && series.rows[i].step > step;
	metrics->end = series.end;
	metrics_series_done(&series);
	if (ftruncate(metrics->fd, (off_t)metrics->end) < 0)
		return metrics_failed(metrics->path, -errno, problem);
	const struct metrics_frame frame = {
		.kind = METRICS_RESUME, .step = step, .wall_us = clock_wall_us()};
	rc = later ? metrics_frame_put(metrics, &frame) : 0;
	return rc < 0 ? metrics_failed(metrics->path, rc, problem) : 0;
}

/* A file with a part of this header, or nothing, was left by a crash: it is begun anew. False: it has more. */
static int metrics_begin(struct metrics *metrics, const struct metrics_columns *columns,
			 bool *ret_begun)
{
	uint8_t header[METRICS_HEADER_SIZE_MAX];
	uint8_t found[METRICS_HEADER_SIZE_MAX];
	size_t size = 0;
	size_t there = 0;
	int rc = metrics_header_encode(columns, header, &size);

	for (size_t got = 1; rc == 0 && got > 0 && there < size; there += got)
		rc = read_piece_at(metrics->fd, found + there, size - there, there, &got);
	*ret_begun = there < size && memcmp(found, header, there) == 0;
	return rc < 0 || !*ret_begun ? rc : metrics_put(metrics, header, size);
}

static int metrics_lock(struct metrics *metrics, struct problem *problem)
{
	metrics->fd = open(metrics->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (metrics->fd < 0)
		return metrics_failed(metrics->path, -errno, problem);
	if (flock(metrics->fd, LOCK_EX | LOCK_NB) < 0)
		return errno != EWOULDBLOCK
			       ? metrics_failed(metrics->path, -errno, problem)
			       : problem_set(problem, E_CONFLICT,
					     "metrics %s: another process writes to it",
					     metrics->path);
	return 0;
}

int metrics_open(const char *path, const char *const columns[], size_t count, uint64_t step,
		 struct metrics **ret, struct problem *problem)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));
	struct metrics_columns names;
	bool begun = false;
	int rc = metrics_columns_make(columns, count, &names);

	if (metrics)
		*metrics = (struct metrics){.path = strdup(path),
					    .fd = -1,
					    .columns = count,
					    .step = step,
					    .any = step > 0};
	if (!metrics || !metrics->path)
		rc = -ENOMEM;
	if (rc < 0) {
		metrics_close(metrics);
		return metrics_failed(path, rc, problem);
	}
	rc = metrics_lock(metrics, problem);
	if (rc == 0 && (rc = metrics_begin(metrics, &names, &begun)) < 0)
		(void)metrics_failed(path, rc, problem);
	if (rc == 0 && !begun)
		rc = metrics_go_on(metrics, &names, step, problem);
	if (rc < 0) {
		metrics_close(metrics);
		return rc;
	}
	*ret = metrics;
	return 0;
}

void metrics_close(struct metrics *metrics)
{
	if (!metrics)
		return;
	closep(&metrics->fd);
	free(metrics->path);
	free(metrics);
}

int metrics_add(struct metrics *metrics, uint64_t step, const double value[],
		struct problem *problem)
{
	struct metrics_frame frame = {.step = step, .wall_us = clock_wall_us()};

	if (metrics->any && step <= metrics->step)
		return problem_set(problem, E_STALE,
				   "metrics %s: step %" PRIu64 " is not later than step %" PRIu64,
				   metrics->path, step, metrics->step);
	memcpy(frame.value, value, metrics->columns * sizeof(*value));
	int rc = metrics_frame_put(metrics, &frame);
	if (rc < 0)
		return problem_set(problem, rc, "metrics %s: %s", metrics->path, error_text(rc));
	metrics->step = step;
	metrics->any = true;
	return 0;
}

int metrics_sync(struct metrics *metrics, struct problem *problem)
{
	if (fdatasync(metrics->fd) == 0)
		return 0;
	int rc = -errno;
	return problem_set(problem, rc, "metrics %s: %s", metrics->path, error_text(rc));
}
