/* The agent of a node: polls the mailbox, does what a task asks, downloads images by ranges,
 * reports (docs/architecture.md, "What bampi-bootd and a node say to each other"). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"
#include "common/net/result_wire.h"
#include "common/net/task_wire.h"

#include "tests/sim/fleet/fleet.h"

#define POLL_TIMEOUT_MS            40000
#define POLL_GAP_MS                1000
#define AWAY_MS                    1000
#define PROGRESS_MS                1000
#define FLEET_AGENT_MANIFEST_LIMIT ((size_t)64 << 10)
#define DRIVES                     2
#define DRIVE_SIZE_BYTES           (INT64_C(1) << 40)

struct fleet_agent_task_row {
	const char *kind;
	/* What the work is; it ends with work_over. */
	void (*begin)(struct fleet_node *node);
	/* Member "data" of the result. */
	void (*data)(struct fleet_node *node, struct text *out);
};

static void poll_ask(struct fleet_node *node);
static void fleet_agent_report(struct fleet_node *node);
static void fleet_agent_work(struct fleet_node *node);
static const struct fleet_agent_task_row *fleet_agent_row_of(const struct fleet_node *node);

void fleet_agent_done(struct fleet_node *node)
{
	free(node->task.hash);
	node->task = (struct fleet_task){0};
}

/* --- what the tasks answer --- */

static void put_drive(struct fleet_node *node, int drive, struct text *out)
{
	char text[32];

	(void)text_format(text, sizeof(text), "nvme%dn1", drive);
	json_put_string(out, "name", text);
	(void)text_format(text, sizeof(text), "FLEET%05d%c", node->index + 1, 'A' + drive);
	json_put_string(out, "serial", text);
	json_put_string(out, "model", "FLEET 1T");
	json_put_int(out, "size_bytes", DRIVE_SIZE_BYTES);
}

static void inventory_data(struct fleet_node *node, struct text *out)
{
	const struct fleet_model *model = fleet_model(node);
	char text[32];

	json_begin_object(out, "data");
	json_begin_object(out, "cpu");
	json_put_string(out, "model", model->cpu);
	json_put_int(out, "sockets", 2);
	json_put_int(out, "cores", 64);
	json_put_int(out, "threads", 128);
	json_end_object(out);
	json_put_int(out, "memory_bytes", INT64_C(1) << 40);
	json_put_string(out, "firmware", model->firmware);
	(void)text_format(text, sizeof(text), "FLEET%05d", node->index + 1);
	json_put_string(out, "serial", text);
	json_put_string(out, "vendor", "Fleet");
	json_put_string(out, "product", "Simulated");
	json_begin_array(out, "disks");
	for (int drive = 0; drive < DRIVES; drive++) {
		json_begin_object(out, NULL);
		put_drive(node, drive, out);
		json_put_string(out, "kind", "nvme");
		json_put_bool(out, "removable", false);
		json_put_bool(out, "read_only", false);
		json_end_object(out);
	}
	/* Twice the same drive: it cannot be so. */
	if (fleet_fault(node, FLEET_BAD_INVENTORY)) {
		json_begin_object(out, NULL);
		put_drive(node, 0, out);
		json_end_object(out);
	}
	json_end_array(out);
	json_begin_array(out, "nics");
	json_begin_object(out, NULL);
	json_put_string(out, "name", "eth0");
	json_put_string(out, "mac", mac_text(node->mac, text));
	json_put_string(out, "driver", "fleet");
	json_put_bool(out, "link", true);
	json_put_int(out, "speed_mbps", 25000);
	json_begin_object(out, "lldp");
	(void)text_format(text, sizeof(text), "leaf%d", node->index / FLEET_RACK_SIZE + 1);
	json_put_string(out, "system", text);
	json_put_string(out, "chassis", text);
	(void)text_format(text, sizeof(text), "Ethernet%d", node->index % FLEET_RACK_SIZE + 1);
	json_put_string(out, "port", text);
	json_end_object(out);
	json_end_object(out);
	json_end_array(out);
	json_begin_array(out, "gpus");
	json_end_array(out);
	json_end_object(out);
}

