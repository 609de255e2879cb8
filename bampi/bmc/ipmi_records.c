/* Sensors, event log and FRU by FreeIPMI's parsers, in a thread. The sensor data records are read
 * once per BMC, through a memfd, as FreeIPMI wants them in a file; nothing is left on disk. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/bmc/ipmi_sdr.h"
#include "bampi/bmc/ipmi_sel.h"
#include "bampi/bmc/ipmi_session.h"

enum { FRU_ROWS_MAX = 512, FRU_DEVICES_MAX = 64 };

/* A FreeIPMI library failed: because of the session, or by what it read. */
static int records_failed(struct ipmi_session *session, const char *what, const char *why,
			  struct problem *problem)
{
	if (ipmi_ctx_errnum(session->context) != IPMI_ERR_SUCCESS)
		return ipmi_session_failed(session, what, problem);
	problem_set(problem, E_PROTOCOL, "node %s: %s failed", session->endpoint.node, what);
	problem_detail(problem, "%s", why);
	return E_PROTOCOL;
}

/* --- SDR cache --- */

static int sdr_read(struct ipmi_session *session, ipmi_sdr_ctx_t *ret, struct problem *problem)
{
	CLEANUP(ipmi_sdr_freep) ipmi_sdr_ctx_t sdr = ipmi_sdr_ctx_create();
	CLEANUP(ipmi_fd_closep) int fd = memfd_create("sdr", MFD_CLOEXEC);
	char path[IPMI_FD_PATH_SIZE];
	void *copy = NULL;
	size_t size = 0;

	if (!sdr || fd < 0)
		return ipmi_no_memory(problem);
	ipmi_fd_path(fd, path);
	if (ipmi_sdr_cache_create(sdr, session->context, path,
				  IPMI_SDR_CACHE_CREATE_FLAGS_OVERWRITE, NULL, NULL) < 0 ||
	    ipmi_sdr_cache_open(sdr, NULL, path) < 0)
		return records_failed(session, "reading the sensor data records",
				      ipmi_sdr_ctx_errormsg(sdr), problem);
	if (ipmi_sdr_copy(fd, &copy, &size) != 0)
		return ipmi_no_memory(problem);
	free(session->sdr);
	session->sdr = copy;
	session->sdr_size = size;
	*ret = TAKE(sdr);
	return 0;
}

/* Open for reading; read from the BMC when not yet done, or changed there since. */
static int sdr_open(struct ipmi_session *session, ipmi_sdr_ctx_t *ret, struct problem *problem)
{
	int rc = E_UNAVAILABLE;

	if (session->sdr)
		rc = ipmi_sdr_open_copy(session->sdr, session->sdr_size, session->context, ret);
	if (rc == E_UNAVAILABLE)
		return sdr_read(session, ret, problem);
	return rc ? ipmi_no_memory(problem) : 0;
}

/* --- sensors --- */

static bool is_threshold(const struct ipmi_sensor *sensor)
{
	return IPMI_EVENT_READING_TYPE_CODE_IS_THRESHOLD(sensor->reading_type);
}

/* One record; false when it describes no sensor. */
static bool sensor_parse(ipmi_sdr_ctx_t sdr, const uint8_t *record, unsigned size,
			 struct ipmi_sensor *ret)
{
	uint8_t kind = 0;
	uint8_t owner = 0;
	uint8_t owner_kind = 0;
	uint8_t channel = 0;
	uint8_t percentage = 0;
	uint8_t unused[3];
	uint16_t id;

