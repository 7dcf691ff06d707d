#include "et/tools/node_matching.h"

#include "et/et_edges.h"

#include <string.h>

fd_status
fd_et_match_side_make(fd_et_match_side *side, const fd_et *et)
{
    size_t count = (size_t)et->nodes.count + 1;
    *side = (fd_et_match_side){.et = et};
    side->names = fd_calloc(count, sizeof *side->names);
    side->signatures = fd_calloc(count, sizeof *side->signatures);
    side->matches = fd_calloc(count, sizeof *side->matches);
    return side->names != NULL && side->signatures != NULL
                && side->matches != NULL
             ? FD_OK
             : FD_ENOMEM;
}

void
fd_et_match_side_clear(fd_et_match_side *side)
{
    fd_free(side->names);
    fd_free(side->signatures);
    fd_free(side->matches);
    *side = (fd_et_match_side){.et = NULL};
}

/* Places sorted by depth, and by the order of calls within a depth:
 *
 *     order   | roots | their calls    | ...
 *     ends    ^ 0     ^ ends[0]        ^ ends[1]         `depths` of them */
typedef struct levels {
    uint32_t *order; /* owned */
    uint32_t *ends;  /* owned */
    uint32_t depths;
} levels;

static void
levels_clear(levels *l)
{
    fd_free(l->order);
    fd_free(l->ends);
}

static uint32_t
parent_of(const fd_et *et, uint32_t index)
{
    return et->nodes.list[index].parent;
}

/* Sort indexes by depth. In `calls`, parents precede children. */
static void
sort_by_depth(levels *l, const fd_et *et, const uint32_t *calls,
              uint32_t *depths)
{
    uint32_t count = et->nodes.count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = parent_of(et, calls[i]);
        depths[calls[i]] = parent == 0 ? 0 : depths[parent - 1] + 1;
        l->ends[depths[calls[i]] + 1]++;
        l->depths =
            depths[calls[i]] >= l->depths ? depths[calls[i]] + 1 : l->depths;
    }
    for (uint32_t i = 1; i <= l->depths; i++) {
        l->ends[i] += l->ends[i - 1];
    }
    /* From here on, ends[d] is the position of the next node of depth d;
     * finally it is the end of that depth. */
    for (uint32_t i = 0; i < count; i++) {
        l->order[l->ends[depths[calls[i]]]++] = calls[i];
    }
}

static fd_status
levels_make(levels *l, const fd_et *et)
{
    size_t count = (size_t)et->nodes.count + 2;
    uint32_t *calls = fd_calloc(count, sizeof *calls);
    uint32_t *depths = fd_calloc(count, sizeof *depths);
    *l = (levels){.order = fd_calloc(count, sizeof *l->order),
                  .ends = fd_calloc(count, sizeof *l->ends)};
    fd_status status =
        calls == NULL || depths == NULL || l->order == NULL || l->ends == NULL
            ? FD_ENOMEM
            : fd_et_walk(et, calls);
    if (status == FD_OK) {
        sort_by_depth(l, et, calls, depths);
    }
    fd_free(calls);
    fd_free(depths);
    return status;
}

static uint32_t
level_begin(const levels *l, uint32_t depth)
{
    return depth == 0 ? 0 : l->ends[depth - 1];
}

/* Match one depth: queue nodes of the second trace by parent and number, and
 * take them from the queue for nodes of the first. */
typedef struct search {
    fd_et_match_side *sides;
    levels levels[2];
    uint32_t *next; /* of nodes of the second trace: reference of the next one
                     * in its queue; owned */
    fd_map first;   /* parent and number -> reference of the first node in the
                     * queue */
} search;

static uint64_t
key_of(const fd_et_match_side *side, const uint32_t *numbers, uint32_t index,
       bool second)
{
    uint32_t parent = parent_of(side->et, index);
    if (parent != 0 && side->matches[parent - 1] == 0) {
        return 0;
    }
    parent = parent != 0 && second ? side->matches[parent - 1] : parent;
    return (uint64_t)(parent + 1) << 32 | numbers[index];
}

static fd_status
queue_second(search *s, uint32_t depth, bool by_signature)
{
    fd_et_match_side *side = &s->sides[1];
    const uint32_t *numbers = by_signature ? side->signatures : side->names;
    const levels *l = &s->levels[1];
    fd_status status = FD_OK;
    for (uint32_t i = l->ends[depth];
         i-- > level_begin(l, depth) && status == FD_OK;) {
        uint32_t index = l->order[i];
        uint64_t key =
            side->matches[index] != 0 ? 0 : key_of(side, numbers, index, true);
        if (key != 0) {
            s->next[index] = fd_map_get(&s->first, key);
            status = fd_map_put(&s->first, key, index + 1);
        }
    }
    return status;
}

static fd_status
match_first(search *s, uint32_t depth, bool by_signature)
{
    fd_et_match_side *side = &s->sides[0];
    const uint32_t *numbers = by_signature ? side->signatures : side->names;
    const levels *l = &s->levels[0];
    fd_status status = FD_OK;
    for (uint32_t i = level_begin(l, depth);
         i < l->ends[depth] && status == FD_OK; i++) {
        uint32_t index = l->order[i];
        uint64_t key = side->matches[index] != 0
                         ? 0
                         : key_of(side, numbers, index, false);
        uint32_t match = key == 0 ? 0 : fd_map_get(&s->first, key);
        if (match != 0) {
            side->matches[index] = match;
            s->sides[1].matches[match - 1] = index + 1;
            status = fd_map_put(&s->first, key, s->next[match - 1]);
        }
    }
    return status;
}

static fd_status
match_depth(search *s, uint32_t depth, bool by_signature)
{
    fd_status status = queue_second(s, depth, by_signature);
    if (status == FD_OK) {
        status = match_first(s, depth, by_signature);
    }
    fd_map_clear(&s->first);
    return status;
}

fd_status
fd_et_match_nodes(fd_et_match_side sides[2])
{
    search s = {.sides = sides};
    s.next = fd_calloc((size_t)sides[1].et->nodes.count + 1, sizeof *s.next);
    fd_status status = s.next == NULL ? FD_ENOMEM : FD_OK;
    for (int i = 0; i < 2 && status == FD_OK; i++) {
        status = levels_make(&s.levels[i], sides[i].et);
    }
    for (uint32_t depth = 0; depth < s.levels[0].depths
                             && depth < s.levels[1].depths && status == FD_OK;
         depth++) {
        status = match_depth(&s, depth, true);
        if (status == FD_OK) {
            status = match_depth(&s, depth, false);
        }
    }
    levels_clear(&s.levels[0]);
    levels_clear(&s.levels[1]);
    fd_free(s.next);
    return status;
}
