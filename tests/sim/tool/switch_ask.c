/* Asks one switch by a driver of peregrined, without peregrined: for stories, benches and the hand.
 *
 *   switch_ask --address 10.255.0.11 --community public read --parts ports,vlans
 *   switch_ask --address 10.255.0.11 --secrets FILE change port:p3:access:100 vlan+:200:blue
 *   switch_ask --address 10.255.0.11 --secrets FILE save
 *
 * FILE has lines KEY=VALUE: community, write_community, user, auth (sha, sha256), auth_secret, priv
 * (aes), priv_secret; for command lines and NETCONF ssh_user, ssh_password, ssh_enable, host_key
 * ("any" trusts whatever is shown); for OVSDB ovsdb_peer and the paths ovsdb_certificate,
 * ovsdb_key, ovsdb_ca. Prints one JSON object; exit 0, 1 (the switch or the driver
 * said no) or 2. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/snmp/snmp_client.h"
#include "peregrine/switch/switch_driver.h"
#include "peregrine/switch/switch_family_table.h"

enum { EDIT_LIMIT = 256, PORT_LIMIT = 64 };

struct switch_ask_own {
	struct switch_endpoint endpoint;
	struct switch_request request;
	const char *family, *driver;
	int64_t deadline_ms, started_ms;
	unsigned repeat;
	struct switch_edit edits[EDIT_LIMIT];
	enum edit_result results[EDIT_LIMIT];
	const char *ports[PORT_LIMIT + 1];
	size_t port_count;
	struct loop *loop;
	const struct switch_driver *row;
	void *session;
	int rc;
	char certificate[256], key[256], ca[256]; /* of OVSDB */
};

static const struct {
	const char *word;
	unsigned part;
} part_words[] = {
	{"identity", PART_IDENTITY},   {"ports", PART_PORTS}, {"vlans", PART_VLANS},
	{"neighbors", PART_NEIGHBORS}, {"fdb", PART_FDB},     {"all", PART_ALL},
};

static const char *const result_words[] = {
	[EDIT_NOT_TRIED] = "not_tried",
	[EDIT_TAKEN] = "taken",
	[EDIT_REFUSED] = "refused",
	[EDIT_UNKNOWN] = "unknown",
};

static const char *const stp_words[] = {
	[STP_UNKNOWN] = "unknown",     [STP_DISABLED] = "disabled", [STP_BLOCKING] = "blocking",
	[STP_LISTENING] = "listening", [STP_LEARNING] = "learning", [STP_FORWARDING] = "forwarding",
};

static const char *const apart_words[] = {
	[APART_UNTOLD] = "untold",
	[APART_NOT] = "no",
	[APART_FROM_ALIKE] = "yes",
};

__attribute__((noreturn)) PRINTF_LIKE(1, 2) static void switch_ask_usage(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)fputs("switch_ask: ", stderr);
	(void)vfprintf(stderr, format, list);
	va_end(list);
	(void)fputs(
		"\nusage: switch_ask --address A [--community C | --secrets FILE] [--port N] [--cli-port N] [--netconf-port N] [--ovsdb-port N] "
		"[--family F] [--driver D] [--timeout MS] [--retries N] [--deadline MS] "
		"[--repeat N] read [--parts P,..] [--only PORT].. | change EDIT.. | save | "
		"apart | locate PORT SECONDS | sampling SAMPLING | mirror TARGET|FROM>TO[/ID] [PORT].. |\n"
		"      lag-make|lag-unmake NAME VLAN PORT:VLAN..\n"
		"SAMPLING: off | look:ADDRESS:PORT:RATE:HEADER:SECONDS | set:...\nEDIT: vlan+:ID:NAME vlan-:ID:NAME port:NAME:access:ID[:apart] "
		"port:NAME:trunk:NATIVE:TAGGED\n",
		stderr);
	exit(2);
}

static void put_mac(struct text *json, const char *key, const uint8_t mac[6])
{
	char text[18];

	text_format(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		    mac[3], mac[4], mac[5]);
	json_put_string(json, key, text);
}

