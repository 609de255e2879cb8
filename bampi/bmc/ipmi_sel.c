#include "bampi/bmc/ipmi_sel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bampi/bmc/ipmi_sdr.h"

void ipmi_sel_entry(ipmi_sel_ctx_t sel, const uint8_t *record, struct bmc_sel_entry *ret)
{
	uint32_t stamp = 0;
	uint8_t direction = 0;
	unsigned flags = IPMI_SEL_STRING_FLAGS_IGNORE_UNAVAILABLE_FIELD;
	unsigned size = record ? IPMI_SEL_RECORD_SIZE : 0;

	*ret = (struct bmc_sel_entry){0};
	(void)ipmi_sel_parse_read_record_id(sel, record, size, &ret->id);
	/* Stamps below 2000-01-01 are "seconds since the BMC started" (IPMI 37.1). */
	if (ipmi_sel_parse_read_timestamp(sel, record, size, &stamp) == 0 && stamp > 0x20000000 &&
	    stamp != UINT32_MAX)
		ret->time_s = stamp;
	if (ipmi_sel_parse_read_event_direction(sel, record, size, &direction) == 0)
		ret->ended = direction == IPMI_SEL_RECORD_DEASSERTION_EVENT;
	(void)ipmi_sel_parse_read_record_string(sel, "%T", record, size, ret->type,
						sizeof(ret->type), flags);
	(void)ipmi_sel_parse_read_record_string(sel, "%s", record, size, ret->sensor,
						sizeof(ret->sensor), flags);
	(void)ipmi_sel_parse_read_record_string(sel, "%E", record, size, ret->event,
						sizeof(ret->event), flags);
	if (ret->event[0] == '\0')
		(void)ipmi_sel_parse_read_record_string(sel, "%o", record, size, ret->event,
							sizeof(ret->event), flags);
	(void)snprintf(ret->text, sizeof(ret->text), "%s%s%.60s: %.75s", ret->type,
		       ret->sensor[0] ? " " : "", ret->sensor, ret->event);
}

int ipmi_sel_rows(const void *sdr, size_t sdr_size, const uint8_t *records, size_t count,
		  struct bmc_result *ret)
{
	CLEANUP(ipmi_sdr_freep) ipmi_sdr_ctx_t names = NULL;
	struct bmc_sel_entry *rows = calloc(count ? count : 1, sizeof(*rows));
	ipmi_sel_ctx_t sel = NULL;

	if (rows && count > 0) {
		/* Without names the numbers must do. */
		if (sdr)
			(void)!ipmi_sdr_open_copy(sdr, sdr_size, NULL, &names);
		sel = ipmi_sel_ctx_create(NULL, names);
	}
	if (!rows || (count > 0 && !sel)) {
		free(rows);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		ipmi_sel_entry(sel, records + i * IPMI_SEL_RECORD_SIZE, &rows[i]);
	if (sel)
		ipmi_sel_ctx_destroy(sel);
	ret->sel.rows = rows;
	ret->sel.count = count;
	return 0;
}
