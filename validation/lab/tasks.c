/* What tasks do: the steps of the plan. */
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct result *me;
static uint64_t random_state;
static int children, forked;

/* xorshift64; a span that is one value takes no number. */
static uint64_t draw(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static uint64_t pick(uint64_t low, uint64_t high) { return high > low ? low + draw() % (high - low + 1) : low; }

static int stopped(void) { return shared->limit && now(CLOCK_MONOTONIC) >= shared->limit; }

/* Until the task has used so much more CPU time: by halves, so that it ends close to the mark. */
static void run(int64_t length) {
    int64_t end = now(CLOCK_THREAD_CPUTIME_ID) + length, left;
    while ((left = end - now(CLOCK_THREAD_CPUTIME_ID)) > 0) {
        /* Busy CPUs of the emulator share one rate of instructions. */
        int64_t stretch = left / ((left > 4000 ? 2 : 1) * shared->cpus);
        if (stretch > (int64_t)plan.chunk) stretch = plan.chunk;
        uint64_t turns = stretch * shared->loops_per_us / 1000;
        burn(turns ? turns : 1);
    }
}

static void note_late(int64_t due) {
    int64_t late = now(CLOCK_MONOTONIC) - due;
    me->late += late;
    me->lates++;
    if (late > me->late_max) me->late_max = late;
}

/* Around calls that block until another task ends them. */
static int64_t begin_wait(void) {
    int64_t from = now(CLOCK_MONOTONIC);
    me->waiting = 1;
    return from;
}

static void end_wait(int64_t from) {
    me->waiting = 0;
    int64_t took = now(CLOCK_MONOTONIC) - from;
    me->blocked += took;
    me->blocks++;
    if (took > me->blocked_max) me->blocked_max = took;
}

static long futex(volatile int *at, int op, int value) { return syscall(SYS_futex, at, op, value, 0, 0, 0); }

static void semaphore_take(volatile int *semaphore) {
    for (;;) {
        int value = *semaphore;
        if (value > 0 && __sync_bool_compare_and_swap(semaphore, value, value - 1)) return;
        if (value <= 0) futex(semaphore, FUTEX_WAIT, value);
    }
}

static void barrier(int object, int parties) {
    volatile int *generation = &shared->generation[object];
    int mine = *generation;
    if (__sync_add_and_fetch(&shared->arrived[object], 1) == parties) {
        shared->arrived[object] = 0;
        __sync_fetch_and_add(generation, 1);
        futex(generation, FUTEX_WAKE, 1 << 20);
    }
    while (*generation == mine) futex(generation, FUTEX_WAIT, mine);
}

static void transfer(int object, uint64_t bytes, int writing) {
    static char buffer[65536];
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = writing ? write(plan.object[object].pipe[1], buffer + done, bytes - done)
                            : read(plan.object[object].pipe[0], buffer + done, bytes - done);
        if (n > 0) done += n;
        else if (n == 0 || errno != EINTR) _exit(3);
    }
}

static void wait_child(void) {
    int64_t from = begin_wait();
    if (waitpid(-1, 0, 0) > 0) children--;
    end_wait(from);
}

static void set_affinity(uint64_t cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < 64; i++) if (cpus >> i & 1) CPU_SET(i, &set);
    if (sched_setaffinity(0, sizeof set, &set)) say("warning: sched_setaffinity: %s", strerror(errno));
}

static void begin(const char *name, int nice, int parent) {
    int index = __sync_fetch_and_add(&shared->results, 1);
    if (index >= MAX_RESULTS) die("more than %d tasks and children", MAX_RESULTS);
    me = &shared->result[index];
    snprintf(me->name, sizeof me->name, "%s", name);
    me->pid = getpid();
    me->parent = parent;
    me->nice = nice;
    children = forked = 0;
    prctl(PR_SET_NAME, me->name);
    prctl(PR_SET_TIMERSLACK, plan.slack);
}

