#include "check.h"

#include "base/hidden_result.h"

#include <execinfo.h>

/* C returns a struct of this size through the same hidden pointer as C++
 * returns an object. */
typedef struct object {
    void *first;
    void *others[4];
} object;

static int argument;
static int callers;
static const void *received;

FD_HIDDEN_RESULT_DEFINE(result_of);

FD_HIDDEN_RESULT
result_of(void **result, const void *given)
{
    void *addresses[64];
    callers = backtrace(addresses, 64);
    received = given;
    *result = &argument;
    return result;
}

static object
object_of(const void *given)
{
    received = given;
    return (object){&argument, {NULL, NULL, NULL, &argument}};
}

/* A caller that expects an object gets what the C function stores, and nothing
 * beside it is written. */
TEST(a_c_function_returns_an_object)
{
    object (*called)(const void *);
    void *(*entry)(void **, const void *) = FD_HIDDEN_RESULT_ENTRY(result_of);
    memcpy(&called, &entry, sizeof called);
    for (int i = 0; i < 3; i++) {
        received = NULL;
        object found = called(&argument + i);
        CHECK(received == &argument + i);
        CHECK(found.first == &argument);
    }
}

/* A debugger, or a crash report, finds the callers of a C function behind its
 * entry: as many as of a direct call. */
TEST(the_entry_is_unwound)
{
    object (*called)(const void *);
    void *result;
    void *(*entry)(void **, const void *) = FD_HIDDEN_RESULT_ENTRY(result_of);
    memcpy(&called, &entry, sizeof called);
    result_of(&result, NULL);
    int direct = callers;
    object found = called(NULL);
    CHECK(found.first == result);
    CHECK(callers >= 3);
    EQUAL(callers, direct);
}

TEST(c_calls_a_function_that_returns_an_object)
{
    object (*called)(const void *) = object_of;
    void *(*function)(void *, const void *);
    object found[3] = {0};
    memcpy(&function, &called, sizeof function);
    fd_hidden_result_call(&found[1], &found[2], function);
    CHECK(received == &found[2]);
    CHECK(found[1].first == &argument && found[1].others[3] == &argument);
    CHECK(found[0].others[3] == NULL && found[2].first == NULL);
}
