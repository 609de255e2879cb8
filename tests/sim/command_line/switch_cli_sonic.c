/* SONiC: a Debian with `config` and `show`: sonic-utilities (config/vlan.py, config/switchport.py,
 * config/main.py, show/vlan.py, scripts/fdbshow and lldpshow), whose words and checks these are. A
 * port is untagged in one VLAN at most and tagged in some; VLAN 1 is not there. Two releases: one
 * with `config apply-patch` and switchport modes, and 201911, which has neither. */
#include "tests/sim/command_line/switch_cli_sonic.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"

int sonic_fail(struct sonic_call *call, const char *format, ...)
{
	const struct sonic_command *command = call->command;
	char message[1024];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(message, sizeof(message), format, list);
	va_end(list);
	text_addf(call->shell->err,
		  "Usage: %s [OPTIONS]%s%s\nTry \"%s -h\" for help.\n\nError: %s\n", command->words,
		  command->usage[0] ? " " : "", command->usage, command->words, message);
	return 2;
}

bool sonic_has_option(const struct sonic_call *call, char letter)
{
	return strchr(call->options, letter) != NULL;
}

struct cli_config *sonic_config_of(const struct sonic_call *call)
{
	return call->shell->session->device->store->running;
}

/* Coloured where it goes to a terminal. */
static void switch_cli_sonic_shout(struct sonic_call *call, const char *color, const char *text)
{
	bool is_colored = !call->shell->is_piped && !call->shell->session->is_raw;

	text_addf(call->shell->out, is_colored ? "\033[%sm\033[4m%s\033[0m\n" : "%.0s%s\n", color,
		  text);
}

/* --- whole configurations --- */

static void save_now(struct cli_session *session, struct text *out)
{
	cli_keep(session);
	text_addf(out,
		  session->is_raw ? "Running command: %s\n"
				  : "\033[36mRunning command: \033[0m\033[32m%s\033[0m\n",
		  "/usr/local/bin/sonic-cfggen -d --print-data > /etc/sonic/config_db.json");
}

static void switch_cli_sonic_on_save(struct cli_session *session, const char *line,
				     struct text *out)
{
	if (line[0] == 'y' || line[0] == 'Y')
		save_now(session, out);
	else
		text_add(out, "Aborted!\n");
	session->status = line[0] == 'y' || line[0] == 'Y' ? 0 : 1;
}

static int switch_cli_sonic_save(struct sonic_call *call)
{
	struct cli_session *session = call->shell->session;

	if (sonic_has_option(call, 'y'))
		save_now(session, call->shell->out);
	else
		cli_ask(session, call->shell->out,
			"Existing files will be overwritten, continue? [y/N]: ",
			switch_cli_sonic_on_save);
	return 0;
}

/* What a command reads: a file, or what is piped into it. NULL: it is not there. */
static const char *file_of(const struct sonic_call *call, const char *path)
{
	if (strcmp(path, "/dev/stdin") == 0)
		return call->shell->in ? text_get(call->shell->in) : "";
	return cli_file_get(call->shell->session->device->store, path);
}

static int switch_cli_sonic_update(struct sonic_call *call, const char *text, bool is_patch,
				   const char *done, const char *failed)
{
	struct text why = {0};
	int status = 0;

	if (sonic_has_option(call, 'd'))
		switch_cli_sonic_shout(call, "33", "** DRY RUN EXECUTION **");
	if (!text)
		text_addf(&why, "[Errno 2] No such file or directory: '%s'", call->arguments[0]);
	if (text && sonic_update(call->shell, text, is_patch, sonic_has_option(call, 'd'), &why)) {
		switch_cli_sonic_shout(call, "36", done);
	} else {
		text_addf(call->shell->err, "%s due to: %s\n", failed, text_get(&why));
		status = sonic_fail(call, "%s", text_get(&why));
	}
	text_done(&why);
	return status;
}

static int apply_patch(struct sonic_call *call)
{
	return switch_cli_sonic_update(call, file_of(call, call->arguments[0]), true,
				       "Patch applied successfully.", "Failed to apply patch");
}

