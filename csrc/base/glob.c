#include "base/glob.h"

#include <stddef.h>

bool
fd_glob_matches(const char *glob, const char *text)
{
    /* The last star, and the current end of the text that it matches. */
    const char *star = NULL;
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
