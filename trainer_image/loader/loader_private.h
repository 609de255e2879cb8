/* The insides of a loader. One lock guards all of it; reading, decoding and augmenting run without it.
 *
 * A group: pages that are mixed; GROUPS of them are in memory, one to be decoded, the other to be read.
 * A picture: one sample between decoding and augmenting. A batch: where samples end. Work never waits
 * for work behind it, and what is ahead needs nothing more: so no order of threads can block. */
#pragma once

#include <pthread.h>

#include "common/base/macros.h"

#include "trainer_image/loader/augment_cpu.h"
#include "trainer_image/loader/augment_pixel.h"
#include "trainer_image/loader/loader.h"
#include "trainer_image/record/jpeg.h"
#include "trainer_image/record/record.h"

enum { LOADER_GROUPS = 2 };

struct loader_group {
	struct shuffle_group plan;
	bool *bad; /* by page of the group: it could not be read */
	struct record_page *pages;
	uint64_t epoch;
	uint64_t left;    /* samples that are still to be handed out */
	uint32_t claimed; /* pages that a thread took */
	uint32_t loaded;
	uint32_t lent; /* samples handed out and not decoded yet */
};

enum loader_batch_state { LOADER_FREE, LOADER_FILLING, LOADER_READY, LOADER_LENT };

struct loader_slot_batch {
	enum loader_batch_state state;
	uint8_t *data;  /* of the output's type */
	uint8_t *bytes; /* what k = 1 leaves to the consumer's side; of a side the same as `data` */
	size_t used;    /* k = 0: bytes of `data` */
	int32_t *labels;
	uint8_t *masks; /* NULL: the set has none */
	uint64_t *samples;
	bool *failed;
	uint32_t issued, done, skipped, count;
	bool closed; /* no more samples will be issued to it */
	bool last;   /* of its epoch */
	uint32_t k;  /* 2 the threads make numbers, 1 bytes, 0 places */
	struct loader_state after;
};

/* A sample on its way. */
struct loader_item {
	struct loader *loader;
	struct picture picture;
	uint32_t width, height; /* of the whole picture */
	struct augment_choice choice;
	struct loader_slot_batch *batch;
	uint32_t slot;
	struct loader_group *group;
	struct shuffle_place place;
	uint64_t epoch;
};

struct loader_thread {
	struct loader *loader;
	enum tune_stage stage;
	uint32_t index; /* runs while it is below the stage's number of threads */
	pthread_t id;
};

struct loader {
	struct augment augment;
	struct loader_config config; /* path and ops are not kept */
	struct record_reader *reader;
	uint64_t share;                  /* samples of an epoch of this rank */
	size_t picture_size, bytes_size; /* one picture of the output; as bytes */
	size_t mask_size;                /* its mask; 0: the set has none */
	int mask_field;                  /* mask_field() of the set */
	size_t batch_size;               /* of a side: bytes of a batch */
	bool makes_numbers;              /* the output is no bytes */
	uint64_t numbers_ns;             /* AUGMENT_NUMBERS of one picture, measured at the begin */

	pthread_mutex_t lock;
	pthread_cond_t wake[TUNE_STAGES]; /* a thread of the stage may find work */
	pthread_cond_t wake_consumer;
	pthread_cond_t park; /* threads that the setting does not want: they must eat no wake-up */
	bool end;

	/* Reading. */
	struct shuffle plan; /* whose groups are scheduled; one epoch */
	struct shuffle_group plan_group;
	bool plan_begun;
	struct loader_group group[LOADER_GROUPS];
	uint64_t groups_begun, groups_ended;

	/* Handing out. */
	struct shuffle issue;
	uint64_t head, tail; /* batches begun; batches taken by the consumer */
	struct loader_slot_batch *batch;
	struct loader_item *items, **free_items, **queue;
	uint32_t item_count, free_count, queue_begin, queue_count;
	uint32_t decoding, augmenting; /* threads at work */

	/* The consumer. */
	struct augment_cpu *side; /* its workspace */
	struct loader_state given;
	bool end_due; /* the next answer is the end of the epoch */
	bool waiting; /* loader_next() waits: account from `since` */
	uint64_t since;
	uint64_t left_at; /* when loader_next() returned */
	uint64_t full_since;

	struct tune tune;
	struct tune_setting setting;
	bool tuning;
	struct loader_counts counts, window; /* all; those at the begin of the measured window */
	size_t side_bytes;                   /* of a batch of k = 0: the last one */
	uint64_t threads_numbers;            /* pictures whose numbers the threads made */
	uint64_t window_numbers;
	double step_sum, block_sum,
		block_squares; /* ns: of the window; of the block; of blocks' means */
	uint32_t window_steps, settle;

	struct loader_thread thread[TUNE_STAGES][TUNE_THREADS_MAX];
	uint32_t thread_count[TUNE_STAGES];
};

/* loader_read.c: under the lock, but for the thread. */
void *loader_read_thread(void *context);
/* Hands out the next sample of the epoch to `item`; false: nothing can be handed out now. */
bool loader_issue(struct loader *loader, struct loader_item *item);
/* Begins reading what there is room for. */
void loader_schedule(struct loader *loader);
/* A sample of the group needs its page no more. */
void loader_release(struct loader *loader, struct loader_group *group);
/* Both cursors to a position; called once. */
MUST_USE int loader_seek(struct loader *loader, const struct loader_state *state);

/* loader_work.c */
void *loader_decode_thread(void *context);
void *loader_augment_thread(void *context);
/* Runs one waiting picture in this thread: the lock is left and taken again. False: there is none. */
bool loader_augment_one(struct loader *loader, struct augment_cpu *cpu);
/* A batch whose samples are all there becomes ready. */
void loader_batch_settle(struct loader *loader, struct loader_slot_batch *batch);
/* Adds the consumer's waiting so far to its cause. */
void loader_account(struct loader *loader);

/* loader_memory.c: what loader->config and loader->augment want. -ENOMEM. */
MUST_USE int loader_memory_take(struct loader *loader);
void loader_memory_free(struct loader *loader);

/* loader_side.c: k = 0. */
static inline struct augment_place *loader_places(const struct loader_slot_batch *batch)
{
	return (void *)batch->data;
}
/* Under the lock: an empty batch. */
void loader_side_begin(const struct loader *loader, struct loader_slot_batch *batch);
/* For picture->lend, whose lender is the item: a part of the batch's memory, or NULL. */
uint8_t *loader_side_lend(void *lender, size_t bytes);
/* Describes a decoded picture in its batch. One that has no room there, or that a GPU would shrink too much, is augmented
 * here. `cpu`: of the thread, made when it is needed first. -ENOMEM. */
MUST_USE int loader_side_place(struct loader_item *item, struct augment_cpu **cpu);

/* loader_tune.c: under the lock. */
void loader_measure(struct loader *loader, uint64_t step_ns);
MUST_USE int loader_apply(struct loader *loader, const struct tune_setting *setting);
uint32_t loader_processors(const struct loader *loader);
