/* What a booting node fetches and reports: TFTP, boot HTTP, the agent's mailbox. One object with
 * two faces to the program: boot_new binds every port (so it is called with privileges),
 * boot_db_state and boot_notified pass on what the program's database connection hears. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/http/metrics.h"
#include "common/http/tls.h"
#include "common/io/loop.h"

#include "bampi/bootd/identify/inventory.h"
#include "bampi/bootd/identify/observation.h"
#include "bampi/bootd/identify/sighting.h"

struct boot;

/* The channel that boot wants to hear: bampid posted or dropped an agent task. The program LISTENs
 * for it and calls boot_notified. */
#define BOOT_CHANNEL "agent_task"

/* Zero in a number means the default that its comment names. */
struct boot_options {
	const uint32_t
		*tftp_addresses;   /* to bind; 0.0.0.0 answers from the address that was asked */
	size_t tftp_address_count; /* 0 = no TFTP */
	uint16_t tftp_port;        /* 69; tests choose another */
	bool tftp_any_port; /* let the system choose: boot_tftp_port tells (one address only) */
	uint16_t tftp_block_max;     /* largest blksize granted, bytes; 1468 */
	uint16_t tftp_window_max;    /* largest windowsize granted, blocks; 64 */
	unsigned tftp_transfers_max; /* at once, all clients; 1000 */
	unsigned tftp_client_max;    /* at once, one address; 8 */

	uint32_t http_address;     /* 0 = any */
	uint16_t http_port;        /* as clients reach it; 0 = any free one: boot_http_port tells */
	const struct tls *tls;     /* borrowed; NULL = no HTTPS */
	uint16_t https_port;       /* as http_port */
	bool https_only;           /* with it scripts too come by HTTPS alone */
	unsigned http_connections; /* at once; 4096 */
	unsigned http_source_connections; /* at once, one address; 256 */
	unsigned http_header_s; /* a client that does not finish its header in this time is closed;
				   15 */

	const uint32_t *relays; /* whose Forwarded header counts; borrowed */
	size_t relay_count;

	const char *boot_dir;  /* vmlinuz, agent.img, undionly.kpxe, snponly.efi; copied */
	const char *image_dir; /* <stored_digest>; copied */
	/* Copies of what other controllers hold; copied. "" = none are made. */
	const char *copy_dir;
	uint32_t copy_address;             /* where they fetch from us, by HTTPS; 0 = nowhere */
	const struct tls_files *tls_files; /* of `tls`; borrowed */
	const char *kernel_console;        /* console= of the agent's kernel; "ttyS0"; copied */

	/* Borrowed. inventory and observations must outlive the object; db may be freed before or
	 * after it. */
	const struct inventory *inventory;
	struct observations *observations;
	const struct sightings *sightings; /* places of NICs; NULL = none is known */
	struct db *db;
	/* Asks for a new picture of the inventory; boot_refreshed tells when it is there. NULL:
	 * there is none to be had. */
	void (*refresh)(void *context);
	void *refresh_context;
};

/* -errno or E_*; the problem names the port or folder. */
MUST_USE int boot_new(struct loop *loop, const struct boot_options *options, struct boot **ret,
		      struct problem *problem);
/* Open polls are answered 204, results that are not durable 503; transfers end. NULL is fine. */
void boot_free(struct boot *boot);

/* From db_options.on_notify and on_state. Other channels are ignored. */
void boot_notified(struct boot *boot, const char *channel);
void boot_db_state(struct boot *boot, bool connected);
/* The inventory's picture is the one that the database was asked for at `read_ms` (loop_now_ms). */
void boot_refreshed(struct boot *boot, int64_t read_ms);

uint16_t boot_http_port(const struct boot *boot);
uint16_t boot_https_port(const struct boot *boot);

/* For metrics_write: rows are static, values belong to boot and are current after this call. */
const struct metric_row *boot_metric_rows(size_t *ret_count);
const void *boot_metric_values(struct boot *boot);
