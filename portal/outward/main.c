#include "portal/outward/outward.h"

int main(int argc, char **argv)
{
	return daemon_main(&outward_daemon, argc, argv);
}
