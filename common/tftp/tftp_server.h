/* TFTP (RFC 1350, 2347-2349, 7440) on the loop: read requests for what a file source opens. What
 * is served, what is logged and what a finished fetch means is the program's business. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"
#include "common/tftp/tftp_transfer.h"

struct tftp_server;

/* Since the start, but for `open`. Every transfer that started ends as done, aborted or lost. */
struct tftp_counters {
	uint64_t started, done, aborted, lost;
	uint64_t refused;   /* with an ERROR */
	uint64_t postponed; /* -EAGAIN of the file source */
	uint64_t throttled; /* requests beyond the rate limits: silence */
	uint64_t crowded;   /* requests beyond the numbers at once: silence */
	uint64_t evicted;   /* ended as lost for a new one, never heard */
	uint64_t bytes;     /* acknowledged */
	uint64_t blocks_resent;
	uint64_t open;
};

/* Zero in a number means the default that its comment names. */
struct tftp_server_options {
	const uint32_t *addresses; /* to bind, at least one; 0.0.0.0 answers from the address that
				      was asked. Not kept. */
	size_t address_count;
	uint16_t port;       /* 69; tests choose another */
	bool any_port;       /* let the system choose: tftp_server_port tells */
	uint16_t block_max;  /* largest blksize granted, bytes; 1468: an untagged Ethernet frame */
	uint16_t window_max; /* largest windowsize granted, blocks; 64 */
	unsigned transfers_max; /* at once, all clients; 1000 */
	unsigned client_max;    /* at once, one address; 8 */

	/* The file source. `name` went through served_file_name. 0: the descriptor becomes the
	 * server's. -EAGAIN: not yet; the client gets silence and asks again. E_NOT_FOUND, or else
	 * an error that the client hears of. */
	int (*open)(void *context, const struct sockaddr_in *client, const char *name, int *ret_fd,
		    uint64_t *ret_size);
	/* A client that is somebody: it shares no rate limit with strangers. May be NULL: nobody
	 * is. */
	bool (*is_known)(void *context, const struct sockaddr_in *client);
	/* After each transfer; may be NULL. */
	void (*on_end)(void *context, const struct tftp_summary *summary,
		       enum tftp_outcome outcome);
	/* A request that got an ERROR; why is what the client was told. May be NULL. */
	void (*on_refusal)(void *context, const struct sockaddr_in *client, const char *name,
			   const char *why);
	void *context;
};

/* Binds the ports. counters are borrowed and must outlive it. -errno, E_LIMIT for too many
 * addresses; the problem names the port. */
MUST_USE int tftp_server_new(struct loop *loop, const struct tftp_server_options *options,
			     struct tftp_counters *counters, struct tftp_server **ret,
			     struct problem *problem);
/* Ends what is under way, without on_end. NULL is fine. */
void tftp_server_free(struct tftp_server *server);
uint16_t tftp_server_port(const struct tftp_server *server);
