// links: peregrine_reconcile peregrine_network peregrine_switch common_db common_io common_base
/* reconcile CONNINFO PODS SECONDS: the reconcile engine beside PODS times 50 simulated switches of
 * 48 ports that are as they should be, and one port that is not. tests/bench/reconcile makes the
 * rows and says what it means. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/clock.h"

#include "tests/support/sim_access.h"

enum { LEAVES = 48, SPINES = 2, PORTS = 48, EDGES = PORTS - SPINES, PARKING = 2000 };

struct bench {
	struct loop *loop;
	struct db *db;
	struct reconcile *reconcile;
};

static void bench_reconcile_on_state(void *context, bool connected)
{
	struct bench *bench = context;

	if (bench->reconcile)
		reconcile_db_state(bench->reconcile, connected);
}

static void bench_reconcile_on_notify(void *context, const char *channel)
{
	struct bench *bench = context;

	(void)channel;
	if (bench->reconcile)
		reconcile_wake(bench->reconcile);
}

/* Parked, each port in a VLAN of its own, as after a first pass. Switch ids as the script's: pod by
 * pod, leaves first. */
static void make_pod(struct sim_fabric *fabric, uint32_t pod)
{
	uint32_t first = sim_fabric_count(fabric);

	for (uint32_t i = 0; i < LEAVES + SPINES; i++) {
		char name[32];
		uint32_t at;

		(void)text_format(name, sizeof(name), "%s%u-%u", i < LEAVES ? "leaf" : "spine", pod,
				  i);
		at = sim_fabric_add(fabric, (int64_t)first + i + 1, name, PORTS);
		for (uint32_t p = 0; i < LEAVES && p < EDGES; p++) {
			const struct port_vlans parked = {.native = (uint16_t)(PARKING + p)};

			vlan_set_add(&sim_fabric_switch(fabric, at)->vlans, parked.native);
			sim_fabric_set(fabric, at, p, &parked);
		}
	}
	for (uint32_t l = 0; l < LEAVES; l++) {
		for (uint32_t s = 0; s < SPINES; s++)
			sim_fabric_cable(fabric, first + l, EDGES + s, first + LEAVES + s, l);
	}
}

static double bench_reconcile_cpu_s(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static long rss_mib(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	char line[128] = "";
	char *resident_text = line;
	long resident;

	if (file && fgets(line, sizeof(line), file))
		(void)strtol(line, &resident_text, 10); /* all of it */
	resident = strtol(resident_text, NULL, 10);
	if (file)
		(void)fclose(file);
	return resident * (sysconf(_SC_PAGESIZE) / 1024) / 1024;
}

static void run_for(struct bench *bench, int64_t ms)
{
	int64_t end_ms = clock_monotonic_ms() + ms;

	while (clock_monotonic_ms() < end_ms) {
		loop_run_once(bench->loop);
		usleep(1000);
	}
}

/* Until a whole second has passed without a batch or a reading. */
static void bench_reconcile_settle(struct bench *bench)
{
	struct reconcile_stats before;

	do {
		before = *reconcile_stats(bench->reconcile);
		run_for(bench, 3000);
	} while (reconcile_stats(bench->reconcile)->batches != before.batches ||
		 reconcile_stats(bench->reconcile)->readings != before.readings ||
		 before.applied == 0);
}

int main(int argc, char **argv)
{
	static const char *const channels[] = {"network", NULL};
	const struct port_vlans wrong = {.native = 1};
	struct bench bench = {0};
	struct sim_fabric *fabric;
	struct sim_access access;
	struct reconcile_stats before;
	unsigned pods;
	int64_t seconds;
	int64_t start_ms;
	int64_t seen_ms = 0;
	double cpu;

	if (argc != 4 || loop_new(&bench.loop) || sim_fabric_new(bench.loop, &fabric)) {
		(void)fprintf(stderr, "usage: reconcile CONNINFO PODS SECONDS\n");
		return 2;
	}
	pods = (unsigned)strtoul(argv[2], NULL, 10);
	seconds = strtol(argv[3], NULL, 10);
	for (uint32_t pod = 0; pod < pods; pod++)
		make_pod(fabric, pod);
	sim_access_init(&access, bench.loop, fabric);

	const struct db_options db = {.conninfo = argv[1],
				      .application = "bench",
				      .on_state = bench_reconcile_on_state,
				      .on_notify = bench_reconcile_on_notify,
				      .channels = channels,
				      .context = &bench};

	if (db_new(bench.loop, &db, &bench.db))
		return 2;

	const struct reconcile_options options = {
		.db = bench.db,
		.access = {.context = &access, .call = sim_access_call},
		.owner = "bench",
	};

	if (reconcile_new(bench.loop, &options, &bench.reconcile))
		return 2;
	start_ms = clock_monotonic_ms();
	bench_reconcile_settle(&bench);
	(void)printf("settled switches=%u ms=%lld readings=%llu edits=%llu\n",
		     sim_fabric_count(fabric), (long long)(clock_monotonic_ms() - start_ms),
		     (unsigned long long)reconcile_stats(bench.reconcile)->readings,
		     (unsigned long long)reconcile_stats(bench.reconcile)->edits_sent);

	before = *reconcile_stats(bench.reconcile);
	cpu = bench_reconcile_cpu_s();
	run_for(&bench, seconds * 1000);
	cpu = bench_reconcile_cpu_s() - cpu;
	(void)printf(
		"idle cpu_percent=%.2f rss_mib=%ld calls=%llu cycles=%llu batches=%llu\n",
		100.0 * cpu / (double)seconds, rss_mib(),
		(unsigned long long)(reconcile_stats(bench.reconcile)->calls - before.calls),
		(unsigned long long)(reconcile_stats(bench.reconcile)->cycles - before.cycles),
		(unsigned long long)(reconcile_stats(bench.reconcile)->batches - before.batches));

	before = *reconcile_stats(bench.reconcile);
	sim_fabric_set(fabric, 7, 5, &wrong);
	start_ms = clock_monotonic_ms();
	while (sim_fabric_switch(fabric, 7)->ports[5].vlans.native == wrong.native &&
	       clock_monotonic_ms() < start_ms + 60000) {
		loop_run_once(bench.loop);
		if (!seen_ms && reconcile_stats(bench.reconcile)->readings != before.readings)
			seen_ms = clock_monotonic_ms();
		usleep(200);
	}
	(void)printf("drift seen_ms=%lld repaired_ms=%lld edits=%llu\n",
		     (long long)(seen_ms ? seen_ms - start_ms : 0),
		     (long long)(clock_monotonic_ms() - start_ms),
		     (unsigned long long)(reconcile_stats(bench.reconcile)->edits_sent -
					  before.edits_sent));
	reconcile_db_state(bench.reconcile, false);
	db_free(bench.db);
	sim_access_done(&access);
	reconcile_free(bench.reconcile);
	sim_fabric_free(fabric);
	loop_free(bench.loop);
	return 0;
}
