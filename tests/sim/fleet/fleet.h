/* fleet: up to 20,000 simulated machines in one process, as the rest of the site meets them on the
 * wire: DHCP through relays, TFTP, boot HTTP, the agent's mailbox, the installed OS, and a BMC each
 * (RMCP+ or Redfish). One loop, one thread; all nodes of a kind share one socket: the addresses are
 * the kernel's (AnyIP: `ip route add local PREFIX dev lo`) and IP_PKTINFO says whose packet it is.
 *
 * Node i (from 0):
 *
 *   name          f<i+1>
 *   place         rack i / rack_size, port i % rack_size + 1
 *   MAC           02:f1:ee:<i>
 *   BMC address   bmc_base + i
 *   relay         <rack>.1 */
#pragma once

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"
#include "common/net/mac.h"

#include "tests/sim/fleet/fleet_fault_table.h"

#define FLEET_NODES_MAX  20000
#define FLEET_RACK_SIZE  200
#define FLEET_NODE_BASE  0x0a800000U /* 10.128.0.0: rack r is 10.128.r.0/24 */
#define FLEET_BMC_BASE   0x0ac00001U /* 10.192.0.1 */
#define FLEET_POOL_FIRST 20          /* in each rack's /24 */
#define FLEET_USER       "fleet"
#define FLEET_PASSWORD   "fleet-secret-1"

struct db;
struct dhcp_message;
struct fleet;
struct fleet_node;
struct fleet_http;
struct fleet_session;
struct fleet_wheel;
struct redfish_bmc;
struct redfish_http;

/* Where a node is in its life. Order of a boot. */
enum fleet_phase {
	FLEET_OFF,
	FLEET_POST,
	FLEET_FIRMWARE_DHCP,
	FLEET_LOADER,
	FLEET_IPXE_DHCP,
	FLEET_SCRIPT,
	FLEET_KERNEL,
	FLEET_RAMDISK,
	FLEET_AGENT_DHCP,
	FLEET_POLL,
	FLEET_WORK,
	FLEET_REPORT,
	FLEET_OS_DHCP,
	FLEET_CALLBACK,
	FLEET_OS,
	FLEET_STOPPED, /* iPXE was told to stop and asks again later */
	FLEET_HUNG,
	FLEET_PHASES
};
extern const char *const fleet_phase_words[FLEET_PHASES];

/* Where --hold stops nodes, in turn, until SIGUSR1. */
enum fleet_place {
	FLEET_AT_SCRIPT,    /* step netboot */
	FLEET_AT_AGENT,     /* agent */
	FLEET_AT_INVENTORY, /* inventory */
	FLEET_AT_WRITE,     /* write_image */
	FLEET_AT_CONFIGURE, /* configure_os */
	FLEET_AT_RESTART,   /* local_boot: the BMC does not hear the reset */
	FLEET_AT_CALLBACK,  /* verify */
	FLEET_PLACES
};

/* What kind of machine it is: firmware and how it fetches its loader. */
struct fleet_model {
	uint16_t arch; /* option 93 */
	const char *firmware, *cpu, *vendor_class;
	bool http;      /* HTTP boot: HEAD, then GET */
	bool asks_size; /* EDK2: one transfer only to learn the size, ended by ERROR 8 */
	uint16_t block_size;
};
const struct fleet_model *fleet_model(const struct fleet_node *node);

struct fleet_tftp {
	char name[128];
	uint32_t server;
	uint16_t port; /* of the transfer; 0 until it answered */
	uint16_t block_size;
	uint16_t block; /* the last one that came */
	uint32_t bytes;
	uint8_t tries;
	bool sizing;
};

/* The lease of a running agent or OS, and the node's place on the wheel of renewals. */
struct fleet_lease {
	uint32_t server;
	int64_t begun_ms, length_ms;
	int64_t due_ms;
	bool asked;             /* an answer is awaited */
	struct fleet_node **at; /* what points to the node; NULL: it is not on the wheel */
	struct fleet_node *next;
};

/* What is on the node's disk, whatever the database believes. */
struct fleet_disk {
	char digest[DIGEST_TEXT_SIZE]; /* of the image that was written whole; "" = none */
	bool dirty;                    /* something of a tenant may be on it */
	bool bootable;                 /* written whole and configured */
	char callback[160];
	char nonce[TOKEN_TEXT_SIZE];
	char called_nonce[TOKEN_TEXT_SIZE]; /* the last one that a callback was answered 204 for */
};

struct fleet_task {
	int64_t id;
	char kind[16];
	const char *problem; /* it failed: why */
	int64_t until_ms;
	/* write_image */
	char url[128];
	char digest[DIGEST_TEXT_SIZE];
	uint64_t size, offset, split, dies_at, cut_at;
	crypto_generichash_state *hash;
	/* configure_os */
	char callback[160];
};

/* The BMC. */
struct fleet_bmc {
	bool on;
	bool claims_on; /* of one that lies */
	bool valid, persistent, efi;
	uint8_t device; /* as boot flags have it: 1 PXE, 2 disk */
	uint8_t session_count;
	uint16_t sel_count;
	struct fleet_session *sessions;
};

