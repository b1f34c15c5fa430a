// Preloaded into a process: once armed, the n-th of its calls that write to files kills it, or finds the disk full.
//
// A write that kills has written half of its bytes before.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

static long left = -1, seen = 0;  // calls until it happens, -1: never; calls so far
static int full = 0;              // whether the disk is full then, and stays so

void killing_arm(long number, int is_full)
{
    left = number;
    full = is_full;
    seen = 0;
}

long killing_seen(void) { return seen; }

static int due(void)
{
    seen++;
    if (left < 0)
        return 0;
    if (left > 0) {
        left--;
        return 0;
    }
    if (!full)
        kill(getpid(), SIGKILL);
    errno = ENOSPC;
    return 1;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t write(int file, const void *bytes, size_t size)
{
    REAL(write);
    if (file < 3)
        return real(file, bytes, size);
    if (left == 0 && !full)
        real(file, bytes, size / 2);
    return due() ? -1 : real(file, bytes, size);
}

int fsync(int file)
{
    REAL(fsync);
    return due() ? -1 : real(file);
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    return due() ? -1 : real(from, to);
}

int unlink(const char *path)
{
    REAL(unlink);
    return due() ? -1 : real(path);
}

int truncate64(const char *path, off64_t size)
{
    REAL(truncate64);
    return due() ? -1 : real(path, size);
}
