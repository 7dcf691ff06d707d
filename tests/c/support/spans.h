#ifndef SPANS_H
#define SPANS_H

#include "json/json_scan.h"

#include <string.h>

/* A text without its NUL; NULL: no text. */
static inline fd_span
span(const char *text)
{
    return text != NULL ? (fd_span){text, text + strlen(text)}
                        : (fd_span){NULL, NULL};
}

#endif
