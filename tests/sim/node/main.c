/* simnodes: plays bampi-bootd, agent and installed OS for nodes whose BMCs are simulated (driver
 * sim), so that hundreds of deployments run end to end without a machine. Nodes are called s1, s2,
 * ...; node sN has the BMC 10.99.<N / 256>.<N % 256>.
 *
 *   simnodes run CONNINFO DIR COUNT [POST_MS LOAD_MS START_MS TASK_MS]   DIR/rack is the rack,
 * DIR/faults says who misbehaves ("s3 no_dhcp", "s4 hold:erase"), DIR/journal lists what agents did
 *   simnodes image DIR NAME VERSION      a signed manifest: DIR/image.pub, DIR/image.json,
 * signature in hex on stdout simnodes chain CONNINFO              checks the chain of certificates;
 * prints how many */
#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/io/file.h"
#include "common/model/certificate.h"

#include "bampi/bmc/sim_driver.h"
#include "tests/sim/node/sim_rows.h"

#define TICK_US     10000
#define FAULTS_MAX  65536
#define SLOW_MS     2500
#define COUNT_LIMIT 65535

struct faults_file {
	char path[4096];
	struct timespec changed;
};

static void clear_faults(struct sim_nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++) {
		nodes->rows[i].faults = 0;
		nodes->rows[i].hold[0] = '\0';
		nodes->rows[i].fail[0] = '\0';
		nodes->rows[i].die[0] = '\0';
	}
}

