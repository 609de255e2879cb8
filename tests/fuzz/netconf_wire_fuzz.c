// links: peregrine_switch
/* Whatever a switch sends by NETCONF. The first line names the data model, and the framing by its
 * second word; the rest is what comes. Messages do not depend on how their bytes are cut, and what
 * is framed comes out of the framing the same; a message that is taken is as deep as is allowed and
 * declares nothing; a membership is one that a port can have; what a plan sends is well-formed. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <libxml/parser.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/switch/netconf/netconf_config_wire.h"
#include "peregrine/switch/netconf/netconf_plan_policy.h"
#include "peregrine/switch/netconf/netconf_wire.h"
#include "peregrine/switch/netconf/netconf_xml_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct netconf_dialect *dialect_of(const char *line, size_t size)
{
	for (size_t i = 0; i < netconf_dialect_count; i++) {
		size_t length = strlen(netconf_dialects[i]->name);

		if (size >= length && memcmp(netconf_dialects[i]->name, line, length) == 0)
			return netconf_dialects[i];
	}
	return netconf_dialects[size % netconf_dialect_count];
}

/* --- a message --- */

static void check_tree(const xmlNode *root)
{
	unsigned depth = 1;

	for (const xmlNode *node = root; node;) {
		assert(node->type != XML_ENTITY_REF_NODE && depth <= NETCONF_DEPTH_LIMIT + 1);
		if (node->children && node->type == XML_ELEMENT_NODE) {
			node = node->children;
			depth++;
			continue;
		}
		while (node && !node->next && node != root) {
			node = node->parent;
			depth--;
		}
		node = !node || node == root ? NULL : node->next;
	}
}

static void well_formed(const char *xml)
{
	struct text text = {0};
	xmlDoc *doc;

	text_addf(&text, "<config xmlns:nc=\"%s\">%s</config>", NETCONF_BASE, xml);
	doc = xmlReadMemory(text_get(&text), (int)text.size, NULL, NULL,
			    XML_PARSE_NONET | XML_PARSE_NOERROR);
	assert(doc && !strchr(xml, '{'));
	xmlFreeDoc(doc);
	text_done(&text);
}

static void plan(struct netconf_config *config, const char *port, bool trunk)
{
	struct switch_edit edit = {
		.kind = EDIT_PORT,
		.after = {.trunk = trunk, .native = 110},
	};
	struct netconf_plan steps = {0};
	struct problem problem = {0};

	text_copy(edit.port, sizeof(edit.port), port);
	if (trunk)
		vlan_set_add_range(&edit.after.tagged, 120, 140);
	if (netconf_plan_edit(config, &edit, 0, &steps, &problem))
		assert(problem_is_set(&problem));
	edit.kind = EDIT_VLAN_CREATE;
	edit.vlan = 110;
	text_copy(edit.vlan_name, sizeof(edit.vlan_name), port);
	assert(netconf_plan_edit(config, &edit, 1, &steps, &problem) == 0);
	for (size_t i = 0; i < steps.count; i++)
		well_formed(steps.steps[i].xml);
	netconf_plan_done(&steps);
}

static void one_line(const char *text)
{
	for (; *text; text++)
		assert((unsigned char)*text >= ' ' && (unsigned char)*text < 127);
}

static void check_ports(struct netconf_config *config)
{
	for (size_t i = 0; i < config->port_count; i++) {
		const struct netconf_port *port = &config->ports[i];
		struct port_vlans vlans;

		assert(port->is.name[0] && port->is.if_index);
		one_line(port->is.name);
		one_line(port->is.alias);
		assert(i == 0 || port->is.if_index != config->ports[i - 1].is.if_index);
		if (!netconf_port_vlans(config, port, &vlans))
			continue;
		assert(vlans.trunk || vlan_set_is_empty(&vlans.tagged));
		assert(vlans.native <= VLAN_LAST && !vlan_set_has(&vlans.tagged, vlans.native));
	}
	for (size_t i = 0; i < config->port_count && i < 4; i++)
		plan(config, config->ports[i].is.name, i % 2);
}

