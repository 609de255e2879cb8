#include "bampi/agent/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"

#include "bampi/agent/task.h"

static bool PRINTF_LIKE(3, 0) path_v(const struct agent_env *env, char ret[SYSFS_PATH_SIZE],
				     const char *format, va_list arguments)
{
	size_t used = strlen(env->root);
	int size;

	if (used >= SYSFS_PATH_SIZE)
		return false;
	(void)text_copy(ret, SYSFS_PATH_SIZE, env->root);
	size = vsnprintf(ret + used, SYSFS_PATH_SIZE - used, format, arguments);
	return size >= 0 && (size_t)size < SYSFS_PATH_SIZE - used;
}

bool sysfs_path(const struct agent_env *env, char ret[SYSFS_PATH_SIZE], const char *format, ...)
{
	va_list arguments;
	bool fits;

	va_start(arguments, format);
	fits = path_v(env, ret, format, arguments);
	va_end(arguments);
	return fits;
}

static void sysfs_read_line(const char *path, char *ret, size_t room)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t size = fd < 0 ? 0 : read(fd, ret, room - 1);
	size_t end = 0;
	size_t start = 0;

	ret[size > 0 ? size : 0] = '\0';
	while (ret[end] && ret[end] != '\n') {
		if (!isprint((unsigned char)ret[end]))
			ret[end] = ' ';
		end++;
	}
	while (end > 0 && ret[end - 1] == ' ')
		end--;
	while (start < end && ret[start] == ' ')
		start++;
	memmove(ret, ret + start, end - start);
	ret[end - start] = '\0';
}

const char *sysfs_line(const struct agent_env *env, char *ret, size_t room, const char *format, ...)
{
	char path[SYSFS_PATH_SIZE];
	va_list arguments;
	bool fits;

	va_start(arguments, format);
	fits = path_v(env, path, format, arguments);
	va_end(arguments);
	ret[0] = '\0';
	if (fits)
		sysfs_read_line(path, ret, room);
	return ret;
}

int64_t sysfs_int(const struct agent_env *env, int64_t fallback, const char *format, ...)
{
	char path[SYSFS_PATH_SIZE];
	char line[32] = "";
	char *end = NULL;
	va_list arguments;
	long long value;
	bool fits;

	va_start(arguments, format);
	fits = path_v(env, path, format, arguments);
	va_end(arguments);
	if (!fits)
		return fallback;
	sysfs_read_line(path, line, sizeof(line));
	value = strtoll(line, &end, 10);
	return end == line ? fallback : (int64_t)value;
}

const char *sysfs_link_name(const struct agent_env *env, char *ret, size_t room, const char *format,
			    ...)
{
	char path[SYSFS_PATH_SIZE];
	char target[SYSFS_PATH_SIZE];
	const char *slash;
	va_list arguments;
	ssize_t size;
	bool fits;

	va_start(arguments, format);
	fits = path_v(env, path, format, arguments);
	va_end(arguments);
	ret[0] = '\0';
	size = fits ? readlink(path, target, sizeof(target) - 1) : -1;
	if (size <= 0)
		return ret;
	target[size] = '\0';
	slash = strrchr(target, '/');
	(void)text_copy(ret, room, slash ? slash + 1 : target);
	return ret;
}

int sysfs_name_compare(const char *a, const char *b)
{
	size_t letters_a = strcspn(a, "0123456789");
	size_t letters_b = strcspn(b, "0123456789");

	/* sdb before sdaa: the kernel counts disks in letters. */
	if (a[0] == b[0] && letters_a != letters_b)
		return letters_a < letters_b ? -1 : 1;
	return strverscmp(a, b);
}

static int sysfs_compare_rows(const void *a, const void *b)
{
	return sysfs_name_compare(a, b);
}

size_t sysfs_names(const struct agent_env *env, const char *folder, char (*ret)[64], size_t limit)
{
	char path[SYSFS_PATH_SIZE];
	const struct dirent *entry;
	size_t count = 0;
	DIR *dir;

	if (!sysfs_path(env, path, "%s", folder))
		return 0;
	dir = opendir(path);
	if (!dir)
		return 0;
	/* The stream is ours alone, which makes readdir safe (POSIX.1-2024).
	 * NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (count < limit && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' &&
		    text_copy(ret[count], sizeof(ret[count]), entry->d_name))
			count++;
	closedir(dir);
	qsort(ret, count, sizeof(ret[0]), sysfs_compare_rows);
	return count;
}