static void finish(void) __attribute__((noreturn));
static void finish(void) {
    struct rusage usage;
    char text[128];
    long long ran, waited, slices;
    me->end = now(CLOCK_MONOTONIC);
    getrusage(RUSAGE_SELF, &usage);
    me->voluntary = usage.ru_nvcsw;
    me->involuntary = usage.ru_nivcsw;
    read_file("/proc/self/schedstat", text, sizeof text);
    if (sscanf(text, "%lld %lld %lld", &ran, &waited, &slices) == 3) me->run = ran, me->wait = waited, me->slices = slices;
    me->cpu = now(CLOCK_THREAD_CPUTIME_ID);
    me->done = 1;
    _exit(0);
}

static void block(int from, int end);

static void fork_child(int from, int end) {
    uint64_t state = draw() | 1;
    int parent = getpid(), pid = fork();
    if (pid < 0) die("fork: %s", strerror(errno));
    if (!pid) {
        char name[32];
        snprintf(name, sizeof name, "%.10s_%d", me->name, forked);
        begin(name, me->nice, parent);
        random_state = state;
        me->start = now(CLOCK_MONOTONIC);
        block(from, end);
        while (children) wait_child();
        finish();
    }
    children++;
    forked++;
}

static void period(uint64_t length) {
    int64_t turns = (now(CLOCK_MONOTONIC) - me->start) / (int64_t)length + 1;
    int64_t due = me->start + turns * (int64_t)length;
    sleep_until(due);
    note_late(due);
}

static void step(int index) {
    const struct node *n = &plan.node[index];
    int64_t from;
    switch (n->op) {
    case OP_RUN: run(pick(n->a, n->b)); break;
    case OP_SLEEP: { int64_t due = pick(n->a, n->b); due += now(CLOCK_MONOTONIC); sleep_until(due); note_late(due); break; }
    case OP_PERIOD: period(n->a); break;
    case OP_POST: __sync_fetch_and_add(&shared->semaphore[n->object], (int)n->a);
                  futex(&shared->semaphore[n->object], FUTEX_WAKE, (int)n->a); break;
    case OP_WAIT: from = begin_wait(); semaphore_take(&shared->semaphore[n->object]); end_wait(from); break;
    case OP_WRITE: me->waiting = 1; transfer(n->object, n->a, 1); me->waiting = 0; break;
    case OP_READ: from = begin_wait(); transfer(n->object, n->a, 0); end_wait(from); break;
    case OP_BARRIER: from = begin_wait(); barrier(n->object, (int)n->a); end_wait(from); break;
    case OP_YIELD: sched_yield(); break;
    case OP_COUNT: me->count++; break;
    case OP_LOOP: for (uint64_t i = 0; i < n->a && !stopped(); i++) block(index + 1, n->end); break;
    case OP_FOR:
        from = now(CLOCK_MONOTONIC);
        while (now(CLOCK_MONOTONIC) - from < (int64_t)n->a && !stopped()) block(index + 1, n->end);
        break;
    case OP_FORK: fork_child(index + 1, n->end); break;
    case OP_JOIN: if (children) wait_child(); break;
    case OP_JOINALL: while (children) wait_child(); break;
    case OP_AFFINITY: set_affinity(n->a); break;
    }
}

static void block(int from, int end) {
    for (int i = from; i < end; i = plan.node[i].end) step(i);
}

void run_task(const struct task *task, uint64_t random, int parent) {
    begin(task->name, task->nice, parent);
    random_state = random;
    if (task->cpus) set_affinity(task->cpus);
    if (task->nice && setpriority(PRIO_PROCESS, 0, task->nice)) say("warning: nice of %s: %s", task->name, strerror(errno));
    if (task->policy) {
        struct sched_param none = { 0 };
        if (sched_setscheduler(0, task->policy, &none)) say("warning: policy of %s: %s", task->name, strerror(errno));
    }
    if (strcmp(task->group, "-")) {
        char path[300], pid[16];
        snprintf(path, sizeof path, "/sys/fs/cgroup/%s/cgroup.procs", task->group);
        snprintf(pid, sizeof pid, "%d", getpid());
        if (write_file(path, pid)) say("warning: group of %s: %s", task->name, strerror(errno));
    }
    sleep_until(shared->t0 + (int64_t)task->start);
    me->start = now(CLOCK_MONOTONIC);
    block(task->first, task->end);
    while (children) wait_child();
    finish();
}
