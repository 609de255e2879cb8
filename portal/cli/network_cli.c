/* haasctl network, node networks: who is to reach whom. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/listing.h"

static const struct output_column network_columns[] = {
	COLUMN("name"),    COLUMN("tenant"),   COLUMN("kind"),
	COLUMN("prefix"),  COLUMN("vlan"),     TITLED_NUMBER("ports_count", "PORTS"),
	COLUMN("applied"), WIDE("pdci"),       WIDE_NUMBER("id"),
	WIDE("wanted"),    WIDE("created_at"),
};

/* The path of a network with whose it is; `after` goes behind its name. */
static void network_target(struct text *target, const struct command_input *input, const char *name,
			   const char *after)
{
	haasctl_path(target, "/networks/", name, after);
	haasctl_query(target, input, "--tenant");
}

/* "101", or "fabric:101" for each where there are several. */
static void network_cli_add_vlan(json_t *row)
{
	const json_t *vlans = json_object_get(row, "vlans");
	CLEANUP(text_done) struct text text = {0};
	const json_t *vlan;
	size_t i;

	json_array_foreach(vlans, i, vlan)
	{
		if (json_array_size(vlans) > 1)
			text_addf(&text, "%s%s:", i > 0 ? " " : "", haasctl_word(vlan, "fabric"));
		text_addf(&text, "%" JSON_INTEGER_FORMAT,
			  json_integer_value(json_object_get(vlan, "vlan")));
	}
	if (text.size > 0)
		(void)json_object_set_new(row, "vlan", json_stringn(text_get(&text), text.size));
}

static int network_list(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/networks");
	haasctl_query(&target, input, "--tenant");
	haasctl_query(&target, input, "--kind");
	return listing_source_pages(context, input,
				    &(struct listing_source){.target = text_get(&target),
							     .prepare = network_cli_add_vlan},
				    COLUMNS(network_columns));
}

static int network_show(void *context, const struct command_input *input)
{
	static const char *const order[] = {
		"name",          "tenant",        "kind",        "pdci",
		"prefix",        "wanted",        "vlans",       "vlans.fabric",
		"vlans.vlan",    "applied",       "ports_count", "ports",
		"ports.switch",  "ports.port",    "ports.mode",  "ports.node",
		"ports.applied", "ports.problem", "nodes",       "nodes.node",
		"nodes.nic",     "nodes.mode",    NULL};
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};
	int status;

	network_target(&target, input, input->words[0], "");
	status = haasctl_get(context, input, text_get(&target), &reply);
	if (status == EXIT_OK) {
		if (command_option(input, "--columns") ||
		    (!listing_for_people(input) && !listing_json(input, NULL)))
			network_cli_add_vlan(reply.json);
		status = listing_object(input, reply.json,
					&(struct show){order, COLUMNS(network_columns)});
	}
	haasctl_reply_done(&reply);
	return status;
}

static int network_cli_network_create(void *context, const struct command_input *input)
{
	static const char *const texts[][2] = {
		{"--kind", "kind"}, {"--tenant", "tenant"}, {"--prefix", "prefix"}};
	CLEANUP(text_done) struct text body = {0};

	json_begin_object(&body, NULL);
	json_put_string(&body, "name", input->words[0]);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		if (command_option(input, texts[i][0]))
			json_put_string(&body, texts[i][1], command_option(input, texts[i][0]));
	}
	json_end_object(&body);
	return haasctl_do(context, input,
			  &(struct haasctl_call){.method = "POST",
						 .target = "/networks",
						 .body = text_get(&body)});
}

static int network_cli_network_delete(void *context, const struct command_input *input)
{
	struct tally tally = {0};

	for (size_t i = 0; i < input->word_count && !haasctl_interrupted(context); i++) {
		CLEANUP(text_done) struct text target = {0};

		network_target(&target, input, input->words[i], "");
		tally_add(&tally,
			  haasctl_delete(context, input, text_get(&target), input->words[i]));
	}
	return tally_status(&tally);
}

/* --- ports --- */

/* "SWITCH:PORT"; a name of a switch holds no colon. */
static char *split_port(const char *word, char **ret_port)
{
	char *copy = strdup(word);
	char *port = copy ? strchr(copy, ':') : NULL;

	if (!port || port == copy || port[1] == '\0') {
		(void)haasctl_usage("%s is not SWITCH:PORT", word);
		free(copy);
		return NULL;
	}
	*port = '\0';
	*ret_port = port + 1;
	return copy;
}

