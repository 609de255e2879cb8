/* haasctl volume login: a script for a node whose OS was installed before the volume was attached,
 * and so was not told of it (docs/decision/way-to-a-volume.md). It does what the agent does at an install: the
 * way in, the node's name, the record. The secret is typed in where it runs; it is in neither the
 * script nor an argument. */
#include "portal/cli/volume_login.h"

#include <stdio.h>
#include <string.h>

struct cli_volume_login_way {
	const char *node, *address, *target, *portal;
	const char *nic;     /* as the API calls it; NULL: the storage is not at a port of ours */
	const char *network; /* of the way */
	char mac[32];        /* of the NIC; "" for a bond, which the OS calls as we do */
	char length[8];      /* "/28" */
	json_int_t vlan;
};

/* What is put between quotes in a script that root runs. */
static bool cli_volume_login_plain(const char *text)
{
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				 ".:-_")] == '\0';
}

static int cli_volume_login_refuse(const char *volume, const char *node, const json_t *initiators)
{
	const json_t *one;
	size_t i;

	if (json_array_size(initiators) == 0) {
		fprintf(stderr,
			"haasctl: %s is open to no node; haasctl volume attach %s PDCI --wait\n",
			volume, volume);
		return EXIT_FAILED;
	}
	fprintf(stderr, "haasctl: %s is not open to %s, but to", volume, node);
	json_array_foreach(initiators, i, one) fprintf(stderr, " %s", haasctl_word(one, "node"));
	fputc('\n', stderr);
	return EXIT_FAILED;
}

/* The tagged network of the node that has this address. */
static void find_way(const json_t *pdci, struct cli_volume_login_way *way)
{
	const json_t *nodes = json_object_get(pdci, "nodes");
	const json_t *node;
	const json_t *nic;
	size_t i;
	size_t j;

	json_array_foreach(nodes, i, node)
	{
		if (strcmp(haasctl_word(node, "node"), way->node) != 0 ||
		    *haasctl_word(node, "released_at"))
			continue;
		json_array_foreach(json_object_get(node, "nics"), j, nic)
		{
			if (strcmp(haasctl_word(nic, "address"), way->address) != 0 ||
			    strcmp(haasctl_word(nic, "mode"), "tagged") != 0)
				continue;
			way->nic = haasctl_word(nic, "nic");
			way->network = haasctl_word(nic, "network");
			way->vlan = json_integer_value(json_object_get(nic, "vlan"));
			if (json_is_null(json_object_get(nic, "members")))
				(void)text_copy(way->mac, sizeof(way->mac), "?");
		}
	}
}

/* Who has the NIC, and how long the network's prefix is. */
static int find_rest(struct haasctl *haasctl, const struct command_input *input,
		     struct cli_volume_login_way *way)
{
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};
	const json_t *nic;
	const char *slash;
	size_t i;
	int status = EXIT_OK;

	haasctl_path(&target, "/networks/", way->network, "");
	haasctl_query(&target, input, "--tenant");
	status = haasctl_get(haasctl, input, text_get(&target), &reply);
	slash = status == EXIT_OK ? strchr(haasctl_word(reply.json, "prefix"), '/') : NULL;
	(void)text_copy(way->length, sizeof(way->length), slash ? slash : "");
	haasctl_reply_done(&reply);
	if (status != EXIT_OK || !way->mac[0])
		return status;
	text_clear(&target);
	haasctl_path(&target, "/nodes/", way->node, "");
	status = haasctl_get(haasctl, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	json_array_foreach(json_object_get(reply.json, "nics"), i, nic)
	{
		if (strcmp(haasctl_word(nic, "name"), way->nic) == 0)
			(void)text_copy(way->mac, sizeof(way->mac), haasctl_word(nic, "mac"));
	}
	haasctl_reply_done(&reply);
	return EXIT_OK;
}

static void print_way(const struct cli_volume_login_way *way)
{
	if (!way->nic)
		return;
	if (way->mac[0])
		printf("nic=''\n"
		       "for folder in /sys/class/net/*; do\n"
		       "\t[ ! -e \"$folder/device\" ] || [ \"$(cat \"$folder/address\")\" != '%s' ] || nic=${folder##*/}\n"
		       "done\n"
		       "[ -n \"$nic\" ] || { echo \"no NIC here has the MAC %s\" >&2; exit 1; }\n",
		       way->mac, way->mac);
	else
		printf("nic='%s'\n", way->nic);
	printf("link=$nic.%d\n"
	       "if ! ip -4 -o addr show | grep -qF ' %s%s '; then\n"
	       "\tip link show dev \"$link\" >/dev/null 2>&1 || ip link add link \"$nic\" name \"$link\" type vlan id %d\n"
	       "\tip addr replace '%s%s' dev \"$link\"\n"
	       "\tip link set dev \"$nic\" up\n"
	       "\tip link set dev \"$link\" up\n"
	       "\tif [ ! -e /etc/network/interfaces ]; then\n"
	       "\t\techo \"VLAN %d of $nic with %s%s is there until the next boot: tell the OS's own configuration\" >&2\n"
	       "\telif ! grep -q \"^iface $link \" /etc/network/interfaces; then\n"
	       "\t\tprintf '\\nauto %%s\\niface %%s inet static\\n\\taddress %s%s\\n\\tpre-up [ -d /sys/class/net/%%s ] || ip link add link %%s name %%s type vlan id %d\\n' \\\n"
	       "\t\t\t\"$link\" \"$link\" \"$link\" \"$nic\" \"$link\" >>/etc/network/interfaces\n"
	       "\tfi\n"
	       "fi\n",
	       (int)way->vlan, way->address, way->length, (int)way->vlan, way->address, way->length,
	       (int)way->vlan, way->address, way->length, way->address, way->length,
	       (int)way->vlan);
}

