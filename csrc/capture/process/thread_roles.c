#include "capture/process/thread_roles.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Copy a name; each run of digits becomes one '*'. */
static void
fold_digits(const char *from, char role[FD_ROLE_SIZE])
{
    size_t size = 0;
    bool in_digits = false;
    for (; *from != '\0' && size < FD_ROLE_SIZE - 1; from++) {
        bool digit = isdigit((unsigned char)*from) != 0;
        if (!digit || !in_digits) {
            role[size++] = digit ? '*' : *from;
        }
        in_digits = digit;
    }
    role[size] = '\0';
}

void
fd_role_of(const char *python_name, const char *system_name,
           char role[FD_ROLE_SIZE])
{
    static const char autograd[] = "pt_autograd_";
    if (python_name != NULL) {
        if (strcmp(python_name, "MainThread") == 0) {
            snprintf(role, FD_ROLE_SIZE, "main");
        }
        else if (strstr(python_name, "_pin_memory_loop") != NULL) {
            snprintf(role, FD_ROLE_SIZE, "pin-memory");
        }
        else {
            fold_digits(python_name, role);
        }
    }
    else if (strncmp(system_name, autograd, sizeof autograd - 1) == 0) {
        snprintf(role, FD_ROLE_SIZE, "autograd:%s",
                 system_name + sizeof autograd - 1);
    }
    else {
        fold_digits(system_name, role);
    }
}
