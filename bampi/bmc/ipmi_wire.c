#include "bampi/bmc/ipmi_wire.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/net/wire.h"

enum {
	CHASSIS_GET_STATUS = 0x01,
	CHASSIS_CONTROL = 0x02,
	CHASSIS_IDENTIFY = 0x04,
	CHASSIS_SET_BOOT_OPTIONS = 0x08,
	CHASSIS_GET_BOOT_OPTIONS = 0x09,
	APP_GET_DEVICE_ID = 0x01,
	APP_GET_SYSTEM_GUID = 0x37,
	APP_SET_USER_ACCESS = 0x43,
	APP_GET_USER_ACCESS = 0x44,
	APP_SET_USER_NAME = 0x45,
	APP_GET_USER_NAME = 0x46,
	APP_SET_USER_PASSWORD = 0x47,
	TRANSPORT_GET_LAN = 0x02,
	SENSOR_GET_READING = 0x2d,
	STORAGE_GET_SDR_INFO = 0x20,
	STORAGE_GET_SEL_INFO = 0x40,
	STORAGE_GET_SEL_ENTRY = 0x43,
};

int ipmi_completion_error(uint8_t code, const char **ret_text)
{
	static const struct {
		uint8_t code;
		int rc;
		const char *text;
	} codes[] = {
		{0x00, 0, "done"},
		{0x80, E_UNSUPPORTED, "parameter not supported"},
		{0xc0, -EBUSY, "node busy"},
		{0xc1, E_UNSUPPORTED, "invalid command"},
		{0xc2, E_UNSUPPORTED, "command invalid for this LUN"},
		{0xc3, -EBUSY, "timeout inside the BMC"},
		{0xc4, -EBUSY, "out of space"},
		{0xc7, E_UNSUPPORTED, "request length invalid"},
		{0xc8, E_UNSUPPORTED, "request length limit exceeded"},
		{0xc9, E_UNSUPPORTED, "parameter out of range"},
		{0xcb, E_NOT_FOUND, "sensor, data or record not present"},
		{0xcc, E_UNSUPPORTED, "invalid data field"},
		{0xcd, E_UNSUPPORTED, "command illegal for this sensor or record"},
		{0xce, -EBUSY, "no answer could be given"},
		{0xcf, -EBUSY, "duplicated request"},
		{0xd0, -EBUSY, "SDR repository in update mode"},
		{0xd1, -EBUSY, "BMC in firmware update mode"},
		{0xd2, -EBUSY, "BMC initialising"},
		{0xd3, E_UNAVAILABLE, "destination unavailable"},
		{0xd4, E_DENIED, "insufficient privilege"},
		{0xd5, E_CONFLICT, "not possible in the present state"},
		{0xd6, E_UNSUPPORTED, "sub-function disabled"},
	};

	for (size_t i = 0; i < COUNT_OF(codes); i++) {
		if (codes[i].code == code) {
			*ret_text = codes[i].text;
			return codes[i].rc;
		}
	}
	*ret_text = "unspecified error";
	return E_PROTOCOL;
}

/* The data after command and completion code. */
static struct wire_reader ipmi_wire_answer(const void *data, size_t size, uint8_t command)
{
	struct wire_reader reader = wire_reader(data, size);

	if (wire_u8(&reader) != command || wire_u8(&reader) != 0)
		reader.bad = true;
	return reader;
}

static struct ipmi_frame ipmi_wire_frame(uint8_t netfn, const void *bytes, size_t size)
{
	struct ipmi_frame frame = {.netfn = netfn, .size = (uint8_t)size};

	memcpy(frame.bytes, bytes, size);
	return frame;
}
#define FRAME(netfn, ...)                                        \
	ipmi_wire_frame((netfn), (const uint8_t[]){__VA_ARGS__}, \
			sizeof((const uint8_t[]){__VA_ARGS__}))

/* --- chassis --- */

struct ipmi_frame ipmi_power_status_request(void)
{
	return FRAME(IPMI_NETFN_CHASSIS, CHASSIS_GET_STATUS);
}

