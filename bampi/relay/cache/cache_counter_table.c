#include "common/base/macros.h"

#include "bampi/relay/cache/cache_counters.h"

#define AT(member) offsetof(struct cache_counters, member)
#define SERVED(member, labels)                                                           \
	{                                                                                \
		"haas_relay_served_total", METRIC_COUNTER, labels, AT(member),           \
			"Files and images that nodes asked for, by where they came from" \
	}
#define TFTP(member, word)                                                                  \
	METRIC_COUNTED("haas_relay_tftp_transfers_total", "outcome", word, AT(tftp.member), \
		       "TFTP transfers by outcome")

const struct metric_row cache_counter_rows[] = {
	SERVED(file_hits, "kind=\"file\",from=\"cache\""),
	SERVED(file_misses, "kind=\"file\",from=\"controller\""),
	SERVED(file_stale, "kind=\"file\",from=\"cache_unchecked\""),
	SERVED(file_missing, "kind=\"file\",from=\"nowhere\""),
	SERVED(image_hits, "kind=\"image\",from=\"cache\""),
	SERVED(image_misses, "kind=\"image\",from=\"controller\""),
	SERVED(image_joined, "kind=\"image\",from=\"download\""),
	{"haas_relay_refused_total", METRIC_COUNTER, NULL, AT(refused),
	 "Files and images that the controller refused"},
	{"haas_relay_upstream_bytes_total", METRIC_COUNTER, NULL, AT(upstream_bytes),
	 "Bytes of files and images fetched from the controller"},
	{"haas_relay_upstream_heads_total", METRIC_COUNTER, NULL, AT(upstream_heads),
	 "Questions to the controller whether something may be served"},
	{"haas_relay_upstream_failures_total", METRIC_COUNTER, NULL, AT(upstream_failures),
	 "Calls to the controller that failed"},
	{"haas_relay_downloads_resumed_total", METRIC_COUNTER, NULL, AT(resumed),
	 "Image downloads that went on after they broke"},
	{"haas_relay_passed_total", METRIC_COUNTER, NULL, AT(proxied),
	 "Scripts, agents' and callbacks' requests passed to the controller"},
	{"haas_relay_pass_failures_total", METRIC_COUNTER, NULL, AT(proxy_failures),
	 "... that the controller did not answer"},
	{"haas_relay_cache_published_total", METRIC_COUNTER, NULL, AT(published),
	 "Objects that arrived complete and verified"},
	{"haas_relay_cache_evicted_total", METRIC_COUNTER, NULL, AT(evicted),
	 "Objects removed to make room"},
	{"haas_relay_cache_digest_failures_total", METRIC_COUNTER, NULL, AT(digest_failures),
	 "Objects thrown away because their bytes did not match their digest"},
	{"haas_relay_cache_crowded_total", METRIC_COUNTER, NULL, AT(crowded),
	 "Objects refused because there was no room"},
	{"haas_relay_cache_objects", METRIC_GAUGE, NULL, AT(objects), "Objects in the cache"},
	{"haas_relay_cache_bytes", METRIC_GAUGE, NULL, AT(bytes), "Bytes they take"},
	{"haas_relay_cache_limit_bytes", METRIC_GAUGE, NULL, AT(limit), "Bytes they may take"},
	{"haas_relay_cache_filling", METRIC_GAUGE, NULL, AT(filling), "Objects on their way"},
	{"haas_relay_streams", METRIC_GAUGE, NULL, AT(streams),
	 "Answers that follow an object on its way"},
	{"haas_relay_controller_away", METRIC_GAUGE, NULL, AT(controller_away),
	 "1 while the controller does not answer"},
	TFTP(done, "done"),
	TFTP(aborted, "aborted"),
	TFTP(lost, "lost"),
	TFTP(refused, "refused"),
	TFTP(crowded, "crowded"),
	TFTP(postponed, "postponed"),
	{"haas_relay_tftp_bytes_total", METRIC_COUNTER, NULL, AT(tftp.bytes),
	 "Bytes that TFTP clients acknowledged"},
};
const size_t cache_counter_row_count = COUNT_OF(cache_counter_rows);
