#include "bampi/agent/neighbor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/io/log.h"

#define ETHERTYPE_LLDP 0x88cc /* IEEE 802.1AB-2016 7.3 */
#define FRAME_LIMIT    1600
#define TABLE_LIMIT    128
#define BURST_LIMIT    64 /* frames per turn of the loop */

struct neighbor_row {
	char interface[IF_NAMESIZE];
	struct lldp_neighbor neighbor;
};

struct neighbor_table {
	int fd;
	int64_t since_ms;
	struct loop_watch *watch;
	pthread_mutex_t lock;
	struct neighbor_row rows[TABLE_LIMIT]; /* under lock, with count */
	size_t count;
};

static void neighbor_keep(struct neighbor_table *table, const char *interface,
			  const struct lldp_neighbor *neighbor)
{
	size_t i = 0;

	(void)pthread_mutex_lock(&table->lock);
	while (i < table->count && strcmp(table->rows[i].interface, interface) != 0)
		i++;
	if (i == table->count && i < TABLE_LIMIT) {
		(void)text_copy(table->rows[i].interface, IF_NAMESIZE, interface);
		table->count++;
		log_info("lldp", "%s is at %s of %s (chassis=%s)", interface, neighbor->port,
			 neighbor->system, neighbor->chassis);
	}
	if (i < TABLE_LIMIT)
		table->rows[i].neighbor = *neighbor;
	(void)pthread_mutex_unlock(&table->lock);
}

static void on_frame(void *context, int events)
{
	struct neighbor_table *table = context;
	uint8_t frame[FRAME_LIMIT];

	(void)events;
	for (int i = 0; i < BURST_LIMIT; i++) {
		struct sockaddr_ll from = {0};
		socklen_t from_size = sizeof(from);
		ssize_t size = recvfrom(table->fd, frame, sizeof(frame), MSG_DONTWAIT,
					(struct sockaddr *)(void *)&from, &from_size);
		struct lldp_neighbor neighbor;
		char interface[IF_NAMESIZE];

		if (size < 0)
			return;
		if (from.sll_pkttype == PACKET_OUTGOING ||
		    !if_indextoname((unsigned)from.sll_ifindex, interface))
			continue;
		if (lldp_decode(frame, (size_t)size, &neighbor) == 0 && neighbor.ttl_s > 0)
			neighbor_keep(table, interface, &neighbor);
	}
}

/* LLDP goes to groups that a NIC filters out unless asked (Table 7-1). A NIC that comes later is
 * not joined. */
static void join_groups(int fd)
{
	static const uint8_t groups[][6] = {
		{0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e}, /* nearest bridge */
		{0x01, 0x80, 0xc2, 0x00, 0x00, 0x03}, /* nearest non-TPMR bridge */
		{0x01, 0x80, 0xc2, 0x00, 0x00, 0x00}, /* nearest customer bridge */
	};
	struct if_nameindex *interfaces = if_nameindex();

	for (const struct if_nameindex *i = interfaces; i && i->if_index; i++) {
		for (size_t group = 0; group < COUNT_OF(groups); group++) {
			struct packet_mreq request = {
				.mr_ifindex = (int)i->if_index,
				.mr_type = PACKET_MR_MULTICAST,
				.mr_alen = sizeof(groups[group]),
			};

			memcpy(request.mr_address, groups[group], sizeof(groups[group]));
			/* Interfaces without multicast hear nothing; that is their answer. */
			(void)setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request,
					 sizeof(request));
		}
	}
	if (interfaces)
		if_freenameindex(interfaces);
}

static void neighbor_table_freep(struct neighbor_table **table)
{
	neighbor_table_free(*table);
}

int neighbor_table_new(struct loop *loop, struct neighbor_table **ret)
{
	CLEANUP(neighbor_table_freep) struct neighbor_table *table = calloc(1, sizeof(*table));
	int rc;

	if (!table)
		return -ENOMEM;
	table->since_ms = clock_monotonic_ms();
	if (pthread_mutex_init(&table->lock, NULL) != 0) {
		free(TAKE(table));
		return -ENOMEM;
	}
	table->fd =
		socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETHERTYPE_LLDP));
	if (table->fd < 0)
		return -errno;
	join_groups(table->fd);
	rc = loop_watch_new(loop, table->fd, LOOP_READ, on_frame, table, &table->watch);
	if (rc)
		return rc;

	*ret = TAKE(table);
	return 0;
}

void neighbor_table_free(struct neighbor_table *table)
{
	if (!table)
		return;
	if (table->watch)
		loop_watch_free(table->watch);
	if (table->fd >= 0)
		close(table->fd);
	(void)pthread_mutex_destroy(&table->lock);
	free(table);
}

bool neighbor_find(struct neighbor_table *table, const char *interface, struct lldp_neighbor *ret)
{
	bool found = false;

	(void)pthread_mutex_lock(&table->lock);
	for (size_t i = 0; i < table->count && !found; i++) {
		found = strcmp(table->rows[i].interface, interface) == 0;
		if (found)
			*ret = table->rows[i].neighbor;
	}
	(void)pthread_mutex_unlock(&table->lock);
	return found;
}

int64_t neighbor_table_since_ms(const struct neighbor_table *table)
{
	return table->since_ms;
}
