// links: bampi_agent
/* Configuring an OS: the texts, and a root whose links try to lead out of it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "bampi/agent/configure_os.h"
#include "bampi/agent/os_files.h"
#include "bampi/agent/rooted.h"
#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

static const char params[] =
	"{\"hostname\":\"n7.rack1\",\"disk\":\"vda\",\"root_partition\":2,"
	"\"addresses\":[{\"mac\":\"52:54:00:00:00:07\",\"address\":\"10.2.0.7/22\",\"gateway\":\"10.2.0.1\"},"
	"{\"mac\":\"52:54:00:00:00:08\",\"address\":null,\"gateway\":null}],"
	"\"ssh_keys\":[\"ssh-ed25519 AAAA one\",\"ssh-ed25519 BBBB two\"],"
	"\"user_data\":\"#!/bin/sh\\ntrue\\n\",\"callback\":\"http://10.2.0.1:8080/callback/aa\"}";

struct fixture {
	char top[SCRATCH_SIZE];
	char root[96];
	int root_fd;
	json_t *params;
	struct os_settings settings;
	struct agent_env env;
};

static json_t *parse(const char *text)
{
	struct problem problem = {0};
	json_t *json = NULL;

	assert_int_equal(json_read(text, strlen(text), JSON_LIMIT_DEFAULT, &json, &problem), 0);
	return json;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct problem problem = {0};

	assert_non_null(f);
	scratch_make(f->top, "agent-os");
	(void)text_format(f->root, sizeof(f->root), "%s/root", f->top);
	assert_int_equal(
		shell("cd %s && mkdir -p root/etc outside sys/class/net/eth0/x sys/class/net/eth1/x",
		      f->top),
		0);
	assert_int_equal(
		shell("cd %s/sys/class/net && echo 52:54:00:00:00:08 >eth0/address && "
		      "echo 52:54:00:00:00:07 >eth1/address && ln -s x eth0/device && ln -s x eth1/device",
		      f->top),
		0);
	f->env = (struct agent_env){.root = f->top};
	f->root_fd = open(f->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->root_fd >= 0);
	f->params = parse(params);
	assert_int_equal(os_settings_read(f->params, &f->settings, &problem), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close(f->root_fd);
	scratch_remove(f->top);
	json_decref(f->params);
	free(f);
	return 0;
}

static void assert_file(const struct fixture *f, const char *path, mode_t mode, const char *content)
{
	CLEANUP(freep) char *data = NULL;
	char full[256];
	struct stat st;
	size_t size;

	(void)text_format(full, sizeof(full), "%s%s", f->top, path);
	assert_int_equal(lstat(full, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 07777, mode);
	assert_int_equal(file_read(full, 65536, &data, &size), 0);
	assert_string_equal(data, content);
}

static void test_tree(void **state)
{
	struct fixture *f = *state;
	struct problem problem = {0};

	assert_int_equal(configure_os_name_nics(&f->env, f->root_fd, &f->settings, &problem), 0);
	for (int i = 0; i < 2; i++) { /* twice: the same again */
		assert_int_equal(configure_os_tree(f->root_fd, &f->settings, &problem), 0);
		assert_file(f, "/root/etc/hostname", 0644, "n7.rack1\n");
		assert_file(f, "/root/etc/hosts", 0644,
			    "127.0.0.1 localhost\n10.2.0.7 n7.rack1 n7\n"
			    "::1 localhost ip6-localhost ip6-loopback\n"
			    "ff02::1 ip6-allnodes\nff02::2 ip6-allrouters\n");
		assert_file(
			f, "/root/etc/network/interfaces", 0644,
			"# Written when the node was installed; the names belong to the MACs beside them.\n"
			"auto lo\niface lo inet loopback\n\n"
			"# 52:54:00:00:00:07\nauto eth1\niface eth1 inet static\n"
			"\taddress 10.2.0.7\n\tnetmask 255.255.252.0\n\tgateway 10.2.0.1\n\n"
			"# 52:54:00:00:00:08\nauto eth0\niface eth0 inet dhcp\n");
		assert_file(f, "/root/root/.ssh/authorized_keys", 0600,
			    "ssh-ed25519 AAAA one\nssh-ed25519 BBBB two\n");
		assert_file(f, "/root/etc/haas/callback", 0600,
			    "http://10.2.0.1:8080/callback/aa\n");
		assert_file(f, "/root/etc/haas/user-data", 0700, "#!/bin/sh\ntrue\n");
		assert_file(f, "/root/etc/haas/user-data.pending", 0600, "");
	}
}

