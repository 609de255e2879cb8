/* The metrics of a training job: a file that grows by a frame a step (metrics_wire.h).
 *
 *     columns = {"loss", "rate", "images_s"};
 *     metrics_open("job/metrics", columns, 3, step, &metrics, &problem);    step: where training goes on, or 0
 *     each step: metrics_add(metrics, step, (double[]){2.3, 0.1, 812}, &problem);
 *     before each checkpoint: metrics_sync(metrics, &problem);
 *
 * A frame is one write, so a crash tears at most the last one. The next metrics_open() cuts that off and goes
 * on behind the last whole frame.
 *
 * Training that goes back to step 1200 writes a frame RESUME with that step. Frames of later steps before it are
 * void, and stay in the file. So the file only grows: a program that follows it never sees it change, and
 * the time that was lost stays known. Readers count each step once.
 *
 * Not a number stands for a value that there is not. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/train/metrics_wire.h"

struct metrics;

/* Begins the file or goes on in it, behind step `step`. E_CONFLICT: another process writes to it, or it has
 * other columns (`problem` names the first); E_MALFORMED, E_DIGEST, E_UNSUPPORTED: it is no file of metrics;
 * E_INVALID: a name; E_LIMIT, -ENOMEM, -errno. */
MUST_USE int metrics_open(const char *path, const char *const columns[], size_t count,
			  uint64_t step, struct metrics **ret, struct problem *problem);
void metrics_close(struct metrics *metrics);
/* A value for each column. E_STALE: not later than the step before; -errno: the frame is not there, and the
 * next one may be tried. */
MUST_USE int metrics_add(struct metrics *metrics, uint64_t step, const double value[],
			 struct problem *problem);
/* Makes all frames durable. -errno. */
MUST_USE int metrics_sync(struct metrics *metrics, struct problem *problem);

/* ---- reading ---- */

struct metrics_row {
	size_t at; /* in `data` */
	uint64_t step;
	bool is_void; /* training went back behind it */
};

struct metrics_series {
	struct metrics_columns columns;
	struct metrics_row *rows; /* in the order of the file */
	size_t count;
	size_t voids;   /* of them */
	size_t resumes; /* times that training went back or on */
	size_t torn;    /* bytes behind the last whole frame */
	size_t damaged; /* bytes before it that are of no frame */
	size_t end;     /* of the last whole frame */
	char *data;
	size_t size;
};

/* The whole file, of up to 1 GiB. The caller frees by metrics_series_done(). Errors as metrics_open(). */
MUST_USE int metrics_read(const char *path, struct metrics_series *ret, struct problem *problem);
struct metrics_frame metrics_series_frame(const struct metrics_series *series, size_t nth);
void metrics_series_done(struct metrics_series *series);
