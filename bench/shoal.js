import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runMeasured } from './measure.js'

const BIN = fileURLToPath(new URL('../bin/shoal.js', import.meta.url))

/**
 * `shoal run` on a new database, as a user would (with `queue`, only the records are there); returns the measurement, its last line, and the records
 * read back from the database. `task` is for the spider, `look` inspects the database before it is removed.
 */
export async function runShoal(
  spider,
  { origin, concurrency, watch, withRecords = true, queue, task = {}, flags = [], look },
) {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  const database = `sqlite:${join(dir, 'bench.db')}`
  const file = fileURLToPath(new URL(spider, import.meta.url))
  try {
    const command = [
      process.execPath,
      BIN,
      'run',
      file,
      '--queue',
      queue ?? database,
      '--store',
      database,
      '--concurrency',
      String(concurrency),
      '--json',
      ...flags,
    ]
    const measured = await runMeasured(command, {
      env: { BENCH_TASK: JSON.stringify({ origin, concurrency, ...task }) },
      watch,
    })
    const result = JSON.parse(measured.lastLine)
    if (result.state !== 'finished' || result.dead > 0 || result.failed > 0)
      throw new Error(`the crawl of Shoal went wrong: ${measured.lastLine}`)
    await look?.([process.execPath, BIN], ['--queue', database, '--store', database, ...flags])
    return { ...measured, result, records: withRecords ? await exportRecords(database, dir) : [] }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function exportRecords(database, dir) {
  const out = join(dir, 'records.jsonl')
  await runMeasured([process.execPath, BIN, 'export', '--queue', database, '--out', out])
  return readFileSync(out, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).data)
}