static void switch_ask_put_port(struct text *json, const struct switch_port *port)
{
	json_begin_object(json, NULL);
	json_put_string(json, "name", port->name);
	json_put_int(json, "if_index", port->if_index);
	json_put_int(json, "base_port", port->base_port);
	json_put_string(json, "alias", port->alias);
	put_mac(json, "mac", port->mac);
	json_put_bool(json, "admin_up", port->admin_up);
	json_put_bool(json, "up", port->up);
	json_put_int(json, "link_mark", (int64_t)port->link_mark);
	json_put_int(json, "speed_bps", (int64_t)port->speed_bps);
	json_put_int(json, "lag", port->lag);
	json_put_bool(json, "is_lag", port->is_lag);
	json_put_string(json, "stp", stp_words[port->stp]);
	json_put_string(json, "apart", apart_words[port->apart]);
	json_put_int(json, "apart_group", port->apart_group);
	if (port->has_vlans) {
		CLEANUP(text_done) struct text tagged = {0};

		vlan_set_text(&port->vlans.tagged, &tagged);
		json_put_bool(json, "trunk", port->vlans.trunk);
		json_put_int(json, "native", port->vlans.native);
		json_put_string(json, "tagged", text_get(&tagged));
	}
	json_end_object(json);
}

static void switch_ask_put_identity(struct text *json, const struct switch_identity *identity)
{
	json_begin_object(json, "identity");
	json_put_string(json, "object_id", identity->object_id);
	json_put_string(json, "text", identity->text);
	json_put_string(json, "system", identity->system);
	json_put_string(json, "chassis", identity->chassis);
	json_put_string(json, "family", identity->family);
	json_put_int(json, "uptime_ms", (int64_t)identity->uptime_ms);
	json_put_int(json, "vlan_changes", (int64_t)identity->vlan_changes);
	json_put_int(json, "neighbor_changes", (int64_t)identity->neighbor_changes);
	json_put_int(json, "link_changes", (int64_t)identity->link_changes);
	json_put_int(json, "member_changes", (int64_t)identity->member_changes);
	json_end_object(json);
}

static void put_sampling(struct text *json, const struct sampling_found *found)
{
	json_begin_object(json, "sampling");
	json_put_bool(json, "agrees", found->agrees);
	json_put_bool(json, "foreign", found->foreign);
	json_put_int(json, "sources", found->sources);
	json_put_int(json, "rate_low", found->rate_low);
	json_put_int(json, "rate_high", found->rate_high);
	json_put_string(json, "text", found->text);
	json_end_object(json);
}

static void put_reading(struct text *json, const struct switch_reading *reading)
{
	json_begin_array(json, "parts");
	for (size_t i = 0; i + 1 < COUNT_OF(part_words); i++) {
		if (reading->parts & part_words[i].part)
			json_put_string(json, NULL, part_words[i].word);
	}
	json_end_array(json);
	switch_ask_put_identity(json, &reading->identity);
	json_put_int(json, "requests", reading->requests);
	put_sampling(json, &reading->sampling);
	json_put_int(json, "odd", reading->odd);
	json_put_string(json, "odd_text", reading->odd_text);
	switch_told_json(json, "told", reading->told);
	json_begin_array(json, "ports");
	for (size_t i = 0; i < reading->port_count; i++)
		switch_ask_put_port(json, &reading->ports[i]);
	json_end_array(json);
	json_begin_array(json, "vlans");
	for (size_t i = 0; i < reading->vlan_count; i++) {
		json_begin_object(json, NULL);
		json_put_int(json, "id", reading->vlans[i].id);
		json_put_string(json, "name", reading->vlans[i].name);
		json_end_object(json);
	}
	json_end_array(json);
	json_begin_array(json, "neighbors");
	for (size_t i = 0; i < reading->neighbor_count; i++) {
		const struct switch_neighbor *neighbor = &reading->neighbors[i];

		json_begin_object(json, NULL);
		json_put_int(json, "if_index", neighbor->if_index);
		json_put_int(json, "local_port", neighbor->local_port);
		json_put_string(json, "chassis", neighbor->chassis);
		json_put_string(json, "port", neighbor->port);
		json_put_string(json, "port_text", neighbor->port_text);
		json_put_string(json, "system", neighbor->system);
		json_end_object(json);
	}
	json_end_array(json);
	json_begin_array(json, "fdb");
	for (size_t i = 0; i < reading->fdb_count; i++) {
		json_begin_object(json, NULL);
		put_mac(json, "mac", reading->fdb[i].mac);
		json_put_int(json, "vlan", reading->fdb[i].vlan);
		json_put_int(json, "if_index", reading->fdb[i].if_index);
		json_end_object(json);
	}
	json_end_array(json);
}

