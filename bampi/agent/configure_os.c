#include "bampi/agent/configure_os.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/io/log.h"
#include "common/net/ipv4.h"

#include "bampi/agent/os_mount.h"
#include "bampi/agent/os_network.h"
#include "bampi/agent/rooted.h"
#include "bampi/agent/sysfs.h"

#define AGENT_CONFIGURE_OS_SUBJECT   "os"
#define AGENT_CONFIGURE_OS_NIC_LIMIT 256

/* --- the files --- */

static bool has_udev(int root_fd)
{
	static const char *const programs[] = {"/lib/systemd/systemd-udevd",
					       "/usr/lib/systemd/systemd-udevd", "/sbin/udevd",
					       "/usr/sbin/udevd"};

	for (size_t i = 0; i < COUNT_OF(programs); i++)
		if (rooted_exists(root_fd, programs[i]))
			return true;
	return false;
}

static int find_nic(const struct agent_env *env, char (*names)[64], size_t count, struct mac wanted,
		    const char **ret)
{
	for (size_t i = 0; i < count; i++) {
		char line[32];
		struct mac mac;

		/* A bridge or bond has the MAC of its member: only what has a device is a NIC. */
		if (mac_parse(sysfs_line(env, line, sizeof(line), "/sys/class/net/%s/address",
					 names[i]),
			      &mac) == 0 &&
		    mac_equal(mac, wanted) &&
		    *sysfs_link_name(env, line, sizeof(line), "/sys/class/net/%s/device",
				     names[i])) {
			*ret = names[i];
			return 0;
		}
	}
	return E_NOT_FOUND;
}

/* "net0.1301"; where that is too long for the kernel, by its place. */
static void agent_configure_os_name_vlans(struct os_settings *settings)
{
	for (size_t i = 0; i < settings->nic_count; i++) {
		struct os_nic *nic = &settings->nics[i];

		if (nic->kind == OS_VLAN &&
		    !text_format(nic->name, sizeof(nic->name), "%s.%u",
				 settings->nics[nic->parent].name, (unsigned)nic->vlan))
			(void)text_format(nic->name, sizeof(nic->name), "v%zu.%u", i,
					  (unsigned)nic->vlan);
	}
}

/* A tenant may have called its bond what a NIC is called. */
static int names_differ(const struct os_settings *settings, struct problem *problem)
{
	for (size_t i = 0; i < settings->nic_count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (strcmp(settings->nics[i].name, settings->nics[j].name) != 0)
				continue;
			(void)problem_set(problem, E_CONFLICT, "two interfaces would be called %s",
					  settings->nics[i].name);
			problem_hint(problem, "give the bond another name");
			return problem->code;
		}
	}
	return 0;
}

int configure_os_name_nics(const struct agent_env *env, int root_fd, struct os_settings *settings,
			   struct problem *problem)
{
	CLEANUP(freep) char(*names)[64] = calloc(AGENT_CONFIGURE_OS_NIC_LIMIT, sizeof(*names));
	bool udev = has_udev(root_fd);
	size_t number = 0;
	size_t count;

	if (!names)
		return -ENOMEM;
	count = sysfs_names(env, "/sys/class/net", names, AGENT_CONFIGURE_OS_NIC_LIMIT);
	for (size_t i = 0; i < settings->nic_count; i++) {
		struct os_nic *nic = &settings->nics[i];
		const char *name = "";
		char mac[MAC_TEXT_SIZE];

		if (nic->kind != OS_NIC)
			continue;
		if (find_nic(env, names, count, nic->mac, &name)) {
			(void)problem_set(problem, E_NOT_FOUND, "the node has no NIC %s",
					  mac_text(nic->mac, mac));
			problem_hint(
				problem,
				"compare the node's NICs in the database with a fresh inventory");
			return problem->code;
		}
		/* Names of the kernel's own pattern (eth0) must not be given out by udev: two could
		 * swap and block each other. */
		if (udev)
			(void)text_format(nic->name, sizeof(nic->name), "net%zu", number++);
		else
			(void)text_copy(nic->name, sizeof(nic->name), name);
	}
	agent_configure_os_name_vlans(settings);
	return names_differ(settings, problem);
}

struct os_tree {
	int root_fd;
	struct problem *problem;
	int rc; /* of the first that failed */
};

static void agent_configure_os_folder(struct os_tree *tree, const char *path, mode_t mode)
{
	int rc = tree->rc ? 0 : rooted_make_folder(tree->root_fd, path, mode);

	if (rc)
		tree->rc = problem_set(tree->problem, rc, "%s in the image cannot be made: %s",
				       path, error_text(rc));
}

static void agent_configure_os_file(struct os_tree *tree, const char *path, mode_t mode,
				    const struct text *content)
{
	int rc;

	if (tree->rc)
		return;
	rc = content->failed
		     ? -ENOMEM
		     : rooted_write(tree->root_fd, path, text_get(content), content->size, mode);
	if (rc)
		tree->rc = problem_set(tree->problem, rc, "%s in the image cannot be written: %s",
				       path, error_text(rc));
}

