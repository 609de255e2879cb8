// links: trainer_loader
/* The tuner against simulated machines: near the best of all settings, and then quiet. */
#include <math.h>
#include <string.h>

#include "common/base/macros.h"

#include "tests/support/cmocka.h"
#include "trainer_image/loader/tune_policy.h"

/* A machine that the tuner knows nothing of: a step's work by stage, and how its parts get in each
 * other's way. */
struct machine {
	const char *name;
	double read_ms, decode_ms, pixels_ms, numbers_ms; /* work a step */
	double own_ms;                                    /* the consumer's */
	uint32_t processors;
	double disk_ms;  /* a step's bytes take so long, by any number of readers */
	double seek;     /* each reader more makes the disk slower by this share */
	double crowd;    /* each thread above the processors costs this share of the step */
	double lock;     /* each thread costs this share of its stage's work */
	double transfer; /* the link: ms of a step with numbers; bytes take a quarter */
	double noise;    /* standard deviation of a step, as a share */
	double gap; /* each thread below twice the processors and two leaves them idle for this share */
	double drift; /* a neighbour slows all settings by up to this share, for some windows */
};

static const struct machine machines[] = {
	{"decoding binds", 5, 400, 60, 20, 20, 16, 0, 0, 0.01, 0.002, 0, 0, 0, 0},
	{"gpu is the limit", 5, 100, 30, 10, 90, 16, 0, 0, 0.01, 0.002, 0, 0, 0, 0},
	{"two processors", 2, 60, 12, 5, 10, 2, 0, 0, 0.02, 0.002, 0, 0, 0, 0},
	{"four, noisy", 4, 100, 40, 30, 12, 4, 0, 0, 0.02, 0.005, 0, 0.1, 0, 0},
	{"augmenting binds", 5, 60, 300, 40, 10, 12, 0, 0, 0.02, 0.003, 0, 0.05, 0, 0},
	{"numbers are dear to carry", 5, 80, 30, 10, 10, 16, 0, 0, 0.01, 0.002, 40, 0, 0, 0},
	{"disk binds", 80, 100, 30, 10, 10, 8, 60, 0.0, 0.02, 0.002, 0, 0.05, 0, 0},
	{"disk that seeks", 80, 60, 20, 10, 10, 8, 50, 0.3, 0.02, 0.002, 0, 0.03, 0, 0},
	{"sixty-four", 40, 3000, 700, 200, 30, 64, 0, 0, 0.01, 0.001, 0, 0.05, 0, 0},
	{"one processor", 1, 20, 6, 2, 10, 1, 0, 0, 0.05, 0.002, 0, 0, 0, 0},
	{"raw pixels", 30, 2, 40, 20, 15, 8, 0, 0, 0.02, 0.002, 0, 0.1, 0, 0},
	{"slow consumer's side", 5, 60, 80, 60, 40, 8, 0, 0, 0.02, 0.002, 20, 0.02, 0, 0},
	{"two, with a neighbour", 2, 60, 12, 5, 10, 2, 0, 0, 0, 0.002, 0, 0.1, 0.04, 0.15},
	{"sixteen, with a neighbour", 5, 400, 60, 20, 20, 16, 0, 0, 0, 0.002, 0, 0.05, 0, 0.15},
};

/* SplitMix64, then a normal number by twelve of them. */
static double normal(uint64_t *state)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		uint64_t value = *state += 0x9e3779b97f4a7c15ULL;

		value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
		value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
		sum += (double)((value ^ (value >> 31)) >> 11) * 0x1p-53;
	}
	return sum;
}

/* What changes while a tuner works. */
struct world {
	uint64_t random;
	unsigned left; /* windows, until the neighbour does something else */
	double busy;   /* how much it does, 0 .. 1 */
};

/* Busy for a while, quiet for a while: longer than a window, shorter than a climb. */
static double neighbour(struct world *world)
{
	if (world->left == 0) {
		world->busy = fmin(1, fmax(0, 0.5 + normal(&world->random) / 2));
		world->left = 2 + (unsigned)(world->random % 8);
	}
	world->left--;
	return world->busy;
}