	*ret = (struct ipmi_sensor){0};
	if (ipmi_sdr_parse_record_id_and_type(sdr, record, size, &id, &kind) < 0 ||
	    (kind != IPMI_SDR_FORMAT_FULL_SENSOR_RECORD &&
	     kind != IPMI_SDR_FORMAT_COMPACT_SENSOR_RECORD))
		return false;
	(void)ipmi_sdr_parse_sensor_number(sdr, record, size, &ret->number);
	(void)ipmi_sdr_parse_sensor_owner_lun(sdr, record, size, &ret->lun, &channel);
	(void)ipmi_sdr_parse_sensor_owner_id(sdr, record, size, &owner_kind, &owner);
	ret->ours = owner_kind == IPMI_SDR_SENSOR_OWNER_ID_TYPE_IPMB_SLAVE_ADDRESS &&
		    owner << 1 == IPMI_SLAVE_ADDRESS_BMC;
	(void)ipmi_sdr_parse_id_string(sdr, record, size, ret->name, sizeof(ret->name) - 1);
	(void)ipmi_sdr_parse_sensor_type(sdr, record, size, &ret->type);
	(void)ipmi_sdr_parse_event_reading_type_code(sdr, record, size, &ret->reading_type);
	(void)ipmi_sdr_parse_sensor_units(sdr, record, size, &percentage, &unused[0], &unused[1],
					  &ret->unit, &unused[2]);
	ret->percentage = percentage;
	ret->analog = kind == IPMI_SDR_FORMAT_FULL_SENSOR_RECORD &&
		      ipmi_sdr_parse_sensor_decoding_data(sdr, record, size, &ret->r_exponent,
							  &ret->b_exponent, &ret->m, &ret->b,
							  &ret->linearization, &ret->format) == 0 &&
		      IPMI_SDR_ANALOG_DATA_FORMAT_VALID(ret->format) &&
		      IPMI_SDR_LINEARIZATION_IS_LINEAR(ret->linearization) &&
		      (is_threshold(ret) || ret->unit != IPMI_SENSOR_UNIT_UNSPECIFIED);
	return true;
}

/* The repository's stamps; a BMC that has none gives zeros. */
static int ipmi_records_sdr_info(struct ipmi_session *session, struct ipmi_store_info *ret,
				 struct problem *problem)
{
	struct ipmi_frame frame = ipmi_sdr_info_request();
	struct problem refused = {0};
	uint8_t data[IPMI_WIRE_SIZE];
	size_t size;
	int rc = ipmi_exchange(session, "the sensor repository", &frame, data, &size, &refused);

	*ret = (struct ipmi_store_info){0};
	if (rc == 0)
		(void)!ipmi_sdr_info_answer(data, size, ret);
	if (session->context)
		return 0;
	*problem = refused;
	return rc;
}

static int table_read(struct ipmi_session *session, struct problem *problem)
{
	CLEANUP(ipmi_sdr_freep) ipmi_sdr_ctx_t sdr = NULL;
	struct ipmi_sensor_table *table;
	struct ipmi_store_info info;
	uint16_t count = 0;
	int more;
	int rc = ipmi_records_sdr_info(session, &info, problem);

	if (rc == 0)
		rc = sdr_open(session, &sdr, problem);
	if (rc)
		return rc;
	if (ipmi_sdr_cache_record_count(sdr, &count) < 0)
		return records_failed(session, "counting the sensors", ipmi_sdr_ctx_errormsg(sdr),
				      problem);
	if (count > IPMI_SENSORS_MAX)
		return problem_set(problem, E_LIMIT, "node %s: %u sensor records are too many",
				   session->endpoint.node, (unsigned)count);
	table = calloc(1, sizeof(*table) + count * sizeof(table->rows[0]));
	if (!table)
		return ipmi_no_memory(problem);
	table->info = info;
	for (more = count > 0; more > 0 && table->count < count; more = ipmi_sdr_cache_next(sdr)) {
		uint8_t record[IPMI_SDR_MAX_RECORD_LENGTH];
		int size = ipmi_sdr_cache_record_read(sdr, record, sizeof(record));

		if (size > 0 &&
		    sensor_parse(sdr, record, (unsigned)size, &table->rows[table->count]))
			table->count++;
	}
	free(session->sensors);
	session->sensors = table;
	return 0;
}

static int read_sensor(struct ipmi_session *session, const struct ipmi_sensor *sensor,
		       struct ipmi_reading *ret, struct problem *problem)
{
	struct ipmi_frame frame = ipmi_reading_request(sensor->number, sensor->lun);
	struct problem refused = {0};
	uint8_t data[IPMI_WIRE_SIZE];
	size_t size;
	int rc = ipmi_session_check_deadline(session, "reading the sensors", problem);

