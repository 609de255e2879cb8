// links: bampi_agent
/* What a server may send as a task. Nothing is believed of it unless it is signed: then no handler is
 * chosen, and a problem says why. The same kind and params, signed, make a task that has an id which is
 * safe in a request line. Its params are read by the same code that the handlers use, which gives a
 * problem with a message or settings within their bounds; so are the packages of put_packages. */
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bampi/agent/image_manifest.h"
#include "bampi/agent/os_network.h"
#include "bampi/agent/package_files.h"
#include "bampi/agent/task.h"
#include "bampi/agent/task_guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_settings(const struct task *task)
{
	static struct os_settings settings;
	CLEANUP(text_done) struct text text = {0};
	struct problem problem = {0};

	if (os_settings_read(task->params, &settings, &problem)) {
		if (!problem.message[0])
			abort();
		return;
	}
	if (strpbrk(settings.hostname, "/\n ") || settings.nic_count > OS_NIC_LIMIT)
		abort();
	for (size_t i = 0; i < settings.nic_count; i++) {
		const struct os_nic *nic = &settings.nics[i];

		/* Bonds before members, VLANs behind what they lie on, each on something that is.
		 */
		if (nic->parent != OS_NONE && nic->parent >= i)
			abort();
		if ((nic->kind == OS_VLAN) != (nic->vlan != 0) ||
		    (nic->kind == OS_NIC && nic->parent != OS_NONE &&
		     (nic->addressed || settings.nics[nic->parent].kind != OS_BOND)))
			abort();
		if (nic->kind != OS_NIC)
			os_netdev_text(&settings, i, &text);
		os_network_text(&settings, i, &text);
	}
	os_netplan_text(&settings, &text);
	os_hosts_text(&settings, &text);
	os_interfaces_text(&settings, &text);
	os_keys_text(&settings, &text);
}

static void check_manifest(const struct task *task)
{
	struct image_manifest manifest;
	struct public_keys keys = {.count = 1};
	struct problem problem = {0};
	json_t *json = json_object_get(task->params, "manifest");
	const char *signature = json_string_value(json_object_get(task->params, "signature"));

	if (!json)
		return;
	if (image_manifest_decode(json, &manifest, &problem) == 0) {
		if (manifest.size_bytes == 0 || manifest.size_bytes % 512 ||
		    manifest.root_partition > 128)
			abort();
	} else if (!problem.message[0]) {
		abort();
	}
	/* Nobody can sign for the key of zeros' neighbour by chance. */
	keys.keys[0][0] = 0x2a;
	if (image_manifest_read(json, signature, &keys, &manifest, &problem) == 0)
		abort();
}

/* What is accepted makes files of one folder only, each once, and lines of two words. */
static void check_packages(const struct task *task)
{
	static struct package_list list;
	CLEANUP(text_done) struct text lines = {0};
	struct problem problem = {0};

	if (package_list_read(task->params, &list, &problem)) {
		if (!problem.message[0])
			abort();
		return;
	}
	if (list.count == 0 || list.count > PACKAGE_LIMIT)
		abort();
	for (size_t i = 0; i < list.count; i++) {
		const char *file = list.packages[i].file;

		if (strpbrk(file, "/\n ") || file[0] == '.' || file[0] == '-' ||
		    strcmp(file, "list") == 0 || strcmp(file, "install") == 0 ||
		    list.packages[i].size_bytes == 0 || strchr(list.packages[i].name, '_'))
			abort();
		for (size_t j = 0; j < i; j++) {
			if (strcmp(file, list.packages[j].file) == 0)
				abort();
		}
	}
	package_list_text(&list, &lines);
}

#define AGENT_TASK_TOKEN "0123456789abcdef0123456789abcdef"

/* The loopback interface's: it is there wherever this runs. */
static const char agent_task_mac[] = "00:00:00:00:00:00";

static struct task_guard agent_task_guard(uint8_t secret[crypto_sign_SECRETKEYBYTES])
{
	static const uint8_t seed[crypto_sign_SEEDBYTES] = {7};
	struct task_guard guard = {.keys.count = 1};

