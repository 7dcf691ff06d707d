#include "base/collective_names.h"

#include <string.h>

enum { NAME_BYTES = 128 };

/* Convert letters to lower case and omit '_'. */
static void
simplify_name(const char *name, size_t size, char to[NAME_BYTES])
{
    size_t made = 0;
    for (size_t i = 0; i < size && made < NAME_BYTES - 1; i++) {
        char c = name[i];
        to[made] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        made += c != '_';
    }
    to[made] = '\0';
}

fd_operation
fd_operation_of(const char *name, size_t size)
{
    /* The first match wins: longer names precede the names that they
     * contain. */
    static const struct {
        const char *text;
        fd_operation operation;
    } operations[] = {{"reducescatterblock", FD_REDUCE_SCATTER_BLOCK},
                      {"reducescatter", FD_REDUCE_SCATTER},
                      {"allreduce", FD_ALL_REDUCE},
                      {"allgather", FD_ALL_GATHER},
                      {"alltoall", FD_ALL_TO_ALL},
                      {"broadcast", FD_BROADCAST},
                      {"barrier", FD_BARRIER},
                      {"scatter", FD_SCATTER},
                      {"gather", FD_GATHER},
                      {"reduce", FD_REDUCE},
                      {"sendrecv", FD_SEND_RECEIVE},
                      {"send", FD_SEND},
                      {"recv", FD_RECEIVE},
                      {"receive", FD_RECEIVE}};
    char plain[NAME_BYTES];
    simplify_name(name, size, plain);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strstr(plain, operations[i].text) != NULL) {
            return operations[i].operation;
        }
    }
    return FD_OPERATION_NONE;
}
