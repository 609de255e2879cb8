// links: peregrine_driver sim_switch_cli
/* sFlow by command line: the lines that a driver sends, typed at the emulators of the families,
 * until their running configuration says what is wanted. */
#include <string.h>

#include "common/base/text.h"

#include "peregrine/control/driver/cli/cli_sampling_policy.h"
#include "peregrine/control/driver/cli/cli_wire.h"
#include "tests/sim/switch_player.h"
#include "tests/support/cmocka.h"

static const struct {
	const char *emulator;
	const struct cli_dialect *dialect;
	uint32_t rate;      /* for 5000 that was asked for */
	const char *has[4]; /* lines of the configuration then */
	const char *anothers;
} ways[] = {
	{"nxos",
	 &cli_dialect_nxos,
	 5000,
	 {"sflow collector-ip 10.0.0.1 vrf management", "sflow sampling-rate 5000",
	  "sflow data-source interface Ethernet1/8", "sflow counter-poll-interval 30"},
	 "feature sflow\nsflow collector-ip 10.9.9.9 vrf default"},
	{"os10",
	 &cli_dialect_os10,
	 5000,
	 {"sflow collector 10.0.0.1 agent-addr 10.0.0.20 6343", "sflow sample-rate 5000",
	  "sflow max-header-size 96", "sflow enable all-interfaces"},
	 "sflow collector 10.9.9.9 agent-addr 10.0.0.20 6343"},
	{"os9",
	 &cli_dialect_os9,
	 8192,
	 {"sflow collector 10.0.0.1 agent-addr 10.0.0.20 6343", "sflow sample-rate 8192",
	  " sflow ingress-enable", "sflow enable"},
	 "sflow collector 10.9.9.9 agent-addr 10.0.0.20 6343"},
};

struct site {
	const struct cli_dialect *dialect;
	struct switch_player *player;
	const char *ours;
	struct text shown;
};

static void say(struct site *site, const char *line)
{
	CLEANUP(text_done) struct text clean = {0};
	const char *answer = switch_player_say(site->player, line);
	char said[160];

	cli_text_clean(answer, strlen(answer), &clean);
	if (cli_answer_judge(site->dialect, text_get(&clean), said, sizeof(said)) != CLI_FINE)
		fail_msg("%s: \"%s\": %s", site->dialect->name, line, said);
}

/* How it stands, and how many lines would be sent; sent with `change`. */
static size_t go(struct site *site, const struct sampling_wanted *wanted,
		 struct sampling_found *found)
{
	const char *answer = switch_player_say(site->player, site->dialect->show_config);
	struct cli_sampling_about about = {.agent = "10.0.0.20", .ours = site->ours};
	struct cli_config *config;
	struct cli_plan plan = {0};
	size_t count;

	text_clear(&site->shown);
	cli_text_clean(answer, strlen(answer), &site->shown);
	assert_int_equal(cli_config_new(site->dialect, &config), 0);
	assert_int_equal(cli_config_read(config, text_get(&site->shown)), 0);
	about.config = config;
	about.text = text_get(&site->shown);
	assert_int_equal(cli_sampling_plan(site->dialect, &about, wanted, found, &plan), 0);
	count = plan.count;
	if (count && wanted->change) {
		say(site, site->dialect->config_enter);
		for (size_t i = 0; i < count; i++)
			say(site, plan.lines[i].text);
		say(site, site->dialect->config_leave);
	}
	cli_plan_done(&plan);
	cli_config_free(config);
	return count;
}

static void type(struct site *site, const char *lines)
{
	say(site, site->dialect->config_enter);
	while (*lines) {
		char line[128];
		size_t size = strcspn(lines, "\n");

		(void)text_format(line, sizeof(line), "%.*s", (int)size, lines);
		say(site, line);
		lines += size + (lines[size] == '\n');
	}
	say(site, site->dialect->config_leave);
}

static struct site site_of(size_t i)
{
	struct site site = {.dialect = ways[i].dialect, .ours = ""};