static int switch_cli_sonic_replace(struct sonic_call *call)
{
	return switch_cli_sonic_update(call, file_of(call, call->arguments[0]), false,
				       "Config replaced successfully.", "Failed to replace config");
}

static void checkpoint_path(const char *name, char ret[CLI_NAME_SIZE])
{
	(void)text_format(ret, CLI_NAME_SIZE, "/etc/sonic/checkpoints/%.20s.cp.json", name);
}

static int switch_cli_sonic_checkpoint(struct sonic_call *call)
{
	struct cli_session *session = call->shell->session;
	struct text db = {0};
	char path[CLI_NAME_SIZE];
	bool good;

	checkpoint_path(call->arguments[0], path);
	sonic_config_text(session, sonic_config_of(call), &db);
	text_addf(call->shell->out,
		  "Config Rollbacker: Config checkpoint starting.\n"
		  "Config Rollbacker: Checkpoint name: %s.\n"
		  "Config Rollbacker: Getting current config db.\n"
		  "Config Rollbacker: Saving config db content to %s.\n",
		  call->arguments[0], path);
	good = cli_file_put(session->device->store, path, text_get(&db), false);
	text_done(&db);
	if (!good)
		return sonic_fail(call, "[Errno 28] No space left on device");
	text_add(call->shell->out, "Config Rollbacker: Config checkpoint completed.\n");
	switch_cli_sonic_shout(call, "36", "Checkpoint created successfully.");
	return 0;
}

static int switch_cli_sonic_rollback(struct sonic_call *call)
{
	const char *file;
	char path[CLI_NAME_SIZE];

	checkpoint_path(call->arguments[0], path);
	file = cli_file_get(call->shell->session->device->store, path);
	text_add(call->shell->out, "Config Rollbacker: Config rollbacking starting.\n");
	if (!file) {
		text_add(call->shell->err, "Failed to rollback config\n");
		return sonic_fail(call, "Checkpoint '%s' does not exist", call->arguments[0]);
	}
	return switch_cli_sonic_update(call, file, false, "Config rolled back successfully.",
				       "Failed to rollback config");
}

static int delete_checkpoint(struct sonic_call *call)
{
	char path[CLI_NAME_SIZE];

	checkpoint_path(call->arguments[0], path);
	if (!cli_file_remove(call->shell->session->device->store, path))
		return sonic_fail(call, "Checkpoint '%s' does not exist", call->arguments[0]);
	switch_cli_sonic_shout(call, "36", "Checkpoint deleted successfully.");
	return 0;
}

static int list_checkpoints(struct sonic_call *call)
{
	const struct cli_store *store = call->shell->session->device->store;
	json_t *names = json_array();
	char *text;

	for (size_t i = 0; i < COUNT_OF(store->files); i++) {
		const char *path = store->files[i].path;
		const char *at = strrchr(path, '/');
		const char *end = strstr(path, ".cp.json");

		if (store->files[i].text && at && end)
			(void)json_array_append_new(names,
						    json_stringn(at + 1, (size_t)(end - at - 1)));
	}
	text = json_dumps(names, JSON_INDENT(4));
	text_addf(call->shell->out, "%s\n", text ? text : "[]");
	free(text);
	json_decref(names);
	return 0;
}

static void switch_cli_sonic_reboot(struct cli_session *session)
{
	cli_store_reboot(session->device->store);
	session->device->generation++;
	if (cli_store_push(session->device->store) != 0)
		(void)fprintf(stderr, "switch_cli: the data plane does not answer\n");
}

/* --- the commands --- */

