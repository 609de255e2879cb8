// links: peregrine_switch
/* Which ports a running configuration keeps apart, in the words of each family that has any. */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/switch/cli/cli_apart_policy.h"
#include "tests/support/cmocka.h"

/* Each port to all others of its kind. */
#define FILTERS                                                                  \
	"filter source-port \"1\" drop 2-3\nfilter source-port \"2\" drop 1,3\n" \
	"filter source-port \"3\" drop 1-2\n"
#define MEMBERS "vlan 110\n   name \"prov\"\n   untagged 1-4\n   exit\n"
#define ECS_PORTS                                             \
	"interface ethernet 1/1\n!\ninterface ethernet 1/2\n" \
	"!\ninterface ethernet 1/3\n!\ninterface ethernet 1/12\n!\n"

/* Each port: '-' no, '?' untold, else the number of its group in the order of the ports. */
static void said(const struct cli_config *config, char ret[32])
{
	struct cli_apart rows[32];
	uint16_t groups[32];
	size_t count = 0;
	size_t at = 0;

	assert_true(config->port_count < COUNT_OF(rows));
	assert_int_equal(cli_apart_find(config, rows), 0);
	for (; at < config->port_count; at++) {
		size_t group = 0;

		ret[at] = rows[at].apart == APART_NOT ? '-' : '?';
		if (rows[at].apart != APART_FROM_ALIKE)
			continue;
		while (group < count && groups[group] != rows[at].group)
			group++;
		if (group == count)
			groups[count++] = rows[at].group;
		ret[at] = (char)('1' + group);
	}
	ret[at] = '\0';
}

static void test_words(void **state)
{
	static const struct {
		const struct cli_dialect *dialect;
		const char *text, *said;
	} rows[] = {
		{&cli_dialect_ios,
		 "interface Gi1/0/1\n switchport protected\n!\ninterface Gi1/0/2\n!\n"
		 "interface Gi1/0/3\n switchport protected\n!\n",
		 "1-1"},
		{&cli_dialect_dnos,
		 "interface Gi1/0/1\nswitchport protected 0\nexit\n"
		 "interface Gi1/0/2\nswitchport protected 2\nexit\n"
		 "interface Gi1/0/3\nno switchport protected\nexit\n",
		 "12-"},
		{&cli_dialect_comware,
		 "interface GigabitEthernet1/0/1\n port-isolate enable group 2\n#\n"
		 "interface GigabitEthernet1/0/2\n port-isolate enable group 2\n#\n"
		 "interface GigabitEthernet1/0/3\n#\n",
		 "11-"},
		/* A filter stops one direction: both are needed. */
		{&cli_dialect_procurve, MEMBERS FILTERS, "111-"},
		{&cli_dialect_procurve, FILTERS MEMBERS, "111-"},
		{&cli_dialect_procurve, MEMBERS, "----"},
		{&cli_dialect_procurve,
		 MEMBERS "filter source-port \"1\" drop 2\nfilter source-port \"2\" drop 3\n",
		 "12--"},
		{&cli_dialect_procurve,
		 MEMBERS "filter source-port 1 drop 2\nfilter source-port 2 drop 1\n"
			 "filter source-port 3 drop 4\nfilter source-port 4 drop 3\n",
		 "1122"},
		/* What is not read is not "no". */
		{&cli_dialect_procurve,
		 MEMBERS FILTERS "filter source-port named-filter up drop 1-4\n", "111?"},
		{&cli_dialect_procurve, MEMBERS "protected-ports 1-4\n", "????"},
		{&cli_dialect_procurve,
		 "vlan 110\n   private-vlan isolated 111\n   untagged 1-2\n   exit\n", "??"},
		{&cli_dialect_procurve, MEMBERS "filter source-port \"1\" drop 4-1\n", "????"},
		/* Traffic segmentation counts when it is on. */
		{&cli_dialect_ecs,
		 "traffic-segmentation\n"
		 "traffic-segmentation session 1 uplink ethernet 1/12 downlink ethernet 1/1-2\n"
		 "!\n" ECS_PORTS,
		 "11--"},
		{&cli_dialect_ecs,
		 "traffic-segmentation session 1 uplink ethernet 1/12 downlink ethernet 1/1-2\n"
		 "!\n" ECS_PORTS,
		 "----"},
		{&cli_dialect_ecs,
		 "traffic-segmentation\n"
		 "traffic-segmentation session 1 uplink ethernet 1/12 port-channel 1 downlink "
		 "ethernet 1/1,3 port-channel 1\n"
		 "traffic-segmentation session 2 downlink ethernet 1/2\n!\n" ECS_PORTS,
		 "112-"},
		{&cli_dialect_ecs,
		 "traffic-segmentation\n"
		 "traffic-segmentation uplink ethernet 1/12 downlink ethernet 1/1-3\n!\n" ECS_PORTS,
		 "111-"},
		/* A stack's lists have one unit's number for all ports. */
		{&cli_dialect_ecs,
		 "traffic-segmentation\n"
		 "traffic-segmentation session 1 uplink ethernet 1/12 downlink ethernet 1/1-2\n"
		 "!\n" ECS_PORTS "interface ethernet 2/1\n!\n",
		 "?????"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct cli_config *config = NULL;
		char is[32];

		assert_int_equal(cli_config_new(rows[i].dialect, &config), 0);
		assert_int_equal(cli_config_read(config, rows[i].text), 0);
		assert_int_equal(config->odd, 0);
		said(config, is);
		if (strcmp(is, rows[i].said) != 0)
			fail_msg("row %zu: %s, not %s", i, is, rows[i].said);
		cli_config_free(config);
	}
}

/* Lines about what keeps ports apart are no part of a membership. */
static void test_members_stay(void **state)
{
	struct cli_config *config = NULL;
	struct port_vlans vlans;

	(void)state;
	assert_int_equal(cli_config_new(&cli_dialect_procurve, &config), 0);
	assert_int_equal(cli_config_read(config, "vlan 110\n   private-vlan isolated 111\n"
						 "   untagged 2\n   exit\n" FILTERS),
			 0);
	assert_true(cli_port_vlans(config, cli_config_port(config, "2"), &vlans));
	assert_int_equal(vlans.native, 110);
	assert_false(vlans.trunk);
	cli_config_free(config);
}

/* Too much to be looked through is untold. */
static void test_too_many(void **state)
{
	CLEANUP(text_done) struct text text = {0};
	struct cli_config *config = NULL;
	struct cli_apart *rows;

	(void)state;
	for (unsigned i = 1; i <= 600; i++)
		text_addf(&text, "filter source-port %u drop 1-4000\n", i);
	assert_int_equal(cli_config_new(&cli_dialect_procurve, &config), 0);
	assert_int_equal(cli_config_read(config, text_get(&text)), 0);
	assert_true(config->filter_count <= CLI_FILTER_LIMIT);
	rows = calloc(config->port_count + 1, sizeof(*rows));
	assert_non_null(rows);
	assert_int_equal(cli_apart_find(config, rows), 0);
	assert_int_equal(rows[0].apart, APART_UNTOLD);
	free(rows);
	cli_config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_members_stay),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
