/**
 * The rule of Crawlee's AutoscaledPool with its defaults: every ten seconds, 5 % more (at least one) while at least 90 % of the pool is in use and the
 * system is not overloaded, 5 % fewer while it is. Here the pool is always in use.
 */
const EVERY_MS = 10_000
const STEP = 0.05

export function autoscaledPool({
  most,
  seconds,
  isOverloaded,
}: {
  readonly most: number
  readonly seconds: number
  readonly isOverloaded: (slots: number) => boolean
}): { atMs: number; slots: number }[] {
  const sizes = [{ atMs: 0, slots: 1 }]
  let slots = 1
  for (let atMs = EVERY_MS; atMs <= seconds * 1_000; atMs += EVERY_MS) {
    slots = isOverloaded(slots)
      ? Math.max(1, slots - Math.ceil(slots * STEP))
      : Math.min(most, slots + Math.ceil(slots * STEP))
    sizes.push({ atMs, slots })
  }
  return sizes
}
