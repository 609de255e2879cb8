/* A capture on the screen: how it stands, then its packets as they come, or what they are. */
#include <inttypes.h>
#include <string.h>

#include "portal/cli/drill/drill_frame_rows.h"
#include "portal/cli/haasctl.h"

static int64_t drill_frame_capture_number_of(const json_t *row, const char *name)
{
	return json_integer_value(json_object_get(row, name));
}

/* What it waits for, or how it ended; as much as there is to say. */
static const char *drill_frame_capture_state_text(const struct drill_capture *capture,
						  struct text *out)
{
	const char *state = haasctl_word(capture->json, "state");

	if (strcmp(state, "waiting") == 0)
		text_addf(
			out,
			"waits for consent: another operator says haasctl capture approve %" PRId64
			", or the tenant grants it",
			capture->id);
	else if (strcmp(state, "ended") == 0)
		text_addf(out, "ended (%s): haasctl capture download %" PRId64 " FILE",
			  haasctl_word(capture->json, "because"), capture->id);
	else if (strcmp(state, "running") != 0)
		text_add(out, "the switch is told to mirror ...");
	return text_get(out);
}

static size_t drill_frame_capture_put_state(const struct drill_capture *capture, struct grid *grid,
					    size_t row, size_t end)
{
	CLEANUP(text_done) struct text line = {0};
	CLEANUP(text_done) struct text state = {0};
	const char *peer = haasctl_word(capture->json, "peer");
	const json_t *problem = json_object_get(capture->json, "problem");

	text_addf(&line,
		  "capture %" PRId64 " of %s%s%s, %s: %" PRId64 " packets, %" PRId64
		  " bytes, %" PRId64 " lost",
		  capture->id, haasctl_word(capture->json, "node"), peer[0] ? "~" : "", peer,
		  haasctl_word(capture->json, "state"),
		  drill_frame_capture_number_of(capture->json, "packets"),
		  drill_frame_capture_number_of(capture->json, "bytes"),
		  drill_frame_capture_number_of(capture->json, "dropped"));
	row = drill_put_paragraph(grid, row, end, GRID_BOLD, text_get(&line));
	row = drill_put_paragraph(grid, row, end, GRID_DIM,
				  drill_frame_capture_state_text(capture, &state));
	if (json_is_object(problem)) {
		row = drill_put_paragraph(grid, row, end, GRID_ALARM,
					  haasctl_word(problem, "message"));
		row = drill_put_paragraph(grid, row, end, GRID_BOLD, haasctl_word(problem, "hint"));
	}
	return row;
}

/* The newest stands lowest. */
static void put_packets(const struct drill_capture *capture, struct grid *grid, size_t row,
			size_t end)
{
	size_t room = end > row ? end - row : 0;
	size_t count = capture->line_count < DRILL_LINES ? capture->line_count : DRILL_LINES;

	if (count > room)
		count = room;
	for (size_t i = 0; i < count; i++)
		(void)grid_put(grid, row + i, 1, grid_columns(grid) - 1, GRID_PLAIN,
			       capture->lines[(capture->line_count - count + i) % DRILL_LINES]);
}

static size_t put_tcp(const json_t *tcp, struct grid *grid, size_t row, size_t end)
{
	CLEANUP(text_done) struct text line = {0};
	int64_t segments = drill_frame_capture_number_of(tcp, "segments");

	if (segments <= 0)
		return row;
	text_addf(&line,
		  "TCP: %" PRId64 " segments, %" PRId64 " sent again (%.1f%%), %" PRId64
		  " closed windows, %" PRId64 " resets",
		  segments, drill_frame_capture_number_of(tcp, "retransmissions"),
		  (double)drill_frame_capture_number_of(tcp, "retransmissions") * 100 /
			  (double)segments,
		  drill_frame_capture_number_of(tcp, "zero_windows"),
		  drill_frame_capture_number_of(tcp, "resets"));
	if (drill_frame_capture_number_of(tcp, "rtt_count") > 0)
		text_addf(&line, ", round trip %.3f/%.3f/%.3f ms",
			  (double)drill_frame_capture_number_of(tcp, "rtt_least_us") / 1000,
			  (double)drill_frame_capture_number_of(tcp, "rtt_mean_us") / 1000,
			  (double)drill_frame_capture_number_of(tcp, "rtt_most_us") / 1000);
	return drill_put_paragraph(grid, row, end, GRID_PLAIN, text_get(&line));
}

static void put_applications(const json_t *rows, struct grid *grid, size_t row, size_t end)
{
	double sum = 0;
	const json_t *one;
	size_t i;

	json_array_foreach(rows, i, one) sum += (double)drill_frame_capture_number_of(one, "bytes");
	if (sum <= 0 || row >= end) {
		(void)drill_put_paragraph(grid, row, end, GRID_DIM, "no packet was seen yet");
		return;
	}
	(void)grid_put(grid, row++, 2, 30, GRID_BOLD, "APPLICATION            SHARE");
	json_array_foreach(rows, i, one)
	{
		char text[64];

		if (row >= end)
			break;
		(void)grid_put(grid, row, 2, 20, GRID_PLAIN, haasctl_word(one, "application"));
		(void)text_format(text, sizeof(text), "%5.1f%%",
				  (double)drill_frame_capture_number_of(one, "bytes") * 100 / sum);
		(void)grid_put(grid, row, 24, 7, GRID_PLAIN, text);
		(void)text_format(text, sizeof(text),
				  "%" PRId64 " packets in %" PRId64 " conversations%s",
				  drill_frame_capture_number_of(one, "packets"),
				  drill_frame_capture_number_of(one, "conversations"),
				  json_is_true(json_object_get(one, "guessed")) ? ", guessed" : "");
		(void)grid_put(grid, row++, 33, grid_columns(grid) - 34, GRID_DIM, text);
	}
}

void drill_put_capture(const struct drill_view *view, struct grid *grid, size_t row, size_t end)
{
	const struct drill_capture *capture = &view->capture;
	const json_t *result = json_object_get(capture->json, "result");

	if (problem_is_set(&capture->problem)) {
		row = drill_put_paragraph(grid, row, end, GRID_ALARM, capture->problem.message);
		row = drill_put_paragraph(grid, row, end, GRID_PLAIN, capture->problem.detail);
		row = drill_put_paragraph(grid, row, end, GRID_BOLD, capture->problem.hint);
	}
	if (!capture->json) {
		if (!problem_is_set(&capture->problem))
			(void)drill_put_paragraph(grid, row, end, GRID_DIM, "asking for it ...");
		return;
	}
	row = drill_frame_capture_put_state(capture, grid, row, end) + 1;
	if (view->screen == SCREEN_PACKETS) {
		put_packets(capture, grid, row, end);
		return;
	}
	row = put_tcp(json_object_get(result, "tcp"), grid, row, end);
	put_applications(json_object_get(result, "applications"), grid, row + 1, end);
}