static void check_facts(struct netconf_config *config, const xmlNode *data)
{
	struct switch_reading reading = {0};

	if (netconf_read_neighbors(config, data, &reading) == 0 &&
	    netconf_read_fdb(config, data, &reading) == 0) {
		for (size_t i = 0; i < reading.neighbor_count; i++) {
			one_line(reading.neighbors[i].system);
			assert(reading.neighbors[i].chassis_subtype <= 7 &&
			       reading.neighbors[i].port_subtype <= 7);
		}
		for (size_t i = 0; i < reading.fdb_count; i++)
			assert(reading.fdb[i].vlan <= VLAN_LAST && reading.fdb[i].if_index);
	}
	netconf_read_identity(config->dialect, data, &reading.identity);
	one_line(reading.identity.text);
	switch_reading_done(&reading);
}

static void take_message(const struct netconf_dialect *dialect, const struct text *bytes)
{
	struct netconf_message message = {0};
	struct netconf_config *config = NULL;

	if (netconf_message_parse(text_get(bytes), bytes->size, &message))
		return;
	check_tree(xmlDocGetRootElement(message.doc));
	assert(!message.doc->intSubset);
	one_line(message.error.message);
	if (message.kind == NETCONF_HELLO)
		(void)netconf_hello_offers(&message, "urn:");
	assert((message.verdict == NETCONF_SAYS_DATA) == (message.data != NULL));
	if (message.data && netconf_config_new(dialect, &config) == 0 &&
	    netconf_config_read(config, message.data) == 0) {
		check_ports(config);
		check_facts(config, message.data);
	}
	netconf_config_free(config);
	netconf_message_done(&message);
}

/* --- bytes --- */

/* All messages of a stream that comes in pieces, with a byte between them. */
static int unframe(enum netconf_framing framing, const char *bytes, size_t size, size_t piece,
		   struct text *ret, const struct netconf_dialect *dialect)
{
	struct netconf_frames frames = {.framing = framing};
	int rc = 0;

	while (size > 0 && !rc) {
		size_t part = size < piece ? size : piece;
		size_t used = 0;
		bool whole = false;

		rc = netconf_frames_feed(&frames, bytes, part, &used, &whole);
		assert(used <= part && (used > 0 || rc));
		bytes += used;
		size -= used;
		if (!whole || rc)
			continue;
		text_add_bytes(ret, text_get(&frames.message), frames.message.size);
		text_add_bytes(ret, "\1", 1);
		if (dialect)
			take_message(dialect, &frames.message);
		text_clear(&frames.message);
	}
	netconf_frames_done(&frames);
	return rc;
}

static void frame_again(enum netconf_framing framing, const char *bytes, size_t size)
{
	struct text framed = {0};
	struct text back = {0};

	if (size == 0 || memmem(bytes, size, "]]>", 3) || bytes[size - 1] == ']')
		return;
	netconf_frame(framing, bytes, size, &framed);
	assert(unframe(framing, framed.data, framed.size, 7, &back, NULL) == 0);
	assert(back.size == size + 1 && memcmp(back.data, bytes, size) == 0);
	text_done(&framed);
	text_done(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	const char *newline = size ? memchr(bytes, '\n', size) : NULL;
	size_t head = newline ? (size_t)(newline + 1 - bytes) : 0;
	const struct netconf_dialect *dialect = dialect_of(bytes, head);
	enum netconf_framing framing =
		memmem(bytes, head, "chunked", 7) ? NETCONF_CHUNKED : NETCONF_END_MARK;
	struct text whole = {0};
	struct text pieces = {0};
	int rc;

	bytes += head;
	size -= head;
	rc = unframe(framing, bytes, size, SIZE_MAX, &whole, dialect);
	assert(unframe(framing, bytes, size, 3, &pieces, NULL) == rc);
	assert(whole.size == pieces.size &&
	       (whole.size == 0 || memcmp(whole.data, pieces.data, whole.size) == 0));
	frame_again(framing, bytes, size);
	text_done(&whole);
	text_done(&pieces);
	return 0;
}