/* By what brings up networks in the image. Where ifupdown and networkd both are (Debian has the
 * latter in package systemd, off), ifupdown is what runs. */
static enum os_format agent_configure_os_format_of(int root_fd)
{
	static const struct {
		const char *path;
		enum os_format format;
	} rows[] = {
		{"/usr/sbin/netplan", OS_NETPLAN},
		{"/sbin/ifup", OS_IFUPDOWN},
		{"/usr/sbin/ifup", OS_IFUPDOWN},
		{"/lib/systemd/systemd-networkd", OS_NETWORKD},
		{"/usr/lib/systemd/systemd-networkd", OS_NETWORKD},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rooted_exists(root_fd, rows[i].path))
			return rows[i].format;
	}
	return OS_IFUPDOWN;
}

static void networkd_files(struct os_tree *tree, const struct os_settings *settings)
{
	CLEANUP(text_done) struct text content = {0};
	char path[80];

	agent_configure_os_folder(tree, "/etc/systemd/network", 0755);
	for (size_t i = 0; i < settings->nic_count; i++) {
		const struct os_nic *nic = &settings->nics[i];

		text_clear(&content);
		os_network_text(settings, i, &content);
		(void)text_format(path, sizeof(path), "/etc/systemd/network/20-haas-%s.network",
				  nic->name);
		agent_configure_os_file(tree, path, 0644, &content);
		if (nic->kind == OS_NIC)
			continue;
		text_clear(&content);
		os_netdev_text(settings, i, &content);
		(void)text_format(path, sizeof(path), "/etc/systemd/network/20-haas-%s.netdev",
				  nic->name);
		agent_configure_os_file(tree, path, 0644, &content);
	}
}

static void network_files(struct os_tree *tree, const struct os_settings *settings)
{
	CLEANUP(text_done) struct text content = {0};

	if (settings->nic_count == 0)
		return; /* the image's own default stays */
	switch (agent_configure_os_format_of(tree->root_fd)) {
	case OS_IFUPDOWN:
		os_interfaces_text(settings, &content);
		agent_configure_os_folder(tree, "/etc/network", 0755);
		agent_configure_os_file(tree, "/etc/network/interfaces", 0644, &content);
		break;
	case OS_NETWORKD: networkd_files(tree, settings); break;
	case OS_NETPLAN:
		os_netplan_text(settings, &content);
		agent_configure_os_folder(tree, "/etc/netplan", 0755);
		agent_configure_os_file(tree, "/etc/netplan/90-haas.yaml", 0600, &content);
		break;
	}
	if (!has_udev(tree->root_fd))
		return;
	agent_configure_os_folder(tree, "/etc/systemd/network", 0755);
	for (size_t i = 0; i < settings->nic_count; i++) {
		char path[64];

		if (settings->nics[i].kind != OS_NIC)
			continue;
		text_clear(&content);
		os_link_text(&settings->nics[i], &content);
		(void)text_format(path, sizeof(path), "/etc/systemd/network/10-haas-%s.link",
				  settings->nics[i].name);
		agent_configure_os_file(tree, path, 0644, &content);
	}
}

static void access_files(struct os_tree *tree, const struct os_settings *settings)
{
	CLEANUP(text_done) struct text content = {0};

	agent_configure_os_folder(tree, "/root", 0700);
	agent_configure_os_folder(tree, "/root/.ssh", 0700);
	os_keys_text(settings, &content);
	agent_configure_os_file(tree, "/root/.ssh/authorized_keys", 0600, &content);
}

static void haas_files(struct os_tree *tree, const struct os_settings *settings)
{
	CLEANUP(text_done) struct text content = {0};

	agent_configure_os_folder(tree, "/etc/haas", 0755);
	if (settings->callback) {
		os_callback_text(settings, &content);
		agent_configure_os_file(tree, "/etc/haas/callback", 0600, &content);
	}
	if (!settings->user_data)
		return;
	text_clear(&content);
	text_add(&content, settings->user_data);
	agent_configure_os_file(tree, "/etc/haas/user-data", 0700, &content);
	/* The OS runs user-data once and removes this first. */
	text_clear(&content);
	agent_configure_os_file(tree, "/etc/haas/user-data.pending", 0600, &content);
}

