/* The guest's first process: mounts, settings, tracing, the driver, and then the output. */
#include "guest.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct shared *shared;
static char tracing[64] = "/sys/kernel/tracing";

/* By this uptime the kernel's own deferred start-up work (clocks calibrated again and switched, by a stopper) is over, ns.
 * Waiting costs the host nothing: idle virtual time is skipped. */
static const int64_t SETTLED = INT64_C(4000000000);

static void mount_all(void) {
    const struct { const char *type, *at; } mounts[] = { { "proc", "/proc" }, { "sysfs", "/sys" }, { "debugfs", "/sys/kernel/debug" },
        { "tracefs", "/sys/kernel/tracing" }, { "cgroup2", "/sys/fs/cgroup" } };
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++)
        if (mount(mounts[i].type, mounts[i].at, mounts[i].type, 0, 0)) say("warning: no %s: %s", mounts[i].type, strerror(errno));
    if (access("/sys/kernel/tracing/events", F_OK)) strcpy(tracing, "/sys/kernel/debug/tracing");
    if (access(tracing, F_OK)) die("no tracing: the kernel needs CONFIG_FTRACE, CONFIG_SCHED_TRACER or CONFIG_ENABLE_DEFAULT_TRACERS");
}

static const char *trace_file(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", tracing, name);
    return path;
}

/* Where kernels keep a tunable, newer ones first. */
static const char *const PLACES[] = { "/sys/kernel/debug/sched/%s", "/proc/sys/kernel/sched_%s", "/sys/kernel/debug/sched_%s" };

/* Writes each setting and tells what it reads back: "NAME VALUE READ". The host judges. */
static void apply_settings(void) {
    static char report[MAX_SETTINGS * 200];
    size_t size = 0;
    for (int i = 0; i < plan.settings; i++) {
        const struct setting *s = &plan.setting[i];
        char path[128], read[64] = "";
        const char *result = "missing";
        for (size_t k = 0; k < sizeof PLACES / sizeof *PLACES; k++) {
            snprintf(path, sizeof path, PLACES[k], s->name);
            if (access(path, F_OK)) continue;
            result = write_file(path, s->value) ? "refused" : "written";
            if (!strcmp(s->name, "features")) break;       /* the settings read back show them */
            read_file(path, read, sizeof read);
            read[strcspn(read, " \n")] = 0;
            if (!strcmp(result, "written")) result = read;
            break;
        }
        size += snprintf(report + size, sizeof report - size, "%s %s %s\n", s->name, s->value, result);
    }
    put("applied", report, size);
}

static void make_groups(void) {
    for (int i = 0; i < plan.groups; i++) {
        const struct group *g = &plan.group[i];
        char path[300], parent[300], weight[16];
        snprintf(parent, sizeof parent, "/sys/fs/cgroup/%s", g->path);
        *strrchr(parent, '/') = 0;
        strcat(parent, "/cgroup.subtree_control");
        if (write_file(parent, "+cpu")) die("no cpu controller for group %s: %s", g->path, strerror(errno));
        snprintf(path, sizeof path, "/sys/fs/cgroup/%s", g->path);
        if (mkdir(path, 0755) && errno != EEXIST) die("group %s: %s", g->path, strerror(errno));
        if (!g->weight) continue;
        strcat(path, "/cpu.weight");
        snprintf(weight, sizeof weight, "%d", g->weight);
        if (write_file(path, weight)) die("weight of group %s: %s", g->path, strerror(errno));
    }
}

static void prepare_trace(void) {
    static const char *const events[] = { "sched:sched_switch", "sched:sched_wakeup", "sched:sched_wakeup_new",
        "sched:sched_migrate_task", "sched:sched_process_fork", "sched:sched_process_exit", "sched:sched_process_exec", "power:cpu_idle" };
    char kib[24];
    write_file(trace_file("tracing_on"), "0");
    write_file(trace_file("options/overwrite"), "0");      /* a full buffer loses what comes, and counts it */
    snprintf(kib, sizeof kib, "%llu", (unsigned long long)plan.buffer_kb);
    if (write_file(trace_file("buffer_size_kb"), kib)) die("no memory for a trace buffer of %s KiB per CPU", kib);
    /* Opened without O_TRUNC, set_event adds to what is there. */
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (!write_file(trace_file("set_event"), events[i])) continue;
        if (strncmp(events[i], "sched:", 6)) say("warning: no trace event %s", events[i]);
        else die("the kernel has no trace event %s", events[i]);
    }
}

static void put_output(void) {
    static const char *const settings[] = { "/proc/sys/kernel/sched_*", "/sys/kernel/debug/sched/*", "/sys/kernel/debug/sched_features", 0 };
    static const char *const layout[] = { "/sys/devices/system/cpu/cpu[0-9]*/topology/core_siblings_list",
        "/sys/devices/system/cpu/cpu0/cache/index*/shared_cpu_list", 0 };
    char pattern[128];
    const char *const stats[] = { pattern, 0 };
    snprintf(pattern, sizeof pattern, "%s/per_cpu/cpu*/stats", tracing);
    put_file("schedstat.after", "/proc/schedstat");
    put_file("version", "/proc/version");
    put_file("cmdline", "/proc/cmdline");
    put_lines("tunables.txt", settings);
    put_lines("domains.txt", layout);
    put_lines("trace_stats", stats);
    put_file("trace.txt", trace_file("trace"));
}

int main(void) {
    if (getpid() != 1) return 2;
    mount_all();
    say("up");
    open_output();
    read_plan("/plan");
    write_file("/proc/sys/kernel/sched_schedstats", "1");
    apply_settings();
    make_groups();
    prepare_trace();
    shared = shared_memory(sizeof *shared);
    int tracing_on = open(trace_file("tracing_on"), O_WRONLY), status = 0;
    if (tracing_on < 0) die("no tracing_on: %s", strerror(errno));
    sleep_until(SETTLED);
    put_file("schedstat.before", "/proc/schedstat");
    say("run");
    int driver = fork();
    if (driver < 0) die("fork: %s", strerror(errno));
    if (!driver) {
        run_plan(tracing_on);
        _exit(0);
    }
    if (waitpid(driver, &status, 0) != driver || status) die("the driver failed");
    say("ran");
    put_results();
    put_output();
    close_output();
    say("done");
    reboot(RB_POWER_OFF);
}
