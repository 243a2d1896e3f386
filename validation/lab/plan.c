/* Reads the plan: lines of words, written by the host (validation/src/lab/program.rs), which has checked it.
 *
 *   seed|slack|lead|phase|limit|chunk|buffer_kb|trace_forks N
 *   set NAME VALUE                a tunable without "sched_", or "features" and one word
 *   group PATH WEIGHT             cgroup v2; a weight of 0 is none
 *   object KIND                   p, s or b; numbered in order
 *   task NAME NICE POLICY START CPUS GROUP FIRST END       CPUS a mask, 0 all; GROUP "-" none; steps FIRST to before END
 *   node OP A B OBJECT END        numbered in order
 */
#include "guest.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct plan plan;

static const char *const OPS[OP_KINDS] = { "run", "sleep", "period", "post", "wait", "write", "read", "barrier", "yield", "count",
    "loop", "for", "fork", "join", "joinall", "affinity" };

static int op_of(const char *word) {
    for (int i = 0; i < OP_KINDS; i++) if (!strcmp(word, OPS[i])) return i;
    die("the plan has an unknown step '%s'", word);
}

/* The next entry of a table. */
static int next(int *used, int max, const char *what) {
    if (*used >= max) die("the plan has more than %d %s", max, what);
    return (*used)++;
}

static int read_number(const char *word, uint64_t value) {
    const struct { const char *word; uint64_t *into; } numbers[] = {
        { "seed", &plan.seed }, { "slack", &plan.slack }, { "lead", &plan.lead }, { "phase", &plan.phase },
        { "limit", &plan.limit }, { "chunk", &plan.chunk }, { "buffer_kb", &plan.buffer_kb } };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(word, numbers[i].word)) return *numbers[i].into = value, 1;
    if (!strcmp(word, "trace_forks")) return plan.trace_forks = value != 0, 1;
    return 0;
}

static void read_line(const char *line) {
    char word[64], kind;
    uint64_t value;
    int used = 0;
    if (sscanf(line, "%63s%n", word, &used) != 1) return;
    const char *rest = line + used;
    if (!strcmp(word, "set")) {
        struct setting *s = &plan.setting[next(&plan.settings, MAX_SETTINGS, "settings")];
        if (sscanf(rest, "%63s %63s", s->name, s->value) == 2) return;
    } else if (!strcmp(word, "group")) {
        struct group *g = &plan.group[next(&plan.groups, MAX_GROUPS, "groups")];
        if (sscanf(rest, "%199s %d", g->path, &g->weight) == 2) return;
    } else if (!strcmp(word, "object")) {
        struct object *o = &plan.object[next(&plan.objects, MAX_OBJECTS, "objects")];
        if (sscanf(rest, " %c", &kind) == 1 && (o->kind = kind) && (kind != 'p' || !pipe(o->pipe))) return;
    } else if (!strcmp(word, "task")) {
        struct task *t = &plan.task[next(&plan.tasks, MAX_TASKS, "tasks")];
        if (sscanf(rest, "%15s %d %d %" SCNu64 " %" SCNu64 " %199s %d %d", t->name, &t->nice, &t->policy, &t->start, &t->cpus,
                   t->group, &t->first, &t->end) == 8) return;
    } else if (!strcmp(word, "node")) {
        struct node *n = &plan.node[next(&plan.nodes, MAX_NODES, "steps")];
        char op[16];
        if (sscanf(rest, "%15s %" SCNu64 " %" SCNu64 " %d %d", op, &n->a, &n->b, &n->object, &n->end) == 5) {
            n->op = op_of(op);
            return;
        }
    } else if (sscanf(rest, "%" SCNu64, &value) == 1 && read_number(word, value)) return;
    die("the plan has a line that is none: %.60s", line);
}

void read_plan(const char *path) {
    FILE *file = fopen(path, "r");
    char line[512];
    if (!file) die("there is no plan");
    while (fgets(line, sizeof line, file)) read_line(line);
    fclose(file);
}