int ipmi_power_status_answer(const void *data, size_t size, bool *ret_on)
{
	struct wire_reader reader = ipmi_wire_answer(data, size, CHASSIS_GET_STATUS);
	bool on = wire_u8(&reader) & 1;

	if (reader.bad)
		return E_PROTOCOL;
	*ret_on = on;
	return 0;
}

int ipmi_power_request(enum bmc_op op, struct ipmi_frame *ret)
{
	static const struct {
		bool known;
		uint8_t control;
	} controls[BMC_OP_COUNT] = {
		[BMC_POWER_OFF] = {true, 0},
		[BMC_POWER_ON] = {true, 1},
		[BMC_POWER_RESET] = {true, 3},
		[BMC_POWER_SOFT] = {true, 5},
	};

	if ((unsigned)op >= BMC_OP_COUNT || !controls[op].known)
		return -EINVAL;
	*ret = FRAME(IPMI_NETFN_CHASSIS, CHASSIS_CONTROL, controls[op].control);
	return 0;
}

struct ipmi_frame ipmi_identify_request(uint8_t seconds)
{
	return FRAME(IPMI_NETFN_CHASSIS, CHASSIS_IDENTIFY, seconds);
}

enum {
	BOOT_VALID = 0x80,
	BOOT_PERSISTENT = 0x40,
	BOOT_EFI = 0x20,
	BOOT_PARAMETER_FLAGS = 5,
};

/* Table 28-14, data 2 bits 5:2. */
static const uint8_t boot_devices[] = {
	[BMC_BOOT_NONE] = 0, [BMC_BOOT_PXE] = 1, [BMC_BOOT_DISK] = 2};

static uint8_t boot_flags(const struct bmc_boot *boot)
{
	unsigned flags = boot->device == BMC_BOOT_NONE ? 0 : BOOT_VALID;

	if (boot->persistent)
		flags |= BOOT_PERSISTENT;
	if (boot->firmware == BMC_FIRMWARE_UEFI)
		flags |= BOOT_EFI;
	return (uint8_t)flags;
}

struct ipmi_frame ipmi_boot_set_request(enum ipmi_boot_step step, const struct bmc_boot *boot)
{
	uint8_t device = boot->device < COUNT_OF(boot_devices) ? boot_devices[boot->device] : 0;

	switch (step) {
	case IPMI_BOOT_BEGIN: return FRAME(IPMI_NETFN_CHASSIS, CHASSIS_SET_BOOT_OPTIONS, 0, 1);
	case IPMI_BOOT_KEEP_VALID:
		/* Else the BMC forgets the flags when the power command comes more than 60 s later
		 * (parameter 3, bit 3). */
		return FRAME(IPMI_NETFN_CHASSIS, CHASSIS_SET_BOOT_OPTIONS, 3, 0x08);
	case IPMI_BOOT_ACKNOWLEDGE:
		/* The BIOS has not yet handled these (parameter 4: write mask, data). */
		return FRAME(IPMI_NETFN_CHASSIS, CHASSIS_SET_BOOT_OPTIONS, 4, 1, 1);
	case IPMI_BOOT_FLAGS:
		return FRAME(IPMI_NETFN_CHASSIS, CHASSIS_SET_BOOT_OPTIONS, BOOT_PARAMETER_FLAGS,
			     boot_flags(boot), (uint8_t)(device << 2), 0, 0, 0);
	case IPMI_BOOT_COMPLETE:
	case IPMI_BOOT_STEP_COUNT: break;
	}
	return FRAME(IPMI_NETFN_CHASSIS, CHASSIS_SET_BOOT_OPTIONS, 0, 0);
}

struct ipmi_frame ipmi_boot_get_request(void)
{
	return FRAME(IPMI_NETFN_CHASSIS, CHASSIS_GET_BOOT_OPTIONS, BOOT_PARAMETER_FLAGS, 0, 0);
}

