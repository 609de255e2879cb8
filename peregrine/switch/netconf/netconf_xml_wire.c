#include "peregrine/switch/netconf/netconf_xml_wire.h"

#include <errno.h>
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "peregrine/switch/netconf/netconf_wire.h"

/* --- bounds --- */

/* Behind the first `what` in the text; NULL: there is none. */
static const char *netconf_xml_wire_behind(const char *at, const char *end, const char *what)
{
	const char *found = memmem(at, (size_t)(end - at), what, strlen(what));

	return found ? found + strlen(what) : NULL;
}

static bool netconf_xml_wire_starts(const char *at, const char *end, const char *what)
{
	return (size_t)(end - at) >= strlen(what) && memcmp(at, what, strlen(what)) == 0;
}

/* Behind the '>' of the tag at `at`; one within quotes is none. */
static const char *behind_tag(const char *at, const char *end, bool *ret_empty)
{
	char quote = '\0';

	for (; at < end; at++) {
		if (quote) {
			if (*at == quote)
				quote = '\0';
		} else if (*at == '"' || *at == '\'') {
			quote = *at;
		} else if (*at == '>') {
			*ret_empty = at[-1] == '/';
			return at + 1;
		}
	}
	return NULL;
}

/* Before libxml2 sees it: how deep, how many, and no declarations. What is not well formed may
 * pass; libxml2 refuses it. */
static int check_bounds(const char *at, const char *end)
{
	unsigned depth = 0;
	unsigned elements = 0;

	if (memchr(at, '\0',
		   (size_t)(end - at))) /* UTF-16 or UTF-32: what is looked for is not there */
		return E_MALFORMED;
	while ((at = memchr(at, '<', (size_t)(end - at)))) {
		bool is_empty = false;
		bool is_end = netconf_xml_wire_starts(at, end, "</");

		if (netconf_xml_wire_starts(at, end, "<!--")) {
			at = netconf_xml_wire_behind(at + 4, end, "-->");
		} else if (netconf_xml_wire_starts(at, end, "<![CDATA[")) {
			at = netconf_xml_wire_behind(at, end, "]]>");
		} else if (netconf_xml_wire_starts(at, end, "<?")) {
			at = netconf_xml_wire_behind(at, end, "?>");
		} else if (netconf_xml_wire_starts(at, end, "<!")) {
			return E_MALFORMED;
		} else {
			at = behind_tag(at + 1, end, &is_empty);
			if (is_end)
				depth -= depth > 0;
			else if (!is_empty)
				depth++;
			if (depth > NETCONF_DEPTH_LIMIT || ++elements > NETCONF_ELEMENT_LIMIT)
				return E_LIMIT;
		}
		if (!at)
			return E_MALFORMED;
	}
	return 0;
}

/* --- looking --- */

static const xmlNode *element_named(const xmlNode *node, const char *name, size_t size)
{
	for (; node; node = node->next) {
		if (node->type != XML_ELEMENT_NODE)
			continue;
		if ((size == 1 && *name == '*') || (strlen((const char *)node->name) == size &&
						    memcmp(node->name, name, size) == 0))
			return node;
	}
	return NULL;
}

const xmlNode *netconf_find(const xmlNode *node, const char *path)
{
	while (node && *path) {
		size_t size = strcspn(path, "/");

		if (size == 2 && path[0] == '.' && path[1] == '.')
			node = node->parent && node->parent->type == XML_ELEMENT_NODE ? node->parent
										      : NULL;
		else
			node = element_named(node->children, path, size);
		path += size + (path[size] == '/');
	}
	return node;
}

