#include "trainer_image/train/feed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/record/mask.h"
#include "trainer_image/record/record.h"
#include "trainer_image/record/record_map.h"
#include "trainer_image/train/intake.h"
#include "trainer_image/train/word_feed.h"

struct feed {
	struct word_feed *words; /* of a model that reads words: it does all below */
	const struct graph *graph;
	struct loader *loader;
	struct intake *intake; /* NULL: batches are copied */
	int ahead;             /* what intake_fetch() said of the next batch; -EAGAIN = nothing */
	struct problem ahead_problem;
	struct text augment;
	struct augment parsed;
	char *path;
	int64_t classes;
	bool masks;     /* labels are of pixels */
	size_t places;  /* labels of a picture */
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

/* Does the model read pictures, with a label for each, or for each of their pixels? */
static int feed_check_model(const struct model *model, struct problem *problem)
{
	const struct tensor_shape *input = &model->input;
	const struct tensor_shape *label = &model->label;

	if (input->rank != 3)
		return problem_set(problem, E_UNSUPPORTED,
				   "%s takes neither pictures nor words: record files hold those",
				   model->name);
	if (label->rank == 0 || (label->rank == 2 && label->size[0] == input->size[0] &&
				 label->size[1] == input->size[1]))
		return 0;
	(void)problem_set(problem, E_UNSUPPORTED,
			  "%s has neither a label a picture nor a label a pixel", model->name);
	problem_hint(problem, "of pixels: label %s %" PRId64 " %" PRId64 " %" PRId64,
		     model->label_name, model->classes, input->size[0], input->size[1]);
	return E_UNSUPPORTED;
}

/* What the user says, and what the model wants beside it. */
static int feed_ops(struct feed *feed, const char *said, const struct model *model,
		    struct problem *problem)
{
	const struct tensor_shape *shape = &model->input;
	const bool cropped = strstr(said, "_crop") != NULL;

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
	feed->parsed = augment;
	text_clear(&feed->augment);
	augment_print(&augment, &feed->augment);
	return 0;
}

static int feed_check_masks(const struct feed *feed, const struct model *model, bool masks,
			    struct problem *problem)
{
	if (masks == feed->masks)
		return 0;
	if (masks) {
		(void)problem_set(problem, E_INVALID,
				  "%s has masks, and %s takes a label a picture", feed->path,
				  model->name);
		problem_hint(problem,
			     "trainer convert without --masks; or in the model: label %s %" PRId64
			     " %" PRId64 " %" PRId64,
			     model->label_name, model->classes, model->input.size[0],
			     model->input.size[1]);
		return E_INVALID;
	}
	(void)problem_set(problem, E_INVALID,
			  "%s has a label a picture, and %s takes masks, a label a pixel",
			  feed->path, model->name);
	problem_hint(problem,
		     "trainer convert --masks, or trainer digits --masks, makes such a set");
	return E_INVALID;
}

static int feed_read_set(struct feed *feed, const struct model *model, struct problem *problem)
{
	struct record_reader *reader = NULL;
	int rc = record_reader_open(feed->path, NULL, &reader, problem);

	if (rc != 0)
		return rc;
	size_t classes = record_reader_header(reader)->class_count;
	bool words = record_reader_header(reader)->vocabulary > 0;
	bool masks = mask_field(record_reader_header(reader)) >= 0;

	feed->samples = record_reader_samples(reader);
	feed->digest = record_map_digest(reader);
	record_reader_free(reader);
	if (words) {
		(void)problem_set(problem, E_INVALID, "%s holds words, and %s takes pictures",
				  feed->path, model->name);
		problem_hint(problem,
			     "trainer convert makes a set of pictures; a model of words says "
			     "\"input NAME LENGTH words=N\"");
		return E_INVALID;
	}
	if (feed->samples == 0)
		return problem_set(problem, E_INVALID, "%s holds no samples", feed->path);
	rc = feed_check_masks(feed, model, masks, problem);
	if (rc != 0)
		return rc;
	if (classes > (size_t)model->classes) {
		(void)problem_set(problem, E_INVALID, "%s has %zu classes, and %s tells %lld apart",
				  feed->path, classes, model->name, (long long)model->classes);
		problem_hint(problem, "the last layer and the label of the model: %zu", classes);
		return E_INVALID;
	}
	return 0;
}

/* Where nobody said how batches are handed over, and no memory is there for it, they are copied. */
static int feed_open_intake(struct feed *feed, const struct feed_options *options,
			    struct problem *problem)
{
	const bool is_said = options->transfer >= 0;
	const uint32_t k = is_said ? (uint32_t)options->transfer : 1;
	const bool is_tuned = !is_said && options->threads == 0;
	const struct intake_options intake = {
		.ops = options->ops,
		.augment = &feed->parsed,
		.batch = (uint32_t)feed->graph->batch,
		.k_least = is_tuned ? 0 : k,
		.k_most = is_tuned ? AUGMENT_STAGES : k,
	};
	struct problem lacks = {0};
	int rc;

	if (!options->ops || !options->ops->backend->intake)
		return 0;
	rc = intake_new(&intake, &feed->intake, &lacks);
	if (rc == 0 || (rc == E_LIMIT && !is_said))
		return 0;
	*problem = lacks;
	return rc;
}

static void feed_set_loader(const struct feed *feed, const struct feed_options *options,
			    struct loader_config *config)
{
	uint32_t k = AUGMENT_STAGES;

	if (feed->intake) {
		config->side = intake_side(feed->intake);
		k = config->side.k_least;
	}
	if (options->threads > 0)
		config->fixed = (struct tune_setting){
			.threads = {1, options->threads, k == 0 ? 0 : options->threads}, .k = k};
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
	int rc = feed_check_model(model, problem);

