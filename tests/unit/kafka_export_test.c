// links: peregrine_flowd lib::rdkafka
/* Buckets into Kafka: what a message holds; that each row is there once, whatever failed on the
 * way; that what waits is bounded and what was lost is counted. The broker is librdkafka's own mock
 * cluster (rdkafka_mock.h): it speaks the protocol over TCP, Debian has no Kafka. */
#include <errno.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/file.h"

#include "peregrine/flowd/export/kafka_sink.h"
#include "peregrine/flowd/export/kafka_text.h"
#include "tests/support/scratch.h"

#define WRITER "rack1:1700000000:77"

enum { PRODUCE = 0 /* the request's number in the protocol */, WAIT_MS = 60000, BATCHES_MAX = 64 };

/* --- what a message holds --- */

/* `shares` and `flows` rows of two switches, 10 and 11. */
static void make_batch(struct traffic_batch *ret, unsigned shares, unsigned flows)
{
	const struct {
		enum traffic_table_kind table;
		unsigned rows;
	} parts[] = {{TABLE_SHARE, shares}, {TABLE_FLOW, flows}};

	traffic_batch_begin(ret, STEP_MINUTE, 1700000040, 1700000045, 1700000100);
	ret->thinned = 1;
	text_add(&ret->switches, "11\tleaf\\t11\n10\tleaf10\n11\tleaf\\t11\n");
	for (size_t i = 0; i < COUNT_OF(parts); i++)
		for (unsigned row = 0; row < parts[i].rows; row++)
			text_addf(&ret->tables[parts[i].table],
				  "60\t%s\t%u\tup%u\tout\tand more of it to make it long\t%u\n",
				  ret->at_text, 10 + row % 3, row % 50, row);
}

static void test_rows(void **state)
{
	static const char head[] = "1700000040\t" WRITER "\t7\t";
	struct traffic_batch batch;
	struct kafka_rows rows;
	struct text message = {0};
	unsigned messages = 0;
	size_t size = 0;

	(void)state;
	make_batch(&batch, 3, 10000);
	batch.number = 7;
	assert_int_equal(kafka_rows_init(&rows, &batch, WRITER), 0);
	assert_true(kafka_rows_next(&rows, TABLE_SHARE, 1 << 20, &message));
	/* The name of switch 11 has a tab in it; nobody told the name of 12. */
	assert_string_equal(text_get(&message),
			    "1700000040\t" WRITER
			    "\t7\t0\tleaf10\t10\tup0\tout\tand more of it to make it long\t0\n"
			    "1700000040\t" WRITER
			    "\t7\t1\tleaf\\t11\t11\tup1\tout\tand more of it to make it long\t1\n"
			    "1700000040\t" WRITER
			    "\t7\t2\t\t12\tup2\tout\tand more of it to make it long\t2\n");
	assert_false(kafka_rows_next(&rows, TABLE_SHARE, 1 << 20, &message));
	assert_false(kafka_rows_next(&rows, TABLE_PAIR, 1 << 20, &message));
	while (kafka_rows_next(&rows, TABLE_FLOW, 4096, &message)) {
		assert_in_range(message.size, 1, 4096 + 200);
		assert_memory_equal(text_get(&message), head, strlen(head));
		assert_int_equal(message.data[message.size - 1], '\n');
		size += message.size;
		messages++;
	}
	assert_true(messages > 100 && size > 600000);
	batch.bytes = 5;
	batch.cut = true;
	batch.given_up = 3;
	kafka_rows_bucket(&rows, &message);
	assert_string_equal(text_get(&message),
			    "1700000040\t" WRITER
			    "\t7\t1700000045\t1700000100\t5\t0\t0\t1\t1\t3\t3\t0\t10000\t0\n");
	kafka_rows_done(&rows);
	text_done(&message);
	traffic_batch_done(&batch);
}