int ipmi_boot_get_answer(const void *data, size_t size, struct bmc_boot *ret, bool *ret_valid)
{
	struct wire_reader reader = ipmi_wire_answer(data, size, CHASSIS_GET_BOOT_OPTIONS);
	uint8_t parameter;
	uint8_t flags;
	uint8_t device;
	struct bmc_boot boot = {.device = BMC_BOOT_OTHER};

	(void)wire_u8(&reader); /* parameter version */
	parameter = wire_u8(&reader);
	flags = wire_u8(&reader);
	device = (wire_u8(&reader) >> 2) & 0x0f;
	if (reader.bad || (parameter & 0x7f) != BOOT_PARAMETER_FLAGS)
		return E_PROTOCOL;
	for (size_t i = 0; i < COUNT_OF(boot_devices); i++) {
		if (boot_devices[i] == device)
			boot.device = (enum bmc_boot_device)i;
	}
	boot.persistent = flags & BOOT_PERSISTENT;
	boot.firmware = flags & BOOT_EFI ? BMC_FIRMWARE_UEFI : BMC_FIRMWARE_BIOS;
	*ret = boot;
	*ret_valid = flags & BOOT_VALID;
	return 0;
}

/* --- the BMC itself --- */

struct ipmi_frame ipmi_device_id_request(void)
{
	return FRAME(IPMI_NETFN_APP, APP_GET_DEVICE_ID);
}

static uint32_t ipmi_wire_little(struct wire_reader *reader, unsigned bytes)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint32_t)wire_u8(reader) << (8 * i);
	return value;
}

/* Two BCD digits; anything else as the plain number it is. */
static uint8_t ipmi_wire_bcd(uint8_t byte)
{
	unsigned high = byte >> 4;
	unsigned low = byte & 0x0fU;

	return high < 10 && low < 10 ? (uint8_t)(high * 10 + low) : byte;
}

int ipmi_device_id_answer(const void *data, size_t size, struct bmc_result *ret)
{
	struct wire_reader reader = ipmi_wire_answer(data, size, APP_GET_DEVICE_ID);
	struct bmc_result result = {.op = BMC_INFO};
	uint8_t version;

	(void)wire_u8(&reader); /* device id */
	(void)wire_u8(&reader); /* device revision */
	result.info.firmware_major = wire_u8(&reader) & 0x7f;
	result.info.firmware_minor = ipmi_wire_bcd(wire_u8(&reader));
	version = wire_u8(&reader); /* BCD, low nibble first: 02h is 2.0, 51h is 1.5 */
	result.info.ipmi_major = version & 0x0f;
	result.info.ipmi_minor = version >> 4;
	(void)wire_u8(&reader); /* additional device support */
	result.info.manufacturer = ipmi_wire_little(&reader, 3) & 0xfffff;
	result.info.product = (uint16_t)ipmi_wire_little(&reader, 2);
	if (reader.bad)
		return E_PROTOCOL;
	*ret = result;
	return 0;
}

struct ipmi_frame ipmi_guid_request(void)
{
	return FRAME(IPMI_NETFN_APP, APP_GET_SYSTEM_GUID);
}

int ipmi_guid_answer(const void *data, size_t size, char ret[37])
{
	struct wire_reader reader = ipmi_wire_answer(data, size, APP_GET_SYSTEM_GUID);
	uint8_t guid[16] = {0};

	wire_copy(&reader, guid, sizeof(guid));
	if (reader.bad)
		return E_PROTOCOL;
	/* SMBIOS order on most BMCs of today, so the text equals dmidecode's: first three fields
	 * little-endian. */
	(void)snprintf(
		ret, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		guid[3], guid[2], guid[1], guid[0], guid[5], guid[4], guid[7], guid[6], guid[8],
		guid[9], guid[10], guid[11], guid[12], guid[13], guid[14], guid[15]);
	return 0;
}

/* --- sensors and event log --- */

/* The repository of sensors and the event log tell of themselves alike. */
static int ipmi_wire_store_info(const void *data, size_t size, uint8_t command,
				struct ipmi_store_info *ret)
{
	struct wire_reader reader = ipmi_wire_answer(data, size, command);
	struct ipmi_store_info info = {0};

