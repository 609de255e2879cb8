#include "portal/cli/site_dhcp.h"

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/dhcp_listener.h"

#define SITE_DHCP_AGAIN_MS 1500 /* a frame may be lost */

/* The MAC of the interface, so that an answer by unicast comes too. */
static bool site_dhcp_mac(int fd, int interface, struct mac *ret)
{
	struct ifreq request = {0};

	if (!if_indextoname((unsigned)interface, request.ifr_name) ||
	    ioctl(fd, SIOCGIFHWADDR, &request) < 0)
		return false;
	memcpy(ret->bytes, request.ifr_hwaddr.sa_data, sizeof(ret->bytes));
	return true;
}

/* A link that is down hears nothing, and nobody on it is heard: no problem of this question. */
static void site_dhcp_send(const struct site_dhcp *dhcp, int fd, uint32_t xid)
{
	for (size_t i = 0; i < dhcp->interface_count; i++) {
		struct mac mac;

		if (!site_dhcp_mac(fd, dhcp->interfaces[i], &mac) ||
		    dhcp_listener_ask(fd, dhcp->interfaces[i], mac, xid) < 0)
			continue;
	}
}

static void site_dhcp_add(struct site_dhcp *dhcp, const struct dhcp_heard *heard)
{
	bool asked = false;

	for (size_t i = 0; i < dhcp->interface_count; i++)
		asked |= dhcp->interfaces[i] == heard->interface;
	for (size_t i = 0; i < dhcp->answer_count; i++) {
		const struct site_dhcp_answer *each = &dhcp->answers[i];

		if (each->interface == heard->interface && each->server == heard->server &&
		    mac_equal(each->mac, heard->mac))
			return;
	}
	if (asked && dhcp->answer_count < SITE_DHCP_ANSWERS)
		dhcp->answers[dhcp->answer_count++] = (struct site_dhcp_answer){
			.interface = heard->interface, .mac = heard->mac, .server = heard->server};
}

static void site_dhcp_collect(struct site_dhcp *dhcp, int fd, uint32_t xid)
{
	int64_t start_ms = clock_monotonic_ms();
	bool again = true;
	struct dhcp_heard heard;
	int64_t left_ms;

	while ((left_ms = start_ms + SITE_DHCP_WAIT_MS - clock_monotonic_ms()) > 0) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};

		if (again && left_ms <= SITE_DHCP_WAIT_MS - SITE_DHCP_AGAIN_MS) {
			site_dhcp_send(dhcp, fd, xid);
			again = false;
		}
		(void)poll(&ready, 1,
			   (int)(again ? left_ms - (SITE_DHCP_WAIT_MS - SITE_DHCP_AGAIN_MS)
				       : left_ms));
		for (int rc; (rc = dhcp_listener_next(fd, &heard)) == 0 || rc == E_MALFORMED;) {
			if (clock_monotonic_ms() >= start_ms + SITE_DHCP_WAIT_MS)
				return; /* a flood */
			if (rc == 0 && heard.type == DHCP_OFFER && heard.xid == xid)
				site_dhcp_add(dhcp, &heard);
		}
	}
}

int site_dhcp_ask(struct site_dhcp *dhcp, struct problem *problem)
{
	CLEANUP(closep) int fd = -1;
	uint32_t xid = 0;
	int rc = dhcp_listener_open(&fd, problem);

	if (rc)
		return rc;
	if (getrandom(&xid, sizeof(xid), 0) != sizeof(xid))
		return problem_set(problem, -EIO, "the kernel gives no random number");
	dhcp->answer_count = 0;
	site_dhcp_send(dhcp, fd, xid);
	site_dhcp_collect(dhcp, fd, xid);
	return 0;
}
