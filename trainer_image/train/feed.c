#include "trainer_image/train/feed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/record/record.h"
#include "trainer_image/record/record_map.h"

struct feed {
	const struct graph *graph;
	struct loader *loader;
	struct text augment;
	char *path;
	int64_t classes;
	size_t picture; /* bytes */
	uint64_t samples, digest;
	struct loader_state state;
	bool ended;
	int32_t *labels; /* of a batch */
};

static const char *feed_type(enum tensor_type type)
{
	return tensor_type_text(type);
}

/* What the user says, and what the model wants beside it. */
static int feed_ops(struct feed *feed, const char *said, const struct model *model,
		    struct problem *problem)
{
	const struct tensor_shape *shape = &model->input;
	const bool cropped = strstr(said, "_crop") != NULL;

	if (model->words > 0 || shape->rank != 3)
		return problem_set(problem, E_UNSUPPORTED,
				   "%s takes no pictures: record files hold pictures alone",
				   model->name);
	if (model->label.rank > 0)
		return problem_set(problem, E_UNSUPPORTED, "%s wants more than one label a picture",
				   model->name);
	if (!cropped)
		text_addf(&feed->augment, "centre_crop width=%lld height=%lld share=1; ",
			  (long long)shape->size[1], (long long)shape->size[0]);
	text_add(&feed->augment, said);
	if (!strstr(said, "normalise"))
		text_add(&feed->augment, "; normalise");
	if (!strstr(said, "pack"))
		text_addf(&feed->augment, "; pack type=%s channels=%lld",
			  feed_type(feed->graph->type), (long long)shape->size[2]);
	return feed->augment.failed ? problem_set(problem, -ENOMEM, "no memory") : 0;
}

static int feed_check_ops(struct feed *feed, const struct model *model, struct problem *problem)
{
	static const enum augment_type types[] = {[TENSOR_FP32] = AUGMENT_FP32,
						  [TENSOR_BF16] = AUGMENT_BF16,
						  [TENSOR_FP16] = AUGMENT_FP16};
	struct augment augment;
	int rc = augment_parse(text_get(&feed->augment), &augment, problem);

	if (rc != 0)
		return rc;
	if (augment_height(&augment) != model->input.size[0] ||
	    augment_width(&augment) != model->input.size[1] ||
	    augment_channels(&augment) != model->input.size[2]) {
		(void)problem_set(problem, E_INVALID,
				  "the ops give pictures of %ux%ux%u, and %s takes %lldx%lldx%lld",
				  augment_height(&augment), augment_width(&augment),
				  augment_channels(&augment), model->name,
				  (long long)model->input.size[0], (long long)model->input.size[1],
				  (long long)model->input.size[2]);
		problem_hint(problem,
			     "height, width, channels; leave the crop out to get the model's");
		return E_INVALID;
	}
	if (feed->graph->type > TENSOR_FP16 || feed->graph->type == TENSOR_FP64 ||
	    augment_type(&augment) != types[feed->graph->type])
		return problem_set(problem, E_INVALID, "pack: type=%s is what the job computes in",
				   feed_type(feed->graph->type));
	feed->picture = augment_elements(&augment) * augment_type_size(augment_type(&augment));
	text_clear(&feed->augment);
	augment_print(&augment, &feed->augment);
	return 0;
}

/* The trailer has the digest of all bytes before it. */
static int feed_read_set(struct feed *feed, const struct model *model, struct problem *problem)
{
	struct record_reader *reader = NULL;
	struct record_trailer trailer = {0};
	uint64_t size = 0;
	int rc = record_reader_open(feed->path, NULL, &reader, problem);

	if (rc != 0)
		return rc;
	const uint8_t *bytes = record_map_bytes(reader, &size);
	size_t classes = record_reader_header(reader)->class_count;

	feed->samples = record_reader_samples(reader);
	/* The reader has held it to its checksum. */
	if (record_wire_trailer_decode(bytes + size - RECORD_TRAILER_SIZE, RECORD_TRAILER_SIZE,
				       size, &trailer) != 0)
		trailer.digest = 0;
	feed->digest = trailer.digest;
	record_reader_free(reader);
	if (feed->samples == 0)
		return problem_set(problem, E_INVALID, "%s holds no samples", feed->path);
	if (classes > (size_t)model->classes) {
		(void)problem_set(problem, E_INVALID, "%s has %zu classes, and %s tells %lld apart",
				  feed->path, classes, model->name, (long long)model->classes);
		problem_hint(problem, "the last layer and the label of the model: %zu", classes);
		return E_INVALID;
	}
	return 0;
}

