// links: peregrine_switch sim_switch_cli
/* Sampling by command line: the lines that a driver sends, typed at the emulators of the families,
 * until their running configuration says what is wanted. */
#include <string.h>

#include "common/base/text.h"

#include "peregrine/switch/cli/cli_sampling_policy.h"
#include "peregrine/switch/cli/cli_wire.h"
#include "tests/sim/command_line/switch_player.h"
#include "tests/support/cmocka.h"

static const struct {
	const char *emulator;
	const struct cli_dialect *dialect;
	uint32_t rate;        /* for 5000 that was asked for */
	const char *has[4];   /* lines of the configuration then */
	const char *anothers; /* NULL: is beside ours */
	size_t poll_lines;    /* that another interval needs */
	bool is_named;        /* ours has a name */
} ways[] = {
	{"nxos",
	 &cli_dialect_nxos,
	 5000,
	 {"sflow collector-ip 10.0.0.1 vrf management", "sflow sampling-rate 5000",
	  "sflow data-source interface Ethernet1/8", "sflow counter-poll-interval 30"},
	 "feature sflow\nsflow collector-ip 10.9.9.9 vrf default",
	 1,
	 false},
	{"os10",
	 &cli_dialect_os10,
	 5000,
	 {"sflow collector 10.0.0.1 agent-addr 10.0.0.20 6343", "sflow sample-rate 5000",
	  "sflow max-header-size 96", "sflow enable all-interfaces"},
	 "sflow collector 10.9.9.9 agent-addr 10.0.0.20 6343",
	 1,
	 false},
	{"os9",
	 &cli_dialect_os9,
	 8192,
	 {"sflow collector 10.0.0.1 agent-addr 10.0.0.20 6343", "sflow sample-rate 8192",
	  " sflow ingress-enable", "sflow enable"},
	 "sflow collector 10.9.9.9 agent-addr 10.0.0.20 6343",
	 1,
	 false},
	{"aoscx",
	 &cli_dialect_aoscx,
	 5000,
	 {"sflow\n", "sflow collector 10.0.0.1\n", "sflow sampling 5000", "sflow header-size 96"},
	 "sflow\nsflow collector 10.9.9.9",
	 1,
	 false},
	{"ios",
	 &cli_dialect_ios,
	 1024,
	 {"flow exporter haas\n destination 10.0.0.1\n transport udp 4739\n",
	  "sampler haas\n mode random 1 out-of 1024\n", " option sampler-table timeout 60",
	  " ip flow monitor haas sampler haas input"},
	 NULL,
	 0,
	 true},
	{"sonic",
	 &cli_dialect_sonic,
	 5000,
	 {"sudo config sflow collector add haas 10.0.0.1 --port 6343\n",
	  "sudo config sflow enable\n", "sudo config sflow interface sample-rate Ethernet28 5000",
	  "sudo config sflow polling-interval 30\n"},
	 "sudo config sflow collector add prod 10.9.9.9",
	 1,
	 true},
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

static void into_mode(struct site *site, bool in)
{
	if (site->dialect->config_enter)
		say(site, in ? site->dialect->config_enter : site->dialect->config_leave);
}

/* What several commands show, as lines that are typed. */
static void look_typed(struct site *site)
{
	const struct cli_sampling *sampling = site->dialect->sampling;
	CLEANUP(text_done) struct text shown = {0};

	for (size_t i = 0; sampling->shows[i]; i++) {
		const char *answer = switch_player_say(site->player, sampling->shows[i]);

		cli_text_clean(answer, strlen(answer), &shown);
	}
	assert_int_equal(sampling->typed(text_get(&shown), &site->shown), 0);
}

/* How it stands, and how many lines would be sent; sent with `change`. */
static size_t go(struct site *site, const struct sampling_wanted *wanted,
		 struct sampling_found *found)
{
	struct cli_sampling_about about = {.agent = "10.0.0.20", .ours = site->ours};
	struct cli_config *config = NULL;
	struct cli_plan plan = {0};
	size_t count;

	text_clear(&site->shown);
	if (site->dialect->sampling->typed) {
		look_typed(site);
	} else {
		const char *answer = switch_player_say(site->player, site->dialect->show_config);

		cli_text_clean(answer, strlen(answer), &site->shown);
		assert_int_equal(cli_config_new(site->dialect, &config), 0);
		assert_int_equal(cli_config_read(config, text_get(&site->shown)), 0);
	}
	about.config = config;
	about.text = text_get(&site->shown);
	assert_int_equal(cli_sampling_plan(site->dialect, &about, wanted, found, &plan), 0);
	count = plan.count;
	if (count && wanted->change) {
		into_mode(site, true);
		for (size_t i = 0; i < count; i++)
			say(site, plan.lines[i].text);
		into_mode(site, false);
	}
	cli_plan_done(&plan);
	cli_config_free(config);
	return count;
}

static void type(struct site *site, const char *lines)
{
	into_mode(site, true);
	while (*lines) {
		char line[128];
		size_t size = strcspn(lines, "\n");

		(void)text_format(line, sizeof(line), "%.*s", (int)size, lines);
		say(site, line);
		lines += size + (lines[size] == '\n');
	}
	into_mode(site, false);
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
		assert_null(strstr(text_get(&site.shown), "flow exporter"));
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
		assert_int_equal(go(&site, &wanted, &found), ways[i].poll_lines);
		assert_int_equal(found.agrees, ways[i].poll_lines == 0);
		assert_int_equal(go(&site, &wanted, &found), 0);
		/* Off: with a name for it, and without one. */
		wanted = (struct sampling_wanted){.change = true};
		if (!ways[i].is_named) {
			assert_int_equal(go(&site, &wanted, &found), 0);
			assert_false(found.agrees);
			site.ours = "10.0.0.1";
		}
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

		if (ways[i].is_named) {
			switch_player_free(site.player);
			continue;
		}
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

/* What has our name: set up anew where the switch changes nothing in its place, and found again by
 * whoever did not set it up. */
static void ours_is_known_by_its_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		struct site site = site_of(i);
		struct sampling_wanted wanted = wants;
		struct sampling_found found;

		if (ways[i].is_named) {
			assert_true(go(&site, &wanted, &found) > 0);
			(void)text_copy(wanted.collector, sizeof(wanted.collector), "10.0.0.2");
			wanted.rate = 512;
			assert_true(go(&site, &wanted, &found) > 0);
			assert_false(found.agrees);
			assert_true(go(&site, &wanted, &found) > 0);
			assert_int_equal(go(&site, &wanted, &found), 0);
			assert_true(found.agrees);
			assert_int_equal(found.rate_high, 512);
			assert_int_equal(found.sources, 8);
			assert_null(strstr(text_get(&site.shown), "10.0.0.1"));
		}
		/* Somebody else's beside it: the switch has one rate for both. */
		if (ways[i].is_named && ways[i].anothers) {
			type(&site, ways[i].anothers);
			assert_int_equal(go(&site, &wanted, &found), 0);
			assert_true(found.foreign && strstr(found.text, "10.9.9.9"));
			wanted = (struct sampling_wanted){.change = true};
			assert_int_equal(go(&site, &wanted, &found), 1);
			assert_int_equal(go(&site, &wanted, &found), 0);
			assert_true(found.agrees);
			assert_non_null(strstr(text_get(&site.shown), "sflow enable\n"));
			assert_null(strstr(text_get(&site.shown), "10.0.0.2"));
		}
		switch_player_free(site.player);
		text_done(&site.shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_set_up_and_taken_away),
					   cmocka_unit_test(another_ones_collector_stays),
					   cmocka_unit_test(ours_is_known_by_its_name)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
