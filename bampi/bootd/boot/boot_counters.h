/* What the boot half counts since it started; the rows of /metrics name each member. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/http/metrics.h"
#include "common/http/server.h"
#include "common/tftp/tftp_server.h"

struct boot_counters {
	struct tftp_counters tftp;
	struct http_server_counters http;
	/* HTTP requests */
	uint64_t script_agent, script_disk, script_stop, script_none, script_refused;
	uint64_t files, images, bytes_offered, unauthorized, callbacks, callbacks_refused;
	/* images and packages of other controllers */
	uint64_t contents_copied, contents_failed, contents_lacking;
	/* mailbox */
	uint64_t polls, polls_open, tasks_delivered, tasks_unwanted, progress_reports,
		results_stored, results_malformed, results_postponed, database_errors;
};

extern const struct metric_row boot_counter_rows[];
extern const size_t boot_counter_row_count;