static double stage_ms(const struct machine *machine, double work, uint32_t threads)
{
	return work == 0 ? 0 : work * (1 + machine->lock * threads) / threads;
}

static double step_of(const struct machine *machine, const struct tune_setting *setting,
		      double *ret_stall)
{
	double behind = (setting->k >= 1 ? machine->pixels_ms : 0) +
			(setting->k >= 2 ? machine->numbers_ms : 0);
	double side = machine->pixels_ms + machine->numbers_ms - behind;
	double carry = setting->k == 2 ? machine->transfer : machine->transfer / 4;
	double all =
		machine->read_ms + machine->decode_ms + machine->pixels_ms + machine->numbers_ms;
	double threads = setting->threads[0] + setting->threads[1] + setting->threads[2];
	double step = fmax(machine->own_ms + carry + side, all / machine->processors);

	step = fmax(step, stage_ms(machine, machine->read_ms, setting->threads[TUNE_READ]));
	step = fmax(step,
		    machine->disk_ms * (1 + machine->seek * (setting->threads[TUNE_READ] - 1)));
	step = fmax(step, stage_ms(machine, machine->decode_ms, setting->threads[TUNE_DECODE]));
	step = fmax(step, stage_ms(machine, behind, setting->threads[TUNE_AUGMENT]));
	step *= 1 + machine->crowd * fmax(0, threads - machine->processors) +
		machine->gap * fmax(0, 2 * machine->processors + 2 - threads);
	*ret_stall = step - machine->own_ms; /* it waits for what is carried too */
	return step;
}

static double best_step(const struct machine *machine, const struct tune_limits *limits)
{
	double best = HUGE_VAL;
	double stall;

	for (uint32_t k = limits->k_least; k <= limits->k_most; k++) {
		for (uint32_t i = 0; i < 65 * 65 * 65; i++) {
			struct tune_setting setting = {
				.threads = {i % 65, i / 65 % 65, i / 65 / 65}, .k = k};

			if (tune_is_allowed(limits, &setting))
				best = fmin(best, step_of(machine, &setting, &stall));
		}
	}
	return best;
}

/* Runs one window and hands its measure to the tuner. */
static void run_window(const struct machine *machine, struct tune *tune, struct world *world)
{
	struct tune_measure measure = {.steps = tune_steps(tune),
				       .processors = machine->processors};
	double stall;
	double step = step_of(machine, &tune->now, &stall);
	double slowed = step * (1 + machine->drift * neighbour(world));
	double squares = 0;
	double sum = 0;

	for (uint32_t i = 0; i < measure.steps; i++) {
		double one = slowed * fmax(0.1, 1 + machine->noise * normal(&world->random));

		sum += one;
		squares += one * one;
	}
	measure.step_ms = sum / measure.steps;
	measure.stall_ms = fmax(0, stall + measure.step_ms - step);
	measure.error_ms =
		sqrt(fmax(0, squares / measure.steps - measure.step_ms * measure.step_ms) /
		     (measure.steps - 1));
	measure.work_ms[TUNE_WORK_READ] =
		fmax(machine->read_ms, machine->disk_ms * tune->now.threads[TUNE_READ]);
	measure.work_ms[TUNE_WORK_DECODE] = machine->decode_ms;
	measure.work_ms[TUNE_WORK_PIXELS] = machine->pixels_ms;
	measure.work_ms[TUNE_WORK_NUMBERS] = machine->numbers_ms;
	assert_true(tune_is_allowed(&tune->limits, &tune->now));
	(void)tune_next(tune, &measure);
}

static void run_until_rest(const struct machine *machine, struct tune *tune, struct world *world)
{
	unsigned windows = 0;

	while (tune->phase != TUNE_REST) {
		run_window(machine, tune, world);
		assert_true(++windows < 200); /* a climb is bounded */
	}
	assert_true(tune->tried_count <= TUNE_TRIALS);
}

