#include "bampi/bootd/boot/tftp_boot.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "common/io/log.h"
#include "common/io/served_file.h"
#include "common/net/ipv4.h"
#include "common/tftp/tftp_server.h"
#include "common/tftp/tftp_wire.h"

#define TFTP_BOOT_SUBJECT "tftp"

struct tftp_boot {
	const struct boot_options *options;
	struct loop *loop;
	struct tftp_server *server;
	struct log_limit refusals, losses;
};

static const char *client_text(const struct sockaddr_in *client, char ret[IPV4_TEXT_SIZE])
{
	return ipv4_text(ntohl(client->sin_addr.s_addr), ret);
}

static int open_file(void *context, const struct sockaddr_in *client, const char *name, int *ret_fd,
		     uint64_t *ret_size)
{
	const struct tftp_boot *tftp = context;

	(void)client;
	return served_file_open(tftp->options->boot_dir, name, ret_fd, ret_size);
}

/* Who holds a lease of a node. */
static bool tftp_boot_is_known(void *context, const struct sockaddr_in *client)
{
	const struct tftp_boot *tftp = context;

	return inventory_by_address(tftp->options->inventory, ntohl(client->sin_addr.s_addr));
}

static void tftp_boot_refused(void *context, const struct sockaddr_in *client, const char *name,
			      const char *why)
{
	struct tftp_boot *tftp = context;
	char address[IPV4_TEXT_SIZE];

	if (log_allowed(&tftp->refusals, loop_now_ms(tftp->loop)))
		log_warn(TFTP_BOOT_SUBJECT, "request refused: %s (address=%s name=\"%s\")", why,
			 client_text(client, address), name);
}

static const char *const outcome_texts[] = {
	[TFTP_OUTCOME_DONE] = "sent",
	[TFTP_OUTCOME_ABORTED] = "given up by the client",
	[TFTP_OUTCOME_LOST] = "not finished, the client is gone",
};

static enum log_level level_of(enum tftp_outcome outcome, const struct tftp_summary *summary)
{
	/* EDK2 asks for the size, and ends there with ERROR 8: that is how it works. */
	if (outcome == TFTP_OUTCOME_ABORTED && summary->error_code == TFTP_ERROR_OPTION)
		return LOG_LEVEL_DEBUG;
	return outcome == TFTP_OUTCOME_DONE ? LOG_LEVEL_INFO : LOG_LEVEL_WARN;
}

static void tftp_boot_ended(void *context, const struct tftp_summary *summary,
			    enum tftp_outcome outcome)
{
	struct tftp_boot *tftp = context;
	const struct inventory_node *node = inventory_by_address(
		tftp->options->inventory, ntohl(summary->client.sin_addr.s_addr));
	char address[IPV4_TEXT_SIZE];

	if (outcome != TFTP_OUTCOME_LOST || log_allowed(&tftp->losses, loop_now_ms(tftp->loop)))
		log_line(
			level_of(outcome, summary), TFTP_BOOT_SUBJECT,
			"%s %s (node=%s address=%s bytes=%llu blksize=%u windowsize=%u resent=%llu ms=%lld%s%s%s)",
			summary->name, outcome_texts[outcome], node ? node->name : "unknown",
			client_text(&summary->client, address), (unsigned long long)summary->bytes,
			summary->terms->block_size, summary->terms->window_size,
			(unsigned long long)summary->blocks_resent, (long long)summary->elapsed_ms,
			outcome == TFTP_OUTCOME_ABORTED ? " error=\"" : "", summary->error_message,
			outcome == TFTP_OUTCOME_ABORTED ? "\"" : "");
	if (node && summary->bytes > 0)
		observation_record(tftp->options->observations, node, OBSERVATION_TFTP,
				   summary->name, summary->bytes);
}

int tftp_boot_new(struct loop *loop, const struct boot_options *options,
		  struct boot_counters *counters, struct tftp_boot **ret, struct problem *problem)
{
	struct tftp_boot *tftp = calloc(1, sizeof(*tftp));
	const struct tftp_server_options server = {
		.addresses = options->tftp_addresses,
		.address_count = options->tftp_address_count,
		.port = options->tftp_port,
		.any_port = options->tftp_any_port,
		.block_max = options->tftp_block_max,
		.window_max = options->tftp_window_max,
		.transfers_max = options->tftp_transfers_max,
		.client_max = options->tftp_client_max,
		.open = open_file,
		.is_known = tftp_boot_is_known,
		.on_end = tftp_boot_ended,
		.on_refusal = tftp_boot_refused,
		.context = tftp,
	};
	int rc;

	if (!tftp)
		return problem_set(problem, -ENOMEM, "no memory for TFTP");
	*tftp = (struct tftp_boot){
		.options = options,
		.loop = loop,
		.refusals = {.burst = 10, .per_minute = 60},
		.losses = {.burst = 50, .per_minute = 600},
	};
	rc = tftp_server_new(loop, &server, &counters->tftp, &tftp->server, problem);
	if (rc) {
		free(tftp);
		return rc;
	}

	*ret = tftp;
	return 0;
}

void tftp_boot_free(struct tftp_boot *tftp)
{
	if (!tftp)
		return;
	tftp_server_free(tftp->server);
	free(tftp);
}

uint16_t tftp_boot_port(const struct tftp_boot *tftp)
{
	return tftp_server_port(tftp->server);
}