static int feed_open(struct feed *feed, const struct feed_options *options,
		     const struct model *model, struct problem *problem)
{
	struct loader_config config = {
		.batch = (uint32_t)feed->graph->batch,
		.rank = options->rank,
		.ranks = options->ranks,
		.state = options->state,
		.fault = options->fault,
		.context = options->context,
	};
	int rc = feed_ops(feed, options->augment, model, problem);

	feed->path = strdup(options->path);
	if (rc == 0 && !feed->path)
		rc = problem_set(problem, -ENOMEM, "no memory");
	if (rc == 0)
		rc = feed_check_ops(feed, model, problem);
	if (rc == 0)
		rc = feed_read_set(feed, model, problem);
	if (rc != 0)
		return rc;
	config.path = feed->path;
	config.ops = text_get(&feed->augment);
	if (options->threads > 0)
		config.fixed = (struct tune_setting){
			.threads = {1, options->threads, options->threads}, .k = AUGMENT_STAGES};
	return loader_new(&config, &feed->loader, problem);
}

int feed_new(const struct feed_options *options, const struct model *model,
	     const struct graph *graph, struct feed **ret, struct problem *problem)
{
	struct feed *feed = calloc(1, sizeof(*feed));

	if (!feed)
		return problem_set(problem, -ENOMEM, "no memory");
	feed->graph = graph;
	feed->classes = model->classes;
	feed->state = options->state;
	feed->labels = calloc((size_t)graph->batch, sizeof(*feed->labels));
	int rc = feed->labels ? feed_open(feed, options, model, problem)
			      : problem_set(problem, -ENOMEM, "no memory");

	if (rc != 0) {
		feed_free(feed);
		return rc;
	}
	*ret = feed;
	return 0;
}

void feed_free(struct feed *feed)
{
	if (!feed)
		return;
	loader_free(feed->loader);
	text_done(&feed->augment);
	free(feed->labels);
	free(feed->path);
	free(feed);
}

static int feed_check_labels(const struct feed *feed, const struct loader_batch *batch,
			     struct problem *problem)
{
	for (uint32_t i = 0; i < batch->count; i++)
		if (batch->labels[i] >= feed->classes)
			return problem_set(problem, E_INVALID,
					   "%s: sample %" PRIu64
					   " has the label %d, and the model tells %lld apart",
					   feed->path, batch->samples[i], batch->labels[i],
					   (long long)feed->classes);
	return 0;
}

static int feed_fill(const struct feed *feed, struct executor *executor,
		     const struct loader_batch *batch)
{
	const struct graph *graph = feed->graph;
	size_t all = (size_t)graph->batch;
	int rc = 0;

	for (size_t i = 0; i < all && rc == 0; i += batch->count) {
		size_t count = all - i < batch->count ? all - i : batch->count;

		rc = executor_write(executor, graph->input, i * feed->picture, batch->data,
				    count * feed->picture);
	}
	for (size_t i = 0; i < all; i++)
		feed->labels[i] = i < batch->count ? batch->labels[i] : -1;
	return rc == 0 ? executor_write(executor, graph->label, 0, feed->labels,
					all * sizeof(*feed->labels))
		       : rc;
}

int feed_next(struct feed *feed, struct executor *executor, uint32_t *ret, struct problem *problem)
{
	struct loader_batch batch;
	int rc;

	*ret = 0;
	if (feed->ended)
		return 0;
	rc = loader_next(feed->loader, &batch, problem);
	if (rc < 0)
		return rc;
	feed->ended = rc == 0;
	if (rc == 0)
		return 0;
	rc = feed_check_labels(feed, &batch, problem);
	if (rc == 0) {
		rc = feed_fill(feed, executor, &batch);
		feed->state = batch.after;
		*ret = batch.count;
	}
	int given = loader_give_back(feed->loader, &batch);

	return rc != 0 ? rc : given;
}

int feed_turn(struct feed *feed, struct problem *problem)
{
	struct loader_batch batch;
	/* The loader tells the end of an epoch once, behind its last batch. */
	int rc = feed->ended ? 0 : loader_next(feed->loader, &batch, problem);

	if (rc != 0)
		return rc < 0 ? rc
			      : problem_set(problem, E_CONFLICT, "%s: an epoch is not at its end",
					    feed->path);
	feed->ended = false;
	feed->state.epoch++;
	feed->state.position = 0;
	return 0;
}

struct loader_state feed_state(const struct feed *feed)
{
	return feed->state;
}

struct loader_counts feed_counts(struct feed *feed)
{
	return loader_counts(feed->loader);
}

uint64_t feed_samples(const struct feed *feed)
{
	return feed->samples;
}

uint64_t feed_digest(const struct feed *feed)
{
	return feed->digest;
}

const char *feed_augment(const struct feed *feed)
{
	return text_get(&feed->augment);
}