static void test_names(void **state)
{
	struct traffic_batch batch = {.number = UINT64_MAX};
	char topic[KAFKA_TOPIC_SIZE];
	char key[KAFKA_KEY_SIZE];
	char prefix[KAFKA_TOPIC_SIZE];

	(void)state;
	assert_true(kafka_topic_name("haas.traffic", TABLE_FLOW, topic));
	assert_string_equal(topic, "haas.traffic.flow.v1");
	memset(prefix, 'x', sizeof(prefix) - 1);
	prefix[sizeof(prefix) - 1] = 0;
	assert_false(kafka_topic_name(prefix, TOPIC_BUCKET, topic));
	kafka_key(&batch, WRITER, TOPIC_BUCKET, 4294967295U, key);
	assert_string_equal(key, WRITER ":18446744073709551615:bucket:4294967295");
}

/* --- what is refused --- */

static void test_conf(void **state)
{
	static char set[] = "x";
	static char empty[] = "";
	static char spaced[] = "haas traffic";
	static char slashed[] = "haas/traffic";
	static const struct {
		bool tls, ca, certificate, key, user, password;
		enum kafka_sasl sasl;
		int rc;
		char *topics;
	} cases[] = {
		{.rc = 0},
		{.topics = empty, .rc = E_MALFORMED},
		{.topics = spaced, .rc = E_MALFORMED},
		{.topics = slashed, .rc = E_MALFORMED},
		{.tls = true, .rc = 0},
		{.tls = true, .ca = true, .certificate = true, .key = true, .rc = 0},
		{.ca = true, .rc = E_MALFORMED},
		{.tls = true, .certificate = true, .rc = E_MALFORMED},
		{.certificate = true, .key = true, .rc = E_MALFORMED},
		{.sasl = SASL_SCRAM_SHA_512, .user = true, .password = true, .rc = 0},
		{.sasl = SASL_SCRAM_SHA_256, .user = true, .rc = E_MALFORMED},
		{.sasl = SASL_PLAIN, .user = true, .password = true, .rc = E_MALFORMED},
		{.sasl = SASL_PLAIN, .user = true, .password = true, .tls = true, .rc = 0},
		{.user = true, .password = true, .rc = E_MALFORMED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct kafka_conf conf = {
			.topics = cases[i].topics ? cases[i].topics : set,
			.tls = cases[i].tls,
			.ca_file = cases[i].ca ? set : empty,
			.certificate_file = cases[i].certificate ? set : empty,
			.key_file = cases[i].key ? set : empty,
			.user = cases[i].user ? set : empty,
			.password_file = cases[i].password ? set : empty,
			.sasl = (int)cases[i].sasl,
		};
		struct problem problem = {0};

		if (kafka_conf_check(&conf, &problem) != cases[i].rc)
			fail_msg("case %zu: %s", i, problem.message);
	}
}

static void test_secrets(void **state)
{
	static char brokers[] = "127.0.0.1:1";
	static char topics[] = "t";
	static char user[] = "flowd";
	static char empty[] = "";
	static const struct {
		mode_t mode;
		int rc;
	} cases[] = {{0600, 0}, {0640, 0}, {0644, E_DENIED}, {0601, E_DENIED}};
	char folder[SCRATCH_SIZE];
	char path[128];
	const struct kafka_conf conf = {.brokers = brokers,
					.topics = topics,
					.ca_file = empty,
					.certificate_file = empty,
					.key_file = empty,
					.sasl = SASL_SCRAM_SHA_256,
					.user = user,
					.password_file = path};
	struct problem problem = {0};
	struct traffic_sink sink;

	(void)state;
	scratch_make(folder, "kafka");
	assert_true(text_format(path, sizeof(path), "%s/password", folder));
	assert_int_equal(kafka_sink_new(&conf, WRITER, &sink, &problem), -ENOENT);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(file_write_atomic(path, "tell-nobody\n", 12, cases[i].mode), 0);
		assert_int_equal(chmod(path, cases[i].mode), 0);
		assert_int_equal(kafka_sink_new(&conf, WRITER, &sink, &problem), cases[i].rc);
		if (!cases[i].rc)
			sink.free(sink.context);
		assert_null(strstr(problem.message, "tell-nobody"));
		assert_null(strstr(problem.detail, "tell-nobody"));
	}
	scratch_remove(folder);
}

