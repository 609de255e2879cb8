#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "tests/sim/switch/switch_ovs_private.h"

enum { TUNNEL_NUMBER = 200 }; /* OpenFlow ports above all that an emulator counts */

/* `script` cut at its blanks: no name of a port here has one. */
static int switch_ovs_mirror_run(const struct switch_ovs *ovs, struct text *script)
{
	const char *words[SWITCH_VSCTL_WORDS] = {"ovs-vsctl", "--timeout=20"};
	char database[128];
	char *rest = NULL;
	size_t count = 2;

	if (!text_format(database, sizeof(database), "--db=unix:%s", ovs->database.path) ||
	    script->failed || !script->data)
		return E_LIMIT;
	words[count++] = database;
	for (char *word = strtok_r(script->data, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest)) {
		if (count + 1 == SWITCH_VSCTL_WORDS)
			return E_LIMIT;
		words[count++] = word;
	}
	return switch_ovs_vsctl(words);
}

static void write_sources(const struct switch_ovs_mirror *mirror, const char *column,
			  struct text *out)
{
	text_addf(out, " %s=", column);
	for (size_t i = 0; i < mirror->count; i++)
		text_addf(out, "%s@s%zu", i ? "," : "", i);
}

/* In one transaction: what is a mirror's output gets nothing but copies, from the start. */
static void write_made(const struct switch_ovs *ovs, const struct switch_ovs_mirror *mirror,
		       const char *name, struct text *out)
{
	bool is_sent = mirror->target[0] == '\0';

	if (is_sent)
		text_addf(out,
			  " -- add-port %s %s -- set interface %s type=erspan ofport_request=%u "
			  "options:local_ip=%s options:remote_ip=%s options:key=%u "
			  "options:erspan_ver=1 options:erspan_idx=%u",
			  ovs->bridge, name, name, TUNNEL_NUMBER + mirror->number, mirror->from,
			  mirror->to, mirror->id, mirror->number);
	for (size_t i = 0; i < mirror->count; i++)
		text_addf(out, " -- --id=@s%zu get port %s", i, mirror->ports[i]);
	text_addf(out, " -- --id=@t get port %s", is_sent ? name : mirror->target);
	text_addf(out, " -- --id=@m create mirror name=%s output-port=@t", name);
	write_sources(mirror, "select-src-port", out);
	write_sources(mirror, "select-dst-port", out);
	text_addf(out, " -- add bridge %s mirrors @m", ovs->bridge);
}

int switch_ovs_mirror(struct switch_ovs *ovs, const struct switch_ovs_mirror *mirror, bool make)
{
	CLEANUP(text_done) struct text script = {0};
	char name[24];
	int rc;

	if (mirror->count > SWITCH_MIRROR_PORTS)
		return E_LIMIT;
	(void)text_format(name, sizeof(name), "session%u", mirror->number);
	if (make) {
		write_made(ovs, mirror, name, &script);
	} else {
		text_addf(&script, "-- --id=@m get mirror %s -- remove bridge %s mirrors @m", name,
			  ovs->bridge);
		if (mirror->target[0] == '\0')
			text_addf(&script, " -- del-port %s %s", ovs->bridge, name);
	}
	rc = switch_ovs_mirror_run(ovs, &script);
	return rc != 0 ? rc : switch_ovs_purge(ovs); /* a switch copies from now on, or no more */
}