static const struct sonic_command switch_cli_sonic_commands[] = {
	{"config vlan add", "<vid>", "m", 1, 1, sonic_vlan_add, SWITCH_CREATE, false},
	{"config vlan del", "<vid>", "m", 1, 1, sonic_vlan_del, SWITCH_DELETE, false},
	{"config vlan member add", "<vid> port", "um", 2, 2, sonic_member_add, SWITCH_UNTAGGED,
	 false},
	{"config vlan member del", "<vid> <port>", "m", 2, 2, sonic_member_del, SWITCH_EGRESS,
	 false},
	{"config switchport mode", "<mode_type> port", "", 2, 2, sonic_switchport_mode,
	 SWITCH_FRAMES, true},
	{"config interface startup", "<interface_name>", "", 1, 1, sonic_interface_up,
	 SWITCH_FILTER, false},
	{"config interface shutdown", "<interface_name>", "", 1, 1, sonic_interface_up,
	 SWITCH_FILTER, false},
	{"config mirror_session span add", "<session_name> <dst_port> <src_port> <direction>", "",
	 4, 4, sonic_span_add, SWITCH_SPAN, true},
	{"config mirror_session erspan add",
	 "<session_name> <src_ip> <dst_ip> <dscp> <ttl> [gre_type] [queue] [src_port] [direction]",
	 "", 5, 9, sonic_erspan_add, SWITCH_SPAN, true},
	{"config mirror_session remove", "<session_name>", "", 1, 1, sonic_mirror_remove,
	 SWITCH_SPAN, true},
	{"show mirror_session", "", "", 0, 0, sonic_mirror_sessions, LOOK, true},
	{"config sflow enable", "", "", 0, 0, sonic_sflow_state, SWITCH_FILTER, true},
	{"config sflow disable", "", "", 0, 0, sonic_sflow_state, SWITCH_FILTER, true},
	{"config sflow collector add", "<collector_name> <ip_addr> [--port port] [--vrf vrf]", "PV",
	 2, 4, sonic_sflow_collector, SWITCH_FILTER, true},
	{"config sflow collector del", "<collector_name>", "", 1, 1, sonic_sflow_collector,
	 SWITCH_FILTER, true},
	{"config sflow polling-interval", "<polling_interval>", "", 1, 1, sonic_sflow_polling,
	 SWITCH_FILTER, true},
	{"config sflow interface enable", "<interface_name>", "", 1, 1, sonic_sflow_port,
	 SWITCH_FILTER, true},
	{"config sflow interface disable", "<interface_name>", "", 1, 1, sonic_sflow_port,
	 SWITCH_FILTER, true},
	{"config sflow interface sample-rate", "<interface_name> <sample_rate>", "", 2, 2,
	 sonic_sflow_port, SWITCH_FILTER, true},
	{"show sflow interface", "", "", 0, 0, sonic_sflow_show_ports, LOOK, true},
	{"show sflow", "", "", 0, 0, sonic_sflow_show, LOOK, true},
	{"config save", "[FILENAME]", "y", 0, 1, switch_cli_sonic_save, SWITCH_SAVE, false},
	{"config apply-patch", "PATCH_FILE_PATH", "dvn", 1, 1, apply_patch, LOOK, true},
	{"config replace", "TARGET_FILE_PATH", "dvn", 1, 1, switch_cli_sonic_replace, LOOK, true},
	{"config checkpoint", "CHECKPOINT_NAME", "v", 1, 1, switch_cli_sonic_checkpoint, LOOK,
	 true},
	{"config rollback", "CHECKPOINT_NAME", "dvn", 1, 1, switch_cli_sonic_rollback, LOOK, true},
	{"config delete-checkpoint", "CHECKPOINT_NAME", "v", 1, 1, delete_checkpoint, LOOK, true},
	{"config list-checkpoints", "", "v", 0, 0, list_checkpoints, LOOK, true},
	{"show vlan brief", "", "", 0, 0, sonic_vlan_brief, LOOK, false},
	{"show vlan config", "", "", 0, 0, sonic_vlan_config, LOOK, false},
	{"show interfaces status", "[INTERFACENAME]", "", 0, 1, sonic_interfaces_status, LOOK,
	 false},
	{"show mac", "", "", 0, 0, sonic_mac, LOOK, false},
	{"show lldp table", "", "", 0, 0, sonic_lldp_table, LOOK, false},
	{"show lldp neighbors", "[INTERFACENAME]", "", 0, 1, sonic_lldp_neighbors, LOOK, false},
	{"show runningconfiguration all", "", "", 0, 0, sonic_running_all, LOOK, false},
	{"show version", "", "", 0, 0, sonic_version, LOOK, false},
};

