/* The operations of a BMC, and the row that each kind of BMC fills in. A driver starts one plain
 * call at a time and says later how it ended. Reading back, retries, deadlines of whole operations
 * and fairness are the queue's (bmc_queue.h): every driver gets them alike. Words: IPMI 2.0 rev 1.1
 * chapters 20 (chassis 28), 22, 23, 31-35. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/fence.h"
#include "common/base/macros.h"
#include "common/base/problem.h"

/* --- who is asked --- */

/* Deviations of real BMCs that the ipmi driver allows for. Bits; the words are FreeIPMI's (-W of
 * its tools), which people know. */
enum bmc_workaround {
	/* "authcap": wrong Get Channel Authentication Capabilities */
	BMC_WORKAROUND_AUTHCAP = 1 << 0,
	BMC_WORKAROUND_INTEL20 = 1 << 1,      /* "intel20" */
	BMC_WORKAROUND_SUPERMICRO20 = 1 << 2, /* "supermicro20" */
	BMC_WORKAROUND_SUN20 = 1 << 3,        /* "sun20" */
	/* "opensesspriv": the privilege of Open Session is what counts. Always sent so; the word is
	 * kept for those who know it */
	BMC_WORKAROUND_OPENSESSPRIV = 1 << 4,
	BMC_WORKAROUND_INTEGRITYCHECKVALUE = 1 << 5, /* "integritycheckvalue" */
	BMC_WORKAROUND_NOCHECKSUMCHECK = 1 << 6,     /* "nochecksumcheck" */
};

/* How a Redfish BMC is spoken to. */
enum bmc_tls {
	BMC_TLS_VERIFY,     /* "verify": by its fingerprint, else by the CA file */
	BMC_TLS_UNVERIFIED, /* "unverified": TLS with whoever answers there */
	BMC_TLS_OFF,        /* "off": plain HTTP; the password is readable on the way */
};

/* A value: copy it freely, but end every copy with bmc_endpoint_wipe. */
struct bmc_endpoint {
	int64_t id;           /* bmc.node_id (one BMC per node); the key of the queue */
	char node[64];        /* node name, for problems and log lines */
	char driver[16];      /* "ipmi", "redfish", "libvirt" or "sim" */
	char address[128];    /* literal IPv4 or IPv6 address, or a name; libvirt: connection URI,
				 "#domain" after it when the domain is not called as the node */
	uint16_t port;        /* 0 = the driver's default (623) */
	char username[17];    /* IPMI allows 16 bytes */
	char password[21];    /* IPMI 2.0 allows 20 bytes */
	uint8_t cipher_suite; /* IPMI 22.15.2; 3 and 17 are the usual ones */
	uint32_t workarounds; /* bits of enum bmc_workaround */
	enum bmc_tls tls;     /* redfish */
	char pin[56];        /* redfish: the one public key to trust, as in fetch.h; "" = CA file */
	uint32_t timeout_ms; /* of one call; 0 = 10000 */
	uint32_t retransmit_ms; /* a request is sent again after this; 0 = 4000. Below `timeout_ms`.
				   redfish: no pause before another try is longer; 0 = as long as
				   its vendor's row says */
};

void bmc_endpoint_wipe(struct bmc_endpoint *endpoint);
/* Anything but the words of the two others is BMC_TLS_VERIFY. */
enum bmc_tls bmc_tls_find(const char *word);
/* Words separated by commas or spaces -> bits. E_NOT_FOUND with a problem that lists the known
 * words. "" gives 0. */
MUST_USE int bmc_workarounds_parse(const char *words, uint32_t *ret, struct problem *problem);
/* The words of `bits`, comma-separated. Returns false when `room` is too small. */
bool bmc_workarounds_text(uint32_t bits, char *ret, size_t room);

/* --- what is asked --- */

enum bmc_op {
	BMC_POWER_STATUS, /* -> power */
	BMC_POWER_ON,  /* -> power. Through the queue: done when the status says on; no command when
			  it already does */
	BMC_POWER_OFF, /* -> power. Hard off; confirmed likewise */
	BMC_POWER_CYCLE, /* -> power. Made by the queue: off confirmed, pause, on confirmed. Drivers
			    never see it */
	BMC_POWER_RESET, /* -> power. Sent at most once; no BMC can show that it happened:
			    power.confirm is unverified */
	BMC_POWER_SOFT,  /* -> power. ACPI shutdown; through the queue done when the status says off
			  */
	BMC_BOOT_GET,    /* -> boot */
	BMC_BOOT_SET, /* boot -> boot. Through the queue: followed by BOOT_GET and compared field by
			 field */
	BMC_IDENTIFY, /* identify -> nothing */
	BMC_INFO,     /* -> info */
	BMC_SENSORS,  /* -> sensors */
	BMC_SEL_LIST, /* -> sel */
	BMC_SEL_NEW,  /* after -> sel. Only what was logged since; all of it when the log was
			 cleared meanwhile */
	BMC_SEL_CLEAR,    /* -> nothing */
	BMC_FRU,          /* -> fru */
	BMC_USER_LIST,    /* -> users */
	BMC_USER_SET,     /* user -> nothing */
	BMC_PASSWORD_SET, /* password -> nothing. Of the user that we are; sessions may end with it */
	BMC_LAN_GET,      /* -> lan */
	BMC_RAW,          /* raw -> raw. Never repeated by the queue */
	BMC_OP_COUNT
};