static void test_udev(void **state)
{
	struct fixture *f = *state;
	struct problem problem = {0};

	assert_int_equal(
		shell("cd %s/root && mkdir -p usr/lib/systemd && ln -s usr/lib lib && touch usr/lib/systemd/systemd-udevd",
		      f->top),
		0);
	assert_int_equal(configure_os_name_nics(&f->env, f->root_fd, &f->settings, &problem), 0);
	assert_string_equal(f->settings.nics[0].name, "net0");
	assert_int_equal(configure_os_tree(f->root_fd, &f->settings, &problem), 0);
	assert_file(f, "/root/etc/systemd/network/10-haas-net0.link", 0644,
		    "[Match]\nMACAddress=52:54:00:00:00:07\n\n[Link]\nName=net0\n");
	assert_file(f, "/root/etc/systemd/network/10-haas-net1.link", 0644,
		    "[Match]\nMACAddress=52:54:00:00:00:08\n\n[Link]\nName=net1\n");
}

/* A bond of two NICs with an untagged network, a tagged one with and one without an address. */
static const char bonded[] =
	"{\"hostname\":\"n7\",\"disk\":\"vda\",\"root_partition\":2,"
	"\"bonds\":[{\"name\":\"bond0\",\"macs\":[\"52:54:00:00:00:07\",\"52:54:00:00:00:08\"]}],"
	"\"addresses\":[{\"bond\":\"bond0\",\"address\":\"10.2.0.7/22\",\"gateway\":\"10.2.0.1\"},"
	"{\"bond\":\"bond0\",\"vlan\":1301,\"address\":\"10.3.0.7/24\"},"
	"{\"bond\":\"bond0\",\"vlan\":1302,\"address\":\"none\"}]}";

static void configure(struct fixture *f, const char *text)
{
	struct problem problem = {0};

	json_decref(f->params);
	f->params = parse(text);
	assert_int_equal(os_settings_read(f->params, &f->settings, &problem), 0);
	assert_int_equal(configure_os_name_nics(&f->env, f->root_fd, &f->settings, &problem), 0);
	assert_int_equal(configure_os_tree(f->root_fd, &f->settings, &problem), 0);
}

static void test_bond_by_ifupdown(void **state)
{
	struct fixture *f = *state;

	configure(f, bonded);
	assert_file(
		f, "/root/etc/network/interfaces", 0644,
		"# Written when the node was installed; the names belong to the MACs beside them.\n"
		"auto lo\niface lo inet loopback\n\n"
		"auto bond0\niface bond0 inet static\n"
		"\taddress 10.2.0.7\n\tnetmask 255.255.252.0\n\tgateway 10.2.0.1\n"
		"\tpre-up modprobe bonding max_bonds=0 2>/dev/null || true\n"
		"\tpre-up [ -d /sys/class/net/bond0 ] || echo +bond0 >/sys/class/net/bonding_masters\n"
		"\tpre-up cd /sys/class/net/bond0/bonding && echo 802.3ad >mode && echo 100 >miimon"
		" && echo fast >lacp_rate && echo layer3+4 >xmit_hash_policy\n"
		"\tpre-up ip link set dev eth1 down; echo +eth1 >/sys/class/net/bond0/bonding/slaves\n"
		"\tpre-up ip link set dev eth0 down; echo +eth0 >/sys/class/net/bond0/bonding/slaves\n"
		"\tpost-down echo -bond0 >/sys/class/net/bonding_masters\n\n"
		"# 52:54:00:00:00:07 is eth1, of bond0\n\n"
		"# 52:54:00:00:00:08 is eth0, of bond0\n\n"
		"auto bond0.1301\niface bond0.1301 inet static\n"
		"\taddress 10.3.0.7\n\tnetmask 255.255.255.0\n"
		"\tpre-up [ -d /sys/class/net/bond0.1301 ] || ip link add link bond0 name bond0.1301 type vlan id 1301\n"
		"\tpost-down ip link del dev bond0.1301\n\n"
		"auto bond0.1302\niface bond0.1302 inet manual\n"
		"\tpre-up [ -d /sys/class/net/bond0.1302 ] || ip link add link bond0 name bond0.1302 type vlan id 1302\n"
		"\tpost-down ip link del dev bond0.1302\n"
		"\tup ip link set dev bond0.1302 up\n");
}

