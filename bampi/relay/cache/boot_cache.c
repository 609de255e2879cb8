#include "bampi/relay/cache/boot_cache.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/log.h"
#include "common/io/served_file.h"
#include "common/net/ipv4.h"
#include "common/tftp/tftp_server.h"

#include "bampi/relay/cache/cache.h"
#include "bampi/relay/cache/cache_counters.h"
#include "bampi/relay/cache/cache_server.h"
#include "bampi/relay/cache/fetch.h"
#include "bampi/relay/cache/file_book.h"
#include "bampi/relay/cache/upstream.h"

#define KEEP_EVERY_MS      60000
#define BOOT_CACHE_SUBJECT "tftp"

struct boot_cache {
	struct loop *loop;
	struct boot_cache_options options;
	struct cache_counters counters;
	struct cache *cache;
	struct upstream *upstream;
	struct fetches *fetches;
	struct file_book *book;
	struct cache_server *http;
	struct tftp_server *tftp;
	struct loop_timer *keep;
	struct log_limit refusals;
};

/* --- TFTP --- */

static int tftp_open(void *context, const struct sockaddr_in *client, const char *name, int *ret_fd,
		     uint64_t *ret_size)
{
	struct boot_cache *boot = context;
	struct object *object;
	int rc = file_book_peek(boot->book, name, &object);
	int fd;

	(void)client;
	if (rc)
		return rc;
	fd = open(object->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	*ret_size = object->size;
	return 0;
}

static void tftp_ended(void *context, const struct tftp_summary *summary, enum tftp_outcome outcome)
{
	char address[IPV4_TEXT_SIZE];

	(void)context;
	log_debug(BOOT_CACHE_SUBJECT, "%s ended (address=%s bytes=%llu outcome=%d ms=%lld)",
		  summary->name, ipv4_text(ntohl(summary->client.sin_addr.s_addr), address),
		  (unsigned long long)summary->bytes, (int)outcome, (long long)summary->elapsed_ms);
}

static void tftp_refused(void *context, const struct sockaddr_in *client, const char *name,
			 const char *why)
{
	struct boot_cache *boot = context;
	char address[IPV4_TEXT_SIZE];

	if (log_allowed(&boot->refusals, loop_now_ms(boot->loop)))
		log_warn(BOOT_CACHE_SUBJECT, "request refused: %s (address=%s name=\"%s\")", why,
			 ipv4_text(ntohl(client->sin_addr.s_addr), address), name);
}

static int start_tftp(struct boot_cache *boot, struct problem *problem)
{
	static const uint32_t any = 0;
	const struct tftp_server_options options = {
		.addresses = &any,
		.address_count = 1,
		.open = tftp_open,
		.on_end = tftp_ended,
		.on_refusal = tftp_refused,
		.context = boot,
	};

	return boot->options.tftp ? tftp_server_new(boot->loop, &options, &boot->counters.tftp,
						    &boot->tftp, problem)
				  : 0;
}

/* --- the whole --- */

/* What every node needs is here before the first asks, and soon after it changed. */
static void boot_cache_keep(void *context)
{
	struct boot_cache *boot = context;

	for (const char *const *each = boot->options.keep; each && *each; each++) {
		char name[SERVED_NAME_MAX + 1];
		struct object *object;
		int rc = served_file_name(*each, name);

		if (rc == 0)
			rc = file_book_peek(boot->book, name, &object);
		if (rc && rc != -EAGAIN && rc != E_NOT_FOUND)
			log_warn("cache", "%s is not kept: %s", *each, error_text(rc));
	}
	loop_timer_arm(boot->keep, KEEP_EVERY_MS);
}

static int boot_cache_start(struct boot_cache *boot, struct problem *problem)
{
	const struct boot_cache_options *options = &boot->options;
	struct cache_server_options server = {.loop = boot->loop,
					      .counters = &boot->counters,
					      .address = options->http_address,
					      .port = options->http_port,
					      .tls = options->served,
					      .https_port = options->https_port,
					      .https_only = options->https_only};
	int rc = cache_new(boot->loop, options->folder, options->limit, &boot->counters,
			   &boot->cache, problem);

	if (rc)
		return rc;
	rc = upstream_new(boot->loop, options->controller, options->asked, &boot->counters,
			  &boot->upstream);
	if (rc)
		return problem_set(problem, rc, "\"%s\" is no controller: https://ADDRESS:PORT",
				   options->controller);
	rc = fetches_new(boot->loop, boot->upstream, &boot->counters, &boot->fetches);
	if (rc == 0)
		rc = file_book_new(boot->loop, boot->cache, boot->upstream, boot->fetches,
				   &boot->counters, &boot->book);
	if (rc == 0)
		rc = loop_timer_new(boot->loop, boot_cache_keep, boot, &boot->keep);
	if (rc)
		return problem_set(problem, rc, "cannot start the cache: %s", error_text(rc));
	server.cache = boot->cache;
	server.upstream = boot->upstream;
	server.fetches = boot->fetches;
	server.book = boot->book;
	rc = cache_server_new(&server, &boot->http, problem);
	return rc ? rc : start_tftp(boot, problem);
}

int boot_cache_new(struct loop *loop, const struct boot_cache_options *options,
		   struct boot_cache **ret, struct problem *problem)
{
	struct boot_cache *boot = calloc(1, sizeof(*boot));
	int rc;

	if (!boot)
		return problem_set(problem, -ENOMEM, "out of memory");
	boot->loop = loop;
	boot->options = *options;
	boot->refusals = (struct log_limit){.burst = 10, .per_minute = 60};
	rc = boot_cache_start(boot, problem);
	if (rc) {
		boot_cache_free(boot);
		return rc;
	}
	*ret = boot;
	return 0;
}

int boot_cache_open(struct boot_cache *boot, struct problem *problem)
{
	int rc = cache_open(boot->cache, problem);

	if (rc == 0)
		rc = file_book_open(boot->book, boot->options.folder, problem);
	if (rc == 0)
		loop_timer_arm(boot->keep, 0);
	return rc;
}

/* Requests first: each lets go of what it waits for or follows. Then what they waited for. */
void boot_cache_free(struct boot_cache *boot)
{
	if (!boot)
		return;
	cache_server_free(boot->http);
	tftp_server_free(boot->tftp);
	loop_timer_free(boot->keep);
	fetches_free(boot->fetches);
	upstream_free(boot->upstream);
	file_book_free(boot->book);
	cache_free(boot->cache);
	free(boot);
}

const struct metric_row *boot_cache_metric_rows(size_t *ret_count)
{
	*ret_count = cache_counter_row_count;
	return cache_counter_rows;
}

const void *boot_cache_metric_values(struct boot_cache *boot)
{
	return &boot->counters;
}
