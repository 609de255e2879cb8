// links: trainer_train
/* Checkpoints: what was saved is loaded; each changed byte and each cut is found, and the file before is taken; a save
 * that is killed and a disk that is full cost nothing that was there. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/base/error.h"
#include "common/io/file.h"

#include "tests/support/scratch.h"
#include "trainer_image/train/checkpoint.h"

enum { NUMBERS = 300, STATE = 3, PATH = 160 };

struct world {
	float weight[NUMBERS];
	float moment[NUMBERS];
	uint64_t state[STATE];
	struct terms terms;
	struct checkpoint_region regions[3];
	struct checkpoint_options options;
	struct problem fault; /* of the last file that was passed over */
	unsigned faults;
};

static char folder[SCRATCH_SIZE];

static int folder_make(void **state)
{
	(void)state;
	assert_true(text_format(folder, SCRATCH_SIZE, "/dev/shm/haas-checkpoint.XXXXXX"));
	assert_non_null(mkdtemp(folder)); /* memory: a disk would be asked for fsync too often */
	return 0;
}

static int folder_remove(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

static void passed_over(void *context, const struct problem *problem)
{
	struct world *world = context;

	world->fault = *problem;
	world->faults++;
}

static void world_make(struct world *world)
{
	*world = (struct world){
		.options = {.folder = folder,
			    .keep = 2,
			    .terms = &world->terms,
			    .regions = world->regions,
			    .region_count = COUNT_OF(world->regions),
			    .fault = passed_over,
			    .context = world},
		.regions = {{"conv_1", CHECKPOINT_WEIGHT, world->weight, sizeof(world->weight)},
			    {"conv_1", CHECKPOINT_OPTIMIZER, world->moment, sizeof(world->moment)},
			    {"loader", CHECKPOINT_LOADER, world->state, sizeof(world->state)}}};
	terms_add(&world->terms, "graph", "%016x", 0xabcdU);
	terms_add(&world->terms, "seed", "%d", 7);
}

/* What training has come to at a step. */
static void world_train(struct world *world, uint64_t step)
{
	for (unsigned i = 0; i < NUMBERS; i++) {
		world->weight[i] = (float)(step * 3 + i);
		world->moment[i] = -(float)(step + i);
	}
	for (unsigned i = 0; i < STATE; i++)
		world->state[i] = step << 32 | i;
}

static void world_check(const struct world *world, uint64_t step)
{
	static struct world wanted;

	world_train(&wanted, step);
	assert_memory_equal(world->weight, wanted.weight, sizeof(wanted.weight));
	assert_memory_equal(world->moment, wanted.moment, sizeof(wanted.moment));
	assert_memory_equal(world->state, wanted.state, sizeof(wanted.state));
}

static int world_load(struct world *world, uint64_t *ret_step, struct problem *problem)
{
	struct checkpoints *checkpoints = NULL;

	*problem = (struct problem){0};
	int rc = checkpoints_open(&world->options, &checkpoints, problem);

	assert_int_equal(rc, 0);
	rc = checkpoints_load(checkpoints, UINT64_MAX, ret_step, problem);
	checkpoints_close(checkpoints);
	return rc;
}

static void world_save(struct world *world, uint64_t first, uint64_t last)
{
	struct checkpoints *checkpoints = NULL;
	struct problem problem = {0};
	uint64_t step = 0;

	assert_int_equal(checkpoints_open(&world->options, &checkpoints, &problem), 0);
	int rc = checkpoints_load(checkpoints, UINT64_MAX, &step, &problem);
	assert_true(rc == 0 || rc == E_NOT_FOUND);
	for (uint64_t i = first; i <= last; i++) {
		world_train(world, i);
		assert_int_equal(checkpoints_save(checkpoints, i, &problem), 0);
		world_train(world, 0); /* training goes on while the thread writes */
	}
	assert_int_equal(checkpoints_wait(checkpoints, &problem), 0);
	assert_int_equal(checkpoints_counts(checkpoints).durable_step, last);
	checkpoints_close(checkpoints);
}

static const char *file_of(uint64_t step)
{
	static char path[PATH];

	assert_true(text_format(path, sizeof(path), "%s/step-%012llu.checkpoint", folder,
				(unsigned long long)step));
	return path;
}

static void test_round(void **state)
{
	struct world world;
	struct problem problem;
	uint64_t step = 0;

	(void)state;
	world_make(&world);
	assert_int_equal(world_load(&world, &step, &problem), E_NOT_FOUND);
	world_save(&world, 1, 5);
	assert_int_equal(access(file_of(3), F_OK), -1); /* two are kept */
	assert_int_equal(access(file_of(4), F_OK), 0);
	assert_int_equal(world_load(&world, &step, &problem), 0);
	assert_int_equal(step, 5);
	world_check(&world, 5);
	/* The same state is the same bytes. */
	char *first = NULL;
	char *second = NULL;
	size_t first_size = 0;
	size_t second_size = 0;
	assert_int_equal(file_read(file_of(5), 1 << 20, &first, &first_size), 0);
	world_save(&world, 5, 5);
	assert_int_equal(file_read(file_of(5), 1 << 20, &second, &second_size), 0);
	assert_int_equal(first_size, second_size);
	assert_memory_equal(first, second, first_size);
	free(first);
	free(second);
}

/* A run that went back loses its later files only when its own is durable. */
static void test_back(void **state)
{
	struct checkpoints *checkpoints = NULL;
	struct problem problem = {0};
	struct world world;
	uint64_t step = 0;

	(void)state;
	world_make(&world);
	world_save(&world, 10, 11);
	assert_int_equal(checkpoints_open(&world.options, &checkpoints, &problem), 0);
	assert_int_equal(checkpoints_save(checkpoints, 1, &problem), -EINVAL);
	assert_int_equal(checkpoints_newest(checkpoints, 100, &step, &problem), 0);
	assert_int_equal(step, 11);
	assert_int_equal(checkpoints_load(checkpoints, 10, &step, &problem), 0);
	assert_int_equal(step, 10);
	world_check(&world, 10);
	assert_int_equal(checkpoints_load(checkpoints, 9, &step, &problem), E_NOT_FOUND);
	assert_int_equal(access(file_of(11), F_OK), 0);
	struct checkpoints *second = NULL;
	assert_int_equal(checkpoints_open(&world.options, &second, &problem), E_CONFLICT);
	assert_non_null(strstr(problem.message, folder));
	problem = (struct problem){0};
	world_train(&world, 10);
	assert_int_equal(checkpoints_save(checkpoints, 10, &problem), 0);
	assert_int_equal(checkpoints_wait(checkpoints, &problem), 0);
	assert_int_equal(access(file_of(11), F_OK), -1);
	checkpoints_close(checkpoints);
}

/* Each byte of the header, and some of each region, with one bit flipped; each length. */
static void test_damage(void **state)
{
	struct world world;
	struct problem problem;
	uint64_t step = 0;
	char *data = NULL;
	size_t size = 0;

	(void)state;
	world_make(&world);
	world_save(&world, 20, 21);
	assert_int_equal(file_read(file_of(21), 1 << 20, &data, &size), 0);
	size_t regions = sizeof(world.weight) + sizeof(world.moment) + sizeof(world.state);
	size_t header = size - regions;
	for (size_t i = 0; i < size; i += i < header ? 1 : 37) {
		data[i] ^= (char)(1 << i % 8);
		assert_int_equal(file_write_atomic(file_of(21), data, size, 0600), 0);
		data[i] ^= (char)(1 << i % 8);
		world.faults = 0;
		assert_int_equal(world_load(&world, &step, &problem), 0);
		assert_int_equal(step, 20);
		assert_int_equal(world.faults, 1);
		assert_non_null(strstr(world.fault.message, "step-000000000021"));
		world_check(&world, 20);
	}
	assert_non_null(strstr(world.fault.detail, "loader loader: its crc32c is wrong"));
	for (size_t cut = 0; cut < size; cut += cut < header + 1 ? 1 : 53) {
		assert_int_equal(file_write_atomic(file_of(21), data, cut, 0600), 0);
		assert_int_equal(world_load(&world, &step, &problem), 0);
		assert_int_equal(step, 20);
	}
	data = realloc(data, size + 1);
	assert_non_null(data);
	data[size] = 0;
	assert_int_equal(file_write_atomic(file_of(21), data, size + 1, 0600), 0);
	assert_int_equal(world_load(&world, &step, &problem), 0);
	assert_int_equal(step, 20);
	/* With no file that is whole, nothing is loaded and nothing begins anew. */
	assert_int_equal(file_write_atomic(file_of(20), data, header, 0600), 0);
	world_train(&world, 3);
	assert_int_equal(world_load(&world, &step, &problem), E_DIGEST);
	world_check(&world, 3);
	assert_int_equal(unlink(file_of(20)), 0);
	assert_int_equal(unlink(file_of(21)), 0);
	free(data);
}

/* The digest of the header speaks for all regions, even where a checksum was made to fit. */
static void test_digest(void **state)
{
	struct world world;
	struct problem problem;
	uint64_t step = 0;
	char *data = NULL;
	size_t size = 0;
	size_t header = 0;

	(void)state;
	world_make(&world);
	world_save(&world, 30, 31);
	assert_int_equal(file_read(file_of(31), 1 << 20, &data, &size), 0);
	assert_int_equal(checkpoint_wire_size(data, size, &header), 0);
	data[31] ^= 1; /* of the digest of regions */
	uint64_t digest = XXH64(data, header - 8, 0);
	for (unsigned i = 0; i < 8; i++)
		data[header - 1 - i] = (char)(digest >> 8 * i);
	assert_int_equal(file_write_atomic(file_of(31), data, size, 0600), 0);
	assert_int_equal(world_load(&world, &step, &problem), 0);
	assert_int_equal(step, 30);
	assert_string_equal(world.fault.detail, "its digest is wrong");
	free(data);
}

static void other_job(struct world *world, const char *detail)
{
	struct problem problem;
	uint64_t step = 0;

	world_train(world, 1);
	assert_int_equal(world_load(world, &step, &problem), E_CONFLICT);
	assert_non_null(strstr(problem.message, "is of another job"));
	assert_string_equal(problem.detail, detail);
	world_check(world, 1);
}

static void test_other_job(void **state)
{
	struct world world;

	(void)state;
	world_make(&world);
	world_save(&world, 40, 41);
	world.terms = (struct terms){0};
	terms_add(&world.terms, "graph", "%016x", 0xabcdU);
	terms_add(&world.terms, "seed", "8");
	other_job(&world, "seed is 7 there and 8 here");
	world_make(&world);
	terms_add(&world.terms, "set", "1f00");
	other_job(&world, "set is unknown there and 1f00 here");
	world_make(&world);
	world.regions[1].bytes -= 4;
	other_job(&world, "region 1 is optimizer conv_1 of 1200 bytes there and optimizer conv_1 "
			  "of 1196 bytes here");
	world_make(&world);
	world.regions[0].name = "conv_2";
	other_job(&world, "region 0 is weight conv_1 of 1200 bytes there and weight conv_2 of 1200 "
			  "bytes here");
	world_make(&world);
	world.options.region_count = 2;
	other_job(&world, "it has 3 regions there and 2 here");
}

/* kill -9 while a process saves as fast as it can: the newest whole file is at least the one it spoke of last. */
static void test_killed(void **state)
{
	uint64_t begin = 100;
	unsigned parts = 0;
	unsigned round = 0;

	(void)state;
	for (; round < 40 || (parts == 0 && round < 400); round++) {
		struct world world;
		struct problem problem = {0};
		uint64_t step = 0;
		uint64_t said = 0;
		int ends[2];
		int status;

		assert_int_equal(pipe(ends), 0);
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct checkpoints *checkpoints = NULL;

			world_make(&world);
			if (checkpoints_open(&world.options, &checkpoints, &problem) < 0)
				_exit(1);
			if (checkpoints_load(checkpoints, UINT64_MAX, &step, &problem) < 0 &&
			    problem.code != E_NOT_FOUND)
				_exit(1);
			for (step = begin;; step++) {
				world_train(&world, step);
				if (checkpoints_save(checkpoints, step, &problem) < 0)
					_exit(2);
				uint64_t durable = step - 1; /* save waited for it */
				if (write(ends[1], &durable, sizeof(durable)) < 0)
					_exit(3);
			}
		}
		(void)close(ends[1]);
		do { /* the first kill comes when there is a file to load */
			assert_int_equal(read(ends[0], &said, sizeof(said)), sizeof(said));
		} while (round == 0 && said < begin);
		(void)usleep(200 + round * 131 % 3000);
		(void)kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		while (read(ends[0], &said, sizeof(said)) == (ssize_t)sizeof(said))
			;
		(void)close(ends[0]);
		parts += shell("ls %s/*.part >/dev/null 2>&1", folder) == 0;
		world_make(&world);
		assert_int_equal(world_load(&world, &step, &problem), 0);
		assert_true(step >= said || said < begin);
		assert_int_equal(world.faults, 0);
		world_check(&world, step);
		begin = step + 1;
	}
	print_message("%u of %u kills met a file that was being written\n", parts, round);
	assert_true(parts > 0);
}