enum bmc_boot_device {
	BMC_BOOT_NONE,
	BMC_BOOT_PXE,
	BMC_BOOT_DISK,
	BMC_BOOT_OTHER
}; /* OTHER only in answers */
enum bmc_boot_firmware { BMC_FIRMWARE_BIOS, BMC_FIRMWARE_UEFI };

/* Boot flags (IPMI 28.13, parameter 5). */
struct bmc_boot {
	enum bmc_boot_device device;
	bool persistent; /* false = the next boot only */
	enum bmc_boot_firmware firmware;
};

/* What reading back has shown of one field. UNVERIFIED: the BMC took the request, but does not echo
 * the field; what our own DHCP and HTTP servers then observe is the proof. */
enum bmc_confirm { BMC_CONFIRM_NOT_ASKED, BMC_CONFIRMED, BMC_UNVERIFIED };

#define BMC_RAW_SIZE 255

/* The newest entry of an event log that is known. Record ids alone do not tell: they begin anew
 * when a log is cleared. Zero bytes: nothing is known, everything is new. */
struct bmc_sel_mark {
	bool known;
	uint16_t id;
	uint32_t stamp; /* as the BMC stamped it */
};

struct bmc_request {
	enum bmc_op op;
	/* What changes something is sent only while it holds, each packet of it (fence.h). NULL = a
	 * look, or nothing was claimed. Borrowed: whoever keeps the request keeps it. */
	struct fence *fence;
	union {
		struct bmc_boot boot;      /* BMC_BOOT_SET */
		struct bmc_sel_mark after; /* BMC_SEL_NEW */
		struct {
			uint8_t seconds; /* BMC_IDENTIFY; 0 = off */
		} identify;
		struct {
			uint8_t id; /* 1..63 */
			bool enabled;
			uint8_t privilege; /* IPMI 6.8: 2 user .. 4 administrator, 15 none */
			char name[17];     /* "" = leave */
			char password[21]; /* "" = leave; wiped with the request */
		} user;                    /* BMC_USER_SET */
		char password[21];         /* BMC_PASSWORD_SET; wiped with the request */
		struct {
			uint8_t lun, netfn;
			uint8_t size;                /* of bytes */
			uint8_t bytes[BMC_RAW_SIZE]; /* command first */
		} raw;                               /* BMC_RAW */
	};
};

/* --- what is answered --- */

struct bmc_sensor {
	uint8_t number;
	char name[64];
	char type[32];    /* "Temperature" */
	char unit[32];    /* "degrees C"; "" for discrete ones */
	bool has_reading; /* else the sensor is not readable now */
	double reading;
	char state[32]; /* "nominal", "warning", "critical", "unknown" */
};

struct bmc_sel_entry {
	uint16_t id;
	int64_t time_s; /* seconds since 1970 of the BMC's clock; 0 = not stamped or before the BMC
			   knew the time */
	char text[192]; /* "Temperature MBTemp: Upper Non-critical - going high" */
	/* The parts of it; "" where a driver has no parts. */
	char type[48];   /* "Temperature" */
	char sensor[64]; /* "MBTemp" */
	char event[96];
	bool ended; /* a deassertion: what it tells is over */
};

struct bmc_fru {
	uint8_t device_id;
	char area[16]; /* "chassis", "board", "product" */
	char key[32];  /* "manufacturer", "product_name", "serial", "part_number", "version",
			  "asset_tag" */
	char value[96];
};

struct bmc_user {
	uint8_t id;
	char name[17];
	bool enabled;
	uint8_t privilege;
};

