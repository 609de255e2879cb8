#include "peregrine/flowd/export/kafka_sink.h"

#include <errno.h>
#include <librdkafka/rdkafka.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/error.h"
#include "common/io/file.h"
#include "common/io/log.h"

#include "peregrine/flowd/export/kafka_text.h"

#define KAFKA_SINK_SUBJECT "export"

enum {
	/* Of rows in one message: brokers take a million bytes if not told otherwise. */
	MESSAGE_BYTES = 256 * 1024,
	POLL_MS = 100,
	PASSWORD_MAX = 4096,
	TOPICS_MAX = 200,
};

const char *const kafka_sasl_words[] = {"none", "plain", "scram-sha-256", "scram-sha-512", NULL};
const char *const kafka_compression_words[] = {"none", "gzip", "snappy", "lz4", "zstd", NULL};

static const char *const kafka_sink_mechanisms[] = {"", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"};

/* What is the same everywhere (librdkafka 2.0, CONFIGURATION.md). An attempt ends after 10 s
 * without an answer, and 16 MiB are on their way at most: what waits, waits in the writer. */
static const struct {
	const char *key, *value;
} kafka_sink_always[] = {
	{"client.id", "peregrine-flowd"},     {"enable.idempotence", "true"},
	{"message.timeout.ms", "10000"},      {"queue.buffering.max.kbytes", "16384"},
	{"reconnect.backoff.max.ms", "2000"}, {"socket.keepalive.enable", "true"},
	{"log.connection.close", "false"},    {"ssl.endpoint.identification.algorithm", "https"},
};

struct kafka_sink {
	const struct kafka_conf *conf;
	const char *writer;
	atomic_bool stopping;
	rd_kafka_t *producer;
	rd_kafka_topic_t *topics[KAFKA_TOPIC_COUNT];
	struct text message;

	/* Of the attempt under way; told by rd_kafka_poll, in the worker. */
	unsigned outstanding;
	int rc;
	char reason[256]; /* why: what a connection said, else what became of a message */
};

/* --- what librdkafka tells --- */

static void on_delivery(rd_kafka_t *producer, const rd_kafka_message_t *message, void *context)
{
	struct kafka_sink *sink = context;

	(void)producer;
	sink->outstanding--;
	if (!message->err)
		return;
	/* Rows that are too long for the broker stay so; whatever else is the matter may be over
	 * by the next attempt. */
	if (message->err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
	    message->err == RD_KAFKA_RESP_ERR_INVALID_RECORD)
		sink->rc = E_INVALID;
	else if (!sink->rc)
		sink->rc = E_UNAVAILABLE;
	if (!sink->reason[0])
		(void)text_copy(sink->reason, sizeof(sink->reason), rd_kafka_err2str(message->err));
}

static void on_error(rd_kafka_t *producer, int err, const char *reason, void *context)
{
	struct kafka_sink *sink = context;

	(void)producer;
	/* "All brokers are down" says less than what was said before it. */
	if (err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		(void)text_copy(sink->reason, sizeof(sink->reason), reason);
}

static void on_log(const rd_kafka_t *producer, int level, const char *facility, const char *line)
{
	(void)producer;
	(void)level;
	log_debug(KAFKA_SINK_SUBJECT, "librdkafka %s: %s", facility, line);
}

/* --- the producer --- */

static int kafka_sink_set(rd_kafka_conf_t *conf, const char *key, const char *value,
			  struct problem *problem)
{
	char text[256] = "";

	if (rd_kafka_conf_set(conf, key, value, text, sizeof(text)) == RD_KAFKA_CONF_OK)
		return 0;
	(void)problem_set(problem, E_INVALID, "librdkafka refuses its configuration");
	problem_detail(problem, "%s", text);
	return E_INVALID;
}

static int check_hidden(const char *path, struct problem *problem)
{
	struct stat info;

	if (stat(path, &info))
		return problem_set(problem, -errno, "%s cannot be read: %s", path,
				   error_text(-errno));
	if (!(info.st_mode & S_IRWXO))
		return 0;
	(void)problem_set(problem, E_DENIED, "%s may be read by everybody", path);
	problem_hint(problem, "chmod o= %s", path);
	return E_DENIED;
}

static int set_password(rd_kafka_conf_t *to, const char *path, struct problem *problem)
{
	char *password = NULL;
	size_t size = 0;
	int rc = check_hidden(path, problem);
	bool taken;

	if (rc)
		return rc;
	rc = file_read(path, PASSWORD_MAX, &password, &size);
	if (rc)
		return problem_set(problem, rc, "%s cannot be read: %s", path, error_text(rc));
	password[strcspn(password, "\r\n")] = 0;
	/* Not by kafka_sink_set(): what librdkafka says of it might hold it. */
	taken = rd_kafka_conf_set(to, "sasl.password", password, NULL, 0) == RD_KAFKA_CONF_OK;
	explicit_bzero(password, size);
	free(password);
	return taken ? 0 : problem_set(problem, E_INVALID, "%s does not hold a password", path);
}

static int set_security(const struct kafka_conf *conf, rd_kafka_conf_t *to, struct problem *problem)
{
	static const char *const protocols[2][2] = {{"plaintext", "sasl_plaintext"},
						    {"ssl", "sasl_ssl"}};
	const struct {
		const char *key, *value;
	} rows[] = {
		{"security.protocol", protocols[conf->tls][conf->sasl != SASL_NONE]},
		{"ssl.ca.location", conf->ca_file},
		{"ssl.certificate.location", conf->certificate_file},
		{"ssl.key.location", conf->key_file},
		{"sasl.mechanism", kafka_sink_mechanisms[conf->sasl]},
		{"sasl.username", conf->user},
	};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(rows) && !rc; i++)
		if (rows[i].value[0])
			rc = kafka_sink_set(to, rows[i].key, rows[i].value, problem);
	if (!rc && conf->key_file[0])
		rc = check_hidden(conf->key_file, problem);
	if (!rc && conf->sasl != SASL_NONE)
		rc = set_password(to, conf->password_file, problem);
	return rc;
}

static int kafka_sink_configure(struct kafka_sink *sink, rd_kafka_conf_t *to,
				struct problem *problem)
{
	const struct kafka_conf *conf = sink->conf;
	char linger[24];
	int rc = kafka_sink_set(to, "bootstrap.servers", conf->brokers, problem);

	for (size_t i = 0; i < COUNT_OF(kafka_sink_always) && !rc; i++)
		rc = kafka_sink_set(to, kafka_sink_always[i].key, kafka_sink_always[i].value,
				    problem);
	(void)text_format(linger, sizeof(linger), "%lld", (long long)conf->linger_ms);
	if (!rc)
		rc = kafka_sink_set(to, "linger.ms", linger, problem);
	if (!rc)
		rc = kafka_sink_set(to, "compression.type",
				    kafka_compression_words[conf->compression], problem);
	if (!rc)
		rc = set_security(conf, to, problem);
	rd_kafka_conf_set_opaque(to, sink);
	rd_kafka_conf_set_dr_msg_cb(to, on_delivery);
	rd_kafka_conf_set_error_cb(to, on_error);
	rd_kafka_conf_set_log_cb(to, on_log);
	return rc;
}

static void close_producer(struct kafka_sink *sink)
{
	if (!sink->producer)
		return;
	(void)rd_kafka_purge(sink->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	for (size_t i = 0; i < KAFKA_TOPIC_COUNT; i++) {
		if (sink->topics[i])
			rd_kafka_topic_destroy(sink->topics[i]);
		sink->topics[i] = NULL;
	}
	rd_kafka_destroy(sink->producer);
	sink->producer = NULL;
	sink->outstanding = 0;
}

static int open_topics(struct kafka_sink *sink, struct problem *problem)
{
	char name[KAFKA_TOPIC_SIZE];

	for (unsigned i = 0; i < KAFKA_TOPIC_COUNT; i++) {
		if (kafka_topic_name(sink->conf->topics, i, name))
			sink->topics[i] = rd_kafka_topic_new(sink->producer, name, NULL);
		if (!sink->topics[i])
			return problem_set(problem, E_INVALID,
					   "a topic's name cannot begin with %s",
					   sink->conf->topics);
	}
	return 0;
}

static int open_producer(struct kafka_sink *sink, struct problem *problem)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char text[256] = "";
	int rc = kafka_sink_configure(sink, conf, problem);

	if (!rc)
		sink->producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
	if (!sink->producer) {
		rd_kafka_conf_destroy(conf);
		if (rc)
			return rc;
		(void)problem_set(problem, E_INVALID, "Kafka cannot be written to");
		problem_detail(problem, "%s", text);
		return E_INVALID;
	}
	rc = open_topics(sink, problem);
	if (rc)
		close_producer(sink);
	return rc;
}

/* --- a bucket --- */

static bool kafka_sink_goes_on(const struct kafka_sink *sink)
{
	return !sink->rc && !atomic_load(&sink->stopping);
}

/* Waits for room, as long as what is before it goes or fails (message.timeout.ms). */
static void kafka_sink_send_message(struct kafka_sink *sink, const struct traffic_batch *batch,
				    unsigned topic, uint32_t part)
{
	char key[KAFKA_KEY_SIZE];
	rd_kafka_resp_err_t err;

	kafka_key(batch, sink->writer, topic, part, key);
	while (kafka_sink_goes_on(sink)) {
		if (!rd_kafka_produce(sink->topics[topic], RD_KAFKA_PARTITION_UA,
				      RD_KAFKA_MSG_F_COPY, sink->message.data, sink->message.size,
				      key, strlen(key), NULL)) {
			sink->outstanding++;
			return;
		}
		err = rd_kafka_last_error();
		if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
			(void)rd_kafka_poll(sink->producer, POLL_MS);
			continue;
		}
		sink->rc = E_UNAVAILABLE;
		(void)text_copy(sink->reason, sizeof(sink->reason), rd_kafka_err2str(err));
	}
}