static void test_bond_by_networkd(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(shell("cd %s/root && mkdir -p usr/lib/systemd && touch "
			       "usr/lib/systemd/systemd-udevd usr/lib/systemd/systemd-networkd",
			       f->top),
			 0);
	configure(f, bonded);
	assert_file(f, "/root/etc/systemd/network/20-haas-bond0.netdev", 0644,
		    "[NetDev]\nName=bond0\nKind=bond\n\n[Bond]\nMode=802.3ad\n"
		    "LACPTransmitRate=fast\nMIIMonitorSec=100ms\nTransmitHashPolicy=layer3+4\n");
	assert_file(f, "/root/etc/systemd/network/20-haas-bond0.network", 0644,
		    "[Match]\nName=bond0\n\n[Network]\nAddress=10.2.0.7/22\nGateway=10.2.0.1\n"
		    "VLAN=bond0.1301\nVLAN=bond0.1302\n");
	assert_file(f, "/root/etc/systemd/network/20-haas-net0.network", 0644,
		    "[Match]\nName=net0\n\n[Network]\nBond=bond0\n");
	assert_file(f, "/root/etc/systemd/network/20-haas-bond0.1302.netdev", 0644,
		    "[NetDev]\nName=bond0.1302\nKind=vlan\n\n[VLAN]\nId=1302\n");
	assert_file(f, "/root/etc/systemd/network/20-haas-bond0.1302.network", 0644,
		    "[Match]\nName=bond0.1302\n\n[Network]\nLinkLocalAddressing=no\n");
	assert_file(f, "/root/etc/systemd/network/10-haas-net1.link", 0644,
		    "[Match]\nMACAddress=52:54:00:00:00:08\n\n[Link]\nName=net1\n");
	assert_int_equal(shell("test ! -e %s/root/etc/network/interfaces", f->top), 0);
}

static void test_bond_by_netplan(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(shell("cd %s/root && mkdir -p usr/sbin && touch usr/sbin/netplan", f->top),
			 0);
	configure(f, bonded);
	assert_file(
		f, "/root/etc/netplan/90-haas.yaml", 0600,
		"# Written when the node was installed.\nnetwork:\n  version: 2\n  ethernets:\n"
		"    eth1:\n      match: {macaddress: \"52:54:00:00:00:07\"}\n      set-name: eth1\n"
		"      link-local: []\n"
		"    eth0:\n      match: {macaddress: \"52:54:00:00:00:08\"}\n      set-name: eth0\n"
		"      link-local: []\n"
		"  bonds:\n    bond0:\n      interfaces: [eth1, eth0]\n"
		"      parameters: {mode: 802.3ad, lacp-rate: fast, mii-monitor-interval: 100, "
		"transmit-hash-policy: layer3+4}\n"
		"      addresses: [10.2.0.7/22]\n      routes: [{to: 0.0.0.0/0, via: 10.2.0.1}]\n"
		"  vlans:\n    bond0.1301:\n      id: 1301\n      link: bond0\n"
		"      addresses: [10.3.0.7/24]\n"
		"    bond0.1302:\n      id: 1302\n      link: bond0\n      link-local: []\n");
}

