#include "capture/rules/job_rules.h"

#include "base/alloc.h"
#include "capture/process/process.h"
#include "capture/python/utf8_text.h"
#include "recording/recording_format.h"

#include <string.h>

uint32_t
fd_job_rules_count(void)
{
    return fd_process.job_rules.count;
}

const fd_job_rule *
fd_job_rule_at(uint32_t number)
{
    return fd_process.job_rules.list[number];
}

bool
fd_job_rule_is_of_user(const fd_job_rule *rule)
{
    return strcmp(rule->engine, "user") == 0;
}

static bool
rule_matches(const fd_job_rule *rule, const char *file, const char *qualified)
{
    if (qualified[0] != rule->qualified[0]
        || strcmp(qualified, rule->qualified) != 0) {
        return false; /* most functions match no rule */
    }
    size_t size = strlen(file);
    size_t suffix = strlen(rule->suffix);
    return suffix <= size && strcmp(file + size - suffix, rule->suffix) == 0
        && (suffix == size || file[size - suffix - 1] == '/'
            || rule->suffix[0] == '/');
}

static fd_job_site *
site_of(uint32_t number, const PyCodeObject *code)
{
    fd_job_site *site = fd_calloc(1, sizeof *site);
    if (site == NULL) {
        return NULL;
    }
    const fd_job_rule *rule = fd_job_rule_at(number);
    site->rule = rule;
    site->number = number;
    site->holders = 1;
    for (int i = 0; i < FD_FIELDS; i++) {
        site->sources[i] = fd_source_of(rule->sources[i], code);
    }
    return site;
}

fd_job_site *
fd_job_site_of(const PyCodeObject *code)
{
    PyObject *texts[] = {fd_utf8_text_of(code->co_filename),
                         fd_utf8_text_of(code->co_qualname)};
    const char *file = fd_utf8(texts[0], "");
    const char *qualified = fd_utf8(texts[1], "");
    fd_job_site *first = NULL; /* of the user */
    fd_job_site *others = NULL;
    fd_job_site **ends[] = {&others, &first};
    for (uint32_t i = 0; i < fd_job_rules_count(); i++) {
        const fd_job_rule *rule = fd_job_rule_at(i);
        fd_job_site ***end = &ends[fd_job_rule_is_of_user(rule)];
        if (rule_matches(rule, file, qualified)
            && (**end = site_of(i, code)) != NULL) {
            *end = &(**end)->next;
        }
    }
    *ends[true] = others;
    Py_XDECREF(texts[0]);
    Py_XDECREF(texts[1]);
    return first;
}

fd_job_site *
fd_job_site_hold(fd_job_site *site)
{
    if (site != NULL) {
        site->holders++;
    }
    return site;
}

void
fd_job_site_free(fd_job_site *site)
{
    if (site == NULL || --site->holders > 0) {
        return;
    }
    while (site != NULL) {
        fd_job_site *next = site->next;
        for (int i = 0; i < FD_FIELDS; i++) {
            fd_source_clear(&site->sources[i]);
        }
        fd_free(site);
        site = next;
    }
}

bool
fd_job_rules_add(const fd_job_rule *rule)
{
    fd_job_rule *made = fd_malloc(sizeof *made);
    if (made == NULL || fd_vector_push(&fd_process.job_rules, made) != FD_OK) {
        fd_free(made);
        return false;
    }
    *made = *rule;
    return true;
}