/* Debian's open-iscsi looks below /etc/iscsi, others below /var/lib/iscsi. */
static void volume_files(struct os_tree *tree, const struct os_settings *settings)
{
	const char *base =
		rooted_exists(tree->root_fd, "/var/lib/iscsi") ? "/var/lib/iscsi" : "/etc/iscsi";
	char path[OS_ISCSI_SIZE + 64];
	char address[IPV4_TEXT_SIZE];
	struct text content = {0};

	if (!settings->initiator)
		return;
	agent_configure_os_folder(tree, "/etc/iscsi", 0755);
	os_initiator_text(settings, &content);
	agent_configure_os_file(tree, "/etc/iscsi/initiatorname.iscsi", 0600, &content);
	(void)text_format(path, sizeof(path), "%s/nodes", base);
	agent_configure_os_folder(tree, path, 0700);
	for (size_t i = 0; i < settings->volume_count; i++) {
		const struct os_volume *volume = &settings->volumes[i];

		(void)text_format(path, sizeof(path), "%s/nodes/%s", base, volume->target);
		agent_configure_os_folder(tree, path, 0700);
		(void)text_format(path, sizeof(path), "%s/nodes/%s/%s,%u,1", base, volume->target,
				  ipv4_text(volume->portal, address), (unsigned)volume->port);
		agent_configure_os_folder(tree, path, 0700);
		(void)text_format(path, sizeof(path), "%s/nodes/%s/%s,%u,1/default", base,
				  volume->target, address, (unsigned)volume->port);
		text_clear(&content);
		os_volume_text(volume, &content);
		agent_configure_os_file(tree, path, 0600, &content);
		if (content.data)
			sodium_memzero(content.data, content.size);
	}
	text_done(&content);
}

int configure_os_open_secrets(const struct agent_key *key, struct os_settings *settings,
			      struct problem *problem)
{
	for (size_t i = 0; i < settings->volume_count; i++) {
		struct os_volume *volume = &settings->volumes[i];
		uint8_t sealed[SEAL_SIZE_MAX];
		size_t size = strlen(volume->sealed) / 2;
		int rc = E_DENIED;

		if (size > sizeof(sealed) || strlen(volume->sealed) % 2 ||
		    hex_decode(volume->sealed, sealed, size) != 0)
			rc = E_MALFORMED;
		else if (key)
			rc = agent_key_open(key, sealed, size, volume->secret,
					    sizeof(volume->secret));
		if (rc == 0 &&
		    volume->secret[strspn(volume->secret, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM"
							  "NOPQRSTUVWXYZ0123456789-_")] != '\0')
			rc = E_MALFORMED; /* it would not be one word of the record */
		if (rc) {
			(void)problem_set(problem, rc,
					  "the secret of volume %s cannot be opened: %s",
					  volume->target, error_text(rc));
			problem_hint(problem,
				     "the next attempt has one for this start of the agent");
			return rc;
		}
	}
	return 0;
}

/* The mount's own descriptor names a place only (O_PATH); syncfs wants one that is open. */
static void agent_configure_os_flush(struct os_tree *tree)
{
	CLEANUP(closep) int fd = openat(tree->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd) < 0)
		tree->rc =
			problem_set(tree->problem, -errno,
				    "the root partition cannot be flushed: %s", error_text(-errno));
}

int configure_os_tree(int root_fd, const struct os_settings *settings, struct problem *problem)
{
	CLEANUP(text_done) struct text content = {0};
	struct os_tree tree = {.root_fd = root_fd, .problem = problem};

	agent_configure_os_folder(&tree, "/etc", 0755);
	text_addf(&content, "%s\n", settings->hostname);
	agent_configure_os_file(&tree, "/etc/hostname", 0644, &content);
	text_clear(&content);
	os_hosts_text(settings, &content);
	agent_configure_os_file(&tree, "/etc/hosts", 0644, &content);
	network_files(&tree, settings);
	access_files(&tree, settings);
	haas_files(&tree, settings);
	volume_files(&tree, settings);
	if (!tree.rc)
		agent_configure_os_flush(&tree);
	return tree.rc;
}

static void settings_freep(struct os_settings **settings)
{
	if (*settings)
		sodium_memzero(*settings, sizeof(**settings));
	free(*settings);
}

int configure_os_run(struct task *task, struct text *data, struct problem *problem)
{
	CLEANUP(settings_freep) struct os_settings *settings = calloc(1, sizeof(*settings));
	CLEANUP(closep) int root_fd = -1;
	char partition[SYSFS_PATH_SIZE];
	int rc;

	if (!settings)
		return -ENOMEM;
	rc = os_settings_read(task->params, settings, problem);
	if (!rc)
		rc = configure_os_open_secrets(task->env->key, settings, problem);
	if (!rc)
		rc = os_partition_find(task, settings->disk, settings->root_partition, partition,
				       problem);
	if (rc)
		return rc;
	task_say(task, 0, 0, "configuring the OS on %s", partition);
	rc = os_mount(partition, &root_fd, problem);
	if (!rc)
		rc = configure_os_name_nics(task->env, root_fd, settings, problem);
	if (!rc)
		rc = configure_os_tree(root_fd, settings, problem);
	if (rc)
		return rc;
	log_info(AGENT_CONFIGURE_OS_SUBJECT, "%s is %s now (nics=%zu keys=%zu volumes=%zu)",
		 partition, settings->hostname, settings->nic_count,
		 json_array_size(settings->ssh_keys), settings->volume_count);
	text_add(data, "{}");
	return 0;
}
