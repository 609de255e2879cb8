/* "Catalyst 9300: Configuring SPAN and RSPAN", "Nexus 9000: Configuring SPAN", "ArubaOS-Switch:
 * Traffic Mirroring", "AOS-CX: Mirroring", "HPE 5940: Configuring port mirroring", "Dell N-Series:
 * Port Monitor", "Dell S-Series 9.14 and SmartFabric OS10: Port Monitoring", "Edgecore ECS4100:
 * Port Mirroring", SONiC's config/main.py (mirror_session). */
#include "tests/sim/command_line/switch_cli_mirror.h"

#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"

/* How many sessions there may be, and what is said of one more; "{}" the limit. */
static const struct {
	const char *family;
	unsigned limit;
	const char *full, *taken;
} switch_cli_mirror_manners[] = {
	{"ios", 2, "% Platform can support a maximum of 2 source sessions\n",
	 "% Interface(s) {} already configured as monitor destinations\n"},
	{"nxos", 4, "ERROR: Maximum number of sessions is already configured\n",
	 "ERROR: {}: Port is already configured as a destination port\n"},
	{"procurve", 4, "Invalid input: session\n",
	 "Port {} is already an exit port of another mirror session.\n"},
	{"aoscx", 4, "Maximum number of mirror sessions reached. Error: cannot create.\n",
	 "Interface {} cannot be used as a destination.\n"},
	{"comware", 4, "The number of mirroring groups has reached the limit. Failed to create.\n",
	 "The port {} can't be a monitor port.\n"},
	{"delln", 4, "Error: maximum number of sessions.\n",
	 "Error: Interface {} is already configured as a probe port.\n"},
	{"os9", 4, "% Error: Max number of monitor sessions reached.\n",
	 "% Error: {} is already a destination port.\n"},
	{"os10", 4, "% Error: Maximum sessions limit reached.\n",
	 "% Error: {} is already a destination port.\n"},
	{"ecs", 1, "Failed to set mirror: one destination port only.\n",
	 "Failed to set mirror port {}.\n"},
};

static size_t switch_cli_mirror_manner_of(const struct cli_session *session)
{
	for (size_t i = 0; i < COUNT_OF(switch_cli_mirror_manners); i++) {
		if (strcmp(switch_cli_mirror_manners[i].family, session->device->family->name) == 0)
			return i;
	}
	return 0;
}

static struct cli_mirror_row *switch_cli_mirror_find(struct cli_config *config, unsigned number)
{
	for (size_t i = 0; i < CLI_MIRRORS; i++) {
		if (config->mirrors[i].number == number)
			return &config->mirrors[i];
	}
	return NULL;
}

static unsigned switch_cli_mirror_count_of(const struct cli_config *config)
{
	unsigned count = 0;

	for (size_t i = 0; i < CLI_MIRRORS; i++)
		count += config->mirrors[i].number != 0;
	return count;
}

struct cli_mirror_row *cli_mirror_row_of(struct cli_call *call, unsigned number)
{
	struct cli_config *config = call->session->device->store->running;
	struct cli_mirror_row *row = switch_cli_mirror_find(config, number);
	size_t manner = switch_cli_mirror_manner_of(call->session);

	if (row)
		return row;
	row = switch_cli_mirror_find(config, 0);
	if (!row || switch_cli_mirror_count_of(config) >= switch_cli_mirror_manners[manner].limit) {
		text_add(call->out, switch_cli_mirror_manners[manner].full);
		return NULL;
	}
	*row = (struct cli_mirror_row){.number = number};
	return row;
}

static unsigned switch_cli_mirror_number_of(const struct cli_call *call)
{
	if (call->command->argument & CLI_MIRROR_HERE)
		return cli_ports_next(&call->session->ports, 1);
	return call->command->argument & CLI_MIRROR_LINE ? call->values[0].number
							 : call->session->mirror;
}

static void say_taken(struct cli_call *call, unsigned port)
{
	const char *text =
		switch_cli_mirror_manners[switch_cli_mirror_manner_of(call->session)].taken;
	const char *hole = strstr(text, "{}");
	char name[CLI_NAME_SIZE];

	text_add_bytes(call->out, text, (size_t)(hole - text));
	text_add(call->out, cli_port_text(call->session, port, true, name));
	text_add(call->out, hole + 2);
}

