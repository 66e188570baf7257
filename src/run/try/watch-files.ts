import { stat } from 'node:fs/promises'
import type { Clock } from '../../clock.js'

/** Soon enough for a person who saves a file and looks at the terminal; a hundred files cost less than a millisecond each time. */
const CHECK_MS = 200
/** An editor may write a file in several steps. */
const SETTLE_MS = 50

/**
 * Files by name with what they looked like. Polled, because editors replace files instead of writing them, and file systems in containers and on other
 * machines report no changes.
 */
export type Stamps = ReadonlyMap<string, string>

export async function stampsOf(files: Iterable<string>): Promise<Stamps> {
  return new Map(await Promise.all([...files].map(async (file) => [file, await stampOf(file)] as const)))
}

/** Resolves with the file that has changed, appeared or gone; null: `signal` was aborted first. */
export async function untilChanged(before: Stamps, clock: Clock, signal: AbortSignal): Promise<string | null> {
  while (!signal.aborted) {
    await clock.sleep(CHECK_MS, signal)
    const now = await stampsOf(before.keys())
    const changed = [...now].find(([file, stamp]) => before.get(file) !== stamp)
    if (changed === undefined) continue
    await clock.sleep(SETTLE_MS, signal)
    return signal.aborted ? null : changed[0]
  }
  return null
}

async function stampOf(file: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(file)
    return `${mtimeMs} ${size} ${ino}`
  } catch {
    return 'missing'
  }
}
