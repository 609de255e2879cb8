/* Accounts, folders and sockets, as deploy/ declares them: its files are in this program. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/text.h"

#include "portal/cli/site_check.h"

static const char *const site_check_deploy_names[SITE_PACKAGES] = {"controller", "storage",
								   "relay"};

bool site_check_has(const struct site_check *check, enum site_package package)
{
	char path[PATH_MAX];

	return package == SITE_CONTROLLER ||
	       (text_format(path, sizeof(path), "/usr/lib/sysusers.d/haas-%s.conf",
			    site_check_deploy_names[package]) &&
		site_check_exists(check, path));
}

bool site_check_line(const char **at, char ret[SITE_WORDS][SITE_WORD_SIZE])
{
	size_t count = 0;

	memset(ret, 0, SITE_WORDS * sizeof(ret[0]));
	while (**at && count == 0) {
		size_t length = strcspn(*at, "\n");
		const char *end = *at + length;

		for (const char *word = *at; **at != '#' && word < end;) {
			size_t size;

			word += strspn(word, " \t");
			size = strcspn(word, " \t\n");
			if (size > 0 && count < SITE_WORDS)
				(void)text_format(ret[count++], SITE_WORD_SIZE, "%.*s", (int)size,
						  word);
			word += size;
		}
		*at = *end ? end + 1 : end;
	}
	return count > 0;
}

/* --- accounts --- */

static void site_check_deploy_account(struct site_check *check,
				      char words[SITE_WORDS][SITE_WORD_SIZE])
{
	const char *name = words[1];
	uid_t uid;
	gid_t gid;

	switch (words[0][0]) {
	case 'u':
		if (!site_check_uid(check, name, &uid, &gid))
			site_check_wrong(check, name, "this user does not exist");
		break;
	case 'g':
		if (!site_check_gid(check, name, &gid))
			site_check_wrong(check, name, "this group does not exist");
		break;
	default:
		if (!site_check_is_member(check, name, words[2]))
			site_check_wrong(check, name, "this user is not in group %s", words[2]);
		break;
	}
}

void site_check_accounts(struct site_check *check)
{
	char words[SITE_WORDS][SITE_WORD_SIZE];
	size_t count = 0;

	for (size_t i = 0; i < SITE_PACKAGES; i++) {
		const char *at = (const char *)site_check_sysusers[i].data;

		while (site_check_has(check, (enum site_package)i) && site_check_line(&at, words)) {
			site_check_deploy_account(check, words);
			count++;
		}
	}
	site_check_say(check, "%zu users and groups", count);
}

/* --- folders --- */

bool site_check_next_folder(const char **at, struct site_folder *ret)
{
	char words[SITE_WORDS][SITE_WORD_SIZE];

	if (!site_check_line(at, words))
		return false;
	memcpy(ret->path, words[1], SITE_WORD_SIZE);
	ret->mode = (mode_t)strtoul(words[2], NULL, 8);
	memcpy(ret->user, words[3], SITE_WORD_SIZE);
	memcpy(ret->group, words[4], SITE_WORD_SIZE);
	return true;
}

/* `late`: systemd makes it when its unit starts, so it may still be missing. */
static void site_check_deploy_folder(struct site_check *check, const struct site_folder *folder,
				     bool late)
{
	char path[PATH_MAX];
	struct stat st;
	uid_t uid;
	gid_t gid;

	if (!site_check_path(check, path, "%s", folder->path))
		return;
	if (stat(path, &st) < 0) {
		if (!late || errno != ENOENT)
			site_check_wrong(check, folder->path, "this folder cannot be read: %s",
					 strerror(errno));
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		site_check_wrong(check, folder->path, "this is no folder");
		site_check_hint(check, "move the file away; systemd-tmpfiles --create");
		return;
	}
	if ((st.st_mode & 07777U) != folder->mode)
		site_check_wrong(check, folder->path, "its mode is %04o and must be %04o",
				 (unsigned)st.st_mode & 07777U, (unsigned)folder->mode);
	/* An account that is missing is told by its own row. */
	if (!site_check_uid(check, folder->user, &uid, &gid) ||
	    !site_check_gid(check, folder->group, &gid))
		return;
	if (st.st_uid != uid || st.st_gid != gid) {
		site_check_wrong(check, folder->path, "its owner must be %s:%s, and is %u:%u",
				 folder->user, folder->group, (unsigned)st.st_uid,
				 (unsigned)st.st_gid);
		if (late)
			site_check_hint(check, "chown -R %s:%s %s", folder->user, folder->group,
					folder->path);
	}
}