static int network_cli_attach(struct haasctl *haasctl, const struct command_input *input,
			      const char *word)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	char *port = NULL;
	CLEANUP(freep) char *name = split_port(word, &port);

	if (!name)
		return EXIT_USAGE;
	network_target(&target, input, input->words[0], "/ports");
	json_begin_object(&body, NULL);
	json_put_string(&body, "switch", name);
	json_put_string(&body, "port", port);
	if (command_option(input, "--mode"))
		json_put_string(&body, "mode", command_option(input, "--mode"));
	json_end_object(&body);
	return haasctl_do(haasctl, input,
			  &(struct haasctl_call){.method = "PUT",
						 .target = text_get(&target),
						 .body = text_get(&body),
						 .object = word});
}

static int network_cli_detach(struct haasctl *haasctl, const struct command_input *input,
			      const char *word)
{
	CLEANUP(text_done) struct text target = {0};
	char *port = NULL;
	CLEANUP(freep) char *name = split_port(word, &port);

	if (!name)
		return EXIT_USAGE;
	haasctl_path(&target, "/networks/", input->words[0], "/ports?switch=");
	text_add_percent(&target, name);
	text_add(&target, "&port=");
	text_add_percent(&target, port);
	haasctl_query(&target, input, "--tenant");
	return haasctl_do(haasctl, input,
			  &(struct haasctl_call){
				  .method = "DELETE", .target = text_get(&target), .object = word});
}

static int network_cli_each_port(struct haasctl *haasctl, const struct command_input *input,
				 int (*fn)(struct haasctl *haasctl,
					   const struct command_input *input, const char *word))
{
	struct tally tally = {0};

	for (size_t i = 1; i < input->word_count && !haasctl_interrupted(haasctl); i++)
		tally_add(&tally, fn(haasctl, input, input->words[i]));
	return tally_status(&tally);
}

static int network_attach(void *context, const struct command_input *input)
{
	return network_cli_each_port(context, input, network_cli_attach);
}

static int network_detach(void *context, const struct command_input *input)
{
	return network_cli_each_port(context, input, network_cli_detach);
}

/* Of ports themselves: `action` is park or release. */
static int port_actions(struct haasctl *haasctl, const struct command_input *input,
			const char *action)
{
	struct tally tally = {0};

	for (size_t i = 0; i < input->word_count && !haasctl_interrupted(haasctl); i++) {
		CLEANUP(text_done) struct text target = {0};
		CLEANUP(text_done) struct text body = {0};
		char *port = NULL;
		CLEANUP(freep) char *name = split_port(input->words[i], &port);

		if (!name)
			return EXIT_USAGE;
		haasctl_path(&target, "/switches/", name, "/ports/actions");
		json_begin_object(&body, NULL);
		json_put_string(&body, "port", port);
		json_put_string(&body, "action", action);
		json_end_object(&body);
		tally_add(&tally, haasctl_do(haasctl, input,
					     &(struct haasctl_call){.method = "POST",
								    .target = text_get(&target),
								    .body = text_get(&body),
								    .object = input->words[i]}));
	}
	return tally_status(&tally);
}

int haasctl_port_park(void *context, const struct command_input *input)
{
	return port_actions(context, input, "park");
}

int haasctl_port_release(void *context, const struct command_input *input)
{
	return port_actions(context, input, "release");
}

/* --- nodes --- */

static const struct output_column nic_columns[] = {COLUMN("nic"), COLUMN("network"),
						   COLUMN("mode")};

static int show_node(const struct command_input *input, const json_t *answer)
{
	const json_t *missing = json_object_get(answer, "missing");
	const json_t *networks = json_object_get(answer, "networks");
	CLEANUP(text_done) struct text names = {0};

	if (json_array_size(missing) > 0)
		fprintf(stderr, "haasctl: the port of %s is not known\n",
			listing_text(missing, "missing", &names));
	if (!command_option(input, "--columns") && listing_json(input, answer))
		return EXIT_OK;
	if (listing_for_people(input) && !command_option(input, "--columns"))
		printf("node %s: ports are for %s, %s\n", haasctl_word(answer, "node"),
		       haasctl_word(answer, "place"),
		       json_is_true(json_object_get(answer, "applied")) ? "applied"
									: "not applied yet");
	haasctl_stored_problem(haasctl_word(answer, "node"), json_object_get(answer, "problem"));
	return listing_rows(input, networks, COLUMNS(nic_columns));
}

