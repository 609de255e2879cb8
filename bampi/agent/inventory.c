#include "bampi/agent/inventory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/file.h"
#include "common/net/ipv4.h"

#include "bampi/agent/bmc_lan.h"
#include "bampi/agent/disk.h"
#include "bampi/agent/inventory_cpu.h"
#include "bampi/agent/neighbor.h"
#include "bampi/agent/sysfs.h"

#define CPUINFO_LIMIT             ((size_t)8 << 20) /* 1.6 KB per thread */
#define AGENT_INVENTORY_NIC_LIMIT 256
#define PCI_LIMIT                 4096
#define LLDP_WAIT_DEFAULT_S       4
#define LLDP_WAIT_LIMIT_S         60

static void add_cpu(const struct agent_env *env, struct text *data)
{
	CLEANUP(freep) char *content = NULL;
	struct inventory_cpu cpu = {0};
	char path[SYSFS_PATH_SIZE];
	size_t size;

	if (sysfs_path(env, path, "/proc/cpuinfo") &&
	    file_read(path, CPUINFO_LIMIT, &content, &size) == 0)
		cpu = inventory_cpu_read(content);
	json_begin_object(data, "cpu");
	json_put_string(data, "model", cpu.model);
	json_put_int(data, "sockets", cpu.sockets);
	json_put_int(data, "cores", cpu.cores);
	json_put_int(data, "threads", cpu.threads);
	json_end_object(data);
}

static int64_t memory_bytes(const struct agent_env *env)
{
	CLEANUP(freep) char *content = NULL;
	char path[SYSFS_PATH_SIZE];
	const char *line;
	size_t size;

	if (!sysfs_path(env, path, "/proc/meminfo") || file_read(path, 65536, &content, &size) != 0)
		return 0;
	line = strstr(content, "MemTotal:");
	return line ? (int64_t)strtoull(line + strlen("MemTotal:"), NULL, 10) * 1024 : 0;
}

static void add_dmi(const struct agent_env *env, struct text *data)
{
	static const struct {
		const char *key;
		const char *file;
	} rows[] = {
		{"serial", "product_serial"},
		{"uuid", "product_uuid"},
		{"vendor", "sys_vendor"},
		{"product", "product_name"},
	};
	char line[128];

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		json_put_string(
			data, rows[i].key,
			sysfs_line(env, line, sizeof(line), "/sys/class/dmi/id/%s", rows[i].file));
}

static void add_bmc(const struct agent_env *env, struct text *data)
{
	struct bmc_lan lan;
	char address[IPV4_TEXT_SIZE];
	char mac[MAC_TEXT_SIZE];

	if (bmc_lan_read(env, &lan)) {
		json_put_null(data, "bmc");
		return;
	}
	json_begin_object(data, "bmc");
	json_put_string(data, "address", lan.address ? ipv4_text(lan.address, address) : NULL);
	json_put_string(data, "mac", mac_is_zero(lan.mac) ? NULL : mac_text(lan.mac, mac));
	json_end_object(data);
}

static int agent_inventory_add_disks(const struct agent_env *env, struct text *data)
{
	CLEANUP(freep) struct disk *disks = NULL;
	size_t count = 0;
	int rc = disk_list(env, &disks, &count);

	if (rc)
		return rc;
	json_begin_array(data, "disks");
	for (size_t i = 0; i < count; i++) {
		json_begin_object(data, NULL);
		json_put_string(data, "name", disks[i].name);
		json_put_string(data, "model", disks[i].model);
		json_put_string(data, "serial", disks[i].serial);
		json_put_int(data, "size_bytes", (int64_t)disks[i].size_bytes);
		json_put_string(data, "kind", disk_kind_text(disks[i].kind));
		json_put_bool(data, "removable", disks[i].removable || disks[i].usb);
		json_put_bool(data, "read_only", disks[i].read_only);
		json_put_bool(data, "rotational", disks[i].rotational);
		json_end_object(data);
	}
	json_end_array(data);
	return 0;
}

/* Only what has a device below it is hardware; tunnels, bridges and lo are not. */
static bool is_nic(const struct agent_env *env, const char *name)
{
	char device[64];

	return *sysfs_link_name(env, device, sizeof(device), "/sys/class/net/%s/device", name) !=
	       '\0';
}

static bool has_link(const struct agent_env *env, const char *name)
{
	return sysfs_int(env, 0, "/sys/class/net/%s/carrier", name) == 1;
}

static void add_lldp(const struct agent_env *env, const char *name, struct text *data)
{
	struct lldp_neighbor neighbor;

	if (!env->neighbors || !neighbor_find(env->neighbors, name, &neighbor)) {
		json_put_null(data, "lldp");
		return;
	}
	json_begin_object(data, "lldp");
	json_put_string(data, "chassis", neighbor.chassis);
	json_put_string(data, "port", neighbor.port);
	json_put_string(data, "system", neighbor.system);
	json_end_object(data);
}

static void agent_inventory_add_nic(const struct agent_env *env, const char *name,
				    struct text *data)
{
	int64_t speed_mbps = sysfs_int(env, 0, "/sys/class/net/%s/speed", name);
	char line[64];