	if (rc)
		return rc;
	rc = ipmi_exchange(session, "a sensor", &frame, data, &size, &refused);
	if (!session->context) {
		*problem = refused;
		return rc;
	}
	if (rc == 0)
		(void)!ipmi_reading_answer(data, size, &ret->readable, &ret->value, &ret->events);
	return 0;
}

int ipmi_sensors(struct ipmi_session *session, struct bmc_result *ret, struct problem *problem)
{
	struct ipmi_reading *readings;
	int rc = table_read(session, problem);

	if (rc)
		return rc;
	readings = calloc(session->sensors->count + 1, sizeof(*readings));
	if (!readings)
		return ipmi_no_memory(problem);
	for (size_t i = 0; i < session->sensors->count && rc == 0; i++) {
		if (session->sensors->rows[i].ours)
			rc = read_sensor(session, &session->sensors->rows[i], &readings[i],
					 problem);
	}
	if (rc == 0 && ipmi_sensors_result(session->sensors, readings, ret) != 0)
		rc = ipmi_no_memory(problem);
	free(readings);
	return rc;
}

/* --- event log --- */

static void sel_freep(ipmi_sel_ctx_t *sel)
{
	if (*sel)
		ipmi_sel_ctx_destroy(*sel);
}

/* With the sensor records the entries carry sensor names; without them (unreadable repository) the
 * numbers must do. */
static int sel_open(struct ipmi_session *session, ipmi_sdr_ctx_t *ret_sdr, ipmi_sel_ctx_t *ret,
		    struct problem *problem)
{
	struct problem no_sdr = {0};
	int rc = sdr_open(session, ret_sdr, &no_sdr);

	if (!session->context) {
		*problem = no_sdr;
		return rc;
	}
	*ret = ipmi_sel_ctx_create(session->context, *ret_sdr);
	return *ret ? 0 : ipmi_no_memory(problem);
}

static bool ipmi_records_same_mark(const struct bmc_sel_mark *a, const struct bmc_sel_mark *b)
{
	return a->known && b->known && a->id == b->id && a->stamp == b->stamp;
}

/* The entries after `after`. */
static int sel_read(struct ipmi_session *session, const struct bmc_sel_mark *after,
		    struct bmc_result *ret, struct problem *problem)
{
	CLEANUP(ipmi_sdr_freep) ipmi_sdr_ctx_t sdr = NULL;
	CLEANUP(sel_freep) ipmi_sel_ctx_t sel = NULL;
	struct bmc_result result = {.op = BMC_SEL_LIST, .sel.restarted = after->known};
	struct bmc_sel_mark *mark = &result.sel.mark;
	int total;
	int rc = sel_open(session, &sdr, &sel, problem);

	if (rc)
		return rc;
	if (ipmi_sel_parse(sel, IPMI_SEL_RECORD_ID_FIRST, IPMI_SEL_RECORD_ID_LAST, NULL, NULL) < 0)
		return records_failed(session, "reading the event log", ipmi_sel_ctx_errormsg(sel),
				      problem);
	session->used_ms = clock_monotonic_ms();
	total = ipmi_sel_parse_sel_entry_count(sel);
	if (total < 0) /* how FreeIPMI says "an empty log" */
		total = 0;
	if (total > IPMI_SEL_MAX)
		return problem_set(problem, E_LIMIT, "node %s: %d event log entries are too many",
				   session->endpoint.node, total);
	result.sel.rows = calloc(total ? (size_t)total : 1, sizeof(*result.sel.rows));
	if (!result.sel.rows)
		return ipmi_no_memory(problem);
	if (total > 0 && ipmi_sel_parse_first(sel) == 0) {
		do {
			struct bmc_sel_entry *row = &result.sel.rows[result.sel.count++];

			ipmi_sel_entry(sel, NULL, row);
			*mark = (struct bmc_sel_mark){.known = true, .id = row->id};
			(void)ipmi_sel_parse_read_timestamp(sel, NULL, 0, &mark->stamp);
			if (ipmi_records_same_mark(mark, after)) {
				result.sel.count = 0;
				result.sel.restarted = false;
			}
		} while (result.sel.count < (size_t)total && ipmi_sel_parse_next(sel) > 0);
	}
	*ret = result;
	return 0;
}

