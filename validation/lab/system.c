/* The guest's surroundings: console, files, and the memory shared with the host in which the output goes back. */
#include "guest.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

static void console(const char *kind, const char *format, va_list args) {
    char line[512];
    int n = snprintf(line, sizeof line, "cfsim-lab: %s", kind);
    vsnprintf(line + n, sizeof line - n - 1, format, args);
    strcat(line, "\n");
    if (write(1, line, strlen(line)) < 0) { /* nobody listens */ }
}

void say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    console("", format, args);
    va_end(args);
}

void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    console("error: ", format, args);
    va_end(args);
    if (getpid() == 1) reboot(RB_POWER_OFF);
    _exit(2);
}

size_t read_file(const char *path, char *into, size_t size) {
    int file = open(path, O_RDONLY);
    size_t have = 0;
    ssize_t n = 0;
    while (file >= 0 && have + 1 < size && (n = read(file, into + have, size - 1 - have)) > 0) have += n;
    if (file >= 0) close(file);
    into[have] = 0;
    return have;
}

int write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    if (file < 0) return -1;
    ssize_t n = write(file, text, strlen(text));
    int error = errno;
    close(file);
    errno = error;
    return n < 0 ? -1 : 0;
}

void *shared_memory(size_t size) {
    void *at = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) die("no memory for %zu bytes", size);
    return at;
}

/* The output: "CFSIMLAB", the length of what follows (8 bytes), then files: a head line "NAME LENGTH\n" of HEAD bytes and
 * the file itself. The length is written last: without it there is no output. */
enum { PREFIX = 16, HEAD = 64 };
static char *out;
static size_t out_at = PREFIX, out_size;

/* The device by which QEMU shares memory shows it as a PCI region. */
void open_output(void) {
    glob_t found;
    char id[16], path[300];
    if (glob("/sys/bus/pci/devices/*", 0, 0, &found)) die("no PCI devices in sysfs: the kernel needs CONFIG_PCI");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        snprintf(path, sizeof path, "%s/vendor", found.gl_pathv[i]);
        if (!read_file(path, id, sizeof id) || strncmp(id, "0x1af4", 6)) continue;
        snprintf(path, sizeof path, "%s/device", found.gl_pathv[i]);
        if (!read_file(path, id, sizeof id) || strncmp(id, "0x1110", 6)) continue;
        snprintf(path, sizeof path, "%s/enable", found.gl_pathv[i]);
        write_file(path, "1");
        snprintf(path, sizeof path, "%s/resource2", found.gl_pathv[i]);
        int file = open(path, O_RDWR);
        struct stat about;
        if (file < 0 || fstat(file, &about)) die("cannot open the shared memory: %s", strerror(errno));
        out_size = about.st_size;
        out = mmap(0, out_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (out == MAP_FAILED) die("cannot map the shared memory: %s", strerror(errno));
        /* Every fork would copy its page tables, which takes milliseconds. */
        madvise(out, out_size, MADV_DONTFORK);
        return;
    }
    die("the shared memory is not there");
}

/* Room for a head, filled in by end_part. */
static size_t begin_part(void) {
    size_t head = out_at;
    if (out_at + HEAD > out_size) die("the output is larger than the shared memory");
    out_at += HEAD;
    return head;
}

static void end_part(size_t head, const char *name) {
    char line[HEAD + 1];
    int n = snprintf(line, sizeof line, "%s %zu", name, out_at - head - HEAD);
    memset(line + n, ' ', HEAD - n);
    line[HEAD - 1] = '\n';
    memcpy(out + head, line, HEAD);
}

static void append(const char *data, size_t size) {
    if (size > out_size - out_at) die("the output is larger than the shared memory");
    memcpy(out + out_at, data, size);
    out_at += size;
}

void put(const char *name, const char *data, size_t size) {
    size_t head = begin_part();
    append(data, size);
    end_part(head, name);
}

void put_file(const char *name, const char *path) {
    static char buffer[1 << 20];
    size_t head = begin_part();
    int file = open(path, O_RDONLY);
    ssize_t n = 0;
    while (file >= 0 && (n = read(file, buffer, sizeof buffer)) > 0) append(buffer, n);
    if (file >= 0) close(file);
    end_part(head, name);
}

/* A line "PATH: VALUE" for every file the patterns name; line feeds in values become spaces. */
void put_lines(const char *name, const char *const *patterns) {
    static char value[8192];
    size_t head = begin_part();
    for (; *patterns; patterns++) {
        glob_t found;
        if (glob(*patterns, 0, 0, &found)) continue;
        for (size_t i = 0; i < found.gl_pathc; i++) {
            struct stat about;
            const char *path = found.gl_pathv[i];
            if (stat(path, &about) || !S_ISREG(about.st_mode) || strstr(path, "/debug/sched/debug")) continue;
            size_t n = read_file(path, value, sizeof value);
            for (size_t k = 0; k < n; k++) if (value[k] == '\n') value[k] = ' ';
            append(path, strlen(path)); append(": ", 2); append(value, n); append("\n", 1);
        }
        globfree(&found);
    }
    end_part(head, name);
}

void close_output(void) {
    uint64_t length = out_at - PREFIX;
    memcpy(out + 8, &length, 8);
    __sync_synchronize();
    memcpy(out, "CFSIMLAB", 8);
}
