#include "common/base/macros.h"

#include "bampi/bootd/boot/boot_counters.h"

#define AT(member) offsetof(struct boot_counters, member)
#define TFTP(member, word)                                                       \
	METRIC_COUNTED("haas_tftp_transfers_total", "outcome", word, AT(member), \
		       "TFTP transfers by how they ended")
#define HTTP(member, word)                                                         \
	METRIC_COUNTED("haas_http_connections_total", "outcome", word, AT(member), \
		       "HTTP connections, and those closed to make room for others")
#define SCRIPT(member, word)                                                  \
	METRIC_COUNTED("haas_boot_scripts_total", "target", word, AT(member), \
		       "boot scripts served by target")
#define TASK(member, word)                                                    \
	METRIC_COUNTED("haas_agent_tasks_total", "outcome", word, AT(member), \
		       "agent tasks handed out, stored, refused")

const struct metric_row boot_counter_rows[] = {
	TFTP(tftp.done, "done"),
	TFTP(tftp.aborted, "aborted"),
	TFTP(tftp.lost, "lost"),
	TFTP(tftp.refused, "refused"),
	TFTP(tftp.crowded, "crowded"),
	TFTP(tftp.postponed, "postponed"),
	TFTP(tftp.throttled, "throttled"),
	{"haas_tftp_evicted_total", METRIC_COUNTER, NULL, AT(tftp.evicted),
	 "Lost TFTP transfers that were dropped to make room, before any packet from their client"},
	{"haas_tftp_started_total", METRIC_COUNTER, NULL, AT(tftp.started), "TFTP transfers begun"},
	{"haas_tftp_bytes_total", METRIC_COUNTER, NULL, AT(tftp.bytes),
	 "file bytes that TFTP clients acknowledged"},
	{"haas_tftp_blocks_resent_total", METRIC_COUNTER, NULL, AT(tftp.blocks_resent),
	 "TFTP blocks sent more than once"},
	{"haas_tftp_open", METRIC_GAUGE, NULL, AT(tftp.open), "TFTP transfers under way"},
	HTTP(http.accepted, "accepted"),
	HTTP(http.refused, "refused"),
	HTTP(http.evicted, "evicted"),
	HTTP(http.late_head, "late_head"),
	HTTP(http.late_body, "late_body"),
	HTTP(http.late_answer, "late_answer"),
	HTTP(http.late_handshake, "late_handshake"),
	HTTP(http.failed_handshake, "failed_handshake"),
	HTTP(http.throttled_handshake, "throttled_handshake"),
	{"haas_http_open", METRIC_GAUGE, NULL, AT(http.open), "HTTP connections now"},
	{"haas_http_bad_requests_total", METRIC_COUNTER, "reason=\"malformed\"", AT(http.malformed),
	 "HTTP requests that were not understood, or too large"},
	{"haas_http_bad_requests_total", METRIC_COUNTER, "reason=\"too_large\"", AT(http.too_large),
	 NULL},
	SCRIPT(script_agent, "agent"),
	SCRIPT(script_disk, "disk"),
	SCRIPT(script_stop, "stop"),
	SCRIPT(script_none, "none"),
	SCRIPT(script_refused, "refused"),
	{"haas_boot_files_total", METRIC_COUNTER, "kind=\"file\"", AT(files),
	 "requests for boot files and images served"},
	{"haas_boot_files_total", METRIC_COUNTER, "kind=\"image\"", AT(images), NULL},
	{"haas_boot_offered_bytes_total", METRIC_COUNTER, NULL, AT(bytes_offered),
	 "bytes of boot files and images asked for"},
	{"haas_boot_copies_total", METRIC_COUNTER, "outcome=\"taken\"", AT(contents_copied),
	 "images and packages copied from another controller"},
	{"haas_boot_copies_total", METRIC_COUNTER, "outcome=\"failed\"", AT(contents_failed), NULL},
	{"haas_boot_lacking", METRIC_GAUGE, NULL, AT(contents_lacking),
	 "images and packages that are not here"},
	{"haas_boot_unauthorized_total", METRIC_COUNTER, NULL, AT(unauthorized),
	 "requests without a valid token"},
	{"haas_boot_callbacks_total", METRIC_COUNTER, "outcome=\"taken\"", AT(callbacks),
	 "callbacks of installed systems"},
	{"haas_boot_callbacks_total", METRIC_COUNTER, "outcome=\"refused\"", AT(callbacks_refused),
	 NULL},
	{"haas_agent_polls_total", METRIC_COUNTER, NULL, AT(polls), "agents asking for a task"},
	{"haas_agent_polls_open", METRIC_GAUGE, NULL, AT(polls_open),
	 "agents waiting for a task now"},
	TASK(tasks_delivered, "handed"),
	TASK(results_stored, "stored"),
	TASK(tasks_unwanted, "unwanted"),
	TASK(results_malformed, "malformed"),
	TASK(results_postponed, "postponed"),
	{"haas_agent_progress_total", METRIC_COUNTER, NULL, AT(progress_reports),
	 "progress reports of agents"},
	{"haas_agent_database_errors_total", METRIC_COUNTER, NULL, AT(database_errors),
	 "mailbox statements that PostgreSQL refused"},
};
const size_t boot_counter_row_count = COUNT_OF(boot_counter_rows);
