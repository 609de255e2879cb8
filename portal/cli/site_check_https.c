/* HTTPS of the boot chain: certificates, their keys, the CAs that are believed, iPXE that knows them. */
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/io/file.h"

#include "portal/cli/site_ca.h"
#include "portal/cli/site_check.h"

#define SITE_CHECK_HTTPS_DAYS \
	90 /* of a CA: ramdisks and iPXE have to be made anew before it ends */
#define SITE_CHECK_HTTPS_SUMS   (4UL << 10)
#define SITE_CHECK_HTTPS_LOADER (8UL << 20)

struct site_check_https {
	const char *program;
	enum site_package package;
	enum site_ca_role role;
};

static const struct site_check_https site_check_https_rows[] = {
	{"bampi-bootd", SITE_CONTROLLER, SITE_CA_CONTROLLER},
	{"bampi-relay", SITE_RELAY, SITE_CA_RELAY},
};

/* NULL, and told: it cannot be read. */
static STACK_OF(X509) * site_check_https_read(struct site_check *check, const char *path)
{
	STACK_OF(X509) *all = NULL;
	struct problem problem = {0};
	char whole[PATH_MAX];

	if (site_check_path(check, whole, "%s", path) && site_ca_read(whole, &all, &problem) != 0)
		site_check_wrong(check, path, "%s", problem.detail);
	return all;
}

static void site_check_https_key(struct site_check *check, const char *program, X509 *certificate)
{
	char path[PATH_MAX];
	char whole[PATH_MAX];
	EVP_PKEY *key = NULL;
	FILE *file;

	if (!text_format(path, sizeof(path), "/etc/haas/secret/%s/tls.key", program) ||
	    !site_check_path(check, whole, "%s", path))
		return;
	file = fopen(whole, "re");
	if (file) {
		key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
		(void)fclose(file);
	}
	if (!file)
		site_check_wrong(check, path, "the key of its certificate: %s", strerror(errno));
	else if (!key || X509_check_private_key(certificate, key) != 1)
		site_check_wrong(check, path, "it is not the key of the certificate");
	if (!key || X509_check_private_key(certificate, key) != 1)
		site_check_hint(check, "install -m 0600 NAME.key %s; systemctl restart %s", path,
				program);
	EVP_PKEY_free(key);
}

static void site_check_https_certificate(struct site_check *check,
					 const struct site_check_https *row, const char *path,
					 const STACK_OF(X509) * bundle)
{
	STACK_OF(X509) *all = site_check_https_read(check, path);
	X509 *certificate = all ? sk_X509_value(all, 0) : NULL;
	char role[64] = "";
	const char *fault;

	if (!certificate)
		return;
	fault = bundle ? site_ca_fault(certificate, bundle) : NULL;
	(void)X509_NAME_get_text_by_NID(X509_get_subject_name(certificate),
					NID_organizationalUnitName, role, sizeof(role));
	if (fault)
		site_check_wrong(check, path, "nodes refuse it: %s", fault);
	else if (strcmp(role, site_ca_roles[row->role]) != 0)
		site_check_wrong(check, path, "%s needs one of role %s, and this is \"%s\"",
				 row->program, site_ca_roles[row->role], role);
	site_check_https_key(check, row->program, certificate);
	sk_X509_pop_free(all, X509_free);
}

static void site_check_https_cas(struct site_check *check, const char *path,
				 const STACK_OF(X509) * bundle)
{
	for (int i = 0; i < sk_X509_num(bundle); i++) {
		int days = site_ca_days_left(sk_X509_value(bundle, i));

		if (days >= SITE_CHECK_HTTPS_DAYS)
			continue;
		if (days < 0)
			site_check_wrong(check, path, "CA %d in it ended %d days ago", i + 1,
					 -days);
		else
			site_check_wrong(check, path, "CA %d in it ends in %d days", i + 1, days);
		site_check_hint(check,
				"haasctl ca create makes another, ca trust %s adds it; then new "
				"boot files",
				path);
	}
}

/* --- boot files --- */

struct site_check_https_boot {
	const char *record; /* beside the file: the CAs that it believes */
	const char *what;
	bool required;     /* only where scripts come by HTTPS alone */
	const char *build; /* makes it, below /usr/lib/haas/bampi */
};

