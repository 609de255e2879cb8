#include "trainer_image/train/word_feed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "trainer_image/record/record_map.h"
#include "trainer_image/record/record_words_wire.h"

struct word_feed {
	char *path;
	const struct graph *graph;
	struct record_reader *reader;
	struct shuffle shuffle;
	struct loader_state state;
	struct shuffle_ask ask;
	struct record_page pages[LOADER_WINDOW]; /* of the group; without data: it cannot be read */
	bool opened;                             /* the group that begins at `group` */
	uint64_t group;
	int32_t *words;         /* of one sequence */
	int32_t *input, *label; /* of a batch */
	const char *why;        /* the last fault of the reader */
	struct loader_counts counts;
	void (*fault)(void *context, uint64_t sample, const struct problem *problem);
	void *context;
};

/* ---- Does the set fit the model? ---- */

/* The model has a row and a class for each word below this. */
static int64_t word_feed_knows(const struct model *model)
{
	int64_t words = model->words < model->classes ? model->words : model->classes;

	for (size_t i = 0; i < model->count; i++)
		if (model->ops[i].kind == OP_EMBEDDING && model->ops[i].words < words)
			words = model->ops[i].words;
	return words;
}

static int word_feed_model(const struct feed_options *options, const struct model *model,
			   struct problem *problem)
{
	int64_t length = model->input.size[0];

	if (options->augment[0]) {
		(void)problem_set(problem, E_INVALID,
				  "augmentation is of pictures, and %s takes words", model->name);
		problem_hint(problem, "leave data.augment and data.evaluate_augment out");
		return E_INVALID;
	}
	if (model->label.rank == 1 && model->label.size[0] == length)
		return 0;
	(void)problem_set(problem, E_UNSUPPORTED,
			  "%s has no label for each of its %" PRId64 " words", model->name, length);
	problem_hint(problem, "label %s %" PRId64 " %" PRId64, model->label_name, model->classes,
		     length);
	return E_UNSUPPORTED;
}

static int word_feed_set(const struct word_feed *feed, const struct model *model,
			 struct problem *problem)
{
	const struct record_header *header = record_reader_header(feed->reader);
	int64_t knows = word_feed_knows(model);

	if (header->vocabulary == 0) {
		(void)problem_set(problem, E_INVALID, "%s holds pictures, and %s takes words",
				  feed->path, model->name);
		problem_hint(problem, "trainer words makes a set of words");
		return E_INVALID;
	}
	if (header->vocabulary > knows) {
		(void)problem_set(problem, E_INVALID,
				  "%s has words below %" PRIu32
				  ", and %s knows those below %" PRId64,
				  feed->path, header->vocabulary, model->name, knows);
		problem_hint(problem,
			     "input, embedding, last layer and label of the model: %" PRIu32,
			     header->vocabulary);
		return E_INVALID;
	}
	if (header->length != model->input.size[0]) {
		(void)problem_set(problem, E_INVALID,
				  "%s has sequences of %" PRIu32 " words, and %s takes %" PRId64,
				  feed->path, header->length, model->name, model->input.size[0]);
		problem_hint(problem,
			     "trainer words --length %" PRId64 "; or input and label of the "
			     "model: %" PRIu32,
			     model->input.size[0], header->length);
		return E_INVALID;
	}
	return 0;
}

/* ---- Opening ---- */

static void word_feed_fault(void *context, const struct record_fault *fault)
{
	((struct word_feed *)context)->why = fault->why;
}

/* To a place in an epoch; E_INVALID where the rank has none. */
static int word_feed_seek(struct word_feed *feed, uint64_t epoch, uint64_t position)
{
	const struct shuffle_set set = {.pages = record_reader_pages(feed->reader),
					.first = record_reader_first(feed->reader)};

	feed->ask.epoch = epoch;
	feed->opened = false;
	int rc = shuffle_init(&feed->shuffle, &set, &feed->ask);

	if (rc == 0 && feed->shuffle.count == 0)
		rc = E_INVALID;
	return rc == 0 ? shuffle_seek(&feed->shuffle, position) : rc;
}

