import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a folder and its parents. mkdirSync's `recursive` is no option: below a folder that answers ENOENT to every mkdir, such as /proc,
 * Node 20 never returns.
 */
export function makeDirs(path: string): void {
  if (existsSync(path)) return
  makeDirs(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
