/* Batches of a record file of words: what feed.h does where a model reads words.
 *
 * Of each sequence the first `length` words are the input, the last `length` the labels. A batch is some KiB that the map of
 * the file has already: the caller's thread reads it, and nothing is decoded ahead. Order, shares of ranks and the state are those
 * of the loader (record/shuffle_policy.h). Free places of the last batch repeat its first sequences, with labels of -1. */
#pragma once

#include "trainer_image/train/feed.h"

struct word_feed;

/* `graph` outlives it. E_INVALID, E_UNSUPPORTED: set, model or ops do not go together. */
MUST_USE int word_feed_new(const struct feed_options *options, const struct model *model,
			   const struct graph *graph, struct word_feed **ret,
			   struct problem *problem);
void word_feed_free(struct word_feed *feed);

/* As in feed.h. */
MUST_USE int word_feed_next(struct word_feed *feed, struct executor *executor, uint32_t *ret,
			    struct problem *problem);
MUST_USE int word_feed_turn(struct word_feed *feed, struct problem *problem);
struct loader_state word_feed_state(const struct word_feed *feed);
struct loader_counts word_feed_counts(const struct word_feed *feed);
uint64_t word_feed_samples(const struct word_feed *feed);
uint64_t word_feed_digest(const struct word_feed *feed);
