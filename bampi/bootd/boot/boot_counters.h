/* What the boot half counts since it started; the rows of /metrics name each member. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/http/metrics.h"

struct boot_counters {
	/* TFTP; every transfer that started ends as done, aborted or lost */
	uint64_t tftp_started, tftp_done, tftp_aborted, tftp_lost, tftp_refused, tftp_crowded;
	uint64_t tftp_bytes, tftp_blocks_resent, tftp_open;
	/* HTTP */
	uint64_t script_agent, script_disk, script_stop, script_none, script_refused;
	uint64_t files, images, bytes_offered, unauthorized, callbacks, callbacks_refused;
	/* mailbox */
	uint64_t polls, polls_open, tasks_delivered, tasks_unwanted, progress_reports,
		results_stored, results_malformed, results_postponed, database_errors;
};

extern const struct metric_row boot_counter_rows[];
extern const size_t boot_counter_row_count;
