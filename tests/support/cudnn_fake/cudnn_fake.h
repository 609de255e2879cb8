/* What the fake cuDNN of tests lets its test see and say. It answers as cuDNN's backend interface does, and computes nothing.
 * A test finds these by dlsym in the library that it has loaded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CUDNN_FAKE_ENGINES = 8 };

struct cudnn_fake_engine {
	int64_t id, workspace;
	int64_t more;                  /* or less: what the finished plan wants beside it */
	int numerical[3], behavior[2]; /* notes, each plus 1; 0 = none */
	bool fails;                    /* its plan cannot be made */
};

struct cudnn_fake {
	/* Said by the test. */
	size_t version;
	size_t cuda;    /* that it was built with; 0 = 99 */
	bool no_gpu;    /* cudnnCreate fails */
	int heuristics; /* status of the question for engines; 0 = success */
	int run;        /* status of an execution */
	struct cudnn_fake_engine first[CUDNN_FAKE_ENGINES];  /* id 0 ends */
	struct cudnn_fake_engine others[CUDNN_FAKE_ENGINES]; /* of the fallback */
	/* Seen by it. */
	int live; /* descriptors */
	int handles;
	int questions; /* for engines */
	int runs;
	void *stream;
	char device[1024];                  /* the description that a question came with */
	int64_t sizes[3][4], strides[3][4]; /* of the tensors 1, 2, 3 of the last graph */
	int data_types[3];
	int operation; /* type of its descriptor */
	int64_t pad[2], step[2];
	float beta;
	bool with_handle; /* the last graph */
	int64_t ran;      /* the engine of the last execution */
	void *memory[3];  /* its x, w, y */
	void *workspace;
};

/* Static, of the library: one test uses it at a time. */
typedef struct cudnn_fake *cudnn_fake_state_function(void);
