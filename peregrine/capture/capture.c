#include "peregrine/capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/transfer.h"

#include "peregrine/capture/conversations.h"
#include "peregrine/capture/packet_ring.h"

LEAKS_LEFT_TO_SANITIZER

enum {
	LOOK_BYTES = 1536,  /* of each frame for analysis; kept are fewer */
	TUNNEL_BYTES = 128, /* of what a mirror wraps around */
	KERNEL_BYTES = 8 << 20,
	BATCH = 512,
	TICK_MS = 200,
	TELL_MS = 1000,
	CAPTURE_LINES = 20,
	TOLD_CONVERSATIONS = 32,
};

struct capture {
	struct capture_order order;
	pcap_t *pcap;
	int fd;
	struct bpf_program filter;
	bool filtered;
	struct packet_ring *ring;
	struct conversations *conversations;

	uint64_t packets, bytes; /* kept; bytes as on the wire */
	uint64_t skipped;        /* not of the tunnel */
	uint64_t foreign;        /* of others */
	uint64_t unmatched;      /* by the filter */
	int64_t first_us, last_us;
	int rc; /* of the ring */

	char lines[CAPTURE_LINES][PACKET_LINE_SIZE]; /* of the last second: its first ones */
	size_t line_count;
};

/* --- opening --- */

static int open_failed(const struct capture *capture, int rc, struct problem *problem)
{
	const char *why = pcap_geterr(capture->pcap);
	bool gone = rc == PCAP_ERROR_NO_SUCH_DEVICE || rc == PCAP_ERROR_IFACE_NOT_UP;
	int code = gone ? E_NOT_FOUND : rc == PCAP_ERROR_PERM_DENIED ? E_DENIED : E_UNAVAILABLE;

	(void)problem_set(problem, code, "the packets of interface %s cannot be read",
			  capture->order.interface);
	problem_detail(problem, "%s%s%s", pcap_statustostr(rc), why[0] ? ": " : "", why);
	if (gone)
		problem_hint(problem, "is the mirror's interface there, and up? haasctl capture "
				      "point list");
	return code;
}

static int open_interface(struct capture *capture, struct problem *problem)
{
	char why[PCAP_ERRBUF_SIZE] = "";
	uint32_t look =
		capture->order.snap_length > LOOK_BYTES ? capture->order.snap_length : LOOK_BYTES;
	int rc;

	capture->pcap = pcap_create(capture->order.interface, why);
	if (!capture->pcap)
		return problem_set(problem, E_UNAVAILABLE, "libpcap: %.120s", why);
	if (pcap_set_snaplen(capture->pcap, (int)look + TUNNEL_BYTES) != 0 ||
	    pcap_set_promisc(capture->pcap, 1) != 0 ||
	    pcap_set_timeout(capture->pcap, TICK_MS / 2) != 0 ||
	    pcap_set_buffer_size(capture->pcap, KERNEL_BYTES) != 0)
		return problem_set(problem, E_UNAVAILABLE, "libpcap takes no settings");
	rc = pcap_activate(capture->pcap);
	if (rc < 0)
		return open_failed(capture, rc, problem);
	/* What we send there ourselves is nobody's mirror. */
	if (pcap_datalink(capture->pcap) != DLT_EN10MB ||
	    pcap_setdirection(capture->pcap, PCAP_D_IN) != 0 ||
	    pcap_setnonblock(capture->pcap, 1, why) != 0)
		return problem_set(problem, E_UNSUPPORTED, "interface %s is not Ethernet",
				   capture->order.interface);
	capture->fd = pcap_get_selectable_fd(capture->pcap);
	return 0;
}

static int open_ring(struct capture *capture, struct problem *problem)
{
	const struct capture_order *order = &capture->order;
	struct packet_ring_options options = {
		.files = order->files,
		.file_bytes = order->file_bytes,
		.wrap = order->wrap,
		.section = {.application = "peregrine-capture " HAAS_VERSION,
			    .comment = order->comment,
			    .interface = order->interface,
			    .filter = order->filter,
			    .snap_length = order->snap_length}};
	int rc;

	options.folder = open(order->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = options.folder < 0 ? -errno : packet_ring_new(&options, &capture->ring);
	closep(&options.folder);
	if (rc == 0)
		return 0;
	(void)problem_set(problem, rc, "the capture's files cannot be made: %s", error_text(rc));
	problem_detail(problem, "%s", order->folder);
	if (rc == -ENOSPC)
		problem_hint(problem,
			     "the disk is full: remove old captures (haasctl capture remove)");
	return rc;
}

int capture_open(const struct capture_order *order, struct capture **ret, struct problem *problem)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	int rc;

	if (!capture)
		return problem_set(problem, -ENOMEM, "no memory for a capture");
	capture->order = *order;
	rc = open_interface(capture, problem);
	if (rc == 0)
		rc = open_ring(capture, problem);
	if (rc == 0) {
		rc = conversations_new(&capture->conversations);
		if (rc)
			(void)problem_set(problem, rc, "nDPI does not start");
	}
	if (rc)
		capture_free(capture);
	else
		*ret = capture;
	return rc;
}

