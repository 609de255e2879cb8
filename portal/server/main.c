/* portald: the API of the controller. */
#include <stdio.h>
#include <string.h>

#include "common/io/daemon.h"

#include "portal/server/portal.h"
#include "portal/server/route.h"

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--print-routes") == 0) {
		route_print(stdout);
		return 0;
	}
	return daemon_main(&portal_daemon, argc, argv);
}