/* A port that gets copies is in no other session, and is not copied itself. */
static bool switch_cli_mirror_is_free(struct cli_call *call, const struct cli_mirror_row *row,
				      unsigned port, bool as_target)
{
	const struct cli_config *config = call->session->device->store->running;

	for (size_t i = 0; i < CLI_MIRRORS; i++) {
		const struct cli_mirror_row *other = &config->mirrors[i];
		bool is_taken = other->number != 0 &&
				((other->target == port && (!as_target || other != row)) ||
				 (as_target && cli_ports_has(&other->sources, port)));

		if (is_taken) {
			say_taken(call, port);
			return false;
		}
	}
	return true;
}

void cli_mirror_enter(struct cli_call *call)
{
	unsigned number = call->values[0].number;

	if (!cli_mirror_row_of(call, number))
		return;
	cli_leave(call->session, CLI_MIRROR);
	call->session->mirror = number;
	(void)text_copy(call->session->level_name, sizeof(call->session->level_name),
			call->values[0].text);
}

void cli_mirror_make(struct cli_call *call)
{
	(void)cli_mirror_row_of(call, call->values[0].number);
}

void cli_mirror_close(struct cli_call *call)
{
	struct cli_mirror_row *row = switch_cli_mirror_find(call->session->device->store->running,
							    call->values[0].number);

	if (row)
		*row = (struct cli_mirror_row){0};
}

static void remove_source(struct cli_ports *ports, unsigned port)
{
	ports->words[port / 64] &= ~(UINT64_C(1) << port % 64);
}

static void set_source(struct cli_call *call, unsigned number, unsigned port)
{
	unsigned argument = call->command->argument;
	struct cli_mirror_row *row =
		argument & CLI_MIRROR_NO
			? switch_cli_mirror_find(call->session->device->store->running, number)
			: cli_mirror_row_of(call, number);

	if (!row || number == 0)
		return;
	if (argument & CLI_MIRROR_NO) {
		remove_source(&row->sources, port);
		if (argument & CLI_MIRROR_HERE && cli_ports_next(&row->sources, 1) == 0)
			*row = (struct cli_mirror_row){0};
		return;
	}
	if (argument & CLI_MIRROR_PAIR) {
		if (!switch_cli_mirror_is_free(call, row, call->values[1].number, true))
			return;
		row->target = call->values[1].number;
	}
	if (argument & CLI_MIRROR_HERE)
		row->target = number;
	if (switch_cli_mirror_is_free(call, row, port, false))
		cli_ports_add(&row->sources, port);
}

void cli_mirror_source(struct cli_call *call)
{
	bool is_line = call->command->argument & CLI_MIRROR_LINE;

	set_source(call, switch_cli_mirror_number_of(call), call->values[is_line ? 1 : 0].number);
}

void cli_mirror_source_first(struct cli_call *call)
{
	set_source(call, call->values[1].number, call->values[0].number);
}

void cli_mirror_target(struct cli_call *call)
{
	bool is_line = call->command->argument & CLI_MIRROR_LINE;
	unsigned port = call->values[is_line ? 1 : 0].number;
	struct cli_mirror_row *row = cli_mirror_row_of(call, switch_cli_mirror_number_of(call));

	if (row && switch_cli_mirror_is_free(call, row, port, true))
		row->target = port;
}

/* --- as text --- */

/* "GigabitEthernet1/0/1 - 3 , GigabitEthernet1/0/5": as Catalysts print it. */
static void write_ranges(const struct cli_session *session, const struct cli_ports *ports,
			 struct text *out)
{
	unsigned last = 0;

	for
		EACH_PORT(port, ports)
		{
			unsigned end = port;
			char name[CLI_NAME_SIZE];

			if (port <= last)
				continue;
			while (cli_ports_has(ports, end + 1))
				end++;
			text_addf(out, "%s%s", last ? " , " : " ",
				  cli_port_text(session, port, false, name));
			if (end > port)
				text_addf(out, " - %u", end);
			last = end;
		}
}

