/* Sensors, event log and FRU by FreeIPMI's parsers. The sensor data records are read once per
 * session into a memfd, as FreeIPMI wants them in a file; a thousand BMCs then leave nothing on
 * disk. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/bmc/ipmi_session.h"

enum { SENSORS_MAX = 4096, SEL_MAX = 8192, FRU_ROWS_MAX = 512, FRU_DEVICES_MAX = 64 };

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

/* --- SDR cache ------------------------------------------------------- */

static void sdr_freep(ipmi_sdr_ctx_t *sdr)
{
	if (*sdr)
		ipmi_sdr_ctx_destroy(*sdr);
}

static void memfd_path(int fd, char ret[32])
{
	(void)text_format(ret, 32, "/proc/self/fd/%d", fd);
}

static int sdr_read(struct ipmi_session *session, ipmi_sdr_ctx_t sdr, struct problem *problem)
{
	char path[32];

	if (session->sdr_cache < 0)
		session->sdr_cache = memfd_create("sdr", MFD_CLOEXEC);
	if (session->sdr_cache < 0)
		return problem_set(problem, -errno, "cannot keep the sensor records of node %s",
				   session->endpoint.node);
	memfd_path(session->sdr_cache, path);
	if (ipmi_sdr_cache_create(sdr, session->context, path,
				  IPMI_SDR_CACHE_CREATE_FLAGS_OVERWRITE, NULL, NULL) < 0)
		return records_failed(session, "reading the sensor data records",
				      ipmi_sdr_ctx_errormsg(sdr), problem);
	return 0;
}

/* Open for reading; read from the BMC when not yet done, or changed there since. */
static int sdr_open(struct ipmi_session *session, ipmi_sdr_ctx_t *ret, struct problem *problem)
{
	CLEANUP(sdr_freep) ipmi_sdr_ctx_t sdr = ipmi_sdr_ctx_create();
	char path[32];
	int rc;

	if (!sdr)
		return ipmi_no_memory(problem);
	if (session->sdr_cache >= 0) {
		memfd_path(session->sdr_cache, path);
		if (ipmi_sdr_cache_open(sdr, session->context, path) == 0) {
			*ret = TAKE(sdr);
			return 0;
		}
		ipmi_sdr_ctx_destroy(sdr);
		sdr = ipmi_sdr_ctx_create();
		if (!sdr)
			return ipmi_no_memory(problem);
	}
	rc = sdr_read(session, sdr, problem);
	if (rc)
		return rc;
	memfd_path(session->sdr_cache, path);
	if (ipmi_sdr_cache_open(sdr, NULL, path) < 0)
		return records_failed(session, "reading the sensor data records",
				      ipmi_sdr_ctx_errormsg(sdr), problem);
	*ret = TAKE(sdr);
	return 0;
}

/* --- sensors --------------------------------------------------------- */

static void sensor_read_freep(ipmi_sensor_read_ctx_t *reader)
{
	if (*reader)
		ipmi_sensor_read_ctx_destroy(*reader);
}

static void interpret_freep(ipmi_interpret_ctx_t *interpret)
{
	if (*interpret)
		ipmi_interpret_ctx_destroy(*interpret);
}

struct sensor_pass {
	struct ipmi_session *session;
	ipmi_sdr_ctx_t sdr;
	ipmi_sensor_read_ctx_t reader;
	ipmi_interpret_ctx_t interpret;
	struct bmc_sensor *rows;
	size_t count;
};

static const char *state_text(unsigned state)
{
	static const char *const words[] = {
		[IPMI_INTERPRET_STATE_NOMINAL] = "nominal",
		[IPMI_INTERPRET_STATE_WARNING] = "warning",
		[IPMI_INTERPRET_STATE_CRITICAL] = "critical",
	};

	return state < COUNT_OF(words) ? words[state] : "unknown";
}

