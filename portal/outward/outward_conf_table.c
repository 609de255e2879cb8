#include <stddef.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/conf_rows.h"

#include "portal/outward/address_policy.h"
#include "portal/outward/outward.h"

#define AT(member) offsetof(struct outward_conf, member)

/* clang-format off */
static const struct conf_row outward_conf_rows[] = {
	CONF_ROW_DATABASE(AT(database), "portal_outward"),
	CONF_ROW_USER(AT(user), "haas-outward"),
	{"socket.path", CONF_TEXT, AT(socket_path), "/run/haas/portal-outward/socket", 0, 0, NULL, NULL,
	 "where portald asks about logins by OpenID Connect"},
	CONF_ROW_SOCKET_CALLER(AT(socket_caller)),
	{"oidc.folder", CONF_TEXT, AT(oidc_folder), "/etc/haas/oidc", 0, 0, NULL, NULL,
	 "providers of OpenID Connect: a file NAME.conf each, with issuer, client_id, client_secret_file, scopes"},
	{"ca_file", CONF_STRING, AT(ca_file), "", 0, 0, NULL, NULL,
	 "certificates (PEM) that vouch for receivers by https; empty = the system's"},
	{"allow", CONF_STRINGS, AT(allow), "", 0, 0, NULL, NULL,
	 "addresses that may be called though they are of this machine, of BMCs, switches or provisioning, as 127.0.0.1/32"},
	{"key_dir", CONF_TEXT, AT(key_dir), "/var/lib/haas/portal-outward/keys", 0, 0, NULL, NULL,
	 "folder of portal-outward-seal.key (opens the secrets of webhooks), made when missing"},
	{"webhooks.allow", CONF_STRINGS, AT(webhooks_allow), "", 0, 0, NULL, NULL,
	 "the same as `allow`, of the webhooks that tenants make; private networks are closed to these, too"},
	{"webhook.url", CONF_STRING, AT(webhook_url), "", 0, 0, NULL, NULL,
	 "alerts are POSTed here as JSON; empty = nowhere"},
	{"webhook.secret_file", CONF_STRING, AT(webhook_secret_file), "", 0, 0, NULL, NULL,
	 "its content is the key of Haas-Signature: t=TIME,v1=HMAC of TIME.BODY in hex; empty = unsigned"},
	{"alertmanager.url", CONF_STRING, AT(alertmanager_url), "", 0, 0, NULL, NULL,
	 "an Alertmanager, \"http://127.0.0.1:9093\"; empty = none"},
	{"mail.to", CONF_STRING, AT(mail_to), "", 0, 0, NULL, NULL,
	 "alerts are mailed to these addresses; empty = nobody"},
	{"mail.command", CONF_STRING, AT(mail_command), "/usr/bin/msmtp -t", 0, 0, NULL, NULL,
	 "reads a mail with its headers on stdin, without a shell; one that needs no set-user-ID bit"},
};
/* clang-format on */

static int outward_conf_prefixes(const char *name, char **words, struct problem *problem)
{
	for (; words && *words; words++) {
		struct address_prefix prefix;

		if (address_prefix_parse(*words, &prefix) == 0)
			continue;
		(void)problem_set(problem, E_MALFORMED, "%s holds \"%s\"", name, *words);
		problem_hint(problem, "an address or a prefix, like 127.0.0.1 or 10.2.0.0/24");
		return E_MALFORMED;
	}
	return 0;
}

static int outward_conf_check(const void *values, struct problem *problem)
{
	const struct outward_conf *conf = values;

	int rc = outward_conf_prefixes("allow", conf->allow, problem);

	if (rc == 0)
		rc = outward_conf_prefixes("webhooks.allow", conf->webhooks_allow, problem);
	if (rc)
		return rc;
	if (strpbrk(conf->mail_to, "\r\n")) {
		(void)problem_set(problem, E_MALFORMED, "mail.to holds a line end");
		problem_hint(problem, "separate addresses by commas");
		return E_MALFORMED;
	}
	if (conf->mail_to[0] && conf->mail_command[0] != '/') {
		(void)problem_set(problem, E_MALFORMED, "mail.command is \"%s\"",
				  conf->mail_command);
		problem_hint(problem, "an absolute path and its arguments, separated by blanks");
		return E_MALFORMED;
	}
	return 0;
}

const struct conf_table outward_conf_table = {
	.rows = outward_conf_rows,
	.count = COUNT_OF(outward_conf_rows),
	.values_size = sizeof(struct outward_conf),
	.check = outward_conf_check,
};