static void kafka_sink_settle(struct kafka_sink *sink)
{
	while (kafka_sink_goes_on(sink) && sink->outstanding)
		(void)rd_kafka_flush(sink->producer, POLL_MS);
}

static void send_table(struct kafka_sink *sink, struct kafka_rows *rows,
		       enum traffic_table_kind table)
{
	for (uint32_t part = 0; kafka_sink_goes_on(sink) &&
				kafka_rows_next(rows, table, MESSAGE_BYTES, &sink->message);
	     part++) {
		if (sink->message.failed)
			sink->rc = -ENOMEM;
		kafka_sink_send_message(sink, rows->batch, table, part);
		(void)rd_kafka_poll(sink->producer, 0);
	}
}

/* The row of the bucket comes when its rows are there for good: who reads it may count them. */
static void send_bucket(struct kafka_sink *sink, struct kafka_rows *rows)
{
	for (enum traffic_table_kind table = 0; table < TRAFFIC_TABLE_COUNT; table++)
		send_table(sink, rows, table);
	kafka_sink_settle(sink);
	kafka_rows_bucket(rows, &sink->message);
	if (sink->message.failed)
		sink->rc = -ENOMEM;
	kafka_sink_send_message(sink, rows->batch, TOPIC_BUCKET, 0);
	kafka_sink_settle(sink);
}