/* Two NICs, one a trunk with an untagged network; and one that the bond's name would hide. */
static void test_trunk(void **state)
{
	struct fixture *f = *state;
	struct problem problem = {0};
	json_t *json;

	configure(f, "{\"hostname\":\"n7\",\"disk\":\"vda\",\"root_partition\":2,\"addresses\":["
		     "{\"mac\":\"52:54:00:00:00:07\",\"vlan\":7,\"address\":\"10.3.0.7/24\"},"
		     "{\"mac\":\"52:54:00:00:00:07\",\"address\":\"10.2.0.7/22\"},"
		     "{\"mac\":\"52:54:00:00:00:08\",\"vlan\":7,\"address\":\"dhcp\"}]}");
	assert_file(
		f, "/root/etc/network/interfaces", 0644,
		"# Written when the node was installed; the names belong to the MACs beside them.\n"
		"auto lo\niface lo inet loopback\n\n"
		"# 52:54:00:00:00:07\nauto eth1\niface eth1 inet static\n"
		"\taddress 10.2.0.7\n\tnetmask 255.255.252.0\n\n"
		"auto eth1.7\niface eth1.7 inet static\n\taddress 10.3.0.7\n\tnetmask 255.255.255.0\n"
		"\tpre-up [ -d /sys/class/net/eth1.7 ] || ip link add link eth1 name eth1.7 type vlan id 7\n"
		"\tpost-down ip link del dev eth1.7\n\n"
		"# 52:54:00:00:00:08\nauto eth0\niface eth0 inet manual\n\tup ip link set dev eth0 up\n\n"
		"auto eth0.7\niface eth0.7 inet dhcp\n"
		"\tpre-up [ -d /sys/class/net/eth0.7 ] || ip link add link eth0 name eth0.7 type vlan id 7\n"
		"\tpost-down ip link del dev eth0.7\n");
	json = parse(
		"{\"hostname\":\"n7\",\"disk\":\"vda\",\"root_partition\":2,\"bonds\":[{\"name\":"
		"\"eth1\",\"macs\":[\"52:54:00:00:00:07\"]}]}");
	assert_int_equal(os_settings_read(json, &f->settings, &problem), 0);
	assert_int_equal(configure_os_name_nics(&f->env, f->root_fd, &f->settings, &problem),
			 E_CONFLICT);
	json_decref(json);
}

static void test_unknown_nic(void **state)
{
	struct fixture *f = *state;
	struct problem problem = {0};

	f->settings.nics[0].mac.bytes[5] = 0x99;
	assert_int_equal(configure_os_name_nics(&f->env, f->root_fd, &f->settings, &problem),
			 E_NOT_FOUND);
	assert_non_null(strstr(problem.message, "52:54:00:00:00:99"));
}

/* The image's maker left links that point out of the root. */
static void test_links(void **state)
{
	struct fixture *f = *state;
	struct problem problem = {0};
	char outside[128];

	assert_int_equal(
		shell("cd %s && ln -s ../../outside/hosts root/etc/hosts && ln -s /outside root/etc/haas && "
		      "mkdir root/home && ln -s /home root/root && echo untouched >outside/hosts && "
		      "echo untouched >outside/callback",
		      f->top),
		0);
	/* /etc/haas leads to /outside of the root, which is not there: no folder, no file, no
	 * escape */
	assert_int_not_equal(configure_os_tree(f->root_fd, &f->settings, &problem), 0);
	assert_file(f, "/outside/callback", 0644, "untouched\n");
	assert_file(f, "/outside/hosts", 0644, "untouched\n");
	(void)text_format(outside, sizeof(outside), "%s/outside/.ssh", f->top);
	assert_int_not_equal(access(outside, F_OK), 0);
	/* the link itself was replaced, and a folder's link was followed inside the root */
	assert_file(f, "/root/home/.ssh/authorized_keys", 0600,
		    "ssh-ed25519 AAAA one\nssh-ed25519 BBBB two\n");
	assert_int_equal(shell("test ! -L %s/root/etc/hosts", f->top), 0);
}

