// links: peregrine_switch
/* Whatever a switch prints: the first line says which family it is, the rest is its terminal.
 * Cleaned text has no control characters and is clean already; a membership is one that a port can
 * have; what a plan sends is one line each, without anything that could end it; a verdict quotes a
 * line. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/switch/cli/cli_apart_policy.h"
#include "peregrine/switch/cli/cli_config_wire.h"
#include "peregrine/switch/cli/cli_plan_policy.h"
#include "peregrine/switch/cli/cli_port.h"
#include "peregrine/switch/cli/cli_sampling_policy.h"
#include "peregrine/switch/cli/cli_sampling_wire.h"
#include "peregrine/switch/cli/cli_show_wire.h"
#include "peregrine/switch/cli/cli_wire.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct cli_dialect *dialect_of(const char *line)
{
	size_t length = strcspn(line, " \n");

	for (size_t i = 0; i < cli_dialect_count; i++) {
		if (strlen(cli_dialects[i]->name) == length &&
		    strncmp(cli_dialects[i]->name, line, length) == 0)
			return cli_dialects[i];
	}
	return cli_dialects[(unsigned char)*line % cli_dialect_count];
}

static void one_line(const char *text, size_t limit)
{
	assert(strlen(text) <= limit);
	for (; *text; text++)
		assert((unsigned char)*text >= ' ');
}

static void plan(const struct cli_config *config, const char *port, bool trunk)
{
	struct switch_edit edit = {
		.kind = EDIT_PORT,
		.after = {.trunk = trunk, .native = 110},
	};
	struct cli_plan lines = {0};
	struct problem problem = {0};

	strncpy(edit.port, port, sizeof(edit.port) - 1);
	if (trunk)
		vlan_set_add_range(&edit.after.tagged, 120, 140);
	if (cli_plan_edit(config, &edit, &lines, &problem))
		assert(problem_is_set(&problem));
	for (size_t i = 0; i < lines.count; i++)
		one_line(lines.lines[i].text, 319);
	cli_plan_done(&lines);
}

/* What agrees needs nothing, and nothing is sent where another one's collector stands. */
static void sampling(const struct cli_config *config, const char *text, bool enabled)
{
	const struct cli_sampling_about about = {
		config->dialect->sampling && config->dialect->sampling->typed ? NULL : config, text,
		"10.0.0.20", "10.0.0.2"};
	const struct sampling_wanted wanted = {.enabled = enabled,
					       .change = true,
					       .collector = "10.0.0.1",
					       .port = 6343,
					       .header = 128,
					       .poll_s = 20};
	struct sampling_found found;
	struct cli_plan lines = {0};

	if (config->dialect->sampling &&
	    cli_sampling_plan(config->dialect, &about, &wanted, &found, &lines) == 0) {
		assert(!(found.agrees || found.foreign) || lines.count == 0);
		assert(!(found.agrees && found.foreign));
	}
	for (size_t i = 0; i < lines.count; i++)
		one_line(lines.lines[i].text, 319);
	cli_plan_done(&lines);
}

/* What is not shown as it is typed. */
static void typed(const struct cli_dialect *dialect, const char *shown)
{
	const struct cli_sampling *way = dialect->sampling;
	struct text text = {0};
	struct cli_config none = {.dialect = dialect};

	if (way && way->typed && way->typed(shown, &text) == 0) {
		sampling(&none, text_get(&text), true);
		sampling(&none, text_get(&text), false);
	}
	text_done(&text);
}

/* A port that is apart is so from a group; one that is not, or is untold, has none. */
static void apart(const struct cli_config *config)
{
	struct cli_apart *rows = calloc(config->port_count + 1, sizeof(*rows));

	assert(rows && config->filter_count <= CLI_FILTER_LIMIT);
	assert(cli_apart_find(config, rows) == 0);
	for (size_t i = 0; i < config->port_count; i++)
		assert((rows[i].apart == APART_FROM_ALIKE) == (rows[i].group != 0));
	free(rows);
}

static void configuration(const struct cli_dialect *dialect, const char *text)
{
	struct cli_config *config;

	assert(cli_config_new(dialect, &config) == 0);
	if (cli_config_read(config, text)) {
		cli_config_free(config);
		return;
	}
	assert(config->port_count <= CLI_PORT_LIMIT);
	apart(config);
	for (size_t i = 0; i < config->port_count; i++) {
		struct port_vlans vlans;

		assert(cli_config_port(config, config->ports[i].name));
		if (!cli_port_vlans(config, &config->ports[i], &vlans))
			continue;
		assert(vlans.native <= VLAN_LAST);
		assert(vlans.trunk || (vlans.native && vlan_set_is_empty(&vlans.tagged)));
		assert(!vlan_set_has(&vlans.tagged, vlans.native));
		if (i < 8) {
			plan(config, config->ports[i].name, false);
			plan(config, config->ports[i].name, true);
		}
	}
	sampling(config, text, true);
	sampling(config, text, false);
	typed(dialect, text);
	cli_config_free(config);
}

static bool on_fdb(void *context, const struct cli_fdb_row *row)
{
	(void)context;
	assert(row->vlan <= VLAN_LAST && row->port[0]);
	one_line(row->port, 63);
	return true;
}

static bool on_port(void *context, const struct cli_port_row *row)
{
	(void)context;
	assert(row->port[0] && !(row->up && row->shut));
	one_line(row->port, 63);
	return true;
}

static bool on_lldp(void *context, const struct cli_lldp_row *row)
{
	(void)context;
	assert(row->local[0] && row->chassis[0]);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *input = fuzz_text(data, size);
	const struct cli_dialect *dialect = dialect_of(input);
	struct text text = {0}, again = {0};
	struct cli_prompt_seen seen;
	char line[160] = "";

	cli_text_clean(input, strlen(input), &text);
	assert(text.size <= strlen(input));
	cli_text_clean(text_get(&text), text.size, &again);
	assert(strcmp(text_get(&text), text_get(&again)) == 0);

	configuration(dialect, text_get(&text));
	cli_fdb_each(dialect, text_get(&text), on_fdb, NULL);
	cli_ports_each(dialect, text_get(&text), on_port, NULL);
	cli_lldp_each(dialect, text_get(&text), on_lldp, NULL);
	/* one more port than the switch counts: it does not add up */
	if (dialect->lldp_total && !dialect->lldp_total_first) {
		text_addf(&text, "\n%s: 1\n%s: 0\n", dialect->lldp.local, dialect->lldp_total);
		assert(cli_lldp_sum(dialect, text_get(&text)) == CLI_LLDP_TOO_MANY);
	}
	if (cli_answer_judge(dialect, text_get(&text), line, sizeof(line)) != CLI_FINE)
		assert(line[0] && strlen(line) < sizeof(line));
	if (cli_prompt_parse(input, dialect->prompt, &seen))
		assert(seen.base[0] && !strchr(seen.base, ' '));
	text_done(&text);
	text_done(&again);
	free(input);
	return 0;
}