static void write_image_data(struct fleet_node *node, struct text *out)
{
	char serial[32];

	(void)text_format(serial, sizeof(serial), "FLEET%05dA", node->index + 1);
	json_begin_object(out, "data");
	json_put_string(out, "disk", "nvme0n1");
	json_put_string(out, "serial", serial);
	json_put_string(out, "digest", node->task.digest);
	json_put_int(out, "bytes", (int64_t)node->task.size);
	json_put_double(out, "seconds", 0.1);
	json_end_object(out);
}

static void empty_data(struct fleet_node *node, struct text *out)
{
	(void)node;
	json_begin_object(out, "data");
	json_end_object(out);
}

static void erase_data(struct fleet_node *node, struct text *out)
{
	bool fails = fleet_fault(node, FLEET_ERASE_FAILS);
	bool lies = !fails && fleet_fault(node, FLEET_ERASE_LIES);

	if (!fails && !lies)
		node->disk = (struct fleet_disk){0};
	node->disk.bootable = false;
	json_begin_object(out, "data");
	json_begin_array(out, "drives");
	for (int drive = 0; drive < DRIVES; drive++) {
		bool bad = fails && drive == 0;

		json_begin_object(out, NULL);
		put_drive(node, drive, out);
		json_put_string(out, "method", "nvme_format_crypto");
		json_put_string(out, "verdict", bad ? "failed" : "erased");
		json_put_string(out, "reason", bad ? "the controller aborted the format" : "");
		json_put_double(out, "seconds", 0.1);
		json_end_object(out);
	}
	json_end_array(out);
	json_end_object(out);
}

static void verify_data(struct fleet_node *node, struct text *out)
{
	char serial[32];

	json_begin_object(out, "data");
	json_begin_array(out, "drives");
	for (int drive = 0; drive < DRIVES; drive++) {
		bool bad = node->disk.dirty && drive == 0;

		json_begin_object(out, NULL);
		(void)text_format(serial, sizeof(serial), "FLEET%05d%c", node->index + 1,
				  'A' + drive);
		json_put_string(out, "serial", serial);
		json_put_int(out, "samples", 1026);
		json_put_int(out, "nonzero", bad ? 1000 : 0);
		json_put_string(out, "verdict", bad ? "failed" : "verified");
		json_end_object(out);
	}
	json_end_array(out);
	json_end_object(out);
}

/* --- the image --- */

static void image_ask(struct fleet_node *node);

static void work_over(struct fleet_node *node)
{
	fleet_arm(node, 0, fleet_agent_report);
}

static void early_reboot(struct fleet_node *node)
{
	fleet_reset(node);
}

static bool image_data(struct fleet_node *node, const void *data, size_t size)
{
	struct fleet_task *task = &node->task;
	uint64_t before = task->offset;

	if (!task->hash || size > task->size - task->offset)
		return false;
	task->offset += size;
	node->fleet->stats.image_bytes += size;
	node->disk.dirty = true;
	node->disk.bootable = false;
	node->disk.digest[0] = '\0';
	if (task->dies_at && before < task->dies_at && task->offset >= task->dies_at) {
		fleet_hang(node);
		return true; /* nobody is there any more */
	}
	(void)crypto_generichash_update(task->hash, data, size);
	if (task->cut_at && before < task->cut_at && task->offset >= task->cut_at) {
		task->cut_at = 0;
		return false;
	}
	return true;
}

static void image_ended(struct fleet_node *node)
{
	struct fleet_task *task = &node->task;
	uint8_t digest[DIGEST_SIZE];
	char text[DIGEST_TEXT_SIZE];

	(void)crypto_generichash_final(task->hash, digest, sizeof(digest));
	hex_encode(digest, sizeof(digest), text);
	if (strcmp(text, task->digest) != 0 || fleet_fault(node, FLEET_BAD_BYTES)) {
		task->problem = "the image's bytes are not those of its digest";
	} else if (fleet_fault(node, FLEET_DISK_FAILS)) {
		task->problem = "writing to /dev/nvme0n1: Input/output error";
	} else {
		node->images++;
		node->fleet->stats.images++;
		(void)text_copy(node->disk.digest, sizeof(node->disk.digest), text);
	}
	work_over(node);
}

static void progress_got(struct fleet_node *node, int status, const char *body, size_t size)
{
	(void)body;
	(void)size;
	if (status == 410) {
		fleet_agent_done(node);
		fleet_enter(node, FLEET_POLL);
		poll_ask(node);
		return;
	}
	if (node->task.hash)
		image_ask(node);
	else
		fleet_agent_work(node);
}

