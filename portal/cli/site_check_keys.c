/* Files that a daemon needs: its keys, certificates, the image keys. */
#include <dirent.h>
#include <errno.h>
#include <openssl/asn1.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/base/text.h"
#include "common/io/file.h"

#include "portal/cli/site_check.h"

#define SITE_CHECK_KEYS_IMAGE_KEY_HEX 64 /* Ed25519 */
#define SITE_CHECK_KEYS_DAYS          30 /* a certificate that ends sooner is told */
#define SITE_CHECK_KEYS_SECRETS       "/etc/haas/secret"
#define SITE_CHECK_KEYS_TLS           "/etc/haas/tls"

/* Calls `each` with the path of every file of a folder, names with a dot in front left out. False:
 * the folder cannot be read. */
static bool site_check_keys_walk(struct site_check *check, const char *folder,
				 void (*each)(struct site_check *check, const char *path,
					      const struct stat *st, void *context),
				 void *context)
{
	char path[PATH_MAX];
	char name[PATH_MAX];
	struct dirent **entries = NULL;
	struct stat st;
	int count;

	if (!site_check_path(check, path, "%s", folder))
		return false;
	count = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		CLEANUP(freep) struct dirent *entry = entries[i];

		if (entry->d_name[0] != '.' &&
		    text_format(name, sizeof(name), "%s/%s", folder, entry->d_name) &&
		    site_check_path(check, path, "%s", name) && stat(path, &st) == 0)
			each(check, name, &st, context);
	}
	freep(&entries);
	return count >= 0;
}

static bool site_check_keys_ends(const char *path, const char *ending)
{
	size_t length = strlen(path);
	size_t size = strlen(ending);

	return length > size && strcmp(path + length - size, ending) == 0;
}

/* --- keys --- */

struct site_check_keys_owner {
	const char *user;
	uid_t uid;
	size_t count;
};

static void site_check_keys_private(struct site_check *check, const char *path,
				    const struct stat *st, struct site_check_keys_owner *owner)
{
	unsigned mode = S_ISDIR(st->st_mode) ? 0700 : 0600;

	if (st->st_uid != owner->uid) {
		site_check_wrong(check, path, "its owner must be %s, and is %u", owner->user,
				 (unsigned)st->st_uid);
		site_check_hint(check, "chown %s %s", owner->user, path);
	}
	if (st->st_mode & 0077U) {
		site_check_wrong(check, path, "others may read it: its mode is %04o",
				 (unsigned)st->st_mode & 07777U);
		site_check_hint(check, "chmod %04o %s", mode, path);
	}
}

/* A certificate and the public half of a key are public. */
static void site_check_keys_file(struct site_check *check, const char *path, const struct stat *st,
				 void *context)
{
	struct site_check_keys_owner *owner = context;

	if (S_ISREG(st->st_mode) && !site_check_keys_ends(path, ".crt") &&
	    !site_check_keys_ends(path, ".pub")) {
		site_check_keys_private(check, path, st, owner);
		owner->count++;
	}
}

static void site_check_keys_secret(struct site_check *check, const char *path,
				   const struct stat *st, void *context)
{
	if (!S_ISDIR(st->st_mode))
		site_check_keys_file(check, path, st, context);
	else
		(void)site_check_keys_walk(check, path, site_check_keys_file, context);
}

static const char *site_check_keys_folder(const struct site_check *check,
					  const struct site_program *program, char ret[PATH_MAX])
{
	char usual[PATH_MAX];

	(void)text_format(usual, sizeof(usual), "/var/lib/haas/%s/keys", program->state);
	return site_check_setting(check, program->name, "key_dir", usual, ret);
}

void site_check_keys(struct site_check *check)
{
	struct site_check_keys_owner root = {.user = "root"};
	size_t count = 0;

	for (size_t i = 0; i < site_program_count; i++) {
		const struct site_program *program = &site_programs[i];
		struct site_check_keys_owner owner = {.user = program->user};
		char folder[PATH_MAX];
		char path[PATH_MAX];
		struct stat st;
		gid_t gid;

		if (!program->keys || !site_check_has(check, program->package) ||
		    !site_check_uid(check, program->user, &owner.uid, &gid) ||
		    !site_check_path(check, path, "%s",
				     site_check_keys_folder(check, program, folder)) ||
		    stat(path, &st) < 0)
			continue; /* the daemon makes it when it starts */
		site_check_keys_private(check, folder, &st, &owner);
		(void)site_check_keys_walk(check, folder, site_check_keys_file, &owner);
		count += owner.count;
	}
	(void)site_check_keys_walk(check, SITE_CHECK_KEYS_SECRETS, site_check_keys_secret, &root);
	site_check_say(check, "%zu of daemons, %zu in " SITE_CHECK_KEYS_SECRETS, count, root.count);
}