static void switch_ask_put_problem(struct text *json, const struct problem *problem)
{
	json_begin_object(json, "problem");
	json_put_string(json, "message", problem->message);
	json_put_string(json, "detail", problem->detail);
	json_put_string(json, "hint", problem->hint);
	json_end_object(json);
}

static void switch_ask_start(struct switch_ask_own *ask);

static void switch_ask_print(const struct switch_ask_own *ask, int rc,
			     const struct switch_reading *reading, const struct problem *problem)
{
	CLEANUP(text_done) struct text json = {0};

	json_begin_object(&json, NULL);
	json_put_string(&json, "result", rc ? error_word(rc) : "ok");
	json_put_int(&json, "took_ms", clock_monotonic_ms() - ask->started_ms);
	if (ask->request.op == SWITCH_CHANGE || ask->request.op == SWITCH_MIRROR) {
		json_begin_array(&json, "results");
		for (size_t i = 0; i < ask->request.edit_count + ask->request.mirror_count; i++)
			json_put_string(&json, NULL, result_words[ask->results[i]]);
		json_end_array(&json);
	}
	if (reading)
		put_reading(&json, reading);
	if (rc && problem)
		switch_ask_put_problem(&json, problem);
	json_end_object(&json);
	(void)printf("%s\n", text_get(&json));
	(void)fflush(stdout);
}

static void switch_ask_on_done(void *context, int rc, struct switch_reading *reading,
			       const struct problem *problem)
{
	struct switch_ask_own *ask = context;

	switch_ask_print(ask, rc, reading, problem);
	if (reading)
		switch_reading_done(reading);
	ask->rc = rc;
	if (--ask->repeat == 0)
		loop_stop(ask->loop);
	else
		switch_ask_start(ask);
}

static void switch_ask_start(struct switch_ask_own *ask)
{
	const struct switch_driver *row = ask->row;
	int rc;

	if (!row)
		switch_ask_usage("no driver");
	memset(ask->results, 0, sizeof(ask->results));
	ask->started_ms = clock_monotonic_ms();
	rc = row->start(ask->session, &ask->request, ask->started_ms + ask->deadline_ms,
			switch_ask_on_done, ask);
	if (rc)
		switch_ask_usage("not started: %s", error_text(rc));
}

/* --- words --- */

static unsigned parse_parts(char *words)
{
	unsigned parts = 0;
	char *at = words;

	for (char *word; (word = strsep(&at, ","));) {
		size_t i = 0;

		while (i < COUNT_OF(part_words) && strcmp(part_words[i].word, word) != 0)
			i++;
		if (i == COUNT_OF(part_words))
			switch_ask_usage("there is no part \"%s\"", word);
		parts |= part_words[i].part;
	}
	return parts;
}

static uint16_t parse_vlan(const char *word)
{
	char *end;
	long number = strtol(word ? word : "", &end, 10);

	if (!word || *end || end == word || number < 0 || number > VLAN_LAST)
		switch_ask_usage("\"%s\" is no VLAN", word ? word : "");
	return (uint16_t)number;
}

static void parse_edit(struct switch_ask_own *ask, char *words)
{
	struct switch_edit *edit = &ask->edits[ask->request.edit_count];
	char *kind = strsep(&words, ":");

	if (ask->request.edit_count == EDIT_LIMIT)
		switch_ask_usage("too many edits");
	if (strcmp(kind, "vlan+") == 0 || strcmp(kind, "vlan-") == 0) {
		edit->kind = kind[4] == '+' ? EDIT_VLAN_CREATE : EDIT_VLAN_DELETE;
		edit->vlan = parse_vlan(strsep(&words, ":"));
		text_copy(edit->vlan_name, sizeof(edit->vlan_name), words ? words : "");
	} else if (strcmp(kind, "port") == 0) {
		const char *name = strsep(&words, ":");
		const char *mode = strsep(&words, ":");

		edit->kind = EDIT_PORT;
		if (!name || !mode || !text_copy(edit->port, sizeof(edit->port), name))
			switch_ask_usage("an edit of a port names the port and its mode");
		edit->after.trunk = strcmp(mode, "trunk") == 0;
		edit->after.native = parse_vlan(strsep(&words, ":"));
		if (words && !edit->after.trunk && strcmp(words, "apart") == 0) {
			edit->after.apart = true;
			words = NULL;
		}
		if (words && vlan_set_parse(words, &edit->after.tagged))
			switch_ask_usage("\"%s\" is no set of VLANs", words);
	} else {
		switch_ask_usage("there is no edit \"%s\"", kind);
	}
	ask->request.edit_count++;
}