int ipmi_sel_list(struct ipmi_session *session, struct bmc_result *ret, struct problem *problem)
{
	static const struct bmc_sel_mark nothing;

	return sel_read(session, &nothing, ret, problem);
}

int ipmi_sel_new(struct ipmi_session *session, const struct bmc_sel_mark *after,
		 struct bmc_result *ret, struct problem *problem)
{
	int rc = sel_read(session, after, ret, problem);

	if (rc == 0)
		ret->op = BMC_SEL_NEW;
	return rc;
}

int ipmi_sel_clear(struct ipmi_session *session, struct bmc_result *ret, struct problem *problem)
{
	CLEANUP(sel_freep) ipmi_sel_ctx_t sel = ipmi_sel_ctx_create(session->context, NULL);
	int rc = ipmi_session_may_send(session, problem);

	if (rc)
		return rc;
	if (!sel)
		return ipmi_no_memory(problem);
	if (ipmi_sel_clear_sel(sel) < 0)
		return records_failed(session, "clearing the event log", ipmi_sel_ctx_errormsg(sel),
				      problem);
	session->used_ms = clock_monotonic_ms();
	*ret = (struct bmc_result){.op = BMC_SEL_CLEAR};
	return 0;
}

/* --- FRU --- */

static void fru_freep(ipmi_fru_ctx_t *fru)
{
	if (*fru)
		ipmi_fru_ctx_destroy(*fru);
}

struct fru_pass {
	ipmi_fru_ctx_t fru;
	struct bmc_fru *rows;
	size_t count;
};

static void ipmi_records_add_row(struct fru_pass *pass, uint8_t device, uint8_t language,
				 const char *area, const char *key, const ipmi_fru_field_t *field)
{
	struct bmc_fru *row = &pass->rows[pass->count];
	char value[IPMI_FRU_AREA_STRING_MAX + 1] = "";
	unsigned room = IPMI_FRU_AREA_STRING_MAX;

	if (pass->count == FRU_ROWS_MAX || field->type_length_field_length == 0)
		return;
	if (ipmi_fru_type_length_field_to_string(pass->fru, field->type_length_field,
						 field->type_length_field_length, language, value,
						 &room) < 0 ||
	    value[0] == '\0')
		return;
	*row = (struct bmc_fru){.device_id = device};
	(void)text_copy(row->area, sizeof(row->area), area);
	(void)text_copy(row->key, sizeof(row->key), key);
	(void)text_copy(row->value, sizeof(row->value), value);
	pass->count++;
}

static void chassis_rows(struct fru_pass *pass, uint8_t device, const uint8_t *data, unsigned size)
{
	ipmi_fru_field_t part = {0};
	ipmi_fru_field_t serial = {0};
	uint8_t type;

	if (ipmi_fru_chassis_info_area(pass->fru, data, size, &type, &part, &serial, NULL, 0) < 0)
		return;
	ipmi_records_add_row(pass, device, IPMI_FRU_LANGUAGE_CODE_ENGLISH, "chassis", "part_number",
			     &part);
	ipmi_records_add_row(pass, device, IPMI_FRU_LANGUAGE_CODE_ENGLISH, "chassis", "serial",
			     &serial);
}

static void board_rows(struct fru_pass *pass, uint8_t device, const uint8_t *data, unsigned size)
{
	ipmi_fru_field_t fields[4] = {0};
	static const char *const keys[] = {"manufacturer", "product_name", "serial", "part_number"};
	uint8_t language = 0;
	uint32_t made;

	if (ipmi_fru_board_info_area(pass->fru, data, size, &language, &made, &fields[0],
				     &fields[1], &fields[2], &fields[3], NULL, NULL, 0) < 0)
		return;
	for (size_t i = 0; i < COUNT_OF(keys); i++)
		ipmi_records_add_row(pass, device, language, "board", keys[i], &fields[i]);
}