/* What is written for a session, for each of its ports, for its destination: {n} its number, {p}
 * the port, {t} the destination. */
static const struct {
	const char *family, *head, *source, *target, *tail;
} switch_cli_mirror_texts[] = {
	{"nxos", "monitor session {n}\n", "  source interface {p} both\n",
	 "  destination interface {t}\n", "  no shut\n"},
	{"procurve", "", "interface {p}\n   monitor all both mirror {n}\n   exit\n",
	 "mirror {n} port {t}\n", ""},
	{"aoscx", "mirror session {n}\n    enable\n", "    source interface {p} both\n",
	 "    destination interface {t}\n", ""},
	{"comware", "#\nmirroring-group {n} local\n",
	 "#\ninterface {p}\n mirroring-group {n} mirroring-port both\n",
	 "#\ninterface {t}\n mirroring-group {n} monitor-port\n", ""},
	{"delln", "", "monitor session {n} source interface {p}\n",
	 "monitor session {n} destination interface {t}\n", "monitor session {n} mode\n"},
	{"os9", "!\nmonitor session {n}\n", " source {p} destination {t} direction both\n", "", ""},
	{"os10", "!\nmonitor session {n}\n", " source interface {p} both\n",
	 " destination interface {t}\n", " no shut\n"},
	{"ecs", "interface {t}\n", " port monitor {p} both\n", "", "!\n"},
};

/* Of one that is sent: {f} from, {a} to, {i} its number; `off` until it is told. */
static const struct {
	const char *family, *head, *source, *target, *on, *off;
} switch_cli_mirror_sent[] = {
	{"ios", "monitor session {n} type erspan-source\n", " source interface {p}\n",
	 " destination\n  erspan-id {i}\n  ip address {a}\n  origin ip address {f}\n!\n", "",
	 " shutdown\n"},
	{"nxos", "monitor session {n} type erspan-source\n", "  source interface {p} both\n",
	 "  destination ip {a}\n", "  erspan-id {i}\n  vrf default\n  no shut\n",
	 "  erspan-id {i}\n  vrf default\n"},
	{"os9", "!\nmonitor session {n} type erpm\n", " source {p} direction both\n",
	 " erpm source-ip {f} dest-ip {a}\n", " no disable\n", ""},
	{"os10", "!\nmonitor session {n} type erpm-source\n", " source interface {p} both\n",
	 " source-ip {f} destination-ip {a} gre-protocol 35006\n", " no shut\n", " shut\n"},
};

static void write_text(const struct cli_session *session, const char *text,
		       const struct cli_mirror_row *row, unsigned port, struct text *out)
{
	char name[CLI_NAME_SIZE];

	for (; *text; text++) {
		if (*text != '{') {
			text_add_bytes(out, text, 1);
			continue;
		}
		if (text[1] == 'n')
			text_addf(out, "%u", row->number);
		else if (text[1] == 'i')
			text_addf(out, "%u", row->id);
		else if (text[1] == 'f' || text[1] == 'a')
			text_add(out, text[1] == 'f' ? row->from : row->to);
		else
			text_add(out, cli_port_text(session, text[1] == 'p' ? port : row->target,
						    true, name));
		text += 2;
	}
}

static void switch_cli_mirror_write_row(const struct cli_session *session,
					const struct cli_mirror_row *row, size_t manner,
					struct text *out)
{
	write_text(session, switch_cli_mirror_texts[manner].head, row, 0, out);
	for
		EACH_PORT(port, &row->sources)
		{
			write_text(session, switch_cli_mirror_texts[manner].source, row, port, out);
		}
	if (row->target)
		write_text(session, switch_cli_mirror_texts[manner].target, row, 0, out);
	write_text(session, switch_cli_mirror_texts[manner].tail, row, 0, out);
}

static void write_sent(const struct cli_session *session, const struct cli_mirror_row *row,
		       struct text *out)
{
	size_t i = 0;

