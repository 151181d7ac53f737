// A plugin of qemu (its interface 1, which qemu 7 has): counts the instructions of a program and prints their number at its end.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))
#define THREADS 256

// What qemu gives to plugins, as far as it is used here.
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
typedef void (*translated_t)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*executed_t)(unsigned int, void *);
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, translated_t);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, executed_t, int, void *);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);

EXPORT int qemu_plugin_version = 1;

// A row for each thread, a line of the cache apart, so that none waits for another.
static struct {
  uint64_t count;
  char apart[56];
} counts[THREADS];

static void executed(unsigned int thread, void *instructions) { counts[thread % THREADS].count += (uintptr_t)instructions; }

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_cb(block, executed, 0, (void *)(uintptr_t)qemu_plugin_tb_n_insns(block));
}

static void ended(qemu_plugin_id_t id, void *unused) {
  (void)id, (void)unused;
  uint64_t sum = 0;
  for (int thread = 0; thread < THREADS; thread++) sum += counts[thread].count;
  fprintf(stderr, "instructions %" PRIu64 "\n", sum);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *about, int argc, char **argv) {
  (void)about, (void)argc, (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return 0;
}