static void fleet_agent_progress_send(struct fleet_node *node)
{
	const struct fleet_task *task = &node->task;
	CLEANUP(text_done) struct text body = {0};
	char target[64];
	uint64_t size = task->size ? task->size : 1;

	json_begin_object(&body, NULL);
	json_put_int(&body, "percent", (int64_t)(task->offset * 100 / size));
	json_put_int(&body, "done_bytes", (int64_t)task->offset);
	json_put_int(&body, "total_bytes", (int64_t)task->size);
	json_put_string(&body, "text", task->kind);
	json_end_object(&body);
	(void)text_format(target, sizeof(target), "/agent/v1/tasks/%" PRId64 "/progress", task->id);
	fleet_http_ask(node, &(struct fleet_ask){.method = "POST",
						 .target = target,
						 .address = node->http_address,
						 .port = node->http_port,
						 .token = node->token,
						 .body = text_get(&body),
						 .timeout_ms = 10000,
						 .on_done = progress_got});
}

static void image_got(struct fleet_node *node, int status, const char *body, size_t size)
{
	struct fleet_task *task = &node->task;

	(void)body;
	(void)size;
	if (status == 401 || status == 404) {
		task->problem = "the server does not give the image";
		work_over(node);
	} else if (task->offset == task->size) {
		image_ended(node);
	} else if (status / 100 == 2) {
		task->split = task->size;
		fleet_agent_progress_send(node);
	} else if (++node->retries > 100) {
		task->problem = "the image does not come";
		work_over(node);
	} else {
		fleet_arm(node, status == 0 && node->retries < 3 ? 0 : AWAY_MS, image_ask);
	}
}

/* In two ranges, so that both kinds of answer are seen; from where it was cut. */
static void image_ask(struct fleet_node *node)
{
	struct fleet_task *task = &node->task;
	char range[64];

	(void)text_format(range, sizeof(range), "bytes=%" PRIu64 "-%" PRIu64, task->offset,
			  (task->offset < task->split ? task->split : task->size) - 1);
	fleet_http_ask(node, &(struct fleet_ask){.method = "GET",
						 .target = task->url,
						 .address = node->http_address,
						 .port = node->http_port,
						 .token = node->token,
						 .range = range,
						 .on_data = image_data,
						 .on_done = image_got});
}

static uint64_t roll_byte(struct fleet_node *node, enum fleet_fault fault)
{
	if (!fleet_fault(node, fault))
		return 0;
	return 1 + fleet_chance(node->fleet, node->index, FLEET_FAULTS + 1 + fault,
				node->occasions[fault]) %
			   node->task.size;
}

static void image_begin(struct fleet_node *node)
{
	struct fleet_task *task = &node->task;

	task->hash = task->size ? malloc(sizeof(*task->hash)) : NULL;
	if (!task->hash) {
		task->problem = "the manifest cannot be read";
		work_over(node);
		return;
	}
	(void)crypto_generichash_init(task->hash, NULL, 0, DIGEST_SIZE);
	task->split = task->size > 1 ? task->size / 2 : task->size;
	task->dies_at = roll_byte(node, FLEET_AGENT_DIES);
	task->cut_at = roll_byte(node, FLEET_HTTP_CUT);
	image_ask(node);
}

/* --- the other tasks --- */

static void begin_at_once(struct fleet_node *node)
{
	work_over(node);
}

static void configure_begin(struct fleet_node *node)
{
	struct fleet_disk *disk = &node->disk;
	const char *nonce = strrchr(node->task.callback, '/');

	if (!disk->digest[0] || !nonce) {
		node->task.problem = "there is no OS to configure";
	} else {
		(void)text_copy(disk->callback, sizeof(disk->callback), node->task.callback);
		(void)text_copy(disk->nonce, sizeof(disk->nonce), nonce + 1);
		disk->bootable = true;
	}
	work_over(node);
}

static const struct fleet_agent_task_row fleet_agent_rows[] = {
	{"inventory", begin_at_once, inventory_data},
	{"write_image", image_begin, write_image_data},
	{"configure_os", configure_begin, empty_data},
	{"erase", begin_at_once, erase_data},
	{"verify_erased", begin_at_once, verify_data},
	{"power_off", begin_at_once, empty_data},
};

