#include "bampi/agent/bmc_lan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/net/wire.h"

#include "bampi/agent/sysfs.h"

enum { NETFN_TRANSPORT = 0x0c, CMD_GET_LAN = 0x02 };
enum { LAN_PARAMETER_ADDRESS = 3, LAN_PARAMETER_MAC = 5 };

#define ANSWER_MS     2000
#define CHANNEL_FIRST 1
#define CHANNEL_LAST  11 /* 12..15 are reserved or the system interface (6.3) */
#define DATA_LIMIT    64

static int bmc_lan_send(int fd, uint8_t channel, uint8_t parameter, long id)
{
	struct ipmi_system_interface_addr address = {.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE,
						     .channel = IPMI_BMC_CHANNEL};
	uint8_t data[4] = {channel, parameter, 0, 0};
	struct ipmi_req request = {
		.addr = (unsigned char *)&address,
		.addr_len = sizeof(address),
		.msgid = id,
		.msg = {.netfn = NETFN_TRANSPORT,
			.cmd = CMD_GET_LAN,
			.data = data,
			.data_len = sizeof(data)},
	};

	return ioctl(fd, IPMICTL_SEND_COMMAND, &request) < 0 ? -errno : 0;
}

/* The parameter's bytes after completion code and revision. */
static int bmc_lan_receive(int fd, long id, uint8_t *ret, size_t size)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	struct ipmi_system_interface_addr address;
	uint8_t data[DATA_LIMIT];

	while (poll(&ready, 1, ANSWER_MS) > 0) {
		struct ipmi_recv answer = {
			.addr = (unsigned char *)&address,
			.addr_len = sizeof(address),
			.msg = {.data = data, .data_len = sizeof(data)},
		};
		struct wire_reader reader;

		if (ioctl(fd, IPMICTL_RECEIVE_MSG_TRUNC, &answer) < 0)
			return -errno;
		if (answer.recv_type != IPMI_RESPONSE_RECV_TYPE || answer.msgid != id)
			continue; /* late, of a question given up */
		reader = wire_reader(data, answer.msg.data_len);
		if (wire_u8(&reader) != 0)
			return E_UNSUPPORTED;
		wire_skip(&reader, 1);
		wire_copy(&reader, ret, size);
		return reader.bad ? E_PROTOCOL : 0;
	}
	return E_TIMEOUT;
}

static int bmc_lan_ask(int fd, uint8_t channel, uint8_t parameter, uint8_t *ret, size_t size)
{
	long id = (long)channel << 8 | parameter;
	int rc = bmc_lan_send(fd, channel, parameter, id);

	return rc ? rc : bmc_lan_receive(fd, id, ret, size);
}

int bmc_lan_read(const struct agent_env *env, struct bmc_lan *ret)
{
	CLEANUP(closep) int fd = -1;
	char path[SYSFS_PATH_SIZE];

	if (!sysfs_path(env, path, "/dev/ipmi0"))
		return E_NOT_FOUND;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return E_NOT_FOUND;
	for (uint8_t channel = CHANNEL_FIRST; channel <= CHANNEL_LAST; channel++) {
		struct bmc_lan lan = {0};
		uint8_t address[4] = {0};
		int rc = bmc_lan_ask(fd, channel, LAN_PARAMETER_ADDRESS, address, sizeof(address));

		if (rc == E_TIMEOUT)
			return E_NOT_FOUND; /* the driver is there, the BMC is not */
		if (rc || bmc_lan_ask(fd, channel, LAN_PARAMETER_MAC, lan.mac.bytes,
				      sizeof(lan.mac.bytes)))
			continue;
		lan.address = (uint32_t)address[0] << 24 | (uint32_t)address[1] << 16 |
			      (uint32_t)address[2] << 8 | address[3];
		*ret = lan;
		return 0;
	}
	return E_NOT_FOUND;
}
