/* What kind of client a DHCP message comes from, by options 60, 77, 93 and 175 (RFC 4578; the
 * values seen on real firmware). Pure. */
#pragma once

#include "common/net/dhcp_wire.h"

enum client_kind {
	CLIENT_OTHER, /* an operating system, the agent, anything that does not boot by network */
	CLIENT_BIOS,  /* PXE ROM of a BIOS, wants a loader by TFTP */
	CLIENT_UEFI_X64, /* PXE of UEFI firmware */
	CLIENT_UEFI_ARM64,
	CLIENT_HTTP_X64, /* UEFI HTTP boot */
	CLIENT_HTTP_ARM64,
	CLIENT_IPXE,      /* second stage, or a NIC ROM that is iPXE: wants a script */
	CLIENT_SITE_IPXE, /* the same, and it knows the site's CA: bampi/bootd/ipxe/build */
	CLIENT_BMC,       /* a management controller or DPU: boot options would confuse it */
	/* Boots by network, and we have no loader of our own for its architecture
	 * (architecture_policy.h). */
	CLIENT_UNSUPPORTED,
};
#define CLIENT_KINDS 10

/* How it boots, by how option 60 begins. */
enum client_family {
	CLIENT_FAMILY_OTHER,
	CLIENT_FAMILY_PXE,
	CLIENT_FAMILY_HTTP,
	CLIENT_FAMILY_UBOOT,
	CLIENT_FAMILY_BMC,
};
#define CLIENT_FAMILIES 5
enum client_family client_family(const struct dhcp_message *request);

/* "bios", "uefi-x64", ... for logs and observations. */
const char *client_kind_text(enum client_kind kind);

/* What iPXE without the site's CA gets where scripts come by HTTPS alone: the firmware that it is. */
enum client_kind client_loader_policy(const struct dhcp_message *request);
enum client_kind client_policy(const struct dhcp_message *request);
