/* Sensors and event log: many exchanges of one kind. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "bampi/bmc/ipmi_sel.h"
#include "bampi/bmc/rmcp_call_private.h"

/* --- sensors --- */

/* Step 0 asks whether the records have changed; then one step for each sensor that the BMC has. */
static void next_sensor(struct rmcp_call *call)
{
	const struct ipmi_sensor_table *table = call->known->sensors;

	while (call->sensor < table->count && !table->rows[call->sensor].ours)
		call->sensor++;
}

static int ask_sensors(const struct rmcp_call *call, struct ipmi_frame *ret)
{
	const struct ipmi_sensor *sensor = &call->known->sensors->rows[call->sensor];

	*ret = call->step == 0 ? ipmi_sdr_info_request()
			       : ipmi_reading_request(sensor->number, sensor->lun);
	return 0;
}

static bool same_records(const struct ipmi_store_info *a, const struct ipmi_store_info *b)
{
	return a->records == b->records && a->added == b->added && a->erased == b->erased;
}

static int heard_sensors(struct rmcp_call *call, const uint8_t *data, size_t size)
{
	const struct ipmi_sensor_table *table = call->known->sensors;
	struct ipmi_store_info info = {0};

	if (call->step == 0) {
		/* What cannot be read has not changed. */
		if (data[1] == 0 &&
		    (ipmi_sdr_info_answer(data, size, &info) || !same_records(&info, &table->info)))
			return -ESTALE;
		call->readings = calloc(table->count + 1, sizeof(*call->readings));
		if (!call->readings)
			return -ENOMEM;
	} else {
		struct ipmi_reading *reading = &call->readings[call->sensor++];

		/* One that refuses (not there, not now) has no reading. */
		if (data[1] == 0)
			(void)!ipmi_reading_answer(data, size, &reading->readable, &reading->value,
						   &reading->events);
	}
	next_sensor(call);
	if (call->sensor < table->count)
		return 1;
	return ipmi_sensors_result(table, call->readings, &call->result);
}

static bool rmcp_call_look_always(const struct rmcp_call *call)
{
	(void)call;
	return true;
}

const struct rmcp_call_row rmcp_call_sensors = {RMCP_PRIVILEGE_USER, ask_sensors, heard_sensors,
						rmcp_call_look_always};

/* --- what is new in the event log --- */

enum { SEL_INFO, SEL_KNOWN, SEL_NEW };

/* Step 0: has anything happened at all? Step 1: is the newest known entry still there? Then one
 * after the other. */
static unsigned sel_phase(const struct rmcp_call *call)
{
	return call->step < SEL_NEW ? call->step : SEL_NEW;
}

static int ask_sel_new(const struct rmcp_call *call, struct ipmi_frame *ret)
{
	if (sel_phase(call) == SEL_INFO)
		*ret = ipmi_sel_info_request();
	else if (sel_phase(call) == SEL_KNOWN)
		*ret = ipmi_sel_entry_request(call->request.after.id);
	else
		*ret = ipmi_sel_entry_request(call->next_id);
	return 0;
}

static struct bmc_sel_mark rmcp_call_look_mark_of(const uint8_t record[IPMI_SEL_RECORD_SIZE])
{
	return (struct bmc_sel_mark){
		.known = true,
		.id = (uint16_t)(record[0] | record[1] << 8),
		.stamp = (uint32_t)record[3] | (uint32_t)record[4] << 8 |
			 (uint32_t)record[5] << 16 | (uint32_t)record[6] << 24,
	};
}

static bool rmcp_call_look_same_mark(const struct bmc_sel_mark *a, const struct bmc_sel_mark *b)
{
	return a->known == b->known && a->id == b->id && a->stamp == b->stamp;
}

static int sel_end(struct rmcp_call *call)
{
	struct rmcp_known *known = call->known;
	bool restarted = call->result.sel.restarted;
	struct bmc_sel_mark mark = restarted ? (struct bmc_sel_mark){0} : call->request.after;
	int rc;

	if (call->record_count > 0)
		mark = rmcp_call_look_mark_of(call->records[call->record_count - 1]);
	rc = ipmi_sel_rows(known->sdr, known->sdr_size, call->records ? call->records[0] : NULL,
			   call->record_count, &call->result);
	if (rc)
		return rc;
	call->result.op = BMC_SEL_NEW;
	call->result.sel.mark = mark;
	call->result.sel.restarted = restarted;
	known->sel_info = call->sel_info;
	known->sel_mark = mark;
	return 0;
}

static int heard_sel_info(struct rmcp_call *call, const uint8_t *data, size_t size)
{
	const struct bmc_sel_mark *after = &call->request.after;
	const struct ipmi_store_info *last = &call->known->sel_info;
	struct ipmi_store_info *info = &call->sel_info;

	if (data[1] != 0 || ipmi_sel_info_answer(data, size, info))
		return E_PROTOCOL;
	if (info->records == 0) {
		call->result.sel.restarted = after->known;
		return sel_end(call);
	}
	if (after->known && rmcp_call_look_same_mark(after, &call->known->sel_mark) &&
	    info->records == last->records && info->added == last->added &&
	    info->erased == last->erased)
		return sel_end(call);
	if (!after->known) {
		call->next_id = IPMI_SEL_FIRST;
		call->step = SEL_KNOWN; /* there is nothing to look for */
	}
	return 1;
}

static int heard_sel_known(struct rmcp_call *call, const uint8_t *data, size_t size)
{
	uint8_t record[IPMI_SEL_RECORD_SIZE];
	struct bmc_sel_mark mark;
	bool there = data[1] == 0;

	if (there && ipmi_sel_entry_answer(data, size, record, &call->next_id))
		return E_PROTOCOL;
	if (there) {
		mark = rmcp_call_look_mark_of(record);
		there = rmcp_call_look_same_mark(&mark, &call->request.after);
	}
	if (!there) {
		call->result.sel.restarted = true;
		call->next_id = IPMI_SEL_FIRST;
		return 1;
	}
	return call->next_id == IPMI_SEL_LAST ? sel_end(call) : 1;
}

static int sel_room(struct rmcp_call *call)
{
	size_t room = call->record_room ? call->record_room * 2 : 16;
	void *more;

	if (call->record_count < call->record_room)
		return 0;
	if (room > IPMI_SEL_MAX)
		return E_LIMIT;
	more = realloc(call->records, room * sizeof(call->records[0]));
	if (!more)
		return -ENOMEM;
	call->records = more;
	call->record_room = room;
	return 0;
}

static int heard_sel_new(struct rmcp_call *call, const uint8_t *data, size_t size)
{
	int rc;

	if (sel_phase(call) == SEL_INFO)
		return heard_sel_info(call, data, size);
	if (sel_phase(call) == SEL_KNOWN)
		return heard_sel_known(call, data, size);
	rc = sel_room(call);
	if (rc)
		return rc;
	if (ipmi_sel_entry_answer(data, size, call->records[call->record_count], &call->next_id))
		return E_PROTOCOL;
	call->record_count++;
	return call->next_id == IPMI_SEL_LAST ? sel_end(call) : 1;
}

/* The known entry may be gone. */
static bool sel_may_refuse(const struct rmcp_call *call)
{
	return sel_phase(call) == SEL_KNOWN;
}

const struct rmcp_call_row rmcp_call_sel_new = {RMCP_PRIVILEGE_USER, ask_sel_new, heard_sel_new,
						sel_may_refuse};
