#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/io/file.h"

#include "tests/sim/command_line/switch_cli.h"

enum { FAULTS_MAX = 1 << 16 };

void cli_device_reboot(struct cli_device *device)
{
	cli_store_reboot(device->store);
	device->generation++;
	device->configuring = NULL;
}

static void do_once(struct cli_device *device, const struct cli_faults *before)
{
	const struct cli_faults *now = &device->faults;
	struct cli_store *store = device->store;

	if (now->foreign_port >= 1 && now->foreign_port <= store->port_count &&
	    (now->foreign_port != before->foreign_port ||
	     now->foreign_vid != before->foreign_vid)) {
		struct cli_port *port = &store->running->ports[now->foreign_port];

		if (!vlan_set_has(&store->running->vlans, now->foreign_vid))
			cli_store_create(store, now->foreign_vid, "");
		if (port->mode == CLI_GENERAL && port->link != CLI_LINK_NONE) {
			port->untagged = (struct vlan_set){{0}};
			vlan_set_add(&port->untagged, now->foreign_vid);
			port->native = (uint16_t)now->foreign_vid;
		} else if (port->mode != CLI_MEMBER) {
			port->mode = CLI_ACCESS;
		}
		port->access = (uint16_t)now->foreign_vid;
		port->allowed = (struct vlan_set){{0}};
		store->is_saved = false;
	}
	if (now->reboot != 0 && now->reboot != before->reboot)
		cli_device_reboot(device);
	if (cli_store_push(store) != 0)
		(void)fprintf(stderr, "switch_cli: the data plane does not answer\n");
}

void cli_device_refresh(struct cli_device *device)
{
	struct cli_faults before = device->faults;
	struct stat about = {0};
	char *text = NULL;
	char wrong[64] = "";
	size_t size = 0;

	if (!device->faults_path)
		return;
	(void)stat(device->faults_path, &about);
	if (about.st_mtim.tv_sec == device->faults_read.tv_sec &&
	    about.st_mtim.tv_nsec == device->faults_read.tv_nsec)
		return;
	device->faults_read = about.st_mtim;
	if (file_read(device->faults_path, FAULTS_MAX, &text, &size) != 0)
		device->faults = (struct cli_faults){0};
	else if (cli_faults_read(text, &device->faults, wrong) != 0)
		(void)fprintf(stderr, "switch_cli: %s: no such fault: %s\n", device->faults_path,
			      wrong);
	free(text);
	/* What was done once stays done when its word goes. */
	if (device->faults.reboot == 0)
		device->faults.reboot = before.reboot;
	do_once(device, &before);
}

bool cli_is_reserved(const struct cli_session *session, unsigned vid)
{
	const struct cli_family *family = session->device->family;

	return vid >= family->reserved_low && vid <= family->reserved_high && vid != 0;
}

void cli_say(struct cli_call *call, enum cli_say what, unsigned number)
{
	const char *text = call->session->device->family->says[what];
	const char *hole = text ? strstr(text, "{}") : NULL;

	if (!text)
		text = "% Error\n";
	if (hole)
		text_addf(call->out, "%.*s%u%s", (int)(hole - text), text, number, hole + 2);
	else
		text_add(call->out, text);
}

/* `format` with what its {x} stand for. */
static void switch_cli_device_fill_in(struct text *out, const char *format,
				      const char *const keys[][2])
{
	while (*format) {
		size_t size = strcspn(format, "{");

		text_add_bytes(out, format, size);
		format += size;
		for (size_t i = 0; *format == '{' && keys[i][0]; i++) {
			if (strncmp(format, keys[i][0], 3) == 0) {
				text_add(out, keys[i][1]);
				format += 3;
			}
		}
		if (*format == '{')
			text_add_bytes(out, format++, 1);
	}
}

void cli_prompt(const struct cli_session *session, struct text *ret)
{
	const struct cli_device *device = session->device;
	unsigned first = cli_ports_next(&session->ports, 1);
	bool several = first != 0 && cli_ports_next(&session->ports, first + 1) != 0;
	const char *const keys[][2] = {{"{h}", device->hostname},
				       {"{l}", session->level_name},
				       {"{d}", several ? "-range" : ""},
				       {NULL, NULL}};

	switch_cli_device_fill_in(ret, device->family->prompts[session->mode], keys);
}

void cli_complain(const struct cli_session *session, const struct cli_parsed *parsed,
		  const char *line, struct text *out)
{
	const struct cli_family *family = session->device->family;
	struct text prompt = {0};
	char word[128];
	const char *const keys[][2] = {{"{w}", word}, {"{l}", line}, {NULL, NULL}};

	if (family->has_caret && (family->caret_at_end || (parsed->result != CLI_AMBIGUOUS &&
							   parsed->result != CLI_INCOMPLETE))) {
		cli_prompt(session, &prompt);
		text_addf(out, "%*s^\n", (int)(prompt.size + parsed->at) + family->caret_shift, "");
		text_done(&prompt);
	}
	(void)text_format(word, sizeof(word), "%.*s", (int)parsed->length, line + parsed->at);
	switch_cli_device_fill_in(out, family->complaints[parsed->result], keys);
}

void cli_ask(struct cli_session *session, struct text *out, const char *question, cli_answer answer)
{
	if (session->is_raw) { /* nobody is there to be asked */
		answer(session, "y", out);
		return;
	}
	text_add(out, question);
	session->answer = answer;
}

static void make_pending(struct cli_session *session)
{
	struct cli_store *store = session->device->store;
	const struct vlan_set *vids = &session->vids;

	for (unsigned v = vlan_set_next(vids, 1); v; v = vlan_set_next(vids, v + 1)) {
		if (!vlan_set_has(&store->running->vlans, v))
			cli_store_create(store, v, session->pending_name);
	}
	session->pending_name[0] = '\0';
	if (cli_store_push(store) != 0)
		(void)fprintf(stderr, "switch_cli: the data plane does not answer\n");
}

void cli_leave(struct cli_session *session, enum cli_mode mode)
{
	if (session->mode == CLI_VLAN && session->device->family->vlan_on_exit)
		make_pending(session);
	session->vids = (struct vlan_set){{0}};
	session->ports = (struct cli_ports){{0}};
	session->level_name[0] = '\0';
	session->mode = mode;
	if (mode <= CLI_ENABLE && session->device->configuring == session)
		session->device->configuring = NULL;
}

bool cli_configure(struct cli_call *call)
{
	struct cli_device *device = call->session->device;

	bool is_locked = device->faults.locked && device->family->says[CLI_SAYS_LOCKED];

	if (is_locked || (device->family->needs_lock && device->configuring &&
			  device->configuring != call->session)) {
		cli_say(call, CLI_SAYS_LOCKED, 0);
		return false;
	}
	if (device->family->needs_lock)
		device->configuring = call->session;
	call->session->mode = CLI_CONFIG;
	if (device->family->configure_text)
		text_add(call->out, device->family->configure_text);
	return true;
}