const xmlNode *netconf_again(const xmlNode *node)
{
	return element_named(node->next, (const char *)node->name,
			     strlen((const char *)node->name));
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the path is long, which is a constant of ours */
bool netconf_each(const xmlNode *node, const char *path, netconf_each_fn each, void *context)
{
	size_t size = strcspn(path, "/");
	const char *rest = path + size + (path[size] == '/');

	if (!*path)
		return each(context, node);
	node = element_named(node->children, path, size);
	for (; node; node = element_named(node->next, path, size)) {
		if (!netconf_each(node, rest, each, context))
			return false;
	}
	return true;
}

const char *netconf_text(const xmlNode *node, char ret[NETCONF_TEXT_LIMIT])
{
	static const char spaces[] = " \t\r\n";
	size_t size = 0;

	ret[0] = '\0';
	for (const xmlNode *part = node ? node->children : NULL; part; part = part->next) {
		size_t more;

		if ((part->type != XML_TEXT_NODE && part->type != XML_CDATA_SECTION_NODE) ||
		    !part->content)
			continue;
		more = strlen((const char *)part->content);
		if (more >= NETCONF_TEXT_LIMIT - size) {
			ret[0] = '\0';
			return ret;
		}
		memcpy(ret + size, part->content, more + 1);
		size += more;
	}
	while (size > 0 && strchr(spaces, ret[size - 1]))
		ret[--size] = '\0';
	return ret + strspn(ret, spaces);
}

void netconf_escape(struct text *out, const char *value)
{
	for (; *value; value++) {
		switch (*value) {
		case '<': text_add(out, "&lt;"); break;
		case '>': text_add(out, "&gt;"); break;
		case '&': text_add(out, "&amp;"); break;
		default:
			if ((unsigned char)*value >= ' ')
				text_add_bytes(out, value, 1);
			break;
		}
	}
}

/* --- messages --- */

void netconf_message_done(struct netconf_message *message)
{
	xmlFreeDoc(message->doc);
	*message = (struct netconf_message){0};
}

static const struct {
	const char *uri;
	enum netconf_capability bit;
} capability_rows[] = {
	{"urn:ietf:params:netconf:base:1.0", NETCONF_BASE_10},
	{"urn:ietf:params:netconf:base:1.1", NETCONF_BASE_11},
	{"urn:ietf:params:netconf:capability:candidate:1.0", NETCONF_CANDIDATE},
	{"urn:ietf:params:netconf:capability:writable-running:1.0", NETCONF_WRITABLE_RUNNING},
	{"urn:ietf:params:netconf:capability:confirmed-commit:1.1", NETCONF_CONFIRMED_COMMIT},
	{"urn:ietf:params:netconf:capability:rollback-on-error:1.0", NETCONF_ROLLBACK_ON_ERROR},
	{"urn:ietf:params:netconf:capability:validate:1.0", NETCONF_VALIDATE},
	{"urn:ietf:params:netconf:capability:validate:1.1", NETCONF_VALIDATE},
	{"urn:ietf:params:netconf:capability:startup:1.0", NETCONF_STARTUP},
};

static int read_hello(const xmlNode *root, struct netconf_message *ret)
{
	const xmlNode *node = netconf_find(root, "capabilities/capability");
	char room[NETCONF_TEXT_LIMIT];

	ret->kind = NETCONF_HELLO;
	for (; node; node = netconf_again(node)) {
		const char *uri = netconf_text(node, room);

		for (size_t i = 0; i < COUNT_OF(capability_rows); i++) {
			if (strcmp(capability_rows[i].uri, uri) == 0)
				ret->capabilities |= capability_rows[i].bit;
		}
	}
	return ret->capabilities & (NETCONF_BASE_10 | NETCONF_BASE_11) ? 0 : E_MALFORMED;
}

bool netconf_hello_offers(const struct netconf_message *hello, const char *uri)
{
	const xmlNode *node =
		netconf_find(xmlDocGetRootElement(hello->doc), "capabilities/capability");
	char room[NETCONF_TEXT_LIMIT];

	for (; node; node = netconf_again(node)) {
		const char *text = netconf_text(node, room);

		if (*uri ? strncmp(text, uri, strlen(uri)) == 0 : strstr(text, "module=") != NULL)
			return true;
	}
	return false;
}

static void copy_field(const xmlNode *error, const char *name, char *ret, size_t size)
{
	char room[NETCONF_TEXT_LIMIT];

	text_copy(ret, size, netconf_text(netconf_find(error, name), room));
	/* It goes into problems: one line, and whole characters only. */
	for (; *ret; ret++) {
		if ((unsigned char)*ret < ' ' || (unsigned char)*ret >= 127)
			*ret = '?';
	}
}

static bool is_warning(const xmlNode *error)
{
	char room[NETCONF_TEXT_LIMIT];

	return strcmp(netconf_text(netconf_find(error, "error-severity"), room), "warning") == 0;
}

static void read_verdict(const xmlNode *root, struct netconf_message *ret)
{
	const xmlNode *error = netconf_find(root, "rpc-error");

	while (error && is_warning(error))
		error = netconf_again(error);
	if (error) {
		ret->verdict = NETCONF_SAYS_REFUSED;
		copy_field(error, "error-tag", ret->error.tag, sizeof(ret->error.tag));
		copy_field(error, "error-path", ret->error.path, sizeof(ret->error.path));
		copy_field(error, "error-message", ret->error.message, sizeof(ret->error.message));
		return;
	}
	ret->data = netconf_find(root, "data");
	if (ret->data)
		ret->verdict = NETCONF_SAYS_DATA;
	else
		ret->verdict = netconf_find(root, "ok") ? NETCONF_SAYS_OK : NETCONF_SAYS_OTHER;
}

static uint32_t netconf_xml_wire_read_id(xmlNode *root)
{
	xmlChar *text = xmlGetNoNsProp(root, (const xmlChar *)"message-id");
	unsigned long id = text ? strtoul((const char *)text, NULL, 10) : 0;

	xmlFree(text);
	return id <= UINT32_MAX ? (uint32_t)id : 0;
}

static bool is_named(const xmlNode *node, const char *name)
{
	return strcmp((const char *)node->name, name) == 0;
}

static int read_root(xmlNode *root, struct netconf_message *ret)
{
	if (is_named(root, "hello"))
		return read_hello(root, ret);
	if (is_named(root, "rpc-reply")) {
		ret->kind = NETCONF_REPLY;
		ret->id = netconf_xml_wire_read_id(root);
		read_verdict(root, ret);
		return 0;
	}
	ret->kind = NETCONF_NOTIFICATION;
	return is_named(root, "notification") ? 0 : E_MALFORMED;
}

int netconf_message_parse(const char *bytes, size_t size, struct netconf_message *ret)
{
	/* XML_PARSE_HUGE stays away: libxml2's own bounds hold as well. */
	static const int options =
		XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_COMPACT;
	struct netconf_message message = {0};
	xmlNode *root;
	int rc = size > NETCONF_MESSAGE_LIMIT ? E_LIMIT : check_bounds(bytes, bytes + size);

	if (rc)
		return rc;
	/* As it was read here (RFC 6241, 3), whatever the message says of itself. */
	message.doc = xmlReadMemory(bytes, (int)size, NULL, "UTF-8", options);
	root = message.doc ? xmlDocGetRootElement(message.doc) : NULL;
	rc = E_MALFORMED;
	if (root && !message.doc->intSubset)
		rc = read_root(root, &message);
	if (rc) {
		netconf_message_done(&message);
		return rc;
	}
	*ret = message;
	return 0;
}
