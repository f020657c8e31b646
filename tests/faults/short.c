/* Reads and writes that do half of what they are asked for, and are interrupted every third time. Interposed by LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/types.h>
#include <unistd.h>

static unsigned count;

static int interrupted(void) {
  if (++count % 3 != 0) return 0;
  errno = EINTR;
  return 1;
}

static size_t half(size_t length) { return length > 1 ? length / 2 : length; }

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t read(int file, void *to, size_t length) {
  return interrupted() ? -1 : NEXT(read)(file, to, half(length));
}

ssize_t write(int file, const void *from, size_t length) {
  return interrupted() ? -1 : NEXT(write)(file, from, half(length));
}

ssize_t pread64(int file, void *to, size_t length, off64_t at) {
  return interrupted() ? -1 : NEXT(pread64)(file, to, half(length), at);
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t length, unsigned flags) {
  return interrupted() ? -1 : NEXT(copy_file_range)(from, from_at, to, to_at, length > 4096 ? 4096 : half(length), flags);
}

ssize_t sendfile64(int to, int from, off64_t *at, size_t length) {
  return interrupted() ? -1 : NEXT(sendfile64)(to, from, at, length > 4096 ? 4096 : half(length));
}

/* How often it was called, so that a library whose calls never come here is not taken for one that bears it. */
__attribute__((destructor)) static void tell(void) { dprintf(2, "%u calls\n", count); }