static int word_feed_open(struct word_feed *feed, const struct feed_options *options,
			  const struct model *model, struct problem *problem)
{
	const struct record_options reading = {.fault = word_feed_fault, .context = feed};
	size_t places = (size_t)feed->graph->batch * (size_t)model->input.size[0];
	int rc = word_feed_model(options, model, problem);

	feed->path = strdup(options->path);
	feed->words = calloc((size_t)model->input.size[0] + 1, sizeof(*feed->words));
	feed->input = calloc(places, sizeof(*feed->input));
	feed->label = calloc(places, sizeof(*feed->label));
	if (rc == 0 && (!feed->path || !feed->words || !feed->input || !feed->label))
		rc = problem_set(problem, -ENOMEM, "no memory for batches of %" PRId64,
				 feed->graph->batch);
	if (rc == 0)
		rc = record_reader_open(feed->path, &reading, &feed->reader, problem);
	if (rc == 0)
		rc = word_feed_set(feed, model, problem);
	if (rc != 0)
		return rc;
	rc = word_feed_seek(feed, feed->state.epoch, feed->state.position);
	return rc == 0 ? 0
		       : problem_set(problem, rc,
				     "%s: rank %" PRIu32 " of %" PRIu32
				     " has no sequence at position %" PRIu64,
				     feed->path, feed->ask.rank, feed->ask.ranks,
				     feed->state.position);
}

int word_feed_new(const struct feed_options *options, const struct model *model,
		  const struct graph *graph, struct word_feed **ret, struct problem *problem)
{
	struct word_feed *feed = calloc(1, sizeof(*feed));

	if (!feed)
		return problem_set(problem, -ENOMEM, "no memory");
	feed->graph = graph;
	feed->state = options->state;
	feed->fault = options->fault;
	feed->context = options->context;
	feed->ask = (struct shuffle_ask){.seed = options->state.seed,
					 .rank = options->rank,
					 .ranks = options->ranks,
					 .window = LOADER_WINDOW};
	int rc = word_feed_open(feed, options, model, problem);

	if (rc != 0) {
		word_feed_free(feed);
		return rc;
	}
	*ret = feed;
	return 0;
}

void word_feed_free(struct word_feed *feed)
{
	if (!feed)
		return;
	record_reader_free(feed->reader);
	free(feed->words);
	free(feed->input);
	free(feed->label);
	free(feed->path);
	free(feed);
}

/* ---- Reading ---- */

static void word_feed_tell(struct word_feed *feed, const struct shuffle_place *place, int rc)
{
	struct problem problem = {0};

	feed->counts.skipped++;
	(void)problem_set(&problem, rc, "page %" PRIu32 ", sample %" PRIu32 ": %s", place->page,
			  place->index, feed->why);
	if (feed->fault)
		feed->fault(feed->context,
			    record_reader_first(feed->reader)[place->page] + place->index,
			    &problem);
}

/* Opens the pages of the shuffle's group, and has the kernel read those of the next. */
static void word_feed_group(struct word_feed *feed)
{
	const struct shuffle_group *group = &feed->shuffle.group;
	struct shuffle_group next;

	if (feed->opened && feed->group == group->begin)
		return;
	for (uint32_t i = 0; i < group->part_count; i++)
		if (record_page_open(feed->reader, group->part[i].page, &feed->pages[i]) != 0)
			feed->pages[i] = (struct record_page){0};
	feed->opened = true;
	feed->group = group->begin;
	if (shuffle_group_after(&feed->shuffle, group, &next))
		for (uint32_t i = 0; i < next.part_count; i++)
			record_reader_expect(feed->reader, next.part[i].page);
}

