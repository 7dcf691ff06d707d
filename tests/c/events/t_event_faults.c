#include "check.h"

#include "events/event_faults.h"

#include <string.h>

static void
first_places(void)
{
    fd_faults faults = {.count = {0}};
    static const uint64_t bytes[] = {50, 10, 40, 30, 20};
    for (uint64_t i = 0; i < 5; i++) {
        fd_faults_add(&faults, FD_FAULT_TIME,
                      (fd_fault_position){bytes[i], i + 1});
    }
    fd_faults_add(&faults, FD_FAULT_DAMAGE, (fd_fault_position){0, 0});
    EQUAL(faults.count[FD_FAULT_TIME], 5);
    const fd_fault_position *first = faults.first[FD_FAULT_TIME];
    EQUAL(first[0].byte, 10);
    EQUAL(first[0].event, 2);
    EQUAL(first[1].byte, 20);
    EQUAL(first[2].byte, 30);
    EQUAL(faults.first[FD_FAULT_DAMAGE][0].byte, 0);
}

static void
notes_break_nothing(void)
{
    fd_faults faults = {.count = {0}};
    fd_faults_add(&faults, FD_FAULT_TEXT_ID, (fd_fault_position){1, 1});
    EQUAL(fd_faults_broken(&faults), 0);
    fd_faults_add(&faults, FD_FAULT_OVERLAP, (fd_fault_position){1, 1});
    EQUAL(fd_faults_broken(&faults), 1);
}

static void
every_kind_is_described(void)
{
    for (int i = 0; i < FD_FAULT_KINDS; i++) {
        const fd_fault_text *text = &fd_fault_texts[i];
        char one[FD_FAULT_TEXT];
        char many[FD_FAULT_TEXT];
        CHECK(text->id != NULL && text->remedy != NULL);
        fd_fault_describe((fd_fault)i, 1, one);
        fd_fault_describe((fd_fault)i, 0, many);
        CHECK(strlen(many) < FD_FAULT_TEXT - 1);
        CHECK(strncmp(one, text->noun, strlen(text->noun)) == 0);
        CHECK(strlen(many) > strlen(one));
        for (int k = 0; k < i; k++) {
            CHECK(strcmp(text->id, fd_fault_texts[k].id) != 0);
        }
    }
}

static void
singular_and_plural(void)
{
    char text[FD_FAULT_TEXT];
    fd_fault_describe(FD_FAULT_NAME, 1, text);
    EQUAL(strcmp(text, "event without a name"), 0);
    fd_fault_describe(FD_FAULT_NAME, 2, text);
    EQUAL(strcmp(text, "events without a name"), 0);
    fd_fault_describe(FD_FAULT_TWO_NAMES, 3, text);
    EQUAL(strcmp(text, "processes with two names"), 0);
}

RUN(TEST(first_places), TEST(notes_break_nothing),
    TEST(every_kind_is_described), TEST(singular_and_plural))
