/* Bytes of the IPMI commands that are one short exchange: requests out, answers in. IPMI 2.0
 * rev 1.1; the numbers in brackets are its clauses. A request starts with the command byte, an
 * answer with command and completion code, as ipmi_cmd_raw has them. Formats of SDR, SEL and FRU
 * records are FreeIPMI's business (ipmi_records.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bampi/bmc/bmc_driver.h"

enum ipmi_netfn {
	IPMI_NETFN_CHASSIS = 0x00,
	IPMI_NETFN_SENSOR = 0x04,
	IPMI_NETFN_APP = 0x06,
	IPMI_NETFN_STORAGE = 0x0a,
	IPMI_NETFN_TRANSPORT = 0x0c
};

#define IPMI_WIRE_SIZE 64             /* more than any request or answer here */
enum { IPMI_CHANNEL_CURRENT = 0x0e }; /* "the channel this was sent on" [6.3] */

struct ipmi_frame {
	uint8_t netfn, lun;
	uint8_t size;
	uint8_t bytes[IPMI_WIRE_SIZE];
};

/* Completion code of an answer -> 0 or an error number; *ret_text a static phrase. [5.2 table 5-2]
 */
int ipmi_completion_error(uint8_t code, const char **ret_text);

/* [28.2, 28.3, 28.5] */
struct ipmi_frame ipmi_power_status_request(void);
MUST_USE int ipmi_power_status_answer(const void *data, size_t size, bool *ret_on);
/* -EINVAL for an op that is no single command (CYCLE, STATUS). */
MUST_USE int ipmi_power_request(enum bmc_op op, struct ipmi_frame *ret);
struct ipmi_frame ipmi_identify_request(uint8_t seconds);

/* [28.12, 28.13] Boot options. STEP 0..COUNT-1 in this order; only the flags themselves must
 * succeed, many BMCs lack the rest. */
enum ipmi_boot_step {
	IPMI_BOOT_BEGIN,
	IPMI_BOOT_KEEP_VALID,
	IPMI_BOOT_ACKNOWLEDGE,
	IPMI_BOOT_FLAGS,
	IPMI_BOOT_COMPLETE,
	IPMI_BOOT_STEP_COUNT
};
struct ipmi_frame ipmi_boot_set_request(enum ipmi_boot_step step, const struct bmc_boot *boot);
struct ipmi_frame ipmi_boot_get_request(void);
MUST_USE int ipmi_boot_get_answer(const void *data, size_t size, struct bmc_boot *ret,
				  bool *ret_valid);

/* [20.1, 22.14] */
struct ipmi_frame ipmi_device_id_request(void);
MUST_USE int ipmi_device_id_answer(const void *data, size_t size, struct bmc_result *ret);
struct ipmi_frame ipmi_guid_request(void);
MUST_USE int ipmi_guid_answer(const void *data, size_t size, char ret[37]);

/* [33.9] When the sensor data records were changed last. */
/* Of the repository of sensors, and of the event log. */
struct ipmi_store_info {
	uint16_t records;
	uint32_t added, erased; /* the BMC's stamps */
};
struct ipmi_frame ipmi_sdr_info_request(void);
MUST_USE int ipmi_sdr_info_answer(const void *data, size_t size, struct ipmi_store_info *ret);

/* [35.14] *ret_readable: else the BMC has no reading at present. Events: threshold comparisons or
 * asserted states, as the sensor's reading type says. */
struct ipmi_frame ipmi_reading_request(uint8_t sensor, uint8_t lun);
MUST_USE int ipmi_reading_answer(const void *data, size_t size, bool *ret_readable,
				 uint8_t *ret_value, uint16_t *ret_events);

/* [31.2, 31.5] The event log. */
enum { IPMI_SEL_RECORD_SIZE = 16, IPMI_SEL_FIRST = 0x0000, IPMI_SEL_LAST = 0xffff };
struct ipmi_frame ipmi_sel_info_request(void);
MUST_USE int ipmi_sel_info_answer(const void *data, size_t size, struct ipmi_store_info *ret);
/* Record `id`; IPMI_SEL_FIRST = the oldest. *ret_next is IPMI_SEL_LAST behind the newest. */
struct ipmi_frame ipmi_sel_entry_request(uint16_t id);
MUST_USE int ipmi_sel_entry_answer(const void *data, size_t size, uint8_t ret[IPMI_SEL_RECORD_SIZE],
				   uint16_t *ret_next);

/* [22.26-22.30] Users. */
struct ipmi_frame ipmi_user_access_request(uint8_t user);
MUST_USE int ipmi_user_access_answer(const void *data, size_t size, struct bmc_user *ret,
				     uint8_t *ret_user_count);
struct ipmi_frame ipmi_user_name_request(uint8_t user);
MUST_USE int ipmi_user_name_answer(const void *data, size_t size, char ret[17]);
struct ipmi_frame ipmi_user_set_access_request(uint8_t user, uint8_t privilege);
struct ipmi_frame ipmi_user_set_name_request(uint8_t user, const char *name);
struct ipmi_frame ipmi_user_set_password_request(uint8_t user, const char *password);
struct ipmi_frame ipmi_user_enable_request(uint8_t user, bool enabled);

/* [23.2] LAN parameters. */
enum ipmi_lan_parameter {
	IPMI_LAN_ADDRESS = 3,
	IPMI_LAN_SOURCE = 4,
	IPMI_LAN_MAC = 5,
	IPMI_LAN_NETMASK = 6,
	IPMI_LAN_GATEWAY = 12,
	IPMI_LAN_VLAN = 20,
};
struct ipmi_frame ipmi_lan_get_request(enum ipmi_lan_parameter parameter);
/* Puts the one parameter into ret->lan. */
MUST_USE int ipmi_lan_get_answer(enum ipmi_lan_parameter parameter, const void *data, size_t size,
				 struct bmc_result *ret);
