/* The programs of tests/unit and tests/fuzz: the units of one library share a program, and each keeps its name by a link to it
 * (build/dev/tests/unit_dhcp). Included before each of them by the build, which gives UNIT_MAIN, the name of its main(). */
#pragma once

#ifdef UNIT_MAIN
#define main UNIT_MAIN
int main(void);
#endif