	(void)wire_u8(&reader); /* version */
	info.records = (uint16_t)ipmi_wire_little(&reader, 2);
	(void)ipmi_wire_little(&reader, 2); /* free space */
	info.added = ipmi_wire_little(&reader, 4);
	info.erased = ipmi_wire_little(&reader, 4);
	if (reader.bad)
		return E_PROTOCOL;
	*ret = info;
	return 0;
}

struct ipmi_frame ipmi_sdr_info_request(void)
{
	return FRAME(IPMI_NETFN_STORAGE, STORAGE_GET_SDR_INFO);
}

int ipmi_sdr_info_answer(const void *data, size_t size, struct ipmi_store_info *ret)
{
	return ipmi_wire_store_info(data, size, STORAGE_GET_SDR_INFO, ret);
}

struct ipmi_frame ipmi_reading_request(uint8_t sensor, uint8_t lun)
{
	struct ipmi_frame request = FRAME(IPMI_NETFN_SENSOR, SENSOR_GET_READING, sensor);

	request.lun = lun;
	return request;
}

int ipmi_reading_answer(const void *data, size_t size, bool *ret_readable, uint8_t *ret_value,
			uint16_t *ret_events)
{
	struct wire_reader reader = ipmi_wire_answer(data, size, SENSOR_GET_READING);
	uint8_t value = wire_u8(&reader);
	uint8_t flags = wire_u8(&reader); /* bit 5: no reading now, bit 6: it is scanned */
	unsigned events = 0;

	if (reader.bad)
		return E_PROTOCOL;
	/* Both are optional for sensors without events. */
	if (wire_left(&reader) > 0)
		events = wire_u8(&reader);
	if (wire_left(&reader) > 0)
		events |= (wire_u8(&reader) & 0x7fU) << 8;
	*ret_readable = (flags & 0x60) == 0x40;
	*ret_value = value;
	*ret_events = (uint16_t)events;
	return 0;
}

struct ipmi_frame ipmi_sel_info_request(void)
{
	return FRAME(IPMI_NETFN_STORAGE, STORAGE_GET_SEL_INFO);
}

int ipmi_sel_info_answer(const void *data, size_t size, struct ipmi_store_info *ret)
{
	return ipmi_wire_store_info(data, size, STORAGE_GET_SEL_INFO, ret);
}

struct ipmi_frame ipmi_sel_entry_request(uint16_t id)
{
	/* No reservation is needed for whole records. */
	return FRAME(IPMI_NETFN_STORAGE, STORAGE_GET_SEL_ENTRY, 0, 0, (uint8_t)id,
		     (uint8_t)(id >> 8), 0, 0xff);
}

int ipmi_sel_entry_answer(const void *data, size_t size, uint8_t ret[IPMI_SEL_RECORD_SIZE],
			  uint16_t *ret_next)
{
	struct wire_reader reader = ipmi_wire_answer(data, size, STORAGE_GET_SEL_ENTRY);
	uint16_t next = (uint16_t)ipmi_wire_little(&reader, 2);
	uint8_t record[IPMI_SEL_RECORD_SIZE];

	wire_copy(&reader, record, sizeof(record));
	if (reader.bad)
		return E_PROTOCOL;
	memcpy(ret, record, sizeof(record));
	*ret_next = next;
	return 0;
}

/* --- users --- */

struct ipmi_frame ipmi_user_access_request(uint8_t user)
{
	return FRAME(IPMI_NETFN_APP, APP_GET_USER_ACCESS, IPMI_CHANNEL_CURRENT, user & 0x3f);
}

int ipmi_user_access_answer(const void *data, size_t size, struct bmc_user *ret,
			    uint8_t *ret_user_count)
{
	struct wire_reader reader = ipmi_wire_answer(data, size, APP_GET_USER_ACCESS);
	uint8_t count = wire_u8(&reader) & 0x3f;
	uint8_t enabled =
		wire_u8(&reader) >> 6; /* 0 = the BMC does not say, 1 = enabled, 2 = disabled */
	uint8_t access;

	(void)wire_u8(&reader); /* fixed names */
	access = wire_u8(&reader);
	if (reader.bad)
		return E_PROTOCOL;
	ret->privilege = access & 0x0f;
	ret->enabled = enabled == 0 ? (access & 0x10) != 0 : enabled == 1;
	*ret_user_count = count;
	return 0;
}

