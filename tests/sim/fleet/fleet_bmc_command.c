#include <string.h>

#include "common/net/wire.h"

#include "tests/sim/fleet/fleet_bmc.h"

enum netfn { CHASSIS = 0x00, SENSOR = 0x04, APP = 0x06, STORAGE = 0x0a };
enum completion {
	COMPLETED = 0x00,
	INVALID_COMMAND = 0xc1,
	BAD_LENGTH = 0xc7,
	PARAMETER = 0x80, /* boot options: parameter not supported */
	NOT_PRESENT = 0xcb,
	INVALID_FIELD = 0xcc,
	NO_PRIVILEGE = 0xd4,
};
#define RECORD_LAST     0xffff
#define RECORD_MAX      80
#define LUN_ADDRESS     0x20
#define SEL_VERSION     0x51
#define RESERVATION     0x0001
#define FLAGS_PARAMETER 5

static void fleet_bmc_command_put(struct fleet_bmc_answer *ret, const uint8_t *bytes, size_t size)
{
	if (ret->size + size > sizeof(ret->data))
		return;
	memcpy(ret->data + ret->size, bytes, size);
	ret->size += size;
}

#define PUT(ret, ...)                                                       \
	do {                                                                \
		const uint8_t put_bytes_[] = {__VA_ARGS__};                 \
		fleet_bmc_command_put(ret, put_bytes_, sizeof(put_bytes_)); \
	} while (0)

void fleet_bmc_guid(const struct fleet_node *node, uint8_t ret[16])
{
	memset(ret, 0, 16);
	memcpy(ret, "fleet", 5);
	ret[14] = (uint8_t)(node->index >> 8);
	ret[15] = (uint8_t)node->index;
}

/* --- application --- */

static void device_id(struct fleet_node *node, const struct rmcp_command *command,
		      struct fleet_bmc_answer *ret)
{
	(void)node;
	(void)command;
	/* Device, revision, firmware 1.00, IPMI 2.0, SDR+SEL+FRU+chassis, maker 0, product 1. */
	PUT(ret, 0x20, 0x81, 0x01, 0x00, 0x02, 0x8f, 0x00, 0x00, 0x00, 0x01, 0x00);
}

static void fleet_bmc_command_guid(struct fleet_node *node, const struct rmcp_command *command,
				   struct fleet_bmc_answer *ret)
{
	uint8_t bytes[16];

	(void)command;
	fleet_bmc_guid(node, bytes);
	fleet_bmc_command_put(ret, bytes, sizeof(bytes));
}

/* 22.13: version 2.0 only, a name is needed, no key of the BMC. */
static void fleet_bmc_command_capabilities(struct fleet_node *node,
					   const struct rmcp_command *command,
					   struct fleet_bmc_answer *ret)
{
	(void)node;
	(void)command;
	PUT(ret, 0x01, 0x80, 0x04, 0x02, 0x00, 0x00, 0x00, 0x00);
}

/* 22.15: two standard suites, as records of the list. */
static void fleet_bmc_command_suites(struct fleet_node *node, const struct rmcp_command *command,
				     struct fleet_bmc_answer *ret)
{
	static const uint8_t list[] = {0xc0, 3, 0x01, 0x41, 0x81, 0xc0, 17, 0x03, 0x44, 0x81};
	size_t at = command->size >= 3 ? (size_t)(command->data[2] & 0x3f) * 16 : 0;

	(void)node;
	PUT(ret, 0x01);
	if (at < sizeof(list))
		fleet_bmc_command_put(ret, list + at, sizeof(list) - at);
}

static void set_privilege(struct fleet_node *node, const struct rmcp_command *command,
			  struct fleet_bmc_answer *ret)
{
	(void)node;
	if (command->size < 1 || command->data[0] > 4)
		ret->completion = INVALID_FIELD;
	else
		PUT(ret, command->data[0] ? command->data[0] : 4);
}

static void close_session(struct fleet_node *node, const struct rmcp_command *command,
			  struct fleet_bmc_answer *ret)
{
	(void)node;
	(void)command;
	ret->closes = true;
}

/* --- chassis --- */

static bool fleet_bmc_command_lies(struct fleet_node *node)
{
	return fleet_fault_always(node, FLEET_BMC_LIES);
}

