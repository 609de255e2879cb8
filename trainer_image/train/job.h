/* What to train and how: a job's file, in the syntax of common/io/conf.h.
 *
 *     model = "lenet.model";
 *     epochs = 6;
 *     batch = 64;
 *     data: { train = "train.rec"; evaluate = "test.rec"; };
 *     optimizer: { kind = "adamw"; rate = 0.002; };
 *     schedule: { kind = "cosine"; warmup = 0.2; };
 *
 * Paths that begin with no "/" are of the folder that the file is in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/graph/tensor.h"
#include "trainer_image/train/schedule_policy.h"

enum job_device { JOB_CPU, JOB_CUDA };
enum job_transport { JOB_SHARED, JOB_TCP };
/* Who sums gradients. `auto`: the device where it can. */
enum job_sum { JOB_SUM_AUTO, JOB_SUM_HOST, JOB_SUM_NCCL };

/* Where weights are summed by how many bits: `auto` measures. */
enum job_codec { JOB_CODEC_NONE, JOB_CODEC_BF16, JOB_CODEC_FP16, JOB_CODEC_INT8, JOB_CODEC_AUTO };

struct job {
	char *model; /* path */
	int device;  /* enum job_device */
	int type;    /* of job_types */
	int64_t batch, accumulate, epochs, seed, threads;
	char *memory; /* "11GiB" for all of it; "" = any number */
	struct job_data {
		char *train, *evaluate; /* paths; evaluate "" = none */
		char *augment, *evaluate_augment;
		int64_t threads, transfer;
	} data;
	struct job_optimizer {
		int kind; /* enum ops_update_kind */
		double rate, momentum, momentum2, epsilon, decay, trust;
		bool nesterov;
	} optimizer;
	struct job_schedule {
		int kind; /* enum schedule_kind */
		double warmup, every, factor, last;
	} schedule;
	struct job_checkpoint {
		char *folder; /* "" = none */
		int64_t every, keep;
	} checkpoint;
	char *metrics; /* path; "" = none */
	double target; /* accuracy that the last evaluation must reach, 0 .. 1 */
	struct job_ranks {
		int64_t count;
		int transport; /* enum job_transport */
		char **addresses;
		char *key; /* path */
		int codec; /* enum job_codec */
		int sum;   /* enum job_sum */
	} ranks;
};

/* E_MALFORMED, E_NOT_FOUND with file, line, the bad word and what may stand there; -errno. job_done() after success. */
MUST_USE int job_load(const char *path, struct job *ret, struct problem *problem);
void job_done(struct job *job);
/* A sample file with every key. */
void job_print(FILE *out);

/* -1 when it is no codec. */
int job_codec_parse(const char *word);
/* Does the device sum gradients? `can`: it is one that sums. */
bool job_sums_on_device(const struct job_ranks *ranks, bool can);
/* Of each rank, a number that the ranks of its machine share: those whose addresses have the same host. Room for
 * COMM_RANKS_MAX. */
void job_machines(const struct job_ranks *ranks, int ret_machine_of[]);
/* Which of its machine's devices a rank takes: ranks of one machine take one after the other. */
int job_device_index(const struct job *job, int rank);
/* Ranks on the machine of this one. */
int job_machine_ranks(const struct job *job, int rank);
/* The tensor type that the job computes in. */
enum tensor_type job_tensor_type(const struct job *job);
