import { readFileSync } from 'node:fs'

/** The modules of a command are opened about a hundred at a time: with fewer files, Node cannot even load it. */
const TO_START = 128
/** The same again in each worker thread, the database with its log, and sockets for a few hosts. */
const TO_CRAWL = 256
export const RAISE_LIMIT = 'Raise the limit in this shell, then run the command again: `ulimit -n 4096`.'

/** How many files and sockets this process may have open; null: unlimited, or the system does not say. Node has raised it as far as it may. */
export function openFilesLimit(): number | null {
  return LIMIT
}

function readLimit(): number | null {
  try {
    return limitIn(readFileSync('/proc/self/limits', 'utf8'))
  } catch {
    return null
  }
}

/** The soft limit. */
export function limitIn(limits: string): number | null {
  const line = limits.split('\n').find((text) => text.startsWith('Max open files'))
  const soft = Number(line?.slice('Max open files'.length).trim().split(' ')[0])
  return Number.isFinite(soft) ? soft : null
}

/** Why the work cannot be done; null: it can. */
export function tooFewFiles(work: 'start' | 'crawl', limit: number | null): string | null {
  const needed = work === 'start' ? TO_START : TO_CRAWL
  if (limit === null || limit >= needed) return null
  const what = work === 'start' ? 'a command' : 'a crawl'
  return `this process may have ${limit} files and sockets open, and ${what} needs at least ${needed}`
}

/** Read when this file is loaded: later, when it is wanted for a message, there may be no file left to read it with. */
const LIMIT = readLimit()

/** For a message about a file or socket that could not be opened. */
export function limitText(limit: number | null): string {
  return limit === null ? '' : ` (this process may have ${limit} files and sockets open)`
}
