#include "tests/sim/switch/switch_rpc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define ANSWER_MAX ((size_t)16 << 20)
#define READ_SIZE  ((size_t)64 << 10)
#define STRAY_MAX  64 /* messages that are not our answer */
#define TIMEOUT_S  2

int switch_rpc_init(struct switch_rpc *rpc, const char *path)
{
	*rpc = (struct switch_rpc){.fd = -1};
	return text_copy(rpc->path, sizeof(rpc->path), path) ? 0 : E_INVALID;
}

static void switch_rpc_disconnect(struct switch_rpc *rpc)
{
	if (rpc->fd >= 0)
		(void)close(rpc->fd);
	rpc->fd = -1;
	rpc->size = 0;
}

void switch_rpc_done(struct switch_rpc *rpc)
{
	switch_rpc_disconnect(rpc);
	free(rpc->data);
	*rpc = (struct switch_rpc){.fd = -1};
}

static int switch_rpc_connect_to(struct switch_rpc *rpc)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timeval limit = {TIMEOUT_S, 0};

	(void)text_copy(address.sun_path, sizeof(address.sun_path), rpc->path);
	rpc->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (rpc->fd < 0)
		return -errno;
	(void)setsockopt(rpc->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(rpc->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(rpc->fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		int rc = -errno;

		switch_rpc_disconnect(rpc);
		return rc;
	}
	return 0;
}

static int switch_rpc_send_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);

		if (sent <= 0)
			return sent < 0 ? -errno : -EPIPE;
		data += sent;
		size -= (size_t)sent;
	}
	return 0;
}

static int receive_more(struct switch_rpc *rpc)
{
	ssize_t got;

	if (rpc->size + READ_SIZE > ANSWER_MAX)
		return E_LIMIT;
	if (rpc->room < rpc->size + READ_SIZE) {
		size_t room = rpc->room * 2 + READ_SIZE;
		char *data = realloc(rpc->data, room);

		if (!data)
			return -ENOMEM;
		rpc->data = data;
		rpc->room = room;
	}
	got = recv(rpc->fd, rpc->data + rpc->size, READ_SIZE, 0);
	if (got > 0)
		rpc->size += (size_t)got;
	if (got < 0)
		return errno == EAGAIN ? E_TIMEOUT : -errno;
	return got == 0 ? -EPIPE : 0;
}

/* One whole message: nothing stands between two. */
static int receive_message(struct switch_rpc *rpc, json_t **ret)
{
	for (;;) {
		json_error_t error;
		json_t *message = NULL;
		int rc;

		if (rpc->size > 0 && rpc->data)
			message = json_loadb(rpc->data, rpc->size, JSON_DISABLE_EOF_CHECK, &error);
		if (message) {
			size_t used = (size_t)error.position;

			memmove(rpc->data, rpc->data + used, rpc->size - used);
			rpc->size -= used;
			*ret = message;
			return 0;
		}
		rc = receive_more(rpc);
		if (rc != 0)
			return rc;
	}
}

/* Probes of the server ("echo") are not answered: it sends none on Unix sockets. */
static int receive_answer(struct switch_rpc *rpc, json_t **ret_result)
{
	for (unsigned i = 0; i < STRAY_MAX; i++) {
		json_t *message = NULL;
		json_t *result;
		int rc = receive_message(rpc, &message);

		if (rc != 0)
			return rc;
		if (json_integer_value(json_object_get(message, "id")) != rpc->id ||
		    !json_object_get(message, "result")) {
			json_decref(message);
			continue;
		}
		result = json_object_get(message, "result");
		rc = json_is_null(json_object_get(message, "error")) ? 0 : E_PROTOCOL;
		if (rc == 0)
			*ret_result = json_incref(result);
		json_decref(message);
		return rc;
	}
	return E_PROTOCOL;
}

static int call_once(struct switch_rpc *rpc, const char *request, json_t **ret_result)
{
	int rc = rpc->fd < 0 ? switch_rpc_connect_to(rpc) : 0;

	if (rc == 0)
		rc = switch_rpc_send_all(rpc->fd, request, strlen(request));
	if (rc == 0)
		rc = receive_answer(rpc, ret_result);
	if (rc != 0 && rc != E_PROTOCOL)
		switch_rpc_disconnect(rpc);
	return rc;
}

int switch_rpc_call(struct switch_rpc *rpc, const char *method, json_t *params, json_t **ret_result)
{
	bool old = rpc->fd >= 0;
	json_t *request =
		json_pack("{s:s,s:o,s:i}", "method", method, "params", params, "id", ++rpc->id);
	char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	int rc;

	json_decref(request);
	if (!text)
		return -ENOMEM;
	rc = call_once(rpc, text, ret_result);
	if (old && rc == -EPIPE)
		rc = call_once(rpc, text, ret_result);
	free(text);
	return rc;
}