/* One sequence to place `at` of the batch. */
static int word_feed_take(struct word_feed *feed, const struct shuffle_place *place, uint32_t at)
{
	const struct record_header *header = record_reader_header(feed->reader);
	const struct record_page *page = &feed->pages[place->slot];
	size_t bytes = header->length * sizeof(*feed->words);
	struct record_sample sample;

	feed->why = "its page cannot be read";
	if (!page->data)
		return E_DIGEST;
	int rc = record_page_sample(feed->reader, page, place->index, &sample);

	if (rc != 0)
		return rc;
	feed->why = "a word is none of the vocabulary";
	rc = record_words_decode(header, sample.data, sample.size, feed->words);
	if (rc != 0)
		return rc;
	memcpy(feed->input + (size_t)at * header->length, feed->words, bytes);
	memcpy(feed->label + (size_t)at * header->length, feed->words + 1, bytes);
	return 0;
}

/* The next batch of the share that has a sequence; 0 at the end. */
static uint32_t word_feed_gather(struct word_feed *feed)
{
	struct shuffle_place place;
	uint32_t count = 0;

	while (count == 0 && feed->shuffle.position < feed->shuffle.count)
		for (int64_t i = 0; i < feed->graph->batch && shuffle_next(&feed->shuffle, &place);
		     i++) {
			word_feed_group(feed);
			int rc = word_feed_take(feed, &place, count);

			if (rc == 0)
				count++;
			else
				word_feed_tell(feed, &place, rc);
		}
	return count;
}

/* Free places repeat the first sequences, and predict nothing. */
static int word_feed_fill(struct word_feed *feed, struct executor *executor, uint32_t count)
{
	size_t length = record_reader_header(feed->reader)->length;
	size_t all = (size_t)feed->graph->batch;
	size_t bytes = length * sizeof(*feed->input);

	for (size_t i = count; i < all; i++) {
		memcpy(feed->input + i * length, feed->input + (i - count) * length, bytes);
		for (size_t k = 0; k < length; k++)
			feed->label[i * length + k] = -1;
	}
	int rc = executor_write(executor, feed->graph->input, 0, feed->input, all * bytes);

	return rc == 0 ? executor_write(executor, feed->graph->label, 0, feed->label, all * bytes)
		       : rc;
}

int word_feed_next(struct word_feed *feed, struct executor *executor, uint32_t *ret,
		   struct problem *problem)
{
	uint64_t begun = clock_monotonic_ns();

	*ret = 0;
	uint32_t count = word_feed_gather(feed);

	feed->counts.stall_ns[LOADER_STALL_READ] += clock_monotonic_ns() - begun;
	feed->state.position = feed->shuffle.position;
	if (count == 0)
		return 0;
	int rc = word_feed_fill(feed, executor, count);

	if (rc != 0)
		return ops_fault_tell(executor_ops(executor), rc, problem, "a batch of %s",
				      feed->path);
	feed->counts.batches++;
	feed->counts.samples += count;
	*ret = count;
	return 0;
}

int word_feed_turn(struct word_feed *feed, struct problem *problem)
{
	if (word_feed_gather(feed) > 0)
		return problem_set(problem, E_CONFLICT, "%s: an epoch is not at its end",
				   feed->path);
	feed->state.epoch++;
	feed->state.position = 0;
	int rc = word_feed_seek(feed, feed->state.epoch, 0);

	return rc == 0 ? 0 : problem_set(problem, rc, "%s: %s", feed->path, error_text(rc));
}

struct loader_state word_feed_state(const struct word_feed *feed)
{
	return feed->state;
}

struct loader_counts word_feed_counts(const struct word_feed *feed)
{
	return feed->counts;
}

uint64_t word_feed_samples(const struct word_feed *feed)
{
	return record_reader_samples(feed->reader);
}

uint64_t word_feed_digest(const struct word_feed *feed)
{
	return record_map_digest(feed->reader);
}
