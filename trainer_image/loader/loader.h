/* Batches of training input from a record file: read, decoded, augmented by threads, lent to the consumer.
 *
 *     read        pages of a group (record/shuffle_policy.h) are mapped in: these threads wait for the disk
 *     decode      JPEG: the wanted region alone; raw pixels: copied; masks: cropped, resized and flipped as their pictures
 *     augment     ops of augment_table.h; into the batch that the consumer will see
 *     consumer    borrows a batch, gives it back: nothing is copied
 *
 * The transfer index k says how many stages of augment_table.h the threads run: 2 all, 1 all but
 * `normalise` and `pack`, 0 none. The consumer's side does the rest. Without a GPU that side is the
 * thread in loader_next(). With one, batches come as k left them (struct loader_side). k moves work and does
 * not change results.
 *
 * The order of samples and each random number follow from (seed, epoch, position): threads, k, a
 * restart change nothing. Each sample of the rank's share is given exactly once an epoch. A sample that
 * cannot be decoded is left out, counted and told: its batch is shorter. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/loader/augment_table.h"
#include "trainer_image/loader/tune_policy.h"

enum {
	LOADER_BATCH_MAX = 65536,
	LOADER_DEPTH_MAX = 64,
	LOADER_WINDOW = 8, /* pages a group, when nothing is said */
	LOADER_DEPTH = 4,  /* batches */
};

/* Where the consumer is; with the same file and configuration it is all that a restart needs. */
struct loader_state {
	uint64_t seed, epoch, position; /* position: samples of the rank's share that were given */
};

/* A consumer that does by itself what k leaves to it. All batches lie in its memory: a GPU reads where a
 * decoder wrote. */
struct loader_side {
	uint32_t k_least, k_most; /* batches that it takes */
	/* Memory for a batch, loader_side_room() bytes, 64-byte aligned; NULL: none is to be had. A `take` of
	 * NULL is no such side. */
	void *(*take)(void *context, size_t bytes);
	void (*give)(void *context, void *memory);
	void *context;
	double byte_ns; /* that a byte of a batch is on its way, beside what computes; 0: nobody knows */
};

struct loader_config {
	const char *path;
	const char *ops; /* augment_table.h */
	uint32_t batch;
	uint32_t depth;  /* batches in memory; 0: LOADER_DEPTH. The consumer may hold depth - 1 */
	uint32_t window; /* pages a group; 0: LOADER_WINDOW */
	uint32_t rank, ranks; /* ranks 0: one */
	struct loader_state state;
	uint32_t processors;       /* 0: those that this process may use */
	struct tune_setting fixed; /* threads[DECODE] > 0: this setting stays, nothing is tuned */
	struct loader_side side;
	/* Told of each sample that is left out; from any thread, one at a time. May be NULL. */
	void (*fault)(void *context, uint64_t sample, const struct problem *problem);
	void *context;
};

/* Lent from loader_next() to loader_give_back(). */
struct loader_batch {
	void *data; /* [count][height][width][channels] of the output's type; 64-byte aligned */
	size_t bytes;
	/* 2, but for a side: 1 bytes in place of the type; 0 `count` times struct augment_place (augment_pixel.h),
	 * then pixels, in `bytes` bytes. */
	uint32_t k;
	const int32_t *labels;
	/* [count][height][width]: the class of each pixel (record/mask.h). NULL: the set has no masks. */
	const uint8_t *masks;
	const uint64_t *samples; /* numbers in the file */
	uint32_t count;
	uint32_t skipped;          /* left out of this batch */
	struct loader_state after; /* a restart from here goes on behind this batch */
};

/* Why the consumer waited. */
enum loader_stall { LOADER_STALL_READ, LOADER_STALL_DECODE, LOADER_STALL_AUGMENT, LOADER_STALLS };

struct loader_counts {
	uint64_t batches, samples, skipped;
	uint64_t jpeg_warnings;
	uint64_t stall_ns[LOADER_STALLS]; /* loader_next() waited, by what it waited for */
	uint64_t side_ns;                 /* loader_next() worked: what k leaves to it */
	uint64_t consumer_ns;         /* between loader_next() and the next: the consumer's own */
	uint64_t full_ns;             /* of that, no batch was free: the loader waited */
	uint64_t work_ns[TUNE_WORKS]; /* by all threads */
	struct tune_setting setting;
	enum tune_phase phase;
	uint64_t settings; /* changes of the setting by the tuner */
};

struct loader;

/* Opens the file and starts the threads. E_INVALID: the configuration; the errors of
 * record_reader_open(); -ENOMEM, -EAGAIN. */
MUST_USE int loader_new(const struct loader_config *config, struct loader **ret,
			struct problem *problem);
/* Ends the threads. Batches that are still lent are gone too. */
void loader_free(struct loader *loader);
void loader_freep(struct loader **loader);

/* The next batch: 1. At the end of an epoch 0, once; the next call begins the next epoch, whose first
 * batches are made already. E_CONFLICT when the consumer holds all batches. One thread at a time. */
MUST_USE int loader_next(struct loader *loader, struct loader_batch *ret, struct problem *problem);
/* The same, but it never waits: -EAGAIN, nothing is ready. */
MUST_USE int loader_try_next(struct loader *loader, struct loader_batch *ret,
			     struct problem *problem);
/* Any thread; in any order. E_INVALID when it is not lent. */
MUST_USE int loader_give_back(struct loader *loader, const struct loader_batch *batch);

/* Threads of each stage and k, from now on; nothing is tuned until loader_tune(). E_INVALID, -EAGAIN. */
MUST_USE int loader_set(struct loader *loader, const struct tune_setting *setting);
void loader_tune(struct loader *loader);

/* Bytes of a batch of a side that takes from `k_least` to `k_most`. For k = 0 pictures of three times the output's size
 * have room, in the mean; a larger one is made smaller before it is handed over. */
size_t loader_side_room(const struct augment *augment, uint32_t batch, uint32_t k_least,
			uint32_t k_most);

const struct augment *loader_augment(const struct loader *loader);
/* Samples, and batches, of one epoch of this rank. */
uint64_t loader_share(const struct loader *loader);
uint64_t loader_batches(const struct loader *loader);
struct loader_counts loader_counts(struct loader *loader);
/* Where the consumer is now: behind the last batch that loader_next() gave. */
struct loader_state loader_state(struct loader *loader);
