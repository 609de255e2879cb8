// links: peregrine_flowd common_base lib::rdkafka lib::jansson
/* export [ROWS]: what it costs to send a minute of flows to Kafka, in rows per CPU second: the
 * loop's part (a copy), the thread's part (rows as messages), all of it with lz4 to librdkafka's
 * mock broker, whose CPU is in it; beside it the same rows as JSON objects by jansson.
 *
 * The last line: bench export ours=.. jansson=.. sent=.. ratio=.. unit=rows/cpu-s  (ratio = ours /
 * jansson) */
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/http/json_reader.h"

#include "peregrine/flowd/export/kafka_sink.h"
#include "peregrine/flowd/export/kafka_text.h"

#define WRITER "collector1:1700000000:4711"

enum { MESSAGE = 256 * 1024, ROUNDS = 5 };

static double export_cpu_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Flows of 500 switches, as traffic_text writes them. */
static void make_batch(struct traffic_batch *ret, unsigned rows)
{
	struct text *flows = &ret->tables[TABLE_FLOW];

	traffic_batch_begin(ret, STEP_MINUTE, 1700000040, 1700000040, 1700000100);
	ret->thinned = 1;
	for (unsigned i = 0; i < 500; i++)
		text_addf(&ret->switches, "%u\tleaf%u\n", i + 1, i);
	for (unsigned i = 0; i < rows; i++)
		text_addf(
			flows,
			"60\t%s\t%u\tEthernet1/%u\tin\t%u\t%u\t%u\t\tnode%u\tnode%u\t1\t10.%u.%u.1"
			"\t10.%u.%u.2\t%u\t5201\t6\t2048\t%u\t%u\t%u\t%.17g\t0\n",
			ret->at_text, 1 + i * 7 / rows * 71 % 500, 1 + i % 48, 1 + i % 900,
			1 + i % 2000, 2 + i % 4000, i % 9973, (i + 1) % 9973, i % 250, i % 199,
			i % 199, i % 250, 32768 + i % 28000, 400 * 1514 * (1 + i % 70),
			400 * (1 + i % 70), 1 + i % 70, 400.0 * 1514 * 1514 * (1 + i % 70));
}

static double export_copies(const struct traffic_batch *batch, unsigned rows)
{
	double begun = export_cpu_s();

	for (int i = 0; i < ROUNDS; i++) {
		struct traffic_batch copy;

		traffic_batch_copy(batch, &copy);
		traffic_batch_done(&copy);
	}
	return rows * (double)ROUNDS / (export_cpu_s() - begun);
}

static double export_messages(const struct traffic_batch *batch, unsigned rows, size_t *ret_bytes)
{
	struct text message = {0};
	double begun = export_cpu_s();

	for (int i = 0; i < ROUNDS; i++) {
		struct kafka_rows reading;

		*ret_bytes = 0;
		if (kafka_rows_init(&reading, batch, WRITER))
			exit(1);
		while (kafka_rows_next(&reading, TABLE_FLOW, MESSAGE, &message))
			*ret_bytes += message.size;
		kafka_rows_done(&reading);
	}
	text_done(&message);
	return rows * (double)ROUNDS / (export_cpu_s() - begun);
}

/* From the values themselves: no text is read. */
static double export_objects(unsigned rows, size_t *ret_bytes)
{
	double begun = export_cpu_s();

	*ret_bytes = 0;
	for (unsigned i = 0; i < rows; i++) {
		json_t *row = json_pack(
			"{sI ss sI sI ss sI ss ss sI sI si ss ss ss sb ss ss si si si si sI sI sI sf sI}",
			"at", (json_int_t)1700000040, "writer", WRITER, "batch", (json_int_t)7,
			"row", (json_int_t)i, "switch", "leaf17", "switch_id",
			(json_int_t)(i % 500), "port", "Ethernet1/17", "direction", "in",
			"tenant_id", (json_int_t)(i % 900), "network_id", (json_int_t)(i % 2000),
			"vlan", (int)(i % 4000), "reason", "", "a", "node1234", "b", "node5678",
			"forward", 1, "source", "10.1.17.1", "target", "10.17.1.2", "source_port",
			(int)(32768 + i % 28000), "target_port", 5201, "protocol", 6, "ethertype",
			2048, "bytes", (json_int_t)i * 1514, "packets", (json_int_t)i, "samples",
			(json_int_t)(i % 70), "square", 400.0 * i, "missed", (json_int_t)0);
		char *text = json_dumps(row, JSON_COMPACT);

		if (!text)
			exit(1);
		*ret_bytes += strlen(text) + 1;
		free(text);
		json_decref(row);
	}
	return rows / (export_cpu_s() - begun);
}

static double export_sent(const struct traffic_batch *batch, unsigned rows)
{
	static char topics[] = "bench";
	static char empty[] = "";
	char brokers[64];
	rd_kafka_t *keeper = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), NULL, 0);
	rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(keeper, 1);
	const struct kafka_conf conf = {.brokers = brokers,
					.topics = topics,
					.ca_file = empty,
					.certificate_file = empty,
					.key_file = empty,
					.user = empty,
					.password_file = empty,
					.compression = 3, /* lz4 */
					.linger_ms = 20};
	struct problem problem = {0};
	struct traffic_sink sink;
	double begun;
	double took;

	(void)text_copy(brokers, sizeof(brokers), rd_kafka_mock_cluster_bootstraps(cluster));
	if (kafka_sink_new(&conf, WRITER, &sink, &problem))
		exit(1);
	begun = export_cpu_s();
	if (sink.write(sink.context, batch, &problem)) {
		(void)fprintf(stderr, "%s (%s)\n", problem.message, problem.detail);
		exit(1);
	}
	took = export_cpu_s() - begun;
	sink.free(sink.context);
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(keeper);
	return rows / took;
}

int main(int argc, char **argv)
{
	unsigned rows = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 500000;
	struct traffic_batch batch;
	size_t ours_bytes;
	size_t json_bytes;
	double copied;
	double ours;
	double json;
	double all;

	make_batch(&batch, rows);
	copied = export_copies(&batch, rows);
	ours = export_messages(&batch, rows, &ours_bytes);
	all = export_sent(&batch, rows);
	json = export_objects(rows, &json_bytes);
	(void)printf(
		"%u rows: %.0f bytes each (as JSON %.0f); the copy in the loop takes %.1f ms\n",
		rows, (double)ours_bytes / rows, (double)json_bytes / rows, rows / copied * 1000);
	(void)printf("bench export ours=%.0f jansson=%.0f sent=%.0f ratio=%.2f unit=rows/cpu-s\n",
		     ours, json, all, ours / json);
	traffic_batch_done(&batch);
	return 0;
}
