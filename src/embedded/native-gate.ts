/**
 * A thread that is terminated inside the native database library aborts the process (SIGABRT, and a panic on standard error instead of
 * the exit code). So the thread enters that library through a gate, and a process that is about to end closes it first.
 */
const OPEN = 0
const INSIDE = 1
const SHUT = 2

export type NativeGate = Int32Array<SharedArrayBuffer>

export function nativeGate(): NativeGate {
  return new Int32Array(new SharedArrayBuffer(4))
}

/** Called by the thread. At a closed gate it waits to be terminated. */
export function throughGate<Result>(gate: NativeGate, work: () => Result): Result {
  if (Atomics.compareExchange(gate, 0, OPEN, INSIDE) === SHUT) Atomics.wait(gate, 0, SHUT)
  try {
    return work()
  } finally {
    Atomics.store(gate, 0, OPEN)
    Atomics.notify(gate, 0)
  }
}

/** Called before the thread is terminated: returns when it is outside for good, or when one call inside takes longer than `patienceMs`. */
export function shutGate(gate: NativeGate, patienceMs: number): void {
  while (Atomics.compareExchange(gate, 0, OPEN, SHUT) === INSIDE) {
    if (Atomics.wait(gate, 0, INSIDE, patienceMs) === 'timed-out') return
  }
}
