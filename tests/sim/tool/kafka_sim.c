/* A Kafka broker for the stories about flowd's export, and a reader of what it holds. Debian has no
 * Kafka: the broker is librdkafka's mock cluster (rdkafka_mock.h), which speaks the protocol on a
 * TCP port of its own but keeps a few megabytes in memory only; no TLS, no SASL.
 *
 *   kafka_sim broker               prints HOST:PORT, then takes "down" and "up" until its input
 * ends kafka_sim read HOST:PORT TOPIC prints each message of the topic: a line "KEY SIZE", its
 * bytes
 */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/macros.h"

enum { WAIT_MS = 10000 };

static int kafka_sim_fail(const char *what, const char *why)
{
	(void)fprintf(stderr, "kafka_sim: %s: %s\n", what, why);
	return 1;
}

static rd_kafka_t *kafka_sim_make(rd_kafka_type_t type, const char *const pairs[][2], size_t count)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *client;
	char text[256] = "";

	for (size_t i = 0; i < count; i++)
		(void)rd_kafka_conf_set(conf, pairs[i][0], pairs[i][1], text, sizeof(text));
	client = rd_kafka_new(type, conf, text, sizeof(text));
	if (!client) {
		rd_kafka_conf_destroy(conf);
		(void)kafka_sim_fail("librdkafka", text);
	}
	return client;
}

/* --- the broker --- */

static int kafka_sim_serve(rd_kafka_mock_cluster_t *cluster)
{
	char line[16];

	(void)printf("%s\n", rd_kafka_mock_cluster_bootstraps(cluster));
	(void)fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "down\n"))
			(void)rd_kafka_mock_broker_set_down(cluster, -1);
		else if (!strcmp(line, "up\n"))
			(void)rd_kafka_mock_broker_set_up(cluster, -1);
		else
			return kafka_sim_fail(line, "down or up");
		(void)printf("ok\n");
		(void)fflush(stdout);
	}
	return 0;
}

static int kafka_sim_broker(void)
{
	/* Its own client does nothing, and must not look for anybody. */
	rd_kafka_t *keeper = kafka_sim_make(RD_KAFKA_PRODUCER, NULL, 0);
	rd_kafka_mock_cluster_t *cluster = keeper ? rd_kafka_mock_cluster_new(keeper, 1) : NULL;
	int rc = cluster ? kafka_sim_serve(cluster)
			 : kafka_sim_fail("mock cluster", "cannot be made");

	if (cluster)
		rd_kafka_mock_cluster_destroy(cluster);
	if (keeper)
		rd_kafka_destroy(keeper);
	return rc;
}

/* --- the reader --- */

static int kafka_sim_put(const rd_kafka_message_t *message)
{
	(void)printf("%.*s %zu\n", (int)message->key_len, (const char *)message->key, message->len);
	return fwrite(message->payload, 1, message->len, stdout) == message->len ? 0 : 1;
}

/* Until each partition's end was seen. */
static int read_to_ends(rd_kafka_t *client, int partitions)
{
	int rc = 0;

	while (partitions > 0 && !rc) {
		rd_kafka_message_t *message = rd_kafka_consumer_poll(client, WAIT_MS);

		if (!message)
			return kafka_sim_fail("reading", "nothing comes");
		if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			partitions--;
		else
			rc = message->err
				     ? kafka_sim_fail("reading", rd_kafka_message_errstr(message))
				     : kafka_sim_put(message);
		rd_kafka_message_destroy(message);
	}
	return rc;
}

static int read_topic(rd_kafka_t *client, const char *name)
{
	rd_kafka_topic_t *topic = rd_kafka_topic_new(client, name, NULL);
	const struct rd_kafka_metadata *metadata = NULL;
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(4);
	rd_kafka_resp_err_t err = rd_kafka_metadata(client, 0, topic, &metadata, WAIT_MS);
	int partitions = err ? 0 : metadata->topics[0].partition_cnt;
	int rc;

	for (int i = 0; i < partitions; i++)
		rd_kafka_topic_partition_list_add(list, name, i)->offset =
			RD_KAFKA_OFFSET_BEGINNING;
	if (!err)
		err = rd_kafka_assign(client, list);
	rc = err ? kafka_sim_fail(name, rd_kafka_err2str(err)) : read_to_ends(client, partitions);
	if (metadata)
		rd_kafka_metadata_destroy(metadata);
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_topic_destroy(topic);
	return rc;
}

static int kafka_sim_reader(const char *brokers, const char *topic)
{
	const char *const pairs[][2] = {
		{"bootstrap.servers", brokers},  {"group.id", "kafka_sim"},
		{"enable.auto.commit", "false"}, {"allow.auto.create.topics", "true"},
		{"fetch.wait.max.ms", "10"},     {"enable.partition.eof", "true"}};
	rd_kafka_t *client = kafka_sim_make(RD_KAFKA_CONSUMER, pairs, COUNT_OF(pairs));
	int rc;

	if (!client)
		return 1;
	(void)rd_kafka_poll_set_consumer(client);
	rc = read_topic(client, topic);
	/* Taking the client apart takes a second, in which nothing is done any more. */
	(void)fflush(stdout);
	_exit(rc);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "broker"))
		return kafka_sim_broker();
	if (argc == 4 && !strcmp(argv[1], "read"))
		return kafka_sim_reader(argv[2], argv[3]);
	return kafka_sim_fail("usage", "kafka_sim broker | read HOST:PORT TOPIC");
}