void capture_free(struct capture *capture)
{
	if (!capture)
		return;
	conversations_free(capture->conversations);
	packet_ring_free(capture->ring);
	if (capture->filtered)
		pcap_freecode(&capture->filter);
	if (capture->pcap)
		pcap_close(capture->pcap);
	free(capture);
}

/* --- frames --- */

/* Filters know nothing of the tunnel and the tags that a mirror may add. */
static bool capture_matches(const struct capture *capture, const uint8_t *frame, size_t size,
			    uint32_t length)
{
	uint8_t bare[LOOK_BYTES];
	size_t tags = decap_tags(frame, size);
	struct pcap_pkthdr header = {.caplen = (bpf_u_int32)size, .len = length};

	if (!capture->filtered)
		return true;
	if (tags == 0)
		return pcap_offline_filter(&capture->filter, &header, frame) != 0;
	if (size > sizeof(bare))
		size = sizeof(bare);
	memcpy(bare, frame, 12);
	memcpy(bare + 12, frame + tags, size - tags);
	header.caplen = (bpf_u_int32)(size - tags + 12);
	header.len = length - (uint32_t)(tags - 12);
	return pcap_offline_filter(&capture->filter, &header, bare) != 0;
}

static void capture_take(struct capture *capture, const struct decap *inside, uint32_t length,
			 int64_t time_us)
{
	uint32_t size = (uint32_t)inside->size;
	char spare[PACKET_LINE_SIZE];
	char *line =
		capture->line_count < CAPTURE_LINES ? capture->lines[capture->line_count] : spare;
	uint32_t kept = size < capture->order.snap_length ? size : capture->order.snap_length;

	capture->rc = packet_ring_put(capture->ring, time_us, inside->frame, kept, length);
	if (capture->rc) {
		pcap_breakloop(capture->pcap);
		return;
	}
	if (capture->packets++ == 0)
		capture->first_us = time_us;
	capture->bytes += length;
	capture->last_us = time_us;
	conversations_take(capture->conversations, inside->frame, size, length, time_us, line);
	if (line != spare)
		capture->line_count++;
}

static void capture_on_packet(u_char *context, const struct pcap_pkthdr *header,
			      const u_char *bytes)
{
	struct capture *capture = (struct capture *)(void *)context;
	int64_t time_us = (int64_t)header->ts.tv_sec * 1000000 + header->ts.tv_usec;
	struct decap inside;
	uint32_t length;

	if (capture->rc)
		return;
	if (decap_frame(capture->order.kind, bytes, header->caplen, &inside) != 0 ||
	    inside.offset > header->len ||
	    (capture->order.session && capture->order.session != inside.session)) {
		capture->skipped++;
		return;
	}
	length = header->len - (uint32_t)inside.offset;
	if (!scope_has(&capture->order.scope, inside.frame, inside.size))
		capture->foreign++;
	else if (!capture_matches(capture, inside.frame, inside.size, length))
		capture->unmatched++;
	else
		capture_take(capture, &inside, length, time_us);
}

/* --- telling --- */

/* Nobody listens: the next look at `in` says so. */
static void capture_write_line(int out, struct text *line)
{
	text_add(line, "\n");
	if (!line->failed && write_whole(out, text_get(line), line->size))
		return;
}

static struct pcapng_statistics statistics_of(const struct capture *capture)
{
	struct pcap_stat stat = {0};

	(void)pcap_stats(capture->pcap, &stat);
	return (struct pcapng_statistics){.received = stat.ps_recv, .dropped = stat.ps_drop};
}

static void capture_tell(struct capture *capture, int out, const char *because,
			 const struct problem *problem)
{
	CLEANUP(text_done) struct text line = {0};
	struct pcapng_statistics statistics = statistics_of(capture);

	json_begin_object(&line, NULL);
	json_put_string(&line, "state", because ? "ended" : "running");
	if (because)
		json_put_string(&line, "because", because);
	if (problem && problem_is_set(problem))
		json_put_problem(&line, "problem", problem);
	json_put_int(&line, "packets", (int64_t)capture->packets);
	json_put_int(&line, "bytes", (int64_t)capture->bytes);
	json_put_int(&line, "stored_bytes", (int64_t)packet_ring_bytes(capture->ring));
	json_put_int(&line, "oldest_file", packet_ring_oldest(capture->ring));
	json_put_int(&line, "newest_file", packet_ring_newest(capture->ring));
	json_put_int(&line, "received", (int64_t)statistics.received);
	json_put_int(&line, "dropped", (int64_t)statistics.dropped);
	json_put_int(&line, "skipped", (int64_t)capture->skipped);
	json_put_int(&line, "foreign", (int64_t)capture->foreign);
	json_put_int(&line, "unmatched", (int64_t)capture->unmatched);
	conversations_write(capture->conversations, TOLD_CONVERSATIONS, &line);
	json_begin_array(&line, "lines");
	for (size_t i = 0; i < capture->line_count; i++)
		json_put_string(&line, NULL, capture->lines[i]);
	json_end_array(&line);
	json_end_object(&line);
	capture->line_count = 0;
	capture_write_line(out, &line);
}