static const struct fleet_agent_task_row *fleet_agent_row_of(const struct fleet_node *node)
{
	for (size_t i = 0; i < COUNT_OF(fleet_agent_rows); i++) {
		if (strcmp(fleet_agent_rows[i].kind, node->task.kind) == 0)
			return &fleet_agent_rows[i];
	}
	return NULL;
}

/* --- working --- */

/* Until its time is up, a word a second as the real agent sends. */
static void fleet_agent_work(struct fleet_node *node)
{
	const struct fleet_agent_task_row *row = fleet_agent_row_of(node);
	int64_t left_ms = node->task.until_ms - clock_monotonic_ms();

	if (left_ms > PROGRESS_MS)
		fleet_arm(node, PROGRESS_MS, fleet_agent_progress_send);
	else if (left_ms > 0)
		fleet_arm(node, left_ms, fleet_agent_work);
	else if (row)
		row->begin(node);
}

static void work_begin(struct fleet_node *node)
{
	fleet_enter(node, FLEET_WORK);
	node->fleet->stats.tasks++;
	if (fleet_fault(node, FLEET_AGENT_SILENT)) {
		fleet_hang(node);
	} else if (fleet_fault(node, FLEET_REBOOTS_EARLY)) {
		fleet_arm(node, 10, early_reboot);
	} else if (!fleet_agent_row_of(node)) {
		node->task.problem = "this agent does not know such a task";
		fleet_agent_report(node);
	} else {
		node->task.until_ms = clock_monotonic_ms();
		if (node->fleet->options.times.task_ms > 0)
			node->task.until_ms +=
				fleet_delay(node, node->fleet->options.times.task_ms);
		fleet_agent_work(node);
	}
}

static bool fleet_agent_read_manifest(const char *manifest, struct fleet_task *task)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	struct problem problem = {0};
	const char *digest;

	if (!manifest ||
	    json_read(manifest, strlen(manifest), FLEET_AGENT_MANIFEST_LIMIT, &json, &problem))
		return false;
	digest = json_string_value(json_object_get(json, "stored_digest"));
	task->size = (uint64_t)json_integer_value(json_object_get(json, "stored_bytes"));
	return digest && text_copy(task->digest, sizeof(task->digest), digest);
}

static bool fleet_agent_read_task(const char *body, size_t size, struct fleet_task *ret)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	CLEANUP(json_decrefp) json_t *params = NULL;
	struct problem problem = {0};
	struct task_statement statement;
	const char *text;

	if (json_read(body, size, (size_t)1 << 20, &json, &problem))
		return false;
	text = json_string_value(json_object_get(json, "statement"));
	if (!text || task_statement_decode(text, &statement))
		return false;
	text = json_string_value(json_object_get(json, "params"));
	if (!text || json_read(text, strlen(text), (size_t)1 << 20, &params, &problem))
		return false;
	ret->id = statement.task;
	(void)text_copy(ret->kind, sizeof(ret->kind), statement.kind);
	text = json_string_value(json_object_get(params, "url"));
	(void)text_copy(ret->url, sizeof(ret->url), text ? text : "");
	text = json_string_value(json_object_get(params, "callback"));
	(void)text_copy(ret->callback, sizeof(ret->callback), text ? text : "");
	text = json_string_value(json_object_get(params, "manifest"));
	return ret->id > 0 &&
	       (strcmp(ret->kind, "write_image") != 0 || fleet_agent_read_manifest(text, ret));
}

/* --- polling --- */

static void poll_got(struct fleet_node *node, int status, const char *body, size_t size)
{
	static const struct {
		const char *kind;
		enum fleet_place place;
	} places[] = {
		{"inventory", FLEET_AT_INVENTORY},
		{"write_image", FLEET_AT_WRITE},
		{"configure_os", FLEET_AT_CONFIGURE},
	};

	if (status == 204) {
		int64_t early_ms = node->phase_ms + POLL_GAP_MS - clock_monotonic_ms();

		fleet_arm(node, early_ms > 0 ? early_ms : 0, poll_ask);
		return;
	}
	fleet_agent_done(node);
	if (status != 200 || !fleet_agent_read_task(body, size, &node->task)) {
		fleet_arm(node, AWAY_MS, poll_ask);
		return;
	}
	for (size_t i = 0; i < COUNT_OF(places); i++)
		if (strcmp(node->task.kind, places[i].kind) == 0 &&
		    fleet_hold(node, places[i].place, work_begin))
			return;
	work_begin(node);
}

