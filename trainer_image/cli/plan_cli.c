/* trainer plan MODEL: what a training step needs before any GPU is rented. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/cli/trainer_table.h"
#include "trainer_image/graph/model_text.h"
#include "trainer_image/ops/cuda/cudnn_source.h"
#include "trainer_image/plan/plan_largest.h"
#include "trainer_image/train/exchange.h"

static const struct option_row plan_cli_options[] = {
	{"--batch", 'b', OPTION_VALUE, "N", "samples a step; default 32"},
	{"--memory", 'm', OPTION_VALUE, "SIZE", "for all of it: 11GiB; default 95 % of the GPU's"},
	{"--type", 0, OPTION_VALUE, "bf16|fp16|fp32", "of activations and weights; default bf16"},
	{"--optimizer", 0, OPTION_VALUE, "sgd|adamw|lars", "default sgd, with momentum"},
	{"--gpu", 0, OPTION_VALUE,
	 "b200|h200|h100|a100|a100-40|l40s|l4|rtx5090|rtx4090|rtx3090|v100|t4|gtx1080ti",
	 "type of the GPU: its memory, its engines"},
	{"--ranks", 'r', OPTION_VALUE, "N", "GPUs of the job: memory of their sums; default 1"},
	{"--codec", 0, OPTION_VALUE, "none|bf16|fp16|int8|auto", "of gradients; default none"},
	{"--largest", 0, OPTION_FLAG, NULL, "the largest batch that the memory holds"},
	{"--ops", 0, OPTION_FLAG, NULL, "a line for each op of the forward pass"},
};

PRINTF_LIKE(1, 2) static int plan_cli_usage(const char *format, ...)
{
	va_list arguments;

	fputs("trainer: ", stderr);
	va_start(arguments, format);
	(void)vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

static enum tensor_type plan_cli_type(const char *word)
{
	static const enum tensor_type types[] = {TENSOR_BF16, TENSOR_FP16, TENSOR_FP32};

	for (size_t i = 0; word && i < COUNT_OF(types); i++)
		if (strcmp(tensor_type_text(types[i]), word) == 0)
			return types[i];
	return TENSOR_BF16;
}

/* What stays free beside the plan: the driver's own memory, about 5 %. */
static int64_t plan_cli_gpu_bytes(const struct gpu_row *gpu)
{
	return gpu->memory_mib * 1048576 / 100 * 95;
}

static int64_t plan_cli_sums(const void *context, const struct graph *graph)
{
	return exchange_memory(context, 0, graph);
}

/* Ranks of one machine. */
static int plan_cli_ranks(const struct command_input *input, struct job_ranks *ranks,
			  struct plan_request *ret)
{
	const char *codec = command_option(input, "--codec");
	uint64_t count = 1;

	if (!trainer_number(input, "--ranks", 1, COMM_RANKS_MAX, 1, &count))
		return EXIT_USAGE;
	if (codec && count == 1)
		return plan_cli_usage("--codec wants --ranks: one rank sums nothing");
	*ranks = (struct job_ranks){.count = (int64_t)count};
	if (codec)
		ranks->codec = job_codec_parse(codec);
	if (count == 1)
		return 0;
	ret->sums = plan_cli_sums;
	ret->context = ranks;
	return 0;
}

