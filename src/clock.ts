/** The only source of time and randomness. Domain code takes a Clock or a Random; nothing else may call Date.now, Math.random or setTimeout. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. For times that are stored or shown. */
  now(): number
  /** Monotonic milliseconds. For durations and deadlines inside one process. */
  mono(): number
  /** Resolves after `ms`, or at once when the signal aborts (it never rejects: the caller checks the signal). */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls `fire` once after `ms`; the returned function cancels it. A pending timer does not keep the process alive. */
  after(ms: number, fire: () => void): () => void
}

/** A number in [0, 1). */
export type Random = () => number

export const systemClock: Clock = {
  now: () => Date.now(),
  mono: () => performance.now(),
  sleep(ms, signal) {
    if (signal?.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', finish)
        resolve()
      }
      const timer = setTimeout(finish, ms)
      signal?.addEventListener('abort', finish, { once: true })
    })
  },
  after(ms, fire) {
    const timer = setTimeout(fire, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** The work's result, or the failure `late` when it takes longer than `ms`. The work is not stopped; its result is dropped. */
export async function inTime<Result>(
  work: Promise<Result>,
  clock: Clock,
  { ms, late }: { readonly ms: number; readonly late: () => unknown },
): Promise<Result> {
  let cancel = () => {}
  const tooLate = new Promise<never>((_, reject) => {
    cancel = clock.after(ms, () => reject(late()))
  })
  try {
    return await Promise.race([work, tooLate])
  } finally {
    cancel()
  }
}

export const systemRandom: Random = () => Math.random()

/** mulberry32: small, seeded, good enough for jitter and for tests that must repeat. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/** A clock that only moves when it is advanced; timers that are due then fire in the order of their times. */
export class ManualClock implements Clock {
  #now: number
  #timers: { at: number; fire: () => void }[] = []

  constructor(startAt = 1_000_000_000_000) {
    this.#now = startAt
  }

  now(): number {
    return this.#now
  }

  mono(): number {
    return this.#now
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const finish = () => {
        cancel()
        signal?.removeEventListener('abort', finish)
        resolve()
      }
      const cancel = this.after(ms, finish)
      signal?.addEventListener('abort', finish, { once: true })
    })
  }

  after(ms: number, fire: () => void): () => void {
    const timer = { at: this.#now + ms, fire }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  advance(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const next = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#timers = this.#timers.filter((timer) => timer !== next)
      this.#now = Math.max(this.#now, next.at)
      next.fire()
    }
    this.#now = end
  }
}