static void product_rows(struct fru_pass *pass, uint8_t device, const uint8_t *data, unsigned size)
{
	ipmi_fru_field_t fields[6] = {0};
	static const char *const keys[] = {"manufacturer", "product_name", "part_number",
					   "version",      "serial",       "asset_tag"};
	uint8_t language = 0;

	if (ipmi_fru_product_info_area(pass->fru, data, size, &language, &fields[0], &fields[1],
				       &fields[2], &fields[3], &fields[4], &fields[5], NULL, NULL,
				       0) < 0)
		return;
	for (size_t i = 0; i < COUNT_OF(keys); i++)
		ipmi_records_add_row(pass, device, language, "product", keys[i], &fields[i]);
}

static void read_areas(struct fru_pass *pass, uint8_t device, uint8_t *area)
{
	static void (*const readers[])(struct fru_pass *, uint8_t, const uint8_t *, unsigned) = {
		[IPMI_FRU_AREA_TYPE_CHASSIS_INFO_AREA] = chassis_rows,
		[IPMI_FRU_AREA_TYPE_BOARD_INFO_AREA] = board_rows,
		[IPMI_FRU_AREA_TYPE_PRODUCT_INFO_AREA] = product_rows,
	};

	/* At most three info areas and 64 multirecords can follow each other in 64 KiB of FRU. */
	for (unsigned i = 0; i < 3 + 64; i++) {
		unsigned type = 0;
		unsigned length = 0;

		if (ipmi_fru_read_data_area(pass->fru, &type, &length, area,
					    IPMI_FRU_AREA_SIZE_MAX) == 0 &&
		    length > 0 && type < COUNT_OF(readers))
			readers[type](pass, device, area, length);
		if (ipmi_fru_next(pass->fru) != 1)
			break;
	}
}

static int read_devices(struct ipmi_session *session, struct fru_pass *pass, uint8_t *area,
			struct problem *problem)
{
	/* Device 0 is the node's own; further ones are numbered without a directory here, the first
	 * missing one ends it. */
	for (unsigned device = 0; device < FRU_DEVICES_MAX; device++) {
		int rc = ipmi_session_check_deadline(session, "reading the FRU", problem);

		if (rc)
			return rc;
		if (ipmi_fru_open_device_id(pass->fru, (uint8_t)device) == 0) {
			read_areas(pass, (uint8_t)device, area);
			(void)ipmi_fru_close_device_id(pass->fru);
			continue;
		}
		rc = ipmi_ctx_errnum(session->context);
		if (rc == IPMI_ERR_SESSION_TIMEOUT || rc == IPMI_ERR_MESSAGE_TIMEOUT)
			return ipmi_session_failed(session, "reading the FRU", problem);
		if (device == 0)
			return problem_set(
				problem, E_NOT_FOUND, "node %s: the BMC has no FRU data: %s",
				session->endpoint.node, ipmi_fru_ctx_errormsg(pass->fru));
		break;
	}
	return 0;
}

int ipmi_fru(struct ipmi_session *session, struct bmc_result *ret, struct problem *problem)
{
	CLEANUP(fru_freep) ipmi_fru_ctx_t fru = ipmi_fru_ctx_create(session->context);
	CLEANUP(freep) uint8_t *area = malloc(IPMI_FRU_AREA_SIZE_MAX + 1);
	struct fru_pass pass = {.fru = fru, .rows = calloc(FRU_ROWS_MAX, sizeof(*pass.rows))};
	int rc = fru && area && pass.rows ? read_devices(session, &pass, area, problem)
					  : ipmi_no_memory(problem);

	if (rc) {
		free(pass.rows);
		return rc;
	}
	session->used_ms = clock_monotonic_ms();
	*ret = (struct bmc_result){.op = BMC_FRU, .fru = {.rows = pass.rows, .count = pass.count}};
	return 0;
}