static void node_read_faults(struct faults_file *file, struct sim_nodes *nodes)
{
	CLEANUP(freep) char *content = NULL;
	struct stat status;
	char *rest = NULL;
	size_t size;

	if (stat(file->path, &status) < 0 ||
	    memcmp(&status.st_mtim, &file->changed, sizeof(file->changed)) == 0)
		return;
	file->changed = status.st_mtim;
	clear_faults(nodes);
	if (file_read(file->path, FAULTS_MAX, &content, &size) != 0)
		return;
	for (char *line = strtok_r(content, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *word = NULL;
		unsigned long number = line[0] == 's' ? strtoul(line + 1, &word, 10) : 0;

		if (number < 1 || number > nodes->count || *word != ' ' ||
		    !sim_node_fault(&nodes->rows[number - 1], word + 1))
			(void)fprintf(stderr, "simnodes: fault \"%s\" means nothing\n", line);
	}
}

/* --- power --- */

static void node_tick(struct sim_rack *rack, struct sim_nodes *nodes, int64_t now_ms)
{
	sim_rack_lock(rack);
	for (size_t i = 0; i < nodes->count; i++) {
		struct sim_node_state *node = &nodes->rows[i];
		unsigned number = (unsigned)node->number;
		struct sim_node *bmc;
		char address[32];

		(void)snprintf(address, sizeof(address), "10.99.%u.%u", number >> 8, number & 0xff);
		bmc = sim_rack_node(rack, address, 623);
		if (!bmc)
			continue;
		bmc->faults = node->faults & SIM_BMC_DEAD ? SIM_FAULT_DEAD : 0;
		bmc->power_delay_ms = node->faults & SIM_BMC_SLOW ? SLOW_MS : 0;
		if (node->wants_off)
			bmc->power_on = false;
		sim_node_tick(node, bmc->power_on, bmc->power_ons + bmc->resets,
			      bmc->booted.device == BMC_BOOT_DISK, &nodes->times, now_ms);
	}
	sim_rack_unlock(rack);
}

static void connection_done(PGconn **connection)
{
	PQfinish(*connection);
}

static int run_nodes(const char *conninfo, const char *folder, struct sim_nodes *nodes)
{
	struct faults_file faults = {0};
	struct sim_rack_options options = {0};
	struct sim_rack *rack = NULL;
	CLEANUP(connection_done) PGconn *connection = PQconnectdb(conninfo);
	char path[4096];

	(void)text_format(path, sizeof(path), "%s/rack", folder);
	(void)text_format(faults.path, sizeof(faults.path), "%s/faults", folder);
	options.path = path;
	if (PQstatus(connection) != CONNECTION_OK || sim_rack_new(&options, &rack) != 0) {
		(void)fprintf(stderr, "simnodes: no database or no rack: %s",
			      PQerrorMessage(connection));
		return 1;
	}
	for (;;) {
		int64_t now_ms = clock_monotonic_ms();

		if (PQstatus(connection) != CONNECTION_OK) {
			usleep(200000);
			PQreset(connection);
			continue;
		}
		node_read_faults(&faults, nodes);
		if (sim_rows_read(connection, nodes) == 0) {
			node_tick(rack, nodes, now_ms);
			if (sim_rows_work(connection, nodes, now_ms) == 0)
				(void)sim_rows_write(connection, nodes);
		}
		usleep(TICK_US);
	}
}

static int command_run(int argc, char **argv)
{
	long count = argc > 4 ? strtol(argv[4], NULL, 10) : 0;
	char journal[4096];
	struct sim_nodes nodes = {.times = {20, 20, 20, 20}, .journal = journal};
	int64_t *times[] = {&nodes.times.post_ms, &nodes.times.load_ms, &nodes.times.start_ms,
			    &nodes.times.task_ms};
	int status;

	if (count < 1 || count > COUNT_LIMIT ||
	    !text_format(journal, sizeof(journal), "%s/journal", argv[3]))
		return 2;
	for (int i = 5; i < argc && i < 9; i++)
		*times[i - 5] = strtoll(argv[i], NULL, 10);
	nodes.folder = argv[3];
	if (agent_key_make(&nodes.key) != 0)
		return 1;
	nodes.count = (size_t)count;
	nodes.rows = calloc(nodes.count, sizeof(*nodes.rows));
	if (!nodes.rows)
		return 1;
	for (size_t i = 0; i < nodes.count; i++)
		nodes.rows[i].number = (int)i + 1;
	status = run_nodes(argv[2], argv[3], &nodes);
	free(nodes.rows);
	agent_key_free(nodes.key);
	return status;
}

/* --- image --- */

static int command_image(int argc, char **argv)
{
	CLEANUP(text_done) struct text manifest = {0};
	uint8_t public_key[crypto_sign_PUBLICKEYBYTES];
	uint8_t secret_key[crypto_sign_SECRETKEYBYTES];
	uint8_t signature[crypto_sign_BYTES];
	char hex[2 * sizeof(signature) + 1];
	char digest[DIGEST_TEXT_SIZE];
	char path[4096];

	if (argc != 5 || sodium_init() < 0)
		return 2;
	digest_text(argv[3], strlen(argv[3]), digest);
	text_addf(
		&manifest,
		"{\"name\":\"%s\",\"version\":\"%s\",\"arch\":\"x86_64\",\"format\":\"raw+zstd\",\"digest\":\"%s\",\"size_bytes\":1024,"
		"\"stored_digest\":\"%s\",\"stored_bytes\":512,\"root_partition\":1,\"firmware\":[\"bios\",\"uefi\"],"
		"\"created\":\"2026-01-01T00:00:00Z\"}\n",
		argv[3], argv[4], digest, digest);
	(void)crypto_sign_keypair(public_key, secret_key);
	(void)crypto_sign_detached(signature, NULL, (const unsigned char *)text_get(&manifest),
				   manifest.size, secret_key);
	(void)text_format(path, sizeof(path), "%s/image.pub", argv[2]);
	if (file_write_atomic(path, public_key, sizeof(public_key), 0644) != 0)
		return 1;
	(void)text_format(path, sizeof(path), "%s/image.json", argv[2]);
	if (file_write_atomic(path, text_get(&manifest), manifest.size, 0644) != 0)
		return 1;
	hex_encode(signature, sizeof(signature), hex);
	(void)printf("%s %s\n", hex, digest);
	return 0;
}

/* --- chain --- */

static int check_rows(const PGresult *result)
{
	struct certificate_chain chain = certificate_chain();
	struct problem problem = {0};

	for (int row = 0; row < PQntuples(result); row++) {
		const struct certificate next = {
			.body = PQgetvalue(result, row, 0),
			.previous_hash = PQgetvalue(result, row, 1),
			.hash = PQgetvalue(result, row, 2),
			.signature = PQgetvalue(result, row, 3),
			.public_key = PQgetvalue(result, row, 4),
		};

		if (certificate_chain_next(&chain, &next, NULL, &problem) != 0) {
			(void)fprintf(stderr, "simnodes: %s\n", problem.message);
			return 1;
		}
	}
	(void)printf("%zu\n", chain.count);
	return 0;
}

static int command_chain(int argc, char **argv)
{
	CLEANUP(connection_done) PGconn *connection = PQconnectdb(argc > 2 ? argv[2] : "");
	PGresult *result = PQexec(
		connection,
		"select body, previous_hash, hash, signature, public_key from haas.certificate order by id");
	int status = PQresultStatus(result) == PGRES_TUPLES_OK ? check_rows(result) : 1;

	PQclear(result);
	return status;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} commands[] = {
		{"run", command_run},
		{"image", command_image},
		{"chain", command_chain},
	};

	for (size_t i = 0; argc > 1 && i < COUNT_OF(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc, argv);
	(void)fprintf(
		stderr,
		"simnodes: run CONNINFO DIR COUNT [POST_MS LOAD_MS START_MS TASK_MS] | image DIR NAME VERSION | chain CONNINFO\n");
	return 2;
}