struct fleet_node {
	struct fleet *fleet;
	int index;
	struct mac mac; /* of the boot NIC; another's with the fault duplicate_mac */
	enum fleet_phase phase;
	int64_t phase_ms; /* since when */
	struct loop_timer *timer;
	void (*on_timer)(struct fleet_node *node);
	void (*held)(struct fleet_node *node); /* what goes on when the hold is lifted */
	uint16_t occasions[FLEET_FAULTS];      /* how often a fault could have happened */

	/* DHCP */
	uint16_t xid;
	uint8_t dhcp_tries, dhcp_kind;
	bool dhcp_requesting;
	uint32_t address, offered, server_id, next_server;
	char boot_file[160];
	struct fleet_lease lease;

	struct fleet_tftp tftp;
	struct fleet_http *http;

	/* What the script said. */
	uint32_t http_address;
	uint16_t http_port;
	char kernel[128], ramdisk[128];
	char token[TOKEN_TEXT_SIZE];
	char agent_key[DIGEST_TEXT_SIZE]; /* of this boot's agent, made of the token */
	uint8_t agent_secret[crypto_sign_SECRETKEYBYTES];
	bool knows; /* iPXE asks for its script again and names the token */

	struct fleet_task task;
	unsigned retries;
	struct fleet_disk disk;
	struct fleet_bmc bmc;
	struct redfish_bmc *redfish; /* NULL: the BMC speaks RMCP+ */
	unsigned boots, agent_boots, images;
};

struct fleet_times {
	int64_t post_ms;  /* power-on to the first DHCP */
	int64_t load_ms;  /* kernel to agent */
	int64_t task_ms;  /* each task */
	int64_t start_ms; /* the installed OS */
};

struct fleet_options {
	int64_t count;
	int64_t seed;
	uint32_t server; /* where bampi-bootd is */
	struct fleet_times times;
	double faults[FLEET_FAULTS]; /* probabilities */
	double redfish;              /* share of BMCs that speak it */
	char *certificate;           /* PEM with its key, of those BMCs; NULL: plain HTTP */
	char *database;              /* conninfo; NULL: invariants are not checked */
	bool hold;
	bool json;
	bool quiet;
	int64_t overdue_s;
	int64_t report_s;
};

struct fleet_stats {
	uint64_t dhcp_sent, dhcp_received, renewals, rebindings, leases_lost, tftp_blocks,
		http_requests, http_failures, http_connections;
	uint64_t bmc_packets, bmc_sessions, bmc_refused, bmc_commands;
	/* redfish_basic: requests with a password; _refused: sessions and requests; _open and _peak
	 * are sessions: of all BMCs at the end, of one BMC at any time. */
	uint64_t redfish_requests, redfish_sessions, redfish_basic, redfish_refused, redfish_open,
		redfish_peak;
	uint64_t boots, images, image_bytes, tasks, callbacks, refused_callbacks;
	uint64_t checks, violations;
	uint64_t faults[FLEET_FAULTS];
};

struct fleet {
	struct loop *loop;
	struct fleet_options options;
	struct fleet_node *nodes;
	int *holders; /* by place in the node prefix: node index + 1 */
	int relay_fd, client_fd, tftp_fd, size_fd, bmc_fd;
	struct loop_watch *relay_watch, *client_watch, *tftp_watch, *size_watch, *bmc_watch;
	struct fleet_wheel *wheel;
	struct redfish_http *redfish;
	struct fleet_stats stats;
	bool holding;
	struct fleet_check *check;
};

/* --- life (fleet_life.c) --- */
void fleet_node_init(struct fleet *fleet, int index, struct fleet_node *node);
void fleet_node_done(struct fleet_node *node);
/* The BMC's doing. */
void fleet_power(struct fleet_node *node, bool on);
void fleet_reset(struct fleet_node *node);
/* Every change of phase; cancels what was under way. */
void fleet_enter(struct fleet_node *node, enum fleet_phase phase);
void fleet_arm(struct fleet_node *node, int64_t after_ms, void (*fn)(struct fleet_node *node));
/* The node stands still until somebody switches it. */
void fleet_hang(struct fleet_node *node);
void fleet_addressed(struct fleet_node *node);
void fleet_unaddressed(struct fleet_node *node);
void fleet_loaded(struct fleet_node *node, bool ok);
/* True: the node was stopped here, and fn goes on later. */
bool fleet_hold(struct fleet_node *node, enum fleet_place place,
		void (*fn)(struct fleet_node *node));
void fleet_hold_lift(struct fleet *fleet);
/* 50 to 150 % of `ms`, by the seed. */
int64_t fleet_delay(struct fleet_node *node, int64_t ms);

/* --- seeded chance (fleet.c) --- */
bool fleet_fault(struct fleet_node *node, enum fleet_fault fault);
/* Has it always, or never. */
bool fleet_fault_always(struct fleet_node *node, enum fleet_fault fault);
uint64_t fleet_chance(const struct fleet *fleet, int index, unsigned what, unsigned occasion);
void fleet_violation(struct fleet *fleet, const char *invariant, const char *format, ...)
	PRINTF_LIKE(3, 4);
