#include "check.h"

#include "base/hidden_result.h"

/* C returns a struct of this size through the same hidden pointer as C++
 * returns an object. */
typedef struct object {
    void *first;
    void *others[4];
} object;

static int argument;
static const void *received;

FD_HIDDEN_RESULT_DEFINE(result_of);

FD_HIDDEN_RESULT
result_of(void **result, const void *given)
{
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
static void
a_c_function_returns_an_object(void)
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

static void
c_calls_a_function_that_returns_an_object(void)
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

RUN(TEST(a_c_function_returns_an_object),
    TEST(c_calls_a_function_that_returns_an_object))
