/* The guest's side of `cfsim lab`: the first process of a guest that carries out one plan, hands back what it saw through
 * memory shared with the host, and switches the guest off. Static, no threads: every task is a process. */
#ifndef GUEST_H
#define GUEST_H
#define _GNU_SOURCE
#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of a plan; the host refuses larger ones. */
enum { MAX_TASKS = 512, MAX_NODES = 65536, MAX_OBJECTS = 256, MAX_SETTINGS = 128, MAX_GROUPS = 256, MAX_RESULTS = 8192 };

enum op { OP_RUN, OP_SLEEP, OP_PERIOD, OP_POST, OP_WAIT, OP_WRITE, OP_READ, OP_BARRIER, OP_YIELD, OP_COUNT, OP_LOOP, OP_FOR,
          OP_FORK, OP_JOIN, OP_JOINALL, OP_AFFINITY, OP_KINDS };

/* A step. `end` is the index of the step after it, past the block inside. */
struct node { int op, object, end; uint64_t a, b; };

struct object { char kind; int pipe[2]; };                 /* 'p'ipe, 's'emaphore, 'b'arrier */

struct task { char name[16], group[200]; int nice, policy, first, end; uint64_t start, cpus; };

struct setting { char name[64], value[64]; };              /* name "features": one word for the features file */

struct group { char path[200]; int weight; };

struct plan {
    uint64_t seed, slack, lead, phase, limit, chunk, buffer_kb;
    int trace_forks, tasks, nodes, objects, settings, groups;
    struct task task[MAX_TASKS];
    struct node node[MAX_NODES];
    struct object object[MAX_OBJECTS];
    struct setting setting[MAX_SETTINGS];
    struct group group[MAX_GROUPS];
};
extern struct plan plan;

/* What became of one task or forked child; shared by all processes. Times are CLOCK_MONOTONIC, ns. */
struct result {
    char name[16];
    int pid, parent, nice;
    volatile int waiting, done;                            /* in a call that only another task ends; body over */
    int64_t start, end, count, cpu, run, wait, slices, voluntary, involuntary;
    int64_t blocked, blocks, blocked_max, late, lates, late_max;
};

struct shared {
    volatile int results, semaphore[MAX_OBJECTS], arrived[MAX_OBJECTS], generation[MAX_OBJECTS];
    int cpus;
    int64_t t0, limit, tick, tick_ns, ended;
    double loops_per_us;
    struct result result[MAX_RESULTS];
};
extern struct shared *shared;

/* system.c */
void say(const char *format, ...);                         /* a line on the console */
void die(const char *format, ...) __attribute__((noreturn));
size_t read_file(const char *path, char *into, size_t size);
int write_file(const char *path, const char *text);        /* 0, or -1 with errno */
void *shared_memory(size_t size);
void open_output(void);
void put(const char *name, const char *data, size_t size);
void put_file(const char *name, const char *path);
void put_lines(const char *name, const char *const *patterns);
void close_output(void);

/* plan.c */
void read_plan(const char *path);

/* clock.c */
int64_t now(int clock);
void sleep_until(int64_t at);
void burn(uint64_t turns);
double calibrate(void);
int64_t next_tick(void);
int64_t tick_length(void);

/* tasks.c */
void run_task(const struct task *task, uint64_t random, int parent) __attribute__((noreturn));

/* run.c */
void run_plan(int tracing_on);
void put_results(void);
#endif
