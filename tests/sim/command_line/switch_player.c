#include "tests/sim/command_line/switch_player.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_netconf.h"

enum { PORTS = 8, TURNS = 10000 };

struct switch_player {
	struct cli_device device;
	struct cli_session *session;
	struct netconf_device netconf;
	struct netconf_session *talk;
	struct text said;
	char name[CLI_NAME_SIZE];
};

static const char *say_rpc(struct switch_player *player, const char *inside)
{
	static const char hello[] =
		"<hello xmlns=\"" NETCONF_BASE
		"\"><capabilities><capability>urn:ietf:params:netconf:base:1.0</capability>"
		"</capabilities></hello>]]>]]>";
	CLEANUP(text_done) struct text message = {0};

	if (inside)
		text_addf(&message, "<rpc message-id=\"1\" xmlns=\"%s\">%s</rpc>]]>]]>",
			  NETCONF_BASE, inside);
	else
		text_add(&message, hello);
	text_clear(&player->talk->out);
	netconf_session_feed(player->talk, text_get(&message), message.size);
	for (unsigned i = 0; i < TURNS && netconf_session_turn(player->talk); i++)
		;
	return text_get(&player->talk->out);
}

int switch_player_new(const char *family, const char *netconf, const char *seed,
		      struct switch_player **ret)
{
	char wrong[128];
	CLEANUP(switch_player_freep) struct switch_player *player = calloc(1, sizeof(*player));
	int rc;

	if (!player)
		return -ENOMEM;
	player->device.family = cli_family_find(family);
	player->netconf.device = &player->device;
	player->netconf.model = netconf ? netconf_model_find(netconf) : NULL;
	if (!player->device.family || (netconf && !player->netconf.model))
		return -ENOENT;
	(void)text_copy(player->device.hostname, sizeof(player->device.hostname),
			player->device.family->hostname);
	rc = cli_store_new(PORTS, &player->device.family->port, &player->device.store);
	if (rc == 0)
		rc = cli_store_seed(player->device.store, seed, wrong);
	if (rc == 0 && netconf)
		rc = netconf_talk_new(&player->netconf, &player->talk);
	if (rc == 0 && !netconf)
		rc = cli_session_new(&player->device, &player->session);
	if (rc)
		return rc;
	if (netconf) {
		(void)say_rpc(player, NULL);
	} else {
		player->session->is_raw = true;
		player->session->wants_key = false;
		player->session->answer = NULL;
	}
	*ret = TAKE(player);
	return 0;
}

void switch_player_free(struct switch_player *player)
{
	if (!player)
		return;
	cli_session_free(player->session);
	netconf_talk_free(player->talk);
	netconf_device_done(&player->netconf);
	cli_store_free(player->device.store);
	text_done(&player->said);
	free(player);
}

void switch_player_freep(struct switch_player **player)
{
	switch_player_free(*player);
}

const char *switch_player_say(struct switch_player *player, const char *line)
{
	if (player->talk)
		return say_rpc(player, line);
	text_clear(&player->session->out);
	cli_session_feed(player->session, line, strlen(line));
	cli_session_feed(player->session, "\n", 1);
	for (unsigned i = 0; i < TURNS && cli_session_turn(player->session); i++)
		;
	return text_get(&player->session->out);
}

struct vlan_set switch_player_port(const struct switch_player *player, unsigned number)
{
	const struct cli_store *store = player->device.store;
	const struct cli_port *port = &store->running->ports[number];
	struct vlan_set all = {{0}};
	unsigned untagged = 0;

	cli_store_membership(store, port, &untagged, &all);
	if (untagged)
		vlan_set_add(&all, untagged);
	/* One of them is where its own frames go; it gets those of all. */
	if (port->mode == CLI_GENERAL)
		all = vlan_set_union(&all, &port->untagged);
	return vlan_set_intersection(&all, &store->running->vlans);
}

const char *switch_player_port_name(struct switch_player *player, unsigned number)
{
	return cli_port_print(&player->device.family->naming, number, player->talk != NULL,
			      player->name);
}
