#include "bampi/bootd/dhcp/foreign_server.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/io/dhcp_listener.h"
#include "common/io/log.h"
#include "common/net/ipv4.h"

#include "bampi/bootd/dhcp/foreign_server_sql.h"

#define FOREIGN_SERVER_SUBJECT   "dhcp"
#define FOREIGN_SERVER_FLUSH_MS  1000
#define FOREIGN_SERVER_REPEAT_MS 60000 /* a row is written again this seldom */
#define FOREIGN_SERVER_KEPT      32    /* at once; a flood of made-up servers costs no more */
#define FOREIGN_SERVER_TURN      32    /* replies a turn of the loop */

struct foreign_server {
	int interface;   /* index */
	uint32_t relay;  /* 0 = none */
	uint32_t server; /* 0 = free */
	struct mac mac;  /* zero: only a client named it */
	bool fresh;      /* heard since it was written */
	bool told;       /* in the log, with its MAC where it has one */
	int64_t written_ms;
};

struct foreign_servers {
	struct loop *loop;
	struct foreign_servers_options options;
	int fd;
	struct loop_watch *watch;
	struct loop_timer *timer;
	struct foreign_server kept[FOREIGN_SERVER_KEPT];
	struct log_limit lines;
	char host[65];
	int64_t own_ms; /* when our own address was written last */
	uint64_t heard;
	bool flying;
};

enum foreign_server_column {
	FOREIGN_SERVER_LINK,
	FOREIGN_SERVER_ADDRESS,
	FOREIGN_SERVER_MAC,
	FOREIGN_SERVER_COLUMNS
};

/* By the addresses that subnets give us. Those of other bampi-bootd the database knows. */
static bool foreign_server_is_ours(const struct foreign_servers *servers, uint32_t server)
{
	const struct inventory *inventory = servers->options.inventory;

	if (server == servers->options.server_address)
		return true;
	for (size_t i = 0; i < inventory_subnet_count(inventory); i++) {
		if (inventory_subnet_at(inventory, i)->boot_server == server)
			return true;
	}
	return false;
}

static bool foreign_server_due(const struct foreign_server *each, int64_t now_ms)
{
	return each->server && each->fresh &&
	       (each->written_ms == 0 || now_ms - each->written_ms >= FOREIGN_SERVER_REPEAT_MS);
}

/* Its place, else a free one, else that of one which is not heard any more. NULL: all are in use. */
static struct foreign_server *foreign_server_place(struct foreign_servers *servers, int interface,
						   uint32_t relay, uint32_t server)
{
	int64_t now_ms = loop_now_ms(servers->loop);
	struct foreign_server *room = NULL;

	for (size_t i = 0; i < FOREIGN_SERVER_KEPT; i++) {
		struct foreign_server *each = &servers->kept[i];

		if (each->server == server && each->interface == interface && each->relay == relay)
			return each;
		if (each->server == 0 ||
		    (!each->fresh && now_ms - each->written_ms >= FOREIGN_SERVER_REPEAT_MS))
			room = each;
	}
	if (room)
		*room = (struct foreign_server){
			.interface = interface, .relay = relay, .server = server};
	return room;
}

static const char *foreign_server_link(const struct foreign_servers *servers,
				       const struct foreign_server *each, char *ret, size_t room)
{
	char name[IF_NAMESIZE];
	char relay[IPV4_TEXT_SIZE];

	if (each->relay)
		(void)text_format(ret, room, "relay %s", ipv4_text(each->relay, relay));
	else if (if_indextoname((unsigned)each->interface, name))
		(void)text_format(ret, room, "%s:%s", servers->host, name);
	else
		(void)text_format(ret, room, "%s", servers->host);
	return ret;
}

static void foreign_server_note(struct foreign_servers *servers, int interface, uint32_t relay,
				uint32_t server, const struct mac *mac)
{
	struct foreign_server *each;
	char address[IPV4_TEXT_SIZE];
	char text[MAC_TEXT_SIZE];
	char link[96];

	/* Before the subnets are read nobody can say which address is ours. */
	if (server == 0 || !inventory_ready(servers->options.inventory) ||
	    foreign_server_is_ours(servers, server))
		return;
	servers->heard++;
	each = foreign_server_place(servers, interface, relay, server);
	if (!each)
		return;
	if (mac && !mac_equal(each->mac, *mac))
		each->told = false;
	if (mac)
		each->mac = *mac;
	each->fresh = true;
	if (!each->told && log_allowed(&servers->lines, loop_now_ms(servers->loop)))
		log_warn(FOREIGN_SERVER_SUBJECT,
			 "a DHCP server that is not ours: %s on %s (mac=%s)",
			 ipv4_text(server, address),
			 foreign_server_link(servers, each, link, sizeof(link)),
			 mac ? mac_text(*mac, text) : "unknown");
	each->told = true;
}

void foreign_server_chosen(struct foreign_servers *servers, int interface, uint32_t giaddr,
			   uint32_t server)
{
	foreign_server_note(servers, giaddr ? 0 : interface, giaddr, server, NULL);
}