static int networks_body(struct text *body, const struct command_input *input)
{
	int status;

	json_begin_object(body, NULL);
	status = haasctl_add_nics(body, "networks", input->words + 1, input->word_count - 1, '=');
	json_end_object(body);
	return status;
}

/* Without words behind the node it only shows; --none takes it out of all. */
static int node_networks(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	bool none = command_option(input, "--none") != NULL;
	bool change = none || input->word_count > 1;
	int status = EXIT_OK;

	if (none && input->word_count > 1)
		return haasctl_usage("either --none or networks, not both");
	haasctl_path(&target, "/nodes/", input->words[0], "/networks");
	if (change)
		status = networks_body(&body, input);
	if (status == EXIT_OK)
		status = haasctl_call(context, input,
				      &(struct haasctl_call){
					      .method = change ? "PUT" : "GET",
					      .target = text_get(&target),
					      .edits = change ? text_get(&target) : NULL,
					      .body = change ? text_get(&body) : NULL,
				      },
				      &reply);
	if (status == EXIT_OK)
		status = show_node(input, reply.json);
	haasctl_reply_done(&reply);
	return status;
}

static const struct option_row network_cli_list_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "only of this tenant"},
	{"--kind", 0, OPTION_VALUE, "tenant|provisioning|bmc|quarantine", "only of this kind"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row network_cli_create_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "owner of the network"},
	{"--kind", 0, OPTION_VALUE, "tenant|provisioning|bmc|quarantine",
	 "default tenant; the others are the site's own"},
	{"--prefix", 0, OPTION_VALUE, "PREFIX", "its addresses, 10.60.0.0/24"},
};
static const struct option_row network_cli_one_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "owner, when several have one of this name"},
};
static const struct option_row attach_options[] = {
	{"--mode", 0, OPTION_VALUE, "access|native|tagged",
	 "default access; native: untagged beside tagged ones"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "owner, when several have one of this name"},
};
static const struct option_row node_options[] = {
	{"--none", 0, OPTION_FLAG, NULL, "take the node out of all networks"},
};

static const struct option_row path_options[] = {
	{"--network", 0, OPTION_VALUE, "NETWORK",
	 "only in this one of theirs; needed above 8 VLANs"},
};

static const struct command network_cli_commands[] = {
	{"network", "list", "", "networks with their VLANs", OPTIONS(network_cli_list_options), 0,
	 0, network_list, .example = "network list --tenant acme"},
	{"network", "show", "NETWORK", "one network with its ports and nodes",
	 OPTIONS(network_cli_one_options), 1, 1, network_show,
	 .example = "network show front --tenant acme"},
	{"network", "path", "TENANT NODE NODE",
	 "draw links between two nodes of a tenant; fails if one is cut", OPTIONS(path_options), 3,
	 3, haasctl_network_path, .example = "network path acme n1 n2"},
	{"network", "create", "NAME", "make a network", OPTIONS(network_cli_create_options), 1, 1,
	 network_cli_network_create,
	 .example = "network create front --tenant acme --prefix 10.60.0.0/24",
	 .done = "network {1} created"},
	{"network", "delete", "NETWORK...", "return networks that nothing is in",
	 OPTIONS(network_cli_one_options), 1, 1000, network_cli_network_delete,
	 .example = "network delete front --tenant acme", .done = "network {*} returned"},
	{"network", "attach", "NETWORK SWITCH:PORT...", "put ports into a network",
	 OPTIONS(attach_options), 2, 1000, network_attach,
	 .example = "network attach front leaf1:Ethernet1/7 --mode tagged",
	 .done = "port {*} is wanted in network {1}"},
	{"network", "detach", "NETWORK SWITCH:PORT...", "take ports out of a network",
	 OPTIONS(network_cli_one_options), 2, 1000, network_detach,
	 .example = "network detach front leaf1:Ethernet1/7",
	 .done = "port {*} is wanted in network {1} no more"},
};
const struct command_group network_group = {network_cli_commands, COUNT_OF(network_cli_commands)};

/* Of its own: the nouns of help stand together. */
static const struct command node_commands[] = {
	{"node", "networks", "NODE [NIC=NETWORK[:MODE]...]",
	 "show or set all networks of a node's NICs", OPTIONS(node_options), 1, 65, node_networks,
	 .example = "node networks n1 eth0=front"},
};
const struct command_group node_network_group = {node_commands, COUNT_OF(node_commands)};