static void print_login(const struct cli_volume_login_way *way)
{
	const char *volume = strstr(way->target, ":volume.");
	const char *colon = strrchr(way->portal, ':');

	printf("if [ ! -s /etc/iscsi/initiatorname.iscsi ]; then\n"
	       "\tmkdir -p /etc/iscsi\n"
	       "\techo 'InitiatorName=%.*s:node.%s' >/etc/iscsi/initiatorname.iscsi\n"
	       "fi\n",
	       (int)(volume - way->target), way->target, way->node);
	printf("base=/etc/iscsi\n[ ! -d /var/lib/iscsi ] || base=/var/lib/iscsi\n"
	       "folder=$base/nodes/%s/%.*s,%s,1\n"
	       "mkdir -p \"$folder\"\n",
	       way->target, (int)(colon - way->portal), way->portal, colon + 1);
	printf("cat >\"$folder/default\" <<END\n"
	       "# BEGIN RECORD 2.0-873\n"
	       "node.name = %s\nnode.tpgt = 1\nnode.startup = automatic\n"
	       "node.leading_login = No\niface.iscsi_ifacename = default\niface.transport_name = tcp\n"
	       "node.discovery_type = static\nnode.session.auth.authmethod = CHAP\n"
	       "node.session.auth.username = $user\nnode.session.auth.password = $secret\n"
	       "node.session.initial_login_retry_max = 60\n"
	       "node.conn[0].address = %.*s\nnode.conn[0].port = %s\nnode.conn[0].startup = automatic\n"
	       "# END RECORD\nEND\n",
	       way->target, (int)(colon - way->portal), way->portal, colon + 1);
	printf("exec iscsiadm -m node -T '%s' -p '%s' --login\n", way->target, way->portal);
}

static int cli_volume_login_print(const char *volume, const struct cli_volume_login_way *way)
{
	if (!cli_volume_login_plain(volume) || !cli_volume_login_plain(way->node) ||
	    !cli_volume_login_plain(way->target) || !cli_volume_login_plain(way->portal) ||
	    !cli_volume_login_plain(way->address) || !cli_volume_login_plain(way->mac) ||
	    (way->nic && !cli_volume_login_plain(way->nic)) || !strstr(way->target, ":volume.") ||
	    !strchr(way->portal, ':') ||
	    strspn(way->length, "/0123456789") != strlen(way->length)) {
		fprintf(stderr, "haasctl: %s: the answer lacks the data for a script\n", volume);
		return EXIT_FAILED;
	}
	printf("#!/bin/sh\n"
	       "# As root on %s, which has open-iscsi: logs in to the volume %s, now and at each boot. Asks for user and secret of\n"
	       "# `haasctl volume secret %s` (it makes a new secret, and the old one becomes invalid).\n"
	       "set -eu\numask 077\n"
	       "printf 'user: ' >&2\nread -r user\nprintf 'secret: ' >&2\n"
	       "[ ! -t 0 ] || stty -echo\nread -r secret\n[ ! -t 0 ] || stty echo\n",
	       way->node, volume, volume);
	print_way(way);
	print_login(way);
	return EXIT_OK;
}

int haasctl_volume_login(void *context, const struct command_input *input)
{
	const char *name = input->words[0];
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply volume = {0};
	struct haasctl_reply pdci = {0};
	struct cli_volume_login_way way = {.node = input->words[1], .address = ""};
	const json_t *initiators;
	const json_t *one;
	size_t i;
	int status;

	haasctl_path(&target, "/volumes/", name, "");
	haasctl_query(&target, input, "--tenant");
	status = haasctl_get(context, input, text_get(&target), &volume);
	if (status != EXIT_OK)
		return status;
	initiators = json_object_get(volume.json, "initiators");
	json_array_foreach(initiators, i, one)
	{
		if (strcmp(haasctl_word(one, "node"), way.node) == 0)
			way.address = haasctl_word(one, "address");
	}
	way.target = haasctl_word(volume.json, "target");
	way.portal = haasctl_word(volume.json, "portal");
	if (!*way.address)
		status = cli_volume_login_refuse(name, way.node, initiators);
	if (status == EXIT_OK) {
		text_clear(&target);
		haasctl_path(&target, "/pdcis/", haasctl_word(volume.json, "pdci"), "");
		haasctl_query(&target, input, "--tenant");
		status = haasctl_get(context, input, text_get(&target), &pdci);
	}
	if (status == EXIT_OK) {
		find_way(pdci.json, &way);
		if (way.nic)
			status = find_rest(context, input, &way);
	}
	if (status == EXIT_OK)
		status = cli_volume_login_print(name, &way);
	haasctl_reply_done(&pdci);
	haasctl_reply_done(&volume);
	return status;
}