static void test_bad_settings(void **state)
{
	static const char *const patches[] = {
		"{\"hostname\":\"\"}",
		"{\"hostname\":\"a\\nb\"}",
		"{\"hostname\":\"-a\"}",
		"{\"hostname\":\"a..b\"}",
		"{\"hostname\":\"a/../b\"}",
		"{\"hostname\":\"a.\"}",
		"{\"hostname\":7}",
		"{\"callback\":\"file:///etc/passwd\"}",
		"{\"callback_console\":\"yes\"}",
		"{\"callback\":\"http://a\\nb\"}",
		"{\"ssh_keys\":\"one\"}",
		"{\"ssh_keys\":[\"one\\ntwo\"]}",
		"{\"ssh_keys\":[7]}",
		"{\"addresses\":{}}",
		"{\"addresses\":[{\"mac\":\"x\"}]}",
		"{\"addresses\":[{\"mac\":\"52:54:00:00:00:07\",\"address\":\"10.2.0.7\"}]}",
		"{\"addresses\":[{\"mac\":\"52:54:00:00:00:07\",\"address\":\"10.2.0.7/33\"}]}",
		"{\"addresses\":[{\"mac\":\"52:54:00:00:00:07\",\"address\":\"10.2.0.7/24\",\"gateway\":\"x\"}]}",
		"{\"addresses\":[{\"bond\":\"bond0\",\"address\":\"none\"}]}",
		"{\"addresses\":[{\"mac\":\"52:54:00:00:00:07\",\"vlan\":4095}]}",
		"{\"addresses\":[{\"mac\":\"52:54:00:00:00:07\",\"vlan\":7},{\"mac\":\"52:54:00:00:00:07\",\"vlan\":7}]}",
		"{\"addresses\":[{\"mac\":\"52:54:00:00:00:07\"},{\"mac\":\"52:54:00:00:00:07\"}]}",
		"{\"bonds\":{}}",
		"{\"bonds\":[{\"name\":\"bond0\",\"macs\":[]}]}",
		"{\"bonds\":[{\"name\":\"bond0\\niface\",\"macs\":[\"52:54:00:00:00:07\"]}]}",
		"{\"bonds\":[{\"name\":\"lo\",\"macs\":[\"52:54:00:00:00:07\"]}]}",
		"{\"bonds\":[{\"name\":\"bond0\",\"macs\":[\"52:54:00:00:00:07\"]}]}",
		"{\"bonds\":[{\"name\":\"bond0\",\"macs\":[\"52:54:00:00:00:09\",\"52:54:00:00:00:09\"]}]}",
		"{\"iscsi\":{}}",
		"{\"iscsi\":{\"initiator\":\"../x\"}}",
		"{\"iscsi\":{\"initiator\":\"iqn.2026-11.a\\nInitiatorName=b\"}}",
		"{\"iscsi\":{\"initiator\":\"iqn.a\",\"volumes\":[{}]}}",
		"{\"iscsi\":{\"initiator\":\"iqn.a\",\"volumes\":[{\"target\":\"iqn.b/../..\",\"portal\":\"10.0.0.1:1\",\"user\":\"u\",\"sealed\":\"00\"}]}}",
		"{\"iscsi\":{\"initiator\":\"iqn.a\",\"volumes\":[{\"target\":\"iqn..b\",\"portal\":\"10.0.0.1:1\",\"user\":\"u\",\"sealed\":\"00\"}]}}",
		"{\"iscsi\":{\"initiator\":\"iqn.a\",\"volumes\":[{\"target\":\"iqn.b\",\"portal\":\"10.0.0.1\",\"user\":\"u\",\"sealed\":\"00\"}]}}",
		"{\"iscsi\":{\"initiator\":\"iqn.a\",\"volumes\":[{\"target\":\"iqn.b\",\"portal\":\"10.0.0.1:65536\",\"user\":\"u\",\"sealed\":\"00\"}]}}",
		"{\"iscsi\":{\"initiator\":\"iqn.a\",\"volumes\":[{\"target\":\"iqn.b\",\"portal\":\"10.0.0.1:1\",\"user\":\"u\\nnode.x = y\",\"sealed\":\"00\"}]}}",
		"{\"iscsi\":{\"initiator\":\"iqn.a\",\"volumes\":[{\"target\":\"iqn.b\",\"portal\":\"10.0.0.1:1\",\"user\":\"u\"}]}}",
		"{\"root_partition\":0}",
		"{\"root_partition\":\"2\"}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(patches); i++) {
		json_t *json = parse(params);
		json_t *patch = parse(patches[i]);
		struct os_settings settings;
		struct problem problem = {0};

		assert_int_equal(json_object_update(json, patch), 0);
		if (os_settings_read(json, &settings, &problem) == 0)
			fail_msg("accepted: %s", patches[i]);
		assert_true(problem.message[0] != '\0');
		json_decref(json);
		json_decref(patch);
	}
}

#define RECORD                                                                                 \
	"# BEGIN RECORD 2.0-873\nnode.name = iqn.2026-11.x:volume.7\nnode.tpgt = 1\n"          \
	"node.startup = automatic\nnode.leading_login = No\niface.iscsi_ifacename = default\n" \
	"iface.transport_name = tcp\nnode.discovery_type = static\n"                           \
	"node.session.auth.authmethod = CHAP\nnode.session.auth.username = v7-2\n"             \
	"node.session.auth.password = 0123456789abcde_\n"                                      \
	"node.session.initial_login_retry_max = 60\nnode.conn[0].address = 100.96.0.1\n"       \
	"node.conn[0].port = 3260\nnode.conn[0].startup = automatic\n# END RECORD\n"