static void chassis_status(struct fleet_node *node, const struct rmcp_command *command,
			   struct fleet_bmc_answer *ret)
{
	bool on = fleet_bmc_command_lies(node) ? node->bmc.claims_on : node->bmc.on;

	(void)command;
	PUT(ret, (uint8_t)(0x20 | on), 0x00, 0x40, 0x00);
}

static void chassis_control(struct fleet_node *node, const struct rmcp_command *command,
			    struct fleet_bmc_answer *ret)
{
	uint8_t what = command->size ? command->data[0] & 0x0f : 0xff;

	if (what > 5) {
		ret->completion = INVALID_FIELD;
		return;
	}
	if (what == 3 && fleet_hold(node, FLEET_AT_RESTART, NULL)) {
		ret->silent = true;
		return;
	}
	if (fleet_bmc_command_lies(node)) {
		node->bmc.claims_on = what != 0 && what != 5;
		return;
	}
	if (fleet_fault(node, FLEET_BMC_DEAF))
		return;
	switch (what) {
	case 0:
	case 5: fleet_power(node, false); break;
	case 1: fleet_power(node, true); break;
	case 2:
		/* 28.3: a cycle of what is off may be refused. */
		if (!node->bmc.on)
			ret->completion = 0xd5;
		if (node->bmc.on) {
			fleet_power(node, false);
			fleet_power(node, true);
		}
		break;
	case 3:
		if (!node->bmc.on)
			ret->completion = 0xd5;
		fleet_reset(node);
		break;
	default: break;
	}
}

static void fleet_bmc_command_identify(struct fleet_node *node, const struct rmcp_command *command,
				       struct fleet_bmc_answer *ret)
{
	(void)node;
	(void)command;
	(void)ret;
}

/* 28.12: parameter 5 holds the flags, the others are taken and forgotten. */
static void set_boot(struct fleet_node *node, const struct rmcp_command *command,
		     struct fleet_bmc_answer *ret)
{
	struct fleet_bmc *bmc = &node->bmc;

	if (command->size < 1) {
		ret->completion = BAD_LENGTH;
		return;
	}
	if ((command->data[0] & 0x7f) != FLAGS_PARAMETER)
		return;
	if (command->size < 6) {
		ret->completion = BAD_LENGTH;
		return;
	}
	bmc->valid = command->data[1] & 0x80;
	bmc->persistent = command->data[1] & 0x40;
	bmc->efi = command->data[1] & 0x20;
	bmc->device = command->data[2] >> 2 & 0x0f;
	if (fleet_bmc_command_lies(node))
		bmc->valid = false;
}

static void get_boot(struct fleet_node *node, const struct rmcp_command *command,
		     struct fleet_bmc_answer *ret)
{
	const struct fleet_bmc *bmc = &node->bmc;

	if (command->size < 1 || (command->data[0] & 0x7f) != FLAGS_PARAMETER) {
		ret->completion = PARAMETER;
		return;
	}
	PUT(ret, 0x01, FLAGS_PARAMETER,
	    (uint8_t)((bmc->valid || fleet_bmc_command_lies(node) ? 0x80 : 0) |
		      (bmc->persistent ? 0x40 : 0) | (bmc->efi ? 0x20 : 0)),
	    (uint8_t)(bmc->device << 2), 0, 0, 0);
}

/* --- sensors --- */

static const struct sensor {
	const char *name;
	uint8_t type, unit, multiplier;
	uint8_t low_critical, high_critical;
	uint8_t off, on; /* raw readings */
} fleet_bmc_command_sensors[] = {
	{"Inlet Temp", 0x01, 1, 1, 0, 45, 21, 23},
	{"CPU1 Temp", 0x01, 1, 1, 0, 95, 22, 48},
	{"FAN1", 0x04, 18, 100, 5, 250, 0, 62},
};

