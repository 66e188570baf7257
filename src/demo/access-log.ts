import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'

/** One request as the site received it. Times are milliseconds since 1970, with fractions. */
export interface AccessEntry {
  /** When the request's headers were read. */
  readonly t: number
  /** When the whole response was sent; null while it is in flight, or if the server died first. */
  readonly end: number | null
  /** 0 while it is in flight; 499 if the client disconnected before the end. */
  readonly status: number
  readonly bytes: number
  readonly host: string
  readonly method: string
  /** With the query. */
  readonly path: string
  /** How often this path has been requested, including this request. */
  readonly n: number
  /** The start of the server that wrote it, counted from 1. */
  readonly run: number
  /** Number of the connection, from 1 in each run. */
  readonly conn: number
  readonly ua: string
}

export interface AccessLog {
  /** Requests for each path so far, including earlier runs. */
  readonly counts: Map<string, number>
  /** Writes the line; the returned function completes it. */
  begin(
    entry: Omit<AccessEntry, 'end' | 'status' | 'bytes' | 'run'>,
  ): (end: number, status: number, bytes: number) => void
  close(): void
}

const MAX_PATH = 2_000

/**
 * One JSON line per request, in the order of their starts. The line is in the file before the response begins, and its first fields, of fixed width, are
 * overwritten at the end: the log is complete and readable even if the server is killed.
 */
export function openAccessLog(file: string): AccessLog {
  const old = existsSync(file) ? readFileSync(file) : Buffer.alloc(0)
  const whole = old.lastIndexOf(10) + 1
  const counts = new Map<string, number>()
  let run = 1
  for (const entry of parseAccessLog(old.toString('utf8', 0, whole))) {
    counts.set(entry.path, Math.max(entry.n, counts.get(entry.path) ?? 0))
    run = entry.run + 1
  }
  const fd = openSync(file, existsSync(file) ? 'r+' : 'w+')
  ftruncateSync(fd, whole)
  let size = whole
  return {
    counts,
    begin({ t, host, method, path, n, conn, ua }) {
      const offset = size
      const rest = JSON.stringify({ host, method, path: path.slice(0, MAX_PATH), n, run, conn, ua }).slice(1)
      size += writeSync(fd, `${head(t, null, 0, 0)},${rest}\n`, offset)
      return (end, status, bytes) => {
        writeSync(fd, head(t, end, status, bytes), offset)
      }
    },
    close: () => closeSync(fd),
  }
}

/** Always 77 bytes for times between 2001 and 2286. */
function head(t: number, end: number | null, status: number, bytes: number): string {
  const until = end === null ? 'null' : end.toFixed(3)
  return `{"t":${t.toFixed(3)},"end":${until.padEnd(17)},"status":${String(status).padEnd(3)},"bytes":${String(bytes).padEnd(9)}`
}

export function parseAccessLog(text: string): AccessEntry[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AccessEntry)
}

export function readAccessLog(file: string): AccessEntry[] {
  return parseAccessLog(readFileSync(file, 'utf8'))
}
