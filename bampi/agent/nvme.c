#include "bampi/agent/nvme.h"

#include <errno.h>
#include <linux/nvme_ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "common/base/error.h"

enum { ADMIN_GET_LOG = 0x02, ADMIN_IDENTIFY = 0x06, ADMIN_FORMAT = 0x80, ADMIN_SANITIZE = 0x84 };
enum { CNS_NAMESPACE = 0, CNS_CONTROLLER = 1, LOG_SANITIZE = 0x81 };

#define ADMIN_TIMEOUT_MS 30000
#define ALL_NAMESPACES   0xffffffffU

static int nvme_admin(int fd, struct nvme_admin_cmd *command, unsigned *ret_status)
{
	int status = ioctl(fd, NVME_IOCTL_ADMIN_CMD, command);

	if (status < 0)
		return -errno;
	*ret_status = (unsigned)status;
	return status ? E_UNSUPPORTED : 0;
}

static int read_page(int fd, uint8_t opcode, uint32_t namespace, uint32_t dword10, void *ret,
		     uint32_t size)
{
	struct nvme_admin_cmd command = {
		.opcode = opcode,
		.nsid = namespace,
		.addr = (uintptr_t)ret,
		.data_len = size,
		.cdw10 = dword10,
		.timeout_ms = ADMIN_TIMEOUT_MS,
	};
	unsigned status;

	memset(ret, 0, size);
	return nvme_admin(fd, &command, &status);
}

int nvme_identify(int fd, struct nvme_controller *ret)
{
	CLEANUP(freep) void *page = aligned_alloc(4096, NVME_IDENTIFY_SIZE);
	int rc;

	if (!page)
		return -ENOMEM;
	rc = read_page(fd, ADMIN_IDENTIFY, 0, CNS_CONTROLLER, page, NVME_IDENTIFY_SIZE);
	return rc ? rc : nvme_controller_decode(page, NVME_IDENTIFY_SIZE, ret);
}

int nvme_sanitize(int fd, enum nvme_sanitize_action action, unsigned *ret_status)
{
	struct nvme_admin_cmd command = {
		.opcode = ADMIN_SANITIZE, .cdw10 = action, .timeout_ms = ADMIN_TIMEOUT_MS};

	return nvme_admin(fd, &command, ret_status);
}

int nvme_sanitize_poll(int fd, struct nvme_sanitize_status *ret)
{
	uint8_t page[NVME_SANITIZE_LOG_SIZE];
	uint32_t dwords = sizeof(page) / 4 - 1;
	int rc = read_page(fd, ADMIN_GET_LOG, ALL_NAMESPACES, LOG_SANITIZE | dwords << 16, page,
			   sizeof(page));

	return rc ? rc : nvme_sanitize_status_decode(page, sizeof(page), ret);
}

int nvme_format(int fd, enum nvme_format_erase erase, uint32_t timeout_ms, unsigned *ret_status)
{
	CLEANUP(freep) void *page = aligned_alloc(4096, NVME_IDENTIFY_SIZE);
	int namespace = ioctl(fd, NVME_IOCTL_ID);
	struct nvme_admin_cmd command = {
		.opcode = ADMIN_FORMAT, .nsid = (uint32_t) namespace, .timeout_ms = timeout_ms};
	int rc;

	if (namespace <= 0)
		return namespace < 0 ? -errno : -ENOTTY;
	if (!page)
		return -ENOMEM;
	rc = read_page(fd, ADMIN_IDENTIFY, (uint32_t) namespace, CNS_NAMESPACE, page,
		       NVME_IDENTIFY_SIZE);
	if (!rc)
		rc = nvme_format_dword(page, NVME_IDENTIFY_SIZE, erase, &command.cdw10);
	return rc ? rc : nvme_admin(fd, &command, ret_status);
}
