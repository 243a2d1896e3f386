/* Clocks, the kernel's tick, and loops of known length. */
#include "guest.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t now(int clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void sleep_until(int64_t at) {
    struct timespec t = { at / 1000000000, at % 1000000000 };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0) == EINTR) { }
}

__attribute__((noinline)) void burn(uint64_t turns) {
    while (turns--) __asm__ volatile("" : "+r"(turns));
}

/* Turns of burn per µs: the best of some tries, so that an interrupt in one of them does not count. */
double calibrate(void) {
    const uint64_t turns = 20000;
    int64_t best = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        int64_t from = now(CLOCK_MONOTONIC);
        burn(turns);
        int64_t took = now(CLOCK_MONOTONIC) - from;
        if (took > 0 && took < best) best = took;
    }
    return turns * 1000.0 / best;
}

/* When the tick of CPU 0 fires next; 0 if the kernel does not tell. */
int64_t next_tick(void) {
    FILE *list = fopen("/proc/timer_list", "r");
    char line[512];
    long long at = 0;
    int found = 0;
    while (list && !at && fgets(line, sizeof line, list)) {
        const char *expiry = strstr(line, "expires at ");
        if (strstr(line, "tick_sched_timer") || strstr(line, "tick_nohz_handler")) found = 1;
        else if (found && expiry && sscanf(expiry, "expires at %lld", &at) != 1) at = 0;
    }
    if (list) fclose(list);
    return at;
}

/* From one tick of a busy CPU to the next: the shortest of some, since a look may miss one. To be called on CPU 0. */
int64_t tick_length(void) {
    int64_t shortest = INT64_MAX, last = next_tick();
    for (int i = 0; last && i < 4; i++) {
        while (now(CLOCK_MONOTONIC) <= last) { }
        int64_t tick = next_tick();
        if (tick > last && tick - last < shortest) shortest = tick - last;
        last = tick;
    }
    return shortest == INT64_MAX ? 0 : shortest;
}
