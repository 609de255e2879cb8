#include "portal/cli/haasctl_table.h"

#include <stdlib.h>

static const struct option_row cli_globals[] = {
	{"--output", 'o', OPTION_VALUE, "table|wide|json|jsonl|csv",
	 "default table; json: refusals too"},
	{"--columns", 'c', OPTION_VALUE, "A,B", "only these columns, in this order"},
	{"--color", 0, OPTION_VALUE, "auto|always|never", "default auto: on a terminal"},
	{"--socket", 0, OPTION_VALUE, "PATH", "default HAAS_SOCKET, else " HAASCTL_DEFAULT_SOCKET},
	{"--case", 0, OPTION_VALUE, "CASE", "default HAAS_CASE: stores answers and captures in it"},
	{"--as-tenant", 0, OPTION_VALUE, "TENANT", "see and ask as this tenant would"},
	{"--idempotency-key", 0, OPTION_VALUE, "KEY", "repeat a request without doing it twice"},
};

static const struct completion_row cli_completions[] = {
	{"NODE", "node list -c name", false},
	{"DEPLOYMENT", "deployment list -c id --limit 50", false},
	{"JOB", "job list -c id --limit 50", false},
	{"TENANT", "tenant list -c name", false},
	{"SUBNET", "subnet list -c name", false},
	{"MAC", "reservation list -c mac", false},
	{"SWITCH", "switch list -c name", false},
	{"CIRCUIT", "circuit unknown -c id", false},
	{"FABRIC", "fabric list -c name", false},
	{"ALERT", "alert list -c id", false},
	{"SILENCE", "alert silences -c id", false},
	{"CASE", "case list -c id", false},
	{"PDCI", "pdci list -c name", false},
	{"NETWORK", "network list -c name", false},
	{"VOLUME", "volume list -c name", false},
	{"ARCHIVE", "archive list -c name", false},
	{"RULE", "circuit list -c name", false},
	{"FAMILY", "circuit families -c name", false},
	{"WHERE", "drill --complete", true},
};

/* In the order of help: what has the same noun stands together. */
static const struct command_group *const cli_groups[] = {
	&status_group,    &node_group,        &bmc_group,         &node_network_group,
	&health_group,    &deployment_group,  &pdci_group,        &volume_group,
	&network_group,   &image_group,       &image_sign_group,  &grant_group,
	&site_group,      &fabric_group,      &alert_group,       &switch_group,
	&cable_group,     &sampling_group,    &drill_group,       &case_group,
	&capture_group,   &record_group,      &certificate_group, &site_check_group,
	&site_init_group, &site_report_group, &ca_group,          &rotation_group,
	&db_group};

/* The overview of help: each noun once, in the group where a person looks for it. */
static const struct noun_row cli_nouns[] = {
	{"rent", "pdci", "rented as one"},
	{"rent", "usage", "who had what, and when"},
	{"rent", "tenant", "customers"},
	{"rent", "image", "what nodes run"},
	{"rent", "package", "software for nodes"},
	{"rent", "volume", "storage of tenants"},
	{"rent", "archive", "kept copies of volumes"},
	{"rent", "grant", "rights to others' images"},
	{"hardware", "node", "physical servers"},
	{"hardware", "health", "labels of nodes"},
	{"hardware", "deployment", "a plan on a node"},
	{"hardware", "certificate", "proofs of erasure"},
	{"hardware", "storage", "what keeps volumes"},
	{"network", "fabric", "switches with one VLAN space"},
	{"network", "switch", "packet switches"},
	{"network", "port", "what is behind a port"},
	{"network", "nic", "where MACs are plugged in"},
	{"network", "link", "cables between switches"},
	{"network", "wiring", "planned cables"},
	{"network", "network", "isolated networks"},
	{"traffic", "drill", "traffic by owner, from the links down to a flow"},
	{"traffic", "sampling", "what switches report"},
	{"traffic", "capture", "recorded packets"},
	{"traffic", "case", "complaints"},
	{"site", "status", "what to look at now"},
	{"site", "site", "set up this machine, and check it"},
	{"site", "alert", "crossed thresholds"},
	{"site", "event", "who did what"},
	{"site", "job", "what requests have started"},
	{"site", "subnet", "addresses to lend"},
	{"site", "reservation", "addresses kept for a MAC"},
	{"site", "lease", "addresses lent"},
	{"site", "circuit", "rules that read option 82"},
	{"site", "ca", "certificates of controllers and relays"},
	{"site", "rotation", "new passwords"},
	{"site", "db", "the database"},
};

