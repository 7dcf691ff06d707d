#include "base/glob.h"

#include <stddef.h>

bool
fd_glob_matches(const char *glob, const char *text)
{
    const char *star = NULL; /* of the last star; the next possible end of its
                                run */
    const char *retry = NULL;
    while (*text != '\0') {
        if (*glob == '*') {
            star = glob++;
            retry = text;
        }
        else if (*glob == '?' || *glob == *text) {
            glob++;
            text++;
        }
        else if (star != NULL) {
            glob = star + 1;
            text = ++retry;
        }
        else {
            return false;
        }
    }
    while (*glob == '*') {
        glob++;
    }
    return *glob == '\0';
}
