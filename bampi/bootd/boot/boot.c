#include "bampi/bootd/boot/boot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bampi/bootd/boot/boot_counters.h"
#include "bampi/bootd/boot/boot_server.h"
#include "bampi/bootd/boot/contents.h"
#include "bampi/bootd/boot/mailbox.h"
#include "bampi/bootd/boot/tftp_boot.h"

struct boot {
	struct boot_options options;
	char *boot_dir, *image_dir, *copy_dir, *kernel_console; /* what options points to */
	struct boot_counters counters;
	struct mailbox *mailbox;
	struct contents *contents;
	struct boot_server *http;
	struct tftp_boot *tftp;
};

static int check_folder(const char *path, const char *key, struct problem *problem)
{
	struct stat status;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return 0;
	(void)problem_set(problem, -ENOTDIR, "%s is not a folder", key);
	problem_detail(problem, "%s", path);
	problem_hint(problem, "create it, or set %s to the folder that holds the files", key);
	return -ENOTDIR;
}

static int boot_copy_options(struct boot *boot, const struct boot_options *options)
{
	const char *console = options->kernel_console;

	boot->options = *options;
	boot->options.boot_dir = boot->boot_dir = strdup(options->boot_dir);
	boot->options.image_dir = boot->image_dir = strdup(options->image_dir);
	boot->options.copy_dir = boot->copy_dir = strdup(options->copy_dir);
	boot->options.kernel_console = boot->kernel_console =
		strdup(console && *console ? console : "ttyS0");
	return boot->boot_dir && boot->image_dir && boot->copy_dir && boot->kernel_console
		       ? 0
		       : -ENOMEM;
}

static int boot_start(struct loop *loop, struct boot *boot, struct problem *problem)
{
	const struct boot_options *options = &boot->options;
	const struct contents_options contents = {
		.db = options->db,
		.counters = &boot->counters,
		.image_dir = options->image_dir,
		.copy_dir = options->copy_dir,
		.address = options->copy_address,
		.https_port = options->https_port,
		.tls_files = options->tls ? options->tls_files : NULL,
	};
	int rc;

	rc = check_folder(options->boot_dir, "boot_dir", problem);
	if (!rc)
		rc = check_folder(options->image_dir, "image_dir", problem);
	if (rc)
		return rc;
	rc = mailbox_new(loop, options->db, &boot->counters, &boot->mailbox);
	if (rc)
		return problem_set(problem, rc, "no memory for the agents' mailbox");
	rc = contents_new(loop, &contents, &boot->contents);
	if (rc)
		return problem_set(problem, rc, "no memory for the list of images");
	rc = boot_server_new(loop,
			     &(struct boot_server_options){.boot = options,
							   .mailbox = boot->mailbox,
							   .contents = boot->contents,
							   .counters = &boot->counters},
			     &boot->http, problem);
	if (rc || options->tftp_address_count == 0)
		return rc;
	return tftp_boot_new(loop, options, &boot->counters, &boot->tftp, problem);
}

int boot_new(struct loop *loop, const struct boot_options *options, struct boot **ret,
	     struct problem *problem)
{
	struct boot *boot = calloc(1, sizeof(*boot));
	int rc;

	if (!boot)
		return problem_set(problem, -ENOMEM, "no memory for the boot server");
	if (boot_copy_options(boot, options))
		rc = problem_set(problem, -ENOMEM, "no memory for the boot server");
	else
		rc = boot_start(loop, boot, problem);
	if (rc) {
		boot_free(boot);
		return rc;
	}
	/* The caller's array is not ours to keep. */
	boot->options.tftp_addresses = NULL;
	boot->options.tftp_address_count = 0;

	*ret = boot;
	return 0;
}

void boot_free(struct boot *boot)
{
	if (!boot)
		return;
	tftp_boot_free(boot->tftp);
	mailbox_free(boot->mailbox);
	boot_server_free(boot->http);
	contents_free(boot->contents);
	free(boot->boot_dir);
	free(boot->image_dir);
	free(boot->copy_dir);
	free(boot->kernel_console);
	free(boot);
}

void boot_notified(struct boot *boot, const char *channel)
{
	if (strcmp(channel, BOOT_CHANNEL) == 0)
		mailbox_notified(boot->mailbox);
}

void boot_db_state(struct boot *boot, bool connected)
{
	mailbox_db_state(boot->mailbox, connected);
}

void boot_refreshed(struct boot *boot, int64_t read_ms)
{
	boot_server_refreshed(boot->http, read_ms);
}

uint16_t boot_http_port(const struct boot *boot)
{
	return boot_server_port(boot->http);
}

uint16_t boot_https_port(const struct boot *boot)
{
	return boot_server_tls_port(boot->http);
}

const struct metric_row *boot_metric_rows(size_t *ret_count)
{
	*ret_count = boot_counter_row_count;
	return boot_counter_rows;
}

const void *boot_metric_values(struct boot *boot)
{
	return &boot->counters;
}