void site_check_folders(struct site_check *check)
{
	struct site_folder folder;
	size_t count = 0;

	for (size_t i = 0; i < SITE_PACKAGES; i++) {
		const char *at = (const char *)site_check_tmpfiles[i].data;

		while (site_check_has(check, (enum site_package)i) &&
		       site_check_next_folder(&at, &folder)) {
			site_check_deploy_folder(check, &folder, false);
			count++;
		}
	}
	for (size_t i = 0; i < site_program_count; i++) {
		const struct site_program *program = &site_programs[i];

		if (!program->state || !site_check_has(check, program->package))
			continue;
		folder = (struct site_folder){.mode = program->state_mode};
		(void)text_format(folder.path, sizeof(folder.path), "/var/lib/haas/%s",
				  program->state);
		(void)text_copy(folder.user, sizeof(folder.user), program->user);
		(void)text_copy(folder.group, sizeof(folder.group), program->user);
		site_check_deploy_folder(check, &folder, true);
		count++;
	}
	site_check_say(check, "%zu folders", count);
}

/* --- sockets --- */

/* The group of /run/haas/PROGRAM, which is that of the socket. */
static bool site_check_deploy_socket_group(const struct site_program *program,
					   struct site_folder *ret)
{
	const char *at = (const char *)site_check_tmpfiles[program->package].data;
	char path[SITE_WORD_SIZE];

	(void)text_format(path, sizeof(path), "/run/haas/%s", program->name);
	while (site_check_next_folder(&at, ret)) {
		if (strcmp(ret->path, path) == 0)
			return true;
	}
	return false;
}

static void site_check_deploy_socket(struct site_check *check, const struct site_program *program)
{
	struct site_folder folder;
	char usual[SITE_WORD_SIZE];
	char socket[PATH_MAX];
	char path[PATH_MAX];
	struct stat st;
	uid_t uid;
	gid_t gid;

	if (!site_check_deploy_socket_group(program, &folder))
		return;
	(void)text_format(usual, sizeof(usual), "%s/socket", folder.path);
	(void)site_check_setting(check, program->name, "socket.path", usual, socket);
	if (!site_check_path(check, path, "%s", socket))
		return;
	if (stat(path, &st) < 0) {
		site_check_wrong(check, program->name, "its socket %s is not there: %s", socket,
				 strerror(errno));
		site_check_hint(check, "systemctl status %s", program->name);
		return;
	}
	if (!S_ISSOCK(st.st_mode)) {
		site_check_wrong(check, program->name, "%s is no socket", socket);
		site_check_hint(check, "rm %s; systemctl restart %s", socket, program->name);
		return;
	}
	if ((st.st_mode & 0667U) != 0660)
		site_check_wrong(check, program->name, "the mode of %s is %04o and must be 0660",
				 socket, (unsigned)st.st_mode & 07777U);
	if (!site_check_uid(check, folder.user, &uid, &gid) ||
	    !site_check_gid(check, folder.group, &gid))
		return;
	if (st.st_uid != uid || st.st_gid != gid)
		site_check_wrong(check, program->name,
				 "the owner of %s must be %s:%s, and is %u:%u", socket, folder.user,
				 folder.group, (unsigned)st.st_uid, (unsigned)st.st_gid);
}

void site_check_sockets(struct site_check *check)
{
	size_t count = 0;

	for (size_t i = 0; i < site_program_count; i++) {
		if (!site_programs[i].socket || (check->off & (1U << i)) ||
		    !site_check_has(check, site_programs[i].package))
			continue;
		site_check_deploy_socket(check, &site_programs[i]);
		count++;
	}
	site_check_say(check, "%zu sockets", count);
}
