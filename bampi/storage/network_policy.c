#include "bampi/storage/network_policy.h"

#include <stdlib.h>
#include <string.h>

int network_interface_vlan(const char *name)
{
	const size_t prefix = strlen(NETWORK_INTERFACE_PREFIX);
	char *end;
	long vlan;

	if (strncmp(name, NETWORK_INTERFACE_PREFIX, prefix) != 0 || name[prefix] < '1' ||
	    name[prefix] > '9')
		return 0;
	vlan = strtol(name + prefix, &end, 10);
	return *end == '\0' && vlan <= 4094 ? (int)vlan : 0;
}

static bool network_policy_is_of(const struct network_interface *interface, int vlan)
{
	return network_interface_vlan(interface->name) == vlan;
}

static const struct storage_network *wanted_at(const struct storage_network networks[],
					       size_t count, int vlan)
{
	for (size_t i = 0; i < count; i++) {
		if (networks[i].vlan == vlan)
			return &networks[i];
	}
	return NULL;
}

/* NULL: the interface is there, has this address and no other, is up and passes nothing on. */
static const char *interface_fault(const struct storage_network *network,
				   const struct network_sight *sight)
{
	bool there = false;
	bool right = false;

	for (size_t i = 0; i < sight->interface_count; i++) {
		const struct network_interface *interface = &sight->interfaces[i];

		if (!network_policy_is_of(interface, network->vlan))
			continue;
		there = true;
		if (!interface->up)
			return "its interface is down";
		if (interface->forwards)
			return "its interface passes packets on to other networks";
		if (interface->address[0] && (strcmp(interface->address, network->address) != 0 ||
					      interface->length != network->length))
			return "its interface has another address";
		right |= interface->address[0] != '\0';
	}
	if (!there)
		return "it has no interface";
	return right ? NULL : "its interface has no address";
}

static bool network_policy_listens(const struct storage_network *network,
				   const struct network_sight *sight)
{
	for (size_t i = 0; i < sight->portal_count; i++) {
		if (strcmp(sight->portals[i].text, network->portal) == 0)
			return true;
	}
	return false;
}

bool network_is_up(const struct storage_network *network, const struct network_sight *sight,
		   const char **ret_why)
{
	const char *fault = interface_fault(network, sight);

	if (!fault && !network_policy_listens(network, sight))
		fault = "the target software does not listen on its address";
	*ret_why = fault;
	return !fault;
}

/* Its address is of no interface, or of one of ours that goes. Wildcards stay: somebody chose them.
 */
static bool portal_is_left(const struct storage_portal *portal,
			   const struct storage_network networks[], size_t count,
			   const struct network_sight *sight)
{
	char address[STORAGE_PORTAL_SIZE];
	const char *colon = strrchr(portal->text, ':');
	size_t size = colon ? (size_t)(colon - portal->text) : 0;

	if (size == 0 || portal->text[0] == '[') /* IPv6: none of ours */
		return false;
	memcpy(address, portal->text, size);
	address[size] = '\0';
	if (strcmp(address, "0.0.0.0") == 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(networks[i].portal, portal->text) == 0)
			return false;
	}
	for (size_t i = 0; i < sight->interface_count; i++) {
		const struct network_interface *interface = &sight->interfaces[i];

		if (strcmp(interface->address, address) == 0)
			return network_interface_vlan(interface->name) != 0;
	}
	return true;
}

struct steps {
	struct network_step *list;
	size_t count, room;
};

static void network_policy_add(struct steps *steps, struct network_step step)
{
	if (steps->count < steps->room)
		steps->list[steps->count++] = step;
}

size_t network_decide(const struct storage_network networks[], size_t count,
		      const struct network_sight *sight, struct network_step ret[], size_t room)
{
	struct steps steps = {.list = ret, .room = room};
	int before = 0;

	for (size_t i = 0; i < sight->portal_count; i++) {
		if (portal_is_left(&sight->portals[i], networks, count, sight))
			network_policy_add(&steps,
					   (struct network_step){.deed = NETWORK_DEAF,
								 .portal = &sight->portals[i]});
	}
	for (size_t i = 0; i < sight->interface_count; i++) {
		int vlan = network_interface_vlan(sight->interfaces[i].name);

		/* one with several addresses is there several times, side by side */
		if (vlan && vlan != before && !wanted_at(networks, count, vlan))
			network_policy_add(
				&steps, (struct network_step){.deed = NETWORK_DOWN, .vlan = vlan});
		before = vlan;
	}
	for (size_t i = 0; i < count; i++) {
		if (interface_fault(&networks[i], sight))
			network_policy_add(&steps, (struct network_step){.deed = NETWORK_UP,
									 .vlan = networks[i].vlan,
									 .network = &networks[i]});
		else if (!network_policy_listens(&networks[i], sight))
			network_policy_add(&steps, (struct network_step){.deed = NETWORK_LISTEN,
									 .network = &networks[i]});
	}
	return steps.count;
}
