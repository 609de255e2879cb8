/* What `trainer plan` says: the memory of a training step by its parts, what is kept, what is computed
 * again, and the work that costs. */
#pragma once

#include "common/base/text.h"

#include "trainer_image/plan/gpu_table.h"
#include "trainer_image/plan/plan_engine.h"
#include "trainer_image/plan/plan_lasting.h"
#include "trainer_image/plan/step_time.h"

struct plan_request {
	int64_t batch;
	enum tensor_type type;
	enum plan_optimizer optimizer;
	int64_t memory;                          /* bytes for all of it; 0 = any number */
	const struct gpu_row *gpu;               /* NULL = none named */
	const struct plan_engine_source *source; /* NULL = engines are not known */
	const char *no_source;                   /* why, for people; borrowed */
	/* Bytes that sums over ranks take of a GPU; NULL: there is one rank. */
	int64_t (*sums)(const void *context, const struct graph *graph);
	const void *context;
};

/* Bytes, but for the last three. */
struct plan_report {
	struct plan_request request;
	const struct model *model; /* borrowed */
	struct graph *graph;
	struct plan *plan;
	struct plan_engines engines;    /* with a source */
	struct plan_lasting lasting;    /* of a GPU */
	int64_t activations, workspace; /* of the arena */
	int64_t peak;
	int64_t unplanned; /* the peak without recomputation */
	int64_t naive;     /* and when all that the forward pass gives is kept */
	int64_t parameter_count;
	double forward_flops, extra_flops;
	struct step_time time;
};

/* -1 when it is no optimizer. */
int plan_optimizer_parse(const char *word);
/* "11GiB", "1.5GB", "800MiB", "1000000"; 0 when it is none. */
int64_t plan_bytes_parse(const char *word);

/* E_LIMIT with the smallest memory that works; E_UNSUPPORTED, an op has no engine; E_INVALID, -EIO, -ENOMEM. Call plan_report_done() in any
 * case. `model` must outlive the report. */
MUST_USE int plan_report_make(const struct model *model, const struct plan_request *request,
			      struct plan_report *ret, struct problem *problem);
void plan_report_done(struct plan_report *report);

/* For people; with `all` a line for each op of the forward pass. */
void plan_report_text(const struct plan_report *report, bool all, struct text *text);
/* One JSON object with a member "ops". */
void plan_report_json(const struct plan_report *report, struct text *text);
