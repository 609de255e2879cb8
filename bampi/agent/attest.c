#include "bampi/agent/attest.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/base/attest_nonce.h"
#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/net/tpm_wire.h"

#include "bampi/agent/sysfs.h"

#define RETRY_LIMIT 100 /* 5 s */

/* The kernel's own resource manager: what a program loads is gone when it closes the device. In a
 * sandbox the device is the socket of a simulator. */
static int attest_open(const struct agent_env *env)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char path[SYSFS_PATH_SIZE];
	struct stat is;
	int fd;

	if (!sysfs_path(env, path, "/dev/tpmrm0"))
		return -ENAMETOOLONG;
	if (!env->sandbox || stat(path, &is) < 0 || !S_ISSOCK(is.st_mode)) {
		fd = open(path, O_RDWR | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!text_copy(address.sun_path, sizeof(address.sun_path), path) ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		int rc = errno ? -errno : -ENAMETOOLONG;

		(void)close(fd);
		return rc;
	}
	return fd;
}

/* One command at a time; the device gives its response in one piece. */
static int attest_ask_once(int fd, const uint8_t *command, size_t size,
			   uint8_t ret[TPM_RESPONSE_MAX], size_t *ret_size)
{
	ssize_t got = write(fd, command, size);

	if (got < 0)
		return -errno;
	if ((size_t)got != size)
		return E_PROTOCOL;
	got = read(fd, ret, TPM_RESPONSE_MAX);
	if (got < 0)
		return -errno;
	*ret_size = (size_t)got;
	return 0;
}

static int attest_ask(int fd, const uint8_t *command, size_t size, uint8_t ret[TPM_RESPONSE_MAX],
		      size_t *ret_size)
{
	const struct timespec moment = {.tv_nsec = 50000000};

	for (int left = RETRY_LIMIT;; left--) {
		int rc = attest_ask_once(fd, command, size, ret, ret_size);

		if (rc || left == 0 || tpm_code(ret, *ret_size) != TPM_CODE_RETRY)
			return rc;
		(void)nanosleep(&moment, NULL);
	}
}

static void attest_put_hex(struct text *data, const char *name, const void *bytes, size_t size)
{
	char hex[2 * TPM_ATTEST_MAX + 1];

	hex_encode(bytes, size, hex);
	json_put_string(data, name, hex);
}

static int attest_registers(int fd, uint32_t *ret_code, struct text *data)
{
	uint8_t command[TPM_COMMAND_MAX];
	uint8_t response[TPM_RESPONSE_MAX];
	uint8_t values[2][TPM_DIGEST_SIZE];
	size_t size = 0;
	int rc = attest_ask(fd, command, tpm_registers_encode(ATTEST_REGISTERS, command), response,
			    &size);

	if (!rc)
		rc = tpm_registers_decode(response, size, ATTEST_REGISTERS, ret_code, values);
	if (rc)
		return rc;
	attest_put_hex(data, "pcr7", values[0], TPM_DIGEST_SIZE);
	attest_put_hex(data, "pcr11", values[1], TPM_DIGEST_SIZE);
	return 0;
}

static int attest_quote(int fd, const uint8_t nonce[TPM_DIGEST_SIZE], uint32_t *ret_code,
			struct text *data)
{
	uint8_t command[TPM_COMMAND_MAX];
	uint8_t response[TPM_RESPONSE_MAX];
	struct tpm_quoted quoted;
	struct tpm_key key;
	uint32_t handle;
	size_t size = 0;
	int rc = attest_ask(fd, command, tpm_key_encode(command), response, &size);

	if (!rc)
		rc = tpm_key_decode(response, size, ret_code, &handle, &key);
	if (!rc)
		rc = attest_ask(fd, command,
				tpm_quote_encode(handle, nonce, ATTEST_REGISTERS, command),
				response, &size);
	if (!rc)
		rc = tpm_quoted_decode(response, size, ret_code, &quoted);
	if (rc)
		return rc;
	attest_put_hex(data, "key", &key, sizeof(key));
	attest_put_hex(data, "quote", quoted.attest, quoted.attest_size);
	attest_put_hex(data, "signature", &quoted.signature, sizeof(quoted.signature));
	return attest_registers(fd, ret_code, data);
}

/* A node without a TPM, or with one that refuses, is no failure of the task: bampid decides what it
 * may do. */
int attest_run(struct task *task, struct text *data, struct problem *problem)
{
	const struct agent_env *env = task->env;
	CLEANUP(closep) int fd = attest_open(env);
	uint8_t nonce[TPM_DIGEST_SIZE];
	char why[128] = "";
	uint32_t code = 0;
	int rc = fd < 0 ? fd : 0;

	(void)problem;
	task_say(task, 0, 0, "asking the TPM");
	attest_nonce(env->token, env->key ? agent_key_text(env->key) : "", nonce);
	json_begin_object(data, NULL);
	json_put_bool(data, "tpm", fd >= 0);
	if (!rc)
		rc = attest_quote(fd, nonce, &code, data);
	if (rc == -ENOENT)
		(void)text_copy(why, sizeof(why), "it has no TPM 2.0");
	else if (code)
		(void)text_format(why, sizeof(why), "its TPM refuses (response code 0x%x)", code);
	else if (rc)
		(void)text_format(why, sizeof(why), "its TPM cannot be asked: %s", error_text(rc));
	json_put_string(data, "problem", why);
	json_end_object(data);
	return data->failed ? -ENOMEM : 0;
}
