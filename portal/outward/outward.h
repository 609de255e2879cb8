/* portal-outward: the process that calls out. It tells alerts to receivers outside the controller:
 * a webhook, an Alertmanager, people by a local mail command. And it asks providers of OpenID Connect
 * who somebody is, for portald, on a socket of its own (oidc.h). No other daemon of ours opens a
 * connection to an address that only a configuration names.
 *
 * Every receiver is told at least once. What was told is a row (db/schema/notice.sql), so a restart
 * repeats at most the message that was under way. */
#pragma once

#include "common/io/conf.h"
#include "common/io/daemon.h"

/* portal-outward.conf; the rows are in outward_conf_table.c. */
struct outward_conf {
	char *database; /* conninfo */
	char *user;     /* OS user to become when started as root; "" = stay */
	char *ca_file;
	char **allow;              /* prefixes that are called although they are ours */
	char *webhook_url;         /* "" = none */
	char *webhook_secret_file; /* key of the HMAC; "" = unsigned */
	char *alertmanager_url;    /* "" = none */
	char *mail_to;             /* "" = none */
	char *mail_command;
	char *socket_path, *socket_caller;
	char *oidc_folder;
	char *key_dir;
	char **webhooks_allow; /* prefixes that tenants' webhooks call although they are ours */
};

extern const struct conf_table outward_conf_table;
extern const struct daemon_spec outward_daemon;