void capture_tell_failed(int out, const struct problem *problem)
{
	CLEANUP(text_done) struct text line = {0};

	json_begin_object(&line, NULL);
	json_put_string(&line, "state", "ended");
	json_put_string(&line, "because", "failed");
	json_put_problem(&line, "problem", problem);
	json_end_object(&line);
	capture_write_line(out, &line);
}

/* --- the capture --- */

static int capture_compile(struct capture *capture, struct problem *problem)
{
	if (!capture->order.filter[0])
		return 0;
	if (pcap_compile(capture->pcap, &capture->filter, capture->order.filter, 1,
			 PCAP_NETMASK_UNKNOWN) != 0) {
		(void)problem_set(problem, E_INVALID, "the filter is not understood");
		problem_detail(problem, "%s", pcap_geterr(capture->pcap));
		problem_hint(problem, "see pcap-filter(7); addresses instead of names");
		return E_INVALID;
	}
	capture->filtered = true;
	return 0;
}

static int ring_failed(const struct capture *capture, struct problem *problem)
{
	(void)problem_set(problem, capture->rc, "the capture cannot be kept: %s",
			  error_text(capture->rc));
	problem_detail(problem, "%s; packets kept before are whole", capture->order.folder);
	if (capture->rc == -ENOSPC)
		problem_hint(problem,
			     "the disk is full: remove old captures (haasctl capture remove)");
	return capture->rc;
}

/* NULL: it goes on. */
static const char *why_end(const struct capture *capture, const struct pollfd *in,
			   const volatile int *stop, int64_t end_ms)
{
	char ignored[64];

	if (capture->rc)
		return capture->rc == E_LIMIT ? "full" : "failed";
	if (*stop)
		return "stopped";
	if (in->revents && read(in->fd, ignored, sizeof(ignored)) <= 0)
		return "stopped";
	return clock_monotonic_ms() >= end_ms ? "deadline" : NULL;
}

static void read_frames(struct capture *capture, struct problem *problem)
{
	int rc = pcap_dispatch(capture->pcap, BATCH, capture_on_packet, (u_char *)capture);

	if (rc >= 0 || rc == PCAP_ERROR_BREAK || capture->rc)
		return;
	capture->rc = problem_set(problem, E_UNAVAILABLE, "interface %s is gone",
				  capture->order.interface);
	problem_detail(problem, "%s", pcap_geterr(capture->pcap));
}

static const char *listen_until(struct capture *capture, int in, int out, const volatile int *stop,
				struct problem *problem)
{
	int64_t end_ms = clock_monotonic_ms() + (int64_t)capture->order.seconds * 1000;
	int64_t tell_ms = clock_monotonic_ms() + TELL_MS;
	const char *because = NULL;

	while (!because) {
		struct pollfd fds[] = {{.fd = capture->fd, .events = POLLIN},
				       {.fd = in, .events = POLLIN}};

		if (poll(fds, 2, TICK_MS) < 0) {
			fds[1].revents = 0;
			if (errno != EINTR)
				capture->rc = -errno;
		}
		/* Also without a sign of it: the kernel hands over what has waited long enough. */
		read_frames(capture, problem);
		if (clock_monotonic_ms() >= tell_ms) {
			tell_ms = clock_monotonic_ms() + TELL_MS;
			if (!capture->rc)
				capture->rc = packet_ring_flush(capture->ring);
			capture_tell(capture, out, NULL, NULL);
		}
		because = why_end(capture, &fds[1], stop, end_ms);
	}
	return because;
}

int capture_run(struct capture *capture, int in, int out, const volatile int *stop,
		struct problem *problem)
{
	CLEANUP(text_done) struct text line = {0};
	struct pcapng_statistics statistics;
	const char *because;
	int rc = capture_compile(capture, problem);

	if (rc)
		return rc;
	json_begin_object(&line, NULL);
	json_put_string(&line, "state", "listening");
	json_end_object(&line);
	capture_write_line(out, &line);
	because = listen_until(capture, in, out, stop, problem);
	statistics = statistics_of(capture);
	if (capture->rc && capture->rc != E_LIMIT && !problem_is_set(problem))
		(void)ring_failed(capture, problem);
	rc = packet_ring_end(capture->ring, clock_wall_us(), &statistics);
	if (rc && !problem_is_set(problem)) {
		capture->rc = rc;
		because = "failed";
		(void)ring_failed(capture, problem);
	}
	capture_tell(capture, out, because, problem);
	return 0;
}