static void fill_names(const struct sensor_pass *pass, const uint8_t *record, unsigned size,
		       uint8_t *ret_type, struct bmc_sensor *ret)
{
	uint8_t type = 0;
	uint8_t percentage = 0;
	uint8_t modifier = 0;
	uint8_t rate = 0;
	uint8_t base = 0;
	uint8_t modifier_unit = 0;

	(void)ipmi_sdr_parse_sensor_number(pass->sdr, record, size, &ret->number);
	(void)ipmi_sdr_parse_id_string(pass->sdr, record, size, ret->name, sizeof(ret->name) - 1);
	if (ipmi_sdr_parse_sensor_type(pass->sdr, record, size, &type) == 0) {
		const char *text = ipmi_get_sensor_type_string(type);

		(void)text_copy(ret->type, sizeof(ret->type), text ? text : "OEM");
	}
	if (ipmi_sdr_parse_sensor_units(pass->sdr, record, size, &percentage, &modifier, &rate,
					&base, &modifier_unit) == 0) {
		if (percentage)
			(void)text_copy(ret->unit, sizeof(ret->unit), "%");
		else if (base != 0 && IPMI_SENSOR_UNIT_VALID(base))
			(void)text_copy(ret->unit, sizeof(ret->unit), ipmi_sensor_units[base]);
	}
	*ret_type = type;
}

static int read_sensor(struct sensor_pass *pass, const uint8_t *record, unsigned size,
		       struct problem *problem)
{
	struct bmc_sensor *row = &pass->rows[pass->count];
	double *reading = NULL;
	uint16_t events = 0;
	uint8_t reading_type = 0;
	uint8_t type = 0;
	unsigned state = IPMI_INTERPRET_STATE_UNKNOWN;
	int got;

	*row = (struct bmc_sensor){0};
	fill_names(pass, record, size, &type, row);
	got = ipmi_sensor_read(pass->reader, record, size, 0, NULL, &reading, &events);
	if (got < 0 && ipmi_ctx_errnum(pass->session->context) == IPMI_ERR_SESSION_TIMEOUT)
		return ipmi_session_failed(pass->session, "reading a sensor", problem);
	if (reading) {
		row->has_reading = true;
		row->reading = *reading;
		free(reading);
	}
	if (got >= 0 &&
	    ipmi_sdr_parse_event_reading_type_code(pass->sdr, record, size, &reading_type) == 0 &&
	    ipmi_interpret_sensor(pass->interpret, reading_type, type, events, &state) < 0)
		state = IPMI_INTERPRET_STATE_UNKNOWN;
	(void)text_copy(row->state, sizeof(row->state), state_text(state));
	pass->count++;
	return 0;
}

static int read_sensors(struct sensor_pass *pass, uint16_t record_count, struct problem *problem)
{
	int more = record_count > 0;

	while (more > 0 && pass->count < record_count) {
		uint8_t record[IPMI_SDR_MAX_RECORD_LENGTH];
		uint16_t id;
		uint8_t type = 0;
		int size = ipmi_sdr_cache_record_read(pass->sdr, record, sizeof(record));
		int rc = ipmi_session_check_deadline(pass->session, "reading the sensors", problem);

		if (rc == 0 && size > 0 &&
		    ipmi_sdr_parse_record_id_and_type(pass->sdr, record, (unsigned)size, &id,
						      &type) == 0 &&
		    (type == IPMI_SDR_FORMAT_FULL_SENSOR_RECORD ||
		     type == IPMI_SDR_FORMAT_COMPACT_SENSOR_RECORD))
			rc = read_sensor(pass, record, (unsigned)size, problem);
		if (rc)
			return rc;
		more = ipmi_sdr_cache_next(pass->sdr);
	}
	return 0;
}

int ipmi_sensors(struct ipmi_session *session, struct bmc_result *ret, struct problem *problem)
{
	CLEANUP(sdr_freep) ipmi_sdr_ctx_t sdr = NULL;
	CLEANUP(sensor_read_freep) ipmi_sensor_read_ctx_t reader = NULL;
	CLEANUP(interpret_freep) ipmi_interpret_ctx_t interpret = NULL;
	struct sensor_pass pass = {.session = session};
	uint16_t count = 0;
	int rc = sdr_open(session, &sdr, problem);

	if (rc)
		return rc;
	if (ipmi_sdr_cache_record_count(sdr, &count) < 0)
		return records_failed(session, "counting the sensors", ipmi_sdr_ctx_errormsg(sdr),
				      problem);
	if (count > SENSORS_MAX)
		return problem_set(problem, E_LIMIT, "node %s: %u sensor records are too many",
				   session->endpoint.node, (unsigned)count);
	reader = ipmi_sensor_read_ctx_create(session->context);
	interpret = ipmi_interpret_ctx_create();
	pass.rows = calloc(count ? count : 1, sizeof(*pass.rows));
	pass.sdr = sdr;
	pass.reader = reader;
	pass.interpret = interpret;
	rc = reader && interpret && pass.rows ? read_sensors(&pass, count, problem)
					      : ipmi_no_memory(problem);
	if (rc) {
		free(pass.rows);
		return rc;
	}
	session->used_ms = clock_monotonic_ms();
	*ret = (struct bmc_result){.op = BMC_SENSORS,
				   .sensors = {.rows = pass.rows, .count = pass.count}};
	return 0;
}

