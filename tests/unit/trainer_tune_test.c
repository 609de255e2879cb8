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
		cmocka_unit_test(climbs_again_when_the_world_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
