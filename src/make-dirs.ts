import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a folder and those above it. Not mkdirSync's `recursive`: below a folder that answers ENOENT to every mkdir, such as /proc,
 * Node 20 tries for ever.
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
