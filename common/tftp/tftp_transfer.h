/* One TFTP transfer: one file, one client, on a port that it shares with others. Nothing is
 * allocated once it runs. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/io/loop.h"
#include "common/io/served_file.h"
#include "common/tftp/tftp_file.h"
#include "common/tftp/tftp_policy.h"
#include "common/tftp/tftp_port.h"

struct tftp_transfer;

enum tftp_outcome {
	TFTP_OUTCOME_DONE,
	TFTP_OUTCOME_ABORTED, /* the client said so */
	TFTP_OUTCOME_LOST,    /* the client vanished, or the file became shorter */
};

struct tftp_transfer_options {
	struct tftp_port *port; /* borrowed, as is the file */
	const struct tftp_file *file;
	uint32_t local; /* our address, as the client asked it; host order */
	struct sockaddr_in client;
	const char *name; /* cleaned; copied */
	struct tftp_terms terms;
	/* Exactly once, as the last thing that the transfer does; the callee frees it. */
	void (*on_end)(void *context, struct tftp_transfer *transfer, enum tftp_outcome outcome);
	void *context;
};

struct tftp_summary {
	const char *name;
	struct sockaddr_in client;
	uint64_t bytes; /* acknowledged */
	uint64_t blocks_resent;
	int64_t elapsed_ms;
	const struct tftp_terms *terms;
	uint16_t error_code;       /* of an aborted one */
	const char *error_message; /* of an aborted one; printable */
};

/* Sends the OACK, or queues the first block. -ENOMEM. */
MUST_USE int tftp_transfer_new(struct loop *loop, const struct tftp_transfer_options *options,
			       struct tftp_transfer **ret);
/* Without on_end. */
void tftp_transfer_free(struct tftp_transfer *transfer);
struct tftp_summary tftp_transfer_summary(const struct tftp_transfer *transfer);
/* What goes out is queued at the port, which is flushed by whoever called. */
void tftp_transfer_take(struct tftp_transfer *transfer, const uint8_t *packet, size_t size,
			int64_t now_ms);
/* The port has room again. */
void tftp_transfer_resume(struct tftp_transfer *transfer);
bool tftp_transfer_is_waiting(const struct tftp_transfer *transfer);
/* The client is gone. */
void tftp_transfer_lose(struct tftp_transfer *transfer);
/* The file cannot be read any more: the transfer says so to the client and ends, in a turn of its
 * own. */
void tftp_transfer_break(struct tftp_transfer *transfer);
/* True when the client has acknowledged anything: somebody is really there. */
bool tftp_transfer_is_heard(const struct tftp_transfer *transfer);
/* The client sent its request again. True when it has seen nothing of this transfer and asks for
 * the same: what was sent goes again. False: this is another transfer. */
bool tftp_transfer_again(struct tftp_transfer *transfer, const struct tftp_options *asked,
			 const char *name);