/* How many of a pattern's words the words begin with; -1 when another one comes. */
static int switch_cli_sonic_matched(const char *pattern, int argc, char **argv)
{
	int count = 0;

	while (*pattern) {
		size_t size = strcspn(pattern, " ");

		if (count == argc)
			return count;
		if (strlen(argv[count]) != size || strncmp(argv[count], pattern, size) != 0)
			return -1;
		count++;
		pattern += size;
		pattern += *pattern == ' ';
	}
	return count;
}

static int words_in(const char *pattern)
{
	int count = 1;

	for (; *pattern; pattern++)
		count += *pattern == ' ';
	return count;
}

/* Options out of the words: `-u`, `-mu`, `--untagged`. False for one that it does not know. */
static bool switch_cli_sonic_take_options(struct sonic_call *call, int argc, char **argv)
{
	static const struct {
		const char *name;
		char letter;
	} names[] = {{"--untagged", 'u'}, {"--multiple", 'm'}, {"--yes", 'y'},
		     {"--dry-run", 'd'},  {"--verbose", 'v'},  {"--ignore-non-yang-tables", 'n'},
		     {"--port", 'P'},     {"--vrf", 'V'}}; /* their values are words */
	size_t size = 0;

	for (int i = 0; i < argc; i++) {
		const char *letters = argv[i] + 1;
		char one[2] = "";

		if (argv[i][0] != '-' || argv[i][1] == '\0') {
			if (call->count < SONIC_ARGUMENTS_MAX)
				call->arguments[call->count] = argv[i];
			call->count++;
			continue;
		}
		for (size_t n = 0; argv[i][1] == '-' && n < COUNT_OF(names); n++) {
			if (strcmp(names[n].name, argv[i]) == 0)
				one[0] = names[n].letter;
		}
		letters = argv[i][1] == '-' ? one : letters;
		if (*letters == '\0' ||
		    strspn(letters, call->command->options) != strlen(letters)) {
			(void)sonic_fail(call, "no such option: %s", argv[i]);
			return false;
		}
		for (; *letters && size + 1 < sizeof(call->options); letters++)
			call->options[size++] = *letters;
	}
	return true;
}

static int run_command(struct sonic_call *call, int argc, char **argv)
{
	struct cli_session *session = call->shell->session;
	enum switch_verb verb = call->command->verb;
	enum cli_fate fate;
	bool changes;
	int status;

	if (!switch_cli_sonic_take_options(call, argc, argv))
		return 2;
	if (call->count < call->command->wanted)
		return sonic_fail(call, "Missing argument \"%s\".", call->command->usage);
	if (call->count > call->command->at_most)
		return sonic_fail(call, "Got unexpected extra argument");
	if (verb == SWITCH_UNTAGGED && !sonic_has_option(call, 'u'))
		verb = SWITCH_EGRESS;
	changes = verb < SWITCH_VERBS && verb != SWITCH_SAVE;
	fate = cli_fate_of(session, verb);
	if (fate == CLI_FATE_REFUSED)
		return sonic_fail(call, "Unable to connect to redis: Connection refused");
	status = changes && fate == CLI_FATE_LOST ? 0 : call->command->run(call);
	if (changes && status == 0)
		cli_changed(session, call->shell->out);
	return status;
}

/* No command: how far was it one? */
static int switch_cli_sonic_complain(struct shell_call *call, int best)
{
	struct text group = {0};

	for (int i = 0; i < best; i++)
		text_addf(&group, "%s%s", i > 0 ? " " : "", call->argv[i]);
	if (best == call->argc)
		text_addf(call->out, "Usage: %s [OPTIONS] COMMAND [ARGS]...\n", text_get(&group));
	else
		text_addf(call->err,
			  "Usage: %s [OPTIONS] COMMAND [ARGS]...\nTry \"%s -h\" for help.\n\n"
			  "Error: No such command \"%s\".\n",
			  text_get(&group), text_get(&group), call->argv[best]);
	text_done(&group);
	return best == call->argc ? 0 : 2;
}