static int plan_cli_request(const struct command_input *input, struct plan_request *ret)
{
	const char *memory = command_option(input, "--memory");
	const char *gpu = command_option(input, "--gpu");
	const char *optimizer = command_option(input, "--optimizer");
	struct plan_request request = {.type = TENSOR_BF16};
	uint64_t batch = 0;

	if (!trainer_number(input, "--batch", 1, 1 << 24, 32, &batch))
		return EXIT_USAGE;
	request.batch = (int64_t)batch;
	request.type = plan_cli_type(command_option(input, "--type"));
	if (optimizer)
		request.optimizer = (enum plan_optimizer)plan_optimizer_parse(optimizer);
	request.gpu = gpu ? gpu_row(gpu) : NULL;
	if (memory)
		request.memory = plan_bytes_parse(memory);
	if (memory && request.memory == 0)
		return plan_cli_usage("--memory %s is no size: 11GiB, 800MiB, 1.5GB", memory);
	if (request.gpu && !memory)
		request.memory = plan_cli_gpu_bytes(request.gpu);
	if (request.gpu && request.memory > request.gpu->memory_mib * 1048576)
		return plan_cli_usage("--memory %s is more than the %lld MiB of %s", memory,
				      (long long)request.gpu->memory_mib, request.gpu->title);
	if (command_option(input, "--largest") && request.memory == 0)
		return plan_cli_usage("--largest wants --memory or --gpu");
	if (command_option(input, "--largest") && command_option(input, "--batch"))
		return plan_cli_usage("--largest finds the batch: leave out --batch");
	*ret = request;
	return 0;
}

static bool plan_cli_is_output(const struct command_input *input, const char *word)
{
	const char *said = command_option(input, "--output");

	return strcmp(said ? said : "table", word) == 0;
}

static int plan_cli_print(const struct command_input *input, const struct plan_report *report)
{
	CLEANUP(text_done) struct text text = {0};
	bool all = command_option(input, "--ops") != NULL || plan_cli_is_output(input, "wide");

	if (plan_cli_is_output(input, "json") || plan_cli_is_output(input, "jsonl"))
		plan_report_json(report, &text);
	else
		plan_report_text(report, all, &text);
	if (text.failed) {
		fprintf(stderr, "trainer: %s\n", error_text(-ENOMEM));
		return EXIT_FAILED;
	}
	fputs(text_get(&text), stdout);
	return EXIT_OK;
}

/* Engines of the GPU. A plan is of use without them: why they are not known is a line of it. */
static int plan_cli_engines(struct plan_request *request, struct cudnn_source **ret,
			    struct problem *problem)
{
	int rc = 0;

	request->no_source = "say --gpu";
	if (request->gpu)
		rc = cudnn_source_new(request->gpu, request->type, ret, &request->source, problem);
	if (rc == -ENOENT || rc == E_UNSUPPORTED) {
		request->no_source = problem->message;
		return 0;
	}
	return rc;
}

static int plan_cli_run(void *context, const struct command_input *input)
{
	CLEANUP(model_freep) struct model *model = NULL;
	CLEANUP(cudnn_source_freep) struct cudnn_source *source = NULL;
	struct problem unknown = {0};
	struct problem problem = {0};
	struct plan_request request = {0};
	struct job_ranks ranks;
	struct plan_report report;
	int status = plan_cli_request(input, &request);

	(void)context;
	if (status == 0)
		status = plan_cli_ranks(input, &ranks, &request);
	if (status != 0)
		return status;
	if (plan_cli_is_output(input, "csv") || command_option(input, "--columns"))
		return plan_cli_usage("plan has no rows: --output table, wide or json");
	if (model_load(input->words[0], &model, &problem) < 0)
		return trainer_tell(&problem);
	if (plan_cli_engines(&request, &source, &unknown) < 0)
		return trainer_tell(&unknown);
	int rc = command_option(input, "--largest")
			 ? plan_largest(model, &request, &report, &problem)
			 : plan_report_make(model, &request, &report, &problem);

	status = rc < 0 ? trainer_tell(&problem) : plan_cli_print(input, &report);
	plan_report_done(&report);
	return status;
}

static const struct command plan_cli_commands[] = {
	{"plan", "", "MODEL", "plan the memory of a training step, and what it costs",
	 plan_cli_options, COUNT_OF(plan_cli_options), 1, 1, plan_cli_run,
	 "plan resnet50.model --batch 256 --memory 11GiB --gpu h200", NULL},
};

const struct command_group plan_group = {plan_cli_commands, COUNT_OF(plan_cli_commands)};