/* NAME VLAN PORT:VLAN.. */
static void parse_lag(struct switch_ask_own *ask, bool make, char **words, int count)
{
	static struct switch_lag lag;

	if (count < 3 || count - 2 > SWITCH_LAG_MEMBERS)
		switch_ask_usage("an aggregate has a name, a VLAN and some ports");
	lag.make = make;
	text_copy(lag.name, sizeof(lag.name), words[0]);
	lag.vlan = parse_vlan(words[1]);
	for (int i = 2; i < count; i++) {
		const char *name = strsep(&words[i], ":");

		text_copy(lag.members[lag.member_count], sizeof(lag.members[0]), name);
		lag.member_vlans[lag.member_count++] = parse_vlan(words[i]);
	}
	ask->request.op = SWITCH_LAG;
	ask->request.lag = &lag;
}

static void read_sampling(const char *words, struct sampling_wanted *ret)
{
	char verb[8] = "";
	unsigned port = 0;
	unsigned header = 0;
	unsigned seconds = 0;
	unsigned rate = 0;

	*ret = (struct sampling_wanted){.change = true};
	if (strcmp(words, "off") == 0)
		return;
	// NOLINTNEXTLINE(cert-err34-c): the widths bound the numbers
	if (sscanf(words, "%7[^:]:%45[^:]:%5u:%9u:%5u:%5u", verb, ret->collector, &port, &rate,
		   &header, &seconds) != 6)
		switch_ask_usage("\"%s\"?", words);
	ret->enabled = true;
	ret->change = strcmp(verb, "set") == 0;
	ret->port = (uint16_t)port;
	ret->rate = rate;
	ret->header = (uint16_t)header;
	ret->poll_s = (uint16_t)seconds;
}

static void read_tunnel(const char *words, struct switch_ask_own *ask,
			struct switch_mirror *mirrors, size_t count)
{
	struct switch_tunnel *tunnel = &ask->request.tunnel;
	unsigned id = 0;

	// NOLINTNEXTLINE(cert-err34-c): the widths bound the number
	if (sscanf(words, "%45[^>]>%45[^/]/%4u", tunnel->from, tunnel->to, &id) < 2)
		switch_ask_usage("\"%s\"?", words);
	tunnel->id = (uint16_t)id;
	for (size_t i = 0; i < count; i++)
		text_copy(mirrors[i].target, sizeof(mirrors[i].target), tunnel->to);
}

/* Nothing is kept from one call of this tool to the next. */
static bool take_host_key(void *context, const struct switch_endpoint *endpoint, const char *key)
{
	(void)context;
	(void)endpoint;
	(void)key;
	return true;
}

static const struct switch_host_keys every_host_key = {.first = take_host_key};

static void parse_secret(struct switch_ask_own *ask, const char *key, const char *value)
{
	struct switch_endpoint *endpoint = &ask->endpoint;
	const struct {
		const char *key;
		char *at;
		size_t room;
	} rows[] = {
		{"community", endpoint->snmp_community, sizeof(endpoint->snmp_community)},
		{"write_community", endpoint->snmp_write_community,
		 sizeof(endpoint->snmp_write_community)},
		{"user", endpoint->snmp_user, sizeof(endpoint->snmp_user)},
		{"auth_secret", endpoint->snmp_auth_secret, sizeof(endpoint->snmp_auth_secret)},
		{"priv_secret", endpoint->snmp_priv_secret, sizeof(endpoint->snmp_priv_secret)},
		{"ssh_user", endpoint->ssh_user, sizeof(endpoint->ssh_user)},
		{"ssh_password", endpoint->ssh_password, sizeof(endpoint->ssh_password)},
		{"ssh_enable", endpoint->ssh_enable, sizeof(endpoint->ssh_enable)},
		{"host_key", endpoint->host_key, sizeof(endpoint->host_key)},
		{"ovsdb_peer", endpoint->ovsdb_peer, sizeof(endpoint->ovsdb_peer)},
		{"ovsdb_certificate", ask->certificate, sizeof(ask->certificate)},
		{"ovsdb_key", ask->key, sizeof(ask->key)},
		{"ovsdb_ca", ask->ca, sizeof(ask->ca)},
	};

	if (strcmp(key, "host_key") == 0 && strcmp(value, "any") == 0) {
		endpoint->host_key_any = true;
		endpoint->host_keys = &every_host_key;
		return;
	}
	if (strcmp(key, "ssh_insecure") == 0)
		endpoint->ssh_insecure = strcmp(value, "yes") == 0;

	if (strcmp(key, "auth") == 0)
		endpoint->snmp_auth =
			strcmp(value, "sha256") == 0 ? SNMP_AUTH_SHA256 : SNMP_AUTH_SHA;
	else if (strcmp(key, "priv") == 0)
		endpoint->snmp_priv = SNMP_PRIV_AES;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (strcmp(rows[i].key, key) == 0 && !text_copy(rows[i].at, rows[i].room, value))
			switch_ask_usage("%s is too long", key);
	}
}