	if (rc == 0)
		rc = feed_ops(feed, options->augment, model, problem);
	feed->path = strdup(options->path);
	if (rc == 0 && !feed->path)
		rc = problem_set(problem, -ENOMEM, "no memory");
	if (rc == 0)
		rc = feed_check_ops(feed, model, problem);
	if (rc == 0)
		rc = feed_read_set(feed, model, problem);
	if (rc == 0)
		rc = feed_open_intake(feed, options, problem);
	if (rc != 0)
		return rc;
	config.path = feed->path;
	config.ops = text_get(&feed->augment);
	feed_set_loader(feed, options, &config);
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
	feed->ahead = -EAGAIN;
	feed->masks = model->label.rank > 0;
	feed->places = (size_t)tensor_shape_count(&model->label);
	feed->labels = calloc((size_t)graph->batch * feed->places, sizeof(*feed->labels));
	int rc = feed->labels ? 0 : problem_set(problem, -ENOMEM, "no memory");

	if (rc == 0)
		rc = model->words > 0 ? word_feed_new(options, model, graph, &feed->words, problem)
				      : feed_open(feed, options, model, problem);

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
	word_feed_free(feed->words);
	intake_close(feed->intake);
	loader_free(feed->loader);
	intake_free(feed->intake);
	text_done(&feed->augment);
	free(feed->labels);
	free(feed->path);
	free(feed);
}

static int32_t feed_label(const struct feed *feed, const struct loader_batch *batch, size_t nth)
{
	if (!feed->masks)
		return batch->labels[nth];
	return batch->masks[nth] == MASK_VOID ? -1 : batch->masks[nth];
}

/* Those of the batch; places that are free have -1. */
static int feed_take_labels(const struct feed *feed, const struct loader_batch *batch,
			    struct problem *problem)
{
	size_t count = batch->count * feed->places;
	size_t all = (size_t)feed->graph->batch * feed->places;

	for (size_t i = 0; i < count; i++) {
		int32_t label = feed_label(feed, batch, i);

		if (label >= feed->classes)
			return problem_set(problem, E_INVALID,
					   "%s: sample %" PRIu64
					   " has the label %d, and the model tells %lld apart",
					   feed->path, batch->samples[i / feed->places], label,
					   (long long)feed->classes);
		feed->labels[i] = label;
	}
	for (size_t i = count; i < all; i++)
		feed->labels[i] = -1;
	return 0;
}

static int feed_copy(const struct feed *feed, struct executor *executor,
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
	return rc;
}

static int feed_fill(struct feed *feed, struct executor *executor, const struct loader_batch *batch,
		     struct problem *problem)
{
	const struct graph *graph = feed->graph;
	size_t all = (size_t)graph->batch;
	int rc = feed_take_labels(feed, batch, problem);

	if (rc != 0)
		return rc;
	rc = executor_write(executor, graph->label, 0, feed->labels,
			    all * feed->places * sizeof(*feed->labels));
	if (rc == 0)
		rc = feed->intake
			     ? intake_put(feed->intake, feed->loader,
					  executor_tensor(executor, graph->input), (uint32_t)all)
			     : feed_copy(feed, executor, batch);
	return rc == 0 ? 0
		       : ops_fault_tell(executor_ops(executor), rc, problem, "a batch of %s",
					feed->path);
}

void feed_ahead(struct feed *feed)
{
	if (feed->intake && !feed->ended && feed->ahead == -EAGAIN)
		feed->ahead = intake_fetch(feed->intake, feed->loader, false, &feed->ahead_problem);
}

/* As loader_next() says. */
static int feed_fetch(struct feed *feed, struct loader_batch *ret, struct problem *problem)
{
	int rc = feed->ahead;

	if (!feed->intake)
		return loader_next(feed->loader, ret, problem);
	if (rc == -EAGAIN)
		rc = intake_fetch(feed->intake, feed->loader, true, problem);
	else if (rc < 0)
		*problem = feed->ahead_problem;
	feed->ahead = -EAGAIN;
	if (rc == 1)
		*ret = *intake_batch(feed->intake);
	return rc;
}

int feed_next(struct feed *feed, struct executor *executor, uint32_t *ret, struct problem *problem)
{
	struct loader_batch batch = {0};
	int rc;

	if (feed->words)
		return word_feed_next(feed->words, executor, ret, problem);
	*ret = 0;
	if (feed->ended)
		return 0;
	rc = feed_fetch(feed, &batch, problem);
	if (rc < 0)
		return rc;
	feed->ended = rc == 0;
	if (rc == 0)
		return 0;
	rc = feed_fill(feed, executor, &batch, problem);
	if (rc == 0) {
		feed->state = batch.after;
		*ret = batch.count;
	}
	/* An intake gives it back when the device has read it. */
	int given = feed->intake ? 0 : loader_give_back(feed->loader, &batch);

	return rc != 0 ? rc : given;
}

int feed_turn(struct feed *feed, struct problem *problem)
{
	struct loader_batch batch;

	if (feed->words)
		return word_feed_turn(feed->words, problem);
	/* The loader tells the end of an epoch once, behind its last batch. */
	int rc = feed->ended ? 0 : feed_fetch(feed, &batch, problem);

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
	return feed->words ? word_feed_state(feed->words) : feed->state;
}

struct loader_counts feed_counts(struct feed *feed)
{
	return feed->words ? word_feed_counts(feed->words) : loader_counts(feed->loader);
}

uint64_t feed_samples(const struct feed *feed)
{
	return feed->words ? word_feed_samples(feed->words) : feed->samples;
}

uint64_t feed_digest(const struct feed *feed)
{
	return feed->words ? word_feed_digest(feed->words) : feed->digest;
}

const char *feed_augment(const struct feed *feed)
{
	return text_get(&feed->augment);
}