/* --- with a broker --- */

struct fixture {
	struct loop *loop;
	struct worker *worker;
	rd_kafka_t *keeper;
	rd_kafka_mock_cluster_t *cluster;
	char brokers[64];
	struct kafka_conf conf;
	struct traffic_writer *writer;
};

static int start(void **state)
{
	static char topics[] = "t";
	static char empty[] = "";
	static struct fixture f;

	f = (struct fixture){0};
	*state = &f;
	f.keeper = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), NULL, 0);
	f.cluster = rd_kafka_mock_cluster_new(f.keeper, 1);
	(void)text_copy(f.brokers, sizeof(f.brokers), rd_kafka_mock_cluster_bootstraps(f.cluster));
	f.conf = (struct kafka_conf){.brokers = f.brokers,
				     .topics = topics,
				     .ca_file = empty,
				     .certificate_file = empty,
				     .key_file = empty,
				     .user = empty,
				     .password_file = empty};
	if (loop_new(&f.loop))
		return -1;
	return worker_new(f.loop, 1, 4, &f.worker);
}

static int stop(void **state)
{
	struct fixture *f = *state;

	traffic_writer_free(f->writer, 0);
	worker_free(f->worker);
	loop_free(f->loop);
	rd_kafka_mock_cluster_destroy(f->cluster);
	rd_kafka_destroy(f->keeper);
	return 0;
}

static void start_writer(struct fixture *f, size_t waiting_max)
{
	struct traffic_writer_options options = {.waiting_max = waiting_max, .retry_ms = 50};
	struct problem problem = {0};

	assert_int_equal(kafka_sink_new(&f->conf, WRITER, &options.sink, &problem), 0);
	assert_int_equal(traffic_writer_new(f->loop, f->worker, &options, &f->writer), 0);
}

static void put_batch(struct fixture *f, unsigned shares, unsigned flows)
{
	struct traffic_batch batch;

	make_batch(&batch, shares, flows);
	traffic_writer_put(f->writer, &batch);
}

static void wait_written(struct fixture *f)
{
	for (int waited = 0; traffic_writer_counts(f->writer).waiting; waited++) {
		if (waited == WAIT_MS)
			fail_msg("buckets still wait: %s",
				 traffic_writer_problem(f->writer)
					 ? traffic_writer_problem(f->writer)->detail
					 : "no problem");
		loop_run_once(f->loop);
		usleep(1000);
	}
}

/* What a reader that throws out repeats has of a topic. */
struct reading {
	unsigned messages, repeats;
	struct text keys; /* ",KEY," of each */
	unsigned rows[BATCHES_MAX];
	struct text last; /* of TOPIC_BUCKET: all rows */
};

static void take(struct reading *reading, const rd_kafka_message_t *message)
{
	const char *at = message->payload;
	const char *end = at + message->len;
	char key[KAFKA_KEY_SIZE];

	(void)text_format(key, sizeof(key), ",%.*s,", (int)message->key_len,
			  (const char *)message->key);
	reading->messages++;
	if (strstr(text_get(&reading->keys), key)) {
		reading->repeats++;
		return;
	}
	text_add(&reading->keys, key);
	text_add_bytes(&reading->last, at, message->len);
	while (at < end) {
		const char *batch = memchr(at, '\t', (size_t)(end - at));
		unsigned long number;

		batch = memchr(batch + 1, '\t', (size_t)(end - batch - 1));
		number = strtoul(batch + 1, NULL, 10);
		assert_in_range(number, 0, BATCHES_MAX - 1);
		reading->rows[number]++;
		at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
	}
}