static void read_secrets(struct switch_ask_own *ask, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[256];

	if (!file)
		switch_ask_usage("%s: %s", path, strerror(errno)); // NOLINT(concurrency-mt-unsafe)
	while (fgets(line, sizeof(line), file)) {
		char *value = strchr(line, '=');

		line[strcspn(line, "\n")] = '\0';
		if (!value)
			continue;
		*value++ = '\0';
		parse_secret(ask, line, value);
	}
	(void)fclose(file);
}

static void switch_ask_take_option(struct switch_ask_own *ask, int letter, char *value)
{
	long number = strtol(value, NULL, 10);

	switch (letter) {
	case 'a': text_copy(ask->endpoint.address, sizeof(ask->endpoint.address), value); break;
	case 'c': parse_secret(ask, "community", value); break;
	case 's': read_secrets(ask, value); break;
	case 'p': ask->endpoint.snmp_port = (uint16_t)number; break;
	case 'C': ask->endpoint.cli_port = (uint16_t)number; break;
	case 'N': ask->endpoint.netconf_port = (uint16_t)number; break;
	case 'O': ask->endpoint.ovsdb_port = (uint16_t)number; break;
	case 'f': ask->family = value; break;
	case 'd': ask->driver = value; break;
	case 't': ask->endpoint.timeout_ms = (uint32_t)number; break;
	case 'r': ask->endpoint.retries = (uint8_t)number; break;
	case 'l': ask->deadline_ms = number; break;
	case 'n': ask->repeat = (unsigned)number; break;
	case 'P': ask->request.parts = parse_parts(value); break;
	case 'o':
		if (ask->port_count < PORT_LIMIT)
			ask->ports[ask->port_count++] = value;
		ask->request.only_ports = ask->ports;
		break;
	default: switch_ask_usage("an option that it does not have");
	}
}