static void poll_ask(struct fleet_node *node)
{
	node->phase_ms = clock_monotonic_ms();
	fleet_http_ask(node, &(struct fleet_ask){.method = "GET",
						 .target = "/agent/v1/task?wait=20",
						 .address = node->http_address,
						 .port = node->http_port,
						 .token = node->token,
						 .timeout_ms = POLL_TIMEOUT_MS,
						 .on_done = poll_got});
}

static void poll_first(struct fleet_node *node)
{
	fleet_enter(node, FLEET_POLL);
	poll_ask(node);
}

/* Nobody has to guess it, and a node that starts again with a token has the key of that boot. */
static void fleet_agent_make_key(struct fleet_node *node)
{
	uint8_t seed[crypto_sign_SEEDBYTES];
	uint8_t public_key[crypto_sign_PUBLICKEYBYTES];

	(void)crypto_generichash(seed, sizeof(seed), (const uint8_t *)node->token,
				 strlen(node->token), NULL, 0);
	(void)crypto_sign_seed_keypair(public_key, node->agent_secret, seed);
	hex_encode(public_key, sizeof(public_key), node->agent_key);
}

static void fleet_agent_sign(const struct fleet_node *node, const struct text *body,
			     char ret[RESULT_SIGNATURE_TEXT_SIZE])
{
	char statement[RESULT_STATEMENT_SIZE];
	uint8_t signature[RESULT_SIGNATURE_SIZE];

	result_statement(node->task.id, node->token, text_get(body), body->size, statement);
	(void)crypto_sign_detached(signature, NULL, (const uint8_t *)statement, strlen(statement),
				   node->agent_secret);
	hex_encode(signature, sizeof(signature), ret);
}

void fleet_agent_start(struct fleet_node *node)
{
	fleet_agent_make_key(node);
	fleet_enter(node, FLEET_POLL);
	if (!fleet_hold(node, FLEET_AT_AGENT, poll_first))
		poll_ask(node);
}

/* --- reporting --- */

static void report_send(struct fleet_node *node);

static void report_got(struct fleet_node *node, int status, const char *body, size_t size)
{
	bool powers_off = strcmp(node->task.kind, "power_off") == 0;

	(void)body;
	(void)size;
	if (status == 0 || status >= 500 || status == 401 || status == 403 || status == 408 ||
	    status == 429 || (status == 204 && fleet_fault(node, FLEET_RESULT_TWICE))) {
		fleet_arm(node, status == 204 ? 0 : AWAY_MS, report_send);
		return;
	}
	fleet_agent_done(node);
	if (powers_off && status < 300) {
		fleet_power(node, false);
		return;
	}
	poll_first(node);
}

/* The result is made once: what is sent again is the same. */
static void report_send(struct fleet_node *node)
{
	const struct fleet_agent_task_row *row = fleet_agent_row_of(node);
	CLEANUP(text_done) struct text body = {0};
	char target[64];
	char signature[RESULT_SIGNATURE_TEXT_SIZE];

	json_begin_object(&body, NULL);
	json_put_bool(&body, "ok", !node->task.problem);
	if (node->task.problem) {
		json_begin_object(&body, "problem");
		json_put_string(&body, "message", node->task.problem);
		json_put_string(&body, "detail", "");
		json_put_string(&body, "hint", "");
		json_end_object(&body);
	} else if (row) {
		row->data(node, &body);
	}
	json_end_object(&body);
	fleet_agent_sign(node, &body, signature);
	(void)text_format(target, sizeof(target), "/agent/v1/tasks/%" PRId64 "/result",
			  node->task.id);
	fleet_http_ask(node, &(struct fleet_ask){.method = "POST",
						 .target = target,
						 .address = node->http_address,
						 .port = node->http_port,
						 .token = node->token,
						 .signature = signature,
						 .body = text_get(&body),
						 .timeout_ms = 10000,
						 .on_done = report_got});
}

static void fleet_agent_report(struct fleet_node *node)
{
	fleet_enter(node, FLEET_REPORT);
	report_send(node);
}
