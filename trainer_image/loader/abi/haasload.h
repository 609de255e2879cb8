/* libhaasload.so: the loader for programs in other languages. Plain C, no header but these of C itself.
 *
 * Stable within HAASLOAD_VERSION: structs grow at their end alone, functions are added alone. The first
 * member of each struct is its size as the caller knows it. The library reads and writes no further, and
 * takes members that the caller does not know as 0.
 *
 * Functions return 0 or more, or a negative number and a text. One thread at a time calls haasload_next();
 * the other functions are for any thread, but for haasload_close(), which is the last. */
#ifndef HAASLOAD_H
#define HAASLOAD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HAASLOAD_VERSION 1

struct haasload; /* opaque */

enum haasload_type { HAASLOAD_UINT8, HAASLOAD_FP32, HAASLOAD_BF16, HAASLOAD_FP16 };

struct haasload_options {
	uint32_t size;    /* sizeof(struct haasload_options) */
	uint32_t batch;   /* samples */
	const char *path; /* a record file */
	const char *ops;  /* "random_crop width=224 height=224; flip; normalise; pack type=fp16" */
	uint32_t depth;   /* batches in memory; 0: 4. depth - 1 may be lent while one is made */
	uint32_t window;  /* pages whose samples are mixed; 0: 8 */
	uint32_t rank, ranks;           /* ranks 0: one */
	uint64_t seed, epoch, position; /* where to begin: haasload_where() */
	uint32_t processors;            /* 0: those that the process may use */
	uint32_t
		threads[3]; /* read, decode, augment; decode > 0: fixed, else tuned while it runs */
	uint32_t k;         /* with fixed threads: stages before the hand-over, 0 .. 2 */
	uint32_t reserved;
};

struct haasload_shape {
	uint32_t size;
	uint32_t type; /* enum haasload_type */
	uint32_t height, width, channels;
	uint32_t batch;
	uint64_t samples, batches; /* of one epoch of this rank */
};

struct haasload_batch {
	uint32_t size;
	uint32_t
		count; /* samples in it: fewer at the end of an epoch and where some were skipped */
	void *data;    /* [count][height][width][channels] */
	const int32_t *labels;   /* [count]; -1: none */
	const uint64_t *samples; /* [count]: numbers in the file */
	uint32_t skipped;        /* left out, see haasload_fault() */
	uint32_t reserved;
	/* [count][height][width]: the class of each pixel, 255 is none; NULL: the set has no masks. */
	const uint8_t *masks;
};

struct haasload_where {
	uint32_t size;
	uint32_t reserved;
	uint64_t seed, epoch, position;
};

struct haasload_fault {
	uint32_t size;
	int32_t code;
	uint64_t sample;
	char text[160];
};

struct haasload_counts {
	uint32_t size;
	uint32_t threads[3], k; /* that run now */
	uint32_t resting;       /* 1: the tuner is content */
	uint64_t batches, samples, skipped, jpeg_warnings;
	/* haasload_next() waited for reading, decoding, augmenting; worked itself; the caller's own time;
	 * of that, the loader waited for the caller. */
	uint64_t read_ns, decode_ns, augment_ns, side_ns, consumer_ns, full_ns;
	uint64_t settings; /* changes by the tuner */
};

/* HAASLOAD_VERSION of the library. */
uint32_t haasload_version(void);
/* Opens the file and starts the threads. The text of an error is written to `error`, NUL-terminated. */
int haasload_open(const struct haasload_options *options, struct haasload **ret, char *error,
		  size_t error_size);
/* Ends the threads and frees all batches, lent ones too. NULL is allowed. */
void haasload_close(struct haasload *load);
int haasload_shape(struct haasload *load, struct haasload_shape *ret);
/* 1: a batch, lent until it is given back; 0: the end of the epoch, once; negative: an error. */
int haasload_next(struct haasload *load, struct haasload_batch *ret);
int haasload_give_back(struct haasload *load, const void *data);
/* Where the consumer is: behind the batch that haasload_next() gave last. */
int haasload_where(struct haasload *load, struct haasload_where *ret);
/* The oldest of the last 64 samples that were skipped, once: 1; 0 when there is none. */
int haasload_fault(struct haasload *load, struct haasload_fault *ret);
int haasload_counts(struct haasload *load, struct haasload_counts *ret);
/* Fixed threads and k; decode 0: tuned again. */
int haasload_set(struct haasload *load, const uint32_t threads[3], uint32_t k);
/* Text of the last error of this handle in this thread's last call; "" when there was none. Valid until
 * the next call. */
const char *haasload_error(struct haasload *load);

#ifdef __cplusplus
}
#endif
#endif