static size_t sensor_record(size_t index, uint8_t ret[RECORD_MAX])
{
	const struct sensor *sensor = &fleet_bmc_command_sensors[index];
	struct wire_writer writer = wire_writer(ret, RECORD_MAX);
	size_t length = strlen(sensor->name);
	const uint8_t head[] = {
		(uint8_t)(index + 1),   0,           SEL_VERSION, 0x01,
		(uint8_t)(43 + length), LUN_ADDRESS, 0,           (uint8_t)(index + 1)};
	/* Entity, initialisation, capabilities, type, threshold events, masks: both critical
	 * thresholds are readable. */
	const uint8_t kind[] = {0x07,         (uint8_t)(index + 1),
				0x7f,         0x68,
				sensor->type, 0x01,
				0x04,         0x02,
				0x04,         0x02,
				0x12,         0x12};
	/* Unsigned, unit, linear, M, B, accuracy, exponents; nominal and normal readings. */
	const uint8_t scale[] = {0x00, sensor->unit, 0x00, 0x00, sensor->multiplier,
				 0x00, 0x00,         0x00, 0x00, 0x00,
				 0x00, 0x00,         0x00, 0x00, 0xff,
				 0x00};
	/* Upper non-recoverable, critical, non-critical; lower ones; hysteresis, reserved, OEM. */
	const uint8_t limits[] = {
		0, sensor->high_critical,   0, 0, sensor->low_critical, 0, 1, 1, 0, 0,
		0, (uint8_t)(0xc0 | length)};

	wire_put_bytes(&writer, head, sizeof(head));
	wire_put_bytes(&writer, kind, sizeof(kind));
	wire_put_bytes(&writer, scale, sizeof(scale));
	wire_put_bytes(&writer, limits, sizeof(limits));
	wire_put_bytes(&writer, sensor->name, length);
	return wire_written(&writer);
}

static void sensor_reading(struct fleet_node *node, const struct rmcp_command *command,
			   struct fleet_bmc_answer *ret)
{
	uint8_t number = command->size ? command->data[0] : 0;
	uint8_t raw;
	uint8_t status = 0xc0;

	if (number < 1 || number > COUNT_OF(fleet_bmc_command_sensors)) {
		ret->completion = NOT_PRESENT;
		return;
	}
	raw = node->bmc.on ? fleet_bmc_command_sensors[number - 1].on
			   : fleet_bmc_command_sensors[number - 1].off;
	if (node->bmc.on && raw < fleet_bmc_command_sensors[number - 1].low_critical)
		status |= 0x02;
	PUT(ret, raw, 0xc0, status);
}

/* --- storage --- */

static void fleet_bmc_command_sdr_info(struct fleet_node *node, const struct rmcp_command *command,
				       struct fleet_bmc_answer *ret)
{
	(void)node;
	(void)command;
	PUT(ret, SEL_VERSION, COUNT_OF(fleet_bmc_command_sensors), 0, 0, 0x10, 1, 0, 0, 0, 1, 0, 0,
	    0, 0x02);
}

static void fleet_bmc_command_reserve(struct fleet_node *node, const struct rmcp_command *command,
				      struct fleet_bmc_answer *ret)
{
	(void)node;
	(void)command;
	PUT(ret, RESERVATION, 0);
}

/* Next record, then the asked bytes of this one. */
static void fleet_bmc_command_put_piece(const struct rmcp_command *command, const uint8_t *record,
					size_t size, uint16_t next, struct fleet_bmc_answer *ret)
{
	size_t offset = command->data[4];
	size_t count = command->data[5];

	if (offset > size) {
		ret->completion = INVALID_FIELD;
		return;
	}
	if (count == 0xff || count > size - offset)
		count = size - offset;
	PUT(ret, (uint8_t)next, (uint8_t)(next >> 8));
	fleet_bmc_command_put(ret, record + offset, count);
}

static void sdr_record(struct fleet_node *node, const struct rmcp_command *command,
		       struct fleet_bmc_answer *ret)
{
	uint8_t record[RECORD_MAX];
	unsigned id;

	(void)node;
	if (command->size < 6) {
		ret->completion = BAD_LENGTH;
		return;
	}
	id = command->data[2] | (unsigned)command->data[3] << 8;
	if (id == 0)
		id = 1;
	if (id > COUNT_OF(fleet_bmc_command_sensors)) {
		ret->completion = NOT_PRESENT;
		return;
	}
	fleet_bmc_command_put_piece(
		command, record, sensor_record(id - 1, record),
		id < COUNT_OF(fleet_bmc_command_sensors) ? (uint16_t)(id + 1) : RECORD_LAST, ret);
}

