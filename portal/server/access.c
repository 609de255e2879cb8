#include "portal/server/access.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>

#include "common/base/text.h"

#define CACHE_ROWS 32
#define KEEP_MS    30000
#define GROUPS_MAX 256
#define NSS_ROOM   16384

struct access_row {
	uid_t uid;
	gid_t gid;        /* the process's own group counts too: `sg haas`, systemd Group= */
	int64_t until_ms; /* 0 = empty */
	struct access access;
};

struct access_cache {
	const char *group;
	size_t next;
	struct access_row rows[CACHE_ROWS];
};

int access_new(const char *group, struct access_cache **ret)
{
	struct access_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->group = group;
	*ret = cache;
	return 0;
}

void access_free(struct access_cache *cache)
{
	free(cache);
}

static bool group_id(const char *name, gid_t *ret)
{
	char room[NSS_ROOM];
	struct group entry;
	struct group *found = NULL;

	if (getgrnam_r(name, &entry, room, sizeof(room), &found) != 0 || !found)
		return false;
	*ret = found->gr_gid;
	return true;
}

static bool in_group(const struct passwd *user, gid_t own, const char *group)
{
	gid_t groups[GROUPS_MAX];
	int count = GROUPS_MAX;
	gid_t wanted;

	if (!group_id(group, &wanted))
		return false;
	if (own == wanted)
		return true;
	if (!user || getgrouplist(user->pw_name, user->pw_gid, groups, &count) < 0)
		return false;
	for (int i = 0; i < count; i++) {
		if (groups[i] == wanted)
			return true;
	}
	return false;
}

static struct access access_look_up(const char *group, const struct http_peer *peer)
{
	struct access access = {0};
	char room[NSS_ROOM];
	struct passwd entry;
	struct passwd *user = NULL;

	if (getpwuid_r(peer->uid, &entry, room, sizeof(room), &user) != 0)
		user = NULL;
	if (!user || !text_copy(access.name, sizeof(access.name), user->pw_name))
		(void)text_format(access.name, sizeof(access.name), "%u", (unsigned)peer->uid);
	access.operator= peer->uid == 0 || in_group(user, peer->gid, group);
	return access;
}

struct access access_of(struct access_cache *cache, const struct http_peer *peer, int64_t now_ms)
{
	struct access_row *row;

	if (!peer->local)
		return (struct access){.name = "remote"};
	for (size_t i = 0; i < CACHE_ROWS; i++) {
		row = &cache->rows[i];
		if (row->until_ms > now_ms && row->uid == peer->uid && row->gid == peer->gid)
			return row->access;
	}
	row = &cache->rows[cache->next++ % CACHE_ROWS];
	*row = (struct access_row){.uid = peer->uid,
				   .gid = peer->gid,
				   .until_ms = now_ms + KEEP_MS,
				   .access = access_look_up(cache->group, peer)};
	return row->access;
}
