// links: sim_switch_cli
/* Whatever is typed at an emulated switch of any family: its configuration stays one (VLANs from 1
 * to 4094, ports in VLANs of that range), a reboot brings back what was saved, and it can still
 * be shown. The first byte chooses the family, from '0' on; a ^Y in the middle is a reboot. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_cli.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PORTS = 6 };

static void check_set(const struct vlan_set *set)
{
	if ((set->words[0] & 1) != 0 || set->words[VLAN_WORDS - 1] >> 63 != 0)
		abort();
}

static void check(const struct cli_device *device)
{
	const struct cli_config *running = device->store->running;
	struct text text = {0};
	// NOLINTNEXTLINE(performance-no-int-to-ptr): it is only looked at
	struct cli_session view = {.device = (struct cli_device *)(uintptr_t)device};

	check_set(&running->vlans);
	if (!vlan_set_has(&running->vlans, 1))
		abort();
	for (unsigned i = 1; i <= PORTS; i++) {
		const struct cli_port *port = &running->ports[i];
		struct vlan_set tagged;
		unsigned untagged;

		check_set(&port->allowed);
		check_set(&port->untagged);
		if (port->access > VLAN_LAST || port->native > VLAN_LAST)
			abort();
		cli_store_membership(device->store, port, &untagged, &tagged);
		if (!vlan_set_within(&tagged, &running->vlans) ||
		    (untagged != 0 && !vlan_set_has(&running->vlans, untagged)) ||
		    vlan_set_has(&tagged, untagged))
			abort();
	}
	device->family->running(&view, running, NULL, &text);
	if (text.size == 0)
		abort();
	text_done(&text);
}

static void type(struct cli_session *session, const uint8_t *keys, size_t size)
{
	unsigned turns = 0;

	cli_session_feed(session, keys, size);
	while (cli_session_turn(session) && turns++ < 100000)
		text_clear(&session->out);
	text_clear(&session->out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cli_device device = {.password = "p", .hostname = "sw"};
	struct cli_session *session = NULL;
	size_t families = 0;

	if (size < 1)
		return 0;
	while (cli_family_at(families))
		families++;
	if (!families)
		abort();
	device.family = cli_family_at((uint8_t)(data[0] - '0') % families);
	if (cli_store_new(PORTS, &device.family->port, &device.store) != 0 ||
	    cli_session_new(&device, &session) != 0)
		abort();
	for (size_t at = 1; at < size && !session->is_over;) {
		const uint8_t *mark = memchr(data + at, 25, size - at);
		size_t part = mark ? (size_t)(mark - data) - at : size - at;

		type(session, data + at, part);
		at += part + 1;
		if (mark) {
			cli_store_reboot(device.store);
			/* One is a copy of the other, whatever lies between the members. */
			// NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
			if (memcmp(device.store->running, device.store->startup,
				   sizeof(*device.store->running)) != 0)
				abort();
		}
	}
	check(&device);
	cli_session_free(session);
	cli_store_free(device.store);
	return 0;
}