static void comes_near_the_best(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(machines); i++) {
		const struct machine *machine = &machines[i];
		struct tune_limits limits = {.processors = machine->processors,
					     .k_most = AUGMENT_STAGES};
		struct tune_setting start = tune_start(&limits);
		double best = best_step(machine, &limits);
		double stall;
		struct tune tune;

		for (uint64_t seed = 1; seed <= (machine->noise > 0 ? 20 : 1); seed++) {
			struct world world = {.random = seed * 77};
			double step;

			tune_init(&tune, &limits, &start);
			run_until_rest(machine, &tune, &world);
			step = step_of(machine, &tune.now, &stall);
			if (step > 1.05 * best)
				fail_msg("%s (%d): %.2f ms, the best is %.2f", machine->name,
					 (int)seed, step, best);
		}
	}
}

static void does_not_oscillate(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(machines); i++) {
		struct tune_limits limits = {.processors = machines[i].processors,
					     .k_most = AUGMENT_STAGES};
		struct tune_setting start = tune_start(&limits);
		struct tune tune;
		struct world world = {.random = i};
		uint64_t settings;

		tune_init(&tune, &limits, &start);
		run_until_rest(&machines[i], &tune, &world);
		settings = tune.settings;
		for (int window = 0; window < 1000; window++)
			run_window(&machines[i], &tune, &world);
		assert_int_equal(tune.settings, settings);
		assert_int_equal(tune.climbs, 1);
	}
}

/* A GPU does what k leaves to it: that costs no processor here, but bytes on a bus. */
static const struct device {
	const char *name;
	double read_ms, decode_ms, pixels_ms, numbers_ms; /* of processors */
	double own_ms, share; /* of the GPU; of pixels and numbers it needs so much */
	uint32_t processors;
	double carry_ms[AUGMENT_STAGES + 1];
	uint32_t best; /* k */
} devices[] = {
	{"few processors, a wide bus", 2, 60, 40, 10, 20, 0.01, 4, {3, 1, 2}, 0},
	{"few processors, a narrow bus", 2, 60, 40, 30, 20, 0.01, 4, {80, 26, 52}, 1},
	{"pictures are large on a bus", 2, 200, 60, 60, 10, 0.01, 8, {50, 10, 40}, 1},
	{"many processors", 5, 200, 60, 20, 90, 0.02, 32, {30, 5, 10}, 1},
};

static double device_step(const struct device *device, const struct tune_setting *setting,
			  struct tune_measure *ret)
{
	double pixels = setting->k >= 1 ? device->pixels_ms : 0;
	double numbers = setting->k >= 2 ? device->numbers_ms : 0;
	double left = device->pixels_ms + device->numbers_ms - pixels - numbers;
	double own = fmax(device->own_ms + device->share * left, device->carry_ms[setting->k]);
	double all = device->read_ms + device->decode_ms + pixels + numbers;
	double step = fmax(own, all / device->processors);

	step = fmax(step, device->read_ms / setting->threads[TUNE_READ]);
	step = fmax(step, device->decode_ms / setting->threads[TUNE_DECODE]);
	if (setting->k > 0)
		step = fmax(step, (pixels + numbers) / setting->threads[TUNE_AUGMENT]);
	*ret = (struct tune_measure){
		.step_ms = step,
		.stall_ms = step - own,
		.work_ms = {device->read_ms, device->decode_ms, pixels, device->numbers_ms},
		.transfer_ms = {device->carry_ms[0], device->carry_ms[1], device->carry_ms[2]},
		.processors = device->processors,
	};
	return step;
}

static double device_best(const struct device *device, const struct tune_limits *limits)
{
	struct tune_measure measure;
	double best = HUGE_VAL;

	for (uint32_t k = 0; k <= AUGMENT_STAGES; k++) {
		for (uint32_t i = 0; i < 65 * 65; i++) {
			struct tune_setting setting = {.threads = {1, i % 65, i / 65}, .k = k};

			if (tune_is_allowed(limits, &setting))
				best = fmin(best, device_step(device, &setting, &measure));
		}
	}
	return best;
}

