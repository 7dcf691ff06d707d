#include "check.h"

#include "base/glob.h"

#include <string.h>

TEST(globs)
{
    CHECK(fd_glob_matches("", "") && !fd_glob_matches("", "a"));
    CHECK(fd_glob_matches("*", "") && fd_glob_matches("**", "abc"));
    CHECK(fd_glob_matches("?", "a") && !fd_glob_matches("?", ""));
    CHECK(!fd_glob_matches("a?", "a") && !fd_glob_matches("a", "ab"));
    CHECK(fd_glob_matches("*:[GPT]:*", "model.py:[GPT]:forward"));
    CHECK(!fd_glob_matches("*:[GPT]:*", "model.py:G:forward"));
    CHECK(fd_glob_matches("*ab*ab", "abaabab"));
    CHECK(!fd_glob_matches("*ab*abc", "abaabab"));
    CHECK(fd_glob_matches("a*b?d", "axxbbcd"));
    CHECK(!fd_glob_matches("a\\*", "ab") && fd_glob_matches("a\\*", "a\\b"));
}

/* Backtracking over every star would take exponential time. */
TEST(many_stars_end)
{
    char text[2001];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK(!fd_glob_matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}