static void read_topic(struct fixture *f, unsigned topic, struct reading *ret)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(4);
	char name[KAFKA_TOPIC_SIZE];
	int open = 4; /* the mock's topics have so many partitions */
	rd_kafka_t *reader;

	*ret = (struct reading){0};
	assert_true(kafka_topic_name(f->conf.topics, topic, name));
	(void)rd_kafka_conf_set(conf, "bootstrap.servers", f->brokers, NULL, 0);
	(void)rd_kafka_conf_set(conf, "group.id", "reader", NULL, 0);
	(void)rd_kafka_conf_set(conf, "enable.partition.eof", "true", NULL, 0);
	(void)rd_kafka_conf_set(conf, "fetch.wait.max.ms", "10", NULL, 0);
	(void)rd_kafka_conf_set(conf, "allow.auto.create.topics", "true", NULL, 0);
	reader = rd_kafka_new(RD_KAFKA_CONSUMER, conf, NULL, 0);
	assert_non_null(reader);
	for (int i = 0; i < open; i++)
		rd_kafka_topic_partition_list_add(list, name, i)->offset =
			RD_KAFKA_OFFSET_BEGINNING;
	assert_int_equal(rd_kafka_assign(reader, list), 0);
	while (open) {
		rd_kafka_message_t *message = rd_kafka_consumer_poll(reader, WAIT_MS);

		assert_non_null(message);
		if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			open--;
		else if (!message->err)
			take(ret, message);
		else
			fail_msg("%s", rd_kafka_message_errstr(message));
		rd_kafka_message_destroy(message);
	}
	rd_kafka_topic_partition_list_destroy(list);
	(void)rd_kafka_consumer_close(reader);
	rd_kafka_destroy(reader);
}

static void reading_done(struct reading *reading)
{
	text_done(&reading->keys);
	text_done(&reading->last);
}

static void test_each_row_once(void **state)
{
	struct fixture *f = *state;
	struct reading flows;
	struct reading buckets;

	start_writer(f, 64 << 20);
	put_batch(f, 10, 20000); /* 1.6 MB: several messages */
	put_batch(f, 10, 0);
	wait_written(f);
	assert_int_equal(traffic_writer_counts(f->writer).batches, 2);
	assert_int_equal(traffic_writer_counts(f->writer).failures, 0);
	read_topic(f, TABLE_FLOW, &flows);
	assert_true(flows.messages > 4);
	assert_int_equal(flows.repeats, 0);
	assert_int_equal(flows.rows[0], 20000);
	read_topic(f, TOPIC_BUCKET, &buckets);
	assert_int_equal(buckets.messages, 2);
	assert_non_null(strstr(text_get(&buckets.last), "\t10\t0\t20000\t0\n"));
	reading_done(&flows);
	reading_done(&buckets);
}