static void leaves_work_to_a_device(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(devices); i++) {
		const struct device *device = &devices[i];
		struct tune_limits limits = {
			.processors = device->processors, .k_most = AUGMENT_STAGES, .device = true};
		struct tune_setting start = tune_start(&limits);
		struct tune_measure measure;
		struct tune tune;
		unsigned windows = 0;
		double best = device_best(device, &limits);

		assert_int_equal(start.k, 1);
		tune_init(&tune, &limits, &start);
		while (tune.phase != TUNE_REST) {
			(void)device_step(device, &tune.now, &measure);
			measure.steps = tune_steps(&tune);
			(void)tune_next(&tune, &measure);
			assert_true(++windows < 200);
		}
		if (device_step(device, &tune.now, &measure) > 1.05 * best ||
		    tune.now.k != device->best)
			fail_msg("%s: k %u with %.2f ms, the best is %.2f", device->name,
				 tune.now.k, measure.step_ms, best);
	}
}

/* The order of trials: with a device, less work for processors counts, and so does what is on its way. */
static void expects_less_of_a_device(void **state)
{
	const struct tune_measure measure = {.steps = 16,
					     .step_ms = 30,
					     .stall_ms = 20,
					     .work_ms = {1, 40, 40, 20},
					     .transfer_ms = {15, 2, 4}};
	struct tune_limits limits = {.processors = 4, .k_most = AUGMENT_STAGES, .device = true};
	const struct tune_setting pictures = {{1, 4, 0}, 0};
	const struct tune_setting bytes = {{1, 4, 2}, 1};
	const struct tune_setting numbers = {{1, 4, 3}, 2};

	(void)state;
	assert_float_equal(tune_expect(&limits, &measure, &pictures), 15, 0.1);
	assert_float_equal(tune_expect(&limits, &measure, &bytes), 81.0 / 4, 0.1);
	assert_float_equal(tune_expect(&limits, &measure, &numbers), 101.0 / 4, 0.2);
	limits.device = false;
	assert_float_equal(tune_expect(&limits, &measure, &pictures), 70, 0.3);
}

/* Fewer processors, or slower ones: after three windows it climbs again, and comes near the new best. */
static void climbs_again_when_the_world_changes(void **state)
{
	struct machine machine = machines[3];
	struct tune_limits limits = {.processors = machine.processors, .k_most = AUGMENT_STAGES};
	struct tune_setting start = tune_start(&limits);
	struct tune tune;
	struct world world = {.random = 5};
	double stall;

	(void)state;
	tune_init(&tune, &limits, &start);
	run_until_rest(&machine, &tune, &world);
	run_window(&machine, &tune, &world);
	machine.processors = limits.processors = 2;
	for (int i = 0; i < TUNE_CHANGED; i++) {
		assert_int_equal(tune.climbs, 1);
		run_window(&machine, &tune, &world);
	}
	assert_int_equal(tune.climbs, 2);
	run_until_rest(&machine, &tune, &world);
	assert_true(step_of(&machine, &tune.now, &stall) <= 1.05 * best_step(&machine, &limits));

	run_window(&machine, &tune, &world);
	machine.decode_ms *= 2; /* clocks fell for one kind of work */
	for (int i = 0; i < TUNE_CHANGED; i++)
		run_window(&machine, &tune, &world);
	assert_int_equal(tune.climbs, 3);
	run_until_rest(&machine, &tune, &world);
	assert_true(step_of(&machine, &tune.now, &stall) <= 1.05 * best_step(&machine, &limits));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_near_the_best),
		cmocka_unit_test(does_not_oscillate),
		cmocka_unit_test(leaves_work_to_a_device),
		cmocka_unit_test(expects_less_of_a_device),
		cmocka_unit_test(climbs_again_when_the_world_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