	assert_int_equal(switch_player_new(ways[i].emulator, NULL, "", &site.player), 0);
	if (site.dialect->enable)
		(void)switch_player_say(site.player, site.dialect->enable);
	for (size_t k = 0; k < COUNT_OF(site.dialect->pager_off) && site.dialect->pager_off[k]; k++)
		say(&site, site.dialect->pager_off[k]);
	return site;
}

static const struct sampling_wanted wants = {.enabled = true,
					     .change = true,
					     .collector = "10.0.0.1",
					     .port = 6343,
					     .rate = 5000,
					     .header = 96,
					     .poll_s = 30};

static void it_is_set_up_and_taken_away(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		struct site site = site_of(i);
		struct sampling_wanted wanted = wants;
		struct sampling_found found;

		wanted.change = false;
		assert_true(go(&site, &wanted, &found) > 0);
		assert_false(found.agrees || found.foreign);
		assert_null(strstr(text_get(&site.shown), "sflow"));
		wanted.change = true;
		assert_true(go(&site, &wanted, &found) > 0);
		assert_int_equal(go(&site, &wanted, &found), 0);
		assert_true(found.agrees);
		assert_int_equal(found.rate_low, ways[i].rate);
		assert_int_equal(found.sources, 8);
		for (size_t k = 0; k < COUNT_OF(ways[i].has); k++) {
			if (!strstr(text_get(&site.shown), ways[i].has[k]))
				fail_msg("%s: no \"%s\" in %s", ways[i].emulator, ways[i].has[k],
					 text_get(&site.shown));
		}
		/* What the switch does not print is as it begins; what differs is sent, and no
		 * more. */
		wanted.poll_s = 20;
		assert_int_equal(go(&site, &wanted, &found), 1);
		assert_false(found.agrees);
		assert_int_equal(go(&site, &wanted, &found), 0);
		/* Off: with a name for it, and without one. */
		wanted = (struct sampling_wanted){.change = true};
		assert_int_equal(go(&site, &wanted, &found), 0);
		assert_false(found.agrees);
		site.ours = "10.0.0.1";
		assert_true(go(&site, &wanted, &found) > 0);
		assert_int_equal(go(&site, &wanted, &found), 0);
		assert_true(found.agrees);
		assert_null(strstr(text_get(&site.shown), "10.0.0.1"));
		switch_player_free(site.player);
		text_done(&site.shown);
	}
}

static void another_ones_collector_stays(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		struct site site = site_of(i);
		struct sampling_wanted wanted = wants;
		struct sampling_found found;

		type(&site, ways[i].anothers);
		assert_int_equal(go(&site, &wanted, &found), 0);
		assert_true(found.foreign && !found.agrees);
		assert_non_null(strstr(found.text, "10.9.9.9"));
		/* One that begins as ours does is another one. */
		(void)text_copy(wanted.collector, sizeof(wanted.collector), "10.9.9.99");
		assert_int_equal(go(&site, &wanted, &found), 0);
		(void)text_copy(wanted.collector, sizeof(wanted.collector), "10.9.9");
		assert_int_equal(go(&site, &wanted, &found), 0);
		/* The one that we set up before goes, and the new one comes. */
		site.ours = "10.9.9.9";
		wanted = wants;
		if (ways[i].dialect == &cli_dialect_nxos)
			type(&site,
			     "no feature sflow\nfeature sflow\nsflow collector-ip 10.9.9.9 vrf management");
		assert_true(go(&site, &wanted, &found) > 0);
		assert_true(go(&site, &wanted, &found) > 0);
		assert_int_equal(go(&site, &wanted, &found), 0);
		assert_true(found.agrees);
		assert_null(strstr(text_get(&site.shown), "10.9.9.9"));
		switch_player_free(site.player);
		text_done(&site.shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_set_up_and_taken_away),
					   cmocka_unit_test(another_ones_collector_stays)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
