/* Subtree filters and edits on trees, by a schema that is a list of paths. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_netconf.h"

enum { DEPTH_MAX = 24, KEEP = 1, KEEP_ALL = 2 };

bool netconf_fail(struct netconf_error *error, const char *tag, const char *format, ...)
{
	va_list list;

	error->type = "application";
	error->tag = tag;
	va_start(list, format);
	(void)vsnprintf(error->message, sizeof(error->message), format, list);
	va_end(list);
	return false;
}

/* --- looking --- */

bool netconf_is(const xmlNode *node, const char *name)
{
	return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

static const xmlNode *switch_netconf_tree_named(const xmlNode *node, const char *name, size_t size)
{
	for (; node; node = node->next) {
		if (node->type == XML_ELEMENT_NODE && strlen((const char *)node->name) == size &&
		    memcmp(node->name, name, size) == 0)
			return node;
	}
	return NULL;
}

const xmlNode *netconf_child(const xmlNode *node, const char *path)
{
	while (node && *path) {
		size_t size = strcspn(path, "/");

		node = switch_netconf_tree_named(node->children, path, size);
		path += size + (path[size] == '/');
	}
	return node;
}

const xmlNode *netconf_next(const xmlNode *node)
{
	return switch_netconf_tree_named(node->next, (const char *)node->name,
					 strlen((const char *)node->name));
}

const char *netconf_text_of(const xmlNode *node, char ret[NETCONF_TEXT])
{
	xmlChar *content = node ? xmlNodeGetContent(node) : NULL;
	const char *text = content ? (const char *)content : "";
	size_t size;

	text += strspn(text, " \t\r\n");
	(void)text_copy(ret, NETCONF_TEXT, text);
	size = strlen(ret);
	while (size > 0 && strchr(" \t\r\n", ret[size - 1]))
		ret[--size] = '\0';
	xmlFree(content);
	return ret;
}

const char *netconf_leaf(const xmlNode *node, const char *path, char ret[NETCONF_TEXT])
{
	return netconf_text_of(netconf_child(node, path), ret);
}

void netconf_quote(struct text *out, const char *value)
{
	for (; *value; value++) {
		switch (*value) {
		case '<': text_add(out, "&lt;"); break;
		case '>': text_add(out, "&gt;"); break;
		case '&': text_add(out, "&amp;"); break;
		case '"': text_add(out, "&quot;"); break;
		default: text_add_bytes(out, value, 1); break;
		}
	}
}

void netconf_add(struct text *out, const char *name, const char *value)
{
	text_addf(out, "<%s>", name);
	netconf_quote(out, value);
	text_addf(out, "</%s>", name);
}

void netconf_addu(struct text *out, const char *name, unsigned value)
{
	text_addf(out, "<%s>%u</%s>", name, value, name);
}

bool netconf_vlan(const char *text, const char *prefix, uint16_t *ret, struct netconf_error *error)
{
	size_t size = strlen(prefix);
	char *end;
	unsigned long number;

	if (strncmp(text, prefix, size) != 0 || !isdigit((unsigned char)text[size]))
		return netconf_fail(error, "invalid-value", "\"%.40s\" is not a valid value", text);
	number = strtoul(text + size, &end, 10);
	if (*end || number < VLAN_FIRST || number > VLAN_LAST)
		return netconf_fail(error, "invalid-value", "\"%.40s\" is out of range", text);
	*ret = (uint16_t)number;
	return true;
}

/* --- subtree filters --- */

static bool same_name(const xmlNode *a, const xmlNode *b)
{
	if (!xmlStrEqual(a->name, b->name))
		return false;
	return !a->ns || !a->ns->href[0] || !b->ns || xmlStrEqual(a->ns->href, b->ns->href);
}

static bool has_elements(const xmlNode *node)
{
	for (const xmlNode *child = node->children; child; child = child->next) {
		if (child->type == XML_ELEMENT_NODE)
			return true;
	}
	return false;
}

static bool is_content_match(const xmlNode *filter)
{
	char text[NETCONF_TEXT];

	return !has_elements(filter) && netconf_text_of(filter, text)[0];
}

static xmlNode *match_in(xmlNode *data, const xmlNode *filter)
{
	char want[NETCONF_TEXT];
	char is[NETCONF_TEXT];

	for (xmlNode *child = data->children; child; child = child->next) {
		if (child->type == XML_ELEMENT_NODE && same_name(filter, child) &&
		    strcmp(netconf_text_of(child, is), netconf_text_of(filter, want)) == 0)
			return child;
	}
	return NULL;
}

static void switch_netconf_tree_mark(xmlNode *node, int how)
{
	if ((intptr_t)node->_private < how)
		node->_private = (void *)(intptr_t)how;
}

static void select_in(xmlNode *data, const xmlNode *filter);

/* Is one node selected? Marks what of it is. */
static void select_node(xmlNode *data, const xmlNode *filter)
{
	bool selects = false;

	for (const xmlNode *part = filter->children; part; part = part->next) {
		if (part->type != XML_ELEMENT_NODE)
			continue;
		if (!is_content_match(part))
			selects = true;
		else if (!match_in(data, part))
			return;
	}
	if (!selects) {
		switch_netconf_tree_mark(data, KEEP_ALL);
		return;
	}
	switch_netconf_tree_mark(data, KEEP);
	for (const xmlNode *part = filter->children; part; part = part->next) {
		if (part->type == XML_ELEMENT_NODE && is_content_match(part))
			switch_netconf_tree_mark(match_in(data, part), KEEP_ALL);
	}
	select_in(data, filter);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the emulator's own tree */
static void select_in(xmlNode *data, const xmlNode *filter)
{
	for (const xmlNode *part = filter->children; part; part = part->next) {
		if (part->type != XML_ELEMENT_NODE || is_content_match(part))
			continue;
		for (xmlNode *child = data->children; child; child = child->next) {
			if (child->type == XML_ELEMENT_NODE && same_name(part, child))
				select_node(child, part);
		}
	}
}

/* A container of which nothing was selected is not there. */
static bool switch_netconf_tree_sweep(xmlNode *node)
{
	bool any = false;

	for (xmlNode *child = node->children, *next; child; child = next) {
		next = child->next;
		if ((intptr_t)child->_private == KEEP_ALL ||
		    ((intptr_t)child->_private == KEEP && switch_netconf_tree_sweep(child))) {
			any = true;
			continue;
		}
		xmlUnlinkNode(child);
		xmlFreeNode(child);
	}
	return any;
}

void netconf_filter(xmlNode *data, const xmlNode *filter)
{
	select_in(data, filter);
	(void)switch_netconf_tree_sweep(data);
}

/* --- the schema --- */

struct found {
	const char *keys; /* of a list: what stands between its brackets */
	size_t keys_size;
	bool is_list, is_leaf, is_leaf_list, is_choice;
	const char *uri;
};

static const char *uri_of(const struct netconf_model *model, const char *prefix, size_t size)
{
	for (const struct netconf_namespace *row = model->namespaces; row->prefix; row++) {
		if (strlen(row->prefix) == size && memcmp(row->prefix, prefix, size) == 0)
			return row->uri;
	}
	return model->namespaces[0].uri;
}

/* One segment of a row; *at moves behind it. */
static bool segment_is(const struct netconf_model *model, const char **at, const char *name,
		       struct found *ret)
{
	const char *segment = *at;
	size_t size = strcspn(segment, "/");
	const char *colon = memchr(segment, ':', size);
	const char *start = colon ? colon + 1 : segment;
	size_t length = strcspn(start, "[*|/");
	const char *rest = start + length;

	*at = segment + size + (segment[size] == '/');
	if (strlen(name) != length || memcmp(name, start, length) != 0)
		return false;
	if (colon)
		ret->uri = uri_of(model, segment, (size_t)(colon - segment));
	ret->is_list = *rest == '[';
	ret->keys = rest + 1;
	ret->keys_size = ret->is_list ? strcspn(rest + 1, "]") : 0;
	ret->is_leaf_list = *rest == '*';
	ret->is_choice = *rest == '|';
	ret->is_leaf = **at == '\0';
	return true;
}

static bool row_is(const struct netconf_model *model, const char *row,
		   const xmlNode *const names[DEPTH_MAX], size_t count, struct found *ret)
{
	*ret = (struct found){.uri = model->namespaces[0].uri};
	for (size_t i = 0; i < count; i++) {
		if (!*row || !segment_is(model, &row, (const char *)names[i]->name, ret))
			return false;
	}
	return true;
}

/* <config>, also as ncclient sends it: without a namespace. */
static bool is_base(const xmlNode *node)
{
	return !node->ns || strcmp((const char *)node->ns->href, NETCONF_BASE) == 0;
}

/* What the schema says of an element below <config>. */
static bool find_row(const struct netconf_model *model, const xmlNode *node, struct found *ret)
{
	const xmlNode *names[DEPTH_MAX];
	size_t low = DEPTH_MAX;
	size_t count;

	while (node && low > 0 && node->type == XML_ELEMENT_NODE && !is_base(node)) {
		names[--low] = node;
		node = node->parent;
	}
	count = DEPTH_MAX - low;
	for (const char *const *row = model->schema; *row && count > 0; row++) {
		if (row_is(model, *row, names + low, count, ret))
			return true;
	}
	return false;
}

/* --- edits --- */

struct edit {
	const struct netconf_model *model;
	struct netconf_error *error;
};

static bool bad_element(struct edit *edit, const char *tag, const xmlNode *node,
			const char *message)
{
	(void)text_copy(edit->error->bad_element, sizeof(edit->error->bad_element),
			(const char *)node->name);
	return netconf_fail(edit->error, tag, "%s: %.64s", message, (const char *)node->name);
}

static bool switch_netconf_tree_check(struct edit *edit, const xmlNode *node, struct found *ret)
{
	if (!find_row(edit->model, node, ret))
		return bad_element(edit, "unknown-element", node, "unknown element");
	if (!node->ns || strcmp((const char *)node->ns->href, ret->uri) != 0)
		return bad_element(edit, "unknown-namespace", node, "unexpected namespace");
	return true;
}

static bool each_key(const struct found *row, size_t *at, char key[64])
{
	size_t size;

	while (*at < row->keys_size && row->keys[*at] == ' ')
		(*at)++;
	size = 0;
	while (*at + size < row->keys_size && row->keys[*at + size] != ' ')
		size++;
	if (size == 0 || size >= 64)
		return false;
	memcpy(key, row->keys + *at, size);
	key[size] = '\0';
	*at += size;
	return true;
}

static bool has_keys(struct edit *edit, const xmlNode *node, const struct found *row)
{
	char key[64];

	for (size_t at = 0; each_key(row, &at, key);) {
		if (!netconf_child(node, key)) {
			(void)text_copy(edit->error->bad_element, sizeof(edit->error->bad_element),
					key);
			return netconf_fail(edit->error, "missing-element", "missing key: %s", key);
		}
	}
	return true;
}

static bool same_keys(const xmlNode *a, const xmlNode *b, const struct found *row)
{
	char key[64];
	char left[NETCONF_TEXT];
	char right[NETCONF_TEXT];

	for (size_t at = 0; each_key(row, &at, key);) {
		if (strcmp(netconf_leaf(a, key, left), netconf_leaf(b, key, right)) != 0)
			return false;
	}
	return true;
}

/* The same thing in the tree that is edited. */
static xmlNode *switch_netconf_tree_instance(xmlNode *parent, const xmlNode *node,
					     const struct found *row)
{
	char left[NETCONF_TEXT];
	char right[NETCONF_TEXT];

	for (xmlNode *child = parent->children; child; child = child->next) {
		if (child->type != XML_ELEMENT_NODE || !same_name(node, child))
			continue;
		if (row->is_list && !same_keys(child, node, row))
			continue;
		if (row->is_leaf_list &&
		    strcmp(netconf_text_of(child, left), netconf_text_of(node, right)) != 0)
			continue;
		return child;
	}
	return NULL;
}

static void switch_netconf_tree_drop(xmlNode *node)
{
	if (!node)
		return;
	xmlUnlinkNode(node);
	xmlFreeNode(node);
}

/* Another case of the choice goes. */
static void drop_cases(struct edit *edit, xmlNode *parent, const xmlNode *but)
{
	for (xmlNode *child = parent->children, *next; child; child = next) {
		struct found row;

		next = child->next;
		if (child != but && child->type == XML_ELEMENT_NODE &&
		    find_row(edit->model, child, &row) && row.is_choice && !same_name(child, but))
			switch_netconf_tree_drop(child);
	}
}

static bool check_all(struct edit *edit, const xmlNode *node)
{
	struct found row;

	if (!switch_netconf_tree_check(edit, node, &row) ||
	    (row.is_list && !has_keys(edit, node, &row)))
		return false;
	for (const xmlNode *child = node->children; child; child = child->next) {
		/* NOLINTNEXTLINE(misc-no-recursion): as deep as the schema */
		if (child->type == XML_ELEMENT_NODE && !check_all(edit, child))
			return false;
	}
	return true;
}

static bool switch_netconf_tree_put(struct edit *edit, xmlNode *parent, const xmlNode *node,
				    const struct found *row)
{
	xmlNode *copy;

	if (!check_all(edit, node))
		return false;
	copy = xmlDocCopyNode((xmlNode *)(uintptr_t)node, parent->doc, 1);
	if (!copy)
		return netconf_fail(edit->error, "resource-denied", "no memory");
	(void)xmlAddChild(parent, copy);
	if (row->is_choice)
		drop_cases(edit, parent, copy);
	return true;
}

static const char *operation_of(const xmlNode *node, const char *inherited, char ret[16])
{
	xmlChar *value = xmlGetNsProp((xmlNode *)(uintptr_t)node, (const xmlChar *)"operation",
				      (const xmlChar *)NETCONF_BASE);

	(void)text_copy(ret, 16, value ? (const char *)value : inherited);
	xmlFree(value);
	return ret;
}

static bool switch_netconf_tree_apply(struct edit *edit, xmlNode *target, const xmlNode *changes,
				      const char *inherited);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the schema */
static bool switch_netconf_tree_merge(struct edit *edit, xmlNode *target, xmlNode *is,
				      const xmlNode *node, const struct found *row,
				      const char *operation)
{
	if (row->is_leaf) {
		if (strcmp(operation, "none") == 0 || (is && row->is_leaf_list))
			return true;
		switch_netconf_tree_drop(is);
		return switch_netconf_tree_put(edit, target, node, row);
	}
	if (!is && strcmp(operation, "none") == 0)
		return bad_element(edit, "data-missing", node, "no such data");
	if (!is) {
		is = xmlDocCopyNode((xmlNode *)(uintptr_t)node, target->doc, 2);
		if (!is)
			return netconf_fail(edit->error, "resource-denied", "no memory");
		(void)xmlAddChild(target, is);
		if (row->is_choice)
			drop_cases(edit, target, is);
	}
	return switch_netconf_tree_apply(edit, is, node, operation);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the schema */
static bool apply_one(struct edit *edit, xmlNode *target, const xmlNode *node,
		      const char *inherited)
{
	char operation[16];
	struct found row;
	xmlNode *is;

	if (!switch_netconf_tree_check(edit, node, &row) ||
	    (row.is_list && !has_keys(edit, node, &row)))
		return false;
	is = switch_netconf_tree_instance(target, node, &row);
	(void)operation_of(node, inherited, operation);
	if (strcmp(operation, "merge") == 0 || strcmp(operation, "none") == 0)
		return switch_netconf_tree_merge(edit, target, is, node, &row, operation);
	if (strcmp(operation, "create") == 0) {
		if (is)
			return bad_element(edit, "data-exists", node, "it exists");
		return switch_netconf_tree_put(edit, target, node, &row);
	}
	if (strcmp(operation, "replace") == 0) {
		if (!is && row.is_list && edit->model->replace_needs_target)
			return bad_element(edit, "invalid-value", node, "no such entry");
		switch_netconf_tree_drop(is);
		return switch_netconf_tree_put(edit, target, node, &row);
	}
	if (strcmp(operation, "delete") == 0 && !is)
		return bad_element(edit, "data-missing", node, "no such data");
	if (strcmp(operation, "delete") != 0 && strcmp(operation, "remove") != 0)
		return netconf_fail(edit->error, "bad-attribute", "operation %s", operation);
	switch_netconf_tree_drop(is);
	return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the schema */
static bool switch_netconf_tree_apply(struct edit *edit, xmlNode *target, const xmlNode *changes,
				      const char *inherited)
{
	for (const xmlNode *node = changes->children; node; node = node->next) {
		if (node->type == XML_ELEMENT_NODE && !apply_one(edit, target, node, inherited))
			return false;
	}
	return true;
}

bool netconf_edit(const struct netconf_model *model, xmlNode *data, const xmlNode *edit,
		  const char *operation, struct netconf_error *error)
{
	struct edit about = {.model = model, .error = error};

	return switch_netconf_tree_apply(&about, data, edit, operation);
}
