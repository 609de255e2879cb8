#include "peregrine/capture/dpi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wundef"
#include <ndpi/ndpi_api.h>
#pragma GCC diagnostic pop

#include "common/base/text.h"

enum { PACKETS_MOST = 16 }; /* it usually decides by the third, by the eighth at the latest */

struct dpi {
	struct ndpi_detection_module_struct *module;
};

struct dpi_flow {
	struct ndpi_flow_struct *flow; /* NULL: decided */
	unsigned packets;
};

int dpi_new(struct dpi **ret)
{
	struct dpi *dpi = calloc(1, sizeof(*dpi));
	NDPI_PROTOCOL_BITMASK all;

	if (!dpi)
		return -ENOMEM;
	dpi->module = ndpi_init_detection_module(ndpi_no_prefs);
	if (!dpi->module) {
		free(dpi);
		return -ENOMEM;
	}
	NDPI_BITMASK_SET_ALL(all);
	ndpi_set_protocol_detection_bitmask2(dpi->module, &all);
	ndpi_finalize_initialization(dpi->module);
	*ret = dpi;
	return 0;
}

void dpi_free(struct dpi *dpi)
{
	if (!dpi)
		return;
	ndpi_exit_detection_module(dpi->module);
	free(dpi);
}

static bool dpi_tell(struct dpi *dpi, const struct dpi_flow *flow, ndpi_protocol protocol,
		     char name[DPI_NAME_SIZE], bool *guessed)
{
	char text[64] = "";

	if (protocol.app_protocol == NDPI_PROTOCOL_UNKNOWN &&
	    protocol.master_protocol == NDPI_PROTOCOL_UNKNOWN)
		return false;
	(void)ndpi_protocol2name(dpi->module, protocol, text, sizeof(text));
	(void)text_copy(name, DPI_NAME_SIZE, text);
	/* The dissector of TargusDataspeed looks at nothing but ports (iperf's), and says that it
	 * is sure. */
	*guessed = flow->flow->confidence == NDPI_CONFIDENCE_MATCH_BY_PORT ||
		   flow->flow->confidence == NDPI_CONFIDENCE_MATCH_BY_IP ||
		   protocol.app_protocol == NDPI_PROTOCOL_TARGUS_GETDATA;
	return true;
}

static void dpi_decide(struct dpi_flow *flow)
{
	ndpi_free_flow(flow->flow);
	flow->flow = NULL;
}

void dpi_look(struct dpi *dpi, struct dpi_flow **flow, const struct dpi_packet *packet,
	      char name[DPI_NAME_SIZE], bool *guessed)
{
	struct dpi_flow *one = *flow;
	uint8_t by_port = 0;
	ndpi_protocol protocol;

	if (!one) {
		one = calloc(1, sizeof(*one));
		if (!one)
			return;
		*flow = one;
		/* nDPI frees it: its own allocator. */
		one->flow = ndpi_flow_malloc(ndpi_detection_get_sizeof_ndpi_flow_struct());
		if (one->flow)
			memset(one->flow, 0, ndpi_detection_get_sizeof_ndpi_flow_struct());
	}
	if (!one->flow)
		return;
	one->packets++;
	protocol = ndpi_detection_process_packet(
		dpi->module, one->flow, packet->bytes,
		(unsigned short)(packet->size < UINT16_MAX ? packet->size : UINT16_MAX),
		(uint64_t)(packet->time_us / 1000));
	if (one->packets < PACKETS_MOST) {
		/* A name now may become a better one: "TLS" first, whose later. */
		if (dpi_tell(dpi, one, protocol, name, guessed) &&
		    !ndpi_extra_dissection_possible(dpi->module, one->flow))
			dpi_decide(one);
		return;
	}
	protocol = ndpi_detection_giveup(dpi->module, one->flow, 1, &by_port);
	(void)dpi_tell(dpi, one, protocol, name, guessed);
	dpi_decide(one);
}

void dpi_flow_free(struct dpi_flow *flow)
{
	if (!flow)
		return;
	if (flow->flow)
		ndpi_free_flow(flow->flow);
	free(flow);
}