static const struct site_check_https_boot site_check_https_boots[] = {
	{"ipxe-ca.crt", "iPXE", true, "bootd/ipxe/build --ca"},
	{"agent.img.ca.crt", "the agent", false, "agent/ramdisk/build --site-ca"},
};

static void site_check_https_boot_hint(struct site_check *check,
				       const struct site_check_https_boot *row, const char *ca,
				       const char *folder)
{
	site_check_hint(check, "haasctl site init; or /usr/lib/haas/bampi/%s %s --out %s",
			row->build, ca, folder);
}

static bool site_check_https_holds(const STACK_OF(X509) * known, const X509 *ca)
{
	for (int i = 0; i < sk_X509_num(known); i++) {
		if (X509_cmp(sk_X509_value(known, i), ca) == 0)
			return true;
	}
	return false;
}

/* It must believe our certificate, and each CA that we believe: the next certificate is of one. */
static void site_check_https_boot(struct site_check *check, const struct site_check_https_boot *row,
				  X509 *certificate, const char *ca, const STACK_OF(X509) * bundle)
{
	STACK_OF(X509) *known = NULL;
	struct problem problem = {0};
	const char *fault = "nothing says what it believes";
	char folder[PATH_MAX];
	char path[PATH_MAX];
	char shown[PATH_MAX];

	(void)site_check_setting(check, "bampi-bootd", "boot_dir", "/var/lib/haas/boot", folder);
	if (!text_format(shown, sizeof(shown), "%s/%s", folder, row->record) ||
	    !site_check_path(check, path, "%s", shown))
		return;
	if (site_ca_read(path, &known, &problem) == 0)
		fault = site_ca_fault(certificate, known);
	for (int i = 0; !fault && i < sk_X509_num(bundle); i++) {
		if (!site_check_https_holds(known, sk_X509_value(bundle, i)))
			fault = "it does not know each CA that we believe";
	}
	if (fault) {
		site_check_wrong(check, shown, "%s refuses our certificates: %s", row->what, fault);
		site_check_https_boot_hint(check, row, ca, folder);
	}
	sk_X509_pop_free(known, X509_free);
}

/* True: the folder's file is the one that was recorded, or there is none. */
static bool site_check_https_is_recorded(const struct site_check *check, const char *folder,
					 const char *name, const char *sums)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	CLEANUP(freep) char *bytes = NULL;
	char line[2 * 32 + 64];
	char path[PATH_MAX];
	size_t size = 0;
	size_t at = 0;

	if (!site_check_path(check, path, "%s/%s", folder, name) ||
	    file_read(path, SITE_CHECK_HTTPS_LOADER, &bytes, &size) < 0)
		return true; /* told by "boot-files" */
	if (EVP_Digest(bytes, size, digest, NULL, EVP_sha256(), NULL) != 1)
		return false;
	for (; at < 32; at++)
		(void)text_format(line + 2 * at, 3, "%02x", digest[at]);
	(void)text_format(line + 2 * at, sizeof(line) - 2 * at, "  %s\n", name);
	return strstr(sums, line) != NULL;
}

/* Debian's file under the name of ours knows no CA, and boots nothing. */
static void site_check_https_loaders(struct site_check *check, const char *ca)
{
	static const char *const names[] = {"undionly.kpxe", "snponly.efi"};
	CLEANUP(freep) char *sums = NULL;
	char folder[PATH_MAX];
	char shown[PATH_MAX];
	char path[PATH_MAX];
	size_t size = 0;

	(void)site_check_setting(check, "bampi-bootd", "boot_dir", "/var/lib/haas/boot", folder);
	if (!site_check_path(check, path, "%s/ipxe.sums", folder) ||
	    file_read(path, SITE_CHECK_HTTPS_SUMS, &sums, &size) < 0)
		return; /* told by "ipxe-ca.crt" */
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		if (site_check_https_is_recorded(check, folder, names[i], sums) ||
		    !text_format(shown, sizeof(shown), "%s/%s", folder, names[i]))
			continue;
		site_check_wrong(check, shown, "this is not the file that ipxe/build made");
		site_check_https_boot_hint(check, &site_check_https_boots[0], ca, folder);
	}
}