static int switch_cli_sonic_dispatch(struct shell_call *call)
{
	bool is_old = call->session->device->family == &cli_sonic201911;
	int best = 1;

	for (size_t i = 0; i < COUNT_OF(switch_cli_sonic_commands); i++) {
		struct sonic_call inner = {.shell = call, .command = &switch_cli_sonic_commands[i]};
		int words = words_in(switch_cli_sonic_commands[i].words);
		int count = switch_cli_sonic_matched(switch_cli_sonic_commands[i].words, call->argc,
						     call->argv);

		if (is_old && switch_cli_sonic_commands[i].is_new)
			continue;
		if (count == words)
			return run_command(&inner, call->argc - words, call->argv + words);
		for (int n = call->argc; count < 0 && n > best; n--) {
			if (switch_cli_sonic_matched(switch_cli_sonic_commands[i].words, n,
						     call->argv) == n)
				best = n;
		}
		best = count > best ? count : best;
	}
	return switch_cli_sonic_complain(call, best);
}

static int run_config(struct shell_call *call)
{
	if (!call->is_root) {
		text_add(call->err, "Root privileges are required for this operation\n");
		return 1;
	}
	return switch_cli_sonic_dispatch(call);
}

static int run_cfggen(struct shell_call *call)
{
	bool has_data = false, prints = false;

	for (int i = 1; i < call->argc; i++) {
		has_data = has_data || strcmp(call->argv[i], "-d") == 0;
		prints = prints || strcmp(call->argv[i], "--print-data") == 0;
	}
	if (!prints) {
		text_add(call->err, "usage: sonic-cfggen [-h] [-d] [--print-data]\n");
		return 2;
	}
	if (has_data)
		sonic_config_text(call->session, call->session->device->store->running, call->out);
	else
		text_add(call->out, "{}\n");
	return 0;
}

static int run_reboot(struct shell_call *call)
{
	if (!call->is_root) {
		text_add(call->err, "This command must be run as root\n");
		return 1;
	}
	switch_cli_sonic_reboot(call->session);
	return 0;
}

static const struct shell_program switch_cli_sonic_programs[] = {
	{"config", run_config},
	{"show", switch_cli_sonic_dispatch},
	{"sonic-cfggen", run_cfggen},
	{"reboot", run_reboot},
};

static void switch_cli_sonic_running(const struct cli_session *session,
				     const struct cli_config *config, const struct cli_ports *ports,
				     struct text *out)
{
	(void)ports;
	sonic_config_text(session, config, out);
}

#define SONIC(word, words)                                                                               \
	.name = (word),                                                                                  \
	.title = (words), .naming = {"Ethernet",   NULL, "",   0,    4,   "Ethernet%s",                  \
				     "Ethernet%s", NULL, NULL, NULL, NULL},                              \
	.port = {.mode = CLI_MEMBER}, .vid_high = 4094, .hostname = "sonic",                             \
	.is_unprivileged = true,                                                                         \
	.login_text =                                                                                    \
		"Linux sonic 6.1.0-22-2-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.94-1 x86_64\n"           \
		"You are on\n  ____   ___  _   _ _  ____\n / ___| / _ \\| \\ | (_)/ ___|\n"              \
		" \\___ \\| | | |  \\| | | |\n  ___) | |_| | |\\  | | |___\n"                            \
		" |____/ \\___/|_| \\_|_|\\____|\n\n-- Software for Open Networking in the Cloud --\n\n" \
		"Unauthorized access and/or use are prohibited.\n"                                       \
		"All access and/or use are subject to monitoring.\n\n"                                   \
		"Help:    https://sonic-net.github.io/SONiC/\n\n",                                       \
	.prompts = {[CLI_EXEC] = "admin@{h}:~$ ", [CLI_ENABLE] = "root@{h}:/home/admin# "},              \
	.running = switch_cli_sonic_running, .programs = switch_cli_sonic_programs,                      \
	.program_count = COUNT_OF(switch_cli_sonic_programs)

const struct cli_family cli_sonic = {
	SONIC("sonic", "SONiC 202405"),
	.prompt_before = "\033[?2004h",
	.line_after = "\033[?2004l\r",
};

const struct cli_family cli_sonic201911 = {
	SONIC("sonic201911", "SONiC 201911, without `config apply-patch`"),
};
