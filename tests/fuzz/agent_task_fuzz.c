// links: bampi_agent
/* What a server may send as a task. A task that is taken has an id that is safe in a request line,
 * and its params are read by the same code that the handlers use, which gives a problem with a
 * message or settings within their bounds; so are the packages of put_packages. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bampi/agent/image_manifest.h"
#include "bampi/agent/os_network.h"
#include "bampi/agent/package_files.h"
#include "bampi/agent/task.h"

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
	struct image_keys keys = {.count = 1};
	struct problem problem = {0};
	json_t *json = json_object_get(task->params, "manifest");
	const char *signature = json_string_value(json_object_get(task->params, "signature"));

	if (!json)
		return;
	if (image_manifest_read(json, NULL, NULL, &manifest, &problem) == 0) {
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char safe[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-";
	CLEANUP(task_freep) struct task *task = NULL;
	CLEANUP(text_done) struct text body = {0};
	struct agent_env env = {.root = ""};
	struct problem problem = {0};

	if (task_new((const char *)data, size, &env, &task, &problem))
		return 0;
	if (!task->id[0] || task->id[strspn(task->id, safe)])
		abort();
	check_settings(task);
	check_packages(task);
	check_manifest(task);
	if (!task->row) {
		json_t *json = NULL;

		/* The problem quotes the kind: it must still be JSON. */
		task_result_json(task, &body);
		if (json_read(text_get(&body), body.size, JSON_LIMIT_DEFAULT, &json, &problem))
			abort();
		json_decref(json);
	}
	return 0;
}