static void foreign_server_on_reply(void *context, int events)
{
	struct foreign_servers *servers = context;

	(void)events;
	for (unsigned i = 0; i < FOREIGN_SERVER_TURN; i++) {
		struct dhcp_heard heard;
		int rc = dhcp_listener_next(servers->fd, &heard);

		if (rc == 0 && dhcp_server_answers_on(servers->options.server, heard.interface))
			foreign_server_note(servers, heard.interface, 0, heard.server, &heard.mac);
		else if (rc < 0 && rc != E_MALFORMED)
			return;
	}
}

/* A row that is lost is written again with the next reply. */
static void foreign_server_on_written(void *context, int rc, const PGresult *result,
				      const struct problem *problem)
{
	struct foreign_servers *servers = context;

	(void)result;
	servers->flying = false;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_WARN, FOREIGN_SERVER_SUBJECT, problem);
}

/* The rows that are due; how many. */
static size_t foreign_server_build(struct foreign_servers *servers,
				   struct text columns[FOREIGN_SERVER_COLUMNS])
{
	int64_t now_ms = loop_now_ms(servers->loop);
	size_t count = 0;
	char text[96];

	for (size_t i = 0; i < FOREIGN_SERVER_COLUMNS; i++)
		array_begin(&columns[i]);
	for (size_t i = 0; i < FOREIGN_SERVER_KEPT; i++) {
		struct foreign_server *each = &servers->kept[i];

		if (!foreign_server_due(each, now_ms))
			continue;
		array_add(&columns[FOREIGN_SERVER_LINK],
			  foreign_server_link(servers, each, text, sizeof(text)));
		array_add(&columns[FOREIGN_SERVER_ADDRESS], ipv4_text(each->server, text));
		array_add(&columns[FOREIGN_SERVER_MAC],
			  mac_is_zero(each->mac) ? NULL : mac_text(each->mac, text));
		each->fresh = false;
		each->written_ms = now_ms;
		count++;
	}
	for (size_t i = 0; i < FOREIGN_SERVER_COLUMNS; i++)
		array_end(&columns[i]);
	return count;
}

static void foreign_server_write(struct foreign_servers *servers)
{
	struct text columns[FOREIGN_SERVER_COLUMNS] = {0};
	int64_t now_ms = loop_now_ms(servers->loop);
	bool own = servers->options.server_address &&
		   (servers->own_ms == 0 || now_ms - servers->own_ms >= FOREIGN_SERVER_REPEAT_MS);
	size_t count = foreign_server_build(servers, columns);
	char address[IPV4_TEXT_SIZE];
	const char *params[2 + FOREIGN_SERVER_COLUMNS] = {
		servers->host, own ? ipv4_text(servers->options.server_address, address) : NULL};
	bool failed = false;

	for (size_t i = 0; i < FOREIGN_SERVER_COLUMNS; i++) {
		params[2 + i] = text_get(&columns[i]);
		failed |= columns[i].failed;
	}
	if ((own || count > 0) && !failed)
		servers->flying = db_submit(servers->options.db, &dhcp_server_put_query, params,
					    foreign_server_on_written, servers) == 0;
	if (own && servers->flying)
		servers->own_ms = now_ms;
	for (size_t i = 0; i < FOREIGN_SERVER_COLUMNS; i++)
		text_done(&columns[i]);
}

static void foreign_server_on_timer(void *context)
{
	struct foreign_servers *servers = context;

	if (!servers->flying && db_connected(servers->options.db))
		foreign_server_write(servers);
	loop_timer_arm(servers->timer, FOREIGN_SERVER_FLUSH_MS);
}

uint64_t foreign_servers_heard(const struct foreign_servers *servers)
{
	return servers->heard;
}

int foreign_servers_new(struct loop *loop, const struct foreign_servers_options *options,
			struct foreign_servers **ret, struct problem *problem)
{
	struct foreign_servers *servers = calloc(1, sizeof(*servers));
	int rc;

	if (!servers)
		return problem_set(problem, -ENOMEM, "out of memory");
	servers->loop = loop;
	servers->options = *options;
	servers->fd = -1;
	servers->lines = (struct log_limit){.burst = 5, .per_minute = 5};
	(void)gethostname(servers->host, sizeof(servers->host) - 1);
	rc = dhcp_listener_open(&servers->fd, problem);
	if (rc == 0)
		rc = loop_watch_new(loop, servers->fd, LOOP_READ, foreign_server_on_reply, servers,
				    &servers->watch);
	if (rc == 0)
		rc = loop_timer_new(loop, foreign_server_on_timer, servers, &servers->timer);
	if (rc) {
		foreign_servers_free(servers);
		return rc;
	}
	loop_timer_arm(servers->timer, FOREIGN_SERVER_FLUSH_MS);
	*ret = servers;
	return 0;
}

void foreign_servers_free(struct foreign_servers *servers)
{
	if (!servers)
		return;
	loop_watch_free(servers->watch);
	loop_timer_free(servers->timer);
	closep(&servers->fd);
	free(servers);
}
