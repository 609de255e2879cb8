/* Entries of an event log as people read them, by FreeIPMI's tables (IPMI 2.0 rev 1.1, chapters 32,
 * 42). */
#pragma once

#include <freeipmi/freeipmi.h>

#include "bampi/bmc/bmc_driver.h"
#include "bampi/bmc/ipmi_wire.h"

enum { IPMI_SEL_MAX = 8192 };

/* `record`: IPMI_SEL_RECORD_SIZE bytes; NULL = where `sel` stands. */
void ipmi_sel_entry(ipmi_sel_ctx_t sel, const uint8_t *record, struct bmc_sel_entry *ret);

/* ret->sel.rows from raw records, one behind the other; nothing else of `ret` is changed. The
 * sensor data records (`sdr`, NULL = not known) give sensors their names. -ENOMEM. */
MUST_USE int ipmi_sel_rows(const void *sdr, size_t sdr_size, const uint8_t *records, size_t count,
			   struct bmc_result *ret);