struct bmc_result {
	enum bmc_op op;
	union {
		struct {
			bool on;
			bool changed; /* a command was sent */
			enum bmc_confirm confirm;
		} power;
		struct {
			struct bmc_boot flags; /* as read back */
			bool valid;            /* the BMC says that the flags count */
			/* After BMC_BOOT_SET, field by field; BMC_CONFIRM_NOT_ASKED after
			 * BMC_BOOT_GET. */
			enum bmc_confirm device, lifetime, firmware, valid_bit;
		} boot;
		struct {
			uint32_t manufacturer; /* IANA enterprise number */
			uint16_t product;
			uint8_t firmware_major, firmware_minor;
			uint8_t ipmi_major, ipmi_minor;
			char guid[37]; /* "" when the BMC has none */
		} info;
		struct {
			struct bmc_sensor *rows; /* owned by the result */
			size_t count;
		} sensors;
		struct {
			struct bmc_sel_entry *rows;
			size_t count;
			struct bmc_sel_mark mark; /* BMC_SEL_NEW: what to ask after next time */
			bool restarted; /* BMC_SEL_NEW: `after` is gone, the log was cleared */
		} sel;
		struct {
			struct bmc_fru *rows;
			size_t count;
		} fru;
		struct {
			struct bmc_user *rows;
			size_t count;
		} users;
		struct {
			uint32_t address, netmask, gateway; /* host order */
			uint8_t mac[6];
			bool dhcp;
			uint16_t vlan; /* 0 = untagged */
		} lan;
		struct {
			uint8_t completion; /* IPMI completion code; 0 = done */
			uint8_t size;
			uint8_t bytes[BMC_RAW_SIZE]; /* after the completion code */
		} raw;
	};
};

/* Frees rows; the result is zeroed. */
void bmc_result_done(struct bmc_result *result);

/* --- facts about operations --- */

struct bmc_op_row {
	const char *name;     /* "power-on" */
	bool idempotent;      /* may be sent again when its answer was lost */
	bool changes;         /* changes the node or the BMC; asks that change nothing are merged */
	uint32_t deadline_ms; /* of the whole operation, when the caller names none */
};
extern const struct bmc_op_row bmc_op_table[BMC_OP_COUNT];
const char *bmc_op_text(enum bmc_op op);
/* E_LAPSED with the problem that says so. */
int bmc_lapsed(const char *node, enum bmc_op op, bool sent, struct problem *problem);
bool bmc_op_is_power(enum bmc_op op);
const char *bmc_boot_device_text(enum bmc_boot_device device);
const char *bmc_confirm_text(enum bmc_confirm confirm);

/* --- a driver --- */

struct fetcher;
struct loop;
struct rmcp_client;
struct sim_rack;
struct worker;

/* What the queue gives to drivers; it outlives their sessions. */
struct bmc_host {
	struct loop *loop;
	struct worker *worker;    /* for libraries that block: bmc_blocking.h */
	struct sim_rack *sim;     /* what driver "sim" speaks to; NULL = no simulated nodes */
	struct rmcp_client *rmcp; /* the sockets of driver "ipmi" */
	struct fetcher *fetcher;  /* the connections of driver "redfish" */
};

/* A call has ended; from the loop, never from inside start(). It may start the next call, or close
 * the session: the driver touches nothing of it afterwards. rc 0: what *result owns passes to the
 * callee, and `problem` is NULL, or tells what an operator should know nevertheless. Else `result`
 * is NULL. Both are borrowed for the call. */
typedef void (*bmc_call_fn)(void *context, int rc, struct bmc_result *result,
			    const struct problem *problem);

struct bmc_driver {
	const char *name;
	/* Makes the state kept for one BMC; no I/O. The endpoint is copied. -ENOMEM or -EINVAL with
	 * a problem. */
	int (*open)(const struct bmc_endpoint *endpoint, const struct bmc_host *host,
		    void **ret_session, struct problem *problem);
	/* Will this call hold a thread of the worker? The queue shares those out fairly; what holds
	 * none is started at once, however many are under way. NULL = never. */
	bool (*blocks)(void *session, const struct bmc_request *request);
	/* Starts one call; never two at once for one session. Opens a session at the BMC when there
	 * is none, and keeps it open afterwards. Calls `fn` once, by about `deadline_ms`
	 * (clock_monotonic_ms), unless cancelled or closed. -ENOMEM, -EAGAIN: the call was not
	 * started. Errors given to `fn`, always with a problem:
	 * E_AUTHENTICATION  wrong name, password or privilege: asking again could lock the user out
	 * E_TIMEOUT         no answer; the BMC may or may not have executed the command
	 * E_UNSUPPORTED     the BMC does not know the command, or the cipher suite
	 * -EBUSY            the BMC says node busy, or has no session free: ask later
	 * E_CONFLICT        the BMC refuses in its present state
	 * E_DENIED          the user lacks the privilege for this command
	 * E_LAPSED          the claim behind it ran out; what was sent before may have been done
	 * E_PROTOCOL        any other answer */
	int (*start)(void *session, const struct bmc_request *request, int64_t deadline_ms,
		     bmc_call_fn fn, void *context);
	/* Forgets the call under way: its `fn` will not be called, and the next call may start.
	 * False: this one cannot be forgotten, wait for it. NULL = never. */
	bool (*cancel)(void *session);
	/* Forgets the call under way, ends the session at the BMC (it has few) in the background
	 * and frees. NULL is fine. */
	void (*close)(void *session);
};

/* By name; NULL when there is none. */
const struct bmc_driver *bmc_driver_find(const char *name);
