/* What nodes boot: the files are there, the ramdisk believes the key of this bampid, and there is a signed
 * image where nodes start no other. */
#include <errno.h>
#include <libpq-fe.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/text.h"
#include "common/io/file.h"

#include "portal/cli/site_check.h"

#define SITE_CHECK_BOOT_KEY_HEX 64           /* Ed25519 */
#define SITE_CHECK_BOOT_RECORD  (64UL << 10) /* bytes of agent.img.task-keys */

static const char *site_check_boot_folder(const struct site_check *check, char ret[PATH_MAX])
{
	return site_check_setting(check, "bampi-bootd", "boot_dir", "/var/lib/haas/boot", ret);
}

static void site_check_boot_file(struct site_check *check, const char *folder, const char *name,
				 const char *what)
{
	char shown[PATH_MAX];
	char path[PATH_MAX];
	struct stat st;
	uid_t uid;
	gid_t gid;

	if (!text_format(shown, sizeof(shown), "%s/%s", folder, name) ||
	    !site_check_path(check, path, "%s", shown))
		return;
	if (stat(path, &st) < 0)
		site_check_wrong(check, shown, "%s: %s", what, strerror(errno));
	else if (!S_ISREG(st.st_mode) || st.st_size == 0)
		site_check_wrong(check, shown, "%s: the file is empty", what);
	else if (!(st.st_mode & S_IROTH) &&
		 (!site_check_uid(check, "haas-bootd", &uid, &gid) || st.st_uid != uid)) {
		site_check_wrong(check, shown, "bampi-bootd cannot read it");
		site_check_hint(check, "chmod 0644 %s", shown);
	}
}

/* "22:snponly-arm64.efi": one more file of bampi-bootd.conf. */
static void site_check_boot_more(struct site_check *check, const char *value, void *context)
{
	const char *folder = context;
	const char *name = strchr(value, ':');

	if (name)
		site_check_boot_file(check, folder, name + 1, "a file of boot_files");
}

void site_check_boot_files(struct site_check *check)
{
	static const struct {
		const char *name, *what;
	} files[] = {
		{"undionly.kpxe", "nodes with BIOS load it"},
		{"snponly.efi", "nodes with UEFI load it"},
		{"vmlinuz", "the kernel of the agent"},
		{"agent.img", "the ramdisk of the agent"},
	};
	char folder[PATH_MAX];
	size_t more;

	(void)site_check_boot_folder(check, folder);
	for (size_t i = 0; i < COUNT_OF(files); i++)
		site_check_boot_file(check, folder, files[i].name, files[i].what);
	more = site_check_list(check, "bampi-bootd", "boot_files", site_check_boot_more, folder);
	site_check_say(check, "%zu files in %s", COUNT_OF(files) + more, folder);
}

/* --- the key of tasks --- */

/* The file's text; NULL: it cannot be read. */
static char *site_check_boot_read(const struct site_check *check, const char *folder,
				  const char *name, char ret_shown[PATH_MAX])
{
	char path[PATH_MAX];
	char *text = NULL;
	size_t size;

	return text_format(ret_shown, PATH_MAX, "%s/%s", folder, name) &&
			       site_check_path(check, path, "%s", ret_shown) &&
			       file_read(path, SITE_CHECK_BOOT_RECORD, &text, &size) == 0
		       ? text
		       : NULL;
}

/* An agent refuses what another key has signed, and a node learns so in the middle of its deployment. */
void site_check_task_key(struct site_check *check)
{
	CLEANUP(freep) char *own = NULL;
	CLEANUP(freep) char *known = NULL;
	char folder[PATH_MAX];
	char shown[PATH_MAX];

	own = site_check_boot_read(
		check,
		site_check_setting(check, "bampid", "key_dir", "/var/lib/haas/bampid/keys", folder),
		"bampid-task.pub", shown);
	if (!own || strspn(own, "0123456789abcdef") < SITE_CHECK_BOOT_KEY_HEX) {
		site_check_skip(check, "bampid has not made its key yet");
		return;
	}
	own[SITE_CHECK_BOOT_KEY_HEX] = '\0';
	known = site_check_boot_read(check, site_check_boot_folder(check, folder),
				     "agent.img.task-keys", shown);
	if (!known)
		site_check_wrong(check, shown, "nothing says which task keys the ramdisk believes");
	else if (!strstr(known, own))
		site_check_wrong(check, shown, "the ramdisk does not believe the key of bampid");
	site_check_say(check, "the ramdisk believes the key of bampid");
}

/* --- the signed image --- */

static bool site_check_boot_has(const struct site_check *check, const char *folder,
				const char *name, char ret_shown[PATH_MAX])
{
	char path[PATH_MAX];
	struct stat st;

	return text_format(ret_shown, PATH_MAX, "%s/%s", folder, name) &&
	       site_check_path(check, path, "%s", ret_shown) && stat(path, &st) == 0 &&
	       S_ISREG(st.st_mode) && st.st_size > 0;
}

void site_check_signed_image(struct site_check *check)
{
	char folder[PATH_MAX];
	char shown[PATH_MAX];
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_ask(
		check,
		"select count(*), count(*) filter (where secure_boot = 'attested'), coalesce(min(name), '') "
		"from haas.node where secure_boot <> 'off'");

	if (!rows)
		return;
	site_check_say(check, "%s nodes start nothing else", PQgetvalue(rows, 0, 0));
	if (strcmp(PQgetvalue(rows, 0, 0), "0") == 0)
		return;
	if (!site_check_boot_has(check, site_check_boot_folder(check, folder), "agent.efi", shown))
		site_check_wrong(check, shown, "%s nodes start only this, as %s: there is none",
				 PQgetvalue(rows, 0, 0), PQgetvalue(rows, 0, 2));
	(void)site_check_setting(check, "bampid", "signed_images", "/var/lib/haas/boot", folder);
	if (strcmp(PQgetvalue(rows, 0, 1), "0") != 0 &&
	    !site_check_boot_has(check, folder, "agent.efi.pcr11", shown))
		site_check_wrong(check, shown, "without it bampid believes no TPM of %s nodes",
				 PQgetvalue(rows, 0, 1));
}