const char *fleet_name(const struct fleet_node *node, char ret[16]);

/* --- addresses --- */
uint32_t fleet_relay_address(int index);
struct fleet_node *fleet_by_address(struct fleet *fleet, uint32_t address);
struct fleet_node *fleet_by_bmc(struct fleet *fleet, uint32_t address);
/* Puts the node into the place of its address; tells a violation when somebody else has it. */
void fleet_take_address(struct fleet_node *node, uint32_t address);
struct mac fleet_mac(int index);

/* --- UDP with the address of whom it is for (fleet_udp.c) --- */
MUST_USE int fleet_udp_open(uint16_t port, int *ret_fd, struct problem *problem);
struct fleet_packet {
	uint8_t *data;
	size_t size;
	uint32_t local, remote;
	uint16_t remote_port;
};
/* The next packet, or false. */
bool fleet_udp_receive(int fd, uint8_t *data, size_t room, struct fleet_packet *ret);
void fleet_udp_send(int fd, const struct fleet_packet *packet);

/* --- DHCP (fleet_dhcp.c) --- */
enum fleet_dhcp_kind {
	FLEET_DHCP_FIRMWARE,
	FLEET_DHCP_IPXE,
	FLEET_DHCP_AGENT,
	FLEET_DHCP_OS,
	FLEET_DHCP_KINDS
};
void fleet_dhcp_start(struct fleet_node *node, enum fleet_dhcp_kind kind);
void fleet_dhcp_readable(void *context, int events);
/* Asks for the node's address again: its server, or any one through the relay. */
void fleet_dhcp_renew(struct fleet_node *node, uint32_t server, bool rebinding);
void fleet_client_readable(void *context, int events);

/* --- renewals (fleet_renew.c) --- */
MUST_USE int fleet_wheel_new(struct fleet *fleet, struct fleet_wheel **ret);
void fleet_wheel_free(struct fleet_wheel *wheel);
/* The node got its address for so long; UINT32_MAX = for ever. */
void fleet_renew_start(struct fleet_node *node, uint32_t server, uint32_t lease_s);
void fleet_renew_stop(struct fleet_node *node);
void fleet_renew_answer(struct fleet_node *node, const struct dhcp_message *reply);

/* --- TFTP (fleet_tftp.c) --- */
void fleet_tftp_start(struct fleet_node *node, uint32_t server, const char *name);
void fleet_tftp_readable(void *context, int events);
void fleet_size_readable(void *context, int events);

/* --- HTTP (fleet_http.c): one exchange at a time per node, its connection kept --- */
struct fleet_ask {
	const char *method, *target;
	uint32_t address;
	uint16_t port;
	const char *token;     /* NULL = none */
	const char *signature; /* of the body, a result; NULL = none */
	const char *range;     /* NULL = none */
	const char *body;      /* JSON; NULL = none */
	int64_t timeout_ms;
	/* Pieces of a 2xx body; false ends the exchange with rc -ECANCELED. NULL: kept for on_done.
	 */
	bool (*on_data)(struct fleet_node *node, const void *data, size_t size);
	/* status 0: no answer. */
	void (*on_done)(struct fleet_node *node, int status, const char *body, size_t size);
};
void fleet_http_ask(struct fleet_node *node, const struct fleet_ask *ask);
/* Also closes the connection. */
void fleet_http_cancel(struct fleet_node *node);
/* "http://a.b.c.d:port/path": false when it is something else. *ret_path lies in `url`. */
bool fleet_http_url(const char *url, uint32_t *ret_address, uint16_t *ret_port,
		    const char **ret_path);

/* --- the agent (fleet_agent.c) --- */
void fleet_agent_start(struct fleet_node *node);
void fleet_agent_done(struct fleet_node *node);

/* --- the BMC (fleet_bmc.c) --- */
void fleet_bmc_readable(void *context, int events);
void fleet_bmc_done(struct fleet_node *node);

const char *fleet_bmc_password(struct fleet_node *node);

/* --- BMCs that speak Redfish (fleet_redfish.c) --- */
bool fleet_is_redfish(const struct fleet_options *options, int index);
uint16_t fleet_redfish_port(const struct fleet_options *options);
void fleet_redfish_init(struct fleet_node *node);
void fleet_redfish_done(struct fleet_node *node);
MUST_USE int fleet_redfish_listen(struct fleet *fleet, struct problem *problem);
/* Sets redfish_open and redfish_peak. */
void fleet_redfish_count(struct fleet *fleet);

/* --- invariants (fleet_check.c) --- */
MUST_USE int fleet_check_new(struct fleet *fleet, struct fleet_check **ret);
void fleet_check_free(struct fleet_check *check);
/* Asks once more and calls fn when the answer was looked at, or the database is away. */
void fleet_check_last(struct fleet_check *check, void (*fn)(struct fleet *fleet, bool asked));