	if (sodium_init() < 0 || crypto_sign_seed_keypair(guard.keys.keys[0], secret, seed) != 0)
		abort();
	digest_text(AGENT_TASK_TOKEN, strlen(AGENT_TASK_TOKEN), guard.boot);
	digest_text("agent", 5, guard.agent);
	return guard;
}

static void check_unsigned(const uint8_t *data, size_t size, const struct agent_env *env)
{
	uint8_t secret[crypto_sign_SECRETKEYBYTES];
	struct task_guard guard = agent_task_guard(secret);
	CLEANUP(task_freep) struct task *task = NULL;
	struct problem problem = {0};

	if (task_new((const char *)data, size, env, &guard, &task, &problem))
		return;
	if (task->row || !task->refused || !task->problem.message[0] || guard.newest)
		abort();
}

/* As bampid would post it. NULL: it could not. */
static char *agent_task_signed(json_t *json, const struct task_guard *guard,
			       const uint8_t secret[crypto_sign_SECRETKEYBYTES])
{
	struct task_statement statement = {.task = 7, .deployment = 1, .expires_ms = 1};
	const char *kind = json_string_value(json_object_get(json, "kind"));
	json_t *value = json_object_get(json, "params");
	CLEANUP(freep)
	char *params = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	CLEANUP(json_decrefp) json_t *message = NULL;
	uint8_t signature[TASK_SIGNATURE_SIZE];
	char signature_text[TASK_SIGNATURE_TEXT_SIZE];
	char text[TASK_STATEMENT_SIZE];

	if (!kind || !params || !text_copy(statement.kind, sizeof(statement.kind), kind))
		return NULL;
	(void)text_copy(statement.node, sizeof(statement.node), "n1");
	(void)text_copy(statement.mac, sizeof(statement.mac), agent_task_mac);
	(void)text_copy(statement.boot, sizeof(statement.boot), guard->boot);
	(void)text_copy(statement.agent, sizeof(statement.agent), guard->agent);
	digest_text(params, strlen(params), statement.params);
	if (task_statement_encode(&statement, text) != 0)
		return NULL;
	(void)crypto_sign_detached(signature, NULL, (const uint8_t *)text, strlen(text), secret);
	hex_encode(signature, sizeof(signature), signature_text);
	message = json_pack("{s:i, s:s, s:s, s:s}", "id", 7, "statement", text, "params", params,
			    "signature", signature_text);
	return message ? json_dumps(message, JSON_COMPACT) : NULL;
}

static void check_signed(json_t *json, const struct agent_env *env)
{
	static const char safe[] = "0123456789";
	uint8_t secret[crypto_sign_SECRETKEYBYTES];
	struct task_guard guard = agent_task_guard(secret);
	CLEANUP(freep) char *message = agent_task_signed(json, &guard, secret);
	CLEANUP(task_freep) struct task *task = NULL;
	CLEANUP(text_done) struct text body = {0};
	struct problem problem = {0};

	if (!message || task_new(message, strlen(message), env, &guard, &task, &problem))
		return;
	if (task->refused || guard.newest != 7 || task->id[strspn(task->id, safe)])
		abort();
	check_settings(task);
	check_packages(task);
	check_manifest(task);
	if (!task->row) {
		json_t *result = NULL;

		/* The problem quotes the kind: it must still be JSON. */
		task_result_json(task, &body);
		if (json_read(text_get(&body), body.size, JSON_LIMIT_DEFAULT, &result, &problem))
			abort();
		json_decref(result);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct agent_env env = {.root = "", .token = AGENT_TASK_TOKEN};
	CLEANUP(json_decrefp) json_t *json = NULL;
	struct problem problem = {0};

	check_unsigned(data, size, &env);
	if (json_read((const char *)data, size, JSON_LIMIT_DEFAULT, &json, &problem) == 0 &&
	    json_is_object(json))
		check_signed(json, &env);
	return 0;
}
