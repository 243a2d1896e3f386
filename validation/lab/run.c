/* The driver: forks the tasks, starts them together at T0, waits for their ends, and writes what they did. */
#include "guest.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* After the limit, tasks that run or sleep on get so long to come to their ends. */
static const int64_t GRACE = INT64_C(10000000000);
/* How often the driver looks whether any still does, µs. */
enum { LOOK_US = 5000 };

static void trace(int tracing_on, const char *on) {
    if (write(tracing_on, on, 1) != 1) say("warning: cannot switch tracing to %s", on);
}

/* T0: `lead` and 1 ms per task from now, then the next time that lies `phase` after a tick. */
static int64_t choose_t0(void) {
    int64_t earliest = now(CLOCK_MONOTONIC) + (int64_t)plan.lead + INT64_C(1000000) * plan.tasks;
    if (!shared->tick_ns) return earliest;
    int64_t first = shared->tick + (int64_t)plan.phase, ticks = (earliest - first + shared->tick_ns - 1) / shared->tick_ns;
    return first + (ticks > 0 ? ticks : 0) * shared->tick_ns;
}

static void interrupted(int signal) { (void)signal; }

/* From the limit on, waitpid comes back every now and then. */
static void look_after_limit(void) {
    struct sigaction action = { .sa_handler = interrupted };
    sigaction(SIGALRM, &action, 0);
    int64_t us = (shared->limit - now(CLOCK_MONOTONIC)) / 1000;
    if (us < 1) us = 1;
    struct itimerval timer = { { 0, LOOK_US }, { us / 1000000, us % 1000000 } };
    setitimer(ITIMER_REAL, &timer, 0);
}

/* Whether every task that is not done waits for another: none of them will go on. */
static int all_stuck(void) {
    for (int i = 0; i < shared->results; i++) {
        const struct result *r = &shared->result[i];
        char path[64], text[512], state = 0;
        if (r->done) continue;
        snprintf(path, sizeof path, "/proc/%d/stat", r->pid);
        read_file(path, text, sizeof text);
        const char *after = strrchr(text, ')');
        if (after) state = after[2];
        if (state == 'Z') continue;
        if (!r->waiting || state != 'S') return 0;
    }
    return 1;
}

static long long after(const char *text, const char *key) {
    const char *at = strstr(text, key);
    return at ? atoll(at + strlen(key)) : 0;
}

/* Fills in what a task that did not end would have written. */
static void end_for(struct result *r) {
    char path[64];
    static char text[8192];
    long long ran, waited, slices;
    snprintf(path, sizeof path, "/proc/%d/schedstat", r->pid);
    read_file(path, text, sizeof text);
    if (sscanf(text, "%lld %lld %lld", &ran, &waited, &slices) == 3) r->run = r->cpu = ran, r->wait = waited, r->slices = slices;
    snprintf(path, sizeof path, "/proc/%d/status", r->pid);
    read_file(path, text, sizeof text);
    r->voluntary = after(text, "\nvoluntary_ctxt_switches:");
    r->involuntary = after(text, "\nnonvoluntary_ctxt_switches:");
    r->end = now(CLOCK_MONOTONIC);
}

static void end_tasks(int tracing_on) {
    trace(tracing_on, "0");
    for (int i = 0; i < shared->results; i++) {
        struct result *r = &shared->result[i];
        if (r->done) continue;
        if (!r->waiting) say("warning: %s did not end: it was stopped %d s after the limit", r->name, (int)(GRACE / 1000000000));
        end_for(r);
        kill(r->pid, SIGKILL);
    }
}

static void wait_for_tasks(int tracing_on) {
    int left = plan.tasks, ended = 0;
    if (shared->limit) look_after_limit();
    while (left > 0) {
        if (waitpid(-1, 0, 0) > 0) left--;
        else if (errno == ECHILD) return;
        else if (!ended && (all_stuck() || now(CLOCK_MONOTONIC) > shared->limit + GRACE)) {
            end_tasks(tracing_on);
            ended = 1;
        }
    }
}

/* Called by the first process, whose output it is. */
void put_results(void) {
    size_t size = 0, room = 512 + 512 * (size_t)shared->results;
    char *text = malloc(room);
    if (!text) die("no memory for the results");
    int64_t t0 = shared->t0;
#define ADD(...) size += snprintf(text + size, room - size, __VA_ARGS__)
    ADD("{\"t0_ns\":%lld,\"tick_seen_at_ns\":%lld,\"tick_ns\":%lld,\"elapsed_ns\":%lld,\"loops_per_us\":%.3f,\"tasks\":[\n", (long long)t0,
        (long long)shared->tick, (long long)shared->tick_ns, (long long)(shared->ended - t0), shared->loops_per_us);
    for (int i = 0; i < shared->results; i++) {
        const struct result *r = &shared->result[i];
        ADD("%s{\"name\":\"%s\",\"pid\":%d,\"ppid\":%d,\"nice\":%d,\"start_ns\":%lld,\"end_ns\":%lld,\"iters\":%lld,", i ? ",\n" : "", r->name,
            r->pid, r->parent, r->nice, (long long)(r->start - t0), (long long)(r->end - t0), (long long)r->count);
        ADD("\"cpu_ns\":%lld,\"run_ns\":%lld,\"wait_ns\":%lld,\"timeslices\":%lld,\"nvcsw\":%lld,\"nivcsw\":%lld,", (long long)r->cpu,
            (long long)r->run, (long long)r->wait, (long long)r->slices, (long long)r->voluntary, (long long)r->involuntary);
        ADD("\"blocked_ns\":%lld,\"blocked_n\":%lld,\"blocked_max_ns\":%lld,\"late_ns\":%lld,\"late_n\":%lld,\"late_max_ns\":%lld}",
            (long long)r->blocked, (long long)r->blocks, (long long)r->blocked_max, (long long)r->late, (long long)r->lates,
            (long long)r->late_max);
    }
    ADD("\n]}\n");
#undef ADD
    put("result.json", text, size);
}

void run_plan(int tracing_on) {
    prctl(PR_SET_NAME, "wl");
    mlockall(MCL_CURRENT);
    cpu_set_t all, first;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof first, &first);            /* where the tick is looked at */
    shared->cpus = sysconf(_SC_NPROCESSORS_ONLN) > 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    shared->loops_per_us = calibrate();
    shared->tick_ns = tick_length();
    shared->tick = next_tick();
    sched_setaffinity(0, sizeof all, &all);
    shared->t0 = choose_t0();
    shared->limit = plan.limit ? shared->t0 + (int64_t)plan.limit : 0;
    uint64_t state = plan.seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    int driver = getpid();
    if (plan.trace_forks) trace(tracing_on, "1");
    for (int i = 0; i < plan.tasks; i++) {
        state ^= state << 13; state ^= state >> 7; state ^= state << 17;
        int pid = fork();
        if (pid < 0) die("fork: %s", strerror(errno));
        if (!pid) run_task(&plan.task[i], state | 1, driver);
    }
    sleep_until(shared->t0 - 2000000);
    if (!plan.trace_forks) trace(tracing_on, "1");
    wait_for_tasks(tracing_on);
    shared->ended = now(CLOCK_MONOTONIC);
    trace(tracing_on, "0");
}
