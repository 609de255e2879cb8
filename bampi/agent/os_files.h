/* The texts that an installed OS is configured by. Pure; every value that comes from the network is
 * checked here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"
#include "common/net/mac.h"

#define OS_NIC_LIMIT 64
#define OS_NAME_SIZE 16 /* IFNAMSIZ */

#define OS_NONE SIZE_MAX

enum os_kind { OS_NIC, OS_BOND, OS_VLAN };

/* An interface of the OS. Bonds come before their members, VLANs behind what they lie on. */
struct os_nic {
	enum os_kind kind;
	struct mac mac; /* OS_NIC */
	size_t parent;  /* OS_NIC: its bond or OS_NONE; OS_VLAN: what it lies on */
	uint16_t vlan;  /* OS_VLAN */
	char name[OS_NAME_SIZE];
	bool addressed; /* else it is up, and has none */
	bool dhcp;
	uint32_t address; /* host byte order */
	uint8_t length;
	bool has_gateway;
	uint32_t gateway;
};

#define OS_VOLUME_LIMIT 64
#define OS_ISCSI_SIZE   224 /* an iSCSI name has 223 (RFC 7143, 4.2.7.1) */
#define OS_SECRET_SIZE  64

/* A volume that the OS is to log in to at each start. */
struct os_volume {
	const char *target, *user;
	uint32_t portal; /* host byte order */
	uint16_t port;
	const char *sealed;          /* hex; opened by configure_os_open_secrets */
	char secret[OS_SECRET_SIZE]; /* wiped by configure_os_run */
};

struct os_settings {
	const char *hostname; /* borrowed from the params, like all texts here */
	struct os_nic nics[OS_NIC_LIMIT];
	size_t nic_count;
	const json_t *ssh_keys; /* array of strings, or NULL */
	const char *user_data;  /* or NULL */
	const char *callback;   /* or NULL */
	bool callback_console;  /* on the serial console: its networks do not lead there */
	const char *initiator;  /* the node's iSCSI name; NULL = no volumes */
	struct os_volume volumes[OS_VOLUME_LIMIT];
	size_t volume_count;
	uint32_t root_partition;
	const char *disk;
};

/* The params of configure_os; names of NICs and VLANs stay empty. E_MALFORMED with the problem
 * naming the member. */
MUST_USE int os_settings_read(const json_t *params, struct os_settings *ret,
			      struct problem *problem);

void os_hosts_text(const struct os_settings *settings, struct text *ret);
/* systemd.link(5): the NIC with this MAC has this name, whatever order the kernel found it in. */
void os_link_text(const struct os_nic *nic, struct text *ret);
/* /etc/haas/callback: the URL, and "console" on a second line. */
void os_callback_text(const struct os_settings *settings, struct text *ret);
/* /etc/iscsi/initiatorname.iscsi, and a node record of open-iscsi (iscsiadm(8)), with the secret.
 */
void os_initiator_text(const struct os_settings *settings, struct text *ret);
void os_volume_text(const struct os_volume *volume, struct text *ret);
void os_keys_text(const struct os_settings *settings, struct text *ret);