/* --- certificates --- */

struct site_check_keys_certificates {
	size_t count;
	int days; /* until the first one ends */
};

/* All certificates of a PEM file; other parts of it are passed over. */
static void site_check_keys_certificate(struct site_check *check, const char *path,
					const struct stat *st, void *context)
{
	struct site_check_keys_certificates *all = context;
	char whole[PATH_MAX];
	X509 *certificate;
	FILE *file;

	if (S_ISDIR(st->st_mode)) {
		(void)site_check_keys_walk(check, path, site_check_keys_certificate, context);
		return;
	}
	file = site_check_path(check, whole, "%s", path) ? fopen(whole, "re") : NULL;
	while (file && (certificate = PEM_read_X509(file, NULL, NULL, NULL))) {
		int days = 0;
		int seconds = 0;

		(void)ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(certificate));
		X509_free(certificate);
		if (all->count == 0 || days < all->days)
			all->days = days;
		all->count++;
		if (days < 0 || seconds < 0)
			site_check_wrong(check, path, "this certificate ended %d days ago", -days);
		else if (days < SITE_CHECK_KEYS_DAYS)
			site_check_wrong(check, path, "this certificate ends in %d days", days);
	}
	if (file)
		(void)fclose(file);
}

/* That of the API may be another CA's, and lie where another program renews it. */
static void site_check_keys_portal(struct site_check *check,
				   struct site_check_keys_certificates *all)
{
	char path[PATH_MAX];
	char whole[PATH_MAX];
	struct stat st;

	(void)site_check_setting(check, "portald", "listen.tls.certificate", "", path);
	if (path[0] == '\0' || !site_check_has(check, SITE_CONTROLLER) ||
	    strncmp(path, SITE_CHECK_KEYS_TLS "/", strlen(SITE_CHECK_KEYS_TLS "/")) == 0)
		return;
	if (!site_check_path(check, whole, "%s", path) || stat(whole, &st) < 0)
		site_check_wrong(check, path, "portald's certificate: %s", strerror(errno));
	else
		site_check_keys_certificate(check, path, &st, all);
}

void site_check_certificates(struct site_check *check)
{
	struct site_check_keys_certificates all = {0};

	for (size_t i = 0; i < site_program_count; i++) {
		char folder[PATH_MAX];

		if (site_programs[i].keys)
			(void)site_check_keys_walk(
				check, site_check_keys_folder(check, &site_programs[i], folder),
				site_check_keys_certificate, &all);
	}
	(void)site_check_keys_walk(check, SITE_CHECK_KEYS_SECRETS, site_check_keys_certificate,
				   &all);
	(void)site_check_keys_walk(check, SITE_CHECK_KEYS_TLS, site_check_keys_certificate, &all);
	site_check_keys_portal(check, &all);
	if (all.count == 0)
		site_check_say(check, "none is used");
	else
		site_check_say(check, "%zu, the first ends in %d days", all.count, all.days);
}

/* --- image keys --- */

static void site_check_keys_image_key(struct site_check *check, const char *path,
				      const struct stat *st, void *context)
{
	size_t *count = context;
	CLEANUP(freep) char *text = NULL;
	char whole[PATH_MAX];
	size_t size;

	if (!site_check_keys_ends(path, ".pub"))
		return;
	(*count)++;
	if (!site_check_path(check, whole, "%s", path) || file_read(whole, 256, &text, &size) < 0 ||
	    strcspn(text, "\n") != SITE_CHECK_KEYS_IMAGE_KEY_HEX ||
	    strspn(text, "0123456789abcdef") != SITE_CHECK_KEYS_IMAGE_KEY_HEX) {
		site_check_wrong(check, path, "this is no public key of an image signer");
		site_check_hint(check, "haasctl image keygen FILE writes one: FILE.pub");
	} else if (!(st->st_mode & S_IROTH)) {
		site_check_wrong(check, path, "portald and bampid cannot read it");
		site_check_hint(check, "chmod 0644 %s", path);
	}
}

void site_check_image_keys(struct site_check *check)
{
	static const char *const programs[] = {"portald", "bampid"};
	char last[PATH_MAX] = "";
	size_t count = 0;

	for (size_t i = 0; i < COUNT_OF(programs); i++) {
		char folder[PATH_MAX];
		size_t found = 0;

		(void)site_check_setting(check, programs[i], "image_keys", "/etc/haas/image-keys",
					 folder);
		if (strcmp(folder, last) == 0)
			continue;
		(void)text_copy(last, sizeof(last), folder);
		(void)site_check_keys_walk(check, folder, site_check_keys_image_key, &found);
		if (found == 0)
			site_check_wrong(check, folder, "%s trusts no image: there is no *.pub",
					 programs[i]);
		count += found;
	}
	site_check_say(check, "%zu trusted", count);
}
