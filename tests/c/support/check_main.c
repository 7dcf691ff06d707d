/* The main function of a test; fuzzers have another one. */
#include "check.h"

int
main(int argc, char **argv)
{
    return check_run(argc, argv);
}