/* What kubectl, gh, openstack and the shell say. */
static const struct synonym_row cli_synonyms[] = {
	{"ls", "list"},
	{"get", "list"},
	{"describe", "show"},
	{"get", "show"},
	{"info", "show"},
	{"view", "show"},
	{"cat", "show"},
	{"rm", "delete"},
	{"remove", "delete"},
	{"destroy", "delete"},
	{"del", "delete"},
	{"delete", "remove"},
	{"delete", "release"},
	{"rm", "remove"},
	{"rm", "release"},
	{"new", "create"},
	{"make", "create"},
	{"add", "create"},
	{"create", "add"},
	{"add", "set"},
	{"create", "set"},
	{"edit", "set"},
	{"update", "set"},
	{"apply", "set"},
	{"patch", "set"},
	{"abort", "cancel"},
	{"stop", "cancel"},
	{"cordon", "hold"},
	{"uncordon", "unhold"},
	{"logs", "trace"},
	{"tail", "watch"},
	{"follow", "watch"},
	{"acknowledge", "ack"},
	{"ack", "acknowledge"},
	{"mute", "silence"},
	{"unmute", "unsilence"},
	{"reboot", "power"},
	{"ssh", "console"},
	{"upload", "import"},
	{"host", "node"},
	{"hosts", "node"},
	{"machine", "node"},
	{"machines", "node"},
	{"server", "node"},
	{"servers", "node"},
	{"baremetal", "node"},
	{"cluster", "pdci"},
	{"instance", "pdci"},
	{"project", "tenant"},
	{"customer", "tenant"},
	{"user", "tenant"},
	{"disk", "volume"},
	{"snapshot", "archive"},
	{"vlan", "network"},
	{"cable", "wiring"},
	{"interface", "nic"},
	{"task", "job"},
	{"log", "event"},
	{"audit", "event"},
	{"pcap", "capture"},
	{"tcpdump", "capture"},
	{"ticket", "case"},
	{"database", "db"},
	{"dhcp", "lease"},
	{"--format", "--output"},
	{"--json", "--output"},
	{"--project", "--tenant"},
	{"--force", "--yes"},
	{"--comment", "--reason"},
	{"--message", "--reason"},
	{"--duration", "--for"},
	{"--follow", "--watch"},
	{"yaml", "json"},
};

struct command *haasctl_table_new(struct command_set *ret)
{
	struct command *commands;
	size_t count = 0;
	size_t used = 0;

	for (size_t i = 0; i < COUNT_OF(cli_groups); i++)
		count += cli_groups[i]->count;
	commands = calloc(count, sizeof(*commands));
	*ret = (struct command_set){.program = "haasctl",
				    .summary = "operate a hardware-as-a-service site",
				    .globals = cli_globals,
				    .global_count = COUNT_OF(cli_globals),
				    .commands = commands,
				    .command_count = count,
				    .lists = &node_sheet_list,
				    .list_count = 1,
				    .completions = cli_completions,
				    .completion_count = COUNT_OF(cli_completions),
				    .nouns = cli_nouns,
				    .noun_count = COUNT_OF(cli_nouns),
				    .synonyms = cli_synonyms,
				    .synonym_count = COUNT_OF(cli_synonyms)};
	for (size_t i = 0; commands && i < COUNT_OF(cli_groups); i++) {
		for (size_t j = 0; j < cli_groups[i]->count; j++)
			commands[used++] = cli_groups[i]->rows[j];
	}
	return commands;
}