	while (i + 1 < COUNT_OF(switch_cli_mirror_sent) &&
	       strcmp(switch_cli_mirror_sent[i].family, session->device->family->name) != 0)
		i++;
	write_text(session, switch_cli_mirror_sent[i].head, row, 0, out);
	write_text(session,
		   row->is_on ? switch_cli_mirror_sent[i].on : switch_cli_mirror_sent[i].off, row,
		   0, out);
	for
		EACH_PORT(port, &row->sources)
		{
			write_text(session, switch_cli_mirror_sent[i].source, row, port, out);
		}
	if (row->to[0])
		write_text(session, switch_cli_mirror_sent[i].target, row, 0, out);
}

void cli_mirror_write(const struct cli_session *session, const struct cli_config *config,
		      struct text *out)
{
	char name[CLI_NAME_SIZE];
	size_t manner = COUNT_OF(switch_cli_mirror_texts);

	for (size_t i = 0; i < COUNT_OF(switch_cli_mirror_texts); i++) {
		if (strcmp(switch_cli_mirror_texts[i].family, session->device->family->name) == 0)
			manner = i;
	}
	for (size_t i = 0; i < CLI_MIRRORS; i++) {
		const struct cli_mirror_row *row = &config->mirrors[i];

		if (row->number == 0)
			continue;
		if (row->is_sent) {
			write_sent(session, row, out);
			continue;
		}
		if (manner < COUNT_OF(switch_cli_mirror_texts)) {
			switch_cli_mirror_write_row(session, row, manner, out);
			continue;
		}
		if (cli_ports_next(&row->sources, 1)) {
			text_addf(out, "monitor session %u source interface", row->number);
			write_ranges(session, &row->sources, out);
			text_add(out, "\n");
		}
		if (row->target)
			text_addf(out, "monitor session %u destination interface %s\n", row->number,
				  cli_port_text(session, row->target, false, name));
	}
}

/* --- by name --- */

static struct cli_mirror_row *find_name(struct cli_config *config, const char *name)
{
	for (size_t i = 0; i < CLI_MIRRORS; i++) {
		if (config->mirrors[i].number && strcmp(config->mirrors[i].name, name) == 0)
			return &config->mirrors[i];
	}
	return NULL;
}

enum cli_mirror_wrong cli_mirror_name(struct cli_store *store, const char *name, unsigned target,
				      const struct cli_ports *sources)
{
	struct cli_mirror_row *row = switch_cli_mirror_find(store->running, 0);

	if (find_name(store->running, name))
		return CLI_MIRROR_THERE;
	for (size_t i = 0; i < CLI_MIRRORS; i++) {
		if (store->running->mirrors[i].number &&
		    store->running->mirrors[i].target == target)
			return CLI_MIRROR_TAKEN;
	}
	if (!row || cli_ports_has(sources, target))
		return row ? CLI_MIRROR_TAKEN : CLI_MIRROR_FULL;
	*row = (struct cli_mirror_row){.number = 1 + (unsigned)(row - store->running->mirrors),
				       .target = target,
				       .sources = *sources};
	(void)text_copy(row->name, sizeof(row->name), name);
	return CLI_MIRROR_FINE;
}

enum cli_mirror_wrong cli_erspan_name(struct cli_store *store, const char *name, const char *from,
				      const char *to, const struct cli_ports *sources)
{
	struct cli_mirror_row *row = switch_cli_mirror_find(store->running, 0);

	if (find_name(store->running, name))
		return CLI_MIRROR_THERE;
	if (!row)
		return CLI_MIRROR_FULL;
	*row = (struct cli_mirror_row){.number = 1 + (unsigned)(row - store->running->mirrors),
				       .sources = *sources,
				       .is_sent = true,
				       .is_on = true};
	(void)text_copy(row->name, sizeof(row->name), name);
	(void)text_copy(row->from, sizeof(row->from), from);
	(void)text_copy(row->to, sizeof(row->to), to);
	return CLI_MIRROR_FINE;
}

bool cli_mirror_forget(struct cli_store *store, const char *name)
{
	struct cli_mirror_row *row = find_name(store->running, name);

	if (row)
		*row = (struct cli_mirror_row){0};
	return row != NULL;
}