static void sel_info(struct fleet_node *node, const struct rmcp_command *command,
		     struct fleet_bmc_answer *ret)
{
	(void)command;
	PUT(ret, SEL_VERSION, (uint8_t)node->bmc.sel_count, (uint8_t)(node->bmc.sel_count >> 8), 0,
	    0x10, 1, 0, 0, 0, 1, 0, 0, 0, 0x02);
}

/* Each power-on leaves one line: "Power Unit: power off/down" deasserted by the sensor 0xf0. */
static void sel_entry(struct fleet_node *node, const struct rmcp_command *command,
		      struct fleet_bmc_answer *ret)
{
	unsigned id;

	if (command->size < 6) {
		ret->completion = BAD_LENGTH;
		return;
	}
	id = command->data[2] | (unsigned)command->data[3] << 8;
	if (id == 0)
		id = 1;
	if (id == RECORD_LAST)
		id = node->bmc.sel_count;
	if (id == 0 || id > node->bmc.sel_count) {
		ret->completion = NOT_PRESENT;
		return;
	}

	const uint8_t record[16] = {(uint8_t)id, (uint8_t)(id >> 8),
				    0x02,        (uint8_t)id,
				    0,           0,
				    0x60,        LUN_ADDRESS,
				    0,           0x04,
				    0x09,        0xf0,
				    0xef,        0x00,
				    0xff,        0xff};

	fleet_bmc_command_put_piece(command, record, sizeof(record),
				    id < node->bmc.sel_count ? (uint16_t)(id + 1) : RECORD_LAST,
				    ret);
}

static void sel_clear(struct fleet_node *node, const struct rmcp_command *command,
		      struct fleet_bmc_answer *ret)
{
	if (command->size < 6 || memcmp(command->data + 2, "CLR", 3) != 0) {
		ret->completion = INVALID_FIELD;
		return;
	}
	if (command->data[5] == 0xaa)
		node->bmc.sel_count = 0;
	PUT(ret, 0x01); /* done */
}

/* --- the table --- */

static const struct {
	uint8_t netfn, command;
	bool open; /* also without a session */
	void (*run)(struct fleet_node *node, const struct rmcp_command *command,
		    struct fleet_bmc_answer *ret);
} fleet_bmc_command_commands[] = {
	{APP, 0x01, false, device_id},
	{APP, 0x37, true, fleet_bmc_command_guid},
	{APP, 0x38, true, fleet_bmc_command_capabilities},
	{APP, 0x3b, false, set_privilege},
	{APP, 0x3c, false, close_session},
	{APP, 0x54, true, fleet_bmc_command_suites},
	{CHASSIS, 0x01, false, chassis_status},
	{CHASSIS, 0x02, false, chassis_control},
	{CHASSIS, 0x04, false, fleet_bmc_command_identify},
	{CHASSIS, 0x08, false, set_boot},
	{CHASSIS, 0x09, false, get_boot},
	{SENSOR, 0x2d, false, sensor_reading},
	{STORAGE, 0x20, false, fleet_bmc_command_sdr_info},
	{STORAGE, 0x22, false, fleet_bmc_command_reserve},
	{STORAGE, 0x23, false, sdr_record},
	{STORAGE, 0x40, false, sel_info},
	{STORAGE, 0x42, false, fleet_bmc_command_reserve},
	{STORAGE, 0x43, false, sel_entry},
	{STORAGE, 0x47, false, sel_clear},
};

void fleet_bmc_command(struct fleet_node *node, const struct rmcp_command *command, bool session,
		       struct fleet_bmc_answer *ret)
{
	for (size_t i = 0; i < COUNT_OF(fleet_bmc_command_commands); i++) {
		if (fleet_bmc_command_commands[i].netfn != command->netfn ||
		    fleet_bmc_command_commands[i].command != command->command)
			continue;
		if (!session && !fleet_bmc_command_commands[i].open) {
			ret->completion = NO_PRIVILEGE;
			return;
		}
		fleet_bmc_command_commands[i].run(node, command, ret);
		if (ret->completion != COMPLETED)
			ret->size = 0;
		return;
	}
	ret->completion = INVALID_COMMAND;
}
