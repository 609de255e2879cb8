#include "portal/cli/capture_download.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "common/io/transfer.h"

struct download {
	int fd;
	size_t got; /* of this piece */
	int rc;
};

static void capture_download_on_piece(void *context, const void *data, size_t size)
{
	struct download *download = context;

	download->got += size;
	if (download->rc == 0)
		download->rc = write_whole(download->fd, data, size);
}

static int read_pieces(void *context, const struct command_input *input, struct download *download)
{
	int64_t offset = 0;
	unsigned tries = 0;
	bool again;
	int status = EXIT_OK;

	do {
		CLEANUP(text_done) struct text target = {0};
		CLEANUP(text_done) struct text query = {0};
		struct haasctl_reply reply = {0};

		download->got = 0;
		text_addf(&query, "/file?offset=%" PRId64, offset);
		haasctl_path(&target, "/captures/", input->words[0], text_get(&query));
		status = haasctl_call(context, input,
				      &(struct haasctl_call){.method = "GET",
							     .target = text_get(&target),
							     .untold = EXIT_UNREACHABLE,
							     .on_data = capture_download_on_piece,
							     .context = download},
				      &reply);
		haasctl_reply_done(&reply);
		offset += (int64_t)download->got;
		again = download->rc == 0 && haasctl_resume(context, &tries, &status);
	} while (again || (status == EXIT_OK && download->rc == 0 && download->got > 0));
	return status;
}

int haasctl_capture_download(void *context, const struct command_input *input)
{
	const char *path = input->word_count > 1 ? input->words[1] : NULL;
	struct download download = {.fd = STDOUT_FILENO};
	int status;

	if (!path && isatty(STDOUT_FILENO))
		return haasctl_usage(
			"packets are binary: name a file, or pipe them to tcpdump -r -");
	/* Others may not read it: they are a tenant's. */
	if (path)
		download.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (download.fd < 0)
		return haasctl_cannot("write", path, -errno);
	status = read_pieces(context, input, &download);
	if (download.rc)
		status = haasctl_cannot("write", path ? path : "packets", download.rc);
	if (path && close(download.fd) != 0 && status == EXIT_OK)
		status = haasctl_cannot("write", path, -errno);
	if (path && status != EXIT_OK)
		(void)unlink(path);
	if (path && status == EXIT_OK)
		haasctl_say_done(input, input->command->done, NULL, NULL);
	return status;
}
