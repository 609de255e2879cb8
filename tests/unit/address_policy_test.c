// links: portal_outward
/* Which addresses may be called from here. */
#include <arpa/inet.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "portal/outward/address_policy.h"
#include "tests/support/cmocka.h"

/* As a connection has it: IPv4 is mapped. */
static void bytes_of(const char *text, uint8_t ret[16])
{
	memset(ret, 0, 16);
	if (strchr(text, ':')) {
		assert_int_equal(inet_pton(AF_INET6, text, ret), 1);
		return;
	}
	ret[10] = ret[11] = 0xff;
	assert_int_equal(inet_pton(AF_INET, text, ret + 12), 1);
}

static void test_verdicts(void **state)
{
	static const struct {
		const char *address, *why;
	} rows[] = {
		{"93.184.216.34", NULL},
		{"2606:2800:220:1::1", NULL},
		{"10.9.0.1",
		 NULL}, /* a site's own network is open, unless nodes or BMCs are there */
		{"127.0.0.1", "this machine"},
		{"127.255.255.254", "this machine"},
		{"0.0.0.0", "this machine"},
		{"::1", "this machine"},
		{"::", "this machine"},
		{"169.254.169.254", "a neighbour on the link"},
		{"fe80::1", "a neighbour on the link"},
		{"224.0.0.1", "no single machine"},
		{"255.255.255.255", "no single machine"},
		{"ff02::1", "no single machine"},
		{"::127.0.0.1", "an IPv4 address in another form"},
		{"::ffff:127.0.0.1", "this machine"},
		{"::ffff:10.2.0.9", "a node, BMC or switch"},
		{"64:ff9b::7f00:1", "an IPv4 address in another form"},
		{"2002:7f00:1::1", "an IPv4 address in another form"},
		{"64:ff9b:1::7f00:1", "an IPv4 address in another form"},
		{"2001:0:7f00:1::1", "an IPv4 address in another form"},
		{"fec0::1", "a neighbour on the site"},
		{"10.2.0.9", "a node, BMC or switch"},
		{"10.2.1.0", NULL},
		{"10.3.0.7", "a node, BMC or switch"},
		{"10.3.0.8", NULL},
		{"10.2.0.200", NULL}, /* allowed in the middle of it */
		{"127.0.0.2", NULL},
		{"fd00::5", NULL},
		{"fd00:0:0:1::5", "a node, BMC or switch"},
		{"203.0.113.9", "this machine"}, /* by an interface of it */
		{"203.0.113.10", NULL},
		{"2001:db8::9", "this machine"},
		{"10.9.9.9", NULL}, /* its own, and allowed */
	};
	struct address_list allowed = {0};
	struct address_list closed = {0};
	struct address_list own = {0};
	uint8_t one[16];

	(void)state;
	assert_int_equal(address_list_add(&allowed, "10.2.0.200/32 127.0.0.2 10.9.9.9"), 0);
	bytes_of("203.0.113.9", one);
	assert_int_equal(address_list_add_one(&own, one), 0);
	bytes_of("2001:db8::9", one);
	assert_int_equal(address_list_add_one(&own, one), 0);
	bytes_of("10.9.9.9", one);
	assert_int_equal(address_list_add_one(&own, one), 0);
	assert_int_equal(address_list_add(&closed, " 10.2.0.0/24  10.3.0.7/32 fd00:0:0:1::/64"), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t address[16];
		const char *why;

		bytes_of(rows[i].address, address);
		why = address_policy_why(address, &allowed, &closed, &own);
		if (strcmp(why ? why : "open", rows[i].why ? rows[i].why : "open") != 0)
			fail_msg("%s: %s", rows[i].address, why ? why : "open");
	}
	address_list_done(&allowed);
	address_list_done(&closed);
	address_list_done(&own);
}

static void test_malformed(void **state)
{
	static const char *const texts[] = {
		"",          "x",      "10.2.0.0/33", "10.2.0.0/-1",  "10.2.0.0/",  "10.2.0.1/24",
		"10.2.0/24", "::/129", "fd00::1/64",  "10.2.0.0/24x", "10.2.0.0/ 8"};
	struct address_prefix prefix;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		if (address_prefix_parse(texts[i], &prefix) != E_MALFORMED)
			fail_msg("%s", texts[i]);
	}
	assert_int_equal(address_prefix_parse("0.0.0.0/0", &prefix), 0);
	assert_int_equal(prefix.bits, 96);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