	json_begin_object(data, NULL);
	json_put_string(data, "name", name);
	json_put_string(data, "mac",
			sysfs_line(env, line, sizeof(line), "/sys/class/net/%s/address", name));
	json_put_string(
		data, "driver",
		sysfs_link_name(env, line, sizeof(line), "/sys/class/net/%s/device/driver", name));
	json_put_bool(data, "link", has_link(env, name));
	json_put_int(data, "speed_mbps",
		     speed_mbps > 0 ? speed_mbps : 0); /* -1: the driver does not know */
	add_lldp(env, name, data);
	json_end_object(data);
}

/* Until every NIC with a link has heard its neighbour, or the time is over. */
static int wait_for_neighbors(struct task *task, char (*names)[64], size_t count, int64_t wait_s)
{
	const struct agent_env *env = task->env;

	if (!env->neighbors)
		return 0;
	while (clock_monotonic_ms() - neighbor_table_since_ms(env->neighbors) < wait_s * 1000) {
		bool complete = true;

		for (size_t i = 0; i < count && complete; i++) {
			struct lldp_neighbor neighbor;

			complete = !is_nic(env, names[i]) || !has_link(env, names[i]) ||
				   neighbor_find(env->neighbors, names[i], &neighbor);
		}
		if (complete)
			return 0;
		if (!task_wanted(task))
			return -ECANCELED;
		usleep(50 * 1000);
	}
	return 0;
}

static int agent_inventory_add_nics(struct task *task, int64_t wait_s, struct text *data)
{
	CLEANUP(freep) char(*names)[64] = calloc(AGENT_INVENTORY_NIC_LIMIT, sizeof(*names));
	size_t count;
	int rc;

	if (!names)
		return -ENOMEM;
	count = sysfs_names(task->env, "/sys/class/net", names, AGENT_INVENTORY_NIC_LIMIT);
	rc = wait_for_neighbors(task, names, count, wait_s);
	if (rc)
		return rc;
	json_begin_array(data, "nics");
	for (size_t i = 0; i < count; i++)
		if (is_nic(task->env, names[i]))
			agent_inventory_add_nic(task->env, names[i], data);
	json_end_array(data);
	return 0;
}

/* PCI class codes (PCI Code and ID Assignment 1.11): VGA, 3D controller, processing accelerator. */
static bool is_gpu(const char *class)
{
	static const char *const classes[] = {"0x0300", "0x0302", "0x1200"};

	for (size_t i = 0; i < COUNT_OF(classes); i++)
		if (strncmp(class, classes[i], strlen(classes[i])) == 0)
			return true;
	return false;
}

static int add_gpus(const struct agent_env *env, struct text *data)
{
	CLEANUP(freep) char(*names)[64] = calloc(PCI_LIMIT, sizeof(*names));
	char line[32];
	size_t count;

	if (!names)
		return -ENOMEM;
	count = sysfs_names(env, "/sys/bus/pci/devices", names, PCI_LIMIT);
	json_begin_array(data, "gpus");
	for (size_t i = 0; i < count; i++) {
		if (!is_gpu(sysfs_line(env, line, sizeof(line), "/sys/bus/pci/devices/%s/class",
				       names[i])))
			continue;
		json_begin_object(data, NULL);
		json_put_string(data, "address", names[i]);
		json_put_string(data, "vendor",
				sysfs_line(env, line, sizeof(line),
					   "/sys/bus/pci/devices/%s/vendor", names[i]));
		json_put_string(data, "device",
				sysfs_line(env, line, sizeof(line),
					   "/sys/bus/pci/devices/%s/device", names[i]));
		json_end_object(data);
	}
	json_end_array(data);
	return 0;
}

/* The variable SecureBoot (UEFI 2.10, 3.3) behind its four bytes of attributes; "off" also where there is none. */
static const char *inventory_secure_boot(const struct agent_env *env)
{
	CLEANUP(freep) char *value = NULL;
	char path[SYSFS_PATH_SIZE];
	size_t size = 0;

	if (!sysfs_path(
		    env, path,
		    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c") ||
	    file_read(path, 16, &value, &size))
		return "off";
	return size == 5 && value[4] == 1 ? "on" : "off";
}

int inventory_run(struct task *task, struct text *data, struct problem *problem)
{
	struct json_reader reader = json_reader(task->params);
	int64_t wait_s = json_get_int(&reader, "lldp_wait_s", 0, LLDP_WAIT_LIMIT_S,
				      LLDP_WAIT_DEFAULT_S, false);
	const struct agent_env *env = task->env;
	char path[SYSFS_PATH_SIZE];
	int rc;

	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	task_say(task, 0, 0, "looking at the hardware");
	json_begin_object(data, NULL);
	add_cpu(env, data);
	json_put_int(data, "memory_bytes", memory_bytes(env));
	json_put_string(data, "firmware",
			sysfs_path(env, path, "/sys/firmware/efi") && access(path, F_OK) == 0
				? "uefi"
				: "bios");
	json_put_string(data, "secure_boot", inventory_secure_boot(env));
	add_dmi(env, data);
	add_bmc(env, data);
	rc = agent_inventory_add_disks(env, data);
	if (!rc)
		rc = add_gpus(env, data);
	/* Last, so that the neighbours had the time of all the rest to speak. */
	if (!rc)
		rc = agent_inventory_add_nics(task, wait_s, data);
	json_end_object(data);
	return rc;
}
