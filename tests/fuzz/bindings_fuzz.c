// links: peregrine_flowd
/* Whatever JSON the database would say: what is taken of it makes an index in which every number
 * points at something that is there, and any frame can be asked about. */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "peregrine/flowd/binding_store.h"
#include "peregrine/flowd/flow/attribution_policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct attribution_index *index)
{
	for (size_t i = 0; i < index->port_count; i++) {
		const struct index_port *port = &index->ports[i];

		assert(port->switch_index < index->switch_count);
		assert(port->lag == INDEX_NONE || port->lag < index->port_count);
		assert(port->bindings + port->binding_count <= index->binding_count);
	}
	for (size_t i = 0; i < index->binding_count; i++)
		assert(index->bindings[i].network < index->network_count);
	for (size_t i = 0; i < index->nic_count; i++)
		assert(index->nics[i].port == INDEX_NONE ||
		       index->nics[i].port < index->port_count);
	for (size_t i = 0; i < index->tag_count; i++)
		assert(index->tags[i].network < index->network_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bindings bindings = {0};
	struct attribution_index *index = NULL;
	struct problem problem = {0};

	if (bindings_parse((const char *)data, size, &bindings, &problem))
		return 0;
	if (!attribution_index_new(&bindings.rows, &index)) {
		check(index);
		for (uint16_t agent = 0; agent < 8; agent++)
			for (uint32_t input = 0; input < 8; input++) {
				struct flow_key key = {
					.agent = agent,
					.input = input,
					.output = 7 - input,
					.tag = (uint16_t)(input % 3 * 100),
					.told_vlan = VLAN_UNTOLD,
					.vni = input,
					.source_mac = {2, 0, 0, 0, 0, (uint8_t)input}};
				struct attribution a = attribute(index, &key, 1000);

				assert((a.network == INDEX_NONE) == (a.reason != REASON_NONE));
				assert(a.network == INDEX_NONE || a.network < index->network_count);
			}
		attribution_index_free(index);
	}
	bindings_done(&bindings);
	return 0;
}
