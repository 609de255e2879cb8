#include "bampi/bootd/dhcp/answer_policy.h"

#include <string.h>

#include "common/base/text.h"
#include "common/net/ipv4.h"

#define URL_SIZE 128

/* PXE 2.1 table 2-1: discovery control 8 = boot the file of this reply, ask nobody else. EDK2 ranks
 * such an offer first. */
static const uint8_t pxe_boot_file_only[] = {6, 1, 8, 255};
/* iPXE's 175.176 no-pxedhcp: do not wait 2 s for a ProxyDHCP server. */
static const uint8_t ipxe_no_proxy[] = {176, 1, 1};

enum scheme { SCHEME_NONE, SCHEME_TFTP, SCHEME_HTTP, SCHEME_SCRIPT, SCHEME_SAFE_SCRIPT };

/* Never MTFTP options (43.1-43.5): EDK2 discards such an offer. Option 60 only together with 43,
 * else firmware goes to port 4011. */
static const struct answer {
	enum scheme scheme;
	const char *file;         /* in boot_dir */
	const char *vendor_class; /* option 60 of the reply */
	const void *options;      /* encapsulated, in option `code` */
	uint8_t code;
	uint8_t size;
} answer_policy_answers[CLIENT_KINDS] = {
	[CLIENT_BIOS] = {SCHEME_TFTP, "undionly.kpxe", "PXEClient", pxe_boot_file_only,
			 DHCP_OPTION_VENDOR, sizeof(pxe_boot_file_only)},
	[CLIENT_UEFI_X64] = {SCHEME_TFTP, "snponly.efi", "PXEClient", pxe_boot_file_only,
			     DHCP_OPTION_VENDOR, sizeof(pxe_boot_file_only)},
	[CLIENT_UEFI_ARM64] = {SCHEME_TFTP, "snponly-arm64.efi", "PXEClient", pxe_boot_file_only,
			       DHCP_OPTION_VENDOR, sizeof(pxe_boot_file_only)},
	[CLIENT_HTTP_X64] = {SCHEME_HTTP, "snponly.efi", "HTTPClient", NULL, 0, 0},
	[CLIENT_HTTP_ARM64] = {SCHEME_HTTP, "snponly-arm64.efi", "HTTPClient", NULL, 0, 0},
	[CLIENT_SITE_IPXE] = {SCHEME_SAFE_SCRIPT, NULL, NULL, ipxe_no_proxy, DHCP_OPTION_IPXE,
			      sizeof(ipxe_no_proxy)},
	[CLIENT_IPXE] = {SCHEME_SCRIPT, NULL, NULL, ipxe_no_proxy, DHCP_OPTION_IPXE,
			 sizeof(ipxe_no_proxy)},
};

/* What the configuration names a file for, by the way it boots. U-Boot loads the file and leaves it
 * to its own script what it is. */
static const struct answer configured_answers[CLIENT_FAMILIES] = {
	[CLIENT_FAMILY_PXE] = {SCHEME_TFTP, NULL, "PXEClient", pxe_boot_file_only,
			       DHCP_OPTION_VENDOR, sizeof(pxe_boot_file_only)},
	[CLIENT_FAMILY_HTTP] = {SCHEME_HTTP, NULL, "HTTPClient", NULL, 0, 0},
	[CLIENT_FAMILY_UBOOT] = {SCHEME_TFTP, NULL, NULL, NULL, 0, 0},
};

/* iPXE is not signed. Kernel and ramdisk in one signed program take its place; they ask for the boot
 * script themselves (docs/secure-boot.md). None is made for arm64: nothing is offered there. */
static const struct {
	bool asks; /* firmware that refuses what is not signed */
	const char *file;
} answer_policy_signed[CLIENT_KINDS] = {
	[CLIENT_UEFI_X64] = {true, "agent.efi"},
	[CLIENT_UEFI_ARM64] = {true, NULL},
	[CLIENT_HTTP_X64] = {true, "agent.efi"},
	[CLIENT_HTTP_ARM64] = {true, NULL},
};

static struct answer answer_of(const struct answer_facts *facts)
{
	struct answer answer = answer_policy_answers[facts->client];

	if (facts->client == CLIENT_UNSUPPORTED && facts->boot_file) {
		answer = configured_answers[facts->family];
		answer.file = facts->boot_file;
	}
	if (facts->secure_boot && answer_policy_signed[facts->client].asks) {
		answer.file = answer_policy_signed[facts->client].file;
		/* No script tells this firmware to leave: without a file it goes on to its disk. */
		if (facts->disk || !answer.file)
			answer.scheme = SCHEME_NONE;
	}
	return answer;
}

/* Literal addresses only: EDK2 ranks them above names, and some firmware loses the DNS server on
 * the way. */
static void build_name(const struct answer *answer, const struct answer_facts *facts,
		       char ret[URL_SIZE])
{
	bool safe = answer->scheme == SCHEME_SAFE_SCRIPT && facts->https_port;
	char server[IPV4_TEXT_SIZE];
	char mac[MAC_TEXT_SIZE];

	(void)ipv4_text(facts->server, server);
	switch (answer->scheme) {
	case SCHEME_HTTP:
		(void)text_format(ret, URL_SIZE, "http://%s:%u/boot/file/%s", server,
				  (unsigned)facts->http_port, answer->file);
		break;
	case SCHEME_SCRIPT:
	case SCHEME_SAFE_SCRIPT:
		(void)text_format(ret, URL_SIZE, "%s://%s:%u/boot/script?mac=%s",
				  safe ? "https" : "http", server,
				  (unsigned)(safe ? facts->https_port : facts->http_port),
				  mac_text(facts->mac, mac));
		break;
	case SCHEME_TFTP:
	case SCHEME_NONE: (void)text_copy(ret, URL_SIZE, answer->file ? answer->file : ""); break;
	}
}

bool answer_policy(const struct answer_facts *facts, struct dhcp_message *reply)
{
	const struct answer answer = answer_of(facts);
	char name[URL_SIZE];
	char server[IPV4_TEXT_SIZE];

	if (!facts->node || answer.scheme == SCHEME_NONE)
		return false;

	build_name(&answer, facts, name);
	reply->siaddr = facts->server;
	(void)text_copy(reply->file, sizeof(reply->file), name);
	/* With its terminator: EDK2 writes one into the byte behind the option when it lacks. Some
	 * ROMs read only `file`, others only 66 and 67. */
	dhcp_put(reply, DHCP_OPTION_BOOT_FILE, name, strlen(name) + 1);
	if (answer.scheme == SCHEME_TFTP)
		dhcp_put_text(reply, DHCP_OPTION_TFTP_SERVER, ipv4_text(facts->server, server));
	if (answer.vendor_class)
		dhcp_put_text(reply, DHCP_OPTION_VENDOR_CLASS, answer.vendor_class);
	if (answer.options)
		dhcp_put(reply, answer.code, answer.options, answer.size);
	return true;
}