/* The broker takes the first message and refuses the second: the whole bucket comes again. */
static void test_sent_again(void **state)
{
	struct fixture *f = *state;
	struct reading shares;
	struct reading buckets;

	start_writer(f, 64 << 20);
	rd_kafka_mock_push_request_errors(f->cluster, PRODUCE, 2, RD_KAFKA_RESP_ERR_NO_ERROR,
					  RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	put_batch(f, 10, 0);
	wait_written(f);
	assert_int_equal(traffic_writer_counts(f->writer).batches, 1);
	assert_int_equal(traffic_writer_counts(f->writer).failures, 1);
	assert_null(traffic_writer_problem(f->writer));
	read_topic(f, TABLE_SHARE, &shares);
	assert_int_equal(shares.messages, 2);
	assert_int_equal(shares.repeats, 1);
	assert_int_equal(shares.rows[0], 10);
	read_topic(f, TOPIC_BUCKET, &buckets);
	assert_int_equal(buckets.messages, 1);
	reading_done(&shares);
	reading_done(&buckets);
}

static void test_refused(void **state)
{
	struct fixture *f = *state;
	struct reading buckets;

	start_writer(f, 64 << 20);
	rd_kafka_mock_push_request_errors(f->cluster, PRODUCE, 1,
					  RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	put_batch(f, 10, 0);
	put_batch(f, 10, 0);
	wait_written(f);
	assert_int_equal(traffic_writer_counts(f->writer).batches, 1);
	assert_int_equal(traffic_writer_counts(f->writer).dropped, 1);
	read_topic(f, TOPIC_BUCKET, &buckets);
	assert_int_equal(buckets.messages, 1);
	/* And the next one says so: 1 was given up before it. */
	assert_non_null(strstr(text_get(&buckets.last), "\t1\t0\t1\t10\t0\t0\t0\n"));
	reading_done(&buckets);
}

static void test_broker_away(void **state)
{
	enum { WAITING_MAX = 128 * 1024 };
	struct fixture *f = *state;
	struct traffic_writer_counts counts;
	struct reading shares;
	struct reading flows;
	struct reading buckets;
	unsigned whole = 0;
	unsigned there = 0;
	char given_up[64];

	(void)rd_kafka_mock_broker_set_down(f->cluster, -1);
	start_writer(f, WAITING_MAX);
	for (unsigned i = 0; i < BATCHES_MAX; i++) {
		put_batch(f, 100, 500);
		loop_run_once(f->loop);
		assert_in_range(traffic_writer_counts(f->writer).waiting_bytes, 1, WAITING_MAX);
	}
	counts = traffic_writer_counts(f->writer);
	assert_true(counts.thinned > 0 && counts.dropped > 0);
	assert_int_equal(counts.waiting + counts.dropped, BATCHES_MAX);
	(void)rd_kafka_mock_broker_set_up(f->cluster, -1);
	wait_written(f);
	counts = traffic_writer_counts(f->writer);
	assert_int_equal(counts.batches + counts.dropped, BATCHES_MAX);
	read_topic(f, TABLE_SHARE, &shares);
	read_topic(f, TABLE_FLOW, &flows);
	read_topic(f, TOPIC_BUCKET, &buckets);
	for (unsigned i = 0; i < BATCHES_MAX; i++) {
		there += buckets.rows[i];
		whole += flows.rows[i] > 0;
		assert_int_equal(shares.rows[i], buckets.rows[i] ? 100 : 0);
		assert_true(flows.rows[i] == 0 || (flows.rows[i] == 500 && buckets.rows[i]));
	}
	assert_int_equal(there, counts.batches);
	assert_true(whole > 0 && whole < there);
	/* The newest says how many will never come. */
	(void)text_format(given_up, sizeof(given_up),
			  "\t%d\t1700000045\t1700000100\t0\t0\t0\t1\t1\t%" PRIu64
			  "\t100\t0\t0\t0\n",
			  BATCHES_MAX - 1, counts.dropped);
	assert_non_null(strstr(text_get(&buckets.last), given_up));
	reading_done(&shares);
	reading_done(&flows);
	reading_done(&buckets);
}

/* It is not waited for, whatever is under way. */
static void test_end_while_away(void **state)
{
	struct fixture *f = *state;
	int64_t from_ms;

	(void)rd_kafka_mock_broker_set_down(f->cluster, -1);
	start_writer(f, 64 << 20);
	put_batch(f, 10, 100000);
	put_batch(f, 10, 10);
	loop_run_once(f->loop);
	assert_true(traffic_writer_counts(f->writer).waiting > 0);
	from_ms = clock_monotonic_ms();
	traffic_writer_free(f->writer, 0);
	f->writer = NULL;
	assert_true(clock_monotonic_ms() - from_ms < 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_conf),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test_setup_teardown(test_each_row_once, start, stop),
		cmocka_unit_test_setup_teardown(test_sent_again, start, stop),
		cmocka_unit_test_setup_teardown(test_refused, start, stop),
		cmocka_unit_test_setup_teardown(test_broker_away, start, stop),
		cmocka_unit_test_setup_teardown(test_end_while_away, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