/* --- event log ------------------------------------------------------- */

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

static void sel_entry(ipmi_sel_ctx_t sel, struct bmc_sel_entry *ret)
{
	uint32_t stamp = 0;
	uint8_t direction = 0;
	unsigned flags = IPMI_SEL_STRING_FLAGS_IGNORE_UNAVAILABLE_FIELD;

	*ret = (struct bmc_sel_entry){0};
	(void)ipmi_sel_parse_read_record_id(sel, NULL, 0, &ret->id);
	/* Stamps below 2000-01-01 are "seconds since the BMC started" (IPMI 37.1). */
	if (ipmi_sel_parse_read_timestamp(sel, NULL, 0, &stamp) == 0 && stamp > 0x20000000 &&
	    stamp != UINT32_MAX)
		ret->time_s = stamp;
	if (ipmi_sel_parse_read_event_direction(sel, NULL, 0, &direction) == 0)
		ret->ended = direction == IPMI_SEL_RECORD_DEASSERTION_EVENT;
	(void)ipmi_sel_parse_read_record_string(sel, "%T", NULL, 0, ret->type, sizeof(ret->type),
						flags);
	(void)ipmi_sel_parse_read_record_string(sel, "%s", NULL, 0, ret->sensor,
						sizeof(ret->sensor), flags);
	(void)ipmi_sel_parse_read_record_string(sel, "%E", NULL, 0, ret->event, sizeof(ret->event),
						flags);
	if (ret->event[0] == '\0')
		(void)ipmi_sel_parse_read_record_string(sel, "%o", NULL, 0, ret->event,
							sizeof(ret->event), flags);
	(void)snprintf(ret->text, sizeof(ret->text), "%s%s%.60s: %.75s", ret->type,
		       ret->sensor[0] ? " " : "", ret->sensor, ret->event);
}

static bool same_mark(const struct bmc_sel_mark *a, const struct bmc_sel_mark *b)
{
	return a->known && b->known && a->id == b->id && a->stamp == b->stamp;
}

/* The entries after `after`. */
static int sel_read(struct ipmi_session *session, const struct bmc_sel_mark *after,
		    struct bmc_result *ret, struct problem *problem)
{
	CLEANUP(sdr_freep) ipmi_sdr_ctx_t sdr = NULL;
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
	if (total > SEL_MAX)
		return problem_set(problem, E_LIMIT, "node %s: %d event log entries are too many",
				   session->endpoint.node, total);
	result.sel.rows = calloc(total ? (size_t)total : 1, sizeof(*result.sel.rows));
	if (!result.sel.rows)
		return ipmi_no_memory(problem);
	if (total > 0 && ipmi_sel_parse_first(sel) == 0) {
		do {
			struct bmc_sel_entry *row = &result.sel.rows[result.sel.count++];

			sel_entry(sel, row);
			*mark = (struct bmc_sel_mark){.known = true, .id = row->id};
			(void)ipmi_sel_parse_read_timestamp(sel, NULL, 0, &mark->stamp);
			if (same_mark(mark, after)) {
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

	if (!sel)
		return ipmi_no_memory(problem);
	if (ipmi_sel_clear_sel(sel) < 0)
		return records_failed(session, "clearing the event log", ipmi_sel_ctx_errormsg(sel),
				      problem);
	session->used_ms = clock_monotonic_ms();
	*ret = (struct bmc_result){.op = BMC_SEL_CLEAR};
	return 0;
}

/* --- FRU ------------------------------------------------------------- */

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

static void add_row(struct fru_pass *pass, uint8_t device, uint8_t language, const char *area,
		    const char *key, const ipmi_fru_field_t *field)
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
	add_row(pass, device, IPMI_FRU_LANGUAGE_CODE_ENGLISH, "chassis", "part_number", &part);
	add_row(pass, device, IPMI_FRU_LANGUAGE_CODE_ENGLISH, "chassis", "serial", &serial);
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
		add_row(pass, device, language, "board", keys[i], &fields[i]);
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
		add_row(pass, device, language, "product", keys[i], &fields[i]);
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