/* A volume's secret is opened with the key of this life alone, and stands in files of root's. */
static void test_volumes(void **state)
{
	static const char record[] = "/nodes/iqn.2026-11.x:volume.7/100.96.0.1,3260,1/default";
	struct fixture *f = *state;
	struct agent_key *key = NULL;
	struct agent_key *other = NULL;
	uint8_t public_key[AGENT_KEY_SIZE];
	uint8_t sealed[SEAL_SIZE_MAX];
	char hex[2 * SEAL_SIZE_MAX + 1];
	char text[2048];
	struct problem problem = {0};
	char path[256];
	size_t size = 0;

	assert_int_equal(agent_key_make(&key), 0);
	assert_int_equal(agent_key_make(&other), 0);
	assert_int_equal(hex_decode(agent_key_text(key), public_key, sizeof(public_key)), 0);
	assert_int_equal(agent_key_seal(public_key, "0123456789abcde_", sealed, &size), 0);
	hex_encode(sealed, size, hex);
	(void)text_format(
		text, sizeof(text),
		"{\"hostname\":\"n7\",\"disk\":\"auto\",\"root_partition\":1,\"iscsi\":{\"initiator\":"
		"\"iqn.2026-11.x:node.n7\",\"volumes\":[{\"target\":\"iqn.2026-11.x:volume.7\","
		"\"portal\":\"100.96.0.1:3260\",\"user\":\"v7-2\",\"sealed\":\"%s\"}]}}",
		hex);
	configure(f, text);
	assert_int_equal(configure_os_open_secrets(other, &f->settings, &problem), E_DENIED);
	assert_int_equal(configure_os_open_secrets(NULL, &f->settings, &problem), E_DENIED);
	assert_int_equal(configure_os_open_secrets(key, &f->settings, &problem), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(configure_os_tree(f->root_fd, &f->settings, &problem), 0);
		assert_file(f, "/root/etc/iscsi/initiatorname.iscsi", 0600,
			    "InitiatorName=iqn.2026-11.x:node.n7\n");
		(void)text_format(path, sizeof(path), "/root/etc/iscsi%s", record);
		assert_file(f, path, 0600, RECORD);
	}
	assert_int_equal(shell("mkdir -p %s/root/var/lib/iscsi", f->top), 0);
	assert_int_equal(configure_os_tree(f->root_fd, &f->settings, &problem), 0);
	(void)text_format(path, sizeof(path), "/root/var/lib/iscsi%s", record);
	assert_file(f, path, 0600, RECORD);
	/* what would begin another line of the record */
	assert_int_equal(agent_key_seal(public_key, "a\nnode.x = y", sealed, &size), 0);
	hex_encode(sealed, size, hex);
	f->settings.volumes[0].sealed = hex;
	assert_int_equal(configure_os_open_secrets(key, &f->settings, &problem), E_MALFORMED);
	f->settings.volumes[0].sealed = "0";
	assert_int_equal(configure_os_open_secrets(key, &f->settings, &problem), E_MALFORMED);
	agent_key_free(key);
	agent_key_free(other);
}

static void callback_may_be_on_the_console(void **state)
{
	static const struct {
		const char *console, *text;
	} rows[] = {
		{"false", "http://a/b\n"},
		{"true", "http://a/b\nconsole\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(json_decrefp) json_t *object = NULL;
		CLEANUP(text_done) struct text given = {0};
		CLEANUP(text_done) struct text text = {0};
		struct os_settings settings;
		struct problem problem = {0};

		text_addf(&given,
			  "{\"hostname\":\"n\",\"disk\":\"vda\",\"root_partition\":1,"
			  "\"callback\":\"http://a/b\",\"callback_console\":%s}",
			  rows[i].console);
		assert_int_equal(json_read(text_get(&given), given.size, JSON_LIMIT_DEFAULT,
					   &object, &problem),
				 0);
		assert_int_equal(os_settings_read(object, &settings, &problem), 0);
		os_callback_text(&settings, &text);
		assert_string_equal(text_get(&text), rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tree, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_udev, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bond_by_ifupdown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bond_by_networkd, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bond_by_netplan, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_trunk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unknown_nic, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_links, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_volumes, set_up, tear_down),
		cmocka_unit_test(test_bad_settings),
		cmocka_unit_test(callback_may_be_on_the_console),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