static int write_to_kafka(void *context, const struct traffic_batch *batch, struct problem *problem)
{
	struct kafka_sink *sink = context;
	struct kafka_rows rows;
	int rc = sink->producer ? 0 : open_producer(sink, problem);

	/* Files may be put right; only rows can be refused for good. */
	if (rc == E_INVALID)
		rc = E_UNAVAILABLE;
	if (!rc)
		rc = kafka_rows_init(&rows, batch, sink->writer);
	if (rc)
		return rc;
	sink->rc = 0;
	sink->reason[0] = 0;
	send_bucket(sink, &rows);
	kafka_rows_done(&rows);
	rc = sink->rc || !atomic_load(&sink->stopping) ? sink->rc : E_UNAVAILABLE;
	if (!rc)
		return 0;
	(void)problem_set(problem, rc, "traffic could not be exported to Kafka");
	problem_detail(problem, "%s", sink->reason[0] ? sink->reason : error_text(rc));
	close_producer(sink);
	return rc;
}

/* --- life --- */

static void stop_sink(void *context)
{
	struct kafka_sink *sink = context;

	atomic_store(&sink->stopping, true);
}

static void free_sink(void *context)
{
	struct kafka_sink *sink = context;

	close_producer(sink);
	text_done(&sink->message);
	free(sink);
}

int kafka_conf_check(const struct kafka_conf *conf, struct problem *problem)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	bool sasl = conf->sasl != SASL_NONE;

	/* Kafka's own rule for names of topics (at most 249 of these). */
	if (!conf->topics[0] || strlen(conf->topics) > TOPICS_MAX ||
	    conf->topics[strspn(conf->topics, letters)])
		return problem_set(problem, E_MALFORMED,
				   "kafka.topics: 1 to %d letters, digits and ._-", TOPICS_MAX);
	if (sasl != !!conf->user[0] || sasl != !!conf->password_file[0])
		return problem_set(problem, E_MALFORMED,
				   "kafka.sasl, kafka.user and kafka.password_file go together");
	if (conf->sasl == SASL_PLAIN && !conf->tls)
		return problem_set(
			problem, E_MALFORMED,
			"kafka.sasl = \"plain\" sends the password in clear: it needs kafka.tls");
	if (!!conf->certificate_file[0] != !!conf->key_file[0])
		return problem_set(problem, E_MALFORMED,
				   "kafka.certificate_file and kafka.key_file go together");
	if ((conf->ca_file[0] || conf->key_file[0]) && !conf->tls)
		return problem_set(problem, E_MALFORMED, "kafka.ca_file and others need kafka.tls");
	return 0;
}

int kafka_sink_new(const struct kafka_conf *conf, const char *writer, struct traffic_sink *ret,
		   struct problem *problem)
{
	struct kafka_sink *sink = calloc(1, sizeof(*sink));
	int rc;

	if (!sink)
		return problem_set(problem, -ENOMEM, "no memory");
	sink->conf = conf;
	sink->writer = writer;
	rc = open_producer(sink, problem);
	if (rc) {
		free_sink(sink);
		return rc;
	}
	*ret = (struct traffic_sink){.subject = KAFKA_SINK_SUBJECT,
				     .name = "Kafka",
				     .write = write_to_kafka,
				     .stop = stop_sink,
				     .free = free_sink,
				     .context = sink};
	return 0;
}