static void site_check_https_boot_files(struct site_check *check, X509 *certificate, const char *ca,
					const STACK_OF(X509) * bundle, bool required)
{
	for (size_t i = 0; i < COUNT_OF(site_check_https_boots); i++) {
		if (required || !site_check_https_boots[i].required)
			site_check_https_boot(check, &site_check_https_boots[i], certificate, ca,
					      bundle);
	}
	if (required)
		site_check_https_loaders(check, ca);
}

/* Two CAs are believed: how far is the exchange? */
static void site_check_https_exchange(struct site_check *check, const STACK_OF(X509) * own,
				      const STACK_OF(X509) * bundle)
{
	STACK_OF(X509) *newest = sk_X509_new_null();
	bool issued;

	/* The last that was added, by ca trust. */
	if (newest)
		(void)sk_X509_push(newest, sk_X509_value(bundle, sk_X509_num(bundle) - 1));
	issued = own && newest && site_ca_fault(sk_X509_value(own, 0), newest) == NULL;
	sk_X509_free(newest);
	site_check_say(check, "%d CAs are believed; the certificate is of the %s",
		       sk_X509_num(bundle),
		       issued ? "newest: haasctl rotation ca-end takes the old one out"
			      : "old one: haasctl rotation ca goes on");
}

/* True: it has a certificate. */
static bool site_check_https_program(struct site_check *check, const struct site_check_https *row)
{
	STACK_OF(X509) * bundle;
	STACK_OF(X509) *own = NULL;
	struct problem problem = {0};
	char certificate[PATH_MAX];
	char whole[PATH_MAX];
	char mode[PATH_MAX];
	char ca[PATH_MAX];

	(void)site_check_setting(check, row->program, "tls.certificate", "", certificate);
	(void)site_check_setting(check, row->program, "tls.ca", "/etc/haas/tls/ca.crt", ca);
	(void)site_check_setting(check, row->program, "tls.mode", "required", mode);
	if (!certificate[0])
		return false;
	bundle = site_check_https_read(check, ca);
	site_check_https_cas(check, ca, bundle);
	site_check_https_certificate(check, row, certificate, bundle);
	if (row->package == SITE_CONTROLLER && site_check_path(check, whole, "%s", certificate) &&
	    site_ca_read(whole, &own, &problem) == 0)
		site_check_https_boot_files(check, sk_X509_value(own, 0), ca, bundle,
					    strcmp(mode, "required") == 0);
	if (sk_X509_num(bundle) > 1)
		site_check_https_exchange(check, own, bundle);
	sk_X509_pop_free(own, X509_free);
	sk_X509_pop_free(bundle, X509_free);
	return true;
}

/* That of portald is shown to people. In another role its key would be good for more. */
static void site_check_https_portal(struct site_check *check)
{
	STACK_OF(X509) *all = NULL;
	struct problem problem = {0};
	char path[PATH_MAX];
	char whole[PATH_MAX];
	char role[64] = "";

	(void)site_check_setting(check, "portald", "listen.tls.certificate", "", path);
	if (!path[0] || !site_check_path(check, whole, "%s", path) ||
	    site_ca_read(whole, &all, &problem) != 0) /* site_check_certificates tells it */
		return;
	(void)X509_NAME_get_text_by_NID(X509_get_subject_name(sk_X509_value(all, 0)),
					NID_organizationalUnitName, role, sizeof(role));
	sk_X509_pop_free(all, X509_free);
	if (strcmp(role, site_ca_roles[SITE_CA_CONTROLLER]) != 0 &&
	    strcmp(role, site_ca_roles[SITE_CA_RELAY]) != 0)
		return;
	site_check_wrong(check, path, "who takes portald's key can act as a %s", role);
	site_check_hint(check, "haasctl ca issue NAME --role portal --name HOST makes another");
}

void site_check_boot_https(struct site_check *check)
{
	size_t count = 0;

	for (size_t i = 0; i < COUNT_OF(site_check_https_rows); i++) {
		const struct site_check_https *row = &site_check_https_rows[i];

		if (site_check_has(check, row->package))
			count += site_check_https_program(check, row);
	}
	if (site_check_has(check, SITE_CONTROLLER))
		site_check_https_portal(check);
	if (count == 0)
		site_check_say(check, "not used: nodes boot by plain HTTP (docs/site.md, HTTPS)");
	else if (!check->summary[0]) /* nothing of an exchange */
		site_check_say(check, "%zu programs have a certificate", count);
}