struct ipmi_frame ipmi_user_name_request(uint8_t user)
{
	return FRAME(IPMI_NETFN_APP, APP_GET_USER_NAME, user & 0x3f);
}

int ipmi_user_name_answer(const void *data, size_t size, char ret[17])
{
	struct wire_reader reader = ipmi_wire_answer(data, size, APP_GET_USER_NAME);
	char name[17] = {0};

	wire_copy(&reader, name, 16);
	if (reader.bad)
		return E_PROTOCOL;
	for (size_t i = 0; i < 16 && name[i]; i++) {
		if (!isprint((unsigned char)name[i]))
			name[i] = '?';
	}
	memcpy(ret, name, sizeof(name));
	return 0;
}

struct ipmi_frame ipmi_user_set_access_request(uint8_t user, uint8_t privilege)
{
	/* Change bits 6:4: IPMI messaging on, link authentication off, not limited to callback. */
	return FRAME(IPMI_NETFN_APP, APP_SET_USER_ACCESS, 0x80 | 0x10 | IPMI_CHANNEL_CURRENT,
		     user & 0x3f, privilege & 0x0f, 0);
}

static struct ipmi_frame ipmi_wire_padded(struct ipmi_frame frame, const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	memcpy(frame.bytes + frame.size, text, length);
	frame.size = (uint8_t)(frame.size + size);
	return frame;
}

struct ipmi_frame ipmi_user_set_name_request(uint8_t user, const char *name)
{
	return ipmi_wire_padded(FRAME(IPMI_NETFN_APP, APP_SET_USER_NAME, user & 0x3f), name, 16);
}

struct ipmi_frame ipmi_user_set_password_request(uint8_t user, const char *password)
{
	/* Bit 7: 20-byte password; operation 2: set. */
	return ipmi_wire_padded(
		FRAME(IPMI_NETFN_APP, APP_SET_USER_PASSWORD, 0x80 | (user & 0x3f), 2), password,
		20);
}

struct ipmi_frame ipmi_user_enable_request(uint8_t user, bool enabled)
{
	return FRAME(IPMI_NETFN_APP, APP_SET_USER_PASSWORD, user & 0x3f, enabled ? 1 : 0);
}

/* --- LAN --- */

struct ipmi_frame ipmi_lan_get_request(enum ipmi_lan_parameter parameter)
{
	return FRAME(IPMI_NETFN_TRANSPORT, TRANSPORT_GET_LAN, IPMI_CHANNEL_CURRENT,
		     (uint8_t)parameter, 0, 0);
}

int ipmi_lan_get_answer(enum ipmi_lan_parameter parameter, const void *data, size_t size,
			struct bmc_result *ret)
{
	struct wire_reader reader = ipmi_wire_answer(data, size, TRANSPORT_GET_LAN);
	struct bmc_result result = *ret;
	uint32_t vlan;

	(void)wire_u8(&reader); /* parameter revision */
	switch (parameter) {
	case IPMI_LAN_ADDRESS: result.lan.address = wire_u32(&reader); break;
	case IPMI_LAN_SOURCE: result.lan.dhcp = (wire_u8(&reader) & 0x0f) == 2; break;
	case IPMI_LAN_MAC: wire_copy(&reader, result.lan.mac, sizeof(result.lan.mac)); break;
	case IPMI_LAN_NETMASK: result.lan.netmask = wire_u32(&reader); break;
	case IPMI_LAN_GATEWAY: result.lan.gateway = wire_u32(&reader); break;
	case IPMI_LAN_VLAN:
		vlan = ipmi_wire_little(&reader, 2);
		result.lan.vlan = vlan & 0x8000 ? (uint16_t)(vlan & 0x0fff) : 0;
		break;
	}
	if (reader.bad)
		return E_PROTOCOL;
	*ret = result;
	return 0;
}