/* In a process of its own: what it does to itself stays there. */
static void full_disk(bool (*limit)(void), int error)
{
	struct world world;
	struct problem problem = {0};
	uint64_t step = 0;
	int status;

	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct checkpoints *checkpoints = NULL;

		world_make(&world);
		if (!limit())
			_exit(77);
		if (checkpoints_open(&world.options, &checkpoints, &problem) < 0)
			_exit(1);
		if (checkpoints_load(checkpoints, UINT64_MAX, &step, &problem) != E_NOT_FOUND)
			_exit(1);
		for (step = 1; step < 100; step++) {
			world_train(&world, step);
			if (checkpoints_save(checkpoints, step, &problem) < 0)
				break;
			/* Others take the room, bit by bit. */
			(void)shell("head -c 3000 /dev/zero >>%s/other", folder);
		}
		if (step == 100 || problem.code != error ||
		    checkpoints_wait(checkpoints, &problem) == 0)
			_exit(2);
		fprintf(stderr, "%s\n  %s\n  %s\n", problem.message, problem.detail, problem.hint);
		uint64_t kept = checkpoints_counts(checkpoints).durable_step;
		if (error == -ENOSPC && !strstr(problem.detail, " bytes, "))
			_exit(3);
		/* What was there is whole; with room again the next save works. */
		uint64_t found = 0;
		if (checkpoints_newest(checkpoints, UINT64_MAX, &found, &problem) < 0 ||
		    found != kept || found < 2)
			_exit(4);
		if (error == -ENOSPC) {
			(void)shell("rm %s/other", folder);
			if (checkpoints_save(checkpoints, 200, &problem) < 0 ||
			    checkpoints_wait(checkpoints, &problem) < 0)
				_exit(5);
		}
		checkpoints_close(checkpoints);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* no right to mount */
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool limit_disk(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", folder, "tmpfs", 0, "size=64k") == 0;
}

static void test_full_disk(void **state)
{
	(void)state;
	full_disk(limit_disk, -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(test_back, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(test_damage, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(test_digest, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(test_other_job, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(test_killed, folder_make, folder_remove),
		cmocka_unit_test_setup_teardown(test_full_disk, folder_make, folder_remove),
	};

	return cmocka_run_group_tests_name("trainer_checkpoint", tests, NULL, NULL);
}
