/* One TFTP transfer: its own port, one file, one client. Nothing is allocated once it runs. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/io/loop.h"
#include "common/io/served_file.h"
#include "common/tftp/tftp_policy.h"

struct tftp_transfer;

enum tftp_outcome {
	TFTP_OUTCOME_DONE,
	TFTP_OUTCOME_ABORTED, /* the client said so */
	TFTP_OUTCOME_LOST,    /* the client vanished, or the file became shorter */
};

struct tftp_transfer_options {
	uint32_t local; /* our address, as the client asked it */
	struct sockaddr_in client;
	const char *name; /* cleaned; copied */
	int fd;           /* the file, or -1; taken over on success */
	uint64_t size;    /* of the file */
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

/* Sends the OACK or the first window. -errno, -ENOMEM. */
MUST_USE int tftp_transfer_new(struct loop *loop, const struct tftp_transfer_options *options,
			       struct tftp_transfer **ret);
/* Without on_end. */
void tftp_transfer_free(struct tftp_transfer *transfer);
struct tftp_summary tftp_transfer_summary(const struct tftp_transfer *transfer);
/* The client sent its request again. True when it has seen nothing of this transfer and asks for
 * the same: what was sent goes again. False: this is another transfer. */
bool tftp_transfer_again(struct tftp_transfer *transfer, const struct tftp_options *asked,
			 const char *name);
