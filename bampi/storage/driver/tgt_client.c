#include "bampi/storage/driver/tgt_client.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/transfer.h"

#define TIMEOUT_S 10

/* Where nobody listens nothing is open; where nobody answers, who knows. */
static int tgt_client_away(struct problem *problem, const char *path, int rc)
{
	bool gone = rc == -ENOENT || rc == -ECONNREFUSED;
	int code = gone ? E_NOT_FOUND : E_UNAVAILABLE;

	(void)problem_set(problem, code, "tgtd %s: %s", gone ? "does not run" : "does not answer",
			  error_text(rc));
	problem_detail(problem, "its socket is %s", path);
	problem_hint(problem, "systemctl status haas-tgtd");
	return code;
}

static int tgt_client_dial(const char *path, int *ret)
{
	const struct timeval limit = {.tv_sec = TIMEOUT_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;
	int rc = 0;

	if (!text_copy(address.sun_path, sizeof(address.sun_path), path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) != 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		rc = -errno;
	if (rc) {
		(void)close(fd);
		return rc;
	}
	*ret = fd;
	return 0;
}

static int tgt_client_receive(int fd, struct tgt_answer *ret, char **ret_text)
{
	uint8_t head[TGT_ANSWER_SIZE];
	CLEANUP(freep) char *text = NULL;
	int rc = read_whole(fd, head, sizeof(head));

	if (rc == 0)
		rc = tgt_answer_decode(head, sizeof(head), ret);
	if (rc)
		return rc;
	text = calloc(1, (size_t)ret->size + 1);
	if (!text)
		return -ENOMEM;
	rc = read_whole(fd, text, ret->size);
	if (rc == 0 && ret_text)
		*ret_text = TAKE(text);
	return rc;
}

int tgt_ask(const char *socket_path, const struct tgt_request *request, struct tgt_answer *ret,
	    char **ret_text, struct problem *problem)
{
	uint8_t room[TGT_REQUEST_SIZE + TGT_TEXT_MAX];
	struct wire_writer writer = wire_writer(room, sizeof(room));
	CLEANUP(closep) int fd = -1;
	int rc;

	tgt_request_encode(request, &writer);
	if (writer.bad)
		return problem_set(problem, E_LIMIT, "the request to tgtd is too long");
	rc = tgt_client_dial(socket_path, &fd);
	if (rc == 0)
		rc = write_whole(fd, room, wire_written(&writer));
	sodium_memzero(room, sizeof(room)); /* it may have held a secret */
	if (rc == 0)
		rc = tgt_client_receive(fd, ret, ret_text);
	return rc ? tgt_client_away(problem, socket_path, rc) : 0;
}
