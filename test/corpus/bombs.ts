import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startBadServer } from '../support/bad-server.js'
import { misbehave } from './site.js'

/** Pages that are made to fill the memory of whoever reads them. */
export const BOMBS = [
  ...['/endless-chunks', '/endless-until-close', '/ten-terabytes', '/gzip-bomb', '/nested-bomb', '/brotli-bomb'],
  ...['/brotli-gigabyte', '/20000-headers', '/megabyte-header', '/endless-headers', '/tiny-chunks'],
  ...['/nested', '/nested-inline', '/unclosed', '/attribute', '/attributes', '/many-links'],
]
/** As many visits as a worker has at once by default on one host would be two; this is a worker that was told to hurry. */
export const ALL_AT_ONCE = 4
/** Above what the process has when it rests. */
export const BAR_MB = 150

export interface BombReport {
  readonly idleMb: number
  /** The highest the process had above rest, one bomb after the other; and with several at once. */
  readonly alone: number
  readonly together: number
  readonly ended: number
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export async function measureBombs(): Promise<BombReport> {
  const site = await startBadServer({ otherwise: misbehave })
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['node_modules/jiti/lib/jiti-cli.mjs', 'test/corpus/bombs-child.ts', String(site.port)],
      { cwd: ROOT, timeout: 120_000 },
    )
    return JSON.parse(stdout) as BombReport
  } finally {
    await site.close()
  }
}
