/* trainer bench MODEL: times steps of a model with made-up data. */
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"

#include "trainer_image/cli/trainer_table.h"
#include "trainer_image/plan/plan_report.h"
#include "trainer_image/train/step_bench.h"

enum {
	BENCH_STEPS = 10,
	BENCH_STEPS_MOST = 100000,
	BENCH_BATCH = 32,
	BENCH_CELL = 32,
	BENCH_SPEED = 3
};

static const struct output_column bench_cli_columns[] = {
	{"model", NULL, false, false},       {"type", NULL, false, false},
	{"batch", NULL, true, false},        {"images_s", NULL, true, false},
	{"step_ms", NULL, true, false},      {"forward_ms", NULL, true, false},
	{"backward_ms", NULL, true, false},  {"update_ms", NULL, true, true},
	{"gflops_s", NULL, true, true},      {"parameters", NULL, true, true},
	{"arena_bytes", NULL, true, true},   {"device", NULL, false, true},
	{"planned_bytes", NULL, true, true}, {"taken_bytes", NULL, true, true},
	{"gpu", NULL, false, true},          {"library", NULL, false, true},
};

static enum tensor_type bench_cli_type(const char *word)
{
	static const enum tensor_type types[] = {TENSOR_FP32, TENSOR_BF16, TENSOR_FP16};

	for (size_t i = 0; word && i < COUNT_OF(types); i++)
		if (strcmp(tensor_type_text(types[i]), word) == 0)
			return types[i];
	return TENSOR_FP32;
}

static int bench_cli_print(const struct command_input *input,
			   const struct step_bench_request *request,
			   const struct step_bench_result *result)
{
	struct output_column columns[COUNT_OF(bench_cli_columns)];
	memcpy(columns, bench_cli_columns, sizeof(columns));
	if (result->length > 0)
		columns[BENCH_SPEED].key = "words_s";
	struct output *output = trainer_output(input, columns, COUNT_OF(columns), OUTPUT_TABLE);
	double length = result->length > 0 ? (double)result->length : 1;
	const double numbers[] = {result->samples_s * length, result->step_ms,
				  result->forward_ms,         result->backward_ms,
				  result->update_ms,          result->flops_s / 1e9};
	const uint64_t counts[] = {(uint64_t)request->batch, (uint64_t)result->parameters,
				   (uint64_t)result->arena, (uint64_t)result->planned,
				   (uint64_t)result->taken};
	char cells[COUNT_OF(numbers)][BENCH_CELL];
	char words[COUNT_OF(counts)][TRAINER_CELL];

	if (!output)
		return EXIT_USAGE;
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		(void)text_format(cells[i], BENCH_CELL, "%.*f", numbers[i] < 100 ? 3 : 1,
				  numbers[i]);
	for (size_t i = 0; i < COUNT_OF(counts); i++)
		(void)trainer_count(words[i], counts[i]);
	const char *const row[] = {
		request->model,
		tensor_type_text(request->type),
		words[0],
		cells[0],
		cells[1],
		request->cuda ? NULL : cells[2],
		request->cuda ? NULL : cells[3],
		cells[4],
		cells[5],
		words[1],
		words[2],
		request->cuda ? "cuda" : "cpu",
		request->cuda ? words[3] : NULL,
		request->cuda ? words[4] : NULL,
		request->cuda ? result->about.device : NULL,
		request->cuda ? result->about.library : NULL,
	};

	output_row(output, row);
	return trainer_output_end(output);
}

static int bench_cli_run(void *context, const struct command_input *input)
{
	const char *memory = command_option(input, "--memory");
	struct step_bench_request request = {
		.model = input->words[0], .type = bench_cli_type(command_option(input, "--type"))};
	const char *device = command_option(input, "--device");
	struct step_bench_result result = {0};
	struct problem problem = {0};
	uint64_t batch = 0;
	uint64_t steps = 0;
	uint64_t threads = 0;

	(void)context;
	if (!trainer_number(input, "--batch", 1, 65536, BENCH_BATCH, &batch) ||
	    !trainer_number(input, "--steps", 1, BENCH_STEPS_MOST, BENCH_STEPS, &steps) ||
	    !trainer_number(input, "--threads", 1, 256, 0, &threads))
		return EXIT_USAGE;
	request.cuda = device && strcmp(device, "cuda") == 0;
	request.batch = (int64_t)batch;
	request.steps = (unsigned)steps;
	request.threads = (unsigned)threads;
	request.memory = memory ? plan_bytes_parse(memory) : 0;
	if (memory && request.memory == 0) {
		fprintf(stderr, "trainer: --memory %s is no size: 11GiB, 800MiB, 1.5GB\n", memory);
		return EXIT_USAGE;
	}
	if (step_bench_run(&request, &result, &problem) < 0)
		return trainer_tell(&problem);
	return bench_cli_print(input, &request, &result);
}

static const struct option_row bench_cli_options[] = {
	{"--batch", 'b', OPTION_VALUE, "N", "samples a step; default 32"},
	{"--type", 0, OPTION_VALUE, "fp32|bf16|fp16", "what ops compute in; default fp32"},
	{"--device", 0, OPTION_VALUE, "cpu|cuda", "default cpu; cuda: the first GPU"},
	{"--steps", 0, OPTION_VALUE, "N", "that are measured; default 10"},
	{"--threads", 0, OPTION_VALUE, "N", "default one per processor"},
	{"--memory", 'm', OPTION_VALUE, "SIZE", "for all of it: 11GiB"},
};

static const struct command bench_cli_commands[] = {
	{"bench", "", "MODEL", "time steps of a model on this machine, with made-up data",
	 bench_cli_options, COUNT_OF(bench_cli_options), 1, 1, bench_cli_run,
	 "bench resnet18.model --batch 16 --steps 5", NULL},
};

const struct command_group bench_group = {bench_cli_commands, COUNT_OF(bench_cli_commands)};