static void switch_ask_parse(struct switch_ask_own *ask, int argc, char **argv)
{
	static const struct option options[] = {
		{"address", required_argument, NULL, 'a'},
		{"community", required_argument, NULL, 'c'},
		{"secrets", required_argument, NULL, 's'},
		{"port", required_argument, NULL, 'p'},
		{"cli-port", required_argument, NULL, 'C'},
		{"netconf-port", required_argument, NULL, 'N'},
		{"ovsdb-port", required_argument, NULL, 'O'},
		{"family", required_argument, NULL, 'f'},
		{"driver", required_argument, NULL, 'd'},
		{"timeout", required_argument, NULL, 't'},
		{"retries", required_argument, NULL, 'r'},
		{"deadline", required_argument, NULL, 'l'},
		{"repeat", required_argument, NULL, 'n'},
		{"parts", required_argument, NULL, 'P'},
		{"only", required_argument, NULL, 'o'},
		{0},
	};
	int letter;

	while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (!optarg)
			switch_ask_usage("an option that it does not have");
		switch_ask_take_option(ask, letter, optarg);
	}
	if (optind == argc)
		switch_ask_usage("what shall be asked?");
	if (strcmp(argv[optind], "read") == 0) {
		ask->request.op = SWITCH_READ;
	} else if (strcmp(argv[optind], "change") == 0) {
		ask->request.op = SWITCH_CHANGE;
		for (int i = optind + 1; i < argc; i++)
			parse_edit(ask, argv[i]);
		ask->request.edits = ask->edits;
		ask->request.results = ask->results;
	} else if (strcmp(argv[optind], "save") == 0) {
		ask->request.op = SWITCH_SAVE;
	} else if (strcmp(argv[optind], "apart") == 0) {
		ask->request.op = SWITCH_APART;
	} else if (strcmp(argv[optind], "sampling") == 0 && optind + 1 < argc) {
		ask->request.op = SWITCH_SAMPLING;
		read_sampling(argv[optind + 1], &ask->request.sampling);
	} else if (strcmp(argv[optind], "mirror") == 0 && optind + 1 < argc) {
		static struct switch_mirror mirrors[SWITCH_MIRRORS_MAX];
		size_t count = 0;

		for (int i = optind + 2; i < argc && count < SWITCH_MIRRORS_MAX; i++, count++) {
			(void)text_format(mirrors[count].name, sizeof(mirrors[count].name),
					  SWITCH_MIRROR_PREFIX "%zu", count + 1);
			text_copy(mirrors[count].port, sizeof(mirrors[count].port), argv[i]);
			text_copy(mirrors[count].target, sizeof(mirrors[count].target),
				  argv[optind + 1]);
		}
		/* FROM>TO[/ID]: it is sent there */
		if (strchr(argv[optind + 1], '>'))
			read_tunnel(argv[optind + 1], ask, mirrors, count);
		ask->request.op = SWITCH_MIRROR;
		ask->request.mirrors = mirrors;
		ask->request.mirror_count = count;
		ask->request.results = ask->results;
		text_copy(ask->request.port, sizeof(ask->request.port),
			  ask->request.tunnel.to[0] ? ask->request.tunnel.to : argv[optind + 1]);
	} else if (strncmp(argv[optind], "lag-", 4) == 0) {
		parse_lag(ask, strcmp(argv[optind], "lag-make") == 0, &argv[optind + 1],
			  argc - optind - 1);
	} else if (strcmp(argv[optind], "locate") == 0 && optind + 2 < argc) {
		ask->request.op = SWITCH_LOCATE;
		text_copy(ask->request.port, sizeof(ask->request.port), argv[optind + 1]);
		ask->request.seconds = (uint16_t)strtol(argv[optind + 2], NULL, 10);
	} else {
		switch_ask_usage("\"%s\"?", argv[optind]);
	}
}

int main(int argc, char **argv)
{
	static struct switch_ask_own ask = {.endpoint = {.id = 1, .retries = 2},
					    .deadline_ms = 30000,
					    .repeat = 1,
					    .request = {.parts = PART_ALL}};
	const struct ovsdb_files files = {ask.certificate, ask.key, ask.ca};
	struct switch_host host = {0};
	const struct switch_family *family;
	const struct switch_driver *row;
	struct problem problem = {0};

	switch_ask_parse(&ask, argc, argv);
	text_copy(ask.endpoint.name, sizeof(ask.endpoint.name), ask.endpoint.address);
	family = switch_family_find(ask.family && ask.family[0] ? ask.family : "generic");
	if (!family)
		switch_ask_usage("there is no family \"%s\"", ask.family);
	if (!ask.driver)
		ask.driver =
			ask.request.op == SWITCH_READ ? family->read_driver : family->write_driver;
	row = switch_driver_find(ask.driver);
	ask.row = row;
	if (!row)
		switch_ask_usage("there is no driver \"%s\"", ask.driver ? ask.driver : "");
	if (loop_new(&ask.loop) || snmp_client_new(ask.loop, &host.snmp))
		switch_ask_usage("no memory");
	host.loop = ask.loop;
	host.ovsdb_files = &files;
	if (row->open(&ask.endpoint, family, &host, &ask.session, &problem)) {
		switch_ask_print(&ask, problem.code, NULL, &problem);
		snmp_client_free(host.snmp);
		loop_free(ask.loop);
		return 1;
	}
	switch_ask_start(&ask);
	loop_run(ask.loop);
	ask.row->close(ask.session);
	snmp_client_free(host.snmp);
	loop_free(ask.loop);
	switch_endpoint_wipe(&ask.endpoint);
	return ask.rc ? 1 : 0;
}
